//! Is everybody there, and does everybody know what a failover would need?

use std::time::Duration;

use lockproof_redis::Reply;
use tokio::time::{Instant, sleep};

use super::attach::Drawn;
use super::error::TopologyError;
use super::names::Party;
use super::options::TopologyKind;
use super::role::Role;
use super::{POLL, Seat, Topology};

impl Topology {
    /// Waits until every server runs and plays its part: replicas in step,
    /// Sentinels in touch, the cluster whole.
    pub async fn wait_healthy(&mut self, patience: Duration) -> Result<(), TopologyError> {
        self.healthy_until(Instant::now() + patience, patience)
            .await
    }

    /// The same; `patience` is what is said in an error.
    pub(super) async fn healthy_until(
        &mut self,
        deadline: Instant,
        patience: Duration,
    ) -> Result<(), TopologyError> {
        // Until replicas have this much of the primary's stream; see `stream`.
        let mut stream = None;
        loop {
            self.check_alive()?;
            let missing = match (self.missing().await, stream) {
                (Some(missing), _) => {
                    stream = None;
                    missing
                }
                (None, None) => match self.stream().await {
                    Some(offset) => {
                        stream = Some(offset);
                        continue;
                    }
                    None => return Ok(()),
                },
                (None, Some(offset)) => match self.behind(offset).await {
                    Some(behind) => behind,
                    None => return Ok(()),
                },
            };
            if Instant::now() >= deadline {
                return Err(self.unhealthy(patience, missing));
            }
            sleep(POLL).await;
        }
    }

    pub(super) fn unhealthy(&self, patience: Duration, missing: String) -> TopologyError {
        TopologyError::Unhealthy {
            patience,
            missing,
            logs: self.logs(),
        }
    }

    /// Sends something down the primary's replication stream and gives the offset
    /// after it; `None` where the harness has no means to.
    ///
    /// A primary counts a replica as online before it sends it anything: it waits
    /// for the replica's first word, up to a second. A lag that nobody asked for
    /// would spoil a scenario about lag, so health means that the stream flows. A
    /// published message goes down the stream and leaves no key behind; a cluster
    /// carries it otherwise, but has no such second left after its start.
    async fn stream(&self) -> Option<i64> {
        let (TopologyKind::Replicated { .. } | TopologyKind::Sentinel { .. }) = self.kind() else {
            return None;
        };
        let primary = self.primary().await.ok()?;
        let drawn = self.attached.as_ref().map(|attached| &attached.drawn);
        let channel = drawn.map_or("lockproof".to_owned(), Drawn::channel);
        self.ask(Party::Node(primary), &["PUBLISH", &channel, "flows"])
            .await?;
        match self.roles().await.remove(&primary)? {
            Role::Primary { offset, .. } => Some(offset),
            Role::Replica { .. } => None,
        }
    }

    /// Who has less than this of the primary's stream.
    async fn behind(&self, wanted: i64) -> Option<String> {
        self.roles()
            .await
            .into_iter()
            .find_map(|(node, role)| match role {
                Role::Replica { offset, .. } if offset < wanted => Some(format!(
                    "node-{node} has {offset} of {wanted} bytes of the primary's stream"
                )),
                _ => None,
            })
    }

    /// What is missing until the topology is healthy; `None` if nothing is.
    pub async fn missing(&self) -> Option<String> {
        for party in self.nodes().chain(self.sentinels()) {
            if self
                .server(party)
                .is_ok_and(|server| server.pid().is_none())
            {
                return Some(format!("{party} is killed"));
            }
        }
        let primary = match self.kind() {
            TopologyKind::Single | TopologyKind::Masters { .. } => return self.silent().await,
            TopologyKind::Cluster { .. } => {
                return self.cluster_missing(&self.roles().await).await;
            }
            TopologyKind::Replicated { .. } | TopologyKind::Sentinel { .. } => self.primary().await,
        };
        let followed = match primary {
            Ok(primary) => self.replicas_missing(primary, &self.roles().await),
            Err(error) => Some(error.to_string()),
        };
        match followed {
            None if self.kind().sentinels() > 0 => self.sentinels_missing().await,
            missing => missing,
        }
    }

    async fn silent(&self) -> Option<String> {
        let answers = self.ask_all(self.nodes(), &["PING"]).await;
        answers
            .into_iter()
            .find(|(_, answer)| !matches!(answer, Some(Reply::Status(_))))
            .map(|(party, answer)| format!("{party} answers PING with {answer:?}"))
    }

    /// An error, with the end of its log, if a server or the toxiproxy ended
    /// although nobody told it to. A server that the harness killed is no error.
    pub fn check_alive(&mut self) -> Result<(), TopologyError> {
        let nodes = (0..).map(Party::Node).zip(&mut self.nodes);
        let sentinels = (0..).map(Party::Sentinel).zip(&mut self.sentinels);
        for (party, member) in nodes.chain(sentinels) {
            if let Seat::Own(server) = &mut member.seat {
                let alive = server.check_alive();
                alive.map_err(|source| TopologyError::Died { party, source })?;
            }
        }
        if let Some(toxiproxy) = self.toxiproxy() {
            toxiproxy.check_alive()?;
        }
        Ok(())
    }

    /// The last lines of every server, under its name.
    pub fn logs(&self) -> String {
        self.nodes()
            .chain(self.sentinels())
            .filter_map(|party| Some((party, self.server(party).ok()?)))
            .map(|(party, server)| format!("--- {party} ({server})\n{}\n", server.log_tail()))
            .collect()
    }
}
