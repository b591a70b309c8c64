//! What a state from which nobody can acquire looks like: everybody tries, in vain.

use rustc_hash::FxHashMap;

use super::Path;
use crate::lock::{Op, Phase};
use crate::world::catalogue::Branching;
use crate::world::layout::State;
use crate::world::moves::Move;
use crate::world::rules::repairs;
use crate::world::{Action, System, World};

/// More states than this are not searched for an attempt.
const STATES_MAX: usize = 50_000;

/// The path, and after it an attempt of each client that runs, one after the other,
/// as far as attempts end. Where the property asks what is possible without repairs, there are
/// none.
pub(super) fn followed(world: &World, path: &Path<State>, property: Branching) -> Path<State> {
    let repaired = property != Branching::FaultTolerance;
    let mut path = path.clone();
    for client in 0..world.config.clients {
        let steps = attempt(world, *path.last(), (client, repaired));
        path.steps.extend(steps);
    }
    path
}

/// The shortest way without faults on which an acquire of the client ends; of a
/// read-write lock one for writing.
fn attempt(world: &World, start: State, (client, repaired): (u8, bool)) -> Vec<(Action, State)> {
    let mut from: FxHashMap<State, (State, Action)> = FxHashMap::default();
    let mut level = vec![start];
    let phase = |state: &State| world.facade(state, client).phase;
    while !level.is_empty() && from.len() < STATES_MAX {
        let mut next_level = Vec::new();
        for state in level {
            let acquiring = phase(&state) == Phase::Acquiring;
            let mut ended = None;
            world.successors(&state, &mut |next| {
                if next.fault || next.overflow != 0 {
                    return;
                }
                let step = Move::decode(next.action);
                let acts = step.and_then(Move::client) == Some(client);
                let op = Op::AcquireRead;
                let repairs = !repaired && step.is_some_and(repairs);
                if step == Some(Move::Call { client, op }) || repairs {
                    return;
                }
                // An acquire may end in the step that calls it.
                let tries =
                    acquiring || matches!(step, Some(Move::Call { op, .. }) if op.mode().is_some());
                if tries && acts && phase(&next.state) == Phase::Idle {
                    ended.get_or_insert((next.action, next.state));
                }
                if next.state != start && !from.contains_key(&next.state) {
                    from.insert(next.state, (state, next.action));
                    next_level.push(next.state);
                }
            });
            if let Some(last) = ended {
                return way(&from, start, state, last);
            }
        }
        level = next_level;
    }
    Vec::new()
}

fn way(
    from: &FxHashMap<State, (State, Action)>,
    start: State,
    to: State,
    last: (Action, State),
) -> Vec<(Action, State)> {
    let mut steps = vec![last];
    let mut at = to;
    while at != start {
        let (before, action) = from[&at];
        steps.push((action, at));
        at = before;
    }
    steps.reverse();
    steps
}
