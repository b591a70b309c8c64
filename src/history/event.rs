//! Provisional.
use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

pub const SCHEMA: &str = "lockproof.history/1";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub schema: String,
    pub lock: String,
    pub workload: String,
    pub ttl_ms: i64,
    pub clients: u32,
    pub nodes: u32,
    pub seed: u64,
    pub scenario: Option<String>,
    pub reentrant: bool,
    pub versions: BTreeMap<String, String>,
    pub params: BTreeMap<String, f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Process {
    Client(u32),
    Node(u32),
    Nemesis,
    Harness,
}

impl Serialize for Process {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Process::Client(n) => s.serialize_u32(*n),
            Process::Node(n) => s.serialize_str(&format!("node-{n}")),
            Process::Nemesis => s.serialize_str("nemesis"),
            Process::Harness => s.serialize_str("harness"),
        }
    }
}

impl<'de> Deserialize<'de> for Process {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Value::deserialize(d)? {
            Value::Number(n) => Ok(Process::Client(n.as_u64().unwrap_or(0) as u32)),
            Value::String(s) if s == "nemesis" => Ok(Process::Nemesis),
            Value::String(s) if s == "harness" => Ok(Process::Harness),
            _ => Err(de::Error::custom("no process")),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    Invoke,
    Ok,
    Fail,
    Info,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub time: u64,
    pub process: Process,
    #[serde(rename = "type")]
    pub kind: Kind,
    pub f: String,
    #[serde(default)]
    pub value: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

pub struct Writer<W: Write>(W);
impl<W: Write> Writer<W> {
    pub fn create(mut w: W, header: &Header) -> io::Result<Self> {
        let mut line = serde_json::to_vec(header)?;
        line.push(b'\n');
        w.write_all(&line)?;
        w.flush()?;
        Ok(Writer(w))
    }
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        self.0.flush()
    }
}
