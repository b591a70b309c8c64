//! What the threads of a process do, and the stage on which they do it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use loom::thread::JoinHandle;

use crate::claims::Claim;
use crate::event::{Call, Key, Thread, What};
use crate::handles::Handle;
use crate::world::{LEASE, World};

/// What the threads do, and the claims that are judged.
pub struct Scene {
    /// Its name on the command line.
    pub id: &'static str,
    /// What the threads do, in one sentence without a full stop.
    pub about: &'static str,
    /// What is claimed.
    pub claims: &'static [Claim],
    /// The variants that are asked, if not all are: with the others it has too many
    /// interleavings.
    pub variants: Option<&'static [&'static str]>,
    pub(crate) play: fn(&Stage),
}

impl Scene {
    /// Whether this variant of the handle plays it.
    pub fn is_for(&self, variant: &str) -> bool {
        self.variants.is_none_or(|only| only.contains(&variant))
    }
}

/// A world, a handle in it, and the threads that use the handle.
pub(crate) struct Stage {
    world: Arc<World>,
    handle: Arc<dyn Handle>,
}

/// A caller on a thread of its own.
pub(crate) struct Running(JoinHandle<Caller>);

impl Running {
    /// The caller, when it has done what it was to do.
    pub(crate) fn join(self) -> Caller {
        // It panicked only if loom stopped, and then nobody comes here.
        self.0
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// One thread that uses the handle.
pub(crate) struct Caller {
    world: Arc<World>,
    handle: Arc<dyn Handle>,
    me: Thread,
    /// How often it has been answered that it has each lock: a caller knows what it holds.
    holds: RefCell<BTreeMap<Key, u32>>,
}

impl Stage {
    pub(crate) fn new(world: Arc<World>, handle: Arc<dyn Handle>) -> Stage {
        Stage { world, handle }
    }

    /// T1, T2, ..; it acts on the scene's own thread unless it is [run](Stage::run). loom has
    /// five threads at most.
    pub(crate) fn caller(&self, number: u8) -> Caller {
        Caller {
            world: self.world.clone(),
            handle: self.handle.clone(),
            me: Thread::Caller(number),
            holds: RefCell::default(),
        }
    }

    /// A caller does something on a thread of its own, and comes back when it is joined.
    pub(crate) fn run(&self, caller: Caller, act: impl FnOnce(&Caller) + 'static) -> Running {
        Running(loom::thread::spawn(move || {
            act(&caller);
            caller
        }))
    }

    /// So many ticks pass; what is due in one is done before the next.
    pub(crate) fn ticks(&self, count: u32) {
        for _ in 0..count {
            for timer in self.world.tick() {
                self.handle.fire(timer);
            }
        }
    }

    /// Time passes until a timer is due (a lease at most), and this fires on another thread
    /// while the scene goes on.
    pub(crate) fn until_one_wakes(&self) {
        let mut due = Vec::new();
        for _ in 0..LEASE {
            due = self.world.tick();
            if !due.is_empty() {
                break;
            }
        }
        let handle = self.handle.clone();
        self.world.spawn(move || {
            for timer in due {
                handle.fire(timer);
            }
        });
    }

    /// Says that nothing is under way: the threads are joined.
    pub(crate) fn quiet(&self) {
        self.world.quiet(What::Quiet);
    }

    /// A lease passes.
    pub(crate) fn settle(&self) {
        self.ticks(LEASE);
        self.world.quiet(What::Settled);
    }

    /// The process ends.
    pub(crate) fn end(&self) {
        self.world.join();
    }
}

impl Caller {
    /// Tries to lock the key, with a renewal.
    pub(crate) fn lock(&self, key: Key) -> bool {
        self.locks(key, true)
    }

    /// Tries to lock the key, without a renewal.
    pub(crate) fn lock_briefly(&self, key: Key) -> bool {
        self.locks(key, false)
    }

    fn locks(&self, key: Key, renewed: bool) -> bool {
        self.world.say(self.me, What::Calls(Call::Lock, key));
        let held = self.count(key) > 0;
        let answer = self.handle.lock(self.me, key, renewed);
        self.answered(Call::Lock, key, answer, held);
        let mut holds = self.holds.borrow_mut();
        match answer {
            true => *holds.entry(key).or_default() += 1,
            // A nested lock that is refused says that the outer ones are lost.
            false => drop(holds.remove(&key)),
        }
        answer
    }

    /// Unlocks the key once.
    pub(crate) fn unlock(&self, key: Key) -> bool {
        let count = self.count(key);
        match count {
            // From here on it does not hold the lock, which is what claims ask for.
            1 => self.world.mark(self.me, key, What::Releases(key)),
            _ => self.world.say(self.me, What::Calls(Call::Unlock, key)),
        }
        self.holds.borrow_mut().insert(key, count.saturating_sub(1));
        let answer = self.handle.unlock(self.me, key);
        self.answered(Call::Unlock, key, answer, count > 0);
        answer
    }

    fn count(&self, key: Key) -> u32 {
        self.holds.borrow().get(&key).copied().unwrap_or_default()
    }

    fn answered(&self, call: Call, key: Key, answer: bool, held: bool) {
        let what = What::Answers {
            call,
            key,
            answer,
            held,
        };
        self.world.say(self.me, what);
    }
}
