//! One Lua state for one client program: the sandbox and its limits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mlua::thread::ThreadStatus;
use mlua::{Function, HookTriggers, Lua, LuaOptions, StdLib, Table, Value, VmState};

use super::banned::BANNED;
use super::error::LockError;
use super::file::{FIELDS, OPERATIONS};
use super::message::Places;
use super::registry::SCRIPTS;
use super::walk;
use super::words;

/// Instructions between two looks of the limiter.
const HOOK_EVERY: u32 = 10_000;
/// Looks that one step may take: a million instructions, some 5 ms.
const HOOKS_A_STEP: u32 = 100;
/// More than any lock needs; Lua 5.1 collects no garbage when it runs out, so
/// the limit leaves room for what one step leaves behind.
const MEMORY_BYTES: usize = 64 << 20;

/// The name of the user's chunk: `@:12:` in Lua's messages is line 12 of the
/// rewritten text, and no text of a user's message looks like it by accident.
pub(crate) const CHUNK: &str = "=@";

/// A Lua state with the sandbox in place.
pub(crate) struct Vm {
    pub lua: Lua,
    environment: Table,
    /// All names that a lock file sees; `self` and `lock` change in it.
    pub words: Table,
    /// Times by their userdata, in absolute ms.
    pub time_ms: Table,
    lock_view: Function,
    /// What is behind `string`, `math` and `table`, and the iterators.
    pub libraries: Table,
    present: Table,
    looks: Arc<AtomicU32>,
}

impl Vm {
    /// A fresh state. Costs some 200 us, so programs are restarted, not rebuilt.
    pub fn new(horizon_ms: i64) -> mlua::Result<Vm> {
        let libraries = StdLib::TABLE | StdLib::STRING | StdLib::MATH;
        let lua = Lua::new_with(libraries, LuaOptions::new().catch_rust_panics(false))?;
        let looks = Arc::new(AtomicU32::new(0));
        let seen = looks.clone();
        lua.set_global_hook(
            HookTriggers::new().every_nth_instruction(HOOK_EVERY),
            move |_, _| {
                if seen.fetch_add(1, Ordering::Relaxed) < HOOKS_A_STEP {
                    return Ok(VmState::Continue);
                }
                Err(mlua::Error::runtime(TOO_LONG))
            },
        )?;
        let banned = lua.create_table()?;
        for (name, hint) in BANNED {
            banned.set(*name, *hint)?;
        }
        let present = lua.create_sequence_from([0.0, horizon_ms as f64])?;
        let (environment, words, time_ms, lock_view, libraries) = lua
            .load(include_str!("prelude.lua"))
            .set_name("=host")
            .call((words::create(&lua)?, &present, banned))?;
        lua.set_memory_limit(MEMORY_BYTES)?;
        Ok(Vm {
            lua,
            environment,
            words,
            time_ms,
            lock_view,
            libraries,
            present,
            looks,
        })
    }

    /// Runs the user's chunk and gives what it returns. It runs as a coroutine,
    /// like everything of the user's, so that errors are placed alike.
    pub fn load(&self, places: &Places<'_>) -> Result<Value, LockError> {
        self.begin_step();
        let chunk = self
            .lua
            .load(&places.rewritten.text)
            .set_name(CHUNK)
            .set_environment(self.environment.clone())
            .into_function()
            .map_err(|error| places.explain(&error, 0))?;
        let coroutine = self.lua.create_thread(chunk)?;
        let result = coroutine.resume::<Value>(());
        let line = || walk::line_of(&self.lua, &coroutine);
        let value = result.map_err(|error| places.explain(&error, line()))?;
        if coroutine.status() == ThreadStatus::Resumable {
            return Err(LockError::Run {
                at: places.at(line()),
                message: "a word that may wait was used while the file is loaded; use it inside an operation"
                    .to_string(),
            });
        }
        Ok(value)
    }

    /// The instruction limit counts anew.
    pub fn begin_step(&self) {
        self.looks.store(0, Ordering::Relaxed);
    }

    /// The client's clock, in ms.
    pub fn set_clock(&self, clock_ms: i64) -> mlua::Result<()> {
        self.present.raw_set(1, clock_ms as f64)
    }

    /// A read-only view of a table; reading a missing field is an error that
    /// starts with `name`.
    pub fn locked(&self, name: &str, content: &Table) -> mlua::Result<Value> {
        self.lock_view.call((name, content))
    }
}

/// All names that a lock file may use: the words, the fields of its table and
/// the built-in scripts, each group in alphabetical order. The guide explains
/// each of them.
pub fn vocabulary() -> Result<Vec<String>, LockError> {
    let vm = Vm::new(1)?;
    let words = vm.words.pairs::<String, Value>();
    let mut words = words
        .map(|pair| Ok(pair?.0))
        .collect::<mlua::Result<Vec<_>>>()?;
    words.sort();
    let fields = FIELDS
        .iter()
        .chain(&OPERATIONS)
        .map(|name| name.to_string());
    let scripts = SCRIPTS.iter().map(|script| script.name.to_string());
    Ok(words.into_iter().chain(fields).chain(scripts).collect())
}

/// What a program is told that never suspends.
pub(crate) const TOO_LONG: &str = "a million instructions without waiting for anything: \
     is this a loop without end? Let it sleep, send a command, or end";
