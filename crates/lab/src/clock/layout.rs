//! The page that a harness and a server's clock shim share.
//!
//! This one file is compiled twice: into lockproof, which writes the page, and
//! into the shim (`shim/lib.rs` includes it by path), which reads it inside the
//! server. So there is no second description that could drift from it.
//!
//! A clock is one straight line: what it shows is `shown` plus the monotonic
//! time since `anchor`, times a rate. Frozen is rate 0, a jump moves `shown`, a
//! drift is another rate. A mode field with a case for each of them was
//! rejected: this has nothing to get out of step.
//!
//! The line is anchored at the monotonic clock and not at the wall clock, so
//! that an NTP step of the machine moves no server's clock during a run.
//!
//! The writer fills the slot that nobody reads and then publishes it by one
//! store of the generation. A plain seqlock was rejected: with that, a writer
//! that is killed halfway would leave the server spinning for ever.

use core::ffi::CStr;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering, fence};

/// First word of the page ("LPCLOCK1"), so that a wrong file is not believed.
pub const MAGIC: u64 = u64::from_le_bytes(*b"LPCLOCK1");

/// The environment variable that names the page's file to the shim.
pub const VARIABLE: &CStr = c"LOCKPROOF_CLOCK";

/// The environment variable with the process id of the harness. A server that is its
/// child asks the kernel to be killed when the harness ends.
pub const HARNESS: &CStr = c"LOCKPROOF_HARNESS";

/// The rate of a clock that keeps true time, in millionths.
pub const TRUE_RATE: i64 = 1_000_000;

/// The shared page. A zeroed file is a page that nobody has published yet.
#[repr(C)]
pub struct Page {
    magic: AtomicU64,
    generation: AtomicU64,
    slots: [Slot; 2],
    /// Written by the reader alone: [`MAGIC`] once it has the page.
    read: AtomicU64,
}

#[repr(C)]
struct Slot {
    anchor_ns: AtomicI64,
    shown_ns: AtomicI64,
    rate_millionths: AtomicI64,
}

/// What a clock shows, as a function of the monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Monotonic time, in ns, at which the clock shows `shown_ns`.
    pub anchor_ns: i64,
    /// Nanoseconds since 1970.
    pub shown_ns: i64,
    /// Nanoseconds shown for each million that pass; 0 is a frozen clock.
    pub rate_millionths: i64,
}

impl Line {
    /// What the clock shows, in ns since 1970, at this monotonic time.
    pub fn at(&self, monotonic_ns: i64) -> i64 {
        let passed = i128::from(monotonic_ns) - i128::from(self.anchor_ns);
        let shown = i128::from(self.shown_ns)
            + (passed * i128::from(self.rate_millionths)).div_euclid(i128::from(TRUE_RATE));
        // Saturates instead of panicking: the shim has nobody to report to.
        shown.clamp(0, i128::from(i64::MAX)) as i64
    }
}

impl Page {
    /// Publishes a line. There must be only one writer at a time.
    pub fn publish(&self, line: Line) {
        let next = self.generation.load(Ordering::Relaxed).wrapping_add(1);
        let slot = &self.slots[(next & 1) as usize];
        slot.anchor_ns.store(line.anchor_ns, Ordering::Relaxed);
        slot.shown_ns.store(line.shown_ns, Ordering::Relaxed);
        slot.rate_millionths
            .store(line.rate_millionths, Ordering::Relaxed);
        self.generation.store(next, Ordering::Release);
        self.magic.store(MAGIC, Ordering::Release);
    }

    /// Says that a server reads this page, if it is one.
    pub fn say_it_is_read(&self) {
        if self.magic.load(Ordering::Acquire) == MAGIC {
            self.read.store(MAGIC, Ordering::Release);
        }
    }

    /// True if a server has said that it reads this page.
    pub fn is_read(&self) -> bool {
        self.read.load(Ordering::Acquire) == MAGIC
    }

    /// Before a server starts: nobody reads this page yet.
    pub fn forget_reader(&self) {
        self.read.store(0, Ordering::Release);
    }

    /// The published line, or `None` if this is no page or nothing was published.
    pub fn read(&self) -> Option<Line> {
        if self.magic.load(Ordering::Acquire) != MAGIC {
            return None;
        }
        loop {
            let generation = self.generation.load(Ordering::Acquire);
            let slot = &self.slots[(generation & 1) as usize];
            let line = Line {
                anchor_ns: slot.anchor_ns.load(Ordering::Relaxed),
                shown_ns: slot.shown_ns.load(Ordering::Relaxed),
                rate_millionths: slot.rate_millionths.load(Ordering::Relaxed),
            };
            // The slot is rewritten only after a newer generation was
            // published, so an unchanged generation proves an untorn read.
            fence(Ordering::Acquire);
            if self.generation.load(Ordering::Relaxed) == generation {
                return Some(line);
            }
        }
    }
}
