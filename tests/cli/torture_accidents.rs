//! What nobody planned during a free run: told for what it is, and the history kept.

use std::os::unix::fs::symlink;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::cli_support::*;
use lockproof_lab::binaries::{find_default, server_directories};
use lockproof_report::scenario::ScenarioRow;
use rustix::process::{Pid, Signal, kill_process};

const STORY: &str = r#"
schema = "lockproof.scenario/1"
name = "story"
story = "Nothing is injected."

[topology]
kind = "single"

[clients]
count = 2

[run]
duration_ms = 2500
runs = 1

[expect.token]
violated = []
"#;

/// Kills the descendants of a run that run this program, as an accident would.
fn strike(run: u32, name: &str) -> usize {
    let struck = descendants(run)
        .into_iter()
        .filter(|pid| program(*pid).starts_with(name));
    let pids: Vec<u32> = struck.collect();
    for pid in &pids {
        kill_process(Pid::from_raw(*pid as i32).unwrap(), Signal::KILL).unwrap();
    }
    pids.len()
}

/// The program that runs as the server; not every machine's is called redis-server.
fn server_name() -> String {
    let path = find_default(&server_directories()).unwrap().path;
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Waits until a history tells of this.
fn await_text(history: &Path, text: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while !std::fs::read_to_string(history).is_ok_and(|found| found.contains(text)) {
        assert!(Instant::now() < deadline, "{text} does not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The only row of a report.
fn row(place: &Place) -> ScenarioRow {
    let text = std::fs::read_to_string(place.path("runs/story/report.json")).unwrap();
    let mut report = lockproof_report::parse(&text).unwrap();
    assert_eq!(report.scenarios.len(), 1);
    report.scenarios.remove(0)
}

fn can_be_judged(place: &Place, history: &Path) {
    let judged = place.run(&format!("history check {}", history.display()));
    assert_ne!(judged.code, Some(USAGE), "{judged:#?}");
    assert!(
        judged.out.contains("mutual-exclusion-belief"),
        "{judged:#?}"
    );
}

/// The run ends with an error that says this, and its history can be judged.
fn ends_by(name: &str, complaint: &str) {
    let place = Place::new();
    place.write("story.toml", STORY);
    let run = place.start("torture story.toml --lock token");
    let history = place.path("runs/story/token/seed-1.history.jsonl");
    await_work(&history);
    assert!(strike(run.id(), name) > 0, "no {name}");
    let said = Said::from(run.wait_with_output().unwrap());
    said.failed(INTERNAL, &[complaint]);
    can_be_judged(&place, &history);
}

#[test]
fn a_server_that_dies_unplanned_ends_the_run_by_its_name() {
    ends_by(
        &server_name(),
        "ended by itself (signal: 9 (SIGKILL)); the end of its log",
    );
}

mod with_toxiproxy {
    use super::*;

    #[test]
    fn a_toxiproxy_that_vanishes_ends_the_run_by_its_name() {
        ends_by("toxiproxy", "toxiproxy-server is not there to be asked");
    }
}

#[test]
fn ctrl_c_ends_a_run_in_good_order_and_the_report_tells() {
    let place = Place::new();
    // It would go on for a minute, and most of that under a fault.
    let fault = "[nemesis]\nquiet_ms = [100, 100]\nfault_ms = [50000, 50000]\n\
                 faults = [{ fault = \"slow-network\", between = [\"client-0\"], \
                 and = [\"node-0\"], latency_ms = 1, jitter_ms = 0 }]\n";
    let story = STORY
        .replace("[run]", &format!("{fault}[run]"))
        .replace("= 2500", "= 60000")
        .replace("runs = 1", "runs = 3");
    place.write("story.toml", &story);
    let run = place.start("torture story.toml --lock token");
    let history = place.path("runs/story/token/seed-1.history.jsonl");
    await_work(&history);
    await_text(&history, "\"phase\":\"started\"");
    let children = descendants(run.id());
    assert!(children.iter().any(|pid| program(*pid) == server_name()));
    kill_process(Pid::from_raw(run.id() as i32).unwrap(), Signal::INT).unwrap();
    let said = Said::from(run.wait_with_output().unwrap());
    assert_eq!(said.code, Some(130), "{said:#?}");
    assert!(said.err.contains("cut short after"), "{said:#?}");
    await_end(&children);
    let text = std::fs::read_to_string(&history).unwrap();
    assert!(text.ends_with('\n') && text.contains("\"phase\":\"end\""));
    let row = row(&place);
    let free = row.free.unwrap();
    assert_eq!(free.runs.len(), 1, "no other was begun");
    assert!(free.runs[0].cut_short && free.runs[0].operations > 0);
    assert!(free.runs[0].seconds < 60.0);
    assert!(
        free.oracles.is_empty(),
        "it counts as no run without a finding"
    );
    assert!(row.notes[0].contains("cut short"), "{:?}", row.notes);
    can_be_judged(&place, &history);
}

#[test]
fn a_run_that_fails_does_not_take_the_earlier_ones_along() {
    let place = Place::new();
    place.write("story.toml", &STORY.replace("runs = 1", "runs = 3"));
    let run = place.start("torture story.toml --lock token");
    await_work(&place.path("runs/story/token/seed-2.history.jsonl"));
    assert!(strike(run.id(), &server_name()) > 0);
    let said = Said::from(run.wait_with_output().unwrap());
    let complaint = "the run of token with seed 2 failed";
    said.failed(INTERNAL, &[complaint, "ended by itself"]);
    let row = row(&place);
    let seeds: Vec<u64> = row.free.unwrap().runs.iter().map(|run| run.seed).collect();
    assert_eq!(seeds, [1]);
    assert!(row.notes[0].contains(complaint), "{:?}", row.notes);
    assert!(row.notes[0].contains("ended by itself"), "{:?}", row.notes);
}

#[test]
fn a_client_that_somebody_else_killed_is_told_and_holds_no_more() {
    let place = Place::new();
    let fault = "[workload]\nwork_ms = [30, 60]\n[nemesis]\nquiet_ms = [100, 100]\n\
                 fault_ms = [300, 300]\n\
                 faults = [{ fault = \"client-pause\", clients = [\"the-holder\"] }]\n";
    let story = STORY.replace("[run]", &format!("{fault}[run]"));
    let story = story.replace("count = 2", "count = 3");
    place.write("story.toml", &story);
    let run = place.start("torture story.toml --lock token");
    let history = place.path("runs/story/token/seed-1.history.jsonl");
    await_text(&history, "\"phase\":\"started\"");
    let stopped = descendants(run.id()).into_iter().find(|pid| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        line.contains("actor") && stat.contains(") T ")
    });
    let pid = Pid::from_raw(stopped.expect("one stands still") as i32).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    let said = Said::from(run.wait_with_output().unwrap());
    assert!(
        said.err.contains("killed, and not by the nemesis"),
        "{said:#?}"
    );
    let text = std::fs::read_to_string(&history).unwrap();
    assert_eq!(text.matches("\"f\":\"crash\"").count(), 1, "told once");
    can_be_judged(&place, &history);
}

#[test]
fn a_planned_kill_is_no_accident() {
    let place = Place::new();
    let fault = "[nemesis]\nquiet_ms = [200, 300]\nfault_ms = [200, 300]\n\
                 faults = [{ fault = \"node-restart\", servers = [\"node-0\"] }]\n";
    let story = STORY.replace("[run]", &format!("{fault}[run]"));
    place.write("story.toml", &story);
    let said = place.run("torture story.toml --lock token");
    assert_ne!(said.code, Some(INTERNAL), "{said:#?}");
    let history = place.path("runs/story/token/seed-1.history.jsonl");
    let history = std::fs::read_to_string(history).unwrap();
    assert!(history.contains("\"f\":\"node-restart\""));
}

#[test]
fn a_full_disk_ends_the_run_by_its_name() {
    let place = Place::new();
    place.write("story.toml", STORY);
    let folder = place.path("runs/story/token");
    std::fs::create_dir_all(&folder).unwrap();
    symlink("/dev/full", folder.join("seed-1.history.jsonl")).unwrap();
    let said = place.run("torture story.toml --lock token");
    said.failed(
        INTERNAL,
        &["failed to write the history", "No space left on device"],
    );
}

#[test]
fn two_campaigns_at_once_do_not_meet() {
    let place = Place::new();
    place.write("story.toml", STORY);
    let runs = ["one", "two"]
        .map(|out| place.start(&format!("torture story.toml --lock token --out {out}")));
    for run in runs {
        let said = Said::from(run.wait_with_output().unwrap());
        assert!(
            [Some(FINE), Some(UNKNOWN)].contains(&said.code),
            "{said:#?}"
        );
    }
    let histories = ["one", "two"].map(|out| {
        let path = place.path(&format!("{out}/story/token/seed-1.history.jsonl"));
        std::fs::read_to_string(path).unwrap()
    });
    assert!(
        histories
            .iter()
            .all(|history| history.contains("final-acquire"))
    );
}

#[test]
fn sentinels_that_never_agree_are_named_and_nothing_is_left() {
    let place = Place::new();
    // A server program whose Sentinels hear nothing of their configuration's group.
    let real = find_default(&server_directories()).unwrap();
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *--sentinel*) sed -i '/known-sentinel/d;/announce/d;s/lockproof/other/' \"$1\";; esac\nexec \"{}\" \"$@\"\n",
        real.path.display()
    );
    let program = place.write("odd-server", &text);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    place.write("story.toml", &STORY.replace("single", "sentinel"));
    let said = place.run(&format!(
        "torture story.toml --lock token --server {program}"
    ));
    said.failed(
        INTERNAL,
        &[
            "did not become healthy within",
            "the Sentinels say",
            "sentinel-0",
        ],
    );
}
