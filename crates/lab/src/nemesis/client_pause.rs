//! A client process stands still (SIGSTOP): a long collection of garbage.

use serde_json::{Value, json};

use super::target::{Target, named_clients};
use super::{Fault, Field, NemesisError, Struck};

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

impl Fault for ClientPause {
    fn name(&self) -> &'static str {
        "client-pause"
    }

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

/// Without those for whom there is only a link.
pub(super) fn those_there(mut clients: Vec<u16>, field: &Field<'_>) -> Vec<u16> {
    clients.retain(|client| field.clients.is_there(*client));
    clients
}

/// The numbers that these clients bear in the history.
pub(super) fn processes(clients: &[u16], field: &Field<'_>) -> Vec<u32> {
    let number = |client: &u16| field.clients.process(*client);
    clients.iter().map(number).collect()
}

pub(super) fn failed(
    what: &'static str,
    client: u16,
) -> impl FnOnce(std::io::Error) -> NemesisError {
    move |source| NemesisError::Client {
        what,
        client,
        source,
    }
}

/// Undoes what was done to each of these clients, also after an error; those that
/// failed stay in the list. Gives the first error.
pub(super) fn undo(
    what: &'static str,
    struck: &mut Vec<u16>,
    mut undo: impl FnMut(u16) -> std::io::Result<()>,
) -> Result<Value, NemesisError> {
    let mut first = Ok(json!({}));
    struck.retain(|client| match undo(*client) {
        Ok(()) => false,
        Err(error) => {
            if first.is_ok() {
                first = Err(failed(what, *client)(error));
            }
            true
        }
    });
    first
}
