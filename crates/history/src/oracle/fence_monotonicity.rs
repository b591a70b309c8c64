//! Fence monotonicity: a new owner's fence is above every fence seen before.
//!
//! "Before" means that the other acquire had succeeded before this one was
//! called; acquires that overlap may have got their fences in either order. Two
//! owners with one fence are wrong in every order. A client that acquires again
//! may get its own last fence again, if the owner has not changed: if no other
//! client was granted the lock after it got that fence and before it asked again.

use rustc_hash::FxHashMap;

use crate::record::F;
use crate::seen::{Completion, Op, Seen};
use crate::{Finding, Kind};

use super::Oracle;
use super::tally::Tally;
use super::top::Top;
use crate::runs::Runs;

pub(super) const NAME: &str = "fence-monotonicity";

/// A fence and the line of the acquire that got it.
type Granted = (i64, u64);

#[derive(Default)]
pub(super) struct FenceMonotonicity {
    tally: Tally,
    now: u64,
    keys: FxHashMap<usize, Key>,
    /// Keys with grants at this very time, which is before nothing that is asked
    /// for now.
    changed: Vec<usize>,
    /// For each client with an open acquire, what was before it.
    open: FxHashMap<u32, Before>,
}

/// What other clients had when an acquire was called.
#[derive(Clone, Copy, Default)]
struct Before {
    /// The highest fence, and whose.
    highest: Option<(Granted, u32)>,
    /// When the last of those was called that had succeeded, or may have.
    granted: Option<u64>,
    perhaps: Option<u64>,
}

/// What one client had.
#[derive(Clone, Copy)]
struct Own {
    /// Its last fence, since when, and the line.
    last: (i64, u64, u64),
    highest: Granted,
}

#[derive(Default)]
struct Key {
    highest: Top<Granted>,
    granted: Top<u64>,
    perhaps: Top<u64>,
    fresh: Vec<Fresh>,
    all: Runs,
    own: FxHashMap<u32, Own>,
}

/// An acquire that has just ended: who, when it was called, its fence if it has
/// one, and whether it is sure.
struct Fresh {
    client: u32,
    asked: u64,
    fence: Option<Granted>,
    sure: bool,
}

impl Key {
    /// Time has moved on.
    fn settle(&mut self) {
        for fresh in self.fresh.drain(..) {
            if let Some(fence) = fresh.fence {
                self.highest.put(fresh.client, fence);
            }
            let last = match fresh.sure {
                true => &mut self.granted,
                false => &mut self.perhaps,
            };
            last.put(fresh.client, fresh.asked);
        }
    }

    fn before(&self, client: u32) -> Before {
        let time = |last: &Top<u64>| last.of_others(client).map(|(time, _)| time);
        Before {
            highest: self.highest.of_others(client),
            granted: time(&self.granted),
            perhaps: time(&self.perhaps),
        }
    }
}

impl FenceMonotonicity {
    fn ended(&mut self, op: &Op, client: u32, end: &Completion<'_>) {
        let before = self.open.remove(&client).unwrap_or_default();
        if end.kind == Kind::Fail {
            return;
        }
        let sure = end.kind == Kind::Ok;
        let fence = end.details.fence.filter(|_| sure);
        let fence = fence.map(|fence| (fence, end.line));
        if let Some((fence, _)) = fence {
            self.granted(op, client, end, (fence, before));
        }
        self.changed.push(op.key);
        let key = self.keys.entry(op.key).or_default();
        key.fresh.push(Fresh {
            client,
            asked: op.invoked,
            fence,
            sure: sure && !op.vague,
        });
    }

    fn granted(
        &mut self,
        op: &Op,
        client: u32,
        end: &Completion<'_>,
        (fence, before): (i64, Before),
    ) {
        self.tally.checked += 1;
        let key = self.keys.entry(op.key).or_default();
        let own = key.own.get(&client).copied();
        let new = key.all.insert(fence);
        let highest = own.map_or((fence, end.line), |own| own.highest.max((fence, end.line)));
        let last = (fence, end.time, end.line);
        key.own.insert(client, Own { last, highest });
        let tally = &mut self.tally;
        let mut wrong = |sure: bool, line: Option<u64>, words: String| {
            let lines: Vec<u64> = [end.line].into_iter().chain(line).collect();
            match sure && !op.vague {
                true => tally.sure(end.time, &lines, || words),
                false => tally.possible(end.time, &lines, || words),
            }
        };
        let falls = |(other, line): Granted, owner: u32| {
            format!(
                "client {client} got fence {fence} after client {owner} had got {other} (line {line})"
            )
        };
        if let Some((granted, owner)) = before.highest.filter(|((other, _), _)| *other >= fence) {
            return wrong(true, Some(granted.1), falls(granted, owner));
        }
        if let Some(own) = own.filter(|own| own.highest.0 > fence) {
            return wrong(true, Some(own.highest.1), falls(own.highest, client));
        }
        // Its own last one is the only one that it may get again.
        let again = own.map(|own| own.last).filter(|(last, ..)| *last == fence);
        let Some((_, since, line)) = again else {
            if !new {
                let words =
                    format!("client {client} got fence {fence}, which another acquire got too");
                wrong(true, None, words);
            }
            return;
        };
        let changed = |asked: Option<u64>| asked.is_some_and(|asked| asked > since);
        if changed(before.granted) || changed(before.perhaps) {
            let words = format!(
                "client {client} got its fence {fence} (line {line}) again, after another client had got the lock"
            );
            wrong(changed(before.granted), Some(line), words);
        }
    }
}

impl Oracle for FenceMonotonicity {
    fn see(&mut self, seen: &Seen<'_>) {
        if seen.time() > self.now {
            self.now = seen.time();
            for key in self.changed.drain(..) {
                self.keys.entry(key).or_default().settle();
            }
        }
        match seen {
            Seen::Invoked(op) if op.f == F::Acquire => {
                if let Some(client) = op.client()
                    && let Some(key) = self.keys.get(&op.key)
                {
                    self.open.insert(client, key.before(client));
                }
            }
            Seen::Ended(op, end) if op.f == F::Acquire => {
                if let Some(client) = op.client() {
                    self.ended(op, client, end);
                }
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, examples: usize) -> Finding {
        let nothing = "no acquire returned a fence";
        self.tally.finish(NAME, examples, nothing)
    }
}
