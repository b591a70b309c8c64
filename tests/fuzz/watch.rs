//! What a hunt cannot see of itself: an input that never ends, one that fills the
//! memory, one that ends the process.
//!
//! An input is made again from its number, so a number is all that has to be told.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant};

use crate::hunt::Hunt;

/// An input may take this much of a processor's time. The slowest of a target takes some ms.
const LONGEST: Duration = Duration::from_secs(20);

/// And this long by the clock, for one that waits and takes no processor.
const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// All hunts of this process together may use this much more than they begin with.
const BYTES_MAX: u64 = 2 << 30;

/// Where a hunt is.
pub struct Slot {
    hunt: Hunt,
    number: AtomicU64,
    /// As [`now_ms`]; 0 between two inputs.
    begun_ms: AtomicU64,
}

static SLOTS: Mutex<Vec<&'static Slot>> = Mutex::new(Vec::new());
static START: Once = Once::new();
thread_local! {
    static MINE: Cell<Option<&'static Slot>> = const { Cell::new(None) };
}

/// What all hunts together have had of the processors: hunts run at the lowest priority, and
/// on a busy machine an input may wait for minutes.
fn now_ms() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as u64 * 1000 + time.tv_nsec as u64 / 1_000_000 + 1
}

impl Slot {
    /// From now on this thread's hunt is watched.
    pub fn new(hunt: Hunt) -> &'static Slot {
        START.call_once(|| {
            catch_aborts();
            std::thread::spawn(watch);
        });
        // One for each target: there is no need to free it.
        let slot: &'static Slot = Box::leak(Box::new(Slot {
            hunt,
            number: AtomicU64::new(0),
            begun_ms: AtomicU64::new(0),
        }));
        SLOTS.lock().expect("nobody panics with it").push(slot);
        MINE.set(Some(slot));
        slot
    }

    pub fn begins(&self, number: u64) {
        self.number.store(number, Ordering::Relaxed);
        self.begun_ms.store(now_ms(), Ordering::Release);
    }

    pub fn ended(&self) {
        self.begun_ms.store(0, Ordering::Release);
    }

    /// The input has run for longer than `most` at `now_ms`.
    fn overdue(&self, now_ms: u64, most: Duration) -> bool {
        let begun = self.begun_ms.load(Ordering::Acquire);
        begun > 0 && now_ms.saturating_sub(begun) > most.as_millis() as u64
    }

    fn tell(&self, what: &str) {
        let number = self.number.load(Ordering::Relaxed);
        eprintln!("{what}: {}", self.hunt.again(number));
    }
}

fn watch() {
    let least = resident_bytes();
    let mut waiting = BTreeMap::new();
    loop {
        std::thread::sleep(Duration::from_millis(50));
        let now = now_ms();
        let slots = SLOTS.lock().expect("nobody panics with it").clone();
        let late: Vec<_> = slots
            .iter()
            .filter(|slot| slot.overdue(now, LONGEST) || waits(slot, &mut waiting))
            .collect();
        let full = resident_bytes() > least + BYTES_MAX;
        for slot in &late {
            slot.tell("an input takes too long");
        }
        for slot in slots
            .iter()
            .filter(|slot| full && slot.overdue(now, Duration::ZERO))
        {
            slot.tell("more than 2 GiB of memory, in one of these");
        }
        if full || !late.is_empty() {
            std::process::exit(101);
        }
    }
}

/// The same input has been under way for too long by the clock.
fn waits(slot: &Slot, waiting: &mut BTreeMap<&'static str, (u64, Instant)>) -> bool {
    let begun = slot.begun_ms.load(Ordering::Acquire);
    let since = waiting
        .entry(slot.hunt.target.name)
        .or_insert((begun, Instant::now()));
    if since.0 != begun {
        *since = (begun, Instant::now());
    }
    begun > 0 && since.1.elapsed() > LONGEST_WAIT
}

/// What the process has in memory.
fn resident_bytes() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}

/// A stack that overflows ends in an abort, which no hunt can catch; it can be told
/// where it was.
fn catch_aborts() {
    extern "C" fn aborted(_: libc::c_int) {
        if let Some(slot) = MINE.get() {
            let number = slot.number.load(Ordering::Relaxed);
            say("\naborted in the input ");
            let mut digits = [0; 20];
            say(decimal(number, &mut digits));
            say(" of ");
            say(slot.hunt.target.name);
            say("; FUZZ_NUMBER writes it\n");
        }
    }
    // Nothing but a write to standard error: no memory, no locks.
    fn say(text: &str) {
        unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    }
    let handler = aborted as extern "C" fn(libc::c_int) as libc::sighandler_t;
    unsafe { libc::signal(libc::SIGABRT, handler) };
}

fn decimal(mut number: u64, digits: &mut [u8; 20]) -> &str {
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 || at == 0 {
            return std::str::from_utf8(&digits[at..]).unwrap_or("?");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_without_end_is_overdue_and_a_pause_between_two_is_not() {
        let slot = Slot {
            hunt: Hunt::of("trace"),
            number: AtomicU64::new(7),
            begun_ms: AtomicU64::new(0),
        };
        assert!(!slot.overdue(1_000_000, LONGEST));
        slot.begins(7);
        let begun = slot.begun_ms.load(Ordering::Acquire);
        assert!(!slot.overdue(begun + LONGEST.as_millis() as u64, LONGEST));
        assert!(slot.overdue(begun + LONGEST.as_millis() as u64 + 1, LONGEST));
        slot.ended();
        assert!(!slot.overdue(u64::MAX, LONGEST));
    }

    #[test]
    fn numbers_are_told_without_memory() {
        let mut digits = [0; 20];
        for number in [0, 7, 1234, u64::MAX] {
            assert_eq!(decimal(number, &mut digits), number.to_string());
        }
    }
}
