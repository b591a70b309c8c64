//! What the properties say to a step.

use super::{RELEASED, Successor};
use crate::lock::{Mode, Op, Phase, Stated};
use crate::world::catalogue::{Branching, Safety};
use crate::world::client::Ending;
use crate::world::closure::Execution;
use crate::world::execute::Effect;
use crate::world::layout::State;
use crate::world::log::Log;
use crate::world::message::{Content, Message};
use crate::world::node::Holders;
use crate::world::system::Transition;
use crate::world::world::{NodeFields, World};

impl<L: Log> Successor<'_, L> {
    /// How an operation ended, and what the properties say to that.
    pub(super) fn end(
        &mut self,
        client: usize,
        op: Op,
        ending: Ending,
        (before, after): (u16, u16),
        (fence, counted): (Option<Stated>, usize),
    ) {
        let tables = &self.world.tables;
        let was = tables.facts[usize::from(before)];
        let is = tables.facts[usize::from(after)];
        let [was_valid, is_valid] = [&was, &is].map(|facts| self.world.is_valid(facts));
        match (op.mode(), ending) {
            (Some(mode), Ending::Held | Ending::HeldTooLate) => {
                // Where readers go on while no writer ever can, the lock is stuck. So is a
                // client that needs two locks and can only ever get the first.
                if mode == Mode::Write && self.world.has_all(client) {
                    self.goals |=
                        Branching::DeadlockFreedom.bit() | Branching::FaultTolerance.bit();
                }
                self.world.reached.succeed(op);
                self.begin_lease(client, was.holds > 0, counted);
                if ending == Ending::HeldTooLate {
                    self.violate(Safety::HonestOutcome);
                }
                self.acquired(client, was.holds > 0, is_valid);
                if was.holds == 0 {
                    self.hand_out(client, fence, is_valid);
                }
            }
            (Some(_), Ending::Busy | Ending::Failed) if was.holds > 0 && was_valid => {
                let hampered = self.state.get(self.world.clients[client].hampered) != 0;
                if ending == Ending::Busy || !hampered {
                    self.violate(Safety::Reentrancy);
                }
            }
            (None, ending) if op.while_held().is_some() => {
                self.judge_holders(client, op, ending, is_valid, counted);
            }
            (None, Ending::Done(Some(true))) => {
                self.world.reached.succeed(op);
                // An inner release may just count down.
                if is.holds == 0 && !self.took_effect(client) {
                    self.violate(Safety::HonestOutcome);
                }
                self.released(client, is.holds, is_valid);
                self.reports_freedom(is.holds);
            }
            (None, Ending::Done(None)) => {
                self.world.reached.succeed(op);
                self.reports_freedom(is.holds);
            }
            (Some(_), Ending::Busy | Ending::Failed | Ending::Lost | Ending::Done(_))
            | (None, Ending::Held | Ending::HeldTooLate | Ending::Busy | Ending::Failed)
            | (None, Ending::Lost | Ending::Done(Some(false))) => {}
        }
    }

    /// The operation that ends took effect on a quorum.
    pub(super) fn took_effect(&self, client: usize) -> bool {
        let nodes = self.state.get(self.world.clients[client].effective);
        nodes.count_ones() >= u32::from(self.world.config.quorum())
    }

    /// The lock stands as the client's on a quorum, or was written there.
    fn took_lock(&self, client: usize) -> bool {
        let world = self.world;
        let written = self.state.get(world.clients[client].effective);
        let stands = |node: usize| {
            let keyspace = self.state.get(world.nodes[node].keyspace);
            world.tables.holders[keyspace].locked & 1 << client != 0
        };
        let taken = |node: &usize| written & 1 << node != 0 || stands(*node);
        let count = (0..world.nodes.len()).filter(taken).count();
        count >= usize::from(world.config.quorum())
    }

    /// An acquire reported success.
    fn acquired(&mut self, client: usize, nested: bool, valid: bool) {
        let world = self.world;
        if !self.took_lock(client) {
            self.violate(Safety::HonestOutcome);
        }
        self.judge_lease(client, valid);
        let mut others = (0..world.clients.len()).filter(|other| *other != client);
        let excluded = |other: usize| world.exclude(&self.state, client, other);
        if !nested && others.any(|other| world.believes(&self.state, other) && excluded(other)) {
            self.violate(Safety::Belief);
        }
        self.judge_validity(client);
    }

    /// An acquire or a renewal reported success.
    pub(super) fn judge_lease(&mut self, client: usize, valid: bool) {
        let quorum = usize::from(self.world.config.quorum());
        if valid && self.nodes_where(|holders| holders.leased & 1 << client != 0) < quorum {
            self.violate(Safety::Lease);
        }
    }

    /// The client may have become valid: nobody else may be, but readers beside readers.
    pub(super) fn judge_validity(&mut self, client: usize) {
        let world = self.world;
        let mut others = (0..world.clients.len()).filter(|other| *other != client);
        let excluded = |other: usize| world.exclude(&self.state, client, other);
        if world.valid(&self.state, client)
            && others.any(|other| world.valid(&self.state, other) && excluded(other))
        {
            self.violate(Safety::Validity);
            if world.tables.has_modes {
                self.violate(Safety::ReadWrite);
            }
        }
    }

    fn reports_freedom(&mut self, holds: u8) {
        if holds == 0 {
            self.violates |= RELEASED;
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
            self.violate(Safety::Reentrancy);
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
    /// acquired: a write over somebody else's loses that one. The guarded resource refuses
    /// a write with a fence when it has seen a higher one.
    pub(super) fn write(&mut self, client: usize) {
        let world = self.world;
        let own = world.clients[client].effect;
        if world.is_outdated(&self.state, client) {
            self.state.set(own, 2);
            return;
        }
        if self.state.get(own) == 1 {
            self.violate(Safety::Effect);
        }
        self.state.set(own, 2);
        for other in (0..world.clients.len()).filter(|other| *other != client) {
            let effect = world.clients[other].effect;
            let writes = world.facts(&self.state, other).mode == Mode::Write;
            if writes && world.believes(&self.state, other) && self.state.get(effect) == 0 {
                self.state.set(effect, 1);
            }
        }
    }

    /// No key without an expiry may belong to a dead client.
    pub(super) fn judge_the_dead(&mut self) {
        let world = self.world;
        for client in 0..world.clients.len() {
            if !world.crashed(&self.state, client) {
                continue;
            }
            let pending = world
                .slots(client)
                .iter()
                .any(|slot| self.state.get(*slot) != 0);
            if !pending && self.nodes_where(|holders| holders.unbounded & 1 << client != 0) > 0 {
                self.violate(Safety::NoOrphan);
            }
        }
    }

    pub(super) fn judge_effect(&mut self, client: usize, message: &Message, execution: &Execution) {
        let world = self.world;
        let effect = execution.effect;
        // Who acquires may take the lock over.
        let victims = match self.takes_back(client, message) {
            true => effect.victims | effect.overwritten,
            false => effect.victims,
        };
        for victim in 0..world.clients.len() {
            if victims & 1 << victim != 0 && world.valid(&self.state, victim) {
                self.violate(Safety::OwnerOnly);
                if world.facts(&self.state, victim).mode == Mode::Read {
                    self.violate(Safety::ReadWrite);
                }
            }
        }
        if effect.created && (message.thread != 0 || self.is_holders(client, message)) {
            self.violate(Safety::Lease);
        }
        self.watch_write(client, message, effect);
        self.watch_lives(client, message, execution);
        if message.awaited {
            self.take_effect(client, usize::from(message.node), effect);
            if effect.leased {
                self.restart_attempt(client);
            }
        }
    }

    /// The command belongs to a release, to a holder's operation, or to a background
    /// thread.
    fn takes_back(&self, client: usize, message: &Message) -> bool {
        let tables = &self.world.tables;
        let Content::Request(command) = message.content else {
            return false;
        };
        let phase = tables.facts[self.state.get(self.world.clients[client].local)].phase;
        message.thread != 0
            || tables.releases[usize::from(command)]
            || message.awaited && phase == Phase::Releasing
            || self.is_holders(client, message)
    }

    /// The running operation of the client took effect on a node. Which nodes
    /// does not matter any more once they are a quorum.
    fn take_effect(&mut self, client: usize, node: usize, effect: Effect) {
        let world = self.world;
        let fields = &world.clients[client];
        let phase = world.tables.facts[self.state.get(fields.local)].phase;
        let before = self.state.get(fields.effective);
        let all = (1 << world.nodes.len()) - 1;
        let took = match phase {
            Phase::Acquiring | Phase::Renewing => effect.wrote,
            Phase::Releasing => effect.wrote || effect.deleted,
            Phase::Idle | Phase::Held | Phase::Asking => return,
        };
        let nodes = if took {
            before | 1 << node
        } else if effect.deleted {
            // It takes back what it did; which nodes are left is seen there.
            if before == all {
                0
            } else {
                before & !(1 << node)
            }
        } else {
            before
        };
        let quorum = nodes.count_ones() >= u32::from(world.config.quorum());
        self.state
            .set(fields.effective, if quorum { all } else { nodes });
    }
}

impl World {
    /// Nothing of the client goes on: no operation, no thread, no message.
    fn rests(&self, state: &State, client: usize) -> bool {
        let facts = self.facts(state, client);
        facts.phase == Phase::Idle
            && !facts.alive
            && !self.crashed(state, client)
            && self.slots(client).iter().all(|slot| state.get(*slot) == 0)
    }

    /// Who comes to rest leaves nothing behind.
    pub(super) fn judge_rest(&self, before: &State, transition: &mut Transition<State>) {
        // What is beyond the model is not known: nothing of it has come to rest.
        if !self.config.tidy || transition.overflow != 0 {
            return;
        }
        let after = &transition.state;
        let left = |client: usize| {
            let node = |node: &NodeFields| {
                self.tables.holders[after.get(node.keyspace)].any & 1 << client != 0
            };
            !self.rests(before, client) && self.rests(after, client) && self.nodes.iter().any(node)
        };
        if (0..self.clients.len()).any(left) {
            transition.violates |= Safety::NoOrphanAtOnce.bit();
        }
    }
}
