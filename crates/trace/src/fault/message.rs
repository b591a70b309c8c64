//! A message is lost, or late.

use super::{Lane, Mark, Told};
use crate::validate::{Progress, ensure};
use crate::words;

pub(super) fn told_loss(client: u8, node: u8, reply: bool, command: &str) -> Told {
    let name = words::node(node);
    let (arrow, short, sentence) = match reply {
        true => (
            "↚",
            "reply lost",
            format!("the reply to {command} is lost on its way from {name}"),
        ),
        false => (
            "↛",
            "request lost",
            format!("{command} is lost on its way to {name}"),
        ),
    };
    let told = Told::between((client, arrow, node), short, sentence);
    on_its_way(told, node, reply).marked(Mark::Lost)
}

pub(super) fn told_delay(client: u8, node: u8, reply: bool, ticks: u8, command: &str) -> Told {
    let ticks = words::plural(u32::from(ticks), "tick");
    let (arrow, what) = if reply {
        ("⇠", "the reply to ")
    } else {
        ("⇢", "")
    };
    let sentence = format!("{what}{command} may be up to {ticks} on its way");
    let told = Told::between((client, arrow, node), format!("late, ≤ {ticks}"), sentence);
    on_its_way(told, node, reply)
}

/// A message is drawn where it comes from.
fn on_its_way(told: Told, node: u8, reply: bool) -> Told {
    let lane = if reply { Lane::Node(node) } else { told.lane };
    Told { lane, ..told }
}

pub(super) fn lose(
    run: &mut Progress,
    (client, node, id): (u8, u8, u32),
    reply: bool,
) -> Result<(), String> {
    let message = run.message(client, node, id)?;
    ensure(!message.delivered, || {
        format!("the reply to message {id} arrived before")
    })?;
    if reply {
        message.reply_lost = true;
        return Ok(());
    }
    ensure(message.executed.is_none(), || {
        format!("message {id} was executed before; only its reply can still be lost")
    })?;
    message.request_lost = true;
    Ok(())
}
