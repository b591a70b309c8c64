//! Servers that ask for a replica to write, and do not hear of it.

use super::{ConcreteError, Run, mismatch};
use crate::trace::Fault;
use crate::world::layout::State;
use crate::world::moves::Move;

impl<'w> Run<'w> {
    /// The node's server, or its old one, refuses writes.
    pub(super) fn refuses(&self, node: u8, old: bool) -> bool {
        let gone = self.world.config.gone();
        let alone = !old && !self.replicas[usize::from(node)].follows;
        gone > 0 && (alone || self.silence.get(&(node, old)) == Some(&gone))
    }

    pub(super) fn fall_silent(&mut self, node: u8) {
        self.fault(Fault::ReplicaSilent { node });
        self.silence.insert((node, false), 1);
        self.replicas[usize::from(node)].fall_silent();
    }

    /// The replica counts as gone.
    pub(super) fn refuse(&mut self, node: u8, old: bool) {
        let gone = self.world.config.gone();
        self.fault(Fault::ReplicaGone { node, old });
        self.silence.insert((node, old), gone);
        if !old {
            self.replicas[usize::from(node)].give_up(self.steps.len() - 1);
        }
    }

    pub(super) fn regain(&mut self, node: u8) {
        self.fault(Fault::ReplicaBack { node });
        self.silence.remove(&(node, false));
        self.catch_up(node, self.steps.len() - 1);
    }

    /// The node's replica leaves it, which it notices unless it hears nothing
    /// anyway.
    pub(super) fn leave_alone(&mut self, node: u8) {
        let gone = self.world.config.gone();
        if gone > 0 {
            let silent = self.silence.get(&(node, false)).copied();
            self.silence.insert((node, true), silent.unwrap_or(gone));
        }
    }

    /// A tick for what servers hear of their replicas, told before it.
    pub(super) fn tick_silence(&mut self) {
        let gone = self.world.config.gone();
        if gone == 0 {
            return;
        }
        for node in 0..self.world.config.nodes {
            let follows = self.replicas[usize::from(node)].follows;
            if follows && !self.silence.contains_key(&(node, false)) {
                self.catch_up(node, self.steps.len());
            }
        }
        for ((node, old), ticks) in self.silence.clone() {
            if ticks + 1 == gone {
                self.refuse(node, old);
            } else if ticks < gone {
                self.silence.insert((node, old), ticks + 1);
            }
        }
    }

    /// The replica has all that its node holds, and that one knows.
    fn catch_up(&mut self, node: u8, step: usize) {
        let at = usize::from(node);
        self.replicas[at].catch_up(&self.nodes[at], step);
        self.answer_waits(node);
    }

    /// The servers of a node have heard of their replicas when the path says so.
    pub(super) fn compare_silence(
        &self,
        at: usize,
        step: Move,
        after: &State,
        node: usize,
    ) -> Result<(), ConcreteError> {
        let claimed = self.world.silence(after, node);
        let heard = |old| {
            let ticks = self.silence.get(&(node as u8, old));
            ticks.copied().unwrap_or(0)
        };
        let held = [heard(false), heard(true)];
        if held == claimed {
            return Ok(());
        }
        let detail =
            format!("node {node} has not heard of its replica for {held:?}, not {claimed:?}");
        Err(mismatch(at, step, detail))
    }
}
