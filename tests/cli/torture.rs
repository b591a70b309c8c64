//! Free runs, as a user starts them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli_support::*;

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
        let line =
            format!("torture clock-jump --lock token --duration 2.5 --runs 1 --seed 7 --out {out}");
        let said = place.run(&line);
        // Unknown if the machine kept a client from running.
        assert!([FINE, UNKNOWN].contains(&said.code.unwrap()), "{said:#?}");
        assert!(said.out.contains("mutual-exclusion-belief"), "{}", said.out);
        let report = text(&place.path(&format!("{out}/clock-jump/report.json")));
        let report = lockproof_report::parse(&report).unwrap();
        let row = &report.scenarios[0];
        assert_eq!(
            (row.lock.as_str(), row.scenario.as_str()),
            ("token", "clock-jump")
        );
        let run = &row.free.as_ref().unwrap().runs[0];
        assert_eq!(run.seed, 7);
        let page = text(&place.path(&format!("{out}/clock-jump/token/seed-7.html")));
        assert!(page.contains("operations, drawn as"), "{page}");
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
        assert!(judged["operations"].as_u64().unwrap() > 0, "{judged}");
        // One that waited for a holder may leave no time for the last.
        let began = judged["faults"]["clock-jump"].as_u64().unwrap();
        assert!(0 < began && began <= planned as u64, "{judged}");
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
fn a_lock_for_one_server_on_three_is_the_users_mistake() {
    let place = Place::new();
    place
        .run("torture slow-network --lock token --out runs")
        .failed(
            USAGE,
            &["token works with 1 to 1 servers", "slow-network gives it 3"],
        );
    assert!(!place.path("runs").exists(), "nothing was begun");
}

#[test]
fn pauses_of_several_lengths_are_compared() {
    let place = Place::new();
    let said = place
        .run("torture gc-pause --lock token --pauses 0.6,0.1 --duration 8 --runs 1 --out runs");
    assert!([FINE, UNKNOWN].contains(&said.code.unwrap()), "{said:#?}");
    let text = text(&place.path("runs/gc-pause/report.json"));
    let report = lockproof_report::parse(&text).unwrap();
    let row = &report.scenarios[0];
    let points: Vec<u64> = row.sweep.iter().map(|point| point.pause_ms).collect();
    assert_eq!(points, [200, 1200], "shortest first");
    for point in &row.sweep {
        // Unless the machine kept a client from running for the rest of the lease.
        if point.runs[0].stall_max_ms < 700 {
            assert_eq!(
                point.losses.events, 0,
                "a pause shorter than the lease loses nothing"
            );
        }
        assert!(point.losses.of > 0);
        assert_eq!(point.runs[0].faults, 2, "as many pauses at each length");
    }
    assert!(said.out.contains("lost updates"), "{}", said.out);
}

#[test]
fn model_replays_and_free_runs_stand_in_one_row() {
    let place = Place::new();
    let said = place.run(
        "scenario run overrun clock-jump --lock token --free --duration 2.5 --runs 1 --replays 1 --walks 1 --out all",
    );
    assert!([FINE, UNKNOWN].contains(&said.code.unwrap()), "{said:#?}");
    let read = |path: &str| lockproof_report::parse(&text(&place.path(path))).unwrap();
    let own = read("all/overrun/report.json");
    assert_eq!(
        own.command,
        "lockproof scenario run overrun --lock token --replays 1 --walks 1 --free --runs 1 --duration 2.5",
        "it repeats just this"
    );
    assert!(!own.cells.is_empty());
    let row = &own.scenarios[0];
    let model = row.model.as_ref().unwrap();
    assert!(model.explored);
    assert!(model.properties.iter().all(|says| says.control.is_some()));
    let replays = row.replays().unwrap();
    assert!(replays.attempts > 0 && replays.reproduced == replays.attempts);
    assert_eq!(row.free.as_ref().unwrap().runs.len(), 1);
    let page = row.free.as_ref().unwrap().runs[0].page.clone().unwrap();
    assert!(place.path(&format!("all/overrun/{page}")).exists());

    let all = read("all/report.json");
    let names: Vec<&str> = all
        .scenarios
        .iter()
        .map(|row| row.scenario.as_str())
        .collect();
    assert_eq!(names, ["overrun", "clock-jump"]);
    assert!(
        all.cells.is_empty(),
        "they stand in the scenario's own report"
    );
    for row in &all.scenarios {
        assert!(
            place
                .path(&format!("all/{}", row.page.as_ref().unwrap()))
                .exists()
        );
        let run = &row.free.as_ref().unwrap().runs[0];
        assert!(
            place
                .path(&format!("all/{}", run.page.as_ref().unwrap()))
                .exists()
        );
    }
}

#[test]
fn what_a_scenario_demands_of_free_runs_is_demanded_of_whole_ones() {
    let place = Place::new();
    let story = r#"
schema = "lockproof.scenario/1"
name = "demand"
story = "Nothing strikes, and something is expected."
[model]
assumptions = ["overrun"]
[run]
duration_ms = 1000
runs = 1
[expect.token]
violated = ["mutual-exclusion-belief", "mutual-exclusion-effect"]
observed = ["mutual-exclusion-belief"]
"#;
    place.write("demand.toml", story);
    let demanded = "mutual-exclusion-belief was expected to be observed, and was not";
    let whole = place.run("torture demand.toml --lock token");
    assert_eq!(whole.code, Some(VIOLATION), "{whole:#?}");
    assert!(format!("{whole:?}").contains(demanded), "{whole:#?}");
    let short = place.run("torture demand.toml --lock token --duration 0.5");
    assert!(!format!("{short:?}").contains(demanded), "{short:#?}");
}

#[test]
fn a_run_in_which_no_fault_strikes_is_no_evidence() {
    let place = Place::new();
    // The first fault would come after its end.
    let said = place.run("torture gc-pause --lock token --duration 0.5 --runs 1 --out runs");
    assert_eq!(said.code, Some(UNKNOWN), "{said:#?}");
    assert!(said.out.contains("the run is no evidence"), "{}", said.out);
    assert!(!said.out.contains("not observed in"), "{}", said.out);
    let report = text(&place.path("runs/gc-pause/report.json"));
    let row = &lockproof_report::parse(&report).unwrap().scenarios[0];
    let run = &row.free.as_ref().unwrap().runs[0];
    assert_eq!((run.faults, run.struck), (0, Some(0)));
    assert_eq!(row.agreement_words(), "no evidence: no fault struck");
    assert!(row.notes[0].contains("no evidence"), "{:?}", row.notes);
    for page in ["report.html", "token/seed-1.html", "report.md"] {
        let page = text(&place.path(&format!("runs/gc-pause/{page}")));
        assert!(page.contains("no evidence"), "{page}");
    }
    let junit = text(&place.path("runs/gc-pause/junit.xml"));
    assert!(junit.contains("errors=\"1\""), "{junit}");
}

#[test]
fn a_pause_that_is_aimed_at_the_holder_strikes_it_and_breaks_the_lock() {
    let place = Place::new();
    let said = place.run("torture gc-pause --lock token-renewed --duration 5 --out runs");
    assert!([FINE, UNKNOWN].contains(&said.code.unwrap()), "{said:#?}");
    let report = text(&place.path("runs/gc-pause/report.json"));
    let row = &lockproof_report::parse(&report).unwrap().scenarios[0];
    let runs = &row.free.as_ref().unwrap().runs;
    assert_eq!(runs.len(), 3);
    for run in runs {
        assert!(run.faults > 0 && run.struck == Some(run.faults), "{run:?}");
    }
    let seen = |run: &lockproof_report::scenario::FreeRun| {
        run.observed.contains(&"mutual-exclusion-belief".into())
    };
    assert!(runs.iter().any(seen), "{runs:#?}");
    let page = text(&place.path("runs/gc-pause/token-renewed/seed-1.html"));
    assert!(page.contains("held the lock"), "whom it met");
}

#[test]
fn all_clients_are_those_that_run() {
    let place = Place::new();
    // There is one link more, for the probe at the end.
    let story = r#"
schema = "lockproof.scenario/1"
name = "all"
story = "All clients stand still, the holder among them."
[clients]
count = 2
[workload]
work_ms = [20, 60]
[model]
assumptions = ["client-pause"]
[nemesis]
quiet_ms = [100, 100]
fault_ms = [100, 100]
faults = [{ fault = "client-pause", clients = ["clients", "the-holder"] }]
[run]
duration_ms = 3000
[expect.token]
violated = ["mutual-exclusion-belief", "mutual-exclusion-effect"]
"#;
    place.write("all.toml", story);
    let said = place.run("torture all.toml --lock token");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let history = text(&place.path("runs/all/token/seed-1.history.jsonl"));
    assert!(history.contains("\"clients\":[0,1]"), "each once");
}

/// What clients and the nemesis did in one run of this story.
fn events_of(story: &str, lock: &str) -> Vec<serde_json::Value> {
    let place = Place::new();
    let head = "schema = \"lockproof.scenario/1\"\nname = \"mine\"\nstory = \"A test.\"\n";
    place.write("mine.toml", &format!("{head}{story}"));
    let said = place.run(&format!("torture mine.toml --lock {lock}"));
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let history = text(&place.path(&format!("runs/mine/{lock}/seed-1.history.jsonl")));
    let events = history.lines().skip(1);
    events
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn a_reentrant_lock_is_held_twice_where_the_workload_nests_and_another_is_not() {
    let story = |lock: &str| {
        format!(
            "[clients]\ncount = 1\n[workload]\nwork_ms = [20, 30]\nnested = true\n\
             [run]\nduration_ms = 500\n[expect.{lock}]\n"
        )
    };
    let acts = |lock: &str| {
        let events = events_of(&story(lock), lock);
        let own = events
            .into_iter()
            .filter(|event| event["process"] == 0 && event["type"] == "ok");
        let names = own.map(|event| event["f"].as_str().unwrap().to_owned());
        names.take(6).collect::<Vec<_>>()
    };
    let nested = ["acquire", "read", "acquire", "release", "write", "release"];
    assert_eq!(acts("reentrant-hash"), nested);
    let plain = ["acquire", "read", "write", "release", "acquire", "read"];
    assert_eq!(acts("token"), plain);
}

#[test]
fn who_minds_its_validity_gives_the_lock_back_before_it_ends() {
    let story = "[clients]\ncount = 1\nttl_ms = 400\n[workload]\nwork_ms = [5000, 5000]\n\
                 within_validity = true\n[run]\nduration_ms = 1500\n[expect.token]\n";
    let events = events_of(story, "token");
    let at = |f: &str, kind: &str| -> Vec<u64> {
        let found = events
            .iter()
            .filter(|event| event["f"] == f && event["type"] == kind && event["process"] == 0);
        found.map(|event| event["time"].as_u64().unwrap()).collect()
    };
    let (held, left) = (at("acquire", "ok"), at("release", "invoke"));
    assert!(held.len() > 2, "{events:#?}");
    for (held, left) in held.iter().zip(left) {
        // The machine may be late.
        assert!((300..2_000).contains(&((left - held) / 1_000_000)));
    }
}

#[test]
fn a_clock_is_set_while_its_client_acquires_and_the_stated_validity_shows_it() {
    // An acquire takes 120 ms, and the clock is set every 150 to 250 ms.
    let story = "[topology]\nlatency_ms = 60\n[clients]\ncount = 1\nttl_ms = 1000\n[model]\n\
                 assumptions = [\"client-skew\"]\n[nemesis]\nquiet_ms = [150, 250]\n\
                 fault_ms = [150, 250]\n\
                 faults = [{ fault = \"client-skew\", clients = [\"clients\"], ms = -3000 }]\n\
                 [run]\nduration_ms = 8000\n[expect.token]\n\
                 violated = [\"mutual-exclusion-belief\", \"mutual-exclusion-validity\", \"mutual-exclusion-effect\"]\n";
    let events = events_of(story, "token");
    let stated = events
        .iter()
        .filter(|event| event["f"] == "acquire" && event["type"] == "ok")
        .map(|event| event["value"]["validity_ms"].as_i64().unwrap());
    let stated: Vec<i64> = stated.collect();
    assert!(stated.iter().any(|ms| *ms > 3_000), "{stated:?}");
}

#[test]
fn a_history_is_drawn_wherever_it_comes_from() {
    let place = Place::new();
    let guide =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/history.md")).unwrap();
    let example = guide
        .split("```jsonl\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    place.write("mine.jsonl", example);
    let said = place.run("history page mine.jsonl");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let page = text(&place.path("mine.html"));
    assert!(page.contains("observed 1 in 2"), "{page}");
    let again = place.run("history page mine.jsonl --out again.html");
    assert_eq!(again.code, Some(FINE));
    assert_eq!(page, text(&place.path("again.html")), "the same bytes");

    place
        .run("history page mine.jsonl --out mine.jsonl")
        .failed(USAGE, &["is the history itself"]);
    place.write("broken.jsonl", "{}\n");
    place
        .run("history page broken.jsonl")
        .failed(USAGE, &["line 1"]);
    assert!(!place.path("broken.html").exists());
}

#[test]
fn pauses_of_several_lengths_stand_beside_the_model() {
    let place = Place::new();
    let said = place.run(
        "scenario run gc-pause --lock token --free --pauses 0.1,0.2 --duration 7 --runs 1 --replays 1 --walks 1 --out all",
    );
    assert!([FINE, UNKNOWN].contains(&said.code.unwrap()), "{said:#?}");
    let text = text(&place.path("all/gc-pause/report.json"));
    let report = lockproof_report::parse(&text).unwrap();
    let row = &report.scenarios[0];
    assert!(row.model.as_ref().unwrap().explored && row.free.is_none());
    let points: Vec<u64> = row.sweep.iter().map(|point| point.pause_ms).collect();
    assert_eq!(points, [200, 400]);
    assert!(
        report.command.ends_with("--pauses 0.1,0.2"),
        "{}",
        report.command
    );
}

#[test]
fn pauses_that_make_no_sense_are_told() {
    let place = Place::new();
    for (line, words) in [
        ("torture clock-jump --pauses 1", "guarded-set"),
        ("torture gc-pause --pauses 0", "0.01 to 50"),
        (
            "torture gc-pause --pauses 2 --duration 3",
            "raise --duration",
        ),
        (
            "torture gc-pause --pauses 0.1,2 --duration 3",
            "raise --duration",
        ),
        ("scenario run gc-pause --pauses 0.1", "--free"),
        (
            "scenario run gc-pause clock-jump --free --pauses 0.1",
            "--pauses",
        ),
    ] {
        let said = place.run(line);
        said.failed(USAGE, &[words]);
    }
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
    await_end(&processes);
    let said = place.run(&format!("history check {}", history.display()));
    assert!(
        [UNKNOWN, VIOLATION].contains(&said.code.unwrap()),
        "{said:#?}"
    );
    assert!(said.out.contains("mutual-exclusion-belief"), "{said:#?}");
    assert!(said.err.contains("incomplete: it has no end"), "{said:#?}");
}

#[test]
fn what_a_lock_sends_is_recorded_and_tells_who_removes_anothers_entry() {
    let place = Place::new();
    let owner_only = |lock: &str| -> (serde_json::Value, String) {
        let line =
            format!("torture overrun --lock {lock} --duration 6 --runs 1 --seed 3 --out {lock}");
        let said = place.run(&line);
        assert_eq!(said.code, Some(FINE), "{said:#?}");
        let folder = place.path(&format!("{lock}/overrun/{lock}"));
        let judged: serde_json::Value =
            serde_json::from_str(&text(&only(&folder, ".judgement.json"))).unwrap();
        let mut findings = judged["findings"].as_array().unwrap().iter();
        let finding = findings.find(|finding| finding["oracle"] == "owner-only-release");
        let history = text(&only(&folder, ".history.jsonl"));
        (finding.unwrap().clone(), history)
    };
    let (blind, _) = owner_only("setnx-expire");
    assert_eq!(blind["verdict"], "violated", "{blind}");
    let (token, history) = owner_only("token");
    assert_eq!(token["verdict"], "not-observed", "{token}");
    assert!(token["checked"].as_u64().unwrap() > 0, "{token}");
    let scripts: Vec<&str> = history
        .lines()
        .filter(|line| line.contains("EVAL"))
        .collect();
    assert!(!scripts.is_empty());
    for line in scripts {
        assert!(line.contains("\"sha1:") && line.len() < 400, "{line}");
    }
}

#[test]
fn clients_that_come_back_and_the_probe_at_the_end_have_numbers_of_their_own() {
    // Seldom enough for each to act before it dies; a busy machine may overrun a lease.
    let story = "[clients]\ncount = 3\nttl_ms = 500\n[workload]\nwork_ms = [20, 40]\n[model]\n\
                 assumptions = [\"client-crash\"]\n[nemesis]\nwhen = \"held\"\n\
                 quiet_ms = [600, 700]\nfault_ms = [10, 30]\n\
                 faults = [{ fault = \"client-crash\", clients = [\"the-holder\"] }]\n\
                 [run]\nduration_ms = 5000\n[expect.token]\n\
                 violated = [\"mutual-exclusion-belief\", \"mutual-exclusion-validity\", \"mutual-exclusion-effect\"]\n";
    let events = events_of(story, "token");
    let dead = events.iter().filter(|event| event["f"] == "crash").count();
    assert!(dead > 0, "nobody came back");
    let clients: BTreeSet<_> = events
        .iter()
        .filter(|event| event["f"] == "acquire")
        .map(|event| event["process"].as_u64())
        .collect();
    // The probe is the last one. Who came back when the run was over did nothing any more.
    assert_eq!(clients.last(), Some(&Some(3 + dead as u64)), "{clients:?}");
    assert!(clients.len() >= 3 + dead, "{clients:?}");
}
