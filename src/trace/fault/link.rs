//! The link of a client to a node is cut, and heals.

use super::{Mark, Told};
use crate::trace::validate::{Run, ensure};
use crate::trace::words;

pub(super) fn told(client: u8, node: u8, cut: bool) -> Told {
    let link = format!("the link {}–{}", words::client(client), words::node(node));
    let (arrow, short, what) = match cut {
        true => ("≠", "link cut", "is cut"),
        false => ("=", "link heals", "works again"),
    };
    Told::between((client, arrow, node), short, format!("{link} {what}")).marked(Mark::Link {
        client,
        node,
        cut,
    })
}

pub(super) fn happen(run: &mut Run, client: u8, node: u8, cut: bool) -> Result<(), String> {
    run.client(client)?;
    run.node(node)?;
    let changed = match cut {
        true => run.links_cut.insert((client, node)),
        false => run.links_cut.remove(&(client, node)),
    };
    let state = if cut { "was cut before" } else { "was not cut" };
    ensure(changed, || format!("this link {state}"))
}
