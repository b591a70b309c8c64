//! What of its tables a search of a world came upon.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::lock::Op;

/// What of the tables a search came upon, whatever the order of its work.
#[derive(Debug, Default)]
pub struct Reached {
    poisons: Vec<AtomicBool>,
    rounded: AtomicBool,
    lost_fences: AtomicBool,
    succeeded: [AtomicBool; Op::ALL.len()],
    commands: Vec<AtomicBool>,
}

impl Reached {
    pub(super) fn new(poisons: usize, commands: usize) -> Reached {
        let flags = |count: usize| (0..count).map(|_| AtomicBool::new(false)).collect();
        Reached {
            poisons: flags(poisons),
            rounded: AtomicBool::new(false),
            lost_fences: AtomicBool::new(false),
            succeeded: [const { AtomicBool::new(false) }; Op::ALL.len()],
            commands: flags(commands),
        }
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
