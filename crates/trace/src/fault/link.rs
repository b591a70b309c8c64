//! The link of a client to a node is cut, and heals.

use serde::{Deserialize, Serialize};

use super::{Mark, Told};
use crate::validate::{Progress, ensure};
use crate::words;

/// A way of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// From the client to the node.
    Requests,
    /// From the node to the client.
    Replies,
}

pub(super) fn told(client: u8, node: u8, only: Option<Way>) -> Told {
    let (arrow, short, what) = match only {
        None => ("≠", "link cut", "is cut"),
        Some(Way::Requests) => ("↛", "requests cut", "swallows requests; replies arrive"),
        Some(Way::Replies) => ("↚", "replies cut", "swallows replies; requests arrive"),
    };
    between((client, arrow, node), short, what, true)
}

pub(super) fn told_end(client: u8, node: u8) -> Told {
    between((client, "=", node), "link heals", "works again", false)
}

fn between((client, arrow, node): (u8, &str, u8), short: &str, what: &str, cut: bool) -> Told {
    let link = format!("the link {}–{}", words::client(client), words::node(node));
    Told::between((client, arrow, node), short, format!("{link} {what}")).marked(Mark::Link {
        client,
        node,
        cut,
    })
}

pub(super) fn happen(run: &mut Progress, client: u8, node: u8, cut: bool) -> Result<(), String> {
    run.client(client)?;
    run.node(node)?;
    let changed = match cut {
        true => run.links_cut.insert((client, node)),
        false => run.links_cut.remove(&(client, node)),
    };
    let state = if cut { "was cut before" } else { "was not cut" };
    ensure(changed, || format!("this link {state}"))
}
