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
//! `build.rs` compiles this file with rustc alone, and lockproof carries the result:
//! a package of its own would be a second file to install, and to lose. So there is
//! no crate to ask for the system's numbers, and no standard library, which would
//! bring 300 kB and its own demands on the server's process. Of that process it
//! needs `getenv` and `syscall`, which every libc has.
//!
//! A server that has just been loaded also asks the kernel to die with the harness. It
//! could be asked for between fork and exec, as other children are; but fork copies the
//! tables of all memory that a search has, for each of thousands of servers, and whoever
//! starts without it (posix_spawn) has no such moment.
//!
//! It tells the page that it reads it. A server that did not load the library (one
//! that is linked statically, or for another machine) is known by that.

#![cfg_attr(not(test), no_std)]

use core::ffi::{CStr, c_char, c_int, c_long, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

#[cfg(not(test))]
#[path = "../src/clock/layout.rs"]
#[allow(dead_code)] // the writer's half of the file
mod layout;
#[cfg(test)]
use super::layout;

use layout::{HARNESS, Line, Page, VARIABLE};

/// The kernel's numbers, which are the same for every libc.
mod kernel {
    use core::ffi::{c_int, c_long};

    #[cfg(target_arch = "x86_64")]
    mod call {
        pub const OPENAT: i64 = 257;
        pub const CLOSE: i64 = 3;
        pub const LSEEK: i64 = 8;
        pub const MMAP: i64 = 9;
        pub const CLOCK_GETTIME: i64 = 228;
        pub const KILL: i64 = 62;
        pub const GETPPID: i64 = 110;
        pub const PRCTL: i64 = 157;
        pub const EXIT_GROUP: i64 = 231;
    }
    // Architectures that came later share one table.
    #[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
    mod call {
        pub const OPENAT: i64 = 56;
        pub const CLOSE: i64 = 57;
        pub const LSEEK: i64 = 62;
        pub const MMAP: i64 = 222;
        pub const CLOCK_GETTIME: i64 = 113;
        pub const KILL: i64 = 129;
        pub const GETPPID: i64 = 173;
        pub const PRCTL: i64 = 167;
        pub const EXIT_GROUP: i64 = 94;
    }
    #[cfg(not(any(
        target_arch = "x86_64",
        target_arch = "aarch64",
        target_arch = "riscv64"
    )))]
    compile_error!("the clock library has no system call numbers for this architecture");

    pub use call::*;

    pub const AT_FDCWD: c_long = -100;
    pub const O_RDWR: c_long = 0o2;
    pub const O_CLOEXEC: c_long = 0o2_000_000;
    pub const SEEK_END: c_long = 2;
    pub const PROT_READ: c_long = 1;
    pub const PROT_WRITE: c_long = 2;
    pub const MAP_SHARED: c_long = 1;
    pub const PR_SET_PDEATHSIG: c_long = 1;
    pub const SIGKILL: c_long = 9;
    pub const CLOCK_REALTIME: c_int = 0;
    pub const CLOCK_MONOTONIC: c_int = 1;
    pub const CLOCK_REALTIME_COARSE: c_int = 5;

    #[repr(C)]
    pub struct Timespec {
        pub s: i64,
        pub ns: i64,
    }

    #[repr(C)]
    pub struct Timeval {
        pub s: i64,
        pub us: i64,
    }
}

use kernel::{Timespec, Timeval};

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn syscall(number: c_long, ...) -> c_long;
}

/// Nothing here panics; a library without the standard one must say what would be.
#[cfg(not(test))]
#[panic_handler]
fn never(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// What the dynamic loader calls before the server's own first line.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static LOADED: extern "C" fn() = die_with_harness;

/// A child of the harness asks to be killed when that ends. Others do not: what a wrapper
/// around a server starts dies with the wrapper's process group.
#[cfg_attr(test, allow(dead_code))]
extern "C" fn die_with_harness() {
    // SAFETY: as in `map_page`; and what getenv gives is NUL-terminated.
    let harness = unsafe {
        let value = getenv(HARNESS.as_ptr());
        if value.is_null() {
            return;
        }
        number(CStr::from_ptr(value))
    };
    let Some(harness) = harness else { return };
    const ZERO: c_long = 0;
    // SAFETY: plain system calls with arguments as wide as a register.
    unsafe {
        if syscall(kernel::GETPPID) == harness {
            let (set, signal) = (kernel::PR_SET_PDEATHSIG, kernel::SIGKILL);
            syscall(kernel::PRCTL, set, signal, ZERO, ZERO, ZERO);
        }
        // It may have ended before the line above, and nobody would send a signal.
        if syscall(kernel::KILL, harness, ZERO) != 0 {
            syscall(kernel::EXIT_GROUP, 1 as c_long);
        }
    }
}

/// A process id in decimal digits.
fn number(text: &CStr) -> Option<c_long> {
    let mut number: c_long = 0;
    for digit in text.to_bytes() {
        let digit = c_long::from(digit.wrapping_sub(b'0'));
        if digit > 9 || number > 1 << 24 {
            return None;
        }
        number = number * 10 + digit;
    }
    (number > 0).then_some(number)
}

/// Not asked yet: null. Asked in vain: [`NO_PAGE`]. Else the mapped page.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(ptr::null_mut());

/// A pointer that is no page: odd, so never the address of a mapping.
const NO_PAGE: *mut Page = ptr::without_provenance_mut(1);

const NS_PER_S: i64 = 1_000_000_000;

fn page() -> Option<&'static Page> {
    let mut found = PAGE.load(Ordering::Acquire);
    if found.is_null() {
        // Two threads may both map it; that costs one spare mapping, once.
        found = map_page(VARIABLE);
        PAGE.store(found, Ordering::Release);
    }
    if found == NO_PAGE {
        return None;
    }
    // SAFETY: a mapping of at least one Page, never unmapped, and every field of
    // a Page is an atomic.
    Some(unsafe { &*found })
}

/// Maps the file that this variable names, and tells a page that it has a reader.
fn map_page(variable: &CStr) -> *mut Page {
    // SAFETY: getenv takes a NUL-terminated name. Nothing in a server changes
    // the environment while it asks for the time.
    let path = unsafe { getenv(variable.as_ptr()) };
    if path.is_null() {
        return NO_PAGE;
    }
    const ZERO: c_long = 0;
    // SAFETY: plain system calls; each result is checked before it is used, and
    // every argument is as wide as a register (syscall is variadic: a narrower
    // one leaves the upper half of its slot undefined). A file that is shorter
    // than a Page would fault when read, so its length is asked for first.
    let page = unsafe {
        let file = syscall(
            kernel::OPENAT,
            kernel::AT_FDCWD,
            path,
            kernel::O_RDWR | kernel::O_CLOEXEC,
            ZERO,
        );
        if file < 0 {
            return NO_PAGE;
        }
        let length = syscall(kernel::LSEEK, file, ZERO, kernel::SEEK_END);
        let mapped = if length < size_of::<Page>() as c_long {
            -1
        } else {
            syscall(
                kernel::MMAP,
                ptr::null_mut::<c_void>(),
                size_of::<Page>(),
                kernel::PROT_READ | kernel::PROT_WRITE,
                kernel::MAP_SHARED,
                file,
                ZERO,
            )
        };
        syscall(kernel::CLOSE, file);
        if mapped == -1 {
            return NO_PAGE;
        }
        ptr::with_exposed_provenance_mut::<Page>(mapped as usize)
    };
    // SAFETY: as in `page`.
    unsafe { &*page }.say_it_is_read();
    page
}

/// The kernel's own answer, past every interposed function.
fn true_clock(clock: c_int, out: *mut Timespec) -> c_int {
    // SAFETY: the kernel checks both arguments and answers EFAULT or EINVAL.
    unsafe { syscall(kernel::CLOCK_GETTIME, c_long::from(clock), out) as c_int }
}

fn true_ns(clock: c_int) -> i64 {
    let mut now = Timespec { s: 0, ns: 0 };
    true_clock(clock, &mut now);
    now.s.wrapping_mul(NS_PER_S).wrapping_add(now.ns)
}

/// What this process's wall clock shows, in ns since 1970.
fn shown_ns() -> i64 {
    match page().and_then(Page::read) {
        Some(line) => Line::at(&line, true_ns(kernel::CLOCK_MONOTONIC)),
        None => true_ns(kernel::CLOCK_REALTIME),
    }
}

/// Takes the place of libc's.
///
/// # Safety
/// As for libc's: `out` points to a `timespec`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn clock_gettime(clock: c_int, out: *mut Timespec) -> c_int {
    let wall = clock == kernel::CLOCK_REALTIME || clock == kernel::CLOCK_REALTIME_COARSE;
    if !wall || out.is_null() {
        return true_clock(clock, out);
    }
    let shown = shown_ns();
    // SAFETY: not null, and the caller's promise.
    unsafe {
        (*out).s = shown.div_euclid(NS_PER_S);
        (*out).ns = shown.rem_euclid(NS_PER_S);
    }
    0
}

/// Takes the place of libc's. The time zone argument is obsolete and ignored.
///
/// # Safety
/// As for libc's: `out` is null or points to a `timeval`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn gettimeofday(out: *mut Timeval, _zone: *mut c_void) -> c_int {
    if !out.is_null() {
        let shown = shown_ns();
        // SAFETY: not null, and the caller's promise.
        unsafe {
            (*out).s = shown.div_euclid(NS_PER_S);
            (*out).us = shown.rem_euclid(NS_PER_S) / 1_000;
        }
    }
    0
}

/// Takes the place of libc's.
///
/// # Safety
/// As for libc's: `out` is null or points to a `time_t`.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn time(out: *mut i64) -> i64 {
    let shown = shown_ns().div_euclid(NS_PER_S);
    if !out.is_null() {
        // SAFETY: not null, and the caller's promise.
        unsafe { *out = shown };
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_numbers_are_those_of_the_system() {
        let own = [
            kernel::OPENAT,
            kernel::CLOSE,
            kernel::LSEEK,
            kernel::MMAP,
            kernel::CLOCK_GETTIME,
            kernel::KILL,
            kernel::GETPPID,
            kernel::PRCTL,
            kernel::EXIT_GROUP,
            kernel::PR_SET_PDEATHSIG,
            kernel::SIGKILL,
            kernel::AT_FDCWD,
            kernel::O_RDWR,
            kernel::O_CLOEXEC,
            kernel::SEEK_END,
            kernel::PROT_READ,
            kernel::PROT_WRITE,
            kernel::MAP_SHARED,
            kernel::CLOCK_REALTIME.into(),
            kernel::CLOCK_MONOTONIC.into(),
            kernel::CLOCK_REALTIME_COARSE.into(),
        ];
        let libc = [
            libc::SYS_openat,
            libc::SYS_close,
            libc::SYS_lseek,
            libc::SYS_mmap,
            libc::SYS_clock_gettime,
            libc::SYS_kill,
            libc::SYS_getppid,
            libc::SYS_prctl,
            libc::SYS_exit_group,
            libc::PR_SET_PDEATHSIG.into(),
            libc::SIGKILL.into(),
            libc::AT_FDCWD.into(),
            libc::O_RDWR.into(),
            libc::O_CLOEXEC.into(),
            libc::SEEK_END.into(),
            libc::PROT_READ.into(),
            libc::PROT_WRITE.into(),
            libc::MAP_SHARED.into(),
            libc::CLOCK_REALTIME.into(),
            libc::CLOCK_MONOTONIC.into(),
            libc::CLOCK_REALTIME_COARSE.into(),
        ];
        assert_eq!(own, libc);
        assert_eq!(size_of::<Timespec>(), size_of::<libc::timespec>());
        assert_eq!(size_of::<Timeval>(), size_of::<libc::timeval>());
        assert_eq!(size_of::<i64>(), size_of::<libc::time_t>());
    }

    #[test]
    fn a_process_id_is_read_and_nothing_else() {
        for (text, read) in [
            (c"1", Some(1)),
            (c"4194304", Some(4_194_304)),
            (c"0", None),
            (c"", None),
            (c"-1", None),
            (c"12x", None),
            (c"99999999999999999999", None),
        ] {
            assert_eq!(number(text), read, "{text:?}");
        }
    }

    /// These tests' process has no page.
    #[test]
    fn a_clock_without_a_page_stays_true() {
        let truth = true_ns(kernel::CLOCK_REALTIME) / NS_PER_S;
        let (mut fine, mut coarse) = (Timespec { s: 0, ns: 0 }, Timeval { s: 0, us: 0 });
        // SAFETY: both point to values of the right shape, and null is allowed.
        let seconds = unsafe {
            assert_eq!(clock_gettime(kernel::CLOCK_REALTIME, &mut fine), 0);
            assert_eq!(gettimeofday(&mut coarse, ptr::null_mut()), 0);
            time(ptr::null_mut())
        };
        // The machine's clock may be corrected while this runs, but not by hours.
        for shown in [fine.s, coarse.s, seconds] {
            assert!((shown - truth).abs() < 3_600, "{shown} is not {truth}");
        }
    }
}
