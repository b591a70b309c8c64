//! A client process dies (SIGKILL), with its lock; another takes its place.
//!
//! One that is to die while it holds is stopped first, so that it does not give the
//! lock back in the meantime.

use serde_json::json;

use crate::nemesis::strike_clients::{failed, processes, those_there, undo};
use crate::nemesis::target::{Target, named_clients};
use crate::nemesis::{Field, Injection, Struck};

/// Clients are dead until healed.
#[derive(Clone, Debug)]
pub struct ClientCrash {
    clients: Vec<Target>,
    /// Those that take their places have their owner ids.
    same_owner: bool,
    struck: Vec<u16>,
}

impl ClientCrash {
    /// These clients; new ones take their places.
    pub fn new(clients: &[Target]) -> ClientCrash {
        ClientCrash {
            clients: clients.to_vec(),
            same_owner: false,
            struck: Vec::new(),
        }
    }

    /// These clients; they start again, with the owner ids that they had.
    pub fn and_restart(clients: &[Target]) -> ClientCrash {
        ClientCrash {
            same_owner: true,
            ..ClientCrash::new(clients)
        }
    }
}

impl Injection for ClientCrash {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let named = named_clients(&self.clients, field.topology).await?;
            let mut named = those_there(named, field);
            let mut stopped = Vec::new();
            let aimed = match self.clients.contains(&Target::TheHolder) {
                true => field.stop_holder(&mut stopped).await,
                false => Ok(()),
            };
            named.retain(|client| !stopped.contains(client));
            for client in named.into_iter().chain(stopped) {
                self.struck.push(client);
                field.clients.kill(client).map_err(failed("kill", client))?;
            }
            aimed?;
            Ok(json!({ "clients": self.struck, "processes": processes(&self.struck, field) }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            undo("restart", &mut self.struck, |client| {
                field.clients.restart(client, self.same_owner)
            })
        })
    }
}
