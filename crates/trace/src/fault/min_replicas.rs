//! A server that asks for its replica hears no more of it.

use super::Told;
use crate::validate::{Progress, ensure};
use crate::words;

pub(super) fn told(node: u8) -> Told {
    let sentence = format!("{} hears no more of its replica", words::node(node));
    Told::of_node(node, "replica silent", sentence)
}

pub(super) fn told_gone(node: u8, old: bool) -> Told {
    let sentence = format!(
        "{}{} counts its replica as gone and refuses writes",
        if old { "the old " } else { "" },
        words::node(node)
    );
    Told::of_node(node, "refuses writes", sentence)
}

pub(super) fn told_end(node: u8) -> Told {
    let sentence = format!(
        "{}'s replica is in touch again, with all its data",
        words::node(node)
    );
    Told::of_node(node, "replica is back", sentence)
}

pub(super) fn happen(run: &mut Progress, node: u8) -> Result<(), String> {
    run.has_replica(node)?;
    let changed = run.silent.insert((node, false));
    silence(run, node, changed, "replica was silent before")
}

pub(super) fn refuse(run: &mut Progress, node: u8, old: bool) -> Result<(), String> {
    match old {
        true => run.node(node)?,
        false => run.has_replica(node)?,
    }
    let server = (node, old);
    let changed = run.silent.contains(&server) && run.gone.insert(server);
    silence(
        run,
        node,
        changed,
        "replica was not silent, or had gone before",
    )
}

pub(super) fn end(run: &mut Progress, node: u8) -> Result<(), String> {
    run.has_replica(node)?;
    run.gone.remove(&(node, false));
    let changed = run.silent.remove(&(node, false));
    silence(run, node, changed, "replica was not silent")
}

/// What a server hears of its replica has `changed`, where it asks for one to write.
fn silence(run: &Progress, node: u8, changed: bool, otherwise: &str) -> Result<(), String> {
    ensure(run.setup.min_replicas > 0, || {
        "setup.min_replicas is 0, so no server asks for its replica".into()
    })?;
    ensure(changed, || format!("{}'s {otherwise}", words::node(node)))
}
