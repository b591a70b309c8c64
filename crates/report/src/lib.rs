//! Reports: one result model, [`model::Report`], and its renderings.
//!
//! Everything that lockproof publishes is drawn from that one model, so a figure
//! cannot be one thing in the page and another in the JUnit file. A rendering is
//! one file here and one line in [`render`]; it is a pure function of the model.
//! The only file access is [`write_all`].

mod annotations;
pub mod baseline;
pub mod compare;
pub mod diagram;
pub mod figure;
pub mod frontier;
mod handbook;
mod html;
mod junit;
mod lattice;
mod lock_pages;
mod lock_words;
mod markdown;
mod matrix;
mod merge;
pub mod model;
pub mod overview;
mod page;
pub mod run;
pub mod scenario;
mod scenario_view;
mod sets;
mod stories;
pub mod terminal;

use std::path::{Path, PathBuf};

use lockproof_input::files;
use lockproof_trace::words;

pub use annotations::{Annotation, annotations};
pub use handbook::{chinese, handbook};
pub use html::html;
pub use junit::junit;
pub use lock_pages::lock_pages;
pub use markdown::markdown;
pub use merge::{MergeError, merge};
pub use model::Report;
pub use stories::stories;

/// Why a report cannot be read, rendered or written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The directory or a file in it cannot be written.
    #[error(
        "failed to write the report to {}: {source}; free space or choose another directory; what was there is unchanged",
        path.display()
    )]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Some of the files were replaced before this one failed.
    #[error(
        "failed to put {} in its place: {source}; the files of this report before it are new, this one and those after it are old: write the report again",
        path.display()
    )]
    Replace {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A rendering failed: a bug of ours, or a report with impossible content.
    #[error("failed to render {what}: {message}")]
    Render { what: &'static str, message: String },
    /// A lock or a counterexample has a name that no file may have.
    #[error(
        "failed to read the report: {what} is called {name:?}, and a file named after it could lie anywhere; was the report edited?"
    )]
    Name { what: &'static str, name: String },
    /// Not a report.
    #[error("failed to read the report: line {line}, column {column}: {message}")]
    Shape {
        line: usize,
        column: usize,
        message: String,
    },
    /// A counterexample that cannot have happened.
    #[error(
        "failed to use the report: the counterexample {id}: {why}; it was edited or its writer has a bug"
    )]
    Trace {
        id: String,
        why: lockproof_trace::Inconsistency,
    },
    /// Another version's report.
    #[error(
        "failed to read the report: its schema is {found}, this version reads {}; make it anew with this version",
        model::SCHEMA
    )]
    Schema { found: String },
}

/// All renderings as (path below the report's folder, text), in the order in which they
/// are written.
pub fn render(report: &Report) -> Result<Vec<(String, String)>, ReportError> {
    let mut files = vec![
        ("report.json".to_owned(), json(report)?),
        ("report.md".to_owned(), markdown(report)),
        ("junit.xml".to_owned(), junit(report)?),
        ("report.html".to_owned(), html(report)?),
    ];
    files.extend(lock_pages(report));
    files.extend(handbook(report)?);
    Ok(files)
}

/// The name of a lock's counterexample when there are `before` others already.
pub fn counterexample_id(lock: &str, before: usize) -> String {
    format!("{lock}-{:03}", before + 1)
}

/// The report as JSON.
pub fn json(report: &Report) -> Result<String, ReportError> {
    let text = serde_json::to_string_pretty(report).map_err(|e| ReportError::Render {
        what: "report.json",
        message: e.to_string(),
    })?;
    Ok(text + "\n")
}

/// Reads a report from its JSON text.
pub fn parse(text: &str) -> Result<Report, ReportError> {
    let shape = |e: serde_json::Error| ReportError::Shape {
        line: e.line(),
        column: e.column(),
        message: e.to_string(),
    };
    let any: serde_json::Value = serde_json::from_str(text).map_err(shape)?;
    let schema = any.get("schema").and_then(serde_json::Value::as_str);
    if schema != Some(model::SCHEMA) {
        let found = schema.unwrap_or("not stated").to_string();
        return Err(ReportError::Schema { found });
    }
    let report: Report = serde_json::from_str(text).map_err(shape)?;
    names(&report)?;
    for one in &report.counterexamples {
        // What is drawn of a trace relies on what a reader of traces checks.
        lockproof_trace::validate(&one.trace).map_err(|why| ReportError::Trace {
            id: words::shorten(&words::printable(&one.id), 60),
            why,
        })?;
    }
    Ok(report)
}

/// Checks the names after which files are named: the counterexamples of a merged report
/// are named after its locks anew.
fn names(report: &Report) -> Result<(), ReportError> {
    let wrong = |what, name: &String| {
        let name = name.clone();
        Err(ReportError::Name { what, name })
    };
    let locks = report.locks.iter().map(|lock| &lock.name);
    let mut locks = locks.chain(report.cells.iter().map(|cell| &cell.lock));
    if let Some(name) = locks.find(|name| !files::is_name(name)) {
        return wrong("a lock", name);
    }
    let mut ids = report.counterexamples.iter().map(|one| &one.id);
    match ids.find(|id| !files::is_numbered_name(id)) {
        Some(id) => wrong("a counterexample", id),
        None => Ok(()),
    }
}

/// Writes every rendering into `dir`, which is made if need be.
///
/// All texts go to temporary files in the directory first, down to the disk;
/// only when all of them are there are they renamed to their names. So a full
/// disk leaves the older report as it was. Returns the paths written.
pub fn write_all(dir: &Path, report: &Report) -> Result<Vec<PathBuf>, ReportError> {
    let files = render(report)?;
    let failed = |source| ReportError::Write {
        path: dir.to_path_buf(),
        source,
    };
    std::fs::create_dir_all(dir).map_err(failed)?;
    let mut waiting = Vec::new();
    for (name, text) in files {
        let path = dir.join(name);
        let file = files::waiting(dir, &text).map_err(failed)?;
        waiting.push((path, file));
    }
    // A directory in the place of a file is the one thing that would stop a
    // rename half-way and can be seen beforehand.
    for (path, _) in &waiting {
        if path.is_dir() {
            let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
            let path = path.clone();
            return Err(ReportError::Write { path, source });
        }
    }
    for (path, _) in &waiting {
        std::fs::create_dir_all(path.parent().unwrap_or(dir)).map_err(failed)?;
    }
    let mut written = Vec::new();
    for (path, file) in waiting {
        file.persist(&path).map_err(|e| ReportError::Replace {
            path: path.clone(),
            source: e.error,
        })?;
        written.push(path);
    }
    Ok(written)
}
