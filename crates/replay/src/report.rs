//! What a gated replay found, and what really happened in it.

use std::io::Write;

use lockproof_redis::Reply;
use lockproof_trace::Outcome;
use serde::{Deserialize, Serialize};

/// The schema name of a replay report.
pub const SCHEMA: &str = "lockproof.replay/1";

/// The result of one gated replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayReport {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The answer.
    pub verdict: ReplayVerdict,
    /// Steps of the trace that were enforced and agreed.
    pub steps_done: usize,
    /// What the real side shows of the violated property after the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmation: Option<Confirmation>,
    /// What the real side did in the steps that were enforced, where more can be said of it
    /// than that it agrees; in the order of the steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub real: Vec<RealStep>,
    /// Everything that was done and seen, in order; kept whatever the verdict is.
    pub history: Vec<Happening>,
    /// Wall-clock time of the steps in ms, without starting servers.
    pub steps_ms: f64,
    /// Wall-clock time of starting or resetting servers, proxies and clients.
    pub setup_ms: f64,
}

/// Did the real side do what the trace says?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum ReplayVerdict {
    /// Every command, reply, outcome and belief was as predicted.
    Reproduced,
    /// The real side did something else: the model is wrong.
    Diverged {
        /// Index into the trace's steps, from 0.
        step: usize,
        /// What the trace says.
        expected: String,
        /// What really happened.
        actual: String,
    },
    /// This trace cannot be enforced here, and nobody is to blame.
    NotReplayable {
        /// Why.
        reason: String,
    },
    /// The harness, a server or an adapter broke. Says nothing about the lock.
    Failed {
        /// Index into the trace's steps, from 0; nothing before the first.
        step: Option<usize>,
        /// What broke.
        error: String,
    },
}

impl ReplayVerdict {
    /// True for [`ReplayVerdict::Reproduced`].
    pub fn is_reproduced(&self) -> bool {
        matches!(self, Self::Reproduced)
    }
}

impl std::fmt::Display for ReplayVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reproduced => write!(f, "reproduced"),
            Self::Diverged {
                step,
                expected,
                actual,
            } => write!(
                f,
                "diverged at step {}: the trace says {expected}; really {actual}",
                step + 1
            ),
            Self::NotReplayable { reason } => write!(f, "not replayable: {reason}"),
            Self::Failed {
                step: Some(step),
                error,
            } => write!(f, "failed at step {}: {error}", step + 1),
            Self::Failed { step: None, error } => {
                write!(f, "failed before the first step: {error}")
            }
        }
    }
}

/// What the real side shows of a violated property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confirmation {
    /// The property that the last step violates.
    pub property: String,
    /// Whether the real side shows the violation by itself; nothing if it
    /// cannot be seen from outside, and rests on the agreement of all steps.
    pub seen: Option<bool>,
    /// What was looked at, one sentence each.
    pub evidence: Vec<String>,
}

/// What the real side did in one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RealStep {
    /// Index into the trace's steps, from 0.
    pub step: usize,
    /// What it did.
    #[serde(flatten)]
    pub side: RealSide,
}

/// What a server, a client or the operating system really did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RealSide {
    /// A server's reply to a command, as its proxy read it.
    Reply(Reply),
    /// How a client says that its operation ended.
    Outcome(Outcome),
    /// What was done to a process, such as a signal and its process id.
    Done(String),
}

/// One thing that was done or seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happening {
    /// The step of the trace that it belongs to, from 0.
    pub step: usize,
    /// `did` (the harness did it), `client`, `wire` or `server` (seen there).
    pub source: String,
    /// What.
    pub what: String,
}

impl ReplayReport {
    /// Writes the history as JSON lines.
    pub fn write_history(&self, out: &mut impl Write) -> std::io::Result<()> {
        for happening in &self.history {
            serde_json::to_writer(&mut *out, happening)?;
            out.write_all(b"\n")?;
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_really_happened_survives_json() {
        let sides = [
            RealSide::Reply(Reply::Array(vec![Reply::Nil, Reply::Bulk(b"a".to_vec())])),
            RealSide::Outcome(Outcome::Busy),
            RealSide::Done("SIGSTOP to process 7".to_owned()),
        ];
        for side in sides {
            let real = RealStep { step: 3, side };
            let text = serde_json::to_string(&real).unwrap();
            assert_eq!(
                serde_json::from_str::<RealStep>(&text).unwrap(),
                real,
                "{text}"
            );
        }
    }
}
