//! Redisson's lock with `expirationRenewalMap`, as its base class had it for years.
//!
//! The map is concurrent, so each of its operations is one step; so is each operation of an
//! entry. Nothing holds over two of them, and that is what this handle is about.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};

use loom::sync::{Mutex, MutexGuard};

use super::value;
use crate::event::{Key, Thread};
use crate::handles::{Guards, Handle};
use crate::world::{LEASE, Timer, World};

/// `ExpirationEntry`: the threads that hold the lock, each with its count, and the timer.
#[derive(Default)]
struct Entry {
    threads: Mutex<VecDeque<(u8, u32)>>,
    timeout: Mutex<Option<u8>>,
}

impl Entry {
    fn threads(&self) -> MutexGuard<'_, VecDeque<(u8, u32)>> {
        self.threads.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn timeout(&self) -> MutexGuard<'_, Option<u8>> {
        self.timeout.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add_thread(&self, thread: u8) {
        let mut threads = self.threads();
        match threads.iter_mut().find(|(one, _)| *one == thread) {
            Some((_, count)) => *count += 1,
            None => threads.push_back((thread, 1)),
        }
    }

    fn remove_thread(&self, thread: u8) {
        let mut threads = self.threads();
        if let Some((_, count)) = threads.iter_mut().find(|(one, _)| *one == thread) {
            *count -= 1;
        }
        threads.retain(|(_, count)| *count > 0);
    }
}

type Entries = BTreeMap<Key, Arc<Entry>>;

pub(crate) struct Documented {
    world: Arc<World>,
    /// `EXPIRATION_RENEWAL_MAP`.
    entries: Mutex<Entries>,
}

impl Documented {
    pub(crate) fn new(world: Arc<World>) -> Documented {
        Documented {
            world,
            entries: Mutex::default(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, key: Key) -> Option<Arc<Entry>> {
        self.entries().get(&key).cloned()
    }

    fn schedule_renewal(&self, me: Thread, key: Key, thread: u8) {
        let entry = Entry::default();
        entry.add_thread(thread);
        let old = {
            let mut entries = self.entries();
            let old = entries.get(&key).cloned();
            if old.is_none() {
                entries.insert(key, Arc::new(entry));
            }
            let found = match old {
                Some(_) => "finds an entry in the map",
                None => "puts an entry into the map",
            };
            self.world.note(me, found);
            old
        };
        match old {
            Some(old) => {
                old.add_thread(thread);
                self.world.note(me, "adds itself to that entry");
            }
            None => self.renew_expiration(me, key),
        }
    }

    fn renew_expiration(&self, me: Thread, key: Key) {
        let Some(entry) = self.entry(key) else {
            self.world.note(me, "finds no entry in the map");
            return;
        };
        let timer = self.world.schedule(me, Some(key), LEASE / 3, 0);
        *entry.timeout() = Some(timer);
    }

    fn cancel_renewal(&self, me: Thread, key: Key, thread: Option<u8>) {
        let Some(entry) = self.entry(key) else {
            return;
        };
        if let Some(thread) = thread {
            entry.remove_thread(thread);
            self.world.note(me, "takes itself out of the entry");
        }
        if thread.is_none() || entry.threads().is_empty() {
            self.world.note(me, "decides to remove the entry");
            let timeout = *entry.timeout();
            if let Some(timer) = timeout {
                self.world.cancel(me, key, timer);
            }
            self.entries().remove(&key);
            self.world.note(me, "removes the entry from the map");
        }
    }
}

impl Handle for Documented {
    fn lock(&self, me: Thread, key: Key, _: bool) -> bool {
        let thread = me.caller().unwrap_or_default();
        let value = value(thread, Guards::default());
        let locked = self.world.lock_script(me, key, value).is_some();
        if locked {
            self.schedule_renewal(me, key, thread);
        }
        locked
    }

    fn unlock(&self, me: Thread, key: Key) -> bool {
        let thread = me.caller().unwrap_or_default();
        let value = value(thread, Guards::default());
        let unlocked = self.world.unlock_script(me, key, value);
        self.cancel_renewal(me, key, Some(thread));
        unlocked.is_some()
    }

    fn fire(&self, timer: Timer) {
        let me = Thread::Clock;
        let Some(key) = timer.key else {
            return;
        };
        let entry = self.entry(key);
        let first = entry.and_then(|entry| (*entry.threads()).front().copied());
        if let Some((thread, _)) = first {
            let value = value(thread, Guards::default());
            if self.world.expire_if(me, key, value, None) {
                self.renew_expiration(me, key);
            } else {
                self.cancel_renewal(me, key, None);
            }
        }
        self.world.timer_done(me, timer);
    }
}
