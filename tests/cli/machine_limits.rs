//! What the machine refuses is told as that: no panic, no hanging, nothing left.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::cli_support::*;
use lockproof_trace as trace;

/// A user of whom nothing else runs: root is not held to limits of processes.
const NOBODY: u32 = 61_234;

/// A shell command of a place that everybody may enter.
struct Limited {
    place: Place,
    trace: String,
}

impl Limited {
    fn new() -> Limited {
        let place = Place::new();
        let trace = place.trace();
        let open = |path: &Path| std::fs::set_permissions(path, Permissions::from_mode(0o777));
        for name in ["", "traces", "temporary"] {
            let path = place.path(name);
            std::fs::create_dir_all(&path).unwrap();
            open(&path).unwrap();
        }
        let program = place.path("lockproof");
        std::fs::copy(env!("CARGO_BIN_EXE_lockproof"), &program).unwrap();
        open(&program).unwrap();
        open(Path::new(&trace)).unwrap();
        Limited { place, trace }
    }

    /// Runs the program under `limits` of bash.
    fn run(&self, limits: &str, arguments: &str) -> Said {
        let script = format!("{limits}; exec ./lockproof {arguments}");
        // One that hangs is killed, and its exit code is none that is expected.
        let mut command = match rustix::process::geteuid().is_root() {
            true => {
                let mut command = Command::new("timeout");
                command.args(["-s", "KILL", "60", "setpriv"]);
                let user = NOBODY.to_string();
                command.args(["--reuid", &user, "--clear-groups", "bash", "-c", &script]);
                command
            }
            false => {
                let mut command = Command::new("timeout");
                command.args(["-s", "KILL", "60", "bash", "-c", &script]);
                command
            }
        };
        command
            .current_dir(self.place.path(""))
            .env("NO_COLOR", "1")
            .env("TMPDIR", self.place.path("temporary"))
            .env_remove("RUST_BACKTRACE");
        command.output().unwrap().into()
    }

    fn left(&self) -> usize {
        self.place.files("temporary").len()
    }
}

/// The run went well, or ended with an error that names the limit.
#[track_caller]
fn told(said: &Said, limit: &str) -> bool {
    let words = format!("{}{}", said.out, said.err);
    assert!(!words.contains("panicked"), "{said:#?}");
    assert!(!words.contains("please report"), "{said:#?}");
    match said.code {
        Some(INTERNAL) => {
            // A server that cannot live within the limit says so itself.
            let by_server = words.contains("ended by itself") || words.contains("ended at once");
            assert!(by_server || words.contains(limit), "{said:#?}");
            true
        }
        Some(FINE | VIOLATION | UNKNOWN) => false,
        _ => panic!("{said:#?}"),
    }
}

#[test]
fn a_machine_without_processes_and_threads_is_told() {
    let limited = Limited::new();
    let mut refused = 0;
    for most in [1, 2, 3, 4, 6, 8, 10, 12, 14, 18] {
        for arguments in [
            "check token --assume none --workers 2",
            &format!("replay {}", limited.trace),
            "torture gc-pause --lock token --duration 1 --runs 1 --out runs",
        ] {
            let said = limited.run(&format!("ulimit -u {most}"), arguments);
            refused += u32::from(told(&said, "ulimit -u"));
        }
    }
    assert!(refused >= 10, "only {refused}");
    assert_eq!(limited.left(), 0);
}

#[test]
fn a_process_that_may_open_few_files_is_told() {
    let limited = Limited::new();
    let mut refused = 0;
    for most in [6, 8, 10, 12, 16, 20, 28, 40] {
        for arguments in [
            &format!("replay {}", limited.trace),
            "torture gc-pause --lock token --duration 1 --runs 1 --out runs",
        ] {
            let said = limited.run(&format!("ulimit -n {most}"), arguments);
            refused += u32::from(told(&said, "ulimit -n"));
        }
    }
    assert!(refused >= 8, "only {refused}");
    assert_eq!(limited.left(), 0);
}

#[test]
fn a_folder_for_temporary_files_that_cannot_be_had_is_named() {
    let place = Place::new();
    let trace = place.trace();
    for folder in ["/nowhere/at/all", "/proc", "missing"] {
        let mut command = place.command(&format!("replay {trace}"));
        let said: Said = command.env("TMPDIR", folder).output().unwrap().into();
        assert_eq!(said.code, Some(INTERNAL), "{said:#?}");
        assert!(said.out.contains("set TMPDIR to a folder"), "{said:#?}");
        assert!(said.out.contains(folder), "{said:#?}");
    }
    std::fs::create_dir(place.path("relative")).unwrap();
    let mut command = place.command(&format!("replay {trace}"));
    command.env("TMPDIR", "relative").env_remove("HOME");
    let said: Said = command.output().unwrap().into();
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    assert_eq!(place.files("relative").len(), 0);
}

#[test]
fn a_trace_that_no_model_has_is_refused_before_a_server_starts() {
    let place = Place::new();
    let path = place.trace();
    let text = std::fs::read_to_string(&path).unwrap();
    let temporary = place.path("temporary");
    for (name, count) in [
        ("nodes", 255),
        ("nodes", 8),
        ("clients", 5),
        ("clients", 255),
    ] {
        let mut any: serde_json::Value = serde_json::from_str(&text).unwrap();
        any["setup"][name] = count.into();
        place.write("large.json", &any.to_string());
        // Whoever made a folder there would fail otherwise than this.
        let mut command = place.command("replay large.json");
        let said: Said = command.env("TMPDIR", &temporary).output().unwrap().into();
        let words = format!("setup.{name} is {count}, but a model has 1 to");
        said.failed(USAGE, &["large.json", &words]);
    }
    assert_eq!(
        trace::CLIENTS_MAX as usize,
        lockproof_model::world::CLIENTS_MAX
    );
    assert_eq!(trace::NODES_MAX as usize, lockproof_model::world::NODES_MAX);
}
