//! Histories: what clients, servers and the nemesis did in a run, line by line,
//! and the oracles that judge it.
//!
//! A free run writes a history first and judges it afterwards, from the file
//! alone. So a run that was killed half-way can still be judged, a verdict can
//! be checked again years later, and a history that somebody else recorded is
//! as good as our own. docs/history.md is the format.
//!
//! The vocabulary is Jepsen's (process, invoke/ok/fail/info, f, value, time in
//! ns); [`export_edn`] writes what Jepsen's tools read. Its checkers were not
//! taken as they are: they keep a whole history in memory, and they ask whether
//! *some* order explains it. A lock needs "who surely held when", and a run has
//! millions of operations.
//!
//! | file | what it is |
//! |---|---|
//! | [`Writer`], [`Reader`] | the file, one whole line an event |
//! | [`End`] | whether it came to its end |
//! | `names`, `record`, `scalar`, `reply`, `tree` | an event as the judge reads it: no tree where it can be helped, no copies |
//! | `order`, `instant` | events in order of time; those of one time in no order |
//! | `operations`, `crowd` | invocations with their ends; clients that the header does not know |
//! | `commands` | the same for commands on their way to a server and back |
//! | `oracle/` | one file a question |
//! | [`judge`] | all oracles over one pass |
//! | [`timeline`] | who held when, small enough to be drawn |
//!
//! ```
//! use lockproof_history::{FindingVerdict, JudgeOptions, Reader, judge};
//!
//! // Client 1 acquires while client 0 holds.
//! let history = r#"{"schema":"lockproof.history/1","lock":"mine","workload":"hold","ttl_ms":2000,"clients":2,"nodes":1,"seed":1,"versions":{},"params":{}}
//! {"time":0,"process":0,"type":"invoke","f":"acquire","value":{"token":"t0","key":"lock"}}
//! {"time":400000,"process":0,"type":"ok","f":"acquire","value":{"validity_ms":null,"fence":null}}
//! {"time":500000,"process":1,"type":"invoke","f":"acquire","value":{"token":"t1","key":"lock"}}
//! {"time":900000,"process":1,"type":"ok","f":"acquire","value":{"validity_ms":null,"fence":null}}
//! {"time":1000000,"process":"harness","type":"info","f":"end","value":{"complete":true}}
//! "#;
//! let judgement = judge(Reader::new(history.as_bytes())?, &JudgeOptions::default())?;
//! assert_eq!(judgement.verdict(), FindingVerdict::Violated);
//! # Ok::<(), lockproof_history::ReadError>(())
//! ```
//!
//! Nothing here knows a socket, a clock or the rest of lockproof.

mod commands;
mod crowd;
mod edn;
mod end;
mod instant;
mod judge;
mod names;
mod operations;
mod oracle;
mod order;
mod reader;
mod record;
mod reply;
mod runs;
mod scalar;
mod seen;
pub mod timeline;
mod tree;
mod writer;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};

pub use edn::{ExportError, export_edn};
pub use end::End;
pub use judge::{Finding, FindingVerdict, JudgeOptions, Judgement, Violation, judge};
pub use oracle::ORACLES;
pub use order::{WINDOW_LINES, WINDOW_NS};
pub use reader::{MAX_LINE_BYTES, Problem, ReadError, Reader};
pub use writer::Writer;

/// The schema name that this version reads and writes.
pub const SCHEMA: &str = "lockproof.history/1";

/// The first line of a history: what was run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The lock's name.
    pub lock: String,
    /// What the clients did: coupon, lottery, hold, guarded-set or lock.
    pub workload: String,
    /// The lease that clients asked for, in ms.
    pub ttl_ms: i64,
    /// How many clients there were.
    pub clients: u32,
    /// How many servers the lock asks (five for a Redlock of five). Replicas are
    /// not counted.
    pub nodes: u32,
    /// What random draws came from.
    #[serde(default)]
    pub seed: u64,
    /// The scenario's name, if it was one.
    #[serde(default)]
    pub scenario: Option<String>,
    /// True if an owner may acquire again: its hold then ends with as many releases.
    #[serde(default)]
    pub reentrant: bool,
    /// Versions of what took part, by name.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// Numbers that the run was given, by name.
    #[serde(default)]
    pub params: BTreeMap<String, f64>,
}

/// Who did something. In JSON a client is its number, the others are names:
/// `0`, `"node-0"`, `"nemesis"`, `"harness"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Process {
    /// A client, counted from 0.
    Client(u32),
    /// A server, counted from 0.
    Node(u32),
    /// What injects the faults.
    Nemesis,
    /// What sets the run up and reads the final state.
    Harness,
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Process::Client(client) => write!(f, "client {client}"),
            Process::Node(node) => write!(f, "node-{node}"),
            Process::Nemesis => f.write_str("nemesis"),
            Process::Harness => f.write_str("harness"),
        }
    }
}

impl Serialize for Process {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Process::Client(client) => serializer.serialize_u32(*client),
            other => serializer.collect_str(other),
        }
    }
}

struct ProcessVisitor;

impl Visitor<'_> for ProcessVisitor {
    type Value = Process;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a client's number, \"node-N\", \"nemesis\" or \"harness\"")
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Process, E> {
        u32::try_from(number)
            .map(Process::Client)
            .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(number), &self))
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Process, E> {
        // `node-07` and `node-+7` would be second names of one server.
        let digits = name.strip_prefix("node-");
        let node = digits.and_then(|digits| digits.parse::<u32>().ok());
        let node = node.filter(|node| digits == Some(node.to_string().as_str()));
        match (name, node) {
            ("nemesis", _) => Ok(Process::Nemesis),
            ("harness", _) => Ok(Process::Harness),
            (_, Some(node)) => Ok(Process::Node(node)),
            _ => Err(E::invalid_value(serde::de::Unexpected::Str(name), &self)),
        }
    }
}

impl<'de> Deserialize<'de> for Process {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Process, D::Error> {
        deserializer.deserialize_any(ProcessVisitor)
    }
}

/// What an event says about its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It begins.
    Invoke,
    /// It took effect.
    Ok,
    /// It surely took no effect.
    Fail,
    /// Nobody knows; or, outside of an operation, a note.
    Info,
}

/// One line of a history after the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    /// Nanoseconds since the start, on one monotonic clock for all processes.
    pub time: u64,
    /// Who.
    pub process: Process,
    /// Begin, end or note.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// Which operation; docs/history.md has the vocabulary.
    pub f: String,
    /// What `f` says it is; null if there is nothing to say.
    #[serde(
        default,
        deserialize_with = "tree::value",
        skip_serializing_if = "serde_json::Value::is_null"
    )]
    pub value: serde_json::Value,
    /// Words for people about a failure. What others write there and is no text is taken as
    /// the JSON that it is.
    #[serde(
        default,
        deserialize_with = "tree::words",
        skip_serializing_if = "Option::is_none"
    )]
    pub error: Option<String>,
}
