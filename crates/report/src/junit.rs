//! JUnit XML: what CI systems read.
//!
//! One suite a lock, one case a cell. A case fails when its cell must turn the
//! run red ([`Cell::is_bad`]): an *expected* violation is a pass, as a test that
//! shows a known flaw should be. An unknown verdict is an error, not a failure:
//! nothing was found wrong, the question was not answered.

use std::collections::BTreeMap;
use std::time::Duration;

use lockproof_model::check::Verdict;
use lockproof_trace::{Story, story, words};
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::ReportError;
use super::matrix::sizes_text;
use super::model::{Agreement, Cell, Counterexample, Replay, Report, verdict_word};
use super::scenario::{FreeAgreement, FreeRuns, ScenarioRow};
use super::terminal::evidence;

/// The report as JUnit XML.
pub fn junit(report: &Report) -> Result<String, ReportError> {
    let mut suites: BTreeMap<usize, TestSuite> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for cell in &report.cells {
        let at = match order.iter().position(|name| *name == cell.lock) {
            Some(at) => at,
            None => {
                order.push(&cell.lock);
                order.len() - 1
            }
        };
        suites
            .entry(at)
            .or_insert_with(|| TestSuite::new(cell.lock.as_str()))
            .add_test_case(case(report, cell));
    }
    let mut out = quick_junit::Report::new("lockproof");
    out.add_test_suites(suites.into_values());
    out.add_test_suites(scenarios(report));
    out.to_string().map_err(|e| ReportError::Render {
        what: "junit.xml",
        message: e.to_string(),
    })
}

fn case(report: &Report, cell: &Cell) -> TestCase {
    let name = format!(
        "{} under {} ({})",
        cell.property,
        words::assumptions(&cell.assumptions),
        sizes_text(cell.sizes)
    );
    let status = match problem(report, cell) {
        None => TestCaseStatus::success(),
        Some(Problem { kind, message }) => {
            let mut status = TestCaseStatus::non_success(kind);
            status
                .set_message(format!("{}: {message}", question(cell)))
                .set_type("verdict")
                // Some systems show this text alone.
                .set_description(detail(report, cell));
            status
        }
    };
    let mut case = TestCase::new(name, status);
    case.set_classname(cell.lock.as_str());
    // A report from elsewhere may hold a negative or infinite time.
    case.set_time(Duration::try_from_secs_f64(cell.seconds).unwrap_or_default());
    case.set_system_out(detail(report, cell));
    case
}

/// One suite a scenario, one case a lock.
fn scenarios(report: &Report) -> Vec<TestSuite> {
    let mut suites: Vec<TestSuite> = Vec::new();
    for row in &report.scenarios {
        let name = format!("scenario {}", row.scenario);
        if suites
            .last()
            .is_none_or(|suite| suite.name.as_str() != name)
        {
            suites.push(TestSuite::new(name));
        }
        let status = match (row.is_bad(), row.agreement) {
            (true, _) => Some(NonSuccessKind::Failure),
            (false, FreeAgreement::Unknown | FreeAgreement::NoEvidence) => {
                Some(NonSuccessKind::Error)
            }
            _ => None,
        };
        let status = status.map_or_else(TestCaseStatus::success, |kind| {
            let mut status = TestCaseStatus::non_success(kind);
            let words = std::iter::once(row.agreement_words());
            let words: Vec<String> = words.chain(row.notes.iter().cloned()).collect();
            status.set_message(words.join("; ")).set_type("scenario");
            status
        });
        let mut case = TestCase::new(row.lock.as_str(), status);
        case.set_classname(row.scenario.as_str());
        case.set_system_out(detail_of(row));
        if let Some(suite) = suites.last_mut() {
            suite.add_test_case(case);
        }
    }
    suites
}

fn detail_of(row: &ScenarioRow) -> String {
    let mut out = format!("repeat: {}\n", row.command);
    for rate in row.free.iter().flat_map(|free| &free.oracles) {
        out += &format!("{}: {}\n", rate.oracle, rate.observed.words());
    }
    let free = row.free.as_ref();
    let more = [
        row.losses_words(),
        free.and_then(FreeRuns::strikes_words),
        free.and_then(FreeRuns::no_evidence_words),
    ];
    for words in more.into_iter().flatten() {
        out += &format!("{words}\n");
    }
    out
}

/// What turns a run red about a cell.
pub(super) struct Problem {
    kind: NonSuccessKind,
    /// What was expected and what was found, in a sentence.
    pub message: String,
}

/// Lock, property and faults of a cell.
pub(super) fn question(cell: &Cell) -> String {
    let set = words::assumptions(&cell.assumptions);
    format!("{}: {} under {set}", cell.lock, cell.property)
}

/// The trace that was found for a cell.
pub(super) fn found<'a>(report: &'a Report, cell: &Cell) -> Option<&'a Counterexample> {
    report.counterexample(cell.counterexample.as_ref()?)
}

/// A counterexample as a story.
pub(super) fn told(report: &Report, found: &Counterexample) -> String {
    let property = found.trace.property.as_deref().unwrap_or_default();
    story(
        &found.trace,
        &Story {
            replay: found.replay_command.as_deref(),
            meaning: report.properties.get(property).map(String::as_str),
            ..Story::default()
        },
    )
}

/// What turns a run red about this cell; `None` if nothing does.
pub(super) fn problem(report: &Report, cell: &Cell) -> Option<Problem> {
    if !cell.is_bad() {
        return None;
    }
    let found_word = verdict_word(cell.verdict);
    let mut message = match (cell.expected, cell.verdict) {
        (Some(expected), verdict) if expected != verdict => {
            format!("expected {}, found {found_word}", verdict_word(expected))
        }
        _ => found_word.to_string(),
    };
    if let Some(found) = found(report, cell) {
        let steps = words::plural(found.trace.length() as u32, "step");
        message += &format!(" in {steps} ({})", found.id);
    }
    if let Some(reason) = &cell.reason {
        message += &format!(": {reason}");
    }
    if cell.agreement() == Agreement::Contradicted {
        message += "; the real servers disagree with the model";
    }
    let kind = match cell.verdict {
        Verdict::Unknown => NonSuccessKind::Error,
        _ => NonSuccessKind::Failure,
    };
    Some(Problem { kind, message })
}

fn detail(report: &Report, cell: &Cell) -> String {
    let mut out = format!("repeat: {}\nseed: {}\n", cell.command, report.seed);
    if let Some(evidence) = evidence(cell) {
        out += &format!("real servers: {evidence}\n");
    }
    let Some(found) = found(report, cell) else {
        return out;
    };
    out += &told(report, found);
    if let Some(replay) = &found.replay {
        out += &format!("{}\n", replay_text(replay));
    }
    out
}

/// A replay's result in a sentence.
pub(super) fn replay_text(replay: &Replay) -> String {
    match replay {
        Replay::Reproduced => "reproduced on real servers".into(),
        Replay::Diverged { step, model, real } => format!(
            "diverged at step {step}: the model says {}, the real side {}",
            words::printable(model),
            words::printable(real)
        ),
        Replay::NotReplayable { reason } => {
            format!("not replayable: {}", words::printable(reason))
        }
    }
}
