//! A client process dies (SIGKILL), with its lock; another takes its place.

use serde_json::json;

use super::client_pause::{failed, undo};
use super::target::{Target, resolve_clients};
use super::{Fault, Field, Struck};

/// Clients are dead until healed.
#[derive(Clone, Debug)]
pub struct ClientCrash {
    clients: Vec<Target>,
    struck: Vec<u16>,
}

impl ClientCrash {
    /// These clients.
    pub fn new(clients: &[Target]) -> ClientCrash {
        ClientCrash {
            clients: clients.to_vec(),
            struck: Vec::new(),
        }
    }
}

impl Fault for ClientCrash {
    fn name(&self) -> &'static str {
        "client-crash"
    }

    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            for client in resolve_clients(&self.clients, field.topology).await? {
                self.struck.push(client);
                field.clients.kill(client).map_err(failed("kill", client))?;
            }
            Ok(json!({ "clients": self.struck }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            undo("restart", &mut self.struck, |client| {
                field.clients.restart(client)
            })
        })
    }
}
