//! A lock file: load, sandbox, run as a client program.
//!
//! A lock is one Lua 5.1 file in ordinary blocking style. [`LockFile`] is the
//! file; [`Program`] is the file at work as one client, a reactive machine that
//! takes an [`Input`] and gives an [`Output`]. Whoever drives it (the closure, a
//! concrete simulation, the worker on real servers) owns clocks, sockets and
//! the order of things; this module has none of them.
//!
//! | file | what it does |
//! |---|---|
//! | `file`, `registry` | find a file and its scripts, read its fields, hash them |
//! | `source` | one call a line, so that a suspended stack names one instruction |
//! | `vm`, `prelude.lua`, `words`, `banned` | the sandbox: the words, the limits, what is missing and why |
//! | `program`, `run`, `ask` | inputs, threads, timers, outcomes |
//! | `walk`, `snapshot`, `key`, `guard` | what a suspended program remembers, as bytes |
//! | `convert`, `message` | values and errors on their way in and out |
//!
//! Rejected: a small language of our own (nobody could run it against a real
//! server with confidence), and hand-written state machines beside the real
//! code (they drift apart). The guide for users is docs/lock-files.md.

mod ask;
mod banned;
mod convert;
mod error;
mod file;
mod guard;
mod key;
mod message;
mod program;
mod registry;
mod run;
mod snapshot;
mod source;
mod types;
mod vm;
mod walk;
mod words;

pub use error::LockError;
pub use file::{LockFile, NodeCount};
pub use program::Program;
pub use registry::builtin_names;
pub use types::*;
pub use vm::vocabulary;
