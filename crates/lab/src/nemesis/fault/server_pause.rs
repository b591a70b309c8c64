//! A server stands still (SIGSTOP) and goes on (SIGCONT).
//!
//! Requests that arrive meanwhile are executed afterwards, also those whose
//! clients have given up.

use serde_json::json;

use super::felled::Felled;
use crate::nemesis::target::{Target, names, resolve};
use crate::nemesis::{Field, Injection, Struck};
use crate::topology::Party;

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

impl Injection for ServerPause {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            for party in resolve(&self.servers, field).await? {
                // Listed first: a pause that fails half way is healed too.
                self.struck.push(party);
                field.topology.pause_server(party)?;
            }
            Ok(json!({ "servers": names(&self.struck) }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let felled = Felled::Paused;
            felled.raise_all(&mut self.struck, field.topology).await
        })
    }
}
