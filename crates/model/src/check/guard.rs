//! The guard of every answer: random walks once more on live programs.
//!
//! The search looks at tables in which tokens, owners and times are symbols. After
//! it, whatever it found, random walks through the same world are followed by live
//! programs and formal servers with random tokens, owners and start times, and
//! every state is compared. A difference is an error of lockproof's own.

use std::sync::Arc;

use crate::world::World;
use crate::world::catalogue::Switch;
use crate::world::concrete::{self, ConcreteError};
use crate::world::tables::Tables;
use crate::world::walk::random_walk;

use super::{CheckError, Checker};

/// How much to walk after each search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The same seed gives the same walks.
    pub seed: u64,
    /// How many.
    pub walks: u32,
    /// Moves of each at most.
    pub length: usize,
}

impl Guard {
    /// What every check does: some milliseconds.
    pub fn usual(seed: u64) -> Guard {
        Guard {
            seed,
            walks: 8,
            length: 40,
        }
    }
}

impl Checker<'_> {
    /// Follows random walks through the world of `set` on live programs.
    ///
    /// # Errors
    /// At the first difference.
    pub(super) fn guard(&self, set: &[Switch], tables: &Arc<Tables>) -> Result<(), CheckError> {
        let world = self.at_ticks(set, tables)?;
        let Guard {
            seed,
            walks,
            length,
        } = self.options.guard;
        for seed in seed..seed + u64::from(walks) {
            if (self.options.explore.should_stop)() {
                return Ok(());
            }
            let mut moves = random_walk(&world, seed, length);
            let config = self.config(set);
            // Random tokens may lie otherwise than the path has it: up to there it is followed.
            while let Err(error) = concrete::verify(&world, self.file, &config, &moves, seed) {
                match error {
                    ConcreteError::BetweenTicks { .. } if moves.pop().is_some() => {}
                    error => return Err(error.into()),
                }
            }
        }
        Ok(())
    }

    /// The world in which everything happens at ticks.
    pub(super) fn at_ticks(
        &self,
        set: &[Switch],
        tables: &Arc<Tables>,
    ) -> Result<World, CheckError> {
        let mut config = self.world_config(set);
        config.at_ticks = true;
        Ok(World::new(config, Arc::clone(tables))?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CheckOptions, ExploreOptions, Observer, Sizes, Verdict};
    use super::*;
    use crate::lock::LockFile;
    use crate::world::catalogue::{Fault, Property};

    struct NoClock;

    impl Observer for NoClock {
        fn seconds(&self) -> f64 {
            0.0
        }
    }

    /// A check of the built-in token lock whose holder works for too long, with tables
    /// in which keys never expire.
    fn check_with_wrong_tables(walks: u32) -> Result<Vec<Verdict>, CheckError> {
        let file = LockFile::builtin("token").unwrap();
        let fault = Fault::parse("overrun").unwrap();
        let sizes = Sizes::for_file(&file);
        let set = [fault.switch(sizes.ttl_ticks)];
        let guard = Guard {
            walks,
            ..Guard::usual(1)
        };
        let options = CheckOptions {
            sizes,
            properties: Property::usual(false),
            explore: ExploreOptions::default(),
            guard,
            timed: false,
        };
        let mut checker = Checker::new(&file, options)?;
        checker.tables(&set)?;
        for tables in checker.tables.values_mut() {
            let tables = Arc::get_mut(tables).unwrap();
            for id in 0..tables.tick.len() {
                if tables.tick[id] == 0 {
                    tables.tick[id] = id as u16;
                }
            }
        }
        let cells = checker.check_once(&set, &NoClock)?;
        Ok(cells.into_iter().map(|cell| cell.verdict).collect())
    }

    #[test]
    fn wrong_tables_that_would_give_holds_end_the_check_as_an_error_of_lockproof() {
        let unguarded = check_with_wrong_tables(0).unwrap();
        assert!(unguarded.contains(&Verdict::Holds));
        assert!(!unguarded.contains(&Verdict::Violated));
        let error = check_with_wrong_tables(100).unwrap_err();
        assert!(matches!(error, CheckError::Concrete(_)), "{error}");
    }
}
