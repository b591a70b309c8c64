//! The functions without a library.

use crate::error::{RefusalKind, Returned, Stop};
use crate::heap::Key;
use crate::model::Truth;
use crate::number;
use crate::order;
use crate::text::Text;
use crate::value::{TableId, Value};
use crate::vm::{Host, Running, Vm};

pub(super) fn assert(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    if vm.any(&args, 1)?.is_true() {
        return Ok(args);
    }
    let message = match args.get(1) {
        None | Some(Value::Nil) => "assertion failed!".to_owned(),
        Some(_) => {
            let text = vm.text_arg(&args, 2)?;
            crate::text::printable(text.bytes())
        }
    };
    Err(vm.error(message))
}

pub(super) fn error(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let level = vm.int(&args, 2, Some(1))?;
    let value = args.into_iter().next().unwrap_or(Value::Nil);
    let line = vm.line();
    let text = match &value {
        Value::Text(_) | Value::Number(_) if level > 0 => vm.part(&value)?,
        _ => None,
    };
    let value = match text {
        Some(text) => {
            let place = Text::plain(vm.place(level));
            Value::Text(vm.join(&[place, text])?)
        }
        None => value,
    };
    Err(Stop::Raised { value, line })
}

pub(super) fn getmetatable(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    Ok(vec![match vm.any(&args, 1)? {
        Value::Table(id) => {
            let protected = vm.metamethod(&Value::Table(id), "__metatable");
            let meta = vm.machine.heap.get(id).meta;
            match (protected, meta) {
                (Value::Nil, Some(meta)) => Value::Table(meta),
                (protected, _) => protected,
            }
        }
        Value::Text(_) => {
            return Err(vm.refuse(RefusalKind::Lacks, "looks at the metatable of texts"));
        }
        _ => Value::Nil,
    }])
}

pub(super) fn setmetatable(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let meta = match args.get(1) {
        Some(Value::Nil) => None,
        Some(Value::Table(meta)) => Some(*meta),
        _ => return Err(vm.bad_argument(2, "nil or table expected")),
    };
    if vm.metamethod(&Value::Table(id), "__metatable") != Value::Nil {
        return Err(vm.error("cannot change a protected metatable"));
    }
    match vm.machine.heap.open_mut(id) {
        Some(table) => table.meta = meta,
        None => return Err(vm.frozen()),
    }
    Ok(vec![Value::Table(id)])
}

pub(super) fn ipairs(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let step = super::native("", "(ipairs)").map_or(Value::Nil, Value::Native);
    Ok(vec![step, Value::Table(id), Value::Number(0.0)])
}

pub(super) fn ipairs_next(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let next = Value::Number(vm.number_arg(&args, 2)? + 1.0);
    match vm.get_raw(id, &next)? {
        Value::Nil => Ok(vec![Value::Nil]),
        value => Ok(vec![next, value]),
    }
}

pub(super) fn pairs(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let step = super::native("", "next").map_or(Value::Nil, Value::Native);
    Ok(vec![step, Value::Table(id), Value::Nil])
}

pub(super) fn next(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    vm.charge(2)?;
    let key = match args.get(1) {
        None | Some(Value::Nil) => None,
        Some(value) => match Key::of(value) {
            Some(key) if vm.machine.heap.get(id).knows(&key) => Some(key),
            _ => return Err(vm.run_error("invalid key to 'next'")),
        },
    };
    match vm.after(id, key.as_ref())? {
        Some((key, value)) => Ok(vec![key.value(), value]),
        None => Ok(vec![Value::Nil]),
    }
}

/// Steps through a table in the order of its keys, also from one that is gone.
pub(super) fn pairs_next(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    vm.charge(2)?;
    let key = args.get(1).and_then(Key::of);
    match vm.after(id, key.as_ref())? {
        Some((key, value)) => Ok(vec![key.value(), value]),
        None => Ok(vec![Value::Nil]),
    }
}

impl Vm<'_> {
    /// The entry that comes after a key, in the order that the machine was told
    /// to go in.
    fn after(&mut self, id: TableId, key: Option<&Key>) -> Result<Option<(Key, Value)>, Stop> {
        let table = self.machine.heap.get(id);
        if table.rest.len() < 2 {
            return Ok(table.after(key));
        }
        let is_name = |key: &Key| matches!(key, Key::Text(text) if text.is_symbolic());
        if !self.machine.any_order {
            // A lock file's `pairs` goes in order, which names do not have.
            if table.rest.keys().filter(|key| is_name(key)).count() > 1 {
                return Err(self.refuse(RefusalKind::Order, UNORDERED));
            }
            return Ok(table.after(key));
        }
        let Some(orders) = order::count(table.rest.len()) else {
            return Err(self.refuse(RefusalKind::Order, UNORDERED));
        };
        let found = order::after(table, key, self.machine.order);
        self.machine.orders = self.machine.orders.max(orders);
        Ok(found)
    }

    /// `name:line: ` of the function so many levels up from the one that runs.
    fn place(&self, level: i64) -> String {
        // Called by another function of the library, that one is a level too.
        let mut left = level - 1 - i64::from(matches!(self.running, Running::Inner));
        if left < 0 {
            return String::new();
        }
        for frame in self.thread.frames.iter().rev() {
            if left == 0 {
                let proto = &self.machine.code.protos[frame.proto as usize];
                let at = (frame.at as usize).saturating_sub(1);
                let line = proto.lines.get(at).copied().unwrap_or(0);
                return format!("{}:{line}: ", self.machine.code.name);
            }
            left -= 1 + i64::from(frame.tails) + i64::from(frame.from_host);
            if left < 0 {
                break;
            }
        }
        String::new()
    }
}

const UNORDERED: &str = "goes through a table whose order nobody promises, and its tokens, owners or many fields have no order of their own";

/// Errors become values; what the model cannot answer goes through.
fn caught(
    vm: &mut Vm<'_>,
    depth: (usize, usize),
    result: Returned,
) -> Result<Result<Vec<Value>, Value>, Stop> {
    match result {
        Ok(values) => Ok(Ok(values)),
        Err(Stop::Raised { value, .. }) => {
            vm.thread.frames.truncate(depth.0);
            vm.thread.stack.truncate(depth.1);
            Ok(Err(value))
        }
        Err(stop) => Err(stop),
    }
}

pub(super) fn pcall(vm: &mut Vm<'_>, host: &mut dyn Host, mut args: Vec<Value>) -> Returned {
    vm.any(&args, 1)?;
    let function = args.remove(0);
    let depth = (vm.thread.frames.len(), vm.thread.stack.len());
    let result = vm.call(host, &function, args);
    Ok(match caught(vm, depth, result)? {
        Ok(mut values) => {
            values.insert(0, Value::Bool(true));
            values
        }
        Err(value) => vec![Value::Bool(false), vm.caught_value(value)],
    })
}

pub(super) fn xpcall(vm: &mut Vm<'_>, host: &mut dyn Host, args: Vec<Value>) -> Returned {
    let handler = vm.any(&args, 2)?;
    let depth = (vm.thread.frames.len(), vm.thread.stack.len());
    let result = vm.call(host, &args[0], Vec::new());
    Ok(match caught(vm, depth, result)? {
        Ok(mut values) => {
            values.insert(0, Value::Bool(true));
            values
        }
        Err(value) => {
            let result = vm.call(host, &handler, vec![value]);
            let mut found = match caught(vm, depth, result)? {
                Ok(values) => values,
                // An error in error handling.
                Err(_) => vec![Value::text("error in error handling")],
            };
            found.truncate(1);
            found.resize(1, Value::Nil);
            found.insert(0, Value::Bool(false));
            found
        }
    })
}

impl Vm<'_> {
    /// What `pcall` gives of an error: Redis makes a text of its own error tables.
    fn caught_value(&self, value: Value) -> Value {
        let Value::Table(id) = value else {
            return value;
        };
        match self.machine.heap.get(id).field("err") {
            text @ Value::Text(_) if self.machine.texts_for_errors => text,
            _ => value,
        }
    }
}

pub(super) fn rawequal(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let (a, b) = (vm.any(&args, 1)?, vm.any(&args, 2)?);
    match vm.raw_equal(&a, &b)? {
        Truth::Yes => Ok(vec![Value::Bool(true)]),
        Truth::No => Ok(vec![Value::Bool(false)]),
        Truth::Open(_) => Err(vm.refuse(RefusalKind::Rounding, "compares two times of one tick")),
    }
}

pub(super) fn rawget(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let key = vm.any(&args, 2)?;
    Ok(vec![vm.get_raw(id, &key)?])
}

pub(super) fn rawset(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let (key, value) = (vm.any(&args, 2)?, vm.any(&args, 3)?);
    vm.set_raw(id, &key, value)?;
    Ok(vec![Value::Table(id)])
}

pub(super) fn select(vm: &mut Vm<'_>, _: &mut dyn Host, mut args: Vec<Value>) -> Returned {
    let count = args.len() as i64 - 1;
    if let Some(Value::Text(text)) = args.first()
        && text.bytes().first() == Some(&b'#')
    {
        return Ok(vec![Value::Number(count as f64)]);
    }
    let index = vm.int(&args, 1, None)?;
    let from = if index < 0 {
        count + index + 1
    } else {
        index.min(count + 1)
    };
    if from < 1 {
        return Err(vm.bad_argument(1, "index out of range"));
    }
    Ok(args.split_off(from as usize))
}

pub(super) fn tonumber(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let base = vm.int(&args, 2, Some(10))?;
    if base == 10 {
        let value = vm.any(&args, 1)?;
        return Ok(vec![vm.number(&value)?.unwrap_or(Value::Nil)]);
    }
    let text = vm.plain_arg(&args, 1, "reads in another base")?;
    if !(2..=36).contains(&base) {
        return Err(vm.bad_argument(2, "base out of range"));
    }
    vm.charge(text.len() as u64)?;
    Ok(vec![
        in_base(&text, base as u32).map_or(Value::Nil, Value::Number),
    ])
}

/// As C's `strtoul`: a sign wraps around, and what is too large is the largest.
fn in_base(text: &[u8], base: u32) -> Option<f64> {
    let text = text.split(|byte| *byte == 0).next()?;
    let text = std::str::from_utf8(text).ok()?;
    let text = text.trim_matches(|c: char| c.is_ascii() && number::is_space(c as u8));
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = match base {
        16 => digits
            .strip_prefix("0x")
            .or(digits.strip_prefix("0X"))
            .filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()))
            .unwrap_or(digits),
        _ => digits,
    };
    if digits.is_empty() {
        return None;
    }
    let mut value = Some(0u64);
    for c in digits.chars() {
        let digit = c.to_digit(base)?;
        value = value
            .and_then(|value| value.checked_mul(u64::from(base)))
            .and_then(|value| value.checked_add(u64::from(digit)));
    }
    Some(match (value, negative) {
        (None, _) => u64::MAX as f64,
        (Some(value), true) => value.wrapping_neg() as f64,
        (Some(value), false) => value as f64,
    })
}

pub(super) fn tostring(vm: &mut Vm<'_>, host: &mut dyn Host, args: Vec<Value>) -> Returned {
    let value = vm.any(&args, 1)?;
    let meta = vm.metamethod(&value, "__tostring");
    if meta != Value::Nil {
        let mut found = vm.call(host, &meta, vec![value])?;
        found.truncate(1);
        return Ok(found);
    }
    Ok(vec![vm.shown(&value)?])
}

impl Vm<'_> {
    /// A value as `tostring` shows it.
    pub(crate) fn shown(&self, value: &Value) -> Result<Value, Stop> {
        Ok(match value {
            Value::Nil => Value::text("nil"),
            Value::Bool(value) => Value::text(value.to_string()),
            other => match self.part(other)? {
                Some(text) => Value::Text(text),
                None => {
                    return Err(self.refuse(
                        RefusalKind::Lacks,
                        format!(
                            "shows a {} as a text, which is its address",
                            self.type_of(other)
                        ),
                    ));
                }
            },
        })
    }
}

pub(super) fn type_of(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let value = vm.any(&args, 1)?;
    Ok(vec![Value::text(vm.type_of(&value))])
}

pub(super) fn unpack(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let length = match super::given(&args, 3) {
        true => 0,
        false => vm.length_of(id)?,
    };
    let from = vm.int(&args, 2, Some(1))?;
    let to = vm.int(&args, 3, Some(length))?;
    if from > to {
        return Ok(Vec::new());
    }
    let count = to - from + 1;
    if count >= 8000 {
        return Err(vm.error("too many results to unpack"));
    }
    vm.charge(count as u64)?;
    let mut values = Vec::with_capacity(count as usize);
    for index in from..=to {
        values.push(vm.get_raw(id, &Value::Number(index as f64))?);
    }
    Ok(values)
}
