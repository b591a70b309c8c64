//! A replica takes its node's place, and what becomes of the old server.

use std::collections::BTreeSet;

use super::{Mark, Told};
use crate::validate::{Progress, ensure};
use crate::words;

/// `write`, `2 writes`, for what is "the last".
pub(super) fn last_writes(count: u8) -> String {
    match count {
        1 => "write".to_owned(),
        n => words::plural(u32::from(n), "write"),
    }
}

/// What a promoted replica has.
fn lack(lost: u8) -> String {
    match lost {
        0 => "with all its data".to_owned(),
        lost => format!("without its last {}", last_writes(lost)),
    }
}

fn told(node: u8, lost: u8, short: &str, sentence: String) -> Told {
    let short = match lost {
        0 => short.to_owned(),
        lost => format!("{short}, {lost} lost"),
    };
    Told::of_node(node, short, sentence).marked(Mark::Restart { forgets: lost > 0 })
}

pub(super) fn told_failover(node: u8, lost: u8) -> Told {
    let sentence = format!(
        "{} dies for good; its replica takes its place, {}",
        words::node(node),
        lack(lost)
    );
    told(node, lost, "failover", sentence).standing(false)
}

pub(super) fn told_split(node: u8, lost: u8) -> Told {
    let sentence = format!(
        "{}'s replica takes its place, {}; the old one goes on",
        words::node(node),
        lack(lost)
    );
    told(node, lost, "two primaries", sentence)
}

pub(super) fn told_cut_off(node: u8, lost: u8) -> Told {
    let sentence = format!(
        "{} is cut off from everybody; its replica takes its place, {}",
        words::node(node),
        lack(lost)
    );
    told(node, lost, "cut off", sentence)
}

pub(super) fn told_notice(client: u8, node: u8) -> Told {
    let sentence = format!(
        "{} notices, and uses the new {}",
        words::client(client),
        words::node(node)
    );
    Told::between((client, "↷", node), "uses the new one", sentence)
}

pub(super) fn told_demotion(node: u8) -> Told {
    let sentence = format!(
        "the old {} is taken away, with what it wrote since",
        words::node(node)
    );
    Told::of_node(node, "old one goes", sentence)
}

pub(super) fn told_rejoin(node: u8) -> Told {
    let sentence = format!(
        "the old {} comes back as the replica of the new one",
        words::node(node)
    );
    Told::of_node(node, "old one follows", sentence)
}

pub(super) fn happen(run: &mut Progress, node: u8, lost: u8) -> Result<(), String> {
    run.has_replica(node)?;
    ensure(run.lagging.remove(&node) == (lost > 0), || {
        let writes = words::plural(u32::from(lost), "write");
        format!("{writes} of it are lost, which is not what its replica lagged behind")
    })?;
    run.nodes_stopped.remove(&node);
    run.silent.remove(&(node, false));
    run.gone.remove(&(node, false));
    run.failed_over.insert(node);
    Ok(())
}

pub(super) fn split(run: &mut Progress, node: u8, lost: u8) -> Result<(), String> {
    let silent = run.silent.contains(&(node, false));
    let gone = run.gone.contains(&(node, false));
    happen(run, node, lost)?;
    run.split.insert(node, BTreeSet::new());
    let its = run.messages.values_mut().filter(|one| one.node == node);
    its.for_each(|message| message.old = true);
    if silent && !gone {
        run.silent.insert((node, true));
    }
    Ok(())
}

pub(super) fn notice(run: &mut Progress, client: u8, node: u8) -> Result<(), String> {
    run.acts(client)?;
    run.node(node)?;
    let Some(moved) = run.split.get_mut(&node) else {
        return Err(format!("{} has no old server", words::node(node)));
    };
    ensure(moved.insert(client), || {
        format!("{} has noticed before", words::client(client))
    })
}

pub(super) fn demote(run: &mut Progress, node: u8) -> Result<(), String> {
    run.silent.remove(&(node, true));
    run.gone.remove(&(node, true));
    ensure(run.split.remove(&node).is_some(), || {
        format!("{} has no old server", words::node(node))
    })
}

pub(super) fn rejoin(run: &mut Progress, node: u8) -> Result<(), String> {
    run.node(node)?;
    let alone = run.failed_over.remove(&node) && !run.split.contains_key(&node);
    ensure(alone, || {
        format!(
            "{} has no old server that could follow it",
            words::node(node)
        )
    })
}
