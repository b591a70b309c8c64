//! The handles that can be checked: what each is, and what can be left out of it.

use std::sync::Arc;

use crate::event::{Key, Thread};
use crate::scene::Scene;
use crate::world::{Timer, World};
use crate::{threadlocal, watchdog};

/// A lock handle as the threads of its process use it.
pub(crate) trait Handle {
    /// Tries once to lock the key; nested locks are counted. `renewed` asks for a renewal.
    fn lock(&self, me: Thread, key: Key, renewed: bool) -> bool;

    /// Undoes one lock: whether there was one, as far as the handle knows.
    fn unlock(&self, me: Thread, key: Key) -> bool;

    /// A timer that the handle has scheduled fires.
    fn fire(&self, _timer: Timer) {}
}

/// A guard of a repaired handle, that can be left out.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it does, in one sentence without a full stop.
    pub meaning: &'static str,
}

/// All guards of a handle, but perhaps one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Guards {
    without: Option<&'static str>,
}

impl Guards {
    pub(crate) fn without(guard: Option<&'static str>) -> Guards {
        Guards { without: guard }
    }

    pub(crate) fn has(self, guard: &str) -> bool {
        self.without != Some(guard)
    }
}

type Make = fn(Arc<World>, Guards) -> Arc<dyn Handle>;

/// One way to write the handle.
pub struct Variant {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it is.
    pub about: &'static str,
    pub(crate) make: Make,
}

/// A handle, with everything that can be asked of it.
pub struct HandleInfo {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// As documented first, as repaired last.
    pub variants: &'static [Variant],
    /// What its threads do, and what is claimed of it.
    pub scenes: &'static [Scene],
    /// What can be left out of the last variant.
    pub guards: &'static [Guard],
}

/// The handles, in the order of lists.
pub const HANDLES: &[HandleInfo] = &[threadlocal::INFO, watchdog::INFO];

/// The handle of this name.
pub fn handle(id: &str) -> Option<&'static HandleInfo> {
    HANDLES.iter().find(|handle| handle.id == id)
}
