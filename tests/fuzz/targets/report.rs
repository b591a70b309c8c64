//! Reports: read, written again, and every rendering of whatever names they have.

use lockproof_report::baseline::Baseline;
use lockproof_report::{
    Report, ReportError, annotations, html, json, junit, lock_pages, markdown, parse, terminal,
};

use super::unpacked::unpacked;
use super::{Form, Target, line_is_there, no_foreign_tag, printable, same, text};

pub const TARGET: Target = Target {
    name: "report",
    run,
    form: Form::Json,
    seeds: &[],
    words: &[
        "holds",
        "violated",
        "unknown",
        "reproduced",
        "diverged",
        "not-replayable",
        "replays",
        "attempts",
        "walks",
        "steps",
        "states",
        "seconds",
        "partition",
        "scenarios",
        "free",
        "sweep",
        "low",
        "high",
        "events",
        "of",
        "<script>alert(1)</script>",
        "]]>",
        "\\u001b[2J",
        "|",
        "`",
        "\" onload=\"x",
        "javascript:alert(1)",
        "::error::",
        "%0A",
        "&amp;",
        "../../x",
    ],
    inputs: 60,
};

fn run(input: &[u8]) {
    let Some(text) = text(input) else { return };
    match parse(text) {
        Ok(report) => {
            round_trip(&report);
            totals(&report);
            rendered(&report);
        }
        Err(ReportError::Shape { line, .. }) => line_is_there(line.max(1), input),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn round_trip(report: &Report) {
    let written = json(report).expect("a report can be written");
    let again = parse(&written).expect("and read again");
    same("written and read again", report, &again);
}

/// The figures of the summary are those of the cells.
pub fn totals(report: &Report) {
    let totals = report.totals();
    assert_eq!(totals.cells, report.cells.len());
    assert_eq!(
        totals.cells,
        totals.holds + totals.violated + totals.unknown
    );
    assert!(totals.reproduced <= totals.violated);
    assert!(totals.walks_agree <= totals.walks && totals.worlds_walked <= totals.worlds);
    let _ = totals.evidence_words();
}

fn rendered(report: &Report) {
    no_foreign_tag("the page", &unpacked(&html(report).expect("a page")), 1);
    well_formed(&junit(report).expect("a JUnit file"));
    printable("the Markdown", &markdown(report));
    for (name, page) in lock_pages(report) {
        let below = name.strip_prefix("locks/").expect("a folder of its own");
        assert!(!below.contains('/'), "{name:?}");
        if below.ends_with(".svg") {
            well_formed(&page);
            no_foreign_tag("the drawing of a lock", &page, 0);
            continue;
        }
        assert!(below.ends_with(".md"), "{name:?}");
        printable("the page of a lock", &page);
        no_foreign_tag("the page of a lock", &outside_code(&page), 0);
    }
    for width in [1, 40, 200] {
        printable("the matrix", &terminal::matrix_within(report, width));
    }
    for row in &report.scenarios {
        printable("a row of free runs", &terminal::free_runs(row));
    }
    for annotation in annotations(report) {
        let line = annotation.github();
        assert!(
            !line.trim_end().contains(['\n', '\r']),
            "one line: {line:?}"
        );
    }
    let baseline = Baseline::of(report);
    let read = Baseline::parse(&baseline.render()).expect("our own baseline");
    same("a baseline written and read again", &baseline, &read);
    assert!(baseline.compare(report).is_empty() || baseline.verdicts.len() < report.cells.len());
}

/// What of a Markdown text does not stand in blocks of code.
fn outside_code(page: &str) -> String {
    let mut fence = None;
    let outside = page.lines().filter(|line| {
        let ticks = line.bytes().take_while(|byte| *byte == b'`').count();
        match fence {
            None if ticks >= 3 => fence = Some(ticks),
            None => return true,
            Some(open) if ticks >= open && line.len() == ticks => fence = None,
            Some(_) => {}
        }
        false
    });
    outside.collect::<Vec<_>>().join("\n")
}

fn well_formed(xml: &str) {
    let mut reader = quick_xml::Reader::from_str(xml);
    reader.config_mut().check_end_names = true;
    loop {
        match reader.read_event().expect("well-formed XML") {
            quick_xml::events::Event::Eof => return,
            quick_xml::events::Event::Text(text) => {
                let text = text.decode().expect("UTF-8");
                let allowed = |c: char| c >= ' ' || matches!(c, '\n' | '\t' | '\r');
                assert!(text.chars().all(allowed), "a character that XML forbids");
            }
            _ => {}
        }
    }
}
