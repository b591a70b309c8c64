//! What lockproof is delivered with: the scripts of the action and of the template for GitLab,
//! and the files of a release. Nothing is fetched: a folder stands for the release's page.
//!
//! scripts/packages.sh lints all of it; here it runs.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cli_support::*;
use sha2::{Digest, Sha256};

fn root(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// A program that says what it was called with, a line an argument.
const ECHO: &str = "#!/bin/sh\n[ \"$1\" = --version ] && echo \"lockproof VERSION\" && exit\nprintf '%s\\n' \"$@\"\nexit 1\n";

fn program(path: &Path, version: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, ECHO.replace("VERSION", version)).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A release's folder, `releases`, whose program is a script; and what says where it is.
struct Release {
    place: Place,
    archive: String,
}

impl Release {
    fn new(version: &str, program_says: &str) -> Release {
        let place = Place::new();
        let name = format!("lockproof-{version}-{}", target());
        let archive = format!("{name}.tar.gz");
        program(
            &place.path("packed").join(&name).join("lockproof"),
            program_says,
        );
        // A server that is there already: nothing is installed on this machine.
        program(&place.path("bin/redis-server"), "");
        for folder in ["re leases", "run ner"] {
            std::fs::create_dir(place.path(folder)).unwrap();
        }
        let packed = Command::new("tar")
            .arg("-czf")
            .arg(place.path("re leases").join(&archive))
            .arg("-C")
            .arg(place.path("packed"))
            .arg(&name)
            .status();
        assert!(packed.unwrap().success());
        let release = Release { place, archive };
        release.sums(&format!("{}  {}\n", release.sum(), release.archive));
        release
    }

    fn sum(&self) -> String {
        let bytes = std::fs::read(self.place.path("re leases").join(&self.archive)).unwrap();
        let digest = Sha256::digest(bytes);
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn sums(&self, text: &str) {
        self.place.write("re leases/SHA256SUMS", text);
    }

    fn install(&self, version: &str) -> Said {
        let path = std::env::var("PATH").unwrap();
        let said = Command::new(root("packaging/github/install.sh"))
            .env(
                "PATH",
                format!("{}:{path}", self.place.path("bin").display()),
            )
            .env("LOCKPROOF_VERSION", version)
            .env("LOCKPROOF_RELEASES", self.place.path("re leases"))
            .env("RUNNER_TEMP", self.place.path("run ner"))
            .env("GITHUB_PATH", self.place.path("path.txt"))
            .env("GITHUB_OUTPUT", self.place.path("output.txt"))
            .output();
        said.unwrap().into()
    }

    #[track_caller]
    fn refuses(&self, version: &str, text: &str) {
        let said = self.install(version);
        assert_eq!(said.code, Some(1), "{said:#?}");
        let told: Vec<&str> = said.out.lines().collect();
        assert_eq!(told.len(), 1, "{said:#?}");
        assert!(told[0].starts_with("::error title=lockproof::failed to install lockproof: "));
        assert!(told[0].contains(text), "no `{text}` in {said:#?}");
        assert!(!self.place.path("path.txt").exists());
    }
}

#[test]
fn the_action_installs_the_release_that_belongs_to_it() {
    let version = env!("CARGO_PKG_VERSION");
    let release = Release::new(version, version);
    for asked in ["", version, &format!("v{version}")] {
        let said = release.install(asked);
        assert_eq!(said.code, Some(0), "{said:#?}");
    }
    let path = std::fs::read_to_string(release.place.path("path.txt")).unwrap();
    let path = Path::new(path.lines().next().unwrap());
    assert!(path.join("lockproof").is_file(), "{}", path.display());
    let output = std::fs::read_to_string(release.place.path("output.txt")).unwrap();
    assert!(output.starts_with(&format!("version={version}\n")));
}

#[test]
fn the_action_runs_no_file_that_was_not_released() {
    let release = Release::new("1.2.3", "1.2.3");
    assert_eq!(release.install("v1.2.3").code, Some(0));
    std::fs::remove_file(release.place.path("path.txt")).unwrap();
    let sum = release.sum();
    let other = sum.replace(|digit: char| digit.is_ascii_digit(), "f");
    release.sums(&format!("{other}  {}\n", release.archive));
    release.refuses("v1.2.3", "is not the file that was released");
    // Sums of other files, of files with such a name in theirs, and two sums.
    release.sums(&format!("{sum}  {}.sig\n", release.archive));
    release.refuses("v1.2.3", "SHA256SUMS has no sum of lockproof-1.2.3-");
    release.sums(&format!("{sum}  {0}\n{other}  {0}\n", release.archive));
    release.refuses("v1.2.3", "or more than one");
    release.sums("");
    release.refuses("v1.2.3", "SHA256SUMS has no sum");
    std::fs::remove_file(release.place.path("re leases/SHA256SUMS")).unwrap();
    release.refuses("v1.2.3", "has no SHA256SUMS");
}

#[test]
fn the_action_names_what_is_wrong_with_a_version() {
    let release = Release::new("1.2.3", "1.2.4");
    release.refuses("v1.2.3", "holds lockproof 1.2.4");
    release.refuses("v1.2.5", "SHA256SUMS has no sum of lockproof-1.2.5-");
    release.refuses("latest", "latest is none");
    release.refuses("v1.2.3/../..", "is none");
    release.refuses("v1.2.3\n::set-env name=PATH::/tmp", "is none");
}

/// What the action's second step, or the template's script, calls lockproof with.
fn called(script: &mut Command, place: &Place) -> (Said, Vec<String>) {
    program(&place.path("bin/lockproof"), "");
    let path = std::env::var("PATH").unwrap();
    let said: Said = script
        .env("PATH", format!("{}:{path}", place.path("bin").display()))
        .env("GITHUB_OUTPUT", place.path("output.txt"))
        .current_dir(place.path("."))
        .output()
        .unwrap()
        .into();
    let arguments = said.out.lines().map(str::to_owned).collect();
    (said, arguments)
}

#[test]
fn the_action_passes_its_inputs_on_and_ends_as_lockproof_ends() {
    let place = Place::new();
    let script = root("packaging/github/run.sh");
    let (said, arguments) = called(&mut Command::new(&script), &place);
    assert_eq!(said.code, Some(1), "{said:#?}");
    assert_eq!(arguments, ["run", "--out", "lockproof-report"]);
    place.write("base line.toml", "");
    let (_, arguments) = called(
        Command::new(&script)
            .env("LOCKPROOF_MATRIX", "--$(id).toml")
            .env("LOCKPROOF_BASELINE", "base line.toml")
            .env("LOCKPROOF_REPLAYS", "3")
            .env("LOCKPROOF_PARTITION", "2/3")
            .env("LOCKPROOF_OUT", "a report"),
        &place,
    );
    let expected =
        "run|--out|a report|--baseline|base line.toml|--replays|3|--partition|2/3|--|--$(id).toml";
    assert_eq!(arguments.join("|"), expected);
    let output = std::fs::read_to_string(place.path("output.txt")).unwrap();
    let last: Vec<&str> = output.lines().rev().take(2).collect();
    assert_eq!(last, ["artifact=lockproof-report-2", "out=a report"]);
    for (variable, value, text) in [
        ("LOCKPROOF_BASELINE", "none.toml", "there is no baseline"),
        ("LOCKPROOF_PARTITION", "2", "partition is K/N"),
        ("LOCKPROOF_OUT", "x\nversion=9", "more than one line"),
    ] {
        let (said, _) = called(Command::new(&script).env(variable, value), &place);
        assert_eq!(said.code, Some(USAGE), "{said:#?}");
        assert!(said.out.contains(text), "no `{text}` in {said:#?}");
    }
}

/// The template for GitLab.
fn template() -> serde_json::Value {
    let text = std::fs::read_to_string(root("packaging/gitlab/lockproof.gitlab-ci.yml")).unwrap();
    serde_norway::from_str(&text).unwrap()
}

#[test]
fn the_template_for_gitlab_takes_a_part_in_parallel_jobs() {
    let template = template();
    let job = &template[".lockproof"];
    assert_eq!(job["image"]["entrypoint"][0], "");
    assert_eq!(job["artifacts"]["when"], "always");
    let script = job["script"][0].as_str().unwrap();
    assert_eq!(job["script"].as_array().unwrap().len(), 1);
    let out = template["variables"]["LOCKPROOF_OUT"].as_str().unwrap();
    let place = Place::new();
    let shell = |variables: &[(&str, &str)]| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).env("LOCKPROOF_OUT", out);
        command.envs(variables.iter().copied());
        let (said, arguments) = called(&mut command, &place);
        assert_eq!(said.code, Some(1), "{said:#?}");
        arguments.join("|")
    };
    assert_eq!(
        shell(&[("CI_NODE_TOTAL", "1")]),
        "run|--out|lockproof-report"
    );
    let all = [
        ("CI_NODE_TOTAL", "3"),
        ("CI_NODE_INDEX", "2"),
        ("LOCKPROOF_BASELINE", "base line.toml"),
        ("LOCKPROOF_REPLAYS", "3"),
        ("LOCKPROOF_MATRIX", "-m.toml"),
    ];
    assert_eq!(
        shell(&all),
        "run|--out|lockproof-report-2|--partition|2/3|--baseline|base line.toml|--replays|3|--|-m.toml"
    );
}

/// A clone of this commit with what has been changed since, in a folder with a space.
fn clone(place: &Place) -> PathBuf {
    let clone = place.path("a clone");
    let git = |arguments: &[&str]| {
        let ended = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(arguments)
            .current_dir(&clone)
            .output()
            .unwrap();
        assert!(ended.status.success(), "{arguments:?}: {ended:?}");
    };
    std::fs::create_dir(&clone).unwrap();
    git(&["init", "-q"]);
    let copied = Command::new("sh")
        .args(["-c", "git ls-files -z --cached --others --exclude-standard | tar --null -T - --ignore-failed-read -c | tar -x -C \"$1\"", "sh"])
        .arg(&clone)
        .current_dir(root("."))
        .output();
    assert!(copied.unwrap().status.success());
    git(&["add", "-A"]);
    git(&["commit", "-q", "-m", "all"]);
    clone
}

#[test]
fn a_release_is_made_of_a_commit_that_its_tag_names() {
    let place = Place::new();
    let clone = clone(&place);
    let version = env!("CARGO_PKG_VERSION");
    let release = |arguments: &[&str]| -> Said {
        let said = Command::new(clone.join("scripts/release.sh"))
            .args(arguments)
            .env_remove("CARGO_TARGET_DIR")
            .output();
        said.unwrap().into()
    };
    let tag = format!("v{version}");
    release(&["--tag", "v9.9.9"]).failed(
        1,
        &[&format!("the tag is v9.9.9, but Cargo.toml says {version}")],
    );
    release(&["--tag", version]).failed(1, &["which is v"]);
    assert_eq!(release(&["--tag"]).code, Some(USAGE));
    assert_eq!(release(&["--publish"]).code, Some(USAGE));
    let changes = clone.join("CHANGELOG.md");
    let text = std::fs::read_to_string(&changes).unwrap();
    let unnamed = text.replace(&format!("## [{version}]"), "## [Unreleased]");
    std::fs::write(&changes, &unnamed).unwrap();
    release(&["--tag", &tag]).failed(1, &["CHANGELOG.md has no section"]);
    let named = unnamed.replacen("## [Unreleased]", &format!("## [{version}]"), 1);
    std::fs::write(&changes, named).unwrap();
    std::fs::write(clone.join("more.txt"), "").unwrap();
    release(&["--tag", &tag]).failed(1, &["files differ from the commit", "?? more.txt"]);
    // A folder that holds somebody's files is not emptied.
    place.write("kept.txt", "");
    let out = place.path(".");
    release(&["--dry-run", "--out", out.to_str().unwrap()]).failed(1, &["which no release made"]);
    assert!(place.path("kept.txt").exists());
    release(&["--dry-run"]).failed(1, &["target/debug/lockproof yet; run cargo build"]);
}
