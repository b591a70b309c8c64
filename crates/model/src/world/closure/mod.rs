//! The joint closure: a client's local states and a server's keyspaces, closed
//! together to a fixpoint.
//!
//! The commands that clients send, every keyspace that those commands, ticks
//! and fault effects reach, the replies to each command, the local states that
//! those replies reach, and so on until nothing is new. No alphabet is guessed.
//! The closure pairs more than the world can (any command with any keyspace),
//! which costs a little and can never lose a behaviour. Where a program, or a
//! command on a keyspace, depends on what the model does not have, the pair is
//! *poisoned*: if the world gets there, its verdicts are unknown.

mod error;
mod locals;
mod messages;
mod servers;
mod wanted;

use std::collections::{BTreeMap, BTreeSet};

use lockproof_lua::{RefusalKind, Scale};
use lockproof_redis::{Bytes, Reply, ScriptEngine};
use lockproof_trace::Objects;

use crate::lock::{Exchange, Kept, Op, Role};

use super::client::{Emitted, Facade, Published, Symbolic, THREADS};
use super::execute::Effect;
use super::fences::{Draw, Renumbering};
use super::interner::Interner;
use super::node::{KeyRules, Keyspace};
use super::owners::{Author, Sender};
use super::program::ClientProgram;
use super::scripts::ScriptNames;
use super::symbols::People;
use super::watches::Connection;

pub use error::ClosureError;
pub(super) use locals::ending_of;
pub(super) use messages::{given_up, retired};
pub use wanted::{MISSING, Missing, Wanted};

/// What the closure has to provide for: the union of the needs of the
/// assumption sets that will be explored with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Needs {
    pub clients: u8,
    /// Deepest nesting of holds that the driver goes to.
    pub holds_max: u8,
    /// The lease asked for, in ms.
    pub ttl_ms: i64,
    /// A command without a time-out of its own gives up after this long, in ms.
    pub timeout_ms: i64,
    /// A tick as lock files see it, in ms.
    pub tick_ms: i64,
    /// What one tick adds to every clock, in ms.
    pub step_ms: i64,
    /// Times further from a client's present than this, in ms, are not told apart.
    pub horizon_ms: i64,
    /// Most ticks that a client may get in one advance.
    pub advance_max: u8,
    /// Clock offsets of clients in ticks, 0 among them.
    pub skews: Vec<i8>,
    /// Ticks by which a client's wall clock may step, ahead or back; 0 for none.
    pub step: i8,
    /// Messages can outlive a tick.
    pub ageing: bool,
    /// Connections can fail under a command.
    pub failing: bool,
    /// Connections can be refused.
    pub refused: bool,
    /// Size of server clock jumps in ticks, 0 for none.
    pub jump: u8,
    /// How often they can jump.
    pub jumps: u8,
    /// Message slots of one client.
    pub slots: u8,
    /// Callers may interrupt what runs.
    pub cancels: bool,
    /// Servers ask for a replica to write, and may lack it.
    pub refusing: bool,
    /// Clients A and B use one owner id.
    pub shared_owner: bool,
    /// Clients A and B share a handle.
    pub shared_handle: bool,
    /// Each client of the lock file is two here, if it has two lock objects.
    pub objects: Option<Objects>,
    /// The lock has fences, and their counter can fall back.
    pub losing: bool,
}

impl Needs {
    /// The first tick at which more than a lease has passed.
    pub fn grace(&self) -> usize {
        let before = self.ttl_ms / self.step_ms.max(1);
        usize::try_from(before)
            .unwrap_or(usize::MAX)
            .saturating_add(1)
    }

    /// The clients of which texts tell.
    pub(super) fn people(&self) -> People {
        People {
            clients: self.clients,
            shared_owner: self.shared_owner,
            shared_handle: self.shared_handle,
            objects: self.objects,
        }
    }

    /// How fences can be renumbered.
    pub fn renumberings(&self) -> Vec<Renumbering> {
        Renumbering::all(self.losing)
    }

    /// How clients measure times.
    pub fn scale(&self) -> Scale {
        Scale {
            tick_ms: self.tick_ms,
            step_ms: self.step_ms,
            horizon_ms: self.horizon_ms,
        }
    }

    /// How servers do: as far as any client's clock, whatever its offset.
    pub fn server_scale(&self) -> Scale {
        let furthest = self.skews.iter().map(|skew| i64::from(skew.abs()));
        Scale {
            horizon_ms: self.horizon_ms + furthest.max().unwrap_or(0) * self.step_ms,
            ..self.scale()
        }
    }
}

/// A command as the servers see it. The family is what does not change with
/// client, skew or age: replies are handed to whoever waits for that family.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    pub client: u8,
    pub sender: Sender,
    pub connection: Connection,
    pub family: u16,
    pub argv: Vec<Bytes>,
}

impl Command {
    /// Who sends it, and as what.
    pub fn author(&self) -> Author {
        Author {
            client: self.client,
            sender: self.sender,
            connection: self.connection,
        }
    }
}

/// A command as a client sends it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocalCommand {
    pub sender: Sender,
    pub connection: Connection,
    /// Which of two lock objects sends it, 0 or 1.
    pub object: u8,
    pub argv: Vec<Bytes>,
}

/// What one command does to one keyspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    pub after: u16,
    pub reply: u16,
    pub effect: Effect,
    /// As in [`Executed::counted`](super::execute::Executed::counted).
    pub counted: bool,
    /// As in [`Executed::drew`](super::execute::Executed::drew).
    pub drew: Option<Draw>,
    pub overflow: bool,
    /// As in [`Emitted::poison`], or [`MISSING`].
    pub poison: u16,
    /// As in [`Emitted::rounded`].
    pub rounded: bool,
    /// What it publishes, by the closure's number; 0 for nothing.
    pub published: u16,
}

/// By command, keyspace, and whether the server lacks a replica that it asks for.
pub type Ways = rustc_hash::FxHashMap<(u16, u16, bool), Vec<Execution>>;

/// Why nothing can be said about a transition.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Poison {
    pub kind: RefusalKind,
    /// With file and line, as a sentence about the lock.
    pub reason: String,
}

/// A local state of the unminimised automaton.
pub struct Local {
    pub facade: Facade,
    /// Which of two lock objects it is, 0 or 1.
    object: u8,
    /// Family of the command that each thread waits for.
    pub awaiting: [Option<u16>; THREADS],
    /// How many inputs it takes to get here.
    depth: u32,
    /// The program in this state, while the closure grows.
    program: Option<Box<dyn ClientProgram>>,
    /// Successors by input.
    pub next: BTreeMap<Symbolic, (Emitted, u32)>,
}

/// A duration after which something ends (a sleep, a time-out, a key's life), with
/// the line that used it first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duration {
    /// In ms, ticks left out.
    pub ms: i64,
    pub line: u32,
}

/// Each tick of a duration is a form of its own; so many are a reason for too many.
const TICKS_MANY: i64 = 1000;

/// The closed system of one lock.
pub struct Closure {
    pub needs: Needs,
    pub rules: KeyRules,
    pub locals: Vec<Local>,
    local_index: rustc_hash::FxHashMap<Vec<u8>, u32>,
    pub local_commands: Interner<LocalCommand>,
    pub families: Interner<Vec<Bytes>>,
    pub commands: Interner<Command>,
    pub replies: Interner<Reply>,
    pub local_replies: Interner<Reply>,
    pub keyspaces: Interner<Keyspace>,
    /// `executions[command][keyspace]`.
    pub executions: Vec<Vec<Execution>>,
    /// The same on a server that refuses writes; empty if none does.
    pub refusals: Vec<Vec<Execution>>,
    /// What else can come of a command on a keyspace, where comparisons of times in a
    /// script do not come out as if everything happened at ticks.
    pub ways: Ways,
    /// What comes of a command that publishes, and asks how many listen: for one listener,
    /// two, .. up to all clients. Where there is nothing, it is all the same.
    pub heard: Ways,
    /// The channel that each client listens to, as it names it: its owner may stand in the
    /// name. The others are nobody's.
    pub channel: Option<Bytes>,
    /// Messages that are published.
    pub messages: Interner<Published>,
    /// What a command publishes: messages in order. The first is nothing.
    pub publications: Interner<Vec<u16>>,
    /// What one of two callers that share a handle gives to the other.
    pub exchanges: Interner<Exchange>,
    /// Replies that list in another order what the second of a pair lists.
    reordered: BTreeSet<(u16, u16)>,
    /// The same for local replies.
    pub variants: BTreeSet<(u16, u16)>,
    /// Local replies that can come to each family.
    family_replies: Vec<BTreeSet<u16>>,
    /// The line that first sent a command of each family.
    family_lines: Vec<u32>,
    /// Which operations send each family (see [`Closure::only_releases`]).
    family_senders: Vec<u8>,
    /// The name of the script that each family runs, if it does.
    family_scripts: Vec<Option<String>>,
    pub poisons: Vec<Poison>,
    /// Programs send tokens of earlier attempts, so servers know which they keep.
    keeps: bool,
    /// They do, and the closure has not provided for it.
    has_to_keep: bool,
    /// Scripts that programs name by SHA-1, and whose being known is not followed.
    has_to_know: ScriptNames,
    /// What they keep when a new attempt begins.
    kept: BTreeSet<Kept>,
    /// Durations that the lock uses.
    pub durations: Vec<Duration>,
    /// The longest validity that it stated, in ms.
    validity_ms: Option<i64>,
    /// What a server's clock shows matters to some command.
    pub server_time: bool,
    /// The longest life that a key gets, in ms.
    longest_ms: i64,
    renews: bool,
    /// The operations that clients call.
    operations: Vec<Op>,
    /// The lock file, for messages.
    file: String,
    limits: Limits,
    /// The pairs to close; `None` for all.
    wanted: Option<Wanted>,
    /// By keyspace, its number there.
    wanted_keyspaces: Vec<Option<u16>>,
}

/// Where a closure stops and says that something grows for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Local states of the unminimised automaton.
    pub locals: usize,
    /// Inputs that it takes to reach a local state.
    pub depth: u32,
    /// Different contents of a server.
    pub keyspaces: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            locals: 60_000,
            depth: 2_000,
            keyspaces: 12_000,
        }
    }
}

/// Different contents of a server of a lock that is closed by need: what tables can number.
const KEYSPACES_BY_NEED: usize = 65_000;

/// Bits of a family's senders.
const ACQUIRE: u8 = 1;
const RELEASE: u8 = 2;
const BACKGROUND: u8 = 4;
/// A holder's operations that neither acquire nor release.
const HOLDER: u8 = 8;

/// What is closed.
pub struct Subject<'s> {
    pub program: &'s dyn ClientProgram,
    /// The program of a second lock object, if clients have one.
    pub second: Option<&'s dyn ClientProgram>,
    pub scripts: &'s mut ScriptEngine,
    pub rules: KeyRules,
    /// The file says that the lock renews itself.
    pub renews: bool,
    /// The lock file's path, for messages.
    pub file: String,
    /// Asks whether to give up.
    pub should_stop: &'s dyn Fn() -> bool,
}

impl Closure {
    /// Closes a program under `needs`.
    ///
    /// # Errors
    /// See [`ClosureError`].
    pub fn build(subject: &mut Subject<'_>, needs: Needs) -> Result<Closure, ClosureError> {
        Closure::build_within(subject, needs, Limits::default(), None)
    }

    /// Closes those pairs of a command and a keyspace that are wanted, and no others.
    ///
    /// # Errors
    /// See [`ClosureError`]. Whether the lock has what the model has not is known only
    /// once nothing more is wanted: [`Closure::check`].
    pub fn build_by_need(
        subject: &mut Subject<'_>,
        needs: Needs,
        wanted: &Wanted,
    ) -> Result<Closure, ClosureError> {
        let limits = Limits {
            keyspaces: KEYSPACES_BY_NEED,
            ..Limits::default()
        };
        Closure::build_within(subject, needs, limits, Some(wanted))
    }

    /// The same within other limits.
    ///
    /// # Errors
    /// See [`ClosureError`].
    pub fn build_within(
        subject: &mut Subject<'_>,
        needs: Needs,
        limits: Limits,
        wanted: Option<&Wanted>,
    ) -> Result<Closure, ClosureError> {
        let (mut longest_ms, mut server_time, mut keeps) = (needs.ttl_ms, false, false);
        let mut by_sha = subject.rules.by_sha.clone();
        loop {
            let mut closure = Closure::empty(subject, needs.clone(), limits);
            closure.longest_ms = longest_ms;
            closure.server_time = server_time;
            closure.wanted = wanted.cloned();
            closure.keeps = keeps;
            closure.rules.by_sha = by_sha.clone();
            if let Err(error) = closure.close(subject) {
                if closure.has_to_keep {
                    keeps = true;
                    continue;
                }
                if !closure.has_to_know.is_empty() {
                    by_sha.append(&mut closure.has_to_know);
                    continue;
                }
                return Err(error);
            }
            longest_ms = closure.longest_life();
            // Clock jumps were bounded by a life that is not the longest, or were not
            // kept and mattered.
            let kept = closure.server_time == server_time;
            if closure.needs.jump == 0 || longest_ms <= closure.longest_ms && kept {
                return Ok(closure);
            }
            server_time = closure.server_time;
        }
    }

    fn close(&mut self, subject: &mut Subject<'_>) -> Result<(), ClosureError> {
        error::intern(&mut self.publications, &Vec::new(), "set of publications")?;
        self.add_keyspace(&Keyspace::default())?;
        for (object, program) in (0..).zip([Some(subject.program), subject.second]) {
            if let Some(program) = program {
                self.add_root(program, object);
            }
        }
        loop {
            let before = self.size();
            self.close_locals(subject.should_stop)?;
            self.close_messages()?;
            self.close_keyspaces(subject.scripts, subject.should_stop)?;
            if self.size() == before {
                self.locals
                    .iter_mut()
                    .for_each(|local| local.program = None);
                self.local_index = Default::default();
                return match self.is_by_need() {
                    true => Ok(()),
                    false => self.check(),
                };
            }
        }
    }

    /// What can be said of a lock only when all of it is known.
    ///
    /// # Errors
    /// If it is nothing that the model follows.
    pub fn check(&self) -> Result<(), ClosureError> {
        self.check_messages()?;
        self.check_objects()?;
        self.check_lock_key()
    }

    fn empty(subject: &Subject<'_>, needs: Needs, limits: Limits) -> Closure {
        Closure {
            needs,
            rules: subject.rules.clone(),
            locals: Vec::new(),
            local_index: Default::default(),
            local_commands: Interner::default(),
            families: Interner::default(),
            commands: Interner::default(),
            replies: Interner::default(),
            local_replies: Interner::default(),
            keyspaces: Interner::default(),
            executions: Vec::new(),
            refusals: Vec::new(),
            ways: Ways::default(),
            heard: Ways::default(),
            channel: None,
            messages: Interner::default(),
            publications: Interner::default(),
            exchanges: Interner::default(),
            reordered: BTreeSet::new(),
            variants: BTreeSet::new(),
            family_replies: Vec::new(),
            family_lines: Vec::new(),
            family_senders: Vec::new(),
            family_scripts: Vec::new(),
            poisons: Vec::new(),
            keeps: false,
            has_to_keep: false,
            has_to_know: ScriptNames::new(),
            kept: BTreeSet::from([Kept::default()]),
            durations: Vec::new(),
            validity_ms: None,
            server_time: false,
            longest_ms: 0,
            renews: subject.renews,
            operations: subject.program.operations(),
            file: subject.file.clone(),
            limits,
            wanted: None,
            wanted_keyspaces: Vec::new(),
        }
    }

    /// The longest life that a key was given, in ms.
    fn longest_life(&self) -> i64 {
        let keyspaces = self.keyspaces.items().iter();
        let lives = keyspaces.flat_map(Keyspace::entries);
        let longest = lives.filter_map(|entry| entry.life).map(|life| life.ms);
        longest.max().unwrap_or(0).max(self.needs.ttl_ms)
    }

    /// A key belongs to both lock objects of a client.
    ///
    /// # Errors
    /// In that case, with the key.
    fn check_objects(&self) -> Result<(), ClosureError> {
        let mut entries = self.keyspaces.items().iter().flat_map(Keyspace::entries);
        match entries.find(|entry| self.rules.is_of_both(&entry.key)) {
            Some(entry) => Err(ClosureError::NotModelled {
                at: self.at(0),
                what: format!(
                    "by what `keys` says, `{}` is a key of both lock objects of a client",
                    lockproof_lua::text::printable(&entry.key)
                ),
            }),
            None => Ok(()),
        }
    }

    /// The lock writes keys, and none of them is the lock.
    ///
    /// # Errors
    /// In that case, with what to do.
    fn check_lock_key(&self) -> Result<(), ClosureError> {
        let entries = || self.keyspaces.items().iter().flat_map(Keyspace::entries);
        let mut roles = entries().map(|entry| self.rules.role(&entry.key));
        let other = entries().find(|entry| self.rules.role(&entry.key) == Role::Other);
        let written = other.map(|entry| lockproof_lua::text::printable(&entry.key));
        match written {
            Some(other) if !roles.any(|role| role == Role::Lock) => {
                Err(ClosureError::NotModelled {
                    at: self.at(0),
                    what: format!(
                        "the lock writes `{other}` and never the key that is its lock; say which key is: keys = {{ lock = \"..\" }}"
                    ),
                })
            }
            _ => Ok(()),
        }
    }

    /// What is published goes to replicas as well, and a WAIT would see it. What a BLPOP
    /// takes is a write of its own behind another command.
    ///
    /// # Errors
    /// If the lock does two of these: it publishes or subscribes, sends WAIT, sends BLPOP.
    fn check_messages(&self) -> Result<(), ClosureError> {
        let messages = self.channel.is_some() || !self.messages.is_empty();
        let (waits, pops) = (!self.waits().is_empty(), !self.pops().is_empty());
        let both = match (waits, pops, messages) {
            (true, true, _) => "WAIT beside BLPOP",
            (true, _, true) => "WAIT beside messages",
            (_, true, true) => "BLPOP beside messages",
            _ => return Ok(()),
        };
        Err(ClosureError::NotModelled {
            at: self.at(0),
            what: format!("the lock sends {both}, which the model does not follow together"),
        })
    }

    /// Everything that can grow; equal twice in a row means closed.
    fn size(&self) -> [usize; 9] {
        [
            self.locals.len(),
            self.locals.iter().map(|local| local.next.len()).sum(),
            self.commands.len(),
            self.replies.len(),
            self.local_replies.len(),
            self.keyspaces.len(),
            self.family_replies.iter().map(BTreeSet::len).sum(),
            self.messages.len(),
            self.exchanges.len(),
        ]
    }

    /// The number of a reason, counted from 1.
    fn poison(&mut self, kind: RefusalKind, reason: String) -> u16 {
        let poison = Poison { kind, reason };
        let known = self.poisons.iter().position(|known| *known == poison);
        let index = known.unwrap_or_else(|| {
            self.poisons.push(poison);
            self.poisons.len() - 1
        });
        u16::try_from(index + 1).unwrap_or(u16::MAX)
    }

    /// Only releases send this command.
    pub fn only_releases(&self, command: &Command) -> bool {
        self.family_senders[usize::from(command.family)] == RELEASE
    }

    /// Only a holder's operations that neither acquire nor release send this command.
    pub fn only_holders(&self, command: &Command) -> bool {
        self.family_senders[usize::from(command.family)] == HOLDER
    }

    /// The operations that clients call, in the order of [`Op::ALL`].
    pub fn operations(&self) -> Vec<Op> {
        let mut operations = self.operations.clone();
        operations.sort();
        operations
    }

    /// The name of the script that a command runs, if it does.
    pub fn script_of(&self, command: u16) -> Option<&str> {
        let family = self.commands.get(command).family;
        self.family_scripts[usize::from(family)].as_deref()
    }

    /// The family of a command as the servers see it.
    pub fn family_of_command(&self, command: u16) -> u16 {
        self.commands.get(command).family
    }

    /// The line that first sent a command of this family.
    pub fn line_of_family(&self, family: u16) -> u32 {
        self.family_lines[usize::from(family)]
    }

    /// The replies that list, in another order, what `reply` lists; by clients'
    /// numbers.
    pub fn mains(&self, reply: u16) -> impl Iterator<Item = u16> {
        let pairs = self
            .variants
            .iter()
            .filter(move |(other, _)| *other == reply);
        pairs.map(|(_, main)| *main)
    }

    /// Nothing can be said about what these states do with these inputs.
    pub(super) fn poison_orders(&mut self, found: &[(u32, Symbolic)]) {
        for (id, input) in found {
            let Symbolic::Reply { thread, .. } = input else {
                continue;
            };
            let family = self.locals[*id as usize].awaiting[usize::from(*thread)];
            let line = family.map_or(0, |family| self.family_lines[usize::from(family)]);
            let reason = format!(
                "{}: what the lock does with the reply depends on an order that nobody promises",
                self.at(line)
            );
            let poison = self.poison(RefusalKind::Order, reason);
            if let Some((emitted, _)) = self.locals[*id as usize].next.get_mut(input) {
                emitted.poison = poison;
            }
        }
    }

    /// A duration of so many ticks that it is why the closure grows, in words.
    fn longest(&self) -> Option<String> {
        let used = self.durations.iter();
        let used = used.map(|duration| (duration.ms, format!("line {}", duration.line)));
        let stated = self
            .validity_ms
            .map(|ms| (ms, "a stated validity".to_owned()));
        let (ms, what) = used.chain(stated).max()?;
        let ticks = ms / self.needs.tick_ms;
        (ticks > TICKS_MANY).then(|| format!("; the {ms} ms of {what} are {ticks} ticks"))
    }

    fn note_duration(&mut self, ms: i64, line: u32) {
        if self.durations.iter().all(|known| known.ms != ms) {
            self.durations.push(Duration { ms, line });
        }
    }
}
