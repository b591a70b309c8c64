//! The words of a lock file that suspend the thread that says them.
//!
//! They are C functions and not Lua functions, for two reasons. A suspended
//! stack then holds nothing but the user's own frames, so the local state needs
//! no knowledge of our prelude. And a tail call (`return redis(...)`) of a C
//! function keeps the caller's frame, so the line that waits is still known;
//! calling a Lua function there would have replaced it.
//!
//! Each word pushes, behind the arguments that it was given: its number, the
//! user's (rewritten) line, the server and the time-out, and yields them all.

use std::ffi::c_int;

use mlua::ffi;
use mlua::{Function, Lua, Table};

/// What a suspended thread asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Word {
    Redis,
    Script,
    Sleep,
    Random,
    Wait,
    Subscribe,
    Unsubscribe,
    Spawn,
    Every,
    Stop,
    Error,
    Held,
    Busy,
    Failed,
    Lost,
}

impl Word {
    /// The one list of them: the order is that of the numbers.
    pub const ALL: [(Word, &'static str); 15] = [
        (Word::Redis, "redis"),
        (Word::Script, "script"),
        (Word::Sleep, "sleep"),
        (Word::Random, "random"),
        (Word::Wait, "wait"),
        (Word::Subscribe, "subscribe"),
        (Word::Unsubscribe, "unsubscribe"),
        (Word::Spawn, "spawn"),
        (Word::Every, "every"),
        (Word::Stop, "stop"),
        (Word::Error, "error"),
        (Word::Held, "held"),
        (Word::Busy, "busy"),
        (Word::Failed, "failed"),
        (Word::Lost, "lost"),
    ];

    pub fn from_number(number: i64) -> Option<Word> {
        let (word, _) = Word::ALL.get(usize::try_from(number).ok()?)?;
        Some(*word)
    }

    pub fn name(self) -> &'static str {
        Word::ALL[self as usize].1
    }
}

/// A table of all words, on server 1 with the default time-out, and for the
/// prelude `_numbers` (the words' numbers by name) and `_bind`, which makes a word
/// for another server out of its number, the server and the time-out.
pub(crate) fn create(lua: &Lua) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for (word, name) in Word::ALL {
        table.set(name, bound(lua, word, 1, -1.0)?)?;
    }
    // SAFETY: pushes one C function without variables; Lua runs it protected.
    let bind: Function =
        unsafe { lua.exec_raw((), |state| ffi::lua_pushcclosure(state, bind, 0))? };
    table.set("_bind", bind)?;
    let numbers = lua.create_table()?;
    for (word, name) in Word::ALL {
        numbers.set(name, word as u8)?;
    }
    table.set("_numbers", numbers)?;
    Ok(table)
}

/// A word bound to a server (from 1) and a time-out in ms (-1: the default).
fn bound(lua: &Lua, word: Word, node: i64, timeout: f64) -> mlua::Result<Function> {
    let values = (word as u8 as i64, node, timeout);
    // SAFETY: the closure finds its three values on the stack and replaces them
    // by one C closure; Lua runs it protected and it holds no Rust value.
    unsafe { lua.exec_raw(values, |state| ffi::lua_pushcclosure(state, suspend, 3)) }
}

/// Is the C function at `index` a word made by [`bound`]?
///
/// # Safety
/// `index` must be a valid stack index of `state`.
pub(crate) unsafe fn is_word(state: *mut ffi::lua_State, index: c_int) -> bool {
    // SAFETY: reads one stack slot, which the caller vouches for.
    let function = unsafe { ffi::lua_tocfunction(state, index) };
    function.is_some_and(|f| std::ptr::fn_addr_eq(f, suspend as ffi::lua_CFunction))
}

unsafe extern "C-unwind" fn bind(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: the prelude passes three numbers, and nobody else has this function.
    unsafe {
        ffi::lua_settop(state, 3);
        ffi::lua_pushcclosure(state, suspend, 3);
    }
    1
}

unsafe extern "C-unwind" fn suspend(state: *mut ffi::lua_State) -> c_int {
    // SAFETY: Lua calls this with a valid state and room for LUA_MINSTACK (20)
    // values; more arguments are met by checkstack. The frame owns no Rust value,
    // so an error of lua_yield (no coroutine, a C call between) may unwind it.
    unsafe {
        let mut frame: ffi::lua_Debug = std::mem::zeroed();
        let mut line = 0;
        if ffi::lua_getstack(state, 1, &mut frame) != 0
            && ffi::lua_getinfo(state, c"l".as_ptr(), &mut frame) != 0
        {
            line = frame.currentline;
        }
        let arguments = ffi::lua_gettop(state);
        ffi::luaL_checkstack(state, 4, c"too many arguments".as_ptr());
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(1));
        ffi::lua_pushinteger(state, line as ffi::lua_Integer);
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(2));
        ffi::lua_pushvalue(state, ffi::lua_upvalueindex(3));
        ffi::lua_yield(state, arguments + 4)
    }
}
