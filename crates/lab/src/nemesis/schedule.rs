//! When which fault begins and ends: a file that a person can read.

use serde::{Deserialize, Serialize};

use super::{FaultSpec, NemesisError, When};

/// The version of the file; it changes when a reader of the old one would
/// misunderstand the new one.
pub const SCHEDULE_VERSION: &str = "lockproof.schedule/1";

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Act {
    /// Puts the fault in force.
    Start,
    /// Ends it.
    Heal,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleStep {
    /// Not before so many ms after the begin of the run.
    pub at_ms: u64,
    /// Which fault, by number from 0; its start and its healing bear the same.
    pub id: u32,
    /// What to do.
    pub act: Act,
    /// What else to wait for; of starts only.
    #[serde(default, skip_serializing_if = "When::is_any_time")]
    pub when: When,
    /// The fault.
    pub what: FaultSpec,
}

/// All that a nemesis does in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// [`SCHEDULE_VERSION`].
    pub version: String,
    /// What it was made from; 0 if by hand.
    pub seed: u64,
    /// How long the run is, in ms.
    pub duration_ms: u64,
    /// In the order in which they are done.
    pub steps: Vec<ScheduleStep>,
}

impl Schedule {
    /// One fault from `at_ms` to `until_ms`, or several, in a schedule by hand.
    pub fn of(duration_ms: u64, faults: &[(u64, u64, FaultSpec)]) -> Schedule {
        let mut steps = Vec::new();
        for (id, (at_ms, until_ms, what)) in (0..).zip(faults) {
            for (at_ms, act) in [(*at_ms, Act::Start), (*until_ms, Act::Heal)] {
                let what = what.clone();
                steps.push(ScheduleStep {
                    at_ms,
                    id,
                    act,
                    when: When::AnyTime,
                    what,
                });
            }
        }
        Schedule::sorted(0, duration_ms, steps)
    }

    /// How long the schedule has this fault in force, in ms.
    pub(super) fn length_ms(&self, id: u32) -> u64 {
        let at = |act| {
            let mut steps = self.steps.iter();
            steps.find(|step| step.id == id && step.act == act)
        };
        match (at(Act::Start), at(Act::Heal)) {
            (Some(start), Some(heal)) => heal.at_ms.saturating_sub(start.at_ms),
            _ => 0,
        }
    }

    pub(super) fn sorted(seed: u64, duration_ms: u64, mut steps: Vec<ScheduleStep>) -> Schedule {
        // What ends at a moment ends before the next begins.
        steps.sort_by_key(|step| (step.at_ms, step.act == Act::Start, step.id));
        Schedule {
            version: SCHEDULE_VERSION.into(),
            seed,
            duration_ms,
            steps,
        }
    }

    /// As JSON, one step a line; the same schedule gives the same bytes.
    pub fn to_json(&self) -> String {
        let steps: Vec<String> = self
            .steps
            .iter()
            // Strings and numbers only: there is nothing that cannot be written.
            .map(|step| serde_json::to_string(step).unwrap_or_default())
            .collect();
        let (version, seed, duration_ms) = (&self.version, self.seed, self.duration_ms);
        let steps = match steps.is_empty() {
            true => String::new(),
            false => format!("\n    {}\n  ", steps.join(",\n    ")),
        };
        format!(
            "{{\n  \"version\": \"{version}\",\n  \"seed\": {seed},\n  \
             \"duration_ms\": {duration_ms},\n  \"steps\": [{steps}]\n}}\n"
        )
    }

    /// Reads what [`Schedule::to_json`] wrote.
    pub fn from_json(text: &str) -> Result<Schedule, NemesisError> {
        let read: Schedule = serde_json::from_str(text)
            .map_err(|error| NemesisError::Schedule(error.to_string()))?;
        match read.version == SCHEDULE_VERSION {
            true => Ok(read),
            false => Err(NemesisError::Schedule(format!(
                "it has version {:?}, and this program reads {SCHEDULE_VERSION:?}",
                read.version
            ))),
        }
    }
}
