//! Mutual exclusion in clients' eyes, judged by porcupine too: a checker of
//! linearizability by somebody else, in another language, with a model of a mutex.
//!
//! A history violates `mutual-exclusion-belief` if no mutex explains it, and only
//! then. Needs Go and porcupine's module, which `make test` fetches from the module
//! proxy.

use crate::history_support::*;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use lockproof_history::FindingVerdict::Violated;

/// How many random histories both judge.
const HISTORIES: u64 = 6_000;

/// The folder of the Go program.
fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/porcupine")
}

/// The Go program, built.
fn porcupine(place: &Path) -> PathBuf {
    let program = place.join("porcupine");
    let built = Command::new("go")
        .current_dir(source())
        .env("GOFLAGS", "-mod=readonly")
        .args(["build", "-o"])
        .arg(&program)
        .arg(".")
        .output()
        .expect("failed to run go");
    assert!(
        built.status.success(),
        "failed to build tests/porcupine: {}",
        String::from_utf8_lossy(&built.stderr)
    );
    program
}

/// What porcupine says of each of these histories.
fn legal(program: &Path, histories: &[String]) -> Vec<bool> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let all = histories.concat();
    let writer = std::thread::spawn(move || stdin.write_all(all.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{:?}", output.status);
    let said = String::from_utf8(output.stdout).unwrap();
    said.lines()
        .map(|line| match line {
            "legal" => true,
            "illegal" => false,
            other => panic!("porcupine says {other}"),
        })
        .collect()
}

mod with_porcupine {
    use super::*;

    #[test]
    fn a_history_violates_belief_if_no_mutex_explains_it_and_only_then() {
        let place = tempfile::tempdir().unwrap();
        let program = porcupine(place.path());
        let histories: Vec<String> = (0..HISTORIES).map(naive::random::history).collect();
        let legal = legal(&program, &histories);
        assert_eq!(legal.len(), histories.len());
        let mut violated = 0;
        for (text, legal) in histories.iter().zip(legal) {
            let judgement = judged(text);
            let found = finding(&judgement, "mutual-exclusion-belief");
            assert_eq!(found.verdict == Violated, !legal, "{text}{found:#?}");
            violated += u64::from(!legal);
        }
        assert!(
            violated > 200,
            "only {violated} of {HISTORIES} are violations"
        );
    }
}
