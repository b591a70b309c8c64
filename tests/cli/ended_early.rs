//! Signals: every subcommand ends in order, says what it did, and leaves nothing.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::cli_support::*;
use rustix::process::{Pid, Signal, kill_process};

const SIGNALS: [(Signal, i32, &str); 3] = [
    (Signal::HUP, 129, "SIGHUP"),
    (Signal::INT, 130, "SIGINT"),
    (Signal::TERM, 143, "SIGTERM"),
];

/// Tens of millions of states without a violation.
const LONG: &str = "check redlock --nodes 3 --clients 3 --assume delay,loss \
    --property mutual-exclusion-validity";

/// A place with a folder for temporary files of its own.
struct Watched {
    place: Place,
    temporary: PathBuf,
}

impl Watched {
    fn new() -> Watched {
        let place = Place::new();
        let temporary = place.path("temporary");
        std::fs::create_dir(&temporary).unwrap();
        Watched { place, temporary }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = self.place.command(arguments);
        command.env("TMPDIR", &self.temporary);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // As from a terminal, wherever the tests run.
        unsafe {
            command.pre_exec(|| {
                for signal in [libc::SIGHUP, libc::SIGINT] {
                    libc::signal(signal, libc::SIG_DFL);
                }
                Ok(())
            });
        }
        command
    }

    fn start(&self, arguments: &str) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.temporary).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// Waits until servers are there.
    fn await_servers(&self) {
        until("no servers", || {
            let folders = self.left();
            folders
                .iter()
                .any(|folder| std::fs::read_dir(folder).is_ok_and(|entries| entries.count() > 1))
        });
    }
}

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while !so() {
        assert!(Instant::now() < deadline, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn send(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn said(child: Child) -> Said {
    child.wait_with_output().unwrap().into()
}

fn has_line(path: &Path, word: &str) -> bool {
    std::fs::read_to_string(path).is_ok_and(|text| text.contains(word))
}

#[test]
fn a_replay_that_is_told_to_end_leaves_no_folder_and_no_process() {
    let watched = Watched::new();
    let trace = watched.place.trace();
    for (signal, code, name) in SIGNALS {
        let child = watched.start(&format!("replay {trace} --runs 100000"));
        watched.await_servers();
        let processes = descendants(child.id());
        send(&child, signal);
        let said = said(child);
        assert_eq!(said.code, Some(code), "{said:#?}");
        assert!(said.err.contains(&format!("ended by {name}")), "{said:#?}");
        assert!(said.err.contains("of 100000 runs were made"), "{said:#?}");
        await_end(&processes);
        assert_eq!(watched.left(), Vec::<PathBuf>::new());
    }
}

#[test]
fn what_a_killed_run_leaves_the_next_one_takes_away() {
    let watched = Watched::new();
    let trace = watched.place.trace();
    let mut killed = watched.start(&format!("replay {trace} --runs 100000"));
    watched.await_servers();
    let living = watched.start(&format!("replay {trace} --runs 100000"));
    until("no second folder", || watched.left().len() == 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let foreign = watched.temporary.join("lockproof-results");
    std::fs::create_dir(&foreign).unwrap();
    let next: Said = watched
        .command(&format!("replay {trace}"))
        .output()
        .unwrap()
        .into();
    assert_eq!(next.code, Some(FINE), "{next:#?}");
    let left = watched.left();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left.contains(&foreign), "{left:?}");
    send(&living, Signal::TERM);
    let living = said(living);
    assert_eq!(living.code, Some(143), "{living:#?}");
    assert!(!living.err.contains("error"), "{living:#?}");
    assert_eq!(watched.left(), [foreign]);
}

#[test]
fn folders_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let watched = Watched::new();
    let trace = watched.place.trace();
    let child = watched.start(&format!("replay {trace} --runs 100000"));
    watched.await_servers();
    for folder in watched.left() {
        let mode = std::fs::metadata(&folder).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700, "{folder:?}");
    }
    send(&child, Signal::TERM);
    said(child);
}

#[test]
fn an_interrupted_run_writes_the_report_of_what_it_has() {
    let watched = Watched::new();
    let matrix = "schema = \"lockproof.run/1\"\nseed = 1\nreplays = 3\nwalks = 2000\n\
        walk_moves = 40\nstates_max = 1000000\n[[group]]\n\
        locks = [\"setnx-expire\", \"token\"]\nassumptions = [[], [\"client-crash\"]]\n";
    watched.place.write("matrix.toml", matrix);
    let child = watched.start("run matrix.toml --out out --write-baseline new.toml");
    watched.await_servers();
    let processes = descendants(child.id());
    send(&child, Signal::TERM);
    let said = said(child);
    assert_eq!(said.code, Some(143), "{said:#?}");
    assert!(said.err.contains("cells were not run"), "{said:#?}");
    let text = std::fs::read_to_string(watched.place.path("out/report.json")).unwrap();
    let report = lockproof_report::parse(&text).unwrap();
    let not_run = |cell: &&lockproof_report::model::Cell| {
        cell.reason.as_deref() == Some("not run: the run was interrupted")
    };
    let locks: Vec<&str> = report.locks.iter().map(|lock| lock.name.as_str()).collect();
    assert_eq!(locks, ["setnx-expire", "token"]);
    assert!(report.cells.iter().filter(not_run).count() > 0);
    assert!(!watched.place.path("new.toml").exists(), "half a baseline");
    assert!(!watched.place.path("out/.lockproof.lock").exists());
    await_end(&processes);
    assert_eq!(watched.left(), Vec::<PathBuf>::new());
}

#[test]
fn an_interrupted_free_run_ends_its_history_as_interrupted() {
    let watched = Watched::new();
    let child = watched.start("torture gc-pause --lock token --duration 60 --runs 3 --out runs");
    let history = watched
        .place
        .path("runs/gc-pause/token/seed-1.history.jsonl");
    await_work(&history);
    let processes = descendants(child.id());
    send(&child, Signal::HUP);
    let said = said(child);
    assert_eq!(said.code, Some(129), "{said:#?}");
    await_end(&processes);
    assert_eq!(watched.left(), Vec::<PathBuf>::new());
    let text = std::fs::read_to_string(&history).unwrap();
    let last = text.lines().last().unwrap();
    assert!(
        last.contains(r#""f":"end","value":{"complete":false}"#),
        "{last}"
    );
    let judged = watched
        .place
        .run(&format!("history check {}", history.display()));
    assert!(
        [UNKNOWN, VIOLATION].contains(&judged.code.unwrap()),
        "{judged:#?}"
    );
    assert!(watched.place.path("runs/gc-pause/report.html").exists());
}

#[test]
fn a_free_run_is_interrupted_at_any_time() {
    let watched = Watched::new();
    let line = "torture gc-pause --lock token --duration 1 --runs 100 --out runs";
    for delay in (0..12).map(|step| Duration::from_millis(step * 400)) {
        let child = watched.start(line);
        std::thread::sleep(delay);
        let processes = descendants(child.id());
        send(&child, Signal::TERM);
        let said = said(child);
        // One that has not begun is ended by the system.
        let ended = said.code.is_none() && said.out.is_empty() && processes.is_empty();
        assert!(
            ended || said.code == Some(143),
            "after {delay:?}: {said:#?}"
        );
        assert!(!said.err.contains("error"), "after {delay:?}: {said:#?}");
        await_end(&processes);
        assert_eq!(watched.left(), Vec::<PathBuf>::new(), "after {delay:?}");
    }
}

#[test]
fn a_second_signal_ends_a_run_at_once_and_leaves_no_process() {
    let watched = Watched::new();
    let child = watched.start("torture gc-pause --lock token --duration 60 --out runs");
    await_work(
        &watched
            .place
            .path("runs/gc-pause/token/seed-1.history.jsonl"),
    );
    let processes = descendants(child.id());
    assert!(processes.len() > 5);
    // While it stands, both arrive before it can end in order.
    send(&child, Signal::STOP);
    send(&child, Signal::INT);
    send(&child, Signal::TERM);
    send(&child, Signal::CONT);
    let code = said(child).code.unwrap();
    assert!([130, 143].contains(&code), "{code}");
    await_end(&processes);
}

#[test]
fn an_ignored_signal_stays_ignored() {
    let watched = Watched::new();
    let program = env!("CARGO_BIN_EXE_lockproof");
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("trap '' HUP; exec {program} {LONG}")])
        .current_dir(watched.place.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    until("it does not begin", || program_is(child.id(), "lockproof"));
    std::thread::sleep(Duration::from_millis(500));
    send(&child, Signal::HUP);
    std::thread::sleep(Duration::from_millis(500));
    send(&child, Signal::TERM);
    assert_eq!(said(child).code, Some(143));
}

fn program_is(pid: u32, name: &str) -> bool {
    program(pid) == name
}

#[test]
fn subcommands_without_anything_to_tell_end_with_the_signals_code() {
    let watched = Watched::new();
    let lines = "explore token --address 127.0.0.1:0";
    let child = watched.start(lines);
    std::thread::sleep(Duration::from_millis(1500));
    send(&child, Signal::TERM);
    assert_eq!(said(child).code, Some(143));
    // A pipe without a writer is waited for, and nobody is to wait for the second signal.
    let pipe = watched.place.path("pipe");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0).unwrap();
    let child = watched.start("history check pipe");
    std::thread::sleep(Duration::from_millis(800));
    send(&child, Signal::INT);
    let said = said(child);
    assert!([Some(130), Some(USAGE)].contains(&said.code), "{said:#?}");
}

#[test]
fn one_run_at_a_time_writes_into_a_folder() {
    let watched = Watched::new();
    let line = "torture gc-pause --lock token --duration 60 --out runs";
    let first = watched.start(line);
    let history = watched
        .place
        .path("runs/gc-pause/token/seed-1.history.jsonl");
    await_work(&history);
    let second: Said = watched.command(line).output().unwrap().into();
    let works = descendants(first.id())[0];
    let pid = format!("process {works} writes into runs/gc-pause");
    second.failed(USAGE, &[&pid, "--out"]);
    let other: Said = watched
        .command("scenario run gc-pause --lock token --replays 1 --walks 1 --out runs")
        .output()
        .unwrap()
        .into();
    other.failed(USAGE, &[&pid]);
    send(&first, Signal::TERM);
    assert_eq!(said(first).code, Some(143));
    assert!(has_line(&history, r#""complete":false"#));
    let again = line.replace("60", "1 --runs 1");
    let again: Said = watched.command(&again).output().unwrap().into();
    assert!([FINE, UNKNOWN].contains(&again.code.unwrap()), "{again:#?}");
    assert!(has_line(&history, r#""complete":true"#));
    assert!(!watched.place.path("runs/gc-pause/.lockproof.lock").exists());
}

#[test]
fn a_folder_whose_last_run_was_killed_is_free() {
    let watched = Watched::new();
    let line = "torture gc-pause --lock token --duration 60 --out runs";
    let mut killed = watched.start(line);
    await_work(
        &watched
            .place
            .path("runs/gc-pause/token/seed-1.history.jsonl"),
    );
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(watched.place.path("runs/gc-pause/.lockproof.lock").exists());
    let again = line.replace("60", "1 --runs 1");
    let again: Said = watched.command(&again).output().unwrap().into();
    assert!([FINE, UNKNOWN].contains(&again.code.unwrap()), "{again:#?}");
}
