//! What `replay` says of traces and servers that it cannot use.

use std::os::unix::fs::PermissionsExt;

use crate::cli_support::*;

/// A trace as text, and the place that it came from.
fn fresh() -> (Place, String) {
    let place = Place::new();
    let trace = std::fs::read_to_string(place.trace()).unwrap();
    (place, trace)
}

#[test]
fn a_trace_that_cannot_be_used_is_told_from_every_other() {
    let (place, trace) = fresh();
    let version = trace.replace("lockproof.trace/1", "lockproof.trace/9");
    assert_ne!(version, trace);
    for (name, text, says) in [
        ("cut.json", &trace[..trace.len() / 2], "breaks off at line"),
        (
            "version.json",
            version.as_str(),
            "its schema is lockproof.trace/9",
        ),
        ("text.json", "not a trace\n", "not JSON at line 1"),
        ("other.json", "{\"a\": 1}", "its schema is not stated"),
        ("empty.json", "", "breaks off at line"),
    ] {
        let path = place.write(name, text);
        place.run(&format!("replay {path}")).failed(USAGE, &[says]);
    }
    let said = place.run("replay nowhere.json");
    said.failed(USAGE, &["failed to read the trace nowhere.json"]);
}

#[test]
fn a_replay_tells_each_step_and_what_really_happened() {
    let (place, trace) = fresh();
    let path = place.write("trace.json", &trace);
    let said = place.run(&format!("replay {path} --runs 2"));
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert!(said.out.contains("✓ SIGKILL to process"), "{said:#?}");
    assert!(said.out.contains("run 2 of 2: reproduced"), "{said:#?}");
    let replies: Vec<&str> = said
        .out
        .lines()
        .filter(|line| line.contains(" runs "))
        .collect();
    assert_eq!(replies.len(), 1, "the story is told once: {said:#?}");
    for line in replies {
        let (predicted, really) = line.split_once(" ✓ ").expect(line);
        assert!(predicted.trim().ends_with(&format!("= {really}")), "{line}");
    }
}

/// The trace says that the server answers what it does not.
#[test]
fn a_replay_that_diverges_shows_the_step_and_the_real_reply() {
    let (place, trace) = fresh();
    let edited = trace.replace(r#""reply":{"int":1}"#, r#""reply":{"int":17}"#);
    assert_ne!(edited, trace);
    let path = place.write("edited.json", &edited);
    let said = place.run(&format!("replay {path}"));
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    for text in ["= 17", "✗ the reply 1", "diverged at step 4"] {
        assert!(said.out.contains(text), "no `{text}` in {said:#?}");
    }
    assert!(!said.out.contains("✗ violates"), "{said:#?}");
}

#[test]
fn a_trace_that_contradicts_itself_is_refused() {
    let (place, trace) = fresh();
    let edited = trace.replace("\"clients\": 2", "\"clients\": 0");
    assert_ne!(edited, trace);
    let path = place.write("edited.json", &edited);
    let said = place.run(&format!("replay {path}"));
    said.failed(USAGE, &["failed to use the trace"]);
}

#[test]
fn a_trace_of_another_lock_file_is_refused_by_its_hash() {
    let (place, trace) = fresh();
    let path = place.write("trace.json", &trace);
    let said = place.run(&format!("replay {path} --lock token"));
    said.failed(
        USAGE,
        &["made from another text of lock setnx-expire", "sha256"],
    );
}

#[test]
fn a_server_program_that_is_not_there_or_no_server_is_refused() {
    let (place, trace) = fresh();
    let path = place.write("trace.json", &trace);
    for (server, says) in [
        ("/bin/false", "give the path of a redis-server"),
        (
            "nowhere/redis-server",
            "failed to start nowhere/redis-server",
        ),
    ] {
        let said = place.run(&format!("replay {path} --server {server}"));
        said.failed(USAGE, &[says]);
    }
}

#[test]
fn a_server_that_dies_at_its_start_is_told_with_its_last_words() {
    let (place, trace) = fresh();
    let path = place.write("trace.json", &trace);
    let server = place.write(
        "redis-server",
        "#!/bin/sh\n\
         [ \"$1\" = --version ] && echo 'Redis server v=7.0.15 sha=00000000:0' && exit\n\
         echo 'this server was planted to die'\n\
         exit 1\n",
    );
    std::fs::set_permissions(&server, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = place.run(&format!("replay {path} --server {server}"));
    assert_eq!(said.code, Some(INTERNAL), "{said:#?}");
    let all = format!("{}{}", said.out, said.err);
    assert!(all.contains("this server was planted to die"), "{said:#?}");
    assert!(!all.contains("panicked"), "{said:#?}");
}

#[test]
fn no_runs_are_no_success() {
    let (place, trace) = fresh();
    let path = place.write("trace.json", &trace);
    let said = place.run(&format!("replay {path} --runs 0"));
    assert_eq!(said.code, Some(NOTHING), "{said:#?}");
    assert!(said.err.contains("nothing ran"), "{said:#?}");
}

/// Its clients never come to the end of their releases: they cannot even try.
#[test]
fn a_lock_whose_release_goes_on_for_ever_is_confirmed_as_one_that_nobody_can_acquire() {
    let place = Place::new();
    let file = place.write(
        "endless.lua",
        "return {\n  acquire = function(lock) return held() end,\n  release = function(lock)\n    \
         while true do redis(\"GET\", lock.key) end\n  end,\n}\n",
    );
    let said = place.run(&format!(
        "check {file} --assume none --property deadlock-freedom"
    ));
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    let files = place.files("traces");
    let [trace] = &files[..] else {
        panic!("{files:?}")
    };
    let said = place.run(&format!("replay {} --runs 2", trace.display()));
    assert_eq!(said.code, Some(FINE), "{said:#?}");
}
