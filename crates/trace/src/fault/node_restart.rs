//! A server dies and starts again with what its persistence kept.

use super::{Mark, Told};
use crate::validate::{Progress, persistence};
use crate::words;

pub(super) fn told(node: u8, persistence: &str, loses: bool) -> Told {
    let (short, memory) = match loses {
        true => ("restart, forgets", "what it had not saved is gone"),
        false => ("restart", "nothing is lost"),
    };
    let sentence = format!(
        "{} dies and restarts (persistence {}): {memory}",
        words::node(node),
        words::printable(persistence)
    );
    Told::of_node(node, short, sentence)
        .marked(Mark::Restart { forgets: loses })
        .standing(false)
}

pub(super) fn told_fsync(node: u8) -> Told {
    let sentence = format!("{}'s log reaches the disk", words::node(node));
    Told::of_node(node, "fsync", sentence).marked(Mark::Square)
}

pub(super) fn happen(run: &mut Progress, node: u8, policy: &str) -> Result<(), String> {
    run.node(node)?;
    // A process that dies while it is stopped runs after its restart.
    run.nodes_stopped.remove(&node);
    persistence(policy)
}
