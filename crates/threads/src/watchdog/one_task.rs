//! Redisson's lock with one renewal task for all locks of the client, as its public source has it now.
//!
//! The entry of a lock is changed in one step now, with what is decided about it. The task is
//! scheduled when there is a first entry; it renews every entry for the entry's first thread,
//! and where the server says that this thread has the lock no more, it takes the thread out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError};

use loom::sync::{Mutex, MutexGuard};

use super::value;
use crate::event::{Key, Thread};
use crate::handles::{Guards, Handle};
use crate::world::{LEASE, Timer, World};

/// `LockEntry`: the threads that hold the lock, each with its count.
type Entry = VecDeque<(u8, u32)>;

pub(crate) struct OneTask {
    world: Arc<World>,
    /// `name2entry`.
    entries: Mutex<BTreeMap<Key, Entry>>,
    /// Whether the task is scheduled, or so it thinks.
    running: Mutex<bool>,
}

impl OneTask {
    pub(crate) fn new(world: Arc<World>) -> OneTask {
        OneTask {
            world,
            entries: Mutex::default(),
            running: Mutex::default(),
        }
    }

    fn entries(&self) -> MutexGuard<'_, BTreeMap<Key, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> MutexGuard<'_, bool> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_run(&self) -> bool {
        !std::mem::replace(&mut *self.running(), true)
    }

    fn schedule(&self, me: Thread) {
        if *self.running() {
            self.world.schedule(me, None, LEASE / 3, 0);
        }
    }

    fn add(&self, me: Thread, key: Key, thread: u8) {
        let mut entries = self.entries();
        if let Some(entry) = entries.get_mut(&key) {
            match entry.iter_mut().find(|(one, _)| *one == thread) {
                Some((_, count)) => *count += 1,
                None => entry.push_back((thread, 1)),
            }
            self.world.note(me, "adds itself to the entry in the map");
            return;
        }
        if self.try_run() {
            self.schedule(me);
        }
        entries.insert(key, VecDeque::from([(thread, 1)]));
        self.world.listed(me, key, true);
    }

    fn cancel(&self, me: Thread, key: Key, thread: u8) {
        let gone = {
            let mut entries = self.entries();
            if let Some(entry) = entries.get_mut(&key) {
                if let Some((_, count)) = entry.iter_mut().find(|(one, _)| *one == thread) {
                    *count -= 1;
                }
                entry.retain(|(_, count)| *count > 0);
                self.world.note(me, words_of(thread, me));
                if entry.is_empty() {
                    entries.remove(&key);
                    self.world.listed(me, key, false);
                }
            }
            !entries.contains_key(&key)
        };
        if gone {
            if !self.entries().is_empty() {
                return;
            }
            *self.running() = false;
            if !self.entries().is_empty() && self.try_run() {
                self.schedule(me);
            }
        }
    }
}

/// Who is taken out of an entry, by whom.
fn words_of(thread: u8, me: Thread) -> &'static str {
    match (me, thread) {
        (Thread::Caller(_), _) => "takes itself out of the entry",
        (_, 1) => "takes T1 out of the entry",
        _ => "takes T2 out of the entry",
    }
}

impl Handle for OneTask {
    fn lock(&self, me: Thread, key: Key, _: bool) -> bool {
        let thread = me.caller().unwrap_or_default();
        let value = value(thread, Guards::default());
        let locked = self.world.lock_script(me, key, value).is_some();
        if locked {
            self.add(me, key, thread);
        }
        locked
    }

    fn unlock(&self, me: Thread, key: Key) -> bool {
        let thread = me.caller().unwrap_or_default();
        let value = value(thread, Guards::default());
        let unlocked = self.world.unlock_script(me, key, value);
        self.cancel(me, key, thread);
        unlocked.is_some()
    }

    fn fire(&self, timer: Timer) {
        let me = Thread::Clock;
        let keys: Vec<Key> = self.entries().keys().copied().collect();
        for key in keys {
            let first = self
                .entries()
                .get(&key)
                .and_then(|entry| entry.front().copied());
            let Some((thread, _)) = first else {
                continue;
            };
            let value = value(thread, Guards::default());
            if !self.world.expire_if(me, key, value, None) {
                self.cancel(me, key, thread);
            }
        }
        self.schedule(me);
        self.world.timer_done(me, timer);
    }
}
