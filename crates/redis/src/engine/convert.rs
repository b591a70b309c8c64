//! Replies to Lua values and back, as Redis converts them.
//!
//! What a missing value becomes decides whether a lock works: it is `false` in
//! Lua, so `redis.call('get', k) == nil` is never true. An array ends at its
//! first nil, a float loses its fraction, `true` becomes 1 and `false` nothing.

use lockproof_lua::text::{self, Span, Symbol, Text};
use lockproof_lua::{Key, Machine, Refusal, RefusalKind, Scale, Stop, Table, Value};

use crate::number::{argument_text, lua_to_i64, reply_text};
use crate::{Bytes, Dialect, Reply};

/// Most values in one reply: a table that contains another one twice, that one
/// another twice and so on describes more than any memory holds.
const REPLY_VALUES_MAX: usize = 1 << 16;

/// Deepest nesting of a reply. Redis stops later, where its C stack ends.
const REPLY_DEPTH_MAX: usize = 200;

/// A text of the server's, with symbols where the server is a model's.
pub(super) fn text_of(bytes: &[u8], scale: Option<Scale>) -> Text {
    match scale {
        Some(_) => Text::symbolic(bytes),
        None => Text::plain(bytes),
    }
}

/// A reply as a script sees it.
pub(super) fn to_lua(machine: &mut Machine, reply: Reply) -> Value {
    match reply {
        Reply::Nil => Value::Bool(false),
        Reply::Int(value) => Value::Number(value as f64),
        Reply::Bulk(text) => {
            let text = text_of(&text, machine.clocks.scale);
            match text::only_symbol(text.bytes()) {
                Some(Symbol::Count(span)) if text.is_symbolic() => Value::span(span),
                Some(Symbol::FenceCount(rank)) if text.is_symbolic() => lockproof_lua::fence(rank),
                Some(Symbol::ManyCount(least)) if text.is_symbolic() => Value::many(least),
                _ => Value::Text(text),
            }
        }
        Reply::Status(text) => field(machine, "ok", text.as_bytes()),
        Reply::Error(line) => field(machine, "err", line.as_bytes()),
        Reply::Array(items) => {
            let list = items
                .into_iter()
                .map(|item| to_lua(machine, item))
                .collect();
            let table = Table {
                list,
                ..Table::default()
            };
            Value::Table(machine.heap.table(table))
        }
    }
}

/// A table with one field: how scripts see status and error replies.
pub(super) fn field(machine: &mut Machine, name: &str, text: &[u8]) -> Value {
    let text = text_of(text, machine.clocks.scale);
    let mut table = Table::default();
    table.set(Key::Text(Text::from(name)), Value::Text(text));
    Value::Table(machine.heap.table(table))
}

/// What a script returned, as a reply.
pub(super) fn to_reply(machine: &Machine, value: &Value, dialect: Dialect) -> Result<Reply, Stop> {
    let mut left = REPLY_VALUES_MAX;
    convert(machine, value, dialect, 0, &mut left)
}

fn refuse(kind: RefusalKind, what: &str) -> Stop {
    Stop::Refused(Refusal {
        kind,
        what: what.into(),
        line: 0,
    })
}

fn convert(
    machine: &Machine,
    value: &Value,
    dialect: Dialect,
    depth: usize,
    left: &mut usize,
) -> Result<Reply, Stop> {
    *left = left.checked_sub(1).ok_or_else(|| {
        refuse(
            RefusalKind::Limit,
            "returns more values than the model takes",
        )
    })?;
    if depth > REPLY_DEPTH_MAX {
        return Ok(Reply::Error("ERR reached lua stack limit".to_owned()));
    }
    Ok(match value {
        Value::Text(text) if text::has_part(text.bytes()) => {
            return Err(refuse(RefusalKind::Digits, PART_RETURNED));
        }
        Value::Text(text) => Reply::Bulk(machine.outgoing(text)),
        Value::Bool(true) => Reply::Int(1),
        Value::Number(value) => Reply::Int(lua_to_i64(*value)),
        Value::Duration(duration) if duration.scale.abs() == 1.0 => {
            // The fraction is lost, as of any number.
            let span = Span {
                ms: (duration.ms * duration.scale).trunc() as i64,
                ticks: duration.ticks * duration.scale as i32,
            };
            Reply::Bulk(Symbol::Count(span).text())
        }
        Value::Offset(_) if let Some(rank) = lockproof_lua::fence_rank(value) => {
            Reply::Bulk(Symbol::FenceCount(rank).text())
        }
        // The fraction is lost, as of any number, and the whole part is as high as the bound's.
        Value::Beyond(beyond) if beyond.least && (0.0..256.0).contains(&beyond.bound) => {
            Reply::Bulk(Symbol::ManyCount(beyond.bound as u8).text())
        }
        Value::Time(_) => {
            return Err(refuse(
                RefusalKind::Digits,
                "returns a time stamp as a number, which the model keeps as texts only; return tostring(time)",
            ));
        }
        Value::Part(_) => return Err(refuse(RefusalKind::Digits, PART_RETURNED)),
        Value::Duration(_) | Value::Beyond(_) | Value::Offset(_) => {
            return Err(refuse(
                RefusalKind::Rounding,
                "returns a number that depends on what happens between two ticks, on times long ago, or on the length of a token",
            ));
        }
        Value::Table(id) => {
            let table = machine.heap.get(*id);
            match tagged(machine, table, dialect)? {
                Some(reply) => reply,
                None => {
                    let mut items = Vec::new();
                    for index in 1.. {
                        let key = Key::of(&Value::Number(f64::from(index)));
                        let item = key.map_or(Value::Nil, |key| table.get(&key));
                        if item == Value::Nil {
                            break;
                        }
                        items.push(convert(machine, &item, dialect, depth + 1, left)?);
                    }
                    Reply::Array(items)
                }
            }
        }
        _ => Reply::Nil,
    })
}

/// A table with a field that says what kind of reply it is.
fn tagged(machine: &Machine, table: &Table, dialect: Dialect) -> Result<Option<Reply>, Stop> {
    let line = |text: &Text| one_line_bytes(&machine.outgoing(text));
    if let Value::Text(text) = table.field("err") {
        if text.is_symbolic() {
            return Err(refuse(RefusalKind::Names, NAMED_ERROR));
        }
        return Ok(Some(Reply::Error(one_line(&line(&text)))));
    }
    if let Value::Text(text) = table.field("ok") {
        if text::has_part(text.bytes()) {
            return Err(refuse(RefusalKind::Digits, PART_RETURNED));
        }
        return Ok(Some(status(line(&text))));
    }
    if let Value::Number(value) = table.field("double") {
        let text = reply_text(value, dialect).into_bytes();
        return Ok(Some(Reply::Bulk(text)));
    }
    let resp3 = ["map", "set", "big_number", "verbatim_string"];
    match resp3
        .into_iter()
        .find(|name| table.field(name) != Value::Nil)
    {
        Some(name) => Err(refuse(
            RefusalKind::Lacks,
            &format!("returns a reply of RESP3 (`{name}`), which the model does not have"),
        )),
        None => Ok(None),
    }
}

const PART_RETURNED: &str = "returns the seconds or the microseconds of TIME, which the model follows as a time in ms only: tostring(seconds * 1000 + math.floor(microseconds / 1000))";

pub(super) const NAMED_ERROR: &str =
    "ends in an error whose text has a token, an owner or a time in it; return it as a text";

/// A status line; one with symbols in it keeps them, as a text does.
fn status(line: Bytes) -> Reply {
    if text::has_symbols(&line) {
        return Reply::Bulk(line);
    }
    Reply::Status(String::from_utf8_lossy(&line).into_owned())
}

fn one_line_bytes(text: &[u8]) -> Bytes {
    text::pieces(text)
        .flat_map(|piece| match piece {
            text::Piece::Plain(bytes) => bytes
                .iter()
                .map(|byte| match byte {
                    b'\r' | b'\n' => b' ',
                    other => *other,
                })
                .collect(),
            text::Piece::Symbol(symbol) => symbol.text(),
        })
        .collect()
}

/// Line ends become spaces: the protocol's status and error lines have none.
pub(super) fn one_line(text: &[u8]) -> String {
    String::from_utf8_lossy(text).replace(['\r', '\n'], " ")
}

/// A value as a command's argument; `None` if it cannot be one.
pub(super) fn argument(
    machine: &Machine,
    value: &Value,
    dialect: Dialect,
) -> Result<Option<Bytes>, Stop> {
    Ok(Some(match value {
        Value::Text(text) => {
            if machine.clocks.scale.is_some()
                && !text.is_symbolic()
                && text.bytes().contains(&text::MARK)
            {
                return Err(refuse(
                    RefusalKind::Lacks,
                    "sends a text with the byte 255, which the model does not follow",
                ));
            }
            machine.outgoing(text)
        }
        Value::Number(number) => argument_text(*number, dialect).into_bytes(),
        Value::Time(_) | Value::Duration(_) => match machine.text_of(value) {
            Ok(Some(text)) => machine.outgoing(&text),
            Ok(None) => return Ok(None),
            Err(refusal) => return Err(Stop::Refused(refusal)),
        },
        Value::Part(_) => {
            return Err(match machine.text_of(value) {
                Err(refusal) => Stop::Refused(refusal),
                Ok(_) => refuse(RefusalKind::Digits, PART_RETURNED),
            });
        }
        Value::Beyond(_) | Value::Offset(_) => {
            return Err(refuse(
                RefusalKind::Names,
                "sends the length of a token, or a difference of times that the model does not keep",
            ));
        }
        _ => return Ok(None),
    }))
}
