//! Real time for a program that reads no clock.
//!
//! Before each input the program is told how much time has passed since the
//! last one, and after each input every thread whose time has come runs. Time
//! comes from the monotonic clock, so the machine's clock being set does not
//! disturb a run; the wall clock is read once, at the start.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use lockproof_model::lock::{Input, View, Waiting};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A client's real clock.
pub(super) struct RealClock {
    started: Instant,
    /// How much of the time since then the program knows of, in ms.
    told_ms: i64,
    draws: ChaCha8Rng,
}

impl RealClock {
    /// Starts now. `seed` decides the program's random draws.
    pub fn start(seed: u64) -> Self {
        Self {
            started: Instant::now(),
            told_ms: 0,
            draws: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// The time that the program does not know of yet, as an input. Taking it
    /// means telling it.
    pub fn passed(&mut self) -> Option<Input> {
        let now_ms = self.started.elapsed().as_millis() as i64;
        let ms = now_ms - self.told_ms;
        self.told_ms = now_ms;
        (ms > 0).then_some(Input::Advance { ms })
    }

    /// What lets the next thread run whose time has come.
    pub fn next_run(&mut self, view: &View) -> Option<Input> {
        view.threads
            .iter()
            .find_map(|(thread, waiting)| match waiting {
                Waiting::TimedOut { .. } | Waiting::Ready => Some(Input::Wake { thread: *thread }),
                Waiting::Choice { options } => Some(Input::Choose {
                    thread: *thread,
                    value: self.draws.random_range(1..=(*options).max(1)),
                }),
                _ => None,
            })
    }

    /// When the next thread's time comes.
    pub fn due(&self, view: &View) -> Option<Instant> {
        let left_ms = view
            .threads
            .iter()
            .filter_map(|(_, waiting)| match waiting {
                Waiting::Reply { timeout_ms, .. } => Some(*timeout_ms),
                Waiting::Sleep { left_ms } | Waiting::Message { left_ms } => Some(*left_ms),
                _ => None,
            });
        let at_ms = left_ms.min()?.saturating_add(self.told_ms).max(0);
        Some(self.started + Duration::from_millis(at_ms as u64))
    }
}

/// The machine's wall clock in ms since 1970.
pub(super) fn wall_clock_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |passed| passed.as_millis() as i64)
}

/// Waits until `due`, or for ever.
pub(super) async fn wait(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}
