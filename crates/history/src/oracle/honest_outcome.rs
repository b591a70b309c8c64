//! Honest outcome: a release that says "it took effect" released something.
//!
//! If another client was granted the lock after this one got it and before it
//! called release, the lock was gone by then. With one server the answer "took
//! effect" is false. With several, or after a failover, this client's entry may
//! still stand somewhere and really have been removed: then nobody knows.
//!
//! A release is of the client's last acquire of that key, however often it is
//! called: a repetition says as little of the truth as the first one. With a
//! reentrant lock it is of the last one that is not released yet. Where an
//! acquire or a release of unknown outcome leaves open which one that is, a
//! violation needs all of them, and a possible one needs one.
//!
//! What a client was told (`lost`) and what it believes does not matter here. A
//! lie about a success is mutual exclusion's business, not this one's.

use rustc_hash::FxHashMap;

use crate::record::F;
use crate::seen::{Completion, Op, Seen};
use crate::{Finding, Header, Kind};

use super::Oracle;
use super::tally::Tally;

pub(super) const NAME: &str = "honest-outcome";

/// Another client was granted the lock: when, who, and the line.
type Taken = (u64, u32, u64);

/// So many different things that may be so are followed for a client.
const POSSIBILITIES: usize = 64;

/// What an acquire got.
#[derive(Clone, Copy)]
struct Level {
    since: u64,
    /// Who was granted the lock first in the meantime, surely and perhaps.
    taken: Option<Taken>,
    perhaps: Option<Taken>,
}

/// What may be so: which acquires are not released, the last one last. Numbers
/// are places among the client's levels.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Possible {
    held: Vec<usize>,
    /// The one that was released last, if no other is left.
    over: Option<usize>,
}

/// A client's acquires of one key.
#[derive(Default)]
struct Client {
    levels: Vec<Level>,
    possible: Vec<Possible>,
    /// There were too many to follow.
    vague: bool,
}

/// What is known when a release is called: surely gone, or perhaps.
#[derive(Clone, Copy)]
enum Gone {
    Surely(Taken),
    Perhaps(Taken),
}

pub(super) struct HonestOutcome {
    tally: Tally,
    reentrant: bool,
    /// False if an entry can stand in two places.
    one_place: bool,
    keys: FxHashMap<usize, FxHashMap<u32, Client>>,
    /// Open releases of locks that were taken over.
    releasing: FxHashMap<u32, Gone>,
}

impl Possible {
    /// The acquire that a release would be of.
    fn of(&self) -> Option<usize> {
        self.held.last().copied().or(self.over)
    }

    fn acquire(&mut self, level: usize, reentrant: bool) {
        if !reentrant {
            self.held.clear();
        }
        self.held.push(level);
        self.over = None;
    }

    fn release(&mut self) {
        self.over = self.held.pop().or(self.over);
    }
}

impl Client {
    /// Something happened; or perhaps it did.
    fn happens(&mut self, sure: bool, what: impl Fn(&mut Possible)) {
        if self.possible.is_empty() {
            self.possible.push(Possible::default());
        }
        let before = match sure {
            true => Vec::new(),
            false => self.possible.clone(),
        };
        self.possible.iter_mut().for_each(what);
        if !sure {
            self.possible.extend(before);
            self.possible.sort();
            self.possible.dedup();
        }
        self.vague |= self.possible.len() > POSSIBILITIES;
        self.possible.truncate(POSSIBILITIES);
    }

    fn acquired(&mut self, kind: Kind, now: u64, reentrant: bool) {
        let sure = kind == Kind::Ok;
        if sure && !reentrant {
            // This is the only one that counts.
            self.levels.clear();
            self.possible.truncate(1);
            self.vague = false;
        } else {
            self.forget();
        }
        let level = self.levels.len();
        self.levels.push(Level {
            since: now,
            taken: None,
            perhaps: None,
        });
        self.happens(sure, |it| it.acquire(level, reentrant));
    }

    /// Drops the levels that nothing is of any more.
    fn forget(&mut self) {
        let used = |level: usize| {
            let mut all = self.possible.iter();
            all.any(|it| it.held.contains(&level) || it.over == Some(level))
        };
        let kept: Vec<usize> = (0..self.levels.len()).filter(|it| used(*it)).collect();
        if kept.len() == self.levels.len() {
            return;
        }
        self.levels = kept.iter().map(|level| self.levels[*level]).collect();
        // Only levels that are used are looked up, and these are kept.
        let new = |old: usize| kept.partition_point(|kept| *kept < old);
        for it in &mut self.possible {
            it.held.iter_mut().for_each(|level| *level = new(*level));
            it.over = it.over.map(new);
        }
    }

    /// Another client's acquire, `asked` then, succeeded or may have.
    fn other_got_it(&mut self, asked: u64, taken: Taken, sure: bool) {
        for level in &mut self.levels {
            if asked > level.since {
                let place = match sure {
                    true => &mut level.taken,
                    false => &mut level.perhaps,
                };
                place.get_or_insert(taken);
            }
        }
    }

    /// What a release that is called now is of, and whether that was gone.
    fn gone(&self, now: u64) -> Option<Gone> {
        let before = |taken: Option<Taken>| taken.filter(|(time, ..)| *time < now);
        let of = |it: &Possible| it.of().map(|level| &self.levels[level]);
        let mut surely = self.possible.iter().map(|it| before(of(it)?.taken));
        let first = surely.next()?;
        if let Some(taken) = first.filter(|_| !self.vague && surely.all(|taken| taken.is_some())) {
            return Some(Gone::Surely(taken));
        }
        let perhaps = |it| of(it).and_then(|level| before(level.taken).or(before(level.perhaps)));
        self.possible.iter().find_map(perhaps).map(Gone::Perhaps)
    }
}

impl HonestOutcome {
    pub(super) fn new(header: &Header) -> HonestOutcome {
        HonestOutcome {
            tally: Tally::default(),
            reentrant: header.reentrant,
            one_place: header.nodes <= 1,
            keys: FxHashMap::default(),
            releasing: FxHashMap::default(),
        }
    }

    fn acquired(&mut self, op: &Op, client: u32, end: &Completion<'_>) {
        let clients = self.keys.entry(op.key).or_default();
        let taken = (end.time, client, end.line);
        let sure = end.kind == Kind::Ok && !op.vague;
        for (_, other) in clients.iter_mut().filter(|(other, _)| **other != client) {
            other.other_got_it(op.invoked, taken, sure);
        }
        let own = clients.entry(client).or_default();
        own.acquired(end.kind, end.time, self.reentrant);
    }

    fn released(&mut self, op: &Op, client: u32, end: &Completion<'_>) {
        // Any other lock's release may be repeated, and is of the same acquire then.
        if self.reentrant
            && end.kind != Kind::Fail
            && let Some(own) = self.client(op.key, client)
        {
            own.happens(end.kind == Kind::Ok, Possible::release);
        }
        let gone = self.releasing.remove(&client);
        if end.kind != Kind::Ok || end.details.effect != Some(true) {
            return;
        }
        self.tally.checked += 1;
        let Some(gone) = gone else { return };
        let (other, line, had) = match gone {
            Gone::Surely((_, other, line)) => (other, line, "had got"),
            Gone::Perhaps((_, other, line)) => (other, line, "may have got"),
        };
        let lines = [end.line, line];
        let words = || {
            format!(
                "client {client}'s release says that it took effect; client {other} {had} the lock in the meantime (line {line})"
            )
        };
        match gone {
            Gone::Surely(_) if self.one_place => self.tally.sure(end.time, &lines, words),
            _ => self.tally.possible(end.time, &lines, words),
        }
    }

    fn client(&mut self, key: usize, client: u32) -> Option<&mut Client> {
        self.keys.get_mut(&key)?.get_mut(&client)
    }
}

impl Oracle for HonestOutcome {
    fn see(&mut self, seen: &Seen<'_>) {
        if let Some(client) = seen.death() {
            self.releasing.remove(&client);
            for clients in self.keys.values_mut() {
                clients.remove(&client);
            }
        }
        match seen {
            Seen::Invoked(op) if op.f == F::Release => {
                let Some(client) = op.client() else { return };
                let gone = self
                    .client(op.key, client)
                    .and_then(|own| own.gone(op.invoked));
                if let Some(gone) = gone {
                    self.releasing.insert(client, gone);
                }
            }
            Seen::Ended(op, end) => {
                let Some(client) = op.client() else { return };
                match (op.f, end.kind) {
                    (F::Acquire, Kind::Ok | Kind::Info) => self.acquired(op, client, end),
                    (F::Release, _) => self.released(op, client, end),
                    _ => {}
                }
            }
            Seen::Noted(record) => {
                let fault = record.details.rare().and_then(|rare| rare.fault.as_deref());
                let moves = |fault: &str| {
                    ["failover", "split", "promot"]
                        .iter()
                        .any(|word| fault.contains(word))
                };
                self.one_place &= !fault.is_some_and(moves);
            }
            Seen::Invoked(_) | Seen::Lost(..) => {}
        }
    }

    fn finish(self: Box<Self>, examples: usize) -> Finding {
        let nothing = "no release said that it took effect";
        self.tally.finish(NAME, examples, nothing)
    }
}
