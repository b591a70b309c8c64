//! Scenario x lock in every rendering: the same figures, careful words, nothing unescaped.

use std::path::{Path, PathBuf};

use crate::browser::Browser;
use lockproof_model::check::Verdict;
use lockproof_report::model::Replays;
use lockproof_report::scenario::{
    FreeAgreement, FreeRun, FreeRuns, ModelSays, OracleRate, PropertySays, Published, ScenarioRow,
    Share, SweepPoint,
};
use lockproof_report::{Report, figure, html, json, junit, markdown, parse, terminal};

fn share(events: u64, of: u64) -> Share {
    let value = events as f64 / of as f64;
    Share {
        events,
        of,
        low: value * 0.6,
        high: (value * 1.7).clamp(0.01, 1.0),
    }
}

fn run(seed: u64, lost: u64) -> FreeRun {
    FreeRun {
        seed,
        operations: 47_824,
        acquired: 496,
        seconds: 60.0,
        faults: 12,
        struck: Some(11),
        cut_short: false,
        stall_max_ms: 3,
        observed: match lost {
            0 => vec![],
            _ => vec!["mutual-exclusion-belief".into(), "lost-updates".into()],
        },
        unknown: vec![],
        losses: Some(share(lost, 496)),
        history: format!("token/seed-{seed}.history.jsonl"),
        page: Some(format!("token/seed-{seed}.html")),
    }
}

fn says(property: &str, verdict: Verdict) -> PropertySays {
    PropertySays {
        property: property.into(),
        verdict,
        control: Some(Verdict::Holds),
        replays: (verdict == Verdict::Violated).then_some(Replays {
            reproduced: 20,
            attempts: 20,
        }),
    }
}

fn rate(oracle: &str, events: u64, of: u64, predicted: Option<bool>) -> OracleRate {
    OracleRate {
        oracle: oracle.into(),
        observed: share(events, of),
        unknown: 0,
        predicted,
    }
}

/// A lock that was explored, replayed and run.
fn row() -> ScenarioRow {
    ScenarioRow {
        scenario: "published-set-up".into(),
        story: "A pause every 5 s.".into(),
        lock: "token".into(),
        topology: "one server".into(),
        workload: "guarded-set".into(),
        clients: 5,
        ttl_ms: 2000,
        model: Some(ModelSays {
            explored: true,
            properties: vec![
                says("mutual-exclusion-belief", Verdict::Violated),
                says("mutual-exclusion-validity", Verdict::Holds),
                says("mutual-exclusion-effect", Verdict::Violated),
            ],
        }),
        free: Some(FreeRuns {
            duration_ms: 60_000,
            oracles: vec![
                rate("mutual-exclusion-belief", 3, 5, Some(true)),
                rate("mutual-exclusion-validity", 0, 5, Some(false)),
                rate("lost-updates", 2, 5, Some(true)),
            ],
            losses: Some(Share {
                events: 13,
                of: 496,
                low: 0.0154,
                high: 0.0443,
            }),
            runs: (1..=5).map(|seed| run(seed, seed % 2 * 13)).collect(),
        }),
        sweep: Vec::new(),
        published: Some(Published {
            lost_rate: 0.18,
            of: "etcd's lock".into(),
            source: "Jepsen: etcd 3.4.3".into(),
        }),
        agreement: FreeAgreement::Agrees,
        notes: Vec::new(),
        unexpected: false,
        page: None,
        command: "lockproof scenario run published-set-up --free --lock token".into(),
    }
}

#[test]
fn a_run_in_which_no_fault_struck_is_no_evidence_in_every_rendering() {
    let mut row = row();
    let free = row.free.as_mut().unwrap();
    for run in &mut free.runs {
        run.struck = Some(0);
    }
    assert_eq!(
        free.no_evidence_words().unwrap(),
        "2 of 5 runs are no evidence: no fault struck",
        "what the other three saw was seen all the same"
    );
    assert_eq!(free.strikes_words().unwrap(), "0 of 60 faults struck");
    row.agreement = FreeAgreement::NoEvidence;
    let report = report(vec![row.clone()]);
    for text in [
        html(&report).unwrap(),
        markdown(&report),
        junit(&report).unwrap(),
        terminal::free_runs(&row),
    ] {
        assert!(text.contains("2 of 5 runs are no evidence"), "{text}");
        assert!(text.contains("0 of 60 faults struck"), "{text}");
    }
    let words = "no evidence: no fault struck";
    assert!(markdown(&report).contains(words));
    let read = quick_junit::Report::deserialize_from_str(&junit(&report).unwrap()).unwrap();
    assert_eq!((read.failures, read.errors), (0, 1));
}

#[test]
fn reports_from_before_strikes_were_counted_say_nothing_of_them() {
    let mut row = row();
    for run in &mut row.free.as_mut().unwrap().runs {
        run.struck = None;
    }
    let report = report(vec![row]);
    let text = json(&report).unwrap();
    assert!(!text.contains("struck"));
    assert_eq!(parse(&text).unwrap(), report);
    assert!(!html(&report).unwrap().contains("faults struck"));
}

fn swept() -> ScenarioRow {
    let points = [(1000, 0), (2000, 1), (3000, 13), (4000, 40), (6000, 60)];
    ScenarioRow {
        lock: "token-renewed".into(),
        free: None,
        sweep: points
            .map(|(pause_ms, lost)| SweepPoint {
                pause_ms,
                losses: share(lost, 500),
                runs: vec![run(1, lost), run(2, lost / 2)],
            })
            .to_vec(),
        ..row()
    }
}

fn report(rows: Vec<ScenarioRow>) -> Report {
    Report {
        cells: Vec::new(),
        counterexamples: Vec::new(),
        locks: Vec::new(),
        scenarios: rows,
        ..crate::report_common::report()
    }
}

#[test]
fn the_table_of_all_stories_has_a_line_a_row_and_says_what_is_not_as_expected() {
    let mut rows = vec![row(), swept(), row()];
    rows[1].model = None;
    rows[2].lock = "redlock".into();
    rows[2].unexpected = true;
    insta::assert_snapshot!(lockproof_report::stories(&rows, 100));
    assert_eq!(lockproof_report::stories(&[], 100), "");
    rows.iter_mut().for_each(|row| row.free = None);
    let without = lockproof_report::stories(&rows, 100);
    assert!(!without.contains("free runs"), "{without}");
}

#[test]
fn rows_survive_json_and_reports_without_them_still_read() {
    let with = report(vec![row(), swept()]);
    assert_eq!(parse(&json(&with).unwrap()).unwrap(), with);
    let without = crate::report_common::report();
    let text = json(&without).unwrap();
    assert!(
        !text.contains("scenarios"),
        "an older reader reads it as before"
    );
    assert_eq!(parse(&text).unwrap(), without);
}

#[test]
fn every_rendering_has_the_same_figures() {
    let report = report(vec![row(), swept()]);
    let terminal: String = report.scenarios.iter().map(terminal::free_runs).collect();
    let html = html(&report)
        .unwrap()
        .replace("&#x27;", "'")
        .replace("&#x2f;", "/");
    for (name, text) in [
        ("markdown", markdown(&report)),
        ("html", html.clone()),
        ("junit", junit(&report).unwrap().replace("&apos;", "'")),
        ("terminal", terminal),
    ] {
        let losses = "13 of 496 acknowledged (2.6 %, 95 % 1.5 % to 4.4 %); published for etcd's lock \
            in this set-up: about 18 %";
        let plain = text.replace('\\', "");
        assert!(plain.contains(losses), "{name}: {text}");
        assert!(plain.contains("not observed in 5"), "{name}");
        assert!(!plain.contains(" safe"), "{name} calls nothing safe");
    }
    assert!(
        html.contains("href=\"token/seed-1.html\""),
        "runs are linked"
    );
    assert!(markdown(&report).contains("20/20") || markdown(&report).contains("40/40"));
}

#[test]
fn a_row_turns_junit_red_only_if_it_is_not_as_expected() {
    let failures = |row: ScenarioRow| {
        let text = junit(&report(vec![row])).unwrap();
        (
            text.matches("<failure").count(),
            text.matches("<error").count(),
        )
    };
    assert_eq!(failures(row()), (0, 0), "an expected violation is a pass");
    let contradicts = ScenarioRow {
        agreement: FreeAgreement::Contradicts,
        ..row()
    };
    assert_eq!(failures(contradicts), (1, 0));
    let unexpected = ScenarioRow {
        unexpected: true,
        ..row()
    };
    assert_eq!(failures(unexpected), (1, 0));
    let stalled = ScenarioRow {
        agreement: FreeAgreement::Unknown,
        ..row()
    };
    assert_eq!(failures(stalled), (0, 1));
}

#[test]
fn what_was_not_explored_is_not_called_a_verdict() {
    let mut row = row();
    if let Some(model) = &mut row.model {
        model.explored = false;
        model
            .properties
            .retain(|says| says.verdict == Verdict::Violated);
    }
    let report = report(vec![row]);
    assert!(markdown(&report).contains("not explored here"));
    assert!(html(&report).unwrap().contains("not explored here"));
}

#[test]
fn the_figure_marks_one_lease_and_what_was_published() {
    let svg = figure::sweep_svg(&swept());
    assert_eq!(svg.matches("class=\"point\"").count(), 5);
    assert_eq!(svg.matches("class=\"single\"").count(), 10);
    assert!(svg.contains("one lease"));
    assert!(svg.contains("etcd's lock, published: about 18 %"));
    assert!(!svg.contains("NaN"));
    assert_eq!(figure::sweep_svg(&row()), "", "nothing to draw");
    let nothing = ScenarioRow {
        ttl_ms: 0,
        published: None,
        sweep: vec![SweepPoint {
            pause_ms: 0,
            losses: Share {
                events: 0,
                of: 0,
                low: 0.0,
                high: 1.0,
            },
            runs: vec![],
        }],
        ..row()
    };
    assert!(!figure::sweep_svg(&nothing).contains("NaN"));
}

#[test]
fn a_row_in_the_page_over_all_scenarios_leads_to_its_own_report() {
    let row = row().lifted("published-set-up");
    assert_eq!(row.page.as_deref(), Some("published-set-up/report.html"));
    let run = &row.free.unwrap().runs[0];
    assert_eq!(
        run.page.as_deref(),
        Some("published-set-up/token/seed-1.html")
    );
    assert_eq!(run.history, "published-set-up/token/seed-1.history.jsonl");
}

// --- in a browser ------------------------------------------------------------

#[test]
fn nothing_in_a_row_becomes_markup_in_markdown() {
    const EVIL: &str = "</td><img src=x onerror=alert(1)> | `x` $y$ @who\n# heading";
    let mut evil = swept();
    evil.free = row().free;
    for text in [&mut evil.scenario, &mut evil.lock, &mut evil.command] {
        *text = EVIL.into();
    }
    evil.notes = vec![EVIL.into()];
    if let Some(published) = &mut evil.published {
        published.of = EVIL.into();
        published.source = EVIL.into();
    }
    for rate in &mut evil.free.as_mut().unwrap().oracles {
        rate.oracle = EVIL.into();
    }
    let mut report = report(vec![evil]);
    report.environment.proxy = Some(EVIL.into());
    report.tool_version = EVIL.into();
    let text = markdown(&report);
    for line in text.lines() {
        assert!(!line.contains("<img") && !line.contains("</td"), "{line}");
        assert!(!line.starts_with("# heading"), "{line}");
    }
    junit(&report).unwrap();
}

fn file(name: &str, report: &Report) -> PathBuf {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html"));
    std::fs::write(&file, html(report).unwrap()).unwrap();
    file
}

mod in_a_browser {
    use super::*;

    #[test]
    fn the_page_shows_rows_with_and_without_a_matrix() {
        let browser = Browser::start();
        let rows =
            "return document.querySelectorAll('table.stories > tbody > tr:not(.lock)').length";
        browser.open(&file("scenarios-alone", &report(vec![row(), swept()])));
        assert_eq!(browser.run(rows), 2);
        assert_eq!(
            browser.run("return document.querySelectorAll('#f-lock').length"),
            0
        );
        let shot =
            |name: &str| browser.screenshot(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(name));
        shot("scenarios-alone.png");
        let both = Report {
            scenarios: vec![row()],
            ..crate::report_common::report()
        };
        browser.open(&file("scenarios-matrix", &both));
        assert_eq!(browser.run(rows), 1);
        assert_eq!(
            browser.run("return document.querySelectorAll('#matrix td[data-verdict]').length"),
            both.cells.len()
        );
        assert_eq!(browser.console(), Vec::<serde_json::Value>::new());
    }

    const EVIL: &str = "</script><script>window.pwned=1</script>\"'><img src=x onerror=window.pwned=2>\
    </title></style><svg onload=window.pwned=3>{{ 7*7 }}";

    #[test]
    fn nothing_in_a_row_becomes_markup_or_script() {
        let browser = Browser::start();
        let mut evil = swept();
        evil.free = row().free;
        for text in [
            &mut evil.scenario,
            &mut evil.story,
            &mut evil.lock,
            &mut evil.topology,
            &mut evil.workload,
            &mut evil.command,
        ] {
            *text = EVIL.into();
        }
        evil.notes = vec![EVIL.into()];
        evil.page = Some(EVIL.into());
        if let Some(published) = &mut evil.published {
            published.of = EVIL.into();
            published.source = EVIL.into();
        }
        for run in &mut evil.free.as_mut().unwrap().runs {
            run.history = EVIL.into();
            run.page = Some(EVIL.into());
            run.observed = vec![EVIL.into()];
        }
        browser.open(&file("scenarios-evil", &report(vec![evil])));
        assert_eq!(browser.run("return window.pwned || 0"), 0);
        assert_eq!(
            browser.run("return document.scripts.length + document.images.length"),
            1,
            "our own script and nothing else"
        );
        assert_eq!(browser.console(), Vec::<serde_json::Value>::new());
    }
}
