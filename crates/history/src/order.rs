//! Events in order of time.
//!
//! Processes write to one file from several threads, and a thread may be put to
//! sleep between reading the clock and writing its line. So lines stand a little
//! out of order, and that is no fault of the run: a window mends it. One *client*
//! reads the clock and writes in one thread; if its times go back, the clock is
//! not monotonic and no interval of this history means anything.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::Process;
use super::reader::{Problem, ReadError};
use super::record::Record;

/// How far out of order a line may stand, in ns (one second).
pub const WINDOW_NS: u64 = 1_000_000_000;

/// How many lines are kept back at most to mend the order. In a history that has
/// more in a second the window is shorter accordingly.
pub const WINDOW_LINES: usize = 16_384;

/// Gives back in order of time what was put in almost in order, and all of one time
/// together. Lines with the same time keep the order of the file.
#[derive(Default)]
pub(super) struct Window {
    waiting: VecDeque<Record>,
    /// Time and line of the last event that was given out.
    given: Option<(u64, u64)>,
    /// Time and line of each client's last event.
    lasts: FxHashMap<u32, (u64, u64)>,
}

impl Window {
    /// Takes the next line of the file.
    pub(super) fn put(&mut self, record: Record) -> Result<(), ReadError> {
        if let Process::Client(client) = record.process {
            let last = self.lasts.entry(client).or_default();
            if record.time < last.0 {
                let problem = Problem::Backwards {
                    process: record.process,
                    back_ns: last.0 - record.time,
                    before: last.1,
                };
                return Err(problem.at(record.line));
            }
            *last = (record.time, record.line);
        }
        if let Some((time, before)) = self.given.filter(|(time, _)| record.time <= *time) {
            let back_ns = time - record.time;
            let problem = Problem::OutOfOrder { back_ns, before };
            return Err(problem.at(record.line));
        }
        let later = self.waiting.iter().rev();
        let later = later.take_while(|other| other.time > record.time).count();
        let place = self.waiting.len() - later;
        self.waiting.insert(place, record);
        Ok(())
    }

    /// How many events have the earliest time, if nothing can come any more that is
    /// not later.
    pub(super) fn ready(&self) -> Option<usize> {
        let newest = self.waiting.back()?.time;
        let earliest = self.waiting.front()?.time;
        let over = newest - earliest >= WINDOW_NS || self.waiting.len() > WINDOW_LINES;
        // Time that has not moved on is not over.
        (over && newest > earliest).then(|| self.at_once(earliest))
    }

    /// How many events have the earliest time, whatever may come.
    pub(super) fn rest(&self) -> Option<usize> {
        Some(self.at_once(self.waiting.front()?.time))
    }

    fn at_once(&self, time: u64) -> usize {
        let at_once = self.waiting.iter().take_while(|other| other.time == time);
        at_once.count()
    }

    /// Gives the earliest event out.
    pub(super) fn next(&mut self) -> Option<Record> {
        let record = self.waiting.pop_front()?;
        self.given = Some((record.time, record.line));
        Some(record)
    }
}
