//! Annotations: what a CI system shows beside the lines of a change.
//!
//! One for each cell that turns a run red. It points at the line of the lock file
//! that acts last in the counterexample; a built-in lock has no file to point at.

use lockproof_trace::words;

use super::junit::problem;
use super::model::{Cell, Report};

/// A remark about a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The lock file and the line, from 1; `None` for a built-in lock.
    pub place: Option<(String, u32)>,
    /// The question, in a few words.
    pub title: String,
    /// The answer.
    pub message: String,
}

/// Everything that turns this report red, in its order.
pub fn annotations(report: &Report) -> Vec<Annotation> {
    let red = |cell: &Cell| Some(annotation(report, cell, problem(cell)?.1));
    report.cells.iter().filter_map(red).collect()
}

fn annotation(report: &Report, cell: &Cell, message: String) -> Annotation {
    let set = words::assumptions(&cell.assumptions);
    Annotation {
        place: place(report, cell),
        title: format!("{}: {} under {set}", cell.lock, cell.property),
        message: format!("{message}; repeat: {}", cell.command),
    }
}

fn place(report: &Report, cell: &Cell) -> Option<(String, u32)> {
    let path = &report.lock(&cell.lock)?.path;
    if !path.ends_with(".lua") {
        return None;
    }
    let found = cell.counterexample.as_ref();
    let found = found.and_then(|id| report.counterexample(id));
    let acts = |found: &super::model::Counterexample| {
        let mut steps = found.trace.steps.iter().rev();
        steps.find_map(|step| Some(step.source.as_ref()?.line))
    };
    Some((path.clone(), found.and_then(acts).unwrap_or(1)))
}

impl Annotation {
    /// As a workflow command of GitHub Actions
    /// (<https://docs.github.com/actions/reference/workflow-commands-for-github-actions>).
    pub fn github(&self) -> String {
        let mut properties = Vec::new();
        if let Some((file, line)) = &self.place {
            properties.push(format!("file={}", property(file)));
            properties.push(format!("line={line}"));
        }
        properties.push(format!("title={}", property(&self.title)));
        format!("::error {}::{}", properties.join(","), data(&self.message))
    }
}

/// A message must not end its own line, nor begin another command.
fn data(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
