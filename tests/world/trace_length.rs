//! One trace has one length: in the table of a check, in its story, in its file.
//!
//! The unit is the step: one entry of the file, one number of the story.

use crate::world_support::{builtin, check, sizes, text, violation};
use lockproof_model::check::{CheckReport, CheckResult, SCHEMA, Verdict};
use lockproof_model::lock::builtin_names;
use lockproof_report::terminal;
use lockproof_trace::{Event, Outcome, Step, Story, Trace, story, to_json};

/// Assumption sets under which some built-in lock or other is violated.
const SETS: [&str; 10] = [
    "client-crash",
    "client-pause",
    "overrun",
    "loss",
    "delay",
    "node-restart-none",
    "node-pause",
    "clock-jump",
    "client-drift",
    "failover",
];
/// For locks that resemble others, and for those with large worlds.
const FEW: [&str; 2] = ["client-pause", "node-restart-none"];
const ONE: [&str; 1] = ["node-restart-none"];

/// The numbers that a story's lines bear; ticks that share a line have a range.
fn numbers(trace: &Trace) -> Vec<usize> {
    let mut all = Vec::new();
    for line in story(trace, &Story::default()).lines() {
        let start: String = line.chars().take(5).collect();
        let Ok(last) = start.trim().parse::<usize>() else {
            continue;
        };
        let range = line.split_once(" ticks pass: steps ");
        let first = range.and_then(|(_, rest)| rest.split_once(" to ")?.0.parse().ok());
        all.extend(first.unwrap_or(last)..=last);
    }
    all
}

fn table(result: &CheckResult, trace: &Trace) -> String {
    let report = CheckReport {
        schema: SCHEMA.into(),
        lock: trace.lock.clone(),
        setup: trace.setup.clone(),
        results: vec![result.clone()],
        warnings: Vec::new(),
    };
    terminal::check_table(&report, usize::MAX)
}

fn has_one_length(result: &CheckResult, trace: &Trace) {
    let length = trace.length();
    let what = format!("{} under {:?}", result.property, result.assumptions);
    assert_eq!(
        length,
        trace.steps.len(),
        "{what}: it ends where it violates"
    );
    assert_eq!(numbers(trace), (1..=length).collect::<Vec<_>>(), "{what}");
    let told = story(trace, &Story::default());
    let end = format!("✗ step {length} violates {}", result.property);
    assert!(told.contains(&end), "{what}: {told}");
    let table = table(result, trace);
    let cell = format!("violated in {length} steps");
    assert!(table.contains(&cell), "{what}: {table}");
    let file: serde_json::Value = serde_json::from_str(&to_json(trace)).unwrap();
    assert_eq!(file["steps"].as_array().unwrap().len(), length, "{what}");
    let json = serde_json::to_value(result).unwrap();
    let steps = json["trace"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), length, "{what}");
}

#[test]
fn every_trace_of_every_builtin_lock_has_one_length() {
    for name in builtin_names() {
        let file = builtin(name);
        let many = ["setnx-expire", "token"];
        let sets = match name {
            _ if many.contains(&name) => &SETS[..],
            "redisson-fair" => &["overrun"],
            _ if name.starts_with("redisson") => &ONE[..],
            "fenced-redlock" => &["", "client-crash"],
            _ => &FEW[..],
        };
        let mut violated = 0;
        for set in sets {
            let mut sizes = sizes(&file, 2);
            // Their worlds are large: two ticks, and three servers of five.
            if [
                "redisson-multi",
                "redisson-rw",
                "redisson-fair",
                "fenced-redlock",
            ]
            .contains(&name)
            {
                sizes.ttl_ticks = 2;
                sizes.nodes = sizes.nodes.min(3);
            }
            for result in check(&file, &sizes, set) {
                if let (Verdict::Violated, Some(trace)) = (result.verdict, &result.trace) {
                    has_one_length(&result, trace);
                    violated += 1;
                }
            }
        }
        assert!(violated > 1, "{name}: only {violated} traces");
    }
}

/// A deadlock is that nobody acquires. The story shows it: whoever still runs tries, in
/// vain, and no further fault is needed for that.
#[test]
fn a_deadlock_ends_with_the_attempts_of_everybody_who_runs() {
    let trace = violation("setnx-expire", "client-crash loss", "deadlock-freedom");
    let strikes = |step: &Step| matches!(step.event, Event::Fault { .. });
    let faults: Vec<usize> = (0..trace.steps.len())
        .filter(|at| strikes(&trace.steps[*at]))
        .collect();
    let [fault] = faults[..] else {
        panic!("one fault is enough: {faults:?}");
    };
    let attempts = trace.steps[fault..].iter().filter(|step| {
        let busy = Outcome::Busy;
        matches!(&step.event, Event::Outcome { op, outcome, .. } if op == "acquire" && *outcome == busy)
    });
    assert_ne!(attempts.count(), 0, "somebody tries after the fault");
}

#[test]
fn a_lock_that_never_gets_it_is_shown_trying() {
    let file = text("return { acquire = function() return busy() end, release = function() end }");
    let results = check(&file, &sizes(&file, 2), "");
    let stuck = results
        .iter()
        .find(|one| one.property == "deadlock-freedom");
    let stuck = stuck.expect("it is asked");
    let trace = stuck.trace.as_ref().expect("it is violated");
    assert!(!trace.steps.is_empty());
    has_one_length(stuck, trace);
}
