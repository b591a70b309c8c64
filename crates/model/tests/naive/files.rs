//! Lock files of a folder, on both sides: those whose truth is known, or anybody's.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockproof_model::lock::LockFile;

use crate::compare::{Effort, Outcome, Question, compare_file};
use crate::{SETS, set};

const EFFORT: Effort = Effort {
    transitions: 1_000,
    walks: 3,
    length: 50,
    states: 30_000,
};

fn lock_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder of lock files");
    for path in entries.map(|entry| entry.unwrap().path()) {
        match path.extension() {
            Some(end) if end == "lua" => found.push(path),
            _ if path.is_dir() => lock_files(&path, found),
            _ => {}
        }
    }
    found.sort();
}

/// The fault that the head of a file of `tests/soundness` asks about.
fn asked(text: &str) -> Option<&'static str> {
    let check = text
        .lines()
        .find_map(|line| line.strip_prefix("-- Check: "))?;
    let mut words = check.split_whitespace();
    words.find(|word| *word == "--assume")?;
    let fault = words.next()?;
    SETS.into_iter().find(|set| *set == fault)
}

/// What both sides say of a lock file: how many answers were compared, and differences.
fn compared(path: &Path, thorough: bool) -> (usize, Vec<String>) {
    let text = std::fs::read_to_string(path).unwrap();
    // What servers hold back is not in the naive world; and what the file says wrongly is refused elsewhere.
    let Some(file) = LockFile::load(path)
        .ok()
        .filter(|_| !text.contains("\"WAIT\"") && !text.contains("\"BLPOP\""))
    else {
        return (0, Vec::new());
    };
    let one = [asked(&text).unwrap_or("")];
    let sets: &[&str] = if thorough { &SETS } else { &one };
    let (mut answers, mut told) = (0, Vec::new());
    // Most of those that tell of a loss renew three times in a lease.
    let ttl_ticks = match path.to_string_lossy().contains("telling/") {
        true if text.contains("--ttl-ticks 4") => 4,
        true => 3,
        false => 2,
    };
    for words in sets {
        let question = Question {
            text: String::new(),
            set: set(words, ttl_ticks),
            ttl_ticks,
            clients: 2,
            spins: path.to_string_lossy().contains("spinning/"),
            seed: 1,
        };
        let mut outcome = Outcome::default();
        compare_file(&question, &file, EFFORT, &mut outcome);
        answers += outcome.holds + outcome.violated;
        for difference in outcome.differences {
            told.push(format!(
                "DIFFERENCE {} {words:?} {} {}\n{}",
                path.display(),
                difference.kind,
                difference.property,
                difference.detail
            ));
        }
    }
    (answers, told)
}

/// NAIVE_FOLDER names another folder; with it, or in a long run, every file is asked
/// about under every set. Otherwise it is every second file, under its own set.
#[test]
fn lock_files_of_known_truth() {
    let other = std::env::var_os("NAIVE_FOLDER").map(PathBuf::from);
    let thorough = other.is_some() || std::env::var_os("NAIVE_SECONDS").is_some();
    let known = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/soundness");
    let mut files = Vec::new();
    lock_files(&other.unwrap_or(known), &mut files);
    assert_ne!(files.len(), 0);
    if !thorough {
        files = files.into_iter().step_by(2).collect();
    }
    let next = AtomicUsize::new(0);
    let sum = Mutex::new((0, Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (answers, told) = compared(path, thorough);
                    told.iter().for_each(|one| println!("{one}"));
                    let mut sum = sum.lock().unwrap();
                    sum.0 += answers;
                    sum.1.extend(told);
                }
            });
        }
    });
    let (answers, told) = sum.into_inner().unwrap();
    println!("{answers} answers about {} files", files.len());
    // Most files are followed, and each is asked for nine properties or ten.
    assert!(answers > 3 * files.len(), "{answers} answers say little");
    assert!(told.is_empty(), "{} differences", told.len());
}
