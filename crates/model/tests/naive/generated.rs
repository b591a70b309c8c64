//! Lock files by chance, on both sides.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::compare::{Difference, Effort, Outcome, Question, compare};
use crate::grammar::{Lock, Source, lock};
use crate::shrink::shrink;
use crate::{SETS, set};

/// Lock files of a short run.
const LOCKS: u64 = 80;
/// Shares, in percent, that must not be exceeded.
const REFUSED_MAX: u64 = 20;
const UNKNOWN_MAX: usize = 20;

/// What all comparisons came to.
#[derive(Default)]
struct Sum {
    locks: u64,
    questions: u64,
    refused: BTreeMap<String, u64>,
    unknown: BTreeMap<String, u64>,
    cells: [usize; 4],
    transitions: usize,
    differences: Vec<String>,
    kinds: BTreeMap<String, u64>,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// The set of a question about the lock with this number.
fn words(number: u64, which: usize) -> &'static str {
    match which {
        0 => "",
        _ => SETS[1 + (number as usize % (SETS.len() - 1))],
    }
}

fn question(lock: &Lock, words: &str, seed: u64) -> Question {
    Question {
        text: lock.text.clone(),
        set: set(words, 2),
        ttl_ticks: 2,
        clients: 2,
        spins: lock.spins,
        seed,
    }
}

/// NAIVE_SEED, NAIVE_LOCKS and NAIVE_SECONDS make it another or a longer run; what is
/// found of a lock file depends on neither time nor machine.
#[test]
fn generated_locks() {
    let seed = number("NAIVE_SEED").unwrap_or(1);
    let seconds = number("NAIVE_SECONDS");
    let most = number("NAIVE_LOCKS").unwrap_or(if seconds.is_some() { u64::MAX } else { LOCKS });
    let workers = number("NAIVE_WORKERS").unwrap_or(2);
    let end = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    println!("seed {seed}");
    let next = AtomicU64::new(0);
    let sum = Mutex::new(Sum::default());
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= most || end.is_some_and(|end| Instant::now() > end) {
                        return;
                    }
                    one(seed.wrapping_mul(1_000_000_007).wrapping_add(at), &sum);
                }
            });
        }
    });
    let sum = sum.into_inner().unwrap_or_else(|e| e.into_inner());
    report(&sum);
    assert!(
        sum.differences.is_empty(),
        "{} differences",
        sum.differences.len()
    );
    let refused: u64 = sum.refused.values().sum();
    assert!(
        refused * 100 <= REFUSED_MAX * sum.questions,
        "too much is refused"
    );
    let [holds, violated, _, unknown] = sum.cells;
    let cells = holds + violated + unknown;
    assert!(unknown * 100 <= UNKNOWN_MAX * cells, "too much is unknown");
}

fn one(number: u64, sum: &Mutex<Sum>) {
    let effort = Effort {
        transitions: 2_000,
        walks: 6,
        length: 50,
        states: 60_000,
    };
    let mut source = Source::random(number);
    let made = lock(&mut source);
    for which in 0..2 {
        let words = words(number, which);
        if std::env::var_os("NAIVE_VERBOSE").is_some() {
            println!("begin {number} {words:?}");
        }
        let started = Instant::now();
        let outcome = compare(&question(&made, words, number), effort);
        if std::env::var_os("NAIVE_VERBOSE").is_some() {
            let kinds = outcome
                .differences
                .iter()
                .map(|one| (one.kind, &one.property));
            let kinds: Vec<_> = kinds.collect();
            println!(
                "{number} {words:?} {:?} {} {kinds:?}",
                started.elapsed(),
                outcome.transitions
            );
        }
        let mut told = Vec::new();
        for difference in &outcome.differences {
            let known = format!("{} {}", difference.kind, difference.property);
            let seen = {
                let mut sum = sum.lock().unwrap_or_else(|e| e.into_inner());
                let count = sum.kinds.entry(known).or_default();
                *count += 1;
                *count
            };
            if seen <= 2 {
                told.push(shrunk(&source.taken, words, number, difference, effort));
            }
        }
        let mut sum = sum.lock().unwrap_or_else(|e| e.into_inner());
        for text in told {
            println!("{text}");
            sum.differences.push(text);
        }
        add(&mut sum, &outcome, which == 0);
    }
}

fn add(sum: &mut Sum, outcome: &Outcome, first: bool) {
    sum.locks += u64::from(first);
    sum.questions += 1;
    if let Some(why) = &outcome.refused {
        *sum.refused.entry(short(why)).or_default() += 1;
    }
    for why in &outcome.unknown {
        *sum.unknown.entry(short(why)).or_default() += 1;
    }
    let cells = [
        outcome.holds,
        outcome.violated,
        outcome.exact,
        outcome.unknown.len(),
    ];
    for (sum, count) in sum.cells.iter_mut().zip(cells) {
        *sum += count;
    }
    sum.transitions += outcome.transitions;
}

/// A reason without what differs from lock to lock.
fn short(why: &str) -> String {
    let line = why.lines().next().unwrap_or("");
    let plain: String = line.chars().filter(|c| !c.is_ascii_digit()).collect();
    plain.chars().take(110).collect()
}

fn shrunk(
    choices: &[u32],
    words: &str,
    number: u64,
    difference: &Difference,
    effort: Effort,
) -> String {
    let same = |made: &Lock| {
        let outcome = compare(&question(made, words, number), effort);
        let mut found = outcome.differences.into_iter();
        found.find(|one| one.kind == difference.kind && one.property == difference.property)
    };
    let smallest = if std::env::var_os("NAIVE_ROUGH").is_some() {
        choices.to_vec()
    } else {
        shrink(choices, &mut |made| same(made).is_some())
    };
    let made = lock(&mut Source::given(smallest));
    let last = same(&made).unwrap_or_else(|| difference.clone());
    format!(
        "DIFFERENCE {} {} under {words:?}, seed {number}\n{}\n{}\n",
        last.kind, last.property, made.text, last.detail
    )
}

fn report(sum: &Sum) {
    let [holds, violated, exact, unknown] = sum.cells;
    let refused: u64 = sum.refused.values().sum();
    println!(
        "{} lock files, {} questions, {} transitions: {holds} hold, {violated} violated ({exact} of the same length by level), {unknown} unknown; {refused} refused",
        sum.locks, sum.questions, sum.transitions
    );
    for (what, all) in [
        ("refused", &sum.refused),
        ("unknown", &sum.unknown),
        ("difference", &sum.kinds),
    ] {
        for (why, count) in all {
            println!("{what} {count}: {why}");
        }
    }
}

/// Shows the lock file with the number NAIVE_SHOW.
#[test]
fn shown() {
    if let Some(seed) = number("NAIVE_SHOW") {
        println!("{}", lock(&mut Source::random(seed)).text);
    }
}
