//! A caller interrupts its operation.

use super::Told;
use crate::validate::Progress;
use crate::words;

pub(super) fn told(client: u8) -> Told {
    let sentence = format!(
        "{}'s caller interrupts the operation",
        words::client(client)
    );
    Told::of_client(client, "cancelled", sentence)
}

/// Whether an operation runs is for the client to say.
pub(super) fn happen(run: &mut Progress, client: u8) -> Result<(), String> {
    run.acts(client)
}
