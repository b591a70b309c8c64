//! What is on a real server, and what a command made of it.
//!
//! A server does not know whose a key is. The gate passes one command at a time, so
//! it reads the server before and after each, and what is new or different then was
//! written by the client that sent the command. Ownership follows the elements of a
//! key: the field of a hash, the member of a set, the item of a list.
//!
//! A value that is written over an equal one changes nothing that could be read; the
//! server's own notifications tell of it. Of a collection they name the key and not
//! the element; which fields of a hash were set its MONITOR shows. In other collections an
//! equal value counts as written only where the key has one element.
//!
//! Readers of a read-write lock share what they write: it is theirs together, until each
//! has released.

use std::collections::{BTreeMap, BTreeSet};

use lockproof_lab::client::protocol::Mode;
use lockproof_model::lock::{Keys, Role};
use lockproof_redis::Reply;

use lockproof_trace::Objects;

use super::look::Told;

pub(super) type Bytes = Vec<u8>;

/// The keys of one server.
pub(super) type Content = BTreeMap<Bytes, Entry>;

/// One key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// As TYPE names it.
    pub kind: String,
    /// By field, member, or item and its number among equal ones; a text is one
    /// element without a name.
    pub elements: BTreeMap<Bytes, Element>,
    /// When it ends, on its server's clock in ms; `None`: never.
    pub ends_ms: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Element {
    pub value: Bytes,
    pub owners: Owners,
}

/// Whose an element is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Owners {
    /// The client whose command wrote it last, or the readers who share it; nobody if
    /// that was not seen.
    clients: BTreeSet<u8>,
    /// They are readers.
    shared: bool,
}

/// Who sent a command, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Author {
    pub client: u8,
    pub mode: Mode,
    /// It gives back its last hold.
    pub leaves: bool,
}

impl Author {
    fn reads(self) -> bool {
        self.mode == Mode::Read
    }
}

impl Owners {
    /// Whose it is once `author` has written it.
    fn written(old: Option<&Owners>, author: Author) -> Owners {
        let shared = old.filter(|old| old.shared && author.reads());
        let mut clients = shared.map_or_else(BTreeSet::new, |old| old.clients.clone());
        clients.remove(&author.client);
        if !author.leaves || clients.is_empty() {
            clients.insert(author.client);
        }
        Owners {
            clients,
            shared: author.reads(),
        }
    }

    fn others(&self, author: Author) -> impl Iterator<Item = u8> {
        let clients = self.clients.iter().copied();
        clients.filter(move |client| *client != author.client)
    }
}

impl Entry {
    /// Did this client write something of it?
    pub fn is_of(&self, client: u8) -> bool {
        self.owners().any(|owner| owner == client)
    }

    /// Who wrote its elements.
    pub fn owners(&self) -> impl Iterator<Item = u8> {
        let elements = self.elements.values();
        elements.flat_map(|element| element.owners.clients.iter().copied())
    }

    fn same_value(&self, other: &Entry) -> bool {
        let values = |entry: &Entry| -> Vec<(Bytes, Bytes)> {
            let elements = entry.elements.iter();
            elements
                .map(|(name, element)| (name.clone(), element.value.clone()))
                .collect()
        };
        self.kind == other.kind && values(self) == values(other)
    }
}

/// Reads all keys of a server at once. A script sees one moment, and one exchange
/// takes the place of three for each key.
pub(super) const READ: &str = "\
local out = {} \
for _, key in ipairs(redis.call('KEYS', '*')) do \
  local kind = redis.call('TYPE', key).ok \
  local value \
  if kind == 'string' then value = { redis.call('GET', key) } \
  elseif kind == 'hash' then value = redis.call('HGETALL', key) \
  elseif kind == 'set' then value = redis.call('SMEMBERS', key) \
  elseif kind == 'zset' then value = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES') \
  elseif kind == 'list' then value = redis.call('LRANGE', key, 0, -1) \
  else value = { redis.call('DUMP', key) } end \
  out[#out + 1] = { key, kind, redis.call('PTTL', key), value } \
end \
return out";

/// The answer to [`READ`] of a server whose clock shows `now_ms`. Nobody is known to
/// have written anything.
pub(super) fn content(reply: &Reply, now_ms: i64) -> Option<Content> {
    let Reply::Array(keys) = reply else {
        return None;
    };
    keys.iter().map(|key| entry(key, now_ms)).collect()
}

fn entry(reply: &Reply, now_ms: i64) -> Option<(Bytes, Entry)> {
    let Reply::Array(parts) = reply else {
        return None;
    };
    let [
        Reply::Bulk(key),
        Reply::Bulk(kind),
        Reply::Int(left_ms),
        Reply::Array(value),
    ] = parts.as_slice()
    else {
        return None;
    };
    let texts: Option<Vec<Bytes>> = value
        .iter()
        .map(|item| match item {
            Reply::Bulk(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    let kind = String::from_utf8_lossy(kind).into_owned();
    let elements = elements(&kind, texts?)
        .into_iter()
        .map(|(name, value)| {
            let owners = Owners::default();
            (name, Element { value, owners })
        })
        .collect();
    let entry = Entry {
        kind,
        elements,
        ends_ms: (*left_ms >= 0).then_some(now_ms + left_ms),
    };
    Some((key.clone(), entry))
}

fn elements(kind: &str, texts: Vec<Bytes>) -> BTreeMap<Bytes, Bytes> {
    match kind {
        "hash" | "zset" => texts
            .chunks_exact(2)
            .map(|pair| (pair[0].clone(), pair[1].clone()))
            .collect(),
        "set" => texts.into_iter().map(|name| (name, Bytes::new())).collect(),
        "list" => {
            let mut seen: BTreeMap<Bytes, usize> = BTreeMap::new();
            let mut named = BTreeMap::new();
            for item in texts {
                let count = seen.entry(item.clone()).or_default();
                *count += 1;
                let name = [item.as_slice(), format!("#{count}").as_bytes()].concat();
                named.insert(name, item);
            }
            named
        }
        _ => texts.into_iter().map(|text| (Bytes::new(), text)).collect(),
    }
}

/// Says who wrote what is there, by what was there before: `versions` from old to
/// new. Where several fit, the newest counts.
pub(super) fn attribute(content: &mut Content, versions: &[Content]) {
    for (key, entry) in content {
        let known = |entry: &Entry, exact: bool| {
            let found = versions.iter().rev().find_map(|version| {
                let old = version.get(key)?;
                let same = old.same_value(entry) && (!exact || old.ends_ms == entry.ends_ms);
                same.then(|| old.clone())
            });
            found.map(|old| old.elements)
        };
        if let Some(elements) = known(entry, true).or_else(|| known(entry, false)) {
            entry.elements = elements;
            continue;
        }
        for (name, element) in &mut entry.elements {
            let mut versions = versions.iter().rev();
            let owners = versions.find_map(|version| {
                let old = version.get(key)?.elements.get(name)?;
                let known = old.value == element.value && !old.owners.clients.is_empty();
                known.then(|| old.owners.clone())
            });
            element.owners = owners.unwrap_or_default();
        }
    }
}

/// A notification of a server: what happened to which key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notification {
    pub what: String,
    pub key: Bytes,
}

impl Notification {
    /// A value of the key was written.
    fn writes(&self) -> bool {
        !NO_WRITES.contains(&self.what.as_str())
    }
}

/// A number was counted up or down (Redis manual, Keyspace notifications).
const COUNTS: [&str; 5] = ["incrby", "incrbyfloat", "hincrby", "hincrbyfloat", "zincr"];

/// What happens to a key without that a value of it is written.
const NO_WRITES: [&str; 21] = [
    "del",
    "expire",
    "expired",
    "evicted",
    "persist",
    "rename_from",
    "move_from",
    "new",
    "hdel",
    "srem",
    "spop",
    "zrem",
    "zremrangebyscore",
    "zremrangebyrank",
    "zpopmin",
    "zpopmax",
    "lpop",
    "rpop",
    "lrem",
    "ltrim",
    "xdel",
];

/// What one command did, as it was seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Effect {
    /// Others whose entry it took away, wrote over, shortened or prolonged, and what
    /// it did.
    pub victims: Vec<(u8, String)>,
    /// It wrote something of the lock's own, or changed the life of what is the
    /// sender's.
    pub wrote: bool,
    /// It gave what is the sender's of the lock an end, or left it without one.
    pub leased: bool,
    /// It deleted something of the sender's own.
    pub deleted: bool,
    /// Keys that were not there before.
    pub created: Vec<String>,
    /// It did anything at all.
    pub changed: bool,
}

/// What keys are, in this lock.
pub(super) struct KeyRules {
    pub keys: Keys,
    /// `lock.key`.
    pub key: String,
    /// Of which that is the first, if clients have two lock objects.
    pub objects: Option<Objects>,
}

impl KeyRules {
    pub fn role(&self, key: &[u8]) -> Role {
        match (self.objects, self.role_for(0, key)) {
            (Some(_), Role::Other) => self.role_for(1, key),
            (_, role) => role,
        }
    }

    fn role_for(&self, client: u8, key: &[u8]) -> Role {
        match self.objects {
            Some(objects) => self.keys.role(key, &objects.key(client, &self.key)),
            None => self.keys.role(key, &self.key),
        }
    }

    /// What a key is to a client: another object's lock is none of its own.
    pub fn own_role(&self, client: u8, key: &[u8]) -> Role {
        match self.role_for(client, key) {
            Role::Other => match self.role(key) {
                Role::Lock => Role::Other,
                role => role,
            },
            role => role,
        }
    }
}

/// Compares a server before and after a command of `author`, and names the owners
/// of what is there afterwards.
pub(super) fn compare(
    before: &Content,
    after: &mut Content,
    told: &Told,
    author: Author,
    rules: &KeyRules,
) -> Effect {
    let mut effect = Effect::default();
    for (key, entry) in after.iter_mut() {
        let known = before.get(key);
        let notifications = || told.notifications.iter().filter(|told| told.key == *key);
        let writes = || notifications().filter(|told| told.writes());
        let fields = told.fields.iter().filter(|(of, _)| of == key);
        let counts =
            writes().count() > 0 && writes().all(|told| COUNTS.contains(&told.what.as_str()));
        let written = own(
            known,
            entry,
            &Writes {
                any: writes().count() > 0,
                moves: counts && entry.kind == "zset",
                fields: fields.map(|(_, field)| field.as_slice()).collect(),
            },
            author,
        );
        // Also to the very end that it had.
        let expiry = known.is_none_or(|known| known.ends_ms != entry.ends_ms)
            || notifications().any(|told| told.what == "expire");
        let less = known.is_some_and(|known| {
            let mut names = known.elements.keys();
            names.any(|name| !entry.elements.contains_key(name))
        });
        effect.changed |= written || expiry || less;
        let touched = Touched {
            written,
            expiry,
            counts,
        };
        judge(key, known, entry, touched, author, rules, &mut effect);
    }
    for (key, known) in before {
        if after.contains_key(key) {
            continue;
        }
        effect.changed = true;
        if matches!(rules.role(key), Role::Lock | Role::Other) {
            effect.deleted |= known.is_of(author.client);
            let others = others(known, author);
            let what = format!("deleted `{}`", shown(key));
            effect
                .victims
                .extend(others.map(|other| (other, what.clone())));
        }
    }
    effect
}

/// What a server told of the writes to a key.
struct Writes<'w> {
    /// Something of it was written.
    any: bool,
    /// Scores of a sorted set were moved, and nothing else: its members stay whose they were.
    moves: bool,
    /// Fields that were set.
    fields: BTreeSet<&'w [u8]>,
}

/// Names the owners of a key's elements; true if the command wrote one.
fn own(known: Option<&Entry>, entry: &mut Entry, writes: &Writes<'_>, author: Author) -> bool {
    let alone = entry.elements.len() == 1;
    let known = known.filter(|known| known.kind == entry.kind);
    let mut written = false;
    for (name, element) in &mut entry.elements {
        let old = known.and_then(|known| known.elements.get(name));
        let again = writes.any && (alone || writes.fields.contains(name.as_slice()));
        let kept = old.filter(|old| old.value == element.value && !again);
        written |= kept.is_none();
        element.owners = match kept.or(old.filter(|_| writes.moves)) {
            Some(kept) => kept.owners.clone(),
            None => Owners::written(old.map(|old| &old.owners), author),
        };
    }
    written
}

/// What a command set of a key.
#[derive(Clone, Copy)]
struct Touched {
    written: bool,
    expiry: bool,
    /// What it wrote it counted.
    counts: bool,
}

fn judge(
    key: &[u8],
    known: Option<&Entry>,
    entry: &Entry,
    touched: Touched,
    author: Author,
    rules: &KeyRules,
    effect: &mut Effect,
) {
    let role = rules.role(key);
    if role == Role::Fence {
        return;
    }
    let locks = rules.own_role(author.client, key) == Role::Lock;
    effect.wrote |= touched.written && locks;
    let ends_anew = touched.expiry && entry.is_of(author.client);
    let endless = touched.written && entry.ends_ms.is_none();
    effect.leased |= locks && (ends_anew || endless);
    let Some(known) = known else {
        if role != Role::Queue {
            effect.created.push(shown(key));
        }
        return;
    };
    if role == Role::Queue {
        return;
    }
    let same_kind = known.kind == entry.kind;
    for (name, element) in &known.elements {
        let now = entry.elements.get(name).filter(|_| same_kind);
        let Some(now) = now else {
            effect.deleted |= element.owners.clients.contains(&author.client);
            let what = format!("took {} away", part(key, name));
            let others = element.owners.others(author);
            effect
                .victims
                .extend(others.map(|other| (other, what.clone())));
            continue;
        };
        let over = now.value != element.value && now.owners.clients.contains(&author.client);
        // A counter is there for all to count, and readers share.
        let shares = touched.counts || element.owners.shared && author.reads();
        if over && known.kind != "list" && !shares {
            let what = format!("wrote over {}", part(key, name));
            let others = element.owners.others(author);
            effect
                .victims
                .extend(others.map(|other| (other, what.clone())));
        }
    }
    if !touched.expiry {
        return;
    }
    effect.wrote |= rules.own_role(author.client, key) == Role::Lock && entry.is_of(author.client);
    let longer = match (known.ends_ms, entry.ends_ms) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(old), Some(new)) => new >= old,
    };
    // Who shares a collection, or a text with other readers, prolongs it for all; nobody
    // may shorten it.
    let readers = entry.elements.values().all(|element| element.owners.shared);
    let own =
        entry.is_of(author.client) || author.leaves && author.reads() && known.is_of(author.client);
    if longer && own && (entry.kind != "string" || readers) {
        return;
    }
    let what = match (known.ends_ms, entry.ends_ms) {
        (Some(old), Some(new)) if new == old => "given the same expiry again".to_string(),
        (Some(old), Some(new)) if new > old => format!("prolonged by {} ms", new - old),
        (Some(old), Some(new)) => format!("shortened by {} ms", old - new),
        (_, None) => "left without its expiry".to_string(),
        (None, Some(_)) => "given an expiry".to_string(),
    };
    let what = format!("{what}: `{}`", shown(key));
    let victims = others(known, author);
    effect
        .victims
        .extend(victims.map(|other| (other, what.clone())));
}

fn others(entry: &Entry, author: Author) -> impl Iterator<Item = u8> {
    let others = entry.owners().filter(|owner| *owner != author.client);
    let mut owners: Vec<u8> = others.collect();
    owners.sort_unstable();
    owners.dedup();
    owners.into_iter()
}

fn part(key: &[u8], element: &[u8]) -> String {
    match element {
        [] => format!("the value of `{}`", shown(key)),
        name => format!("`{}` of `{}`", shown(name), shown(key)),
    }
}

/// For messages.
pub(super) fn shown(text: &[u8]) -> String {
    const CHARS_MAX: usize = 60;
    let text = String::from_utf8_lossy(text);
    match text.chars().count() > CHARS_MAX {
        true => text.chars().take(CHARS_MAX).chain("...".chars()).collect(),
        false => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: u8 = 0;
    const B: u8 = 1;

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.as_bytes().to_vec())
    }

    fn read(keys: &[(&str, &str, i64, &[&str])]) -> Content {
        let keys = keys.iter().map(|(key, kind, left, value)| {
            let value = value.iter().map(|text| bulk(text)).collect();
            Reply::Array(vec![
                bulk(key),
                bulk(kind),
                Reply::Int(*left),
                Reply::Array(value),
            ])
        });
        content(&Reply::Array(keys.collect()), 1000).unwrap()
    }

    fn rules() -> KeyRules {
        KeyRules {
            keys: Keys::default(),
            objects: None,
            key: "k".to_string(),
        }
    }

    /// A client, what the server has after its step, and what the server told of it.
    type Step<'a> = (u8, Content, &'a [(&'a str, &'a str)]);

    fn author(client: u8) -> Author {
        Author {
            client,
            mode: Mode::Write,
            leaves: false,
        }
    }

    fn reader(client: u8, leaves: bool) -> Author {
        Author {
            mode: Mode::Read,
            leaves,
            ..author(client)
        }
    }

    fn telling(told: &[(&str, &str)]) -> Told {
        let notifications = told.iter().map(|(what, key)| Notification {
            what: what.to_string(),
            key: key.as_bytes().to_vec(),
        });
        Told {
            notifications: notifications.collect(),
            fields: Vec::new(),
        }
    }

    /// Steps of clients, one after the other; the effect of the last.
    fn after(steps: &[Step]) -> (Content, Effect) {
        let mut now = Content::new();
        let mut effect = Effect::default();
        for (client, content, told) in steps {
            let mut next = content.clone();
            effect = compare(&now, &mut next, &telling(told), author(*client), &rules());
            now = next;
        }
        (now, effect)
    }

    #[test]
    fn who_deletes_or_prolongs_anothers_key_is_seen_and_who_takes_his_own_is_not() {
        let taken = || read(&[("k", "string", 3000, &["a"])]);
        let (now, effect) = after(&[(A, taken(), &[])]);
        assert!(now[b"k".as_slice()].is_of(A));
        assert_eq!(effect.created, ["k"]);
        assert!(effect.wrote && effect.victims.is_empty());
        let (_, effect) = after(&[(A, taken(), &[]), (B, Content::new(), &[])]);
        assert_eq!(effect.victims, [(A, "deleted `k`".to_string())]);
        let longer = read(&[("k", "string", 4000, &["a"])]);
        let (now, effect) = after(&[(A, taken(), &[]), (B, longer, &[("expire", "k")])]);
        assert_eq!(
            effect.victims,
            [(A, "prolonged by 1000 ms: `k`".to_string())]
        );
        assert!(now[b"k".as_slice()].is_of(A));
        let (_, effect) = after(&[(A, taken(), &[]), (B, taken(), &[("expire", "k")])]);
        assert_eq!(
            effect.victims,
            [(A, "given the same expiry again: `k`".to_string())]
        );
        let (_, effect) = after(&[(A, taken(), &[]), (A, Content::new(), &[])]);
        assert!(effect.deleted && effect.victims.is_empty());
    }

    #[test]
    fn an_equal_value_that_is_written_changes_its_owner() {
        let taken = || read(&[("k", "string", 3000, &["1"])]);
        let (now, effect) = after(&[(A, taken(), &[]), (B, taken(), &[("set", "k")])]);
        assert!(now[b"k".as_slice()].is_of(B) && effect.wrote);
        let (now, effect) = after(&[(A, taken(), &[]), (B, taken(), &[])]);
        assert!(now[b"k".as_slice()].is_of(A) && !effect.changed);
    }

    #[test]
    fn elements_of_collections_have_their_own_owners() {
        let one = read(&[("k", "hash", 3000, &["a", "1"])]);
        let two = read(&[("k", "hash", 3000, &["a", "1", "b", "1"])]);
        let only = read(&[("k", "hash", 3000, &["b", "1"])]);
        let (now, effect) = after(&[(A, one.clone(), &[]), (B, two.clone(), &[])]);
        assert!(now[b"k".as_slice()].is_of(A) && now[b"k".as_slice()].is_of(B));
        assert!(effect.victims.is_empty());
        let steps = [(A, one, &[][..]), (B, two, &[]), (B, only, &[])];
        let (_, effect) = after(&steps);
        assert_eq!(effect.victims, [(A, "took `a` of `k` away".to_string())]);
        let first = read(&[("k", "list", -1, &["x", "y"])]);
        let rest = read(&[("k", "list", -1, &["y"])]);
        let (_, effect) = after(&[(A, first, &[]), (A, rest, &[])]);
        assert!(effect.deleted);
    }

    #[test]
    fn what_a_restart_brings_back_is_whose_it_was() {
        let (old, _) = after(&[(A, read(&[("k", "string", 3000, &["1"])]), &[])]);
        let (new, _) = after(&[(B, read(&[("k", "string", 4000, &["1"])]), &[])]);
        let versions = [old, new];
        for (left_ms, owner) in [(3000, A), (4000, B), (5000, B)] {
            let mut back = read(&[("k", "string", left_ms, &["1"])]);
            attribute(&mut back, &versions);
            assert!(back[b"k".as_slice()].is_of(owner), "{left_ms}");
        }
        let mut strange = read(&[("k", "string", 1, &["2"])]);
        attribute(&mut strange, &versions);
        assert_eq!(strange[b"k".as_slice()].owners().count(), 0);
    }

    #[test]
    fn a_field_that_is_set_to_what_it_was_is_its_setters() {
        let two = || read(&[("k", "hash", 3000, &["a", "1", "b", "1"])]);
        let (before, _) = after(&[(A, two(), &[])]);
        let mut now = two();
        let told = Told {
            fields: vec![(b"k".to_vec(), b"a".to_vec())],
            ..telling(&[("hset", "k")])
        };
        compare(&before, &mut now, &told, author(B), &rules());
        let elements = &now[b"k".as_slice()].elements;
        assert!(elements[b"a".as_slice()].owners.clients.contains(&B));
        assert!(elements[b"b".as_slice()].owners.clients.contains(&A));
    }

    #[test]
    fn a_field_less_is_a_change() {
        let two = read(&[("k", "hash", 3000, &["a", "1", "b", "1"])]);
        let one = read(&[("k", "hash", 3000, &["a", "1"])]);
        let (_, effect) = after(&[(A, two, &[]), (A, one, &[("hdel", "k")])]);
        assert!(effect.changed && effect.deleted);
    }

    #[test]
    fn readers_share_a_text_until_each_has_left() {
        let mut content = Content::new();
        let steps = [
            (reader(A, false), "1", "incrby", [A].as_slice()),
            (reader(B, false), "2", "incrby", &[A, B]),
            (reader(A, true), "1", "decrby", &[B]),
            (author(A), "w", "set", &[A]),
        ];
        for (author, value, what, owners) in steps {
            let mut next = read(&[("k", "string", 3000, &[value])]);
            let told = telling(&[(what, "k")]);
            let effect = compare(&content, &mut next, &told, author, &rules());
            let found: Vec<u8> = next[b"k".as_slice()].owners().collect();
            assert_eq!(found, owners, "{value}");
            // Only the writer takes something from a reader.
            let wrote_over = author.mode == Mode::Write;
            assert_eq!(!effect.victims.is_empty(), wrote_over, "{value}");
            content = next;
        }
    }
}
