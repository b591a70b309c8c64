//! What can go wrong with a client process, each way by its name.

use std::process::ExitStatus;

use crate::client::protocol::{LINE_BYTES_MAX, PROTOCOL};

/// A client process misbehaved. It has been killed and reaped.
#[derive(Debug, thiserror::Error)]
#[error("client `{client}` {fault}{}", tail(.stderr_tail))]
pub struct ClientError {
    /// The name it was started under.
    pub client: String,
    /// What it did.
    pub fault: ClientFault,
    /// The end of what it wrote to stderr.
    pub stderr_tail: String,
}

/// The ways to misbehave. `line` counts the lines of the client's stdout from 1.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientFault {
    /// The program did not start.
    #[error("failed to start `{program}`: {source}; check the path and that it is executable")]
    Spawn {
        /// The program.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// A line is not a message of the protocol.
    #[error("wrote a line that is no {PROTOCOL} message (line {line}: {reason}): `{text}`")]
    BadLine {
        /// Which line.
        line: u64,
        /// The line, shortened.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Its hello names another version.
    #[error(
        "speaks `{found}` (line {line}), and this harness speaks `{PROTOCOL}`; \
         use an adapter of that version"
    )]
    WrongVersion {
        /// Which line.
        line: u64,
        /// The version it names, shortened.
        found: String,
    },
    /// A line is longer than [`LINE_BYTES_MAX`].
    #[error("wrote more than {LINE_BYTES_MAX} bytes in line {line}, which begins `{text}`")]
    Oversize {
        /// Which line.
        line: u64,
        /// How it begins.
        text: String,
    },
    /// It writes faster than anybody could read.
    #[error("floods: {queued} messages wait unread at line {line}")]
    Flood {
        /// Where the queue was full.
        line: u64,
        /// Its length.
        queued: usize,
    },
    /// It does not read its stdin.
    #[error("does not read its stdin: {queued} messages wait")]
    Deaf {
        /// The length of the queue.
        queued: usize,
    },
    /// It did not answer in time.
    #[error("gave no answer within {after_ms} ms: awaited {awaiting} after line {lines}")]
    NoAnswer {
        /// What was awaited.
        awaiting: String,
        /// The limit in ms.
        after_ms: u64,
        /// Lines that it had written.
        lines: u64,
    },
    /// It ended, or closed its stdout.
    #[error("ended ({}) after line {lines}, while the harness awaited {awaiting}", ending(.status))]
    Exited {
        /// What was awaited.
        awaiting: String,
        /// Lines that it had written.
        lines: u64,
        /// How it ended; nothing if it only closed its stdout.
        status: Option<ExitStatus>,
    },
    /// A good message at the wrong time.
    #[error("wrote line {line} where the harness awaited {awaiting}: `{text}`")]
    Unexpected {
        /// What was awaited.
        awaiting: String,
        /// Which line.
        line: u64,
        /// The message, shortened.
        text: String,
    },
    /// A signal could not be sent.
    #[error("could not be sent {signal}: {source}")]
    Signal {
        /// Which signal.
        signal: &'static str,
        /// Why.
        source: std::io::Error,
    },
    /// A message to it could not be written as JSON.
    #[error("could not be sent `{message}`: {source}")]
    Encode {
        /// The message's name.
        message: &'static str,
        /// Why.
        source: serde_json::Error,
    },
}

/// The first 200 characters of a text, with a mark where it was cut.
pub(super) fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    match text.char_indices().nth(CHARS_MAX) {
        None => text.to_string(),
        Some((at, _)) => format!("{}... ({} bytes)", &text[..at], text.len()),
    }
}

fn tail(stderr: &str) -> String {
    if stderr.trim().is_empty() {
        return "; its stderr is empty".to_string();
    }
    format!("; its stderr ends:\n{}", stderr.trim_end())
}

fn ending(status: &Option<ExitStatus>) -> String {
    status.map_or_else(|| "it closed its stdout".to_string(), |s| s.to_string())
}
