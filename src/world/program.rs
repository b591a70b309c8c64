//! What the closure needs of a client: one trait, so that a Lua lock file and
//! a hand-coded state machine of the same protocol go the same road and can be
//! compared state for state.

use crate::lock::{Input, LockError, Output, Program, View};

/// A reactive, deterministic client program.
pub trait ClientProgram {
    /// Back to the initial state, at this clock (ms).
    fn restart(&mut self, clock_ms: i64) -> Result<(), LockError>;
    /// One input; everything the program does in answer to it.
    fn step(&mut self, input: &Input) -> Result<Output, LockError>;
    /// The outside view between two inputs.
    fn view(&self) -> View;
    /// The whole local state as bytes, times relative to the present, strings
    /// renamed by `canon`. Equal keys must mean equal futures.
    fn key(&self, canon: &dyn Fn(&[u8]) -> Vec<u8>) -> Result<Vec<u8>, LockError>;
    /// Names and values of the locals, to tell which of them grows.
    fn locals(&self) -> Vec<(String, String)>;
}

impl ClientProgram for Program {
    fn restart(&mut self, clock_ms: i64) -> Result<(), LockError> {
        Program::restart(self, clock_ms)
    }

    fn step(&mut self, input: &Input) -> Result<Output, LockError> {
        Program::step(self, input)
    }

    fn view(&self) -> View {
        Program::view(self)
    }

    fn key(&self, canon: &dyn Fn(&[u8]) -> Vec<u8>) -> Result<Vec<u8>, LockError> {
        Program::key(self, canon)
    }

    fn locals(&self) -> Vec<(String, String)> {
        Program::locals(self).unwrap_or_default()
    }
}
