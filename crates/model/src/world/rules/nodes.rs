//! Servers: what they hold, and the faults that strike them.

use super::Visit;
use super::{OVERFLOW_BLURRED, OVERFLOW_TABLE, Successor};
use crate::world::catalogue::Fault;
use crate::world::config::Promotion;
use crate::world::layout::{Field, State};
use crate::world::log::{Log, Note};
use crate::world::moves::Move;
use crate::world::tables::NONE;
use crate::world::world::World;

/// What persistence keeps of a server's contents.
#[derive(Clone, Copy)]
pub(super) enum Kept {
    Nothing,
    /// What has reached the disk.
    Synced,
    All,
}

impl<L: Log> Successor<'_, L> {
    /// The same change to all that a node holds: in memory, on its disk, in
    /// its replica, whatever that lacks, and in its old server. `clocks` says by how
    /// many ticks their clocks move, and whether time passes with it. Where the tables
    /// have no answer, the step leads nowhere.
    pub(super) fn change_node(
        &mut self,
        node: usize,
        clocks: Option<(i64, bool)>,
        change: impl Fn(u16) -> u16,
    ) {
        let world = self.world;
        let fields = &world.nodes[node];
        let history = world.history(&self.state, node).iter();
        for &field in [fields.keyspace, fields.synced].iter().chain(history) {
            if field.exists() {
                let changed = change(self.state.get(field) as u16);
                if changed == NONE {
                    self.overflow |= OVERFLOW_TABLE;
                    return;
                }
                self.state.set(field, usize::from(changed));
                self.note_clock(field, clocks);
                if world.tables.blurred[usize::from(changed)] {
                    self.overflow |= OVERFLOW_BLURRED;
                }
            }
        }
        if world.is_split(&self.state, node) {
            let changed = change(self.state.get(fields.old) as u16);
            if changed == NONE {
                self.overflow |= OVERFLOW_TABLE;
                return;
            }
            self.state.set(fields.old, usize::from(changed));
            self.note_clock(fields.old, clocks);
        }
    }

    fn note_clock(&mut self, field: Field, clocks: Option<(i64, bool)>) {
        if let Some((ticks, time)) = clocks {
            self.log.note(|| Note::Moved { field, ticks, time });
        }
    }

    /// One server holds what another does.
    pub(super) fn copy(&mut self, to: Field, from: Field) {
        self.state.set(to, self.state.get(from));
        self.log.note(|| Note::Copied { to, from });
    }

    /// Nothing stands there any more.
    pub(super) fn clear(&mut self, field: Field) {
        self.state.set(field, 0);
        self.log.note(|| Note::Cleared { field });
    }

    /// The node holds this now. If that is a write, its replica may lack one more, up to
    /// its bound. That a script becomes known is none.
    pub(super) fn write_to(&mut self, node: usize, keyspace: usize, changes: bool) {
        let field = self.world.nodes[node].keyspace;
        if changes {
            self.leave_behind(node);
        }
        self.state.set(field, keyspace);
    }

    /// A server, a disk or a replica holds what is written of another server's contents.
    pub(super) fn copy_stored(&mut self, to: Field, from: Field) {
        let stored = self.world.tables.stored(self.state.get(from));
        self.state.set(to, stored);
        self.log.note(|| Note::Stored { to, from });
    }

    /// What the node holds now, its replica may hold for as long as it is not
    /// known to have more.
    pub(super) fn leave_behind(&mut self, node: usize) {
        let world = self.world;
        let history = world.history(&self.state, node);
        for (older, &to) in history.iter().enumerate().rev() {
            let newer = older.checked_sub(1).map(|newer| history[newer]);
            self.copy_stored(to, newer.unwrap_or(world.nodes[node].keyspace));
        }
        if world.has_replica(&self.state, node) {
            self.log.note(|| Note::LeftBehind { node });
        }
        self.count_write(node);
    }

    /// All keys are deleted: one write to its replica and to its disk.
    fn empty(&mut self, node: usize) {
        let field = self.world.nodes[node].keyspace;
        let flushed = self.world.tables.flushed(self.state.get(field));
        self.write_to(node, flushed, true);
        self.log.note(|| Note::Flushed { field });
    }

    /// The server process dies and starts again with what its persistence kept. To
    /// its replica that is a change as any write is.
    pub(super) fn restart(&mut self, node: usize, kept: Kept) {
        let fields = self.world.nodes[node];
        let keyspace = match kept {
            Kept::Nothing => usize::from(self.world.tables.emptied),
            Kept::Synced => self.state.get(fields.synced),
            Kept::All => self.world.tables.stored(self.state.get(fields.keyspace)),
        };
        let before = self.world.tables.stored(self.state.get(fields.keyspace));
        // WAIT can tell a restart from nothing, for the replica must come back.
        if self.world.tables.waits() && before == keyspace {
            self.leave_behind(node);
        }
        self.write_to(node, keyspace, before != keyspace);
        self.log.note(|| match kept {
            Kept::Nothing => Note::Emptied {
                field: fields.keyspace,
            },
            Kept::Synced => Note::Stored {
                to: fields.keyspace,
                from: fields.synced,
            },
            Kept::All => Note::Stored {
                to: fields.keyspace,
                from: fields.keyspace,
            },
        });
        self.forget_positions(node);
        self.doubt_holders(node);
        if fields.synced.exists() {
            self.copy_stored(fields.synced, fields.keyspace);
            self.state.set(fields.lagging, 0);
        }
        self.break_connections(node, false);
        self.judge_the_dead();
    }
}

impl World {
    pub(super) fn node_moves<L: Log>(&self, state: &State, index: usize, visit: &mut Visit<'_, L>) {
        let node = index as u8;
        let fields = &self.nodes[index];
        if self.is_split(state, index) {
            self.split_moves(state, index, visit);
        }
        if self.down_moves(state, index, visit) {
            return;
        }
        if self.node_paused(state, index).is_some() {
            let mut step = Successor::from(self, state);
            step.state.set(fields.pause, 0);
            step.finish(Move::ResumeNode { node }, visit);
            return;
        }
        let keyspace = state.get(fields.keyspace);
        let synced = state.get(fields.synced);
        if fields.synced.exists() && synced != self.tables.stored(keyspace) {
            let mut step = Successor::from(self, state);
            step.copy_stored(fields.synced, fields.keyspace);
            step.state.set(fields.lagging, 0);
            step.finish(Move::Fsync { node }, visit);
        }
        let restarts = [
            (
                Fault::RestartNone,
                Kept::Nothing,
                Move::RestartNone { node },
            ),
            (
                Fault::RestartEverysec,
                Kept::Synced,
                Move::RestartEverysec { node },
            ),
            (
                Fault::RestartAlways,
                Kept::All,
                Move::RestartAlways { node },
            ),
        ];
        for (fault, kept, restart) in restarts {
            if self.left(state, fault) > 0 {
                let mut step = Successor::fault(self, state, fault);
                step.restart(index, kept);
                step.finish(restart, visit);
            }
        }
        let flushed = self.tables.flushed(keyspace);
        if self.left(state, Fault::NodeFlush) > 0 && keyspace != flushed {
            let mut step = Successor::fault(self, state, Fault::NodeFlush);
            step.empty(index);
            step.finish(Move::NodeFlush { node }, visit);
        }
        if self.left(state, Fault::NodePause) > 0 {
            let mut step = Successor::fault(self, state, Fault::NodePause);
            step.state.set(fields.pause, 1);
            step.finish(Move::PauseNode { node }, visit);
        }
        if self.left(state, Fault::ClockJump) > 0 {
            for back in [false, true] {
                let mut step = Successor::fault(self, state, Fault::ClockJump);
                let jumped = &self.tables.jump[usize::from(back)];
                let size = i64::from(self.tables.needs.jump);
                let ticks = if back { -size } else { size };
                step.change_node(index, Some((ticks, false)), |keyspace| {
                    jumped[usize::from(keyspace)]
                });
                step.finish(Move::Jump { node, back }, visit);
            }
        }
        for promotion in Promotion::ALL {
            self.promotions(state, index, promotion, visit);
        }
        self.rejoins(state, index, visit);
        self.silence_moves(state, index, visit);
    }
}
