//! The page of one free run: who waited and held when, under which faults, how
//! long operations took, and what the oracles say of it.
//!
//! Like the report it is one file without any network, complete without
//! scripts, and a pure function of what it is given: the same history makes the
//! same page, byte for byte. All marks of one kind in one row are one path in
//! the run's own time, so that zooming is a change of the view and not another
//! drawing; labels and axes, which must not be stretched, are text on top.
//!
//! A history may come from anywhere. Paths are made of numbers; everything else
//! goes through the template, which escapes it.

mod drawing;

use base64::Engine;
use lockproof_history::timeline::{Detail, FaultBand, LatencyOf, Timeline};
use lockproof_history::{Finding, FindingVerdict, Judgement};
use lockproof_trace::words::{printable, shorten, thousands};
use minijinja::value::Serde;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::ReportError;
use super::page::templates;

const TEMPLATE: &str = include_str!("../templates/run.html");
const BASE_STYLE: &str = include_str!("../templates/report.css");
const STYLE: &str = include_str!("../templates/run.css");
const SCRIPT: &str = include_str!("../templates/run.js");

/// The longest text from a history that is shown, in characters.
const TEXT_MAX: usize = 300;
/// Versions and parameters that are shown.
const LIST_MAX: usize = 20;

/// What became of a fault, as whoever looked at the history says.
#[derive(Clone, Copy, Debug)]
pub struct Struck<'a> {
    /// Its catalogue name.
    pub fault: &'a str,
    /// When it began, in ns.
    pub at: u64,
    /// Whether it met anybody who held the lock or was getting it.
    pub struck: bool,
    /// Whom, or why nobody.
    pub words: &'a str,
}

/// What a page of a run is made from.
#[derive(Clone, Copy, Debug)]
pub struct RunPage<'a> {
    /// What the oracles say.
    pub judgement: &'a Judgement,
    /// The same history, drawn up.
    pub timeline: &'a Timeline,
    /// Oracles with what the model says of them (`violated`, `holds`); others
    /// were not asked.
    pub model: &'a [(String, &'static str)],
    /// What became of its faults; `None` if none was planned.
    pub strikes: Option<&'a [Struck<'a>]>,
    /// The history's file name, relative to the page.
    pub history: &'a str,
    /// Version of lockproof.
    pub tool_version: &'a str,
    /// The command line that repeats the run, if one does.
    pub command: Option<&'a str>,
    /// The report that the run belongs to, relative to the page.
    pub report: Option<&'a str>,
}

/// Renders the page of a run.
///
/// # Errors
/// [`ReportError::Render`], which is an error of ours.
pub fn run_page(run: &RunPage<'_>) -> Result<String, ReportError> {
    render(run).map_err(|error| ReportError::Render {
        what: "the page of a run",
        message: format!("{error:#}"),
    })
}

fn render(run: &RunPage<'_>) -> Result<String, minijinja::Error> {
    let environment = templates(&[("run.html", TEMPLATE)])?;
    environment
        .get_template("run.html")?
        .render(Serde(&Page::new(run)))
}

#[derive(Serialize)]
struct Page<'a> {
    style: String,
    script: &'static str,
    script_hash: String,
    tool_version: &'a str,
    versions: Vec<String>,
    params: Vec<String>,
    scenario: String,
    lock: String,
    workload: String,
    seed: u64,
    clients: u32,
    nodes: u32,
    ttl_ms: i64,
    seconds: String,
    operations: String,
    unknown_operations: String,
    stalls: String,
    history: &'a str,
    report: Option<&'a str>,
    command: Option<&'a str>,
    worst: Word,
    findings: Vec<FindingView<'a>>,
    /// Oracles for which there was nothing to judge.
    idle: Vec<&'a str>,
    observed: usize,
    warnings: Vec<String>,
    chart: drawing::Chart,
    latency: Option<drawing::LatencyChart>,
    latencies: Vec<LatencyRow>,
    sentence: String,
    violations: Vec<ViolationView<'a>>,
    violations_hidden: String,
    faults: Vec<FaultView>,
    faults_hidden: u64,
    /// How many faults struck, and whether the run shows anything at all.
    struck: String,
    no_evidence: bool,
    rows: Vec<RowView>,
    rows_hidden: u64,
}

/// A verdict as it is shown: a word, a mark and a class.
#[derive(Clone, Serialize)]
struct Word {
    text: String,
    mark: &'static str,
    class: &'static str,
}

#[derive(Serialize)]
struct FindingView<'a> {
    oracle: &'a str,
    word: Word,
    reason: Option<String>,
    figures: String,
    model: &'static str,
    surprise: bool,
}

#[derive(Serialize)]
struct ViolationView<'a> {
    at: String,
    oracle: &'a str,
    sure: bool,
    words: String,
    lines: String,
    clients: String,
    /// The window that shows it, in ms.
    from: String,
    to: String,
}

#[derive(Serialize)]
struct FaultView {
    name: String,
    target: String,
    from: String,
    to: String,
    lasted: String,
    healed: bool,
    met: String,
    missed: bool,
}

#[derive(Serialize)]
struct RowView {
    client: u32,
    acquired: String,
    refused: String,
    unknown: String,
}

#[derive(Serialize)]
struct LatencyRow {
    of: &'static str,
    count: String,
    p50: String,
    p99: String,
    max: String,
}

impl<'a> Page<'a> {
    fn new(run: &RunPage<'a>) -> Page<'a> {
        let RunPage {
            judgement,
            timeline,
            ..
        } = *run;
        let header = &judgement.header;
        let judged = |finding: &&Finding| {
            finding.verdict != FindingVerdict::NotApplicable || !finding.figures.is_empty()
        };
        let (judged, idle): (Vec<&Finding>, Vec<&Finding>) =
            judgement.findings.iter().partition(judged);
        let findings: Vec<FindingView> = judged
            .into_iter()
            .map(|finding| finding_view(run, finding))
            .collect();
        let pair = |(name, value): (&String, String)| text(&format!("{name} {value}"));
        Page {
            style: format!("{BASE_STYLE}\n{STYLE}"),
            script: SCRIPT,
            script_hash: base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT)),
            tool_version: run.tool_version,
            versions: header
                .versions
                .iter()
                // A page that was drawn by what recorded the run need not say it twice.
                .filter(|(name, version)| *name != "lockproof" || *version != run.tool_version)
                .map(|(name, version)| pair((name, version.clone())))
                .take(LIST_MAX)
                .collect(),
            params: header
                .params
                .iter()
                .map(|(name, value)| pair((name, value.to_string())))
                .take(LIST_MAX)
                .collect(),
            scenario: text(header.scenario.as_deref().unwrap_or("a run")),
            lock: text(&header.lock),
            workload: text(&header.workload),
            seed: header.seed,
            clients: header.clients,
            nodes: header.nodes,
            ttl_ms: header.ttl_ms,
            seconds: format!("{:.1} s", judgement.duration_ns as f64 / 1e9),
            operations: thousands(judgement.operations),
            unknown_operations: thousands(judgement.unknown),
            stalls: stalls(judgement),
            history: run.history,
            report: run.report,
            command: run.command,
            worst: word(judgement.verdict(), None),
            observed: findings
                .iter()
                .filter(|one| one.word.class == "violated")
                .count(),
            findings,
            idle: idle.into_iter().map(|finding| &*finding.oracle).collect(),
            warnings: judgement
                .warnings
                .iter()
                .map(|warning| text(warning))
                .collect(),
            chart: drawing::chart(timeline),
            latency: drawing::latency(timeline),
            latencies: latencies(timeline),
            sentence: sentence(timeline),
            violations: violations(judgement, timeline),
            violations_hidden: match timeline.violations_hidden {
                0 => String::new(),
                hidden => thousands(hidden),
            },
            faults: timeline
                .faults
                .iter()
                .map(|band| fault(band, run.strikes.unwrap_or_default()))
                .collect(),
            faults_hidden: timeline.faults_hidden,
            struck: run.strikes.map_or(String::new(), |strikes| {
                let struck = strikes.iter().filter(|one| one.struck).count();
                format!("{struck} of {} struck", strikes.len())
            }),
            no_evidence: judgement.verdict() != FindingVerdict::Violated
                && run
                    .strikes
                    .is_some_and(|strikes| !strikes.iter().any(|one| one.struck)),
            rows: timeline
                .clients
                .iter()
                .map(|row| RowView {
                    client: row.client,
                    acquired: thousands(row.acquired),
                    refused: thousands(row.refused),
                    unknown: thousands(row.unknown),
                })
                .collect(),
            rows_hidden: timeline.clients_hidden,
        }
    }
}

/// A text from a history, which may be as long as a line of it and hold what
/// would show it in another order.
fn text(from: &str) -> String {
    // Cut first: what is left out need not be made printable.
    printable(&shorten(from, TEXT_MAX))
}

fn stalls(judgement: &Judgement) -> String {
    match judgement.stalls {
        0 => "never".into(),
        count => format!(
            "{} times, the longest {}",
            thousands(count),
            duration(judgement.stall_max_ms * 1e6)
        ),
    }
}

/// How a verdict is worded. A free run shows violations and never their absence.
fn word(verdict: FindingVerdict, finding: Option<&Finding>) -> Word {
    let (text, mark, class) = match (verdict, finding) {
        (FindingVerdict::Violated, Some(finding)) => (
            format!(
                "observed {} in {}",
                thousands(finding.violations),
                thousands(finding.checked)
            ),
            "✗",
            "violated",
        ),
        (FindingVerdict::Violated, None) => ("violations observed".into(), "✗", "violated"),
        (FindingVerdict::Unknown, _) => ("unknown".into(), "?", "unknown"),
        (FindingVerdict::NotObserved, Some(finding)) => (
            format!("not observed in {}", thousands(finding.checked)),
            "–",
            "quiet",
        ),
        (FindingVerdict::NotObserved, None) => ("no violation observed".into(), "–", "quiet"),
        (FindingVerdict::NotApplicable, _) => ("nothing to judge".into(), "·", "none"),
    };
    Word { text, mark, class }
}

fn finding_view<'a>(run: &RunPage<'a>, finding: &'a Finding) -> FindingView<'a> {
    let figures = finding.figures.iter().map(|(name, value)| {
        let value = (value * 1e3).round() / 1e3;
        format!("{} {value}", name.replace('_', " "))
    });
    let mut model = run.model.iter();
    let says = model.find(|(oracle, _)| *oracle == finding.oracle);
    let says = says.map_or("", |(_, word)| word);
    FindingView {
        oracle: &finding.oracle,
        word: word(finding.verdict, Some(finding)),
        reason: finding.reason.as_deref().map(text),
        figures: figures.collect::<Vec<_>>().join(", "),
        model: says,
        surprise: says == "holds" && finding.verdict == FindingVerdict::Violated,
    }
}

/// What the drawing shows of the history, and what it does not.
fn sentence(timeline: &Timeline) -> String {
    let operations = thousands(timeline.operations);
    let marks = thousands(timeline.marks);
    match &timeline.detail {
        Detail::Whole => format!(
            "{operations} operations, drawn as {marks} marks: every attempt, hold and validity."
        ),
        Detail::Around(spans) => {
            let kept: u64 = spans.iter().map(|(from, to)| to - from).sum();
            let around = match kept {
                0 => "Nowhere was there room for single marks".to_owned(),
                kept => format!(
                    "Around violations ({} in all) every attempt, hold and validity is drawn",
                    duration(kept as f64)
                ),
            };
            format!(
                "{operations} operations, drawn as {marks} marks. {around}; elsewhere a bar's height is the share \
                 of {} that a client spent so. The history has all of them.",
                duration(timeline.slice_ns as f64)
            )
        }
    }
}

fn violations<'a>(judgement: &Judgement, timeline: &'a Timeline) -> Vec<ViolationView<'a>> {
    let lease_ns = (judgement.header.ttl_ms.max(1) as u64).saturating_mul(1_000_000);
    let mut views = Vec::new();
    for mark in &timeline.violations {
        let (from, to) = mark.span;
        let pad = ((to - from) / 4).max(lease_ns / 10);
        let lines: Vec<String> = mark.lines.iter().map(u64::to_string).collect();
        let clients: Vec<String> = mark.clients.iter().map(u32::to_string).collect();
        views.push(ViolationView {
            at: seconds(mark.time),
            oracle: &mark.oracle,
            sure: mark.sure,
            words: text(&mark.words),
            lines: lines.join(", "),
            clients: clients.join(", "),
            from: drawing::ms(from.saturating_sub(pad)),
            to: drawing::ms(to.saturating_add(pad).min(timeline.duration_ns)),
        });
    }
    views
}

fn fault(band: &FaultBand, strikes: &[Struck<'_>]) -> FaultView {
    let mut all = strikes.iter();
    let found = all.find(|one| one.at == band.from && one.fault == band.name);
    FaultView {
        met: found.map_or(String::new(), |one| text(one.words)),
        missed: found.is_some_and(|one| !one.struck),
        name: text(&band.name),
        target: text(&band.target),
        from: seconds(band.from),
        to: seconds(band.to),
        lasted: duration((band.to - band.from) as f64),
        healed: band.healed,
    }
}

fn latencies(timeline: &Timeline) -> Vec<LatencyRow> {
    let of = [
        ("acquire", timeline.latency.acquire),
        ("release", timeline.latency.release),
    ];
    of.into_iter()
        .filter_map(|(of, found)| found.map(|found| latency_row(of, found)))
        .collect()
}

fn latency_row(of: &'static str, found: LatencyOf) -> LatencyRow {
    LatencyRow {
        of,
        count: thousands(found.count),
        p50: duration(found.p50_us * 1e3),
        p99: duration(found.p99_us * 1e3),
        max: duration(found.max_us * 1e3),
    }
}

/// A moment: `12.345 s`.
fn seconds(ns: u64) -> String {
    format!("{:.3} s", ns as f64 / 1e9)
}

/// A length of time in the unit that suits it.
fn duration(ns: f64) -> String {
    let digits = |value: f64| match value {
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    };
    match ns {
        ns if ns >= 1e9 => format!("{} s", digits(ns / 1e9)),
        ns if ns >= 1e6 => format!("{} ms", digits(ns / 1e6)),
        ns => format!("{} µs", digits(ns / 1e3)),
    }
}
