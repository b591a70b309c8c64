//! The handle of a document's `RedisDistributedLock`: counts per thread, a stop flag that all
//! locks share, renewal threads.
//!
//! A renewal thread works for a moment and sleeps for long. Asleep it is a timer, and awake
//! it is whatever thread lets the timer fire: another one than the callers', so they can
//! come between its steps. Two renewals that wake in one tick come one after the other. A
//! thread of its own for each was tried first: falling asleep and waking up then are races
//! with the clock, in thousands of orders that all come to the same.

mod documented;
mod repaired;
mod scenes;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use loom::sync::Mutex;

use crate::event::{Key, Value};
use crate::handles::{Guard, HandleInfo, Variant};

/// How often a renewal renews: `persistentExpireTimes`.
const TIMES: u32 = 4;

/// A volatile boolean of Java, whose reads and writes are sequentially consistent. loom takes
/// `SeqCst` for something weaker, and would report stale reads that no JVM makes. So it is a
/// boolean under a mutex.
#[derive(Default)]
struct Flag(Mutex<bool>);

impl Flag {
    fn get(&self) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, on: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = on;
    }
}

/// Renewals that sleep: what each has on its stack, by number. Nothing else touches it, and
/// its turns follow each other, so loom need not see it.
struct Renewals<R>(std::sync::Mutex<BTreeMap<u8, R>>);

impl<R> Default for Renewals<R> {
    fn default() -> Self {
        Renewals(std::sync::Mutex::default())
    }
}

impl<R> Renewals<R> {
    fn put(&self, id: u8, renewal: R) {
        let mut asleep = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asleep.insert(id, renewal);
    }

    fn take(&self, id: u8) -> Option<R> {
        let mut asleep = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asleep.remove(&id)
    }
}

/// What the repaired handle remembers of a hold.
struct Hold {
    count: u32,
    value: Value,
    flag: Arc<Flag>,
}

type Holds = BTreeMap<Key, Hold>;

loom::thread_local! {
    /// `REFS`: how often this thread has each lock.
    static COUNTS: RefCell<BTreeMap<Key, i32>> = RefCell::new(BTreeMap::new());
    static HOLDS: RefCell<Holds> = RefCell::new(Holds::new());
}

/// Counts up or down; an entry at 0 is no entry.
fn counted(counts: &mut BTreeMap<Key, i32>, key: Key, by: i32) -> i32 {
    let count = counts.get(&key).copied().unwrap_or_default() + by;
    match count {
        0 => counts.remove(&key),
        count => counts.insert(key, count),
    };
    count
}

/// The guards of the repaired handle.
const GUARDS: &[Guard] = &[
    Guard {
        id: "own-flag",
        meaning: "each hold has a stop flag of its own",
    },
    Guard {
        id: "token",
        meaning: "each acquire writes a token of its own, and not the thread's id",
    },
    Guard {
        id: "compare",
        meaning: "a renewal extends the key only if it has the hold's value, in one script",
    },
    Guard {
        id: "third",
        meaning: "a renewal wakes three times in a lease, and not once",
    },
    Guard {
        id: "until-unlock",
        meaning: "a renewal goes on until the unlock, and not four times",
    },
    Guard {
        id: "ask-again",
        meaning: "a nested lock asks the server whether the key is still the thread's",
    },
    Guard {
        id: "own-counts",
        meaning: "holds are counted for each thread",
    },
];

/// The handle, as lists show it.
pub(crate) const INFO: HandleInfo = HandleInfo {
    id: "threadlocal-reentrant",
    about: "a document's RedisDistributedLock: holds counted per thread, one stop flag for all locks of the client, a renewal thread that wakes once a lease, four times at most",
    variants: &[
        Variant {
            id: "documented",
            about: "as the document prints it",
            make: |world, _| Arc::new(documented::Documented::new(world)),
        },
        Variant {
            id: "repaired",
            about: "with seven guards more",
            make: |world, guards| Arc::new(repaired::Repaired::new(world, guards)),
        },
    ],
    scenes: scenes::SCENES,
    guards: GUARDS,
};
