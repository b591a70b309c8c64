//! A server stands still (SIGSTOP) and goes on (SIGCONT).
//!
//! Requests that arrive meanwhile are executed afterwards, also those whose
//! clients have given up.

use serde_json::json;

use super::super::topology::Party;
use super::target::{Target, names, resolve};
use super::{Fault, Field, Struck};

/// Servers stand still.
#[derive(Clone, Debug)]
pub struct ServerPause {
    servers: Vec<Target>,
    struck: Vec<Party>,
}

impl ServerPause {
    /// These servers.
    pub fn new(servers: &[Target]) -> ServerPause {
        ServerPause {
            servers: servers.to_vec(),
            struck: Vec::new(),
        }
    }
}

impl Fault for ServerPause {
    fn name(&self) -> &'static str {
        "server-pause"
    }

    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            self.struck = resolve(&self.servers, field.topology).await?;
            for party in &self.struck {
                field.topology.server(*party)?.pause()?;
            }
            Ok(json!({ "servers": names(&self.struck) }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let mut first = Ok(json!({}));
            for party in self.struck.drain(..) {
                // Nobody stays stopped because another could not be resumed.
                let resumed = field.topology.server(party)?.resume();
                if let (Ok(_), Err(error)) = (&first, resumed) {
                    first = Err(error.into());
                }
            }
            first
        })
    }
}
