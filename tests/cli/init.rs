//! `lockproof init`: what it writes is of use at once, and nothing is overwritten.

use std::path::{Path, PathBuf};

use crate::cli_support::*;
use lockproof_campaign::config::Config;
use lockproof_scenario::Scenario;

/// Each template with the built-in lock that it is.
const TEMPLATES: [(&str, &str); 5] = [
    ("token", "token"),
    ("setnx-expire", "setnx-expire"),
    ("reentrant", "reentrant-hash"),
    ("redlock", "redlock"),
    ("read-write", "rw-hash"),
];

fn read(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path(name)).unwrap()
}

/// All files below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found.sort();
    found
}

/// What the model says of these, in a word each, to compare.
fn verdicts(place: &Place, lock: &str) -> Vec<(String, String)> {
    let said = place.run(&format!("check {lock} --assume client-crash --format json"));
    let report: serde_json::Value =
        serde_json::from_str(&said.out).unwrap_or_else(|e| panic!("{e}: {said:#?}"));
    let results = report["results"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    results
        .map(|result| (text(&result["property"]), text(&result["verdict"])))
        .collect()
}

#[test]
fn each_template_can_be_checked_at_once_and_is_the_built_in_lock() {
    for (template, lock) in TEMPLATES {
        let place = Place::new();
        let said = place.run(&format!("init --template {template}"));
        assert_eq!(said.code, Some(FINE), "{said:#?}");
        let file = format!("locks/{lock}.lua");
        assert!(
            said.out.contains(&format!("lockproof check {file}\n")),
            "{}",
            said.out
        );
        for path in files(&place.path("")) {
            let path = path
                .strip_prefix(place.path(""))
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            assert!(
                said.out.contains(&path),
                "{path} is not listed in {}",
                said.out
            );
        }
        assert_eq!(
            verdicts(&place, &file),
            verdicts(&place, lock),
            "{template}"
        );
    }
}

#[test]
fn the_matrix_the_scenario_and_the_job_are_about_the_lock_that_was_written() {
    for (template, lock) in TEMPLATES {
        let place = Place::new();
        place.run(&format!("init --template {template}"));
        let file = format!("locks/{lock}.lua");
        let matrix = Config::parse(&read(&place, "locks/matrix.toml")).unwrap();
        assert_eq!(matrix.group[0].locks, [file.as_str()]);
        let text = read(&place, "locks/scenarios/pause.toml");
        let scenario = Scenario::parse(&text, "pause.toml").unwrap();
        let locks: Vec<&str> = scenario.expect.keys().map(String::as_str).collect();
        assert_eq!(
            (locks.as_slice(), scenario.lock_file(lock)),
            (&[lock][..], file.as_str())
        );
        let said = place.run("scenario check locks/scenarios/pause.toml");
        assert_eq!(said.code, Some(FINE), "{said:#?}");
        let job = read(&place, ".github/workflows/locks.yml");
        let job: serde_json::Value = serde_norway::from_str(&job).unwrap();
        let steps = job["jobs"]["locks"]["steps"].as_array().unwrap();
        let runs = steps.iter().flat_map(|step| step["run"].as_str());
        let text: String = runs.collect();
        for used in [
            "locks/matrix.toml",
            "locks/baseline.toml",
            "locks/scenarios/pause.toml",
        ] {
            assert!(text.contains(used), "{text}");
        }
    }
}

#[test]
fn what_the_job_runs_is_as_expected_and_about_the_users_file() {
    let place = Place::new();
    place.run("init");
    let run = "run locks/matrix.toml --replays 1 --walks 1";
    let said = place.run(&format!("{run} --write-baseline locks/baseline.toml"));
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let said = place.run(&format!("{run} --baseline locks/baseline.toml"));
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let scenario = "scenario run locks/scenarios/pause.toml --replays 1 --walks 1";
    let said = place.run(scenario);
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    // The file is what is played, and not the built-in lock of its name.
    let text = read(&place, "locks/token.lua").replace("\"NX\", \"PX\", lock.ttl", "\"NX\"");
    place.write("locks/token.lua", &text);
    let said = place.run(scenario);
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
}

#[test]
fn nothing_that_exists_is_overwritten_and_then_nothing_is_written() {
    for there in [
        "locks/token.lua",
        "locks/scenarios/pause.toml",
        ".github/workflows/locks.yml",
    ] {
        let place = Place::new();
        let path = place.path(there);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        place.write(there, "mine");
        place
            .run("init")
            .failed(USAGE, &[there, "nothing was written"]);
        assert_eq!(files(&place.path("")), std::slice::from_ref(&path));
        assert_eq!(std::fs::read_to_string(path).unwrap(), "mine");
    }
    // A link that leads nowhere is there, too.
    let place = Place::new();
    std::fs::create_dir(place.path("locks")).unwrap();
    std::os::unix::fs::symlink(place.path("elsewhere"), place.path("locks/matrix.toml")).unwrap();
    place.run("init").failed(USAGE, &["locks/matrix.toml"]);
    assert!(!place.path("elsewhere").exists());
    let file = place.write("file", "");
    place
        .run(&format!("init {file}"))
        .failed(USAGE, &["is no folder"]);
}

#[test]
fn a_folder_is_made_and_the_way_into_it_is_told() {
    let place = Place::new();
    let said = place.run("init new/project");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert!(said.out.contains("\n  cd new/project\n"), "{}", said.out);
    assert!(place.path("new/project/locks/token.lua").exists());
    let said = place.run("init new/project --template redis");
    assert_eq!(said.code, Some(USAGE), "{said:#?}");
}

#[test]
fn a_scenario_that_calls_a_lock_file_by_another_name_is_told() {
    let place = Place::new();
    place.run("init");
    let text = read(&place, "locks/scenarios/pause.toml");
    let scenario = place.write(
        "other.toml",
        &text.replace("[expect.token]", "[expect.tokens]"),
    );
    for command in ["scenario check", "scenario run", "torture"] {
        let said = place.run(&format!("{command} {scenario}"));
        said.failed(
            USAGE,
            &["[expect.tokens]", "locks/token.lua is called `token`"],
        );
    }
    let scenario = place.write(
        "lost.toml",
        &text.replace("locks/token.lua", "locks/lost.lua"),
    );
    let said = place.run(&format!("scenario check {scenario}"));
    said.failed(
        USAGE,
        &[
            "[expect.token]",
            "failed to read the lock file locks/lost.lua",
        ],
    );
}
