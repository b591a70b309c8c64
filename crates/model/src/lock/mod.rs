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
//! | `file`, `library`, `registry` | find a file and its scripts, hash them |
//! | `fields`, `shape`, `servers` | what stands in the table that it returns |
//! | `words`, `banned` | the names that a file sees, what is missing and why |
//! | `program`, `run`, `ask` | inputs, threads, timers |
//! | `transactions` | WATCH and `multi` |
//! | `outcome` | what an operation returns |
//! | `names`, `readings` | tokens, and readings of its clock, that a program remembers |
//! | `keys` | what a lock's keys are |
//! | `objects` | two lock objects of each client |
//! | `callers`, `handle` | two callers of one process, and the handle that they share |
//! | `about` | what its file says of it to readers |
//! | `mutate` | small changes of a lock, each a lock of its own |
//!
//! Rejected: a small language of our own (nobody could run it against a real
//! server with confidence), and hand-written state machines beside the real
//! code (they drift apart). The guide for users is docs/lock-files.md.

mod about;
mod ask;
mod banned;
mod callers;
mod cancel;
mod error;
mod fences;
mod fields;
mod file;
mod handle;
mod keys;
mod library;
mod mutate;
mod names;
mod objects;
mod outcome;
mod program;
mod readings;
mod registry;
mod run;
mod servers;
mod shape;
mod transactions;
mod types;
mod words;

pub use about::About;
pub use callers::Callers;
pub use error::LockError;
pub use file::LockFile;
pub use handle::{Exchange, Plain};
pub use keys::{Keys, Role};
pub use mutate::{Mutant, Operator};
pub use names::Kept;
pub(crate) use names::{KEPT_MAX, sends_kept};
pub use objects::Objects;
pub use program::Program;
pub use registry::{SETUPS, Setup, builtin_names};
pub use servers::{NodeCount, ServerKind};
pub use types::*;
pub use words::vocabulary;
