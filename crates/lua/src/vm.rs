//! Runs a program: one instruction after the other, until it ends or waits.
//!
//! All that a suspended program is lies in a [`Machine`] and in its
//! [`Thread`]s, plain data that can be copied. Nothing of it is on Rust's own
//! stack: a function of the host that makes a program wait returns
//! [`Flow::Wait`], and the run goes on when [`Vm::resume`] is called with what it
//! waited for. Only where the host itself calls a Lua function (a comparison of
//! `table.sort`, a metamethod) can nothing wait.

mod bounds;
mod calls;

pub(crate) use bounds::TOO_LONG;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::arith;
use super::code::{Called, Code, Constant, MANY, Op, Proto, UpFrom};
use super::error::{RefusalKind, Returned, Stop, VmResult};
use super::heap::{Function, Heap, Key, Table};
use super::library;
use super::model::{Clocks, Truth};
use super::value::{FunctionId, Native, TableId, Value};

/// Lua functions that may be inside each other, as LUAI_MAXCALLS.
const CALLS_MAX: usize = 20_000;
/// Calls of Lua functions by the host inside each other, as LUAI_MAXCCALLS.
const NESTED_MAX: usize = 200;
/// Values on the stack of one thread.
const STACK_MAX: usize = 200_000;

/// Lines of a program that were run, noted by all copies of it.
pub type Lines = Arc<[AtomicBool]>;

/// What a program consists of besides its threads.
#[derive(Clone, Debug)]
pub struct Machine {
    pub code: Arc<Code>,
    pub heap: Heap,
    /// The global names.
    pub globals: TableId,
    /// Methods of texts.
    pub text_methods: TableId,
    pub clocks: Clocks,
    /// Work that the run may still do, in instructions (other work converted).
    pub budget: u64,
    /// Bytes of texts and entries of tables that the run may still make.
    pub memory: u64,
    /// Lines that were run, if somebody wants to know.
    pub lines: Option<Lines>,
    /// `next` goes through tables in any order, as in a real server; otherwise in
    /// the order of their keys.
    pub any_order: bool,
    /// The one of the possible orders that this run takes.
    pub order: u32,
    /// How many orders there were to choose from.
    pub orders: u32,
    /// `pcall` makes a text of an error table, as Redis does.
    pub texts_for_errors: bool,
    /// Times are a type of their own, and no numbers.
    pub strict_times: bool,
    /// The highest number of a reading of the wall clock so far. A model's clients keep it low
    /// between two steps.
    pub readings: u16,
}

/// A function that runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Frame {
    pub function: FunctionId,
    pub proto: u32,
    /// The instruction that comes next.
    pub at: u32,
    pub base: u32,
    /// How many values its caller wants.
    pub want: u16,
    pub extra: Vec<Value>,
    /// Values that the last instruction with an open end left.
    pub many: u32,
    /// Calls that it has taken the place of.
    pub tails: u32,
    /// A function of the library or the host called it.
    pub from_host: bool,
}

/// A thread of a program.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Thread {
    pub(super) stack: Vec<Value>,
    pub(super) frames: Vec<Frame>,
}

/// What a host function does.
pub enum Flow {
    Give(Vec<Value>),
    /// The thread waits; the numbers and values are the host's business.
    Wait(Native, Vec<Value>),
}

/// Why a run stands still.
#[derive(Clone, Debug, PartialEq)]
pub enum Pause {
    /// The thread's function has returned, on this line (0 if none is known).
    Ended { values: Vec<Value>, line: u32 },
    /// A host function waits.
    Waits {
        native: Native,
        args: Vec<Value>,
        line: u32,
    },
    /// A comparison of times is open: resume with a boolean.
    Open { line: u32, at_ticks: bool },
}

/// Functions that are not in Lua's library.
pub trait Host {
    /// Calls function `native`.
    ///
    /// # Errors
    /// See [`Stop`].
    fn call(&mut self, vm: &mut Vm<'_>, native: Native, args: Vec<Value>) -> Result<Flow, Stop>;
}

/// A host without functions.
pub struct NoHost;

impl Host for NoHost {
    fn call(&mut self, _: &mut Vm<'_>, _: Native, _: Vec<Value>) -> Result<Flow, Stop> {
        Ok(Flow::Give(Vec::new()))
    }
}

/// A run of one thread.
pub struct Vm<'m> {
    pub machine: &'m mut Machine,
    pub(super) thread: &'m mut Thread,
    nested: usize,
    pub(super) running: Running,
}

/// What runs at the moment.
#[derive(Clone, Debug)]
pub(super) enum Running {
    Lua,
    /// A function of the library or the host, with what its caller calls it.
    Native(Called),
    /// The same, called by another one of them.
    Inner,
}

enum Next {
    On,
    Pause(Pause),
}

impl Thread {
    /// A thread that begins with `function(args..)`.
    pub fn new(function: Value, args: Vec<Value>) -> Thread {
        let mut stack = vec![function];
        stack.extend(args);
        Thread {
            stack,
            frames: Vec::new(),
        }
    }

    /// True before the first instruction.
    pub fn is_new(&self) -> bool {
        self.frames.is_empty()
    }
}

impl<'m> Vm<'m> {
    /// A run of `thread`.
    pub fn new(machine: &'m mut Machine, thread: &'m mut Thread) -> Vm<'m> {
        Vm {
            machine,
            thread,
            nested: 0,
            running: Running::Lua,
        }
    }

    /// Begins the thread, or goes on with what it waited for.
    ///
    /// # Errors
    /// See [`Stop`].
    pub fn resume(&mut self, host: &mut dyn Host, values: Vec<Value>) -> VmResult<Pause> {
        if self.thread.is_new() {
            let args = self.thread.stack.split_off(1);
            let function = self.thread.stack.pop().unwrap_or(Value::Nil);
            match function {
                Value::Function(id) => self.enter(id, args, MANY, 0)?,
                other => {
                    let values = self.call(host, &other, args)?;
                    return Ok(Pause::Ended { values, line: 0 });
                }
            }
        } else {
            self.take_results(values);
        }
        self.run(host, 0)
    }

    /// Calls a value from inside the host. Nothing may wait in it.
    ///
    /// # Errors
    /// See [`Stop`].
    pub fn call(&mut self, host: &mut dyn Host, function: &Value, args: Vec<Value>) -> Returned {
        self.charge(10)?;
        if self.nested >= NESTED_MAX {
            return Err(self.error("C stack overflow"));
        }
        self.nested += 1;
        // A metamethod is called by the instruction that asks for it.
        let inner = match self.running {
            Running::Lua => Running::Native(None),
            _ => Running::Inner,
        };
        let running = std::mem::replace(&mut self.running, inner);
        let result = self.call_inside(host, function, args);
        self.running = running;
        self.nested -= 1;
        result
    }

    fn call_inside(&mut self, host: &mut dyn Host, function: &Value, args: Vec<Value>) -> Returned {
        match function {
            Value::Function(id) => {
                let depth = self.thread.frames.len();
                let height = self.thread.stack.len();
                self.enter(*id, args, MANY, 0)?;
                if let Some(frame) = self.thread.frames.last_mut() {
                    frame.from_host = true;
                }
                self.running = Running::Lua;
                match self.run(host, depth)? {
                    Pause::Ended { values, .. } => {
                        self.thread.stack.truncate(height);
                        Ok(values)
                    }
                    Pause::Open { .. } => Err(self.refuse(
                        RefusalKind::Rounding,
                        "compares times inside a function that Lua's library calls, and the answer depends on what happens between two ticks",
                    )),
                    Pause::Waits { .. } => {
                        Err(self.error("attempt to yield across metamethod/C-call boundary"))
                    }
                }
            }
            Value::Native(native) => match self.native(host, *native, args)? {
                Flow::Give(values) => Ok(values),
                Flow::Wait(..) => {
                    Err(self.error("attempt to yield across metamethod/C-call boundary"))
                }
            },
            other => {
                let (function, args) = self.callable(other.clone(), args, None)?;
                self.call_inside(host, &function, args)
            }
        }
    }

    fn native(&mut self, host: &mut dyn Host, native: Native, args: Vec<Value>) -> VmResult<Flow> {
        self.charge(5)?;
        self.pay_for(&args)?;
        match library::function(native.id) {
            // An iterator of `gmatch`: it is bound to the table of its state.
            Some(function) if native.node > 0 => {
                let state = TableId(native.timeout_us as u32);
                function(self, host, vec![Value::Table(state)]).map(Flow::Give)
            }
            Some(function) => function(self, host, args).map(Flow::Give),
            None => host.call(self, native, args),
        }
    }

    /// The function behind `__call`, with the object as its first argument.
    fn callable(
        &mut self,
        object: Value,
        mut args: Vec<Value>,
        called: Option<&Called>,
    ) -> VmResult<(Value, Vec<Value>)> {
        let meta = self.metamethod(&object, "__call");
        if !matches!(meta, Value::Function(_) | Value::Native(_)) {
            let hidden =
                |called: &&Called| !matches!(called, Some((_, name)) if name.starts_with('('));
            return Err(self.type_error("call", &object, called.filter(hidden)));
        }
        args.insert(0, object);
        Ok((meta, args))
    }

    // ---- the stack ----

    pub(super) fn pop(&mut self) -> Value {
        self.thread.stack.pop().unwrap_or(Value::Nil)
    }

    fn push(&mut self, value: Value) {
        self.thread.stack.push(value);
    }

    fn truth(&mut self, truth: Truth) -> Next {
        match truth {
            Truth::Yes => self.push(Value::Bool(true)),
            Truth::No => self.push(Value::Bool(false)),
            Truth::Open(at_ticks) => {
                let line = self.line();
                return Next::Pause(Pause::Open { line, at_ticks });
            }
        }
        Next::On
    }

    // ---- the loop ----

    fn run(&mut self, host: &mut dyn Host, depth: usize) -> VmResult<Pause> {
        let code = Arc::clone(&self.machine.code);
        loop {
            let Some(frame) = self.thread.frames.last_mut() else {
                let values = Vec::new();
                return Ok(Pause::Ended { values, line: 0 });
            };
            let proto = &code.protos[frame.proto as usize];
            let at = frame.at as usize;
            frame.at += 1;
            let base = frame.base as usize;
            if self.machine.budget == 0 {
                return Err(self.refuse(RefusalKind::Limit, TOO_LONG));
            }
            self.machine.budget -= 1;
            if let Some(lines) = &self.machine.lines
                && let Some(line) = lines.get(proto.lines[at] as usize)
            {
                line.store(true, Ordering::Relaxed);
            }
            match proto.ops[at] {
                Op::Return { count, open } => {
                    if let Some(pause) = self.give_back(count, open, depth) {
                        return Ok(pause);
                    }
                }
                op => {
                    if let Next::Pause(pause) = self.step(host, proto, op, base)? {
                        return Ok(pause);
                    }
                }
            }
        }
    }

    fn step(&mut self, host: &mut dyn Host, proto: &Proto, op: Op, base: usize) -> VmResult<Next> {
        match op {
            Op::Nil => self.push(Value::Nil),
            Op::Bool(value) => self.push(Value::Bool(value)),
            Op::Constant(at) => self.push(constant(proto, at)),
            Op::GetLocal(slot) => {
                let value = self.thread.stack[base + usize::from(slot)].clone();
                self.push(value);
            }
            Op::SetLocal(slot) => {
                let value = self.pop();
                self.thread.stack[base + usize::from(slot)] = value;
            }
            Op::GetCell(slot) => {
                if let Value::Cell(id) = self.thread.stack[base + usize::from(slot)] {
                    let value = self.machine.heap.cell_of(id).clone();
                    self.push(value);
                }
            }
            Op::SetCell(slot) => {
                let value = self.pop();
                if let Value::Cell(id) = self.thread.stack[base + usize::from(slot)] {
                    self.machine.heap.set_cell(id, value);
                }
            }
            Op::MakeCell(slot) => {
                let slot = &mut self.thread.stack[base + usize::from(slot)];
                let value = std::mem::replace(slot, Value::Nil);
                *slot = Value::Cell(self.machine.heap.cell(value));
            }
            Op::GetUp(up) => {
                let id = self.up(up);
                let value = id.map_or(Value::Nil, |id| self.machine.heap.cell_of(id).clone());
                self.push(value);
            }
            Op::SetUp(up) => {
                let value = self.pop();
                if let Some(id) = self.up(up)
                    && !self.machine.heap.set_cell(id, value)
                {
                    let name = &proto.up_names[usize::from(up)];
                    return Err(self.run_error(format!(
                        "the file-level local `{name}` changed while the lock ran; a client's memory \
                         is `self`: write self.{name} instead"
                    )));
                }
            }
            Op::GetGlobal(name) => {
                let key = constant(proto, name);
                let globals = Value::Table(self.machine.globals);
                let value = self.index(host, &globals, &key, None)?;
                self.push(value);
            }
            Op::SetGlobal(name) => {
                let value = self.pop();
                let key = constant(proto, name);
                let globals = Value::Table(self.machine.globals);
                self.set_index(host, &globals, key, value, None)?;
            }
            Op::Index => {
                let key = self.pop();
                let table = self.pop();
                let called = self.called(0);
                let value = self.index(host, &table, &key, called.as_ref())?;
                self.push(value);
            }
            Op::SetIndex => {
                let value = self.pop();
                let key = self.pop();
                let table = self.pop();
                let called = self.called(0);
                self.set_index(host, &table, key, value, called.as_ref())?;
            }
            Op::SetIndexBelow(depth) => {
                let value = self.pop();
                let at = self.thread.stack.len() + 1 - usize::from(depth);
                let (table, key) = (
                    self.thread.stack[at].clone(),
                    self.thread.stack[at + 1].clone(),
                );
                let called = self.called(0);
                self.set_index(host, &table, key, value, called.as_ref())?;
            }
            Op::SetEntry => {
                let value = self.pop();
                let key = self.pop();
                let table = self.thread.stack.last().cloned().unwrap_or(Value::Nil);
                self.set_index(host, &table, key, value, None)?;
            }
            Op::Method(name) => {
                let object = self.pop();
                let key = constant(proto, name);
                let called = self.called(0);
                let method = self.index(host, &object, &key, called.as_ref())?;
                self.push(method);
                self.push(object);
            }
            Op::Arithmetic(op) => {
                let (b, a) = (self.pop(), self.pop());
                self.pay_for([&a, &b])?;
                let value = self.arithmetic(host, op, a, b)?;
                self.push(value);
            }
            Op::Concat(count) => {
                let from = self.thread.stack.len() - usize::from(count);
                let parts = self.thread.stack.split_off(from);
                let value = self.concat(host, parts)?;
                self.push(value);
            }
            Op::Compare(op) => {
                let (b, a) = (self.pop(), self.pop());
                self.pay_for([&a, &b])?;
                let truth = self.compare(host, op, &a, &b)?;
                return Ok(self.truth(truth));
            }
            Op::Negate => {
                let a = self.pop();
                self.pay_for([&a])?;
                let value = self.negate(host, a)?;
                self.push(value);
            }
            Op::Not => {
                let a = self.pop();
                self.push(Value::Bool(!a.is_true()));
            }
            Op::Length => {
                let a = self.pop();
                let value = self.length(&a)?;
                self.push(value);
            }
            Op::Jump(to) => self.jump(to),
            Op::JumpIf(when, to) => {
                if self.pop().is_true() == when {
                    self.jump(to);
                }
            }
            Op::JumpKeep(when, to) => {
                if self.thread.stack.last().is_some_and(Value::is_true) == when {
                    self.jump(to);
                } else {
                    self.pop();
                }
            }
            Op::Call { args, open, want } => return self.do_call(host, args, open, want, false),
            Op::TailCall { args, open } => return self.do_call(host, args, open, MANY, true),
            Op::Vararg(want) => {
                if let Some(frame) = self.thread.frames.last_mut() {
                    let extra = frame.extra.clone();
                    calls::give(&mut self.thread.stack, frame, extra, want);
                }
            }
            Op::Function(index) => self.make_function(index, base)?,
            Op::NewTable => {
                self.allocate(64)?;
                let id = self.machine.heap.table(Table::default());
                self.push(Value::Table(id));
            }
            Op::SetList { from, open } => self.set_list(from, open)?,
            Op::ForPrepare { slot, exit } => self.for_prepare(base + usize::from(slot), exit)?,
            Op::ForLoop { slot, back } => self.for_loop(base + usize::from(slot), back),
            Op::Pop(count) => {
                let left = self.thread.stack.len() - usize::from(count);
                self.thread.stack.truncate(left);
            }
            Op::Return { .. } => {}
        }
        Ok(Next::On)
    }

    fn jump(&mut self, to: u32) {
        if let Some(frame) = self.thread.frames.last_mut() {
            frame.at = to;
        }
    }

    fn up(&self, up: u16) -> Option<super::value::CellId> {
        let frame = self.thread.frames.last()?;
        let function = self.machine.heap.function_of(frame.function);
        function.cells.get(usize::from(up)).copied()
    }

    fn make_function(&mut self, index: u32, base: usize) -> VmResult<()> {
        self.allocate(64)?;
        let code = Arc::clone(&self.machine.code);
        let mut cells = Vec::new();
        for up in &code.protos[index as usize].ups {
            let cell = match up {
                UpFrom::Slot(slot) => match self.thread.stack[base + usize::from(*slot)] {
                    Value::Cell(id) => Some(id),
                    _ => None,
                },
                UpFrom::Up(up) => self.up(*up),
            };
            cells.extend(cell);
        }
        let function = Function {
            proto: index,
            cells,
        };
        let id = self.machine.heap.function(function);
        self.push(Value::Function(id));
        Ok(())
    }

    fn set_list(&mut self, from: u32, open: bool) -> VmResult<()> {
        let count = match (open, self.thread.frames.last()) {
            (true, Some(frame)) => frame.many as usize,
            _ => 1,
        };
        self.allocate(count * 24)?;
        let at = self.thread.stack.len() - count;
        let values = self.thread.stack.split_off(at);
        if let Some(Value::Table(id)) = self.thread.stack.last()
            && let Some(table) = self.machine.heap.get_mut(*id)
        {
            // A constructor sizes the list for all of its values, holes too.
            if table.list.len() + 1 == from as usize {
                table.list.extend(values);
            } else {
                for (offset, value) in values.into_iter().enumerate() {
                    let number = Value::Number(f64::from(from) + offset as f64);
                    if let Some(key) = Key::of(&number) {
                        table.set(key, value);
                    }
                }
            }
        }
        Ok(())
    }

    fn for_prepare(&mut self, slot: usize, exit: u32) -> VmResult<()> {
        for (index, what) in ["initial", "limit", "step"].into_iter().enumerate() {
            let value = self.thread.stack[slot + index].clone();
            self.pay_for([&value])?;
            match arith::to_number(&value, &self.machine.clocks) {
                Ok(Some(Value::Number(number))) => {
                    self.thread.stack[slot + index] = Value::Number(number);
                }
                Ok(Some(_)) => {
                    return Err(self.refuse(
                        RefusalKind::Rounding,
                        "counts a loop with a time, a measured duration or the length of a token",
                    ));
                }
                Ok(None) => {
                    let value = if what == "initial" {
                        "initial value"
                    } else {
                        what
                    };
                    return Err(self.run_error(format!("'for' {value} must be a number")));
                }
                Err(refusal) => return Err(self.refused(refusal)),
            }
        }
        if !self.goes_on(slot) {
            self.jump(exit);
        }
        Ok(())
    }

    fn goes_on(&self, slot: usize) -> bool {
        let number = |at: usize| match self.thread.stack[slot + at] {
            Value::Number(number) => number,
            _ => f64::NAN,
        };
        let (now, limit, step) = (number(0), number(1), number(2));
        if step > 0.0 {
            now <= limit
        } else {
            limit <= now
        }
    }

    fn for_loop(&mut self, slot: usize, back: u32) {
        if let (Value::Number(now), Value::Number(step)) =
            (&self.thread.stack[slot], &self.thread.stack[slot + 2])
        {
            self.thread.stack[slot] = Value::Number(now + step);
        }
        if self.goes_on(slot) {
            self.jump(back);
        }
    }
}

fn constant(proto: &Proto, at: u32) -> Value {
    match &proto.constants[at as usize] {
        Constant::Number(number) => Value::Number(*number),
        Constant::Text(text) => Value::Text(text.clone()),
    }
}
