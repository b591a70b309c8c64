//! The directed reading of a scenario: its worlds, explored and replayed.
//!
//! Each lock is checked twice: under the scenario's assumptions and, as the
//! control, under none. Every violation is replayed on real servers; a world that
//! holds is walked. What differs from the scenario's expectation is named, in
//! both directions.

use lockproof_model::check::Verdict;
use lockproof_report::model::{Cell, Report};
use lockproof_scenario::{Kind, Scenario};

use super::config::{Config, Group, SCHEMA};

/// How thorough a directed run is.
#[derive(Clone, Copy, Debug)]
pub struct Depth {
    /// Replays of each counterexample.
    pub replays: u32,
    /// Random walks for each world.
    pub walks: u32,
    /// Moves of each walk.
    pub walk_moves: usize,
    /// Most states of one exploration.
    pub states_max: u64,
}

impl Default for Depth {
    fn default() -> Self {
        Depth {
            replays: 20,
            walks: 10,
            walk_moves: 40,
            states_max: 20_000_000,
        }
    }
}

/// The run that a scenario stands for; only `lock`, if one is named.
pub fn config(scenario: &Scenario, depth: Depth, lock: Option<&str>) -> Config {
    let model = &scenario.model;
    let group = |(name, expected): (&String, &lockproof_scenario::Expectation)| Group {
        locks: vec![scenario.lock_file(name).to_owned()],
        assumptions: vec![Vec::new(), model.assumptions.clone()],
        properties: Vec::new(),
        clients: model.clients,
        nodes: expected.nodes.or(match scenario.topology.kind {
            Kind::Masters => scenario.topology.nodes,
            _ => None,
        }),
        ttl_ticks: model.ttl_ticks,
        budget: model.budget.clone(),
        size: model.size.clone(),
        order: model.faults_in_order(),
    };
    let mut groups: Vec<Group> = scenario
        .expect
        .iter()
        .filter(|(name, _)| lock.is_none_or(|lock| lock == *name))
        .map(group)
        .collect();
    for group in &mut groups {
        // Without faults the scenario is its own control.
        group.assumptions.dedup();
    }
    Config {
        schema: SCHEMA.into(),
        seed: scenario.run.seed,
        replays: depth.replays,
        walks: depth.walks,
        walk_moves: depth.walk_moves,
        states_max: depth.states_max,
        seconds_max: None,
        frontier: None,
        group: groups,
    }
}

/// Writes the expected verdicts into the report's cells, and names each cell
/// that has another one.
pub fn compare(scenario: &Scenario, report: &mut Report) -> Vec<String> {
    let mut differences = Vec::new();
    for cell in &mut report.cells {
        let expected = expected(scenario, cell);
        cell.expected = Some(expected);
        if cell.verdict != expected {
            differences.push(difference(cell, expected));
        }
    }
    differences.extend(unanswered(scenario, report));
    differences
}

fn expected(scenario: &Scenario, cell: &Cell) -> Verdict {
    let Some(expectation) = scenario.expect.get(&cell.lock) else {
        return Verdict::Unknown;
    };
    let control = cell.assumptions.is_empty() && !scenario.model.assumptions.is_empty();
    let violated = if control {
        &expectation.control
    } else {
        &expectation.violated
    };
    if violated.contains(&cell.property) {
        Verdict::Violated
    } else {
        Verdict::Holds
    }
}

fn difference(cell: &Cell, expected: Verdict) -> String {
    let world = if cell.assumptions.is_empty() {
        "without the fault (control)"
    } else {
        "under the fault"
    };
    let word = lockproof_report::model::verdict_word;
    format!(
        "{}: {} {world}: expected {}, found {}",
        cell.lock,
        cell.property,
        word(expected),
        word(cell.verdict)
    )
}

/// Expected violations that no cell answers: of a property that does not apply.
fn unanswered(scenario: &Scenario, report: &Report) -> Vec<String> {
    let checked = |lock: &str| report.cells.iter().any(|cell| cell.lock == lock);
    let answered = |lock: &str, property: &str| {
        let mut cells = report.cells.iter();
        cells.any(|cell| cell.lock == lock && cell.property == property)
    };
    scenario
        .expect
        .iter()
        .filter(|(lock, _)| checked(lock))
        .flat_map(|(lock, expected)| expected.violated.iter().map(move |id| (lock, id)))
        .filter(|(lock, id)| !answered(lock, id))
        .map(|(lock, id)| {
            format!("{lock}: {id} is expected to be violated, and does not apply to this lock")
        })
        .collect()
}
