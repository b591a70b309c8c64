//! Redis Cluster, by its own commands.
//!
//! Every node meets every other itself: gossip would spread the news as well, but
//! takes seconds. The rest of the start is a pause of the servers' own making: a
//! primary takes no writes for two seconds after its start, so that it does not
//! act on old news.

use std::collections::BTreeMap;

use lockproof_redis::{Reply, SLOTS, slot};
use tokio::time::{Instant, sleep};

use super::error::TopologyError;
use super::names::Party;
use super::options::TopologyKind;
use super::role::{Role, info, text};
use super::{POLL, Topology};

/// One line of CLUSTER NODES.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub id: String,
    /// The announced `host:port`.
    pub address: String,
    is_primary: bool,
    /// The id of whom it follows.
    pub follows: Option<String>,
    epoch: u64,
    slots: Vec<(u16, u16)>,
}

impl Line {
    fn read(line: &str) -> Option<Line> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [id, address, flags, primary, _, _, epoch, _, slots @ ..] = words.as_slice() else {
            return None;
        };
        let range = |word: &&str| {
            let (from, to) = word.split_once('-').unwrap_or((word, word));
            // Slots on the move stand in brackets and are no numbers.
            Some((from.parse().ok()?, to.parse().ok()?))
        };
        Some(Line {
            id: (*id).into(),
            address: address.split('@').next()?.into(),
            is_primary: flags.split(',').any(|flag| flag == "master"),
            follows: (*primary != "-").then(|| (*primary).to_owned()),
            epoch: epoch.parse().ok()?,
            slots: slots.iter().filter_map(range).collect(),
        })
    }

    fn owns(&self, slot: u16) -> bool {
        self.is_primary && self.slots.iter().any(|(a, b)| (*a..=*b).contains(&slot))
    }
}

pub(super) fn lines(answer: Option<&Reply>) -> Vec<Line> {
    let text = answer.and_then(text).unwrap_or_default();
    text.lines().filter_map(Line::read).collect()
}

impl Topology {
    /// Deals out the slots, introduces all nodes to each other and gives each
    /// replica its primary.
    pub(super) async fn join_cluster(
        &mut self,
        primaries: u16,
        deadline: Instant,
    ) -> Result<(), TopologyError> {
        for node in 0..primaries {
            let first = bound(node, primaries).to_string();
            let last = (bound(node + 1, primaries) - 1).to_string();
            let party = Party::Node(node);
            let slots = ["CLUSTER", "ADDSLOTSRANGE", &first, &last];
            self.order(party, &slots).await?;
            // Two primaries of one epoch would first have to settle that.
            let epoch = (node + 1).to_string();
            let epoch = ["CLUSTER", "SET-CONFIG-EPOCH", &epoch];
            self.order(party, &epoch).await?;
        }
        let nodes = self.kind().nodes();
        for node in 0..nodes {
            for other in node + 1..nodes {
                self.meet(node, other).await?;
            }
        }
        for replica in primaries..nodes {
            self.follow_when_known(replica, replica % primaries, deadline)
                .await?;
        }
        Ok(())
    }

    async fn meet(&self, node: u16, other: u16) -> Result<(), TopologyError> {
        let port = self.announced(Party::Node(other))?.port().to_string();
        let bus = self.announced_bus(other)?.port().to_string();
        let meet = ["CLUSTER", "MEET", "127.0.0.1", &port, &bus];
        self.order(Party::Node(node), &meet).await
    }

    /// A node can follow only whom it knows already.
    async fn follow_when_known(
        &self,
        replica: u16,
        primary: u16,
        deadline: Instant,
    ) -> Result<(), TopologyError> {
        let party = Party::Node(primary);
        let id = self
            .ask(party, &["CLUSTER", "MYID"])
            .await
            .as_ref()
            .and_then(text);
        let id = id.ok_or_else(|| TopologyError::Refused {
            party,
            command: "CLUSTER MYID".into(),
            answer: "no id".into(),
        })?;
        loop {
            let follow = ["CLUSTER", "REPLICATE", &id];
            match self.order(Party::Node(replica), &follow).await {
                Err(TopologyError::Refused { answer, .. }) if answer.contains("Unknown node") => {
                    if Instant::now() >= deadline {
                        let missing = format!("node-{replica} has not met node-{primary}");
                        return Err(self.unhealthy(self.options().patience, missing));
                    }
                    sleep(POLL).await;
                }
                done => return done,
            }
        }
    }

    /// The node that owns the slot of the lock's key, by the newest epoch that
    /// any node knows.
    pub(super) async fn slot_owner(&self) -> Result<u16, TopologyError> {
        let slot = slot(self.options().lock_key.as_bytes());
        self.ask_all(self.nodes(), &["CLUSTER", "NODES"])
            .await
            .iter()
            .flat_map(|(_, answer)| lines(answer.as_ref()))
            .filter(|line| line.owns(slot))
            .max_by_key(|line| line.epoch)
            .and_then(|line| self.node_announced_at(&line.address))
            .ok_or_else(|| TopologyError::NoPrimary(format!("nobody owns slot {slot}")))
    }

    /// Whether all nodes tell the same of who follows whom: news of it take a moment.
    pub(super) async fn cluster_agrees(&self) -> bool {
        let answers = self.ask_all(self.nodes(), &["CLUSTER", "NODES"]).await;
        let mut views = answers.iter().map(|(_, answer)| {
            let lines = lines(answer.as_ref()).into_iter();
            let view: BTreeMap<_, _> = lines.map(|line| (line.id, line.follows)).collect();
            view
        });
        let first = views.next();
        views.all(|view| Some(view) == first)
    }

    /// What is missing until the cluster works; `None` if nothing is.
    pub(super) async fn cluster_missing(&self, roles: &BTreeMap<u16, Role>) -> Option<String> {
        let nodes = self.kind().nodes();
        for (party, answer) in self.ask_all(self.nodes(), &["CLUSTER", "INFO"]).await {
            let answer = answer.as_ref().and_then(text).unwrap_or_default();
            let state = info(&answer, "cluster_state").unwrap_or("unknown");
            let known = info(&answer, "cluster_known_nodes").unwrap_or("0");
            if state != "ok" || known != nodes.to_string() {
                return Some(format!(
                    "{party} says that the cluster is {state} and knows {known} of {nodes} nodes"
                ));
            }
        }
        if let Err(error) = self.slot_owner().await {
            return Some(error.to_string());
        }
        let TopologyKind::Cluster { replicas, .. } = self.kind() else {
            return None;
        };
        let linked =
            |role: &&Role| matches!(role, Role::Replica { link, .. } if link == "connected");
        let count = roles.values().filter(linked).count();
        (count != usize::from(replicas))
            .then(|| format!("{count} of {replicas} replicas are in step"))
    }
}

/// The first slot of this primary.
fn bound(node: u16, primaries: u16) -> u16 {
    let slots = u32::from(SLOTS) * u32::from(node) / u32::from(primaries.max(1));
    u16::try_from(slots).unwrap_or(SLOTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_are_dealt_out_whole() {
        assert_eq!(bound(0, 3), 0);
        assert_eq!(bound(3, 3), SLOTS);
        assert!(bound(1, 3) < bound(2, 3));
    }

    #[test]
    fn a_line_of_cluster_nodes_is_read() {
        let line =
            "07c3 127.0.0.1:7000@17000,host myself,master - 0 1426 4 connected 0-5460 9 [10->-x]";
        let line = Line::read(line).unwrap();
        assert_eq!(line.address, "127.0.0.1:7000");
        assert_eq!(line.epoch, 4);
        assert_eq!(line.follows, None);
        assert!(line.owns(5460) && line.owns(9) && !line.owns(10_000));
    }
}
