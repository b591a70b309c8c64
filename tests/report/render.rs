//! Each rendering says what the model says, and writing is all or nothing.

use std::path::Path;
use std::process::Command;

use crate::report_common::{fixture, report};
use crate::unpacked::unpacked;
use lockproof_model::check::{CheckReport, CheckResult, SCHEMA, Verdict};
use lockproof_report::model::{Agreement, Replays, Walks};
use lockproof_report::{
    Report, ReportError, html, json, junit, markdown, overview, parse, render, terminal, write_all,
};

#[test]
fn a_report_survives_json() {
    let report = report();
    assert_eq!(parse(&json(&report).unwrap()).unwrap(), report);
}

#[test]
fn a_report_of_another_version_is_refused() {
    let text = json(&report()).unwrap().replace("report/1", "report/9");
    let error = parse(&text).unwrap_err();
    assert!(matches!(error, ReportError::Schema { found } if found == "lockproof.report/9"));
}

#[test]
fn every_rendering_is_the_same_each_time() {
    assert_eq!(render(&report()).unwrap(), render(&report()).unwrap());
}

#[test]
fn the_real_side_confirms_or_contradicts() {
    let cell = &mut report().cells[0];
    cell.replays = None;
    cell.walks = None;
    assert_eq!(cell.agreement(), Agreement::Untested);
    let mut replays = |reproduced, attempts| {
        cell.replays = Some(Replays {
            reproduced,
            attempts,
        });
        cell.agreement()
    };
    assert_eq!(replays(0, 0), Agreement::Untested);
    assert_eq!(replays(20, 20), Agreement::AsPredicted);
    assert_eq!(replays(19, 20), Agreement::Contradicted);
    cell.replays = None;
    cell.walks = Some(Walks {
        count: 100,
        steps: 9_000,
        diverged: 1,
    });
    assert_eq!(cell.agreement(), Agreement::Contradicted, "one is enough");
    cell.expected = Some(cell.verdict);
    assert!(cell.is_bad(), "even if the verdict is the expected one");
}

#[test]
fn totals_tell_reproduced_violations_from_walks_and_count_each_world_once() {
    let mut report = report();
    let totals = report.totals();
    // Three locks under five sets of assumptions, four properties each.
    assert_eq!((totals.cells, totals.worlds), (60, 15));
    assert_eq!(totals.holds + totals.violated + totals.unknown, 60);
    assert_eq!(
        (totals.reproduced, totals.violated, totals.contradicted),
        (21, 22, 1),
        "one counterexample diverged"
    );
    let words = totals.evidence_words();
    assert_eq!(words[0], "21 of 22 violations reproduced on real servers");
    let walked: std::collections::BTreeSet<_> = report
        .cells
        .iter()
        .filter(|cell| cell.walks.is_some())
        .map(|cell| (cell.lock.clone(), format!("{:?}", cell.assumptions)))
        .collect();
    assert_eq!(totals.worlds_walked, walked.len());
    assert_eq!(totals.walks, 40 * walked.len() as u64, "not once a cell");
    // Every cell of a world has the same figures in a real report.
    for cell in &mut report.cells {
        cell.states = 1000;
    }
    assert_eq!(report.totals().states, 15_000);
    // The same sets at another size are other worlds.
    for cell in report.cells.iter_mut().filter(|cell| cell.lock == "token") {
        cell.sizes.clients = 3;
        cell.property += "-again";
    }
    let twice = [report.cells.clone(), self::report().cells].concat();
    report.cells = twice;
    assert_eq!(report.totals().worlds, 20);
}

#[test]
fn no_rendering_adds_walks_to_reproduced_violations() {
    let report = report();
    let renderings = [
        markdown(&report),
        terminal::matrix(&report) + &terminal::summary_within(&report, 120),
        unpacked(&html(&report).unwrap())
            .replace("&#x2f;", "/")
            .replace("<b>", "")
            .replace("</b>", ""),
        junit(&report).unwrap(),
    ];
    for text in &renderings {
        assert!(!text.contains("confirmed on real servers"));
        assert!(text.contains("reproduced 20/20"), "of each violated cell");
        assert!(text.contains("40 walks agree"), "of each cell that holds");
    }
    for text in &renderings[..3] {
        assert!(text.contains("21 of 22 violations reproduced on real servers"));
        assert!(text.contains("random walks through"));
    }
}

#[test]
fn without_an_expectation_only_holding_is_good() {
    let cell = &mut report().cells[0];
    cell.expected = None;
    for (verdict, bad) in [
        (Verdict::Holds, false),
        (Verdict::Violated, true),
        (Verdict::Unknown, true),
    ] {
        cell.verdict = verdict;
        assert_eq!(cell.is_bad(), bad);
    }
}

#[test]
fn markdown_reads_as_expected() {
    let mut report = report();
    report.cells.retain(|c| c.lock == "redlock");
    report.counterexamples.retain(|c| c.id == "redlock-01");
    insta::assert_snapshot!(markdown(&report));
}

#[test]
fn markdown_tables_cannot_be_broken_by_names() {
    let mut report = report();
    for cell in &mut report.cells {
        cell.property = "a | b <script> `x` \n| c".into();
    }
    let text = markdown(&report);
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    // The overview has a column more than the tables of the locks.
    let lines = text.lines().filter(|l| l.starts_with('|'));
    let (overview, tables): (Vec<_>, Vec<_>) = lines.partition(|line| columns(line) == 8);
    assert_eq!(overview.len(), 2 + report.locks.len());
    for line in tables {
        assert_eq!(columns(line), 7, "{line}");
    }
    assert!(!text.contains("<script>"));
}

#[test]
fn a_story_with_backticks_stays_in_its_code_block() {
    let mut report = report();
    report.command = "echo ````\n# heading".into();
    let text = markdown(&report);
    assert!(text.contains("`````sh\necho ````\n# heading\n`````\n"));
}

#[test]
fn junit_is_red_for_exactly_the_bad_cells() {
    let report = report();
    let xml = junit(&report).unwrap();
    let read = quick_junit::Report::deserialize_from_str(&xml).unwrap();
    assert_eq!(read.tests, report.cells.len());
    // The surprise in redlock and the contradiction in token; unknowns that
    // were expected are green.
    assert_eq!((read.failures, read.errors), (2, 0));
    let failed: Vec<String> = read
        .test_suites
        .iter()
        .flat_map(|s| &s.test_cases)
        .filter_map(|c| match &c.status {
            quick_junit::TestCaseStatus::NonSuccess { message, .. } => Some(format!(
                "{}: {}",
                c.name.as_str(),
                message.as_ref()?.as_str()
            )),
            _ => None,
        })
        .collect();
    insta::assert_snapshot!(failed.join("\n"));
}

#[test]
fn an_unknown_verdict_is_an_error_and_not_a_failure() {
    let mut report = report();
    report.cells.truncate(1);
    report.cells[0].verdict = Verdict::Unknown;
    report.cells[0].reason = Some("out of time".into());
    let xml = junit(&report).unwrap();
    assert!(xml.contains("errors=\"1\"") && xml.contains("failures=\"0\""));
    assert!(xml.contains("expected holds, found unknown: out of time"));
}

#[test]
fn the_terminal_matrix_reads_as_expected() {
    insta::assert_snapshot!(terminal::matrix(&report()));
}

#[test]
fn a_table_that_is_too_wide_goes_on_below() {
    let report = report();
    for width in [60, 80, 120, 200] {
        let text = terminal::matrix_within(&report, width);
        let widest = text.lines().map(|l| l.chars().count()).max().unwrap();
        assert!(widest <= width, "{widest} > {width}");
        let cells = text.matches(" states").count();
        assert_eq!(cells, report.cells.len(), "nothing is left out");
    }
}

#[test]
fn rows_of_other_sizes_say_so() {
    let mut report = report();
    report.cells.truncate(10);
    for cell in &mut report.cells[5..] {
        cell.property = "mutual-exclusion-belief".into();
        cell.sizes.clients = 3;
    }
    let text = terminal::matrix(&report);
    assert!(
        text.contains("(2 clients, 1 node, lease 3 ticks)"),
        "{text}"
    );
    assert!(
        text.contains("(3 clients, 1 node, lease 3 ticks)"),
        "{text}"
    );
}

/// Three sets of faults: safe, safe, and broken with something unknown beside it.
fn small_check() -> CheckReport {
    let trace = fixture("redlock-amnesia");
    let result = |property: &str, faults: usize, verdict| CheckResult {
        property: property.into(),
        assumptions: trace.assumptions[..faults].to_vec(),
        verdict,
        reason: (verdict == Verdict::Unknown).then(|| "the time of 60 s ran out".into()),
        states: 733_941,
        transitions: 3_705_294,
        depth: 56,
        seconds: 0.4,
        trace: (verdict == Verdict::Violated).then(|| trace.clone()),
    };
    CheckReport {
        schema: SCHEMA.into(),
        lock: trace.lock.clone(),
        setup: trace.setup.clone(),
        warnings: Vec::new(),
        results: vec![
            result("mutual-exclusion-validity", 0, Verdict::Holds),
            result("deadlock-freedom", 0, Verdict::Holds),
            result("mutual-exclusion-validity", 1, Verdict::Holds),
            result("mutual-exclusion-validity", 2, Verdict::Violated),
            result("deadlock-freedom", 2, Verdict::Unknown),
        ],
    }
}

#[test]
fn the_check_table_reads_as_expected() {
    insta::assert_snapshot!(terminal::check_table(&small_check(), usize::MAX));
}

#[test]
fn a_check_is_a_line_a_set_and_a_sentence_of_the_lock() {
    let check = small_check();
    let sets = check
        .results
        .chunk_by(|one, other| one.assumptions == other.assumptions);
    let lines: Vec<String> = sets.map(|set| overview::check_line(set, 3, 100)).collect();
    let told = format!(
        "{}\n\n{}",
        lines.join("\n"),
        overview::check_summary(&check, true, 100)
    );
    let plain = anstream::adapter::strip_str(&told).to_string();
    insta::assert_snapshot!(plain);
    let worst = overview::worst(&check.results).unwrap();
    assert_eq!(worst.property, "mutual-exclusion-validity");
}

#[test]
fn the_page_needs_nothing_from_elsewhere() {
    let page = unpacked(&html(&report()).unwrap());
    for way_out in [
        "src=", "@import", "url(", "<link", "<iframe", "fetch(", "XMLHttp",
    ] {
        assert!(!page.contains(way_out), "{way_out}");
    }
    // The name of a vocabulary, not an address that is fetched.
    let page = page.replace("http://www.w3.org/2000/svg", "");
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn a_lock_file_cannot_break_out_of_the_page() {
    let mut report = report();
    let scripts = |page: &str| page.to_lowercase().matches("<script").count();
    assert_eq!(scripts(&unpacked(&html(&report).unwrap())), 1);
    for lock in &mut report.locks {
        lock.files[0].text = "</script><script>alert(1)</script></li></pre>".into();
    }
    let page = unpacked(&html(&report).unwrap());
    assert_eq!(scripts(&page), 1);
    assert_eq!(page.to_lowercase().matches("</script").count(), 1);
    assert!(page.contains("&lt;&#x2f;script&gt;") || page.contains("&lt;/script&gt;"));
}

#[test]
fn a_page_that_would_grow_too_large_leaves_diagrams_out_and_says_so() {
    let mut report = report();
    let many = report.counterexamples[0].clone();
    for i in 0..1500 {
        let mut more = many.clone();
        more.id = format!("more-{i}");
        report.counterexamples.push(more);
    }
    report.config = "x".repeat(3 << 20);
    let page = html(&report).unwrap();
    assert!(page.len() < 6 << 20, "{} bytes", page.len());
    let page = unpacked(&page);
    assert!(page.len() < 60 << 20, "{} bytes", page.len());
    assert!(page.contains("The diagram and the story are left out here"));
    assert!(page.matches("<svg").count() > 100, "but not all of them");
}

/// As many locks and cells as the built-in matrix has, and more counterexamples.
#[test]
fn the_page_of_thirty_locks_is_small() {
    let small = report();
    let mut large = report();
    large.cells.clear();
    large.locks.clear();
    for lock in 0..30 {
        let name = format!("lock-{lock}");
        let mut text = small.locks[0].clone();
        text.name.clone_from(&name);
        large.locks.push(text);
        for copy in 0..2 {
            for cell in &small.cells {
                let mut cell = cell.clone();
                cell.lock.clone_from(&name);
                cell.property += &format!("-{}-{copy}", small.cells.len());
                large.cells.push(cell);
            }
        }
    }
    assert!(large.cells.len() > 3_500);
    let page = html(&large).unwrap();
    assert!(page.len() < 3 << 20, "{} bytes", page.len());
    let is_tag = |pair: &[u8]| pair[0] == b'<' && pair[1].is_ascii_alphabetic();
    let elements = page
        .as_bytes()
        .windows(2)
        .filter(|pair| is_tag(pair))
        .count();
    assert!(elements < 20_000, "{elements} elements");
}

#[test]
fn an_empty_report_renders() {
    let mut report = report();
    report.cells.clear();
    report.counterexamples.clear();
    report.locks.clear();
    for (name, text) in render(&report).unwrap() {
        assert!(!text.is_empty(), "{name}");
    }
    assert!(terminal::summary_within(&report, 100).starts_with("0 cells"));
}

#[test]
fn writing_replaces_an_older_report() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("new/dir");
    write_all(&target, &report()).unwrap();
    let mut later = report();
    later.seed = 43;
    let written = write_all(&target, &later).unwrap();
    // Four renderings, and a page and a drawing for each of three locks, with their index.
    assert_eq!(written.len(), 11);
    let text = std::fs::read_to_string(target.join("report.json")).unwrap();
    assert_eq!(parse(&text).unwrap(), later);
    assert_eq!(
        std::fs::read_dir(&target).unwrap().count(),
        5,
        "no leftovers"
    );
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let error = write_all(&file.join("sub"), &report()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("failed to write the report to") && text.contains("file/sub"),
        "{text}"
    );
}

#[test]
fn nothing_is_replaced_if_one_name_is_taken() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("report.json"), "old").unwrap();
    std::fs::create_dir(dir.path().join("junit.xml")).unwrap();
    let error = write_all(dir.path(), &report()).unwrap_err();
    assert!(error.to_string().contains("junit.xml"), "{error}");
    assert_old(dir.path(), 2);
    std::fs::remove_dir(dir.path().join("junit.xml")).unwrap();
    std::fs::write(dir.path().join("locks"), "in the way").unwrap();
    let error = write_all(dir.path(), &report()).unwrap_err();
    assert!(matches!(error, ReportError::Write { .. }), "{error}");
    assert_old(dir.path(), 2);
}

fn assert_old(dir: &Path, entries: usize) {
    let old = std::fs::read_to_string(dir.join("report.json")).unwrap();
    assert_eq!(old, "old");
    let found = std::fs::read_dir(dir).unwrap().count();
    assert_eq!(found, entries, "no temporary files are left");
}

/// A limit on the size of files makes writes fail as a full disk does: part of
/// the data goes through, the rest is refused. The limit is a process's own, so
/// the test runs itself again in a child that has it.
#[test]
fn a_full_disk_leaves_the_older_report_as_it_was() {
    const CHILD: &str = "LOCKPROOF_TEST_FULL_DISK";
    if let Some(dir) = std::env::var_os(CHILD) {
        let small = Report {
            cells: Vec::new(),
            ..report()
        };
        let error = write_all(Path::new(&dir), &small).expect_err("the disk is full");
        assert!(matches!(error, ReportError::Write { .. }), "{error}");
        println!("refused: {error}");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("report.json"), "old").unwrap();
    // 16 blocks of 512 or 1024 bytes; without the trap the signal would kill.
    let out = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "render::a_full_disk_leaves_the_older_report_as_it_was",
            "--nocapture",
        ])
        .env(CHILD, dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stdout);
    assert!(
        out.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&out.stderr)
    );
    assert!(
        text.contains("refused: failed to write the report to"),
        "{text}"
    );
    assert_old(dir.path(), 1);
}
