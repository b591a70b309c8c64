//! One mutant: its verdicts beside those of the lock.

use std::sync::Arc;

use lockproof_model::check::{
    CheckError, CheckOptions, CheckResult, Checker, Compared, Memo, StopReason, Verdict,
};
use lockproof_model::lock::{LockError, LockFile, Mutant};
use lockproof_model::world::closure::ClosureError;

use super::{Gain, Known, Outcome, states, text};

/// After so many sets in which a mutant hits a limit it is given up. The next sets are larger ones.
const LIMITS_MAX: usize = 2;

/// What every mutant is compared with.
pub(super) struct Judge<'j> {
    pub file: &'j LockFile,
    /// Of each mutant's checks.
    pub options: CheckOptions,
    /// The lock under each set, in the order in which they are asked.
    pub known: &'j [Known<'j>],
    pub memo: &'j Arc<Memo>,
}

/// What is known of a mutant while it is checked.
#[derive(Default)]
struct So {
    /// Sets in which a limit was hit, and the first reason.
    limits: usize,
    limit: Option<String>,
    unknown: Option<String>,
    gains: Vec<Gain>,
    /// Some world is another one than the lock's.
    differs: bool,
    /// Some world has another size.
    resized: bool,
}

impl Judge<'_> {
    /// Checks a mutant under one set after the other, until it is caught.
    pub fn outcome(&self, mutant: &Mutant) -> Outcome {
        let stopped = || StopReason::Stopped.to_string();
        if (self.options.explore.should_stop)() {
            return Outcome::OutOfBounds { reason: stopped() };
        }
        if self.known.is_empty() {
            let reason = "nothing is known of the lock itself under these sets".to_owned();
            return Outcome::Unknown { reason };
        }
        let file = match self.file.mutated(mutant) {
            Ok(file) => file,
            Err(error) => return refused(&error),
        };
        let mut checker = match Checker::new(&file, self.options.clone()) {
            Ok(checker) => checker,
            Err(error) => {
                let reason = error.to_string();
                return Outcome::Refused { reason };
            }
        };
        checker.share(self.memo);
        let mut so = So::default();
        for known in self.known {
            if so.limits >= LIMITS_MAX {
                break;
            }
            match checker.compare_set(known.set, &()) {
                Ok(compared) => {
                    if let Some(caught) = self.compare(known, &compared, &mut so) {
                        return caught;
                    }
                }
                Err(CheckError::Lock(error)) if !is_open(&error) => return refused(&error),
                Err(error) => so.failed(&error),
            }
        }
        so.outcome(mutant)
    }

    /// Compares the verdicts under one set; gives the outcome if that is caught.
    fn compare(&self, known: &Known<'_>, compared: &Compared, so: &mut So) -> Option<Outcome> {
        so.differs |= compared.worlds != known.compared.worlds;
        so.resized |= states(compared) != states(&known.compared);
        let mut open = None;
        for (lock, mutant) in known.compared.results.iter().zip(&compared.results) {
            match (lock.verdict, mutant.verdict) {
                (Verdict::Holds, Verdict::Violated) => return Some(caught(mutant)),
                (Verdict::Violated, Verdict::Holds) => so.gains.push(Gain {
                    property: mutant.property.clone(),
                    assumptions: mutant.assumptions.clone(),
                }),
                (Verdict::Holds | Verdict::Violated, Verdict::Unknown) => {
                    open = open.or(mutant.reason.as_ref());
                }
                _ => {}
            }
        }
        if let Some(reason) = open {
            match self.is_limit(reason) {
                true => so.hit(reason),
                false => so.unknown = so.unknown.take().or(Some(reason.clone())),
            }
        }
        None
    }

    /// More time or more states might have given an answer.
    fn is_limit(&self, reason: &str) -> bool {
        let most = self.options.explore.states_max.map(StopReason::StateLimit);
        let limits = [Some(StopReason::Stopped), most, Some(StopReason::TableFull)];
        let limits = limits.into_iter().flatten().map(|limit| limit.to_string());
        let mut limits = limits.chain([ClosureError::Stopped.to_string()]);
        limits.any(|limit| reason.contains(&limit))
    }
}

impl So {
    fn hit(&mut self, reason: &str) {
        self.limits += 1;
        self.limit.get_or_insert_with(|| reason.to_owned());
    }

    fn failed(&mut self, error: &CheckError) {
        let reason = error.to_string();
        match error {
            CheckError::Closure { source, .. } if source.is_limit() => self.hit(&reason),
            CheckError::World(_) => self.hit(&reason),
            _ => self.unknown = self.unknown.take().or(Some(reason)),
        }
    }

    /// What is left when nothing was caught.
    fn outcome(self, mutant: &Mutant) -> Outcome {
        if let Some(reason) = self.limit {
            return Outcome::OutOfBounds { reason };
        }
        if let Some(reason) = self.unknown {
            return Outcome::Unknown { reason };
        }
        if !self.differs {
            return Outcome::Equivalent;
        }
        let question = text::question(mutant);
        match self.gains.is_empty() {
            true => Outcome::Survives {
                same_size: !self.resized,
                question,
            },
            false => Outcome::Better {
                holds: self.gains,
                question,
            },
        }
    }
}

fn caught(result: &CheckResult) -> Outcome {
    Outcome::Caught {
        property: result.property.clone(),
        assumptions: result.assumptions.clone(),
        steps: result.trace.as_ref().map_or(0, |trace| trace.length()),
    }
}

fn refused(error: &LockError) -> Outcome {
    Outcome::Refused {
        reason: error.to_string(),
    }
}

/// The file is a lock, and the model has no answer.
fn is_open(error: &LockError) -> bool {
    matches!(error, LockError::Refused { .. } | LockError::Driver { .. })
}
