//! From a path through the tables back to real commands, tokens and times.
//!
//! The concrete simulation runs live client programs against formal servers
//! with real tokens and absolute times, in the order that a path says. It does
//! two jobs: it writes the [`Trace`] that a real server replays, and it checks
//! the tables, for after every move each live client must be in the class, and
//! each server in the keyspace, that the path claims.

use std::collections::BTreeMap;

use crate::lock::{Config, Input, LockError, LockFile, Op, Output, Phase, Program, Waiting};
use crate::redis::{Bytes, Reply, ScriptEngine};
use crate::trace::{self, Event, Outcome, Source, Step, Trace};

use super::catalogue::{Fault, PROPERTIES, Property};
use super::client::THREADS;
use super::closure::retirement;
use super::layout::State;
use super::message::{Content, Message};
use super::moves::Move;
use super::node::Keyspace;
use super::symbols::{self, PRESENT};
use super::system::{Action, PropertySet, System};
use super::world::World;

/// Why a path could not be made concrete.
#[derive(Debug, thiserror::Error)]
pub enum ConcreteError {
    /// The lock file failed.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No Lua engine for the scripts.
    #[error("failed to start the Lua engine for Redis scripts: {0}")]
    Engine(#[from] crate::redis::EngineError),
    /// The tables and the live program part ways: an error of lockproof's own.
    #[error("the tables disagree with the live program at move {at} ({what}): {detail}")]
    Mismatch {
        at: usize,
        what: String,
        detail: String,
    },
}

/// A path: the moves, each with the state after it.
pub type Moves<const W: usize> = [(Action, State<W>)];

/// What a trace says of itself.
#[derive(Clone, Debug)]
pub struct Heading {
    /// The violated property; `None` for a walk.
    pub property: Option<Property>,
    /// The seed of a walk.
    pub seed: Option<u64>,
    /// The setup; its times are those of `config`.
    pub setup: trace::Setup,
    pub assumptions: Vec<trace::Assumption>,
}

/// Runs `moves` and writes them down as a trace.
///
/// # Errors
/// See [`ConcreteError`].
pub fn concretise<const W: usize>(
    world: &World<W>,
    file: &LockFile,
    config: &Config,
    moves: &Moves<W>,
    heading: Heading,
) -> Result<Trace, ConcreteError> {
    let mut run = Run::start(world, file, config)?;
    let mut before = world.start();
    for (at, (action, after)) in moves.iter().enumerate() {
        let step = Move::decode(*action).ok_or_else(|| mismatch(at, "move", "unknown code"))?;
        let first = run.steps.len();
        run.take(at, step, &before)?;
        run.compare(at, step, after)?;
        let violates = violations(world, &before, *action, after);
        run.finish_move(first, violates);
        before = *after;
    }
    if heading.property == Some(Property::DeadlockFreedom)
        && let Some(last) = run.steps.last_mut()
    {
        last.violates
            .push(Property::DeadlockFreedom.info().id.into());
    }
    Ok(Trace {
        schema: trace::SCHEMA.into(),
        lock: reference(file),
        setup: heading.setup,
        assumptions: heading.assumptions,
        property: heading.property.map(|property| property.info().id.into()),
        seed: heading.seed,
        steps: run.told(),
    })
}

/// A lock file as traces and reports name it.
pub fn reference(file: &LockFile) -> trace::LockRef {
    trace::LockRef {
        name: file.name.clone(),
        path: file.path.clone(),
        sha256: file.sha256.clone(),
    }
}

fn violations<const W: usize>(
    world: &World<W>,
    before: &State<W>,
    action: Action,
    after: &State<W>,
) -> PropertySet {
    let mut found = 0;
    world.successors(before, &mut |transition| {
        if transition.action == action && transition.state == *after {
            found |= transition.violates;
        }
    });
    found
}

fn mismatch(at: usize, what: impl std::fmt::Debug, detail: impl Into<String>) -> ConcreteError {
    ConcreteError::Mismatch {
        at,
        what: format!("{what:?}"),
        detail: detail.into(),
    }
}

/// A message with its real content.
struct Parcel {
    id: u32,
    client: u8,
    thread: u8,
    node: u8,
    awaited: bool,
    /// To or from the node's old server.
    old: bool,
    content: Cargo,
}

enum Cargo {
    Request(Vec<Bytes>),
    Reply(Reply),
    Broken,
}

struct Client {
    program: Program,
    crashed: bool,
    /// Ticks paused so far.
    paused: Option<u8>,
    /// Its clock minus true time, in ms.
    offset_ms: i64,
    attempt: u32,
    /// Every token it had, with the generation that the tables give it.
    tokens: Vec<(String, u8)>,
    awaiting: [Option<u16>; THREADS],
}

/// What stands behind a node.
#[derive(Clone, Default)]
struct Replica {
    /// The node's keyspace before its last write, before its last two, ..
    history: Vec<Keyspace>,
    /// The steps of these writes.
    writes: Vec<usize>,
}

struct Run<'w, const W: usize> {
    world: &'w World<W>,
    file: &'w LockFile,
    tick_ms: i64,
    horizon_ms: i64,
    scripts: ScriptEngine,
    clients: Vec<Client>,
    nodes: Vec<Keyspace>,
    synced: Vec<Keyspace>,
    replicas: Vec<Replica>,
    /// Old servers that still serve, by node, and the clients that use the new one.
    split: BTreeMap<u8, (Keyspace, Vec<u8>)>,
    /// Steps before which a node's replica gets left behind.
    lags: Vec<(usize, u8)>,
    parcels: Vec<Parcel>,
    cut: BTreeMap<(u8, u8), bool>,
    next_id: u32,
    tick: u32,
    steps: Vec<Step>,
}

/// The token of a client's attempt in a concrete run: readable, and unlike any other.
fn token_name(client: u8, attempt: u32) -> String {
    let noise = (u64::from(client) * 1_000_003 + u64::from(attempt))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(23);
    format!("{}{attempt}-{:08x}", symbols::letter(client), noise as u32)
}

impl<'w, const W: usize> Run<'w, W> {
    fn start(
        world: &'w World<W>,
        file: &'w LockFile,
        config: &Config,
    ) -> Result<Self, ConcreteError> {
        let clients = (0..world.config.clients)
            .map(|client| {
                Ok(Client {
                    program: Program::start(
                        file,
                        config,
                        &trace::owner_name(client),
                        trace::EPOCH_MS,
                    )?,
                    crashed: false,
                    paused: None,
                    offset_ms: 0,
                    attempt: 0,
                    tokens: Vec::new(),
                    awaiting: [None; THREADS],
                })
            })
            .collect::<Result<Vec<Client>, LockError>>()?;
        let nodes = vec![Keyspace::default(); usize::from(world.config.nodes)];
        let replica = Replica {
            history: vec![Keyspace::default(); world.config.lag()],
            writes: Vec::new(),
        };
        Ok(Run {
            world,
            file,
            tick_ms: world.tables.needs.tick_ms,
            horizon_ms: world.tables.needs.horizon_ms,
            scripts: ScriptEngine::new()?,
            clients,
            synced: nodes.clone(),
            replicas: vec![replica; nodes.len()],
            lags: Vec::new(),
            split: BTreeMap::new(),
            nodes,
            parcels: Vec::new(),
            cut: BTreeMap::new(),
            next_id: 1,
            tick: 0,
            steps: Vec::new(),
        })
    }

    fn now(&self) -> i64 {
        trace::EPOCH_MS + i64::from(self.tick) * self.tick_ms
    }

    // ---- one move ----

    fn take(&mut self, at: usize, step: Move, before: &State<W>) -> Result<(), ConcreteError> {
        match step {
            Move::Call { client, op } => self.call(client, op, before)?,
            Move::Wake { client, thread } => {
                let class = self.world.class(before, usize::from(client));
                let facts = self.world.tables.facts[usize::from(class)];
                let timed_out = facts.timed_out & 1 << thread != 0;
                self.log(
                    Event::Wake {
                        client,
                        thread,
                        timed_out,
                    },
                    None,
                );
                self.feed(client, Input::Wake { thread })?;
            }
            Move::Choose {
                client,
                thread,
                value,
            } => {
                self.log(
                    Event::Choose {
                        client,
                        thread,
                        value,
                    },
                    None,
                );
                self.feed(client, Input::Choose { thread, value })?;
            }
            Move::Execute { client, slot } => {
                let index = self.find(at, step, before, client, slot)?;
                self.execute(index);
            }
            Move::Deliver { client, slot } => {
                let index = self.find(at, step, before, client, slot)?;
                self.deliver(index)?;
            }
            Move::Write { client } => self.log(Event::Write { client }, None),
            Move::Tick => self.advance(None)?,
            Move::Drift { client, ticks } => {
                self.fault(trace::Fault::ClientDrift { client, ticks });
                self.advance(Some((client, ticks)))?;
            }
            Move::Lose { client, slot } => {
                let index = self.find(at, step, before, client, slot)?;
                self.lose(index);
            }
            Move::Delay { client, slot } => {
                let index = self.find(at, step, before, client, slot)?;
                let (_, ticks) = self.world.config.switch(Fault::Delay);
                let Parcel {
                    node,
                    id: message,
                    ref content,
                    ..
                } = self.parcels[index];
                let reply = !matches!(content, Cargo::Request(_));
                self.fault(trace::Fault::Delay {
                    client,
                    node,
                    message,
                    reply,
                    ticks,
                });
            }
            _ => self.take_fault(step)?,
        }
        Ok(())
    }

    fn take_fault(&mut self, step: Move) -> Result<(), ConcreteError> {
        match step {
            Move::Crash { client } => {
                self.fault(trace::Fault::ClientCrash { client });
                self.crash(client);
            }
            Move::Pause { client } => {
                self.fault(trace::Fault::ClientPause { client });
                self.clients[usize::from(client)].paused = Some(0);
            }
            Move::Resume { client } => {
                self.fault(trace::Fault::ClientResume { client });
                let ticks = self.clients[usize::from(client)].paused.take().unwrap_or(0);
                let ms = self.tick_ms * i64::from(ticks);
                if ms > 0 {
                    self.feed(client, Input::Advance { ms })?;
                }
            }
            Move::Overrun { client } => self.fault(trace::Fault::Overrun { client }),
            Move::Skew { client, skew } => {
                let ticks = self.world.tables.needs.skews[usize::from(skew)];
                let offset_ms = i64::from(ticks) * self.tick_ms;
                let ms = offset_ms - self.clients[usize::from(client)].offset_ms;
                self.clients[usize::from(client)].offset_ms = offset_ms;
                self.fault(trace::Fault::ClientSkew { client, offset_ms });
                self.feed(client, Input::Skew { ms })?;
            }
            Move::Cut { client, node } => {
                self.fault(trace::Fault::LinkCut { client, node });
                self.cut.insert((client, node), true);
                self.parcels
                    .retain(|parcel| parcel.client != client || parcel.node != node);
            }
            Move::Heal { client, node } => {
                self.fault(trace::Fault::LinkHeal { client, node });
                self.cut.remove(&(client, node));
            }
            _ => self.take_node_fault(step),
        }
        Ok(())
    }

    fn take_node_fault(&mut self, step: Move) {
        match step {
            Move::Fsync { node } => {
                self.fault(trace::Fault::NodeFsync { node });
                self.synced[usize::from(node)] = self.nodes[usize::from(node)].clone();
            }
            Move::RestartNone { node } => {
                let empty = self.nodes[usize::from(node)].emptied();
                self.restart(node, "none", empty);
            }
            Move::RestartEverysec { node } => {
                let synced = self.synced[usize::from(node)].clone();
                self.restart(node, "everysec", synced);
            }
            Move::RestartAlways { node } => {
                let same = self.nodes[usize::from(node)].clone();
                self.restart(node, "always", same);
            }
            Move::PauseNode { node } => self.fault(trace::Fault::NodePause { node }),
            Move::ResumeNode { node } => self.fault(trace::Fault::NodeResume { node }),
            Move::Jump { node, back } => {
                let size = i64::from(self.world.tables.needs.jump) * self.tick_ms;
                let offset_ms = if back { -size } else { size };
                self.fault(trace::Fault::ClockJump { node, offset_ms });
                let jump = |keyspace: &Keyspace| keyspace.jump(offset_ms, true, i64::MAX);
                self.change_node(usize::from(node), jump);
            }
            Move::Failover { node, lost } => {
                self.fault(trace::Fault::Failover { node, lost });
                self.promote(node, lost);
                self.break_connections(node, false);
            }
            Move::SplitBrain { node, lost } => {
                self.fault(trace::Fault::SplitBrain { node, lost });
                self.leave_in_service(node);
                self.promote(node, lost);
            }
            Move::Notice { client, node } => {
                self.fault(trace::Fault::ClientNotices { client, node });
                if let Some((_, moved)) = self.split.get_mut(&node) {
                    moved.push(client);
                }
            }
            Move::Demote { node } => {
                self.fault(trace::Fault::Demotion { node });
                self.split.remove(&node);
                self.break_connections(node, true);
            }
            _ => {}
        }
    }

    fn call(&mut self, client: u8, op: Op, before: &State<W>) -> Result<(), ConcreteError> {
        let outermost = self.clients[usize::from(client)].program.view().holds == 0;
        let token = (op == Op::Acquire && outermost).then(|| {
            let generations = self
                .world
                .generations_in_flight(before, usize::from(client));
            let map = retirement(generations);
            let state = &mut self.clients[usize::from(client)];
            for (_, generation) in &mut state.tokens {
                if let Some(new) = map.get(usize::from(*generation)) {
                    *generation = *new;
                }
            }
            state.attempt += 1;
            let token = token_name(client, state.attempt);
            state.tokens.push((token.clone(), 0));
            token
        });
        let name = op_name(op).to_owned();
        self.log(
            Event::Call {
                client,
                op: name,
                token: token.clone(),
            },
            None,
        );
        self.feed(client, Input::Call { op, token })
    }

    // ---- clients ----

    fn feed(&mut self, client: u8, input: Input) -> Result<(), ConcreteError> {
        let output = self.clients[usize::from(client)].program.step(&input)?;
        self.carry_out(client, output);
        Ok(())
    }

    fn carry_out(&mut self, client: u8, output: Output) {
        for thread in &output.abandoned {
            self.parcels.retain_mut(|parcel| {
                if parcel.client == client && parcel.thread == *thread && parcel.awaited {
                    parcel.awaited = false;
                    return matches!(parcel.content, Cargo::Request(_));
                }
                true
            });
        }
        for request in output.sent {
            self.send(client, request);
        }
        self.note_waits(client);
        let source = self.source(output.line);
        if let Some((op, outcome)) = output.outcome {
            self.log(
                Event::Outcome {
                    client,
                    op: op_name(op).into(),
                    outcome,
                },
                source,
            );
        } else if output.lost {
            let op = "renewal".into();
            self.log(
                Event::Outcome {
                    client,
                    op,
                    outcome: Outcome::Lost,
                },
                source,
            );
        }
    }

    fn send(&mut self, client: u8, request: crate::lock::Request) {
        let id = self.next_id;
        self.next_id += 1;
        let crate::lock::Request {
            thread,
            node,
            argv,
            line,
        } = request;
        let family = self.family(client, &argv);
        self.clients[usize::from(client)].awaiting[usize::from(thread)] = family;
        let words = argv
            .iter()
            .map(|word| String::from_utf8_lossy(word).into_owned())
            .collect();
        let source = self.source(line);
        self.log(
            Event::Send {
                client,
                thread,
                node,
                message: id,
                argv: words,
            },
            source,
        );
        let content = Cargo::Request(argv);
        self.parcels.push(Parcel {
            id,
            client,
            thread,
            node,
            awaited: true,
            old: self.uses_old(client, node),
            content,
        });
        if self.cut.contains_key(&(client, node)) {
            self.lose(self.parcels.len() - 1);
        }
    }

    /// Forgets what a thread asked for once it does not wait for it any more.
    fn note_waits(&mut self, client: u8) {
        let state = &mut self.clients[usize::from(client)];
        let view = state.program.view();
        for (thread, family) in state.awaiting.iter_mut().enumerate() {
            let waits = view.threads.iter().any(|(id, waiting)| {
                usize::from(*id) == thread
                    && matches!(waiting, Waiting::Reply { .. } | Waiting::TimedOut { .. })
            });
            if !waits {
                *family = None;
            }
        }
    }

    fn crash(&mut self, client: u8) {
        self.clients[usize::from(client)].crashed = true;
        self.parcels.retain_mut(|parcel| {
            if parcel.client == client {
                parcel.awaited = false;
            }
            parcel.client != client || matches!(parcel.content, Cargo::Request(_))
        });
    }

    fn advance(&mut self, drift: Option<(u8, u8)>) -> Result<(), ConcreteError> {
        self.tick += 1;
        self.log(Event::Tick, None);
        let tick_ms = self.tick_ms;
        for node in 0..self.nodes.len() {
            self.change_node(node, |keyspace| keyspace.advance_concrete(tick_ms));
        }
        for client in 0..self.world.config.clients {
            let ticks = match drift {
                Some((drifting, ticks)) if drifting == client => ticks,
                _ => 1,
            };
            let state = &mut self.clients[usize::from(client)];
            state.offset_ms += (i64::from(ticks) - 1) * self.tick_ms;
            if let Some(paused) = &mut state.paused {
                *paused += 1;
            } else if !state.crashed && ticks > 0 {
                let ms = self.tick_ms * i64::from(ticks);
                self.feed(client, Input::Advance { ms })?;
            }
        }
        // Beliefs may have lapsed with the tick: the step shows them as they are now.
        let views = self.views();
        if let Some(step) = self.steps.last_mut() {
            step.clients = views;
        }
        Ok(())
    }

    // ---- messages ----

    /// The parcel that stands in a slot of the abstract state.
    fn find(
        &self,
        at: usize,
        step: Move,
        before: &State<W>,
        client: u8,
        slot: u8,
    ) -> Result<usize, ConcreteError> {
        let message = self
            .world
            .message_in(before, client, slot)
            .ok_or_else(|| mismatch(at, step, "the slot is empty"))?;
        self.parcels
            .iter()
            .position(|parcel| parcel.client == client && self.is(parcel, &message))
            .ok_or_else(|| mismatch(at, step, format!("no such message in flight: {message:?}")))
    }

    fn is(&self, parcel: &Parcel, message: &Message) -> bool {
        let same_place = parcel.node == message.node
            && parcel.thread == message.thread
            && parcel.awaited == message.awaited
            && parcel.old == message.old;
        let closure = &self.world.tables.closure;
        same_place
            && match (&parcel.content, message.content) {
                (Cargo::Request(argv), Content::Request(id)) => {
                    let command = closure.commands.get(id);
                    argv.iter()
                        .map(|word| self.canonical(word))
                        .eq(command.argv.iter().cloned())
                }
                (Cargo::Reply(reply), Content::Reply(id)) => {
                    *closure.replies.get(id) == self.canonical_reply(reply)
                }
                (Cargo::Broken, Content::Broken) => true,
                _ => false,
            }
    }

    fn execute(&mut self, index: usize) {
        let Parcel {
            id: message,
            client,
            node,
            awaited,
            ..
        } = self.parcels[index];
        let now = self.now();
        let old = self.parcels[index].old;
        let mut left_behind = self.split.get_mut(&node).filter(|_| old);
        let keyspace = match &left_behind {
            Some((keyspace, _)) => keyspace,
            None => &self.nodes[usize::from(node)],
        };
        let Cargo::Request(argv) = &self.parcels[index].content else {
            return;
        };
        let executed = keyspace.execute_at(now, &mut self.scripts, client, argv);
        match &mut left_behind {
            Some((keyspace, _)) => *keyspace = executed.after,
            None => self.write_to(node, executed.after),
        }
        let reply = executed.reply;
        self.log(
            Event::Execute {
                client,
                node,
                message,
                reply: reply.clone(),
            },
            None,
        );
        if awaited {
            self.parcels[index].content = Cargo::Reply(reply);
        } else {
            // Nobody waits for it: the late reply falls on deaf ears.
            self.parcels.remove(index);
            self.log(
                Event::Deliver {
                    client,
                    node,
                    message,
                    reply,
                    ignored: true,
                },
                None,
            );
        }
    }

    fn deliver(&mut self, index: usize) -> Result<(), ConcreteError> {
        let Parcel {
            id: message,
            client,
            thread,
            node,
            content,
            ..
        } = self.parcels.remove(index);
        match content {
            Cargo::Reply(reply) => {
                let told = reply.clone();
                self.log(
                    Event::Deliver {
                        client,
                        node,
                        message,
                        reply,
                        ignored: false,
                    },
                    None,
                );
                self.feed(
                    client,
                    Input::Reply {
                        thread,
                        reply: told,
                    },
                )
            }
            _ => {
                self.log(
                    Event::Fail {
                        client,
                        node,
                        message,
                        definite: false,
                    },
                    None,
                );
                let message = trace::CONNECTION_FAILED.into();
                self.feed(
                    client,
                    Input::Fail {
                        thread,
                        definite: false,
                        message,
                    },
                )
            }
        }
    }

    fn lose(&mut self, index: usize) {
        let Parcel {
            id: message,
            client,
            node,
            content,
            ..
        } = self.parcels.remove(index);
        let reply = !matches!(content, Cargo::Request(_));
        self.fault(trace::Fault::Lose {
            client,
            node,
            message,
            reply,
        });
    }

    fn restart(&mut self, node: u8, persistence: &str, after: Keyspace) {
        let loses = after != self.nodes[usize::from(node)];
        let persistence = persistence.to_owned();
        self.synced[usize::from(node)] = after.clone();
        self.write_to(node, after);
        self.fault(trace::Fault::NodeRestart {
            node,
            persistence,
            loses,
        });
        self.break_connections(node, false);
    }

    /// The node holds this now, from the next step on. Its replica may lack one
    /// write more, if what the tables tell apart has changed.
    fn write_to(&mut self, node: u8, after: Keyspace) {
        let at = usize::from(node);
        let canonical = |keyspace: &Keyspace| keyspace.renamed(&|text| self.canonical(text));
        let replicated = !self.replicas[at].history.is_empty();
        let changes = replicated && !canonical(&self.nodes[at]).same_content(&canonical(&after));
        let before = std::mem::replace(&mut self.nodes[at], after);
        let replica = &mut self.replicas[at];
        if changes && replica.history.pop().is_some() {
            replica.history.insert(0, before);
            replica.writes.push(self.steps.len());
        }
    }

    /// The same change to all that a node holds, its replica's content included.
    fn change_node(&mut self, node: usize, change: impl Fn(&Keyspace) -> Keyspace) {
        let own = [&mut self.nodes[node], &mut self.synced[node]];
        for keyspace in own.into_iter().chain(&mut self.replicas[node].history) {
            *keyspace = change(keyspace);
        }
        if let Some((keyspace, _)) = self.split.get_mut(&(node as u8)) {
            *keyspace = change(keyspace);
        }
    }

    fn uses_old(&self, client: u8, node: u8) -> bool {
        let split = self.split.get(&node);
        split.is_some_and(|(_, moved)| !moved.contains(&client))
    }

    /// The node's server goes on as an old one, with what is in flight to it.
    fn leave_in_service(&mut self, node: u8) {
        let keyspace = self.nodes[usize::from(node)].clone();
        self.split.insert(node, (keyspace, Vec::new()));
        for parcel in &mut self.parcels {
            parcel.old |= parcel.node == node;
        }
    }

    fn promote(&mut self, node: u8, lost: u8) {
        let at = usize::from(node);
        let Replica { history, writes } = std::mem::take(&mut self.replicas[at]);
        if let Some(behind) = usize::from(lost).checked_sub(1) {
            // The tables said that the replica can lack so much, so there was so much.
            self.lags
                .extend(writes.iter().rev().nth(behind).map(|step| (*step, node)));
            let newer = [&self.nodes[at]].into_iter().chain(&history[..behind]);
            if newer
                .into_iter()
                .any(|keyspace| *keyspace == self.synced[at])
            {
                self.synced[at] = history[behind].clone();
            }
            self.nodes[at] = history[behind].clone();
        }
    }

    fn break_connections(&mut self, node: u8, old: bool) {
        self.parcels.retain_mut(|parcel| {
            if parcel.node == node && parcel.old == old {
                parcel.old = false;
                parcel.content = Cargo::Broken;
                return parcel.awaited;
            }
            true
        });
    }

    // ---- canonical forms, for comparison with the tables ----

    fn name(&self, text: &[u8]) -> Vec<u8> {
        let mut names: Vec<(Vec<u8>, String)> = Vec::new();
        for (client, state) in self.clients.iter().enumerate() {
            let client = client as u8;
            for (token, generation) in &state.tokens {
                names.push((
                    token.clone().into_bytes(),
                    symbols::token(client, *generation),
                ));
            }
            names.push((
                trace::owner_name(client).into_bytes(),
                symbols::owner(client),
            ));
        }
        replace(text, &names)
    }

    fn canonical(&self, text: &[u8]) -> Vec<u8> {
        symbols::map_times(&self.name(text), self.now(), |distance| {
            PRESENT + symbols::clamp(distance, self.horizon_ms)
        })
    }

    fn canonical_reply(&self, reply: &Reply) -> Reply {
        symbols::map_reply(reply, &mut |text| self.canonical(text))
    }

    /// The client's own canonical form of a text.
    fn canonical_local(&self, client: u8, text: &[u8]) -> Vec<u8> {
        let clock =
            self.now() + self.clients[usize::from(client)].offset_ms - self.paused_ms(client);
        let timed = symbols::map_times(&self.name(text), clock, |distance| {
            PRESENT + symbols::clamp(distance, self.horizon_ms)
        });
        symbols::to_local(&timed, client, 0, self.horizon_ms)
    }

    fn paused_ms(&self, client: u8) -> i64 {
        let ticks = self.clients[usize::from(client)].paused.unwrap_or(0);
        i64::from(ticks) * self.tick_ms
    }

    fn family(&self, client: u8, argv: &[Bytes]) -> Option<u16> {
        let masked: Vec<Bytes> = argv
            .iter()
            .map(|word| symbols::mask_times(&self.canonical_local(client, word)))
            .collect();
        self.world.tables.closure.families.find(&masked)
    }

    /// Every live client and every node is where the path says.
    fn compare(&self, at: usize, step: Move, after: &State<W>) -> Result<(), ConcreteError> {
        for client in 0..self.world.config.clients {
            self.compare_client(at, step, after, client)?;
        }
        for (node, keyspace) in self.nodes.iter().enumerate() {
            let canonical = keyspace.renamed(&|text| self.canonical(text));
            let claimed = self
                .world
                .tables
                .closure
                .keyspaces
                .get(self.world.keyspace(after, node));
            if !canonical.same_content(claimed) {
                let detail = format!("node {node} holds {canonical:?}, not {claimed:?}");
                return Err(mismatch(at, step, detail));
            }
            self.compare_replica(at, step, after, node)?;
            self.compare_old(at, step, after, node)?;
        }
        Ok(())
    }

    /// What a node's replica may hold is what the path says.
    fn compare_replica(
        &self,
        at: usize,
        step: Move,
        after: &State<W>,
        node: usize,
    ) -> Result<(), ConcreteError> {
        let keyspaces = &self.world.tables.closure.keyspaces;
        let behind = self.world.behind(after, node);
        let claimed: Vec<&Keyspace> = behind.iter().map(|id| keyspaces.get(*id)).collect();
        let history = self.replicas[node].history.iter();
        let held: Vec<Keyspace> = history
            .map(|keyspace| keyspace.renamed(&|text| self.canonical(text)))
            .collect();
        let same = |(held, claimed): (&Keyspace, &&Keyspace)| held.same_content(claimed);
        if held.len() == claimed.len() && held.iter().zip(&claimed).all(same) {
            return Ok(());
        }
        let detail = format!("the replica of node {node} may hold {held:?}, not {claimed:?}");
        Err(mismatch(at, step, detail))
    }

    /// A node's old server, if it has one, holds what the path says.
    fn compare_old(
        &self,
        at: usize,
        step: Move,
        after: &State<W>,
        node: usize,
    ) -> Result<(), ConcreteError> {
        let keyspaces = &self.world.tables.closure.keyspaces;
        let claimed = self.world.old(after, node).map(|id| keyspaces.get(id));
        let old = self.split.get(&(node as u8));
        let held = old.map(|(keyspace, _)| keyspace.renamed(&|text| self.canonical(text)));
        let same = match (&held, claimed) {
            (Some(held), Some(claimed)) => held.same_content(claimed),
            (held, claimed) => held.is_none() && claimed.is_none(),
        };
        if same {
            return Ok(());
        }
        let detail = format!("the old server of node {node} holds {held:?}, not {claimed:?}");
        Err(mismatch(at, step, detail))
    }

    fn compare_client(
        &self,
        at: usize,
        step: Move,
        after: &State<W>,
        client: u8,
    ) -> Result<(), ConcreteError> {
        let state = &self.clients[usize::from(client)];
        if state.crashed {
            return Ok(());
        }
        let key = state
            .program
            .key(&|text| self.canonical_local(client, text))?;
        let local = self.world.tables.closure.find_local(key, state.awaiting);
        let class = local.map(|id| self.world.tables.class_of[id as usize]);
        let claimed = self.world.class(after, usize::from(client));
        if class == Some(claimed) {
            return Ok(());
        }
        let view = state.program.view();
        let detail = format!("client {client} is in {class:?} with {view:?}, not in {claimed}");
        Err(mismatch(at, step, detail))
    }

    // ---- steps ----

    fn fault(&mut self, fault: trace::Fault) {
        self.log(Event::Fault { fault }, None);
    }

    fn log(&mut self, event: Event, source: Option<Source>) {
        let clients = self.views();
        let violates = Vec::new();
        self.steps.push(Step {
            tick: self.tick,
            event,
            source,
            clients,
            violates,
        });
    }

    /// The steps of one move show the state after it, and what it violates.
    fn finish_move(&mut self, first: usize, violates: PropertySet) {
        let views = self.views();
        let ids = PROPERTIES
            .iter()
            .filter(|info| violates & info.property.bit() != 0);
        let ids: Vec<String> = ids.map(|info| info.id.to_owned()).collect();
        let count = self.steps.len();
        for step in &mut self.steps[first..] {
            // A drift is announced before the tick that it bends.
            let drift = matches!(
                step.event,
                Event::Fault {
                    fault: trace::Fault::ClientDrift { .. }
                }
            );
            if !drift {
                step.clients = views.clone();
            }
        }
        if count > first {
            self.steps[count - 1].violates = ids;
        }
    }

    /// All steps, and among them the moments from which on replicas lag.
    fn told(mut self) -> Vec<Step> {
        self.lags.sort_unstable();
        // From the back, so that the places in front stay what they are.
        for (at, node) in self.lags.into_iter().rev() {
            let Step { tick, clients, .. } = self.steps[at.saturating_sub(1)].clone();
            let fault = trace::Fault::ReplicaLags { node };
            let lags = Step {
                tick,
                event: Event::Fault { fault },
                source: None,
                clients,
                violates: Vec::new(),
            };
            self.steps.insert(at, lags);
        }
        self.steps
    }

    fn source(&self, line: u32) -> Option<Source> {
        let text = self.file.line(line)?;
        Some(Source {
            line,
            text: text.trim().to_owned(),
        })
    }

    fn views(&self) -> Vec<trace::ClientView> {
        (0..self.world.config.clients)
            .map(|client| self.view(client))
            .collect()
    }

    fn view(&self, client: u8) -> trace::ClientView {
        let state = &self.clients[usize::from(client)];
        let view = state.program.view();
        let believes = !state.crashed && view.holds > 0;
        let paused = self.paused_ms(client);
        let left = view
            .validity_left_ms
            .filter(|_| believes)
            .map(|left| left - paused);
        let phase = match view.phase {
            _ if state.crashed => "crashed",
            _ if state.paused.is_some() => "paused",
            Phase::Idle => "idle",
            Phase::Acquiring => "acquiring",
            Phase::Held => "held",
            Phase::Releasing => "releasing",
        };
        trace::ClientView {
            phase: phase.into(),
            believes,
            valid: believes && left.is_none_or(|left| left > 0),
            validity_left_ms: left,
            holds: if believes { view.holds } else { 0 },
        }
    }
}

fn op_name(op: Op) -> &'static str {
    match op {
        Op::Acquire => "acquire",
        Op::Release => "release",
    }
}

/// Replaces every occurrence of the first matching name.
fn replace(text: &[u8], names: &[(Vec<u8>, String)]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while i < text.len() {
        match names.iter().find(|(name, _)| text[i..].starts_with(name)) {
            Some((name, symbol)) => {
                out.extend_from_slice(symbol.as_bytes());
                i += name.len();
            }
            None => {
                out.push(text[i]);
                i += 1;
            }
        }
    }
    out
}
