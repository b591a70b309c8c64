//! A server dies, is gone for a while, and comes back.

use super::{Mark, Told};
use crate::validate::{Progress, ensure, persistence};
use crate::words;

pub(super) fn told(node: u8, loses: bool) -> Told {
    let (short, memory) = match loses {
        true => ("down, forgets", "what it had not saved is gone"),
        false => ("down", "nothing is lost"),
    };
    let name = words::node(node);
    let sentence = format!("{name} dies and refuses connections: {memory}");
    Told::of_node(node, short, sentence)
        .marked(Mark::Restart { forgets: loses })
        .standing(true)
}

pub(super) fn told_end(node: u8) -> Told {
    let sentence = format!("{} starts again", words::node(node));
    Told::of_node(node, "up", sentence).standing(false)
}

pub(super) fn happen(run: &mut Progress, node: u8, policy: &str) -> Result<(), String> {
    run.node(node)?;
    persistence(policy)?;
    run.nodes_stopped.remove(&node);
    ensure(run.nodes_down.insert(node), || {
        format!("{} was gone before", words::node(node))
    })
}

pub(super) fn end(run: &mut Progress, node: u8) -> Result<(), String> {
    run.node(node)?;
    ensure(run.nodes_down.remove(&node), || {
        format!("{} was not gone", words::node(node))
    })
}
