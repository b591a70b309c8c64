//! A server is killed (SIGKILL) and started again.
//!
//! What it remembers is a matter of its persistence: nothing, or all that it had
//! written, because the page cache outlives a process. (What a power failure takes
//! away is another fault.)

use serde_json::json;

use super::felled::Felled;
use crate::nemesis::target::{Target, names, resolve};
use crate::nemesis::{Field, Injection, Struck};
use crate::topology::Party;

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

impl Injection for NodeRestart {
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
