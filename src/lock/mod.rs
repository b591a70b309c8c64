//! A lock file: load, sandbox, run as a client program.

mod types;
pub use types::*;
