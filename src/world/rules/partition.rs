//! Links that swallow what is sent on them.

use super::Step;
use super::Visit;
use crate::world::catalogue::Fault;
use crate::world::layout::State;
use crate::world::log::Log;
use crate::world::moves::Move;
use crate::world::world::World;

impl World {
    /// What the client sends to the node is lost.
    pub(super) fn swallows_requests(&self, state: &State, client: usize, node: usize) -> bool {
        state.get(self.cut(client, node)) == 1
    }

    pub(super) fn link_moves<L: Log>(&self, state: &State, visit: &mut Visit<'_, L>) {
        for index in 0..self.cut.len() {
            let nodes = usize::from(self.config.nodes);
            let (client, node) = ((index / nodes) as u8, (index % nodes) as u8);
            let field = self.cut[index];
            if state.get(field) == 1 {
                let mut step = Step::from(self, state);
                step.state.set(field, 0);
                step.finish(Move::Heal { client, node }, visit);
            } else if self.left(state, Fault::Partition) > 0
                && !self.crashed(state, usize::from(client))
            {
                let mut step = Step::fault(self, state, Fault::Partition);
                step.state.set(field, 1);
                step.rewrite_messages(usize::from(client), |message| {
                    message.held || message.node != node
                });
                step.finish(Move::Cut { client, node }, visit);
            }
        }
    }
}
