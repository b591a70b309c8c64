//! Random walks through a world: what fidelity replays and big models get.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::layout::State;
use super::moves::Move;
use super::system::{Action, System, Transition};
use super::world::World;

/// A seeded random walk of up to `length` moves from the start. Faults are
/// chosen less often than other moves, so that a budget is not spent before
/// anything happened; a walk never enters what the model cannot represent.
pub fn random_walk(world: &World, seed: u64, length: usize) -> Vec<(Action, State)> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut state = world.start();
    let mut moves = Vec::with_capacity(length);
    while moves.len() < length {
        let Some(taken) = step(world, &state, &mut random, weight) else {
            break;
        };
        state = taken.state;
        moves.push((taken.action, state));
    }
    moves
}

/// Takes back what a walk ends with at a comparison of times that is open: live programs have
/// gone on there, and a replay would find more than the walk tells.
pub fn settle(world: &World, moves: &mut Vec<(Action, State)>) {
    let open = |state: &State| (0..world.clients.len()).any(|one| world.is_open(state, one as u8));
    while moves.last().is_some_and(|(_, state)| open(state)) {
        moves.pop();
    }
}

/// One step of a walk: a transition by chance, each as likely as its weight. `None` if
/// there is none, or all weigh nothing.
pub fn step<Y: System>(
    system: &Y,
    state: &Y::State,
    random: &mut ChaCha8Rng,
    weight: impl Fn(&Transition<Y::State>) -> u32,
) -> Option<Transition<Y::State>> {
    let mut choices = Vec::new();
    system.successors(state, &mut |transition| {
        choices.push((weight(&transition), transition));
    });
    let total: u32 = choices.iter().map(|(weight, _)| weight).sum();
    if total == 0 {
        return None;
    }
    let mut draw = random.random_range(0..total);
    let chosen = choices.into_iter().find(|(weight, _)| {
        let hit = draw < *weight;
        draw = draw.saturating_sub(*weight);
        hit
    });
    chosen.map(|(_, transition)| transition)
}

fn weight<S>(transition: &Transition<S>) -> u32 {
    match Move::decode(transition.action) {
        _ if transition.overflow != 0 => 0,
        Some(Move::Crash { .. }) => 1,
        _ if transition.fault => 2,
        Some(Move::Call { .. }) => 6,
        Some(
            Move::Write { .. } | Move::Fsync { .. } | Move::Demote { .. } | Move::Rejoin { .. },
        ) => 3,
        _ => 8,
    }
}
