//! Servers with their real content, and what stands behind them.

use super::{Replica, Run};
use crate::trace;
use crate::world::node::Keyspace;

impl<'w, const W: usize> Run<'w, W> {
    pub(super) fn restart(&mut self, node: u8, persistence: &str, after: Keyspace) {
        let loses = after != self.nodes[usize::from(node)];
        let persistence = persistence.to_owned();
        self.synced[usize::from(node)] = after.clone();
        self.write_to(node, after);
        self.fault(trace::Fault::NodeRestart {
            node,
            persistence,
            loses,
        });
        self.break_connections(node, false);
    }

    /// The node holds this now, from the next step on. Its replica may lack one
    /// write more, if what the tables tell apart has changed.
    pub(super) fn write_to(&mut self, node: u8, after: Keyspace) {
        let at = usize::from(node);
        let canonical = |keyspace: &Keyspace| keyspace.renamed(&|text| self.canonical(text));
        let replicated = !self.replicas[at].history.is_empty();
        let changes = replicated && !canonical(&self.nodes[at]).same_content(&canonical(&after));
        let before = std::mem::replace(&mut self.nodes[at], after);
        let replica = &mut self.replicas[at];
        if changes && replica.history.pop().is_some() {
            replica.history.insert(0, before);
            replica.writes.push(self.steps.len());
        }
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
        let Replica { history, writes } = std::mem::take(&mut self.replicas[at]);
        if let Some(behind) = usize::from(lost).checked_sub(1) {
            // The tables said that the replica can lack so much, so there was so much.
            self.lags
                .extend(writes.iter().rev().nth(behind).map(|step| (*step, node)));
            let newer = [&self.nodes[at]].into_iter().chain(&history[..behind]);
            if newer
                .into_iter()
                .any(|keyspace| *keyspace == self.synced[at])
            {
                self.synced[at] = history[behind].clone();
            }
            self.nodes[at] = history[behind].clone();
        }
    }
}
