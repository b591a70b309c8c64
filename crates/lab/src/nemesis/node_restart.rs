//! A server is killed (SIGKILL) and started again.
//!
//! What it remembers is a matter of its persistence: nothing, or all that it had
//! written, because the page cache outlives a process. (What a power failure takes
//! away is another fault.)

use serde_json::{Value, json};

use super::super::topology::{Party, Topology, TopologyError};
use super::target::{Target, names, resolve};
use super::{Fault, Field, NemesisError, Struck};

/// Servers are dead until healed.
#[derive(Clone, Debug)]
pub struct NodeRestart {
    servers: Vec<Target>,
    struck: Vec<Party>,
}

impl NodeRestart {
    /// These servers.
    pub fn new(servers: &[Target]) -> NodeRestart {
        NodeRestart {
            servers: servers.to_vec(),
            struck: Vec::new(),
        }
    }
}

impl Fault for NodeRestart {
    fn name(&self) -> &'static str {
        "node-restart"
    }

    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            for party in resolve(&self.servers, field).await? {
                self.struck.push(party);
                field.topology.kill_server(party)?;
            }
            Ok(json!({
                "servers": names(&self.struck),
                "persistence": format!("{:?}", field.topology.options().persistence).to_lowercase(),
            }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let felled = Felled::Killed;
            felled.raise_all(&mut self.struck, field.topology).await
        })
    }
}

/// What a fault did to the process of a server.
#[derive(Clone, Copy, Debug)]
pub(super) enum Felled {
    Killed,
    Paused,
}

impl Felled {
    /// Takes it back.
    pub async fn raise(self, party: Party, topology: &mut Topology) -> Result<(), TopologyError> {
        match self {
            Felled::Killed => topology.revive_server(party).await,
            Felled::Paused => topology.resume_server(party).await,
        }
    }

    /// Takes it back for each of these servers, also after an error; those that
    /// failed stay in the list. Gives the first error.
    pub async fn raise_all(
        self,
        struck: &mut Vec<Party>,
        topology: &mut Topology,
    ) -> Result<Value, NemesisError> {
        let mut first = Ok(json!({}));
        for party in std::mem::take(struck) {
            if let Err(error) = self.raise(party, topology).await {
                struck.push(party);
                first = first.and(Err(error.into()));
            }
        }
        first
    }
}
