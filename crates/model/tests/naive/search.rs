//! The naive search: level by level, and random walks for what lies deeper.

use std::collections::HashSet;

use lockproof_model::world::catalogue::Safety;
use lockproof_redis::ScriptEngine;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::free;
use crate::moves::{Action, Move, enabled};
use crate::step::{Step, Stuck, take};
use crate::trouble;
use crate::world::{Setup, State};

/// What a search found.
#[derive(Default)]
pub struct Found {
    /// By property: the path that violates it.
    pub violations: [Option<Vec<Action>>; Safety::ALL.len()],
    /// A path after which nothing can be said, and why.
    pub stuck: Option<(Vec<Action>, String)>,
    /// Violations within so many moves were all seen.
    pub depth: usize,
    pub transitions: usize,
    /// A path after which no walk without faults came to an acquire.
    pub blocked: Option<Vec<Action>>,
    /// A path after which a majority is there for somebody, and no walk without faults and
    /// repairs came to an acquire.
    pub lamed: Option<Vec<Action>>,
}

impl Found {
    fn note(&mut self, violates: u32, path: impl Fn() -> Vec<Action>) {
        for (at, property) in Safety::ALL.into_iter().enumerate() {
            if violates & property.bit() != 0 && self.violations[at].is_none() {
                self.violations[at] = Some(path());
            }
        }
    }
}

/// Every next step.
pub fn successors<'s>(
    setup: &'s Setup,
    engine: &mut ScriptEngine,
    state: &State,
    mut visit: impl FnMut(&mut ScriptEngine, Action, Result<Step<'s>, Stuck>),
) {
    use lockproof_model::world::catalogue::Fault;
    for step in enabled(setup, state) {
        let action = Action::from(step);
        let taken = take(setup, engine, state, action);
        let (mut sent, mut orders) = (0, 1);
        if let Ok(taken) = &taken {
            (sent, orders) = (taken.sent.len(), taken.orders);
        }
        visit(engine, action, taken);
        if state.left(setup, Fault::ClientPause) > 0 {
            for held in 1..=sent {
                let action = Action { step, held };
                let taken = take(setup, engine, state, action);
                visit(engine, action, taken);
            }
        }
        if let Move::Execute { id, .. } = step {
            for order in 1..orders {
                let action = Action::from(Move::Execute { id, order });
                let taken = take(setup, engine, state, action);
                visit(engine, action, taken);
            }
        }
    }
}

/// Searches level by level until so many transitions are taken.
pub fn search(setup: &Setup, start: &State, transitions_max: usize) -> Found {
    let mut engine = ScriptEngine::new().expect("a script engine");
    let mut found = Found::default();
    let mut seen = HashSet::from([start.print()]);
    // What was reached: where from, and how.
    let mut from: Vec<(usize, Action)> = vec![(0, Action::from(Move::Tick))];
    let mut level = vec![(0, start.clone())];
    while !level.is_empty() {
        let mut next = Vec::new();
        for (at, state) in &level {
            if found.transitions > transitions_max {
                return found;
            }
            successors(setup, &mut engine, state, |engine, action, step| {
                found.transitions += 1;
                let path = || path(&from, *at, action);
                let step = match step {
                    Ok(step) => step,
                    Err(Stuck(why)) => {
                        found.stuck.get_or_insert_with(|| (path(), why));
                        return;
                    }
                };
                let mut violates = step.violates;
                if free::is_asked(&step) && free::freed(&step, engine) == Some(false) {
                    violates |= Safety::ReleaseFrees.bit();
                }
                found.note(violates, path);
                if seen.insert(step.state.print()) {
                    from.push((*at, action));
                    next.push((from.len() - 1, step.state));
                }
            });
        }
        found.depth += 1;
        level = next;
    }
    found.depth = usize::MAX;
    found
}

fn path(from: &[(usize, Action)], at: usize, last: Action) -> Vec<Action> {
    let mut path = vec![last];
    let mut at = at;
    while at != 0 {
        path.push(from[at].1);
        at = from[at].0;
    }
    path.reverse();
    path
}

/// Walks at random; what is violated on the way goes into `found`.
pub fn walk(setup: &Setup, start: &State, seed: u64, length: usize, found: &mut Found) {
    let mut engine = ScriptEngine::new().expect("a script engine");
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut state = start.clone();
    let mut path: Vec<Action> = Vec::new();
    for _ in 0..length {
        let moves = enabled(setup, &state);
        let Some(step) = moves.choose(&mut random).copied() else {
            return;
        };
        path.push(Action::from(step));
        found.transitions += 1;
        let mut taken = match take(setup, &mut engine, &state, path[path.len() - 1]) {
            Ok(taken) => taken,
            Err(Stuck(why)) => {
                found.stuck.get_or_insert((path, why));
                return;
            }
        };
        let pauses = state.left(setup, lockproof_model::world::catalogue::Fault::ClientPause) > 0;
        let held: Vec<usize> = (0..=taken.sent.len()).collect();
        let held = held.choose(&mut random).copied().unwrap_or(0);
        if pauses && held > 0 {
            let at = path.len() - 1;
            path[at].held = held;
            match take(setup, &mut engine, &state, path[at]) {
                Ok(paused) => taken = paused,
                Err(_) => return,
            }
        }
        let mut violates = taken.violates;
        if free::is_asked(&taken) && free::freed(&taken, &mut engine) == Some(false) {
            violates |= Safety::ReleaseFrees.bit();
        }
        found.note(violates, || path.clone());
        state = taken.state;
    }
    let dead = state.clients.iter().all(|one| one.ghost.crashed);
    if !dead && found.blocked.is_none() && !somebody_acquires(setup, &mut engine, &state, seed) {
        found.blocked = Some(path.clone());
    }
    if found.lamed.is_none() && trouble::lasts(setup, &state) {
        let worse = trouble::lasting(setup);
        if !somebody_acquires(&worse, &mut engine, &state, seed) {
            found.lamed = Some(path);
        }
    }
}

/// Some walk without faults leads to an acquire.
fn somebody_acquires(setup: &Setup, engine: &mut ScriptEngine, from: &State, seed: u64) -> bool {
    const WALKS: u64 = 30;
    const LENGTH: usize = 600;
    let mut random = ChaCha8Rng::seed_from_u64(!seed);
    (0..WALKS).any(|_| {
        let mut state = from.clone();
        state.budget.iter_mut().for_each(|budget| *budget = 0);
        for _ in 0..LENGTH {
            let mut moves = enabled(setup, &state);
            moves.retain(|one| !matches!(one, Move::Write { .. }) && trouble::may(setup, one));
            // Time is to pass, and not only when everybody has had their say.
            let tick = moves.contains(&Move::Tick) && random.random_range(0..2) == 0;
            let step = match moves.choose(&mut random) {
                _ if tick => Move::Tick,
                Some(step) => *step,
                None => return false,
            };
            match take(setup, engine, &state, Action::from(step)) {
                Ok(taken) if taken.acquired.is_some() && taken.complete => return true,
                Ok(taken) => state = taken.state,
                Err(_) => return true,
            }
        }
        false
    })
}
