//! The parts of a divided run, as a list of reports: joined, and added up.

use lockproof_report::{Report, json, merge, parse};
use serde_json::Value;

use super::{Form, Target, report, same};

pub const TARGET: Target = Target {
    name: "merge",
    run,
    form: Form::Json,
    seeds: &[],
    words: &[
        "partition",
        "index",
        "of",
        "1/2",
        "2/2",
        "0/0",
        "1/0",
        "3/2",
        "1/4294967295",
        "seed",
        "config",
        "environment",
        "tool_version",
        "counterexample",
        "id",
    ],
    inputs: 60,
};

fn run(input: &[u8]) {
    let Ok(Value::Array(parts)) = serde_json::from_slice(input) else {
        return;
    };
    let parts: Vec<Report> = parts
        .iter()
        .take(6)
        .filter_map(|part| parse(&part.to_string()).ok())
        .collect();
    let joined = merge(parts.clone(), |id| format!("replay {id}"));
    let backwards = merge(parts.iter().rev().cloned().collect(), |id| {
        format!("replay {id}")
    });
    match (&joined, &backwards) {
        (Ok(whole), Ok(other)) => {
            same("in any order", &json(whole).ok(), &json(other).ok());
            adds_up(whole, &parts);
        }
        // Which complaint comes first may depend on the order.
        (Err(error), Err(_)) => assert!(!error.to_string().is_empty()),
        _ => panic!("merged in one order and not in the other"),
    }
}

fn adds_up(whole: &Report, parts: &[Report]) {
    report::totals(whole);
    let all = whole.totals();
    let sum = |figure: fn(&Report) -> usize| parts.iter().map(figure).sum::<usize>();
    assert_eq!(all.cells, sum(|part| part.cells.len()));
    assert_eq!(all.holds, sum(|part| part.totals().holds));
    assert_eq!(all.violated, sum(|part| part.totals().violated));
    assert_eq!(all.unexpected, sum(|part| part.totals().unexpected));
    assert_eq!(all.contradicted, sum(|part| part.totals().contradicted));
    assert_eq!(whole.scenarios.len(), sum(|part| part.scenarios.len()));
    assert!(whole.partition.is_none());
    let written = json(whole).expect("it can be written");
    same(
        "written and read again",
        whole,
        &parse(&written).expect("and read again"),
    );
}
