//! Planted bugs. Each lock file in tests/fixtures/locks/planted differs from a
//! built-in lock in one point, and under an assumption set under which the
//! original has a property, the copy must be found to violate it.

use std::collections::BTreeSet;

use crate::world_support::{builtin, check, planted, planted_path, sizes};
use lockproof_model::check::{CheckResult, Verdict};
use lockproof_model::lock::LockFile;

struct Bug {
    planted: &'static str,
    original: &'static str,
    /// Lines of the planted file that the original does not have.
    lines: usize,
    ttl_ticks: u8,
    assumptions: &'static str,
    caught_by: &'static str,
}

const fn bug(
    planted: &'static str,
    original: &'static str,
    lines: usize,
    ttl_ticks: u8,
    assumptions: &'static str,
    caught_by: &'static str,
) -> Bug {
    Bug {
        planted,
        original,
        lines,
        ttl_ticks,
        assumptions,
        caught_by,
    }
}

const BELIEF: &str = "mutual-exclusion-belief";
const VALIDITY: &str = "mutual-exclusion-validity";
const EFFECT: &str = "mutual-exclusion-effect";

#[rustfmt::skip]
const BUGS: [Bug; 22] = [
    bug("token-acquire-keeps", "token", 1, 3, "", BELIEF),
    bug("token-acquire-keeps", "token", 1, 3, "", EFFECT),
    bug("token-acquire-keeps", "token", 1, 3, "", "owner-only-release"),
    bug("token-release-any", "token", 1, 3, "client-pause", "owner-only-release"),
    bug("token-release-boasts", "token", 2, 3, "loss", "honest-outcome"),
    bug("token-forgets-failure", "token", 2, 3, "loss", "honest-outcome"),
    bug("token-forgets-failure", "token", 2, 3, "loss", BELIEF),
    bug("token-validity-late", "token", 1, 3, "delay", VALIDITY),
    bug("token-validity-late", "token", 1, 3, "client-pause", VALIDITY),
    bug("token-no-expiry", "token", 1, 3, "", "lease"),
    bug("token-no-expiry", "token", 1, 3, "client-crash", "no-orphan"),
    bug("token-no-expiry", "token", 1, 3, "client-crash", "deadlock-freedom"),
    bug("expire-setnx", "setnx-expire", 0, 3, "", "lease"),
    bug("expire-setnx", "setnx-expire", 0, 3, "", "owner-only-release"),
    bug("renewal-forgets-owner", "token-renewed", 1, 3, "client-pause", "owner-only-release"),
    bug("renewal-revives", "token-renewed", 1, 3, "", "lease"),
    bug("reentrant-inner-del", "reentrant-hash", 6, 3, "", "reentrancy"),
    bug("reentrant-counts-once", "reentrant-hash", 10, 3, "", "reentrancy"),
    bug("redlock-minority", "redlock", 1, 2, "", VALIDITY),
    bug("redlock-validity-whole", "redlock", 1, 2, "loss", VALIDITY),
    bug("redlock-votes-twice", "redlock", 1, 2, "", "honest-outcome"),
    bug("redlock-leaves-votes", "redlock", 0, 2, "clock-jump@1", "no-orphan"),
];

fn result(file: &LockFile, bug: &Bug) -> CheckResult {
    let mut sizes = sizes(file, 2);
    sizes.ttl_ticks = bug.ttl_ticks;
    let results = check(file, &sizes, bug.assumptions);
    let found = results.into_iter().find(|r| r.property == bug.caught_by);
    found.unwrap_or_else(|| panic!("{} does not apply to {}", bug.caught_by, file.name))
}

/// The original has the property, the copy has not, and the trace says where.
fn verify(original: &str) {
    let mut seen = 0;
    for bug in BUGS.iter().filter(|bug| bug.original == original) {
        let what = format!(
            "{} under {:?}: {}",
            bug.planted, bug.assumptions, bug.caught_by
        );
        let whole = result(&builtin(original), bug);
        assert_eq!(whole.verdict, Verdict::Holds, "the original of {what}");
        let broken = result(&planted(bug.planted), bug);
        assert_eq!(broken.verdict, Verdict::Violated, "{what}");
        let trace = broken.trace.expect("a violation has a trace");
        let last = trace.steps.last().expect("a violation takes a step");
        assert!(last.violates.iter().any(|id| id == bug.caught_by), "{what}");
        seen += 1;
    }
    assert_ne!(seen, 0);
}

#[test]
fn bugs_planted_in_the_token_lock_are_caught() {
    verify("token");
}

#[test]
fn expire_before_setnx_is_caught() {
    verify("setnx-expire");
}

#[test]
fn bugs_planted_in_the_renewal_are_caught() {
    verify("token-renewed");
}

#[test]
fn bugs_planted_in_the_reentrant_hash_are_caught() {
    verify("reentrant-hash");
}

#[test]
fn bugs_planted_in_redlock_are_caught() {
    verify("redlock");
}

/// A bug that no fault brings out must not be blamed on the lock without it.
#[test]
fn a_bug_that_needs_a_fault_is_not_seen_without_one() {
    for (name, property) in [
        ("token-release-any", "owner-only-release"),
        ("token-release-boasts", "honest-outcome"),
        ("token-validity-late", VALIDITY),
        ("redlock-validity-whole", VALIDITY),
    ] {
        let bug = bug(name, "", 0, 2, "", property);
        let found = result(&planted(name), &bug);
        assert_eq!(found.verdict, Verdict::Holds, "{name}: {property}");
    }
}

/// The text's lines without comments and headings.
fn lines(text: &str) -> Vec<&str> {
    let heading = |line: &&str| {
        !line.is_empty()
            && !line.starts_with("--")
            && !line.starts_with("name =")
            && !line.starts_with("description =")
    };
    text.lines().map(str::trim).filter(heading).collect()
}

#[test]
fn planted_files_differ_from_their_originals_in_what_was_planted_alone() {
    for bug in &BUGS {
        let (copy, original) = (planted(bug.planted), builtin(bug.original));
        let known: BTreeSet<&str> = lines(&original.text).into_iter().collect();
        let new: Vec<&str> = lines(&copy.text)
            .into_iter()
            .filter(|line| !known.contains(line))
            .collect();
        assert_eq!(new.len(), bug.lines, "{}: {new:#?}", bug.planted);
        assert_ne!(lines(&copy.text), lines(&original.text), "{}", bug.planted);
    }
}

#[test]
fn every_planted_file_is_a_bug_that_is_checked() {
    let folder = planted_path("any");
    let entries = std::fs::read_dir(folder.parent().unwrap()).unwrap();
    for entry in entries {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        assert!(
            BUGS.iter().any(|bug| bug.planted == name),
            "{name} has no row"
        );
    }
}
