//! Honest outcome: a release that says "it took effect" released something.
//!
//! If another client was granted the lock after this one got it and before it
//! called release, the lock was gone by then. With one server the answer "took
//! effect" is false. With several, or after a failover, this client's entry may
//! still stand somewhere and really have been removed: then nobody knows.
//!
//! A lie about a success is mutual exclusion's business, not this one's.

use rustc_hash::FxHashMap;

use crate::history::operations::{End, Op, Seen};
use crate::history::record::F;
use crate::history::{Finding, Header, Kind};

use super::Oracle;
use super::tally::Tally;

pub(super) const NAME: &str = "honest-outcome";

/// A client's hold of a key.
struct Hold {
    client: u32,
    since: u64,
    depth: u32,
    /// Who was granted the lock in the meantime, and the line.
    taken: Option<(u32, u64)>,
}

pub(super) struct HonestOutcome {
    tally: Tally,
    reentrant: bool,
    /// False if an entry can stand in two places.
    one_place: bool,
    keys: FxHashMap<usize, Vec<Hold>>,
    /// Open releases of locks that were taken over.
    releasing: FxHashMap<u32, (u32, u64)>,
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

    fn acquired(&mut self, op: &Op, client: u32, end: &End<'_>) {
        let holds = self.keys.entry(op.key).or_default();
        for hold in holds.iter_mut().filter(|hold| hold.client != client) {
            if op.invoked > hold.since {
                hold.taken.get_or_insert((client, end.line));
            }
        }
        let nested = holds.iter_mut().find(|hold| hold.client == client);
        if let Some(hold) = nested.filter(|_| self.reentrant) {
            hold.depth += 1;
            return;
        }
        holds.retain(|hold| hold.client != client);
        holds.push(Hold {
            client,
            since: end.time,
            depth: 1,
            taken: None,
        });
    }

    fn releases(&mut self, op: &Op, client: u32) {
        let holds = self.keys.entry(op.key).or_default();
        let Some(place) = holds.iter().position(|hold| hold.client == client) else {
            return;
        };
        holds[place].depth -= 1;
        if holds[place].depth == 0 {
            let hold = holds.swap_remove(place);
            if let Some(taken) = hold.taken {
                self.releasing.insert(client, taken);
            }
        }
    }

    fn released(&mut self, client: u32, end: &End<'_>) {
        let taken = self.releasing.remove(&client);
        if end.kind != Kind::Ok || end.details.effect != Some(true) {
            return;
        }
        self.tally.checked += 1;
        let Some((other, line)) = taken else { return };
        let lines = [end.line, line];
        let words = || {
            format!(
                "client {client}'s release says that it took effect; client {other} had got the lock in the meantime (line {line})"
            )
        };
        match self.one_place {
            true => self.tally.sure(end.time, &lines, words),
            false => self.tally.possible(end.time, &lines, words),
        }
    }

    fn forget(&mut self, client: u32) {
        for holds in self.keys.values_mut() {
            holds.retain(|hold| hold.client != client);
        }
        self.releasing.remove(&client);
    }
}

impl Oracle for HonestOutcome {
    fn see(&mut self, seen: &Seen<'_>) {
        match seen {
            Seen::Invoked(op) if op.f == F::Release => {
                if let Some(client) = op.client() {
                    self.releases(op, client);
                }
            }
            Seen::Ended(op, end) => {
                let Some(client) = op.client() else { return };
                match (op.f, end.kind) {
                    (F::Acquire, Kind::Ok) => self.acquired(op, client, end),
                    // Whatever it holds from now on is not what it held before.
                    (F::Acquire, Kind::Info) => self.forget(client),
                    (F::Release, _) => self.released(client, end),
                    _ => {}
                }
            }
            Seen::Noted(record) => {
                if let Some(client) = seen.death().or(seen.loser()) {
                    self.forget(client);
                }
                let fault = record.details.rare().and_then(|rare| rare.fault.as_deref());
                let moves = |fault: &str| {
                    ["failover", "split", "promot"]
                        .iter()
                        .any(|word| fault.contains(word))
                };
                self.one_place &= !fault.is_some_and(moves);
            }
            Seen::Invoked(_) => {}
        }
    }

    fn finish(self: Box<Self>, examples: usize) -> Finding {
        let nothing = "no release said that it took effect";
        self.tally.finish(NAME, examples, nothing)
    }
}
