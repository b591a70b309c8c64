//! The guard of every answer: random walks once more on live programs.
//!
//! The search looks at tables in which tokens, owners and times are symbols. After
//! it, whatever it found, random walks through the same world are followed by live
//! programs and formal servers with random tokens, owners and start times, and
//! every state is compared. A difference is an error of lockproof's own.

use std::sync::Arc;

use crate::world::catalogue::Switch;
use crate::world::concrete;
use crate::world::tables::Tables;
use crate::world::walk::random_walk;
use crate::world::{Plan, World};

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
    pub(super) fn guard<const W: usize>(
        &self,
        set: &[Switch],
        tables: &Arc<Tables>,
    ) -> Result<(), CheckError> {
        let world: World<W> = self.at_ticks(set, tables)?;
        let Guard {
            seed,
            walks,
            length,
        } = self.options.guard;
        for seed in seed..seed + u64::from(walks) {
            if (self.options.explore.should_stop)() {
                return Ok(());
            }
            let moves = random_walk(&world, seed, length);
            let config = self.config(set);
            concrete::verify(&world, self.file, &config, &moves, seed)?;
        }
        Ok(())
    }

    /// The world in which everything happens at ticks.
    pub(super) fn at_ticks<const W: usize>(
        &self,
        set: &[Switch],
        tables: &Arc<Tables>,
    ) -> Result<World<W>, CheckError> {
        let mut config = self.world_config(set);
        config.at_ticks = true;
        Ok(Plan::new(config, Arc::clone(tables)).build()?)
    }
}
