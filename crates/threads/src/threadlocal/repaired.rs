//! `RedisDistributedLock` as it could be: the same methods, with seven guards.
//!
//! Each guard can be left out, and then some claim breaks; the tests have the table. What the
//! guards are is in [`super::GUARDS`]. The counts stay per thread and the monitor stays, so
//! that everything that differs from the document is a guard.

use std::sync::Arc;

use loom::sync::Mutex;

use super::{Flag, HOLDS, Hold, Holds, Renewals, TIMES};
use crate::event::{Field, Key, Thread, Value};
use crate::handles::{Guards, Handle};
use crate::world::{LEASE, Timer, World};

/// What a renewal thread has on its stack.
struct Renewal {
    key: Key,
    value: Value,
    acquisition: u8,
    flag: Arc<Flag>,
    done: u32,
}

pub(crate) struct Repaired {
    world: Arc<World>,
    guards: Guards,
    monitor: Mutex<()>,
    /// What all threads see: used without `own-counts` and without `own-flag`.
    shared: Mutex<Holds>,
    flag: Arc<Flag>,
    /// Tokens given out.
    tokens: Mutex<u8>,
    renewals: Renewals<Renewal>,
}

impl Repaired {
    pub(crate) fn new(world: Arc<World>, guards: Guards) -> Repaired {
        Repaired {
            world,
            guards,
            monitor: Mutex::new(()),
            shared: Mutex::default(),
            flag: Arc::default(),
            tokens: Mutex::default(),
            renewals: Renewals::default(),
        }
    }

    fn holds<T>(&self, use_them: impl FnOnce(&mut Holds) -> T) -> T {
        if self.guards.has("own-counts") {
            return HOLDS.with(|holds| use_them(&mut holds.borrow_mut()));
        }
        let shared = self.shared.lock();
        use_them(&mut shared.unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    fn value(&self, me: Thread) -> Value {
        let thread = me.caller().unwrap_or_default();
        if !self.guards.has("token") {
            return Value::thread(thread);
        }
        let tokens = self.tokens.lock();
        let mut tokens = tokens.unwrap_or_else(std::sync::PoisonError::into_inner);
        *tokens += 1;
        let field = Field::Token(thread, *tokens);
        Value { thread, field }
    }

    fn nested(&self, me: Thread, key: Key, value: Value) -> bool {
        if !self.guards.has("ask-again") {
            self.world.told(me, key);
        } else if !self.world.expire_if(me, key, value, None) {
            // It is lost, and so are the outer holds.
            if let Some(hold) = self.holds(|holds| holds.remove(&key)) {
                self.stop(me, &hold.flag);
            }
            return false;
        }
        self.holds(|holds| {
            if let Some(hold) = holds.get_mut(&key) {
                hold.count += 1;
            }
        });
        true
    }

    fn stop(&self, me: Thread, flag: &Flag) {
        flag.set(false);
        self.world.note(me, "tells the renewal to stop");
    }

    /// A renewal sleeps first: the lease is new.
    fn sleep(&self, id: u8, renewal: Renewal) {
        let third = self.guards.has("third");
        let pause = if third { LEASE / 3 } else { LEASE };
        let key = renewal.key;
        self.renewals.put(id, renewal);
        self.world.sleep(id, key, pause);
    }

    /// Why a renewal ends when it has woken, if it does.
    fn turn(&self, who: Thread, renewal: &Renewal) -> Option<&'static str> {
        if !renewal.flag.get() {
            return Some("it is told to stop");
        }
        if renewal.done == TIMES && !self.guards.has("until-unlock") {
            return Some("it has renewed four times");
        }
        let (key, value) = (renewal.key, renewal.value);
        let meant = Some(renewal.acquisition);
        let renewed = match self.guards.has("compare") {
            true => self.world.expire_if(who, key, value, meant),
            false => self.world.expire(who, key, value, meant),
        };
        (!renewed).then_some("the key is not its own")
    }
}

impl Handle for Repaired {
    fn lock(&self, me: Thread, key: Key, renewed: bool) -> bool {
        let _monitor = self.monitor.lock();
        if let Some(value) = self.holds(|holds| holds.get(&key).map(|hold| hold.value)) {
            return self.nested(me, key, value);
        }
        let value = self.value(me);
        let Some(acquisition) = self.world.set_nx(me, key, value) else {
            return false;
        };
        let flag = match self.guards.has("own-flag") {
            true => Arc::default(),
            false => self.flag.clone(),
        };
        let hold = Hold {
            count: 1,
            value,
            flag: flag.clone(),
        };
        self.holds(|holds| holds.insert(key, hold));
        if renewed {
            flag.set(true);
            self.world.note(me, "starts a renewal");
            let id = self.world.renewal_starts(me, key);
            let renewal = Renewal {
                key,
                value,
                acquisition,
                flag,
                done: 0,
            };
            self.sleep(id, renewal);
        }
        true
    }

    fn unlock(&self, me: Thread, key: Key) -> bool {
        let _monitor = self.monitor.lock();
        let last = self.holds(|holds| {
            let hold = holds.get_mut(&key)?;
            hold.count -= 1;
            Some(if hold.count == 0 {
                holds.remove(&key)
            } else {
                None
            })
        });
        let Some(last) = last else {
            return false;
        };
        if let Some(hold) = last {
            self.stop(me, &hold.flag);
            self.world.delete_if(me, key, hold.value);
        }
        true
    }

    fn fire(&self, timer: Timer) {
        let Some(mut renewal) = self.renewals.take(timer.id) else {
            return;
        };
        match self.turn(Thread::Renewal(timer.id), &renewal) {
            Some(why) => self.world.renewal_ends(timer.id, renewal.key, why),
            None => {
                renewal.done += 1;
                self.sleep(timer.id, renewal);
            }
        }
    }
}
