//! What is broken in a state, and what happens while nobody repairs it.
//!
//! `fault-tolerance` asks what the servers that are left can do. So it looks at states in which
//! servers are gone or stand still, or links are cut, as if that stayed so: nothing is
//! repaired, and time goes on all the same. (The bounds of `node-down` and `node-pause` make time
//! wait for the repair. They are bounds on what the fault may do to others, and not a promise
//! that somebody comes.) How long it has been so does not matter then, and is left out.
//!
//! Clients that are paused may go on, and replicas may come back: neither is what the property
//! counts as up or reachable.

use super::Transition;
use crate::world::layout::State;
use crate::world::moves::Move;
use crate::world::system::{System, Trouble};
use crate::world::world::World;

/// A move that repairs what `fault-tolerance` counts as broken.
pub(crate) fn repairs(step: Move) -> bool {
    matches!(
        step,
        Move::NodeUp { .. } | Move::ResumeNode { .. } | Move::Heal { .. }
    )
}

/// Hands a transition on, unless a fault strikes or something is repaired.
pub(super) fn visit_lasting(
    world: &World,
    mut transition: Transition<State>,
    visit: &mut impl FnMut(Transition<State>),
) {
    let repaired = Move::decode(transition.action).is_some_and(repairs);
    if !transition.fault && !repaired {
        transition.state = world.as_it_lasts(&world.bare(&transition.state));
        visit(transition);
    }
}

impl World {
    /// The server runs, or at least its node's new one.
    fn is_up(&self, state: &State, node: usize) -> bool {
        !self.is_down(state, node) && self.node_paused(state, node).is_none()
    }

    /// The client lives, and a majority of the nodes is up and reachable for it.
    fn can_reach_a_quorum(&self, state: &State, client: usize) -> bool {
        let reachable =
            |node: &usize| self.is_up(state, *node) && !self.is_cut(state, client, *node);
        let count = (0..self.nodes.len()).filter(reachable).count();
        !self.crashed(state, client) && count >= usize::from(self.config.quorum())
    }

    /// No link of the client is cut but to a minority of the nodes.
    pub(super) fn is_linked_to_a_quorum(&self, state: &State, client: usize) -> bool {
        let linked = |node: &usize| !self.is_cut(state, client, *node);
        (0..self.nodes.len()).filter(linked).count() >= usize::from(self.config.quorum())
    }

    fn is_cut(&self, state: &State, client: usize, node: usize) -> bool {
        state.get(self.cut[client * self.nodes.len() + node]) != 0
    }

    /// See [`System::trouble`].
    pub(super) fn trouble_of(&self, state: &State) -> Trouble<State> {
        let nodes = 0..self.nodes.len();
        let whole = |node: usize| self.is_up(state, node);
        let cut = self.cut.iter().any(|link| state.get(*link) != 0);
        if !cut && nodes.clone().all(whole) {
            return Trouble::None;
        }
        let mut clients = 0..self.clients.len();
        match clients.any(|client| self.can_reach_a_quorum(state, client)) {
            true => Trouble::Lasting(self.as_it_lasts(&self.bare(state))),
            false => Trouble::TooMuch,
        }
    }

    /// The state without how long servers have been gone, or have stood still.
    fn as_it_lasts(&self, state: &State) -> State {
        let mut state = *state;
        for node in &self.nodes {
            for field in [node.down, node.pause] {
                if state.get(field) > 1 {
                    state.set(field, 1);
                }
            }
        }
        state
    }
}
