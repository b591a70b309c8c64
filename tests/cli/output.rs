//! What the program prints and writes, and how it ends early.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::cli_support::*;
use lockproof_model::check::{CheckReport, Verdict};
use lockproof_model::lock::{LockFile, SETUPS, builtin_names};
use lockproof_model::world::catalogue::{FAULTS, PROPERTIES};
use lockproof_report::model::{Environment, Report, SCHEMA};

fn keys(value: &serde_json::Value) -> BTreeSet<&str> {
    let object = value.as_object().expect("an object");
    object.keys().map(String::as_str).collect()
}

#[test]
fn json_is_one_object_of_the_documented_shape_and_nothing_else() {
    let place = Place::new();
    let said = place.run("check setnx-expire --assume client-crash --format json");
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    assert_eq!(said.err, "");
    let any: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(any["schema"], "lockproof.check/1");
    assert_eq!(
        keys(&any),
        BTreeSet::from(["lock", "results", "schema", "setup"])
    );
    let always = [
        "assumptions",
        "depth",
        "property",
        "seconds",
        "states",
        "transitions",
        "verdict",
    ];
    for result in any["results"].as_array().unwrap() {
        let mut expected = BTreeSet::from(always);
        if result["verdict"] == "violated" {
            expected.insert("trace");
        }
        assert_eq!(keys(result), expected, "{}", result["property"]);
    }
    // The traces are inside; a folder of them would be a surprise.
    assert_eq!(place.files("traces").len(), 0);
}

#[test]
fn a_wait_on_which_servers_disagree_is_unknown() {
    let path = planted("wait-after-refusal");
    let said = lockproof(&format!("check {path} --assume failover --format json"));
    assert_eq!(said.code, Some(UNKNOWN), "{said:#?}");
    let report: CheckReport = serde_json::from_str(&said.out).unwrap();
    for result in &report.results {
        assert_eq!(result.verdict, Verdict::Unknown, "{}", result.property);
        let reason = result.reason.as_deref().unwrap_or_default();
        assert!(reason.contains("Redis 7.0 and 8.2 disagree"), "{reason}");
    }
}

fn all_unknown(arguments: &str) -> CheckReport {
    let said = lockproof(&format!(
        "check token --assume none {arguments} --format json"
    ));
    assert_eq!(said.code, Some(UNKNOWN), "{said:#?}");
    let report: CheckReport = serde_json::from_str(&said.out).unwrap();
    assert!(!report.results.is_empty());
    for result in &report.results {
        assert_eq!(result.verdict, Verdict::Unknown, "{}", result.property);
        assert!(result.reason.is_some(), "{}", result.property);
    }
    report
}

#[test]
fn no_time_is_unknown_and_never_holds() {
    all_unknown("--timeout 0");
}

#[test]
fn too_few_states_are_unknown_and_never_hold() {
    let report = all_unknown("--max-states 10");
    let reason = report.results[0].reason.clone().unwrap();
    assert!(reason.contains("10 states"), "{reason}");
}

/// Tens of millions of states without a violation: the signal comes before the
/// end however slow the machine is that sends it.
const LONG: &str = "check redlock --nodes 3 --clients 3 --assume delay,loss \
    --property mutual-exclusion-validity";

#[test]
fn ctrl_c_gives_what_is_known_so_far_as_unknown() {
    let place = Place::new();
    let mut child = place
        .command(LONG)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The handler stands before the first line is said.
    let mut err = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    err.read_line(&mut line).unwrap();
    assert!(line.starts_with("checking redlock "), "{line}");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut out = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut out)
        .unwrap();
    let code = child.wait().unwrap().code();
    assert_eq!(code, Some(130), "{out}");
    assert!(out.contains("unknown"), "{out}");
    assert!(!out.contains("holds"), "{out}");
}

#[test]
fn commands_that_are_shown_are_quoted_for_a_shell() {
    let place = Place::new();
    let said: Said = place
        .command("check setnx-expire --assume client-crash --property no-orphan --traces")
        .arg("my $(traces)")
        .output()
        .unwrap()
        .into();
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    let line = said
        .out
        .lines()
        .find(|line| line.starts_with("replay it: "));
    let command = line.unwrap().strip_prefix("replay it: lockproof ").unwrap();
    let script = format!("exec {} {command}", env!("CARGO_BIN_EXE_lockproof"));
    let mut shell = Command::new("sh");
    shell.args(["-c", &script]).current_dir(place.path(""));
    let said: Said = shell.output().unwrap().into();
    assert_eq!(said.code, Some(FINE), "{command}: {said:#?}");
}

#[test]
fn a_reader_that_goes_away_changes_no_exit_code() {
    let place = Place::new();
    let mut child = place
        .command("check setnx-expire --assume client-crash --property no-orphan")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let said: Said = child.wait_with_output().unwrap().into();
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    assert!(!said.err.contains("panicked"), "{said:#?}");
}

#[test]
fn an_answer_that_cannot_be_printed_is_an_error() {
    let place = Place::new();
    for arguments in ["list", "man", "check token --assume none --format json"] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut command = place.command(arguments);
        let said: Said = command.stdout(full).output().unwrap().into();
        said.failed(INTERNAL, &["No space left"]);
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_an_error() {
    let place = Place::new();
    let file = place.write("file", "");
    let said = place.run(&format!(
        "check setnx-expire --assume client-crash --property no-orphan --traces {file}/traces"
    ));
    said.failed(INTERNAL, &["failed to create the folder"]);
}

/// Like a full disk, for files alone: none may grow beyond one kilobyte.
fn with_full_disk(place: &Place, arguments: &str) -> Said {
    let program = env!("CARGO_BIN_EXE_lockproof");
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {program} {arguments}");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(place.path(""));
    command.output().unwrap().into()
}

#[test]
fn a_full_disk_is_told_and_leaves_no_half_of_a_trace() {
    let place = Place::new();
    let arguments = "check setnx-expire --assume client-crash --property no-orphan";
    let said = with_full_disk(&place, arguments);
    said.failed(INTERNAL, &["failed to write the trace"]);
    assert_eq!(place.files("traces").len(), 0);
}

fn empty_report() -> Report {
    Report {
        partition: None,
        schema: SCHEMA.into(),
        tool_version: "0.1.0".into(),
        environment: Environment {
            servers: Vec::new(),
            proxy: None,
        },
        seed: 1,
        command: "lockproof run".into(),
        config: String::new(),
        properties: Default::default(),
        assumptions: Default::default(),
        locks: Vec::new(),
        cells: Vec::new(),
        counterexamples: Vec::new(),
        scenarios: Vec::new(),
    }
}

#[test]
fn a_report_is_written_whole_or_not_at_all() {
    let place = Place::new();
    let json = serde_json::to_string(&empty_report()).unwrap();
    let report = place.write("kept.json", &json);
    let said = place.run(&format!("report {report} --out good"));
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert!(place.files("good").len() > 2);

    let said = with_full_disk(&place, &format!("report {report} --out full"));
    said.failed(INTERNAL, &["failed to write"]);
    assert_eq!(place.files("full").len(), 0);

    // A folder stands where a file should go.
    std::fs::create_dir_all(place.path("bad/report.html")).unwrap();
    let said = place.run(&format!("report {report} --out bad"));
    said.failed(INTERNAL, &["report.html"]);
    assert_eq!(place.files("bad").len(), 1, "the folder alone");

    let said = place.run(&format!("report {report} --out {report}"));
    said.failed(INTERNAL, &["failed to write"]);
    assert_eq!(std::fs::read_to_string(&report).unwrap(), json);
}

/// The subcommands, as `--help` lists them.
fn subcommands() -> Vec<String> {
    let said = lockproof("--help");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let (_, after) = said.out.split_once("Commands:\n").unwrap();
    let names: Vec<String> = after
        .lines()
        .take_while(|line| !line.is_empty())
        .filter_map(|line| line.split_whitespace().next())
        .map(str::to_owned)
        .collect();
    assert!(
        names.contains(&"check".into()) && names.len() > 8,
        "{names:?}"
    );
    names
}

#[test]
fn completions_and_the_man_page_know_every_subcommand() {
    for arguments in [
        "completions bash",
        "completions zsh",
        "completions fish",
        "man",
    ] {
        let said = lockproof(arguments);
        assert_eq!(said.code, Some(FINE), "{said:#?}");
        for name in subcommands() {
            assert!(said.out.contains(&name), "{arguments}: no `{name}`");
        }
        assert!(!said.out.contains("lockproof-worker(1)"), "{arguments}");
    }
}

#[test]
fn list_shows_all_of_every_registry() {
    let said = lockproof("list");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let first: BTreeSet<&str> = said
        .out
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let properties = PROPERTIES.iter().map(|info| info.id);
    let faults = FAULTS.iter().map(|info| info.id);
    let setups = SETUPS.iter().map(|setup| setup.name);
    let names = builtin_names().into_iter().chain(setups);
    for name in names.chain(properties).chain(faults) {
        assert!(first.contains(name), "no `{name}` in {}", said.out);
    }
}

#[test]
fn a_log_has_no_line_of_what_is_only_under_way() {
    let place = Place::new();
    let said = place.run("walk token --assume loss --walks 5");
    assert_eq!(said.out, "loss: 5 of 5 walks agree, seed 1\n", "{said:#?}");
    assert_eq!(said.err, "");
    let said = place.run("threads threadlocal-reentrant");
    assert_eq!(said.err, "");
}

#[test]
fn no_line_of_a_list_is_wider_than_a_hundred_columns() {
    for command in ["list", "scenario list", "threads"] {
        let said = lockproof(command);
        assert!(said.out.lines().count() > 2, "{command}: {said:#?}");
        for line in said.out.lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
            assert_eq!(line, line.trim_end());
        }
    }
}

#[test]
fn what_a_check_tells_stays_within_the_page() {
    let place = Place::new();
    let said = place.run("check token --assume loss,client-pause");
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    assert!(
        said.out.contains("lost update"),
        "the set has a long line: {said:#?}"
    );
    for line in said.out.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

#[test]
fn names_that_are_parts_of_others_mean_all_of_them_or_are_told_which() {
    let said = lockproof("check setnx-del --assume none --property mutual-exclusion --format json");
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let report: CheckReport = serde_json::from_str(&said.out).unwrap();
    assert_eq!(report.results.len(), 3);
    let said = lockproof("check token --assume pause");
    said.failed(USAGE, &["did you mean one of client-pause, node-pause?"]);
    let said = lockproof("check token --assume none,loss");
    said.failed(USAGE, &["`none`", "without faults"]);
    let said = lockproof("check --help");
    assert!(said.out.contains("`none` is the set"), "{}", said.out);
}

#[test]
fn no_subcommand_and_an_unknown_option_are_usage_errors() {
    for arguments in ["", "check", "check token --loud", "completions tcsh"] {
        let said = lockproof(arguments);
        assert_eq!(said.code, Some(USAGE), "{said:#?}");
        assert_eq!(said.out, "");
    }
}

/// The steps of each trace, to compare two answers without their times.
fn traces(json: &str) -> Vec<String> {
    let report: CheckReport = serde_json::from_str(json).unwrap();
    let traces = report
        .results
        .iter()
        .filter_map(|result| result.trace.as_ref());
    traces
        .map(|trace| serde_json::to_string(trace).unwrap())
        .collect()
}

#[test]
fn random_runs_find_violations_prove_nothing_and_repeat_with_their_seed() {
    let place = Place::new();
    let line = "check setnx-expire --assume client-crash --simulate 300 --moves 200 --format json";
    let (first, second) = (place.run(line), place.run(line));
    assert_eq!(first.code, Some(VIOLATION), "{first:#?}");
    assert!(first.err.contains("seed 1"), "{}", first.err);
    assert_eq!(traces(&first.out), traces(&second.out));
    let report: CheckReport = serde_json::from_str(&first.out).unwrap();
    for result in &report.results {
        assert_ne!(result.verdict, Verdict::Holds, "{}", result.property);
        let broken = result.property == "no-orphan";
        assert!(!broken || result.verdict == Verdict::Violated);
    }
}

#[test]
fn a_trace_under_many_faults_has_a_name_that_a_file_can_have() {
    let place = Place::new();
    let name = "n".repeat(100);
    let text = LockFile::builtin("setnx-expire").unwrap().text;
    let text = text.replace("\"setnx-expire\"", &format!("\"{name}\""));
    let file = place.write("long.lua", &text);
    let faults = "client-crash,client-pause,loss,delay,overrun,node-restart-none,\
                  node-restart-everysec,node-restart-always,client-skew,client-drift";
    let said = place.run(&format!(
        "check {file} --assume {faults} --property no-orphan --max-states 50000"
    ));
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
    let files = place.files("traces");
    let names: Vec<&str> = files
        .iter()
        .filter_map(|path| path.file_name()?.to_str())
        .collect();
    let [trace] = names[..] else {
        panic!("{names:?}")
    };
    assert!(trace.starts_with("nnnnn"), "{trace}");
    assert!(trace.contains(".no-orphan.10-faults-"), "{trace}");
    assert!(trace.len() < 100, "{trace}");
    let replayed = place.run(&format!("replay traces/{trace} --runs 1"));
    assert_eq!(replayed.code, Some(FINE), "{replayed:#?}");
}
