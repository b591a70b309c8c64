//! The report page in a real browser: what a reader does with it works.
//!
//! Screenshots go to the target directory.

use std::path::{Path, PathBuf};

use crate::browser::Browser;
use lockproof_report::{Report, html};
use lockproof_trace::Event;
use serde_json::json;

const ESCAPE: &str = "\u{e00c}";
const ENTER: &str = "\u{e007}";
const RIGHT: &str = "\u{e014}";
const DOWN: &str = "\u{e015}";

fn page(name: &str, report: &Report) -> PathBuf {
    let file = target().join(format!("{name}.html"));
    std::fs::write(&file, html(report).unwrap()).unwrap();
    file
}

fn target() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

fn cell(report: &Report, counterexample: &str) -> usize {
    let found =
        |c: &lockproof_report::model::Cell| c.counterexample.as_deref() == Some(counterexample);
    report.cells.iter().position(found).unwrap()
}

/// Waits until the page has unpacked an element.
fn wait_for(browser: &Browser, css: &str) {
    let there = format!("return !!document.querySelector('#shelf {css}')");
    browser.until(&there);
}

mod in_a_browser {
    use super::*;

    #[test]
    fn a_reader_follows_a_cell_to_its_counterexample() {
        let browser = Browser::start();
        let report = crate::report_common::report();
        browser.open(&page("report", &report));
        let links = |of: &str| {
            browser.run(&format!(
                "return document.querySelectorAll('{of} td a').length"
            ))
        };
        assert_eq!(links(".verdicts"), report.cells.len());
        assert_eq!(links(".overview"), 3 * 5, "a cell of each lock and set");
        browser.prefer("light");
        browser.screenshot(&target().join("report-matrix-light.png"));

        let i = cell(&report, "redlock-01");
        browser.click(&format!("#matrix a[href='#c{i}']"));
        wait_for(&browser, &format!("#c{i}"));
        let shown = "return getComputedStyle(document.querySelector(arguments[0] || 'x')).display";
        let display =
            |css: &str| browser.run(&shown.replace("arguments[0] || 'x'", &json!(css).to_string()));
        assert_eq!(display(&format!("#c{i}")), "block");
        assert_eq!(display("#matrix"), "none", "the cell takes the page over");
        assert_eq!(
            browser.run("return document.querySelectorAll('#shelf .detail svg.lp').length"),
            1
        );

        // Each key press goes one step on and marks the line that acts.
        let trace = &report.counterexample("redlock-01").unwrap().trace;
        let state = "const c = document.querySelector('#shelf .detail');\
        const t = (s) => { const e = c.querySelector(s); return e ? e.textContent.trim() : null; };\
        return [t('.now li.on .when'), t('.code li.on'), +c.querySelector('.lp .s.on').dataset.step]";
        for (i, step) in trace.steps.iter().enumerate() {
            let now = browser.run(state);
            assert_eq!(now[2], i + 1);
            assert!(now[0].as_str().unwrap().starts_with(&format!(
                "step {} of {}",
                i + 1,
                trace.steps.len()
            )));
            if let (Some(source), Event::Send { .. }) = (&step.source, &step.event) {
                assert_eq!(now[1], source.text, "step {}", i + 1);
            }
            browser.press(RIGHT);
        }

        browser.run("scrollTo(0, 0)");
        browser.click("#shelf .detail button[data-go=first]");
        browser.screenshot(&target().join("report-cell-top.png"));
        browser.press("v");
        let violation = 1 + trace
            .steps
            .iter()
            .position(|s| !s.violates.is_empty())
            .unwrap();
        assert_eq!(browser.run(state)[2], violation);
        browser.screenshot(&target().join("report-cell-light.png"));
        browser.prefer("dark");
        browser.screenshot(&target().join("report-cell-dark.png"));

        browser.press(ESCAPE);
        assert_eq!(display("#matrix"), "block");
        assert_eq!(
            browser.run("return document.activeElement.getAttribute('href')"),
            format!("#c{i}"),
            "the focus is back where it was"
        );
        browser.screenshot(&target().join("report-matrix-dark.png"));
        assert_eq!(browser.console(), Vec::<serde_json::Value>::new());
    }

    #[test]
    fn a_cell_of_the_overview_opens_its_properties_and_each_its_counterexample() {
        let browser = Browser::start();
        let report = crate::report_common::report();
        browser.open(&page("report-properties", &report));
        let bad = ".overview td:not(.safe):not(.none):not(.unknown) a";
        let cells = browser.run(&format!("return document.querySelectorAll('{bad}').length"));
        for number in 0..cells.as_u64().unwrap() {
            let hash = browser.run(&format!(
                "const a = document.querySelectorAll('{bad}')[{number}]; a.click(); return a.hash"
            ));
            let at: usize = hash.as_str().unwrap()[2..].parse().unwrap();
            wait_for(&browser, &format!("#c{at}"));
            let opened = &report.cells[at];
            let asked = report.cells.iter().filter(|cell| {
                (&cell.lock, &cell.assumptions) == (&opened.lock, &opened.assumptions)
            });
            let expected: Vec<_> = asked
                .map(|cell| {
                    json!([
                        format!(
                            "{}: {}",
                            cell.property,
                            lockproof_report::model::verdict_word(cell.verdict)
                        ),
                        std::ptr::eq(cell, opened)
                    ])
                })
                .collect();
            let listed = browser.run(
                "return [...document.querySelectorAll('#shelf .asked a')].map((a) => \
                 [a.getAttribute('aria-label').replace(/ \\(.*\\)/, ''), a.hasAttribute('aria-current')])",
            );
            let sorted = |rows: &[serde_json::Value]| {
                let mut rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
                rows.sort();
                rows
            };
            assert_eq!(
                sorted(listed.as_array().unwrap()),
                sorted(&expected),
                "{hash}"
            );
            let help = browser.run("return document.querySelector('#shelf .help').textContent");
            assert!(help.as_str().unwrap().contains("What helps:"), "{help}");
            browser.run("location.hash = '#top'");
        }

        // From one property to the next, and to its own counterexample.
        let i = cell(&report, "redlock-01");
        let next = report.cells.iter().position(|one| {
            (&one.lock, &one.assumptions) == (&report.cells[i].lock, &report.cells[i].assumptions)
                && one.property != report.cells[i].property
        });
        let next = next.unwrap();
        browser.run(&format!("location.hash = '#c{next}'"));
        wait_for(&browser, &format!("#c{next}"));
        browser.click(&format!("#shelf .asked a[href='#c{i}']"));
        wait_for(&browser, "svg.lp");
        assert_eq!(browser.console(), Vec::<serde_json::Value>::new());
    }

    #[test]
    fn a_telephone_shows_all_lanes_and_gives_labels_back() {
        let browser = Browser::start();
        let report = crate::report_common::report();
        browser.open(&page("report-narrow", &report));
        browser.pretend(390, 844);
        let i = cell(&report, "redlock-01");
        browser.run(&format!("location.hash = '#c{i}'"));
        wait_for(&browser, "svg.lp.close");
        let trace = &report.counterexample("redlock-01").unwrap().trace;
        let heads = 2 * usize::from(trace.setup.clients + trace.setup.nodes);
        // Where each head stands, and where each lane and each arrow's tip does.
        let seen = "const box = document.querySelector('#shelf .diagram').getBoundingClientRect();\
        const all = (css) => [...document.querySelectorAll('#shelf svg.lp ' + css)];\
        const d = (e, k) => +e.getAttribute('d').match(/-?[\\d.]+/g)[k];\
        const inside = (e) => { const b = e.getBoundingClientRect();\
          return b.left >= box.left - 1 && b.right <= box.right + 1; };\
        const heads = all('.headt'), lanes = new Set(all('.lane').map((e) => d(e, 0)));\
        return [heads.length, heads.every(inside), all('.m').every(inside), all('.vt').every(inside),\
          heads.every((e) => lanes.has(+e.getAttribute('x'))),\
          all('.m .a').every((e) => [...lanes].some((x) => Math.abs(x - d(e, 0)) < 7)),\
          all('.m .a').every((e) => {\
            const line = e.previousElementSibling, [x, y] = [d(line, 2) - d(line, 0), d(line, 3) - d(line, 1)];\
            const [back, up] = [(d(e, 2) + d(e, 4)) / 2 - d(e, 0), (d(e, 3) + d(e, 5)) / 2 - d(e, 1)];\
            return Math.abs(x * up - y * back) < 0.5 * Math.hypot(x, y); }),\
          all('.s > text:not(.k)').filter((e) => e.getClientRects().length).length]";
        let labels = browser
            .run("return document.querySelectorAll('#shelf svg.lp .s > text:not(.k)').length");
        assert!(labels.as_u64() > Some(10), "{labels}");
        assert_eq!(
            browser.run(seen),
            json!([heads, true, true, true, true, true, true, 0]),
            "all lanes are in the box, arrows end at them and point along their lines, and no label is in \
             the way"
        );
        browser.press("v");
        browser.screenshot(&target().join("report-cell-narrow.png"));
        let marked = "return document.querySelector('#shelf .lp .s.on').dataset.step";
        let step = browser.run(marked);

        browser.click("#shelf [data-lanes]");
        let now = browser.run(seen);
        assert_eq!(
            (&now[1], &now[7]),
            (&json!(false), &labels),
            "to be scrolled"
        );
        assert_eq!(browser.run(marked), step, "the same step is marked");
        browser.click("#shelf [data-lanes]");
        assert_eq!(browser.run(seen)[1], true);

        // Where there is room, nobody is asked.
        browser.pretend(1440, 900);
        browser.run("location.hash = '#top'");
        let token = cell(&report, "token-01");
        browser.run(&format!("location.hash = '#c{token}'"));
        wait_for(&browser, "svg.lp:not(.close)");
        assert_eq!(
            browser.run("return document.querySelector('#shelf [data-lanes]').hidden"),
            true
        );
        assert_eq!(browser.console(), Vec::<serde_json::Value>::new());
    }

    #[test]
    fn no_name_is_too_long_for_a_telephone() {
        let browser = Browser::start();
        let mut report = crate::report_common::report();
        let long = "l".repeat(100);
        let (locks, cells) = (&mut report.locks, &mut report.cells);
        let names = locks.iter_mut().map(|lock| &mut lock.name);
        for name in names.chain(cells.iter_mut().map(|cell| &mut cell.lock)) {
            if name == "redlock" {
                name.clone_from(&long);
            }
        }
        browser.open(&page("report-long-name", &report));
        browser.pretend(390, 844);
        let wide = "return document.documentElement.scrollWidth <= 390";
        browser.run("document.querySelectorAll('details').forEach((one) => one.open = true)");
        assert_eq!(browser.run(wide), true, "the tables");
        let i = cell(&report, "redlock-01");
        browser.run(&format!("location.hash = '#c{i}'"));
        wait_for(&browser, "svg.lp.close");
        assert_eq!(browser.run(wide), true, "a counterexample");
    }

    #[test]
    fn the_page_can_be_used_with_the_keyboard_alone() {
        let browser = Browser::start();
        let report = crate::report_common::report();
        browser.open(&page("report-keys", &report));
        let focus = "return document.activeElement.getAttribute('href')";
        browser.run("document.querySelector('#matrix td a').focus()");
        let first = browser.run(focus);
        browser.press(RIGHT);
        browser.press(DOWN);
        let there = browser.run(focus);
        assert_ne!(first, there);
        browser.press(ENTER);
        assert_eq!(browser.run("return location.hash"), there);
        wait_for(&browser, there.as_str().unwrap());
        browser.press(ESCAPE);
        assert_eq!(browser.run(focus), there);

        // `v` goes to the first violated cell that is shown, at its violation.
        browser.press("v");
        wait_for(&browser, ".detail");
        let verdict = "return document.querySelector('#shelf .detail').dataset.verdict";
        assert_eq!(browser.run(verdict), "violated");
    }

    #[test]
    fn filters_hide_what_does_not_match() {
        let browser = Browser::start();
        let report = crate::report_common::report();
        browser.open(&page("report-filter", &report));
        let rows = "return [...document.querySelectorAll('#matrix tr[data-property]')]\
        .filter((r) => r.offsetParent !== null).length";
        assert_eq!(browser.run(rows), 12);
        browser.type_at("#f-lock", "token");
        assert_eq!(browser.run(rows), 4);
        browser.type_at("#f-verdict", "violated");
        assert_eq!(
            browser.run(rows),
            3,
            "owner-only-release always holds there"
        );
        browser.type_at("#f-property", "no-orphan");
        assert_eq!(browser.run(rows), 1);
        assert_eq!(
            browser.run("return document.querySelector('#count').textContent"),
            "1 cell"
        );
    }

    /// A text that tries every way out of where a page may put it.
    const EVIL: &str = "</script><script>window.pwned=1</script>\"'><img src=x onerror=window.pwned=2>\
    </title></style></textarea><svg onload=window.pwned=3>{{ 7*7 }}";

    #[test]
    fn nothing_in_a_report_becomes_markup_or_script() {
        let browser = Browser::start();
        let mut report = crate::report_common::report();
        report.tool_version = EVIL.into();
        report.command = EVIL.into();
        report.config = EVIL.into();
        report.environment.proxy = Some(EVIL.into());
        for lock in &mut report.locks {
            lock.path = EVIL.into();
            for file in &mut lock.files {
                file.path = EVIL.into();
                file.text = format!("{EVIL}\n{}", file.text);
            }
        }
        report
            .properties
            .values_mut()
            .for_each(|v| *v = EVIL.into());
        report
            .assumptions
            .values_mut()
            .for_each(|v| *v = EVIL.into());
        for cell in &mut report.cells {
            cell.command = EVIL.into();
            cell.reason = Some(EVIL.into());
            cell.assumptions
                .iter_mut()
                .for_each(|a| a.name = EVIL.into());
        }
        for found in &mut report.counterexamples {
            found.replay_command = Some(EVIL.into());
            found.trace.lock.name = EVIL.into();
            for step in &mut found.trace.steps {
                step.violates.iter_mut().for_each(|v| *v = EVIL.into());
                if let Some(source) = &mut step.source {
                    source.text = EVIL.into();
                }
                if let Event::Send { argv, .. } = &mut step.event {
                    argv[0] = EVIL.into();
                    argv.push(EVIL.into());
                }
            }
        }
        browser.open(&page("report-evil", &report));
        browser.click(&format!(
            "#matrix a[href='#c{}']",
            cell(&report, "redlock-01")
        ));
        wait_for(&browser, ".detail");
        browser.press(RIGHT);
        assert_eq!(browser.run("return window.pwned || 0"), 0);
        assert_eq!(
            browser.run("return document.scripts.length + document.images.length"),
            1,
            "our own script and nothing else"
        );
        assert_eq!(
            browser.run("return document.querySelector('.code li code').textContent"),
            EVIL,
            "the text is shown as it is"
        );
        assert_eq!(browser.console(), Vec::<serde_json::Value>::new());
    }
}
