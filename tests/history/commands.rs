//! Commands that have an interval: what is read, what is refused, and that nothing
//! else takes them for something else.

use crate::history_support::*;

use lockproof_history::FindingVerdict::{NotObserved, Violated};
use lockproof_history::*;

#[track_caller]
fn refused(events: &str, line: u64, words: &str) {
    let text = spoken("", events);
    let error = try_judge(&text).expect_err("a judgement on a damaged history");
    assert_eq!(error.line, line, "{error}\n{text}");
    let said = error.to_string();
    assert!(said.contains(words), "no `{words}` in: {said}");
}

#[test]
fn many_commands_may_be_open_on_one_server() {
    let text = spoken(
        "",
        "1 c0 send 1 SETNX k 1\n2 c1 send 2 SETNX k 1\n2 c0 send 3 GET k\n3 c1 ok 2 0\n4 c0 ok 3 null\n5 c0 ok 1 1",
    );
    let judgement = judged(&text);
    assert!(judgement.warnings.is_empty(), "{:?}", judgement.warnings);
    assert_eq!(
        (judgement.operations, judgement.unknown),
        (0, 0),
        "a command is no operation of a client's"
    );
}

#[test]
fn ends_of_commands_are_as_strict_as_those_of_operations() {
    let sent = "1 c0 send 1 SETNX k 1\n";
    let after = |rest: &str| format!("{sent}{rest}");
    for (events, line, words) in [
        ("1 c0 ok 1 1".to_owned(), 2, "no command has the id 1"),
        ("1 c0 fail 1".to_owned(), 2, "no command has the id 1"),
        ("1 c0 info 1".to_owned(), 2, "no command has the id 1"),
        (
            after("2 c0 send 1 GET k"),
            3,
            "the id 1, which another had before",
        ),
        (
            after("2 c0 ok 1 1\n3 c1 send 1 GET k"),
            4,
            "which another had",
        ),
        (after("2 c0 ok 1 1\n3 c0 ok 1 1"), 4, "completed twice"),
        (after("2 c0 ok 1 1\n3 c0 info 1"), 4, "completed twice"),
        (after("2 c0 info 1\n3 c0 info 1"), 4, "completed twice"),
        (
            after("2 c0 info 1\n3 c0 ok 1 1\n4 c0 ok 1 1"),
            5,
            "completed twice",
        ),
        (
            after("2 c1 ok 1 1"),
            3,
            "by another client or to another server",
        ),
        (
            after("2 node-1 ok execute {\"client\":0,\"id\":1}"),
            3,
            "by another client or to another server",
        ),
        (
            "1 node-0 invoke execute {\"client\":0,\"argv\":[\"GET\",\"k\"]}".to_owned(),
            2,
            "lacks `id`",
        ),
        (
            "1 node-0 invoke execute {\"client\":0,\"id\":1}".to_owned(),
            2,
            "lacks `argv`",
        ),
        (
            "1 node-0 invoke execute {\"id\":1,\"argv\":[]}".to_owned(),
            2,
            "lacks `client`",
        ),
        (after("2 node-0 ok execute {\"client\":0}"), 3, "lacks `id`"),
        (after("2 node-0 ok execute {\"id\":1}"), 3, "lacks `client`"),
        (
            after("2 node-0 info execute {\"client\":0}"),
            3,
            "lacks `argv`",
        ),
        (
            after("2 node-0 info execute {\"client\":0,\"id\":1,\"argv\":[\"GET\",\"k\"]}"),
            3,
            "both an `id` and `argv`",
        ),
        (
            "1 node-0 invoke execute {\"client\":0,\"id\":-1,\"argv\":[]}".to_owned(),
            2,
            "`id` in its `value` has a wrong type",
        ),
        (
            "1 node-0 invoke execute {\"client\":0,\"id\":\"1\",\"argv\":[]}".to_owned(),
            2,
            "`id` in its `value` has a wrong type",
        ),
    ] {
        refused(&events, line, words);
    }
}

#[test]
fn an_id_of_somebody_elses_is_no_mistake() {
    let text = history("", "0 0 invoke acquire {\"id\":\"mine\"}\n1 0 ok acquire");
    assert!(judged(&text).warnings.is_empty());
    let text = history("", "0 0 invoke acquire {\"id\":\"mine\",\"key\":5}");
    let error = try_judge(&text).unwrap_err().to_string();
    assert!(error.contains("`key` in its"), "{error}");
}

#[test]
fn a_late_reply_and_one_after_a_crash_are_taken() {
    let late = judged(&spoken(
        "",
        "1 c0 send 1 SETNX k 1\n2 c0 info 1\n9 c0 ok 1 1",
    ));
    assert!(late.warnings.is_empty());
    let crash = "1 c0 send 1 SETNX k 1\n2 nemesis info crash {\"client\":0}\n3 c0 ok 1 1";
    let warnings = judged(&spoken("", crash)).warnings;
    assert!(
        warnings.len() == 1 && warnings[0].contains("after its client's crash"),
        "{warnings:?}"
    );
}

#[test]
fn a_history_that_was_torn_in_the_middle_of_a_command_is_judged() {
    let whole = spoken(
        "",
        "0 0 invoke acquire\n1 c0 send 1 SETNX k 1\n2 c0 ok 1 1\n3 0 ok acquire\n4 c1 send 2 DEL k\n5 c1 ok 2 1\n",
    );
    let whole = whole.trim_end();
    assert_eq!(
        finding(&judged(whole), "owner-only-release").verdict,
        Violated
    );
    for cut in 1..whole.len() {
        if whole.is_char_boundary(cut)
            && let Err(error) = try_judge(&whole[..cut])
        {
            assert_eq!(error.line, 1, "cut at {cut}: {error}");
        }
    }
}

#[test]
fn other_oracles_and_figures_do_not_see_commands() {
    let plain = "0 0 invoke acquire\n5 0 ok acquire {\"validity_ms\":50}\n6 0 invoke release\n9 0 ok release {\"effect\":true}";
    let with = "0 0 invoke acquire\n1 c0 send 1 SET k t NX\n2 c1 send 7 SET k u NX\n3 c0 ok 1 \"OK\"\n5 0 ok acquire {\"validity_ms\":50}\n6 0 invoke release\n7 c0 send 2 EVAL sha1:00 1 k t\n8 c0 ok 2 1\n9 0 ok release {\"effect\":true}";
    let (plain, with) = (judged(&spoken("", plain)), judged(&spoken("", with)));
    for finding in &plain.findings {
        let other = with
            .findings
            .iter()
            .find(|other| other.oracle == finding.oracle);
        if finding.oracle == "owner-only-release" {
            assert_eq!(other.unwrap().verdict, NotObserved);
        } else {
            assert_eq!(other, Some(finding));
        }
    }
    assert_eq!(with.operations, plain.operations);
}

#[test]
fn in_edn_each_command_is_a_process_of_its_own() {
    let text = ended(&spoken(
        "",
        "1 c0 send 1 GET k\n2 c1 send 2 GET k\n3 c0 ok 1 null\n4 c1 info 2\n5 node-0 info execute {\"client\":0,\"argv\":[\"GET\",\"k\"],\"reply\":null}",
    ));
    let mut edn = Vec::new();
    export_edn(&mut Reader::new(text.as_bytes()).unwrap(), &mut edn).unwrap();
    let edn = String::from_utf8(edn).unwrap();
    let processes: Vec<&str> = edn
        .lines()
        .map(|line| line.split([' ', ',']).nth(1).unwrap())
        .collect();
    assert_eq!(
        processes,
        [
            ":node-0.1",
            ":node-0.2",
            ":node-0.1",
            ":node-0.2",
            ":node-0",
            ":harness"
        ]
    );
}

#[test]
fn a_page_marks_the_client_that_sent_the_command_and_the_one_that_held() {
    let text = spoken(
        "",
        "0 0 invoke acquire\n1 c0 send 1 SETNX k 1\n2 c0 ok 1 1\n3 0 ok acquire\n4 c1 send 2 DEL k\n5 c1 ok 2 1",
    );
    let judgement = judged(&text);
    let drawn = timeline::timeline(Reader::new(text.as_bytes()).unwrap(), &judgement).unwrap();
    let rows: Vec<u32> = drawn.clients.iter().map(|row| row.client).collect();
    assert_eq!(rows, [0], "a server has no row");
    let mark = &drawn.violations[0];
    assert_eq!(mark.clients, [0, 1]);
    let acquires = drawn.latency.acquire.map(|acquire| acquire.count);
    assert_eq!(acquires, Some(1), "commands have no latency here");
}
