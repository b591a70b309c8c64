//! The baseline names every difference, in both directions.

use crate::report_common::report;
use lockproof_model::check::Verdict;
use lockproof_report::baseline::{Baseline, BaselineError, Difference};

/// What `compare` says about a report in which one thing was changed.
fn differences(change: impl FnOnce(&mut lockproof_report::Report)) -> Vec<Difference> {
    let mut report = report();
    let baseline = Baseline::of(&report);
    change(&mut report);
    baseline.compare(&report)
}

fn find(report: &lockproof_report::Report, verdict: Verdict) -> usize {
    let found = |c: &lockproof_report::model::Cell| c.verdict == verdict;
    report.cells.iter().position(found).unwrap()
}

#[test]
fn a_report_meets_the_baseline_that_was_rendered_from_it() {
    let report = report();
    let text = Baseline::of(&report).render();
    let read = Baseline::parse(&text).unwrap();
    assert_eq!(read, Baseline::of(&report));
    assert_eq!(read.compare(&report), []);
    assert_eq!(read.render(), text);
}

#[test]
fn the_rendering_is_in_stable_order_whatever_the_order_of_the_cells() {
    let mut report = report();
    let text = Baseline::of(&report).render();
    report.cells.reverse();
    assert_eq!(Baseline::of(&report).render(), text);
    report.cells.retain(|c| c.lock == "redlock");
    insta::assert_snapshot!(Baseline::of(&report).render());
}

#[test]
fn an_unexpected_violation_is_named() {
    let found = differences(|r| {
        let i = find(r, Verdict::Holds);
        r.cells[i].verdict = Verdict::Violated;
    });
    assert_eq!(
        found[0].to_string(),
        "unexpected violation: setnx-expire: mutual-exclusion-belief under no faults \
         (2 clients, 1 node, lease 3 ticks): expected holds, found violated"
    );
    assert_eq!(found.len(), 1);
}

#[test]
fn an_unexpected_pass_is_named() {
    let found = differences(|r| {
        let i = find(r, Verdict::Violated);
        r.cells[i].verdict = Verdict::Holds;
    });
    assert_eq!(found.len(), 1);
    let text = found[0].to_string();
    assert!(text.starts_with("unexpected pass: setnx-expire"), "{text}");
}

#[test]
fn an_answer_that_is_no_longer_given_is_named() {
    let found = differences(|r| {
        let i = find(r, Verdict::Violated);
        r.cells[i].verdict = Verdict::Unknown;
    });
    assert!(found[0].to_string().starts_with("no answer: "));
}

#[test]
fn a_cell_that_was_not_checked_and_a_new_one_are_named() {
    let found = differences(|r| {
        r.cells[0].sizes.clients = 3;
    });
    let texts: Vec<String> = found.iter().map(Difference::to_string).collect();
    assert_eq!(texts.len(), 2, "{texts:?}");
    assert!(
        texts
            .iter()
            .any(|t| t.starts_with("missing: ") && t.contains("2 clients"))
    );
    assert!(
        texts
            .iter()
            .any(|t| t.starts_with("new: ") && t.contains("3 clients"))
    );
}

#[test]
fn budgets_and_sizes_of_faults_tell_cells_apart() {
    let found = differences(|r| {
        for cell in &mut r.cells {
            cell.assumptions.iter_mut().for_each(|a| a.budget = 2);
        }
    });
    // All 48 cells with faults are missing under their old names and new.
    assert_eq!(found.len(), 96);
}

#[test]
fn expectations_reach_the_cells() {
    let mut report = report();
    let mut baseline = Baseline::of(&report);
    let key = baseline.verdicts.keys().next().unwrap().clone();
    baseline.verdicts.remove(&key);
    baseline.apply(&mut report);
    let without = report.cells.iter().filter(|c| c.expected.is_none()).count();
    assert_eq!(without, 1);
    let met = |c: &lockproof_report::model::Cell| c.expected == Some(c.verdict);
    assert_eq!(report.cells.iter().filter(|c| met(c)).count(), 59);
}

#[test]
fn a_baseline_of_another_version_or_shape_is_refused() {
    let error = |text: &str| Baseline::parse(text).unwrap_err();
    assert!(
        matches!(error("schema = \"lockproof.baseline/2\""), BaselineError::Schema { found } if found == "lockproof.baseline/2")
    );
    assert!(matches!(error("a = "), BaselineError::Shape(_)));
    let misspelt = Baseline::of(&report())
        .render()
        .replace("clients =", "client =");
    assert!(error(&misspelt).to_string().contains("client"));
    let wrong = Baseline::of(&report())
        .render()
        .replace("\"holds\"", "\"hold\"");
    assert!(error(&wrong).to_string().contains("unknown variant `hold`"));
}

#[test]
fn a_cell_that_stands_twice_is_refused() {
    let text = Baseline::of(&report()).render();
    let block = text.split("\n[[run]]").nth(1).unwrap();
    let error = Baseline::parse(&format!("{text}\n[[run]]{block}")).unwrap_err();
    assert!(matches!(error, BaselineError::Twice(_)), "{error}");
}

#[test]
fn strange_names_survive_the_round_trip() {
    let mut report = report();
    report.cells.truncate(1);
    report.cells[0].lock = "a \"quoted\"\\ \u{7f} \n lock".into();
    report.cells[0].property = "with space.and.dots".into();
    let baseline = Baseline::of(&report);
    assert_eq!(Baseline::parse(&baseline.render()).unwrap(), baseline);
}
