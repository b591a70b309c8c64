//! Runs the program as its users do, in a folder of its own.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Exit codes, as `--help` tells them; written out because they are a promise.
pub const FINE: i32 = 0;
pub const VIOLATION: i32 = 1;
pub const UNKNOWN: i32 = 2;
pub const NOTHING: i32 = 3;
pub const USAGE: i32 = 64;
pub const INTERNAL: i32 = 70;

/// What a run said.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Said {
    fn from(output: Output) -> Said {
        Said {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Said {
    /// The exit code was this, and each text was said on standard error, in one
    /// error message and without a panic.
    #[track_caller]
    pub fn failed(&self, code: i32, texts: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        assert_eq!(self.err.matches("error: ").count(), 1, "{self:#?}");
        assert!(!self.err.contains("panicked"), "{self:#?}");
        for text in texts {
            assert!(self.err.contains(text), "no `{text}` in {self:#?}");
        }
    }
}

/// A folder in which the program runs, so that what it writes goes away.
pub struct Place {
    folder: TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file and gives its path as an argument.
    pub fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// All files below a folder of this place; none if there is no such folder.
    pub fn files(&self, name: &str) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.path(name)) else {
            return Vec::new();
        };
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    pub fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_lockproof"));
        command
            .args(arguments.split_whitespace())
            .env("NO_COLOR", "1")
            .env_remove("RUST_BACKTRACE")
            // The tests themselves may run there, and their runs are none of its job's.
            .env_remove("GITHUB_ACTIONS")
            .current_dir(&self.folder);
        // Tests may run where signals are ignored (`nohup`, `&` in a script).
        // SAFETY: signal(2) is one of the calls that are allowed after a fork.
        unsafe {
            command.pre_exec(|| {
                for signal in [libc::SIGINT, libc::SIGHUP, libc::SIGTERM] {
                    libc::signal(signal, libc::SIG_DFL);
                }
                Ok(())
            });
        }
        command
    }

    /// Starts the program and does not wait for it.
    pub fn start(&self, arguments: &str) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    pub fn run(&self, arguments: &str) -> Said {
        self.command(arguments).output().unwrap().into()
    }

    /// A fresh trace of a violation.
    pub fn trace(&self) -> String {
        let said = self.run("check setnx-expire --assume client-crash --property no-orphan");
        assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
        let files = self.files("traces");
        assert_eq!(files.len(), 1, "{files:?}");
        files[0].to_str().unwrap().to_owned()
    }
}

/// Runs the program in a place that is forgotten afterwards.
pub fn lockproof(arguments: &str) -> Said {
    Place::new().run(arguments)
}

/// A planted lock file of `tests/fixtures/locks/`.
pub fn planted(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/locks");
    let path = folder.join(format!("{name}.lua"));
    assert!(path.exists(), "{}", path.display());
    path.to_str().unwrap().to_owned()
}

/// Everything that descends from a process.
pub fn descendants(pid: u32) -> Vec<u32> {
    let mut parents = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(child) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        let rest = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
        let parent = rest.split(' ').nth(1).and_then(|ppid| ppid.parse().ok());
        parents.extend(parent.map(|parent: u32| (parent, child)));
    }
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(&next) = found.get(at) {
        found.extend(
            parents
                .iter()
                .filter(|(parent, _)| *parent == next)
                .map(|(_, child)| child),
        );
        at += 1;
    }
    found.split_off(1)
}

/// The program that a process runs.
pub fn program(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.unwrap_or_default().trim().to_owned()
}

/// Waits until the clients of a free run work: its history grows.
pub fn await_work(history: &Path) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while std::fs::read_to_string(history).map_or(0, |text| text.lines().count()) < 200 {
        assert!(Instant::now() < deadline, "the run does not begin");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until none of these processes runs any more.
pub fn await_end(processes: &[u32]) {
    let deadline = Instant::now() + Duration::from_secs(30);
    let lives = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        !stat.is_empty() && !stat.contains(") Z ")
    };
    while processes.iter().any(lives) {
        assert!(Instant::now() < deadline, "left behind: {processes:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
