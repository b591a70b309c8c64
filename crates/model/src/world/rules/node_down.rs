//! Servers that are gone for a while: who calls them is refused.
//!
//! A server's kernel answers a connection to a port on which nobody listens at once
//! (RFC 9293, section 3.5.2: a reset), so the client knows that its command was not
//! executed. It hears of it before the next tick; the server may be back by then.

use super::Successor;
use super::Visit;
use super::nodes::Kept;
use crate::world::catalogue::Fault;
use crate::world::config::WorldConfig;
use crate::world::layout::State;
use crate::world::log::Log;
use crate::world::message::Content;
use crate::world::moves::Move;
use crate::world::system::{Action, System};
use crate::world::world::World;

/// Both switches: the server stays away for up to its size, or for all of it.
const SWITCHES: [Fault; 2] = [Fault::NodeDown, Fault::DelayedRestart];

impl WorldConfig {
    /// The greatest value of `down`.
    pub(in crate::world) fn most_down(&self) -> usize {
        let on = SWITCHES.map(|fault| self.switch(fault));
        let sizes = on.iter().filter(|(budget, _)| *budget > 0);
        sizes
            .map(|(_, size)| 1 + usize::from(*size))
            .max()
            .unwrap_or(0)
    }

    /// For how many ticks a server that is gone stays away at least.
    fn least_down(&self) -> usize {
        let (_, size) = self.switch(Fault::DelayedRestart);
        usize::from(size)
    }

    /// What servers keep when they die: what those keep that restart in this world, or
    /// else nothing.
    fn kept(&self) -> impl Iterator<Item = Kept> {
        let persistence = [
            (Fault::RestartNone, Kept::Nothing),
            (Fault::RestartEverysec, Kept::Synced),
            (Fault::RestartAlways, Kept::All),
        ];
        let on = persistence.map(|(fault, _)| self.switch(fault).0 > 0);
        let none = !on.contains(&true);
        let kept = persistence.into_iter().zip(on).enumerate();
        kept.filter(move |(at, (_, on))| *on || none && *at == 0)
            .map(|(_, ((_, kept), _))| kept)
    }
}

impl<L: Log> Successor<'_, L> {
    pub(super) fn tick_down(&mut self, node: usize) {
        let field = self.world.nodes[node].down;
        let down = self.state.get(field);
        if down > 0 {
            self.state.set(field, down + 1);
        }
    }
}

impl World {
    pub(super) fn is_down(&self, state: &State, node: usize) -> bool {
        state.get(self.nodes[node].down) > 0
    }

    /// It is up, or need not come back yet.
    pub(super) fn may_stay_down(&self, state: &State, node: usize) -> bool {
        let down = state.get(self.nodes[node].down);
        down == 0 || down < self.config.most_down()
    }

    /// A server goes, or comes back; true if it is gone, and nothing else happens to it.
    pub(super) fn down_moves<L: Log>(
        &self,
        state: &State,
        index: usize,
        visit: &mut Visit<'_, L>,
    ) -> bool {
        let (node, field) = (index as u8, self.nodes[index].down);
        if !field.exists() {
            return false;
        }
        let down = state.get(field);
        if down > self.config.least_down() {
            let mut step = Successor::from(self, state);
            step.state.set(field, 0);
            step.finish(Move::NodeUp { node }, visit);
        }
        if down > 0 {
            return true;
        }
        for fault in SWITCHES {
            if self.left(state, fault) == 0 || self.node_paused(state, index).is_some() {
                continue;
            }
            for kept in self.config.kept() {
                let mut step = Successor::fault(self, state, fault);
                step.restart(index, kept);
                step.state.set(field, 1);
                let kept = kept as u8;
                step.finish(Move::NodeDown { node, kept }, visit);
            }
        }
        false
    }

    /// Somebody who was refused hears of it: the move, and the state after it.
    pub(in crate::world) fn first_refusal(&self, state: &State) -> Option<(Action, State)> {
        let refused = |step: Move| match step {
            Move::Deliver { client, slot, .. } => {
                let message = self.message_in(state, client, slot);
                message.is_some_and(|message| message.content == Content::Refused)
            }
            _ => false,
        };
        let mut first = None;
        if self.tables.refuses() {
            self.edges(state, &mut |transition| {
                if Move::decode(transition.action).is_some_and(refused) {
                    first.get_or_insert((transition.action, transition.state));
                }
            });
        }
        first
    }
}
