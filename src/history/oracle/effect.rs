//! Mutual exclusion as the guarded counter saw it.
//!
//! With fences: no write is accepted whose fence is older than that of a write
//! that was accepted before it was sent. Without: no update is lost. Clients
//! read, add one and write, so a value that was acknowledged twice is a lost
//! update, whoever else did what; and so is what the final value falls short of.
//!
//! "Before" means acknowledged before the other was sent. Of writes that overlap
//! in time nobody knows the order, and the lock gets the benefit.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::history::operations::{End, Op, Seen};
use crate::history::record::F;
use crate::history::{Finding, Kind, Process};

use super::Oracle;
use super::tally::Tally;
use crate::history::runs::Runs;

pub(super) const NAME: &str = "mutual-exclusion-effect";

/// A fence, and the line of the write that carried it.
type Fence = (i64, u64);

#[derive(Default)]
pub(super) struct Effect {
    tally: Tally,
    now: u64,
    /// The newest fence that was acknowledged before now.
    newest: Option<Fence>,
    /// The newest one of those that were acknowledged just now.
    fresh: Option<Fence>,
    /// For each open write the newest fence that was acknowledged before it.
    open: FxHashMap<Process, Option<Fence>>,
    /// Values that acknowledged writes without a fence wrote.
    wrote: Runs,
    /// Values that writes of unknown outcome wrote, perhaps.
    perhaps: FxHashSet<i64>,
    acknowledged: u64,
    twice: u64,
    start: i64,
    last_value: Option<(i64, u64, u64)>,
}

impl Effect {
    fn fenced(&mut self, op: &Op, end: &End<'_>, fence: i64) {
        let before = self.open.remove(&op.process).flatten();
        self.tally.checked += 1;
        if end.kind == Kind::Ok {
            self.fresh = self.fresh.max(Some((fence, end.line)));
        }
        let Some((newer, line)) = before.filter(|(newer, _)| *newer > fence) else {
            return;
        };
        let lines = [op.line, line];
        let words = |how: &str| {
            format!("a write with fence {fence} {how} after one with fence {newer} (line {line})")
        };
        match end.kind {
            Kind::Ok => self.tally.sure(end.time, &lines, || words("was accepted")),
            _ => self
                .tally
                .possible(end.time, &lines, || words("may have been accepted")),
        }
    }

    fn unfenced(&mut self, op: &Op, end: &End<'_>, wrote: i64) {
        self.tally.checked += 1;
        let lines = [op.line];
        if end.kind != Kind::Ok {
            if self.wrote.contains(wrote) || !self.perhaps.insert(wrote) {
                let words = || format!("a write of {wrote}, which another wrote too, may count");
                self.tally.possible(end.time, &lines, words);
            }
            return;
        }
        self.acknowledged += 1;
        if !self.wrote.insert(wrote) {
            self.twice += 1;
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

    fn write_ended(&mut self, op: &Op, end: &End<'_>) {
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
        let Some((value, time, line)) = self.last_value else {
            return;
        };
        let gained = i128::from(value) - i128::from(self.start);
        let missing = i128::from(self.acknowledged) - gained;
        let Ok(missing) = u64::try_from(missing) else {
            return;
        };
        let more = missing.saturating_sub(self.twice);
        if more > 0 {
            let acknowledged = self.acknowledged;
            self.tally.sure(time, &[line], || {
                format!("{acknowledged} updates were acknowledged, the counter gained {gained}")
            });
            self.tally.sure += more - 1;
        }
    }
}

impl Oracle for Effect {
    fn see(&mut self, seen: &Seen<'_>) {
        if seen.time() > self.now {
            self.now = seen.time();
            self.newest = self.newest.max(self.fresh.take());
        }
        match seen {
            Seen::Invoked(op) if op.f == F::Write && op.details.fence.is_some() => {
                self.open.insert(op.process, self.newest);
            }
            Seen::Ended(op, end) if op.f == F::Write => self.write_ended(op, end),
            Seen::Ended(op, end) if op.f == F::FinalCounter && end.kind == Kind::Ok => {
                let value = end.details.value;
                self.last_value = value.map(|value| (value, end.time, end.line));
            }
            Seen::Noted(record) if record.f == F::Setup => {
                let start = record.details.rare().and_then(|rare| rare.counter);
                self.start = start.unwrap_or_default();
            }
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>, examples: usize) -> Finding {
        if self.acknowledged > 0 {
            self.shortfall();
            let lost = self.tally.sure as f64;
            self.tally.figure("acknowledged", self.acknowledged as f64);
            self.tally.figure("lost", lost);
        }
        self.tally
            .finish(NAME, examples, "no client wrote to the guarded counter")
    }
}
