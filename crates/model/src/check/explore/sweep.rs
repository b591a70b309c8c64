//! A branching property, deadlock-freedom for one: from every reachable state a way
//! without faults leads to its goal.
//!
//! A state is *good* if it is excused, or some transition that is not a fault
//! reaches the goal or leads to a good state: the least set closed under this
//! rule. Many states of the search differ only in what such ways do not depend on
//! (which faults may still strike, what other properties remember), so what is
//! looked at are their *bare* states ([`System::bare`]), collected in tables of their
//! own: a fraction of the states, and without faults to generate.
//!
//! One pass generates the successors of every bare state, from the deepest level up,
//! since progress usually lies ahead. Most states turn out to be good there; of the rest
//! it keeps the numbers of the successors. Then these are swept, in turns from either
//! end, until a whole sweep finds none that has become good.
//!
//! Threads set bits while others read them. A bit that is read late only costs
//! another sweep: bits are never cleared, and the least fixpoint is one, so the
//! answer does not depend on the threads.
//!
//! Rejected: backward reachability over all edges (7 times the memory of the
//! search), and searches for cycles (they answer "for every fair run", which is a
//! different and stronger question; `fair` asks it).

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use super::ShouldStop;
use super::bare::{Numbered, bare_states};
use super::engine::Searched;
use super::prefetch::prefetch;
use super::table::{GROUP, Hashed};
use super::trace::on_threads;
use crate::world::{GoalSet, System, Transition};

/// States whose successors are looked up together; see [`super::table`] for why.
const WORD: usize = 64;
/// States that a thread takes between two looks at the limits.
const BLOCK: usize = 64 * WORD;

/// Sweeps the states of a complete search; `None` if `should_stop` said so.
pub(super) fn sweep<'a, Y: System>(
    system: &'a Y,
    searched: &[Searched<Y::State>],
    goal: usize,
    should_stop: &ShouldStop,
) -> Result<Option<Sweeper<'a, Y>>, String> {
    let Some(tables) = bare_states(system, searched, should_stop)? else {
        return Ok(None);
    };
    let mut sweeper = Sweeper::new(system, Numbered::new(tables)?, 1 << goal);
    let Some(rests) = sweeper.generate(should_stop)? else {
        return Ok(None);
    };
    if !sweeper.settle(&rests, should_stop)? {
        return Ok(None);
    }
    sweeper.free = rests.iter().all(|rest| locked(rest).states.is_empty());
    Ok(Some(sweeper))
}

/// The least state of the least level that is `stuck`.
pub(super) fn first<S: Copy + Ord + std::hash::Hash>(
    searched: &[Searched<S>],
    stuck: impl Fn(&S) -> bool,
) -> Option<(u32, S)> {
    let levels = searched.iter().map(Searched::levels).max().unwrap_or(0);
    (0..levels).find_map(|level| {
        let states = searched.iter().flat_map(|searched| searched.level(level));
        let least = states.filter(|state| stuck(state)).min();
        least.map(|state| (level as u32, *state))
    })
}

/// A bit a state.
struct Bits(Vec<AtomicU64>);

impl Bits {
    fn new(states: usize) -> Bits {
        let words = 0..states.div_ceil(64);
        Bits(words.map(|_| AtomicU64::new(0)).collect())
    }

    fn get(&self, number: usize) -> bool {
        self.0[number / 64].load(Ordering::Relaxed) >> (number % 64) & 1 == 1
    }

    fn touch(&self, number: usize) {
        if let Some(word) = self.0.get(number / 64) {
            prefetch(word);
        }
    }

    fn set(&self, number: usize) {
        self.0[number / 64].fetch_or(1 << (number % 64), Ordering::Relaxed);
    }
}

/// States that are not good yet, and where they lead.
#[derive(Default)]
struct Rest {
    /// The state's number, and where its successors begin and end.
    states: Vec<(u32, usize, usize)>,
    successors: Vec<u32>,
}

fn locked(rest: &Mutex<Rest>) -> std::sync::MutexGuard<'_, Rest> {
    rest.lock().unwrap_or_else(|error| error.into_inner())
}

/// Says of bare states whether they are good.
pub(super) struct Sweeper<'a, Y: System> {
    system: &'a Y,
    bare: Numbered<Y::State>,
    /// The goal's bit.
    goal: GoalSet,
    good: Bits,
    /// Every state is good.
    pub free: bool,
}

/// Successors to be looked up, each with the position of its source.
type Ahead<Y> = Vec<(usize, Hashed<<Y as System>::State>)>;

impl<'a, Y: System> Sweeper<'a, Y> {
    fn new(system: &'a Y, bare: Numbered<Y::State>, goal: GoalSet) -> Self {
        Sweeper {
            system,
            goal,
            good: Bits::new(bare.count()),
            bare,
            free: false,
        }
    }

    /// The state's bare state is not good.
    pub fn is_stuck(&self, state: &Y::State) -> bool {
        let bare = Hashed::new(self.system.bare(state));
        !self.good.get(self.bare.number(&bare))
    }

    /// Looks at every state once; `None` if it was told to stop.
    fn generate(&self, should_stop: &ShouldStop) -> Result<Option<Vec<Mutex<Rest>>>, String> {
        let tables = self.bare.tables.iter().enumerate();
        let mut blocks: Vec<(usize, usize)> = tables
            .flat_map(|(number, table)| {
                let starts = (0..table.states().len()).step_by(BLOCK);
                starts.map(move |start| (start, number))
            })
            .collect();
        // By position, so that all tables' states of a depth go together.
        blocks.sort_unstable();
        blocks.reverse();
        let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let take = || {
            let (mut rest, mut ahead) = (Rest::default(), Vec::new());
            while let Some(&(start, table)) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
                if should_stop() {
                    stopped.store(true, Ordering::Relaxed);
                }
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                let words = (start..start + BLOCK).step_by(WORD).rev();
                words.for_each(|start| self.word(table, start, &mut ahead, &mut rest));
            }
            Mutex::new(rest)
        };
        let rests = on_threads(self.bare.tables.len(), take)?;
        Ok((!stopped.into_inner()).then_some(rests))
    }

    /// Looks at some states together. `ahead` is scratch space.
    fn word(&self, table: usize, start: usize, ahead: &mut Ahead<Y>, rest: &mut Rest) {
        let (states, first) = (self.bare.tables[table].states(), self.bare.firsts[table]);
        ahead.clear();
        for position in (start..states.len().min(start + WORD)).rev() {
            if self.is_good_at_once(position, &states[position], ahead) {
                self.good.set(first + position);
            }
        }
        self.warm(ahead);
        for successors in ahead.chunk_by(|(one, _), (other, _)| one == other) {
            let from = rest.successors.len();
            for (_, next) in successors {
                rest.successors.push(self.bare.number(next) as u32);
            }
            let state = first + successors[0].0;
            if self.leads_to_good(&rest.successors[from..]) {
                self.good.set(state);
                rest.successors.truncate(from);
            } else {
                let end = rest.successors.len();
                rest.states.push((state as u32, from, end));
            }
        }
    }

    fn leads_to_good(&self, successors: &[u32]) -> bool {
        let mut successors = successors.iter();
        successors.any(|next| self.good.get(*next as usize))
    }

    /// Sweeps what is left until nothing changes; false if it was told to stop.
    fn settle(&self, rests: &[Mutex<Rest>], should_stop: &ShouldStop) -> Result<bool, String> {
        let mut backwards = true;
        loop {
            let next = AtomicUsize::new(0);
            let take = || {
                let mut changed = false;
                while let Some(rest) = rests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    changed |= self.settle_once(&mut locked(rest), backwards, should_stop);
                }
                changed
            };
            let changed = on_threads(rests.len(), take)?.contains(&true);
            if should_stop() {
                return Ok(false);
            }
            if !changed {
                return Ok(true);
            }
            backwards = !backwards;
        }
    }

    fn settle_once(&self, rest: &mut Rest, backwards: bool, should_stop: &ShouldStop) -> bool {
        let before = rest.states.len();
        for step in 0..before {
            if step % BLOCK == 0 && should_stop() {
                break;
            }
            let at = if backwards { before - 1 - step } else { step };
            let (state, from, end) = rest.states[at];
            if self.leads_to_good(&rest.successors[from..end]) {
                self.good.set(state as usize);
            }
        }
        rest.states
            .retain(|(state, _, _)| !self.good.get(*state as usize));
        rest.states.len() < before
    }

    /// Whether a state is good whatever its successors are; otherwise they are
    /// put where they will be looked up. One that leads nowhere leads to itself.
    fn is_good_at_once(&self, position: usize, state: &Y::State, ahead: &mut Ahead<Y>) -> bool {
        let before = ahead.len();
        let mut good = self.system.excused(state);
        if !good {
            self.system.edges(state, &mut |next: Transition<Y::State>| {
                if !next.fault && next.overflow == 0 {
                    good |= next.goals & self.goal != 0;
                    ahead.push((position, Hashed::new(self.system.bare(&next.state))));
                }
            });
        }
        if good {
            ahead.truncate(before);
        } else if ahead.len() == before {
            ahead.push((position, Hashed::new(*state)));
        }
        good
    }

    fn warm(&self, ahead: &Ahead<Y>) {
        let table = |hash: u64| &self.bare.tables[self.bare.owner(hash)];
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
                let first = self.bare.firsts[self.bare.owner(next.hash)];
                self.good.touch(position.saturating_add(first));
            }
        }
    }
}
