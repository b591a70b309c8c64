//! Reads everything that a suspended program remembers, straight off the stacks.
//!
//! The walk uses Lua's C interface: only there are the locals and temporaries
//! of a suspended coroutine, and only there does it cost microseconds. It calls
//! nothing that can raise an error except `lua_checkstack`, which it calls
//! before it owns anything, and it writes nothing that it does not put back.
//!
//! Identity matters twice. Two references to one table are not two equal
//! tables, because a write through one shows through the other; and two
//! closures that share a variable are not two closures with equal variables.
//! Tables have addresses. Variables (upvalues) have none that Lua 5.1 would
//! tell, so we ask by experiment: put a mark into one and look for it in the
//! other, then put the old value back.

use std::ffi::{CStr, c_char, c_int, c_void};

use mlua::{Function, Lua, MultiValue, Thread, Value, ffi};
use rustc_hash::FxHashMap;

use super::snapshot::{Cell, Frame, FunctionNode, Known, Roots, Slot, Snapshot, Trouble, Val};
use super::vm::{CHUNK, Vm};
use super::words;

const TABLES_DEEP_MAX: usize = 16;
const FRAMES_MAX: usize = 64;
const FUNCTIONS_MAX: c_int = 64;

/// Walks from `roots`. Also gives the closures found, in the order of
/// `Snapshot::functions`, if `closures` is set.
pub(crate) fn capture(
    vm: &Vm,
    known: &Known,
    pins: &Thread,
    roots: &Roots<'_>,
    closures: bool,
) -> mlua::Result<(Result<Snapshot, Trouble>, Vec<Function>)> {
    let mut arguments = MultiValue::with_capacity(8);
    arguments.push_back(Value::Table(vm.time_ms.clone()));
    arguments.push_back(Value::Thread(pins.clone()));
    arguments.extend(roots.values.iter().map(|(_, value)| value.clone()));
    arguments.extend(roots.variables_of.iter().cloned().map(Value::Function));
    let threads = roots.threads.iter();
    arguments.extend(threads.map(|t| Value::Thread((*t).clone())));
    let mut result = Ok(());
    let mut walk = Walk {
        state: std::ptr::null_mut(),
        pins: std::ptr::null_mut(),
        pinned: 0,
        known,
        names: roots.names,
        data_only: false,
        table_ids: FxHashMap::default(),
        path: Vec::new(),
        path_from: 0,
        out: Snapshot::default(),
    };
    // SAFETY: the closure finds its arguments at 1.. on `state`, in the order of
    // `roots`; `run` keeps the stacks balanced and clears them at its end.
    let found: mlua::Variadic<Function> = unsafe {
        vm.lua.exec_raw(arguments, |state| {
            result = walk.run(state, roots, closures);
        })?
    };
    let snapshot = walk.out;
    Ok((result.map(|()| snapshot), found.into()))
}

struct Walk<'a> {
    state: *mut ffi::lua_State,
    /// A coroutine that never runs: its stack keeps the closures found.
    pins: *mut ffi::lua_State,
    pinned: c_int,
    known: &'a Known,
    names: bool,
    /// Functions are refused now.
    data_only: bool,
    table_ids: FxHashMap<usize, usize>,
    /// Tables that the walk is inside of; those before `path_from` are on the
    /// other side of a function and no cycle of data.
    path: Vec<usize>,
    path_from: usize,
    out: Snapshot,
}

fn trouble<T>(message: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble {
        line: 0,
        message: message.into(),
    })
}

// SAFETY of the whole block: every index is one that the function itself pushed
// or was given as absolute and valid; see the module's essay for errors.
impl Walk<'_> {
    unsafe fn run(
        &mut self,
        state: *mut ffi::lua_State,
        roots: &Roots<'_>,
        closures: bool,
    ) -> Result<(), Trouble> {
        let first_thread = 3 + (roots.values.len() + roots.variables_of.len()) as c_int;
        unsafe {
            self.state = state;
            self.pins = ffi::lua_tothread(state, 2);
            ffi::lua_checkstack(state, 8 * TABLES_DEEP_MAX as c_int + FUNCTIONS_MAX);
            ffi::lua_checkstack(self.pins, FUNCTIONS_MAX + 8);
            for (index, _) in (first_thread..).zip(roots.threads) {
                ffi::lua_checkstack(ffi::lua_tothread(state, index), 4);
            }
            ffi::lua_settop(self.pins, 0);
            let result = self.roots(roots, first_thread);
            ffi::lua_settop(state, 0);
            if closures && result.is_ok() {
                ffi::lua_xmove(self.pins, state, self.pinned);
            }
            ffi::lua_settop(self.pins, 0);
            result
        }
    }

    unsafe fn roots(&mut self, roots: &Roots<'_>, first_thread: c_int) -> Result<(), Trouble> {
        unsafe {
            for (index, (name, _)) in (3..).zip(roots.values) {
                self.data_only = roots.first_is_data && index == 3;
                let value = self.value(index).map_err(|mut found| {
                    found.message = format!("`{name}` {}", found.message);
                    found
                })?;
                self.out.values.push(value);
            }
            self.data_only = false;
            for (index, _) in (3 + roots.values.len() as c_int..).zip(roots.variables_of) {
                self.variables_of(index)?;
            }
            for (index, _) in (first_thread..).zip(roots.threads) {
                let thread = ffi::lua_tothread(self.state, index);
                self.frames(thread)?;
            }
            self.find_shared_locals();
        }
        Ok(())
    }

    unsafe fn variables_of(&mut self, index: c_int) -> Result<(), Trouble> {
        for place in 1.. {
            unsafe {
                let name = ffi::lua_getupvalue(self.state, index, place);
                if name.is_null() {
                    break;
                }
                let value = self.value(ffi::lua_gettop(self.state));
                let value = value.map_err(|mut found| {
                    let name = CStr::from_ptr(name).to_string_lossy();
                    found.message = format!("the file-level local `{name}` {}", found.message);
                    found
                })?;
                self.out.values.push(value);
                let name = self.shown(name);
                self.out.names.push(name);
                ffi::lua_pop(self.state, 1);
            }
        }
        Ok(())
    }

    unsafe fn value(&mut self, index: c_int) -> Result<Val, Trouble> {
        let state = self.state;
        unsafe {
            match ffi::lua_type(state, index) {
                ffi::LUA_TNIL => Ok(Val::Nil),
                ffi::LUA_TBOOLEAN => Ok(Val::Bool(ffi::lua_toboolean(state, index) != 0)),
                ffi::LUA_TNUMBER => {
                    let number = ffi::lua_tonumber(state, index);
                    if number.is_nan() {
                        return trouble(
                            "holds `not a number` (0/0), which equals nothing; test before you divide",
                        );
                    }
                    // -0 and 0 are equal for every program.
                    Ok(Val::Number(if number == 0.0 { 0.0 } else { number }))
                }
                ffi::LUA_TSTRING => {
                    let mut length = 0;
                    let text = ffi::lua_tolstring(state, index, &mut length);
                    let start = self.out.bytes.len();
                    let text = std::slice::from_raw_parts(text.cast::<u8>(), length);
                    self.out.bytes.extend_from_slice(text);
                    Ok(Val::Text(start, length))
                }
                ffi::LUA_TTABLE => self.table(index),
                ffi::LUA_TFUNCTION => self.function(index),
                ffi::LUA_TUSERDATA => self.userdata(index),
                _ => trouble("holds something that is not plain data"),
            }
        }
    }

    unsafe fn userdata(&mut self, index: c_int) -> Result<Val, Trouble> {
        unsafe {
            let address = ffi::lua_topointer(self.state, index) as usize;
            if let Some(id) = self.known.by_address.get(&address) {
                return Ok(Val::Known(*id));
            }
            ffi::lua_pushvalue(self.state, index);
            ffi::lua_rawget(self.state, 1);
            let is_time = ffi::lua_type(self.state, -1) == ffi::LUA_TNUMBER;
            let ms = ffi::lua_tonumber(self.state, -1);
            ffi::lua_pop(self.state, 1);
            if is_time {
                return Ok(Val::Time(ms));
            }
        }
        trouble("holds something that is not plain data")
    }

    unsafe fn table(&mut self, index: c_int) -> Result<Val, Trouble> {
        unsafe {
            let address = ffi::lua_topointer(self.state, index) as usize;
            if let Some(&id) = self.table_ids.get(&address) {
                if self.path[self.path_from..].contains(&id) {
                    return trouble("holds a table that contains itself; keep data as a tree");
                }
                return Ok(Val::Table(id));
            }
            if self.path.len() - self.path_from >= TABLES_DEEP_MAX {
                return trouble("holds tables nested more than 16 deep; keep data flat");
            }
            let id = self.out.tables.len();
            self.table_ids.insert(address, id);
            self.out.tables.push(Vec::new());
            self.path.push(id);
            ffi::lua_pushnil(self.state);
            while ffi::lua_next(self.state, index) != 0 {
                let top = ffi::lua_gettop(self.state);
                let key = self.value(top - 1)?;
                if !matches!(key, Val::Number(_) | Val::Text(..) | Val::Bool(_)) {
                    return trouble(
                        "holds a table whose keys are not all texts, numbers or booleans",
                    );
                }
                let value = self.value(top)?;
                self.out.tables[id].push((key, value));
                ffi::lua_pop(self.state, 1);
            }
            self.path.pop();
            Ok(Val::Table(id))
        }
    }

    unsafe fn function(&mut self, index: c_int) -> Result<Val, Trouble> {
        let state = self.state;
        if self.data_only {
            return trouble(
                "holds a function; keep numbers, texts, booleans, times and tables of them",
            );
        }
        unsafe {
            let address = ffi::lua_topointer(state, index) as usize;
            if let Some(id) = self.known.by_address.get(&address) {
                return Ok(Val::Known(*id));
            }
            if words::is_word(state, index) {
                return Ok(Val::Word(self.bound_to(index)));
            }
            let seen = self.out.functions.iter().position(|f| f.address == address);
            if let Some(found) = seen {
                return Ok(Val::Function(found));
            }
            if ffi::lua_iscfunction(state, index) != 0 || self.pinned == FUNCTIONS_MAX {
                return trouble("holds more than 64 functions, or one that is not the file's own");
            }
            let line = self.defined_at(index);
            let id = self.out.functions.len();
            self.out.functions.push(FunctionNode {
                address,
                line,
                cells: Vec::new(),
            });
            ffi::lua_pushvalue(state, index);
            ffi::lua_xmove(state, self.pins, 1);
            self.pinned += 1;
            let pin = self.pinned;
            let path_from = std::mem::replace(&mut self.path_from, self.path.len());
            for place in 1.. {
                let name = ffi::lua_getupvalue(state, index, place);
                if name.is_null() {
                    break;
                }
                let cell = self.cell(name, (pin, place))?;
                self.out.functions[id].cells.push(cell);
                ffi::lua_pop(state, 1);
            }
            self.path_from = path_from;
            Ok(Val::Function(id))
        }
    }

    unsafe fn bound_to(&self, index: c_int) -> [f64; 3] {
        [1, 2, 3].map(|place| unsafe {
            ffi::lua_getupvalue(self.state, index, place);
            let number = ffi::lua_tonumber(self.state, -1);
            ffi::lua_pop(self.state, 1);
            number
        })
    }

    unsafe fn defined_at(&self, index: c_int) -> u32 {
        unsafe {
            let mut about: ffi::lua_Debug = std::mem::zeroed();
            ffi::lua_pushvalue(self.state, index);
            ffi::lua_getinfo(self.state, c">S".as_ptr(), &mut about);
            u32::try_from(about.linedefined).unwrap_or(0)
        }
    }

    /// The variable whose value is on top of the stack.
    unsafe fn cell(&mut self, name: *const c_char, at: (c_int, c_int)) -> Result<usize, Trouble> {
        // Lua 5.1 keeps one copy of each text, so equal names have equal addresses.
        let seen = self.out.cells.iter().position(|cell| {
            cell.name == name
                && unsafe {
                    self.marks(cell.at, |walk| {
                        ffi::lua_getupvalue(walk.pins, at.0, at.1);
                        walk.pins
                    })
                }
        });
        if let Some(found) = seen {
            return Ok(found);
        }
        let id = self.out.cells.len();
        let value = Val::Nil;
        let shown = unsafe { self.shown(name) };
        self.out.cells.push(Cell {
            name,
            shown,
            at,
            value,
        });
        let value = unsafe { self.value(ffi::lua_gettop(self.state))? };
        self.out.cells[id].value = value;
        Ok(id)
    }

    /// A name for messages, if they are wanted.
    unsafe fn shown(&self, name: *const c_char) -> String {
        if !self.names {
            return String::new();
        }
        // SAFETY: Lua's debug names are terminated and live as long as the code.
        unsafe { CStr::from_ptr(name) }
            .to_string_lossy()
            .into_owned()
    }

    /// Puts a mark into the variable at `at`; does it show in the value that
    /// `look` pushes (on the stack that it returns)?
    unsafe fn marks(
        &self,
        at: (c_int, c_int),
        look: impl Fn(&Self) -> *mut ffi::lua_State,
    ) -> bool {
        static MARK: u8 = 0;
        let mark = &raw const MARK as *mut c_void;
        unsafe {
            ffi::lua_getupvalue(self.pins, at.0, at.1);
            ffi::lua_pushlightuserdata(self.pins, mark);
            ffi::lua_setupvalue(self.pins, at.0, at.1);
            let state = look(self);
            let same = ffi::lua_type(state, -1) == ffi::LUA_TLIGHTUSERDATA
                && ffi::lua_touserdata(state, -1) == mark;
            ffi::lua_pop(state, 1);
            ffi::lua_setupvalue(self.pins, at.0, at.1);
            same
        }
    }

    unsafe fn frames(&mut self, thread: *mut ffi::lua_State) -> Result<(), Trouble> {
        let mut frames = Vec::new();
        unsafe {
            let mut about: ffi::lua_Debug = std::mem::zeroed();
            for level in 0.. {
                if ffi::lua_getstack(thread, level, &mut about) == 0 {
                    break;
                }
                ffi::lua_getinfo(thread, c"Sl".as_ptr(), &mut about);
                if CStr::from_ptr(about.source).to_bytes() != CHUNK.as_bytes() {
                    continue; // the word that waits, or the trace of a tail call
                }
                if frames.len() == FRAMES_MAX {
                    return trouble("waits inside more than 64 nested calls; use a loop");
                }
                frames.push(self.frame((thread, level), &about)?);
            }
        }
        self.out.threads.push(frames);
        Ok(())
    }

    unsafe fn frame(
        &mut self,
        place: (*mut ffi::lua_State, c_int),
        about: &ffi::lua_Debug,
    ) -> Result<Frame, Trouble> {
        let thread = place.0;
        let line = u32::try_from(about.currentline).unwrap_or(0);
        let defined = u32::try_from(about.linedefined).unwrap_or(0);
        let mut slots = Vec::new();
        for number in 1.. {
            unsafe {
                let name = ffi::lua_getlocal(thread, about, number);
                if name.is_null() {
                    break;
                }
                ffi::lua_xmove(thread, self.state, 1);
                let value = self
                    .value(ffi::lua_gettop(self.state))
                    .map_err(|found| Trouble {
                        line,
                        message: format!(
                            "the local `{}` {}",
                            CStr::from_ptr(name).to_string_lossy(),
                            found.message
                        ),
                    })?;
                ffi::lua_pop(self.state, 1);
                let shown = self.shown(name);
                slots.push(Slot {
                    name,
                    shown,
                    value,
                    cell: None,
                });
            }
        }
        Ok(Frame {
            defined,
            line,
            slots,
            place,
        })
    }

    /// Marks the locals that closures share.
    unsafe fn find_shared_locals(&mut self) {
        let mut threads = std::mem::take(&mut self.out.threads);
        for frame in threads.iter_mut().flatten() {
            let (thread, level) = frame.place;
            let mut about: ffi::lua_Debug = unsafe { std::mem::zeroed() };
            unsafe { ffi::lua_getstack(thread, level, &mut about) };
            for (slot, number) in frame.slots.iter_mut().zip(1..) {
                slot.cell = self.out.cells.iter().position(|cell| {
                    cell.name == slot.name
                        && unsafe {
                            self.marks(cell.at, |_| {
                                ffi::lua_getlocal(thread, &about, number);
                                thread
                            })
                        }
                });
            }
        }
        self.out.threads = threads;
    }
}

/// The rewritten line of the user's code at which a coroutine stands or
/// failed; 0 if it is in none.
pub(crate) fn line_of(lua: &Lua, coroutine: &Thread) -> u32 {
    let mut line = 0;
    // SAFETY: reads the frames of the coroutine at 1 (Lua 5.1 keeps them after
    // an error) and calls nothing that can fail.
    let looked = unsafe {
        lua.exec_raw::<()>(coroutine, |state| {
            let thread = ffi::lua_tothread(state, 1);
            let mut about: ffi::lua_Debug = std::mem::zeroed();
            let mut level = 0;
            while line == 0 && ffi::lua_getstack(thread, level, &mut about) != 0 {
                ffi::lua_getinfo(thread, c"Sl".as_ptr(), &mut about);
                if CStr::from_ptr(about.source).to_bytes() == CHUNK.as_bytes() {
                    line = u32::try_from(about.currentline).unwrap_or(0);
                }
                level += 1;
            }
            ffi::lua_settop(state, 0);
        })
    };
    // A place is only for the message: without memory to look, there is none.
    looked.map_or(0, |()| line)
}
