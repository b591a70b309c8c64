//! From a test's short words (a lock, sizes, an assumption set) to a world or
//! to verdicts.

pub mod drive;
pub mod machines;
pub mod notation;

use std::path::PathBuf;

use lockproof_model::check::{
    CheckError, CheckOptions, CheckResult, Checker, ExploreOptions, Guard, Observer, Sizes, Verdict,
};
use lockproof_model::lock::LockFile;
use lockproof_model::world::catalogue::{Fault, Property, Switch};
use lockproof_trace::Trace;

/// A clock that stands still: no test asks how long something took.
pub struct NoClock;

impl Observer for NoClock {
    fn seconds(&self) -> f64 {
        0.0
    }
}

pub fn builtin(name: &str) -> LockFile {
    LockFile::builtin(name).unwrap_or_else(|e| panic!("{e}"))
}

pub fn planted(name: &str) -> LockFile {
    let path = planted_path(name);
    LockFile::load(&path).unwrap_or_else(|e| panic!("{e}"))
}

pub fn planted_path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/locks/planted")
        .join(format!("{name}.lua"))
}

/// A lock file from its text.
pub fn text(text: &str) -> LockFile {
    LockFile::from_text("my-lock.lua", text, None).unwrap_or_else(|e| panic!("{e}"))
}

pub fn sizes(file: &LockFile, clients: u8) -> Sizes {
    Sizes {
        clients,
        ..Sizes::for_file(file)
    }
}

/// `"delay@2 loss*2"`: fault ids, `@` and a size, `*` and a budget; what is left
/// out has its default under a lease of `ttl_ticks`.
pub fn set(words: &str, ttl_ticks: u8) -> Vec<Switch> {
    let mut switches: Vec<Switch> = words
        .split_whitespace()
        .map(|word| {
            let (word, budget) = word.split_once('*').unwrap_or((word, ""));
            let (id, size) = word.split_once('@').unwrap_or((word, ""));
            let fault = Fault::parse(id).unwrap_or_else(|| panic!("no fault {id}"));
            Switch {
                fault,
                budget: budget.parse().unwrap_or(fault.info().budget),
                size: size.parse().unwrap_or(fault.default_size(ttl_ticks)),
            }
        })
        .collect();
    switches.sort();
    switches
}

/// Every property, the usual guard.
pub fn options(sizes: &Sizes, workers: usize) -> CheckOptions {
    CheckOptions {
        sizes: sizes.clone(),
        properties: Property::usual(false),
        explore: ExploreOptions {
            workers,
            ..ExploreOptions::default()
        },
        guard: Guard::usual(1),
        timed: false,
    }
}

pub fn try_check(
    file: &LockFile,
    sizes: &Sizes,
    words: &str,
) -> Result<Vec<CheckResult>, CheckError> {
    let mut checker = Checker::new(file, options(sizes, 1))?;
    checker.check_set(&set(words, sizes.ttl_ticks), &NoClock)
}

pub fn check(file: &LockFile, sizes: &Sizes, words: &str) -> Vec<CheckResult> {
    try_check(file, sizes, words).unwrap_or_else(|e| panic!("{} under {words:?}: {e}", file.name))
}

/// States, transitions, depth.
pub type Counts = (u64, u64, u32);

pub fn counts(results: &[CheckResult]) -> Counts {
    let first = &results[0];
    (first.states, first.transitions, first.depth)
}

/// The ids of the violated properties, blank between. Panics if a verdict is unknown.
pub fn violated(results: &[CheckResult]) -> String {
    let known = |result: &&CheckResult| {
        assert_ne!(result.verdict, Verdict::Unknown, "{:?}", result.reason);
        result.verdict == Verdict::Violated
    };
    let ids: Vec<&str> = results
        .iter()
        .filter(known)
        .map(|result| result.property.as_str())
        .collect();
    ids.join(" ")
}

/// Two clients and the lock's fewest nodes: what replays of failovers need.
pub fn small(lock: &str) -> Sizes {
    let mut sizes = sizes(&builtin(lock), 2);
    sizes.nodes = if lock == "redlock" { 3 } else { 1 };
    sizes
}

/// What the model says of a built-in lock in that size.
pub fn results(lock: &str, words: &str) -> Vec<CheckResult> {
    let (file, sizes) = (builtin(lock), small(lock));
    let mut checker = Checker::new(&file, options(&sizes, 2)).unwrap();
    checker.check_set(&set(words, 3), &NoClock).unwrap()
}

/// The shortest violation of a property.
pub fn violation(lock: &str, words: &str, property: &str) -> Trace {
    let mut results = results(lock, words).into_iter();
    let result = results.find(|result| result.property == property);
    result
        .and_then(|result| result.trace)
        .unwrap_or_else(|| panic!("{lock} keeps {property} under {words}"))
}
