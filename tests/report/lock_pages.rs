//! The pages of locks: what they say, what they leave out, and that nothing in a lock file
//! becomes markup in them.

use crate::report_common::{fixture, report};
use lockproof_model::check::Verdict;
use lockproof_report::model::{About, Replay, Replays, Walks};
use lockproof_report::{Report, json, lock_pages, parse, write_all};

fn page(report: &Report, name: &str) -> String {
    let pages = lock_pages(report);
    let found = pages
        .iter()
        .find(|(path, _)| *path == format!("locks/{name}"));
    found.unwrap_or_else(|| panic!("no {name}")).1.clone()
}

#[test]
fn a_page_reads_as_expected() {
    insta::assert_snapshot!(page(&report(), "setnx-expire.md"));
}

#[test]
fn the_index_reads_as_expected() {
    insta::assert_snapshot!(page(&report(), "README.md"));
}

#[test]
fn each_lock_that_was_checked_has_a_page() {
    let mut report = report();
    let paths = |report: &Report| -> Vec<String> {
        let pages = lock_pages(report).into_iter();
        let paths = pages.map(|(path, _)| path);
        paths.filter(|path| path.ends_with(".md")).collect()
    };
    let all = ["README.md", "setnx-expire.md", "token.md", "redlock.md"];
    assert_eq!(paths(&report), all.map(|name| format!("locks/{name}")));
    report.cells.retain(|cell| cell.lock != "token");
    assert_eq!(paths(&report).len(), 3);
    report.cells.clear();
    assert!(paths(&report).is_empty(), "no lock, no index");
}

#[test]
fn a_lock_may_be_called_like_the_index() {
    let mut report = report();
    report.locks[1].name = "Readme".into();
    for cell in report.cells.iter_mut().filter(|cell| cell.lock == "token") {
        cell.lock = "Readme".into();
    }
    assert!(page(&report, "Readme+.md").starts_with("# Readme\n"));
    assert!(page(&report, "README.md").contains("| [Readme](Readme+.md) |"));
}

#[test]
fn what_a_lock_file_does_not_say_is_left_out() {
    let report = report();
    let page = page(&report, "token.md");
    for title in ["How it works", "What is claimed for it", "How to repair it"] {
        assert!(!page.contains(title), "{title}");
    }
    assert!(page.starts_with("# token\n\n## What lockproof found\n"));
    let mut blank = self::report();
    blank.locks[1].about.works = Some(" \n".into());
    assert_eq!(self::page(&blank, "token.md"), page);
}

#[test]
fn a_page_is_the_same_whatever_the_number_of_replays_and_walks() {
    let often = report();
    let mut once = report();
    for cell in &mut once.cells {
        cell.replays = cell.replays.map(|all| Replays {
            reproduced: all.reproduced.min(1),
            attempts: 1,
        });
        cell.walks = cell.walks.map(|_| Walks {
            count: 1,
            steps: 3,
            diverged: 0,
        });
        cell.seconds += 7.0;
    }
    once.tool_version = "9.9.9".into();
    once.environment.servers.clear();
    once.seed = 7;
    assert_eq!(lock_pages(&often), lock_pages(&once));
}

#[test]
fn what_no_real_server_confirmed_is_said() {
    let mut report = report();
    let token = page(&report, "token.md");
    let unconfirmed =
        "Not confirmed on a real server: mutual-exclusion-belief under loss + node-restart.";
    assert!(token.contains(unconfirmed), "{token}");
    assert!(
        token.contains("it, not confirmed on a real server:"),
        "{token}"
    );
    assert!(token.contains("it, confirmed on a real server:"), "{token}");
    let setnx = page(&report, "setnx-expire.md");
    assert!(setnx.contains("Each violation was confirmed on a real server. Where a property"));
    // Nothing was run on real servers.
    for cell in &mut report.cells {
        cell.replays = None;
        cell.walks = None;
    }
    let setnx = page(&report, "setnx-expire.md");
    assert!(!setnx.contains("was confirmed") && !setnx.contains("it, confirmed"));
    assert!(setnx.contains("What holds was not compared with a real server everywhere."));
    report.cells[0].walks = Some(Walks {
        count: 9,
        steps: 90,
        diverged: 1,
    });
    let setnx = page(&report, "setnx-expire.md");
    assert!(
        setnx.contains("another way on a real server: mutual-exclusion-belief under no faults.")
    );
}

#[test]
fn of_several_counterexamples_the_shortest_is_told() {
    let mut report = report();
    let long = fixture("setnx-expire-late-del");
    let mut short = long.clone();
    // Not how such a trace would go, but a shorter one.
    let last = short.steps.pop().unwrap();
    short.steps.remove(0);
    short.steps.push(last);
    assert!(short.length() < long.length());
    let mut found = report.counterexamples[0].clone();
    found.id = "setnx-expire-02".into();
    found.trace = short.clone();
    found.replay = Some(Replay::Reproduced);
    report.counterexamples.push(found);
    let cell = report.cells.iter_mut().find(|cell| {
        let violated = cell.verdict == Verdict::Violated && cell.counterexample.is_none();
        cell.lock == "setnx-expire" && cell.property == "owner-only-release" && violated
    });
    cell.unwrap().counterexample = Some("setnx-expire-02".into());
    let index = page(&report, "README.md");
    let told = format!("in {} steps", short.length());
    assert!(index.contains(&told), "{index}");
    let page = page(&report, "setnx-expire.md");
    assert_eq!(page.matches("owner-only-release under").count(), 1);
    let step = format!("✗ step {} violates owner-only-release", short.length());
    assert!(page.contains(&step), "{page}");
}

#[test]
fn properties_that_one_run_breaks_share_its_story() {
    let mut report = report();
    let mut again = report.counterexamples[0].clone();
    again.id = "setnx-expire-02".into();
    again.trace.property = Some("mutual-exclusion-belief".into());
    report.counterexamples.push(again);
    let cell = report.cells.iter_mut().find(|cell| {
        cell.lock == "setnx-expire"
            && cell.property == "mutual-exclusion-belief"
            && cell.verdict == Verdict::Violated
    });
    cell.unwrap().counterexample = Some("setnx-expire-02".into());
    let page = page(&report, "setnx-expire.md");
    assert!(
        page.contains("\n### mutual-exclusion-belief, owner-only-release under"),
        "{page}"
    );
    assert_eq!(page.matches("Find it again").count(), 1);
}

#[test]
fn sizes_have_a_table_each_and_unknown_verdicts_their_reason() {
    let mut report = report();
    let mut larger = report.cells.clone();
    larger.retain(|cell| cell.lock == "redlock");
    for cell in &mut larger {
        cell.sizes.nodes = 5;
        cell.verdict = Verdict::Holds;
        cell.counterexample = None;
    }
    report.cells.extend(larger);
    let page = page(&report, "redlock.md");
    assert!(page.contains(
        "\nWith 2 clients, 3 nodes, lease 3 ticks, under each of these: no faults, overrun"
    ));
    assert!(page.contains(
        "\nWith 2 clients, 5 nodes, lease 3 ticks, under each of these: no faults, overrun"
    ));
    assert!(page.contains("| all of these | – |\n"));
    // Three of five are named, four are not.
    assert!(page.contains("| no faults, overrun, client-pause (4 ticks) |"));
    assert!(page.contains("| all others | loss + node-restart |"));
    let reason = "| loss + node-restart, because the bound of 10 000 000 states was reached |\n";
    assert!(page.contains(reason), "{page}");
}

#[test]
fn nothing_in_a_lock_file_becomes_markup() {
    let hostile =
        "# no heading\n\n- no *list*\n1. <script>alert(1)</script> [x](http://x) | `y` \u{1b}[2J";
    let mut report = report();
    let lock = &mut report.locks[0];
    lock.description = hostile.into();
    lock.about = About {
        works: Some(hostile.into()),
        claims: Some("1) no list".into()),
        repair: Some("---\n+ no rule".into()),
    };
    lock.warnings = vec![format!("x.lua:1: {hostile}")];
    lock.path = "a|b\n<script>.lua".into();
    let escaped = "\\# no heading - no \\*list\\* 1. &lt;script&gt;alert(1)&lt;/script&gt; \
                   \\[x\\](http://x) \\| \\`y\\` \\\\u{1b}\\[2J";
    for name in ["setnx-expire.md", "README.md"] {
        let page = page(&report, name);
        assert!(page.contains(escaped), "{page}");
        assert!(!page.contains("<script"), "{page}");
        let control = |c: char| c.is_control() && c != '\n';
        assert!(!page.contains(control), "{page:?}");
    }
    let page = page(&report, "setnx-expire.md");
    assert!(page.contains("\n1\\) no list\n"), "{page}");
    assert!(page.contains("\n\\--- + no rule\n"), "{page}");
    assert!(page.contains("\n## Warnings\n\n- x.lua:1: "), "{page}");
    assert!(page.contains("\na\\|b\\\\n&lt;script&gt;.lua\n"), "{page}");
}

#[test]
fn a_built_in_lock_is_linked_from_the_root_of_the_repository() {
    let mut report = report();
    report.locks[1].path = "token".into();
    let page = page(&report, "token.md");
    let link = "[models/token.lua](/models/token.lua), built into lockproof\n";
    assert!(page.ends_with(link), "{page}");
}

#[test]
fn the_pages_of_built_in_locks_are_written_in_both_languages() {
    let mut report = report();
    let paths = |report: &Report| -> Vec<String> {
        let pages = lock_pages(report).into_iter();
        pages.map(|(path, _)| path).collect()
    };
    let english = paths(&report);
    assert!(english.iter().all(|path| path.starts_with("locks/")));
    assert!(
        !page(&report, "token.md").contains("中文"),
        "there is no such page"
    );
    for lock in &mut report.locks {
        lock.path.clone_from(&lock.name);
    }
    let both = paths(&report);
    for path in english.iter().filter(|path| path.ends_with(".md")) {
        assert!(both.contains(&format!("zh-CN/{path}")), "{path}");
    }
    // Drawings have no words, and are there once.
    let drawings = |paths: &[String]| paths.iter().filter(|path| path.ends_with(".svg")).count();
    assert_eq!(drawings(&both), drawings(&english));
    assert!(page(&report, "token.md").starts_with("# token\n\n[中文](../zh-CN/locks/token.md)\n"));
    let chinese = lock_pages(&report).into_iter();
    let mut chinese = chinese.filter(|(path, _)| path == "zh-CN/locks/token.md");
    let chinese = chinese.next().unwrap().1;
    assert!(chinese.starts_with("# token\n\n[English](../../locks/token.md)\n"));
    assert!(chinese.contains("](../../locks/token.svg)"), "{chinese}");
}

#[test]
fn a_page_is_not_written_by_what_a_lock_file_has_in_braces() {
    let mut report = report();
    let lock = &mut report.locks[1];
    lock.description = "{property} {set} {".into();
    lock.about.works = Some("{sizes}, {link}".into());
    let token = page(&report, "token.md");
    assert!(token.contains("\n{property} {set} {\n"), "{token}");
    assert!(token.contains("\n{sizes}, {link}\n"), "{token}");
    let index = page(&report, "README.md");
    assert!(index.contains("| {property} {set} { |"), "{index}");
}

#[test]
fn pages_lie_beside_the_other_renderings() {
    let folder = tempfile::tempdir().unwrap();
    let mut report = report();
    report.locks[0].warnings = vec!["x.lua:3: no cluster".into()];
    assert_eq!(parse(&json(&report).unwrap()).unwrap(), report);
    let written = write_all(folder.path(), &report).unwrap();
    for (path, text) in lock_pages(&report) {
        let path = folder.path().join(path);
        assert!(written.contains(&path));
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
}
