//! `RedisDistributedLock` as its document prints it.
//!
//! One object for all locks of the process. It counts holds per thread and key; whatever it
//! does, it does under its own monitor. One flag, which all of its locks share, tells every
//! renewal to stop. A renewal is a thread of a pool: while it has renewed fewer than four
//! times and the flag is set, it renews and then sleeps for the whole lease.

use std::sync::Arc;

use loom::sync::Mutex;

use super::{COUNTS, Flag, Renewals, TIMES, counted};
use crate::event::{Key, Thread, Value};
use crate::handles::Handle;
use crate::world::{LEASE, Timer, World};

/// What a renewal thread has on its stack.
struct Renewal {
    key: Key,
    value: Value,
    acquisition: u8,
    /// `i`
    done: u32,
}

pub(crate) struct Documented {
    world: Arc<World>,
    /// `synchronized` on every method.
    monitor: Mutex<()>,
    /// `persistentExpireFlag`.
    flag: Arc<Flag>,
    renewals: Arc<Renewals<Renewal>>,
}

impl Documented {
    pub(crate) fn new(world: Arc<World>) -> Documented {
        Documented {
            world,
            monitor: Mutex::new(()),
            flag: Arc::default(),
            renewals: Arc::default(),
        }
    }

    fn open_persistent_expire(&self, me: Thread, key: Key, value: Value, acquisition: u8) {
        let id = self.world.renewal_starts(me, key);
        let renewal = Renewal {
            key,
            value,
            acquisition,
            done: 0,
        };
        let (world, flag, renewals) =
            (self.world.clone(), self.flag.clone(), self.renewals.clone());
        self.world
            .spawn(move || turn(&world, &flag, &renewals, id, renewal));
    }
}

/// One turn of a renewal's loop, up to its sleep.
fn turn(world: &World, flag: &Flag, renewals: &Renewals<Renewal>, id: u8, mut renewal: Renewal) {
    let key = renewal.key;
    if renewal.done == TIMES {
        return world.renewal_ends(id, key, "it has renewed four times");
    }
    if !flag.get() {
        return world.renewal_ends(id, key, "persistentExpireFlag is false");
    }
    let who = Thread::Renewal(id);
    // What the server answers is not looked at.
    world.expire_if(who, key, renewal.value, Some(renewal.acquisition));
    renewal.done += 1;
    renewals.put(id, renewal);
    world.sleep(id, key, LEASE);
}

impl Handle for Documented {
    fn lock(&self, me: Thread, key: Key, renewed: bool) -> bool {
        let _monitor = self.monitor.lock();
        let nested = COUNTS.with(|counts| counted(&mut counts.borrow_mut(), key, 1));
        if nested > 1 {
            self.world.told(me, key);
            return true;
        }
        // The document's own test gives the thread's id as the value.
        let value = Value::thread(me.caller().unwrap_or_default());
        let Some(acquisition) = self.world.set_nx(me, key, value) else {
            COUNTS.with(|counts| counted(&mut counts.borrow_mut(), key, -1));
            return false;
        };
        if renewed {
            self.flag.set(true);
            self.world.note(me, "sets persistentExpireFlag to true");
            self.open_persistent_expire(me, key, value, acquisition);
        }
        true
    }

    fn unlock(&self, me: Thread, key: Key) -> bool {
        let _monitor = self.monitor.lock();
        let held = COUNTS.with(|counts| counts.borrow().contains_key(&key));
        if !held {
            return false;
        }
        if COUNTS.with(|counts| counted(&mut counts.borrow_mut(), key, -1)) == 0 {
            self.flag.set(false);
            self.world.note(me, "sets persistentExpireFlag to false");
            let value = Value::thread(me.caller().unwrap_or_default());
            self.world.delete_if(me, key, value);
        }
        true
    }

    fn fire(&self, timer: Timer) {
        if let Some(renewal) = self.renewals.take(timer.id) {
            turn(&self.world, &self.flag, &self.renewals, timer.id, renewal);
        }
    }
}
