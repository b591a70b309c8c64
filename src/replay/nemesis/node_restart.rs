//! A server is killed (SIGKILL) and started again.
//!
//! What it remembers is a matter of its persistence: nothing, or all that it had
//! written, because the page cache outlives a process. (What a power failure takes
//! away is another fault.)

use serde_json::json;

use super::super::topology::Party;
use super::target::{Target, names, resolve};
use super::{Fault, Field, Struck};

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
            self.struck = resolve(&self.servers, field.topology).await?;
            for party in &self.struck {
                field.topology.server_mut(*party)?.kill()?;
            }
            Ok(json!({
                "servers": names(&self.struck),
                "persistence": format!("{:?}", field.topology.options().persistence).to_lowercase(),
            }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            restart_all(&self.struck, field).await?;
            self.struck.clear();
            Ok(json!({}))
        })
    }
}

/// Starts those that are dead.
pub(super) async fn restart_all(
    parties: &[Party],
    field: &mut Field<'_>,
) -> Result<(), super::NemesisError> {
    let mut first = Ok(());
    for party in parties {
        let server = field.topology.server_mut(*party)?;
        if server.pid().is_none() {
            let restarted = server.restart().await;
            if first.is_ok() {
                first = restarted.map_err(super::NemesisError::from);
            }
        }
    }
    first
}
