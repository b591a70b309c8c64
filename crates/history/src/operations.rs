//! Invocations with their ends.
//!
//! An operation may end in five ways: ok, fail, info, the crash of its client,
//! and the end of the history. The last three are the same to an oracle: nobody
//! knows what became of it. It is never dropped.
//!
//! An end that says something else than its invocation did is an error: each
//! oracle reads one of the two, and nobody can say which is true.

use rustc_hash::FxHashMap;

use super::commands::{self, Commands};
use super::crowd::Crowd;
use super::reader::{Problem, ReadError};
use super::record::{F, Record};
use super::seen::{Completion, NOTHING, Op, Seen, UNNAMED, Why, is_vague};
use super::{Kind, Process};

/// Pairs events up.
#[derive(Default)]
pub(super) struct Operations {
    open: FxHashMap<Process, Op>,
    /// Commands on their way to a server and back.
    commands: Commands,
    /// Clients that died inside of an operation, and its line.
    cut: FxHashMap<Process, u64>,
    /// Names of keys, from 1.
    keys: FxHashMap<Box<str>, usize>,
    /// The key of each client's last acquire.
    last_key: FxHashMap<u32, usize>,
    crowd: Crowd,
    /// The lines that told the start: of coupons, of the counter.
    setup: [Option<u64>; 2],
    /// Time and line of the last event.
    last: (u64, u64),
    /// How many operations clients invoked.
    pub(super) invoked: u64,
    /// How many of them ended without anybody knowing how.
    pub(super) unknown: u64,
}

impl Operations {
    /// For a history that names so many clients.
    pub(super) fn new(clients: u32) -> Operations {
        Operations {
            crowd: Crowd::new(clients),
            ..Operations::default()
        }
    }

    /// Takes the next event in order of time; `see` is told what it means, and
    /// `warn` what is forgiven.
    pub(super) fn take(
        &mut self,
        record: Record,
        see: &mut impl FnMut(Seen<'_>),
        warn: &mut impl FnMut(String),
    ) -> Result<(), ReadError> {
        self.last = (record.time, record.line);
        self.crowd.see(&record, warn);
        if commands::is_interval(&record) {
            let late = self.commands.take(record, see)?;
            late.into_iter().for_each(warn);
            return Ok(());
        }
        let strict = matches!(record.process, Process::Client(_));
        let late = match record.kind {
            Kind::Invoke if strict || record.process == Process::Harness => {
                self.invoke(record, see)?;
                None
            }
            Kind::Ok | Kind::Fail if strict || record.process == Process::Harness => {
                self.complete(record, see)?
            }
            Kind::Info if record.f.is_operation() || self.ends_other(&record) => {
                self.complete(record, see)?
            }
            _ => {
                self.note(&record, see)?;
                None
            }
        };
        late.into_iter().for_each(warn);
        Ok(())
    }

    /// True while this process does something.
    pub(super) fn is_open(&self, process: Process) -> bool {
        self.open.contains_key(&process)
    }

    /// True while a command with this id is on its way.
    pub(super) fn awaits_reply(&self, id: u64) -> bool {
        self.commands.is_open(id)
    }

    /// True for a line that ends what its process does, if it does something.
    pub(super) fn may_end(&self, record: &Record) -> bool {
        match record.kind {
            Kind::Invoke => false,
            Kind::Ok | Kind::Fail => true,
            Kind::Info => record.f.is_operation() || record.f == F::Other,
        }
    }

    /// Whatever is open now stays unknown.
    pub(super) fn finish(&mut self, see: &mut impl FnMut(Seen<'_>)) {
        self.commands.finish(self.last, see);
        let mut open: Vec<Op> = self.open.drain().map(|(_, op)| op).collect();
        open.sort_by_key(|op| op.process);
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
        let name = details.key.as_deref();
        let key = match (process, f) {
            (Process::Client(client), F::Acquire) => {
                let key = self.key(name);
                self.last_key.insert(client, key);
                key
            }
            (Process::Client(client), F::Release) if name.is_none() => {
                self.last_key.get(&client).copied().unwrap_or(UNNAMED)
            }
            (Process::Client(_), F::Release) | (_, F::FinalAcquire) => self.key(name),
            _ => UNNAMED,
        };
        Op {
            process,
            f,
            line,
            invoked: time,
            key,
            vague: name.is_some_and(is_vague),
            told_lost: false,
            details,
        }
    }

    /// A key's number. One without a name is none of those that have one, be it
    /// an empty one.
    fn key(&mut self, name: Option<&str>) -> usize {
        let Some(name) = name else { return UNNAMED };
        if let Some(key) = self.keys.get(name) {
            return *key;
        }
        let key = self.keys.len() + 1;
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
        self.check_end(&op, &record)?;
        if record.kind == Kind::Info {
            self.count_unknown(&op);
        }
        let end = Completion {
            kind: record.kind,
            time: record.time,
            line: record.line,
            details: &record.details,
            why: Why::Completed,
        };
        see(Seen::Ended(&op, &end));
        Ok(None)
    }

    /// An end may say again what its invocation said, and nothing else.
    fn check_end(&mut self, op: &Op, record: &Record) -> Result<(), ReadError> {
        let name = record.details.key.as_deref();
        let field = match record.contradicts(&op.details) {
            Some(field) => field,
            None if name.is_some() && self.key(name) != op.key => "key",
            None => return Ok(()),
        };
        let open = op.line;
        Err(Problem::Contradiction { field, open }.at(record.line))
    }

    fn note(&mut self, record: &Record, see: &mut impl FnMut(Seen<'_>)) -> Result<(), ReadError> {
        match (record.process, record.f) {
            (Process::Client(client), F::Lost) => {
                let name = record.details.key.as_deref();
                let key = name.map(|_| self.key(name));
                if let Some(open) = self.open.get_mut(&record.process) {
                    open.told_lost |= key.is_none_or(|key| key == open.key);
                }
                see(Seen::Lost(client, key, record));
                return Ok(());
            }
            (Process::Harness, F::Setup) => self.set_up(record)?,
            _ => {}
        }
        if let Some(client) = record.death() {
            self.commands.crash(client, self.last, see);
            let process = Process::Client(client);
            if let Some(op) = self.open.remove(&process) {
                self.count_unknown(&op);
                self.cut.insert(process, op.line);
                see(Seen::Ended(&op, &self.nobody_knows(Why::Crashed)));
            }
        }
        see(Seen::Noted(record));
        Ok(())
    }

    /// The start is told once.
    fn set_up(&mut self, record: &Record) -> Result<(), ReadError> {
        let rare = record.details.rare();
        let told = [
            ("coupons", rare.and_then(|rare| rare.coupons)),
            ("counter", rare.and_then(|rare| rare.counter)),
        ];
        for (line, (field, _)) in self
            .setup
            .iter_mut()
            .zip(told)
            .filter(|(_, (_, number))| number.is_some())
        {
            if let Some(first) = line.replace(record.line) {
                return Err(Problem::SetupTwice { field, first }.at(record.line));
            }
        }
        Ok(())
    }

    fn count_unknown(&mut self, op: &Op) {
        self.unknown += u64::from(op.client().is_some());
    }

    fn nobody_knows(&self, why: Why) -> Completion<'static> {
        Completion {
            kind: Kind::Info,
            time: self.last.0,
            line: self.last.1,
            details: NOTHING,
            why,
        }
    }
}
