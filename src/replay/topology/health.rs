//! Is everybody there, and does everybody know what a failover would need?

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::error::TopologyError;
use super::names::Party;
use super::options::TopologyKind;
use super::{POLL, Topology};
use crate::redis::Reply;

impl Topology {
    /// Waits until every server runs and plays its part: replicas in step,
    /// Sentinels in touch, the cluster whole.
    pub async fn wait_healthy(&mut self, patience: Duration) -> Result<(), TopologyError> {
        let deadline = Instant::now() + patience;
        loop {
            self.check_alive()?;
            let Some(missing) = self.missing().await else {
                return Ok(());
            };
            if Instant::now() >= deadline {
                return Err(TopologyError::Unhealthy {
                    patience,
                    missing,
                    logs: self.logs(),
                });
            }
            sleep(POLL).await;
        }
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

    /// An error, with the end of its log, if a server ended although nobody told
    /// it to. One that the harness killed is no error.
    pub fn check_alive(&mut self) -> Result<(), TopologyError> {
        let nodes = (0..).map(Party::Node).zip(&mut self.nodes);
        let sentinels = (0..).map(Party::Sentinel).zip(&mut self.sentinels);
        for (party, member) in nodes.chain(sentinels) {
            member
                .server
                .check_alive()
                .map_err(|source| TopologyError::Died { party, source })?;
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
