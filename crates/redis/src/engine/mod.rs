//! Lua 5.1 as Redis embeds it: EVAL runs a lock's script verbatim.
//!
//! The scripts are the very text that a real server gets, run by the project's own
//! Lua ([`lockproof_lua`]); what Redis adds around it is here: the `redis` table and
//! the libraries `bit`, `cjson`, `cmsgpack` and `struct`, the conversions, the
//! read-only globals, the texts of errors.
//!
//! A real server has more. What a script uses of that, at the moment it does so,
//! is noted with its line ([`Notes`]): such a run says nothing about a real
//! server, and whoever asked has to refuse the lock. The same goes for a run
//! beyond its bounds, and for one whose result depends on the letters of a token,
//! on the digits of a time, or on an order that nobody promises.
//!
//! An engine is a tool and no part of the state: it caches compiled scripts, the
//! server remembers which ones it knows.

mod convert;
mod environment;
mod host;
mod lib;

use std::fmt;
use std::sync::Arc;

use lockproof_lua::{
    Clocks, Code, Machine, Moment, Pause, Refusal, RefusalKind, Stop, Table, TableId, Thread,
    Value, Vm,
};
use rustc_hash::FxHashMap;
use sha1::{Digest, Sha1};

use super::notes::Notes;
use super::{Bytes, Dialect, Reply, Server};
use host::ScriptHost;

/// Work that one run may do, in instructions (other work converted).
const BUDGET: u64 = 2_000_000;
/// Bytes that one run may fill.
const MEMORY_BYTES: u64 = 8 << 20;
/// Compiled scripts that are kept; a run of random scripts would fill memory.
const COMPILED_MAX: usize = 256;

/// Failed to create a script engine. (None does today; it stays in the signature
/// of what creates one.)
#[derive(Debug, thiserror::Error)]
#[error("failed to start Lua for server-side scripts")]
pub struct EngineError;

/// What EVALSHA calls a script: 40 hexadecimal digits in lower case.
pub fn script_sha(source: &[u8]) -> String {
    Sha::of(source).to_string()
}

/// The SHA-1 of a script, which names it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Sha([u8; 20]);

impl Sha {
    /// Length of its text.
    pub(super) const DIGITS: usize = 40;

    /// The name of this script.
    pub(super) fn of(source: &[u8]) -> Self {
        Self(Sha1::digest(source).into())
    }

    /// Reads 40 hexadecimal digits of either case.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let digit = |c: u8| char::from(c).to_digit(16).map(|d| d as u8);
        let mut sha = [0; 20];
        if text.len() != Self::DIGITS {
            return None;
        }
        for (byte, pair) in sha.iter_mut().zip(text.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(sha))
    }
}

impl fmt::Display for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// One run of a script.
pub(super) struct Job<'a> {
    pub sha: Sha,
    pub source: &'a [u8],
    pub keys: &'a [Bytes],
    pub args: &'a [Bytes],
    pub connection: u32,
}

/// What a script's first line says of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    /// There is such a line.
    pub given: bool,
    pub no_writes: bool,
}

/// A compiled script in its environment, ready to be copied and run.
#[derive(Clone)]
struct Compiled {
    machine: Machine,
    main: Value,
    /// Leads from the globals of a run to those that all runs share.
    behind: TableId,
    flags: Flags,
}

/// Runs server-side scripts.
#[derive(Default)]
pub struct ScriptEngine {
    compiled: FxHashMap<Sha, Arc<Compiled>>,
}

impl fmt::Debug for ScriptEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptEngine")
            .field("compiled", &self.compiled.len())
            .finish_non_exhaustive()
    }
}

/// Compiles a script as a server does.
///
/// # Errors
/// The line, from 1, and Lua's words for what is wrong there.
pub fn compile_script(source: &[u8]) -> Result<(), (u32, String)> {
    match compile(source, Dialect::default()) {
        Ok(_) => Ok(()),
        Err(line) => {
            let text = line
                .strip_prefix("ERR Error compiling script (new function): user_script:")
                .map(|rest| rest.split_once(": ").unwrap_or(("1", rest)));
            let (number, text) = text.unwrap_or(("1", &line));
            Err((number.parse().unwrap_or(1), text.to_owned()))
        }
    }
}

/// The error is a whole error line.
fn compile(source: &[u8], dialect: Dialect) -> Result<Compiled, String> {
    let (flags, body) = shebang(source, dialect)?;
    if body.starts_with(b"\x1b") {
        return Err("ERR Error compiling script (new function): bytecode is not accepted".into());
    }
    let code = Code::compile("user_script", body).map_err(|error| {
        let text = convert::one_line(error.message.as_bytes());
        let line = error.line;
        format!("ERR Error compiling script (new function): user_script:{line}: {text}")
    })?;
    let mut machine = Machine::new(Arc::new(code));
    environment::furnish(&mut machine);
    let behind = environment::behind(&mut machine);
    let main = machine.main();
    machine.heap.freeze();
    machine.any_order = true;
    machine.texts_for_errors = true;
    Ok(Compiled {
        machine,
        main,
        behind,
        flags,
    })
}

/// How Valkey's error begins when the first line names an engine that it lacks.
const NO_ENGINE: &str = "ERR Could not find scripting engine";

/// Reads `#!lua flags=...`; the rest keeps its line numbers.
fn shebang(source: &[u8], dialect: Dialect) -> Result<(Flags, &[u8]), String> {
    let mut flags = Flags::default();
    if !source.starts_with(b"#!") {
        return Ok((flags, source));
    }
    let end = source.iter().position(|byte| *byte == b'\n');
    let Some(end) = end else {
        return Err("ERR Invalid script shebang".into());
    };
    let line = String::from_utf8_lossy(&source[..end]).into_owned();
    let mut words = line.split_ascii_whitespace();
    let engine = words.next().unwrap_or("");
    if engine != "#!lua" {
        return Err(match dialect {
            Dialect::Valkey9 => {
                let name = engine.trim_start_matches("#!");
                format!("{NO_ENGINE} '{name}'")
            }
            _ => format!("ERR Unexpected engine in script shebang: {engine}"),
        });
    }
    flags.given = true;
    for word in words {
        let Some(list) = word.strip_prefix("flags=") else {
            return Err(format!("ERR Unknown lua shebang option: {word}"));
        };
        for flag in list.split(',').filter(|flag| !flag.is_empty()) {
            match flag {
                "no-writes" => flags.no_writes = true,
                "allow-oom" | "allow-stale" | "no-cluster" | "allow-cross-slot-keys" => {}
                other => return Err(format!("ERR Unexpected flag in script shebang: {other}")),
            }
        }
    }
    Ok((flags, &source[end..]))
}

/// Whether a script says on its first line what it does, and that it may write. A
/// server asks for that before all else; Valkey before it looks for the engine, too.
pub(super) fn says_that_it_writes(source: &[u8], dialect: Dialect) -> bool {
    match shebang(source, dialect) {
        Ok((flags, _)) => flags.given && !flags.no_writes,
        Err(line) => line.starts_with(NO_ENGINE),
    }
}

impl ScriptEngine {
    /// An engine with nothing compiled.
    ///
    /// # Errors
    /// None today; see [`EngineError`].
    pub fn new() -> Result<Self, EngineError> {
        Ok(Self::default())
    }

    /// Compiles a script unless it is already; the error is a whole error line.
    pub(super) fn compile(
        &mut self,
        sha: &Sha,
        source: &[u8],
        dialect: Dialect,
    ) -> Result<(), String> {
        self.compiled(sha, source, dialect).map(|_| ())
    }

    fn compiled(
        &mut self,
        sha: &Sha,
        source: &[u8],
        dialect: Dialect,
    ) -> Result<Arc<Compiled>, String> {
        if let Some(compiled) = self.compiled.get(sha) {
            return Ok(Arc::clone(compiled));
        }
        if self.compiled.len() >= COMPILED_MAX {
            self.compiled.clear();
        }
        let compiled = Arc::new(compile(source, dialect)?);
        self.compiled.insert(*sha, Arc::clone(&compiled));
        Ok(compiled)
    }

    /// Runs a script on a server. Commands that it has executed stay executed
    /// when it fails later, as in Redis.
    pub(super) fn run(&mut self, server: &mut Server, job: &Job<'_>) -> Reply {
        let dialect = server.dialect();
        let compiled = match self.compiled(&job.sha, job.source, dialect) {
            Ok(compiled) => compiled,
            Err(line) => return Reply::Error(line),
        };
        let mut machine = compiled.machine.clone();
        prepare(&mut machine, server, job, compiled.behind);
        let mut thread = Thread::new(compiled.main.clone(), Vec::new());
        let mut host = ScriptHost::new(server, job.connection, compiled.flags);
        let ended = play(&mut machine, &mut thread, &mut host);
        let reply = ended.and_then(|values| {
            let value = values.into_iter().next().unwrap_or(Value::Nil);
            convert::to_reply(&machine, &value, dialect)
        });
        let notes = server.notes_mut();
        notes.orders = notes.orders.max(machine.orders);
        match reply {
            Ok(reply) => reply,
            Err(Stop::Raised { value, line }) => {
                if names_in_error(&machine, &value) {
                    notes.refuse_in_script(Refusal {
                        kind: RefusalKind::Names,
                        what: convert::NAMED_ERROR.into(),
                        line,
                    });
                }
                Reply::Error(error_line(&machine, &value, line, &job.sha, dialect))
            }
            Err(Stop::Refused(refusal)) => {
                let line = format!("ERR lockproof does not follow the script: it {refusal}");
                note(notes, refusal);
                Reply::Error(convert::one_line(line.as_bytes()))
            }
        }
    }
}

/// Runs a script to its end.
fn play(
    machine: &mut Machine,
    thread: &mut Thread,
    host: &mut ScriptHost<'_>,
) -> Result<Vec<Value>, Stop> {
    let refused = |kind, what: String, line| Err(Stop::Refused(Refusal { kind, what, line }));
    let mut given = Vec::new();
    loop {
        match Vm::new(machine, thread).resume(host, given)? {
            Pause::Ended { values, .. } => break Ok(values),
            Pause::Open { at_ticks, line } => match host.server.open(at_ticks) {
                Some(answer) => given = vec![Value::Bool(answer)],
                None => {
                    let what = crate::scores::opened_too_often();
                    break refused(RefusalKind::Rounding, what, line);
                }
            },
            // No function of a script's host waits.
            Pause::Waits { line, .. } => break refused(RefusalKind::Lacks, "waits".into(), line),
        }
    }
}

fn note(notes: &mut Notes, refusal: Refusal) {
    notes.refuse_in_script(refusal);
}

/// Gives a machine its keys and arguments, its clock, and its bounds.
fn prepare(machine: &mut Machine, server: &Server, job: &Job<'_>, behind: TableId) {
    let start = Moment::default();
    machine.clocks = Clocks {
        wall: start,
        monotonic: start,
        scale: server.scale(),
    };
    machine.budget = BUDGET;
    machine.memory = MEMORY_BYTES;
    machine.order = server.order();
    let [keys, args] = [job.keys, job.args].map(|words| {
        let list = words
            .iter()
            .map(|word| Value::Text(convert::text_of(word, server.scale())))
            .collect();
        machine.heap.table(Table {
            list,
            ..Table::default()
        })
    });
    environment::set_arguments(machine, keys, args, behind);
}

fn names_in_error(machine: &Machine, error: &Value) -> bool {
    let text = match error {
        Value::Table(id) => machine.heap.get(*id).field("err"),
        other => other.clone(),
    };
    matches!(text, Value::Text(text) if text.is_symbolic())
}

/// The error line of a script that raised.
fn error_line(machine: &Machine, error: &Value, line: u32, sha: &Sha, dialect: Dialect) -> String {
    let printable = |value: &Value| match value {
        Value::Text(text) => String::from_utf8_lossy(text.bytes()).into_owned(),
        other => machine.display(other),
    };
    let text = match error {
        Value::Table(id) => match machine.heap.get(*id).field("err") {
            text @ Value::Text(_) => printable(&text),
            // Redis 7.0.15 itself dies of such an error; later versions say this.
            _ => "ERR unknown error".to_owned(),
        },
        Value::Text(_) | Value::Number(_) => format!("ERR {}", printable(error)),
        other => format!("ERR {}", machine.display(other)),
    };
    let place = match (line, dialect) {
        (0, _) => String::new(),
        (line, Dialect::Valkey9) => format!(" script: on @user_script:{line}."),
        (line, _) => format!(" script: {sha}, on @user_script:{line}."),
    };
    convert::one_line((text + &place).as_bytes())
}
