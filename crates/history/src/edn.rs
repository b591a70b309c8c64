//! EDN, as Jepsen's tools read a history: one map a line.
//!
//! `{:process 0, :type :invoke, :f :acquire, :value {:key "k"}, :time 5, :index 0}`
//!
//! The header has no place in such a file and is left out. A crate for EDN was
//! not taken: writing it is a page, and reading it is not asked for.

use std::io::{self, BufRead, Write};

use serde_json::Value;

use super::end::End;
use super::{Event, Kind, Process, ReadError, Reader};

/// Why an export ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The history cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The result cannot be written.
    #[error("failed to write the export: {0}")]
    Write(#[from] io::Error),
}

/// Writes the events of a history in the order of the file; gives their number. One
/// without an end gets one that says so, for no tool would miss it.
///
/// # Errors
/// A line that cannot be understood (what came before it is written), or a
/// destination that takes no more.
pub fn export_edn<R: BufRead>(
    reader: &mut Reader<R>,
    mut to: impl Write,
) -> Result<u64, ExportError> {
    let mut index = 0;
    let mut line = String::new();
    let (mut last, mut complete) = (0, None);
    for event in reader.by_ref() {
        let event = event?;
        last = event.time.max(last);
        complete = said_end(&event);
        line.clear();
        put_event(&mut line, &event, index);
        line.push('\n');
        to.write_all(line.as_bytes())?;
        index += 1;
    }
    let end = End::of(complete, reader.is_torn());
    if let Some(words) = end.words() {
        reader.warn(format!("the history is incomplete: {words}"));
        if end == End::Missing {
            line.clear();
            put_event(&mut line, &missing_end(last, words), index);
            line.push('\n');
            to.write_all(line.as_bytes())?;
        }
    }
    to.flush()?;
    Ok(index)
}

fn said_end(event: &Event) -> Option<bool> {
    let ends = event.process == Process::Harness && event.f == "end";
    event.value["complete"].as_bool().filter(|_| ends)
}

fn missing_end(time: u64, words: &str) -> Event {
    Event {
        time,
        process: Process::Harness,
        kind: Kind::Info,
        f: "end".into(),
        value: serde_json::json!({ "complete": false }),
        error: Some(words.into()),
    }
}

fn put_event(out: &mut String, event: &Event, index: u64) {
    out.push_str("{:process ");
    match event.process {
        Process::Client(client) => out.push_str(&client.to_string()),
        // Jepsen's processes do one thing at a time, a server's commands do not.
        Process::Node(node) if event.f == "execute" && !event.value["id"].is_null() => {
            put_name(out, &format!("node-{node}.{}", event.value["id"]));
        }
        other => put_name(out, &other.to_string()),
    }
    out.push_str(match event.kind {
        Kind::Invoke => ", :type :invoke, :f ",
        Kind::Ok => ", :type :ok, :f ",
        Kind::Fail => ", :type :fail, :f ",
        Kind::Info => ", :type :info, :f ",
    });
    put_name(out, &event.f);
    out.push_str(", :value ");
    put_value(out, &event.value);
    if let Some(error) = &event.error {
        out.push_str(", :error ");
        put_string(out, error);
    }
    out.push_str(&format!(", :time {}, :index {index}}}", whole(event.time)));
}

/// A keyword where EDN allows one, a string elsewhere.
fn put_name(out: &mut String, name: &str) {
    let mut letters = name.chars();
    let keyword = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || "-_.*+!?".contains(c));
    match keyword {
        true => {
            out.push(':');
            out.push_str(name);
        }
        false => put_string(out, name),
    }
}

fn put_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("nil"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        Value::Number(number) => match number.as_u64() {
            Some(number) => out.push_str(&whole(number)),
            None => out.push_str(&number.to_string()),
        },
        Value::String(text) => put_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(' ');
                }
                put_value(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                put_name(out, name);
                out.push(' ');
                put_value(out, value);
            }
            out.push('}');
        }
    }
}

/// EDN's integers have 63 bits and a sign; larger ones say so.
fn whole(number: u64) -> String {
    match i64::try_from(number) {
        Ok(number) => number.to_string(),
        Err(_) => format!("{number}N"),
    }
}

fn put_string(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // The rest of the controls, so that an event stays one line
            // whatever a reader takes for the end of one.
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
