//! Does a free run agree with the model?
//!
//! What a run observes and the model says cannot happen is an error of
//! lockproof's own, in the model or in the harness, and fails the run. Unless
//! the machine itself kept a client from running for longer than the scenario
//! allows: then the run was another scenario, and says nothing.

use lockproof_history::{FindingVerdict, Judgement};
use lockproof_scenario::{Expectation, property_of};

use super::free::FreeRun;

/// How a run compares with what the model says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Whatever was observed, the model predicts.
    Agrees,
    /// These oracles saw what the model says cannot happen.
    Contradicts(Vec<String>),
    /// They did, and a client did not run for so many ms, which nobody injected.
    Stalled(Vec<String>, u64),
}

/// Compares a run with the expectation that the model confirms. A stall of more
/// than `bound_ms` that nobody injected leaves the scenario.
pub fn agreement(
    expected: &Expectation,
    judgement: &Judgement,
    run: &FreeRun,
    bound_ms: u64,
) -> Agreement {
    let unforeseen: Vec<String> = observed(judgement)
        .filter(|oracle| predicted(expected, oracle) == Some(false))
        .map(str::to_owned)
        .collect();
    if unforeseen.is_empty() {
        return Agreement::Agrees;
    }
    match run.tally.stall_max_ms > bound_ms {
        true => Agreement::Stalled(unforeseen, run.tally.stall_max_ms),
        false => Agreement::Contradicts(unforeseen),
    }
}

/// Whether the model says that what this oracle looks for can happen; `None` if
/// it has no such property.
pub fn predicted(expected: &Expectation, oracle: &str) -> Option<bool> {
    let id = property_of(oracle)?;
    Some(expected.violated.iter().any(|violated| violated == id))
}

/// The oracles that saw a violation.
pub fn observed(judgement: &Judgement) -> impl Iterator<Item = &str> {
    let findings = judgement.findings.iter();
    findings
        .filter(|finding| finding.verdict == FindingVerdict::Violated)
        .map(|finding| finding.oracle.as_str())
}
