//! A replica lags behind, and gets what it lagged behind.

use super::Told;
use super::promotion::last_writes;
use crate::validate::{Progress, ensure};
use crate::words;

pub(super) fn told(node: u8) -> Told {
    let sentence = format!(
        "what {} writes from here on does not reach its replica",
        words::node(node)
    );
    Told::of_node(node, "replica lags", sentence)
}

pub(super) fn told_end(node: u8, lacks: u8, known: bool) -> Told {
    let (short, how_much) = match lacks {
        0 => ("replica caught up".to_owned(), "all of it".to_owned()),
        lacks => (
            format!("replica lacks {lacks}"),
            format!("but for its last {}", last_writes(lacks)),
        ),
    };
    let sentence = format!(
        "{}'s replica gets what it lagged behind, {how_much}{}",
        words::node(node),
        if known { "" } else { "; nobody hears of it" }
    );
    Told::of_node(node, short, sentence)
}

pub(super) fn happen(run: &mut Progress, node: u8) -> Result<(), String> {
    run.has_replica(node)?;
    ensure(run.lagging.insert(node), || {
        format!("{}'s replica lagged before", words::node(node))
    })
}

pub(super) fn end(run: &mut Progress, node: u8, lacks: u8) -> Result<(), String> {
    run.has_replica(node)?;
    let lagged = match lacks {
        0 => run.lagging.remove(&node),
        _ => run.lagging.contains(&node),
    };
    ensure(lagged, || {
        format!("{}'s replica did not lag", words::node(node))
    })
}
