//! What the violated property needs to be known of the real run, noted on the way.
//!
//! That all steps agreed says that the model told these events rightly, and not that
//! they violate what the trace says they do: the same steps stand in traces of other
//! properties, and a label can be wrong. So each property is looked for again, in
//! what servers and clients really did at the violating step; `confirm.rs` asks for
//! it at the end.

use std::collections::BTreeSet;
use std::path::Path;

use lockproof_lab::client::protocol::{Ended, Mode, View};
use lockproof_model::lock::{Keys, LockFile, Op, Role};
use lockproof_redis::Reply;
use lockproof_trace::{Event, Outcome, Step, Trace, words};

use super::Stop;
use super::compare::command_text;
use super::content::{self, Content, Effect, KeyRules};
use super::messages::{Key, Stage};
use super::rig::{EFFECT, FENCES, NO_LOST_WAKE_UP, READ_WRITE};
use super::run::{ClientState, Replay, holds_back, is_consequence, is_loss};
use super::telling::{ALARM, Promise, TOLD, Telling, life_ms};

/// What was noted.
pub(super) struct Watch {
    pub property: String,
    pub rules: KeyRules,
    pub reentrant: bool,
    /// Clients hold the lock as readers or as writers.
    pub has_modes: bool,
    /// The first step of the move that violates.
    pub first: usize,
    /// What each node's servers held, from the first command to the last.
    versions: Vec<Vec<Content>>,
    /// How many of them had reached the disk.
    synced: Vec<usize>,
    pub clients: Vec<Watched>,
    /// What violates the property, as it was seen at its step.
    pub sightings: Vec<String>,
    /// Operations that ended at the violating step.
    pub ends: Vec<Completed>,
    /// Writes that the guarded counter took.
    pub writes: i64,
    /// The highest fence that a client was given, and who validly got the lock with one
    /// last.
    fences: (Option<i64>, Option<u8>),
    /// Requests that a pause held back.
    pub held_back: Vec<String>,
    /// A command has taken the lock away on a node, and none has brought it back.
    pub freed: bool,
    /// It is about what clients say of whether they hold the lock.
    pub asks: bool,
    /// What the file promises of what it tells.
    pub promise: Promise,
    /// What each node held when it was read last.
    pub last: Vec<Content>,
}

/// What was noted of a client.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    /// Nodes on which its running operation changed something, by commands whose
    /// replies it waited for.
    pub effective: BTreeSet<u8>,
    /// Nodes on which the lock stood as its own at some moment since it asks for it.
    pub stood: BTreeSet<u8>,
    /// Nodes on which the lock has stood without a break since an operation of this hold
    /// wrote it.
    pub mine: BTreeSet<u8>,
    /// What it is told of a loss.
    pub telling: Telling,
    /// A command of its running operation failed.
    pub hampered: bool,
    /// Ticks since its last operation ended.
    pub idle_ticks: i64,
    /// The guarded counter, as it read it when it acquired.
    counter: Option<i64>,
    /// The fence that it was given then.
    fence: Option<i64>,
}

/// An operation that ended.
pub(super) struct Completed {
    pub client: u8,
    pub ended: Ended,
    /// What the client believed before, and whether that was valid.
    pub before: View,
    pub was_valid: bool,
    pub effective: BTreeSet<u8>,
    pub stood: BTreeSet<u8>,
    pub mine: BTreeSet<u8>,
    pub hampered: bool,
}

impl Watch {
    /// `None`: the trace claims nothing that is to be looked for.
    pub fn of(trace: &Trace, lock: &str) -> Option<Watch> {
        let property = trace.property.clone()?;
        // A client that is no lock file has one key, and does not nest.
        let file = load(lock);
        let nodes = usize::from(trace.setup.nodes);
        let clients = usize::from(trace.setup.clients);
        Some(Watch {
            first: first(trace, &property),
            property,
            rules: KeyRules {
                keys: file.as_ref().map_or_else(Keys::default, |f| f.keys.clone()),
                key: trace.setup.key.clone(),
                objects: trace.setup.objects,
            },
            has_modes: file.as_ref().is_some_and(|file| file.has_modes),
            asks: match trace.property.as_deref() {
                Some("honest-outcome") => file.as_ref().is_some_and(|file| file.has(Op::IsHeld)),
                property => property == Some(ALARM) || property == Some(TOLD),
            },
            promise: file.as_ref().map_or_else(Promise::default, Promise::of),
            last: vec![Content::new(); nodes],
            reentrant: file.is_some_and(|file| file.reentrant),
            versions: vec![Vec::new(); nodes],
            synced: vec![0; nodes],
            clients: vec![Watched::default(); clients],
            sightings: Vec::new(),
            ends: Vec::new(),
            writes: 0,
            fences: (None, None),
            held_back: Vec::new(),
            freed: false,
        })
    }

    /// A client got the lock with a fence: it must be above all before it if another client
    /// had the lock last.
    fn see_fence(&mut self, client: u8, (fence, valid): (Option<i64>, bool), at: usize) {
        let Some(fence) = fence else {
            return;
        };
        let (before, last) = self.fences;
        if let (Some(highest), Some(last), true) = (before, last, valid)
            && last != client
            && fence <= highest
            && self.property == FENCES
            && at >= self.first
        {
            self.sightings.push(format!(
                "{client} gets the lock after {last} and the fence {fence}, which \
                 is not above {highest}, the highest before it",
                client = words::client(client),
                last = words::client(last)
            ));
        }
        let last = if valid { Some(client) } else { last };
        self.fences = (before.max(Some(fence)), last);
    }

    /// The running operation took effect on a node, or took that back. Which nodes
    /// does not matter any more once they are a quorum.
    fn take_effect(&mut self, client: u8, node: u8, phase: &str, effect: &Effect) {
        let nodes = self.versions.len();
        let Some(watched) = self.clients.get_mut(usize::from(client)) else {
            return;
        };
        let took = match phase {
            "acquiring" | "renewing" => effect.wrote,
            "releasing" => effect.wrote || effect.deleted,
            _ => return,
        };
        let effective = &mut watched.effective;
        if took {
            effective.insert(node);
        } else if effect.deleted && effective.len() == nodes {
            effective.clear();
        } else if effect.deleted {
            effective.remove(&node);
        }
        if effective.len() > nodes / 2 {
            effective.extend(0..nodes as u8);
        }
    }
}

fn load(lock: &str) -> Option<LockFile> {
    if lockproof_model::lock::builtin_names().contains(&lock) {
        return LockFile::builtin(lock).ok();
    }
    LockFile::load(Path::new(lock)).ok()
}

/// The first step of the move that violates: what a client does because of it, and
/// what is lost or held back of that, belongs to it.
fn first(trace: &Trace, property: &String) -> usize {
    let violates = |at: &usize| trace.steps[*at].violates.contains(property);
    let all = 0..trace.steps.len();
    let mut at = all.clone().rev().find(violates).or(all.last()).unwrap_or(0);
    // Nobody waits for that reply: it comes with the execution.
    let unread = |event: &Event| matches!(event, Event::Deliver { ignored: true, .. });
    let belongs = |event: &Event| {
        is_consequence(event) || is_loss(event) || holds_back(event) || unread(event)
    };
    while at > 0 && belongs(&trace.steps[at].event) {
        at -= 1;
    }
    at
}

impl ClientState {
    /// It believes that it holds the lock, and its validity is not over: a paused
    /// client's clock goes on, and it will hear of it.
    pub(super) fn is_valid(&self) -> bool {
        let view = self.view.as_ref().filter(|_| !self.crashed);
        view.is_some_and(|view| {
            let left = view.validity_left_ms.map(|left| left - self.owed_ms);
            view.holds > 0 && left.is_none_or(|left| left > 0)
        })
    }

    /// It believes that it holds the lock.
    pub(super) fn believes(&self) -> bool {
        let view = self.view.as_ref().filter(|_| !self.crashed);
        view.is_some_and(|view| view.holds > 0)
    }

    /// What it is at, as far as it said.
    pub(super) fn phase(&self) -> &str {
        self.view.as_ref().map_or("idle", |view| &view.phase)
    }
}

impl Replay<'_> {
    /// What a server holds, and who wrote it.
    pub(super) async fn look(&mut self, node: u8, server: usize) -> Result<Option<Content>, Stop> {
        let Some(watch) = &self.watch else {
            return Ok(None);
        };
        let mut content = self.rig.read(server).await?;
        if let (Some(content), Some(versions)) =
            (&mut content, watch.versions.get(usize::from(node)))
        {
            content::attribute(content, versions);
        }
        Ok(content)
    }

    /// What the node holds now, in the eyes of the properties.
    pub(super) async fn node_content(&mut self, node: u8) -> Result<Content, Stop> {
        let server = self.rig.place(node)?;
        Ok(self.look(node, server).await?.unwrap_or_default())
    }

    /// The server's keys before a command; what it told of earlier ones is gone.
    pub(super) async fn look_before(
        &mut self,
        node: u8,
        server: usize,
    ) -> Result<Option<Content>, Stop> {
        if self.watch.is_none() {
            return Ok(None);
        }
        self.rig.heard(server).await?;
        self.look(node, server).await
    }

    /// What a command did, compared with what was there before it.
    pub(super) async fn look_after(
        &mut self,
        key: Key,
        server: usize,
        before: Content,
        argv: &[String],
        reply: &Reply,
    ) -> Result<(), Stop> {
        let (client, node, _) = key;
        let author = self.author_of(key);
        let told = self.rig.heard(server).await?;
        let Some(mut after) = self.rig.read(server).await? else {
            return Ok(());
        };
        let (thread, awaited) = self.sender_of(key);
        let by_holder = self.is_holders(key);
        let valid = |one: &ClientState| one.is_valid().then_some(one.mode);
        let valid: Vec<Option<Mode>> = self.clients.iter().map(valid).collect();
        let state = self.state(client)?;
        let (believes, phase) = (state.believes(), state.phase().to_string());
        let at = self.at;
        let now_ms = self.node_ms(node)?;
        let Some(watch) = &mut self.watch else {
            return Ok(());
        };
        let effect = content::compare(&before, &mut after, &told, author, &watch.rules);
        let is_held = |content: &Content| {
            let mut keys = content.keys();
            keys.any(|key| watch.rules.role(key) == Role::Lock)
        };
        let life_ms = life_ms(&after, client, &watch.rules, now_ms);
        watch.freed = !is_held(&after) && (watch.freed || is_held(&before));
        if effect.changed {
            watch.versions[usize::from(node)].push(after);
        }
        let refused = matches!(reply, Reply::Error(text) if text.starts_with("NOREPLICAS"));
        if refused && believes {
            watch.clients[usize::from(client)].hampered = true;
        }
        if awaited {
            watch.take_effect(client, node, &phase, &effect);
        }
        self.watch_write(key, server, &effect)?;
        self.watch_lives(key, server, (argv, &effect, life_ms))?;
        let Some(watch) = self.watch.as_mut().filter(|watch| at >= watch.first) else {
            return Ok(());
        };
        let command = command_text(argv);
        match watch.property.as_str() {
            property @ ("owner-only-release" | READ_WRITE) => {
                for (victim, what) in effect.victims {
                    let mode = valid.get(usize::from(victim)).copied().flatten();
                    if mode.is_some_and(|mode| property != READ_WRITE || mode == Mode::Read) {
                        watch.sightings.push(format!(
                            "on {node} {command} of {client} {what}, which \
                             {victim} wrote and validly holds",
                            node = words::node(node),
                            client = words::client(client),
                            victim = words::client(victim)
                        ));
                    }
                }
            }
            "lease" if thread != 0 || by_holder => {
                let by = match thread {
                    0 => format!(
                        "sent by a holder's operation of {client}",
                        client = words::client(client)
                    ),
                    _ => format!(
                        "sent in the background (thread {thread} of {client})",
                        client = words::client(client)
                    ),
                };
                for created in effect.created {
                    watch.sightings.push(format!(
                        "on {node} {command}, {by}, created `{created}`, which was not there",
                        node = words::node(node)
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A server took another's place, or came back with what was on its disk: whose
    /// that is. Of what it held, this many versions (or all) can be there.
    pub(super) async fn look_again(&mut self, node: u8, upto: Option<usize>) -> Result<(), Stop> {
        if self.watch.is_none() {
            return Ok(());
        }
        let server = self.rig.place(node)?;
        let content = self.rig.read(server).await?;
        let (Some(watch), Some(mut content)) = (&mut self.watch, content) else {
            return Ok(());
        };
        let versions = &mut watch.versions[usize::from(node)];
        let upto = upto.unwrap_or(versions.len()).min(versions.len());
        let likely = versions[..upto].to_vec();
        let all = [versions.clone(), likely].concat();
        content::attribute(&mut content, &all);
        versions.push(content);
        // The same client's lock may stand there from an older hold.
        for watched in &mut watch.clients {
            watched.mine.remove(&node);
            watched.telling.doubt(node);
        }
        Ok(())
    }

    /// How many versions of a node there were, and how many its disk has.
    pub(super) fn versions_of(&self, node: u8) -> (usize, usize) {
        let at = usize::from(node);
        self.watch
            .as_ref()
            .map_or((0, 0), |watch| (watch.versions[at].len(), watch.synced[at]))
    }

    pub(super) fn watch_synced(&mut self, node: u8) {
        if let Some(watch) = &mut self.watch {
            let at = usize::from(node);
            watch.synced[at] = watch.versions[at].len();
        }
    }

    /// A client begins an operation.
    pub(super) fn watch_call(&mut self, client: u8, op: &str) -> Result<(), Stop> {
        let outermost = !self.state(client)?.believes();
        if let Some(watched) = self.watched(client) {
            watched.begin(op, outermost);
        }
        Ok(())
    }

    /// A command of the client failed, or was given up.
    pub(super) fn watch_failure(&mut self, client: u8) {
        if let Some(watched) = self.watched(client) {
            watched.hampered = true;
        }
    }

    /// An operation ended as the trace says.
    pub(super) async fn watch_end(&mut self, client: u8, ended: Ended) -> Result<(), Stop> {
        self.judge_alarm(client, &ended)?;
        let state = self.state(client)?;
        let (before, was_valid) = state.before.clone();
        let holds = state.view.as_ref().map_or(0, |view| view.holds);
        let valid = state.is_valid();
        let at = self.at;
        let Some(watch) = &mut self.watch else {
            return Ok(());
        };
        let watched = &mut watch.clients[usize::from(client)];
        let end = Completed {
            client,
            before,
            was_valid,
            effective: std::mem::take(&mut watched.effective),
            stood: watched.stood.clone(),
            mine: watched.mine.clone(),
            hampered: watched.hampered,
            ended,
        };
        let took = match end.ended.outcome {
            Outcome::Held { fence, .. } if holds == 1 => Some(fence),
            _ => None,
        };
        if at >= watch.first {
            watch.ends.push(end);
        }
        let Some(fence) = took else {
            return Ok(());
        };
        watch.clients[usize::from(client)].fence = fence;
        watch.see_fence(client, (fence, valid), at);
        if watch.property == EFFECT {
            let value = self.rig.read_counter().await?;
            let taken = self.rig.show_fence(fence).await?;
            let fenced = match (fence, taken) {
                (None, _) => String::new(),
                (Some(fence), true) => format!(" with fence {fence}"),
                (Some(fence), false) => format!(", which refuses its fence {fence}"),
            };
            self.note(
                "did",
                format!(
                    "{client} reads {value} from the guarded counter{fenced}",
                    client = words::client(client)
                ),
            );
            if let Some(watched) = self.watched(client) {
                watched.counter = Some(value);
            }
        }
        Ok(())
    }

    /// The holder writes what it computed from what it read.
    pub(super) async fn write(&mut self, client: u8, refused: bool) -> Result<(), Stop> {
        let watched = self.watched(client);
        let (read, fence) = watched.map_or((None, None), |w| (w.counter, w.fence));
        let (Some(read), true) = (read, self.guards_counter()) else {
            self.note(
                "did",
                format!("{client} would write now", client = words::client(client)),
            );
            return Ok(());
        };
        let found = self.rig.read_counter().await?;
        let taken = self.rig.write_counter(read + 1, fence).await?;
        if taken == refused {
            let [expected, actual] = [!refused, taken].map(|taken| match taken {
                true => "the guarded counter takes the write",
                false => "the guarded counter refuses the write",
            });
            return Err(Stop::diverged(expected, actual));
        }
        if refused {
            let fence = fence.unwrap_or_default();
            let what = format!(
                "{client} would write {}, and the guarded counter refuses its fence {fence}",
                read + 1,
                client = words::client(client)
            );
            self.note("did", what);
            return Ok(());
        }
        let what = format!(
            "{client} read {read} from the guarded counter when it acquired, and writes {}",
            read + 1,
            client = words::client(client)
        );
        self.note("did", what.clone());
        let at = self.at;
        if let Some(watch) = &mut self.watch {
            watch.writes += 1;
            if found != read && at >= watch.first {
                watch.sightings.push(format!(
                    "{what} over {found}, which another client wrote since"
                ));
            }
        }
        Ok(())
    }

    fn guards_counter(&self) -> bool {
        let watch = self.watch.as_ref();
        watch.is_some_and(|watch| watch.property == EFFECT)
    }

    /// Time is about to pass: who waits for a message, while the lock is free and none is
    /// on its way?
    pub(super) async fn watch_waiting(&mut self) -> Result<(), Stop> {
        let at = self.at;
        // Behind a tick the trace may tell what servers answer at it, and only then what it
        // violates.
        let answers = |step: &Step| matches!(step.event, Event::Execute { .. });
        let asked = |watch: &Watch| {
            let behind = self.trace.steps.get(at + 1..=watch.first);
            let same = behind.is_some_and(|steps| steps.iter().all(answers));
            watch.property == NO_LOST_WAKE_UP && (at >= watch.first || same)
        };
        if !self
            .watch
            .as_ref()
            .is_some_and(|watch| asked(watch) && watch.freed)
        {
            return Ok(());
        }
        let content = self.node_content(0).await?;
        let forgotten = self.forgotten()?;
        for client in 0..self.trace.setup.clients {
            let told = self
                .messages
                .iter()
                .any(|(key, message)| key.0 == client && matches!(message.stage, Stage::Push(_)));
            let state = self.state(client)?;
            let caller = |view: &View| {
                let mut threads = view.threads.iter();
                threads.any(|thread| thread.thread == 0 && thread.waits_for == "message")
            };
            let runs = !state.crashed && !state.paused && state.phase() == "acquiring";
            let listens = state.view.as_ref().is_some_and(caller);
            let waits = runs && !told && listens || forgotten.contains(&client);
            let Some(watch) = &mut self.watch else {
                return Ok(());
            };
            let mut keys = content.keys();
            if waits && !keys.any(|key| watch.rules.role(key) == Role::Lock) {
                watch.sightings.push(format!(
                    "{client} waits for a message while the lock, which a command took \
                     away, is not there, and no message is on its way to it",
                    client = words::client(client)
                ));
            }
        }
        Ok(())
    }

    /// Clients whose BLPOP a server holds back while they acquire; nobody, if some client that
    /// acquires is awake and can pass the news on.
    fn forgotten(&mut self) -> Result<Vec<u8>, Stop> {
        let mut forgotten = Vec::new();
        for client in 0..self.trace.setup.clients {
            let held_back = self.messages.iter().any(|(key, message)| {
                key.0 == client
                    && message.awaited
                    && message.thread == 0
                    && matches!(message.stage, Stage::Blocked(_))
            });
            let state = self.state(client)?;
            if state.crashed || state.paused || state.phase() != "acquiring" {
                continue;
            }
            if !held_back {
                return Ok(Vec::new());
            }
            forgotten.push(client);
        }
        Ok(forgotten)
    }

    /// A tick passed.
    pub(super) fn watch_tick(&mut self) {
        let Some(watch) = &mut self.watch else {
            return;
        };
        for (watched, state) in watch.clients.iter_mut().zip(&self.clients) {
            let idle = state.crashed || state.phase() == "idle";
            watched.idle_ticks = if idle { watched.idle_ticks + 1 } else { 0 };
        }
    }

    /// A pause held a request back.
    pub(super) fn watch_held_back(&mut self, what: String) {
        self.note("wire", what.clone());
        if let Some(watch) = &mut self.watch {
            watch.held_back.push(what);
        }
    }

    fn watched(&mut self, client: u8) -> Option<&mut Watched> {
        self.watch.as_mut()?.clients.get_mut(usize::from(client))
    }
}
