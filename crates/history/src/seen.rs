//! What oracles see: operations that were invoked, how they ended, and what was noted.

use super::names::NameSet;
use super::record::{Details, F, Record};
use super::{Kind, Process};

/// The key that has no name.
pub(super) const UNNAMED: usize = 0;

/// What stands for bytes that a text cannot hold: different keys may look alike.
pub(super) fn is_vague(name: &str) -> bool {
    name.contains('\u{fffd}')
}

/// An operation that was invoked.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub process: Process,
    pub f: F,
    /// The line of the invocation.
    pub line: u64,
    /// Nanoseconds.
    pub invoked: u64,
    /// Which lock key, as a small number, [`UNNAMED`] for the one without a name;
    /// meaningful for acquire, release and a final acquire that names one.
    pub key: usize,
    /// The key's name may stand for several: it has U+FFFD in it.
    pub vague: bool,
    /// While it was open its client was told that a lock is gone: this one, or
    /// another that it held.
    pub told_lost: bool,
    /// What the invocation said.
    pub details: Details,
}

impl Op {
    /// The client's number, if a client did it.
    pub(super) fn client(&self) -> Option<u32> {
        match self.process {
            Process::Client(client) => Some(client),
            _ => None,
        }
    }
}

/// Why an operation is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The history says how it ended.
    Completed,
    /// Its client died.
    Crashed,
    /// The history ended first.
    HistoryOver,
}

/// The end of an operation.
pub(super) struct Completion<'a> {
    /// [`Kind::Info`] whenever nobody knows.
    pub kind: Kind,
    pub time: u64,
    pub line: u64,
    pub details: &'a Details,
    pub why: Why,
}

/// What an end says of which the history says nothing.
pub(super) const NOTHING: &Details = &Details {
    key: None,
    validity_ns: None,
    fence: None,
    effect: None,
    value: None,
    read: None,
    wrote: None,
    round: None,
    element: None,
    client: None,
    command: None,
    rare: None,
    wrong: None,
    names: NameSet::NONE,
};

/// What an oracle sees.
pub(super) enum Seen<'a> {
    Invoked(&'a Op),
    Ended(&'a Op, &'a Completion<'a>),
    /// Faults, observations, `stall`, `crash`, `setup`.
    Noted(&'a Record),
    /// A client was told that its lock is gone: that of this key, or all.
    Lost(u32, Option<usize>, &'a Record),
}

impl Seen<'_> {
    pub(super) fn time(&self) -> u64 {
        match self {
            Seen::Invoked(op) => op.invoked,
            Seen::Ended(_, end) => end.time,
            Seen::Noted(record) | Seen::Lost(_, _, record) => record.time,
        }
    }

    /// The client that a note declares dead.
    pub(super) fn death(&self) -> Option<u32> {
        match self {
            Seen::Noted(record) => record.death(),
            _ => None,
        }
    }

    /// A client that does not hold any longer, and the key, if not all of them.
    pub(super) fn gone(&self) -> Option<(u32, Option<usize>)> {
        match self {
            Seen::Lost(client, key, _) => Some((*client, *key)),
            _ => self.death().map(|client| (client, None)),
        }
    }
}
