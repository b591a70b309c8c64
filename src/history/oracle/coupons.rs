//! Coupons: not more are taken than there were, and none twice.
//!
//! A take of unknown outcome counts as taken in one reading and as not taken in
//! the other; which coupon it would have been is not known, so it is no evidence
//! of one that went twice.

use crate::history::operations::{End, Seen};
use crate::history::record::F;
use crate::history::{Finding, Kind};

use super::Oracle;
use super::tally::Tally;
use crate::history::runs::Runs;

pub(super) const NAME: &str = "coupons";

#[derive(Default)]
pub(super) struct Coupons {
    tally: Tally,
    /// How many there were at the start.
    stock: Option<i64>,
    /// What was left before each acknowledged take.
    read: Runs,
    taken: u64,
    perhaps: u64,
    /// What was left at the end, with time and line.
    left: Option<(i64, u64, u64)>,
    last: (u64, u64),
}

impl Coupons {
    fn took(&mut self, end: &End<'_>) {
        self.tally.checked += 1;
        self.last = (end.time, end.line);
        if end.kind == Kind::Info {
            self.perhaps += 1;
            return;
        }
        self.taken += 1;
        let Some(read) = end.details.read else { return };
        if read <= 0 {
            self.tally.sure(end.time, &[end.line], || {
                format!("a coupon was taken when {read} were left")
            });
        } else if !self.read.insert(read) {
            self.tally.sure(end.time, &[end.line], || {
                format!("the coupon that leaves {} was taken twice", read - 1)
            });
        }
    }

    /// More takes than coupons, where the numbers that were read do not show it.
    fn oversold(&mut self, stock: i64) {
        let (end, line) = self.left.map_or(self.last, |(_, time, line)| (time, line));
        let left = self.left.map_or(0, |(left, ..)| left);
        let gone = i128::from(stock) - i128::from(left);
        let excess = i128::from(self.taken) - gone;
        let (taken, perhaps) = (self.taken, self.perhaps);
        let told = self.tally.sure;
        if let Ok(excess) = u64::try_from(excess)
            && excess > told
        {
            self.tally.sure(end, &[line], || {
                format!("{taken} takes were acknowledged, {gone} coupons are gone")
            });
            self.tally.sure += excess - told - 1;
        } else if self.left.is_none() && i128::from(taken) + i128::from(perhaps) > gone {
            self.tally.possible(end, &[line], || {
                format!("{taken} of {stock} coupons were taken, and perhaps {perhaps} more")
            });
        }
        let oversold = i128::from(taken) - i128::from(stock);
        self.tally.figure("oversold", oversold.max(0) as f64);
    }
}

impl Oracle for Coupons {
    fn see(&mut self, seen: &Seen<'_>) {
        match seen {
            Seen::Ended(op, end) if op.f == F::Take && end.kind != Kind::Fail => self.took(end),
            Seen::Ended(op, end) if op.f == F::FinalCoupons && end.kind == Kind::Ok => {
                let left = end.details.rare().and_then(|rare| rare.left);
                self.left = left.map(|left| (left, end.time, end.line));
            }
            Seen::Noted(record) if record.f == F::Setup => {
                self.stock = record.details.rare().and_then(|rare| rare.coupons);
            }
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>, examples: usize) -> Finding {
        if self.tally.checked > 0 {
            if let Some(stock) = self.stock {
                self.oversold(stock);
            }
            self.tally.figure("taken", self.taken as f64);
            self.tally.figure("taken_perhaps", self.perhaps as f64);
        }
        self.tally.finish(NAME, examples, "no client took a coupon")
    }
}
