//! `run --resume`: what is finished is kept, and nothing else is trusted.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cli_support::*;
use lockproof_report::model::Report;
use sha2::{Digest, Sha256};

/// Four worlds.
const MATRIX: &str = r#"
schema = "lockproof.run/1"
seed = 3
replays = 2
walks = 2
walk_moves = 10
states_max = 1000000

[[group]]
locks = ["setnx-expire", "token"]
assumptions = [[], ["client-crash"]]
properties = ["mutual-exclusion-validity", "no-orphan"]
"#;

const RUN: &str = "run matrix.toml --out out --resume";

fn place() -> Place {
    let place = Place::new();
    place.write("matrix.toml", MATRIX);
    place
}

fn report(place: &Place, folder: &str) -> Report {
    let path = place.path(folder).join("report.json");
    let mut report: Report = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    for cell in &mut report.cells {
        cell.seconds = 0.0;
    }
    report
}

fn kept(place: &Place) -> Vec<PathBuf> {
    let mut files = place.files("out/kept");
    files.retain(|path| path.extension().is_some_and(|end| end == "kept"));
    files.sort();
    files
}

#[track_caller]
fn took(said: &Said, taken: usize, written: usize) {
    let line = format!("{taken} finished worlds taken from out/kept, {written} kept there now");
    assert!(said.err.contains(&line), "no `{line}` in {said:#?}");
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Writes a kept file with a hash that fits.
fn forge(path: &PathBuf, body: &str) {
    std::fs::write(path, format!("lockproof.kept/1 {}\n{body}", hash(body))).unwrap();
}

fn body(path: &PathBuf) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    text.split_once('\n').unwrap().1.to_owned()
}

#[test]
fn a_run_that_is_killed_goes_on_where_it_was_and_ends_as_one_that_was_not() {
    let place = place();
    let whole = place.run("run matrix.toml --out whole");
    assert_eq!(whole.code, Some(FINE), "{whole:#?}");
    assert!(
        !place.path("whole/kept").exists(),
        "kept only if it is asked for"
    );
    let mut before = 0;
    for worlds in 1..=2 {
        let mut child = place.start(RUN);
        let deadline = Instant::now() + Duration::from_secs(300);
        while kept(&place).len() < before + worlds && child.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(3));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        before = kept(&place).len();
        assert!(before >= 1);
        // Half of a file, as a run leaves it that is killed while it writes.
        std::fs::write(place.path("out/kept/.lockproof-half"), "lockproof.kept/1 0").unwrap();
        if before >= 3 {
            break;
        }
    }
    // The process that worked dies with the one that was killed, and so goes its lock.
    let said = until_free(&place);
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let after = kept(&place).len();
    assert_eq!(after, 4);
    assert!(!place.path("out/kept/.lockproof-half").exists());
    took(&said, before, 4 - before);
    let (mut resumed, straight) = (report(&place, "out"), report(&place, "whole"));
    for one in &mut resumed.counterexamples {
        let command = one.replay_command.as_mut().unwrap();
        *command = command.replace("replay out/", "replay whole/");
    }
    assert_eq!(resumed, straight);
    // A third one has nothing to do.
    took(&place.run(RUN), 4, 0);
}

/// Runs again until the killed one's child has gone as well.
fn until_free(place: &Place) -> Said {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let said = place.run(RUN);
        if !said.err.contains("writes into") || Instant::now() > deadline {
            return said;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn what_was_edited_is_refused_with_a_message_and_asked_again() {
    let place = place();
    let said = place.run(RUN);
    took(&said, 0, 4);
    let straight = report(&place, "out");
    let files = kept(&place);
    let bodies: Vec<String> = files.iter().map(body).collect();
    let violated = bodies
        .iter()
        .position(|body| body.contains(r#""verdict":"violated""#))
        .unwrap();
    let holding = bodies
        .iter()
        .position(|body| !body.contains(r#""verdict":"violated""#))
        .unwrap();
    type Edit<'e> = (usize, &'e dyn Fn(&PathBuf), &'e str);
    let edits: [Edit; 6] = [
        (
            violated,
            &|path| std::fs::write(path, body(path)).unwrap(),
            "it is damaged",
        ),
        (
            violated,
            &|path| {
                let text = std::fs::read_to_string(path).unwrap();
                std::fs::write(path, text.replacen("violated", "holds", 1)).unwrap();
            },
            "it is damaged",
        ),
        (
            violated,
            &|path| {
                let text = std::fs::read_to_string(path).unwrap();
                std::fs::write(path, &text[..text.len() / 2]).unwrap();
            },
            "it is damaged",
        ),
        // With a hash that fits.
        (
            violated,
            &|path| {
                forge(
                    path,
                    &body(path).replacen(r#""verdict":"violated""#, r#""verdict":"holds""#, 1),
                )
            },
            "verdict and trace do not fit",
        ),
        (
            holding,
            &|path| {
                forge(
                    path,
                    &body(path).replace(r#""property":"no-orphan""#, r#""property":"lease""#),
                )
            },
            "it answers for other properties",
        ),
        (
            holding,
            &|path| forge(path, &body(path).replacen(r#""seed":3"#, r#""seed":4"#, 1)),
            "it answers another question",
        ),
    ];
    for (place_of, edit, complaint) in edits {
        edit(&files[place_of]);
        let said = place.run(RUN);
        assert!(
            said.err.contains(complaint),
            "no `{complaint}` in {said:#?}"
        );
        assert!(said.err.contains("asked again"), "{said:#?}");
        assert!(said.err.contains("1 kept there now"), "{said:#?}");
        assert_eq!(report(&place, "out"), straight);
    }
    took(&place.run(RUN), 4, 0);
}

#[test]
fn another_question_is_not_answered_by_what_was_kept() {
    let place = place();
    took(&place.run(RUN), 0, 4);
    // More replays and another seed; each asks for all four worlds anew.
    took(&place.run(&format!("{RUN} --replays 3")), 0, 4);
    place.write("matrix.toml", &MATRIX.replace("seed = 3", "seed = 4"));
    took(&place.run(RUN), 0, 4);
    // A larger matrix takes what it has in common.
    place.write(
        "matrix.toml",
        &MATRIX.replace("[\"client-crash\"]]", "[\"client-crash\"], [\"loss\"]]"),
    );
    took(&place.run(RUN), 4, 2);
    // Other limits are other questions.
    place.write(
        "matrix.toml",
        &MATRIX.replace("states_max = 1000000", "states_max = 999999"),
    );
    took(&place.run(RUN), 0, 4);
    took(&place.run(RUN), 4, 0);
}

#[test]
fn another_build_asks_again_and_so_does_a_changed_lock_file() {
    let place = place();
    let text = include_str!("../../models/token.lua");
    place.write("mine.lua", text);
    place.write(
        "matrix.toml",
        &MATRIX.replace("\"setnx-expire\", \"token\"", "\"mine.lua\""),
    );
    took(&place.run(RUN), 0, 2);
    // The same version, with one more byte.
    let program = place.path("lockproof");
    let mut bytes = std::fs::read(env!("CARGO_BIN_EXE_lockproof")).unwrap();
    bytes.push(0);
    let copy = place.path("copy");
    std::fs::write(&copy, bytes).unwrap();
    // Put in its place by a child: a file that is open for writing when another test forks is "text
    // file busy".
    let status = Command::new("sh")
        .args(["-c", "cat \"$0\" >\"$1\"; chmod +x \"$1\""])
        .args([&copy, &program])
        .status();
    assert!(status.unwrap().success());
    let other = Command::new(&program)
        .args(RUN.split(' '))
        .current_dir(place.path(""))
        .output();
    took(&other.unwrap().into(), 0, 2);
    took(&place.run(RUN), 2, 0);
    place.write(
        "mine.lua",
        &text.replacen("\"PX\", lock.ttl", "\"PX\", lock.ttl * 2", 1),
    );
    took(&place.run(RUN), 0, 2);
}

#[test]
fn two_runs_never_write_into_one_folder() {
    let place = place();
    let mut first = place.start(RUN);
    let deadline = Instant::now() + Duration::from_secs(120);
    while kept(&place).is_empty() {
        assert!(Instant::now() < deadline && first.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(3));
    }
    let second = place.run(RUN);
    if first.try_wait().unwrap().is_none() {
        second.failed(USAGE, &["writes into out just now"]);
    }
    let first: Said = first.wait_with_output().unwrap().into();
    assert_eq!(first.code, Some(FINE), "{first:#?}");
}

#[test]
fn a_disk_that_takes_nothing_ends_no_run_and_is_told_once() {
    let place = place();
    // Nothing can be written there.
    std::fs::create_dir(place.path("out")).unwrap();
    std::os::unix::fs::symlink("/proc/self/task", place.path("out/kept")).unwrap();
    let said = place.run(RUN);
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let told = "failed to keep a finished world";
    assert_eq!(said.err.matches(told).count(), 1, "{said:#?}");
    assert!(said.err.contains("the run goes on"), "{said:#?}");
    took(&said, 0, 0);
    std::fs::remove_file(place.path("out/kept")).unwrap();
    took(&place.run(RUN), 0, 4);
}

#[test]
fn a_set_that_runs_out_of_time_is_one_cell_and_is_asked_again() {
    let place = Place::new();
    place.write(
        "matrix.toml",
        r#"
schema = "lockproof.run/1"
seed = 3
replays = 1
walks = 1
walk_moves = 10
states_max = 1000000000
seconds_max = 3

[[group]]
locks = ["redlock"]
clients = 3
assumptions = [["delay", "loss", "client-pause"]]
properties = ["mutual-exclusion-validity"]

[[group]]
locks = ["setnx-del"]
assumptions = [[]]
properties = ["mutual-exclusion-validity"]
"#,
    );
    for taken in 0..2 {
        let said = place.run(RUN);
        assert_eq!(said.code, Some(FINE), "{said:#?}");
        took(&said, taken, 1 - taken);
        let cells = report(&place, "out").cells;
        let verdicts: Vec<(&str, bool)> = cells
            .iter()
            .map(|cell| (cell.lock.as_str(), cell.reason.is_some()))
            .collect();
        assert_eq!(verdicts, [("redlock", true), ("setnx-del", false)]);
        let reason = cells[0].reason.as_ref().unwrap();
        assert!(reason.contains("stopped before"), "{reason}");
    }
}

/// When its connection breaks it sends what no server has.
const REFUSED_WHERE_IT_BREAKS: &str = r#"return {
  name = "half",
  acquire = function(lock)
    local ok, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
    if err and not err.timeout then
      redis("NO-SUCH-COMMAND", lock.key)
      return failed(err.message)
    end
    if ok then return held() end
    return busy()
  end,
  release = function(lock)
    return redis("DEL", lock.key) == 1
  end,
}
"#;

#[test]
fn a_set_under_which_the_lock_is_refused_is_one_cell_and_the_others_are_answered() {
    let place = Place::new();
    place.write("half.lua", REFUSED_WHERE_IT_BREAKS);
    let matrix = |sets: &str| {
        MATRIX
            .replace("[\"setnx-expire\", \"token\"]", "[\"half.lua\"]")
            .replace("[[], [\"client-crash\"]]", sets)
    };
    for sets in [
        "[[], [\"node-restart-none\"]]",
        "[[\"node-restart-none\"], []]",
    ] {
        place.write("matrix.toml", &matrix(sets));
        let said = place.run("run matrix.toml --out out");
        assert_eq!(said.code, Some(FINE), "{said:#?}");
        let cells = report(&place, "out").cells;
        assert_eq!(cells.len(), 4);
        for cell in &cells {
            let refused = !cell.assumptions.is_empty();
            assert_eq!(cell.reason.is_some(), refused, "{cell:?}");
            if let Some(reason) = &cell.reason {
                assert!(reason.contains("half.lua:6"), "{reason}");
            }
        }
    }
    // Under all of them: that is no report but an error.
    place.write(
        "matrix.toml",
        &matrix("[[\"node-restart-none\"], [\"node-restart-always\"]]"),
    );
    place
        .run("run matrix.toml --out out")
        .failed(USAGE, &["half.lua:6"]);
}

#[test]
fn the_frontier_is_filled_with_pairs_that_tell_something() {
    let place = Place::new();
    place.write(
        "matrix.toml",
        r#"
schema = "lockproof.run/1"
seed = 3
replays = 1
walks = 1
walk_moves = 10
states_max = 1000000

[[group]]
locks = ["setnx-expire"]
assumptions = [[], ["client-crash"], ["overrun"], ["node-flush"], ["shared-owner"]]
properties = ["deadlock-freedom", "no-orphan"]
"#,
    );
    let said = place.run("run matrix.toml --out out --frontier");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let found = report(&place, "out");
    let pairs: Vec<String> = found
        .cells
        .iter()
        .filter(|cell| cell.assumptions.len() == 2)
        .map(|cell| lockproof_trace::words::assumptions(&cell.assumptions))
        .collect();
    // client-crash breaks both; the other two hold alone, and one pair of them is left.
    assert_eq!(pairs, ["overrun + node-flush"; 2]);
    assert_eq!(found.command, "lockproof run matrix.toml --frontier 2");
    assert!(said.out.contains("the others follow"), "{}", said.out);
    for wrong in [
        "--frontier 1",
        "--frontier 7",
        "--frontier --baseline",
        "--frontier --partition 1/2",
    ] {
        let said = place.run(&format!("run matrix.toml --out out {wrong}"));
        assert_eq!(said.code, Some(USAGE), "{said:#?}");
    }
    place
        .run("run matrix.toml --full")
        .failed(USAGE, &["--full"]);
}
