//! What a suspended program remembers, as plain data: the result of [`walk`](super::walk).
//!
//! Texts, tables, functions and variables are kept once and named by an index,
//! so that sharing stays visible: what is reached twice has one index.

use std::ffi::{c_char, c_int, c_void};

use mlua::{Function, Thread, Value, ffi};
use rustc_hash::FxHashMap;

use super::error::LockError;
use super::message::Places;

/// A value; texts, tables, functions and variables are kept in the [`Snapshot`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Val {
    Nil,
    Bool(bool),
    Number(f64),
    /// Start and length in `Snapshot::bytes`.
    Text(usize, usize),
    /// Absolute ms on the client's clock.
    Time(f64),
    Table(usize),
    Function(usize),
    /// A word bound to a server: its number, the server, the time-out.
    Word([f64; 3]),
    /// Something that never changes: an index into the [`Known`] names.
    Known(u32),
}

/// A closure of the user's file that was made while an operation ran.
#[derive(Debug)]
pub(crate) struct FunctionNode {
    pub address: usize,
    /// The rewritten line where it is defined.
    pub line: u32,
    /// Its variables, as indexes into `Snapshot::cells`.
    pub cells: Vec<usize>,
}

/// One variable (upvalue), which several closures may share.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(super) name: *const c_char,
    /// Its name, for messages.
    pub shown: String,
    /// A closure that has it (its place on the pin stack) and the place there.
    pub(super) at: (c_int, c_int),
    pub value: Val,
}

/// A local or a temporary of a frame.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(super) name: *const c_char,
    pub shown: String,
    pub value: Val,
    /// Set if a closure shares this local.
    pub cell: Option<usize>,
}

/// A frame of the user's code.
pub(crate) struct Frame {
    pub defined: u32,
    pub line: u32,
    pub slots: Vec<Slot>,
    pub(super) place: (*mut ffi::lua_State, c_int),
}

/// Everything reachable from the roots that were given.
#[derive(Default)]
pub(crate) struct Snapshot {
    pub bytes: Vec<u8>,
    pub tables: Vec<Vec<(Val, Val)>>,
    pub functions: Vec<FunctionNode>,
    pub cells: Vec<Cell>,
    /// The values asked for, in order, then the variables asked for.
    pub values: Vec<Val>,
    /// Names of the variables asked for.
    pub names: Vec<String>,
    /// For each thread asked for, its frames from the innermost.
    pub threads: Vec<Vec<Frame>>,
}

/// Things that never change, by address: words, library functions, the locked
/// tables and the functions that the file makes when it is loaded.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(super) by_address: FxHashMap<usize, u32>,
    pub names: Vec<String>,
}

impl Known {
    pub fn add(&mut self, address: *const c_void, name: impl Into<String>) {
        let id = self.names.len() as u32;
        if self.by_address.insert(address as usize, id).is_none() {
            self.names.push(name.into());
        }
    }
}

/// Something that a local state may not contain.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// The rewritten line, 0 if none is known.
    pub line: u32,
    pub message: String,
}

/// What a walk starts from.
#[derive(Default)]
pub(crate) struct Roots<'a> {
    /// Values, each with its name for messages.
    pub values: &'a [(&'a str, Value)],
    /// Functions whose variables are wanted as values.
    pub variables_of: &'a [Function],
    /// Suspended coroutines.
    pub threads: &'a [&'a Thread],
    /// The first of `values` may hold no functions.
    pub first_is_data: bool,
    /// Names of locals are only needed for messages, and cost time.
    pub names: bool,
}

impl Trouble {
    pub fn into_error(self, places: &Places<'_>) -> LockError {
        LockError::Run {
            at: places.at(self.line),
            message: self.message,
        }
    }
}
