//! All keys of a server are deleted: somebody flushes it, or it evicts all that it has.

use super::{Mark, Told};
use crate::validate::{Progress, ensure};
use crate::words;

pub(super) fn told(node: u8) -> Told {
    let sentence = format!("all keys of {} are deleted (FLUSHALL)", words::node(node));
    Told::of_node(node, "flush", sentence).marked(Mark::Diamond)
}

pub(super) fn happen(run: &mut Progress, node: u8) -> Result<(), String> {
    run.node(node)?;
    let absent = [
        (&run.nodes_stopped, "stands still"),
        (&run.nodes_down, "is gone"),
    ];
    for (nodes, why) in absent {
        ensure(!nodes.contains(&node), || {
            format!("{} {why} and deletes nothing", words::node(node))
        })?;
    }
    Ok(())
}
