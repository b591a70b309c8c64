//! A client stands still, maybe before it has sent what it was about to send.

use super::Told;
use crate::validate::{Progress, ensure};
use crate::words;

pub(super) fn told(client: u8, held: &[u32], command: &str) -> Told {
    let name = words::client(client);
    let sentence = match held.is_empty() {
        true => format!("{name} stops (SIGSTOP); clocks go on"),
        false => format!("{name} stops (SIGSTOP) before it has sent {command}; clocks go on"),
    };
    Told::of_client(client, "pause", sentence).standing(true)
}

pub(super) fn told_end(client: u8) -> Told {
    let sentence = format!("{} continues (SIGCONT)", words::client(client));
    Told::of_client(client, "goes on", sentence).standing(false)
}

pub(super) fn happen(run: &mut Progress, client: u8, held: &[u32]) -> Result<(), String> {
    run.acts(client)?;
    for id in held {
        let message = run.messages.get_mut(id);
        let message = message.filter(|message| message.client == client);
        let Some(message) = message.filter(|message| message.executed.is_none()) else {
            return Err(format!(
                "message {id} is none that {} is about to send",
                words::client(client)
            ));
        };
        message.held = true;
    }
    run.clients_stopped.insert(client);
    Ok(())
}

pub(super) fn end(run: &mut Progress, client: u8) -> Result<(), String> {
    run.client(client)?;
    let messages = run.messages.values_mut();
    let own = messages.filter(|message| message.client == client);
    own.for_each(|message| message.held = false);
    ensure(run.clients_stopped.remove(&client), || {
        format!("{} was not stopped", words::client(client))
    })
}
