//! Fence monotonicity: a new owner's fence is above every fence seen before.
//!
//! "Before" means that the other acquire had succeeded before this one was
//! called; acquires that overlap may have got their fences in either order. Two
//! owners with one fence are wrong in every order. A client that acquires again
//! may get its own fence again: the owner has not changed.

use rustc_hash::FxHashMap;

use crate::history::operations::{End, Op, Seen};
use crate::history::record::F;
use crate::history::{Finding, Kind};

use super::Oracle;
use super::tally::Tally;
use crate::history::runs::Runs;

pub(super) const NAME: &str = "fence-monotonicity";

/// A fence, the client that got it, and the line.
type Granted = (i64, u32, u64);

#[derive(Default)]
pub(super) struct FenceMonotonicity {
    tally: Tally,
    keys: FxHashMap<usize, Key>,
    /// For each client with an open acquire, the highest fence granted before.
    open: FxHashMap<u32, Option<Granted>>,
}

#[derive(Default)]
struct Key {
    highest: Option<Granted>,
    /// Granted at this very time: before nothing that is invoked now.
    fresh: Option<(u64, Granted)>,
    all: Runs,
    /// Each client's last fence.
    last: FxHashMap<u32, i64>,
}

impl Key {
    fn highest_before(&mut self, now: u64) -> Option<Granted> {
        if let Some((_, granted)) = self.fresh.take_if(|(time, _)| *time < now) {
            self.highest = self.highest.max(Some(granted));
        }
        self.highest
    }
}

impl FenceMonotonicity {
    fn granted(&mut self, op: &Op, client: u32, end: &End<'_>, fence: i64) {
        let before = self.open.remove(&client).flatten();
        self.tally.checked += 1;
        let key = self.keys.entry(op.key).or_default();
        key.highest_before(end.time);
        let mine = (fence, client, end.line);
        key.fresh = key.fresh.max(Some((end.time, mine)));
        let again = key.last.insert(client, fence) == Some(fence);
        let new = key.all.insert(fence);
        if again {
            return;
        }
        if let Some((other, owner, line)) = before.filter(|(other, ..)| *other >= fence) {
            self.tally.sure(end.time, &[end.line, line], || {
                format!(
                    "client {client} got fence {fence} after client {owner} had got {other} (line {line})"
                )
            });
        } else if !new {
            self.tally.sure(end.time, &[end.line], || {
                format!("client {client} got fence {fence}, which another acquire got too")
            });
        }
    }
}

impl Oracle for FenceMonotonicity {
    fn see(&mut self, seen: &Seen<'_>) {
        match seen {
            Seen::Invoked(op) if op.f == F::Acquire => {
                if let Some(client) = op.client()
                    && let Some(key) = self.keys.get_mut(&op.key)
                {
                    self.open.insert(client, key.highest_before(op.invoked));
                }
            }
            Seen::Ended(op, end) if op.f == F::Acquire => {
                let Some(client) = op.client() else { return };
                match end.details.fence.filter(|_| end.kind == Kind::Ok) {
                    Some(fence) => self.granted(op, client, end, fence),
                    None => {
                        self.open.remove(&client);
                    }
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
