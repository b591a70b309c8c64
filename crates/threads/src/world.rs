//! What the threads of one process share beside their handle: a server, time, and the
//! record of what happened.
//!
//! loom explores the orders of what touches one of its objects, and leaves out orders of
//! what does not: two executions that differ only in the order of independent steps are one
//! to it. So an event that a claim asks for is written down while the mutex of the key that
//! it is about is held, and a claim compares only events of one key, or events before and
//! after a join. Everything else in the record is there for the story.
//!
//! One mutex for the whole world was tried first. It is simpler to argue about, and makes
//! every pair of commands dependent: two locks that have nothing to do with each other then
//! take millions of executions.

use std::sync::{Arc, Mutex as Plain, PoisonError};

use loom::sync::{Mutex, MutexGuard};
use loom::thread::JoinHandle;

use crate::event::{Command, Effect, Event, Key, Life, Reply, Thread, Value, What};

/// Ticks that a lease has: three, so that a third of it is one.
pub(crate) const LEASE: u32 = 3;

/// Locks on a task's list are renewals with numbers from here on.
pub(crate) const LISTED: u8 = 100;

/// What happened in one execution, in its order. It is plain memory: loom does not see it,
/// and so it adds nothing to what is explored.
#[derive(Default)]
pub(crate) struct Record(Plain<Vec<Event>>);

impl Record {
    pub(crate) fn add(&self, who: Thread, what: What) {
        let mut events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.push(Event { who, what });
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let events = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        events.clone()
    }
}

/// One key of the server. A lock is a string or a hash of one field; both are an owner with
/// a count here.
#[derive(Default)]
struct Stored {
    owner: Option<Owner>,
    /// Ticks until the lease ends.
    left: u32,
    /// Acquires that took the key so far.
    taken: u8,
}

#[derive(Clone, Copy)]
struct Owner {
    value: Value,
    count: u32,
    /// Which acquire took the key: no server knows it, claims ask for it.
    acquisition: u8,
}

/// A timer that is to fire on the timer's thread.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timer {
    pub(crate) id: u8,
    /// The lock that it renews, or every lock of the client.
    pub(crate) key: Option<Key>,
    /// What the handle wants to know when it fires.
    pub(crate) tag: u8,
    left: u32,
}

#[derive(Default)]
struct Clock {
    now: u32,
    timers: Vec<Timer>,
    /// Renewals that were started.
    renewals: u8,
}

/// What the threads of one execution share.
pub(crate) struct World {
    keys: [Mutex<Stored>; 2],
    clock: Mutex<Clock>,
    /// Threads of the process's pool, to be joined before time passes.
    pool: Mutex<Vec<JoinHandle<()>>>,
    record: Arc<Record>,
}

/// A poisoned mutex is that of a thread that panicked, and then loom has stopped.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl World {
    pub(crate) fn new(record: Arc<Record>) -> World {
        World {
            keys: [Mutex::default(), Mutex::default()],
            clock: Mutex::default(),
            pool: Mutex::default(),
            record,
        }
    }

    /// Writes down what a reader wants to know and no claim asks for.
    pub(crate) fn note(&self, who: Thread, text: &'static str) {
        self.record.add(who, What::Note(text));
    }

    /// As [`World::note`], for what the caller and the handle say to each other.
    pub(crate) fn say(&self, who: Thread, what: What) {
        self.record.add(who, what);
    }

    /// Writes down what a claim asks for, in the order of the key's other events.
    pub(crate) fn mark(&self, who: Thread, key: Key, what: What) {
        let _stored = self.stored(key);
        self.record.add(who, what);
    }

    /// A nested lock is granted from memory, without asking the server.
    pub(crate) fn told(&self, who: Thread, key: Key) {
        let stored = self.stored(key);
        let owner = stored.owner.map(|owner| owner.value.thread);
        let own = owner.is_some() && owner == who.caller();
        self.record.add(who, What::Told { key, own });
    }

    fn stored(&self, key: Key) -> MutexGuard<'_, Stored> {
        locked(&self.keys[key.index()])
    }

    // ── commands; each is one step of the server ────────────────────────────────────────

    /// `SET key value NX EX lease`: which acquire it was, if it was the first.
    pub(crate) fn set_nx(&self, who: Thread, key: Key, value: Value) -> Option<u8> {
        let mut stored = self.stored(key);
        let free = stored.owner.is_none();
        let taken = free.then(|| stored.take(value));
        let (reply, effect) = match taken {
            Some(acquisition) => (Reply::Ok, Effect::Took { acquisition }),
            None => (Reply::Nil, Effect::None),
        };
        self.said(who, key, Command::SetNx, value, (reply, effect));
        taken
    }

    /// Deletes the key if it has this value.
    pub(crate) fn delete_if(&self, who: Thread, key: Key, value: Value) -> bool {
        let mut stored = self.stored(key);
        let own = stored.is_of(value);
        if own {
            stored.owner = None;
        }
        self.said(who, key, Command::DeleteIf, value, stored.freed(own));
        own
    }

    /// Gives the key a new lease if it has this value. `acquisition` is the acquire that the
    /// sender means, if it means one.
    pub(crate) fn expire_if(
        &self,
        who: Thread,
        key: Key,
        value: Value,
        acquisition: Option<u8>,
    ) -> bool {
        let mut stored = self.stored(key);
        let own = stored.is_of(value);
        let told = stored.extend(own, value, acquisition);
        self.said(who, key, Command::ExpireIf, value, told);
        own
    }

    /// Gives the key a new lease whoever has it: `value` is whom the sender means.
    pub(crate) fn expire(
        &self,
        who: Thread,
        key: Key,
        value: Value,
        acquisition: Option<u8>,
    ) -> bool {
        let mut stored = self.stored(key);
        let there = stored.owner.is_some();
        let told = stored.extend(there, value, acquisition);
        self.said(who, key, Command::Expire, value, told);
        there
    }

    /// Takes the hash if it is free or has this field: the new count.
    pub(crate) fn lock_script(&self, who: Thread, key: Key, value: Value) -> Option<u32> {
        let mut stored = self.stored(key);
        let (count, effect) = match &mut stored.owner {
            Some(owner) if owner.value.field == value.field => {
                owner.count += 1;
                let acquisition = owner.acquisition;
                (Some(owner.count), Effect::Took { acquisition })
            }
            Some(_) => (None, Effect::None),
            None => {
                let acquisition = stored.take(value);
                (Some(1), Effect::Took { acquisition })
            }
        };
        if count.is_some() {
            stored.left = LEASE;
        }
        let reply = count.map_or(Reply::Busy, Reply::Count);
        self.said(who, key, Command::LockScript, value, (reply, effect));
        count
    }

    /// Counts the field down, and deletes the hash at 0: whether it did, if the field is there.
    pub(crate) fn unlock_script(&self, who: Thread, key: Key, value: Value) -> Option<bool> {
        let mut stored = self.stored(key);
        let count = match &mut stored.owner {
            Some(owner) if owner.value.field == value.field => {
                owner.count -= 1;
                Some(owner.count)
            }
            _ => None,
        };
        match count {
            Some(0) => stored.owner = None,
            Some(_) => stored.left = LEASE,
            None => {}
        }
        let told = match count {
            Some(0) => stored.freed(true),
            Some(count) => (Reply::Count(count), Effect::None),
            None => (Reply::Nil, Effect::None),
        };
        self.said(who, key, Command::UnlockScript, value, told);
        count.map(|count| count == 0)
    }

    fn said(
        &self,
        who: Thread,
        key: Key,
        command: Command,
        value: Value,
        (reply, effect): (Reply, Effect),
    ) {
        let what = What::Command {
            command,
            key,
            value,
            reply,
            effect,
        };
        self.record.add(who, what);
    }

    // ── renewals ────────────────────────────────────────────────────────────────────────

    /// A renewal is started for what `who` holds: its number.
    pub(crate) fn renewal_starts(&self, who: Thread, key: Key) -> u8 {
        let mut clock = locked(&self.clock);
        clock.renewals += 1;
        let id = clock.renewals;
        let of = who.caller();
        self.record
            .add(who, What::renewal(id, key, of, Life::Starts));
        id
    }

    /// A renewal sleeps for so many ticks; it is a timer meanwhile.
    pub(crate) fn sleep(&self, id: u8, key: Key, ticks: u32) {
        let mut clock = locked(&self.clock);
        clock.timers.push(Timer {
            id,
            key: Some(key),
            tag: 0,
            left: ticks,
        });
        self.note(Thread::Renewal(id), "sleeps");
    }

    /// A renewal has nothing left to do.
    pub(crate) fn renewal_ends(&self, id: u8, key: Key, why: &'static str) {
        let what = What::renewal(id, key, None, Life::Ends(why));
        self.mark(Thread::Renewal(id), key, what);
    }

    /// A timer is to fire after so many ticks.
    pub(crate) fn schedule(&self, who: Thread, key: Option<Key>, ticks: u32, tag: u8) -> u8 {
        let mut clock = locked(&self.clock);
        clock.renewals += 1;
        let id = clock.renewals;
        let left = ticks;
        clock.timers.push(Timer { id, key, tag, left });
        self.record
            .add(who, What::renewal(id, key, None, Life::Starts));
        id
    }

    /// Cancels a timer that has not fired.
    pub(crate) fn cancel(&self, who: Thread, key: Key, id: u8) {
        let mut clock = locked(&self.clock);
        let before = clock.timers.len();
        clock.timers.retain(|timer| timer.id != id);
        if clock.timers.len() < before {
            let life = Life::Ends("it is cancelled");
            self.record.add(who, What::renewal(id, key, None, life));
        } else {
            self.record.add(who, What::TooLate(id));
        }
    }

    /// A task that renews every lock has this one on its list from here on, or no more. The
    /// handle's own mutex orders these events.
    pub(crate) fn listed(&self, who: Thread, key: Key, there: bool) {
        let life = if there {
            Life::Listed
        } else {
            Life::Ends("it is off the list")
        };
        let id = LISTED + key.index() as u8;
        self.record.add(who, What::renewal(id, key, None, life));
    }

    /// What a timer did is done.
    pub(crate) fn timer_done(&self, who: Thread, timer: Timer) {
        let life = Life::Ends("it has done its work");
        let what = What::renewal(timer.id, timer.key, None, life);
        self.record.add(who, what);
    }

    /// Something is done on a thread of the process's pool.
    pub(crate) fn spawn(&self, body: impl FnOnce() + 'static) {
        let thread = loom::thread::spawn(body);
        locked(&self.pool).push(thread);
    }

    /// Waits for the threads of the pool.
    pub(crate) fn join(&self) {
        let threads = std::mem::take(&mut *locked(&self.pool));
        for thread in threads {
            // It panicked only if loom stopped, and then nobody comes here.
            let _ = thread.join();
        }
    }

    // ── time ────────────────────────────────────────────────────────────────────────────

    /// A tick passes, when the pool's threads have done their work: leases end, and timers
    /// are due. Who calls this lets them fire before the next tick. A client that is slow is
    /// another matter, and `check` has it.
    pub(crate) fn tick(&self) -> Vec<Timer> {
        self.join();
        let mut clock = locked(&self.clock);
        clock.now += 1;
        let who = Thread::Clock;
        self.record.add(who, What::Tick(clock.now));
        for key in Key::ALL {
            let mut stored = self.stored(key);
            stored.left = stored.left.saturating_sub(1);
            if stored.owner.is_some() && stored.left == 0 {
                stored.owner = None;
                self.record.add(who, What::LeaseEnds(key));
            }
        }
        for timer in &mut clock.timers {
            timer.left -= 1;
        }
        let due = |timer: &Timer| timer.left == 0;
        let fired: Vec<Timer> = clock.timers.iter().copied().filter(due).collect();
        clock.timers.retain(|timer| !due(timer));
        for timer in &fired {
            let what = What::renewal(timer.id, timer.key, None, Life::Fires);
            self.record.add(who, what);
        }
        fired
    }

    /// Says that nothing is under way: what a claim asks for then is asked.
    pub(crate) fn quiet(&self, what: What) {
        self.join();
        self.record.add(Thread::Clock, what);
    }
}

impl Stored {
    fn take(&mut self, value: Value) -> u8 {
        self.taken += 1;
        self.left = LEASE;
        let acquisition = self.taken;
        self.owner = Some(Owner {
            value,
            count: 1,
            acquisition,
        });
        acquisition
    }

    fn is_of(&self, value: Value) -> bool {
        self.owner
            .is_some_and(|owner| owner.value.field == value.field)
    }

    fn freed(&self, own: bool) -> (Reply, Effect) {
        let reply = if own { Reply::One } else { Reply::Zero };
        (reply, Effect::None)
    }

    fn extend(&mut self, can: bool, value: Value, meant: Option<u8>) -> (Reply, Effect) {
        let Some(owner) = self.owner.filter(|_| can) else {
            return (Reply::Zero, Effect::None);
        };
        self.left = LEASE;
        let own = owner.value.thread == value.thread
            && meant.is_none_or(|meant| meant == owner.acquisition);
        let of = owner.value.thread;
        (Reply::One, Effect::Extended { own, of })
    }
}
