//! Worlds that an earlier run has finished, so that a run which was killed goes on where it was.
//!
//! What is kept is trusted only if it is the answer to the very question that is asked now. So the
//! question is written out in full ([`Question`]) and kept with the answer: the lock file and its
//! scripts by their hash, every size, parameter, switch, limit and seed, the servers, the horizon at
//! which the search began, and the program that answered by the hash of its own bytes. A version
//! number would not do: two builds of one version may differ in a rule of the model. An answer is kept
//! when its world is finished, replays and walks included, and only if every search ended by itself
//! and real servers agree. What was stopped is asked again, and so is what went wrong.

use lockproof_model::check::{CheckResult, StopReason, Verdict, assumptions};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::{Property, Switch};
use lockproof_model::world::closure::ClosureError;
use lockproof_model::world::concrete;
use lockproof_report::model::{OnServer, Replays, Walks};
use lockproof_trace::{Assumption, LockRef};
use serde::{Deserialize, Serialize};

use super::config::{Config, Group};

/// Everything on which an answer depends.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Question {
    /// Hash of the program that answers.
    pub build: String,
    /// Server programs and what stands before them.
    pub real: Vec<String>,
    pub lock: LockRef,
    /// Sizes, times and parameters.
    pub sizes: String,
    pub set: Vec<Assumption>,
    pub order: Vec<&'static str>,
    pub properties: Vec<&'static str>,
    /// How much further than it must be the horizon was before.
    pub reach: i64,
    pub seed: u64,
    pub states_max: u64,
    pub seconds_max: Option<u64>,
    pub replays: u32,
    pub walks: u32,
    pub walk_moves: usize,
}

/// What does not differ between the worlds of a run.
#[derive(Clone, Debug, Default)]
pub struct Asking {
    pub build: String,
    pub real: Vec<String>,
}

impl Question {
    /// The question of one world.
    pub fn new(
        asking: &Asking,
        config: &Config,
        group: &Group,
        (file, sizes, set): (&LockFile, String, &[Switch]),
        (properties, reach): (&[Property], i64),
    ) -> Question {
        Question {
            build: asking.build.clone(),
            real: asking.real.clone(),
            lock: concrete::reference(file),
            sizes,
            set: assumptions(set),
            order: group.order.iter().map(|fault| fault.info().id).collect(),
            properties: properties.iter().map(|one| one.info().id).collect(),
            reach,
            seed: config.seed,
            states_max: config.states_max,
            seconds_max: config.seconds_max,
            replays: config.replays,
            walks: config.walks,
            walk_moves: config.walk_moves,
        }
    }
}

/// What real servers say of one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    pub replays: Option<Replays>,
    pub on: Vec<OnServer>,
}

/// A finished world.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kept {
    pub results: Vec<CheckResult>,
    /// One a result.
    pub evidence: Vec<Evidence>,
    pub walks: Walks,
    pub walked_on: Vec<OnServer>,
    pub warnings: Vec<String>,
    /// The horizon after it.
    pub reach: i64,
}

impl Kept {
    /// Reads what was kept, and sees whether it can be an answer: `wanted` are cells of the same
    /// properties, in their order.
    ///
    /// # Errors
    /// Why it is none, in words.
    pub fn read(text: &str, wanted: &[CheckResult], question: &Question) -> Result<Kept, String> {
        let kept: Kept = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let named = |all: &[CheckResult]| -> Vec<String> {
            all.iter().map(|one| one.property.clone()).collect()
        };
        if named(&kept.results) != named(wanted) || kept.evidence.len() != kept.results.len() {
            return Err("it answers for other properties".into());
        }
        for result in &kept.results {
            if result.assumptions != question.set {
                return Err("it is about another set of faults".into());
            }
            if (result.verdict == Verdict::Violated) != result.trace.is_some()
                || (result.verdict == Verdict::Unknown) != result.reason.is_some()
            {
                return Err(format!("{}: verdict and trace do not fit", result.property));
            }
            let Some(trace) = &result.trace else { continue };
            lockproof_trace::validate(trace).map_err(|error| error.to_string())?;
            if trace.lock != question.lock || trace.assumptions != question.set {
                return Err("its trace is one of another lock or set".into());
            }
        }
        match kept.is_final(question) {
            true => Ok(kept),
            false => Err("it is not finished".into()),
        }
    }

    /// Every search ended by itself, and real servers agree as often as they were to be asked.
    pub fn is_final(&self, question: &Question) -> bool {
        let every =
            |all: &Replays| all.reproduced == all.attempts && all.attempts == question.replays;
        let cells = self.results.iter().zip(&self.evidence);
        let is_done = |(result, evidence): (&CheckResult, &Evidence)| {
            let agrees =
                |one: &OnServer| one.note.is_some() || one.replays.as_ref().is_none_or(every);
            match result.verdict {
                Verdict::Violated => {
                    evidence.replays.as_ref().is_some_and(every) && evidence.on.iter().all(agrees)
                }
                Verdict::Holds => true,
                Verdict::Unknown => result.reason.as_deref().is_some_and(is_lasting),
            }
        };
        let straight = |walks: &Walks| walks.diverged == 0;
        let walked = |one: &OnServer| one.note.is_some() || one.walks.as_ref().is_none_or(straight);
        cells.into_iter().all(is_done) && straight(&self.walks) && self.walked_on.iter().all(walked)
    }
}

/// The same check would end so again: it was not stopped, and the machine refused nothing.
fn is_lasting(reason: &str) -> bool {
    let passing = [
        StopReason::Stopped.to_string(),
        ClosureError::Stopped.to_string(),
        StopReason::Panicked(String::new()).to_string(),
        StopReason::Engine(String::new()).to_string(),
        super::NOT_RUN.to_owned(),
        "os error".to_owned(),
        "code: ".to_owned(),
    ];
    !passing.iter().any(|one| reason.contains(one.as_str()))
}
