//! An endless run, as a path that its trace can show: the way to the circle, and a few rounds.

use super::{Lasso, Path};
use crate::world::concrete::Endless;
use crate::world::layout::State;
use crate::world::{Action, System, World};

/// How often a trace goes round. Twice shows that the state comes back; the third round begins in
/// a state to which the loop itself has led.
const ROUNDS: usize = 3;

/// What a trace shows.
#[derive(Default)]
pub(super) struct Run {
    pub moves: Vec<(Action, State)>,
    /// Where it goes round, if it does.
    pub endless: Option<Endless>,
}

/// The run with its rounds; `None` if the rules have no such transition, which would be an error
/// in lockproof itself.
pub(super) fn unrolled(world: &World, lasso: &Lasso<State>) -> Option<Run> {
    let Path { initial, steps } = lasso.stem.clone();
    let mut state = steps.last().map_or(initial, |(_, state)| *state);
    let (mut moves, mut rounds) = (steps, Vec::new());
    for _ in 0..ROUNDS {
        rounds.push(moves.len());
        for (action, bare) in &lasso.round {
            state = world.lifted(&state, *action, bare)?;
            moves.push((*action, state));
        }
    }
    let pursuit = world.pursuits.get(lasso.pursuit)?;
    debug_assert!(world.pursues(lasso.pursuit, &world.bare(&state)));
    Some(Run {
        moves,
        endless: Some(Endless {
            client: pursuit.client,
            op: pursuit.op,
            rounds,
        }),
    })
}
