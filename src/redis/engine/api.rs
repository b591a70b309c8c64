//! What scripts can call, and the desk on which the server lies meanwhile.

use mlua::{AppDataRefMut, Lua, Table, Value, Variadic};
use sha1::{Digest, Sha1};

use super::convert::{field, to_lua};
use super::{BUDGET, pattern};
use crate::redis::command::dispatch_from_script;
use crate::redis::number::argument_text;
use crate::redis::{Bytes, Dialect, Reply, Server};

/// Steps of a pattern match that cost as much as one instruction.
const PATTERN_STEPS_PER_UNIT: u64 = 4;

/// The state of the run in progress.
#[derive(Default)]
pub(super) struct Desk {
    server: Server,
    connection: u32,
    /// Memory in use when the run began.
    pub memory_bytes: usize,
    /// Work done so far, out of [`BUDGET`].
    spent: u64,
    outcome: Outcome,
}

/// What a run leaves beside its value.
#[derive(Default)]
pub(super) struct Outcome {
    /// The error line, if a bound stopped the run.
    pub stopped: Option<&'static str>,
    /// The script's line at which the error was raised that ended it.
    pub line: Option<usize>,
}

impl Desk {
    /// The desk of this Lua.
    pub(super) fn of(lua: &Lua) -> AppDataRefMut<'_, Self> {
        // The engine puts one there when it is created, and every borrow ends
        // before Lua runs on.
        lua.app_data_mut()
            .expect("an engine without a desk, or a desk borrowed twice: a bug in lockproof")
    }

    pub(super) fn begin(&mut self, server: Server, connection: u32, memory_bytes: usize) {
        *self = Self {
            server,
            connection,
            memory_bytes,
            ..Self::default()
        };
    }

    pub(super) fn end(&mut self) -> (Server, Outcome) {
        let desk = std::mem::take(self);
        (desk.server, desk.outcome)
    }
}

/// An error of `redis.call` and its kin. It travels through Lua as a native
/// value, because only native functions stay visible as the caller of a tail
/// call (`return redis.call(...)`), and the line must be found; the prelude
/// makes it the table that Redis would have raised wherever a script looks.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
struct Raised(String);

fn raised(line: impl Into<String>) -> mlua::Error {
    mlua::Error::external(Raised(line.into()))
}

/// Adds to the work done; fails once there has been too much, and ever after.
pub(super) fn charge(lua: &Lua, work: u64) -> mlua::Result<()> {
    let mut desk = Desk::of(lua);
    desk.spent = desk.spent.saturating_add(work);
    if desk.spent > BUDGET {
        let stopped = desk.outcome.stopped.get_or_insert(
            "ERR lockproof stopped the script: it ran for too long (is there an endless loop?)",
        );
        return Err(raised(*stopped));
    }
    Ok(())
}

/// The table of functions that the prelude builds on.
pub(super) fn natives(lua: &Lua) -> mlua::Result<Table> {
    let native = lua.create_table()?;
    native.set("call", lua.create_function(call)?)?;
    native.set("pcall", lua.create_function(protected_call)?)?;
    native.set("sha1hex", lua.create_function(sha1hex)?)?;
    native.set("error_reply", lua.create_function(error_reply)?)?;
    native.set("status_reply", lua.create_function(status_reply)?)?;
    native.set("log", lua.create_function(log)?)?;
    native.set("setresp", lua.create_function(setresp)?)?;
    native.set("charge", lua.create_function(charge_number)?)?;
    native.set("patterns", lua.create_function(charge_pattern)?)?;
    native.set("go_on", lua.create_function(|lua, ()| charge(lua, 0))?)?;
    native.set("visible", lua.create_function(visible)?)?;
    native.set("mark", lua.create_function(mark)?)?;
    Ok(native)
}

/// Executes a script's command; the error is what is wrong with the call itself.
fn execute(lua: &Lua, words: &Variadic<Value>) -> Result<Reply, String> {
    let mut desk = Desk::of(lua);
    let Desk {
        server, connection, ..
    } = &mut *desk;
    let dialect = server.dialect();
    let valkey = dialect == Dialect::Valkey9;
    if words.is_empty() {
        return Err(if valkey {
            "ERR Please specify at least one argument for this call".to_owned()
        } else {
            "ERR Please specify at least one argument for this redis lib call".to_owned()
        });
    }
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.as_bytes().to_vec()),
        Value::Integer(value) => Some(argument_text(*value as f64, dialect).into_bytes()),
        Value::Number(value) => Some(argument_text(*value, dialect).into_bytes()),
        _ => None,
    };
    let argv: Option<Vec<Bytes>> = words.iter().map(word).collect();
    let Some(argv) = argv else {
        return Err(if valkey {
            "ERR Command arguments must be strings or integers".to_owned()
        } else {
            "ERR Lua redis lib command arguments must be strings or integers".to_owned()
        });
    };
    Ok(dispatch_from_script(server, *connection, &argv))
}

/// `redis.call`: an error reply is raised.
fn call(lua: &Lua, words: Variadic<Value>) -> mlua::Result<Value> {
    match execute(lua, &words) {
        Ok(Reply::Error(line)) | Err(line) => Err(raised(line)),
        Ok(reply) => to_lua(lua, reply),
    }
}

/// `redis.pcall`: an error reply is a table.
fn protected_call(lua: &Lua, words: Variadic<Value>) -> mlua::Result<Value> {
    to_lua(lua, execute(lua, &words).unwrap_or_else(Reply::Error))
}

/// A string, or a number in Lua's own notation; what else C's `lua_tolstring`
/// gives nothing for is empty.
fn text(lua: &Lua, value: &Value) -> mlua::Result<Bytes> {
    let text = lua.coerce_string(value.clone())?;
    Ok(text.map_or(Bytes::new(), |text| text.as_bytes().to_vec()))
}

fn sha1hex(lua: &Lua, words: Variadic<Value>) -> mlua::Result<String> {
    let [word] = words.as_slice() else {
        return Err(raised("ERR wrong number of arguments"));
    };
    Ok(super::Sha(Sha1::digest(text(lua, word)?).into()).to_string())
}

/// `redis.error_reply`: a text without a space gets the code `ERR`; a leading
/// `-` is dropped.
fn error_reply(lua: &Lua, words: Variadic<Value>) -> mlua::Result<Table> {
    let [Value::String(text)] = words.as_slice() else {
        return field(lua, "err", b"ERR wrong number or type of arguments");
    };
    let text = text.as_bytes();
    let text = text.strip_prefix(b"-").unwrap_or(&text);
    if text.contains(&b' ') {
        field(lua, "err", text)
    } else {
        field(lua, "err", &[b"ERR ", text].concat())
    }
}

fn status_reply(lua: &Lua, words: Variadic<Value>) -> mlua::Result<Table> {
    match words.as_slice() {
        [Value::String(text)] => field(lua, "ok", &text.as_bytes()),
        _ => field(lua, "err", b"ERR wrong number or type of arguments"),
    }
}

/// `redis.log` checks its arguments; there is no log to write to.
fn log(lua: &Lua, words: Variadic<Value>) -> mlua::Result<()> {
    let dialect = Desk::of(lua).server.dialect();
    if words.len() < 2 {
        return Err(raised(if dialect == Dialect::Valkey9 {
            "ERR server.log() requires two arguments or more."
        } else {
            "ERR redis.log() requires two arguments or more."
        }));
    }
    let level = match &words[0] {
        Value::Integer(level) => *level as f64,
        Value::Number(level) => *level,
        _ => {
            return Err(raised("ERR First argument must be a number (log level)."));
        }
    };
    if !(0.0..4.0).contains(&level.trunc()) {
        return Err(raised(if dialect == Dialect::Redis70 {
            "ERR Invalid debug level."
        } else {
            "ERR Invalid log level."
        }));
    }
    Ok(())
}

/// `redis.setresp`: the model speaks RESP2 only.
fn setresp(lua: &Lua, words: Variadic<Value>) -> mlua::Result<()> {
    let [version] = words.as_slice() else {
        let valkey = Desk::of(lua).server.dialect() == Dialect::Valkey9;
        let library = if valkey { "server" } else { "redis" };
        return Err(raised(format!(
            "ERR {library}.setresp() requires one argument."
        )));
    };
    match lua.coerce_number(version.clone())?.map(f64::trunc) {
        Some(2.0) => Ok(()),
        Some(3.0) => Err(raised("ERR lockproof does not model RESP3 in scripts")),
        _ => Err(raised("ERR RESP version must be 2 or 3.")),
    }
}

/// `native.charge(units)`.
fn charge_number(lua: &Lua, units: f64) -> mlua::Result<()> {
    // A cast saturates, and NaN costs nothing because no loop runs on it.
    charge(lua, units as u64)
}

/// `native.patterns(subject, pattern)`. Wrong types are left to the matcher,
/// whose message is the one that Redis would give.
fn charge_pattern(lua: &Lua, (subject, pattern): (Value, Value)) -> mlua::Result<()> {
    let length = text(lua, &subject)?.len();
    let steps = pattern::worst_case_steps(&text(lua, &pattern)?, length);
    if steps / PATTERN_STEPS_PER_UNIT > BUDGET {
        Desk::of(lua).outcome.stopped.get_or_insert(
            "ERR lockproof stopped the script: a Lua pattern has so many repetitions that \
             matching it could take for ever",
        );
        return charge(lua, BUDGET + 1);
    }
    charge(lua, steps / PATTERN_STEPS_PER_UNIT)
}

/// `native.visible(error)`: what a script sees of an error it caught.
fn visible(lua: &Lua, error: Value) -> mlua::Result<Value> {
    let Value::Error(native) = &error else {
        return Ok(error);
    };
    match native.downcast_ref::<Raised>() {
        Some(Raised(line)) => Ok(Value::Table(field(lua, "err", line.as_bytes())?)),
        None => Ok(Value::String(lua.create_string(native.to_string())?)),
    }
}

/// The handler of errors that end a script: notes the script's line.
fn mark(lua: &Lua, error: Value) -> mlua::Result<Value> {
    let line_at = |level| {
        lua.inspect_stack(level, |frame| {
            let script = frame.source().source.as_deref() == Some("@user_script");
            script.then(|| frame.current_line()).flatten()
        })
    };
    // Frames end where `inspect_stack` gives nothing.
    let line = (0..).map_while(line_at).flatten().next();
    Desk::of(lua).outcome.line = line;
    visible(lua, error)
}
