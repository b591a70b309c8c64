//! The text for adapter authors says what the code does: every example in it is
//! a message that both sides accept, and every message has an example.

use std::collections::BTreeSet;

use lockproof_lab::client::protocol::{FromClient, LINE_BYTES_MAX, PROTOCOL, ToClient};

const DOC: &str = include_str!("../../docs/adapter-protocol.md");

/// The lines of all fenced blocks that are marked with `mark`.
fn examples(mark: &str) -> Vec<&'static str> {
    let fence = format!("```json {mark}");
    let mut lines = Vec::new();
    let mut inside = false;
    for line in DOC.lines() {
        if line.starts_with("```") {
            inside = line == fence;
        } else if inside {
            lines.push(line);
        }
    }
    lines
}

fn types(lines: &[&str]) -> BTreeSet<String> {
    lines
        .iter()
        .map(|line| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["type"].as_str().unwrap().to_string()
        })
        .collect()
}

/// Every name that serde knows for an enum, from the error that lists them.
fn known<T: serde::de::DeserializeOwned + std::fmt::Debug>() -> BTreeSet<String> {
    let error = serde_json::from_str::<T>(r#"{"type":"?"}"#).unwrap_err();
    let text = error.to_string();
    let list = text.split("expected one of ").nth(1).unwrap();
    list.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_string)
        .collect()
}

#[test]
fn every_documented_request_parses_and_survives_a_round_trip() {
    let lines = examples("to-client");
    for line in &lines {
        let message: ToClient =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let again = serde_json::to_string(&message).unwrap();
        assert_eq!(message, serde_json::from_str(&again).unwrap());
    }
    assert_eq!(types(&lines), known::<ToClient>());
}

#[test]
fn every_documented_answer_parses_and_survives_a_round_trip() {
    let lines = examples("from-client");
    for line in &lines {
        let message: FromClient =
            serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        let again = serde_json::to_string(&message).unwrap();
        assert_eq!(message, serde_json::from_str(&again).unwrap());
    }
    assert_eq!(types(&lines), known::<FromClient>());
}

#[test]
fn the_text_names_the_version_and_the_limits_of_the_code() {
    assert!(DOC.contains(&format!("# The adapter protocol, `{PROTOCOL}`")));
    assert_eq!(LINE_BYTES_MAX, 1024 * 1024, "the text says 1 MiB");
    let queued = lockproof_lab::client::ClientLimits::default().queued_max;
    assert_eq!(queued, 4096, "the text says 4,096");
}

#[test]
fn a_misspelt_field_is_refused() {
    let good = r#"{"type":"renewed","validity_ms":5}"#;
    assert!(serde_json::from_str::<FromClient>(good).is_ok());
    let bad = r#"{"type":"renewed","validty_ms":5}"#;
    assert!(serde_json::from_str::<FromClient>(bad).is_err());
}
