//! The handle of Redisson's lock with its watchdog: one entry for each lock in a map of the
//! process, a timer that renews each third of the lease.
//!
//! Redisson sends commands without waiting and goes on when the reply is there, on threads of
//! its network library. Here the thread that sends also goes on: between a command and what
//! follows its reply all other threads may do as much as they like, so no order is lost.

mod documented;
mod one_task;
mod repaired;
mod scenes;

use std::sync::Arc;

use crate::event::{Field, Value};
use crate::handles::{Guard, Guards, HandleInfo, Variant};

/// The hash's field: the client's id and the thread's number; without the guard `thread-id`
/// the client's id alone.
fn value(thread: u8, guards: Guards) -> Value {
    match guards.has("thread-id") {
        true => Value::thread(thread),
        false => Value {
            thread,
            field: Field::Client,
        },
    }
}

/// The guards of the repaired handle.
const GUARDS: &[Guard] = &[
    Guard {
        id: "newest-counts",
        meaning: "an acquire that found the key free replaces the entry that it finds in the map, and its timer",
    },
    Guard {
        id: "own-unlock",
        meaning: "an unlock takes only the entry of its own hold out of the map",
    },
    Guard {
        id: "own-reply",
        meaning: "what the server answers to a renewal counts only for the hold that it was sent for",
    },
    Guard {
        id: "last-unlock",
        meaning: "only the last unlock of a nested hold ends the renewal",
    },
    Guard {
        id: "thread-id",
        meaning: "the hash's field names the thread beside the client",
    },
    Guard {
        id: "compare",
        meaning: "a renewal extends the key only if it has the thread's field, in one script",
    },
    Guard {
        id: "third",
        meaning: "the timer fires each third of the lease, and not once a lease",
    },
    Guard {
        id: "cancel",
        meaning: "the entry's timer is cancelled when the entry leaves the map",
    },
];

/// The handle, as lists show it.
pub(crate) const INFO: HandleInfo = HandleInfo {
    id: "redisson-watchdog",
    about: "Redisson's lock: a map of the process has an entry for each lock with the threads that hold it, and a timer renews each third of the lease",
    variants: &[
        Variant {
            id: "documented",
            about: "with a map of renewals, an entry for each lock",
            make: |world, _| Arc::new(documented::Documented::new(world)),
        },
        Variant {
            id: "one-task",
            about: "with one task for the renewals of all locks",
            make: |world, _| Arc::new(one_task::OneTask::new(world)),
        },
        Variant {
            id: "repaired",
            about: "an entry belongs to one hold, and who changes it says to which",
            make: |world, guards| Arc::new(repaired::Repaired::new(world, guards)),
        },
    ],
    scenes: scenes::SCENES,
    guards: GUARDS,
};
