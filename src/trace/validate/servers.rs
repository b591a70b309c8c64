//! What can happen to servers, and in which order.

// A new fault or move must not slip through.
#![deny(clippy::wildcard_enum_match_arm)]

use std::collections::BTreeSet;

use super::{Run, ensure, persistence};
use crate::trace::{Fault, words};

impl Run<'_> {
    pub(super) fn node_fault(&mut self, fault: &Fault) -> Result<(), String> {
        match fault {
            Fault::NodeRestart {
                node,
                persistence: policy,
                ..
            } => {
                self.node(*node)?;
                // A process that dies while it is stopped runs after its restart.
                self.nodes_stopped.remove(node);
                persistence(policy)
            }
            Fault::NodePause { node } => {
                self.node(*node)?;
                ensure(self.nodes_stopped.insert(*node), || {
                    format!("{} was stopped before", words::node(*node))
                })
            }
            Fault::NodeResume { node } => {
                self.node(*node)?;
                ensure(self.nodes_stopped.remove(node), || {
                    format!("{} was not stopped", words::node(*node))
                })
            }
            Fault::NodeFsync { node } | Fault::ClockJump { node, .. } => self.node(*node),
            Fault::ReplicaLags { node } => {
                self.has_replica(*node)?;
                ensure(self.lagging.insert(*node), || {
                    format!("{}'s replica lagged before", words::node(*node))
                })
            }
            Fault::ReplicaCatchesUp { node, lacks, .. } => {
                self.has_replica(*node)?;
                let lagged = match lacks {
                    0 => self.lagging.remove(node),
                    _ => self.lagging.contains(node),
                };
                ensure(lagged, || {
                    format!("{}'s replica did not lag", words::node(*node))
                })
            }
            Fault::Failover { node, lost } | Fault::CutOff { node, lost } => {
                self.fail_over(*node, *lost)
            }
            Fault::Rejoin { node } => {
                self.node(*node)?;
                let alone = self.failed_over.remove(node) && !self.split.contains_key(node);
                ensure(alone, || {
                    format!(
                        "{} has no old server that could follow it",
                        words::node(*node)
                    )
                })
            }
            Fault::SplitBrain { node, lost } => {
                let silent = self.silent.contains(&(*node, false));
                let gone = self.gone.contains(&(*node, false));
                self.fail_over(*node, *lost)?;
                self.split.insert(*node, BTreeSet::new());
                let its = self.messages.values_mut().filter(|one| one.node == *node);
                its.for_each(|message| message.old = true);
                if silent && !gone {
                    self.silent.insert((*node, true));
                }
                Ok(())
            }
            Fault::Demotion { node } => {
                self.silent.remove(&(*node, true));
                self.gone.remove(&(*node, true));
                ensure(self.split.remove(node).is_some(), || {
                    format!("{} has no old server", words::node(*node))
                })
            }
            Fault::ReplicaSilent { node } => {
                self.has_replica(*node)?;
                let changed = self.silent.insert((*node, false));
                self.silence(*node, changed, "replica was silent before")
            }
            Fault::ReplicaBack { node } => {
                self.has_replica(*node)?;
                self.gone.remove(&(*node, false));
                let changed = self.silent.remove(&(*node, false));
                self.silence(*node, changed, "replica was not silent")
            }
            Fault::ReplicaGone { node, old } => {
                match old {
                    true => self.node(*node)?,
                    false => self.has_replica(*node)?,
                }
                let server = (*node, *old);
                let changed = self.silent.contains(&server) && self.gone.insert(server);
                self.silence(*node, changed, "replica was not silent, or had gone before")
            }
            // The caller's.
            Fault::ClientCrash { .. }
            | Fault::ClientPause { .. }
            | Fault::ClientResume { .. }
            | Fault::Overrun { .. }
            | Fault::ClientSkew { .. }
            | Fault::ClientDrift { .. }
            | Fault::Lose { .. }
            | Fault::Delay { .. }
            | Fault::LinkCut { .. }
            | Fault::LinkHeal { .. }
            | Fault::ClientNotices { .. } => Ok(()),
        }
    }

    /// What a server hears of its replica has `changed`, where it asks for one to write.
    fn silence(&self, node: u8, changed: bool, otherwise: &str) -> Result<(), String> {
        ensure(self.setup.min_replicas > 0, || {
            "setup.min_replicas is 0, so no server asks for its replica".into()
        })?;
        ensure(changed, || format!("{}'s {otherwise}", words::node(node)))
    }

    pub(super) fn notice(&mut self, client: u8, node: u8) -> Result<(), String> {
        self.acts(client)?;
        self.node(node)?;
        let Some(moved) = self.split.get_mut(&node) else {
            return Err(format!("{} has no old server", words::node(node)));
        };
        ensure(moved.insert(client), || {
            format!("{} has noticed before", words::client(client))
        })
    }

    fn has_replica(&self, node: u8) -> Result<(), String> {
        self.node(node)?;
        ensure(self.setup.replicas > 0, || {
            "setup.replicas is 0, so no node has a replica".into()
        })?;
        ensure(!self.failed_over.contains(&node), || {
            format!("{}'s replica has taken its place before", words::node(node))
        })
    }

    fn fail_over(&mut self, node: u8, lost: u8) -> Result<(), String> {
        self.has_replica(node)?;
        ensure(self.lagging.remove(&node) == (lost > 0), || {
            let writes = words::plural(u32::from(lost), "write");
            format!("{writes} of it are lost, which is not what its replica lagged behind")
        })?;
        self.nodes_stopped.remove(&node);
        self.silent.remove(&(node, false));
        self.gone.remove(&(node, false));
        self.failed_over.insert(node);
        Ok(())
    }
}
