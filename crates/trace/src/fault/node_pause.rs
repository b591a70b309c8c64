//! A server stands still.

use super::Told;
use crate::validate::{Progress, ensure};
use crate::words;

pub(super) fn told(node: u8) -> Told {
    let sentence = format!("{} stops (SIGSTOP); its clock goes on", words::node(node));
    Told::of_node(node, "pause", sentence).standing(true)
}

pub(super) fn told_end(node: u8) -> Told {
    let sentence = format!("{} continues (SIGCONT)", words::node(node));
    Told::of_node(node, "goes on", sentence).standing(false)
}

pub(super) fn happen(run: &mut Progress, node: u8) -> Result<(), String> {
    run.node(node)?;
    ensure(run.nodes_stopped.insert(node), || {
        format!("{} was stopped before", words::node(node))
    })
}

pub(super) fn end(run: &mut Progress, node: u8) -> Result<(), String> {
    run.node(node)?;
    ensure(run.nodes_stopped.remove(&node), || {
        format!("{} was not stopped", words::node(node))
    })
}
