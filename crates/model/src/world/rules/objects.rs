//! Two lock objects of one client: which of its parts may act.
//!
//! One thread calls both. It takes the second while it holds the first, and gives them back
//! in the reverse order. Between operations it does as it likes, so it may give back the first
//! without having tried the second, or try that several times.

use crate::lock::{Op, Phase};
use crate::world::layout::State;
use crate::world::world::World;

impl World {
    /// The client's thread is free to call this operation of this object.
    pub(super) fn may_call(&self, state: &State, part: usize, op: Op) -> bool {
        let Some(objects) = self.config.objects else {
            return true;
        };
        if self.is_busy_elsewhere(state, part) {
            return false;
        }
        let other = self.facts(state, usize::from(objects.partner(part as u8)));
        let holds = self.facts(state, part).holds;
        let second = objects.is_second(part as u8);
        match op.mode() {
            Some(_) if second && holds == 0 => other.holds > 0,
            Some(_) => true,
            None => second || holds > 1 || other.holds == 0,
        }
    }

    /// The client's only thread is within an operation of its other object.
    pub(super) fn is_busy_elsewhere(&self, state: &State, part: usize) -> bool {
        let Some(objects) = self.config.objects else {
            return false;
        };
        let other = self.facts(state, usize::from(objects.partner(part as u8)));
        !matches!(other.phase, Phase::Idle | Phase::Held)
    }

    /// With this acquire the client has all that it is after.
    pub(super) fn has_all(&self, part: usize) -> bool {
        let objects = self.config.objects;
        objects.is_none_or(|objects| objects.is_second(part as u8))
    }
}
