//! How a history ends.
//!
//! A run that comes to its end says so in its last line. Without that line nobody
//! knows what is missing: the harness may have been killed a moment before the first
//! violation. So an incomplete history proves what it shows and nothing else.
//!
//! Rejected: to take a final read for the end. Not every workload has one, and a read
//! may be the last thing before the harness is killed.

use serde::{Deserialize, Serialize};

use super::judge::{Finding, FindingVerdict};

/// How a history ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The run did all that it was to do.
    Complete,
    /// Somebody ended the run before that; what it did until then is all there.
    Interrupted,
    /// There is no end: the run was killed, or failed, or nobody wrote one.
    #[default]
    Missing,
}

impl End {
    /// From what the last line says, if it is an end.
    pub(super) fn of(complete: Option<bool>, torn: bool) -> End {
        match complete.filter(|_| !torn) {
            Some(true) => End::Complete,
            Some(false) => End::Interrupted,
            None => End::Missing,
        }
    }

    /// Why the history is incomplete; `None` if it is not.
    pub fn words(self) -> Option<&'static str> {
        match self {
            End::Complete => None,
            End::Interrupted => Some("the run was interrupted, and its rest did not happen"),
            End::Missing => {
                Some("it has no end, as if the run was killed, and its rest is not known")
            }
        }
    }

    /// What an oracle says of such a history: what was not observed may stand in the
    /// part that is missing.
    pub(super) fn judge(self, finding: Finding) -> Finding {
        match (self.words(), finding.verdict) {
            (Some(words), FindingVerdict::NotObserved) => Finding {
                verdict: FindingVerdict::Unknown,
                reason: Some(match finding.reason {
                    Some(reason) => format!("{reason}; {words}"),
                    None => format!("not observed in {}, but {words}", finding.checked),
                }),
                ..finding
            },
            _ => finding,
        }
    }
}
