//! The joint closure: a client's local states and a server's keyspaces, closed
//! together to a fixpoint.
//!
//! The commands that clients send, every keyspace that those commands, ticks
//! and fault effects reach, the replies to each command, the local states that
//! those replies reach, and so on until nothing is new. No alphabet is guessed.
//! The closure pairs more than the world can (any command with any keyspace),
//! which costs a little and can never lose a behaviour. Programs cannot be
//! copied while they are suspended, so a local state is rebuilt by running the
//! program again over the inputs that first led to it.

mod error;
mod locals;
mod messages;
mod servers;

use std::collections::{BTreeMap, BTreeSet};

use crate::redis::{Bytes, Reply, ScriptEngine};

use super::client::{Emitted, Facade, Symbolic, THREADS};
use super::interner::Interner;
use super::node::{Effect, Keyspace};
use super::program::ClientProgram;

pub use error::ClosureError;
pub(super) use error::printable;
pub(super) use locals::ending_of;
pub use messages::{retirement, to_server};

/// What the closure has to provide for: the union of the needs of the
/// assumption sets that will be explored with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Needs {
    pub clients: u8,
    /// Deepest nesting of holds that the driver goes to.
    pub holds_max: u8,
    /// The lease asked for, in ms.
    pub ttl_ms: i64,
    /// What one tick adds to every clock, in ms.
    pub tick_ms: i64,
    /// Time differences saturate here, in ms.
    pub horizon_ms: i64,
    /// Most ticks that a client may get in one advance.
    pub advance_max: u8,
    /// Clock offsets of clients in ticks, 0 among them.
    pub skews: Vec<i8>,
    /// Messages can outlive a tick.
    pub ageing: bool,
    /// Connections can fail under a command.
    pub failing: bool,
    /// Size of server clock jumps in ticks, 0 for none.
    pub jump: u8,
    /// Message slots of one client.
    pub slots: u8,
    /// Servers ask for a replica to write, and may lack it.
    pub refusing: bool,
}

/// A command as the servers see it. The family is what does not change with
/// client, skew or age: replies are handed to whoever waits for that family.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    pub client: u8,
    pub family: u16,
    pub argv: Vec<Bytes>,
}

/// What one command does to one keyspace.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    pub after: u16,
    pub reply: u16,
    pub effect: Effect,
    pub overflow: bool,
}

/// A local state of the unminimised automaton.
#[derive(Clone, Debug)]
pub struct Local {
    pub facade: Facade,
    /// Family of the command that each thread waits for.
    pub awaiting: [Option<u16>; THREADS],
    /// The state and input that first led here.
    parent: Option<(u32, Symbolic)>,
    /// Successors by input.
    pub next: BTreeMap<Symbolic, (Emitted, u32)>,
}

/// The closed system of one lock.
pub struct Closure {
    pub needs: Needs,
    pub locals: Vec<Local>,
    local_index: rustc_hash::FxHashMap<Vec<u8>, u32>,
    /// Commands as clients send them, with the line that sent each first.
    pub local_commands: Interner<Vec<Bytes>>,
    pub families: Interner<Vec<Bytes>>,
    pub commands: Interner<Command>,
    pub replies: Interner<Reply>,
    pub local_replies: Interner<Reply>,
    pub keyspaces: Interner<Keyspace>,
    /// `executions[command][keyspace]`.
    pub executions: Vec<Vec<Execution>>,
    /// The same on a server that refuses writes; empty if none does.
    pub refusals: Vec<Vec<Execution>>,
    /// Local replies that can come to each family.
    family_replies: Vec<BTreeSet<u16>>,
    /// The line that first sent a command of each family.
    family_lines: Vec<u32>,
    /// Local replies that are the `G` twin of another.
    pub twins: BTreeMap<u16, u16>,
    /// Some command can see the server's clock.
    pub server_time: bool,
    limits: Limits,
}

/// Where a closure stops and says that something grows for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Local states of the unminimised automaton.
    pub locals: usize,
    /// Inputs that it takes to reach a local state. States are rebuilt by their
    /// paths, so a counter that grows for ever would take an hour to reach
    /// `locals`.
    pub depth: usize,
    /// Different contents of a server.
    pub keyspaces: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            locals: 60_000,
            depth: 600,
            keyspaces: 12_000,
        }
    }
}

impl Closure {
    /// Closes `program` under `needs`.
    ///
    /// # Errors
    /// See [`ClosureError`].
    pub fn build(
        program: &mut dyn ClientProgram,
        scripts: &mut ScriptEngine,
        needs: Needs,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Closure, ClosureError> {
        Closure::build_within(program, scripts, needs, should_stop, Limits::default())
    }

    /// The same within other limits.
    ///
    /// # Errors
    /// See [`ClosureError`].
    pub fn build_within(
        program: &mut dyn ClientProgram,
        scripts: &mut ScriptEngine,
        needs: Needs,
        should_stop: &dyn Fn() -> bool,
        limits: Limits,
    ) -> Result<Closure, ClosureError> {
        let mut closure = Closure::empty(needs, limits);
        closure.add_keyspace(&Keyspace::default())?;
        closure.add_root(program)?;
        loop {
            let before = closure.size();
            closure.close_locals(program, should_stop)?;
            closure.close_messages()?;
            closure.close_keyspaces(scripts)?;
            if closure.size() == before {
                return Ok(closure);
            }
        }
    }

    fn empty(needs: Needs, limits: Limits) -> Closure {
        Closure {
            needs,
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
            family_replies: Vec::new(),
            family_lines: Vec::new(),
            twins: BTreeMap::new(),
            server_time: false,
            limits,
        }
    }

    /// Everything that can grow; equal twice in a row means closed.
    fn size(&self) -> [usize; 7] {
        [
            self.locals.len(),
            self.locals.iter().map(|local| local.next.len()).sum(),
            self.commands.len(),
            self.replies.len(),
            self.local_replies.len(),
            self.keyspaces.len(),
            self.family_replies.iter().map(BTreeSet::len).sum(),
        ]
    }

    /// The client clock offset with this index, in ms.
    pub fn skew_ms(&self, index: usize) -> i64 {
        i64::from(self.needs.skews[index]) * self.needs.tick_ms
    }

    /// The number of a local state that the concrete side reached.
    pub fn find_local(&self, mut key: Vec<u8>, awaiting: [Option<u16>; THREADS]) -> Option<u32> {
        for family in awaiting {
            key.extend(family.map_or([0xff, 0xff], u16::to_le_bytes));
        }
        self.local_index.get(&key).copied()
    }
}
