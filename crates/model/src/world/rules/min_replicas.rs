//! `min-replicas-to-write 1`: a server that lacks its replica refuses writes.
//!
//! A server counts a replica as gone when their connection closes, or when it
//! has not reported for longer than `min-replicas-max-lag` (redis.conf; Redis
//! manual, Replication). A replica that reports has everything a tick later; of
//! one that is silent nobody knows what it has.

use super::Successor;
use super::Visit;
use crate::world::catalogue::Fault;
use crate::world::layout::State;
use crate::world::log::{Log, Note};
use crate::world::moves::Move;
use crate::world::world::World;

impl<L: Log> Successor<'_, L> {
    /// A tick for what the node's servers hear of their replicas.
    pub(super) fn tick_silence(&mut self, node: usize) {
        let world = self.world;
        if !world.config.asks_for_replicas() {
            return;
        }
        if world.has_replica(&self.state, node) && world.in_touch(&self.state, node) {
            self.catch_up(node, false);
        }
        let fields = world.nodes[node];
        let gone = world.config.gone();
        for (old, field) in [(false, fields.silent), (true, fields.old_silent)] {
            let silent = self.state.get(field);
            if silent > 0 && silent < gone {
                self.state.set(field, silent + 1);
                if silent + 1 == gone {
                    self.log.note(|| Note::Gone { node, old });
                }
            }
        }
    }

    /// The replica has all that its node's server holds, and that one knows; by what
    /// follows in this move, or `now`.
    fn catch_up(&mut self, node: usize, now: bool) {
        let world = self.world;
        let fields = world.nodes[node];
        self.log.note(|| Note::CaughtUp { node, now });
        for &field in world.history(&self.state, node) {
            self.copy_stored(field, fields.keyspace);
        }
        self.state.set(fields.unacknowledged, 0);
        self.answer_waits(node);
    }

    /// The node's replica has taken its place: its old server sees their
    /// connection close, unless it has heard nothing for a while.
    pub(super) fn leave_old_alone(&mut self, node: usize, silent: usize) {
        let world = self.world;
        if world.config.asks_for_replicas() {
            let silent = if silent == 0 {
                world.config.gone()
            } else {
                silent
            };
            self.state.set(world.nodes[node].old_silent, silent);
        }
    }
}

impl World {
    /// The node's server, or its old one, refuses writes.
    pub(super) fn refuses(&self, state: &State, node: usize, old: bool) -> bool {
        let (fields, gone) = (&self.nodes[node], self.config.gone());
        if gone == 0 {
            return false;
        }
        match old {
            true => state.get(fields.old_silent) == gone,
            false => !self.has_replica(state, node) || state.get(fields.silent) == gone,
        }
    }

    /// The node's server hears of its replica, if it has one.
    pub(in crate::world) fn in_touch(&self, state: &State, node: usize) -> bool {
        state.get(self.nodes[node].silent) == 0
    }

    /// A replica falls silent, counts as gone, and comes back.
    pub(super) fn silence_moves<L: Log>(
        &self,
        state: &State,
        index: usize,
        visit: &mut Visit<'_, L>,
    ) {
        let (node, fields, gone) = (index as u8, &self.nodes[index], self.config.gone());
        for (old, field) in [(false, fields.silent), (true, fields.old_silent)] {
            if (1..gone).contains(&state.get(field)) {
                let mut step = Successor::<L>::from(self, state);
                step.state.set(field, gone);
                step.log.note(|| Note::Gone { node: index, old });
                step.finish(Move::Refuse { node, old }, visit);
            }
        }
        if !self.has_replica(state, index) {
            return;
        }
        if !self.in_touch(state, index) {
            let mut step = Successor::from(self, state);
            step.state.set(fields.silent, 0);
            step.catch_up(index, true);
            step.finish(Move::Regain { node }, visit);
        } else if self.left(state, Fault::MinReplicas) > 0 {
            let mut step = Successor::fault(self, state, Fault::MinReplicas);
            step.state.set(fields.silent, 1);
            step.finish(Move::FallSilent { node }, visit);
        }
    }
}
