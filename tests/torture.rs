//! Free runs, as a user starts them.

mod cli_support;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use cli_support::*;

fn only(folder: &Path, end: &str) -> PathBuf {
    let mut found = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(end));
    let path = found.next().unwrap();
    assert_eq!(found.next(), None);
    path
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_run_leaves_a_history_that_can_be_judged_again_and_a_schedule_of_its_seed() {
    let place = Place::new();
    let mut schedules = BTreeSet::new();
    for out in ["one", "two"] {
        let line = format!("torture clock-jump --lock token --duration 2.5 --seed 7 --out {out}");
        let said = place.run(&line);
        assert_eq!(said.code, Some(FINE), "{said:#?}");
        assert!(said.out.contains("mutual-exclusion-belief"), "{}", said.out);
        let folder = place.path(&format!("{out}/clock-jump/token"));
        let schedule = text(&only(&folder, ".schedule.json"));
        let planned = schedule.matches("\"start\"").count();
        schedules.insert(schedule);
        let history = only(&folder, ".history.jsonl");
        let judged: serde_json::Value =
            serde_json::from_str(&text(&only(&folder, ".judgement.json"))).unwrap();
        let again = place.run(&format!(
            "history check {} --format json",
            history.display()
        ));
        let again: serde_json::Value = serde_json::from_str(&again.out).unwrap();
        assert_eq!(judged["findings"], again["findings"]);
        assert!(judged["operations"].as_u64().unwrap() > 100, "{judged}");
        assert!(planned > 0);
        assert_eq!(judged["faults"]["clock-jump"], planned, "{judged}");
    }
    assert_eq!(schedules.len(), 1, "one seed, one schedule");
}

#[test]
fn a_short_run_on_three_servers_works_and_a_misspelt_scenario_is_told() {
    let place = Place::new();
    let said = place.run("torture overrun --lock redlock --duration 0.5 --out runs");
    assert_ne!(said.code, Some(INTERNAL), "{said:#?}");
    let said = place.run("torture overrunn");
    assert_eq!(said.code, Some(USAGE), "{said:#?}");
    assert!(said.err.contains("did you mean `overrun`?"), "{}", said.err);
}

#[test]
fn a_harness_that_is_killed_leaves_a_whole_history_and_no_process() {
    let place = Place::new();
    let line = "torture gc-pause --lock token --duration 30 --out runs";
    let mut harness = place.start(line);
    let folder = place.path("runs/gc-pause/token");
    let history = folder.join("seed-1.history.jsonl");
    await_work(&history);
    let processes = descendants(harness.id());
    assert!(processes.len() >= 2 + 5 + 5, "{processes:?}");
    harness.kill().unwrap();
    harness.wait().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let lives = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while processes.iter().any(lives) {
        assert!(Instant::now() < deadline, "left behind: {processes:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    let said = place.run(&format!("history check {}", history.display()));
    assert_ne!(said.code, Some(USAGE), "{said:#?}");
    assert!(said.out.contains("mutual-exclusion-belief"), "{said:#?}");
}
