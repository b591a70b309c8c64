//! The report as one self-contained page.
//!
//! One file that can be mailed, attached to a CI run and opened years later: no
//! fonts, scripts or pictures from elsewhere, no data fetched. The page is
//! rendered here, on the writing side; its script only shows, hides and marks
//! what is already there. So it is complete without scripts (a cell is a link to
//! its details) and prints.
//!
//! Nothing from a report becomes script or markup: the template escapes every
//! value, the diagram escapes its own, and the content security policy allows
//! exactly one script, ours, by its hash. A lock file that contains `</script>`
//! is just a lock file.
//!
//! Texts that many cells share (a lock's source, a counterexample) stand in the
//! page once, and the script moves them to where they are looked at. What would
//! make the page larger than [`MAX_BYTES`] is left out and says so.

use base64::Engine;
use lockproof_trace::{Assumption, Story, Trace, story, words};
use minijinja::value::Serde;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::frontier::{LockFrontier, frontiers};
use super::junit::replay_text;
use super::matrix::{Matrix, sizes_text};
use super::model::{Agreement, Cell, Counterexample, Replay, Report, verdict_mark, verdict_word};
use super::overview::{Met, Overview};
use super::page::templates;
use super::scenario_view::{ScenarioView, scenarios};
use super::terminal::evidence;
use super::{ReportError, diagram, lattice};

/// Diagrams and stories are left out beyond this many bytes (12 MiB).
pub const MAX_BYTES: usize = 12 << 20;
/// Drawings of which sets of faults break a lock are left out beyond this many bytes (512 KiB).
const MAX_DRAWINGS: usize = 512 << 10;
/// A single text (a lock file, the configuration) is cut beyond this (256 KiB).
const MAX_TEXT: usize = 256 << 10;

const TEMPLATE: &str = include_str!("templates/report.html");
const SCENARIOS: &str = include_str!("templates/scenarios.html");
const STYLE: &str = include_str!("templates/report.css");
const SCRIPT: &str = include_str!("templates/report.js");

/// Renders the page.
pub fn html(report: &Report) -> Result<String, ReportError> {
    render(report).map_err(|e| ReportError::Render {
        what: "report.html",
        message: format!("{e:#}"),
    })
}

fn render(report: &Report) -> Result<String, minijinja::Error> {
    let environment = templates(&[("report.html", TEMPLATE), ("scenarios.html", SCENARIOS)])?;
    let page = Page::new(report);
    environment
        .get_template("report.html")?
        .render(Serde(&page))
}

#[derive(Serialize)]
struct Page<'a> {
    style: String,
    script: &'static str,
    script_hash: String,
    report: Head<'a>,
    totals: super::model::Totals,
    /// Each a number and what it counts.
    evidence: Vec<(String, String)>,
    states: String,
    surprises: Vec<usize>,
    first_violation: Option<usize>,
    columns: Vec<Column<'a>>,
    groups: Vec<Group<'a>>,
    lock_names: Vec<&'a str>,
    property_names: Vec<&'a str>,
    cells: Vec<CellView<'a>>,
    counterexamples: Vec<CounterexampleView>,
    locks: Vec<LockView<'a>>,
    scenarios: Vec<ScenarioView<'a>>,
    frontiers: Vec<FrontierView>,
    overview: OverviewView<'a>,
}

/// The first thing on the page: a row a lock, a cell a set of faults.
#[derive(Serialize)]
struct OverviewView<'a> {
    columns: Vec<String>,
    rows: Vec<SurvivalView<'a>>,
    kinds: Vec<KindView>,
}

#[derive(Serialize)]
struct SurvivalView<'a> {
    lock: &'a str,
    counted: String,
    cells: Vec<Option<MetView>>,
}

#[derive(Serialize)]
struct MetView {
    class: &'static str,
    words: String,
    cell: usize,
}

/// A kind of violation that the table shows, and what to do about it.
#[derive(Serialize)]
struct KindView {
    words: &'static str,
    property: &'static str,
    cause: &'static str,
    remedy: &'static str,
    source: &'static str,
}

#[derive(Serialize)]
struct FrontierView {
    title: String,
    sentence: String,
    saving: String,
    svg: String,
}

#[derive(Serialize)]
struct Head<'a> {
    tool_version: &'a str,
    seed: u64,
    command: &'a str,
    config: String,
    servers: Vec<String>,
    proxy: Option<&'a str>,
}

#[derive(Serialize)]
struct Column<'a> {
    names: Vec<String>,
    meaning: Vec<&'a str>,
}

#[derive(Serialize)]
struct Group<'a> {
    lock: &'a str,
    path: &'a str,
    source: Option<usize>,
    sizes: Option<String>,
    rows: Vec<RowView<'a>>,
}

#[derive(Serialize)]
struct RowView<'a> {
    property: &'a str,
    meaning: &'a str,
    sizes: Option<String>,
    cells: Vec<Option<usize>>,
}

#[derive(Serialize)]
struct CellView<'a> {
    lock: &'a str,
    property: &'a str,
    meaning: &'a str,
    assumptions: String,
    verdict: &'static str,
    mark: &'static str,
    expected: Option<&'static str>,
    surprise: bool,
    contradicted: bool,
    evidence: Option<String>,
    reason: Option<&'a str>,
    sizes: String,
    states: String,
    transitions: String,
    depth: u32,
    seconds: String,
    command: &'a str,
    counterexample: Option<usize>,
    source: Option<usize>,
}

#[derive(Serialize)]
struct CounterexampleView {
    id: String,
    /// Empty if it was left out for its size.
    svg: String,
    story: Vec<StoryLine>,
    steps: Vec<StepView>,
    violation: usize,
    replay: Option<String>,
    replay_kind: &'static str,
    model: Option<String>,
    real: Option<String>,
    diverged_at: usize,
    command: Option<String>,
}

#[derive(Serialize)]
struct StoryLine {
    /// 0 for lines that belong to no step.
    step: usize,
    text: String,
    bad: bool,
}

#[derive(Serialize)]
struct StepView {
    number: usize,
    when: String,
    text: String,
    line: u32,
    clients: Vec<ClientChip>,
    violates: Vec<String>,
}

#[derive(Serialize)]
struct ClientChip {
    name: String,
    colour: u8,
    phase: String,
    state: &'static str,
}

#[derive(Serialize)]
struct LockView<'a> {
    name: &'a str,
    sha256: &'a str,
    files: Vec<FileView<'a>>,
}

#[derive(Serialize)]
struct FileView<'a> {
    path: &'a str,
    lines: Vec<&'a str>,
    cut: bool,
}

impl<'a> Page<'a> {
    fn new(report: &'a Report) -> Page<'a> {
        let matrix = Matrix::new(report);
        let cells: Vec<CellView> = report.cells.iter().map(|c| cell(report, c)).collect();
        let bad = |c: &&usize| report.cells[**c].is_bad() && report.cells[**c].expected.is_some();
        let all: Vec<usize> = (0..cells.len()).collect();
        let mut property_names: Vec<&str> = Vec::new();
        for row in &matrix.rows {
            if !property_names.contains(&row.property) {
                property_names.push(row.property);
            }
        }
        let groups = groups(report, &matrix);
        let lock_names = groups.iter().map(|g| g.lock).collect();
        let in_order = matrix.rows.iter().flat_map(|r| r.cells.iter().flatten());
        let totals = report.totals();
        Page {
            style: format!("{STYLE}\n{}\n{}", diagram::STYLE, lattice::STYLE),
            script: SCRIPT,
            script_hash: base64::engine::general_purpose::STANDARD.encode(Sha256::digest(SCRIPT)),
            report: head(report),
            states: words::thousands(totals.states),
            evidence: totals
                .evidence_words()
                .iter()
                .map(|words| counted(words))
                .chain(report.servers_words().map(|words| (String::new(), words)))
                .collect(),
            totals,
            surprises: all.iter().filter(bad).copied().collect(),
            first_violation: in_order
                .copied()
                .find(|i| report.cells[*i].verdict == lockproof_model::check::Verdict::Violated),
            columns: matrix.columns.iter().map(|c| column(report, c)).collect(),
            groups,
            lock_names,
            property_names,
            cells,
            counterexamples: counterexamples(report),
            locks: report.locks.iter().map(lock).collect(),
            scenarios: scenarios(report),
            frontiers: frontier_views(report),
            overview: overview_view(report),
        }
    }
}

fn overview_view(report: &Report) -> OverviewView<'_> {
    let table = Overview::new(report);
    let kinds = table.consequences().into_iter().map(|row| KindView {
        words: row.words,
        property: row.property.info().id,
        cause: row.cause,
        remedy: row.remedy,
        source: row.source,
    });
    let kinds = kinds.collect();
    let met = |met: Option<Met>| {
        met.map(|met| MetView {
            class: met.class(),
            words: met.words(),
            cell: met.cell,
        })
    };
    let rows = table.rows.into_iter().map(|row| SurvivalView {
        lock: row.lock,
        counted: row.counted(),
        cells: row.met.iter().copied().map(met).collect(),
    });
    OverviewView {
        columns: table.columns,
        rows: rows.collect(),
        kinds,
    }
}

/// What breaks each lock. Drawings beyond [`MAX_DRAWINGS`] bytes are left out: the sentence stays.
fn frontier_views(report: &Report) -> Vec<FrontierView> {
    let mut used = 0;
    let view = |found: &LockFrontier| {
        let svg = lattice::svg_unstyled(found);
        used += svg.len();
        FrontierView {
            title: found.title(),
            sentence: found.sentence(),
            saving: found.saving_words(),
            svg: if used > MAX_DRAWINGS {
                String::new()
            } else {
                svg
            },
        }
    };
    frontiers(report).iter().map(view).collect()
}

/// A sentence that begins with a number, without it.
fn counted(words: &str) -> (String, String) {
    let (number, rest) = words.split_once(' ').unwrap_or(("", words));
    (number.to_owned(), rest.to_owned())
}

fn head(report: &Report) -> Head<'_> {
    let environment = &report.environment;
    Head {
        tool_version: &report.tool_version,
        seed: report.seed,
        command: &report.command,
        config: cut(&report.config).0.to_string(),
        servers: environment
            .servers
            .iter()
            .map(|s| format!("{} {}", s.name, s.version))
            .collect(),
        proxy: environment.proxy.as_deref(),
    }
}

fn column<'a>(report: &'a Report, set: &[Assumption]) -> Column<'a> {
    Column {
        names: match set {
            [] => vec!["no faults".into()],
            set => set.iter().map(words::assumption).collect(),
        },
        meaning: set
            .iter()
            .filter_map(|a| report.assumptions.get(&a.name).map(String::as_str))
            .collect(),
    }
}

fn groups<'a>(report: &'a Report, matrix: &Matrix<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    for row in &matrix.rows {
        let varied = matrix.sizes_differ(row.lock);
        if groups.last().is_none_or(|g| g.lock != row.lock) {
            groups.push(Group {
                lock: row.lock,
                path: report.lock(row.lock).map_or("", |l| &l.path),
                source: report.locks.iter().position(|l| l.name == row.lock),
                sizes: (!varied).then(|| sizes_text(row.sizes)),
                rows: Vec::new(),
            });
        }
        let view = RowView {
            property: row.property,
            meaning: meaning(report, row.property),
            sizes: varied.then(|| sizes_text(row.sizes)),
            cells: row.cells.clone(),
        };
        if let Some(group) = groups.last_mut() {
            group.rows.push(view);
        }
    }
    groups
}

fn meaning<'a>(report: &'a Report, property: &str) -> &'a str {
    report.properties.get(property).map_or("", String::as_str)
}

fn cell<'a>(report: &'a Report, cell: &'a Cell) -> CellView<'a> {
    let position = |id: &String| report.counterexamples.iter().position(|c| c.id == *id);
    CellView {
        lock: &cell.lock,
        property: &cell.property,
        meaning: meaning(report, &cell.property),
        assumptions: words::assumptions(&cell.assumptions),
        verdict: verdict_word(cell.verdict),
        mark: verdict_mark(cell.verdict),
        expected: cell.expected.map(verdict_word),
        surprise: cell.expected.is_some_and(|e| e != cell.verdict),
        contradicted: cell.agreement() == Agreement::Contradicted,
        evidence: evidence(cell),
        reason: cell.reason.as_deref(),
        sizes: sizes_text(cell.sizes),
        states: words::thousands(cell.states),
        transitions: words::thousands(cell.transitions),
        depth: cell.depth,
        seconds: format!("{:.2}", cell.seconds),
        command: &cell.command,
        counterexample: cell.counterexample.as_ref().and_then(position),
        source: report.locks.iter().position(|l| l.name == cell.lock),
    }
}

fn counterexamples(report: &Report) -> Vec<CounterexampleView> {
    let mut used = 0;
    report
        .counterexamples
        .iter()
        .map(|found| {
            let mut view = counterexample(report, found);
            let text: usize = view.story.iter().map(|l| l.text.len() + 40).sum();
            // A step's own line in the stepper takes some 100 bytes a client.
            let steps = view.steps.len() * (200 + 100 * usize::from(found.trace.setup.clients));
            let size = view.svg.len() + text + steps;
            if used + size > MAX_BYTES {
                view.svg.clear();
                view.story.clear();
                view.steps.clear();
            } else {
                used += size;
            }
            view
        })
        .collect()
}

fn counterexample(report: &Report, found: &Counterexample) -> CounterexampleView {
    let trace = &found.trace;
    let property = trace.property.as_deref().unwrap_or_default();
    let (model, real, diverged_at) = match &found.replay {
        Some(Replay::Diverged { step, model, real }) => {
            (Some(model.clone()), Some(real.clone()), *step)
        }
        _ => (None, None, 0),
    };
    CounterexampleView {
        id: found.id.clone(),
        svg: diagram::svg_unstyled(trace),
        story: story_lines(&story(
            trace,
            &Story {
                width: 58,
                source: false,
                meaning: Some(meaning(report, property)).filter(|m| !m.is_empty()),
                replay: found.replay_command.as_deref(),
                ..Story::default()
            },
        )),
        steps: steps(trace),
        violation: trace.length(),
        replay: found.replay.as_ref().map(replay_text),
        replay_kind: match &found.replay {
            Some(Replay::Reproduced) => "good",
            Some(Replay::Diverged { .. }) => "bad",
            _ => "open",
        },
        model,
        real,
        diverged_at,
        command: found.replay_command.clone(),
    }
}

/// The story's lines with the step that each belongs to: a step's line starts
/// with its number, the lines under it are indented, rules belong to nobody.
fn story_lines(text: &str) -> Vec<StoryLine> {
    let mut step = 0;
    text.lines()
        .map(|line| {
            let number: String = line.chars().take(5).collect();
            match number.trim().parse() {
                Ok(found) if number.len() == 5 => step = found,
                _ if line.starts_with("      ") => {}
                _ => step = 0,
            }
            StoryLine {
                step,
                text: line.to_string(),
                bad: line.trim_start().starts_with('✗'),
            }
        })
        .collect()
}

fn steps(trace: &Trace) -> Vec<StepView> {
    let mut ticks = 0;
    let mut views = Vec::new();
    for (i, step) in trace.steps.iter().enumerate() {
        if step.event == lockproof_trace::Event::Tick {
            ticks += 1;
        }
        let chip = |(c, view): (usize, &lockproof_trace::ClientView)| ClientChip {
            name: words::client(c as u8),
            colour: c as u8 % 4,
            phase: match view.validity_left_ms {
                Some(ms) if view.believes => format!("{}, {ms} ms left", view.phase),
                _ => view.phase.clone(),
            },
            state: match (view.believes, view.valid) {
                (true, true) => "valid",
                (true, false) => "believes",
                _ => "none",
            },
        };
        views.push(StepView {
            number: i + 1,
            when: format!("tick {ticks} · {} ms", ticks * trace.setup.tick_ms),
            text: diagram::sentence(trace, step),
            line: step.source.as_ref().map_or(0, |s| s.line),
            clients: step.clients.iter().enumerate().map(chip).collect(),
            violates: step.violates.clone(),
        });
    }
    views
}

fn lock(lock: &super::model::LockText) -> LockView<'_> {
    LockView {
        name: &lock.name,
        sha256: &lock.sha256,
        files: lock
            .files
            .iter()
            .map(|file| {
                let (text, cut) = cut(&file.text);
                let lines = text.lines().collect();
                let path = file.path.as_str();
                FileView { path, lines, cut }
            })
            .collect(),
    }
}

/// The text up to [`MAX_TEXT`], and whether something was cut.
fn cut(text: &str) -> (&str, bool) {
    let mut end = text.len().min(MAX_TEXT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    (&text[..end], end < text.len())
}
