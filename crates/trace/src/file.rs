//! Trace files: reading, checking and writing them.
//!
//! A trace travels: from a CI job to a developer, from one version to the next.
//! So reading is strict and every way to be wrong has its own message. Nothing
//! is repaired: a trace that was guessed back together would prove nothing.

use std::io::Read;
use std::path::{Path, PathBuf};

use lockproof_input::files;

use super::{Inconsistency, SCHEMA, Trace, validate};

/// Largest trace file that is read, in bytes (64 MiB). The longest real traces
/// have some thousand steps and a few megabytes; beyond this it is not a trace.
pub const MAX_BYTES: u64 = 64 << 20;

/// Why a trace cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be opened or read.
    #[error("failed to read the trace {}: {source}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    /// The file cannot be written.
    #[error("failed to write the trace {}: {source}; an older file there is unchanged", path.display())]
    Write {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Larger than [`MAX_BYTES`].
    #[error(
        "failed to read the trace: it is larger than {} MiB, which no trace is; is it the right file?",
        MAX_BYTES >> 20
    )]
    TooLarge,
    /// Not JSON at all.
    #[error("failed to read the trace: not JSON at line {line}, column {column}: {message}")]
    NotJson {
        line: usize,
        column: usize,
        message: String,
    },
    /// The JSON ends early.
    #[error(
        "failed to read the trace: it breaks off at line {line}, column {column}; copy the file again or make it anew"
    )]
    Truncated { line: usize, column: usize },
    /// JSON, but of another schema (version).
    #[error(
        "failed to read the trace: its schema is {found}, this version reads {SCHEMA}; make it anew with this version's `lockproof check`"
    )]
    Schema { found: String },
    /// The right schema, with fields that are missing, unknown or of a wrong type.
    #[error(
        "failed to read the trace: line {line}, column {column} does not fit {SCHEMA}: {message}"
    )]
    Shape {
        line: usize,
        column: usize,
        message: String,
    },
    /// Well formed, but it contradicts itself.
    #[error("failed to use the trace: {0}; it was edited or its writer has a bug")]
    Inconsistent(#[from] Inconsistency),
    /// Made from another text of the lock file.
    #[error(
        "failed to use the trace: it was made from another text of lock {name} ({path}): the trace says sha256 {expected}, the file and its scripts have {found}; restore that text, or check the lock again with `lockproof check {path}` for a fresh trace"
    )]
    OtherLock {
        name: String,
        path: String,
        expected: String,
        found: String,
    },
}

/// Reads a trace from a file and validates it.
pub fn read(path: &Path) -> Result<Trace, TraceError> {
    let failed = |source| TraceError::Read {
        path: path.to_path_buf(),
        source,
    };
    let file = files::open(path).map_err(failed)?;
    let mut text = Vec::new();
    // The limit holds for what is read, not for what the directory says: a pipe
    // has no size, and a file may grow.
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(failed)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(TraceError::TooLarge);
    }
    parse(&text)
}

/// Reads a trace from its JSON text and validates it.
pub fn parse(json: &[u8]) -> Result<Trace, TraceError> {
    // The schema is looked at on its own first: a later version may have other
    // fields, and "unknown field `x`" would send its reader the wrong way.
    let any: serde_json::Value = serde_json::from_slice(json).map_err(not_json)?;
    let schema = any.get("schema").and_then(serde_json::Value::as_str);
    if schema != Some(SCHEMA) {
        let found = schema.map_or("not stated".into(), |s| super::words::shorten(s, 60));
        return Err(TraceError::Schema { found });
    }
    let trace: Trace = serde_json::from_slice(json).map_err(|e| TraceError::Shape {
        line: e.line(),
        column: e.column(),
        message: without_position(&e),
    })?;
    validate(&trace)?;
    Ok(trace)
}

fn not_json(e: serde_json::Error) -> TraceError {
    let (line, column) = (e.line(), e.column());
    if e.is_eof() {
        return TraceError::Truncated { line, column };
    }
    let message = without_position(&e);
    TraceError::NotJson {
        line,
        column,
        message,
    }
}

/// serde_json ends its messages with the position, which we say ourselves.
fn without_position(e: &serde_json::Error) -> String {
    let text = e.to_string();
    match text.rfind(" at line ") {
        Some(end) => text[..end].to_string(),
        None => text,
    }
}

/// The trace as JSON: one step a line, so that two traces can be compared with
/// any line-based tool.
pub fn to_json(trace: &Trace) -> String {
    #[derive(serde::Serialize)]
    struct Head<'a> {
        schema: &'a str,
        lock: &'a super::LockRef,
        setup: &'a super::Setup,
        assumptions: &'a [super::Assumption],
        property: &'a Option<String>,
        seed: Option<u64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        repeats: &'a Option<super::Repeats>,
    }
    // Without `..`: a new field of the trace must not be forgotten here.
    let Trace {
        schema,
        lock,
        setup,
        assumptions,
        property,
        seed,
        repeats,
        steps,
    } = trace;
    let head = Head {
        schema,
        lock,
        setup,
        assumptions,
        property,
        seed: *seed,
        repeats,
    };
    // Writing to memory cannot fail, and every map key here is a string.
    let head = serde_json::to_string_pretty(&head).expect("plain data");
    let lines: Vec<String> = steps
        .iter()
        .map(|step| serde_json::to_string(step).expect("plain data, as above"))
        .map(|line| format!("\n    {line}"))
        .collect();
    let head = head.trim_end_matches('}').trim_end();
    let end = if lines.is_empty() { "" } else { "\n  " };
    format!("{head},\n  \"steps\": [{}{end}]\n}}\n", lines.join(","))
}

/// Writes a trace, whole or not at all: the text goes to a temporary file beside
/// the target, which is then renamed.
pub fn write(path: &Path, trace: &Trace) -> Result<(), TraceError> {
    write_text(path, &to_json(trace))
}

pub(super) fn write_text(path: &Path, text: &str) -> Result<(), TraceError> {
    let failed = |source| TraceError::Write {
        path: path.to_path_buf(),
        source,
    };
    let dir = match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    };
    let file = files::waiting(dir, text).map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Checks that the lock file at hand is the one that the trace is a run of.
/// `sha256` is the hex digest over the file and all of its scripts.
pub fn check_lock(trace: &Trace, sha256: &str) -> Result<(), TraceError> {
    if trace.lock.sha256.eq_ignore_ascii_case(sha256) {
        return Ok(());
    }
    Err(TraceError::OtherLock {
        name: trace.lock.name.clone(),
        path: trace.lock.path.clone(),
        expected: trace.lock.sha256.clone(),
        found: sha256.to_string(),
    })
}
