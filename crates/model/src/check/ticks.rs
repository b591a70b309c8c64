//! The tick of a check, chosen from the lock's own durations.
//!
//! Sleeps, time-outs and the lives of keys end at ticks, so the tick must divide
//! all of them. Where the usual one does not, the lease is cut into finer ticks. If
//! that takes too many of them the usual tick stays, and what is rounded is unknown.
//! The lease itself stays: a shorter one would be another question.

use std::sync::Arc;

use crate::lock::LockFile;

use super::{CheckError, CheckOptions, Checker, ExploreOptions, Guard, ShouldStop, Sizes};

/// Most ticks into which a lease is cut, on one server and on several: their states
/// multiply.
const TICKS_MAX: [i64; 2] = [60, 12];

/// The least tick, in ms.
const TICK_MIN: i64 = 10;

/// What somebody has chosen already.
#[derive(Clone, Copy, Debug, Default)]
pub struct Chosen {
    /// The lease's number of ticks.
    pub ttl_ticks: bool,
    /// The tick's ms.
    pub tick_ms: bool,
}

impl Sizes {
    /// These sizes, with a tick that divides what the lock lets end. Told to stop, it
    /// leaves them as they are.
    pub fn fitted(self, file: &LockFile, chosen: Chosen, should_stop: &ShouldStop) -> Sizes {
        if chosen.tick_ms {
            return self;
        }
        // What cannot be closed is refused by the check itself, which says why.
        let bound = file.told_within;
        let mut unbound = file.clone();
        unbound.told_within = None;
        let Ok(mut used) = self.durations(&unbound, should_stop) else {
            return self;
        };
        let lease = f64::from(self.ttl_ticks) * self.tick_ms as f64;
        used.extend(bound.map(|leases| (leases * lease).round() as i64));
        if chosen.ttl_ticks || used.iter().all(|ms| ms % self.tick_ms == 0) {
            return self;
        }
        self.finer(&used).unwrap_or(self)
    }

    /// The same lease in more ticks.
    fn finer(&self, used: &[i64]) -> Option<Sizes> {
        let lease = i64::from(self.ttl_ticks) * self.tick_ms;
        let tick_ms = used.iter().fold(self.tick_ms, |a, b| gcd(a, *b));
        let ticks = lease / tick_ms.max(1);
        let most = TICKS_MAX[usize::from(self.nodes > 1)];
        if tick_ms < TICK_MIN || ticks > most {
            return None;
        }
        let part = u8::try_from(self.tick_ms / tick_ms).ok()?;
        Some(Sizes {
            tick_ms,
            ttl_ticks: u8::try_from(ticks).ok()?,
            timeout_ticks: self.timeout_ticks.map(|ticks| ticks.saturating_mul(part)),
            ..self.clone()
        })
    }

    /// Durations, in ms, after which the lock lets something end when no fault
    /// strikes.
    fn durations(&self, file: &LockFile, should_stop: &ShouldStop) -> Result<Vec<i64>, CheckError> {
        let options = CheckOptions {
            sizes: self.clone(),
            properties: Vec::new(),
            explore: ExploreOptions {
                should_stop: Arc::clone(should_stop),
                ..ExploreOptions::default()
            },
            guard: Guard::usual(0),
            timed: false,
        };
        let tables = Checker::new(file, options)?.tables(&[])?;
        let used = tables.closure.durations.iter();
        Ok(used.map(|duration| duration.ms).collect())
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    match b {
        0 => a.abs(),
        b => gcd(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(acquire: &str) -> (i64, u8) {
        let text = format!(
            "return {{ acquire = function(lock) {acquire} return busy() end,\n\
             release = function(lock) end }}"
        );
        let file = LockFile::from_text("my-lock.lua", &text, None).unwrap();
        let never: ShouldStop = Arc::new(|| false);
        let sizes = Sizes::for_file(&file).fitted(&file, Chosen::default(), &never);
        (sizes.tick_ms, sizes.ttl_ticks)
    }

    #[test]
    fn durations_of_whole_ticks_leave_the_tick_as_it_is() {
        assert_eq!(fitted("sleep(2000)"), (1000, 3));
    }

    #[test]
    fn a_lease_is_cut_into_finer_ticks() {
        assert_eq!(fitted("sleep(500)"), (500, 6));
    }

    #[test]
    fn too_fine_a_tick_is_not_taken() {
        assert_eq!(fitted("sleep(50)"), (50, 60));
        assert_eq!(fitted("sleep(40)"), (1000, 3));
    }

    #[test]
    fn what_divides_by_nothing_leaves_the_tick_as_it_is() {
        assert_eq!(fitted("sleep(1001) sleep(2003)"), (1000, 3));
    }
}
