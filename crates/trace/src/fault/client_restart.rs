//! A client dies and starts again: the same name, and no memory.

use super::{Mark, Told};
use crate::validate::Progress;
use crate::words;

pub(super) fn told(client: u8) -> Told {
    let name = words::client(client);
    let sentence = format!("{name} dies and starts again; it remembers nothing");
    Told::of_client(client, "restart", sentence)
        .marked(Mark::Restart { forgets: true })
        .standing(false)
}

pub(super) fn happen(run: &mut Progress, client: u8) -> Result<(), String> {
    run.client(client)?;
    run.clients_dead.remove(&client);
    run.clients_stopped.remove(&client);
    let own = run.messages.iter_mut();
    let held = own.filter(|(_, message)| message.client == client && message.held);
    held.for_each(|(_, message)| message.request_lost = true);
    Ok(())
}
