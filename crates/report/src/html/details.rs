//! What the page shows when it is asked for: a lock's cells, counterexamples and texts.
//!
//! It is the largest part of a page and most of it is never looked at, so it is packed: a pack a
//! lock, compressed, which the page's script opens when a cell of the lock is. The markup in it is
//! made and escaped here like the page's own.

use std::collections::BTreeSet;
use std::io::Write;

use base64::Engine;
use flate2::Compression;
use flate2::write::GzEncoder;
use lockproof_model::check::Verdict;
use lockproof_model::world::catalogue::Consequence;
use lockproof_trace::{Story, Trace, story, words};
use minijinja::value::Serde;
use minijinja::{Environment, Error, ErrorKind};
use serde::Serialize;

use super::super::diagram;
use super::super::junit::replay_text;
use super::super::matrix::sizes_text;
use super::super::model::{
    Agreement, Cell, Counterexample, LockText, Replay, Report, verdict_mark, verdict_word,
};
use super::super::overview::consequence;
use super::super::terminal::evidence;
use super::{Head, KindView, MAX_BYTES, MAX_MARKUP, cut, meaning};

/// What `details.html` needs of one lock.
#[derive(Serialize)]
struct Details<'a> {
    report: &'a Head<'a>,
    cells: Vec<CellView<'a>>,
    counterexamples: Vec<CounterexampleView>,
    locks: Vec<LockView<'a>>,
}

#[derive(Serialize)]
pub(super) struct CellView<'a> {
    /// Its place in the report.
    number: usize,
    lock: &'a str,
    property: &'a str,
    meaning: &'a str,
    /// Of a violation: what is known of its kind.
    kind: Option<KindView>,
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
    /// Its place in the report.
    number: usize,
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
    /// The number of its pack.
    number: usize,
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

/// The packs of some locks, in their order. When the packs are larger than [`MAX_BYTES`] together,
/// those that follow have no diagrams.
pub(super) fn packs(
    environment: &Environment<'_>,
    report: &Report,
    head: &Head<'_>,
    locks: &[&str],
) -> Result<Vec<String>, Error> {
    let template = environment.get_template("details.html")?;
    let mut packs: Vec<String> = Vec::new();
    let mut used = 0;
    for (number, name) in locks.iter().enumerate() {
        let of_lock = |bare: bool| -> Result<String, Error> {
            let cells = report.cells.iter().enumerate();
            let cells = cells.filter(|(_, cell)| cell.lock == *name);
            let details = Details {
                report: head,
                cells: cells.map(|(at, _)| cell(report, at, number)).collect(),
                counterexamples: counterexamples(report, name, bare),
                locks: report
                    .lock(name)
                    .map(|text| lock(number, text))
                    .into_iter()
                    .collect(),
            };
            packed(&template.render(Serde(&details))?)
        };
        let mut pack = of_lock(used > MAX_BYTES)?;
        if used <= MAX_BYTES && used + pack.len() > MAX_BYTES {
            pack = of_lock(true)?;
        }
        used += pack.len();
        packs.push(pack);
    }
    Ok(packs)
}

/// Markup, compressed (gzip) and in letters (base64).
pub(super) fn packed(markup: &str) -> Result<String, Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let bytes = encoder
        .write_all(markup.as_bytes())
        .and_then(|()| encoder.finish());
    let bytes = bytes.map_err(|error| Error::new(ErrorKind::WriteFailure, error.to_string()))?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// A cell, its lock's pack being `source`.
pub(super) fn cell<'a>(report: &'a Report, number: usize, pack: usize) -> CellView<'a> {
    let cell = &report.cells[number];
    let position = |id: &String| report.counterexamples.iter().position(|c| c.id == *id);
    CellView {
        number,
        lock: &cell.lock,
        property: &cell.property,
        meaning: meaning(report, &cell.property),
        kind: violated(cell).map(KindView::of),
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
        source: report.lock(&cell.lock).map(|_| pack),
    }
}

/// The kind of what is violated.
fn violated(cell: &Cell) -> Option<&'static Consequence> {
    let (_, kind) = consequence(&cell.property)?;
    (cell.verdict == Verdict::Violated).then_some(kind)
}

/// The counterexamples of one lock. What would make its pack larger than [`MAX_MARKUP`] has neither
/// diagram nor story.
fn counterexamples(report: &Report, lock: &str, bare: bool) -> Vec<CounterexampleView> {
    let mut used = 0;
    let of_lock = report.cells.iter().filter(|cell| cell.lock == lock);
    let ids: BTreeSet<&str> = of_lock
        .flat_map(|cell| cell.counterexample.as_deref())
        .collect();
    let all = report.counterexamples.iter().enumerate();
    all.filter(|(_, found)| found.trace.lock.name == lock || ids.contains(found.id.as_str()))
        .map(|(number, found)| {
            let mut view = counterexample(report, number, found);
            let text: usize = view.story.iter().map(|l| l.text.len() + 40).sum();
            // A step's own line in the stepper takes some 100 bytes a client.
            let steps = view.steps.len() * (200 + 100 * usize::from(found.trace.setup.clients));
            let size = view.svg.len() + text + steps;
            if bare || used + size > MAX_MARKUP {
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

fn counterexample(report: &Report, number: usize, found: &Counterexample) -> CounterexampleView {
    let trace = &found.trace;
    let property = trace.property.as_deref().unwrap_or_default();
    let (model, real, diverged_at) = match &found.replay {
        Some(Replay::Diverged { step, model, real }) => {
            (Some(model.clone()), Some(real.clone()), *step)
        }
        _ => (None, None, 0),
    };
    CounterexampleView {
        number,
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

fn lock(number: usize, lock: &LockText) -> LockView<'_> {
    LockView {
        number,
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
