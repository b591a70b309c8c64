//! Joining the parts of a divided run.
//!
//! The whole is what one job would have written: cells in the same order,
//! counterexamples under the same numbers. Parts that do not belong together, or
//! a part that is missing, is an error and never a smaller report: a check that
//! silently did not run is the easiest way to stay green.

use std::collections::BTreeSet;

use super::baseline::Key;
use super::model::{Cell, Counterexample, Partition, Report};
use super::scenario::ScenarioRow;

/// Why parts cannot be joined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// There is nothing to join.
    #[error("there is no report to merge")]
    Nothing,
    /// A report of a whole run.
    #[error(
        "report {number} is no part of a divided run; make parts with `lockproof run --partition k/n`"
    )]
    Whole {
        /// Which of the given reports, from 1.
        number: usize,
    },
    /// Parts of different runs.
    #[error("report {number} does not belong to the first one: another {what}")]
    Stranger {
        /// Which of the given reports, from 1.
        number: usize,
        /// In what they differ.
        what: &'static str,
    },
    /// A part that was not given.
    #[error("part {0} is missing; did its job fail?")]
    Missing(Partition),
    /// A part that was given twice.
    #[error("part {0} was given twice")]
    Twice(Partition),
    /// Two parts answer the same question.
    #[error("two parts have the cell {0}")]
    Overlap(Box<Key>),
}

/// Joins the parts of one run, given in any order. `command` repeats the whole
/// run; `replay_command` replays the counterexample of this id.
///
/// # Errors
/// See [`MergeError`].
pub fn merge(
    mut parts: Vec<Report>,
    replay_command: impl Fn(&str) -> String,
) -> Result<Report, MergeError> {
    check(&parts)?;
    parts.sort_by_key(|part| part.partition);
    let mut whole = Report {
        partition: None,
        locks: Vec::new(),
        cells: Vec::new(),
        counterexamples: Vec::new(),
        scenarios: Vec::new(),
        ..parts.first().cloned().ok_or(MergeError::Nothing)?
    };
    let worlds: Vec<Vec<Vec<Cell>>> = parts.iter().map(|part| worlds(&part.cells)).collect();
    let longest = worlds.iter().map(Vec::len).max().unwrap_or_default();
    for place in 0..longest {
        for (part, worlds) in parts.iter().zip(&worlds) {
            for cell in worlds.get(place).into_iter().flatten() {
                take(&mut whole, part, cell, &replay_command);
            }
        }
    }
    whole.scenarios = scenarios(&parts);
    // What no cell points to: walks that diverged.
    for part in &parts {
        let pointed = |id: &String| {
            part.cells
                .iter()
                .any(|c| c.counterexample.as_ref() == Some(id))
        };
        let loose = part.counterexamples.iter().filter(|one| !pointed(&one.id));
        whole.counterexamples.extend(loose.cloned());
    }
    no_overlap(&whole)?;
    Ok(whole)
}

fn check(parts: &[Report]) -> Result<(), MergeError> {
    let first = parts.first().ok_or(MergeError::Nothing)?;
    let mut seen = BTreeSet::new();
    for (number, part) in (1..).zip(parts) {
        let partition = part.partition.ok_or(MergeError::Whole { number })?;
        let same = [
            (
                part.tool_version == first.tool_version,
                "version of lockproof",
            ),
            (part.config == first.config, "configuration"),
            (part.seed == first.seed, "seed"),
            (part.environment == first.environment, "server or proxy"),
            (
                partition.of == first.partition.map_or(0, |first| first.of),
                "number of parts",
            ),
        ];
        if let Some((_, what)) = same.into_iter().find(|(same, _)| !same) {
            return Err(MergeError::Stranger { number, what });
        }
        if !seen.insert(partition) {
            return Err(MergeError::Twice(partition));
        }
    }
    let of = seen.first().map_or(0, |one| one.of);
    let mut all = (1..=of).map(|index| Partition { index, of });
    match all.find(|one| !seen.contains(one)) {
        Some(missing) => Err(MergeError::Missing(missing)),
        None => Ok(()),
    }
}

/// The cells of one world after the other.
fn worlds(cells: &[Cell]) -> Vec<Vec<Cell>> {
    cells
        .chunk_by(|a, b| (&a.lock, a.sizes, &a.assumptions) == (&b.lock, b.sizes, &b.assumptions))
        .map(<[Cell]>::to_vec)
        .collect()
}

/// The rows of all scenarios, in the order in which one job would have played them.
fn scenarios(parts: &[Report]) -> Vec<ScenarioRow> {
    let same = |a: &ScenarioRow, b: &ScenarioRow| a.scenario == b.scenario;
    let mut queues: Vec<_> = parts
        .iter()
        .map(|part| part.scenarios.chunk_by(same))
        .collect();
    let longest = parts.iter().map(|part| part.scenarios.len()).max();
    let mut rows = Vec::new();
    for _ in 0..longest.unwrap_or_default() {
        for queue in &mut queues {
            rows.extend(queue.next().into_iter().flatten().cloned());
        }
    }
    rows
}

/// Puts one part's cell, its lock and its counterexample into the whole.
fn take(whole: &mut Report, part: &Report, cell: &Cell, replay_command: &impl Fn(&str) -> String) {
    let lock = part.lock(&cell.lock);
    match whole.lock(&cell.lock) {
        None => whole.locks.extend(lock.cloned()),
        // Another part may have come upon other commands.
        Some(_) => whole.warn(
            &cell.lock,
            lock.map_or_else(Vec::new, |lock| lock.warnings.clone()),
        ),
    }
    let mut cell = cell.clone();
    let found = cell.counterexample.as_ref();
    if let Some(found) = found.and_then(|id| part.counterexample(id)) {
        let id = super::counterexample_id(&cell.lock, whole.counterexamples.len());
        whole.counterexamples.push(Counterexample {
            id: id.clone(),
            replay_command: Some(replay_command(&id)),
            ..found.clone()
        });
        cell.counterexample = Some(id);
    }
    whole.cells.push(cell);
}

fn no_overlap(whole: &Report) -> Result<(), MergeError> {
    let mut seen = BTreeSet::new();
    for cell in &whole.cells {
        let key = Key::of(cell);
        if !seen.insert(key.clone()) {
            return Err(MergeError::Overlap(Box::new(key)));
        }
    }
    Ok(())
}
