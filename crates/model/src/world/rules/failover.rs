//! Replicas that take a node's place, and what becomes of the old server.

// A new fault or move must not slip through.
#![deny(clippy::wildcard_enum_match_arm)]

use super::Successor;
use super::Visit;
use crate::world::catalogue::Fault;
use crate::world::config::Promotion;
use crate::world::layout::State;
use crate::world::log::{Log, Note};
use crate::world::moves::Move;
use crate::world::world::World;

impl<L: Log> Successor<'_, L> {
    /// The server is gone for good, and its replica takes its place.
    fn fail_over(&mut self, node: usize, lost: usize) {
        self.promote(node, lost);
        self.break_connections(node, false);
        self.judge_the_dead();
    }

    /// The replica takes the server's place, but the server goes on: what is in
    /// flight stays with it, and so do the clients until they notice.
    fn split(&mut self, node: usize, lost: usize) {
        let world = self.world;
        let fields = world.nodes[node];
        let silent = self.state.get(fields.silent);
        self.copy(fields.old, fields.keyspace);
        self.promote(node, lost);
        self.state.set(fields.promoted, 2);
        self.leave_old_alone(node, silent);
        for client in 0..world.clients.len() {
            self.rewrite_messages(client, |message| {
                message.old |= usize::from(message.node) == node;
                true
            });
        }
        self.judge_the_dead();
    }

    /// The old server is taken away. Who still used it finds the new one.
    fn demote(&mut self, node: usize) {
        let world = self.world;
        let fields = world.nodes[node];
        self.state.set(fields.promoted, 1);
        self.clear(fields.old);
        self.state.set(fields.old_silent, 0);
        for client in 0..world.clients.len() {
            self.state.set(world.moved(client, node), 0);
        }
        self.break_connections(node, true);
        self.judge_the_dead();
    }

    /// The replica, which lacks the server's last `lost` writes, is the node
    /// now. Its disk holds what the server's held, unless that is more than the
    /// replica ever got.
    fn promote(&mut self, node: usize, lost: usize) {
        let world = self.world;
        self.doubt_holders(node);
        let fields = world.nodes[node];
        let promoted = lost.checked_sub(1);
        let promoted = promoted.map_or(fields.keyspace, |writes| fields.history[writes]);
        let synced = self.state.get(fields.synced);
        let unknown =
            |fewer| world.tables.stored(world.replica(&self.state, node, fewer)) == synced;
        if fields.synced.exists() && (0..lost).any(unknown) {
            self.copy_stored(fields.synced, promoted);
        }
        self.log.note(|| Note::Promoted { node, lost });
        self.copy_stored(fields.keyspace, promoted);
        for &field in world.history(&self.state, node) {
            self.clear(field);
        }
        self.state.set(fields.promoted, 1);
        self.state.set(fields.silent, 0);
        self.state.set(fields.unacknowledged, 0);
        self.forget_positions(node);
    }

    /// The server that the node had before follows the one that it has now, and
    /// has all that this one holds.
    fn rejoin(&mut self, node: usize) {
        let world = self.world;
        let fields = world.nodes[node];
        self.state.set(fields.promoted, 0);
        self.log.note(|| Note::Rejoined { node });
        for &field in world.history(&self.state, node) {
            self.copy_stored(field, fields.keyspace);
        }
        self.forget_positions(node);
        self.answer_waits(node);
    }

    /// Nobody reaches the server any more, and its replica takes its place.
    /// What is in flight to it, or from it, is lost in silence.
    fn cut_off(&mut self, node: usize, lost: usize) {
        self.promote(node, lost);
        for client in 0..self.world.clients.len() {
            self.rewrite_messages(client, |message| usize::from(message.node) != node);
        }
        self.judge_the_dead();
    }
}

impl World {
    /// Clients notice the new server, and the old one goes, all at any time.
    pub(super) fn split_moves<L: Log>(
        &self,
        state: &State,
        index: usize,
        visit: &mut Visit<'_, L>,
    ) {
        let node = index as u8;
        for client in 0..self.clients.len() {
            if self.runs(state, client) && self.uses_old(state, client, index) {
                let mut step = Successor::from(self, state);
                step.state.set(self.moved(client, index), 1);
                let client = client as u8;
                step.finish(Move::Notice { client, node }, visit);
            }
        }
        let mut step = Successor::from(self, state);
        step.demote(index);
        step.finish(Move::Demote { node }, visit);
    }

    /// The replica takes over, whichever of the last writes it lacks.
    pub(super) fn promotions<L: Log>(
        &self,
        state: &State,
        index: usize,
        promotion: Promotion,
        visit: &mut Visit<'_, L>,
    ) {
        let fault = promotion.fault();
        let promoted = |state: &State| state.get(self.nodes[index].promoted) != 0;
        if self.left(state, fault) == 0 || promoted(state) {
            return;
        }
        for lost in 0..=self.most_lost(state, index, fault) {
            let replica = |lost| self.tables.stored(self.replica(state, index, lost));
            // Writes that left no trace by now are not worth a move of their own.
            if (0..lost).any(|fewer| replica(fewer) == replica(lost)) {
                continue;
            }
            let mut step = Successor::fault(self, state, fault);
            let (node, writes) = (index as u8, lost);
            let lost = lost as u8;
            let taken = match promotion {
                Promotion::SplitBrain => {
                    step.split(index, writes);
                    Move::SplitBrain { node, lost }
                }
                Promotion::CutOff => {
                    step.cut_off(index, writes);
                    Move::CutOff { node, lost }
                }
                Promotion::Failover => {
                    step.fail_over(index, writes);
                    Move::Failover { node, lost }
                }
            };
            step.finish(taken, visit);
        }
    }

    /// Writes that a promotion can lose now: as many as the switch says, but
    /// none that the replica is known to have.
    fn most_lost(&self, state: &State, node: usize, fault: Fault) -> usize {
        let (_, most) = self.config.switch(fault);
        let most = usize::from(most);
        if self.tables.waits() {
            most.min(state.get(self.nodes[node].unacknowledged))
        } else {
            most
        }
    }

    /// The old server comes back as a replica, where anything can come of it:
    /// another promotion, an answer to WAIT, or a write that needs a replica.
    pub(super) fn rejoins<L: Log>(&self, state: &State, index: usize, visit: &mut Visit<'_, L>) {
        let promotes = |one: &Promotion| self.budget_left(state, one.fault()) > 0;
        let asked_for = self.tables.waits() || self.config.asks_for_replicas();
        let matters = asked_for || Promotion::ALL.iter().any(promotes);
        if matters && state.get(self.nodes[index].promoted) == 1 {
            let mut step = Successor::from(self, state);
            step.rejoin(index);
            step.finish(Move::Rejoin { node: index as u8 }, visit);
        }
    }
}
