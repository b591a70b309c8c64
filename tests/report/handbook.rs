//! The pages on faults, on properties and on which lock to use: what they say comes from the
//! catalogue and from verdicts.

use crate::report_common::report;
use lockproof_model::check::Verdict;
use lockproof_model::world::catalogue::{FAULTS, PROPERTIES};
use lockproof_report::{Report, handbook};
use lockproof_trace::Assumption;

/// The report of the fixtures, as if all of its locks were built in.
fn published() -> Report {
    let mut report = report();
    for lock in &mut report.locks {
        lock.path.clone_from(&lock.name);
    }
    report
}

fn page(report: &Report, path: &str) -> String {
    let pages = handbook(report).unwrap();
    let found = pages.into_iter().find(|(known, _)| known == path);
    found.unwrap_or_else(|| panic!("no {path}")).1
}

/// What stands below a heading, up to the next one.
fn section<'p>(page: &'p str, heading: &str) -> &'p str {
    let (_, after) = page
        .split_once(&format!("\n## {heading}\n"))
        .unwrap_or_else(|| panic!("no heading {heading}"));
    after.split("\n## ").next().unwrap()
}

/// Every verdict of a lock under one fault, or without any, becomes this one.
fn judge(report: &mut Report, lock: &str, fault: Option<&str>, property: &str, verdict: Verdict) {
    let sample = report.cells.iter().find(|cell| cell.lock == lock);
    let mut cell = sample.unwrap().clone();
    let set = fault.map(|name| Assumption {
        name: name.into(),
        budget: 1,
        size: 0,
    });
    cell.assumptions = set.into_iter().collect();
    cell.property = property.into();
    cell.verdict = verdict;
    cell.counterexample = None;
    cell.replays = None;
    cell.walks = None;
    let same = |known: &lockproof_report::model::Cell| {
        (&known.lock, &known.property, &known.assumptions)
            == (&cell.lock, &cell.property, &cell.assumptions)
    };
    report.cells.retain(|known| !same(known));
    report.cells.push(cell);
}

#[test]
fn each_fault_and_each_property_of_the_catalogue_has_its_section() {
    let report = published();
    let faults = page(&report, "faults.md");
    for info in &FAULTS {
        let section = section(&faults, info.id);
        assert!(section.contains(info.meaning), "{}", info.id);
        assert!(section.contains(info.fault.origin().plain), "{}", info.id);
    }
    let properties = page(&report, "properties.md");
    for info in &PROPERTIES {
        let section = section(&properties, info.id);
        assert!(section.contains(info.meaning), "{}", info.id);
        let (_, consequence) = info.property.consequence();
        assert!(section.contains(consequence.remedy), "{}", info.id);
    }
}

#[test]
fn a_lock_breaks_under_a_fault_if_something_is_violated_that_holds_without_it() {
    let mut report = published();
    let lease = "lease";
    judge(&mut report, "token", None, lease, Verdict::Holds);
    judge(
        &mut report,
        "token",
        Some("cancel"),
        lease,
        Verdict::Violated,
    );
    judge(&mut report, "redlock", None, lease, Verdict::Violated);
    judge(
        &mut report,
        "redlock",
        Some("cancel"),
        lease,
        Verdict::Violated,
    );
    judge(
        &mut report,
        "setnx-expire",
        Some("cancel"),
        lease,
        Verdict::Holds,
    );
    let faults = page(&report, "faults.md");
    let cancel = section(&faults, "cancel");
    for row in [
        "| wrong lease | [token](locks/token.md) |",
        "| nothing new: violated without it too | [redlock](locks/redlock.md) |",
        "| safe | [setnx-expire](locks/setnx-expire.md) |",
    ] {
        assert!(cancel.contains(row), "{row}\n{cancel}");
    }
    assert!(faults.contains(" | 1 of 3 |\n"), "{faults}");
    let unasked = section(&faults, "client-restart");
    assert!(unasked.contains("No lock is asked in the published matrix."));
}

#[test]
fn a_verdict_that_changes_changes_the_advice() {
    let mut report = published();
    let effect = "mutual-exclusion-effect";
    for lock in ["token", "redlock", "setnx-expire"] {
        report
            .cells
            .retain(|cell| cell.lock != lock || cell.verdict == Verdict::Holds);
        judge(&mut report, lock, None, effect, Verdict::Holds);
        judge(
            &mut report,
            lock,
            Some("client-pause"),
            effect,
            Verdict::Violated,
        );
    }
    let advice = |report: &Report| {
        let page = page(report, "which-lock.md");
        let line = page
            .lines()
            .find(|line| line.contains("no update is lost with"));
        line.unwrap().to_owned()
    };
    assert!(advice(&report).ends_with("no update is lost with: none."));
    judge(
        &mut report,
        "token",
        Some("client-pause"),
        effect,
        Verdict::Holds,
    );
    let token = "no update is lost with: [token](locks/token.md).";
    assert!(advice(&report).ends_with(token), "{}", advice(&report));
    // Nobody is told to take a lock that is broken when nothing fails.
    judge(&mut report, "token", None, "lease", Verdict::Violated);
    assert!(advice(&report).ends_with("no update is lost with: none."));
}

#[test]
fn a_property_is_asked_of_a_lock_that_has_it() {
    let mut report = published();
    report
        .cells
        .retain(|cell| cell.property != "fault-tolerance");
    let command = |report: &Report| {
        let page = page(report, "properties.md");
        let section = section(&page, "fault-tolerance").to_owned();
        let mut lines = section.lines();
        lines
            .find(|line| line.starts_with("lockproof check"))
            .unwrap()
            .to_owned()
    };
    let asks = |lock: &str| format!("lockproof check {lock} --property fault-tolerance");
    assert_eq!(command(&report), asks("my-lock.lua"));
    judge(
        &mut report,
        "redlock",
        None,
        "fault-tolerance",
        Verdict::Holds,
    );
    assert_eq!(command(&report), asks("redlock"));
}

#[test]
fn a_report_on_a_lock_of_ones_own_has_no_handbook() {
    let mut report = published();
    assert!(!handbook(&report).unwrap().is_empty());
    report.locks[1].path = "my/token.lua".into();
    assert!(handbook(&report).unwrap().is_empty());
    let mut report = published();
    report.cells.clear();
    assert!(handbook(&report).unwrap().is_empty());
}
