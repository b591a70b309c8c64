//! Scenarios and their locks in one table: the end of `scenario run` and of `torture`.

use comfy_table::{ContentArrangement, Table, presets};
use lockproof_model::check::Verdict;
use lockproof_trace::words;

use super::overview::{consequence, consequence_words};
use super::scenario::ScenarioRow;

/// A row a lock in a scenario: the worst that the model says, what real servers confirmed, what free
/// runs saw, and whether that was expected. Empty without rows.
pub fn stories(rows: &[ScenarioRow], width: usize) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table
        .load_style(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width.min(usize::from(u16::MAX)) as u16);
    let free = rows.iter().any(|row| row.free.is_some());
    let header = ["scenario", "lock", "the model", "replayed", "free runs", ""];
    let shown = |column: &usize| free || *column != 4;
    let cells = |row: [String; 6]| {
        let cells = row.into_iter().enumerate();
        cells
            .filter(|(column, _)| shown(column))
            .map(|(_, cell)| cell)
    };
    table.set_header(cells(header.map(str::to_owned)));
    for row in rows {
        table.add_row(cells([
            words::printable(&row.scenario),
            words::printable(&row.lock),
            model(row),
            replayed(row),
            observed(row),
            conclusion(row).to_owned(),
        ]));
    }
    table.trim_fmt()
}

/// The worst of what is violated under the scenario's faults.
fn model(row: &ScenarioRow) -> String {
    let Some(model) = &row.model else {
        return "not asked".into();
    };
    let rank = |id: &&str| consequence(id).map(|(rank, _)| rank);
    let worst = row
        .with_verdict(Verdict::Violated)
        .into_iter()
        .min_by_key(rank);
    let says = match worst {
        Some(worst) => format!("✗ {}", consequence_words(worst)),
        None if !row.with_verdict(Verdict::Unknown).is_empty() => "? unknown".into(),
        None => "✓ safe".into(),
    };
    match model.explored {
        true => says,
        false => format!("{says} (expected)"),
    }
}

fn replayed(row: &ScenarioRow) -> String {
    row.replays().map_or_else(String::new, |replays| {
        format!("{} of {}", replays.reproduced, replays.attempts)
    })
}

/// Runs in which some oracle saw a violation.
fn observed(row: &ScenarioRow) -> String {
    let Some(free) = &row.free else {
        return "none".into();
    };
    let violated = free.runs.iter().filter(|run| !run.observed.is_empty());
    let runs = free.runs.len();
    match (violated.count(), free.no_evidence_words()) {
        (0, Some(_)) if free.runs.iter().all(|run| run.is_no_evidence()) => {
            format!("{runs} without evidence")
        }
        (0, _) => format!("0 of {runs} violated"),
        (violated, _) => format!("{violated} of {runs} violated"),
    }
}

fn conclusion(row: &ScenarioRow) -> &'static str {
    match (row.is_bad(), row.unexpected) {
        (false, _) => "",
        (true, true) => "NOT AS EXPECTED",
        (true, false) => "CONTRADICTS the model",
    }
}
