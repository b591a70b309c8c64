//! The rows of scenarios and locks as the page shows them.

use lockproof_model::check::Verdict;
use lockproof_trace::words::thousands;
use serde::Serialize;

use super::figure;
use super::model::Report;
use super::scenario::{FreeRun, ScenarioRow, Share, losses_words};

#[derive(Serialize)]
pub(super) struct ScenarioView<'a> {
    name: &'a str,
    story: &'a str,
    set_up: String,
    rows: Vec<RowView<'a>>,
}

#[derive(Serialize)]
struct RowView<'a> {
    lock: &'a str,
    topology: &'a str,
    explored: bool,
    asked: bool,
    violated: Vec<&'a str>,
    holds: usize,
    unknown: Vec<&'a str>,
    control: String,
    replays: Option<String>,
    runs: Option<String>,
    strikes: Option<String>,
    no_evidence: Option<String>,
    oracles: Vec<OracleView<'a>>,
    losses: Option<String>,
    agreement: String,
    agreement_class: &'static str,
    bad: bool,
    notes: &'a [String],
    page: Option<&'a str>,
    command: &'a str,
    free: Vec<RunView<'a>>,
    figure: String,
    published: Option<String>,
    source: Option<&'a str>,
    points: Vec<PointView<'a>>,
}

#[derive(Serialize)]
struct OracleView<'a> {
    name: &'a str,
    observed: bool,
    words: String,
    unknown: u64,
    model: &'static str,
}

#[derive(Serialize)]
struct RunView<'a> {
    seed: u64,
    operations: String,
    per_second: String,
    acquired: String,
    faults: String,
    no_evidence: bool,
    stall_max_ms: u64,
    observed: String,
    unknown: String,
    losses: String,
    page: Option<&'a str>,
    history: Option<&'a str>,
}

#[derive(Serialize)]
struct PointView<'a> {
    pause: String,
    leases: String,
    losses: String,
    runs: Vec<RunView<'a>>,
}

/// The scenarios in the order of their first row.
pub(super) fn scenarios(report: &Report) -> Vec<ScenarioView<'_>> {
    let mut views: Vec<ScenarioView> = Vec::new();
    for row in &report.scenarios {
        if views.last().is_none_or(|view| view.name != row.scenario) {
            views.push(ScenarioView {
                name: &row.scenario,
                story: &row.story,
                set_up: format!(
                    "{} clients, lease {} ms, workload {}",
                    row.clients, row.ttl_ms, row.workload
                ),
                rows: Vec::new(),
            });
        }
        if let Some(view) = views.last_mut() {
            view.rows.push(row_view(row));
        }
    }
    views
}

fn row_view(row: &ScenarioRow) -> RowView<'_> {
    let free = row.free.as_ref();
    let control = row.control_violated();
    let has_control = row
        .model
        .iter()
        .flat_map(|model| &model.properties)
        .any(|says| says.control.is_some());
    RowView {
        lock: &row.lock,
        topology: &row.topology,
        explored: row.model.as_ref().is_some_and(|model| model.explored),
        asked: row.model.is_some(),
        violated: row.with_verdict(Verdict::Violated),
        holds: row.with_verdict(Verdict::Holds).len(),
        unknown: row.with_verdict(Verdict::Unknown),
        control: match (has_control, control.as_slice()) {
            (false, _) => String::new(),
            (true, []) => "holds".into(),
            (true, some) => format!("{} violated", some.join(", ")),
        },
        replays: row
            .replays()
            .map(|replays| format!("{}/{}", replays.reproduced, replays.attempts)),
        runs: free.map(|free| {
            format!(
                "{} of {} s",
                match free.runs.len() {
                    1 => "1 run".into(),
                    runs => format!("{runs} runs"),
                },
                free.duration_ms as f64 / 1000.0
            )
        }),
        strikes: free.and_then(super::scenario::FreeRuns::strikes_words),
        no_evidence: free.and_then(super::scenario::FreeRuns::no_evidence_words),
        oracles: free.map_or(Vec::new(), |free| free.oracles.iter().map(oracle).collect()),
        losses: row.losses_words(),
        agreement: row.agreement_words(),
        agreement_class: match row.agreement {
            super::scenario::FreeAgreement::Agrees => "good",
            super::scenario::FreeAgreement::Contradicts
            | super::scenario::FreeAgreement::NoEvidence => "alarm",
            _ => "",
        },
        bad: row.is_bad(),
        notes: &row.notes,
        page: row.page.as_deref().filter(|page| is_beside(page)),
        command: &row.command,
        free: free.map_or(Vec::new(), |free| free.runs.iter().map(run).collect()),
        figure: figure::sweep_svg(row),
        published: row.published.as_ref().map(|found| {
            format!(
                "Published for {} in this set-up: about {}.",
                found.of,
                super::scenario::percent(found.lost_rate)
            )
        }),
        source: row.published.as_ref().map(|found| found.source.as_str()),
        points: row
            .sweep
            .iter()
            .map(|point| PointView {
                pause: format!("{} ms", thousands(point.pause_ms)),
                leases: format!("{:.2}", point.pause_ms as f64 / row.ttl_ms.max(1) as f64),
                losses: losses(Some(point.losses)),
                runs: point.runs.iter().map(run).collect(),
            })
            .collect(),
    }
}

fn oracle(rate: &super::scenario::OracleRate) -> OracleView<'_> {
    OracleView {
        name: &rate.oracle,
        observed: rate.observed.events > 0,
        words: rate.observed.words(),
        unknown: rate.unknown,
        model: model_word(rate.predicted),
    }
}

/// What the model says of what an oracle looks for.
pub(super) fn model_word(predicted: Option<bool>) -> &'static str {
    match predicted {
        Some(true) => "violated",
        Some(false) => "holds",
        None => "not asked",
    }
}

fn run(run: &FreeRun) -> RunView<'_> {
    RunView {
        seed: run.seed,
        operations: thousands(run.operations),
        per_second: format!("{:.0}", run.operations as f64 / run.seconds.max(0.001)),
        acquired: thousands(run.acquired),
        faults: match run.struck {
            Some(struck) => format!("{struck} of {} struck", run.faults),
            None => run.faults.to_string(),
        },
        no_evidence: run.is_no_evidence(),
        stall_max_ms: run.stall_max_ms,
        observed: run.observed.join(", "),
        unknown: run.unknown.join(", "),
        losses: losses(run.losses),
        page: run.page.as_deref().filter(|page| is_beside(page)),
        history: Some(run.history.as_str()).filter(|path| is_beside(path)),
    }
}

/// A file beside the page, or below: where else a report that came from somewhere leads is
/// no link.
fn is_beside(path: &str) -> bool {
    !path.contains([':', '\\']) && !path.starts_with('/')
}

fn losses(share: Option<Share>) -> String {
    match share {
        Some(share) if share.of > 0 => losses_words(share),
        _ => String::new(),
    }
}
