//! Programs that pretend to be servers: they hang, print for ever, leave processes.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::cli_support::*;
use lockproof_lab::binaries;

struct Fake {
    place: Place,
    trace: String,
    /// A real server.
    server: PathBuf,
}

impl Fake {
    fn new() -> Fake {
        let place = Place::new();
        let trace = place.trace();
        let server = binaries::find_default(&binaries::server_directories()).unwrap();
        // It may be a bare name of the search path.
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let mut all = std::env::split_paths(&paths).map(|folder| folder.join(&server.path));
        let server = all.find(|path| path.is_file()).unwrap_or(server.path);
        std::fs::create_dir(place.path("bin")).unwrap();
        Fake {
            place,
            trace,
            server,
        }
    }

    /// A script in place of the server program.
    fn script(&self, body: &str) -> PathBuf {
        let path = self.place.path("bin/redis-server");
        let body = body.replace("SERVER", &self.server.display().to_string());
        // Written and renamed by a child: a file that is open for writing when another
        // test forks is "text file busy".
        let status = std::process::Command::new("sh")
            .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" >\"$0\""])
            .arg(&path)
            .arg(body)
            .status();
        assert!(status.unwrap().success());
        std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn run(&self, arguments: &str) -> Said {
        let mut command = self.place.command(arguments);
        let paths = format!("{}:/usr/bin:/bin", self.place.path("bin").display());
        command.env("PATH", paths).output().unwrap().into()
    }
}

#[test]
fn a_program_that_never_tells_its_version_is_given_up() {
    let fake = Fake::new();
    let path = fake.script("sleep 600 & echo $! >>\"$0.pids\"; sleep 600");
    let line = format!("replay {} --server {}", fake.trace, path.display());
    let said = fake.run(&line);
    said.failed(
        USAGE,
        &["redis-server --version`", "did not end within 10s"],
    );
    let said = fake.run("doctor");
    assert!(said.out.contains("did not end within 10s"), "{said:#?}");
    let pids = std::fs::read_to_string(path.with_extension("pids")).unwrap();
    let pids: Vec<u32> = pids.lines().map(|pid| pid.parse().unwrap()).collect();
    assert!(pids.len() >= 2);
    await_end(&pids);
}

#[test]
fn a_program_that_prints_for_ever_is_cut_off() {
    let fake = Fake::new();
    for body in ["yes Redis", "yes Redis >&2"] {
        let path = fake.script(body);
        let line = format!("replay {} --server {}", fake.trace, path.display());
        fake.run(&line)
            .failed(USAGE, &["printed more than 65536 bytes"]);
        let said = fake.run("doctor");
        assert!(said.out.contains("printed more than"), "{said:#?}");
    }
}

#[test]
fn what_a_wrapper_around_a_server_starts_ends_with_it() {
    let fake = Fake::new();
    let path = fake.script(
        "[ \"$1\" = --version ] && exec SERVER --version\n\
         yes noise & echo $! >>\"$0.pids\"\n\
         sleep 600 & echo $! >>\"$0.pids\"\n\
         exec SERVER \"$@\"",
    );
    let line = format!("replay {} --server {}", fake.trace, path.display());
    let said = fake.run(&line);
    assert_eq!(said.code, Some(FINE), "{said:#?}");
    let pids = std::fs::read_to_string(path.with_extension("pids")).unwrap();
    let pids: Vec<u32> = pids.lines().map(|pid| pid.parse().unwrap()).collect();
    assert_eq!(pids.len(), 2);
    await_end(&pids);
}

#[test]
fn a_clock_library_that_no_server_loads_is_not_called_ok() {
    let fake = Fake::new();
    fake.script("unset LD_PRELOAD\nexec SERVER \"$@\"");
    // A copy elsewhere finds no servers that were built beside it.
    let program = fake.place.path("lockproof");
    std::fs::copy(env!("CARGO_BIN_EXE_lockproof"), &program).unwrap();
    let paths = format!("{}:/usr/bin:/bin", fake.place.path("bin").display());
    let output = std::process::Command::new(program)
        .arg("doctor")
        .env("PATH", paths)
        .output();
    let said: Said = output.unwrap().into();
    let mut rows = said.out.lines();
    let row = rows.find(|line| line.contains("clock library  built in"));
    assert!(row.unwrap().starts_with(" ?"), "{said:#?}");
    assert!(
        said.out.contains("did not load the clock library"),
        "{said:#?}"
    );
    assert_eq!(said.code, Some(VIOLATION), "{said:#?}");
}
