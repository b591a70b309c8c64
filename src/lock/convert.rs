//! Values on their way between Lua and Redis.

use mlua::{Lua, MultiValue, Table, Value};

use super::vm::Vm;
use crate::redis::Reply;

/// Why a command failed, for the `err` of `nil, err`.
pub(crate) struct CommandError<'a> {
    /// Surely not executed.
    pub definite: bool,
    pub code: &'a str,
    pub message: &'a str,
    pub timeout: bool,
}

impl CommandError<'_> {
    pub fn into_values(self, lua: &Lua) -> mlua::Result<MultiValue> {
        let table = lua.create_table_with_capacity(0, 4)?;
        table.raw_set("definite", self.definite)?;
        table.raw_set("code", self.code)?;
        table.raw_set("message", self.message)?;
        table.raw_set("timeout", self.timeout)?;
        Ok(MultiValue::from_iter([Value::Nil, Value::Table(table)]))
    }
}

/// A Lua number, whether mlua shows it as an integer or not.
pub(crate) fn number(value: &Value) -> Option<f64> {
    match *value {
        Value::Integer(n) => Some(n as f64),
        Value::Number(n) => Some(n),
        _ => None,
    }
}

/// A reply as the word gives it to the file: a value, or `nil, err`.
pub(crate) fn reply_values(lua: &Lua, reply: &Reply) -> mlua::Result<MultiValue> {
    if let Reply::Error(message) = reply {
        let code = message.split(' ').next().unwrap_or("ERR");
        let error = CommandError {
            definite: true,
            code,
            message,
            timeout: false,
        };
        return error.into_values(lua);
    }
    Ok(MultiValue::from_iter([reply_value(lua, reply)?]))
}

fn reply_value(lua: &Lua, reply: &Reply) -> mlua::Result<Value> {
    Ok(match reply {
        Reply::Nil => Value::Nil,
        Reply::Status(text) | Reply::Error(text) => Value::String(lua.create_string(text)?),
        Reply::Int(number) => Value::Number(*number as f64),
        Reply::Bulk(bytes) => Value::String(lua.create_string(bytes)?),
        Reply::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (index, item) in items.iter().enumerate() {
                // As in Redis's own scripts: false keeps the place of a nil.
                let value = match reply_value(lua, item)? {
                    Value::Nil => Value::Boolean(false),
                    value => value,
                };
                table.raw_set(index + 1, value)?;
            }
            Value::Table(table)
        }
    })
}

/// An argument of a command as bytes. Times print as their decimal ms.
pub(crate) fn argument(
    vm: &Vm,
    value: &Value,
    time: &dyn Fn(f64) -> i64,
) -> Result<Vec<u8>, String> {
    match value {
        Value::String(text) => Ok(text.as_bytes().to_vec()),
        Value::Integer(number) => Ok(number.to_string().into_bytes()),
        Value::Number(number) if number.is_finite() => Ok(number.to_string().into_bytes()),
        Value::Number(number) => Err(format!("{number} can not be an argument of a command")),
        Value::UserData(_) => match vm.time_ms.raw_get(value) {
            Ok(Some(ms)) => Ok(time(ms).to_string().into_bytes()),
            _ => Err("a locked table can not be an argument of a command; pass its fields".into()),
        },
        other => Err(format!(
            "a {} can not be an argument of a command; it takes texts, numbers and times",
            other.type_name()
        )),
    }
}

/// Adds each element of a list (or nothing for nil) to the arguments.
pub(crate) fn arguments_of(
    vm: &Vm,
    list: &Value,
    what: &str,
    time: &dyn Fn(f64) -> i64,
    argv: &mut Vec<Vec<u8>>,
) -> Result<usize, String> {
    let wrong = || format!("{what} must be a list such as {{lock.key}}");
    let table: &Table = match list {
        Value::Nil => return Ok(0),
        Value::Table(table) => table,
        _ => return Err(wrong()),
    };
    let length = table.raw_len();
    for index in 1..=length {
        let value: Value = table.raw_get(index).map_err(|_| wrong())?;
        argv.push(argument(vm, &value, time).map_err(|why| format!("{what}: {why}"))?);
    }
    Ok(length)
}
