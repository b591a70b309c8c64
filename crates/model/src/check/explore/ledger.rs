//! What the workers of one search know together: counts per level, and why to
//! stop.
//!
//! Counts are kept per *level* because that is what makes an unfinished search
//! deterministic. When a worker begins a level, every worker has finished the
//! one before it, so sums over earlier levels are final while totals are not:
//! decisions (too many states, enough violations) read only the former, and all
//! workers decide alike. A single running total would make the answer depend on
//! who was ahead. One mutex is enough: it is taken once a few thousand states.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Goal, Progress, StopReason};
use crate::world::PropertySet;

/// States between two reports within one long level.
const REPORT_EVERY: u64 = 1 << 20;

/// One worker's news since its last [`Ledger::post`].
#[derive(Default)]
pub(super) struct News {
    /// New states of the level after the one that is being expanded.
    pub states: u64,
    pub transitions: u64,
    pub violated: PropertySet,
    pub overflow: u8,
}

/// The sums when the search has ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Totals {
    pub states: u64,
    pub transitions: u64,
    pub depth: u32,
    pub overflow: u8,
    pub stop: Option<StopReason>,
}

#[derive(Default)]
struct Level {
    states: u64,
    transitions: u64,
    violated: PropertySet,
    overflow: u8,
}

#[derive(Default)]
struct Book {
    levels: Vec<Level>,
    /// Sums over the first `closed` levels, which are final.
    closed: usize,
    closed_states: u64,
    closed_transitions: u64,
    closed_violated: PropertySet,
    /// Levels that some worker has begun to expand.
    begun: usize,
    /// Running totals, for the state limit and for reports only.
    states: u64,
    transitions: u64,
    reported: u64,
    /// The level whose states did not fit any more.
    full: Option<usize>,
    stop: Option<StopReason>,
}

/// See the module's essay.
pub(super) struct Ledger {
    book: Mutex<Book>,
    halted: AtomicBool,
    full: AtomicBool,
    states_max: u64,
    goal: Goal,
    properties: PropertySet,
    progress: Box<dyn Fn(Progress) + Send + Sync>,
}

impl Ledger {
    pub fn new(
        states_max: Option<u64>,
        goal: Goal,
        properties: PropertySet,
        progress: Box<dyn Fn(Progress) + Send + Sync>,
    ) -> Ledger {
        Ledger {
            book: Mutex::default(),
            halted: AtomicBool::new(false),
            full: AtomicBool::new(false),
            states_max: states_max.unwrap_or(u64::MAX),
            goal,
            properties,
            progress,
        }
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        // A report that panicked inside the lock has halted the search; the sums
        // are only ever added to, so they are still good.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everybody drops what they are doing.
    pub fn halt(&self, reason: StopReason) {
        self.book().stop.get_or_insert(reason);
        self.halted.store(true, Ordering::SeqCst);
    }

    pub fn halted(&self) -> bool {
        self.halted.load(Ordering::SeqCst)
    }

    /// The limit is passed: no more states are kept, but the present level is
    /// still searched to its end for violations.
    pub fn full(&self) -> bool {
        self.full.load(Ordering::SeqCst)
    }

    /// Adds what a worker did while it expanded `level`. The states are of the
    /// level after it, which is level 0 for `None`.
    pub fn post(&self, level: Option<u32>, news: &mut News) {
        let news = std::mem::take(news);
        let mut book = self.book();
        let next = level.map_or(0, |level| level as usize + 1);
        if book.levels.len() <= next {
            book.levels.resize_with(next + 1, Level::default);
        }
        book.levels[next].states += news.states;
        if let Some(level) = level {
            let level = &mut book.levels[level as usize];
            level.transitions += news.transitions;
            level.violated |= news.violated;
            level.overflow |= news.overflow;
        }
        book.states += news.states;
        book.transitions += news.transitions;
        if book.states > self.states_max && book.full.is_none() {
            book.full = Some(next);
            self.full.store(true, Ordering::SeqCst);
        }
        if book.states - book.reported >= REPORT_EVERY {
            self.report(&mut book, next.saturating_sub(1));
        }
    }

    /// Asks whether to expand `level`, all of whose states are known.
    pub fn begin(&self, level: u32) -> bool {
        if self.halted() {
            return false;
        }
        let level = level as usize;
        let mut book = self.book();
        // A worker that is late may begin the level whose successors did not fit.
        if book.full.is_some_and(|full| full <= level) {
            return false;
        }
        // Mail of nothing but known states leads to a level without states. The
        // search is over then, whether or not somebody had such mail.
        if book.levels.get(level).is_none_or(|level| level.states == 0) {
            return false;
        }
        book.close(level);
        if self.goal_reached(book.closed_violated) {
            drop(book);
            self.halt(StopReason::GoalReached);
            return false;
        }
        if book.begun <= level {
            book.begun = level + 1;
            self.report(&mut book, level);
        }
        true
    }

    fn goal_reached(&self, violated: PropertySet) -> bool {
        match self.goal {
            Goal::Exhaust => false,
            Goal::AnyViolation => violated != 0,
            Goal::AllViolations => self.properties != 0 && violated == self.properties,
        }
    }

    fn report(&self, book: &mut Book, level: usize) {
        book.reported = book.states;
        (self.progress)(Progress {
            states: book.states,
            transitions: book.transitions,
            depth: level as u32,
            frontier: book.levels.get(level).map_or(0, |level| level.states),
            violated: book.closed_violated,
        });
    }

    /// The sums, once no worker is left.
    pub fn totals(&self) -> Totals {
        let mut book = self.book();
        // The level that did not fit depends on how far each worker had come;
        // the levels before it do not.
        let known = book.full.unwrap_or(book.levels.len());
        book.close(known);
        let overflow = book
            .levels
            .iter()
            .fold(0, |all, level| all | level.overflow);
        let stop = book.stop.clone().or_else(|| {
            let limit = book.full.map(|_| StopReason::StateLimit(self.states_max));
            limit.or((overflow != 0).then_some(StopReason::Overflow(overflow)))
        });
        let depth = book.levels[..known]
            .iter()
            .rposition(|level| level.states > 0);
        Totals {
            states: book.closed_states,
            transitions: book.closed_transitions,
            depth: depth.unwrap_or(0) as u32,
            overflow,
            stop,
        }
    }
}

impl Book {
    /// Moves the sums on to the levels before `level`.
    fn close(&mut self, level: usize) {
        let until = level.min(self.levels.len());
        for level in &self.levels[self.closed.min(until)..until] {
            self.closed_states += level.states;
            self.closed_transitions += level.transitions;
            self.closed_violated |= level.violated;
        }
        self.closed = self.closed.max(until);
    }
}
