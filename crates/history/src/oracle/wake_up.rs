//! Wake-up: from a release to the success of a client that was waiting.
//!
//! Figures, no verdict: what is too long depends on the lock. A sample begins
//! when a release is acknowledged and ends with the key's next successful
//! acquire, if that was called before the release was acknowledged; a newcomer
//! who comes first makes it no sample.

use rustc_hash::FxHashMap;

use crate::record::F;
use crate::seen::Seen;
use crate::{Finding, FindingVerdict, Kind};

use super::Oracle;
use super::tally::Tally;

pub(super) const NAME: &str = "wake-up";

/// Steps in which a power of two is divided: 1.6 per cent at most.
const STEPS: u32 = 64;

#[derive(Default)]
pub(super) struct WakeUp {
    /// The last release of each key, in ns.
    free_since: FxHashMap<usize, u64>,
    /// How many samples fell into each bucket.
    buckets: Vec<u64>,
    samples: u64,
    max_ns: u64,
}

/// The bucket of a time; a bucket's upper end is at most 1/64 above its lower.
fn bucket(ns: u64) -> usize {
    let power = ns.max(1).ilog2();
    let step = match power.checked_sub(STEPS.ilog2()) {
        Some(shift) => (ns >> shift) - u64::from(STEPS),
        None => return ns as usize,
    };
    (u64::from((power - STEPS.ilog2() + 1) * STEPS) + step) as usize
}

/// The smallest time in a bucket, in ns.
fn lower(bucket: usize) -> u64 {
    let (power, step) = (
        bucket as u64 / u64::from(STEPS),
        bucket as u64 % u64::from(STEPS),
    );
    match power {
        0 => step,
        power => (u64::from(STEPS) + step) << (power - 1),
    }
}

impl WakeUp {
    fn sample(&mut self, ns: u64) {
        let bucket = bucket(ns);
        if self.buckets.len() <= bucket {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.samples += 1;
        self.max_ns = self.max_ns.max(ns);
    }

    /// The time that so many per cent of the samples did not exceed, in ms.
    fn percentile_ms(&self, percent: u64) -> f64 {
        let rank = (self.samples * percent).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return lower(bucket) as f64 / 1e6;
            }
        }
        0.0
    }
}

impl Oracle for WakeUp {
    fn see(&mut self, seen: &Seen<'_>) {
        let Seen::Ended(op, end) = seen else { return };
        if end.kind != Kind::Ok || op.client().is_none() {
            return;
        }
        match op.f {
            F::Release => {
                self.free_since.insert(op.key, end.time);
            }
            F::Acquire => {
                let free = self.free_since.remove(&op.key);
                if let Some(free) = free.filter(|free| op.invoked < *free) {
                    self.sample(end.time - free);
                }
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, examples: usize) -> Finding {
        let mut tally = Tally::default();
        if self.samples > 0 {
            tally.figure("samples", self.samples as f64);
            tally.figure("median_ms", self.percentile_ms(50));
            tally.figure("p99_ms", self.percentile_ms(99));
            tally.figure("max_ms", self.max_ns as f64 / 1e6);
        }
        let nothing = match self.samples {
            0 => "no client that was waiting got the lock after a release",
            _ => "figures only: no bound is judged",
        };
        let finding = tally.finish(NAME, examples, nothing);
        Finding {
            verdict: FindingVerdict::NotApplicable,
            checked: self.samples,
            ..finding
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_narrow_and_holds_what_falls_into_it() {
        for ns in (0..5_000).chain([1 << 40, (1 << 40) + 12_345, u64::MAX]) {
            let low = lower(bucket(ns));
            assert!(low <= ns && ns - low <= ns / 64, "{ns}: {low}");
        }
    }
}
