//! The values of fences, by the ranks that the tables give them.

use lockproof_redis::Value;

use super::{ConcreteError, ConcreteRun, mismatch};
use crate::lock::{Role, Stated};
use crate::world::closure::Execution;
use crate::world::fences::Renumbering;
use crate::world::node::Keyspace;

impl ConcreteRun<'_> {
    /// A new highest is about to be drawn, and the others get other ranks.
    pub(super) fn draw(&mut self, how: Renumbering) {
        let none = vec![None; self.fences.len()];
        let before = std::mem::replace(&mut self.fences, none);
        // Nobody has a fence of a rank that is filled.
        let kept = (0..).zip(before);
        let kept = kept.filter(|(rank, _)| how != Renumbering::Fill(*rank));
        for (rank, value) in kept {
            if let Some(place) = self.fences.get_mut(usize::from(how.rank(rank))) {
                *place = value;
            }
        }
        self.fences[0] = None;
    }

    /// What a command drew is the value of the highest.
    pub(super) fn learn_fence(&mut self, before: &Keyspace, after: &Keyspace, claimed: &Execution) {
        if claimed.drew.is_none() || self.fences[0].is_some() {
            return;
        }
        let rules = &self.world.tables.closure.rules;
        let mut entries = after.entries().iter();
        let drawn = entries.find(|entry| {
            rules.role(&entry.key) == Role::Fence && !before.entries().contains(entry)
        });
        self.fences[0] = drawn.and_then(|entry| match &entry.value {
            Value::String(text) => std::str::from_utf8(text).ok()?.parse().ok(),
            _ => None,
        });
    }

    /// The live program states the fence that the tables say.
    pub(super) fn compare_fence(
        &self,
        client: usize,
        is: Option<i64>,
        claimed: Option<Stated>,
    ) -> Result<(), ConcreteError> {
        let same = match claimed {
            None => is.is_none(),
            Some(Stated::Number(number)) => is == Some(i64::from(number)),
            Some(Stated::Rank(rank)) => match self.fences.get(usize::from(rank)) {
                Some(value) => is.is_some() && is == *value,
                None => is.is_some(),
            },
            Some(Stated::Other) => is.is_some(),
        };
        if same {
            return Ok(());
        }
        let known = &self.fences;
        let detail =
            format!("client {client} states the fence {is:?}, not {claimed:?} of {known:?}");
        Err(mismatch(self.at, "fence", detail))
    }
}
