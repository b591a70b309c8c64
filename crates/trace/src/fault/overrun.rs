//! A holder's work outlasts its lease.

use super::Told;
use crate::words;

pub(super) fn told(client: u8) -> Told {
    let sentence = format!("{}'s work will outlast its lease", words::client(client));
    Told::of_client(client, "work outlasts lease", sentence)
}
