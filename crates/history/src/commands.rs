//! Commands that have an interval: sent then, answered then, executed by a
//! server at some time between.
//!
//! Many may be open on one server at once, so they are told apart by an id and
//! not by their process. A command that was given up (`info`) may still be
//! answered: a late reply narrows down what was unknown, so the command is kept
//! until it comes or until its client dies. Ids that were used are kept as runs
//! of consecutive numbers, which takes little room if a recorder counts.

use rustc_hash::FxHashMap;

use super::reader::{Problem, ReadError};
use super::record::{Command, F, Record};
use super::runs::Runs;
use super::seen::{Completion, NOTHING, Op, Seen, UNNAMED, Why};
use super::{Kind, Process};

/// A command whose reply has not been read.
struct Open {
    op: Op,
    client: u32,
    given_up: bool,
}

/// Pairs the ends of commands up.
#[derive(Default)]
pub(super) struct Commands {
    open: FxHashMap<u64, Open>,
    used: Runs,
    /// Commands whose client died before their reply: client and line.
    cut: FxHashMap<u64, u64>,
}

/// True for one end of an interval; false for the note of a server's watcher,
/// who knows when a command was executed, and for everything else.
pub(super) fn is_interval(record: &Record) -> bool {
    let has_id = || record.details.command().is_some_and(|it| it.id.is_some());
    matches!(record.process, Process::Node(_))
        && record.f == F::Execute
        && (record.kind != Kind::Info || has_id())
}

impl Commands {
    /// True until the reply, also after it was given up.
    pub(super) fn is_open(&self, id: u64) -> bool {
        self.open.contains_key(&id)
    }

    /// Takes one end of an interval; gives a warning where it came after its
    /// client's crash.
    pub(super) fn take(
        &mut self,
        record: Record,
        see: &mut impl FnMut(Seen<'_>),
    ) -> Result<Option<String>, ReadError> {
        // The reader has refused what lacks either.
        let id = record.details.command().and_then(|command| command.id);
        let named = id.zip(record.details.client);
        let Some((id, client)) = named else {
            return Ok(None);
        };
        match record.kind {
            Kind::Invoke => self.invoke(record, (id, client), see).map(|()| None),
            _ => self.complete(&record, (id, client), see),
        }
    }

    fn invoke(
        &mut self,
        record: Record,
        (id, client): (u64, u32),
        see: &mut impl FnMut(Seen<'_>),
    ) -> Result<(), ReadError> {
        // Ids were read as whole numbers with a sign, so the cast loses nothing.
        if !self.used.insert(id as i64) {
            return Err(Problem::IdTwice { id }.at(record.line));
        }
        let op = Op {
            process: record.process,
            f: record.f,
            line: record.line,
            invoked: record.time,
            key: UNNAMED,
            vague: false,
            told_lost: false,
            details: record.details,
        };
        see(Seen::Invoked(&op));
        let given_up = false;
        let open = Open {
            op,
            client,
            given_up,
        };
        self.open.insert(id, open);
        Ok(())
    }

    fn complete(
        &mut self,
        record: &Record,
        (id, client): (u64, u32),
        see: &mut impl FnMut(Seen<'_>),
    ) -> Result<Option<String>, ReadError> {
        let Some(open) = self.open.get_mut(&id) else {
            if let Some(line) = self.cut.remove(&id) {
                return Ok(Some(format!(
                    "line {}: the command {id} of line {line} is completed after its client's crash; its outcome stays unknown",
                    record.line
                )));
            }
            return Err(match self.used.contains(id as i64) {
                true => Problem::CompletedTwice { id },
                false => Problem::UnknownId { id },
            }
            .at(record.line));
        };
        let line = open.op.line;
        if open.client != client || open.op.process != record.process {
            return Err(Problem::OtherCommand { id, open: line }.at(record.line));
        }
        let end = Completion {
            kind: record.kind,
            time: record.time,
            line: record.line,
            details: &record.details,
            why: Why::Completed,
        };
        if record.kind == Kind::Info {
            if std::mem::replace(&mut open.given_up, true) {
                return Err(Problem::CompletedTwice { id }.at(record.line));
            }
            see(Seen::Ended(&open.op, &end));
        } else if let Some(open) = self.open.remove(&id) {
            see(Seen::Ended(&open.op, &end));
        }
        Ok(None)
    }

    /// The client died: nobody will read the replies to what it sent.
    pub(super) fn crash(&mut self, client: u32, now: (u64, u64), see: &mut impl FnMut(Seen<'_>)) {
        let mut gone: Vec<(u64, Open)> = self
            .open
            .extract_if(|_, open| open.client == client)
            .collect();
        gone.sort_by_key(|(id, _)| *id);
        for (id, open) in gone {
            self.cut.insert(id, open.op.line);
            end_unknown(&open, now, Why::Crashed, see);
        }
    }

    /// What is open now stays unknown.
    pub(super) fn finish(&mut self, now: (u64, u64), see: &mut impl FnMut(Seen<'_>)) {
        let mut open: Vec<(u64, Open)> = self.open.drain().collect();
        open.sort_by_key(|(id, _)| *id);
        for (_, open) in open {
            end_unknown(&open, now, Why::HistoryOver, see);
        }
    }
}

fn end_unknown(open: &Open, (time, line): (u64, u64), why: Why, see: &mut impl FnMut(Seen<'_>)) {
    if !open.given_up {
        let end = Completion {
            kind: Kind::Info,
            time,
            line,
            details: NOTHING,
            why,
        };
        see(Seen::Ended(&open.op, &end));
    }
}

impl Op {
    /// What the invocation of a command said; `None` for other operations.
    pub(super) fn command(&self) -> Option<(u32, &Command)> {
        let command = self.details.command().filter(|_| self.f == F::Execute)?;
        match self.process {
            Process::Node(node) => Some((node, command)),
            _ => None,
        }
    }
}
