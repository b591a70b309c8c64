//! The oracles: one file a question.
//!
//! All follow one rule. A *possible world* of a history says of each operation with an
//! unknown outcome whether it took effect. "Violated" means: in every one
//! of them. "Unknown": in some. "Not observed": in none. Where operations
//! overlap in time, their order is chosen in the lock's favour; an acquire of
//! unknown outcome is taken for a hold as wide as it can have been.
//!
//! So an oracle has two counts, sure and possible, and no operation is dropped
//! because nobody saw how it ended.

mod clients;
mod coupons;
mod deadlock_freedom;
mod effect;
mod exclusion;
mod fence_monotonicity;
mod holds;
mod honest_outcome;
mod lost_updates;
mod lottery;
mod no_orphan;
mod owner_only;
mod tally;
mod top;
mod wake_up;

use super::seen::Seen;
use super::{Finding, Header};

/// A question to a history.
pub(super) trait Oracle {
    /// The next thing that happened, in order of time.
    fn see(&mut self, seen: &Seen<'_>);
    /// The answer, with at most so many examples.
    fn finish(self: Box<Self>, examples: usize) -> Finding;
}

/// Their names, in the order in which they answer.
pub const ORACLES: [&str; 12] = [
    exclusion::BELIEF,
    exclusion::VALIDITY,
    effect::NAME,
    coupons::NAME,
    lottery::NAME,
    lost_updates::NAME,
    owner_only::NAME,
    no_orphan::NAME,
    deadlock_freedom::NAME,
    fence_monotonicity::NAME,
    honest_outcome::NAME,
    wake_up::NAME,
];

/// All of them, for a history with this header.
pub(super) fn all(header: &Header) -> Vec<Box<dyn Oracle>> {
    vec![
        Box::new(exclusion::Exclusion::new(exclusion::BELIEF, header)),
        Box::new(exclusion::Exclusion::new(exclusion::VALIDITY, header)),
        Box::new(effect::Effect::default()),
        Box::new(coupons::Coupons::default()),
        Box::new(lottery::Lottery::new(header)),
        Box::new(lost_updates::LostUpdates::default()),
        Box::new(owner_only::OwnerOnly::new(header)),
        Box::new(no_orphan::NoOrphan::new(header)),
        Box::new(deadlock_freedom::DeadlockFreedom::new(header)),
        Box::new(fence_monotonicity::FenceMonotonicity::default()),
        Box::new(honest_outcome::HonestOutcome::new(header)),
        Box::new(wake_up::WakeUp::default()),
    ]
}
