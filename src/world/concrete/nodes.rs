//! Servers with their real content, and what stands behind them.

use super::Run;
use super::replicas::Replica;
use crate::trace;
use crate::world::node::Keyspace;

impl<'w> Run<'w> {
    pub(super) fn restart(&mut self, node: u8, persistence: &str, after: Keyspace, changes: bool) {
        let loses = after != self.nodes[usize::from(node)];
        let persistence = persistence.to_owned();
        self.synced[usize::from(node)] = after.clone();
        if self.restart_counts(node) && !changes {
            self.leave_behind(node);
        }
        self.write_to(node, after, changes);
        self.forget_positions(node);
        self.fault(trace::Fault::NodeRestart {
            node,
            persistence,
            loses,
        });
        self.break_connections(node, false);
    }

    /// The node holds this now, from the next step on. Its replica may lack one
    /// write more, if something changed.
    pub(super) fn write_to(&mut self, node: u8, after: Keyspace, changes: bool) {
        let at = usize::from(node);
        if changes && self.replicas[at].follows && self.is_replicated() {
            self.leave_behind(node);
        }
        self.nodes[at] = after;
    }

    /// What the node holds now, its replica may hold from the next step on.
    pub(super) fn leave_behind(&mut self, node: u8) {
        let at = usize::from(node);
        let step = self.steps.len();
        self.replicas[at].leave_behind(self.nodes[at].clone(), step);
    }

    /// The same change to all that a node holds, its replica's content included.
    pub(super) fn change_node(&mut self, node: usize, change: impl Fn(&Keyspace) -> Keyspace) {
        let own = [&mut self.nodes[node], &mut self.synced[node]];
        for keyspace in own.into_iter().chain(&mut self.replicas[node].history) {
            *keyspace = change(keyspace);
        }
        if let Some((keyspace, _)) = self.split.get_mut(&(node as u8)) {
            *keyspace = change(keyspace);
        }
    }

    pub(super) fn uses_old(&self, client: u8, node: u8) -> bool {
        let split = self.split.get(&node);
        split.is_some_and(|(_, moved)| !moved.contains(&client))
    }

    /// The node's server goes on as an old one, with what is in flight to it.
    pub(super) fn leave_in_service(&mut self, node: u8) {
        let keyspace = self.nodes[usize::from(node)].clone();
        self.split.insert(node, (keyspace, Vec::new()));
        for parcel in &mut self.parcels {
            parcel.old |= parcel.node == node;
        }
    }

    pub(super) fn promote(&mut self, node: u8, lost: u8) {
        let at = usize::from(node);
        let mut replica = std::mem::take(&mut self.replicas[at]);
        let step = self.steps.len() - 1;
        self.silence.remove(&(node, false));
        replica.promote(step, usize::from(lost));
        self.links.extend(replica.link_changes(node));
        if let Some(behind) = usize::from(lost).checked_sub(1) {
            let history = &replica.history;
            let newer = [&self.nodes[at]].into_iter().chain(&history[..behind]);
            if newer
                .into_iter()
                .any(|keyspace| *keyspace == self.synced[at])
            {
                self.synced[at] = history[behind].clone();
            }
            self.nodes[at] = history[behind].clone();
        }
        self.forget_positions(node);
    }

    /// The server that the node had before follows the one that it has now.
    pub(super) fn rejoin(&mut self, node: u8) {
        let at = usize::from(node);
        self.replicas[at] = Replica::behind(&self.nodes[at], self.world.config.lag());
        self.forget_positions(node);
        self.answer_waits(node);
    }
}
