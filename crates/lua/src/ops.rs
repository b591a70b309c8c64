//! The instructions that look at values: indexing, arithmetic, comparison, with
//! metatables as Lua 5.1 asks them.

use super::arith::{self, Odd};
use super::ast::Binary;
use super::compare;
use super::heap::Key;
use super::model::Truth;
use super::text::Text;
use super::value::{Offset, Value};
use super::vm::{Host, Vm};
use crate::error::{RefusalKind, Stop, VmResult};
use std::sync::Arc;

/// Tables behind tables, as MAXTAGLOOP.
const CHAIN_MAX: usize = 100;

const TIME_AS_KEY: &str =
    "uses a time, a measured duration or the length of a token as the key of a table";

const BEYOND_AS_KEY: &str = "uses as the key of a table the difference of two times that lie too far apart, or a counter in Redis that grew beyond what the model holds";

type Called = super::code::Called;

impl Vm<'_> {
    /// The field `event` of a value's metatable.
    pub(super) fn metamethod(&self, value: &Value, event: &str) -> Value {
        match value {
            Value::Table(id) => {
                let meta = self.machine.heap.get(*id).meta;
                meta.map_or(Value::Nil, |meta| self.machine.heap.get(meta).field(event))
            }
            Value::Text(_) if event == "__index" => Value::Table(self.machine.text_methods),
            _ => Value::Nil,
        }
    }

    /// A value as a key; texts with symbols must be told from those in the table.
    fn key(&self, table: super::value::TableId, key: &Value) -> VmResult<Option<Key>> {
        match key {
            Value::Text(text) if text.is_symbolic() => {
                if super::text::has_open_reading(text.bytes()) {
                    return Err(self.refuse(RefusalKind::Digits, TIME_AS_KEY));
                }
                // Of these equal letters do not say that they are one.
                let lost = super::text::has_lost(text.bytes());
                for known in self.machine.heap.get(table).rest.keys() {
                    if let Key::Text(known) = known
                        && (known != text || lost)
                        && known.is_symbolic()
                    {
                        match compare::equal_texts(known, text, &self.machine.clocks) {
                            Ok(Truth::No) => {}
                            Ok(_) => return Err(self.refuse(RefusalKind::Rounding, TIME_AS_KEY)),
                            Err(refusal) => return Err(self.refused(refusal)),
                        }
                    }
                }
                Ok(Key::of(key))
            }
            Value::Beyond(_) => Err(self.refuse(RefusalKind::Horizon, BEYOND_AS_KEY)),
            Value::Time(_) | Value::Duration(_) | Value::Offset(_) | Value::Part(_) => {
                Err(self.refuse(RefusalKind::Digits, TIME_AS_KEY))
            }
            _ => Ok(Key::of(key)),
        }
    }

    /// `table[key]`.
    pub(super) fn index(
        &mut self,
        host: &mut dyn Host,
        table: &Value,
        key: &Value,
        called: Option<&Called>,
    ) -> VmResult<Value> {
        self.pay_for([key])?;
        let mut at = table.clone();
        for _ in 0..CHAIN_MAX {
            if let Value::Table(id) = at {
                if let Some(key) = self.key(id, key)? {
                    let found = self.machine.heap.get(id).get(&key);
                    if found != Value::Nil {
                        return Ok(found);
                    }
                }
                match self.metamethod(&at, "__index") {
                    Value::Nil => return Ok(Value::Nil),
                    next @ (Value::Function(_) | Value::Native(_)) => {
                        let found = self.call(host, &next, vec![at, key.clone()])?;
                        return Ok(found.into_iter().next().unwrap_or(Value::Nil));
                    }
                    next => at = next,
                }
                continue;
            }
            match self.metamethod(&at, "__index") {
                Value::Nil => return Err(self.type_error("index", &at, called)),
                next => at = next,
            }
        }
        Err(self.run_error("loop in gettable"))
    }

    /// `table[key] = value`.
    pub(super) fn set_index(
        &mut self,
        host: &mut dyn Host,
        table: &Value,
        key: Value,
        value: Value,
        called: Option<&Called>,
    ) -> VmResult<()> {
        self.pay_for([&key])?;
        let mut at = table.clone();
        for _ in 0..CHAIN_MAX {
            let Value::Table(id) = at else {
                match self.metamethod(&at, "__newindex") {
                    Value::Nil => return Err(self.type_error("index", &at, called)),
                    next => at = next,
                }
                continue;
            };
            let place = self.key(id, &key)?;
            let held = self.machine.heap.get(id);
            // Who locked a table says what to do instead, also of what is in it.
            let there = !held.locked
                && place
                    .as_ref()
                    .is_some_and(|key| held.get(key) != Value::Nil);
            let next = match there {
                true => Value::Nil,
                false => self.metamethod(&at, "__newindex"),
            };
            match next {
                Value::Nil => return self.raw_set(id, place, &key, value),
                next @ (Value::Function(_) | Value::Native(_)) => {
                    self.call(host, &next, vec![at, key, value])?;
                    return Ok(());
                }
                next => at = next,
            }
        }
        Err(self.run_error("loop in settable"))
    }

    fn raw_set(
        &mut self,
        id: super::value::TableId,
        place: Option<Key>,
        key: &Value,
        value: Value,
    ) -> VmResult<()> {
        let Some(place) = place else {
            return Err(self.run_error(match key {
                Value::Nil => "table index is nil",
                _ => "table index is NaN",
            }));
        };
        self.allocate(32)?;
        match self.machine.heap.open_mut(id) {
            Some(table) => {
                table.set(place, value);
                Ok(())
            }
            None => Err(self.frozen()),
        }
    }

    /// What was made while the file was loaded cannot be changed.
    pub(super) fn frozen(&self) -> Stop {
        self.run_error("Attempt to modify a readonly table")
    }

    /// Sets a field without metatables, for the library.
    pub(super) fn set_raw(
        &mut self,
        id: super::value::TableId,
        key: &Value,
        value: Value,
    ) -> VmResult<()> {
        let place = self.key(id, key)?;
        self.raw_set(id, place, key, value)
    }

    /// A field without metatables.
    pub(super) fn get_raw(&self, id: super::value::TableId, key: &Value) -> VmResult<Value> {
        let place = self.key(id, key)?;
        Ok(place.map_or(Value::Nil, |key| self.machine.heap.get(id).get(&key)))
    }

    /// A number, or what the model has for one.
    ///
    /// # Errors
    /// If that depends on what the model does not have.
    pub fn number(&self, value: &Value) -> VmResult<Option<Value>> {
        arith::to_number(value, &self.machine.clocks).map_err(|refusal| self.refused(refusal))
    }

    pub(super) fn arithmetic(
        &mut self,
        host: &mut dyn Host,
        op: Binary,
        a: Value,
        b: Value,
    ) -> VmResult<Value> {
        if let (Value::Number(x), Value::Number(y)) = (&a, &b) {
            let odd = arith::arithmetic(
                op,
                &Value::Number(*x),
                &Value::Number(*y),
                &self.machine.clocks,
            );
            if let Ok(value) = odd {
                return Ok(value);
            }
        }
        if let (Some(x), Some(y)) = (self.number(&a)?, self.number(&b)?) {
            match arith::arithmetic(op, &x, &y, &self.machine.clocks) {
                Ok(value) => return Ok(value),
                Err(Odd::Refused(refusal)) => return Err(self.refused(refusal)),
                Err(Odd::Type) => {}
            }
        }
        let event = match op {
            Binary::Add => "__add",
            Binary::Sub => "__sub",
            Binary::Mul => "__mul",
            Binary::Div => "__div",
            Binary::Mod => "__mod",
            _ => "__pow",
        };
        if let Some(value) = self.binary_event(host, event, &a, &b)? {
            return Ok(value);
        }
        // Lua speaks of the second operand if the first is a number.
        let first = self.number(&a)?.is_none();
        let (culprit, operand) = if first { (&a, 0) } else { (&b, 1) };
        let called = self.operand(operand);
        Err(self.type_error("perform arithmetic on", culprit, called.as_ref()))
    }

    fn operand(&self, index: usize) -> Option<Called> {
        let frame = self.thread.frames.last()?;
        let proto = &self.machine.code.protos[frame.proto as usize];
        let at = (frame.at as usize).checked_sub(1)?;
        proto.called(at).get(index).cloned()
    }

    fn binary_event(
        &mut self,
        host: &mut dyn Host,
        event: &str,
        a: &Value,
        b: &Value,
    ) -> VmResult<Option<Value>> {
        let mut method = self.metamethod(a, event);
        if method == Value::Nil {
            method = self.metamethod(b, event);
        }
        if method == Value::Nil {
            return Ok(None);
        }
        let found = self.call(host, &method, vec![a.clone(), b.clone()])?;
        Ok(Some(found.into_iter().next().unwrap_or(Value::Nil)))
    }

    pub(super) fn negate(&mut self, host: &mut dyn Host, a: Value) -> VmResult<Value> {
        if let Some(number) = self.number(&a)? {
            match arith::negate(&number) {
                Ok(value) => return Ok(value),
                Err(Odd::Refused(refusal)) => return Err(self.refused(refusal)),
                Err(Odd::Type) => {}
            }
        }
        if let Some(value) = self.binary_event(host, "__unm", &a, &a)? {
            return Ok(value);
        }
        let called = self.operand(0);
        Err(self.type_error("perform arithmetic on", &a, called.as_ref()))
    }

    pub(super) fn length(&mut self, a: &Value) -> VmResult<Value> {
        match a {
            Value::Table(id) => Ok(Value::Number(self.length_of(*id)? as f64)),
            Value::Text(text) => Ok(length_of(text)),
            other => {
                let called = self.operand(0);
                Err(self.type_error("get length of", other, called.as_ref()))
            }
        }
    }

    /// The length of a list.
    pub(super) fn length_of(&self, id: super::value::TableId) -> VmResult<i64> {
        let table = self.machine.heap.get(id);
        match table.has_holes() {
            false => Ok(table.length() as i64),
            true => Err(self.refuse(
                RefusalKind::Order,
                "takes the length of a list with holes, which depends on how the list came about",
            )),
        }
    }

    /// A value as a part of a text; `None` for what cannot be one.
    ///
    /// # Errors
    /// If the text depends on what the model does not have.
    pub fn part(&self, value: &Value) -> VmResult<Option<Text>> {
        arith::to_text(value, &self.machine.clocks).map_err(|refusal| self.refused(refusal))
    }

    /// Texts joined.
    ///
    /// # Errors
    /// If they are too long, or cannot be joined.
    pub fn join(&mut self, parts: &[Text]) -> VmResult<Text> {
        self.allocate(parts.iter().map(|part| part.bytes().len()).sum())?;
        arith::join(parts).map_err(|refusal| self.refused(refusal))
    }

    /// `a .. b .. c`, from the right.
    pub(super) fn concat(&mut self, host: &mut dyn Host, mut parts: Vec<Value>) -> VmResult<Value> {
        while parts.len() > 1 {
            // As many as are texts are joined at once.
            let mut texts = Vec::new();
            while let Some(value) = parts.last()
                && let Some(text) = self.part(value)?
            {
                texts.push(text);
                parts.pop();
            }
            if texts.len() > 1 || (texts.len() == 1 && parts.is_empty()) {
                texts.reverse();
                let text = self.join(&texts)?;
                parts.push(Value::Text(text));
                continue;
            }
            parts.extend(texts.into_iter().map(Value::Text));
            let (Some(b), Some(a)) = (parts.pop(), parts.pop()) else {
                break;
            };
            if let Some(value) = self.binary_event(host, "__concat", &a, &b)? {
                parts.push(value);
                continue;
            }
            let at = parts.len();
            let a_is_text = self.part(&a)?.is_some();
            let (culprit, operand) = if a_is_text { (&b, at + 1) } else { (&a, at) };
            let called = self.operand(operand);
            return Err(self.type_error("concatenate", culprit, called.as_ref()));
        }
        Ok(parts.pop().unwrap_or(Value::Nil))
    }

    /// Equality without metatables.
    pub(super) fn raw_equal(&self, a: &Value, b: &Value) -> VmResult<Truth> {
        compare::equal(a, b, &self.machine.clocks).map_err(|refusal| self.refused(refusal))
    }

    fn equals(&mut self, host: &mut dyn Host, a: &Value, b: &Value) -> VmResult<Truth> {
        let truth = self.raw_equal(a, b)?;
        if truth != Truth::No {
            return Ok(truth);
        }
        if let (Value::Table(_), Value::Table(_)) = (a, b) {
            let (one, other) = (self.metamethod(a, "__eq"), self.metamethod(b, "__eq"));
            if one != Value::Nil && one == other {
                let found = self.call(host, &one, vec![a.clone(), b.clone()])?;
                return Ok(found.first().is_some_and(Value::is_true).into());
            }
        }
        Ok(Truth::No)
    }

    pub(super) fn compare(
        &mut self,
        host: &mut dyn Host,
        op: Binary,
        a: &Value,
        b: &Value,
    ) -> VmResult<Truth> {
        match op {
            Binary::Eq => self.equals(host, a, b),
            Binary::Ne => Ok(self.equals(host, a, b)?.not()),
            Binary::Lt => self.below(host, a, b, false),
            Binary::Le => self.below(host, a, b, true),
            Binary::Gt => self.below(host, b, a, false),
            _ => self.below(host, b, a, true),
        }
    }

    /// `a < b`, or `a <= b`.
    pub(super) fn below(
        &mut self,
        host: &mut dyn Host,
        a: &Value,
        b: &Value,
        or_equal: bool,
    ) -> VmResult<Truth> {
        match compare::below(a, b, or_equal, &self.machine.clocks) {
            Ok(truth) => return Ok(truth),
            Err(Odd::Refused(refusal)) => return Err(self.refused(refusal)),
            Err(Odd::Type) => {}
        }
        let event = if or_equal { "__le" } else { "__lt" };
        if let Some(truth) = self.order_event(host, event, a, b)? {
            return Ok(truth.into());
        }
        // `a <= b` is `not (b < a)` where nothing better is known.
        if or_equal && let Some(truth) = self.order_event(host, "__lt", b, a)? {
            return Ok((!truth).into());
        }
        let (one, other) = (self.type_of(a), self.type_of(b));
        Err(self.run_error(match one == other {
            true => format!("attempt to compare two {one} values"),
            false => format!("attempt to compare {one} with {other}"),
        }))
    }

    fn order_event(
        &mut self,
        host: &mut dyn Host,
        event: &str,
        a: &Value,
        b: &Value,
    ) -> VmResult<Option<bool>> {
        let (one, other) = (self.metamethod(a, event), self.metamethod(b, event));
        if one == Value::Nil || one != other {
            return Ok(None);
        }
        let found = self.call(host, &one, vec![a.clone(), b.clone()])?;
        Ok(Some(found.first().is_some_and(Value::is_true)))
    }
}

/// A text's length: a number, or a place behind its symbols.
pub(super) fn length_of(text: &Text) -> Value {
    match text.as_plain() {
        Some(plain) => Value::Number(plain.len() as f64),
        None => Value::Offset(Arc::new(place_after(text.bytes()))),
    }
}

/// The place behind all of a text.
pub(super) fn place_after(text: &[u8]) -> Offset {
    let mut place = Offset {
        plain: 0,
        symbols: Vec::new(),
    };
    for piece in super::text::pieces(text) {
        match piece {
            super::text::Piece::Plain(bytes) => place.plain += bytes.len() as i64,
            super::text::Piece::Symbol(symbol) => place.pass(symbol),
        }
    }
    place
}
