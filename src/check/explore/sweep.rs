//! A branching property, deadlock-freedom for one: from every reachable state a way
//! without faults leads to its goal.
//!
//! A state is *good* if it is excused, or some transition that is not a fault
//! reaches the goal or leads to a good state: the least set closed under this
//! rule. Many states of the search differ only in what such ways do not depend on
//! (which faults may still strike, what other properties remember), so what is
//! swept are their *bare* states ([`System::bare`]), collected in a table of their
//! own: a fraction of the states, and without faults to generate.
//!
//! Sweeps go over the bare states that are not good yet, until a whole sweep finds
//! none. A sweep generates successors again, so no edges are stored; each state
//! costs one bit. Sweeps run alternately from the deepest level down and from the
//! first level up, since progress usually lies ahead on the search tree or one edge
//! back towards the beginning.
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
use super::bare::bare_states;
use super::engine::Searched;
use super::prefetch::prefetch;
use super::table::{GROUP, Hashed, Table, owner};
use super::trace::on_threads;
use crate::world::{GoalSet, System, Transition};

/// States of one word of bits. A thread takes up a word at a time, and looks up
/// the successors of its states together; see [`super::table`] for why.
const WORD: usize = 64;
/// Words that a thread takes between two looks at the limits.
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
    goal: usize,
    should_stop: &ShouldStop,
) -> Result<Swept<Y::State>, String> {
    let Some(tables) = bare_states(system, searched, should_stop)? else {
        return Ok(Swept::Stopped);
    };
    let sweeper = Sweeper {
        system,
        goal: 1 << goal,
        good: tables.iter().map(Bits::new).collect(),
        tables,
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
    if sweeper.all_good() {
        return Ok(Swept::Free);
    }
    Ok(sweeper
        .first_stuck(searched)
        .map_or(Swept::Free, |(level, state)| Swept::Stuck(level, state)))
}

/// A bit a state, for one table's states.
struct Bits(Vec<AtomicU64>);

impl Bits {
    fn new<S: Copy + Eq + std::hash::Hash>(table: &Table<S>) -> Bits {
        let states = table.states().len();
        Bits(
            (0..states.div_ceil(WORD))
                .map(|_| AtomicU64::new(0))
                .collect(),
        )
    }

    fn get(&self, position: usize) -> bool {
        self.0[position / WORD].load(Ordering::Relaxed) >> (position % WORD) & 1 == 1
    }

    fn touch(&self, position: usize) {
        if let Some(word) = self.0.get(position / WORD) {
            prefetch(word);
        }
    }

    fn set(&self, position: usize) {
        self.0[position / WORD].fetch_or(1 << (position % WORD), Ordering::Relaxed);
    }
}

struct Sweeper<'a, Y: System> {
    system: &'a Y,
    /// The bare states, each in the table of its owner.
    tables: Vec<Table<Y::State>>,
    /// The goal's bit.
    goal: GoalSet,
    good: Vec<Bits>,
}

/// Successors to be looked up, each with the position of its source.
type Ahead<Y> = Vec<(usize, Hashed<<Y as System>::State>)>;

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
        let changed = on_threads(self.tables.len(), take)?.contains(&true);
        Ok(Round {
            changed,
            stopped: stopped.into_inner(),
        })
    }

    fn block(&self, worker: usize, word: usize, downwards: bool) -> bool {
        let end = self.good[worker].0.len().min(word + BLOCK);
        let mut ahead = Vec::new();
        let mut changed = false;
        for step in 0..end - word {
            let word = if downwards {
                end - 1 - step
            } else {
                word + step
            };
            changed |= self.word(worker, word, downwards, &mut ahead);
        }
        changed
    }

    /// Looks at the states of a word that are not good yet. `ahead` is scratch
    /// space.
    fn word(&self, worker: usize, word: usize, downwards: bool, ahead: &mut Ahead<Y>) -> bool {
        let (states, good) = (self.tables[worker].states(), &self.good[worker]);
        let end = states.len().min((word + 1) * WORD);
        ahead.clear();
        let mut changed = false;
        for step in 0..end - word * WORD {
            let position = if downwards {
                end - 1 - step
            } else {
                word * WORD + step
            };
            if !good.get(position) && self.is_good_at_once(position, &states[position], ahead) {
                good.set(position);
                changed = true;
            }
        }
        self.warm(ahead);
        for (position, next) in ahead.iter() {
            if !good.get(*position) && self.known_good(next) {
                good.set(*position);
                changed = true;
            }
        }
        changed
    }

    /// Whether a state is good whatever its successors are; otherwise they are
    /// put where they will be looked up.
    fn is_good_at_once(&self, position: usize, state: &Y::State, ahead: &mut Ahead<Y>) -> bool {
        let before = ahead.len();
        let mut good = self.system.excused(state);
        if !good {
            self.system.edges(state, &mut |next: Transition<Y::State>| {
                if !next.fault {
                    good |= next.goals & self.goal != 0;
                    ahead.push((position, Hashed::new(self.system.bare(&next.state))));
                }
            });
        }
        if good {
            ahead.truncate(before);
        }
        good
    }

    fn owner(&self, hash: u64) -> usize {
        owner(hash, self.tables.len())
    }

    fn warm(&self, ahead: &Ahead<Y>) {
        let table = |hash: u64| &self.tables[self.owner(hash)];
        for group in ahead.chunks(GROUP) {
            let mut positions = [usize::MAX; GROUP];
            for (_, next) in group {
                table(next.hash).touch_line(next.hash);
            }
            for (position, (_, next)) in positions.iter_mut().zip(group) {
                *position = table(next.hash).likely(next.hash);
            }
            for (position, (_, next)) in positions.iter().zip(group) {
                table(next.hash).touch_state(*position);
                self.good[self.owner(next.hash)].touch(*position);
            }
        }
    }

    /// # Panics
    /// If no search came upon the state, which is then no bare one: what is stuck
    /// could not be trusted.
    fn known_good(&self, next: &Hashed<Y::State>) -> bool {
        let worker = self.owner(next.hash);
        let position = self.tables[worker].find(next.hash, &next.state);
        let position = position.expect("bare states lead to bare states of what was searched");
        self.good[worker].get(position)
    }

    fn all_good(&self) -> bool {
        let tables = self.tables.iter().zip(&self.good);
        tables.into_iter().all(|(table, good)| {
            let mut positions = 0..table.states().len();
            positions.all(|position| good.get(position))
        })
    }

    fn first_stuck(&self, searched: &[Searched<Y::State>]) -> Option<(u32, Y::State)> {
        let levels = searched.iter().map(Searched::levels).max().unwrap_or(0);
        let is_stuck = |state: &&Y::State| !self.known_good(&Hashed::new(self.system.bare(state)));
        (0..levels).find_map(|level| {
            let states = searched.iter().flat_map(|searched| searched.level(level));
            let stuck = states.filter(is_stuck).min();
            stuck.map(|state| (level as u32, *state))
        })
    }
}
