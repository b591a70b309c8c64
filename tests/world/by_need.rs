//! Locks that are closed by need: only what a search came to is in their tables, and the
//! answers are those of all of it.

use crate::world_support::{NoClock, builtin, check, options, set, sizes};
use lockproof_model::check::{CheckError, CheckResult, Checker, Verdict};
use lockproof_model::lock::LockFile;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Sets of faults that keep a server's content in ways of their own.
const SETS: [&str; 6] = [
    "",
    "client-pause",
    "loss",
    "node-restart-everysec",
    "failover",
    "clock-jump",
];

fn by_need(file: &LockFile, clients: u8, words: &str) -> Result<Vec<CheckResult>, CheckError> {
    let sizes = sizes(file, clients);
    let mut checker = Checker::new(file, options(&sizes, 1)).unwrap();
    checker.close_by_need_beyond(0);
    checker.check_set(&set(words, sizes.ttl_ticks), &NoClock)
}

/// What does not depend on how states are numbered.
fn told(results: &[CheckResult]) -> Vec<(String, Verdict, u64, u64, u32, Option<usize>)> {
    let row = |result: &CheckResult| {
        let length = result.trace.as_ref().map(|trace| trace.length());
        let (states, transitions) = (result.states, result.transitions);
        let property = result.property.clone();
        (
            property,
            result.verdict,
            states,
            transitions,
            result.depth,
            length,
        )
    };
    results.iter().map(row).collect()
}

fn field_a_reader() -> LockFile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/modes");
    LockFile::load(&folder.join("a-field-a-reader.lua")).unwrap()
}

#[test]
fn a_lock_that_is_closed_by_need_gets_the_answers_of_one_that_is_closed_whole() {
    for name in [
        "setnx-expire",
        "token-wait",
        "token-renewed",
        "reentrant-hash",
        "rw-two-keys",
        "token-extended",
        "fenced",
    ] {
        let file = builtin(name);
        for words in SETS {
            let whole = told(&check(&file, &sizes(&file, 2), words));
            let needed = by_need(&file, 2, words).unwrap();
            assert_eq!(told(&needed), whole, "{name} under {words:?}");
        }
    }
}

#[test]
fn readers_with_a_field_each_are_followed_with_three_clients() {
    let file = field_a_reader();
    let results = check(&file, &sizes(&file, 3), "client-crash");
    let first = &results[0];
    assert_eq!(
        (first.states, first.transitions, first.depth),
        (21_315, 80_574, 23)
    );
    let broken = results.iter().filter(|cell| cell.verdict != Verdict::Holds);
    let broken: Vec<_> = broken.map(|cell| cell.property.as_str()).collect();
    assert_eq!(broken, ["no-orphan"]);
}

#[test]
fn a_search_by_need_that_is_stopped_holds_nothing() {
    let file = field_a_reader();
    let sizes = sizes(&file, 3);
    let mut options = options(&sizes, 1);
    options.explore.states_max = Some(2_000);
    let mut checker = Checker::new(&file, options).unwrap();
    for cell in checker.check_set(&set("", 3), &NoClock).unwrap() {
        assert_eq!(cell.verdict, Verdict::Unknown, "{}", cell.property);
        let reason = cell.reason.unwrap();
        assert!(reason.contains("2000 states"), "{reason}");
    }
}

#[test]
fn a_world_that_is_closed_by_need_has_all_that_its_walks_come_to() {
    let file = field_a_reader();
    let sizes = sizes(&file, 3);
    let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    for walk in checker.walks(&set("loss", 3), 0..20, 40).unwrap() {
        let moves = walk.steps.len();
        assert!(moves >= 40, "a walk of {moves} steps");
    }
}

#[test]
fn a_lock_without_its_key_is_refused_also_by_need() {
    let text = "return { acquire = function(lock)\nredis('SET', 'other', '1')\nreturn held() end, \
                release = function(lock) redis('DEL', 'other') end }";
    let file = LockFile::from_text("my-lock.lua", text, None).unwrap();
    let error = by_need(&file, 2, "").unwrap_err();
    assert!(
        error.to_string().contains("never the key that is its lock"),
        "{error}"
    );
}

/// The answers of a check that is told to stop when it asks for the `last` time, and how often
/// it asked.
fn stopped(file: &LockFile, last: u32) -> (Vec<CheckResult>, u32) {
    let sizes = sizes(file, 3);
    let mut options = options(&sizes, 1);
    let asked = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&asked);
    let ask = move || counted.fetch_add(1, Ordering::SeqCst) + 1 >= last;
    options.explore.should_stop = Arc::new(ask);
    let mut checker = Checker::new(file, options).unwrap();
    let results = checker.check_set(&set("", sizes.ttl_ticks), &NoClock);
    let results = results.unwrap_or_else(|error| panic!("stopped at {last}: {error}"));
    (results, asked.load(Ordering::SeqCst))
}

#[test]
fn whoever_stops_a_lock_that_is_being_closed_anew_gets_no_error() {
    let file = field_a_reader();
    let unknown = |results: &[CheckResult]| {
        let mut results = results.iter();
        results.any(|one| one.verdict == Verdict::Unknown)
    };
    let (results, asked) = stopped(&file, u32::MAX);
    assert!(!unknown(&results));
    for part in 1..12 {
        assert!(unknown(&stopped(&file, asked * part / 12).0), "{part}");
    }
}
