//! `lockproof history`, as its users run it: exit codes, and file and line of
//! what is wrong.

mod cli_support;
mod history_support;
use cli_support::*;
use history_support::history;

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
        place.write("run.jsonl", &history("", events));
        let said = place.run("history check run.jsonl");
        assert_eq!(said.code, Some(code), "{said:#?}");
        assert!(said.out.contains(says), "{says}: {said:#?}");
        assert_eq!(said.err, "");
        let json = place.run("history check run.jsonl --format json");
        assert_eq!(json.code, Some(code));
        let judgement: lockproof::history::Judgement = serde_json::from_str(&json.out).unwrap();
        assert_eq!(judgement.findings.len(), lockproof::history::ORACLES.len());
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
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert!(
        said.err.starts_with("warning: torn.jsonl: line 8 is torn"),
        "{said:#?}"
    );
}

#[test]
fn an_export_goes_to_standard_output_or_into_a_file() {
    let place = Place::new();
    place.write("run.jsonl", &history("", HANDOVER));
    let said = place.run("history export --edn run.jsonl");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert_eq!(said.out.lines().count(), 6);
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
