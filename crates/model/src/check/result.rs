//! What a check found, in the words of its users.

use lockproof_trace::{Assumption, LockRef, Setup, Trace};
use serde::{Deserialize, Serialize};

use super::seen::never_succeeded;
use crate::lock::Op;

/// The schema name of `check --format json`.
pub const SCHEMA: &str = "lockproof.check/1";

/// The answer to "does this property hold under these assumptions?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole space was explored and nothing violates the property.
    Holds,
    /// A bound or the time ran out, the model overflowed, or the checker failed.
    Unknown,
    /// A trace violates the property.
    Violated,
}

/// A whole check of one lock: one entry a property and assumption set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckReport {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The lock file.
    pub lock: LockRef,
    /// Sizes and times.
    pub setup: Setup,
    /// Ordered by assumption set, then by property as the catalogue lists them.
    pub results: Vec<CheckResult>,
    /// What makes a verdict say less than it seems to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl CheckReport {
    /// Nobody acquired the lock under any of the sets: that it is safe says nothing.
    pub fn never_acquires(&self) -> bool {
        let acquires = [Op::Acquire, Op::AcquireRead, Op::AcquireWrite].map(never_succeeded);
        acquires
            .iter()
            .any(|warning| self.warnings.contains(warning))
    }
}

impl CheckResult {
    /// The cell of both: what one violates is violated, by the shorter trace; only what
    /// holds in both holds.
    pub(super) fn and(self, other: CheckResult) -> CheckResult {
        let rank = |cell: &CheckResult| match cell.verdict {
            Verdict::Violated => (0, cell.trace.as_ref().map_or(0, |trace| trace.steps.len())),
            Verdict::Unknown => (1, 0),
            Verdict::Holds => (2, 0),
        };
        let (states, transitions) = (
            self.states + other.states,
            self.transitions + other.transitions,
        );
        let depth = self.depth.max(other.depth);
        let seconds = self.seconds + other.seconds;
        let said = if rank(&other) < rank(&self) {
            other
        } else {
            self
        };
        CheckResult {
            states,
            transitions,
            depth,
            seconds,
            ..said
        }
    }
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Catalogue id of the property.
    pub property: String,
    /// The assumption set, in catalogue order.
    pub assumptions: Vec<Assumption>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why the verdict is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Distinct states explored.
    pub states: u64,
    /// Transitions explored.
    pub transitions: u64,
    /// Length of the longest shortest path from the initial state.
    pub depth: u32,
    /// Wall-clock time of the exploration that gave this cell.
    pub seconds: f64,
    /// The shortest trace that violates the property.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}
