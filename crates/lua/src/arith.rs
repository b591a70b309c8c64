//! Arithmetic on all kinds of values, and texts of them.
//!
//! What is plain Lua is done as Lua does it. Times, durations and texts with
//! symbols have rules of their own ([`super::model`], [`super::text`]).

use super::ast::Binary;
use super::error::{Refusal, RefusalKind};
use super::model::{Clocks, TOO_FAR};
use super::number;
use super::parts;
use super::text::{self, Piece, Span, Symbol, Text};
use super::value::{self, Beyond, Clock, Duration, Moment, Offset, Part, Time, Value};
use std::cmp::Ordering;
use std::sync::Arc;

/// Why there is no result.
#[derive(Debug)]
pub(super) enum Odd {
    /// The operands are of the wrong types: an error of the program.
    Type,
    Refused(Refusal),
}

impl From<Refusal> for Odd {
    fn from(refusal: Refusal) -> Odd {
        Odd::Refused(refusal)
    }
}

pub(super) fn refuse<T>(kind: RefusalKind, what: &str) -> Result<T, Odd> {
    Err(Odd::Refused(Refusal::new(kind, what)))
}

pub(super) const DIGITS: &str = "computes with a time stamp as with a number; times can be compared with times, subtracted, and moved by ms";
pub(super) const ROUNDED: &str = "computes with a duration that clocks measured in a way that depends on what happens between two ticks; add, subtract, compare it, or multiply it by a number";
pub(super) const UNKNOWN: &str = "computes with the difference of two times that lie so far apart that the model does not keep it, or with a counter in Redis that grew beyond what the model holds";

/// A value as a number; texts are read as Lua reads them.
pub(super) fn to_number(value: &Value, clocks: &Clocks) -> Result<Option<Value>, Refusal> {
    let Value::Text(text) = value else {
        return Ok(match value {
            Value::Number(_)
            | Value::Time(_)
            | Value::Duration(_)
            | Value::Beyond(_)
            | Value::Offset(_)
            | Value::Part(_) => Some(value.clone()),
            _ => None,
        });
    };
    if let Some(plain) = text.as_plain() {
        return Ok(number::parse(plain).map(Value::Number));
    }
    if let Some(symbol) = text::only_symbol(text.bytes()) {
        return match symbol {
            Symbol::Time(..) | Symbol::Far(_) => Ok(clocks.time_of(symbol).map(Value::Time)),
            Symbol::Span(span) | Symbol::Count(span) => Ok(Some(Value::span(span))),
            Symbol::Fence(rank) | Symbol::FenceCount(rank) => Ok(Some(fence(rank))),
            Symbol::Part {
                seconds,
                answer,
                at,
                reading,
            } => Ok(Some(Value::Part(Part {
                at: Moment {
                    ms: at.ms,
                    tick: at.ticks,
                    reading,
                },
                answer,
                seconds: f64::from(u8::from(seconds)),
                micros: f64::from(u8::from(!seconds)),
                whole: false,
            }))),
            Symbol::Many(least) | Symbol::ManyCount(least) => Ok(Some(Value::many(least))),
            Symbol::Name(_) => Err(Refusal::new(
                RefusalKind::Names,
                "reads a token or an owner as a number, which depends on its letters",
            )),
        };
    }
    // With a letter that no number has, it is none, whatever the symbols are.
    let never = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"+-. \t\n\r".contains(byte);
    let plain = text::pieces(text.bytes()).any(|piece| match piece {
        Piece::Plain(bytes) => bytes.iter().any(never),
        Piece::Symbol(_) => false,
    });
    match plain {
        true => Ok(None),
        false => Err(Refusal::new(
            RefusalKind::Names,
            "reads a text as a number that has a token, an owner or a time in it",
        )),
    }
}

/// The value of a fence: a number above 0, of which nothing is known but its place among
/// other fences.
pub fn fence(rank: u8) -> Value {
    Value::Offset(Arc::new(Offset {
        plain: 0,
        symbols: vec![Symbol::Fence(rank)],
    }))
}

/// The rank of the fence that the value is, if it is just that.
pub fn fence_rank(value: &Value) -> Option<u8> {
    match value {
        Value::Offset(place) if place.plain == 0 => rank_of(place),
        _ => None,
    }
}

/// Both are fences, and how they lie to one another is not known.
pub(super) fn lie_unknown(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Offset(a), Value::Offset(b)) => {
            let fences = fence_rank(one).is_some() && fence_rank(other).is_some();
            fences && fence_order(a, b).is_none()
        }
        _ => false,
    }
}

fn rank_of(place: &Offset) -> Option<u8> {
    match place.symbols[..] {
        [Symbol::Fence(rank)] => Some(rank),
        _ => None,
    }
}

/// How two numbers lie that were made of fences: a rank less is a value of one more at
/// least. `None` if they are no such numbers, or if their distance would have to be known.
pub(super) fn fence_order(a: &Offset, b: &Offset) -> Option<Ordering> {
    let [one, other] = [rank_of(a)?, rank_of(b)?];
    if one == text::UNRANKED || other == text::UNRANKED {
        return None;
    }
    let age = |rank: u8| {
        if rank == text::DRAWN {
            -1
        } else {
            i16::from(rank)
        }
    };
    match age(other).cmp(&age(one)) {
        Ordering::Equal => Some(a.plain.cmp(&b.plain)),
        Ordering::Less if a.plain <= b.plain => Some(Ordering::Less),
        Ordering::Greater if a.plain >= b.plain => Some(Ordering::Greater),
        Ordering::Less | Ordering::Greater => None,
    }
}

fn as_duration(value: &Value) -> Option<Duration> {
    match *value {
        Value::Duration(duration) => Some(duration),
        Value::Number(ms) => Some(Duration {
            ms,
            ticks: 0,
            scale: 1.0,
        }),
        _ => None,
    }
}

/// A whole number of ms to move a time by.
fn whole_ms(value: &Value) -> Result<Span, Odd> {
    match value {
        Value::Number(ms) if ms.is_finite() => Ok(Span {
            ms: value::in_reach((ms + 0.5).floor() as i64),
            ticks: 0,
        }),
        Value::Duration(duration) if duration.scale.abs() == 1.0 && duration.ms.fract() == 0.0 => {
            let sign = duration.scale as i32;
            Ok(Span {
                ms: value::in_reach(duration.ms as i64) * i64::from(sign),
                ticks: duration.ticks * sign,
            })
        }
        Value::Duration(_) => refuse(RefusalKind::Rounding, ROUNDED),
        Value::Beyond(_) => refuse(RefusalKind::Horizon, UNKNOWN),
        _ => Err(Odd::Type),
    }
}

/// `a op b` of two numbers.
pub(super) fn arithmetic(op: Binary, a: &Value, b: &Value, clocks: &Clocks) -> Result<Value, Odd> {
    if let (Value::Number(a), Value::Number(b)) = (a, b) {
        return Ok(Value::Number(plain(op, *a, *b)));
    }
    match (a, b) {
        (Value::Part(_), _) | (_, Value::Part(_)) => parts::arithmetic(op, a, b),
        (Value::Time(a), Value::Time(b)) => match op {
            Binary::Sub => Ok(clocks.between(*a, *b)?),
            _ => refuse(RefusalKind::Digits, DIGITS),
        },
        (Value::Time(time), other) | (other, Value::Time(time)) => {
            let first = matches!(a, Value::Time(_));
            match op {
                Binary::Add => move_time(*time, whole_ms(other)?),
                Binary::Sub if first => {
                    let span = whole_ms(other)?;
                    let back = Span {
                        ms: -span.ms,
                        ticks: -span.ticks,
                    };
                    move_time(*time, back)
                }
                _ => refuse(RefusalKind::Digits, DIGITS),
            }
        }
        (Value::Offset(_), _) | (_, Value::Offset(_)) => places(op, a, b),
        (Value::Beyond(_), _) | (_, Value::Beyond(_)) => beyond(op, a, b),
        _ => durations(op, a, b),
    }
}

fn plain(op: Binary, a: f64, b: f64) -> f64 {
    match op {
        Binary::Add => a + b,
        Binary::Sub => a - b,
        Binary::Mul => a * b,
        Binary::Div => a / b,
        Binary::Mod => number::modulo(a, b),
        _ => number::power(a, b),
    }
}

fn move_time(time: Time, by: Span) -> Result<Value, Odd> {
    Ok(Value::Time(match time {
        Time::At(clock, moment) => Time::At(clock, moment.plus(by)),
        Time::Far(far, shift) if by.ticks == 0 => Time::Far(far, value::in_reach(shift + by.ms)),
        Time::Far(..) => return refuse(RefusalKind::Horizon, TOO_FAR),
    }))
}

pub(super) fn durations(op: Binary, a: &Value, b: &Value) -> Result<Value, Odd> {
    let (Some(x), Some(y)) = (as_duration(a), as_duration(b)) else {
        return Err(Odd::Type);
    };
    // A plain number takes the other's scale.
    let (x, y) = match (x.ticks, y.ticks) {
        (0, _) => (rescale(x, y.scale), y),
        (_, 0) => (x, rescale(y, x.scale)),
        _ => (x, y),
    };
    let sum = |sign: f64| {
        if x.scale != y.scale {
            return refuse(RefusalKind::Rounding, ROUNDED);
        }
        let Some(ticks) = x.ticks.checked_add(sign as i32 * y.ticks) else {
            return refuse(RefusalKind::Horizon, TOO_FAR);
        };
        Ok(Value::Duration(Duration {
            ms: x.ms + sign * y.ms,
            ticks,
            scale: x.scale,
        }))
    };
    let scaled = |duration: Duration, factor: f64| match factor.is_finite() && factor != 0.0 {
        true => Ok(Value::Duration(Duration {
            scale: duration.scale * factor,
            ..duration
        })),
        false => refuse(RefusalKind::Rounding, ROUNDED),
    };
    match (op, a, b) {
        (Binary::Add, ..) => sum(1.0),
        (Binary::Sub, ..) => sum(-1.0),
        (Binary::Mul, Value::Duration(a), Value::Number(b)) => scaled(*a, *b),
        (Binary::Mul, Value::Number(a), Value::Duration(b)) => scaled(*b, *a),
        (Binary::Div, Value::Duration(a), Value::Number(b)) => scaled(*a, 1.0 / b),
        _ => refuse(RefusalKind::Rounding, ROUNDED),
    }
}

fn rescale(plain: Duration, scale: f64) -> Duration {
    Duration {
        ms: plain.ms * plain.scale / scale,
        ticks: 0,
        scale,
    }
}

fn beyond(op: Binary, a: &Value, b: &Value) -> Result<Value, Odd> {
    let found = |bound: f64, least: bool| Ok(Value::Beyond(Beyond { bound, least }));
    match (op, a, b) {
        (Binary::Add, Value::Beyond(x), Value::Number(n))
        | (Binary::Add, Value::Number(n), Value::Beyond(x)) => found(x.bound + n, x.least),
        (Binary::Sub, Value::Beyond(x), Value::Number(n)) => found(x.bound - n, x.least),
        (Binary::Sub, Value::Number(n), Value::Beyond(x)) => found(n - x.bound, !x.least),
        (Binary::Mul, Value::Beyond(x), Value::Number(n))
        | (Binary::Mul, Value::Number(n), Value::Beyond(x))
            if *n > 0.0 =>
        {
            found(x.bound * n, x.least)
        }
        (Binary::Div, Value::Beyond(x), Value::Number(n)) if *n > 0.0 => {
            found(x.bound / n, x.least)
        }
        _ => refuse(RefusalKind::Horizon, UNKNOWN),
    }
}

fn places(op: Binary, a: &Value, b: &Value) -> Result<Value, Odd> {
    let moved = |place: &Offset, by: f64| {
        if by.fract() != 0.0 || by.abs() > 1e9 {
            return refuse(RefusalKind::Names, MEASURES);
        }
        Ok(Value::Offset(Arc::new(Offset {
            plain: place.plain + by as i64,
            symbols: place.symbols.clone(),
        })))
    };
    match (op, a, b) {
        (Binary::Add, Value::Offset(place), Value::Number(n))
        | (Binary::Add, Value::Number(n), Value::Offset(place)) => moved(place, *n),
        (Binary::Sub, Value::Offset(place), Value::Number(n)) => moved(place, -n),
        (Binary::Sub, Value::Offset(a), Value::Offset(b)) if a.is_as_long_as(b) => {
            Ok(Value::Number((a.plain - b.plain) as f64))
        }
        _ => refuse(RefusalKind::Names, MEASURES),
    }
}

pub(super) const MEASURES: &str = "computes with the length of a token, an owner or a time, or with the value of a fence, which depend on what they happen to be";

/// `-a`.
pub(super) fn negate(a: &Value) -> Result<Value, Odd> {
    match a {
        Value::Number(value) => Ok(Value::Number(-value)),
        Value::Duration(duration) => Ok(Value::Duration(Duration {
            scale: -duration.scale,
            ..*duration
        })),
        Value::Beyond(value) => Ok(Value::Beyond(Beyond {
            bound: -value.bound,
            least: !value.least,
        })),
        Value::Time(_) => refuse(RefusalKind::Digits, DIGITS),
        Value::Offset(_) => refuse(RefusalKind::Names, MEASURES),
        Value::Part(_) => Err(Odd::Refused(parts::refusal())),
        _ => Err(Odd::Type),
    }
}

/// A value as a part of a text, as `..` and commands take it.
pub(super) fn to_text(value: &Value, clocks: &Clocks) -> Result<Option<Text>, Refusal> {
    Ok(Some(match value {
        Value::Text(text) => text.clone(),
        Value::Number(number) => Text::plain(number::to_text(*number)),
        Value::Time(time) => time_text(*time, clocks)?,
        Value::Duration(duration) => Text::symbolic(Symbol::Span(whole_span(*duration)?).text()),
        Value::Beyond(_) => return Err(Refusal::new(RefusalKind::Horizon, UNKNOWN)),
        Value::Offset(_) => return Err(Refusal::new(RefusalKind::Names, MEASURES)),
        Value::Part(_) => return Err(parts::refusal()),
        _ => return Ok(None),
    }))
}

/// A duration that can be written as whole ms.
pub(super) fn whole_span(duration: Duration) -> Result<Span, Refusal> {
    match whole_ms(&Value::Duration(duration)) {
        Ok(span) => Ok(span),
        _ => Err(Refusal::new(
            RefusalKind::Rounding,
            "writes a measured duration as a text with a fraction of a ms",
        )),
    }
}

/// A time as the text that Redis gets.
pub(super) fn time_text(time: Time, clocks: &Clocks) -> Result<Text, Refusal> {
    match time {
        Time::At(Clock::Monotonic, _) => Err(Refusal::new(
            RefusalKind::Digits,
            "writes a time of the monotonic clock as a text; its numbers mean nothing to anybody else, use now()",
        )),
        Time::At(Clock::Wall, moment) => Ok(match clocks.scale {
            Some(_) => {
                let span = Span {
                    ms: moment.ms,
                    ticks: moment.tick,
                };
                Text::symbolic(Symbol::Time(span, moment.reading).text())
            }
            None => Text::plain(moment.ms.to_string()),
        }),
        Time::Far(far, 0) => Ok(Text::symbolic(Symbol::Far(far).text())),
        Time::Far(..) => Err(Refusal::new(RefusalKind::Horizon, TOO_FAR)),
    }
}

/// Texts joined.
pub(super) fn join(parts: &[Text]) -> Result<Text, Refusal> {
    let mut out = Vec::with_capacity(parts.iter().map(|part| part.bytes().len()).sum());
    let symbolic = parts.iter().any(Text::is_symbolic);
    for part in parts {
        if symbolic && !part.is_symbolic() && part.bytes().contains(&text::MARK) {
            return Err(Refusal::new(
                RefusalKind::Lacks,
                "joins a token, an owner or a time with a text that has the byte 255",
            ));
        }
        out.extend_from_slice(part.bytes());
    }
    Ok(match symbolic {
        true => Text::symbolic(out),
        false => Text::plain(out),
    })
}
