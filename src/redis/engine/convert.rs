//! Replies to Lua values and back, as Redis converts them.
//!
//! What a missing value becomes decides whether a lock works: it is `false` in
//! Lua, so `redis.call('get', k) == nil` is never true. An array ends at its
//! first nil, a float loses its fraction, `true` becomes 1 and `false` nothing.

use mlua::{Lua, Table, Value};

use crate::redis::number::{lua_to_i64, reply_text};
use crate::redis::{Dialect, Reply};

/// Most values in one reply: a table that contains another one twice, that one
/// another twice and so on describes more than any memory holds.
const REPLY_VALUES_MAX: usize = 1 << 16;

/// Deepest nesting of a reply. Redis stops later, where its C stack ends.
const REPLY_DEPTH_MAX: usize = 200;

/// A reply as a script sees it.
pub(super) fn to_lua(lua: &Lua, reply: Reply) -> mlua::Result<Value> {
    Ok(match reply {
        Reply::Nil => Value::Boolean(false),
        Reply::Int(value) => Value::Number(value as f64),
        Reply::Bulk(text) => Value::String(lua.create_string(&text)?),
        Reply::Status(text) => Value::Table(field(lua, "ok", text.as_bytes())?),
        Reply::Error(line) => Value::Table(field(lua, "err", line.as_bytes())?),
        Reply::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (index, item) in items.into_iter().enumerate() {
                table.raw_set(index + 1, to_lua(lua, item)?)?;
            }
            Value::Table(table)
        }
    })
}

/// A table with one field: how scripts see status and error replies.
pub(super) fn field(lua: &Lua, name: &str, text: &[u8]) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(0, 1)?;
    table.raw_set(name, lua.create_string(text)?)?;
    Ok(table)
}

/// What a script returned, as a reply.
pub(super) fn to_reply(value: &Value, dialect: Dialect) -> Reply {
    let mut left = REPLY_VALUES_MAX;
    convert(value, dialect, 0, &mut left).unwrap_or_else(|| {
        Reply::Error(format!(
            "ERR lockproof refuses a script's reply of more than {REPLY_VALUES_MAX} values"
        ))
    })
}

/// `None` when there are too many values.
fn convert(value: &Value, dialect: Dialect, depth: usize, left: &mut usize) -> Option<Reply> {
    *left = left.checked_sub(1)?;
    if depth > REPLY_DEPTH_MAX {
        return Some(Reply::Error("ERR reached lua stack limit".to_owned()));
    }
    Some(match value {
        Value::String(text) => Reply::Bulk(text.as_bytes().to_vec()),
        Value::Boolean(true) => Reply::Int(1),
        Value::Integer(value) => Reply::Int(*value),
        Value::Number(value) => Reply::Int(lua_to_i64(*value)),
        Value::Table(table) => match tagged(table, dialect) {
            Some(reply) => reply,
            None => {
                let mut items = Vec::new();
                for index in 1.. {
                    match table.raw_get::<Value>(index) {
                        Ok(Value::Nil) | Err(_) => break,
                        Ok(item) => items.push(convert(&item, dialect, depth + 1, left)?),
                    }
                }
                Reply::Array(items)
            }
        },
        _ => Reply::Nil,
    })
}

/// A table with a field that says what kind of reply it is.
fn tagged(table: &Table, dialect: Dialect) -> Option<Reply> {
    let get = |name: &str| table.raw_get::<Value>(name).unwrap_or(Value::Nil);
    let line = |text: &mlua::LuaString| one_line(&text.as_bytes());
    if let Value::String(text) = get("err") {
        return Some(Reply::Error(line(&text)));
    }
    if let Value::String(text) = get("ok") {
        return Some(Reply::Status(line(&text)));
    }
    let double = match get("double") {
        Value::Number(value) => Some(value),
        Value::Integer(value) => Some(value as f64),
        _ => None,
    };
    if let Some(value) = double {
        return Some(Reply::Bulk(reply_text(value, dialect).into_bytes()));
    }
    let unmodelled = ["map", "set", "big_number", "verbatim_string"]
        .into_iter()
        .find(|name| matches!(get(name), Value::Table(_) | Value::String(_)))?;
    Some(Reply::Error(format!(
        "ERR lockproof does not model a script's reply with the field '{unmodelled}'"
    )))
}

/// Line ends become spaces: the protocol's status and error lines have none.
pub(super) fn one_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace(['\r', '\n'], " ")
}
