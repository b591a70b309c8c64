//! Servers that are gone for a while: who calls them is refused.
//!
//! A server's kernel answers a connection to a port on which nobody listens at once
//! (RFC 9293, section 3.5.2: a reset), so the client knows that its command was not
//! executed, and it knows before anything else happens.

use super::Step;
use super::Visit;
use super::nodes::Kept;
use crate::world::catalogue::Fault;
use crate::world::config::WorldConfig;
use crate::world::layout::State;
use crate::world::log::{Log, Unread};
use crate::world::message::{Content, Message};
use crate::world::moves::{Act, Move};
use crate::world::system::Action;
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

impl<L: Log> Step<'_, L> {
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
            let mut step = Step::from(self, state);
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
                let mut step = Step::fault(self, state, fault);
                step.restart(index, kept);
                step.state.set(field, 1);
                let kept = kept as u8;
                step.finish(Move::NodeDown { node, kept }, visit);
            }
        }
        false
    }

    /// Who was refused hears of it: the move, and the state after it.
    pub(in crate::world) fn first_refusal(&self, state: &State) -> Option<(Action, State)> {
        let mut first = None;
        let open = (0..self.clients.len()).any(|client| self.open_thread(state, client).is_some());
        if !open {
            self.refusals(state, &mut |transition, Unread| {
                // Pauses come first, and the move without one last.
                first = Some((transition.action, transition.state));
            });
        }
        first
    }

    /// Who was refused hears of it before anything else happens, unless it calls again
    /// and again and no time would pass; true if somebody was.
    pub(super) fn refusals<L: Log>(&self, state: &State, visit: &mut Visit<'_, L>) -> bool {
        if !self.tables.needs.refused {
            return false;
        }
        let refused = |client: usize, message: &Message| {
            message.content == Content::Refused
                && message.awaited
                && self.runs(state, client)
                && !self.spins(state, client, message.thread)
        };
        for client in 0..self.clients.len() {
            for slot in 0..self.config.slots() {
                let message = self.message(state, client, slot);
                if let Some(message) = message.filter(|message| refused(client, message)) {
                    let mut step = Step::from(self, state);
                    step.deliver(client, slot, message);
                    step.finish_act(client as u8, Act::Deliver(slot as u8), visit);
                    return true;
                }
            }
        }
        false
    }
}
