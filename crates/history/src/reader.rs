//! Reading a history, line by line.
//!
//! One mistake is forgiven: a last line without its line feed that is no JSON is
//! what a killed writer leaves, and everything before it is whole. Anything else
//! that cannot be understood is an error with its line: a judgement over the
//! lines that happened to be readable would prove nothing.

use std::io::{BufRead, Read};

use lockproof_input::nearest::nearest;
use serde_json::error::Category;

use super::names::names;
use super::record::Record;
use super::tree::Tree;
use super::{Event, Header, Process, SCHEMA};

/// The longest line that is read, in bytes (64 MiB). A final read of a set of a
/// million elements has about ten.
pub const MAX_LINE_BYTES: u64 = 64 << 20;

/// Warnings that are told one by one; the rest are counted.
const MAX_WARNINGS: usize = 20;

/// Why a history cannot be read or judged, and where.
#[derive(Debug, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ReadError {
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it, and what to do.
    pub problem: Problem,
}

/// What is wrong with a line.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file cannot be read.
    #[error("failed to read the history: {0}")]
    Io(std::io::Error),
    /// There is nothing in it.
    #[error("the history is empty; its first line must be a header of {SCHEMA} (docs/history.md)")]
    Empty,
    /// Longer than [`MAX_LINE_BYTES`].
    #[error(
        "the line is longer than {} MiB, which no event is; is it the right file?",
        MAX_LINE_BYTES >> 20
    )]
    TooLong,
    /// Not JSON.
    #[error("not JSON at column {column}: {message}; take the line out or record the run again")]
    NotJson { column: usize, message: String },
    /// JSON, but of another schema (version).
    #[error("the schema is {found}, this version reads {SCHEMA}; record the run again with it")]
    Schema { found: String },
    /// A header with fields that are missing or of a wrong type.
    #[error("the header does not fit {SCHEMA}: {message} (docs/history.md lists its fields)")]
    Header { message: String },
    /// An event with fields that are missing or of a wrong type.
    #[error("the event does not fit {SCHEMA}: {message} (docs/history.md lists the fields)")]
    Shape { message: String },
    /// One client's clock went back.
    #[error(
        "{process} goes back by {back_ns} ns since its line {before}; record times with one monotonic clock"
    )]
    Backwards {
        process: Process,
        back_ns: u64,
        before: u64,
    },
    /// Further out of order than the window mends.
    #[error(
        "the event is not later than line {before} (by {back_ns} ns), further out of order than is mended; sort the lines by `time`"
    )]
    OutOfOrder { back_ns: u64, before: u64 },
    /// A client begins an operation inside of another.
    #[error(
        "{process} invokes while its operation of line {open} is open; a process does one thing at a time: complete that one (as info if nobody knows), or use another process number"
    )]
    DuplicateInvocation { process: Process, open: u64 },
    /// An end without a beginning.
    #[error(
        "{process} completes an operation that it has not invoked; the invocation is missing, or the completion stands twice"
    )]
    WithoutInvocation { process: Process },
    /// An end of something else than what began.
    #[error("{process} completes another `f` than the one that it invoked in line {open}")]
    OtherCompletion { process: Process, open: u64 },
    /// An end that says something else than its beginning.
    #[error(
        "its `{field}` is not that of the invocation in line {open}; an end says the same again, or nothing"
    )]
    Contradiction { field: &'static str, open: u64 },
    /// The start is told twice.
    #[error(
        "the store's start is told a second time (`{field}`, first in line {first}); keep the line that is true"
    )]
    SetupTwice { field: &'static str, first: u64 },
    /// Two commands with one id.
    #[error(
        "a command has the id {id}, which another had before; give each command of the file one of its own"
    )]
    IdTwice { id: u64 },
    /// The end of a command that nobody sent.
    #[error("no command has the id {id}; its invocation is missing or stands later")]
    UnknownId { id: u64 },
    /// A command that has ended, ends.
    #[error("the command {id} is completed twice; only a reply may still follow an `info`")]
    CompletedTwice { id: u64 },
    /// Another client's command, or one to another server.
    #[error("the command {id} was sent by another client or to another server in line {open}")]
    OtherCommand { id: u64, open: u64 },
    /// Something happens after the end.
    #[error(
        "it stands behind the end of the history in line {end}; did two runs write into one file? record them again, each into a file of its own"
    )]
    AfterEnd { end: u64 },
}

impl Problem {
    pub(super) fn at(self, line: u64) -> ReadError {
        ReadError {
            line,
            problem: self,
        }
    }
}

/// Reads a history: its header at once, its events one by one.
///
/// As an iterator it gives the events in the order of the file, unchecked beyond
/// their shape. After an error it ends.
pub struct Reader<R: BufRead> {
    from: R,
    header: Header,
    line: u64,
    text: Vec<u8>,
    done: bool,
    torn: bool,
    warnings: Vec<String>,
    hidden: u64,
}

impl<R: BufRead> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// The file is empty, its first line is no header, or of another schema.
    pub fn new(from: R) -> Result<Self, ReadError> {
        let mut reader = Reader {
            from,
            header: Header {
                schema: String::new(),
                lock: String::new(),
                workload: String::new(),
                ttl_ms: 0,
                clients: 0,
                nodes: 0,
                seed: 0,
                scenario: None,
                reentrant: false,
                versions: Default::default(),
                params: Default::default(),
            },
            line: 0,
            text: Vec::new(),
            done: false,
            torn: false,
            warnings: Vec::new(),
            hidden: 0,
        };
        if !reader.advance()? {
            return Err(Problem::Empty.at(1));
        }
        reader.header = reader.parse_header()?;
        Ok(reader)
    }

    /// The first line.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The line that was read last, from 1.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// What was forgiven so far: a torn last line, fields that nobody knows.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        if self.hidden > 0 {
            warnings.push(format!("and {} more like these", self.hidden));
        }
        warnings
    }

    /// True if the last line was torn.
    pub(super) fn is_torn(&self) -> bool {
        self.torn
    }

    pub(super) fn warn(&mut self, warning: String) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning);
        } else {
            self.hidden += 1;
        }
    }

    fn parse_header(&mut self) -> Result<Header, ReadError> {
        let Tree(any) = serde_json::from_slice(&self.text).map_err(|error| wrong(error, 1))?;
        let Some(fields) = any.as_object() else {
            let message = "it is no object".into();
            return Err(Problem::Header { message }.at(1));
        };
        match fields.get("schema").map(|schema| schema.as_str()) {
            Some(Some(SCHEMA)) => {}
            Some(Some(found)) => {
                let found = found.escape_debug().to_string();
                return Err(Problem::Schema { found }.at(1));
            }
            _ => {
                let message = "it names no `schema`".into();
                return Err(Problem::Header { message }.at(1));
            }
        }
        for name in fields
            .keys()
            .filter(|name| !HEADER_FIELDS.contains(&name.as_str()))
        {
            self.warnings
                .push(unknown_field(1, "the header", name, &HEADER_FIELDS));
        }
        let refused = |message| Problem::Header { message }.at(1);
        let header: Header =
            serde_json::from_value(any).map_err(|error| refused(error.to_string()))?;
        check_header(&header).map_err(refused)?;
        Ok(header)
    }

    /// Reads the next line that is not blank into `text`; false at the end.
    fn advance(&mut self) -> Result<bool, ReadError> {
        while !self.done {
            self.text.clear();
            self.line += 1;
            let mut some = self.from.by_ref().take(MAX_LINE_BYTES + 1);
            let read = some
                .read_until(b'\n', &mut self.text)
                .map_err(|error| Problem::Io(error).at(self.line))?;
            if read as u64 > MAX_LINE_BYTES {
                self.done = true;
                return Err(Problem::TooLong.at(self.line));
            }
            self.done = read == 0;
            if !self.text.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The next line as something, and its number.
    fn next_as<T>(
        &mut self,
        parse: impl Fn(&[u8]) -> Result<T, serde_json::Error>,
    ) -> Option<Result<(u64, T), ReadError>> {
        match self.advance() {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => {
                self.done = true;
                return Some(Err(error));
            }
        }
        let line = self.line;
        match parse(&self.text) {
            Ok(parsed) => Some(Ok((line, parsed))),
            Err(error) => {
                self.done = true;
                let torn = self.text.last() != Some(&b'\n') && error.classify() != Category::Data;
                if !torn {
                    return Some(Err(wrong(error, line)));
                }
                self.torn = true;
                self.warn(format!(
                    "line {line} is torn (its writer was stopped in the middle of it); it is left out"
                ));
                None
            }
        }
    }

    /// The next event as the judge reads it.
    pub(super) fn next_record(&mut self) -> Option<Result<Record, ReadError>> {
        let next = self.next_as(|text| serde_json::from_slice::<Record>(text))?;
        Some(next.and_then(|(line, mut record)| {
            record.line = line;
            record
                .check()
                .map_err(|message| Problem::Shape { message }.at(line))?;
            if let Some(strange) = record.strange.take() {
                for name in strange.all {
                    self.warn(unknown_field(line, "the event", &name, &names()));
                }
            }
            Ok(record)
        }))
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Result<Event, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.next_as(|text| serde_json::from_slice::<Event>(text))?;
        Some(next.map(|(_, event)| event))
    }
}

const HEADER_FIELDS: [&str; 11] = [
    "schema",
    "lock",
    "workload",
    "ttl_ms",
    "clients",
    "nodes",
    "seed",
    "scenario",
    "reentrant",
    "versions",
    "params",
];

/// Numbers that no run can have had.
fn check_header(header: &Header) -> Result<(), String> {
    if header.ttl_ms < 0 {
        return Err(format!(
            "`ttl_ms` is {}, and a lease is not negative",
            header.ttl_ms
        ));
    }
    match header.params.get("winners") {
        Some(winners) if winners.fract() != 0.0 || !(1.0..=1e9).contains(winners) => Err(format!(
            "`winners` in `params` is {winners}; a draw has a whole number of winners, from 1"
        )),
        _ => Ok(()),
    }
}

/// A field that is ignored, and the one that was perhaps meant.
fn unknown_field(line: u64, place: &str, name: &str, known: &[&str]) -> String {
    let name = name.escape_debug();
    if known.contains(&name.to_string().as_str()) {
        return format!(
            "line {line}: {place} has a field `{name}`, which means nothing there; it is ignored"
        );
    }
    let near = nearest(&name.to_string(), known.iter().copied());
    let hint = near.map_or(String::new(), |known| format!(" (is `{known}` meant?)"));
    format!(
        "line {line}: {place} has a field `{name}` that {SCHEMA} does not know{hint}; it is ignored"
    )
}

fn wrong(error: serde_json::Error, line: u64) -> ReadError {
    let column = error.column();
    // serde_json counts the lines of what it was given, which is always one.
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text).to_owned();
    match error.classify() {
        Category::Data if line == 1 => Problem::Header { message }.at(line),
        Category::Data => Problem::Shape {
            message: format!("{message}, at column {column}"),
        }
        .at(line),
        _ => Problem::NotJson { column, message }.at(line),
    }
}
