//! What both processes see: a page of shared memory.

use std::io;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Bytes of the text that says what is under way.
const TEXT_BYTES: usize = 256;

/// Only atomics: the other process may be in the middle of anything.
#[repr(C)]
pub(super) struct Page {
    /// Ms for which both were stopped (Ctrl-Z): they count for nothing.
    stopped_ms: AtomicU64,
    /// When what is under way must have ended, in ms of [`Page::now_ms`]; 0 if nothing is.
    end_ms: AtomicU64,
    /// The time that it was given, in ms.
    given_ms: AtomicU64,
    /// When the part of it began that is under way.
    part_ms: AtomicU64,
    /// By when a search of it is to have ended, whose time is a share of the whole; 0 if that has no
    /// shares. What is late is stopped and never killed.
    share_ms: AtomicU64,
    /// Memory is nearly used up: searches are to stop.
    short: AtomicBool,
    length: AtomicUsize,
    text: [AtomicU8; TEXT_BYTES],
}

static PAGE: OnceLock<&'static Page> = OnceLock::new();

/// Maps the page. It stays for as long as either process lives.
pub(super) fn create() -> io::Result<&'static Page> {
    // SAFETY: a fresh mapping at an address of the kernel's choice.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            size_of::<Page>(),
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let page = NonNull::new(mapped.cast::<Page>());
    let page = page.ok_or_else(|| io::Error::other("mmap gave address 0"))?;
    // SAFETY: mapped for good, aligned to a memory page, and zeros are a valid Page.
    let page: &'static Page = unsafe { page.as_ref() };
    Ok(PAGE.get_or_init(|| page))
}

/// Milliseconds of the clock that both processes share.
fn clock_ms() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000
}

impl Page {
    /// Milliseconds for which the processes could have run.
    fn now_ms(&self) -> u64 {
        clock_ms().saturating_sub(self.stopped_ms.load(Ordering::SeqCst))
    }

    /// Does what stops both processes, until they go on.
    pub fn stopped(&self, stop: impl FnOnce()) {
        let begun = clock_ms();
        stop();
        self.stopped_ms
            .fetch_add(clock_ms() - begun, Ordering::SeqCst);
    }

    /// By how many ms what is under way is late.
    pub fn late_ms(&self) -> Option<u64> {
        let end = self.end_ms.load(Ordering::SeqCst);
        let late = self.now_ms().checked_sub(end)?;
        (end != 0).then_some(late)
    }

    /// Seconds that it was given.
    pub fn given(&self) -> f64 {
        self.given_ms.load(Ordering::SeqCst) as f64 / 1000.0
    }

    /// What is under way, or was last.
    pub fn what(&self) -> String {
        let length = self.length.load(Ordering::SeqCst).min(TEXT_BYTES);
        let bytes = self.text[..length].iter();
        let bytes: Vec<u8> = bytes.map(|byte| byte.load(Ordering::SeqCst)).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Tells searches to stop, or that they need not.
    pub fn set_short(&self, short: bool) {
        self.short.store(short, Ordering::SeqCst);
    }

    fn set(&self, bound: &Bound) {
        let length = bound.what.len().min(TEXT_BYTES);
        for (place, byte) in self.text.iter().zip(bound.what.bytes()) {
            place.store(byte, Ordering::SeqCst);
        }
        self.length.store(length, Ordering::SeqCst);
        self.given_ms.store(bound.given_ms, Ordering::SeqCst);
        self.part_ms.store(self.now_ms(), Ordering::SeqCst);
        self.share_ms.store(0, Ordering::SeqCst);
        self.end_ms.store(bound.end_ms, Ordering::SeqCst);
    }

    /// What is left of the time is what it takes to end the part that is under way.
    fn is_nearly_over(&self) -> bool {
        let now = self.now_ms();
        let part = now.saturating_sub(self.part_ms.load(Ordering::Relaxed));
        let end = self.end_ms.load(Ordering::Relaxed);
        let share = self.share_ms.load(Ordering::Relaxed);
        let end = if share == 0 { end } else { end.min(share) };
        end != 0 && now + part / CONCLUDING_TENTHS.1 * CONCLUDING_TENTHS.0 >= end
    }
}

/// Of the time that a search has taken, what it may take to show what was found: 6 of 10.
/// The ways there take about half (`check/explore/trace.rs`).
const CONCLUDING_TENTHS: (u64, u64) = (6, 10);

/// Something that is under way.
struct Bound {
    what: String,
    given_ms: u64,
    end_ms: u64,
}

/// Something that must end in time; it has ended when this value goes, and what was under
/// way before is again.
#[must_use]
pub struct Watched(Option<Bound>);

impl Drop for Watched {
    fn drop(&mut self) {
        if let (Some(page), Some(before)) = (PAGE.get(), &self.0) {
            page.set(before);
        }
    }
}

/// From here on `what` is under way, and must have ended within `time`. What is still
/// under way then is asked to stop ([`must_stop`]), and is killed with the whole process a
/// little later. Only one thread does that.
pub fn watch(time: Duration, what: &str) -> Watched {
    let Some(page) = PAGE.get() else {
        return Watched(None);
    };
    let before = Bound {
        what: page.what(),
        given_ms: page.given_ms.load(Ordering::SeqCst),
        end_ms: page.end_ms.load(Ordering::SeqCst),
    };
    let given_ms = time.as_millis().try_into().unwrap_or(u64::MAX);
    let end_ms = page.now_ms().saturating_add(given_ms);
    // A part has no more time than the whole.
    let whole_is_less = before.end_ms != 0 && before.end_ms < end_ms;
    page.set(&match whole_is_less {
        true => Bound {
            what: before.what.clone(),
            ..before
        },
        false => Bound {
            what: what.to_owned(),
            given_ms,
            end_ms,
        },
    });
    Watched(Some(before))
}

/// A part of what is under way begins, which ends by itself.
pub fn begin_part() {
    if let Some(page) = PAGE.get() {
        page.part_ms.store(page.now_ms(), Ordering::SeqCst);
    }
}

/// What is left of the time is divided among so many searches, and the next one is to stop when it
/// has used up its part. 0 takes that back.
pub fn share(searches: usize) {
    let Some(page) = PAGE.get() else { return };
    let end = page.end_ms.load(Ordering::SeqCst);
    let left = end.saturating_sub(page.now_ms());
    match u64::try_from(searches).unwrap_or(u64::MAX) {
        0 => page.share_ms.store(0, Ordering::SeqCst),
        searches => within(Duration::from_millis(left / searches)),
    }
}

/// The search that is under way is to stop after this time.
pub fn within(time: Duration) {
    if let Some(page) = PAGE.get() {
        let ms = time.as_millis().try_into().unwrap_or(u64::MAX);
        let end = page.now_ms().saturating_add(ms).max(1);
        page.share_ms.store(end, Ordering::SeqCst);
    }
}

/// Searches are to stop: the time of what is under way is just enough to show what they
/// found, or memory is nearly used up.
pub fn must_stop() -> bool {
    let is_over = |page: &&Page| page.short.load(Ordering::Relaxed) || page.is_nearly_over();
    PAGE.get().is_some_and(is_over)
}

/// Everything is to stop: the time of what is under way is over.
pub fn must_give_up() -> bool {
    PAGE.get().is_some_and(|page| page.late_ms().is_some())
}
