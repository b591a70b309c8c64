//! Annotations: what a CI system shows beside the lines of a change.
//!
//! One for each cell that turns a run red. It points at the line of the lock file
//! that acts last in the counterexample; a built-in lock has no file to point at.

use super::junit::{found, problem, question, told};
use super::model::{Cell, Counterexample, Report};

/// A story beyond this many lines is cut: a list of remarks is no place for a long one.
const LINES_MAX: usize = 40;

/// A remark about a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Annotation {
    /// The lock file and the line, from 1; `None` for a built-in lock.
    pub place: Option<(String, u32)>,
    /// The question, in a few words.
    pub title: String,
    /// The answer: what was expected and found, the command that repeats it, and the shortest trace.
    pub message: String,
}

/// Everything that turns this report red, in its order.
pub fn annotations(report: &Report) -> Vec<Annotation> {
    let red = |cell: &Cell| Some(annotation(report, cell, problem(report, cell)?.message));
    report.cells.iter().filter_map(red).collect()
}

fn annotation(report: &Report, cell: &Cell, message: String) -> Annotation {
    let mut message = format!("{message}; repeat: {}", cell.command);
    if let Some(found) = found(report, cell) {
        let told = told(report, found);
        let mut lines = told.lines();
        for line in lines.by_ref().take(LINES_MAX) {
            message += &format!("\n{line}");
        }
        match lines.count() {
            0 => {}
            more => message += &format!("\n({more} more lines are in the report)"),
        }
    }
    Annotation {
        place: place(report, cell),
        title: question(cell),
        message,
    }
}

fn place(report: &Report, cell: &Cell) -> Option<(String, u32)> {
    let path = &report.lock(&cell.lock)?.path;
    if !path.ends_with(".lua") {
        return None;
    }
    let acts = |found: &Counterexample| {
        let mut steps = found.trace.steps.iter().rev();
        steps.find_map(|step| Some(step.source.as_ref()?.line))
    };
    Some((
        path.clone(),
        found(report, cell).and_then(acts).unwrap_or(1),
    ))
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
