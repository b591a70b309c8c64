//! The file: what is written is read, what is damaged is named with its line.

use crate::history_support::*;

use std::collections::BTreeMap;
use std::io::{BufReader, Read};

use lockproof_history::FindingVerdict::{NotObserved, Violated};
use lockproof_history::*;
use proptest::prelude::*;
use serde_json::{Value, json};

fn header() -> Header {
    Header {
        schema: SCHEMA.into(),
        lock: "token".into(),
        workload: "hold".into(),
        ttl_ms: 2_000,
        clients: 5,
        nodes: 1,
        seed: 7,
        scenario: Some("gc-pause".into()),
        reentrant: false,
        versions: BTreeMap::from([("redis".into(), "8.2.2".into())]),
        params: BTreeMap::from([("pause_ms".into(), 5_000.0)]),
    }
}

fn written(events: &[Event]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut writer = Writer::create(&mut text, &header()).unwrap();
    events
        .iter()
        .for_each(|event| writer.append(event).unwrap());
    text
}

#[track_caller]
fn refused(text: &str, line: u64, words: &[&str]) {
    let error = try_judge(text).expect_err("a judgement on a damaged history");
    assert_eq!(error.line, line, "{error}");
    for word in words {
        let said = error.to_string();
        assert!(said.contains(word), "no `{word}` in: {said}");
    }
}

/// Appends lines to a good header.
fn lines(lines: &str) -> String {
    format!("{HEADER}\n{lines}")
}

fn events(text: &str) -> String {
    history("", text)
}

#[test]
fn what_is_written_is_read() {
    let event = |process, kind, f: &str, value| Event {
        time: 5,
        process,
        kind,
        f: f.into(),
        value,
        error: (kind == Kind::Fail).then(|| "busy \"\n\u{1}".into()),
    };
    let all = [
        event(
            Process::Client(3),
            Kind::Invoke,
            "acquire",
            json!({"token": "t", "key": "k\u{2028}"}),
        ),
        event(Process::Client(3), Kind::Fail, "acquire", Value::Null),
        event(
            Process::Node(2),
            Kind::Info,
            "execute",
            json!({"client": 1, "argv": ["DEL", "k"], "reply": 1}),
        ),
        event(
            Process::Nemesis,
            Kind::Info,
            "pause",
            json!({"phase": "start", "fault": "pause"}),
        ),
        event(
            Process::Harness,
            Kind::Ok,
            "final-set",
            json!({"elements": [1, "a"]}),
        ),
    ];
    let text = written(&all);
    assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 6);
    let reader = Reader::new(text.as_slice()).unwrap();
    assert_eq!(reader.header(), &header());
    let read: Result<Vec<Event>, ReadError> = reader.collect();
    assert_eq!(read.unwrap(), all);
}

#[test]
fn each_line_is_on_its_way_when_append_returns() {
    /// Counts writes and flushes.
    struct Counting<'a>(&'a mut Vec<&'static str>);
    impl std::io::Write for Counting<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            assert_eq!(bytes.last(), Some(&b'\n'), "a part of a line");
            self.0.push("write");
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            self.0.push("flush");
            Ok(())
        }
    }
    let mut done = Vec::new();
    Writer::create(Counting(&mut done), &header()).unwrap();
    assert_eq!(done, ["write", "flush"]);
}

#[test]
fn a_torn_last_line_is_left_out_with_a_warning() {
    let whole = events("0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 1 ok acquire");
    let torn = format!("{whole}{{\"time\":4,\"process\":1,\"ty");
    let judgement = judged(&torn);
    assert_eq!(judgement.verdict(), Violated);
    assert_eq!(judgement.warnings.len(), 2);
    assert!(
        judgement.warnings[0].contains("line 6 is torn"),
        "{:?}",
        judgement.warnings
    );
    // Wherever it is cut, it is judged.
    for cut in HEADER.len() + 1..whole.len() {
        judged(&whole[..cut]);
    }
}

#[test]
fn a_torn_line_elsewhere_is_an_error() {
    refused(
        &lines("{\"time\":4,\"pro\n"),
        2,
        &["not JSON at column", "take the line out"],
    );
    refused(&lines("what?\n"), 2, &["not JSON"]);
}

#[test]
fn an_empty_file_and_a_torn_header_are_no_history() {
    refused("", 1, &["the history is empty", SCHEMA]);
    refused("\n\n", 1, &["empty"]);
    refused("{\"schema\":\"lockpr", 1, &["not JSON"]);
    refused("[]\n", 1, &["the header does not fit"]);
    refused("{\"lock\":1}\n", 1, &["names no `schema`"]);
    refused(
        "{\"schema\":\"lockproof.history/1\"}\n",
        1,
        &["missing field `lock`"],
    );
}

#[test]
fn another_version_is_refused() {
    let other = HEADER.replace("history/1", "history/2");
    refused(
        &other,
        1,
        &[
            "the schema is lockproof.history/2",
            "this version reads lockproof.history/1",
        ],
    );
}

#[test]
fn an_enormous_line_is_refused_without_being_kept() {
    let endless = format!("{HEADER}\n");
    let endless = endless.as_bytes().chain(std::io::repeat(b'x'));
    let reader = Reader::new(BufReader::new(endless)).unwrap();
    let error = judge(reader, &JudgeOptions::default()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("line 2: the line is longer than 64 MiB"),
        "{error}"
    );
}

#[test]
fn a_clients_clock_does_not_go_back() {
    refused(
        &events("5 0 invoke acquire\n4 0 ok acquire"),
        3,
        &[
            "client 0 goes back by 1000000 ns since its line 2",
            "monotonic",
        ],
    );
}

#[test]
fn lines_of_different_processes_may_stand_a_little_out_of_order() {
    // Client 1's hold is within client 0's, though its lines come later.
    let text = "0 0 invoke acquire\n10 0 ok acquire\n900 0 invoke release\n20 1 invoke acquire\n30 1 ok acquire\n40 1 invoke release\n900 0 ok release";
    assert_eq!(judged(&events(text)).verdict(), Violated);
    refused(
        &events(
            "0 0 invoke acquire\n1500 0 ok acquire\n2600 1 invoke acquire\n1400 2 invoke acquire",
        ),
        5,
        &["not later than line 3", "sort the lines by `time`"],
    );
}

#[test]
fn one_time_is_whole_however_many_lines_it_has() {
    // More lines of one time than are kept back otherwise.
    let notes = "1 harness info note\n".repeat(WINDOW_LINES + 10);
    let (own, other) = (
        "0 0 invoke acquire\n0 0 ok acquire\n",
        "1 1 invoke acquire\n1 1 ok acquire\n",
    );
    let release = "1 0 invoke release\n1 0 ok release\n";
    for text in [
        format!("{notes}{other}{release}"),
        format!("{release}{notes}{other}"),
    ] {
        // The holds only touch, whichever line comes first.
        let judgement = judged(&events(&format!("{own}{text}2 harness info note")));
        let found = finding(&judgement, "mutual-exclusion-belief");
        assert_eq!(found.verdict, NotObserved, "{found:#?}");
    }
    // What has been judged is over, also for a line of the very same time.
    let late = events(&format!("{notes}2 harness info note\n1 0 invoke acquire"));
    let line = WINDOW_LINES as u64 + 13;
    refused(&late, line, &["not later than line", "by 0 ns"]);
}

#[test]
fn a_process_does_one_thing_at_a_time() {
    refused(
        &events("0 0 invoke acquire\n1 0 invoke acquire"),
        3,
        &["client 0 invokes while its operation of line 2 is open"],
    );
}

#[test]
fn a_completion_needs_its_invocation() {
    let without = "client 0 completes an operation that it has not invoked";
    refused(&events("0 0 ok acquire"), 2, &[without]);
    refused(
        &events("0 0 invoke acquire\n1 0 ok acquire\n2 0 ok acquire"),
        4,
        &[without],
    );
    refused(&events("0 0 info release"), 2, &[without]);
    refused(
        &events("0 0 invoke acquire\n1 0 ok release"),
        3,
        &["completes another `f` than the one that it invoked in line 2"],
    );
}

#[test]
fn an_operation_without_an_end_is_counted_as_unknown() {
    let judgement = judged(&events("0 0 invoke acquire\n1 1 invoke read"));
    assert_eq!((judgement.operations, judgement.unknown), (2, 2));
}

#[test]
fn a_completion_after_the_crash_stays_unknown_and_is_told() {
    let judgement = judged(&events(
        "0 0 invoke acquire\n1 nemesis info crash {\"client\":0}\n2 0 ok acquire\n3 0 invoke acquire\n4 0 fail acquire",
    ));
    assert_eq!(judgement.unknown, 1);
    assert!(
        judgement.warnings[0].contains("after its crash"),
        "{:?}",
        judgement.warnings
    );
}

#[test]
fn fields_that_nobody_knows_are_told_and_ignored() {
    let judgement = judged(&lines(
        "{\"time\":0,\"process\":0,\"type\":\"invoke\",\"f\":\"acquire\",\"thread\":9}\n\
         {\"time\":1,\"process\":0,\"type\":\"ok\",\"f\":\"acquire\",\"value\":{\"validty_ms\":5}}\n\
         {\"time\":2,\"process\":0,\"type\":\"invoke\",\"f\":\"dance\",\"value\":{\"partner\":5}}\n",
    ));
    assert_eq!(judgement.verdict(), NotObserved);
    let [first, second] = judgement.warnings.as_slice() else {
        panic!("{:?}", judgement.warnings);
    };
    assert!(
        first.contains("line 2: the event has a field `thread`"),
        "{first}"
    );
    assert!(second.contains("(is `validity_ms` meant?)"), "{second}");
}

#[test]
fn what_an_event_needs_is_asked_for() {
    for (event, word) in [
        ("0 0 invoke write", "lacks `read`"),
        ("0 0 invoke write {\"read\":1}", "lacks `wrote`"),
        ("0 0 invoke add", "lacks `element`"),
        ("0 0 invoke draw {}", "lacks `round`"),
        (
            "0 0 invoke acquire {\"key\":5}",
            "`key` in its `value` has a wrong type",
        ),
        (
            "0 0 invoke acquire 5",
            "`value` in its `value` has a wrong type",
        ),
        (
            "0 0 invoke write {\"read\":0.5,\"wrote\":1}",
            "`read` in its `value` has a wrong type",
        ),
        ("0 nemesis info crash", "lacks `client`"),
        ("0 node-0 info execute {\"client\":0}", "lacks `argv`"),
        (
            "0 harness ok final-set {\"elements\":[{}]}",
            "`elements` in its",
        ),
        (
            "0 harness ok final-keys {\"keys\":[{\"node\":0}]}",
            "`keys` in its",
        ),
        ("0 somebody info x", "a client's number"),
        ("0 0 begin acquire", "unknown variant `begin`"),
    ] {
        refused(&events(event), 2, &[word]);
    }
    refused(
        &lines("{\"process\":0,\"type\":\"info\",\"f\":\"x\"}\n"),
        2,
        &["missing field `time`"],
    );
    refused(
        &lines("{\"time\":-1,\"process\":0,\"type\":\"info\",\"f\":\"x\"}\n"),
        2,
        &["`-1`"],
    );
}

#[test]
fn faults_and_stalls_are_counted() {
    let judgement = judged(&events(
        "0 nemesis info pause {\"phase\":\"start\",\"fault\":\"pause\"}\n1 0 info stall {\"gap_ms\":12.5}\n2 nemesis info pause {\"phase\":\"end\",\"fault\":\"pause\"}",
    ));
    assert_eq!(judgement.faults, BTreeMap::from([("pause".into(), 1)]));
    assert_eq!((judgement.stalls, judgement.stall_max_ms), (1, 12.5));
}

#[test]
fn a_judgement_is_the_same_twice_and_survives_json() {
    let text = events("0 0 invoke acquire\n1 0 ok acquire\n2 1 invoke acquire\n3 1 ok acquire");
    let judgement = judged(&text);
    let json = serde_json::to_string(&judgement).unwrap();
    assert_eq!(json, serde_json::to_string(&judged(&text)).unwrap());
    assert_eq!(serde_json::from_str::<Judgement>(&json).unwrap(), judgement);
}

/// What an export of these events says.
fn edn(events: &[Event]) -> String {
    let mut text = String::from_utf8(written(events)).unwrap();
    let last = events.iter().map(|event| event.time).max();
    text += &(end(last.unwrap_or_default(), true) + "\n");
    let mut out = Vec::new();
    let count = export_edn(&mut Reader::new(text.as_bytes()).unwrap(), &mut out).unwrap();
    assert_eq!(count, events.len() as u64 + 1);
    let out = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = out.split_inclusive('\n').collect();
    let (end, before) = lines.split_last().unwrap();
    assert!(end.starts_with("{:process :harness, :type :info, :f :end, :value {:complete true}"));
    before.concat()
}

#[test]
fn edn_is_what_jepsens_tools_read() {
    let event = |time, process, f: &str, value| Event {
        time,
        process,
        kind: Kind::Info,
        f: f.into(),
        value,
        error: None,
    };
    let mut failed = event(
        9,
        Process::Client(4),
        "acquire",
        json!({"fence": null, "n": [1, -2.5, true]}),
    );
    failed.kind = Kind::Fail;
    failed.error = Some("busy".into());
    let out = edn(&[
        failed,
        event(
            10,
            Process::Nemesis,
            "pause",
            json!({"phase": "start", "two words": u64::MAX}),
        ),
        event(
            11,
            Process::Node(1),
            "9 lives",
            json!("a\"\\\n\t\r\u{7}\u{2028}é"),
        ),
    ]);
    let expected = r#"{:process 4, :type :fail, :f :acquire, :value {:fence nil, :n [1 -2.5 true]}, :error "busy", :time 9, :index 0}
{:process :nemesis, :type :info, :f :pause, :value {:phase "start", "two words" 18446744073709551615N}, :time 10, :index 1}
{:process :node-1, :type :info, :f "9 lives", :value "a\"\\\n\t\r\u0007\u2028é", :time 11, :index 2}
"#;
    assert_eq!(out, expected);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_line_makes_the_judge_panic(text in "\\PC{0,60}") {
        let _ = try_judge(&lines(&text));
        let _ = try_judge(&lines(&format!("{{\"time\":0,\"process\":0,\"type\":\"ok\",\"f\":\"read\",\"value\":{text}}}\n")));
    }

    #[test]
    fn extreme_numbers_do_no_harm(a in any::<i64>(), b in any::<i64>(), time in any::<u64>()) {
        let before = a.saturating_sub(1);
        let event = |process, kind: &str, f: &str, value: String| {
            format!("{{\"time\":{time},\"process\":{process},\"type\":\"{kind}\",\"f\":\"{f}\",\"value\":{value}}}\n")
        };
        let text = [
            event("\"harness\"", "info", "setup", format!("{{\"coupons\":{},\"counter\":{b}}}", a.max(0))),
            event("0", "invoke", "acquire", "null".into()),
            event("0", "ok", "acquire", format!("{{\"validity_ms\":{a},\"fence\":{b}}}")),
            event("0", "invoke", "write", format!("{{\"read\":{before},\"wrote\":{}}}", before + 1)),
            event("0", "ok", "write", "null".into()),
            event("0", "invoke", "take", "null".into()),
            event("0", "ok", "take", format!("{{\"read\":{a}}}")),
            event("0", "invoke", "draw", format!("{{\"round\":{a}}}")),
            event("0", "ok", "draw", "{\"winners\":[]}".into()),
            event("\"harness\"", "ok", "final-counter", format!("{{\"value\":{a}}}")),
            event("\"harness\"", "ok", "final-coupons", format!("{{\"left\":{b}}}")),
        ].concat();
        judged(&lines(&text));
    }

    #[test]
    fn edn_strings_stay_on_their_line_and_mean_what_they_meant(text in any::<String>()) {
        let out = edn(&[Event {
            time: 0,
            process: Process::Client(0),
            kind: Kind::Ok,
            f: "f".into(),
            value: json!(text),
            error: None,
        }]);
        prop_assert_eq!(out.lines().count(), 1);
        let body = out.strip_prefix("{:process 0, :type :ok, :f :f, :value ").unwrap();
        let body = body.trim_end().strip_suffix(", :time 0, :index 0}").unwrap();
        // EDN's escapes, as far as they are written, are JSON's.
        prop_assert_eq!(serde_json::from_str::<String>(body).unwrap(), text);
    }
}

/// The blocks of docs/history.md after a fence that names this language.
fn documented(language: &str) -> Vec<String> {
    let page = include_str!("../../docs/history.md");
    let blocks = page.split("```").skip(1).step_by(2);
    let of_language = blocks.filter_map(|block| block.strip_prefix(language));
    of_language
        .map(|block| block.trim_start().to_owned())
        .collect()
}

#[test]
fn the_documented_histories_get_the_documented_verdicts() {
    let [pause, release, sent] = documented("jsonl").try_into().expect("three histories");
    let violated = |text: &str| -> Vec<String> {
        let judgement = judged(text);
        assert_eq!(judgement.warnings, Vec::<String>::new());
        let findings = judgement.findings.into_iter();
        let bad = findings.filter(|finding| finding.verdict == Violated);
        bad.map(|finding| finding.oracle).collect()
    };
    assert_eq!(violated(&pause), ["mutual-exclusion-belief"]);
    assert_eq!(violated(&release), ["lost-updates", "owner-only-release"]);
    assert_eq!(violated(&sent), ["owner-only-release"]);
    // Each line is an event as other programs would parse it.
    for text in [&pause, &release, &sent] {
        let events: Result<Vec<Event>, ReadError> = Reader::new(text.as_bytes()).unwrap().collect();
        assert_eq!(events.unwrap().len() + 1, text.lines().count());
    }
}

#[test]
fn the_documented_edn_is_what_is_written() {
    let [shown] = documented("edn").try_into().expect("one block");
    let event = |time, process, kind, f: &str, value| Event {
        time,
        process,
        kind,
        f: f.into(),
        value,
        error: None,
    };
    let invoke = json!({"token": "t0", "key": "lock:a"});
    let events = [
        event(
            1_000_000,
            Process::Client(0),
            Kind::Invoke,
            "acquire",
            invoke,
        ),
        event(
            1_500_000,
            Process::Nemesis,
            Kind::Info,
            "client-pause",
            json!({"phase": "start"}),
        ),
    ];
    assert_eq!(edn(&events), shown);
}

#[test]
fn the_page_lists_every_oracle() {
    let page = include_str!("../../docs/history.md");
    for oracle in ORACLES {
        assert!(page.contains(&format!("| `{oracle}` |")), "{oracle}");
    }
}
