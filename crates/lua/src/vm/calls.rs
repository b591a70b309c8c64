//! How a function is entered and left.

use std::sync::Arc;

use super::{CALLS_MAX, Flow, Frame, Host, Next, Pause, Running, STACK_MAX, Vm};
use crate::code::{MANY, Op};
use crate::error::VmResult;
use crate::heap::{Key, Table};
use crate::text::Text;
use crate::value::{FunctionId, Value};

impl Vm<'_> {
    pub(super) fn enter(
        &mut self,
        id: FunctionId,
        mut args: Vec<Value>,
        want: u16,
        tails: u32,
    ) -> VmResult<()> {
        if self.thread.frames.len() >= CALLS_MAX || self.thread.stack.len() >= STACK_MAX {
            return Err(self.run_error("stack overflow"));
        }
        let number = self.machine.heap.function_of(id).proto;
        let code = Arc::clone(&self.machine.code);
        let proto = &code.protos[number as usize];
        let params = usize::from(proto.params);
        let mut extra = Vec::new();
        if args.len() > params {
            let rest = args.split_off(params);
            if proto.vararg {
                extra = rest;
            }
        }
        args.resize(params, Value::Nil);
        if proto.arg {
            let mut table = Table::default();
            let count = extra.len() as f64;
            for (index, value) in extra.iter().enumerate() {
                if let Some(key) = Key::of(&Value::Number(index as f64 + 1.0)) {
                    table.set(key, value.clone());
                }
            }
            table.set(Key::Text(Text::from("n")), Value::Number(count));
            args.push(Value::Table(self.machine.heap.table(table)));
        }
        let base = self.thread.stack.len() as u32;
        args.resize(usize::from(proto.slots).max(args.len()), Value::Nil);
        self.thread.stack.extend(args);
        self.thread.frames.push(Frame {
            function: id,
            proto: number,
            at: 0,
            base,
            want,
            extra,
            many: 0,
            tails,
            from_host: false,
        });
        Ok(())
    }

    /// The results of a call that the innermost frame has made.
    pub(super) fn take_results(&mut self, values: Vec<Value>) {
        let Some(frame) = self.thread.frames.last_mut() else {
            self.thread.stack.extend(values);
            return;
        };
        let code = &self.machine.code.protos[frame.proto as usize].ops;
        let want = match code.get((frame.at as usize).saturating_sub(1)) {
            Some(Op::Call { want, .. }) => *want,
            Some(Op::TailCall { .. }) => MANY,
            _ => 1,
        };
        give(&mut self.thread.stack, frame, values, want);
    }

    pub(super) fn do_call(
        &mut self,
        host: &mut dyn Host,
        args: u16,
        open: bool,
        want: u16,
        tail: bool,
    ) -> VmResult<Next> {
        let many = match (open, self.thread.frames.last()) {
            (true, Some(frame)) => frame.many as usize,
            _ => 0,
        };
        let count = usize::from(args) + many;
        let from = self.thread.stack.len() - count;
        let args = self.thread.stack.split_off(from);
        let function = self.pop();
        let (function, args) = match function {
            Value::Function(_) | Value::Native(_) => (function, args),
            other => {
                let called = self.called(0);
                self.callable(other, args, called.as_ref())?
            }
        };
        match function {
            Value::Function(id) if tail => {
                let Some(frame) = self.thread.frames.pop() else {
                    return Ok(Next::On);
                };
                self.thread.stack.truncate(frame.base as usize);
                self.enter(id, args, frame.want, frame.tails + 1)?;
                Ok(Next::On)
            }
            Value::Function(id) => {
                self.enter(id, args, want, 0)?;
                Ok(Next::On)
            }
            Value::Native(native) => {
                let called = self.called(0).unwrap_or(None);
                self.running = Running::Native(called);
                let flow = self.native(host, native, args);
                self.running = Running::Lua;
                match flow? {
                    Flow::Give(values) => {
                        self.take_results(values);
                        Ok(Next::On)
                    }
                    Flow::Wait(native, args) => {
                        let line = self.line();
                        Ok(Next::Pause(Pause::Waits { native, args, line }))
                    }
                }
            }
            _ => Ok(Next::On),
        }
    }

    pub(super) fn give_back(&mut self, count: u16, open: bool, depth: usize) -> Option<Pause> {
        let line = match self.thread.frames.len() == depth + 1 {
            true => self.line(),
            false => 0,
        };
        let frame = self.thread.frames.pop()?;
        let many = if open { frame.many as usize } else { 0 };
        let from = self.thread.stack.len() - usize::from(count) - many;
        let values = self.thread.stack.split_off(from);
        self.thread.stack.truncate(frame.base as usize);
        if self.thread.frames.len() == depth {
            return Some(Pause::Ended { values, line });
        }
        if let Some(caller) = self.thread.frames.last_mut() {
            give(&mut self.thread.stack, caller, values, frame.want);
        }
        None
    }
}

/// Hands values to whoever wants so many.
pub(super) fn give(stack: &mut Vec<Value>, frame: &mut Frame, mut values: Vec<Value>, want: u16) {
    if want == MANY {
        frame.many = values.len() as u32;
    } else {
        values.resize(usize::from(want), Value::Nil);
    }
    stack.extend(values);
}
