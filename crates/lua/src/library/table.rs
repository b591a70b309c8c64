//! The library `table`.

use super::given;
use crate::error::{RefusalKind, Returned, Stop};
use crate::model::Truth;
use crate::text::Text;
use crate::value::{TableId, Value};
use crate::vm::{Host, Vm};

impl Vm<'_> {
    fn at(&self, id: TableId, index: i64) -> Result<Value, Stop> {
        self.get_raw(id, &Value::Number(index as f64))
    }

    fn put(&mut self, id: TableId, index: i64, value: Value) -> Result<(), Stop> {
        self.set_raw(id, &Value::Number(index as f64), value)
    }
}

pub(super) fn concat(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let separator = match given(&args, 2) {
        true => vm.text_arg(&args, 2)?,
        false => Text::from(""),
    };
    let id = vm.table_arg(&args, 1)?;
    let from = vm.int(&args, 3, Some(1))?;
    let to = match given(&args, 4) {
        true => vm.int(&args, 4, None)?,
        false => vm.length_of(id)?,
    };
    let mut parts = Vec::new();
    for index in from..=to {
        vm.charge(2)?;
        let value = vm.at(id, index)?;
        let part = match &value {
            Value::Text(_)
            | Value::Number(_)
            | Value::Time(_)
            | Value::Duration(_)
            | Value::Beyond(_) => vm.part(&value)?,
            _ => None,
        };
        let Some(part) = part else {
            let kind = vm.type_of(&value);
            return Err(vm.error(format!(
                "invalid value ({kind}) at index {index} in table for 'concat'"
            )));
        };
        parts.push(part);
        if index < to {
            parts.push(separator.clone());
        }
    }
    let text = vm.join(&parts)?;
    Ok(vec![Value::Text(text)])
}

pub(super) fn insert(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let end = vm.length_of(id)? + 1;
    let (position, value) = match args.len() {
        2 => (end, args[1].clone()),
        3 => {
            let position = vm.int(&args, 2, None)?;
            let end = end.max(position);
            let mut index = end;
            while index > position {
                vm.charge(2)?;
                let before = vm.at(id, index - 1)?;
                vm.put(id, index, before)?;
                index -= 1;
            }
            (position, args[2].clone())
        }
        _ => return Err(vm.error("wrong number of arguments to 'insert'")),
    };
    vm.put(id, position, value)?;
    Ok(Vec::new())
}

pub(super) fn remove(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let end = vm.length_of(id)?;
    let mut position = vm.int(&args, 2, Some(end))?;
    if !(1..=end).contains(&position) {
        return Ok(Vec::new());
    }
    let removed = vm.at(id, position)?;
    while position < end {
        vm.charge(2)?;
        let next = vm.at(id, position + 1)?;
        vm.put(id, position, next)?;
        position += 1;
    }
    vm.put(id, end, Value::Nil)?;
    Ok(vec![removed])
}

pub(super) fn getn(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    Ok(vec![Value::Number(vm.length_of(id)? as f64)])
}

pub(super) fn maxn(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let mut most = 0.0f64;
    let mut at = vm.machine.heap.get(id).after(None);
    while let Some((key, _)) = at {
        vm.charge(1)?;
        if let Value::Number(number) = key.value() {
            most = most.max(number);
        }
        at = vm.machine.heap.get(id).after(Some(&key));
    }
    Ok(vec![Value::Number(most)])
}

pub(super) fn foreachi(vm: &mut Vm<'_>, host: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let function = vm.function_arg(&args, 2)?;
    for index in 1..=vm.length_of(id)? {
        let value = vm.at(id, index)?;
        let found = vm.call(host, &function, vec![Value::Number(index as f64), value])?;
        if let Some(first) = found.first()
            && *first != Value::Nil
        {
            return Ok(vec![first.clone()]);
        }
    }
    Ok(Vec::new())
}

pub(super) fn foreach(vm: &mut Vm<'_>, host: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let function = vm.function_arg(&args, 2)?;
    let mut key = Value::Nil;
    loop {
        let entry = super::base::next(vm, host, vec![Value::Table(id), key])?;
        let [name, value] = entry.as_slice() else {
            return Ok(Vec::new());
        };
        let found = vm.call(host, &function, vec![name.clone(), value.clone()])?;
        if let Some(first) = found.first()
            && *first != Value::Nil
        {
            return Ok(vec![first.clone()]);
        }
        key = name.clone();
    }
}

/// Sorts as Lua's quicksort does where the order of equal elements can be seen,
/// that is: it compares the same pairs.
pub(super) fn sort(vm: &mut Vm<'_>, host: &mut dyn Host, args: Vec<Value>) -> Returned {
    let id = vm.table_arg(&args, 1)?;
    let less = match given(&args, 2) {
        true => Some(vm.function_arg(&args, 2)?),
        false => None,
    };
    let length = vm.length_of(id)?;
    let mut values = Vec::with_capacity(length as usize);
    for index in 1..=length {
        values.push(vm.at(id, index)?);
    }
    let mut sorter = Sorter { values, less };
    if length > 1 {
        sorter.sort(vm, host, 0, length - 1)?;
    }
    for (index, value) in sorter.values.into_iter().enumerate() {
        vm.put(id, index as i64 + 1, value)?;
    }
    Ok(Vec::new())
}

struct Sorter {
    values: Vec<Value>,
    less: Option<Value>,
}

impl Sorter {
    fn less(&self, vm: &mut Vm<'_>, host: &mut dyn Host, a: i64, b: &Value) -> Result<bool, Stop> {
        let a = self.values[a as usize].clone();
        self.compare(vm, host, &a, b)
    }

    fn compare(
        &self,
        vm: &mut Vm<'_>,
        host: &mut dyn Host,
        a: &Value,
        b: &Value,
    ) -> Result<bool, Stop> {
        vm.charge(5)?;
        if let Some(less) = &self.less {
            let found = vm.call(host, less, vec![a.clone(), b.clone()])?;
            return Ok(found.first().is_some_and(Value::is_true));
        }
        match vm.below(host, a, b, false)? {
            Truth::Yes => Ok(true),
            Truth::No => Ok(false),
            Truth::Open(_) => Err(vm.refuse(
                RefusalKind::Rounding,
                "sorts times that lie within one tick",
            )),
        }
    }

    /// ltablib.c's `auxsort`, step for step.
    fn sort(
        &mut self,
        vm: &mut Vm<'_>,
        host: &mut dyn Host,
        mut low: i64,
        mut high: i64,
    ) -> Result<(), Stop> {
        while low < high {
            let first = self.values[low as usize].clone();
            if self.less(vm, host, high, &first)? {
                self.values.swap(low as usize, high as usize);
            }
            if high - low == 1 {
                break;
            }
            let middle = (low + high + 2) / 2 - 1;
            let pivot = self.values[middle as usize].clone();
            let bottom = self.values[low as usize].clone();
            if self.compare(vm, host, &pivot, &bottom)? {
                self.values.swap(middle as usize, low as usize);
            } else if self.less(vm, host, high, &pivot)? {
                self.values.swap(middle as usize, high as usize);
            }
            if high - low == 2 {
                break;
            }
            let pivot = self.values[middle as usize].clone();
            self.values.swap(middle as usize, high as usize - 1);
            let (mut i, mut j) = (low, high - 1);
            loop {
                i += 1;
                while self.less(vm, host, i, &pivot)? {
                    if i > high {
                        return Err(vm.error("invalid order function for sorting"));
                    }
                    i += 1;
                    if i as usize >= self.values.len() {
                        return Err(vm.error("invalid order function for sorting"));
                    }
                }
                j -= 1;
                loop {
                    let at = self.values[j as usize].clone();
                    if !self.compare(vm, host, &pivot, &at)? {
                        break;
                    }
                    if j < low || j == 0 {
                        return Err(vm.error("invalid order function for sorting"));
                    }
                    j -= 1;
                }
                if j < i {
                    break;
                }
                self.values.swap(i as usize, j as usize);
            }
            self.values.swap(high as usize - 1, i as usize);
            if i - low < high - i {
                self.sort(vm, host, low, i - 1)?;
                low = i + 1;
            } else {
                self.sort(vm, host, i + 1, high)?;
                high = i - 1;
            }
        }
        Ok(())
    }
}
