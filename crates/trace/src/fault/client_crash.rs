//! A client dies.

use super::{Mark, Told};
use crate::validate::{Progress, ensure};
use crate::words;

pub(super) fn told(client: u8) -> Told {
    let sentence = format!("{} crashes (SIGKILL)", words::client(client));
    Told::of_client(client, "crash", sentence)
        .marked(Mark::Cross)
        .standing(false)
}

pub(super) fn happen(run: &mut Progress, client: u8) -> Result<(), String> {
    run.client(client)?;
    ensure(run.clients_dead.insert(client), || {
        format!("{} has crashed before", words::client(client))
    })
}
