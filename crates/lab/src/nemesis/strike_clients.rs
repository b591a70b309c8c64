//! What faults of client processes have in common.

use serde_json::{Value, json};

use super::{Field, NemesisError};

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
