//! The overview: a row a lock, a cell a set of faults, the worst that happens there.

use crate::report_common::*;

use lockproof_model::check::Verdict;
use lockproof_report::model::Replays;
use lockproof_report::overview::{self, Overview, What};
use lockproof_report::{html, markdown, terminal};

/// What a lock meets under the set of the column.
fn met(report: &lockproof_report::Report, lock: &str, column: usize) -> String {
    let table = Overview::new(report);
    let row = table.rows.iter().find(|row| row.lock == lock).unwrap();
    row.met[column].map_or("not asked".into(), |met| met.words())
}

#[test]
fn the_table_reads_as_expected() {
    insta::assert_snapshot!(terminal::summary_within(&report(), 100));
}

#[test]
fn the_picture_shows_each_lock_set_and_cell_of_the_table() {
    let mut report = report();
    let picture = overview::svg(&report);
    let table = Overview::new(&report);
    for row in &table.rows {
        assert!(
            picture.contains(&format!(">{}</text>", row.lock)),
            "{}",
            row.lock
        );
        assert!(picture.contains(&format!(">{}</text>", row.counted())));
    }
    for column in &table.columns {
        assert!(
            picture.contains(&format!(">{}</text>", column.words)),
            "{}",
            column.words
        );
    }
    let marks = table.consequences().len() + 3;
    let cells = table.rows.len() * table.columns.len();
    assert_eq!(picture.matches("<rect x=").count(), cells + marks);
    // Nothing in a name becomes markup.
    for cell in &mut report.cells {
        cell.lock = "<script>&\"".into();
    }
    let picture = overview::svg(&report);
    assert!(!picture.contains("<script"));
    assert!(picture.contains("&lt;script&gt;&amp;"));
    report.cells.clear();
    assert_eq!(overview::svg(&report), "");
}

#[test]
fn a_cell_is_the_worst_of_its_properties() {
    let mut report = report();
    assert_eq!(met(&report, "setnx-expire", 0), "safe");
    assert_eq!(met(&report, "setnx-expire", 1), "two valid holders");
    assert_eq!(met(&report, "token", 1), "two believers");
    let unknown = |cell: &&mut lockproof_report::model::Cell| {
        cell.lock == "token" && cell.assumptions.is_empty() && cell.property == "no-orphan"
    };
    let cell = report.cells.iter_mut().find(unknown).unwrap();
    cell.verdict = Verdict::Unknown;
    assert_eq!(met(&report, "token", 0), "unknown", "the others hold");
}

#[test]
fn what_real_servers_contradict_is_worse_than_any_violation() {
    let mut report = report();
    let violated = report.cells.iter_mut();
    for cell in violated.filter(|cell| cell.verdict == Verdict::Violated) {
        cell.replays = Some(Replays {
            reproduced: 19,
            attempts: 20,
        });
    }
    let table = Overview::new(&report);
    let all = table.rows.iter().flat_map(|row| row.met.iter().flatten());
    let bad: Vec<_> = all.filter(|met| met.is_bad()).collect();
    assert!(!bad.is_empty());
    assert!(bad.iter().all(|met| matches!(met.what, What::Contradicted)));
    assert!(overview::text(&report, 100).contains('≠'));
}

#[test]
fn the_lock_that_survives_most_comes_first_whatever_the_order_of_the_cells() {
    let mut report = report();
    let order = |report: &lockproof_report::Report| -> Vec<String> {
        let table = Overview::new(report);
        table.rows.iter().map(|row| row.lock.to_owned()).collect()
    };
    let shares: Vec<f64> = (Overview::new(&report).rows.iter())
        .map(|row| row.breaks as f64 / row.of as f64)
        .collect();
    assert!(shares.is_sorted(), "{shares:?}");
    for cell in report
        .cells
        .iter_mut()
        .filter(|cell| cell.lock == "redlock")
    {
        cell.verdict = Verdict::Holds;
    }
    assert_eq!(order(&report)[0], "redlock");
}

#[test]
fn a_property_that_this_version_does_not_know_is_shown_by_its_name_and_as_the_worst() {
    let mut report = report();
    for cell in &mut report.cells {
        if cell.property == "owner-only-release" {
            cell.property = "something-new".into();
            cell.verdict = Verdict::Violated;
        }
    }
    assert_eq!(met(&report, "token", 1), "something-new");
    assert!(overview::text(&report, 100).contains('✗'));
}

#[test]
fn a_table_that_is_too_wide_goes_on_below_and_loses_nothing() {
    let report = report();
    for width in [1, 20, 40, 60, 100, 500] {
        let text = overview::text(&report, width);
        for set in [
            "1 no faults",
            "2 overrun",
            "3 client-pause",
            "4 delay",
            "5 loss + node",
        ] {
            assert_eq!(text.matches(set).count(), 1, "{width}: {text}");
        }
        if width >= 60 {
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= width.min(160), "{widest} > {width}");
        }
    }
}

#[test]
fn page_markdown_and_terminal_say_the_same_of_each_lock() {
    let report = report();
    let (page, list) = (html(&report).unwrap(), markdown(&report));
    let text = overview::text(&report, 100);
    for row in Overview::new(&report).rows {
        let counted = row.counted();
        assert!(page.contains(&format!(
            "<th scope=\"row\">{}</th><td class=\"count\">{counted}</td>",
            row.lock
        )));
        assert!(list.contains(&format!("| {} | {counted} |", row.lock)));
        let of_lock = |line: &str| line.starts_with(row.lock) && line.contains(&counted);
        assert!(text.lines().any(of_lock), "{text}");
    }
    for kind in Overview::new(&report).consequences() {
        assert!(
            page.contains(kind.remedy.replace('`', "").split(':').next().unwrap())
                && list.contains(kind.code)
        );
    }
}

#[test]
fn a_report_without_cells_has_no_table() {
    let mut report = report();
    report.cells.clear();
    assert_eq!(overview::text(&report, 100), "");
    assert!(!markdown(&report).contains("survives"));
    assert!(terminal::summary_within(&report, 100).starts_with("0 cells"));
}

#[test]
fn the_line_of_a_finished_lock_counts_sets_and_verdicts() {
    let report = report();
    let cells: Vec<_> = report
        .cells
        .iter()
        .filter(|cell| cell.lock == "token")
        .cloned()
        .collect();
    let line = overview::line(&cells, 1.25);
    insta::assert_snapshot!(line);
}
