//! Does a trace make sense?
//!
//! The types say what a step may look like; this pass says which steps may
//! follow which: no reply without an execution, no execution of what was lost,
//! nobody acts while dead or stopped, clocks only go on. A replay that started
//! on a trace without these would hang or blame the wrong side, so each reader
//! of a file runs it first. It knows nothing about locks or Redis: whether a
//! reply is *right* is for the replay to find out.

// A new fault or move must not slip through.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::{BTreeMap, BTreeSet};

use lockproof_input::files;
use lockproof_redis::{Multi, Reply};

use super::story::who;
use super::{Event, FaultEvent, Setup, Step, Trace, words};

/// Where a trace contradicts itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Inconsistency {
    /// Something in the head of the trace.
    #[error("{0}")]
    Setup(String),
    /// Something in a step; steps count from 1.
    #[error("step {step} ({what}): {problem}")]
    Step {
        step: usize,
        what: String,
        problem: String,
    },
}

/// Checks that the trace can have happened.
pub fn validate(trace: &Trace) -> Result<(), Inconsistency> {
    setup(&trace.setup).map_err(Inconsistency::Setup)?;
    head(trace).map_err(Inconsistency::Setup)?;
    repeats(trace).map_err(Inconsistency::Setup)?;
    let mut run = Progress::new(&trace.setup);
    for (i, step) in trace.steps.iter().enumerate() {
        run.step(step).map_err(|problem| Inconsistency::Step {
            step: i + 1,
            what: words::event(trace, &step.event),
            problem,
        })?;
    }
    Ok(())
}

pub(super) fn ensure(ok: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if ok { Ok(()) } else { Err(problem()) }
}

/// The operations that clients call.
const OPERATIONS: [&str; 7] = [
    "acquire",
    "release",
    "acquire_read",
    "acquire_write",
    "renew",
    "is_held",
    "try_acquire",
];

const PERSISTENCE: [&str; 3] = ["none", "everysec", "always"];
const PHASES: [&str; 8] = [
    "idle",
    "acquiring",
    "held",
    "releasing",
    "renewing",
    "asking",
    "paused",
    "crashed",
];

/// No model has more clients, so no trace has.
pub const CLIENTS_MAX: u8 = 4;
/// No model has more servers beside each other.
pub const NODES_MAX: u8 = 7;

fn setup(s: &Setup) -> Result<(), String> {
    for (name, count, most) in [
        ("clients", s.clients, CLIENTS_MAX),
        ("nodes", s.nodes, NODES_MAX),
    ] {
        ensure((1..=most).contains(&count), || {
            format!("setup.{name} is {count}, but a model has 1 to {most}")
        })?;
    }
    for (name, value) in [
        ("ttl_ms", s.ttl_ms),
        ("tick_ms", s.tick_ms),
        ("timeout_ms", s.timeout_ms),
    ] {
        ensure(value > 0, || {
            format!("setup.{name} is {value}, but must be positive")
        })?;
    }
    if s.objects.is_some() {
        ensure(s.clients.is_multiple_of(2) && s.callers == 0, || {
            "setup.objects makes two clients of each, so setup.clients must be 2 or 4, and \
             setup.callers 0"
                .into()
        })?;
    }
    ensure(s.replicas <= 1, || {
        format!(
            "setup.replicas is {}, but a node has at most one replica",
            s.replicas
        )
    })?;
    ensure(s.min_replicas <= s.replicas, || {
        format!(
            "setup.min_replicas is {}, but setup.replicas is {}",
            s.min_replicas, s.replicas
        )
    })?;
    persistence(&s.persistence)
}

pub(super) fn persistence(name: &str) -> Result<(), String> {
    ensure(PERSISTENCE.contains(&name), || {
        format!(
            "persistence is {:?}, but must be none, everysec or always",
            words::shorten(name, 40)
        )
    })
}

fn head(trace: &Trace) -> Result<(), String> {
    ensure(files::is_name(&trace.lock.name), || {
        let name = &trace.lock.name;
        format!("lock.name is {name:?}, which no lock may be called")
    })?;
    let hash = &trace.lock.sha256;
    ensure(
        hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_hexdigit()),
        || "lock.sha256 is not a SHA-256 in hex (64 digits)".into(),
    )?;
    match &trace.property {
        // The violating step may be followed by its consequences (an operation
        // that ends), so it need not be the very last.
        Some(property) => ensure(
            trace.steps.iter().any(|s| s.violates.contains(property)),
            || format!("the trace claims to violate {property}, but none of its steps does"),
        ),
        None => Ok(()),
    }
}

/// Most rounds of an endless run that a trace shows.
const ROUNDS_MAX: usize = 16;

/// Rounds are at least two, one behind the other to the end, and the same happens in each.
fn repeats(trace: &Trace) -> Result<(), String> {
    let Some(repeats) = &trace.repeats else {
        return Ok(());
    };
    let (clients, op) = (trace.setup.clients, repeats.op.as_str());
    ensure(repeats.client < clients, || {
        format!(
            "repeats.client is {}, but there are {clients} clients",
            repeats.client
        )
    })?;
    ensure(OPERATIONS.contains(&op) && op != "release", || {
        format!(
            "repeats.op is {:?}, which acquires nothing",
            words::shorten(op, 40)
        )
    })?;
    let rounds = &repeats.rounds;
    let count = rounds.len();
    ensure((2..=ROUNDS_MAX).contains(&count), || {
        format!("repeats.rounds has {count} rounds, but needs 2 to {ROUNDS_MAX}")
    })?;
    let begins = |step: &u32| (1..=trace.steps.len()).contains(&(*step as usize));
    ensure(
        rounds.is_sorted_by(|one, next| one < next) && rounds.iter().all(begins),
        || "repeats.rounds are not numbers of steps in ascending order".into(),
    )?;
    let starts = rounds.iter().map(|step| *step as usize - 1);
    let ends = starts.clone().skip(1).chain([trace.steps.len()]);
    let mut first = None;
    for (number, (start, end)) in starts.zip(ends).enumerate() {
        let steps = trace.steps[start..end].iter();
        let kinds = steps
            .map(|step| &step.event)
            .filter(|event| !follows(event));
        let kinds: Vec<_> = kinds
            .map(|event| (std::mem::discriminant(event), who(event)))
            .collect();
        let same = kinds == *first.get_or_insert_with(|| kinds.clone());
        ensure(same, || {
            format!(
                "repeats: round {} does something else than round 1",
                number + 1
            )
        })?;
    }
    Ok(())
}

/// How far a replica is behind depends on all that comes later.
fn follows(event: &Event) -> bool {
    let Event::Fault { fault } = event else {
        return false;
    };
    matches!(
        fault,
        FaultEvent::ReplicaLags { .. } | FaultEvent::ReplicaCatchesUp { .. }
    )
}

/// One message's life, as far as it has come.
pub(super) struct InFlight {
    pub(super) client: u8,
    pub(super) node: u8,
    pub(super) executed: Option<Reply>,
    pub(super) blocked: bool,
    /// It is a BLPOP, which waits for an element, and not for a replica.
    pub(super) pops: bool,
    pub(super) request_lost: bool,
    pub(super) reply_lost: bool,
    /// Its client was paused before it was sent.
    pub(super) held: bool,
    /// It goes to the server that was its node's before a split.
    pub(super) old: bool,
    pub(super) failed: Option<Definite>,
    pub(super) delivered: bool,
}

type Definite = bool;

/// What the steps so far add up to.
pub(super) struct Progress<'a> {
    pub(super) setup: &'a Setup,
    pub(super) ticks: u32,
    pub(super) messages: BTreeMap<u32, InFlight>,
    pub(super) clients_stopped: BTreeSet<u8>,
    pub(super) clients_dead: BTreeSet<u8>,
    pub(super) nodes_stopped: BTreeSet<u8>,
    /// Nodes whose server is gone for a while.
    pub(super) nodes_down: BTreeSet<u8>,
    pub(super) links_cut: BTreeSet<(u8, u8)>,
    /// Nodes whose replica gets nothing more.
    pub(super) lagging: BTreeSet<u8>,
    /// Nodes whose replica has taken over.
    pub(super) failed_over: BTreeSet<u8>,
    /// Those of them whose old server still serves, and who uses the new one.
    pub(super) split: BTreeMap<u8, BTreeSet<u8>>,
    /// Servers (of a node, and whether it is the old one) that do not hear of their
    /// replica.
    pub(super) silent: BTreeSet<(u8, bool)>,
    /// Those of them that refuse writes.
    pub(super) gone: BTreeSet<(u8, bool)>,
}

impl<'a> Progress<'a> {
    fn new(setup: &'a Setup) -> Self {
        Progress {
            setup,
            ticks: 0,
            messages: BTreeMap::new(),
            clients_stopped: BTreeSet::new(),
            clients_dead: BTreeSet::new(),
            nodes_stopped: BTreeSet::new(),
            nodes_down: BTreeSet::new(),
            links_cut: BTreeSet::new(),
            lagging: BTreeSet::new(),
            failed_over: BTreeSet::new(),
            split: BTreeMap::new(),
            silent: BTreeSet::new(),
            gone: BTreeSet::new(),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.clock(step)?;
        self.views(step)?;
        match &step.event {
            Event::Call { client, op, .. } => {
                ensure(OPERATIONS.contains(&op.as_str()), || {
                    format!("there is no operation {:?}", words::shorten(op, 40))
                })?;
                self.acts(*client)
            }
            Event::Wake { client, .. }
            | Event::Choose { client, .. }
            | Event::Write { client, .. } => self.acts(*client),
            Event::Outcome { client, .. } | Event::Assertion { client, .. } => self.acts(*client),
            Event::Send {
                client,
                node,
                message,
                argv,
                ..
            } => self.send(*client, *node, *message, argv),
            Event::Execute {
                client,
                node,
                message,
                reply,
            } => self.execute(*client, *node, *message, reply),
            Event::Publish {
                client,
                node,
                message,
                channel,
                payload,
            } => self.publish(*client, *node, *message, [channel, payload]),
            Event::Block {
                client,
                node,
                message,
            } => self.block(*client, *node, *message),
            Event::HangUp {
                client,
                node,
                message,
            } => self.hang_up(*client, *node, *message),
            Event::Deliver {
                client,
                node,
                message,
                reply,
                ignored,
            } => self.deliver(*client, *node, *message, reply, *ignored),
            Event::Fail {
                client,
                node,
                message,
                definite,
            } => self.fail(*client, *node, *message, *definite),
            Event::Tick => Ok(()),
            Event::Fault { fault } => fault.happen(self),
        }
    }

    /// A tick step may carry the time before it or after it; every other step
    /// carries exactly the number of ticks so far.
    fn clock(&mut self, step: &Step) -> Result<(), String> {
        let before = self.ticks;
        if step.event == Event::Tick {
            self.ticks += 1;
        }
        ensure((before..=self.ticks).contains(&step.tick), || {
            format!(
                "it is dated tick {}, but {} passed so far",
                step.tick,
                words::plural(self.ticks, "tick")
            )
        })
    }

    fn views(&self, step: &Step) -> Result<(), String> {
        let (found, wanted) = (step.clients.len(), usize::from(self.setup.clients));
        ensure(found == wanted, || {
            format!("it tells what {found} clients believe, but there are {wanted}")
        })?;
        for (i, view) in step.clients.iter().enumerate() {
            let name = words::client(i as u8);
            ensure(PHASES.contains(&view.phase.as_str()), || {
                let phase = words::shorten(&view.phase, 40);
                format!("client {name} has an unknown phase {phase:?}")
            })?;
            ensure(view.believes || !view.valid, || {
                format!("client {name} has a valid lock that it does not believe to hold")
            })?;
        }
        Ok(())
    }

    pub(super) fn client(&self, client: u8) -> Result<(), String> {
        ensure(client < self.setup.clients, || {
            format!(
                "client {client} does not exist: there are {}, counted from 0",
                self.setup.clients
            )
        })
    }

    pub(super) fn node(&self, node: u8) -> Result<(), String> {
        ensure(node < self.setup.nodes, || {
            format!(
                "node {node} does not exist: there are {}, counted from 0",
                self.setup.nodes
            )
        })
    }

    pub(super) fn acts(&self, client: u8) -> Result<(), String> {
        self.client(client)?;
        let name = words::client(client);
        ensure(!self.clients_dead.contains(&client), || {
            format!("{name} has crashed before and cannot act")
        })?;
        ensure(!self.clients_stopped.contains(&client), || {
            format!("{name} is stopped and cannot act")
        })
    }

    fn send(&mut self, client: u8, node: u8, id: u32, argv: &[String]) -> Result<(), String> {
        self.acts(client)?;
        self.node(node)?;
        ensure(!argv.is_empty(), || "the command is empty".into())?;
        let multi = argv[0].eq_ignore_ascii_case("multi");
        ensure(!multi || Multi::of(argv).is_some(), || {
            "the transaction is none: MULTI, `plain` or `watched`, then each command with the \
             number of its words before it"
                .into()
        })?;
        let message = InFlight {
            client,
            node,
            executed: None,
            blocked: false,
            pops: argv[0].eq_ignore_ascii_case("blpop"),
            request_lost: false,
            reply_lost: false,
            held: false,
            old: self
                .split
                .get(&node)
                .is_some_and(|moved| !moved.contains(&client)),
            failed: None,
            delivered: false,
        };
        ensure(self.messages.insert(id, message).is_none(), || {
            format!("message {id} was sent before")
        })
    }

    /// A message that nobody asked for comes into being as if it were a reply.
    fn publish(
        &mut self,
        client: u8,
        node: u8,
        id: u32,
        [channel, payload]: [&String; 2],
    ) -> Result<(), String> {
        self.client(client)?;
        self.node(node)?;
        let name = words::client(client);
        ensure(!self.clients_dead.contains(&client), || {
            format!("{name} has crashed before and does not listen")
        })?;
        let words = ["message", channel, payload].map(|word| Reply::Bulk(word.into()));
        let message = InFlight {
            client,
            node,
            executed: Some(Reply::Array(words.into())),
            blocked: false,
            pops: false,
            request_lost: false,
            reply_lost: false,
            held: false,
            old: false,
            failed: None,
            delivered: false,
        };
        ensure(self.messages.insert(id, message).is_none(), || {
            format!("message {id} was sent before")
        })
    }

    /// The message, if it exists and belongs to this client and node.
    pub(super) fn message(
        &mut self,
        client: u8,
        node: u8,
        id: u32,
    ) -> Result<&mut InFlight, String> {
        self.client(client)?;
        self.node(node)?;
        let message = self
            .messages
            .get_mut(&id)
            .ok_or_else(|| format!("message {id} was never sent"))?;
        let fits = (message.client, message.node) == (client, node);
        let (from, to) = (words::client(message.client), words::node(message.node));
        ensure(fits, || format!("message {id} went from {from} to {to}"))?;
        Ok(message)
    }

    fn execute(&mut self, client: u8, node: u8, id: u32, reply: &Reply) -> Result<(), String> {
        ensure(!self.nodes_down.contains(&node), || {
            format!("{} is gone and executes nothing", words::node(node))
        })?;
        let stopped = self.nodes_stopped.contains(&node);
        let message = self.message(client, node, id)?;
        ensure(!stopped || message.old, || {
            format!("{} is stopped and executes nothing", words::node(node))
        })?;
        ensure(!message.request_lost, || {
            format!("message {id} was lost before the node saw it")
        })?;
        ensure(!message.held, || {
            format!("message {id} is not sent before its client goes on")
        })?;
        ensure(message.failed != Some(true), || {
            format!("message {id} had failed as surely not executed")
        })?;
        ensure(message.executed.is_none(), || {
            format!("message {id} was executed before")
        })?;
        message.executed = Some(reply.clone());
        Ok(())
    }

    fn block(&mut self, client: u8, node: u8, id: u32) -> Result<(), String> {
        let stopped = self.nodes_stopped.contains(&node);
        let replicas = self.setup.replicas;
        let message = self.message(client, node, id)?;
        ensure(replicas > 0 || message.pops, || {
            "setup.replicas is 0, so nobody waits for one".into()
        })?;
        ensure(!stopped || message.old, || {
            format!("{} is stopped and takes nothing", words::node(node))
        })?;
        let open = !message.request_lost && message.failed != Some(true);
        ensure(
            open && message.executed.is_none() && !message.blocked,
            || format!("message {id} does not wait before the node"),
        )?;
        message.blocked = true;
        Ok(())
    }

    fn hang_up(&mut self, client: u8, node: u8, id: u32) -> Result<(), String> {
        let stopped = self.nodes_stopped.contains(&node);
        let message = self.message(client, node, id)?;
        ensure(!stopped || message.old, || {
            format!("{} is stopped and learns nothing", words::node(node))
        })?;
        let waits = message.blocked && message.pops && message.executed.is_none();
        ensure(waits && !message.request_lost, || {
            format!("message {id} is no BLPOP that the node holds back")
        })?;
        // Nothing more comes of it.
        message.request_lost = true;
        Ok(())
    }

    fn deliver(
        &mut self,
        client: u8,
        node: u8,
        id: u32,
        reply: &Reply,
        ignored: bool,
    ) -> Result<(), String> {
        if !ignored {
            self.acts(client)?;
        }
        let message = self.message(client, node, id)?;
        let Some(executed) = &message.executed else {
            return Err(format!("message {id} was never executed"));
        };
        ensure(executed == reply, || {
            format!(
                "the node replied {}, but {} arrives",
                words::reply(executed),
                words::reply(reply)
            )
        })?;
        ensure(!message.reply_lost, || {
            format!("the reply to message {id} was lost")
        })?;
        ensure(!message.delivered, || {
            format!("the reply to message {id} arrived before")
        })?;
        ensure(message.failed.is_none() || ignored, || {
            format!("message {id} failed before; nobody waits for its reply")
        })?;
        message.delivered = true;
        Ok(())
    }

    fn fail(&mut self, client: u8, node: u8, id: u32, definite: bool) -> Result<(), String> {
        let message = self.message(client, node, id)?;
        ensure(!message.delivered && message.failed.is_none(), || {
            format!("message {id} had ended before")
        })?;
        ensure(!(definite && message.executed.is_some()), || {
            format!("message {id} was executed, so it cannot fail as surely not executed")
        })?;
        message.failed = Some(definite);
        Ok(())
    }

    pub(super) fn has_replica(&self, node: u8) -> Result<(), String> {
        self.node(node)?;
        ensure(self.setup.replicas > 0, || {
            "setup.replicas is 0, so no node has a replica".into()
        })?;
        ensure(!self.failed_over.contains(&node), || {
            format!("{}'s replica has taken its place before", words::node(node))
        })
    }
}
