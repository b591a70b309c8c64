//! Mutual exclusion as the guarded counter saw it.
//!
//! With fences: no write is accepted whose fence is older than that of a write
//! that was accepted before it was sent. Without: no update is lost. Clients
//! read, add one and write, so a value that was acknowledged twice is a lost
//! update, whoever else did what; and so is what the final value falls short of.
//!
//! "Before" means acknowledged before the other was sent. Of writes that overlap
//! in time nobody knows the order, and the lock gets the benefit.
//!
//! A write of unknown outcome was accepted in one possible world, by the time at which
//! it ended. A final read accuses none of them: what it does not show was not
//! written. Whether acknowledged writes lasted that ended during the final read,
//! or after it, or without one, nobody has looked.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::record::F;
use crate::seen::{Completion, Op, Seen};
use crate::{Finding, Kind, Process};

use super::Oracle;
use super::tally::Tally;
use crate::runs::Runs;

pub(super) const NAME: &str = "mutual-exclusion-effect";

/// A fence, and the line of the write that carried it.
type Fence = (i64, u64);

/// The newest fences that writes had before some time.
#[derive(Clone, Copy, Default)]
struct Newest {
    /// Of those that were acknowledged.
    sure: Option<Fence>,
    /// Of those of unknown outcome.
    perhaps: Option<Fence>,
}

impl Newest {
    fn max(self, other: Newest) -> Newest {
        Newest {
            sure: self.sure.max(other.sure),
            perhaps: self.perhaps.max(other.perhaps),
        }
    }
}

/// How many writes without a fence were acknowledged, and how many of them wrote
/// what another had written.
#[derive(Clone, Copy, Default)]
struct Count {
    acknowledged: u64,
    twice: u64,
}

/// The counter's value at the end, and what was acknowledged before that was read.
struct Last {
    value: i64,
    time: u64,
    line: u64,
    before: Count,
}

#[derive(Default)]
pub(super) struct Effect {
    tally: Tally,
    now: u64,
    /// Of the writes that ended before now.
    newest: Newest,
    /// Of those that ended just now.
    fresh: Newest,
    /// For each open write, of those that ended before it.
    open: FxHashMap<Process, Newest>,
    /// Values that acknowledged writes without a fence wrote.
    wrote: Runs,
    /// Values that writes of unknown outcome wrote, perhaps.
    perhaps: FxHashSet<i64>,
    count: Count,
    /// The same before now, and before the final read that is going on.
    before: Count,
    reading: Option<Count>,
    start: i64,
    last: Option<Last>,
}

impl Effect {
    fn fenced(&mut self, op: &Op, end: &Completion<'_>, fence: i64) {
        let before = self.open.remove(&op.process).unwrap_or_default();
        self.tally.checked += 1;
        let sure = end.kind == Kind::Ok;
        let own = Some((fence, end.line));
        self.fresh = self.fresh.max(match sure {
            true => Newest {
                sure: own,
                perhaps: None,
            },
            false => Newest {
                sure: None,
                perhaps: own,
            },
        });
        let newer = |other: Option<Fence>| other.filter(|(newer, _)| *newer > fence);
        let Some((newer, line)) = newer(before.sure).or(newer(before.perhaps)) else {
            return;
        };
        let lines = [op.line, line];
        let words = |how: &str| {
            format!("a write with fence {fence} {how} after one with fence {newer} (line {line})")
        };
        let known = before.sure.is_some_and(|(newer, _)| newer > fence);
        match (sure, known) {
            (true, true) => self.tally.sure(end.time, &lines, || words("was accepted")),
            (true, false) => self
                .tally
                .possible(end.time, &lines, || words("was accepted, perhaps")),
            _ => self
                .tally
                .possible(end.time, &lines, || words("may have been accepted")),
        }
    }

    fn unfenced(&mut self, op: &Op, end: &Completion<'_>, wrote: i64) {
        self.tally.checked += 1;
        let lines = [op.line];
        if end.kind != Kind::Ok {
            if self.wrote.contains(wrote) || !self.perhaps.insert(wrote) {
                let words = || format!("a write of {wrote}, which another wrote too, may count");
                self.tally.possible(end.time, &lines, words);
            }
            return;
        }
        self.count.acknowledged += 1;
        if !self.wrote.insert(wrote) {
            self.count.twice += 1;
            let words = || {
                format!(
                    "a second write of {wrote} was acknowledged: one of the two updates is lost"
                )
            };
            self.tally.sure(end.time, &lines, words);
        } else if self.perhaps.contains(&wrote) {
            let words = || format!("{wrote} was acknowledged; another write of it may count");
            self.tally.possible(end.time, &lines, words);
        }
    }

    fn write_ended(&mut self, op: &Op, end: &Completion<'_>) {
        if end.kind == Kind::Fail {
            self.open.remove(&op.process);
            return;
        }
        match (op.details.fence, op.details.wrote) {
            (Some(fence), _) => self.fenced(op, end, fence),
            (None, Some(wrote)) => self.unfenced(op, end, wrote),
            (None, None) => {}
        }
    }

    /// What the final value says about updates without a fence.
    fn shortfall(&mut self) {
        let all = self.count;
        let Some(last) = &self.last else {
            let words = || "the history ends without a read of the final counter".into();
            return self.tally.possible(self.now, &[], words);
        };
        // A counter that went down has lost no more than was written.
        let gained = (i128::from(last.value) - i128::from(self.start)).max(0);
        let missing = |count: Count| {
            let missing = i128::from(count.acknowledged) - gained - i128::from(count.twice);
            u64::try_from(missing).unwrap_or_default()
        };
        let (surely, perhaps) = (missing(last.before), missing(all));
        let (time, lines) = (last.time, [last.line]);
        if surely > 0 {
            let acknowledged = last.before.acknowledged;
            self.tally.sure(time, &lines, || {
                format!("{acknowledged} updates were acknowledged, the counter gained {gained}")
            });
            self.tally.sure += surely - 1;
        } else if perhaps > 0 {
            self.tally.possible(time, &lines, || {
                format!(
                    "{} updates were acknowledged, not all of them before the counter was read, which had gained {gained}",
                    all.acknowledged
                )
            });
        }
    }
}

impl Oracle for Effect {
    fn see(&mut self, seen: &Seen<'_>) {
        if seen.time() > self.now {
            self.now = seen.time();
            self.newest = self.newest.max(std::mem::take(&mut self.fresh));
            self.before = self.count;
        }
        match seen {
            Seen::Invoked(op) if op.f == F::Write && op.details.fence.is_some() => {
                self.open.insert(op.process, self.newest);
            }
            Seen::Invoked(op) if op.f == F::FinalCounter => self.reading = Some(self.before),
            Seen::Ended(op, end) if op.f == F::Write => self.write_ended(op, end),
            Seen::Ended(op, end) if op.f == F::FinalCounter => {
                let before = self.reading.take().unwrap_or(self.before);
                if let Some(value) = end.details.value.filter(|_| end.kind == Kind::Ok) {
                    self.last = Some(Last {
                        value,
                        time: end.time,
                        line: end.line,
                        before,
                    });
                }
            }
            Seen::Noted(record) if record.f == F::Setup => {
                let start = record.details.rare().and_then(|rare| rare.counter);
                self.start = start.unwrap_or(self.start);
            }
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>, examples: usize) -> Finding {
        if self.count.acknowledged > 0 {
            self.shortfall();
            let lost = self.tally.sure as f64;
            let acknowledged = self.count.acknowledged as f64;
            self.tally.figure("acknowledged", acknowledged);
            self.tally.figure("lost", lost);
        }
        self.tally
            .finish(NAME, examples, "no client wrote to the guarded counter")
    }
}
