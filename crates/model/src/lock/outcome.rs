//! What an operation returns, and what that says.

use lockproof_lua::text::{self, Span};
use lockproof_lua::{Refusal, RefusalKind, Stop, TableId, Value};
use lockproof_trace::Outcome;

use super::error::LockError;
use super::program::Program;
use super::types::*;

/// An outcome, and the validity that it states.
type Said = (Outcome, Option<Span>);

impl Program {
    /// What the running operation returned on this line, as an outcome; and the validity that
    /// it states.
    pub(crate) fn outcome(
        &self,
        value: &Value,
        line: u32,
        output: &mut Output,
    ) -> Result<Said, LockError> {
        let said = match value {
            Value::Table(id) => self.read_outcome(*id, output)?,
            _ => None,
        };
        let op = self.client.op.unwrap_or(Op::Release);
        let outcome = match (value, said) {
            (_, Some(said)) => takes(op, &said.0).then_some(said),
            (Value::Bool(effect), _) if op.mode().is_none() => {
                let effect = Some(*effect);
                Some((Outcome::Done { effect }, None))
            }
            (Value::Nil, _) if op == Op::Release => Some((Outcome::Done { effect: None }, None)),
            _ => None,
        };
        outcome.ok_or_else(|| self.no_outcome(op, value, line))
    }

    /// The operation may not return that.
    fn no_outcome(&self, op: Op, value: &Value, line: u32) -> LockError {
        let may = match op {
            Op::Release => {
                "it may return true (it took effect), false (it did not), nothing (it does not say), \
                 failed(reason) or lost()"
            }
            Op::Renew => "it may return true, false, held{...}, lost() or failed(reason)",
            Op::IsHeld => "it may return true, false, lost() or failed(reason)",
            Op::Acquire | Op::AcquireRead | Op::AcquireWrite | Op::TryAcquire => {
                "it may return held{...}, busy(), failed(reason) or lost()"
            }
        };
        let hint = match value {
            Value::Nil => " (does every way through it return?)",
            Value::Native(_) | Value::Function(_) => " (call it, with parentheses: held())",
            _ => "",
        };
        LockError::Run {
            at: self.shared.file.at(line),
            message: format!("{} returned {}{hint}; {may}", op.name(), self.shown(value)),
        }
    }

    /// A value that was returned, for a message.
    fn shown(&self, value: &Value) -> String {
        match value {
            Value::Nil => "nothing".to_owned(),
            Value::Bool(said) => said.to_string(),
            Value::Number(number) => lockproof_lua::number::to_text(*number),
            Value::Text(text) => format!("{:?}", text::printable(text.bytes())),
            Value::Table(id) => match self.machine.heap.get(*id).field("outcome") {
                Value::Text(name) => format!("{}()", text::printable(name.bytes())),
                _ => "a table".to_owned(),
            },
            other => format!("a {}", other.type_name()),
        }
    }

    fn read_outcome(&self, id: TableId, output: &mut Output) -> Result<Option<Said>, LockError> {
        let table = self.machine.heap.get(id);
        let Value::Text(name) = table.field("outcome") else {
            return Ok(None);
        };
        Ok(match name.bytes() {
            b"held" => {
                let validity = self.validity(&table.field("validity"), output)?;
                let fence = table.field("fence");
                output.fence = stated(&fence);
                let fence = match fence {
                    Value::Number(fence) => Some(fence.floor() as i64),
                    _ => None,
                };
                let held = Outcome::Held {
                    validity_ms: validity.map(|span| self.ms(span)),
                    fence,
                };
                Some((held, validity))
            }
            b"busy" => Some((Outcome::Busy, None)),
            b"failed" => {
                let reason = match table.field("reason") {
                    Value::Text(text) => text::printable(text.bytes()),
                    _ => "failed".to_owned(),
                };
                Some((Outcome::Failed { reason }, None))
            }
            b"lost" => Some((Outcome::Lost, None)),
            _ => None,
        })
    }

    /// A stated validity in whole ms.
    fn validity(&self, value: &Value, output: &mut Output) -> Result<Option<Span>, LockError> {
        let span = match value {
            Value::Number(ms) => Span {
                ms: ms.floor() as i64,
                ticks: 0,
            },
            Value::Duration(duration) if duration.scale == 1.0 => Span {
                ms: duration.ms.floor() as i64,
                ticks: duration.ticks,
            },
            // It is over, whatever it is.
            Value::Beyond(beyond) if !beyond.least && beyond.bound <= 0.0 => {
                Span { ms: -1, ticks: 0 }
            }
            Value::Duration(_) | Value::Beyond(_) => {
                let refusal = Refusal {
                    kind: RefusalKind::Rounding,
                    what: "states a validity that depends on what happens between two ticks, or on times long ago".into(),
                    line: output.line,
                };
                return Err(self.explain(Stop::Refused(refusal)));
            }
            _ => return Ok(None),
        };
        Ok(Some(span))
    }
}

/// The operation may end like this.
fn takes(op: Op, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Held { .. } => op.mode().is_some() || op == Op::Renew,
        Outcome::Busy => op.mode().is_some(),
        Outcome::Failed { .. } | Outcome::Lost => true,
        Outcome::Done { .. } => op.mode().is_none(),
    }
}

/// A fence as the world takes it.
fn stated(fence: &Value) -> Option<Stated> {
    Some(match fence {
        Value::Nil => return None,
        Value::Number(number) if (0.0..=f64::from(Stated::NUMBER_MAX)).contains(number) => {
            Stated::Number(number.floor() as u8)
        }
        other => lockproof_lua::fence_rank(other).map_or(Stated::Other, Stated::Rank),
    })
}
