//! The pipeline's answers beside those of the naive search.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lockproof_model::check::{
    CheckOptions, CheckResult, Checker, Chosen, ExploreOptions, Guard, Observer, ShouldStop, Sizes,
    Verdict,
};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::{Branching, Fault, Property, Safety, SizeUnit, Switch};
use lockproof_redis::ScriptEngine;
use lockproof_trace::{Story, Trace, story};

use crate::follow::{Followed, follow};
use crate::free;
use crate::moves::{Action, Move};
use crate::search::{Found, search, walk};
use crate::trouble;
use crate::world::{Setup, State, Texts};

/// How long a lock file may take the pipeline.
const PATIENCE: Duration = Duration::from_secs(4);

/// How hard to look.
#[derive(Clone, Copy)]
pub struct Effort {
    pub transitions: usize,
    pub walks: u64,
    pub length: usize,
    /// States that the pipeline may explore.
    pub states: u64,
}

/// A lock file and what to ask of it.
#[derive(Clone)]
pub struct Question {
    pub text: String,
    pub set: Vec<Switch>,
    pub ttl_ticks: u8,
    pub clients: u8,
    /// It polls without a pause.
    pub spins: bool,
    pub seed: u64,
}

/// Both sides differ.
#[derive(Clone, Debug)]
pub struct Difference {
    pub property: String,
    /// One word for the kind of it.
    pub kind: &'static str,
    pub detail: String,
}

/// What came of a comparison.
#[derive(Default)]
pub struct Outcome {
    pub holds: usize,
    pub violated: usize,
    /// Violations whose length the level-by-level search confirmed.
    pub exact: usize,
    pub unknown: Vec<String>,
    pub refused: Option<String>,
    /// Something that was reached is not followed by the pipeline.
    pub blind: bool,
    /// Some comparison of times goes both ways in the pipeline's world.
    pub opens: bool,
    /// Violations that are shorter on ways that the pipeline does not follow.
    pub shorter: usize,
    pub differences: Vec<Difference>,
    pub transitions: usize,
}

struct NoClock;

impl Observer for NoClock {
    fn seconds(&self) -> f64 {
        0.0
    }
}

/// Ticks that divide what lock files of the grammar say; of others, those that a check
/// chooses.
fn sizes(question: &Question, file: &LockFile) -> Sizes {
    let sizes = Sizes {
        clients: question.clients,
        ttl_ticks: question.ttl_ticks,
        ..Sizes::for_file(file)
    };
    if question.text.is_empty() {
        let never: ShouldStop = Arc::new(|| false);
        return sizes.fitted(file, Chosen::default(), &never);
    }
    if !question.text.contains("500") {
        return sizes;
    }
    Sizes {
        ttl_ticks: question.ttl_ticks * 2,
        tick_ms: 500,
        ..sizes
    }
}

/// All that single transitions violate or that is asked for anyway. (Of a client that was
/// started anew, what it leaves behind at once is not known.)
fn asked(question: &Question) -> Vec<Property> {
    let mut properties = Property::usual(false);
    let mut faults = question.set.iter().map(|switch| switch.fault);
    if !faults.any(|fault| fault == Fault::ClientRestart) {
        properties.push(Property::Safety(Safety::NoOrphanAtOnce));
    }
    properties
}

/// Asks both sides.
pub fn compare(question: &Question, effort: Effort) -> Outcome {
    let mut outcome = Outcome::default();
    let file = match LockFile::from_text("generated.lua", &question.text, None) {
        Ok(file) => file,
        Err(error) => {
            outcome.refused = Some(error.to_string());
            return outcome;
        }
    };
    compare_file(question, &file, effort, &mut outcome);
    outcome
}

pub fn compare_file(question: &Question, file: &LockFile, effort: Effort, outcome: &mut Outcome) {
    let sizes = sizes(question, file);
    // A search that never ends for want of a limit would be a hang; this one is told to
    // No answer in this time is no answer: it can not make a difference between the two.
    let end = Instant::now() + PATIENCE;
    let options = CheckOptions {
        sizes: sizes.clone(),
        properties: asked(question),
        explore: ExploreOptions {
            workers: 1,
            states_max: Some(effort.states),
            should_stop: Arc::new(move || Instant::now() > end),
            ..ExploreOptions::default()
        },
        guard: Guard::usual(question.seed),
        timed: false,
    };
    let mut set = question.set.clone();
    for switch in &mut set {
        // The lease may have been cut into finer ticks.
        switch.size = switch.fault.default_size(sizes.ttl_ticks);
    }
    let mut checker = match Checker::new(file, options) {
        Ok(checker) => checker,
        Err(error) => {
            outcome.refused = Some(error.to_string());
            return;
        }
    };
    let results = match checker.check_set(&set, &NoClock) {
        Ok(results) => results,
        Err(error @ lockproof_model::check::CheckError::Concrete(_)) => {
            outcome.differences.push(Difference {
                property: "-".into(),
                kind: "contradiction",
                detail: error.to_string(),
            });
            return;
        }
        Err(error) => {
            outcome.refused = Some(error.to_string());
            return;
        }
    };
    // The level-by-level search never lets a spinning client be late: that is less than
    // can happen, and lengths say nothing.
    let setup = |texts: Texts| Setup {
        spins: question.spins && matches!(texts, Texts::Readable),
        file: file.clone(),
        config: checker.config(&set),
        clients: crate::objects::parts(file, usize::from(sizes.clients)),
        ttl_ticks: i64::from(sizes.ttl_ticks),
        step_ms: sizes.step_ms(),
        switches: set.clone(),
        texts,
        attempts_max: u32::MAX,
        repairs: true,
    };
    let random = setup(Texts::random(question.seed));
    let readable = setup(Texts::Readable);
    if results
        .iter()
        .all(|result| result.verdict == Verdict::Unknown)
    {
        let reason = results.first().and_then(|result| result.reason.clone());
        outcome.unknown.push(reason.unwrap_or_default());
        return;
    }
    let start = match State::start(&random) {
        Ok(start) => start,
        Err(error) => {
            outcome.differences.push(Difference {
                property: "-".into(),
                kind: "start",
                detail: error.to_string(),
            });
            return;
        }
    };
    let mut found = search(&random, &start, effort.transitions);
    let depth = found.depth;
    let near = found.violations.clone();
    for seed in 0..effort.walks {
        walk(
            &random,
            &start,
            question.seed ^ seed,
            effort.length,
            &mut found,
        );
    }
    outcome.transitions += found.transitions;
    outcome.opens = opens(&mut checker, &set);
    outcome.blind = results.iter().any(|one| one.verdict == Verdict::Unknown);
    let [finer, exact] = [fine, punctual].map(|change| {
        let setup = change(random.clone());
        let mut found = Found::default();
        if let Ok(start) = State::start(&setup) {
            for seed in 0..effort.walks {
                walk(
                    &setup,
                    &start,
                    question.seed ^ seed,
                    effort.length,
                    &mut found,
                );
            }
        }
        outcome.transitions += found.transitions;
        found
    });
    for result in &results {
        if let Some(Property::Safety(property)) = Property::parse(&result.property)
            && result.verdict == Verdict::Holds
            && found.violations[property as usize].is_none()
        {
            for (kind, other) in [("between-ticks", &finer), ("at-ticks", &exact)] {
                if let Some(path) = &other.violations[property as usize] {
                    outcome.differences.push(Difference {
                        property: result.property.clone(),
                        kind,
                        detail: told(path),
                    });
                }
            }
        }
        if let Some(difference) = judge(result, &readable, &found, (&near, depth), outcome) {
            outcome.differences.push(difference);
        }
    }
}

fn opens(checker: &mut Checker<'_>, set: &[Switch]) -> bool {
    let world = checker.world(set);
    world.is_ok_and(|world| world.tables.opens)
}

type Paths = [Option<Vec<Action>>; Safety::ALL.len()];

fn judge(
    result: &CheckResult,
    readable: &Setup,
    found: &Found,
    (near, depth): (&Paths, usize),
    outcome: &mut Outcome,
) -> Option<Difference> {
    let property = Property::parse(&result.property)?;
    let difference = |kind: &'static str, detail: String| {
        Some(Difference {
            property: result.property.clone(),
            kind,
            detail,
        })
    };
    match (result.verdict, property) {
        (Verdict::Unknown, _) => {
            outcome
                .unknown
                .push(result.reason.clone().unwrap_or_default());
            None
        }
        (Verdict::Holds, Property::Safety(property)) => {
            outcome.holds += 1;
            if let Some(path) = &found.violations[property as usize] {
                return difference("false-holds", told(path));
            }
            if let Some((path, why)) = &found.stuck {
                return difference("holds-but-stuck", format!("{why}\n{}", told(path)));
            }
            None
        }
        // It is compared elsewhere.
        (Verdict::Holds, Property::Fair(_)) => None,
        (Verdict::Holds, Property::Branching(Branching::FaultTolerance)) => {
            outcome.holds += 1;
            let paths = [&found.blocked, &found.lamed];
            let path = paths.into_iter().flatten().next();
            let path = path.filter(|_| !readable.spins)?;
            difference("lamed", told(path))
        }
        (Verdict::Holds, Property::Branching(Branching::DeadlockFreedom)) => {
            outcome.holds += 1;
            // Where clients spin, time stands still in this search.
            let path = found.blocked.as_ref().filter(|_| !readable.spins)?;
            difference("blocked", told(path))
        }
        (Verdict::Violated, _) => {
            outcome.violated += 1;
            let trace = result.trace.as_ref()?;
            // Several searches, of clients that are patient and not, with ticks that end
            // after what they end or with it: this is one of them.
            let (patience, step_ms) = (trace.setup.timeout_ms, trace.setup.tick_ms);
            let same = patience == readable.config.timeout_ms && step_ms == readable.step_ms;
            let mut readable = readable.clone();
            readable.config.timeout_ms = patience;
            readable.step_ms = step_ms;
            let readable = &readable;
            let followed = match follow(readable, trace) {
                Ok(followed) => followed,
                Err(why) => return difference("not-followed", format!("{why}\n{}", text(trace))),
            };
            let property = match property {
                Property::Safety(property) => property,
                Property::Fair(_) => return None,
                Property::Branching(Branching::FaultTolerance) => {
                    let broken = trouble::lasts(readable, &followed.state);
                    let worse = trouble::lasting(readable);
                    return stuck(if broken { &worse } else { readable }, &followed)
                        .then(|| difference("not-stuck", text(trace)))
                        .flatten();
                }
                Property::Branching(Branching::DeadlockFreedom) => {
                    return stuck(readable, &followed)
                        .then(|| difference("not-stuck", text(trace)))
                        .flatten();
                }
            };
            let length = followed.length;
            if followed.violates & property.bit() == 0 {
                return difference("not-violated", text(trace));
            }
            if let Some(first) = followed.first[property as usize]
                && first < length
            {
                let detail = format!("violated at move {first} of {length}\n{}", text(trace));
                return difference("violated-before", detail);
            }
            match &near[property as usize] {
                // What the pipeline does not follow may be shorter.
                Some(_) if !same => {}
                Some(path) if path.len() < length && outcome.blind => outcome.shorter += 1,
                // A comparison that goes both ways is a move there.
                Some(path) if path.len() < length && outcome.opens => outcome.shorter += 1,
                Some(path) if path.len() < length => {
                    let detail =
                        format!("{} < {length}\n{}\n{}", path.len(), told(path), text(trace));
                    return difference("shorter", detail);
                }
                Some(path) if path.len() > length && !readable.spins => {
                    let detail =
                        format!("{} > {length}\n{}\n{}", path.len(), told(path), text(trace));
                    return difference("longer", detail);
                }
                Some(_) => outcome.exact += 1,
                None if same && depth >= length && !readable.spins => {
                    return difference("missed", text(trace));
                }
                None => {}
            }
            None
        }
    }
}

/// The same world in half ticks.
fn fine(setup: Setup) -> Setup {
    let mut switches = setup.switches;
    for switch in &mut switches {
        if switch.fault.info().unit == SizeUnit::Ticks {
            switch.size *= 2;
        }
    }
    Setup {
        ttl_ticks: setup.ttl_ticks * 2,
        step_ms: setup.step_ms / 2 + 1,
        switches,
        ..setup
    }
}

/// The same world, where ticks end with what they end.
fn punctual(setup: Setup) -> Setup {
    let step_ms = setup.config.ttl_ms / setup.ttl_ticks;
    Setup { step_ms, ..setup }
}

/// From a state that is called stuck somebody can acquire.
fn stuck(setup: &Setup, followed: &Followed) -> bool {
    let mut state = followed.state.clone();
    state.budget.iter_mut().for_each(|budget| *budget = 0);
    let may =
        |_: &State, one: &Move| !matches!(one, Move::Write { .. }) && trouble::may(setup, one);
    let goal = |step: &crate::step::Step<'_>| step.acquired.is_some() && step.complete;
    let ticks = 4 * setup.ttl_ticks;
    let mut engine = ScriptEngine::new().expect("a script engine");
    free::reach(setup, &mut engine, state, (ticks, 4_000), &goal, None, &may) == Some(true)
}

fn told(path: &[Action]) -> String {
    let line = |(at, action): (usize, &Action)| {
        let held = match action.held {
            0 => String::new(),
            held => format!(", paused before the last {held}"),
        };
        format!("  {:3} {:?}{held}\n", at + 1, action.step)
    };
    path.iter().enumerate().map(line).collect()
}

fn text(trace: &Trace) -> String {
    story(trace, &Story::default())
}
