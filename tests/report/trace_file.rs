//! Trace files: what is written is read back, and each way to be wrong has a
//! message of its own that says what to do.

use std::path::{Path, PathBuf};

use lockproof_trace::{
    Event, FaultEvent, Trace, TraceError, check_lock, parse, read, to_json, write,
};

const FIXTURES: [&str; 4] = [
    "setnx-expire-late-del",
    "redlock-amnesia",
    "token-lost-replies",
    "every-fault",
];

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/{name}.json"))
}

fn fixture(name: &str) -> Trace {
    read(&path(name)).expect("the fixture is a valid trace")
}

fn error(json: &str) -> String {
    parse(json.as_bytes()).expect_err("refused").to_string()
}

#[test]
fn what_is_written_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    for name in FIXTURES {
        let trace = fixture(name);
        let file = dir.path().join("trace.json");
        write(&file, &trace).unwrap();
        assert_eq!(read(&file).unwrap(), trace, "{name}");
        assert_eq!(
            std::fs::read_to_string(&file).unwrap(),
            to_json(&trace),
            "{name}: writing twice gives the same bytes"
        );
    }
}

#[test]
fn a_trace_without_steps_is_written_and_read_back() {
    let mut trace = fixture("redlock-amnesia");
    trace.steps.clear();
    trace.property = None;
    trace.seed = Some(7);
    assert_eq!(parse(to_json(&trace).as_bytes()).unwrap(), trace);
}

#[test]
fn each_step_stands_on_a_line_of_its_own() {
    let trace = fixture("every-fault");
    let text = to_json(&trace);
    let steps = text.lines().filter(|l| l.starts_with("    {\"tick\":"));
    assert_eq!(steps.count(), trace.steps.len());
}

#[test]
fn text_that_is_not_json_is_refused_with_its_place() {
    let text = error("{\n  \"schema\": oops\n}");
    assert!(text.contains("not JSON at line 2, column 13"), "{text}");
}

#[test]
fn a_file_that_breaks_off_is_told_from_a_file_that_is_not_json() {
    let whole = to_json(&fixture("redlock-amnesia"));
    // Cut anywhere, even inside a string or a number.
    for end in (1..whole.len() - 3).step_by(97) {
        let error = parse(&whole.as_bytes()[..end]).expect_err("cut short");
        assert!(
            matches!(error, TraceError::Truncated { .. }),
            "at {end}: {error}"
        );
    }
}

#[test]
fn another_schema_version_is_named_before_its_unknown_fields() {
    let text = error(r#"{"schema": "lockproof.trace/2", "new_field": 1}"#);
    assert!(
        text.contains("its schema is lockproof.trace/2, this version reads lockproof.trace/1"),
        "{text}"
    );
    let text = error(r#"{"results": []}"#);
    assert!(text.contains("its schema is not stated"), "{text}");
    let text = error("[1, 2]");
    assert!(text.contains("its schema is not stated"), "{text}");
}

#[test]
fn a_field_of_a_wrong_type_is_named_with_its_place() {
    let json = to_json(&fixture("redlock-amnesia")).replace("\"nodes\": 3", "\"nodes\": \"3\"");
    let text = error(&json);
    assert!(text.contains("line 10") && text.contains("u8"), "{text}");
    let json = to_json(&fixture("redlock-amnesia")).replace("\"nodes\": 3", "\"nodez\": 3");
    assert!(error(&json).contains("unknown field `nodez`"));
}

#[test]
fn a_missing_file_is_named() {
    let text = read(Path::new("no/such/trace.json"))
        .unwrap_err()
        .to_string();
    assert!(text.contains("no/such/trace.json"), "{text}");
}

#[test]
fn a_file_beyond_the_limit_is_refused_without_reading_it_whole() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("huge.json");
    // A hole: takes no space on the disk.
    let handle = std::fs::File::create(&file).unwrap();
    handle.set_len(lockproof_trace::MAX_BYTES * 100).unwrap();
    assert!(matches!(read(&file), Err(TraceError::TooLarge)));
}

#[test]
fn a_trace_of_another_lock_text_is_refused_and_says_what_to_do() {
    let trace = fixture("redlock-amnesia");
    check_lock(&trace, &trace.lock.sha256.to_uppercase()).unwrap();
    let text = check_lock(&trace, &"0".repeat(64)).unwrap_err().to_string();
    assert!(
        text.contains("lockproof check models/redlock.lua"),
        "{text}"
    );
    assert!(text.contains(&trace.lock.sha256), "{text}");
}

#[test]
fn writing_into_a_missing_directory_names_the_file() {
    let text = write(Path::new("no/such/dir/t.json"), &fixture("redlock-amnesia"))
        .unwrap_err()
        .to_string();
    assert!(text.contains("no/such/dir/t.json"), "{text}");
}

/// Plants one bug in a trace and returns what the reader says.
fn planted(name: &str, bug: impl FnOnce(&mut Trace)) -> String {
    let mut trace = fixture(name);
    bug(&mut trace);
    error(&to_json(&trace))
}

fn position(trace: &Trace, wanted: impl Fn(&Event) -> bool) -> usize {
    trace.steps.iter().position(|s| wanted(&s.event)).unwrap()
}

#[test]
fn a_client_or_node_out_of_range_is_found() {
    let text = planted("redlock-amnesia", |t| t.setup.nodes = 2);
    assert!(text.contains("step 8") && text.contains("node 2"), "{text}");
    let text = planted("redlock-amnesia", |t| {
        t.setup.clients = 1;
        t.steps.iter_mut().for_each(|s| s.clients.truncate(1));
    });
    assert!(
        text.contains("step 14") && text.contains("client 1 does not exist"),
        "{text}"
    );
    let text = planted("redlock-amnesia", |t| {
        t.steps[3].clients.pop();
    });
    assert!(text.contains("what 1 clients believe"), "{text}");
}

#[test]
fn a_reply_without_an_execution_is_found() {
    let text = planted("redlock-amnesia", |t| {
        let execute = position(t, |e| matches!(e, Event::Execute { .. }));
        t.steps.remove(execute);
    });
    assert!(text.contains("message 1 was never executed"), "{text}");
}

#[test]
fn an_execution_without_a_request_is_found() {
    let text = planted("redlock-amnesia", |t| {
        let send = position(t, |e| matches!(e, Event::Send { .. }));
        t.steps.remove(send);
    });
    assert!(text.contains("message 1 was never sent"), "{text}");
}

#[test]
fn a_reply_that_changes_on_its_way_is_found() {
    let text = planted("redlock-amnesia", |t| {
        let deliver = position(t, |e| matches!(e, Event::Deliver { .. }));
        if let Event::Deliver { reply, .. } = &mut t.steps[deliver].event {
            *reply = lockproof_redis::Reply::Nil;
        }
    });
    assert!(text.contains("replied OK, but nil arrives"), "{text}");
}

#[test]
fn nobody_executes_what_was_lost() {
    let text = planted("token-lost-replies", |t| {
        if let Event::Fault { fault } = &mut t.steps[2].event {
            *fault = FaultEvent::Lose {
                client: 0,
                node: 0,
                message: 1,
                reply: false,
            };
        }
    });
    assert!(text.contains("was lost before the node saw it"), "{text}");
}

#[test]
fn the_dead_and_the_stopped_do_not_act() {
    for fault in [
        FaultEvent::ClientCrash { client: 1 },
        FaultEvent::ClientPause {
            client: 1,
            held: Vec::new(),
        },
    ] {
        let text = planted("setnx-expire-late-del", |t| {
            t.steps[8].event = Event::Fault { fault };
        });
        assert!(
            text.contains("step 10") && text.contains("cannot act"),
            "{text}"
        );
    }
    let text = planted("redlock-amnesia", |t| {
        t.steps[12].event = Event::Fault {
            fault: FaultEvent::NodePause { node: 1 },
        };
    });
    assert!(
        text.contains("N2 is stopped and executes nothing"),
        "{text}"
    );
}

#[test]
fn a_clock_that_runs_backwards_is_found() {
    let text = planted("setnx-expire-late-del", |t| {
        t.steps.last_mut().unwrap().tick = 2;
    });
    assert!(
        text.contains("dated tick 2, but 3 ticks passed so far"),
        "{text}"
    );
}

#[test]
fn a_claim_that_no_step_supports_is_found() {
    let text = planted("redlock-amnesia", |t| {
        t.steps.pop();
    });
    assert!(
        text.contains("claims to violate mutual-exclusion-validity"),
        "{text}"
    );
}

#[test]
fn ticks_may_be_dated_before_or_after_themselves() {
    let mut trace = fixture("setnx-expire-late-del");
    for step in &mut trace.steps {
        if step.event == Event::Tick {
            step.tick -= 1;
        }
    }
    parse(to_json(&trace).as_bytes()).unwrap();
}

#[test]
fn itf_has_every_state_with_the_format_s_own_numbers_and_maps() {
    for name in FIXTURES {
        let trace = fixture(name);
        let itf = lockproof_trace::itf(&trace);
        assert_eq!(itf["#meta"]["format"], "ITF");
        let states = itf["states"].as_array().unwrap();
        assert_eq!(states.len(), trace.steps.len() + 1, "{name}");
        let vars: Vec<&str> = itf["vars"]
            .as_array()
            .unwrap()
            .iter()
            .map(|v| v.as_str().unwrap())
            .collect();
        for (i, state) in states.iter().enumerate() {
            assert_eq!(state["#meta"]["index"], i);
            let mut keys: Vec<&str> = state.as_object().unwrap().keys().map(|k| &**k).collect();
            keys.retain(|k| *k != "#meta");
            keys.sort_unstable();
            let mut wanted = vars.clone();
            wanted.sort_unstable();
            assert_eq!(keys, wanted, "{name}, state {i}");
            assert!(state["tick"]["#bigint"].is_string());
            let clients = state["clients"]["#map"].as_array().unwrap();
            assert_eq!(clients.len(), usize::from(trace.setup.clients));
        }
    }
}

#[test]
fn itf_of_the_late_del_story_reads_as_expected() {
    let trace = fixture("setnx-expire-late-del");
    let itf = lockproof_trace::itf(&trace);
    let last = itf["states"].as_array().unwrap().last().unwrap();
    insta::assert_snapshot!(format!("{:#}\n{last:#}", itf["#meta"]));
}
