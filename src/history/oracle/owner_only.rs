//! Owner-only release: nobody removes, or changes the expiry of, an entry that
//! belongs to another client which surely holds.
//!
//! Whose an entry is follows from what the servers were seen to execute. SET NX
//! that answered OK and SETNX that answered 1 say it outright. A script, GETSET
//! or HSET says it only if the acquire that sent it succeeds; until then the
//! client is a candidate. A script counts as a removal if it answered 1 to a
//! client that was releasing: one that compared owners would have answered 0.
//!
//! A removal of an entry whose owner was only a candidate, or is past the time
//! for which its validity is sure, is a possible violation.

use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::history::operations::{End, Op, Seen};
use crate::history::record::{F, Rare, Record};
use crate::history::{Finding, Header, Kind, Process};

use super::Oracle;
use super::tally::Tally;

pub(super) const NAME: &str = "owner-only-release";

/// Whose an entry is.
#[derive(Clone, Copy, Default)]
struct Entry {
    owner: Option<u32>,
    /// Sent a command that makes it the owner if its acquire succeeds.
    candidate: Option<u32>,
}

/// A client, as far as it matters here.
#[derive(Clone, Copy, Default)]
struct Client {
    /// What it does, or did last.
    doing: Option<F>,
    /// Its last acquire is open, or of unknown outcome.
    perhaps: bool,
    /// It surely holds until this time, in ns; the line of its acquire.
    holds: Option<(u64, u64)>,
}

pub(super) struct OwnerOnly {
    tally: Tally,
    observed: bool,
    /// An acquire that succeeded put its entry on this one server.
    one_node: bool,
    reentrant: bool,
    entries: FxHashMap<(u32, String), Entry>,
    clients: FxHashMap<u32, Client>,
}

/// What a command did to an entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Did {
    /// Created it for the client that sent it.
    Claimed,
    /// Created it, if the acquire succeeds.
    PerhapsClaimed,
    Removed,
    ChangedExpiry,
}

impl OwnerOnly {
    pub(super) fn new(header: &Header) -> OwnerOnly {
        OwnerOnly {
            tally: Tally::default(),
            observed: false,
            one_node: header.nodes <= 1,
            reentrant: header.reentrant,
            entries: FxHashMap::default(),
            clients: FxHashMap::default(),
        }
    }

    fn executed(&mut self, record: &Record, node: u32, rare: &Rare) {
        self.observed = true;
        let (Some(client), Some(argv)) = (rare.client, &rare.argv) else {
            return;
        };
        let doing = self.clients.get(&client).and_then(|client| client.doing);
        let Some((key, did)) = understand(argv, rare.reply.as_ref(), doing) else {
            return;
        };
        let place = (node, key.to_owned());
        let entry = self.entries.entry(place.clone()).or_default();
        match did {
            Did::Claimed => {
                *entry = Entry {
                    owner: Some(client),
                    candidate: None,
                };
            }
            Did::PerhapsClaimed => entry.candidate = Some(client),
            Did::Removed | Did::ChangedExpiry => {
                let before = *entry;
                self.tally.checked += 1;
                self.judge(record, client, before, did);
                if did == Did::Removed {
                    self.entries.remove(&place);
                }
            }
        }
    }

    fn judge(&mut self, record: &Record, client: u32, entry: Entry, did: Did) {
        let now = record.time;
        let what = match did {
            Did::Removed => "removed",
            _ => "changed the expiry of",
        };
        let mut others = [entry.candidate, entry.owner].into_iter().flatten();
        let Some(owner) = others.find(|other| *other != client) else {
            return;
        };
        // A candidate beside it, or instead of it, makes the owner uncertain.
        let certain = entry.owner == Some(owner) && entry.candidate.is_none();
        let state = self.clients.get(&owner).copied().unwrap_or_default();
        match state.holds {
            Some((until, line)) if certain && now < until => {
                self.tally.sure(now, &[record.line, line], || {
                    format!(
                        "client {client} {what} client {owner}'s entry, which holds (line {line})"
                    )
                });
            }
            Some((_, line)) => {
                self.tally.possible(now, &[record.line, line], || {
                    format!(
                        "client {client} {what} an entry that may be client {owner}'s (line {line})"
                    )
                });
            }
            None if state.perhaps => {
                self.tally.possible(now, &[record.line], || {
                    format!("client {client} {what} an entry of client {owner}, which may have acquired it")
                });
            }
            None => {}
        }
    }

    fn invoked(&mut self, op: &Op, client: u32) {
        let state = self.clients.entry(client).or_default();
        if matches!(op.f, F::Acquire | F::Release) {
            state.doing = Some(op.f);
        }
        match op.f {
            F::Acquire => state.perhaps = true,
            F::Release => state.perhaps = false,
            _ => {}
        }
        // With nested holds the first release is not the end; but then it is no
        // longer sure what the client holds.
        if op.f == F::Release || (op.f == F::Acquire && !self.reentrant) {
            state.holds = None;
        }
    }

    fn acquired(&mut self, op: &Op, client: u32, end: &End<'_>) {
        let succeeded = end.kind == Kind::Ok;
        let state = self.clients.entry(client).or_default();
        state.perhaps = end.kind == Kind::Info;
        if succeeded {
            let until = end.details.validity_ns;
            let until = until.map_or(u64::MAX, |validity| {
                op.invoked.saturating_add_signed(validity)
            });
            state.holds = Some((until, end.line));
        }
        if !self.observed || end.kind == Kind::Info {
            return;
        }
        for entry in self.entries.values_mut() {
            if entry.candidate == Some(client) {
                if !succeeded {
                    entry.candidate = None;
                } else if self.one_node {
                    (entry.owner, entry.candidate) = (Some(client), None);
                }
            }
        }
    }
}

impl Oracle for OwnerOnly {
    fn see(&mut self, seen: &Seen<'_>) {
        if let Some(client) = seen.death().or(seen.loser()) {
            let state = self.clients.entry(client).or_default();
            (state.holds, state.perhaps) = (None, false);
        }
        match seen {
            Seen::Invoked(op) => {
                if let Some(client) = op.client() {
                    self.invoked(op, client);
                }
            }
            Seen::Ended(op, end) if op.f == F::Acquire => {
                if let Some(client) = op.client() {
                    self.acquired(op, client, end);
                }
            }
            Seen::Noted(record) if record.f == F::Execute => {
                if let (Process::Node(node), Some(rare)) = (record.process, record.details.rare()) {
                    self.executed(record, node, rare);
                }
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, examples: usize) -> Finding {
        let nothing = match self.observed {
            true => "no command was seen to remove an entry or to change its expiry",
            false => "nobody observed what the servers executed (`execute`)",
        };
        self.tally.finish(NAME, examples, nothing)
    }
}

/// Which key a command was about, and what it did; `None` if nothing, or if that
/// cannot be told.
fn understand<'a>(
    argv: &'a [String],
    reply: Option<&Value>,
    doing: Option<F>,
) -> Option<(&'a str, Did)> {
    let (name, rest) = argv.split_first()?;
    let name = name.to_ascii_uppercase();
    let key = rest.first()?.as_str();
    let one = whole(reply) == Some(1);
    let did = match name.as_str() {
        "SETNX" if one => Did::Claimed,
        "SET" if is_ok(reply) => match rest.iter().any(|word| word.eq_ignore_ascii_case("NX")) {
            true => Did::Claimed,
            false => Did::PerhapsClaimed,
        },
        "GETSET" | "HSET" | "HSETNX" | "HINCRBY" => Did::PerhapsClaimed,
        // Of several keys it cannot be told which ones were there.
        "DEL" | "UNLINK" if one && rest.len() == 1 => Did::Removed,
        "DELIFEQ" | "GETDEL" if one || reply.is_some_and(Value::is_string) => Did::Removed,
        "EXPIRE" | "PEXPIRE" | "EXPIREAT" | "PEXPIREAT" | "PERSIST" if one => Did::ChangedExpiry,
        "EVAL" | "EVALSHA" | "FCALL" => return script(rest, one, doing),
        _ => return None,
    };
    Some((key, did))
}

fn script(rest: &[String], one: bool, doing: Option<F>) -> Option<(&str, Did)> {
    let keys: usize = rest.get(1)?.parse().ok()?;
    let key = rest.get(2).filter(|_| keys > 0)?.as_str();
    match doing {
        Some(F::Release) if one => Some((key, Did::Removed)),
        Some(F::Acquire) => Some((key, Did::PerhapsClaimed)),
        _ => None,
    }
}

/// A reply that is a whole number: `1`, or `{"int": 1}` as traces write it.
fn whole(reply: Option<&Value>) -> Option<i64> {
    let reply = reply?;
    reply.as_i64().or_else(|| reply.get("int")?.as_i64())
}

/// `"OK"`, or `{"status": "OK"}` as traces write it.
fn is_ok(reply: Option<&Value>) -> bool {
    let status = |reply: &Value| reply.as_str() == Some("OK");
    reply.is_some_and(|reply| status(reply) || reply.get("status").is_some_and(status))
}
