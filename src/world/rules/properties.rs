//! What the properties say to a step.

use super::Step;
use crate::lock::{Op, Phase};
use crate::world::catalogue::Property;
use crate::world::client::Ending;
use crate::world::closure::Execution;
use crate::world::message::Message;
use crate::world::node::Holders;
use crate::world::world::NodeFields;

impl<'w, const W: usize> Step<'w, W> {
    /// How an operation ended, and what the properties say to that.
    pub(super) fn end(&mut self, client: usize, op: Op, ending: Ending, before: u16, after: u16) {
        let tables = &self.world.tables;
        let was = tables.facts[usize::from(before)];
        let is = tables.facts[usize::from(after)];
        match (op, ending) {
            (Op::Acquire, Ending::Held) => {
                self.progress = true;
                if was.holds == 0 {
                    self.acquired(client, is.valid);
                }
            }
            (Op::Acquire, Ending::Busy) if was.holds > 0 && was.valid => {
                self.violate(Property::Reentrancy);
            }
            (Op::Release, Ending::Done(Some(true))) => {
                self.claimed(client);
                self.released(client, is.holds, is.valid);
            }
            _ => {}
        }
    }

    /// An operation claimed to have taken effect.
    fn claimed(&mut self, client: usize) {
        let nodes = self.state.get(self.world.clients[client].effective);
        if nodes.count_ones() < u32::from(self.world.config.quorum()) {
            self.violate(Property::HonestOutcome);
        }
    }

    /// An outermost acquire reported success.
    fn acquired(&mut self, client: usize, valid: bool) {
        let world = self.world;
        let quorum = usize::from(world.config.quorum());
        self.claimed(client);
        if valid && self.nodes_where(|holders| holders.leased & 1 << client != 0) < quorum {
            self.violate(Property::Lease);
        }
        for other in (0..world.clients.len()).filter(|other| *other != client) {
            if world.believes(&self.state, other) {
                self.violate(Property::Belief);
            }
            if valid && world.valid(&self.state, other) {
                self.violate(Property::Validity);
            }
        }
    }

    /// A release reported success, with so many holds left.
    fn released(&mut self, client: usize, holds: u8, valid: bool) {
        if !self.world.config.reentrant {
            return;
        }
        let quorum = usize::from(self.world.config.quorum());
        let kept = self.nodes_where(|holders| holders.any & 1 << client != 0) >= quorum;
        if (holds == 0 && kept) || (holds > 0 && valid && !kept) {
            self.violate(Property::Reentrancy);
        }
    }

    pub(super) fn nodes_where(&self, test: impl Fn(&Holders) -> bool) -> usize {
        let world = self.world;
        let holders = |node: &NodeFields| &world.tables.holders[self.state.get(node.keyspace)];
        world
            .nodes
            .iter()
            .filter(|node| test(holders(node)))
            .count()
    }

    /// The holder writes what it computed from the value that it read when it
    /// acquired: a write over somebody else's loses that one.
    pub(super) fn write(&mut self, client: usize) {
        let world = self.world;
        let own = world.clients[client].effect;
        if self.state.get(own) == 1 {
            self.violate(Property::Effect);
        }
        self.state.set(own, 2);
        for other in (0..world.clients.len()).filter(|other| *other != client) {
            let effect = world.clients[other].effect;
            if world.believes(&self.state, other) && self.state.get(effect) == 0 {
                self.state.set(effect, 1);
            }
        }
    }

    /// No key without an expiry may belong to a dead client.
    pub(super) fn judge_the_dead(&mut self) {
        let world = self.world;
        for client in 0..world.clients.len() {
            let pending = world
                .slots(client)
                .iter()
                .any(|slot| self.state.get(*slot) != 0);
            if world.crashed(&self.state, client)
                && !pending
                && self.nodes_where(|holders| holders.unbounded & 1 << client != 0) > 0
            {
                self.violate(Property::NoOrphan);
            }
        }
    }

    pub(super) fn judge_effect(&mut self, client: usize, message: &Message, execution: &Execution) {
        let world = self.world;
        let effect = execution.effect;
        for victim in 0..world.clients.len() {
            if effect.victims & 1 << victim != 0 && world.valid(&self.state, victim) {
                self.violate(Property::OwnerOnly);
            }
        }
        if effect.created && message.thread != 0 {
            self.violate(Property::Lease);
        }
        if effect.own && message.awaited {
            self.take_effect(client, usize::from(message.node));
        }
    }

    /// The running operation of the client took effect on a node. Which nodes
    /// does not matter any more once they are a quorum.
    fn take_effect(&mut self, client: usize, node: usize) {
        let world = self.world;
        let fields = &world.clients[client];
        let phase = world.tables.facts[self.state.get(fields.local)].phase;
        if !matches!(phase, Phase::Acquiring | Phase::Releasing) {
            return;
        }
        let nodes = self.state.get(fields.effective) | 1 << node;
        let quorum = nodes.count_ones() >= u32::from(world.config.quorum());
        let all = (1 << world.nodes.len()) - 1;
        self.state
            .set(fields.effective, if quorum { all } else { nodes });
    }
}
