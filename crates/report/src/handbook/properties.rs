//! The page of properties.

use lockproof_model::check::Verdict;
use lockproof_model::world::catalogue::{PROPERTIES, PropertyInfo};
use serde::Serialize;

use super::super::lock_pages::file_name;
use super::super::markdown::text;
use super::super::model::Report;
use super::language::Language;
use super::verdicts::Verdicts;
use super::{named, source};

/// A property, and which locks have it.
#[derive(Serialize)]
pub(super) struct PropertyView<'r> {
    id: &'static str,
    plain: String,
    meaning: String,
    violation: String,
    code: &'static str,
    /// 1 is the worst.
    rank: usize,
    cause: String,
    remedy: String,
    source: String,
    on_demand: bool,
    asked: usize,
    broken: usize,
    /// The locks that violate it, and what it takes.
    rows: Vec<Row<'r>>,
    safe: Option<String>,
    unknown: Option<String>,
    /// A lock of which it can be asked.
    example: String,
}

#[derive(Serialize)]
struct Row<'r> {
    #[serde(skip)]
    lock: &'r str,
    name: String,
    page: String,
    /// It is violated without faults.
    always: bool,
    /// The sets of faults under which it is violated.
    under: String,
    /// Steps of the shortest counterexample.
    steps: Option<usize>,
}

pub(super) fn all<'r>(
    report: &Report,
    verdicts: &Verdicts<'r>,
    language: &Language,
) -> Vec<PropertyView<'r>> {
    let view = |info: &PropertyInfo| view(info, report, verdicts, language);
    PROPERTIES.iter().map(view).collect()
}

fn view<'r>(
    info: &PropertyInfo,
    report: &Report,
    verdicts: &Verdicts<'r>,
    language: &Language,
) -> PropertyView<'r> {
    let words = (language.property)(info.property);
    let (rank, consequence) = info.property.consequence();
    let (mut rows, mut safe, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for lock in verdicts.locks() {
        let cells: Vec<_> = (report.cells.iter())
            .filter(|cell| cell.lock == *lock && cell.property == info.id)
            .collect();
        let some = |verdict| cells.iter().any(|cell| cell.verdict == verdict);
        match () {
            () if cells.is_empty() => {}
            () if some(Verdict::Violated) => rows.push(row(info.id, lock, report)),
            () if some(Verdict::Unknown) => unknown.push(*lock),
            () => safe.push(*lock),
        }
    }
    let asked = rows.iter().map(|row| row.lock).chain(safe.iter().copied());
    // Not every property is asked of every lock; one on demand is.
    let example = match (
        asked.chain(unknown.iter().copied()).next(),
        info.property.on_demand(),
    ) {
        (Some(lock), _) => lock,
        (None, true) => "token",
        (None, false) => "my-lock.lua",
    };
    PropertyView {
        example: example.to_owned(),
        id: info.id,
        plain: words.plain,
        meaning: words.meaning,
        violation: words.violation,
        code: consequence.code,
        rank: rank + 1,
        cause: words.cause,
        remedy: words.remedy,
        source: source(consequence.source, language),
        on_demand: info.property.on_demand(),
        asked: rows.len() + safe.len() + unknown.len(),
        broken: rows.len(),
        rows,
        safe: named(safe, language),
        unknown: named(unknown, language),
    }
}

/// Of a lock that violates the property: under which sets, each once and in the order of the report.
fn row<'r>(property: &str, lock: &'r str, report: &Report) -> Row<'r> {
    let violated: Vec<_> = (report.cells.iter())
        .filter(|cell| cell.lock == lock && cell.property == property)
        .filter(|cell| cell.verdict == Verdict::Violated)
        .collect();
    let mut sets: Vec<String> = Vec::new();
    for cell in &violated {
        let names = cell.assumptions.iter().map(|one| text(&one.name));
        let set = names.collect::<Vec<_>>().join(" + ");
        if !set.is_empty() && !sets.contains(&set) {
            sets.push(set);
        }
    }
    let traces = violated.iter().filter_map(|cell| {
        let id = cell.counterexample.as_deref()?;
        Some(report.counterexample(id)?.trace.length())
    });
    Row {
        lock,
        name: text(lock),
        page: file_name(lock),
        always: violated.iter().any(|cell| cell.assumptions.is_empty()),
        under: sets.join(", "),
        steps: traces.min(),
    }
}
