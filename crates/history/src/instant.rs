//! One time has no order.
//!
//! Two lines with equal times may have happened in either order, so which of
//! them stands first in the file must change no verdict. Each oracle chooses
//! what is best for the lock; but it sees one thing after the other, and what it
//! remembers could still follow the file. Therefore all lines of one time are put
//! into an order that depends on what they say, and not on where they stand:
//! faults, replies, clients, commands, what was seen on a server, deaths, final
//! reads. Rejected: leaving it to each oracle, which went wrong in two of them.
//!
//! One process does one thing after the other, so *its* lines keep their order,
//! and so do those of one command. A death comes after whatever its client says
//! at that time, because the dead say nothing. Only if the client begins
//! something inside of an operation was it dead in between, and was started again.

use super::commands;
use super::operations::Operations;
use super::record::Record;
use super::{Kind, Process};

/// Where a line stands among those of its time: first by group, then by the
/// rest.
type SortKey = (u8, u64, u64, String);

const FAULT: u8 = 0;
const REPLY: u8 = 1;
const CLIENT: u8 = 2;
const COMMAND: u8 = 3;
const WATCHED: u8 = 4;
const DEATH: u8 = 5;
const FINAL: u8 = 6;

/// Puts lines of one time, which stand as in the file, into their order.
pub(super) fn order(records: Vec<Record>, operations: &Operations) -> Vec<Record> {
    let mut placed: Vec<(SortKey, Record)> = records
        .into_iter()
        .map(|record| (place(&record, operations), record))
        .collect();
    placed.sort_by(|(one, _), (other, _)| one.cmp(other));
    let deaths: Vec<u32> = placed
        .iter()
        .filter_map(|(_, record)| record.death())
        .collect();
    for client in deaths {
        die_earlier(&mut placed, client, operations);
    }
    placed.into_iter().map(|(_, record)| record).collect()
}

fn place(record: &Record, operations: &Operations) -> SortKey {
    let line = record.line;
    if let Some(client) = record.death() {
        return (DEATH, client.into(), line, String::new());
    }
    if commands::is_interval(record) {
        let id = record.details.command().and_then(|command| command.id);
        let id = id.unwrap_or_default();
        let group = match operations.awaits_reply(id) {
            true => REPLY,
            false => COMMAND,
        };
        return (group, id, line, String::new());
    }
    match record.process {
        Process::Client(client) => (CLIENT, client.into(), line, String::new()),
        // Who watches a server may write down what happened at one time in any order.
        Process::Node(node) => (WATCHED, node.into(), 0, format!("{:?}", record.details)),
        Process::Harness if record.f.is_operation() => (FINAL, 0, line, String::new()),
        Process::Nemesis | Process::Harness => {
            let rare = record.details.rare();
            let phase = match rare.and_then(|rare| rare.phase.as_deref()) {
                Some("start") => 0,
                Some("end") => 2,
                _ => 1,
            };
            (FAULT, phase, line, String::new())
        }
    }
}

/// Moves a death to before the first thing that its client could not have begun
/// without it.
fn die_earlier(placed: &mut Vec<(SortKey, Record)>, client: u32, operations: &Operations) {
    let process = Process::Client(client);
    let mut open = operations.is_open(process);
    let mut forced = None;
    for (at, (_, record)) in placed.iter().enumerate() {
        if record.death() == Some(client) && forced.is_none() {
            // One that was moved already.
            open = false;
        } else if record.process == process && record.kind == Kind::Invoke {
            if open && forced.is_none() {
                forced = Some(at);
            }
            open = true;
        } else if record.process == process && operations.may_end(record) {
            open = false;
        }
    }
    let last = placed
        .iter()
        .rposition(|(place, record)| place.0 == DEATH && record.death() == Some(client));
    if let (Some(to), Some(from)) = (forced, last)
        && from > to
    {
        let mut death = placed.remove(from);
        death.0.0 = CLIENT;
        placed.insert(to, death);
    }
}
