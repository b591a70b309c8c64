//! Deadlock-freedom: from every reachable state, some client can acquire again.
//!
//! A state is *good* if it is excused, or some transition that is not a fault
//! makes progress or leads to a good state: the least set closed under this
//! rule. It is found by sweeping over the states that are not good yet, until a
//! whole sweep finds none. A sweep generates successors again, so no edges are
//! stored; each state costs one bit. Sweeps run alternately from the deepest
//! level down and from the first level up, since progress usually lies ahead on
//! the search tree or one edge back towards the beginning.
//!
//! Threads set bits while others read them. A bit that is read late only costs
//! another sweep: bits are never cleared, and the least fixpoint is one, so the
//! answer does not depend on the threads.
//!
//! Rejected: backward reachability over stored edges (7 times the memory of the
//! search), and nested searches for cycles (they answer "for every fair run",
//! which is a different and stronger question: some client *can*).

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::ShouldStop;
use super::engine::Searched;
use super::table::{hash_of, owner};
use super::trace::on_threads;
use crate::world::{System, Transition};

/// Words of 64 states that a thread takes at a time.
const BLOCK: usize = 64;

/// What the sweeps found.
pub(super) enum Swept<S> {
    /// Every state is good.
    Free,
    /// The least state of the least level that is not good.
    Stuck(u32, S),
    /// `should_stop` said so.
    Stopped,
}

/// Sweeps the states of a complete search.
pub(super) fn sweep<Y: System>(
    system: &Y,
    searched: &[Searched<Y::State>],
    should_stop: &ShouldStop,
) -> Result<Swept<Y::State>, String> {
    let sweeper = Sweeper {
        system,
        searched,
        good: searched.iter().map(Bits::new).collect(),
    };
    let mut downwards = true;
    loop {
        let round = sweeper.round(downwards, should_stop)?;
        if round.stopped {
            return Ok(Swept::Stopped);
        }
        if !round.changed {
            break;
        }
        downwards = !downwards;
    }
    Ok(sweeper
        .first_stuck()
        .map_or(Swept::Free, |(level, state)| Swept::Stuck(level, state)))
}

/// A bit a state, for one worker's states.
struct Bits(Vec<AtomicU64>);

impl Bits {
    fn new<S: Copy + Eq + std::hash::Hash>(searched: &Searched<S>) -> Bits {
        let states = searched.table.states().len();
        Bits(
            (0..states.div_ceil(64))
                .map(|_| AtomicU64::new(0))
                .collect(),
        )
    }

    fn get(&self, position: usize) -> bool {
        self.0[position / 64].load(Ordering::Relaxed) >> (position % 64) & 1 == 1
    }

    fn set(&self, position: usize) {
        self.0[position / 64].fetch_or(1 << (position % 64), Ordering::Relaxed);
    }
}

struct Sweeper<'a, Y: System> {
    system: &'a Y,
    searched: &'a [Searched<Y::State>],
    good: Vec<Bits>,
}

struct Round {
    changed: bool,
    stopped: bool,
}

impl<Y: System> Sweeper<'_, Y> {
    fn round(&self, downwards: bool, should_stop: &ShouldStop) -> Result<Round, String> {
        let workers = self.good.iter().enumerate();
        let mut blocks: Vec<(usize, usize)> = workers
            .flat_map(|(worker, bits)| {
                (0..bits.0.len())
                    .step_by(BLOCK)
                    .map(move |word| (word, worker))
            })
            .collect();
        // By position first, so that all workers' states of a depth go together.
        blocks.sort_unstable();
        if downwards {
            blocks.reverse();
        }
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let take = || {
            let mut changed = false;
            while let Some(&(word, worker)) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if should_stop() {
                    stopped.store(true, Ordering::Relaxed);
                }
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                changed |= self.block(worker, word, downwards);
            }
            changed
        };
        let changed = on_threads(self.searched.len(), take)?.contains(&true);
        Ok(Round {
            changed,
            stopped: stopped.into_inner(),
        })
    }

    fn block(&self, worker: usize, word: usize, downwards: bool) -> bool {
        let states = self.searched[worker].table.states();
        let (start, end) = (word * 64, states.len().min((word + BLOCK) * 64));
        let mut changed = false;
        let mut look = |position: usize| {
            if !self.good[worker].get(position) && self.is_good(&states[position]) {
                self.good[worker].set(position);
                changed = true;
            }
        };
        if downwards {
            (start..end).rev().for_each(&mut look);
        } else {
            (start..end).for_each(&mut look);
        }
        changed
    }

    fn is_good(&self, state: &Y::State) -> bool {
        let mut good = self.system.excused(state);
        if !good {
            self.system
                .successors(state, &mut |next: Transition<Y::State>| {
                    good = good || !next.fault && (next.progress || self.known_good(&next.state));
                });
        }
        good
    }

    fn known_good(&self, state: &Y::State) -> bool {
        let hash = hash_of(state);
        let worker = owner(hash, self.searched.len());
        let position = self.searched[worker].table.find(hash, state);
        position.is_some_and(|position| self.good[worker].get(position))
    }

    fn first_stuck(&self) -> Option<(u32, Y::State)> {
        let levels = self
            .searched
            .iter()
            .map(Searched::levels)
            .max()
            .unwrap_or(0);
        (0..levels).find_map(|level| {
            let stuck = self
                .searched
                .iter()
                .zip(&self.good)
                .flat_map(|(searched, good)| {
                    let stuck = searched
                        .range(level)
                        .filter(|position| !good.get(*position));
                    stuck.map(|position| searched.table.states()[position])
                });
            stuck.min().map(|state| (level as u32, state))
        })
    }
}
