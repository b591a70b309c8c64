//! Invocations with their ends.
//!
//! An operation may end in five ways: ok, fail, info, the crash of its client,
//! and the end of the history. The last three are the same to an oracle: nobody
//! knows what became of it. It is never dropped.

use rustc_hash::FxHashMap;

use super::commands::{self, Commands};
use super::reader::{Problem, ReadError};
use super::record::{Details, F, Record};
use super::{Kind, Process};

/// An operation that was invoked.
#[derive(Clone, Debug)]
pub(super) struct Op {
    pub process: Process,
    pub f: F,
    /// The line of the invocation.
    pub line: u64,
    /// Nanoseconds.
    pub invoked: u64,
    /// Which lock key, as a small number; meaningful for acquire and release.
    pub key: usize,
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
pub(super) struct End<'a> {
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
};

/// What an oracle sees.
pub(super) enum Seen<'a> {
    Invoked(&'a Op),
    Ended(&'a Op, &'a End<'a>),
    /// Faults, observations, `lost`, `stall`, `crash`, `setup`.
    Noted(&'a Record),
}

impl Seen<'_> {
    pub(super) fn time(&self) -> u64 {
        match self {
            Seen::Invoked(op) => op.invoked,
            Seen::Ended(_, end) => end.time,
            Seen::Noted(record) => record.time,
        }
    }

    /// The client that a note declares dead.
    pub(super) fn death(&self) -> Option<u32> {
        let Seen::Noted(record) = self else {
            return None;
        };
        let details = &record.details;
        // The second half of a pair is the client's return.
        let phase = details.rare().and_then(|rare| rare.phase.as_deref());
        let dies = record.f == F::Crash && phase != Some("end");
        details.client.filter(|_| dies)
    }

    /// The client that was told that its lock is gone.
    pub(super) fn loser(&self) -> Option<u32> {
        match self {
            Seen::Noted(record) if record.f == F::Lost => match record.process {
                Process::Client(client) => Some(client),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Pairs events up.
#[derive(Default)]
pub(super) struct Operations {
    open: FxHashMap<Process, Op>,
    /// Commands on their way to a server and back.
    commands: Commands,
    /// Clients that died inside of an operation, and its line.
    cut: FxHashMap<Process, u64>,
    keys: FxHashMap<Box<str>, usize>,
    /// The key of each client's last acquire.
    last_key: FxHashMap<u32, usize>,
    /// Time and line of the last event.
    last: (u64, u64),
    /// How many operations clients invoked.
    pub(super) invoked: u64,
    /// How many of them ended without anybody knowing how.
    pub(super) unknown: u64,
}

impl Operations {
    /// Takes the next event in order of time; `see` is told what it means.
    ///
    /// Gives a warning where a completion came after its client's crash.
    pub(super) fn take(
        &mut self,
        record: Record,
        see: &mut impl FnMut(Seen<'_>),
    ) -> Result<Option<String>, ReadError> {
        self.last = (record.time, record.line);
        if commands::is_interval(&record) {
            return self.commands.take(record, see);
        }
        let strict = matches!(record.process, Process::Client(_));
        match record.kind {
            Kind::Invoke if strict || record.process == Process::Harness => {
                self.invoke(record, see)?;
            }
            Kind::Ok | Kind::Fail if strict || record.process == Process::Harness => {
                return self.complete(record, see);
            }
            Kind::Info if is_operation(record.f) || self.ends_other(&record) => {
                return self.complete(record, see);
            }
            _ => self.note(&record, see),
        }
        Ok(None)
    }

    /// Whatever is open now stays unknown.
    pub(super) fn finish(&mut self, see: &mut impl FnMut(Seen<'_>)) {
        self.commands.finish(self.last, see);
        let mut open: Vec<Op> = self.open.drain().map(|(_, op)| op).collect();
        open.sort_by_key(|op| op.line);
        for op in open {
            self.count_unknown(&op);
            see(Seen::Ended(&op, &self.nobody_knows(Why::HistoryOver)));
        }
    }

    /// Time of the last event, in ns.
    pub(super) fn last_time(&self) -> u64 {
        self.last.0
    }

    /// An info of an operation that is not in the vocabulary ends it if it is open.
    fn ends_other(&self, record: &Record) -> bool {
        record.f == F::Other
            && self
                .open
                .get(&record.process)
                .is_some_and(|op| op.f == F::Other)
    }

    fn invoke(&mut self, record: Record, see: &mut impl FnMut(Seen<'_>)) -> Result<(), ReadError> {
        if let Some(open) = self.open.get(&record.process) {
            let problem = Problem::DuplicateInvocation {
                process: record.process,
                open: open.line,
            };
            return Err(problem.at(record.line));
        }
        self.cut.remove(&record.process);
        let op = self.op(record);
        self.invoked += u64::from(op.client().is_some());
        see(Seen::Invoked(&op));
        self.open.insert(op.process, op);
        Ok(())
    }

    fn op(&mut self, record: Record) -> Op {
        let Record {
            line,
            time,
            process,
            f,
            details,
            ..
        } = record;
        let key = match (process, f) {
            (Process::Client(client), F::Acquire) => {
                let key = self.key(details.key.as_deref());
                self.last_key.insert(client, key);
                key
            }
            (Process::Client(client), F::Release) if details.key.is_none() => {
                self.last_key.get(&client).copied().unwrap_or_default()
            }
            (Process::Client(_), F::Release) => self.key(details.key.as_deref()),
            _ => 0,
        };
        Op {
            process,
            f,
            line,
            invoked: time,
            key,
            details,
        }
    }

    fn key(&mut self, name: Option<&str>) -> usize {
        let name = name.unwrap_or_default();
        if let Some(key) = self.keys.get(name) {
            return *key;
        }
        let key = self.keys.len();
        self.keys.insert(name.into(), key);
        key
    }

    fn complete(
        &mut self,
        record: Record,
        see: &mut impl FnMut(Seen<'_>),
    ) -> Result<Option<String>, ReadError> {
        let process = record.process;
        let op = match self.open.remove(&process) {
            Some(op) if op.f == record.f => op,
            Some(op) => {
                let open = op.line;
                return Err(Problem::OtherCompletion { process, open }.at(record.line));
            }
            // What the harness reads at the end needs no invocation.
            None if !matches!(process, Process::Client(_)) => self.op(record.clone()),
            None => {
                return match self.cut.remove(&process) {
                    // It was written before the signal struck. The operation is
                    // taken for unknown already, which includes this outcome.
                    Some(line) => Ok(Some(format!(
                        "line {}: {process} completes its operation of line {line} after its crash; the outcome stays unknown",
                        record.line
                    ))),
                    None => Err(Problem::WithoutInvocation { process }.at(record.line)),
                };
            }
        };
        if record.kind == Kind::Info {
            self.count_unknown(&op);
        }
        let end = End {
            kind: record.kind,
            time: record.time,
            line: record.line,
            details: &record.details,
            why: Why::Completed,
        };
        see(Seen::Ended(&op, &end));
        Ok(None)
    }

    fn note(&mut self, record: &Record, see: &mut impl FnMut(Seen<'_>)) {
        if let Some(client) = Seen::Noted(record).death() {
            self.commands.crash(client, self.last, see);
            let process = Process::Client(client);
            if let Some(op) = self.open.remove(&process) {
                self.count_unknown(&op);
                self.cut.insert(process, op.line);
                see(Seen::Ended(&op, &self.nobody_knows(Why::Crashed)));
            }
        }
        see(Seen::Noted(record));
    }

    fn count_unknown(&mut self, op: &Op) {
        self.unknown += u64::from(op.client().is_some());
    }

    fn nobody_knows(&self, why: Why) -> End<'static> {
        End {
            kind: Kind::Info,
            time: self.last.0,
            line: self.last.1,
            details: NOTHING,
            why,
        }
    }
}

/// True for what a client or the harness does; false for what is only noted.
fn is_operation(f: F) -> bool {
    !matches!(
        f,
        F::Lost | F::Setup | F::Execute | F::Stall | F::Crash | F::Other
    )
}
