//! A client process stands still (SIGSTOP): a long collection of garbage.

use serde_json::json;

use crate::nemesis::strike_clients::{failed, processes, those_there, undo};
use crate::nemesis::target::{Target, named_clients};
use crate::nemesis::{Field, Injection, Struck};

/// Clients stand still.
#[derive(Clone, Debug)]
pub struct ClientPause {
    clients: Vec<Target>,
    struck: Vec<u16>,
}

impl ClientPause {
    /// These clients.
    pub fn new(clients: &[Target]) -> ClientPause {
        ClientPause {
            clients: clients.to_vec(),
            struck: Vec::new(),
        }
    }
}

impl Injection for ClientPause {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let named = named_clients(&self.clients, field.topology).await?;
            for client in those_there(named, field) {
                // Listed first: a pause that fails half way is healed too.
                self.struck.push(client);
                let paused = field.clients.pause(client);
                paused.map_err(failed("pause", client))?;
            }
            if self.clients.contains(&Target::TheHolder) {
                field.stop_holder(&mut self.struck).await?;
            }
            Ok(json!({ "clients": self.struck, "processes": processes(&self.struck, field) }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            undo("resume", &mut self.struck, |client| {
                field.clients.resume(client)
            })
        })
    }
}
