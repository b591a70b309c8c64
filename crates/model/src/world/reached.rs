//! What of its tables a search of a world came upon.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::closure::Missing;
use super::tables::Tables;
use crate::lock::Op;

/// What of the tables a search came upon, whatever the order of its work.
#[derive(Debug, Default)]
pub struct Reached {
    poisons: Vec<AtomicBool>,
    rounded: AtomicBool,
    lost_fences: AtomicBool,
    succeeded: [AtomicBool; Op::ALL.len()],
    commands: Vec<AtomicBool>,
    /// What tables that were closed by need have not.
    lacks: Option<Lacks>,
}

/// Pairs that are missing, a bit each.
#[derive(Debug)]
struct Lacks {
    keyspaces: usize,
    commands: usize,
    renamings: usize,
    /// By command, by whether a replica is missing, and by keyspace.
    executions: Vec<AtomicU64>,
    /// By client, renaming, and keyspace.
    retirements: Vec<AtomicU64>,
}

impl Lacks {
    fn of(tables: &Tables) -> Lacks {
        let commands = tables.closure.commands.len();
        let (keyspaces, renamings) = (tables.keyspaces, tables.closure.renamings().len());
        let clients = usize::from(tables.needs.clients);
        let bits = |count: usize| (0..count.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Lacks {
            keyspaces,
            commands,
            renamings,
            executions: bits(commands * 2 * keyspaces),
            retirements: bits(clients * renamings * keyspaces),
        }
    }

    fn note(&self, missing: Missing) {
        let (bits, at) = match missing {
            Missing::Execution {
                command,
                keyspace,
                alone,
            } => {
                let row = usize::from(command) * 2 + usize::from(alone);
                (
                    &self.executions,
                    row * self.keyspaces + usize::from(keyspace),
                )
            }
            Missing::Retirement {
                keyspace,
                client,
                renaming,
            } => {
                let row = client * self.renamings + renaming;
                (
                    &self.retirements,
                    row * self.keyspaces + usize::from(keyspace),
                )
            }
        };
        if let Some(word) = bits.get(at / 64) {
            word.fetch_or(1 << (at % 64), Ordering::Relaxed);
        }
    }

    fn all(&self) -> Vec<Missing> {
        let executions = numbers(&self.executions).map(|at| {
            let (row, keyspace) = (at / self.keyspaces, at % self.keyspaces);
            debug_assert!(row / 2 < self.commands);
            Missing::Execution {
                command: (row / 2) as u16,
                keyspace: keyspace as u16,
                alone: row % 2 == 1,
            }
        });
        let retirements = numbers(&self.retirements).map(|at| {
            let (row, keyspace) = (at / self.keyspaces, at % self.keyspaces);
            Missing::Retirement {
                keyspace: keyspace as u16,
                client: row / self.renamings,
                renaming: row % self.renamings,
            }
        });
        executions.chain(retirements).collect()
    }
}

/// The numbers of the bits that are set.
fn numbers(words: &[AtomicU64]) -> impl Iterator<Item = usize> {
    words.iter().enumerate().flat_map(|(at, word)| {
        let word = word.load(Ordering::Relaxed);
        (0..64)
            .filter(move |bit| word >> bit & 1 == 1)
            .map(move |bit| at * 64 + bit)
    })
}

impl Reached {
    /// Nothing of these tables yet.
    pub(super) fn of(tables: &Tables) -> Reached {
        let mut reached = Reached::new(tables.closure.poisons.len(), tables.closure.commands.len());
        reached.lacks = tables.closure.is_by_need().then(|| Lacks::of(tables));
        reached
    }

    fn new(poisons: usize, commands: usize) -> Reached {
        let flags = |count: usize| (0..count).map(|_| AtomicBool::new(false)).collect();
        Reached {
            poisons: flags(poisons),
            rounded: AtomicBool::new(false),
            lost_fences: AtomicBool::new(false),
            succeeded: [const { AtomicBool::new(false) }; Op::ALL.len()],
            commands: flags(commands),
            lacks: None,
        }
    }

    /// The tables have no answer, and can get one.
    pub(super) fn lack(&self, missing: Missing) {
        if let Some(lacks) = &self.lacks {
            lacks.note(missing);
        }
    }

    /// What was lacking, in the order of its numbers.
    pub(crate) fn lacks(&self) -> Vec<Missing> {
        self.lacks.as_ref().map_or_else(Vec::new, Lacks::all)
    }

    /// Adds what another search of an equal world came upon.
    pub(crate) fn add(&self, other: &Reached) {
        let add = |flag: &AtomicBool, other: &AtomicBool| {
            flag.fetch_or(other.load(Ordering::Relaxed), Ordering::Relaxed);
        };
        let all = |flags: &[AtomicBool], others: &[AtomicBool]| {
            std::iter::zip(flags, others).for_each(|(flag, other)| add(flag, other));
        };
        all(&self.poisons, &other.poisons);
        all(&self.commands, &other.commands);
        all(&self.succeeded, &other.succeeded);
        add(&self.rounded, &other.rounded);
        add(&self.lost_fences, &other.lost_fences);
    }

    /// What has been come upon so far, as a value of its own.
    pub(crate) fn taken(&self) -> Reached {
        let taken = Reached::new(self.poisons.len(), self.commands.len());
        taken.add(self);
        taken
    }

    /// The poison with this number (from 1).
    pub(super) fn poison(&self, number: u16) {
        if let Some(flag) = self.poisons.get(usize::from(number) - 1) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn round(&self) {
        raise(&self.rounded);
    }

    pub(super) fn lose_fences(&self) {
        raise(&self.lost_fences);
    }

    /// A property had to compare fences of which the model does not know how they lie.
    pub fn lost_fences(&self) -> bool {
        self.lost_fences.load(Ordering::Relaxed)
    }

    pub(super) fn succeed(&self, op: Op) {
        raise(&self.succeeded[op as usize]);
    }

    pub(super) fn command(&self, id: u16) {
        raise(&self.commands[usize::from(id)]);
    }

    /// Operations of which some call succeeded.
    pub fn succeeded(&self) -> impl Iterator<Item = Op> {
        let raised = |op: &Op| self.succeeded[*op as usize].load(Ordering::Relaxed);
        Op::ALL.into_iter().filter(raised)
    }

    /// Commands that a server executed, by the closure's numbers.
    pub fn commands(&self) -> impl Iterator<Item = u16> {
        let all = self.commands.iter().enumerate();
        all.filter(|(_, flag)| flag.load(Ordering::Relaxed))
            .map(|(at, _)| at as u16)
    }

    /// Numbers, from 0, of the closure's poisons.
    pub fn poisons(&self) -> impl Iterator<Item = usize> {
        let all = self.poisons.iter().enumerate();
        all.filter(|(_, flag)| flag.load(Ordering::Relaxed))
            .map(|(at, _)| at)
    }

    /// Something ended after a time that is no whole number of ticks.
    pub fn rounded(&self) -> bool {
        self.rounded.load(Ordering::Relaxed)
    }
}

/// Threads that all write the same flag again and again would wait for each other.
fn raise(flag: &AtomicBool) {
    if !flag.load(Ordering::Relaxed) {
        flag.store(true, Ordering::Relaxed);
    }
}
