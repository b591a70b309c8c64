//! A program's whole state: made, settled, written down as bytes, renamed.

use std::sync::Arc;

use super::code::Code;
use super::heap::{Function, Heap, Key, Table};
use super::model::{Clocks, Known, view};
use super::text::{self, Far, Piece, Span, Symbol, Text};
use super::value::{Moment, TableId, Time, Value};
use super::vm::{Machine, Thread};

/// Work that a run may do unless somebody says otherwise, in instructions.
pub const BUDGET: u64 = 1_000_000;
/// Bytes that a run may fill unless somebody says otherwise.
pub const MEMORY: u64 = 16 << 20;
/// Of a value that is shown to people: tables within tables, and entries of each.
const DISPLAY_DEPTH: usize = 3;
const DISPLAY_PARTS: usize = 8;

impl Machine {
    /// A machine for a compiled program, with no global names yet.
    pub fn new(code: Arc<Code>) -> Machine {
        let mut heap = Heap::default();
        let globals = heap.table(Table::default());
        let text_methods = heap.table(Table::default());
        let start = Moment::default();
        Machine {
            code,
            heap,
            globals,
            text_methods,
            clocks: Clocks {
                wall: start,
                monotonic: start,
                scale: None,
            },
            budget: BUDGET,
            memory: MEMORY,
            lines: None,
            any_order: false,
            order: 0,
            orders: 1,
            texts_for_errors: false,
            strict_times: false,
            readings: 0,
        }
    }

    /// Sets a global name, before the heap is frozen.
    pub fn set_global(&mut self, name: &str, value: Value) {
        let globals = self.globals;
        self.set_field(globals, name, value);
    }

    /// Sets a field of a table that is not frozen.
    pub fn set_field(&mut self, table: TableId, name: &str, value: Value) {
        if let Some(table) = self.heap.get_mut(table) {
            table.set(Key::Text(Text::from(name)), value);
        }
    }

    /// The program itself as a function.
    pub fn main(&mut self) -> Value {
        let function = Function {
            proto: self.code.main(),
            cells: Vec::new(),
        };
        Value::Function(self.heap.function(function))
    }

    /// The line where a function begins.
    pub fn line_of(&self, function: &Value) -> u32 {
        match function {
            Value::Function(id) => {
                let proto = self.heap.function_of(*id).proto;
                self.code.protos[proto as usize].line
            }
            _ => 0,
        }
    }

    /// Forgets locals that are out of sight, numbers the heap anew and drops what
    /// neither the threads nor `values` reach.
    pub fn settle(&mut self, threads: &mut [&mut Thread], values: &mut [&mut Value]) {
        for thread in threads.iter_mut() {
            self.forget_dead(thread);
        }
        self.heap.settle(|keep| {
            for value in values.iter_mut() {
                keep(value);
            }
            for thread in threads.iter_mut() {
                for frame in &mut thread.frames {
                    let mut function = Value::Function(frame.function);
                    keep(&mut function);
                    if let Value::Function(id) = function {
                        frame.function = id;
                    }
                    frame.extra.iter_mut().for_each(&mut *keep);
                }
                thread.stack.iter_mut().for_each(&mut *keep);
            }
        });
    }

    fn forget_dead(&self, thread: &mut Thread) {
        for frame in &thread.frames {
            let proto = &self.code.protos[frame.proto as usize];
            // The instruction that waits has been counted already.
            let at = (frame.at as usize).saturating_sub(1);
            let mut live = vec![false; usize::from(proto.slots)];
            for scope in proto.in_sight(at) {
                live[usize::from(scope.slot)] = true;
            }
            for (slot, live) in live.into_iter().enumerate() {
                if !live {
                    thread.stack[frame.base as usize + slot] = Value::Nil;
                }
            }
        }
    }

    /// Calls `f` with every value of the state.
    pub fn for_each_value(
        &mut self,
        threads: &mut [&mut Thread],
        values: &mut [&mut Value],
        f: &mut dyn FnMut(&mut Value),
    ) {
        self.heap.for_each_value(f);
        for value in values.iter_mut() {
            f(value);
        }
        for thread in threads.iter_mut() {
            thread.stack.iter_mut().for_each(&mut *f);
            for frame in &mut thread.frames {
                frame.extra.iter_mut().for_each(&mut *f);
            }
        }
    }

    /// A text as it comes in with a reply of server `node`.
    pub fn incoming(&self, text: &[u8], node: u8) -> Text {
        if self.clocks.scale.is_none() || !text.contains(&text::MARK) {
            return Text::plain(text);
        }
        let now = self.clocks.wall;
        Text::symbolic(text::map_symbols(text, |symbol, out| {
            match symbol {
                Symbol::Time(span, reading) => {
                    let span = Span {
                        ms: span.ms + now.ms,
                        ticks: span.ticks + now.tick,
                    };
                    Symbol::Time(span, reading)
                }
                Symbol::Far(far) => Symbol::Far(Far {
                    node,
                    read: self.clocks.monotonic.tick,
                    ..far
                }),
                other => other,
            }
            .write(out);
        }))
    }

    /// A text as it goes out with a command.
    pub fn outgoing(&self, text: &Text) -> Vec<u8> {
        if !text.is_symbolic() {
            return text.bytes().to_vec();
        }
        text::map_symbols(text.bytes(), |symbol, out| {
            self.relative(symbol).write(out);
        })
    }

    /// A value as a part of a text; `None` for what cannot be one.
    ///
    /// # Errors
    /// If the text depends on what the model does not have.
    pub fn text_of(&self, value: &Value) -> Result<Option<Text>, super::error::Refusal> {
        super::arith::to_text(value, &self.clocks)
    }

    /// A symbol as seen from the present.
    fn relative(&self, symbol: Symbol) -> Symbol {
        match self.clocks.time_of(symbol) {
            Some(time) => match self.clocks.know(time) {
                Known::At(_, span) => Symbol::Time(span, time.reading()),
                Known::Past(_, far) | Known::Future(_, far) => Symbol::Far(Far { read: 0, ..far }),
            },
            None => symbol,
        }
    }

    /// Writes the state down: equal bytes mean equal futures. The heap must be
    /// settled with the same threads and values.
    /// Gives how far ahead the furthest time in it lies, in ms.
    pub fn write_key(&self, threads: &[&Thread], values: &[&Value], out: &mut Vec<u8>) -> i64 {
        let mut writer = Writer {
            machine: self,
            out,
            names: Vec::new(),
            ahead_ms: 0,
        };
        for value in values {
            writer.value(value);
        }
        for thread in threads {
            writer.thread(thread);
        }
        let live = self.heap.live();
        for table in &live.tables {
            writer.number(table.list.len() as i64);
            table.list.iter().for_each(|value| writer.value(value));
            writer.number(table.rest.len() as i64);
            for (key, value) in &table.rest {
                writer.value(&key.value());
                writer.value(value);
            }
        }
        for function in &live.functions {
            writer.number(i64::from(function.proto));
            for cell in &function.cells {
                writer.number(i64::from(cell.0));
            }
        }
        live.cells.iter().for_each(|value| writer.value(value));
        writer.ahead_ms
    }

    /// Names and values of the locals of a thread, innermost function first, each
    /// with the line that waits.
    pub fn locals(&self, thread: &Thread) -> Vec<(String, u32, Value)> {
        let mut found = Vec::new();
        for frame in thread.frames.iter().rev() {
            let proto = &self.code.protos[frame.proto as usize];
            let at = (frame.at as usize).saturating_sub(1);
            let line = proto.lines.get(at).copied().unwrap_or(0);
            for scope in proto.in_sight(at).filter(|s| !s.name.starts_with('(')) {
                let value = &thread.stack[frame.base as usize + usize::from(scope.slot)];
                let value = match value {
                    Value::Cell(id) => self.heap.cell_of(*id).clone(),
                    other => other.clone(),
                };
                found.push((scope.name.clone(), line, value));
            }
        }
        found
    }

    /// A value for people. Of tables in tables in tables nothing is shown: they may be as deep
    /// as the memory, or contain themselves.
    pub fn display(&self, value: &Value) -> String {
        self.display_within(value, DISPLAY_DEPTH)
    }

    fn display_within(&self, value: &Value, depth: usize) -> String {
        match value {
            Value::Nil => "nil".into(),
            Value::Bool(value) => value.to_string(),
            Value::Number(number) => super::number::to_text(*number),
            Value::Text(text) => format!("{:?}", text::printable(&self.outgoing(text))),
            Value::Time(time) => match self.clocks.know(*time) {
                Known::At(_, span) => match self.clocks.ms(span) {
                    0 => "now()".into(),
                    later @ 1.. => format!("now() + {later}"),
                    earlier => format!("now() - {}", -earlier),
                },
                Known::Past(..) => "a time long ago".into(),
                Known::Future(..) => "a time far ahead".into(),
            },
            Value::Duration(duration) => {
                let ticks =
                    f64::from(duration.ticks) * self.clocks.ms(Span { ms: 0, ticks: 1 }) as f64;
                super::number::to_text((duration.ms + ticks) * duration.scale)
            }
            Value::Beyond(beyond) if beyond.least => format!("more than {}", beyond.bound),
            Value::Beyond(beyond) => format!("less than {}", beyond.bound),
            Value::Offset(_) => "the length of a text with a token in it".into(),
            Value::Part(_) => "a part of TIME".into(),
            Value::Table(_) if depth == 0 => "{...}".into(),
            Value::Table(id) => self.display_table(self.heap.get(*id), depth - 1),
            Value::Function(_) | Value::Native(_) | Value::Cell(_) => "a function".into(),
        }
    }

    fn display_table(&self, table: &Table, depth: usize) -> String {
        let shown = |value: &Value| self.display_within(value, depth);
        let list = table.list.iter().map(shown);
        let rest = table
            .rest
            .iter()
            .map(|(key, value)| format!("[{}] = {}", shown(&key.value()), shown(value)));
        let mut parts: Vec<String> = list.chain(rest).take(DISPLAY_PARTS).collect();
        let more = table.list.len() + table.rest.len() - parts.len();
        if more > 0 {
            parts.push(format!("and {more} more"));
        }
        format!("{{{}}}", parts.join(", "))
    }
}

/// Writes a state as bytes.
struct Writer<'a> {
    machine: &'a Machine,
    out: &'a mut Vec<u8>,
    /// Remembered names in the order in which they are met: their numbers in a
    /// state are arbitrary.
    names: Vec<text::Name>,
    /// The furthest time ahead that was met, in ms.
    ahead_ms: i64,
}

impl Writer<'_> {
    fn number(&mut self, number: i64) {
        self.out.extend_from_slice(&number.to_le_bytes());
    }

    fn thread(&mut self, thread: &Thread) {
        self.number(thread.frames.len() as i64);
        for frame in &thread.frames {
            self.number(i64::from(frame.function.0));
            self.number(i64::from(frame.at));
            self.number(i64::from(frame.base));
            self.number(i64::from(frame.want));
            self.number(frame.extra.len() as i64);
            frame.extra.iter().for_each(|value| self.value(value));
        }
        self.number(thread.stack.len() as i64);
        thread.stack.iter().for_each(|value| self.value(value));
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Nil => self.out.push(0),
            Value::Bool(value) => self.out.push(1 + u8::from(*value)),
            Value::Number(number) => {
                self.out.push(3);
                let number = if *number == 0.0 { 0.0 } else { *number };
                self.out.extend_from_slice(&number.to_le_bytes());
            }
            Value::Text(text) => {
                self.out.push(4);
                self.text(text);
            }
            Value::Time(time) => {
                self.out.push(5);
                self.time(*time);
            }
            Value::Table(id) => {
                self.out.push(6);
                self.number(i64::from(id.0));
            }
            Value::Function(id) => {
                self.out.push(7);
                self.number(i64::from(id.0));
            }
            Value::Native(native) => {
                self.out.push(8);
                self.number(i64::from(native.id) << 16 | i64::from(native.node));
                self.number(native.timeout_us);
            }
            Value::Cell(id) => {
                self.out.push(9);
                self.number(i64::from(id.0));
            }
            Value::Duration(duration) => {
                self.out.push(10);
                self.out.extend_from_slice(&duration.ms.to_le_bytes());
                self.number(i64::from(duration.ticks));
                self.out.extend_from_slice(&duration.scale.to_le_bytes());
            }
            Value::Beyond(beyond) => {
                self.out.push(11 + u8::from(beyond.least));
                self.out.extend_from_slice(&beyond.bound.to_le_bytes());
            }
            // No script is written down, and none else has it.
            Value::Part(part) => {
                self.out.push(14);
                self.number(i64::from(part.answer));
                for number in [part.seconds, part.micros, f64::from(u8::from(part.whole))] {
                    self.out.extend_from_slice(&number.to_le_bytes());
                }
                self.time(Time::At(super::value::Clock::Wall, part.at));
            }
            Value::Offset(place) => {
                self.out.push(13);
                self.number(place.plain);
                for symbol in &place.symbols {
                    self.symbol(*symbol);
                }
            }
        }
    }

    fn time(&mut self, time: Time) {
        let clocks = &self.machine.clocks;
        match clocks.know(time) {
            Known::At(clock, span) => {
                self.ahead_ms = self.ahead_ms.max(clocks.ms(span));
                self.out.push(clock as u8);
                self.number(span.ms);
                self.number(i64::from(span.ticks));
                self.out.extend(time.reading().bytes());
            }
            Known::Past(bound, far) | Known::Future(bound, far) => {
                self.out.push(2 + u8::from(far.future));
                self.number(bound.ms);
                self.far(far);
            }
        }
    }

    fn far(&mut self, far: Far) {
        let clocks = &self.machine.clocks;
        self.number(i64::from(far.place) << 8 | i64::from(far.node));
        // Once it cannot be recognised any more, it does not matter for how long.
        let age = clocks.monotonic.tick - far.read;
        let known = clocks.same_far(far, far);
        self.number(if known { i64::from(age) } else { i64::MAX });
    }

    fn text(&mut self, text: &Text) {
        if !text.is_symbolic() {
            self.number(text.bytes().len() as i64);
            self.out.extend_from_slice(text.bytes());
            return;
        }
        self.number(-1);
        for piece in text::pieces(text.bytes()) {
            match piece {
                Piece::Plain(bytes) => {
                    self.number(bytes.len() as i64);
                    self.out.extend_from_slice(bytes);
                }
                Piece::Symbol(symbol) => self.symbol(symbol),
            }
        }
        self.number(-2);
    }

    fn symbol(&mut self, symbol: Symbol) {
        self.number(-3);
        if let Some(time) = self.machine.clocks.time_of(symbol) {
            return self.time(time);
        }
        match symbol {
            Symbol::Name(name) if is_remembered(name.who) => {
                let known = self.names.iter().position(|known| *known == name);
                let number = known.unwrap_or_else(|| {
                    self.names.push(name);
                    self.names.len() - 1
                });
                self.out.extend([name.kind as u8, name.who, name.mark >> 4]);
                self.number(number as i64);
            }
            other => other.write(self.out),
        }
    }
}

/// A name that only the program itself still knows.
pub fn is_remembered(who: u8) -> bool {
    matches!(who, view::OLDER_REMEMBERED | view::FOREIGN_REMEMBERED)
}
