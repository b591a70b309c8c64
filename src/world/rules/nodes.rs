//! Servers: what they hold, and the faults that strike them.

use super::Visit;
use super::{OVERFLOW_BLURRED, Step};
use crate::world::catalogue::Fault;
use crate::world::config::Promotion;
use crate::world::layout::State;
use crate::world::moves::Move;
use crate::world::world::World;

impl<'w> Step<'w> {
    /// The same change to all that a node holds: in memory, on its disk, in
    /// its replica, whatever that lacks, and in its old server.
    pub(super) fn change_node(&mut self, node: usize, change: impl Fn(u16) -> u16) {
        let world = self.world;
        let fields = &world.nodes[node];
        let history = world.history(&self.state, node).iter();
        for &field in [fields.keyspace, fields.synced].iter().chain(history) {
            if field.exists() {
                let changed = change(self.state.get(field) as u16);
                self.state.set(field, usize::from(changed));
                if world.tables.blurred[usize::from(changed)] {
                    self.overflow |= OVERFLOW_BLURRED;
                }
            }
        }
        if world.is_split(&self.state, node) {
            let changed = change(self.state.get(fields.old) as u16);
            self.state.set(fields.old, usize::from(changed));
        }
    }

    /// The node holds this now. If something changed, its replica may lack one write
    /// more, up to its bound.
    pub(super) fn write_to(&mut self, node: usize, keyspace: usize, changes: bool) {
        let field = self.world.nodes[node].keyspace;
        if changes {
            self.leave_behind(node);
            self.state.set(field, keyspace);
        }
    }

    /// What the node holds now, its replica may hold for as long as it is not
    /// known to have more.
    pub(super) fn leave_behind(&mut self, node: usize) {
        let world = self.world;
        let mut before = self.state.get(world.nodes[node].keyspace);
        for &older in world.history(&self.state, node) {
            let next = self.state.get(older);
            self.state.set(older, before);
            before = next;
        }
        self.count_write(node);
    }

    /// The server process dies and starts again with this keyspace. To its
    /// replica that is a change as any write is.
    fn restart(&mut self, node: usize, keyspace: usize) {
        let fields = self.world.nodes[node];
        // WAIT can tell a restart from nothing, for the replica must come back.
        if self.world.tables.waits() && self.state.get(fields.keyspace) == keyspace {
            self.leave_behind(node);
        }
        let changes = self.state.get(fields.keyspace) != keyspace;
        self.write_to(node, keyspace, changes);
        self.forget_positions(node);
        if fields.synced.exists() {
            self.state.set(fields.synced, keyspace);
            self.state.set(fields.lagging, 0);
        }
        self.break_connections(node, false);
        self.judge_the_dead();
    }
}

impl World {
    pub(super) fn node_moves(&self, state: &State, index: usize, visit: &mut Visit<'_>) {
        let node = index as u8;
        let fields = &self.nodes[index];
        if self.is_split(state, index) {
            self.split_moves(state, index, visit);
        }
        if self.node_paused(state, index).is_some() {
            let mut step = Step::from(self, state);
            step.state.set(fields.pause, 0);
            step.finish(Move::ResumeNode { node }, visit);
            return;
        }
        let keyspace = state.get(fields.keyspace);
        let synced = state.get(fields.synced);
        if fields.synced.exists() && synced != keyspace {
            let mut step = Step::from(self, state);
            step.state.set(fields.synced, keyspace);
            step.state.set(fields.lagging, 0);
            step.finish(Move::Fsync { node }, visit);
        }
        let empty = usize::from(self.tables.emptied);
        let restarts = [
            (Fault::RestartNone, empty, Move::RestartNone { node }),
            (
                Fault::RestartEverysec,
                synced,
                Move::RestartEverysec { node },
            ),
            (Fault::RestartAlways, keyspace, Move::RestartAlways { node }),
        ];
        for (fault, after, restart) in restarts {
            if self.left(state, fault) > 0 {
                let mut step = Step::fault(self, state, fault);
                step.restart(index, after);
                step.finish(restart, visit);
            }
        }
        if self.left(state, Fault::NodePause) > 0 {
            let mut step = Step::fault(self, state, Fault::NodePause);
            step.state.set(fields.pause, 1);
            step.finish(Move::PauseNode { node }, visit);
        }
        if self.left(state, Fault::ClockJump) > 0 {
            for back in [false, true] {
                let mut step = Step::fault(self, state, Fault::ClockJump);
                let jumped = &self.tables.jump[usize::from(back)];
                step.change_node(index, |keyspace| jumped[usize::from(keyspace)]);
                step.finish(Move::Jump { node, back }, visit);
            }
        }
        for promotion in Promotion::ALL {
            self.promotions(state, index, promotion, visit);
        }
        self.rejoin(state, index, visit);
        self.silence_moves(state, index, visit);
    }
}
