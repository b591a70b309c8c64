//! Trace files, and everything that is drawn from them.

use lockproof_report::diagram;
use lockproof_trace::{Story, Trace, TraceError, itf, parse, story, to_json, validate};

use super::{Form, Target, line_is_there, no_foreign_tag, printable, same};

pub const TARGET: Target = Target {
    name: "trace",
    run,
    form: Form::Json,
    seeds: &[("tests/fixtures", "json")],
    words: &[
        "client-pause",
        "client-resume",
        "lose",
        "delay",
        "link-cut",
        "node-restart",
        "failover",
        "split-brain",
        "replica-lags",
        "rejoin",
        "demotion",
        "everysec",
        "send",
        "execute",
        "deliver",
        "fail",
        "outcome",
        "held",
        "paused",
        "crashed",
        "acquiring",
        "bulk",
        "array",
    ],
    inputs: 400,
};

fn run(input: &[u8]) {
    match parse(input) {
        Ok(trace) => {
            round_trip(&trace);
            shown(&trace);
        }
        Err(error) => {
            let line = match &error {
                TraceError::NotJson { line, .. }
                | TraceError::Truncated { line, .. }
                | TraceError::Shape { line, .. } => *line,
                _ => 1,
            };
            // A type that is wrong as a whole has the line 0 in serde's words.
            line_is_there(line.max(1), input);
            assert!(!error.to_string().is_empty());
        }
    }
}

fn round_trip(trace: &Trace) {
    let text = to_json(trace);
    let again = parse(text.as_bytes()).expect("what was read and written can be read");
    same("written and read again", trace, &again);
    same("written twice", &text, &to_json(&again));
    same("validated twice", &validate(trace), &validate(&again));
    assert!(trace.length() <= trace.steps.len());
}

fn shown(trace: &Trace) {
    for width in [None, Some(20), Some(100)] {
        let mut options = Story::default();
        if let Some(width) = width {
            options.width = width;
        }
        printable("the story", &story(trace, &options));
    }
    let svg = diagram::svg(trace);
    no_foreign_tag("the diagram", &svg, 0);
    assert_eq!(
        itf(trace)["states"].as_array().map(Vec::len),
        Some(trace.steps.len() + 1)
    );
}
