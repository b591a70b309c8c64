//! A clock of its own for one server process, loaded by LD_PRELOAD.
//!
//! It answers `clock_gettime` (the real-time clocks only), `gettimeofday` and
//! `time` from a page that the harness maps too and moves at will. Monotonic
//! clocks stay true: a server's event loop must keep turning while the time of
//! day that its leases are counted in stands still.
//!
//! Everything here runs inside a foreign process, possibly before its allocator
//! is up (a general-purpose fake clock that allocates hangs redis-server 7.0 in
//! jemalloc's start). Hence: raw system calls, no allocation, no locks, no
//! panics, and the page is mapped on the first call, not in a constructor.
//!
//! If the page cannot be had the clock stays true. That is no silent hole: the
//! harness asks the server for its TIME before it goes on.

use core::ffi::{c_char, c_int, c_long, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

#[path = "../../src/replay/clock/layout.rs"]
#[allow(dead_code)] // the writer's half of the file
mod layout;

use layout::{Line, Page};

/// Not asked yet: null. Asked in vain: [`NO_PAGE`]. Else the mapped page.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());

/// A pointer that is no page: odd, so never the address of a mapping.
const NO_PAGE: *mut Page = ptr::without_provenance_mut(1);

/// NUL-terminated spelling of [`layout::VARIABLE`] (a test compares them).
const VARIABLE: &core::ffi::CStr = c"LOCKPROOF_CLOCK";

const NS_PER_S: i64 = 1_000_000_000;

fn page() -> Option<&'static Page> {
    let mut found = PAGE.load(Ordering::Acquire);
    if found.is_null() {
        // Two threads may both map it; that costs one spare mapping, once.
        found = map_page();
        PAGE.store(found, Ordering::Release);
    }
    if found == NO_PAGE {
        return None;
    }
    // SAFETY: a mapping of at least one Page, never unmapped, and every field of
    // a Page is an atomic.
    Some(unsafe { &*found })
}

fn map_page() -> *mut Page {
    // SAFETY: getenv takes a NUL-terminated name. Nothing in a server changes
    // the environment while it asks for the time.
    let path: *const c_char = unsafe { libc::getenv(VARIABLE.as_ptr()) };
    if path.is_null() {
        return NO_PAGE;
    }
    const ZERO: c_long = 0;
    // SAFETY: plain system calls; each result is checked before it is used, and
    // every argument is as wide as a register (syscall is variadic: a narrower
    // one leaves the upper half of its slot undefined). A file that is shorter
    // than a Page would fault when read, so its length is asked for first.
    unsafe {
        let file = libc::syscall(
            libc::SYS_openat,
            c_long::from(libc::AT_FDCWD),
            path,
            c_long::from(libc::O_RDONLY | libc::O_CLOEXEC),
            ZERO,
        );
        if file < 0 {
            return NO_PAGE;
        }
        let length = libc::syscall(libc::SYS_lseek, file, ZERO, c_long::from(libc::SEEK_END));
        let mapped = if length < size_of::<Page>() as c_long {
            -1
        } else {
            libc::syscall(
                libc::SYS_mmap,
                ptr::null_mut::<c_void>(),
                size_of::<Page>(),
                c_long::from(libc::PROT_READ),
                c_long::from(libc::MAP_SHARED),
                file,
                ZERO,
            )
        };
        libc::syscall(libc::SYS_close, file);
        if mapped == -1 {
            return NO_PAGE;
        }
        ptr::with_exposed_provenance_mut(mapped as usize)
    }
}

/// The kernel's own answer, past every interposed function.
fn true_clock(clock: libc::clockid_t, out: *mut libc::timespec) -> c_int {
    // SAFETY: the kernel checks both arguments and answers EFAULT or EINVAL.
    unsafe { libc::syscall(libc::SYS_clock_gettime, c_long::from(clock), out) as c_int }
}

fn true_ns(clock: libc::clockid_t) -> i64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    true_clock(clock, &mut now);
    now.tv_sec.wrapping_mul(NS_PER_S).wrapping_add(now.tv_nsec)
}

/// What this process's wall clock shows, in ns since 1970.
fn shown_ns() -> i64 {
    match page().and_then(Page::read) {
        Some(line) => Line::at(&line, true_ns(libc::CLOCK_MONOTONIC)),
        None => true_ns(libc::CLOCK_REALTIME),
    }
}

/// Takes the place of libc's.
///
/// # Safety
/// As for libc's: `out` points to a `timespec`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, out: *mut libc::timespec) -> c_int {
    let wall = clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_REALTIME_COARSE;
    if !wall || out.is_null() {
        return true_clock(clock, out);
    }
    let shown = shown_ns();
    // SAFETY: not null, and the caller's promise.
    unsafe {
        (*out).tv_sec = shown.div_euclid(NS_PER_S);
        (*out).tv_nsec = shown.rem_euclid(NS_PER_S);
    }
    0
}

/// Takes the place of libc's. The time zone argument is obsolete and ignored.
///
/// # Safety
/// As for libc's: `out` is null or points to a `timeval`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn gettimeofday(out: *mut libc::timeval, _zone: *mut c_void) -> c_int {
    if !out.is_null() {
        let shown = shown_ns();
        // SAFETY: not null, and the caller's promise.
        unsafe {
            (*out).tv_sec = shown.div_euclid(NS_PER_S);
            (*out).tv_usec = shown.rem_euclid(NS_PER_S) / 1_000;
        }
    }
    0
}

/// Takes the place of libc's.
///
/// # Safety
/// As for libc's: `out` is null or points to a `time_t`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn time(out: *mut libc::time_t) -> libc::time_t {
    let shown = shown_ns().div_euclid(NS_PER_S);
    if !out.is_null() {
        // SAFETY: not null, and the caller's promise.
        unsafe { *out = shown };
    }
    shown
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_variable_has_one_name() {
        assert_eq!(super::VARIABLE.to_str(), Ok(super::layout::VARIABLE));
    }
}
