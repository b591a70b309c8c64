//! Who wrote what: the ghost beside a server, told from what the server held before
//! and after a command.

use std::collections::{BTreeMap, BTreeSet};

use crate::objects;
use lockproof_model::lock::{LockFile, Role};
use lockproof_redis::{Bytes, Notes, Server, Value};

/// Clients by element: the value of a text, a field, a member, an item from the left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owners(BTreeMap<Bytes, Writers>);

/// Who sends a command, and as what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sender {
    pub who: usize,
    pub reads: bool,
    /// It gives its last hold back.
    pub leaves: bool,
}

/// Whose an element is: one client's, or that of all these readers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Share {
    Own(usize),
    Readers(BTreeSet<usize>),
}

impl Share {
    fn of(&self) -> Vec<usize> {
        match self {
            Share::Own(one) => vec![*one],
            Share::Readers(all) => all.iter().copied().collect(),
        }
    }

    /// `by` has written it.
    fn written(past: Option<&Share>, by: Sender) -> Share {
        if !by.reads {
            return Share::Own(by.who);
        }
        let mut readers = match past {
            Some(Share::Readers(readers)) => readers.clone(),
            Some(Share::Own(_)) | None => BTreeSet::new(),
        };
        readers.insert(by.who);
        if by.leaves && readers.len() > 1 {
            readers.remove(&by.who);
        }
        Share::Readers(readers)
    }

    /// Who loses it when `by` writes it.
    fn losers(&self, by: Sender) -> Vec<usize> {
        match self {
            Share::Readers(_) if by.reads => Vec::new(),
            share => share
                .of()
                .into_iter()
                .filter(|one| *one != by.who)
                .collect(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Writers {
    Text(Share),
    Named(BTreeMap<Bytes, Share>),
    Items(Vec<Share>),
}

impl Writers {
    fn all(&self) -> Vec<usize> {
        match self {
            Writers::Text(share) => share.of(),
            Writers::Named(each) => each.values().flat_map(Share::of).collect(),
            Writers::Items(items) => items.iter().flat_map(Share::of).collect(),
        }
    }
}

/// What a command did, seen from the properties.
#[derive(Clone, Debug, Default)]
pub struct Effect {
    /// Others whose element it deleted, or whose expiry it changed.
    pub victims: Vec<usize>,
    /// Others whose element it wrote over.
    pub overwritten: Vec<usize>,
    pub wrote: bool,
    /// Something of its own lasts a lease from now on, or has no end.
    pub leased: bool,
    pub deleted: bool,
    pub created: bool,
    /// What the file's `keys` says is not so.
    pub undeclared: Option<String>,
}

/// Whose entries a server has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Has {
    pub any: bool,
    pub unbounded: bool,
    pub locked: bool,
    pub leased: bool,
    /// How long what it wrote of the lock lives, if it did; the most there is for ever.
    pub life_ms: Option<i64>,
}

impl Owners {
    pub fn has(&self, server: &Server, who: usize, file: &LockFile, ttl_ms: i64) -> Has {
        let mut has = Has::default();
        for (key, _, end) in server.entries() {
            let role = objects::role(file, who, key);
            let writers = self.0.get(key).map(Writers::all).unwrap_or_default();
            if role == Role::Fence || !writers.contains(&who) {
                continue;
            }
            has.any = true;
            has.unbounded |= end.is_none();
            if role == Role::Lock {
                has.locked = true;
                let life = end.map_or(i64::MAX, |end| end.at_ms - server.now_ms());
                has.life_ms = Some(has.life_ms.map_or(life, |least| least.min(life)));
                has.leased |= end.is_some_and(|end| end.at_ms - server.now_ms() <= ttl_ms);
            }
        }
        has
    }

    /// Forgets what is not there any more.
    pub fn keep(&mut self, server: &Server) {
        self.0
            .retain(|key, _| server.entries().any(|(other, ..)| other == key));
    }

    /// A command of `by` made `after` of `before`.
    pub fn follow(
        &mut self,
        before: &Server,
        after: &Server,
        notes: &Notes,
        by: Sender,
        file: &LockFile,
    ) -> Effect {
        let who = by.who;
        let mut effect = Effect::default();
        let old: BTreeMap<&Bytes, _> = before.entries().map(|(k, v, e)| (k, (v, e))).collect();
        let new: BTreeMap<&Bytes, _> = after.entries().map(|(k, v, e)| (k, (v, e))).collect();
        let known = std::mem::take(&mut self.0);
        for (key, (value, end)) in &new {
            let role = objects::role(file, who, key);
            let written = |element: Option<&Bytes>| {
                let mut places = notes.written.iter();
                places.any(|p| p.key == **key && p.element.as_ref() == element)
            };
            let touched = notes.written.iter().any(|place| place.key == **key);
            // A score that is moved makes no member one's own.
            let counts = |key: &Bytes| notes.written.iter().all(|p| p.key != *key || p.counts);
            let moves = matches!(value, Value::SortedSet(_)) && counts(key);
            if touched && !objects::is_declared(file, key) && file.keys.declared {
                effect.undeclared = Some(String::from_utf8_lossy(key).into_owned());
            }
            let was = old.get(*key);
            let past = known.get(*key);
            let owns = |element: Option<&Bytes>| !moves && written(element);
            let writers = writers(past, was.map(|(value, _)| *value), value, &owns, by);
            let ends_anew =
                was.is_none_or(|(_, was_end)| was_end != end) || notes.expiries.contains(*key);
            if role == Role::Lock {
                let own = writers.all().contains(&who);
                effect.leased |= end.is_none() && touched || ends_anew && own;
            }
            if role != Role::Fence {
                compare(
                    &mut effect,
                    role,
                    past,
                    &writers,
                    was.is_some(),
                    touched,
                    who,
                );
                if role != Role::Queue {
                    // Whoever only counts writes over nothing.
                    let mut writes = notes.written.iter().filter(|write| write.key == **key);
                    let over = match writes.all(|write| write.counts) {
                        true => Vec::new(),
                        false => overwritten(past, &written, by),
                    };
                    effect.overwritten.extend(over);
                }
                if let Some((_, was_end)) = was
                    && (was_end != end || notes.expiries.contains(*key))
                    && role != Role::Queue
                {
                    let own = writers.all().contains(&who);
                    let had = past.is_some_and(|past| past.all().contains(&who));
                    let shares = own || by.reads && by.leaves && had;
                    let longer = match (was_end, end) {
                        (_, None) => true,
                        (None, Some(_)) => false,
                        (Some(old), Some(new)) => new.at_ms >= old.at_ms,
                    };
                    let shared =
                        shares && !matches!(writers, Writers::Text(Share::Own(_))) && longer;
                    let past = past.map(Writers::all).unwrap_or_default();
                    if !shared {
                        effect
                            .victims
                            .extend(past.into_iter().filter(|one| *one != who));
                    }
                    effect.wrote |= own && role == Role::Lock;
                }
            }
            self.0.insert((*key).clone(), writers);
        }
        for (key, writers) in known {
            let gone = !new.contains_key(&key);
            match objects::role(file, who, &key) {
                Role::Lock | Role::Other if gone => {
                    effect.deleted |= writers.all().contains(&who);
                    let others = writers.all().into_iter().filter(|one| *one != who);
                    effect.victims.extend(others);
                }
                Role::Lock | Role::Other | Role::Fence | Role::Queue => {}
            }
        }
        effect
    }
}

fn compare(
    effect: &mut Effect,
    role: Role,
    past: Option<&Writers>,
    now: &Writers,
    existed: bool,
    touched: bool,
    who: usize,
) {
    if !existed {
        effect.created |= role != Role::Queue;
        effect.wrote |= role == Role::Lock;
        return;
    }
    effect.wrote |= touched && role == Role::Lock;
    if role == Role::Queue {
        return;
    }
    let lost: Vec<usize> = match (past, now) {
        (Some(Writers::Text(_)), Writers::Text(_)) | (None, _) => Vec::new(),
        (Some(Writers::Named(old)), Writers::Named(new)) => {
            let gone = old
                .iter()
                .filter(|(element, _)| !new.contains_key(*element));
            gone.flat_map(|(_, share)| share.of()).collect()
        }
        (Some(old @ Writers::Items(_)), new @ Writers::Items(_)) => {
            let (old, new) = (old.all(), new.all());
            let count = |items: &[usize], who: usize| items.iter().filter(|w| **w == who).count();
            let lost = |one: &&usize| count(&old, **one) > count(&new, **one);
            old.iter().filter(lost).copied().collect()
        }
        (Some(other), _) => other.all(),
    };
    effect.deleted |= lost.contains(&who);
    effect
        .victims
        .extend(lost.into_iter().filter(|one| *one != who));
}

/// Whose elements were written over.
fn overwritten(
    past: Option<&Writers>,
    written: &dyn Fn(Option<&Bytes>) -> bool,
    by: Sender,
) -> Vec<usize> {
    match past {
        Some(Writers::Text(share)) if written(None) => share.losers(by),
        Some(Writers::Named(each)) => {
            let over = each.iter().filter(|(element, _)| written(Some(element)));
            over.flat_map(|(_, share)| share.losers(by)).collect()
        }
        _ => Vec::new(),
    }
}

fn writers(
    past: Option<&Writers>,
    was: Option<&Value>,
    value: &Value,
    written: &dyn Fn(Option<&Bytes>) -> bool,
    by: Sender,
) -> Writers {
    let new = || Share::written(None, by);
    let named = |elements: Vec<&Bytes>| {
        let share = |element: &Bytes| {
            let past = match past {
                Some(Writers::Named(each)) => each.get(element),
                _ => None,
            };
            match past.filter(|_| !written(Some(element))) {
                Some(past) => past.clone(),
                None => Share::written(past, by),
            }
        };
        let each = elements.into_iter();
        Writers::Named(
            each.map(|element| (element.clone(), share(element)))
                .collect(),
        )
    };
    match value {
        Value::String(_) => match past {
            Some(Writers::Text(share)) if !written(None) => Writers::Text(share.clone()),
            Some(Writers::Text(share)) => Writers::Text(Share::written(Some(share), by)),
            _ => Writers::Text(new()),
        },
        Value::Hash(hash) => named(hash.keys().collect()),
        Value::Set(set) => named(set.iter().collect()),
        Value::SortedSet(set) => named(set.ranked().into_iter().map(|(m, _)| m).collect()),
        Value::List(items) => {
            let items: Vec<&Bytes> = items.iter().collect();
            match (past, was) {
                (Some(Writers::Items(writers)), Some(Value::List(old))) => Writers::Items(aligned(
                    &old.iter().collect::<Vec<_>>(),
                    writers,
                    &items,
                    &new(),
                )),
                _ => Writers::Items(vec![new(); items.len()]),
            }
        }
    }
}

/// What is common to both lists in the same order stays its writer's.
fn aligned(old: &[&Bytes], writers: &[Share], new: &[&Bytes], by: &Share) -> Vec<Share> {
    let mut best = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            best[i][j] = if old[i] == new[j] {
                best[i + 1][j + 1] + 1
            } else {
                best[i + 1][j].max(best[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = vec![by.clone(); new.len()];
    while i < old.len() && j < new.len() {
        if old[i] == new[j] {
            out[j] = writers[i].clone();
            i += 1;
            j += 1;
        } else if best[i + 1][j] >= best[i][j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    out
}
