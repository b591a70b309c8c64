//! What a run may use, and the words of its errors.

use super::{Running, Vm};
use crate::code::Called;
use crate::error::{Refusal, RefusalKind, Stop, VmResult};
use crate::value::Value;

pub(crate) const TOO_LONG: &str = "runs for too long without waiting for anything";
pub(crate) const TOO_LARGE: &str = "needs more memory than the model gives it";

impl Vm<'_> {
    // ---- bounds ----

    /// Does so much work.
    ///
    /// # Errors
    /// If it was too much.
    pub fn charge(&mut self, work: u64) -> VmResult<()> {
        match self.machine.budget.checked_sub(work) {
            Some(left) => {
                self.machine.budget = left;
                Ok(())
            }
            None => {
                self.machine.budget = 0;
                Err(self.refuse(RefusalKind::Limit, TOO_LONG))
            }
        }
    }

    /// Takes so much memory.
    ///
    /// # Errors
    /// If it was too much.
    pub fn allocate(&mut self, bytes: usize) -> VmResult<()> {
        let bytes = bytes as u64;
        let Some(left) = self.machine.memory.checked_sub(bytes) else {
            return Err(self.refuse(RefusalKind::Limit, TOO_LARGE));
        };
        self.charge(bytes / 64)?;
        self.machine.memory = left;
        Ok(())
    }

    /// Pays for reading these values: whatever looks at a long text takes long, be it a
    /// function, a comparison, a key or a text that stands for a number.
    pub(crate) fn pay_for<'v>(
        &mut self,
        values: impl IntoIterator<Item = &'v Value>,
    ) -> VmResult<()> {
        let bytes = values.into_iter().map(|value| match value {
            Value::Text(text) => text.bytes().len() as u64,
            _ => 0,
        });
        match bytes.sum::<u64>() / 64 {
            0 => Ok(()),
            work => self.charge(work),
        }
    }

    // ---- errors ----

    /// The line where the innermost Lua function stands.
    pub fn line(&self) -> u32 {
        let frame = self.thread.frames.last();
        frame.map_or(0, |frame| {
            let proto = &self.machine.code.protos[frame.proto as usize];
            let at = (frame.at as usize).saturating_sub(1);
            proto.lines.get(at).copied().unwrap_or(0)
        })
    }

    /// An error of Lua's own: the place stands in front if a Lua function called.
    pub fn error(&self, message: impl AsRef<str>) -> Stop {
        let line = self.line();
        let text = match matches!(self.running, Running::Native(_)) && line > 0 {
            true => format!("{}:{line}: {}", self.machine.code.name, message.as_ref()),
            false => message.as_ref().to_owned(),
        };
        Stop::Raised {
            value: Value::text(text),
            line,
        }
    }

    /// An error of an instruction.
    pub(crate) fn run_error(&self, message: impl AsRef<str>) -> Stop {
        let line = self.line();
        let text = match self.running {
            Running::Lua => format!("{}:{line}: {}", self.machine.code.name, message.as_ref()),
            _ => message.as_ref().to_owned(),
        };
        Stop::Raised {
            value: Value::text(text),
            line,
        }
    }

    /// Something that the model cannot answer.
    pub fn refuse(&self, kind: RefusalKind, what: impl Into<String>) -> Stop {
        self.refused(Refusal::new(kind, what))
    }

    /// A refusal, or anything else, with the line where the program stands.
    pub fn at_line(&self, stop: Stop) -> Stop {
        match stop {
            Stop::Refused(refusal) => self.refused(refusal),
            other => other,
        }
    }

    pub(crate) fn refused(&self, refusal: Refusal) -> Stop {
        let line = match refusal.line {
            0 => self.line(),
            line => line,
        };
        Stop::Refused(Refusal { line, ..refusal })
    }

    pub(crate) fn type_error(&self, what: &str, value: &Value, called: Option<&Called>) -> Stop {
        let kind = self.type_of(value);
        self.run_error(match called {
            Some(Some((sort, name))) => {
                format!("attempt to {what} {sort} '{name}' (a {kind} value)")
            }
            _ => format!("attempt to {what} a {kind} value"),
        })
    }

    /// What Lua's `type` says; times are a type of their own for lock files.
    pub(crate) fn type_of(&self, value: &Value) -> &'static str {
        match value {
            Value::Time(_) if self.machine.strict_times => "time",
            value => value.type_name(),
        }
    }

    pub(super) fn called(&self, operand: usize) -> Option<Called> {
        let frame = self.thread.frames.last()?;
        let proto = &self.machine.code.protos[frame.proto as usize];
        let at = (frame.at as usize).checked_sub(1)?;
        proto.called(at).get(operand).cloned()
    }
}
