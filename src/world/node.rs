//! A server's keyspace as a small canonical value, and what commands, ticks
//! and faults make of it.
//!
//! Times are relative: an entry says in how many ms it expires. Every entry
//! also carries a *ghost*, the client whose command last wrote its value. No
//! server knows that; it is how the properties tell whose hold is touched when
//! a lock stores the same constant for everybody.

use crate::redis::{Bytes, Reply, ScriptEngine, Server, Value};

use super::symbols::{self, GENERATIONS, PRESENT};

/// A counter that a command moves beyond this is taken to grow for ever.
const COUNTER_MAX: i64 = 6;

/// The content of one server between two commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Keyspace {
    entries: Vec<Entry>,
    /// The server's clock minus true time, in ms. Stays 0 unless some command
    /// of the lock can see the server's clock.
    offset_ms: i64,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    pub key: Bytes,
    pub value: Value,
    /// ms until the key expires; it is still there at 0.
    pub expires_in: Option<i64>,
    /// The client that last wrote the value.
    pub writer: u8,
}

/// What a command did to the keyspace, seen from the properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effect {
    /// Other clients (bit set) whose entry it deleted, or whose expiry it changed.
    pub victims: u8,
    /// It wrote a value, or deleted an entry of the sender's own.
    pub own: bool,
    /// It created an entry.
    pub created: bool,
}

/// The outcome of one command.
#[derive(Clone, Debug)]
pub struct Executed {
    pub after: Keyspace,
    pub reply: Reply,
    pub effect: Effect,
    /// The counter that moved beyond what the tables represent, by key.
    pub overflow: Option<String>,
}

/// What the world's properties ask of a keyspace, as bit sets of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    /// Clients that wrote some entry.
    pub any: u8,
    /// .. one that never expires.
    pub unbounded: u8,
    /// .. one that expires within the TTL that was asked for, and not yet.
    pub leased: u8,
}

impl Keyspace {
    /// Runs one command of `client`; the text and the reply are canonical.
    pub fn execute(&self, scripts: &mut ScriptEngine, client: u8, argv: &[Bytes]) -> Executed {
        self.execute_at(PRESENT, scripts, client, argv)
    }

    /// The same on a server that lacks the replica which it asks for to write.
    pub fn execute_alone(
        &self,
        scripts: &mut ScriptEngine,
        client: u8,
        argv: &[Bytes],
    ) -> Executed {
        self.execute_alone_at(PRESENT, scripts, client, argv)
    }

    /// The same for concrete strings at a concrete time (ms).
    pub fn execute_at(
        &self,
        present: i64,
        scripts: &mut ScriptEngine,
        client: u8,
        argv: &[Bytes],
    ) -> Executed {
        self.run_on(self.to_server(present), scripts, client, argv)
    }

    /// The same on a server that lacks the replica which it asks for to write.
    pub fn execute_alone_at(
        &self,
        present: i64,
        scripts: &mut ScriptEngine,
        client: u8,
        argv: &[Bytes],
    ) -> Executed {
        let mut server = self.to_server(present);
        server.set_lacks_replicas(true);
        self.run_on(server, scripts, client, argv)
    }

    fn run_on(
        &self,
        mut server: Server,
        scripts: &mut ScriptEngine,
        client: u8,
        argv: &[Bytes],
    ) -> Executed {
        let reply = server.execute(scripts, u32::from(client), argv);
        self.judge(&server, client, reply)
    }

    /// The keyspace of `server` after a command of `client` on `self`.
    fn judge(&self, server: &Server, client: u8, reply: Reply) -> Executed {
        let now = server.now_ms();
        let mut effect = Effect::default();
        let mut overflow = None;
        let mut entries = Vec::new();
        for (key, value, expire_at) in server.entries() {
            let expires_in = expire_at.map(|at| at - now);
            let before = self.entries.iter().find(|entry| entry.key == *key);
            let mut writer = client;
            match before {
                None => {
                    effect.created = true;
                    effect.own = true;
                }
                Some(before) => {
                    let changed = before.value != *value;
                    let other = before.writer != client;
                    if other && before.expires_in != expires_in {
                        effect.victims |= 1 << before.writer;
                    }
                    if changed {
                        effect.own = true;
                    } else {
                        writer = before.writer;
                    }
                    if changed && counter_ran_away(&before.value, value) {
                        overflow = Some(String::from_utf8_lossy(key).into_owned());
                    }
                }
            }
            entries.push(Entry {
                key: key.clone(),
                value: value.clone(),
                expires_in,
                writer,
            });
        }
        for before in &self.entries {
            if !entries.iter().any(|entry| entry.key == before.key) {
                if before.writer == client {
                    effect.own = true;
                } else {
                    effect.victims |= 1 << before.writer;
                }
            }
        }
        let after = Keyspace {
            entries,
            offset_ms: self.offset_ms,
        };
        Executed {
            after,
            reply,
            effect,
            overflow,
        }
    }

    /// A formal server with this content, whose clock shows `present` plus the offset.
    pub fn to_server(&self, present: i64) -> Server {
        let now = present + self.offset_ms;
        let mut server = Server::new(now);
        for entry in &self.entries {
            let expire_at = entry.expires_in.map(|left| now + left);
            server.insert(entry.key.clone(), entry.value.clone(), expire_at);
        }
        server
    }

    /// Time goes on by `ms`: time stamps age, keys past their end disappear.
    #[must_use]
    pub fn advance(&self, ms: i64, horizon_ms: i64) -> Keyspace {
        self.shifted(ms, &|text| symbols::shift(text, -ms, horizon_ms))
    }

    /// The same for concrete strings, which do not age.
    #[must_use]
    pub fn advance_concrete(&self, ms: i64) -> Keyspace {
        self.shifted(ms, &|text| text.to_vec())
    }

    /// The server's clock jumps by `ms`; the world's time stands still. With
    /// `visible`, commands can see the server's clock and its offset matters.
    /// Remaining lives above `life_max_ms` are held there.
    #[must_use]
    pub fn jump(&self, ms: i64, visible: bool, life_max_ms: i64) -> Keyspace {
        let mut after = self.shifted(ms, &|text| text.to_vec());
        for entry in &mut after.entries {
            entry.expires_in = entry.expires_in.map(|left| left.min(life_max_ms));
        }
        if visible {
            after.offset_ms += ms;
        }
        after
    }

    fn shifted(&self, ms: i64, rename: &dyn Fn(&[u8]) -> Vec<u8>) -> Keyspace {
        let entries = self
            .entries
            .iter()
            .filter(|entry| entry.expires_in.is_none_or(|left| left >= ms))
            .map(|entry| Entry {
                expires_in: entry.expires_in.map(|left| left - ms),
                ..entry.renamed(rename)
            })
            .collect();
        Keyspace {
            entries,
            offset_ms: self.offset_ms,
        }
    }

    /// One client's token generations are renamed (see [`symbols::retire`]).
    #[must_use]
    pub fn retire(&self, client: u8, map: &[u8; GENERATIONS as usize]) -> Keyspace {
        let rename = |text: &[u8]| symbols::retire(text, client, map);
        let mut entries: Vec<Entry> = self.entries.iter().map(|e| e.renamed(&rename)).collect();
        entries.sort();
        Keyspace {
            entries,
            offset_ms: self.offset_ms,
        }
    }

    /// A restart without any data; the clock stays as it is.
    #[must_use]
    pub fn emptied(&self) -> Keyspace {
        Keyspace {
            entries: Vec::new(),
            offset_ms: self.offset_ms,
        }
    }

    /// Equal entries; the server's clock may differ where nobody can see it.
    pub fn same_content(&self, other: &Keyspace) -> bool {
        self.entries == other.entries
    }

    /// Who holds what, under a TTL of `ttl_ms`.
    pub fn holders(&self, ttl_ms: i64) -> Holders {
        let mut holders = Holders::default();
        for entry in &self.entries {
            let bit = 1 << entry.writer;
            holders.any |= bit;
            match entry.expires_in {
                None => holders.unbounded |= bit,
                Some(left) if left <= ttl_ms => holders.leased |= bit,
                Some(_) => {}
            }
        }
        holders
    }

    /// The same content with every string rewritten, for comparison with a
    /// concrete server.
    #[must_use]
    pub fn renamed(&self, rename: &dyn Fn(&[u8]) -> Vec<u8>) -> Keyspace {
        let mut entries: Vec<Entry> = self.entries.iter().map(|e| e.renamed(rename)).collect();
        entries.sort();
        Keyspace {
            entries,
            offset_ms: self.offset_ms,
        }
    }
}

/// For messages: what each key holds, cut to what a line can show.
impl std::fmt::Display for Keyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let key = String::from_utf8_lossy(&entry.key);
            write!(f, "{comma}`{key}`: ")?;
            match &entry.value {
                Value::String(text) => {
                    let shown: String = String::from_utf8_lossy(text).chars().take(40).collect();
                    write!(f, "a text of {} bytes ({shown})", text.len())?;
                }
                Value::Hash(hash) => write!(f, "a hash of {} fields", hash.iter().count())?,
                Value::List(list) => write!(f, "a list of {} items", list.len())?,
                Value::SortedSet(set) => {
                    write!(f, "a sorted set of {} members", set.ranked().len())?;
                }
            }
        }
        Ok(())
    }
}

impl Entry {
    fn renamed(&self, rename: &dyn Fn(&[u8]) -> Vec<u8>) -> Entry {
        Entry {
            key: rename(&self.key),
            value: map_text(&self.value, rename),
            expires_in: self.expires_in,
            writer: self.writer,
        }
    }
}

/// Every string inside a value rewritten; hash fields and members too, for
/// that is where reentrant locks keep their owners.
fn map_text(value: &Value, rename: &dyn Fn(&[u8]) -> Vec<u8>) -> Value {
    match value {
        Value::String(text) => Value::String(rename(text)),
        Value::Hash(hash) => Value::Hash(
            hash.iter()
                .map(|(field, text)| (rename(field), rename(text)))
                .collect(),
        ),
        Value::List(list) => Value::List(list.iter().map(|item| rename(item)).collect()),
        Value::SortedSet(set) => Value::SortedSet(
            set.ranked()
                .into_iter()
                .map(|(m, score)| (rename(m), score))
                .collect(),
        ),
    }
}

/// True if a number inside the value was moved, not set, beyond the bound.
fn counter_ran_away(before: &Value, after: &Value) -> bool {
    let moved = |a: Option<i64>, b: Option<i64>| match (a, b) {
        (Some(a), Some(b)) => a != b && b.abs() > COUNTER_MAX && (a - b).abs() <= COUNTER_MAX,
        _ => false,
    };
    match (before, after) {
        (Value::String(a), Value::String(b)) => moved(number(a), number(b)),
        (Value::Hash(a), Value::Hash(b)) => b
            .iter()
            .any(|(field, value)| moved(a.get(field).and_then(|v| number(v)), number(value))),
        _ => false,
    }
}

fn number(text: &[u8]) -> Option<i64> {
    let value: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    // A time stamp moves by design; it is no counter.
    (!symbols::has_time(text)).then_some(value)
}
