//! Replication by command: who follows whom.
//!
//! Replicas are told by command and not by argument, and the command is written
//! to their configuration file: a replica that is restarted must come back as a
//! replica, and one that Sentinel promoted as a primary.

use std::collections::BTreeMap;

use tokio::time::{Instant, sleep};

use super::error::TopologyError;
use super::names::Party;
use super::role::Role;
use super::{POLL, Topology};

impl Topology {
    /// Makes a node follow another through its announced address, or (`None`)
    /// makes it a primary. It remembers that over a restart. Clients stay where
    /// they point.
    pub async fn set_primary_of(
        &mut self,
        node: u16,
        primary: Option<u16>,
    ) -> Result<(), TopologyError> {
        let party = Party::Node(node);
        match primary {
            None => {
                self.order(party, &["REPLICAOF", "NO", "ONE"]).await?;
                self.promoted = node;
            }
            Some(primary) => {
                let address = self.followed_at(node, primary)?;
                let (host, port) = (address.ip().to_string(), address.port().to_string());
                self.order(party, &["REPLICAOF", &host, &port]).await?;
            }
        }
        match self.options().attach {
            // It may have no configuration file, and is not ours to restart.
            Some(_) => Ok(()),
            None => self.order(party, &["CONFIG", "REWRITE"]).await,
        }
    }

    /// Makes every node but the first follow it.
    pub(super) async fn join_replicas(&mut self, deadline: Instant) -> Result<(), TopologyError> {
        for node in 1..self.kind().nodes() {
            self.set_primary_of(node, Some(0)).await?;
        }
        // Whoever waits for health next says what is missing.
        while Instant::now() < deadline && self.replicas_missing(0, &self.roles().await).is_some() {
            sleep(POLL).await;
        }
        Ok(())
    }

    /// The replica of this primary that has most of its stream, if it has one
    /// that is in step.
    pub async fn best_replica_of(&self, primary: u16) -> Result<u16, TopologyError> {
        let progress = |(node, role): (u16, Role)| match role {
            Role::Replica { of, link, offset }
                if link == "connected" && self.is_followed_at(&of, node, primary) =>
            {
                Some((offset, std::cmp::Reverse(node)))
            }
            _ => None,
        };
        let best = self.roles().await.into_iter().filter_map(progress).max();
        best.map(|(_, node)| node.0)
            .ok_or_else(|| TopologyError::NoPrimary(format!("node-{primary} has no replica")))
    }

    /// What is missing until all nodes follow `primary`; `None` if nothing is.
    pub(super) fn replicas_missing(
        &self,
        primary: u16,
        roles: &BTreeMap<u16, Role>,
    ) -> Option<String> {
        if !roles.get(&primary).is_some_and(Role::is_primary) {
            return Some(format!("node-{primary} is not a primary"));
        }
        let follows = |node: &u16| match roles.get(node) {
            Some(Role::Replica { of, link, .. }) => {
                link == "connected" && self.is_followed_at(of, *node, primary)
            }
            _ => false,
        };
        (0..self.kind().nodes())
            .filter(|node| *node != primary)
            .find(|node| !follows(node))
            .map(|node| format!("node-{node} does not follow node-{primary} yet"))
            .or_else(|| self.not_fed(primary, roles))
    }

    fn is_followed_at(&self, address: &str, follower: u16, primary: u16) -> bool {
        let followed = self.followed_at(follower, primary);
        followed.is_ok_and(|followed| followed.to_string() == address)
    }

    /// A replica says "connected" a moment before its primary feeds it.
    fn not_fed(&self, primary: u16, roles: &BTreeMap<u16, Role>) -> Option<String> {
        match roles.get(&primary) {
            Some(Role::Primary { replicas, .. })
                if replicas.len() + 1 >= usize::from(self.kind().nodes()) =>
            {
                None
            }
            _ => Some(format!("node-{primary} does not feed all replicas yet")),
        }
    }
}
