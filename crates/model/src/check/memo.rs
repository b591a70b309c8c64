//! Checks of locks that are nearly the same.
//!
//! Under most sets of faults a small change of a lock changes nothing, or nothing that another change does
//! not: the worlds are the same, table by table. So searches are kept by the fingerprints of their worlds
//! ([`Tables::fingerprint`](crate::world::tables::Tables::fingerprint)), and a world that is known is not
//! searched again. A lock whose worlds are those of another one behaves in the model as that one does.

use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::{CheckError, CheckResult, Checker, Exploration, Observer, StopReason};
use crate::world::catalogue::Switch;
use crate::world::layout::State;
use crate::world::tables::Fingerprint;
use crate::world::{Reached, World};

/// Searches that were done, by the fingerprints of their worlds. Only checks with the same properties
/// and the same limit of states may share one.
#[derive(Default)]
pub struct Memo {
    searches: Mutex<FxHashMap<Fingerprint, Known>>,
}

struct Known {
    found: Exploration<State>,
    reached: Reached,
}

/// What a check of one assumption set found, and in which worlds.
#[derive(Clone, Debug)]
pub struct Compared {
    /// One a property, as [`Checker::check_set`] gives them.
    pub results: Vec<CheckResult>,
    /// The worlds that were searched, in this order. Two locks with the same ones behave alike under
    /// this set.
    pub worlds: Vec<Fingerprint>,
}

impl Checker<'_> {
    /// From now on searches of worlds that `memo` knows are taken from there, and others are added.
    pub fn share(&mut self, memo: &Arc<Memo>) {
        self.memo = Some(Arc::clone(memo));
    }

    /// [`Checker::check_set`], with the worlds that were searched. What it gives does not depend on
    /// what was checked before.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn compare_set(
        &mut self,
        set: &[Switch],
        observer: &dyn Observer,
    ) -> Result<Compared, CheckError> {
        self.prints.clear();
        self.reach = 1;
        let results = self.check_set(set, observer)?;
        Ok(Compared {
            results,
            worlds: std::mem::take(&mut self.prints),
        })
    }

    /// What is known of a world; it has then come upon what its search came upon.
    pub(super) fn known(&self, print: Fingerprint, world: &World) -> Option<Exploration<State>> {
        let memo = self.memo.as_ref()?;
        let searches = memo.searches.lock().unwrap_or_else(PoisonError::into_inner);
        let known = searches.get(&print)?;
        world.reached.add(&known.reached);
        Some(known.found.clone())
    }

    /// Keeps a search for whoever comes to its world again, unless somebody stopped it.
    pub(super) fn keep(&self, print: Fingerprint, world: &World, found: &Exploration<State>) {
        let Some(memo) = &self.memo else { return };
        let ended = matches!(
            found.stop_reason,
            None | Some(StopReason::StateLimit(_) | StopReason::Overflow(_))
        );
        if !ended || self.simulate.is_some() {
            return;
        }
        let known = Known {
            found: found.clone(),
            reached: world.reached.taken(),
        };
        let mut searches = memo.searches.lock().unwrap_or_else(PoisonError::into_inner);
        searches.entry(print).or_insert(known);
    }
}
