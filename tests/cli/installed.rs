//! The program alone: copied into an empty folder, with an empty environment.
//!
//! A user has what `cargo install` leaves: one file. Whatever it needs beside itself
//! or in the project's folder is missing here, except a server on the search path.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use lockproof_lab::binaries::{find_default, server_directories};
use tempfile::TempDir;

/// A free run whose server's clock leaps.
const STORY: &str = r#"
schema = "lockproof.scenario/1"
name = "leap"
story = "The server's clock leaps."

[topology]
kind = "single"

[clients]
count = 2
ttl_ms = 1000

[nemesis]
quiet_ms = [300, 400]
fault_ms = [300, 400]
faults = [{ fault = "clock-jump", servers = ["node-0"], ms = 2000 }]

[run]
duration_ms = 1500
runs = 1

[expect.token]
violated = []
"#;

/// A folder with nothing but the program in it.
struct Stranger {
    _all: TempDir,
    home: PathBuf,
    temporary: PathBuf,
}

impl Stranger {
    fn new() -> Stranger {
        let all = tempfile::tempdir().unwrap();
        // LD_PRELOAD would take spaces and colons for the ends of names.
        let home = all.path().join("a folder: empty");
        let temporary = all.path().join("tmp dir: empty");
        for folder in [&home, &temporary] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::copy(env!("CARGO_BIN_EXE_lockproof"), home.join("lockproof")).unwrap();
        Stranger {
            _all: all,
            home,
            temporary,
        }
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(self.home.join("lockproof"));
        command
            .args(arguments.split_whitespace())
            .current_dir(&self.home)
            .env_clear()
            .env("TMPDIR", &self.temporary)
            .env("PATH", search_path());
        command
    }

    #[track_caller]
    fn run(&self, arguments: &str) -> (Option<i32>, String) {
        said(&mut self.command(arguments))
    }

    /// What is left where temporary files belong.
    fn litter(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.temporary).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

#[track_caller]
fn said(command: &mut Command) -> (Option<i32>, String) {
    let output = command.output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(!said.contains("panicked"), "{said}");
    (output.status.code(), said)
}

/// The system's folders, and that of this machine's server if it is elsewhere.
fn search_path() -> String {
    let server = find_default(&server_directories()).unwrap().path;
    let mut path = "/usr/local/bin:/usr/bin:/bin".to_owned();
    if let Some(folder) = server
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        path = format!("{}:{path}", folder.canonicalize().unwrap().display());
    }
    path
}

#[test]
fn the_program_alone_checks_replays_and_walks() {
    let stranger = Stranger::new();
    let (code, said) =
        stranger.run("check setnx-expire --assume client-crash --property no-orphan");
    assert_eq!(code, Some(1), "{said}");
    let traces = std::fs::read_dir(stranger.home.join("traces")).unwrap();
    let traces: Vec<PathBuf> = traces.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(traces.len(), 1, "{traces:?}");
    let name = traces[0].file_name().unwrap().to_str().unwrap().to_owned();
    let (code, said) = stranger.run(&format!("replay traces/{name} --runs 2"));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("reproduced"), "{said}");
    let (code, said) = stranger.run("walk token --walks 3");
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(stranger.litter(), Vec::<PathBuf>::new());
}

#[test]
fn the_program_alone_plays_free_runs_with_clocks_that_leap() {
    let stranger = Stranger::new();
    std::fs::write(stranger.home.join("story.toml"), STORY).unwrap();
    let (code, said) = stranger.run("torture story.toml --lock token");
    assert!([Some(0), Some(1), Some(2)].contains(&code), "{said}");
    let history = stranger.home.join("runs/leap/token/seed-1.history.jsonl");
    let history = std::fs::read_to_string(history).unwrap();
    assert!(history.contains("clock-jump"), "{history}");
    assert_eq!(stranger.litter(), Vec::<PathBuf>::new());
}

#[test]
fn the_doctor_tries_each_server_and_tells_which_one_is_broken() {
    let stranger = Stranger::new();
    let (code, words) = stranger.run("doctor");
    assert_eq!(code, Some(0), "{words}");
    assert!(words.contains("built in; each server above"), "{words}");
    // A server that is there and answers for its version, and cannot be used.
    let bad = tempfile::tempdir().unwrap();
    script(
        &bad.path().join("redis-server"),
        "#!/bin/sh\n[ \"$1\" = --version ] && echo Redis server v=7.7.7 && exit\nexit 3\n",
    );
    let path = format!("{}:{}", bad.path().display(), search_path());
    let (code, words) = said(stranger.command("doctor").env("PATH", path));
    assert_eq!(code, Some(1), "{words}");
    assert!(
        words.contains("broken") && words.contains("7.7.7"),
        "{words}"
    );
    let (code, words) = said(stranger.command("doctor").env("PATH", "/nowhere"));
    assert_eq!(code, Some(1), "{words}");
    assert!(
        words.contains("missing") && words.contains("no server to try"),
        "{words}"
    );
}

/// Written by a child: were it open for writing here, a process that another test
/// forks at that moment would make it "text file busy".
fn script(path: &Path, text: &str) {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", r#"printf %s "$1" >"$0""#])
        .arg(path)
        .arg(text);
    assert!(shell.status().unwrap().success());
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}
