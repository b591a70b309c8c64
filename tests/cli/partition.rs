//! A campaign that is divided over jobs, and what CI systems are told of it.

use crate::cli_support::*;
use lockproof_report::model::Report;

/// Five worlds: enough for parts of unequal size.
const MATRIX: &str = r#"
schema = "lockproof.run/1"
seed = 3
replays = 1
walks = 1
walk_moves = 10
states_max = 1000000

[[group]]
locks = ["token", "setnx-expire"]
assumptions = [[], ["client-crash"]]
properties = ["mutual-exclusion-validity", "no-orphan"]

[[group]]
locks = ["setnx-expire"]
assumptions = [["loss"]]
properties = ["no-orphan"]
"#;

fn report(place: &Place, folder: &str) -> Report {
    let text = std::fs::read_to_string(place.path(folder).join("report.json")).unwrap();
    let mut report = lockproof_report::parse(&text).unwrap();
    for cell in &mut report.cells {
        cell.seconds = 0.0;
    }
    report
}

/// The three parts of the matrix, run one after the other.
fn parts(place: &Place) {
    place.write("matrix.toml", MATRIX);
    for part in 1..=3 {
        let said = place.run(&format!(
            "run matrix.toml --partition {part}/3 --out part-{part}"
        ));
        assert_eq!(said.code, Some(0), "{said:#?}");
    }
}

#[test]
fn merged_parts_are_the_report_of_an_undivided_run() {
    let place = Place::new();
    parts(&place);
    let sizes = [1, 2, 3].map(|part| report(&place, &format!("part-{part}")).cells.len());
    assert_eq!(sizes, [4, 3, 2]);
    let said = place.run("run matrix.toml --out whole");
    assert_eq!(said.code, Some(0), "{said:#?}");
    let whole = report(&place, "whole");
    let merge = "report merge part-3/report.json part-1/report.json part-2/report.json";
    let said = place.run(&format!("{merge} --out whole"));
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert_eq!(report(&place, "whole"), whole);
    assert!(whole.counterexamples.len() > 1);
    assert_eq!(
        place.files("whole/traces").len(),
        whole.counterexamples.len()
    );
}

#[test]
fn the_command_line_says_how_often_to_replay_and_the_report_says_so() {
    let place = Place::new();
    place.write("matrix.toml", MATRIX);
    let said = place.run("run matrix.toml --replays 2 --walks 3 --out more");
    assert_eq!(said.code, Some(0), "{said:#?}");
    let more = report(&place, "more");
    assert_eq!(
        more.command,
        "lockproof run matrix.toml --replays 2 --walks 3"
    );
    let replays = more.cells.iter().filter_map(|cell| cell.replays);
    let attempts: Vec<u32> = replays.map(|count| count.attempts).collect();
    assert!(!attempts.is_empty() && attempts.iter().all(|count| *count == 2));
    let walks = more.cells.iter().filter_map(|cell| cell.walks);
    let attempts: Vec<u32> = walks.map(|walks| walks.count).collect();
    assert!(!attempts.is_empty() && attempts.iter().all(|count| *count == 3));
    for wrong in ["--replays 0", "--replays many", "--walks -1"] {
        let said = place.run(&format!("run matrix.toml {wrong}"));
        assert_eq!(said.code, Some(USAGE), "{said:#?}");
    }
}

#[test]
fn scenarios_are_divided_and_joined_in_their_order() {
    let place = Place::new();
    let run = "scenario run lost-reply overrun late-request --lock token --replays 1 --walks 1";
    for part in 1..=2 {
        let said = place.run(&format!("{run} --partition {part}/2 --out part-{part}"));
        assert_eq!(said.code, Some(FINE), "{said:#?}");
    }
    let said = place.run("report merge part-2/report.json part-1/report.json --out whole");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let whole = report(&place, "whole");
    let names: Vec<&str> = whole
        .scenarios
        .iter()
        .map(|row| row.scenario.as_str())
        .collect();
    assert_eq!(names, ["lost-reply", "overrun", "late-request"]);
}

#[test]
fn parts_that_do_not_make_a_whole_are_refused() {
    let place = Place::new();
    parts(&place);
    for (given, complaint) in [
        ("part-1 part-3", "part 2/3 is missing"),
        ("part-1 part-1 part-2 part-3", "part 1/3 was given twice"),
    ] {
        let files = given.replace("part-1", "part-1/report.json");
        let files = files.replace("part-2", "part-2/report.json");
        let files = files.replace("part-3", "part-3/report.json");
        place
            .run(&format!("report merge {files} --out merged"))
            .failed(USAGE, &[complaint]);
    }
    let other = std::fs::read_to_string(place.path("part-2/report.json")).unwrap();
    place.write("other.json", &other.replace("\"seed\": 3", "\"seed\": 4"));
    place
        .run("report merge part-1/report.json other.json part-3/report.json --out merged")
        .failed(USAGE, &["report 2 does not belong", "another seed"]);
    place.write(
        "whole.json",
        &other.replace("\"of\": 3", "\"of\": 3 ").replace(
            "  \"partition\": {\n    \"index\": 2,\n    \"of\": 3 \n  },\n",
            "",
        ),
    );
    place
        .run("report merge whole.json --out merged")
        .failed(USAGE, &["report 1 is no part", "--partition k/n"]);
    assert!(!place.path("merged").exists());
    place
        .run("run matrix.toml --partition 4/3")
        .failed(USAGE, &["4/3", "k/n"]);
}

#[test]
fn a_part_is_held_to_its_own_cells_and_the_merged_report_to_all() {
    let place = Place::new();
    place.write("matrix.toml", MATRIX);
    let said = place.run("run matrix.toml --out whole --write-baseline base.toml");
    assert_eq!(said.code, Some(0), "{said:#?}");
    let baseline = std::fs::read_to_string(place.path("base.toml")).unwrap();
    let (kept, last) = baseline.rsplit_once("[[run]]").unwrap();
    assert!(last.contains("token"));
    let wish = format!("{baseline}\n[[run]]{}", last.replace("token", "gone"));
    place.write("wish.toml", &wish);
    for part in 1..=3 {
        let said = place.run(&format!(
            "run matrix.toml --partition {part}/3 --out part-{part} --baseline wish.toml"
        ));
        assert_eq!(said.code, Some(0), "{said:#?}");
    }
    let merge = "report merge part-1/report.json part-2/report.json part-3/report.json --out all";
    let said = place.run(&format!("{merge} --baseline base.toml"));
    assert_eq!(said.code, Some(0), "{said:#?}");
    let said = place.run(&format!("{merge} --baseline wish.toml"));
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    assert!(said.err.contains("missing: gone"), "{}", said.err);
    place.write("less.toml", kept);
    let said = place.run(&format!("{merge} --baseline less.toml"));
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    assert!(said.err.contains("new: token"), "{}", said.err);
}

#[test]
fn github_is_told_which_line_of_a_users_file_turns_the_run_red() {
    let place = Place::new();
    let text = std::fs::read_to_string(planted("planted/redlock-minority")).unwrap();
    place.write("my,lock.lua", &text);
    let matrix = MATRIX.replace("[\"token\", \"setnx-expire\"]", "[\"my,lock.lua\"]");
    let matrix = matrix.split("[[group]]\nlocks = [\"setnx").next().unwrap();
    place.write("matrix.toml", matrix);
    let said = place.run("run matrix.toml --write-baseline base.toml");
    assert_eq!(said.code, Some(0), "{said:#?}");
    let baseline = std::fs::read_to_string(place.path("base.toml")).unwrap();
    place.write("wish.toml", &baseline.replace("violated", "holds"));
    let run = |github: &str| {
        let mut command = place.command("run matrix.toml --baseline wish.toml");
        command.env("GITHUB_ACTIONS", github);
        command.env("GITHUB_STEP_SUMMARY", place.path("summary.md"));
        Said::from(command.output().unwrap())
    };
    let said = run("false");
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    assert!(!said.out.contains("::error"), "{}", said.out);
    assert!(!place.path("summary.md").exists());
    let said = run("true");
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    let annotation = said.out.lines().find(|line| line.starts_with("::error"));
    let annotation = annotation.expect("an annotation");
    assert!(
        annotation.starts_with("::error file=my%2Clock.lua,line="),
        "{annotation}"
    );
    assert!(
        annotation.contains("::expected holds, found violated in "),
        "{annotation}"
    );
    assert!(
        annotation.contains("; repeat: lockproof check"),
        "{annotation}"
    );
    // The shortest trace: every step, on one line of the log.
    let report = report(&place, "reports/latest");
    let bad = report.cells.iter().find(|cell| cell.is_bad()).unwrap();
    let found = bad.counterexample.as_ref().unwrap();
    let found = report.counterexample(found).unwrap();
    let set = lockproof_trace::words::assumptions(&bad.assumptions);
    let named = format!("{}%3A {} under ", bad.lock, bad.property);
    assert!(annotation.contains(&named), "{annotation}");
    assert!(annotation.contains("%0A   1   "), "{annotation}");
    let last = format!("step {} violates {}", found.trace.length(), bad.property);
    assert!(annotation.contains(&last), "{annotation}");
    // Summary and junit.xml say the same: lock, property, faults, and the trace.
    let summary = std::fs::read_to_string(place.path("summary.md")).unwrap();
    let (overview, unexpected) = summary.split_once("\n## Not as expected\n").unwrap();
    assert!(overview.contains("## Which lock survives which fault"));
    let (unexpected, _) = unexpected.split_once("\n## ").unwrap();
    assert!(unexpected.contains(&last), "{unexpected}");
    let junit = std::fs::read_to_string(place.path("reports/latest/junit.xml")).unwrap();
    let (_, failure) = junit.split_once("<failure ").unwrap();
    let (failure, _) = failure.split_once("</failure>").unwrap();
    let message = format!("{}: {} under {set}: expected holds", bad.lock, bad.property);
    assert!(failure.contains(&message), "{failure}");
    assert!(failure.contains(&last), "{failure}");
}

#[test]
fn without_a_baseline_the_summary_is_written_and_nothing_is_annotated() {
    let place = Place::new();
    place.write("matrix.toml", MATRIX);
    let mut command = place.command("run matrix.toml --partition 1/3");
    command.env("GITHUB_ACTIONS", "true");
    command.env("GITHUB_STEP_SUMMARY", place.path("summary.md"));
    let said = Said::from(command.output().unwrap());
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(!said.out.contains("::error"), "{}", said.out);
    let summary = std::fs::read_to_string(place.path("summary.md")).unwrap();
    assert!(summary.starts_with("# lockproof report"), "{summary}");
}
