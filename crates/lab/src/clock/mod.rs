//! A wall clock for one server, which the harness freezes, moves and bends.
//!
//! A replay must decide what time it is on each server, to the millisecond:
//! otherwise every TTL is a race against the machine's scheduler, and a clock
//! jump cannot be had at all. So every server is started with the clock library
//! (`shim/lib.rs`; see [`Library`]) in LD_PRELOAD and reads its time of day from a
//! page that a [`ServerClock`] writes.
//!
//! Rejected: moving the machine's clock (hits everybody on the machine), a time
//! namespace (has no offset for the time of day), libfaketime (hangs Debian's
//! redis-server in the start of its allocator), and waiting for real TTLs (slow
//! and never exact).
//!
//! Only the time of day is replaced. Timers of the server's event loop run on
//! the monotonic clock and stay true, so a frozen server still answers. What a
//! server does by wall-clock seconds stands still with it: the fsync of
//! `appendfsync everysec`, the time-outs of a replication link.

pub mod layout;
mod library;
// Compiled by build.rs for the servers, and here for its tests and lints.
#[cfg(test)]
#[path = "../../shim/lib.rs"]
mod shim;

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use layout::{Line, Page, TRUE_RATE};
pub use library::Library;

const NS_PER_MS: i64 = 1_000_000;

/// Why a server cannot have a clock of its own.
#[derive(Debug, thiserror::Error)]
pub enum ClockError {
    /// The library cannot be put where a server finds it.
    #[error("failed to put the clock library into memory (memfd_create): {0}")]
    Library(io::Error),
    /// The page's file cannot be made or mapped.
    #[error("failed to set up the clock file {path}: {source}; check the directory's free space")]
    Page {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// One server's wall clock. Starts by showing true time.
///
/// Moves are seen by the server at its next look at the clock; some servers
/// cache it, so go on only after
/// [`Server::sync_clock`](super::server::Server::sync_clock).
#[derive(Debug)]
pub struct ServerClock {
    path: PathBuf,
    page: Mapping,
    /// One writer at a time, as the page demands.
    line: Mutex<Line>,
}

impl ServerClock {
    /// Makes the page's file, which is to be new, and starts the clock at true time.
    pub fn create(path: &Path) -> Result<ServerClock, ClockError> {
        let page = Mapping::create(path).map_err(|source| ClockError::Page {
            path: path.to_owned(),
            source,
        })?;
        let line = Line {
            anchor_ns: clock_ns(libc::CLOCK_MONOTONIC),
            shown_ns: clock_ns(libc::CLOCK_REALTIME),
            rate_millionths: TRUE_RATE,
        };
        page.get().publish(line);
        Ok(ServerClock {
            path: path.to_owned(),
            page,
            line: Mutex::new(line),
        })
    }

    /// The page's file, for the shim's environment variable [`layout::VARIABLE`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if the server that was started last reads this clock.
    pub fn is_read(&self) -> bool {
        self.page.get().is_read()
    }

    /// To be called before a server is started on this clock.
    pub fn forget_reader(&self) {
        self.page.get().forget_reader();
    }

    /// What the clock shows now, in ns since 1970.
    pub fn now_ns(&self) -> i64 {
        self.with(|line, monotonic| line.at(monotonic))
    }

    /// What the clock shows now, in whole ms since 1970.
    pub fn now_ms(&self) -> i64 {
        self.now_ns().div_euclid(NS_PER_MS)
    }

    /// True if the clock stands still.
    pub fn is_frozen(&self) -> bool {
        self.with(|line, _| line.rate_millionths == 0)
    }

    /// Stops the clock at exactly this time, in ms since 1970.
    pub fn freeze_at(&self, ms: i64) {
        self.change(|line, _| {
            line.shown_ns = ms.saturating_mul(NS_PER_MS);
            line.rate_millionths = 0;
        });
    }

    /// Stops the clock where it stands.
    pub fn freeze(&self) {
        self.change(|line, _| line.rate_millionths = 0);
    }

    /// Moves the clock forward by this many ms; a frozen one stays frozen.
    pub fn advance(&self, ms: u32) {
        self.jump(i64::from(ms));
    }

    /// Sets the clock off by this many ms, forward or (negative) back; its rate
    /// stays as it is.
    pub fn jump(&self, ms: i64) {
        self.change(|line, _| {
            line.shown_ns = line.shown_ns.saturating_add(ms.saturating_mul(NS_PER_MS));
        });
    }

    /// Lets the clock run on from where it stands, at this many times true
    /// speed. Negative and non-finite rates count as 0.
    pub fn rate(&self, rate: f64) {
        let millionths = (rate * TRUE_RATE as f64).round();
        self.change(|line, _| {
            // `as` saturates and turns NaN into 0.
            line.rate_millionths = millionths.clamp(0.0, 1e15) as i64;
        });
    }

    /// Lets the clock run on from where it stands, at true speed.
    pub fn run(&self) {
        self.rate(1.0);
    }

    /// Sets the clock right: it shows true time and runs at true speed.
    pub fn correct(&self) {
        self.change(|line, _| {
            line.shown_ns = clock_ns(libc::CLOCK_REALTIME);
            line.rate_millionths = TRUE_RATE;
        });
    }

    fn with<T>(&self, read: impl FnOnce(&Line, i64) -> T) -> T {
        let line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        read(&line, clock_ns(libc::CLOCK_MONOTONIC))
    }

    /// Re-anchors the line at the present, changes it there and publishes it.
    fn change(&self, change: impl FnOnce(&mut Line, i64)) {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        let now = clock_ns(libc::CLOCK_MONOTONIC);
        line.shown_ns = line.at(now);
        line.anchor_ns = now;
        change(&mut line, now);
        self.page.get().publish(*line);
    }
}

fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec. Both clocks used here exist on every
    // Linux, so the call cannot fail.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// The page's file, mapped and writable.
#[derive(Debug)]
struct Mapping(NonNull<Page>);

// SAFETY: every field of a Page is an atomic; the mapping belongs to this value.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn create(path: &Path) -> io::Result<Mapping> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(path)?;
        file.set_len(size_of::<Page>() as u64)?;
        // SAFETY: a fresh mapping at an address of the kernel's choice; the file
        // is as long as a Page, and zeros are a valid Page. The mapping outlives
        // the descriptor.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Page>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        NonNull::new(mapped.cast())
            .map(Mapping)
            .ok_or_else(|| io::Error::other("mmap gave address 0"))
    }

    fn get(&self) -> &Page {
        // SAFETY: mapped until drop, aligned to a memory page, all atomics.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly what `create` mapped; no reference outlives self.
        unsafe { libc::munmap(self.0.as_ptr().cast(), size_of::<Page>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> (tempfile::TempDir, ServerClock) {
        let dir = tempfile::tempdir().unwrap();
        let clock = ServerClock::create(&dir.path().join("clock")).unwrap();
        (dir, clock)
    }

    #[test]
    fn a_frozen_clock_shows_exactly_what_was_set() {
        let (_dir, clock) = clock();
        clock.freeze_at(1_700_000_000_123);
        assert_eq!(clock.now_ns(), 1_700_000_000_123_000_000);
        clock.advance(877);
        assert_eq!(clock.now_ms(), 1_700_000_001_000);
        clock.jump(-1_000);
        assert_eq!(clock.now_ms(), 1_700_000_000_000);
        assert!(clock.is_frozen());
    }

    #[test]
    fn a_thawed_clock_goes_on_from_where_it_stood() {
        let (_dir, clock) = clock();
        clock.freeze_at(5_000);
        clock.run();
        let first = clock.now_ns();
        assert!(first >= 5_000 * NS_PER_MS);
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(clock.now_ns() >= first + 2 * NS_PER_MS);
    }

    #[test]
    fn a_line_runs_at_its_rate() {
        let line = Line {
            anchor_ns: 100,
            shown_ns: 1_000,
            rate_millionths: 2 * TRUE_RATE,
        };
        assert_eq!(line.at(150), 1_100);
        assert_eq!(line.at(50), 900);
    }

    #[test]
    fn an_unpublished_page_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let mapping = Mapping::create(&dir.path().join("page")).unwrap();
        assert_eq!(mapping.get().read(), None);
    }

    #[test]
    fn a_page_knows_whether_it_is_read() {
        let (_dir, clock) = clock();
        assert!(!clock.is_read());
        clock.page.get().say_it_is_read();
        assert!(clock.is_read());
        clock.forget_reader();
        assert!(!clock.is_read());
        // Nothing is written into a file that is no page.
        let dir = tempfile::tempdir().unwrap();
        let other = Mapping::create(&dir.path().join("other")).unwrap();
        other.get().say_it_is_read();
        assert!(!other.get().is_read());
    }
}
