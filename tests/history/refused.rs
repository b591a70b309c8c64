//! What contradicts itself is refused with its line, or told.

use crate::history_support::*;

use lockproof_history::FindingVerdict::{NotObserved, Violated};
use lockproof_history::{Event, ExportError, ReadError, Reader, export_edn};

#[track_caller]
fn refused(text: &str, line: u64, words: &str) {
    let error = try_judge(text).expect_err("a judgement on a history that contradicts itself");
    let said = error.to_string();
    assert_eq!(error.line, line, "{said}\n{text}");
    assert!(said.contains(words), "no `{words}` in: {said}");
}

fn lines(lines: &str) -> String {
    format!("{HEADER}\n{lines}\n")
}

/// The header with these fields in front.
fn header(fields: &str) -> String {
    HEADER.replacen('{', &format!("{{{fields},"), 1)
}

/// The header with another value of this field.
fn changed(field: &str, value: &str) -> String {
    history(&format!("\"{field}\":{value}"), "")
}

#[test]
fn a_name_stands_once_in_an_object_at_any_depth() {
    let note = r#"{"time":1,"process":"nemesis","type":"info","f":"pause","value":VALUE}"#;
    for (line, name) in [
        (
            r#"{"time":1,"time":2,"process":0,"type":"invoke","f":"acquire"}"#.to_owned(),
            "time",
        ),
        (
            r#"{"time":1,"process":0,"type":"invoke","f":"acquire","f":"release"}"#.into(),
            "f",
        ),
        (
            r#"{"time":1,"process":0,"type":"invoke","f":"acquire","value":{"key":"a"},"value":{}}"#
                .into(),
            "value",
        ),
        (
            r#"{"time":1,"process":0,"type":"invoke","f":"acquire","value":{"key":"a","key":"b"}}"#
                .into(),
            "key",
        ),
        (
            // Also if they are equal, or null, or written in two ways.
            r#"{"time":1,"process":0,"type":"invoke","f":"acquire","value":{"key":"a","k\u0065y":"a"}}"#.into(),
            "key",
        ),
        (
            r#"{"time":1,"process":0,"type":"invoke","f":"acquire","mine":1,"mine":1}"#.into(),
            "mine",
        ),
        (
            r#"{"time":1,"process":0,"type":"invoke","f":"acquire","value":{"mine":null,"mine":1}}"#.into(),
            "mine",
        ),
        (
            r#"{"time":1,"process":0,"type":"invoke","f":"acquire","error":{"a":1,"a":2}}"#.into(),
            "a",
        ),
        (
            r#"{"time":1,"process":"harness","type":"ok","f":"final-keys","value":{"keys":[{"node":0,"key":"k","pttl_ms":-1,"pttl_ms":5}]}}"#.into(),
            "pttl_ms",
        ),
        (
            r#"{"time":1,"process":"node-0","type":"info","f":"execute","value":{"client":0,"argv":["GET","k"],"reply":{"int":1,"int":2}}}"#.into(),
            "int",
        ),
        (
            r#"{"time":1,"process":"node-0","type":"info","f":"execute","value":{"client":0,"argv":["GET","k"],"reply":{"x":1,"x":2}}}"#.into(),
            "x",
        ),
        (
            r#"{"time":1,"process":"node-0","type":"info","f":"execute","value":{"client":0,"argv":["GET","k"],"reply":[[{"x":1,"x":2}]]}}"#.into(),
            "x",
        ),
        (
            r#"{"time":1,"process":0,"type":"ok","f":"read","value":{"value":{"x":1,"x":2}}}"#.into(),
            "x",
        ),
        (note.replace("VALUE", r#"{"fault":"a","fault":"b"}"#), "fault"),
        (note.replace("VALUE", r#"{"details":{"a":[{"b":1,"b":1}]}}"#), "b"),
        (note.replace("VALUE", r#"[{"b":1,"b":1}]"#), "b"),
    ] {
        let words = format!("the name `{name}` stands twice in one object");
        refused(&lines(&line), 2, &words);
    }
    for text in [
        header(r#""ttl_ms":5"#),
        header(r#""params":{"a":1,"a":2}"#),
        header(r#""mine":{"a":1,"a":2}"#),
    ] {
        refused(&format!("{text}\n"), 1, "stands twice in one object");
    }
}

#[test]
fn an_export_refuses_names_that_stand_twice_too() {
    let text =
        lines(r#"{"time":1,"process":0,"type":"info","f":"x","value":{"a":[{"b":1,"b":2}]}}"#);
    let mut reader = Reader::new(text.as_bytes()).unwrap();
    let error = export_edn(&mut reader, Vec::new()).unwrap_err();
    assert!(
        matches!(&error, ExportError::Read(error) if error.line == 2),
        "{error}"
    );
    // The same value without the second name.
    let text = text.replace(",\"b\":2", "");
    let events: Result<Vec<Event>, ReadError> = Reader::new(text.as_bytes()).unwrap().collect();
    assert_eq!(
        events.unwrap()[0].value,
        serde_json::json!({"a": [{"b": 1}]})
    );
}

#[test]
fn numbers_that_do_not_go_together_are_refused() {
    for (events, line, words) in [
        (
            "0 0 invoke take\n1 0 ok take {\"read\":5,\"left\":9}",
            3,
            "it read 5, and its `left` is 9 where it should be one less",
        ),
        (
            "0 0 invoke take\n1 0 ok take {\"read\":5,\"left\":5}",
            3,
            "one less",
        ),
        (
            "0 0 invoke write {\"read\":5,\"wrote\":9}",
            2,
            "it read 5, and its `wrote` is 9 where it should be one more",
        ),
        (
            "0 0 invoke write {\"read\":9223372036854775807,\"wrote\":0}",
            2,
            "one more",
        ),
        (
            "0 0 invoke write {\"read\":5,\"wrote\":6}\n1 0 ok write {\"read\":6,\"wrote\":6}",
            3,
            "one more",
        ),
        (
            "0 harness info setup {\"coupons\":-1}",
            2,
            "`coupons` in its `value` has a wrong type or range",
        ),
        (
            "0 0 info stall {\"gap_ms\":-1}",
            2,
            "`gap_ms` in its `value` has a wrong type or range",
        ),
        (
            "0 harness ok final-keys {\"keys\":[],\"after_ms\":-5}",
            2,
            "`after_ms` in its `value` has a wrong type or range",
        ),
        (
            "0 harness ok final-keys {\"keys\":[{\"node\":0,\"key\":\"k\",\"pttl_ms\":-2}]}",
            2,
            "`keys` in its `value` has a wrong type or range",
        ),
        (
            "0 harness info setup {\"coupons\":1}\n1 harness info setup {\"coupons\":1}",
            3,
            "told a second time (`coupons`, first in line 2)",
        ),
        (
            "0 harness ok setup {\"coupons\":1}",
            2,
            "its type is `info`",
        ),
        ("0 0 ok lost", 2, "its type is `info`"),
        (
            "0 nemesis fail crash {\"client\":0}",
            2,
            "its type is `info`",
        ),
        ("0 0 invoke stall {\"gap_ms\":1}", 2, "its type is `info`"),
        ("0 node-07 info execute", 2, "a client's number"),
        ("0 node-+7 info execute", 2, "a client's number"),
    ] {
        refused(&history("", events), line, words);
    }
    // Two halves of the start are told once each.
    let halves = "0 harness info setup {\"coupons\":1}\n0 harness info setup {\"counter\":1}";
    judged(&history("", halves));
}

#[test]
fn an_end_that_contradicts_its_beginning_is_refused() {
    for (invoke, end, field) in [
        (
            "draw {\"round\":1}",
            "ok draw {\"round\":2,\"winners\":[]}",
            "round",
        ),
        ("draw {\"round\":1}", "fail draw {\"round\":2}", "round"),
        (
            "add {\"element\":1}",
            "ok add {\"element\":\"1\"}",
            "element",
        ),
        (
            "write {\"read\":1,\"wrote\":2}",
            "ok write {\"read\":2,\"wrote\":3}",
            "read",
        ),
        (
            "write {\"read\":1,\"wrote\":2}",
            "ok write {\"wrote\":3}",
            "wrote",
        ),
        (
            "write {\"read\":1,\"wrote\":2,\"fence\":4}",
            "info write {\"fence\":5}",
            "fence",
        ),
        (
            "acquire {\"key\":\"a\"}",
            "ok acquire {\"key\":\"b\"}",
            "key",
        ),
        ("acquire", "ok acquire {\"key\":\"b\"}", "key"),
        (
            "release {\"key\":\"a\"}",
            "ok release {\"key\":\"b\"}",
            "key",
        ),
    ] {
        let events = format!("0 0 invoke {invoke}\n1 0 {end}");
        let words = format!("its `{field}` is not that of the invocation in line 2");
        refused(&history("", &events), 3, &words);
    }
    // Saying the same again is no mistake, and not even worth a word.
    for events in [
        "0 0 invoke draw {\"round\":1}\n1 0 ok draw {\"round\":1,\"winners\":[]}",
        "0 0 invoke add {\"element\":1}\n1 0 ok add {\"element\":1}",
        "0 0 invoke write {\"read\":1,\"wrote\":2}\n1 0 ok write {\"read\":1,\"wrote\":2}",
        "0 0 invoke acquire {\"key\":\"a\"}\n1 0 ok acquire {\"key\":\"a\",\"fence\":3}\n2 0 invoke release\n3 0 ok release {\"key\":\"a\"}",
    ] {
        let warnings = judged(&history("", events)).warnings;
        assert!(warnings.is_empty(), "{warnings:?}");
    }
}

#[test]
fn a_header_that_no_run_can_have_is_refused() {
    refused(&changed("ttl_ms", "-1"), 1, "`ttl_ms` is -1");
    for winners in ["-3", "0", "2.5", "1e300"] {
        let params = format!("{{\"winners\":{winners}}}");
        refused(
            &changed("params", &params),
            1,
            "a draw has a whole number of winners",
        );
    }
    judged(&changed("ttl_ms", "0"));
    judged(&changed("params", "{\"winners\":1,\"other\":-3}"));
}

#[test]
fn a_field_that_nobody_knows_is_told_wherever_it_stands() {
    let text = lines(
        r#"{"mine":1,"time":0,"process":0,"type":"invoke","f":"acquire","value":{"key":"a","yours":2},"theirs":3}
{"thread":9,"time":1,"process":0,"type":"ok","f":"acquire","value":{"validity_ms":5}}
{"time":2,"process":0,"type":"invoke","f":"release","value":{"fence":7}}
{"fence":1,"time":3,"process":"nemesis","type":"info","f":"pause","value":{"anything":1}}"#,
    );
    let judgement = judged(&text);
    assert_eq!(judgement.verdict(), NotObserved);
    let told = [
        "line 2: the event has a field `mine`",
        "line 2: the event has a field `theirs`",
        "line 2: the event has a field `yours`",
        "line 3: the event has a field `thread`",
        "line 4: the event has a field `fence`, which means nothing there",
        "line 5: the event has a field `fence`, which means nothing there",
    ];
    assert_eq!(
        judgement.warnings.len(),
        told.len(),
        "{:#?}",
        judgement.warnings
    );
    for (warning, told) in judgement.warnings.iter().zip(told) {
        assert!(warning.contains(told), "{warning}");
    }
}

#[test]
fn a_client_that_the_header_does_not_know_is_told_and_judged() {
    let events = "0 0 invoke acquire\n1 0 ok acquire\n2 77 invoke acquire\n3 77 ok acquire";
    let judgement = judged(&history("", events));
    assert_eq!(judgement.verdict(), Violated);
    let [warning] = judgement.warnings.as_slice() else {
        panic!("{:?}", judgement.warnings);
    };
    assert!(
        warning.contains("line 4: client 77 is none of the 3 clients"),
        "{warning}"
    );
    for strange in [
        "0 nemesis info crash {\"client\":9}",
        "0 node-0 info execute {\"client\":9,\"argv\":[\"GET\",\"k\"],\"reply\":null}",
        "0 harness ok final-keys {\"keys\":[{\"node\":0,\"key\":\"k\",\"pttl_ms\":-1,\"owner\":9}]}",
    ] {
        let warnings = judged(&history("", strange)).warnings;
        assert!(
            warnings.len() == 1 && warnings[0].contains("client 9"),
            "{strange}: {warnings:?}"
        );
    }
    // The one that looks at the end whether it can acquire, and those that came
    // back after a death.
    let known = "0 3 invoke acquire\n1 3 ok acquire\n2 nemesis info crash {\"client\":1}\n3 4 invoke acquire\n4 4 fail acquire";
    let warnings = judged(&history("", known)).warnings;
    assert!(warnings.is_empty(), "{warnings:?}");
}
