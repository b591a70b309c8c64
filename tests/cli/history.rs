//! `lockproof history`, as its users run it: exit codes, and file and line of
//! what is wrong.

use crate::cli_support::*;
use crate::history_support::{end, ended, history};

const HANDOVER: &str = "0 0 invoke acquire\n1 0 ok acquire\n2 0 invoke release\n3 0 ok release {\"effect\":true}\n4 1 invoke acquire\n5 1 ok acquire\n";

#[test]
fn the_exit_code_is_the_worst_verdict() {
    let place = Place::new();
    for (events, code, says) in [
        ("", NOTHING, "not applicable (no client acquired)"),
        (
            HANDOVER,
            FINE,
            "mutual-exclusion-belief     not observed in 2",
        ),
        (
            &format!("{HANDOVER}5 2 invoke acquire\n6 2 info acquire"),
            UNKNOWN,
            "unknown",
        ),
        (
            &format!("{HANDOVER}6 2 invoke acquire\n7 2 ok acquire"),
            VIOLATION,
            "run.jsonl:9: client 2 acquired (line 9) while client 1 held (line 7)",
        ),
    ] {
        place.write("run.jsonl", &ended(&history("", events)));
        let said = place.run("history check run.jsonl");
        assert_eq!(said.code, Some(code), "{said:#?}");
        assert!(said.out.contains(says), "{says}: {said:#?}");
        assert_eq!(said.err, "");
        let json = place.run("history check run.jsonl --format json");
        assert_eq!(json.code, Some(code));
        let judgement: lockproof_history::Judgement = serde_json::from_str(&json.out).unwrap();
        assert_eq!(judgement.findings.len(), lockproof_history::ORACLES.len());
    }
}

#[test]
fn a_bad_history_is_named_with_file_and_line() {
    let place = Place::new();
    place.write(
        "bad.jsonl",
        &history("", "0 0 invoke acquire\n1 0 invoke release"),
    );
    let words = "bad.jsonl:3: client 0 invokes while its operation of line 2 is open";
    place.run("history check bad.jsonl").failed(USAGE, &[words]);
    place.write("empty.jsonl", "");
    place
        .run("history check empty.jsonl")
        .failed(USAGE, &["empty.jsonl:1: the history is empty"]);
    place
        .run("history export --edn empty.jsonl")
        .failed(USAGE, &["empty.jsonl:1: the history is empty"]);
    place
        .run("history check nowhere.jsonl")
        .failed(USAGE, &["failed to read nowhere.jsonl"]);
}

#[test]
fn a_torn_history_is_judged_with_a_warning_beside_the_answer() {
    let place = Place::new();
    place.write(
        "torn.jsonl",
        &format!("{}{{\"time\":9", history("", HANDOVER)),
    );
    let said = place.run("history check torn.jsonl");
    assert_eq!(said.code, Some(UNKNOWN), "{said:#?}");
    assert!(
        said.err.starts_with("warning: torn.jsonl: line 8 is torn"),
        "{said:#?}"
    );
}

#[test]
fn an_export_goes_to_standard_output_or_into_a_file() {
    let place = Place::new();
    place.write("run.jsonl", &ended(&history("", HANDOVER)));
    let said = place.run("history export --edn run.jsonl");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert_eq!(said.err, "");
    assert_eq!(said.out.lines().count(), 7);
    assert!(
        said.out.starts_with(
            "{:process 0, :type :invoke, :f :acquire, :value nil, :time 0, :index 0}\n"
        )
    );
    let filed = place.run("history export --edn run.jsonl --out run.edn");
    assert_eq!((filed.code, filed.out.as_str()), (Some(FINE), ""));
    let written = std::fs::read_to_string(place.path("run.edn")).unwrap();
    assert_eq!(written, said.out);
    place
        .run("history export --edn run.jsonl --out run.jsonl")
        .failed(USAGE, &["is the history itself"]);
    assert_eq!(place.run("history export run.jsonl").code, Some(USAGE));
}

#[test]
fn a_history_without_its_end_is_unknown_unless_it_shows_a_violation() {
    let place = Place::new();
    let double = format!("{HANDOVER}6 2 invoke acquire\n7 2 ok acquire");
    for (events, last, code, says) in [
        (HANDOVER, None, UNKNOWN, "it has no end"),
        (HANDOVER, Some(false), UNKNOWN, "the run was interrupted"),
        (HANDOVER, Some(true), FINE, ""),
        ("", None, UNKNOWN, "it has no end"),
        ("", Some(true), NOTHING, ""),
        (double.as_str(), None, VIOLATION, "it has no end"),
        (
            double.as_str(),
            Some(false),
            VIOLATION,
            "the run was interrupted",
        ),
    ] {
        let last = last.map_or(String::new(), |complete| end(7_000_000, complete) + "\n");
        let text = history("", events) + &last;
        place.write("run.jsonl", text.trim_start());
        let said = place.run("history check run.jsonl");
        assert_eq!(said.code, Some(code), "{events} {last}: {said:#?}");
        assert!(said.err.contains(says), "{said:#?}");
        assert_eq!(said.err.is_empty(), says.is_empty(), "{said:#?}");
        assert!(
            says.is_empty() || !said.out.contains("  not observed"),
            "{said:#?}"
        );
        let json = place.run("history check run.jsonl --format json");
        assert_eq!(json.code, Some(code));
        let judgement: serde_json::Value = serde_json::from_str(&json.out).unwrap();
        assert_eq!(
            judgement["end"] == "complete",
            says.is_empty(),
            "{judgement}"
        );
    }
}

#[test]
fn an_export_and_a_page_say_that_the_end_is_missing() {
    let place = Place::new();
    place.write("run.jsonl", &history("", HANDOVER));
    let said = place.run("history export --edn run.jsonl");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert!(said.err.contains("incomplete: it has no end"), "{said:#?}");
    let last = said.out.lines().last().unwrap();
    let start = "{:process :harness, :type :info, :f :end, :value {:complete false}";
    assert!(last.starts_with(start), "{last}");
    let page = place.run("history page run.jsonl");
    assert_eq!(page.code, Some(FINE), "{page:#?}");
    let html = std::fs::read_to_string(place.path("run.html")).unwrap();
    assert!(html.contains("incomplete: it has no end"));
    assert!(!html.contains("not observed in 2<"));
}

#[test]
fn lines_behind_the_end_are_another_runs() {
    let place = Place::new();
    let whole = ended(&history("", HANDOVER));
    let twice = format!(
        "{whole}{}",
        whole.lines().skip(1).collect::<Vec<_>>().join("\n")
    );
    place.write("run.jsonl", &twice);
    place.run("history check run.jsonl").failed(
        USAGE,
        &["run.jsonl:9: it stands behind the end of the history in line 8"],
    );
    place.write("client.jsonl", &whole.replace("\"harness\"", "0"));
    place
        .run("history check client.jsonl")
        .failed(USAGE, &["only the harness ends a history"]);
    place.write("bare.jsonl", &whole.replace("{\"complete\":true}", "{}"));
    place
        .run("history check bare.jsonl")
        .failed(USAGE, &["lacks `complete`"]);
}
