//! A server's keyspace as a small canonical value, and what ticks and faults make
//! of it. What commands make of it is in `execute.rs`.
//!
//! Times are relative: an entry says in how many ms it expires. Every element (the
//! value of a text, a field, a member, an item) also carries a *ghost*, whose it is
//! (`owners.rs`).

use std::collections::BTreeMap;

use lockproof_lua::Scale;
use lockproof_lua::text::Span;
use lockproof_redis::{Bytes, Dialect, Server, Value};
use lockproof_trace::Objects;

use crate::lock::{Keys, Role};

use super::config::CLIENTS_MAX;
use super::fences::Renumbering;
use super::owners::Owners;
use super::scripts::{ScriptNames, Scripts};
use super::symbols::{self, PRESENT, Renaming, Retirement};
use super::watches::{Unwatch, Watchers, Watches};

/// The content of one server between two commands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Keyspace {
    pub(super) entries: Vec<Entry>,
    /// The server's clock minus true time, in ms. Stays 0 unless some command
    /// of the lock can see the server's clock.
    pub(super) offset_ms: i64,
    /// The scripts that it knows, of those that the lock names by their SHA-1
    /// (`scripts.rs`).
    pub(super) scripts: Scripts,
    /// What the connections to it watch (`watches.rs`).
    pub(super) watches: Watches,
}

/// One key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    pub key: Bytes,
    pub value: Value,
    /// How long the key lives; it is still there at 0. `None`: for ever.
    pub life: Option<Span>,
    pub writers: Writers,
}

/// Who wrote what last.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Writers {
    /// Of a text.
    One(Owners),
    /// Of each field or member.
    Each(BTreeMap<Bytes, Owners>),
    /// Of each item, from left to right.
    Items(Vec<Owners>),
}

impl Writers {
    /// All of them, once an element.
    pub fn all(&self) -> Vec<Owners> {
        match self {
            Writers::One(writer) => vec![*writer],
            Writers::Each(each) => each.values().copied().collect(),
            Writers::Items(items) => items.clone(),
        }
    }

    /// All of them as a bit set.
    pub fn set(&self) -> u8 {
        self.all()
            .into_iter()
            .fold(0, |set, owners| set | owners.set())
    }
}

/// What the world's properties ask of a keyspace, as bit sets of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Holders {
    /// Clients that wrote something which is there (fences aside).
    pub any: u8,
    /// .. something that never expires.
    pub unbounded: u8,
    /// .. the lock.
    pub locked: u8,
    /// .. the lock, which expires within the TTL that was asked for.
    pub leased: u8,
    /// By client: ticks until the first end of what it wrote of the lock; 0 if there is none of it.
    pub lives: [u8; CLIENTS_MAX],
}

/// What of a lock the keyspaces have to know.
#[derive(Clone, Debug)]
pub struct KeyRules {
    pub keys: Keys,
    /// `lock.key`.
    pub key: String,
    /// Of which `lock.key` is the first, if clients have two lock objects.
    pub objects: Option<Objects>,
    /// What its servers speak.
    pub dialect: Dialect,
    /// The scripts that it names by their SHA-1: others' being known makes no difference.
    pub by_sha: ScriptNames,
}

impl KeyRules {
    /// What a key is.
    pub fn role(&self, name: &[u8]) -> Role {
        let of = |client| self.role_for(client, name);
        match (self.objects, of(0)) {
            (Some(_), Role::Other) => of(1),
            (_, role) => role,
        }
    }

    /// What a key is to the lock object of a client.
    fn role_for(&self, client: u8, name: &[u8]) -> Role {
        match self.objects {
            Some(objects) => self.keys.role(name, &objects.key(client, &self.key)),
            None => self.keys.role(name, &self.key),
        }
    }

    /// The clients (bit set) whose lock it can be.
    pub fn lockers(&self, name: &[u8]) -> u8 {
        let locks = |client: &u8| self.role_for(*client, name) == Role::Lock;
        match self.objects {
            Some(_) => (0..4)
                .filter(locks)
                .fold(0, |set, client| set | 1 << client),
            None if locks(&0) => u8::MAX,
            None => 0,
        }
    }

    /// It belongs to both lock objects of a client.
    pub fn is_of_both(&self, name: &[u8]) -> bool {
        let known = |client| self.role_for(client, name) != Role::Other;
        self.objects.is_some() && known(0) && known(1)
    }
}

/// What no budget of clock jumps goes beyond.
#[derive(Clone, Copy, Debug)]
pub struct Most {
    /// The life of a key, in ms.
    pub life_ms: i64,
    /// The offset of a server's clock, in ms.
    pub offset_ms: i64,
}

impl Keyspace {
    /// A formal server with this content, whose clock shows `present` plus the
    /// offset.
    pub fn to_server(&self, present: i64, scale: Option<Scale>, dialect: Dialect) -> Server {
        let mut server = Server::new(present + self.offset_ms).with_dialect(dialect);
        if let Some(scale) = scale {
            server.set_scale(scale, present);
        }
        for entry in &self.entries {
            let end = entry.life.map(|life| server.end_of(life));
            server.insert(entry.key.clone(), entry.value.clone(), end);
        }
        self.scripts.load_into(&mut server);
        self.watches.load_into(&mut server);
        server
    }

    /// A tick passes: time stamps age, keys past their end disappear.
    #[must_use]
    pub fn advance(&self, scale: Scale) -> Keyspace {
        let mut after = self.older(1, scale.step_ms);
        for entry in &mut after.entries {
            entry.age(1, scale);
        }
        after.sorted()
    }

    /// The same for texts of a concrete run, which do not age, and ms.
    #[must_use]
    pub fn advance_concrete(&self, ms: i64) -> Keyspace {
        let mut after = self.clone();
        for entry in &mut after.entries {
            if let Some(life) = &mut entry.life {
                life.ms -= ms;
            }
        }
        after.expire(0);
        after
    }

    /// Lives end so many ticks earlier.
    fn older(&self, ticks: i32, step_ms: i64) -> Keyspace {
        let mut after = self.clone();
        for entry in &mut after.entries {
            entry.life = entry.life.map(|life| life.later(-ticks));
        }
        after.expire(step_ms);
        after
    }

    /// Keys past their end disappear, which those who watch them notice.
    fn expire(&mut self, step_ms: i64) {
        let watches = &mut self.watches;
        self.entries.retain(|entry| {
            let lives = entry.lives(step_ms);
            if !lives {
                watches.touch(&entry.key);
            }
            lives
        });
    }

    /// A client's watch after this.
    #[must_use]
    pub fn unwatched(&self, client: u8, what: Unwatch) -> Keyspace {
        Keyspace {
            watches: self.watches.without(client, what),
            ..self.clone()
        }
    }

    /// Who watches something.
    pub fn watchers(&self) -> Watchers {
        self.watches.watchers()
    }

    /// The server's clock jumps by so many ticks; the world's time stands still.
    /// With `visible`, commands can see the server's clock and its offset matters.
    /// No budget goes beyond `most` ticks: further, lives and the offset stay.
    #[must_use]
    pub fn jump(&self, ticks: i32, scale: Scale, visible: bool, most: Most) -> Keyspace {
        let mut after = self.older(ticks, scale.step_ms);
        for entry in &mut after.entries {
            entry.life = entry.life.map(|life| {
                let above = life.value(scale.step_ms) - most.life_ms;
                let ticks = (above + scale.step_ms - 1).max(0) / scale.step_ms;
                life.later(-(ticks as i32))
            });
        }
        let offset_ms = after.offset_ms + i64::from(ticks) * scale.step_ms;
        if visible && offset_ms.abs() <= most.offset_ms {
            after.offset_ms = offset_ms;
        }
        after
    }

    /// The same for a concrete run, in ms.
    #[must_use]
    pub fn jump_concrete(&self, ms: i64) -> Keyspace {
        let mut after = self.advance_concrete(ms);
        after.offset_ms += ms;
        after
    }

    /// One client's token generations are renamed (see [`symbols::Retirement`]).
    #[must_use]
    pub fn retire(&self, client: u8, map: &Renaming) -> Keyspace {
        let mut retirement = Retirement::new(client, map);
        let mut rename = |text: &[u8]| retirement.text(text);
        let entries = self.entries.iter().map(|e| e.renamed(&mut rename));
        Keyspace {
            entries: entries.collect(),
            offset_ms: self.offset_ms,
            scripts: self.scripts.clone(),
            watches: self.watches.clone(),
        }
        .sorted()
    }

    /// All fences get other ranks.
    #[must_use]
    pub fn renumbered(&self, how: Renumbering) -> Keyspace {
        let entries = self.entries.iter();
        let entries = entries.map(|entry| entry.renamed(&mut |text| how.text(text)));
        Keyspace {
            entries: entries.collect(),
            offset_ms: self.offset_ms,
            scripts: self.scripts.clone(),
            watches: self.watches.clone(),
        }
        .sorted()
    }

    fn sorted(mut self) -> Keyspace {
        self.entries.sort();
        self
    }

    /// A restart without any data; the clock stays as it is.
    #[must_use]
    pub fn emptied(&self) -> Keyspace {
        Keyspace {
            entries: Vec::new(),
            offset_ms: self.offset_ms,
            scripts: Scripts::default(),
            watches: Watches::default(),
        }
    }

    /// All keys are deleted: FLUSHALL leaves scripts alone. Who watches one that was there
    /// notices it.
    #[must_use]
    pub fn flushed(&self) -> Keyspace {
        let mut watches = self.watches.clone();
        for entry in &self.entries {
            watches.touch(&entry.key);
        }
        Keyspace {
            scripts: self.scripts.clone(),
            watches,
            ..self.emptied()
        }
    }

    /// What is written to a disk and sent to a replica of it: scripts and watches are neither.
    #[must_use]
    pub fn stored(&self) -> Keyspace {
        Keyspace {
            scripts: Scripts::default(),
            watches: Watches::default(),
            ..self.clone()
        }
    }

    /// The entries by key.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Equal entries; the server's clock may differ where nobody can see it.
    pub fn same_content(&self, other: &Keyspace) -> bool {
        self.entries == other.entries
            && self.scripts == other.scripts
            && self.watches == other.watches
    }

    /// Who holds what, under a TTL of `ttl_ms`.
    pub fn holders(&self, ttl_ms: i64, step_ms: i64, rules: &KeyRules) -> Holders {
        let mut holders = Holders::default();
        for entry in &self.entries {
            let role = rules.role(&entry.key);
            if role == Role::Fence {
                continue;
            }
            let writers = entry.writers.set();
            holders.any |= writers;
            if entry.life.is_none() {
                holders.unbounded |= writers;
            }
            if role == Role::Lock {
                let writers = writers & rules.lockers(&entry.key);
                let before = holders.locked;
                holders.locked |= writers;
                let ticks = entry.life.map_or(u8::MAX, |life| {
                    let ticks = (life.value(step_ms) + step_ms - 1) / step_ms;
                    ticks.clamp(0, u8::MAX.into()) as u8
                });
                for (client, left) in holders.lives.iter_mut().enumerate() {
                    if writers & 1 << client != 0 {
                        let first = before & 1 << client == 0;
                        *left = if first { ticks } else { ticks.min(*left) };
                    }
                }
                let within = |life: Span| life.value(step_ms) <= ttl_ms;
                if entry.life.is_some_and(within) {
                    holders.leased |= writers;
                }
            }
        }
        holders
    }

    /// More stale tokens of one client than can be told apart.
    pub fn is_crowded(&self) -> bool {
        let mut found = false;
        for entry in &self.entries {
            entry.renamed(&mut |text| {
                found |= symbols::is_crowded(text);
                text.to_vec()
            });
        }
        found
    }

    /// Two entries, or two elements, that have become one: stamps that got too old
    /// to be told apart.
    pub fn has_lost_elements(&self, before: &Keyspace) -> bool {
        let count = |keyspace: &Keyspace| {
            let elements = keyspace.entries.iter().map(|entry| size(&entry.value));
            (keyspace.entries.len(), elements.sum::<usize>())
        };
        let kept = |entry: &&Entry| self.entries.iter().any(|other| other.key == entry.key);
        let left = Keyspace {
            entries: before.entries.iter().filter(kept).cloned().collect(),
            ..Keyspace::default()
        };
        count(self) != count(&left)
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::String(_) => 1,
        Value::Hash(hash) => hash.len(),
        Value::List(list) => list.len(),
        Value::Set(set) => set.len(),
        Value::SortedSet(set) => set.len(),
    }
}

/// For messages: what each key holds, cut to what a line can show.
impl std::fmt::Display for Keyspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, entry) in self.entries.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let key = lockproof_lua::text::printable(&entry.key);
            write!(f, "{comma}`{key}`: ")?;
            match &entry.value {
                Value::String(text) => {
                    let shown = lockproof_lua::text::printable(text);
                    let cut: String = shown.chars().take(40).collect();
                    write!(f, "a text of {} letters ({cut})", shown.chars().count())?;
                }
                Value::Hash(hash) => write!(f, "a hash of {} fields", hash.len())?,
                Value::List(list) => write!(f, "a list of {} items", list.len())?,
                Value::Set(set) => write!(f, "a set of {} members", set.len())?,
                Value::SortedSet(set) => write!(f, "a sorted set of {} members", set.len())?,
            }
        }
        Ok(())
    }
}

impl Entry {
    /// Still there (0 is), measured so.
    fn lives(&self, step_ms: i64) -> bool {
        self.life.is_none_or(|life| life.value(step_ms) >= 0)
    }

    fn age(&mut self, ticks: i32, scale: Scale) {
        let key = self.key.clone();
        let place = |element: &[u8]| Some(symbols::place(&key, element));
        let age = |text: &[u8], element: &[u8]| symbols::age(text, ticks, scale, place(element));
        self.key = symbols::age(&self.key, ticks, scale, None);
        self.value = match &self.value {
            Value::String(text) => Value::String(age(text, b"")),
            Value::Hash(hash) => Value::Hash(
                hash.iter()
                    .map(|(field, text)| {
                        (symbols::age(field, ticks, scale, None), age(text, field))
                    })
                    .collect(),
            ),
            Value::List(list) => Value::List(
                list.iter()
                    .enumerate()
                    .map(|(index, item)| age(item, index.to_string().as_bytes()))
                    .collect(),
            ),
            Value::Set(set) => Value::Set(
                set.iter()
                    .map(|member| symbols::age(member, ticks, scale, None))
                    .collect(),
            ),
            // How two members lie that are long past is not told by their places.
            Value::SortedSet(set) => {
                let mut age = |text: &[u8]| symbols::age(text, ticks, scale, None);
                let members = set.ranked().into_iter();
                let aged = members.map(|(m, score)| (age(m), score.renamed(&mut age)));
                Value::SortedSet(aged.collect())
            }
        };
        if let Writers::Each(each) = &mut self.writers {
            let aged = std::mem::take(each).into_iter();
            *each = aged
                .map(|(element, writer)| (symbols::age(&element, ticks, scale, None), writer))
                .collect();
        }
    }

    /// Every text rewritten; fields and members too, for that is where reentrant
    /// locks keep their owners.
    pub(super) fn renamed(&self, rename: &mut impl FnMut(&[u8]) -> Vec<u8>) -> Entry {
        Entry {
            key: rename(&self.key),
            value: map_text(&self.value, rename),
            life: self.life,
            writers: match &self.writers {
                Writers::Each(each) => Writers::Each(
                    each.iter()
                        .map(|(element, writer)| (rename(element), *writer))
                        .collect(),
                ),
                other => other.clone(),
            },
        }
    }
}

/// A value with every text in it rewritten.
pub(super) fn map_text(value: &Value, rename: &mut impl FnMut(&[u8]) -> Vec<u8>) -> Value {
    match value {
        Value::String(text) => Value::String(rename(text)),
        Value::Hash(hash) => Value::Hash(
            hash.iter()
                .map(|(field, text)| {
                    let field = rename(field);
                    (field, rename(text))
                })
                .collect(),
        ),
        Value::List(list) => Value::List(list.iter().map(|item| rename(item)).collect()),
        Value::Set(set) => Value::Set(set.iter().map(|member| rename(member)).collect()),
        Value::SortedSet(set) => Value::SortedSet(
            set.ranked()
                .into_iter()
                .map(|(m, score)| (rename(m), score.renamed(rename)))
                .collect(),
        ),
    }
}

/// The present that canonical texts are told by.
pub(super) const CANONICAL_PRESENT: i64 = PRESENT;
