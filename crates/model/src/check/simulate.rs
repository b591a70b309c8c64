//! Random walks, for systems that are too big to search.
//!
//! A walk takes each enabled transition with the same chance. It can show that a
//! property is violated, never that it holds, and its paths are not shortest.
//! Walk number i has a generator of its own, made from the seed and i: the walks
//! do not depend on how long earlier ones were, so a single one can be repeated.
//!
//! stateright's own simulation was not used: it stops at the first state that it
//! meets twice, which cuts walks through cyclic systems like ours short, and it
//! runs until somebody stops it.

use rand::SeedableRng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;

use super::explore::{ExploreOptions, Path, ShouldStop, StopReason, catch_panic};
use crate::world::walk::step;
use crate::world::{Action, System};

/// How to walk.
#[derive(Clone)]
pub struct SimulateOptions {
    /// The same seed gives the same walks.
    pub seed: u64,
    /// Number of walks.
    pub walks: u64,
    /// Transitions of one walk at most.
    pub steps_max: u32,
    /// Asks whether to give up, before each walk.
    pub should_stop: ShouldStop,
}

impl SimulateOptions {
    /// A thousand walks of at most a thousand steps.
    pub fn new(seed: u64) -> Self {
        let should_stop = ExploreOptions::default().should_stop;
        SimulateOptions {
            seed,
            walks: 1_000,
            steps_max: 1_000,
            should_stop,
        }
    }
}

/// What the walks found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Simulation<S> {
    /// The seed of the walks; print it.
    pub seed: u64,
    /// Walks taken.
    pub walks: u64,
    /// Transitions taken.
    pub steps: u64,
    /// Why not all walks were taken.
    pub stop_reason: Option<StopReason>,
    /// For each property the first walk that violates it, cut off there.
    pub violations: Vec<Option<Path<S>>>,
}

/// Walks until the walks are used up or every property was violated. A panic of
/// the system ends it with a reason.
pub fn simulate<Y: System>(system: &Y, options: &SimulateOptions) -> Simulation<Y::State> {
    let seed = options.seed;
    let mut found = Simulation {
        seed,
        walks: 0,
        steps: 0,
        stop_reason: None,
        violations: Vec::new(),
    };
    if let Err(text) = catch_panic(|| walk_all(system, options, &mut found)) {
        found.stop_reason = Some(StopReason::Panicked(text));
    }
    found
}

fn walk_all<Y: System>(system: &Y, options: &SimulateOptions, found: &mut Simulation<Y::State>) {
    found.violations = vec![None; system.properties().len()];
    let initial = system.initial();
    for number in 0..options.walks {
        if (options.should_stop)() {
            found.stop_reason = Some(StopReason::Stopped);
            return;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(options.seed);
        rng.set_stream(number);
        let Some(start) = initial.choose(&mut rng) else {
            return;
        };
        found.walks += 1;
        walk(system, *start, options.steps_max, &mut rng, found);
        if !found.violations.is_empty() && found.violations.iter().all(Option::is_some) {
            return;
        }
    }
}

fn walk<Y: System>(
    system: &Y,
    start: Y::State,
    steps_max: u32,
    rng: &mut ChaCha8Rng,
    found: &mut Simulation<Y::State>,
) {
    let mut path = Path {
        initial: start,
        steps: Vec::<(Action, Y::State)>::new(),
    };
    for _ in 0..steps_max {
        let Some(next) = step(system, path.last(), rng, |_| 1) else {
            return;
        };
        found.steps += 1;
        path.steps.push((next.action, next.state));
        for (property, violation) in found.violations.iter_mut().enumerate().take(32) {
            if next.violates >> property & 1 == 1 && violation.is_none() {
                *violation = Some(path.clone());
            }
        }
        if next.overflow != 0 {
            return;
        }
    }
}
