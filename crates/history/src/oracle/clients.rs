//! What is known of each client at the time of a final read: does it hold, or
//! perhaps, or not at all?
//!
//! A client holds a key from its acquire's success to its release's call. It may
//! hold when an acquire has an unknown outcome, and after a release that failed
//! or of which nobody knows: the lock is still there, or may be. A client that
//! asks again, where the lock is not reentrant, gives up what it only may hold.
//!
//! A final read takes a while, and one time has no order. So what counts is the
//! best that a client had at any time of the read, both ends included. A release
//! that goes on takes effect after it. Of an acquire that goes on it must be
//! waited for how it ends: one that succeeds did so before the read.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use crate::Kind;
use crate::record::F;
use crate::seen::{Completion, Op, Seen, UNNAMED, Why};

/// How a client stands to a key; more is better for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// It does not hold.
    Free,
    /// It may hold.
    Perhaps,
    Holds,
}

/// What an acquire left, while its client holds by it or may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Sure,
    /// In doubt, though its client was told that it holds.
    Told,
    Perhaps,
}

/// A client and a key.
#[derive(Default)]
struct Holding {
    /// In the order of the acquires.
    levels: Vec<Level>,
    /// A release is open that was called while it surely held: until then it may
    /// hold on, and that it did is better for the lock.
    leaving: bool,
    /// When it surely held last, or may have, if it does not now.
    sure_at: Option<u64>,
    perhaps_at: Option<u64>,
}

#[derive(Default)]
struct Client {
    dead: bool,
    /// The key of its open acquire.
    acquiring: Option<usize>,
    keys: BTreeMap<usize, Holding>,
}

/// All clients.
#[derive(Default)]
pub(super) struct Clients {
    reentrant: bool,
    each: BTreeMap<u32, Client>,
    names: KeyNames,
}

/// Keys that acquires named.
#[derive(Default)]
pub(super) struct KeyNames {
    names: FxHashMap<Box<str>, usize>,
    /// Whether a key's name is among them, by its number.
    known: Vec<bool>,
}

impl KeyNames {
    pub(super) fn see(&mut self, op: &Op) {
        if op.f != F::Acquire || self.known.get(op.key).is_some_and(|known| *known) {
            return;
        }
        if self.known.len() <= op.key {
            self.known.resize(op.key + 1, false);
        }
        self.known[op.key] = true;
        if let Some(name) = op.details.key.as_deref() {
            self.names.insert(name.into(), op.key);
        }
    }

    /// The key that a server calls so.
    pub(super) fn stored(&self, name: &str) -> Which {
        let known = self.names.get(name);
        known.map_or(Which::Any, |key| Which::Stored(*key))
    }
}

/// Which keys of the clients' a question is about.
#[derive(Clone, Copy)]
pub(super) enum Which {
    Any,
    /// This one.
    One(usize),
    /// What a server calls this one, which may be the one without a name.
    Stored(usize),
}

impl Which {
    /// There are keys that both are about.
    pub(super) fn may_be(self, other: Which) -> bool {
        match (self, other) {
            (Which::One(key) | Which::Stored(key), other) => other.fits(key),
            (Which::Any, _) => true,
        }
    }

    pub(super) fn is_any(self) -> bool {
        matches!(self, Which::Any)
    }

    pub(super) fn fits(self, key: usize) -> bool {
        match self {
            Which::Any => true,
            Which::One(one) => key == one,
            Which::Stored(one) => key == one || key == UNNAMED,
        }
    }
}

/// A question that waits for acquires that are open.
pub(super) struct Question {
    best: State,
    waits: Vec<u32>,
}

impl Holding {
    fn best(&self, since: u64) -> State {
        let at = |time: Option<u64>| time.is_some_and(|time| time >= since);
        if self.leaving || self.levels.contains(&Level::Sure) || at(self.sure_at) {
            State::Holds
        } else if !self.levels.is_empty() || at(self.perhaps_at) {
            State::Perhaps
        } else {
            State::Free
        }
    }

    /// What it has now it had until now, whatever comes next.
    fn note(&mut self, now: u64) {
        if self.leaving || self.levels.contains(&Level::Sure) {
            self.sure_at = Some(now);
        }
        if !self.levels.is_empty() {
            self.perhaps_at = Some(now);
        }
    }

    fn let_go(&mut self, now: u64) {
        self.note(now);
        self.levels.clear();
        self.leaving = false;
    }

    fn release_called(&mut self, now: u64, reentrant: bool) {
        self.note(now);
        let sure = |level: &Level| *level == Level::Sure;
        self.leaving = self.levels.iter().any(sure);
        if !reentrant {
            self.levels.fill(Level::Perhaps);
        } else if let Some(last) = self.levels.iter().rposition(sure) {
            self.levels[last] = Level::Perhaps;
        }
    }

    fn released(&mut self, kind: Kind, now: u64, reentrant: bool) {
        self.note(now);
        self.leaving = false;
        match (kind, reentrant) {
            (Kind::Ok, true) => drop(self.levels.pop()),
            (Kind::Ok, false) => self.levels.clear(),
            _ => {}
        }
    }
}

impl Clients {
    pub(super) fn new(reentrant: bool) -> Clients {
        Clients {
            reentrant,
            ..Clients::default()
        }
    }

    pub(super) fn see(&mut self, seen: &Seen<'_>) {
        let now = seen.time();
        if let Some((client, key)) = seen.gone() {
            let which = key.map_or(Which::Any, Which::One);
            let client = self.each.entry(client).or_default();
            let keys = client.keys.iter_mut();
            keys.filter(|(key, _)| which.fits(**key))
                .for_each(|(_, holding)| holding.let_go(now));
        }
        if let Some(client) = seen.death() {
            self.each.entry(client).or_default().dead = true;
        }
        match seen {
            Seen::Invoked(op) => self.invoked(op),
            Seen::Ended(op, end) => self.ended(op, end),
            Seen::Noted(_) | Seen::Lost(..) => {}
        }
    }

    fn invoked(&mut self, op: &Op) {
        let Some(client) = op.client() else { return };
        let client = self.each.entry(client).or_default();
        client.dead = false;
        if !matches!(op.f, F::Acquire | F::Release) {
            return;
        }
        client.acquiring = (op.f == F::Acquire).then_some(op.key);
        let holding = client.keys.entry(op.key).or_default();
        match op.f {
            F::Acquire if !self.reentrant => {
                holding.note(op.invoked);
                holding.levels.retain(|level| *level != Level::Perhaps);
            }
            F::Acquire => {}
            _ => holding.release_called(op.invoked, self.reentrant),
        }
        self.names.see(op);
    }

    fn ended(&mut self, op: &Op, end: &Completion<'_>) {
        let Some(client) = op.client() else { return };
        if !matches!(op.f, F::Acquire | F::Release) {
            return;
        }
        let client = self.each.entry(client).or_default();
        client.acquiring = None;
        let holding = client.keys.entry(op.key).or_default();
        if op.f == F::Release {
            return holding.released(end.kind, end.time, self.reentrant);
        }
        match end.kind {
            Kind::Ok if op.told_lost || op.vague => holding.levels.push(Level::Told),
            Kind::Ok => holding.levels.push(Level::Sure),
            Kind::Info if end.why == Why::Crashed => holding.perhaps_at = Some(end.time),
            Kind::Info => holding.levels.push(Level::Perhaps),
            Kind::Fail | Kind::Invoke => {}
        }
    }

    /// The key that a server calls so.
    pub(super) fn stored(&self, name: &str) -> Which {
        self.names.stored(name)
    }

    pub(super) fn is_dead(&self, client: u32) -> bool {
        self.each.get(&client).is_some_and(|client| client.dead)
    }

    /// The best that the client, or any, had from `since` until now.
    pub(super) fn ask(&self, client: Option<u32>, which: Which, since: u64) -> Question {
        let mut question = Question {
            best: State::Free,
            waits: Vec::new(),
        };
        let asked = |number: u32| client.is_none_or(|client| client == number);
        for (number, client) in self.each.iter().filter(|(number, _)| asked(**number)) {
            let keys = client.keys.iter().filter(|(key, _)| which.fits(**key));
            for (key, holding) in keys {
                question.best = question.best.max(holding.best(since));
                if client.acquiring == Some(*key) {
                    question.waits.push(*number);
                }
            }
        }
        question
    }
}

impl Question {
    /// The answer, once there is one.
    pub(super) fn answer(&self) -> Option<State> {
        let known = self.waits.is_empty() || self.best == State::Holds;
        known.then_some(self.best)
    }

    /// Something has ended; it may be what is waited for.
    pub(super) fn see(&mut self, seen: &Seen<'_>) {
        let Seen::Ended(op, end) = seen else { return };
        let Some(client) = op.client() else { return };
        if op.f != F::Acquire || !self.waits.contains(&client) {
            return;
        }
        self.waits.retain(|other| *other != client);
        let state = match end.kind {
            Kind::Ok if op.told_lost || op.vague => State::Perhaps,
            Kind::Ok => State::Holds,
            Kind::Info => State::Perhaps,
            Kind::Fail | Kind::Invoke => State::Free,
        };
        self.best = self.best.max(state);
    }
}
