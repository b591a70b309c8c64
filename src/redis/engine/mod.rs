//! Lua 5.1 as Redis embeds it: EVAL runs a lock's script verbatim.
//!
//! The scripts are the very text that a real server gets, in the very language
//! version that it runs (Lua 5.1's own source, through `mlua`); what Redis adds
//! around it is rebuilt here: the `redis` table, the conversions, the read-only
//! globals, the texts of errors. Translating scripts to Rust, or interpreting a
//! subset, would have put a second semantics next to the first.
//!
//! Scripts come from users' files, so an engine never trusts one: instructions,
//! memory, patterns and the size of a reply are bounded, and a script beyond a
//! bound gets an error reply. No result depends on the scripts that ran before:
//! globals are read-only, and what would carry over (`math.random`, `load`,
//! coroutines' and collector's state) is left out with an error that says so.
//! Also left out are the libraries `bit`, `cjson`, `cmsgpack`, `struct` and `os`.
//!
//! An engine is a tool and no part of the state: it caches compiled functions,
//! the server remembers which scripts it knows. Creating one costs about half a
//! millisecond, so create one a thread and use it for ever.

mod api;
mod convert;
mod pattern;

use std::fmt;

use mlua::{Function, HookTriggers, Lua, LuaOptions, StdLib, Table, Value, VmState};
use rustc_hash::FxHashMap;
use sha1::{Digest, Sha1};

use super::{Bytes, Reply, Server};
use crate::redis::Dialect;
use api::Desk;

/// Work that one run may do, in instructions (with other work converted).
const BUDGET: u64 = 2_000_000;
/// The count hook runs this often.
const INSTRUCTIONS_PER_CHECK: u32 = 1_000;
/// Memory of one engine; Lua 5.1 does not collect garbage before it gives up,
/// so a script can rely on about half of it.
const MEMORY_BYTES_MAX: usize = 8 << 20;
/// A run that leaves this much garbage is followed by a collection.
const GARBAGE_BYTES_MAX: usize = 256 << 10;
/// So much memory taken during a run makes every instruction cost one more.
const BYTES_PER_UNIT: usize = 4 << 10;
/// Compiled scripts that are kept; a run of random scripts would fill memory.
const COMPILED_MAX: usize = 256;

/// Failed to create a script engine.
#[derive(Debug, thiserror::Error)]
#[error("failed to start Lua for server-side scripts (is memory short?): {0}")]
pub struct EngineError(#[from] mlua::Error);

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

/// Runs server-side scripts.
pub struct ScriptEngine {
    lua: Lua,
    /// What globals scripts see: a read-only proxy.
    environment: Table,
    /// Prelude: `run(body, keys, args)` gives ok and the value or error.
    run: Function,
    /// Prelude: removes what a script smuggled into a proxy.
    scrub: Function,
    compiled: FxHashMap<Sha, Function>,
    /// Memory in use after the last collection.
    settled_bytes: usize,
}

impl fmt::Debug for ScriptEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptEngine")
            .field("compiled", &self.compiled.len())
            .finish_non_exhaustive()
    }
}

impl ScriptEngine {
    /// An engine with nothing compiled.
    pub fn new() -> Result<Self, EngineError> {
        let libraries = StdLib::STRING | StdLib::TABLE | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        lua.set_app_data(Desk::default());
        let native = api::natives(&lua)?;
        let (environment, run, scrub) = lua
            .load(include_str!("prelude.lua"))
            .set_name("=prelude")
            .call(native)?;
        let every = HookTriggers::new().every_nth_instruction(INSTRUCTIONS_PER_CHECK);
        lua.set_global_hook(every, |lua, _| {
            // Copying a string or a table is one instruction, and takes time in
            // proportion to the memory that the script has filled; so does this
            // price. Without it a loop over `s:upper()` ran for minutes.
            let busy = lua.used_memory().saturating_sub(Desk::of(lua).memory_bytes);
            let price = 1 + (busy / BYTES_PER_UNIT) as u64;
            api::charge(lua, u64::from(INSTRUCTIONS_PER_CHECK) * price)?;
            Ok(VmState::Continue)
        })?;
        lua.set_memory_limit(MEMORY_BYTES_MAX)?;
        lua.gc_collect()?;
        Ok(Self {
            settled_bytes: lua.used_memory(),
            lua,
            environment,
            run,
            scrub,
            compiled: FxHashMap::default(),
        })
    }

    /// Compiles a script unless it is already; the error is a whole error line.
    pub(super) fn compile(&mut self, sha: &Sha, source: &[u8]) -> Result<Function, String> {
        if let Some(function) = self.compiled.get(sha) {
            return Ok(function.clone());
        }
        if source.starts_with(b"#!") {
            return Err(
                "ERR lockproof does not model script flags: remove the '#!' line".to_owned(),
            );
        }
        if source.starts_with(b"\x1b") {
            return Err(
                "ERR Error compiling script (new function): bytecode is not accepted".to_owned(),
            );
        }
        if self.compiled.len() >= COMPILED_MAX {
            self.compiled.clear();
            self.collect();
        }
        let chunk = self
            .lua
            .load(source)
            .set_name("@user_script")
            .set_environment(self.environment.clone())
            .into_function();
        let function = chunk.map_err(|error| {
            let text = match error {
                mlua::Error::SyntaxError { message, .. } => message,
                other => other.to_string(),
            };
            let text = convert::one_line(text.as_bytes());
            format!("ERR Error compiling script (new function): {text}")
        })?;
        self.compiled.insert(*sha, function.clone());
        Ok(function)
    }

    /// Runs a script on a server. Commands that it has executed stay executed
    /// when it fails later, as in Redis.
    pub(super) fn run(&mut self, server: &mut Server, job: &Job<'_>) -> Reply {
        let function = match self.compile(&job.sha, job.source) {
            Ok(function) => function,
            Err(line) => return Reply::Error(line),
        };
        let dialect = server.dialect();
        // The callbacks must own what they work on, so the server moves to the
        // desk for the time of the run (an empty one takes its place).
        let memory_bytes = self.lua.used_memory();
        Desk::of(&self.lua).begin(std::mem::take(server), job.connection, memory_bytes);
        let result = self.call(&function, job);
        let (returned, outcome) = Desk::of(&self.lua).end();
        *server = returned;
        let reply = match (outcome.stopped, result) {
            (Some(reason), _) => Reply::Error(reason.to_owned()),
            (None, Ok((true, value))) => convert::to_reply(&value, dialect),
            (None, Ok((false, error))) => {
                Reply::Error(error_line(&error, outcome.line, &job.sha, dialect))
            }
            (None, Err(error)) => Reply::Error(format!(
                "ERR lockproof could not run the script: {}",
                convert::one_line(error.to_string().as_bytes())
            )),
        };
        self.tidy();
        reply
    }

    fn call(&self, function: &Function, job: &Job<'_>) -> mlua::Result<(bool, Value)> {
        let words = |words: &[Bytes]| {
            let strings = words.iter().map(|word| self.lua.create_string(word));
            let strings = strings.collect::<mlua::Result<Vec<_>>>()?;
            self.lua.create_sequence_from(strings)
        };
        self.run
            .call((function, words(job.keys)?, words(job.args)?))
    }

    /// Leaves nothing behind for the next script.
    fn tidy(&mut self) {
        // Fails only for want of memory, and then the next run says so.
        let _ = self.scrub.call::<()>(());
        if self.lua.used_memory() > self.settled_bytes + GARBAGE_BYTES_MAX {
            self.collect();
        }
    }

    fn collect(&mut self) {
        // As above.
        let _ = self.lua.gc_collect();
        self.settled_bytes = self.lua.used_memory();
    }
}

/// The error line of a script that raised.
fn error_line(error: &Value, line: Option<usize>, sha: &Sha, dialect: Dialect) -> String {
    let text = match error {
        Value::Table(table) => match table.raw_get::<Value>("err") {
            Ok(Value::String(text)) => String::from_utf8_lossy(&text.as_bytes()).into_owned(),
            // Redis 7.0.15 itself dies of such an error; later versions say this.
            _ => "ERR unknown error".to_owned(),
        },
        other => match other.to_string() {
            Ok(text) => format!("ERR {text}"),
            Err(_) => "ERR unknown error".to_owned(),
        },
    };
    let place = match (line, dialect) {
        (None, _) => String::new(),
        (Some(line), Dialect::Valkey9) => format!(" script: on @user_script:{line}."),
        (Some(line), _) => format!(" script: {sha}, on @user_script:{line}."),
    };
    convert::one_line((text + &place).as_bytes())
}
