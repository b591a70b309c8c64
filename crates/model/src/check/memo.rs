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

#[cfg(test)]
mod tests {
    use super::super::CheckOptions;
    use super::*;
    use crate::lock::LockFile;
    use crate::world::catalogue::Fault;

    fn set(name: &str) -> Vec<Switch> {
        let fault = Fault::parse(name).unwrap();
        vec![fault.switch(3)]
    }

    fn compared(file: &LockFile, set: &[Switch], memo: &Arc<Memo>) -> Compared {
        let mut checker = Checker::new(file, CheckOptions::for_file(file)).unwrap();
        checker.share(memo);
        checker.compare_set(set, &()).unwrap()
    }

    #[test]
    fn searches_that_are_shared_change_no_answer() {
        let lock = LockFile::builtin("set-nx-px").unwrap();
        let memo = Arc::new(Memo::default());
        let mut checked = 0;
        for mutant in lock.mutants().into_iter().step_by(2) {
            let file = lock.mutated(&mutant).unwrap();
            let mut alone = Checker::new(&file, CheckOptions::for_file(&file)).unwrap();
            let mut shared = Checker::new(&file, CheckOptions::for_file(&file)).unwrap();
            shared.share(&memo);
            for set in [Vec::new(), set("client-crash"), set("overrun")] {
                let alone = alone.check_set(&set, &()).map_err(|e| e.to_string());
                let shared = shared.compare_set(&set, &()).map_err(|e| e.to_string());
                assert_eq!(shared.map(|found| found.results), alone, "{mutant:?}");
                checked += 1;
            }
        }
        // Some of them met a world that another one had searched.
        let searches = memo.searches.lock().unwrap().len();
        assert!(searches < checked * 2, "{searches} of {checked}");
    }

    #[test]
    fn a_remark_changes_no_world_and_a_longer_lease_does() {
        let lock = LockFile::builtin("token").unwrap();
        let file = |from: &str, to: &str| {
            assert!(lock.text.contains(from));
            LockFile::from_text("token", &lock.text.replace(from, to), None).unwrap()
        };
        let memo = Arc::new(Memo::default());
        let set = set("client-pause");
        let own = compared(&lock, &set, &memo);
        assert!(
            own.worlds.len() > 1,
            "ticks that end late, and just in time"
        );
        let remark = compared(
            &file("local set,", "--[[ a remark ]] local set,"),
            &set,
            &memo,
        );
        assert_eq!(remark.worlds, own.worlds);
        let longer = compared(
            &file("\"PX\", lock.ttl", "\"PX\", lock.ttl * 2"),
            &set,
            &memo,
        );
        assert_ne!(longer.worlds, own.worlds);
    }

    #[test]
    fn the_order_of_the_sets_does_not_matter() {
        let lock = LockFile::builtin("getset-timestamp").unwrap();
        let memo = Arc::new(Memo::default());
        let (one, other) = (set("client-crash"), set("loss"));
        let mut checker = Checker::new(&lock, CheckOptions::for_file(&lock)).unwrap();
        checker.share(&memo);
        let worlds = |checker: &mut Checker<'_>, set: &[Switch]| {
            let found = checker.compare_set(set, &()).unwrap();
            (found.worlds, found.results)
        };
        let first = [worlds(&mut checker, &one), worlds(&mut checker, &other)];
        let mut checker = Checker::new(&lock, CheckOptions::for_file(&lock)).unwrap();
        checker.share(&memo);
        let second = [worlds(&mut checker, &other), worlds(&mut checker, &one)];
        assert_eq!(first[0], second[1]);
        assert_eq!(first[1], second[0]);
    }
}
