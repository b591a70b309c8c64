//! Which small changes of a lock no property notices.
//!
//! Each mutant of a lock is checked like the lock itself, and its verdicts are compared with the lock's:
//! first under the assumption sets whose worlds are small, and no further than to the first property
//! that the lock holds and the mutant violates. What is left are questions to the author: a detail that
//! no property asks for is a mistake of the lock, a detail without a purpose, or something that the
//! properties cannot see.
//!
//! Nothing here depends on a clock or on the number of threads, unless somebody stops it: mutants are
//! handed out one by one, and each answer has its place.
//!
//! | file | what it does |
//! |---|---|
//! | `judge` | one mutant: its verdicts beside those of the lock |
//! | `text` | the answers for people |

mod judge;
mod text;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use lockproof_model::check::{
    CheckError, CheckOptions, Checker, Compared, ExploreOptions, Guard, Memo, Verdict, assumptions,
};
use lockproof_model::lock::{LockFile, Mutant};
use lockproof_model::world::catalogue::Switch;
use lockproof_trace::Assumption;
use serde::Serialize;

pub use text::text;

/// The schema name of `mutate --format json`.
pub const SCHEMA: &str = "lockproof.mutate/1";

/// What is to be checked.
pub struct Plan<'p> {
    pub file: &'p LockFile,
    /// For the lock and for each mutant; `explore.workers` counts for the lock alone.
    pub options: CheckOptions,
    /// The assumption sets, in any order.
    pub sets: Vec<Vec<Switch>>,
    /// Mutants that are checked at one time.
    pub threads: usize,
}

/// What a run tells on the way; several threads call it.
pub trait Watch: Sync {
    /// The lock itself is checked under another set, or another mutant.
    fn begins(&self);
    /// So many of the mutants are done.
    fn done(&self, done: usize, of: usize);
}

/// Mutants by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    pub mutants: usize,
    pub caught: usize,
    pub refused: usize,
    pub out_of_bounds: usize,
    pub unknown: usize,
    pub equivalent: usize,
    pub better: usize,
    pub survive: usize,
}

/// What became of every mutant of a lock.
#[derive(Clone, Debug, Serialize)]
pub struct Findings {
    /// Always [`SCHEMA`].
    pub schema: &'static str,
    pub lock: String,
    pub properties: Vec<&'static str>,
    /// In the order in which mutants are checked under them.
    pub sets: Vec<SetRow>,
    pub summary: Summary,
    /// In the order of their places.
    pub mutants: Vec<Row>,
}

/// An assumption set, and what the lock itself does under it.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SetRow {
    pub assumptions: Vec<Assumption>,
    /// States of the searches of this set; 0 if it is left out.
    pub states: u64,
    /// Properties that hold: these can catch a mutant.
    pub holds: usize,
    pub violated: usize,
    /// Nothing is compared with these.
    pub unknown: usize,
    /// Why nothing is compared under this set, if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
}

impl SetRow {
    fn of(set: &[Switch], compared: &Compared) -> SetRow {
        let count = |verdict| {
            let all = compared.results.iter();
            all.filter(|result| result.verdict == verdict).count()
        };
        SetRow {
            assumptions: assumptions(set),
            states: states(compared),
            holds: count(Verdict::Holds),
            violated: count(Verdict::Violated),
            unknown: count(Verdict::Unknown),
            left_out: None,
        }
    }

    /// Where nothing holds nothing can be caught; that something holds for a mutant is seen where the
    /// lock itself was answered for.
    fn is_of_use(&self) -> bool {
        self.holds > 0 || self.violated > 0 && self.unknown == 0
    }
}

/// A mutant, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub operator: &'static str,
    pub file: String,
    pub line: u32,
    /// The line as it is in the lock.
    pub source: String,
    pub before: String,
    pub after: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    /// It does not compile, is no lock, or breaks a rule of lock files while it runs.
    Refused { reason: String },
    /// A property that holds for the lock is violated.
    Caught {
        property: String,
        assumptions: Vec<Assumption>,
        /// Of the shortest trace.
        steps: usize,
    },
    /// A limit was hit, and nothing was caught until then.
    OutOfBounds { reason: String },
    /// The model cannot answer, and nothing was caught until then.
    Unknown { reason: String },
    /// All of its worlds are those of the lock.
    Equivalent,
    /// Nothing is worse, and properties hold that the lock violates.
    Better { holds: Vec<Gain>, question: String },
    /// Every verdict is that of the lock.
    Survives {
        /// Its worlds have as many states as the lock's.
        same_size: bool,
        question: String,
    },
}

/// A property that holds for a mutant and not for its lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    pub property: String,
    pub assumptions: Vec<Assumption>,
}

/// What the lock itself does under a set.
struct Known<'s> {
    set: &'s [Switch],
    compared: Compared,
}

/// Checks the lock, and then every mutant.
///
/// # Errors
/// If the lock itself cannot be checked under any of the sets.
pub fn mutate(plan: &Plan<'_>, watch: &dyn Watch) -> Result<Findings, CheckError> {
    let memo = Arc::new(Memo::default());
    let (known, sets) = original(plan, &memo, watch)?;
    let mutants = plan.file.mutants();
    let options = CheckOptions {
        explore: ExploreOptions {
            // The threads are busy with other mutants.
            workers: 1,
            ..plan.options.explore.clone()
        },
        // The tables of the lock have been guarded. What is wrong with those of a mutant shows in
        // the trace that it has to give, or in a question.
        guard: Guard {
            walks: 1,
            ..plan.options.guard
        },
        ..plan.options.clone()
    };
    let judge = judge::Judge {
        file: plan.file,
        options,
        known: &known,
        memo: &memo,
    };
    let outcomes = all(plan.threads, &mutants, &judge, watch);
    let rows: Vec<Row> = mutants
        .into_iter()
        .zip(outcomes)
        .map(|(mutant, outcome)| row(plan.file, mutant, outcome))
        .collect();
    Ok(Findings {
        schema: SCHEMA,
        lock: plan.file.name.clone(),
        properties: (plan.options.properties.iter())
            .map(|property| property.info().id)
            .collect(),
        sets,
        summary: Summary::of(&rows),
        mutants: rows,
    })
}

/// The lock under each set, those with small worlds first, and rows of all of them.
fn original<'s>(
    plan: &'s Plan<'_>,
    memo: &Arc<Memo>,
    watch: &dyn Watch,
) -> Result<(Vec<Known<'s>>, Vec<SetRow>), CheckError> {
    let mut checker = Checker::new(plan.file, plan.options.clone())?;
    checker.share(memo);
    let mut compared = Vec::new();
    let mut refused = None;
    let mut left_out = Vec::new();
    for set in &plan.sets {
        watch.begins();
        let reason = match checker.compare_set(set, &()) {
            Ok(found) => {
                let row = SetRow::of(set, &found);
                if row.is_of_use() {
                    let known = Known {
                        set,
                        compared: found,
                    };
                    compared.push((row, known));
                    continue;
                }
                let mut reasons = found.results.into_iter().filter_map(|one| one.reason);
                reasons.next().unwrap_or_default()
            }
            Err(error @ (CheckError::Concrete(_) | CheckError::Engine(_))) => return Err(error),
            Err(error) => {
                let reason = error.to_string();
                refused.get_or_insert(error);
                reason
            }
        };
        left_out.push(SetRow {
            assumptions: assumptions(set),
            left_out: Some(reason),
            ..SetRow::default()
        });
    }
    if let Some(error) = refused.filter(|_| compared.is_empty()) {
        return Err(error);
    }
    // The sort is stable: sets of one size stay in the order of the catalogue.
    compared.sort_by_key(|(row, _)| row.states);
    let (rows, known): (Vec<SetRow>, Vec<Known<'_>>) = compared.into_iter().unzip();
    Ok((known, rows.into_iter().chain(left_out).collect()))
}

/// Every property is answered by the same searches.
fn states(compared: &Compared) -> u64 {
    compared.results.first().map_or(0, |result| result.states)
}

/// The outcome of each mutant.
fn all(
    threads: usize,
    mutants: &[Mutant],
    judge: &judge::Judge<'_>,
    watch: &dyn Watch,
) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let outcomes: Mutex<(usize, Vec<Option<Outcome>>)> = Mutex::new((0, vec![None; mutants.len()]));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = mutants.get(at) else { break };
            watch.begins();
            let outcome = judge.outcome(mutant);
            let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
            outcomes.0 += 1;
            outcomes.1[at] = Some(outcome);
            watch.done(outcomes.0, mutants.len());
        }
    };
    std::thread::scope(|scope| {
        // This thread works as well; one that the machine refuses is no loss.
        for number in 1..threads.min(mutants.len()) {
            let builder = std::thread::Builder::new().name(format!("mutants-{number}"));
            let _ = builder.spawn_scoped(scope, work);
        }
        work();
    });
    let (_, outcomes) = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    // Each has been handed out, and a thread that panicked has taken this one with it.
    outcomes.into_iter().flatten().collect()
}

fn row(file: &LockFile, mutant: Mutant, outcome: Outcome) -> Row {
    Row {
        operator: mutant.operator.name(),
        source: file.line_of(&mutant).to_owned(),
        file: mutant.file,
        line: mutant.line,
        before: mutant.before,
        after: mutant.after,
        outcome,
    }
}

impl Summary {
    fn of(rows: &[Row]) -> Summary {
        let mut summary = Summary {
            mutants: rows.len(),
            ..Summary::default()
        };
        for row in rows {
            let count = match row.outcome {
                Outcome::Refused { .. } => &mut summary.refused,
                Outcome::Caught { .. } => &mut summary.caught,
                Outcome::OutOfBounds { .. } => &mut summary.out_of_bounds,
                Outcome::Unknown { .. } => &mut summary.unknown,
                Outcome::Equivalent => &mut summary.equivalent,
                Outcome::Better { .. } => &mut summary.better,
                Outcome::Survives { .. } => &mut summary.survive,
            };
            *count += 1;
        }
        summary
    }
}
