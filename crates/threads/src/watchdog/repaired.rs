//! Redisson's lock with a map in which an entry belongs to one hold.
//!
//! An acquire that found the key free has a number of its own, and its entry and its timer
//! carry it. Since the server gave the lock away, whatever the map has is old, and the new
//! entry takes its place. An unlock and a renewal's reply name the hold that they are about;
//! if the entry is another's by then, they leave it alone. Each guard can be left out; the
//! tests have the table of what breaks then.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use loom::sync::{Mutex, MutexGuard};

use super::value;
use crate::event::{Key, Thread};
use crate::handles::{Guards, Handle};
use crate::world::{LEASE, Timer, World};

/// Whose hold it is, its number, and its timer.
#[derive(Clone, Copy)]
struct Entry {
    thread: u8,
    hold: u8,
    timer: u8,
}

#[derive(Default)]
struct Entries {
    of: BTreeMap<Key, Entry>,
    /// Holds that got a number.
    holds: u8,
}

pub(crate) struct Repaired {
    world: Arc<World>,
    guards: Guards,
    entries: Mutex<Entries>,
}

impl Repaired {
    pub(crate) fn new(world: Arc<World>, guards: Guards) -> Repaired {
        Repaired {
            world,
            guards,
            entries: Mutex::default(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause(&self) -> u32 {
        if self.guards.has("third") {
            LEASE / 3
        } else {
            LEASE
        }
    }

    /// A hold begins: its entry takes the place of whatever is there.
    fn begin(&self, me: Thread, key: Key, thread: u8) {
        let mut entries = self.entries();
        if let Some(old) = entries.of.get(&key).copied() {
            if !self.guards.has("newest-counts") {
                self.world.note(me, "leaves the entry in the map as it is");
                return;
            }
            self.cancel_timer(me, key, old);
        }
        entries.holds += 1;
        let hold = entries.holds;
        let timer = self.world.schedule(me, Some(key), self.pause(), hold);
        let entry = Entry {
            thread,
            hold,
            timer,
        };
        entries.of.insert(key, entry);
        self.world.note(me, "puts its entry into the map");
    }

    fn cancel_timer(&self, me: Thread, key: Key, entry: Entry) {
        if self.guards.has("cancel") {
            self.world.cancel(me, key, entry.timer);
        }
    }

    /// A hold ends: its entry goes, if the map still has it.
    fn end(&self, me: Thread, key: Key, hold: Option<u8>, guard: &str) {
        let mut entries = self.entries();
        let Some(entry) = entries.of.get(&key).copied() else {
            return;
        };
        if self.guards.has(guard) && hold != Some(entry.hold) {
            self.world.note(me, "leaves another's entry alone");
            return;
        }
        self.cancel_timer(me, key, entry);
        entries.of.remove(&key);
        self.world.note(me, "removes the entry from the map");
    }

    /// The entry of a hold, if the map still has it.
    fn entry(&self, key: Key, is_it: impl Fn(&Entry) -> bool) -> Option<Entry> {
        self.entries().of.get(&key).copied().filter(is_it)
    }
}

impl Handle for Repaired {
    fn lock(&self, me: Thread, key: Key, _: bool) -> bool {
        let thread = me.caller().unwrap_or_default();
        let count = self.world.lock_script(me, key, value(thread, self.guards));
        if count == Some(1) {
            self.begin(me, key, thread);
        }
        count.is_some()
    }

    fn unlock(&self, me: Thread, key: Key) -> bool {
        let thread = me.caller().unwrap_or_default();
        // Before the script: after it another hold may begin.
        let entry = self.entry(key, |entry| entry.thread == thread);
        let value = value(thread, self.guards);
        let unlocked = self.world.unlock_script(me, key, value);
        if unlocked != Some(false) || !self.guards.has("last-unlock") {
            self.end(me, key, entry.map(|entry| entry.hold), "own-unlock");
        }
        unlocked.is_some()
    }

    fn fire(&self, timer: Timer) {
        let me = Thread::Clock;
        let Some(key) = timer.key else {
            return;
        };
        let of_hold = |entry: &Entry| entry.hold == timer.tag;
        if let Some(entry) = self.entry(key, of_hold) {
            let value = value(entry.thread, self.guards);
            let renewed = match self.guards.has("compare") {
                true => self.world.expire_if(me, key, value, None),
                false => self.world.expire(me, key, value, None),
            };
            if renewed {
                let mut entries = self.entries();
                let current = entries.of.get_mut(&key);
                let own_reply = self.guards.has("own-reply");
                if let Some(entry) = current.filter(|entry| of_hold(entry) || !own_reply) {
                    let (pause, hold) = (self.pause(), entry.hold);
                    entry.timer = self.world.schedule(me, Some(key), pause, hold);
                }
            } else {
                self.end(me, key, Some(timer.tag), "own-reply");
            }
        }
        self.world.timer_done(me, timer);
    }
}
