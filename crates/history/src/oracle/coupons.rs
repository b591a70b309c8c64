//! Coupons: not more are taken than there were, and none twice.
//!
//! A take of unknown outcome counts as taken in one possible world and as not taken in
//! the other; which coupon it would have been is not known, so it is no evidence
//! of one that went twice. Against the final count it counts for nothing: two
//! takes of one coupon leave the same number as one. So both are asked, how many
//! there were at the start and how many are gone: neither knows what the other
//! knows. Without `setup` there is nothing to compare with but the takes
//! themselves.

use crate::record::F;
use crate::seen::{Completion, Seen};
use crate::{Finding, Kind};

use super::Oracle;
use super::tally::Tally;
use crate::runs::Runs;

pub(super) const NAME: &str = "coupons";

/// What was left at the end, and how many takes had been acknowledged before that
/// was read.
struct Left {
    left: i64,
    time: u64,
    line: u64,
    before: u64,
}

#[derive(Default)]
pub(super) struct Coupons {
    tally: Tally,
    now: u64,
    /// How many there were at the start.
    stock: Option<i64>,
    /// What was left before each acknowledged take.
    read: Runs,
    /// Time and line of the take of the highest of these.
    highest: Option<(i64, u64, u64)>,
    taken: u64,
    perhaps: u64,
    /// How many were taken before now, and before the final read that is going on.
    before: u64,
    reading: Option<u64>,
    last: Option<Left>,
    /// Time and line of the last take.
    ended: (u64, u64),
}

impl Coupons {
    fn took(&mut self, end: &Completion<'_>) {
        self.tally.checked += 1;
        self.ended = (end.time, end.line);
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
        } else {
            self.highest = self.highest.max(Some((read, end.time, end.line)));
        }
    }

    fn setup(&mut self, coupons: Option<i64>) {
        self.stock = coupons.or(self.stock);
    }

    /// What the start and the end say.
    fn compare(&mut self, stock: i64) {
        let beyond = self.read.above(stock);
        if let Some((read, time, line)) = self.highest.filter(|_| beyond > 0) {
            let words = || format!("a coupon was taken when {read} were left, of {stock}");
            self.tally.sure(time, &[line], words);
            self.tally.sure += beyond - 1;
        }
        // So there is nothing more to say of takes that were acknowledged: if each
        // took another one of the stock, they are not more than there were.
        let (taken, perhaps) = (self.taken, self.perhaps);
        let ((time, line), stock) = (self.ended, i128::from(stock));
        let all = i128::from(taken) + i128::from(perhaps);
        if all > stock {
            self.tally.possible(time, &[line], || {
                format!("{taken} of {stock} coupons were taken, and perhaps {perhaps} more")
            });
        }
        let oversold = i128::from(taken) - stock;
        self.tally.figure("oversold", oversold.max(0) as f64);
        self.compare_last(stock);
    }

    fn compare_last(&mut self, stock: i128) {
        let taken = self.taken;
        let Some(last) = &self.last else {
            if taken > 0 {
                let words = || "the history ends without a read of the coupons left".into();
                self.tally.possible(self.ended.0, &[], words);
            }
            return;
        };
        let (time, line, before) = (last.time, last.line, last.before);
        // More than were there at the start are none that were not taken.
        let gone = (stock - i128::from(last.left)).max(0);
        let told = i128::from(self.tally.sure);
        let (surely, all) = (i128::from(before) - gone, i128::from(taken) - gone);
        if surely > told {
            self.tally.sure(time, &[line], || {
                format!("{before} takes were acknowledged, {gone} coupons are gone")
            });
            // A count of takes, which has 64 bits.
            self.tally.sure += (surely - told) as u64 - 1;
        } else if all > told {
            self.tally.possible(time, &[line], || {
                format!(
                    "{taken} takes were acknowledged, not all of them before the count, when {gone} coupons were gone"
                )
            });
        }
    }
}

impl Oracle for Coupons {
    fn see(&mut self, seen: &Seen<'_>) {
        if seen.time() > self.now {
            self.now = seen.time();
            self.before = self.taken;
        }
        match seen {
            Seen::Invoked(op) if op.f == F::FinalCoupons => self.reading = Some(self.before),
            Seen::Ended(op, end) if op.f == F::Take && end.kind != Kind::Fail => self.took(end),
            Seen::Ended(op, end) if op.f == F::FinalCoupons => {
                let before = self.reading.take().unwrap_or(self.before);
                let left = end.details.rare().and_then(|rare| rare.left);
                if let Some(left) = left.filter(|_| end.kind == Kind::Ok) {
                    self.last = Some(Left {
                        left,
                        time: end.time,
                        line: end.line,
                        before,
                    });
                }
            }
            Seen::Noted(record) if record.f == F::Setup => {
                self.setup(record.details.rare().and_then(|rare| rare.coupons));
            }
            _ => {}
        }
    }

    fn finish(mut self: Box<Self>, examples: usize) -> Finding {
        if self.tally.checked > 0 {
            if let Some(stock) = self.stock {
                self.compare(stock);
            }
            self.tally.figure("taken", self.taken as f64);
            self.tally.figure("taken_perhaps", self.perhaps as f64);
        }
        self.tally.finish(NAME, examples, "no client took a coupon")
    }
}
