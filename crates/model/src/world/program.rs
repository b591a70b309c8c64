//! What the closure needs of a client: one trait, so that a Lua lock file and
//! a hand-coded state machine of the same protocol go the same road and can be
//! compared state for state.

use crate::lock::{Input, LockError, Op, Output, Program, View};

/// A reactive, deterministic client program that can be copied.
pub trait ClientProgram: Send + Sync {
    /// A copy that goes on from here by itself.
    fn fork(&self) -> Box<dyn ClientProgram>;
    /// One input; everything the program does in answer to it.
    ///
    /// # Errors
    /// If the program fails, or depends on what the model does not have.
    fn step(&mut self, input: &Input) -> Result<Output, LockError>;
    /// The outside view between two inputs.
    fn view(&self) -> View;
    /// The whole local state as bytes. Equal keys must mean equal futures.
    fn key(&self) -> Vec<u8>;
    /// Names and values of the locals, to tell which of them grows.
    fn locals(&self) -> Vec<(String, String)>;
    /// The operations that it has.
    fn operations(&self) -> Vec<Op> {
        vec![Op::Acquire, Op::Release]
    }
    /// Rewrites the rank of every fence that it remembers.
    fn map_fences(&mut self, _f: &mut dyn FnMut(u8) -> u8) {}
    /// The name of a script that it sends, for messages.
    fn script_name(&self, _text: &[u8]) -> Option<String> {
        None
    }
}

impl ClientProgram for Program {
    fn fork(&self) -> Box<dyn ClientProgram> {
        Box::new(self.clone())
    }

    fn step(&mut self, input: &Input) -> Result<Output, LockError> {
        Program::step(self, input)
    }

    fn view(&self) -> View {
        Program::view(self)
    }

    fn key(&self) -> Vec<u8> {
        Program::key(self)
    }

    fn locals(&self) -> Vec<(String, String)> {
        Program::locals(self)
    }

    fn operations(&self) -> Vec<Op> {
        self.file().operations().to_vec()
    }

    fn map_fences(&mut self, f: &mut dyn FnMut(u8) -> u8) {
        Program::map_fences(self, f);
    }

    fn script_name(&self, text: &[u8]) -> Option<String> {
        let mut scripts = self.file().scripts.iter();
        let sha = |source: &str| lockproof_redis::script_sha(source.as_bytes());
        let found = scripts.find(|(_, source)| {
            source.as_bytes() == text || text.len() == 40 && sha(source).as_bytes() == text
        });
        found.map(|(name, _)| name.clone())
    }
}
