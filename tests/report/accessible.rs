//! The pages, held to the rules of axe-core: what a screen reader or a keyboard needs.

mod in_a_browser {
    mod with_axe {
        use std::path::{Path, PathBuf};

        use lockproof_lab::binaries;
        use lockproof_model::check::Verdict;
        use lockproof_report::model::Cell;
        use serde_json::{Value, json};

        use crate::browser::Browser;

        /// Everything that the rules find on the page as it stands, one line each.
        fn violations(browser: &Browser) -> Vec<String> {
            let axe = binaries::tool_directories()
                .into_iter()
                .map(|directory| directory.join("axe.min.js"))
                .find(|path| path.exists())
                .expect("run scripts/setup.sh --tests: it fetches axe-core");
            browser.run(&std::fs::read_to_string(axe).unwrap());
            let found = browser.run(
                "return axe.run(document).then((found) => found.violations.map((one) => \
                 [one.id, one.impact, one.help, one.nodes.slice(0, 3).map((node) => \
                 node.html.slice(0, 200))]))",
            );
            let found: Vec<String> = found
                .as_array()
                .unwrap()
                .iter()
                .map(Value::to_string)
                .collect();
            let checked =
                browser.run("return axe.run(document).then((found) => found.passes.length)");
            assert!(
                checked.as_u64().unwrap() > 10,
                "rules were asked: {checked}"
            );
            found
        }

        /// In both colours, on a wide screen and on a telephone's. A picture of each is left.
        fn assert_accessible(browser: &Browser, what: &str) {
            for (scheme, width) in [("light", 1440_u32), ("dark", 1440), ("light", 390)] {
                browser.prefer(scheme);
                browser.pretend(width, 1060);
                let seen = browser.run("return innerWidth");
                assert_eq!(seen, width, "{what}");
                let wide = browser.run("return document.documentElement.scrollWidth");
                assert!(
                    wide.as_u64() <= Some(width.into()),
                    "{what} is {wide} px wide at {width}"
                );
                let name = format!("accessible-{}-{scheme}-{width}.png", what.replace(' ', "-"));
                browser.screenshot(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
                let found = violations(browser);
                assert_eq!(found, Vec::<String>::new(), "{what}, {scheme}, {width} px");
            }
        }

        fn written(name: &str, text: &str) -> PathBuf {
            let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            std::fs::write(&file, text).unwrap();
            file
        }

        #[test]
        fn no_rule_is_broken_by_the_report_or_by_what_is_behind_its_cells() {
            let browser = Browser::start();
            let report = crate::report_common::report();
            let page = lockproof_report::html(&report).unwrap();
            browser.open(&written("report-accessible.html", &page));
            assert_accessible(&browser, "the tables");
            browser.run("document.querySelectorAll('details').forEach((one) => one.open = true)");
            assert_accessible(&browser, "the tables, with everything opened");
            let drawn = |cell: &Cell| cell.counterexample.as_deref() == Some("redlock-01");
            let held = |cell: &Cell| cell.verdict == Verdict::Holds;
            for (what, element, place) in [
                (
                    "a counterexample",
                    "svg.lp",
                    report.cells.iter().position(drawn),
                ),
                ("what holds", ".facts", report.cells.iter().position(held)),
            ] {
                browser.run("location.hash = '#top'");
                browser.run(&format!("location.hash = '#c{}'", place.unwrap()));
                browser.until(&format!(
                    "return !!document.querySelector('#shelf {element}')"
                ));
                assert_accessible(&browser, what);
            }
        }

        #[test]
        fn no_rule_is_broken_by_the_page_of_a_run() {
            let browser = Browser::start();
            let page = crate::run_page::of_a_violation();
            browser.open(&written("run-accessible.html", &page));
            assert_accessible(&browser, "a free run");
        }

        #[test]
        fn a_planted_fault_is_found() {
            let browser = Browser::start();
            let page = "<!doctype html><html><title>x</title><body><main><h1>x</h1><img src=x>\
                        <p style='color:#aaa;background:#fff'>pale</p></main>";
            browser.open(&written("planted.html", page));
            let found = violations(&browser).join("\n");
            for rule in ["image-alt", "color-contrast", "html-has-lang"] {
                assert!(found.contains(&json!(rule).to_string()), "{rule}: {found}");
            }
        }
    }
}
