//! Lock files whose truth is known: what `lockproof check` must say of each.
//!
//! A truth was found by thinking about real servers and real clients, never by asking
//! the tool; each file's head says why it is so. A folder is a class of questions on
//! which model checkers go wrong. See `head.rs` for how a head is written.
//!
//! `SOUNDNESS=names/ cargo test --test soundness -- --nocapture` asks only what has
//! that in its path, and tells how long each check took.

mod head;
mod judge;

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use head::Head;

/// So many files there are; nobody drops one without changing this.
const FILES: usize = 481;

/// Checks at a time.
const WORKERS: usize = 2;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness")
}

/// Every lock file below the folder, in order.
fn lock_files() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for class in std::fs::read_dir(folder()).unwrap() {
        let class = class.unwrap().path();
        if class.is_dir() {
            let files = std::fs::read_dir(&class).unwrap();
            let files = files.map(|file| file.unwrap().path());
            found.extend(files.filter(|file| file.extension().is_some_and(|end| end == "lua")));
        }
    }
    found.sort();
    found
}

/// What is wrong with the answers about one file, one line each.
fn complaints(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let shown = path.strip_prefix(folder()).unwrap_or(path).display();
    let head = match Head::parse(&text) {
        Ok(head) => head,
        Err(why) => return vec![format!("{shown}: {why}")],
    };
    let mut wrong = Vec::new();
    for check in &head.checks {
        let (said, seconds) = judge::ask(path, &check.arguments);
        println!("{seconds:6.1} s  {shown} {}", check.arguments.join(" "));
        for complaint in judge::compare(check, &said) {
            wrong.push(format!(
                "{shown}: {}: {complaint}",
                check.arguments.join(" ")
            ));
        }
    }
    wrong
}

/// The complaints about all files, a few files at a time.
fn ask_about(files: &[PathBuf]) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = complaints(path);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let mut wrong = wrong.into_inner().unwrap();
    wrong.sort();
    wrong
}

#[test]
fn every_answer_is_the_truth() {
    let wanted = std::env::var("SOUNDNESS").unwrap_or_default();
    let files: Vec<PathBuf> = lock_files()
        .into_iter()
        .filter(|path| path.to_string_lossy().contains(&wanted))
        .collect();
    assert!(!files.is_empty(), "no file has `{wanted}` in its path");
    let wrong = ask_about(&files);
    assert!(
        wrong.is_empty(),
        "{} wrong answers:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn no_file_gets_lost() {
    let files = lock_files();
    assert_eq!(files.len(), FILES, "change FILES if that was meant");
    for path in &files {
        assert_eq!(path.extension().unwrap_or_default(), "lua", "{path:?}");
    }
}

/// The same lock, with truths that are none.
#[test]
fn a_wrong_truth_is_reported() {
    let token = std::fs::read_to_string(folder().join("more/token.lua")).unwrap();
    let body = token.split_once("\nreturn {").unwrap().1;
    let head = "-- Class: planted\n\
                -- Check: --assume none\n\
                -- Truth: mutual-exclusion-belief violated\n\
                -- Truth: honest-outcome not-holds\n\
                -- Truth: lease unknown\n\
                -- Truth: refused\n\
                -- Truth: warns never\n\
                -- Truth: reentrancy holds\n\
                -- Truth: no-orphan holds\n\
                -- Check: --assume overrun\n\
                -- Truth: mutual-exclusion-belief holds\n\
                -- Because: all but one of them are wrong.\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("planted.lua");
    std::fs::write(&path, format!("{head}return {{{body}")).unwrap();
    let wrong = complaints(&path);
    let expected = [
        "mutual-exclusion-belief violated, but the answer is holds",
        "honest-outcome not-holds, but the answer is holds",
        "lease unknown, but the answer is holds",
        "refused, but there are answers",
        "warns never, but it warns",
        "reentrancy holds, but there is no answer",
        "mutual-exclusion-belief holds, but the answer is violated",
    ];
    assert_eq!(wrong.len(), expected.len(), "{wrong:#?}");
    for (complaint, part) in wrong.iter().zip(expected) {
        assert!(complaint.contains(part), "no `{part}` in `{complaint}`");
    }
}
