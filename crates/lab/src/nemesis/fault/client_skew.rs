//! The wall clock of a client is off.

use serde_json::json;

use crate::nemesis::strike_clients::{failed, processes, those_there, undo};
use crate::nemesis::target::{Target, resolve_clients};
use crate::nemesis::{Field, Injection, Struck};

/// Clients' clocks are off.
#[derive(Clone, Debug)]
pub struct ClientSkew {
    clients: Vec<Target>,
    ms: i64,
    struck: Vec<u16>,
}

impl ClientSkew {
    /// The clocks of these clients are off by so many ms.
    pub fn new(clients: &[Target], ms: i64) -> ClientSkew {
        ClientSkew {
            clients: clients.to_vec(),
            ms,
            struck: Vec::new(),
        }
    }
}

impl Injection for ClientSkew {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let clients = resolve_clients(&self.clients, field).await?;
            for client in those_there(clients, field) {
                self.struck.push(client);
                let skewed = field.clients.skew(client, self.ms);
                skewed.map_err(failed("skew the clock of", client))?;
            }
            let processes = processes(&self.struck, field);
            Ok(json!({ "clients": self.struck, "processes": processes, "ms": self.ms }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            undo("set right the clock of", &mut self.struck, |client| {
                field.clients.skew(client, 0)
            })
        })
    }
}
