//! How two values compare: equality, order, and what of it is open or unknown.

use std::cmp::Ordering;

use super::arith::{DIGITS, MEASURES, Odd, ROUNDED, UNKNOWN, durations, fence_order, refuse};
use super::ast::Binary;
use super::error::{Refusal, RefusalKind};
use super::model::{Clocks, Scale, Truth};
use super::parts;
use super::text::{self, Piece, Symbol, Text};
use super::value::{Beyond, Moment, Offset, Value};

const MANY: &str = "compares the text of a counter in Redis that grew beyond what the model holds";

/// `a < b` (or `a <= b`) of two numbers or two texts.
pub(super) fn below(a: &Value, b: &Value, or_equal: bool, clocks: &Clocks) -> Result<Truth, Odd> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Ok((if or_equal { a <= b } else { a < b }).into()),
        (Value::Text(a), Value::Text(b)) => Ok(match a.bytes().cmp(b.bytes()) {
            _ if a.is_symbolic() || b.is_symbolic() => return text_order(a, b, or_equal, clocks),
            order if or_equal => order.is_le().into(),
            order => order.is_lt().into(),
        }),
        (Value::Time(a), Value::Time(b)) => Ok(clocks.before(*a, *b, or_equal)?),
        (Value::Time(_), Value::Number(b)) => absolute(*b).map(|above| above.into()),
        (Value::Number(a), Value::Time(_)) => absolute(*a).map(|above| (!above).into()),
        (Value::Duration(x), Value::Number(n)) => Ok(clocks.duration_below(*x, *n, or_equal)),
        (Value::Number(n), Value::Duration(x)) => {
            Ok(clocks.duration_below(*x, *n, !or_equal).not())
        }
        (Value::Duration(_), Value::Duration(_)) => {
            let apart = durations(Binary::Sub, a, b)?;
            below(&apart, &Value::Number(0.0), or_equal, clocks)
        }
        (Value::Beyond(x), Value::Number(n)) => known_side(*x, *n).map(Truth::from),
        (Value::Number(n), Value::Beyond(x)) => known_side(*x, *n).map(|below| (!below).into()),
        (Value::Offset(place), Value::Number(n)) => length_below(place, *n).map(Truth::from),
        (Value::Number(n), Value::Offset(place)) => {
            length_below(place, *n).map(|below| (!below).into())
        }
        (Value::Offset(a), Value::Offset(b)) if a.is_as_long_as(b) => {
            Ok((a.plain < b.plain || or_equal && a.plain == b.plain).into())
        }
        (Value::Offset(a), Value::Offset(b)) if fence_order(a, b).is_some() => {
            let order = fence_order(a, b);
            let is = |wanted| order == Some(wanted);
            Ok((is(Ordering::Less) || or_equal && is(Ordering::Equal)).into())
        }
        (Value::Beyond(_), Value::Duration(_) | Value::Beyond(_))
        | (Value::Duration(_), Value::Beyond(_)) => refuse(RefusalKind::Horizon, UNKNOWN),
        (Value::Part(_), other) | (other, Value::Part(_)) if is_number(other) => {
            Err(Odd::Refused(parts::refusal()))
        }
        (Value::Offset(_), other) | (other, Value::Offset(_)) if is_number(other) => {
            refuse(RefusalKind::Names, MEASURES)
        }
        (Value::Time(_), other) | (other, Value::Time(_)) if is_number(other) => {
            refuse(RefusalKind::Digits, DIGITS)
        }
        _ => Err(Odd::Type),
    }
}

fn is_number(value: &Value) -> bool {
    value.type_name() == "number"
}

/// A number is above every time stamp of these centuries (or below all of them).
fn absolute(number: f64) -> Result<bool, Odd> {
    if number <= 1e12 {
        return Ok(false);
    }
    if number >= 1e13 {
        return Ok(true);
    }
    refuse(
        RefusalKind::Digits,
        "compares a time stamp with a fixed number, which depends on when it runs",
    )
}

/// A duration of which one end is known lies below a number (or above it).
fn known_side(value: Beyond, number: f64) -> Result<bool, Odd> {
    if value.least && value.bound > number {
        return Ok(false);
    }
    if !value.least && value.bound < number {
        return Ok(true);
    }
    refuse(RefusalKind::Horizon, UNKNOWN)
}

/// Each symbol has at least one letter, and a fence is at least 1.
fn length_below(place: &Offset, number: f64) -> Result<bool, Odd> {
    let least = place.plain as f64 + place.symbols.len() as f64;
    if place.symbols.is_empty() || least > number {
        return Ok((place.plain as f64) < number && place.symbols.is_empty());
    }
    refuse(RefusalKind::Names, MEASURES)
}

fn text_order(a: &Text, b: &Text, or_equal: bool, clocks: &Clocks) -> Result<Truth, Odd> {
    if equal_texts(a, b, clocks)? == Truth::Yes {
        return Ok(or_equal.into());
    }
    // Two stamps of thirteen digits are ordered as their times.
    let time = |text: &Text| text::only_symbol(text.bytes()).and_then(|s| clocks.time_of(s));
    if let (Some(a), Some(b)) = (time(a), time(b)) {
        return Ok(clocks.before(a, b, or_equal)?);
    }
    let common = a.bytes().iter().zip(b.bytes()).take_while(|(a, b)| a == b);
    let at = common.count();
    let first = |text: &Text| text.bytes().get(at).copied();
    let plain = |byte: Option<u8>| byte.is_none_or(|byte| byte != text::MARK);
    let cut = text::pieces(&a.bytes()[..at]).all(|piece| match piece {
        Piece::Plain(bytes) => !bytes.contains(&text::MARK),
        Piece::Symbol(Symbol::Time(_, reading)) => reading.is(reading),
        Piece::Symbol(_) => true,
    });
    if cut && plain(first(a)) && plain(first(b)) {
        return Ok((first(a) < first(b)).into());
    }
    refuse(
        RefusalKind::Names,
        "orders a token, an owner or a time by its letters",
    )
}

/// Are two values equal, as `==` without metatables says?
pub(super) fn equal(a: &Value, b: &Value, clocks: &Clocks) -> Result<Truth, Refusal> {
    Ok(match (a, b) {
        (Value::Number(a), Value::Number(b)) => (a == b).into(),
        (Value::Text(a), Value::Text(b)) => return equal_texts(a, b, clocks),
        (Value::Time(a), Value::Time(b)) => return clocks.same(*a, *b),
        (Value::Time(_), Value::Number(n)) | (Value::Number(n), Value::Time(_)) => {
            return match absolute(*n) {
                Ok(_) => Ok(Truth::No),
                Err(Odd::Refused(refusal)) => Err(refusal),
                Err(Odd::Type) => Ok(Truth::No),
            };
        }
        // PTTL says so of what has no life, and never of what has one.
        (Value::Duration(_), Value::Number(n)) | (Value::Number(n), Value::Duration(_))
            if *n == -1.0 || *n == -2.0 =>
        {
            Truth::No
        }
        (Value::Duration(a), Value::Number(n)) | (Value::Number(n), Value::Duration(a)) => {
            let (below, above) = (
                clocks.duration_below(*a, *n, false),
                clocks.duration_below(*a, *n, true).not(),
            );
            equal_if_neither(below, above)
        }
        (Value::Duration(_), Value::Duration(_)) => match durations(Binary::Sub, a, b) {
            Ok(apart) => return equal(&apart, &Value::Number(0.0), clocks),
            Err(Odd::Refused(refusal)) => return Err(refusal),
            Err(Odd::Type) => Truth::No,
        },
        (Value::Beyond(x), Value::Number(n)) | (Value::Number(n), Value::Beyond(x)) => {
            match known_side(*x, *n) {
                Ok(_) => Truth::No,
                Err(Odd::Refused(refusal)) => return Err(refusal),
                Err(Odd::Type) => Truth::No,
            }
        }
        (Value::Offset(place), Value::Number(n)) | (Value::Number(n), Value::Offset(place)) => {
            match length_below(place, *n) {
                Ok(_) => (place.symbols.is_empty() && place.plain as f64 == *n).into(),
                Err(Odd::Refused(refusal)) => return Err(refusal),
                Err(Odd::Type) => Truth::No,
            }
        }
        (Value::Offset(a), Value::Offset(b)) if a.is_as_long_as(b) => (a.plain == b.plain).into(),
        (Value::Offset(a), Value::Offset(b)) => match fence_order(a, b) {
            Some(order) => order.is_eq().into(),
            None => return Err(Refusal::new(RefusalKind::Names, MEASURES)),
        },
        (Value::Part(_), other) | (other, Value::Part(_)) if is_number(other) => {
            return Err(parts::refusal());
        }
        _ if is_odd(a) && is_odd(b) => {
            return Err(Refusal::new(RefusalKind::Rounding, ROUNDED));
        }
        _ => (a == b).into(),
    })
}

fn is_odd(value: &Value) -> bool {
    matches!(
        value,
        Value::Time(_) | Value::Duration(_) | Value::Beyond(_) | Value::Offset(_)
    )
}

fn equal_if_neither(below: Truth, above: Truth) -> Truth {
    match (below, above) {
        (Truth::Yes, _) | (_, Truth::Yes) => Truth::No,
        (Truth::No, Truth::No) => Truth::Yes,
        // Between two ticks, or within one: at that very ms, or not.
        (Truth::Open(below), Truth::Open(above)) => Truth::Open(!below && !above),
        (Truth::Open(at_ticks), Truth::No) | (Truth::No, Truth::Open(at_ticks)) => {
            Truth::Open(!at_ticks)
        }
    }
}

/// Are two texts equal, whatever their symbols happen to be?
pub(super) fn equal_texts(a: &Text, b: &Text, clocks: &Clocks) -> Result<Truth, Refusal> {
    if !a.is_symbolic() && !b.is_symbolic() {
        return Ok((a.bytes() == b.bytes()).into());
    }
    let (first, second): (Vec<Piece>, Vec<Piece>) = (
        text::pieces(a.bytes()).collect(),
        text::pieces(b.bytes()).collect(),
    );
    let names = |pieces: &[Piece]| {
        pieces
            .iter()
            .any(|p| matches!(p, Piece::Symbol(Symbol::Name(_))))
    };
    if !a.is_symbolic() || !b.is_symbolic() {
        // A token is like nothing else, and a time stamp has thirteen digits.
        let (plain, pieces) = if a.is_symbolic() {
            (b, &first)
        } else {
            (a, &second)
        };
        if let [Piece::Symbol(Symbol::Many(least) | Symbol::ManyCount(least))] = pieces[..] {
            return many_equals(least, plain.bytes());
        }
        let digits = plain.bytes().iter().filter(|b| b.is_ascii_digit()).count();
        if names(pieces) || digits == 0 {
            return Ok(Truth::No);
        }
        let all_plain =
            |p: &Piece| matches!(p, Piece::Plain(bytes) if !is_part(plain.bytes(), bytes));
        if pieces.iter().any(all_plain) || digits < 13 && has_time(pieces) {
            return Ok(Truth::No);
        }
        if pieces.iter().any(|piece| is_many(*piece)) {
            return Err(Refusal::new(RefusalKind::Horizon, MANY));
        }
        return Err(Refusal::new(
            RefusalKind::Digits,
            "compares a time with a fixed text, which depends on when it runs",
        ));
    }
    if first.len() == second.len() {
        return same_shape(&first, &second, clocks);
    }
    match names(&first) != names(&second) {
        true => Ok(Truth::No),
        false => Err(Refusal::new(
            RefusalKind::Names,
            "compares two texts that are put together in different ways from tokens, owners or times",
        )),
    }
}

/// Is this the decimal text of a count that is so high, or higher?
fn many_equals(least: u8, plain: &[u8]) -> Result<Truth, Refusal> {
    let number = std::str::from_utf8(plain).ok();
    let number = number.and_then(|text| text.parse::<i64>().ok().filter(|n| n.to_string() == text));
    match number {
        Some(number) if number >= i64::from(least) => Err(Refusal::new(RefusalKind::Horizon, MANY)),
        Some(_) | None => Ok(Truth::No),
    }
}

fn is_many(piece: Piece) -> bool {
    matches!(piece, Piece::Symbol(Symbol::Many(_) | Symbol::ManyCount(_)))
}

fn has_time(pieces: &[Piece]) -> bool {
    pieces
        .iter()
        .any(|piece| matches!(piece, Piece::Symbol(Symbol::Time(..) | Symbol::Far(_))))
}

fn is_part(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

fn same_shape(a: &[Piece], b: &[Piece], clocks: &Clocks) -> Result<Truth, Refusal> {
    let mut unknown = None;
    let mut may_differ = None;
    let mut aligned = true;
    for pair in a.iter().zip(b) {
        match pair {
            (Piece::Plain(a), Piece::Plain(b)) if a == b => {}
            (Piece::Plain(_), Piece::Plain(_)) => aligned = false,
            (Piece::Symbol(a), Piece::Symbol(b)) => match equal_symbols(*a, *b, clocks) {
                Ok(Truth::Yes) => {}
                // With equal surroundings, one difference is enough.
                Ok(Truth::No) if aligned => return Ok(Truth::No),
                Ok(Truth::No) => {}
                Ok(Truth::Open(at_ticks)) => {
                    may_differ = Some(at_ticks && may_differ != Some(false))
                }
                Err(refusal) => unknown = Some(refusal),
            },
            _ => aligned = false,
        }
    }
    if aligned {
        let truth = may_differ.map_or(Truth::Yes, Truth::Open);
        return unknown.map_or(Ok(truth), Err);
    }
    let plain = |pieces: &[Piece]| {
        let parts = pieces.iter().map(|piece| match piece {
            Piece::Plain(bytes) => bytes.to_vec(),
            Piece::Symbol(symbol) => match symbol {
                Symbol::Name(name) => Symbol::Name(*name).text(),
                _ => vec![text::MARK],
            },
        });
        parts.collect::<Vec<_>>()
    };
    // Another letter in front or at the end shows the difference.
    let (a, b) = (plain(a), plain(b));
    let ends = [(a.first(), b.first(), false), (a.last(), b.last(), true)];
    let differ = |one: &Vec<u8>, other: &Vec<u8>, back: bool| {
        let pick = |text: &Vec<u8>| {
            if back {
                text.last().copied()
            } else {
                text.first().copied()
            }
        };
        let plain = |text: &Vec<u8>| !text.contains(&text::MARK);
        plain(one) && plain(other) && pick(one) != pick(other)
    };
    let shown = ends
        .iter()
        .any(|(a, b, back)| matches!((a, b), (Some(a), Some(b)) if differ(a, b, *back)));
    match shown
        || a.iter()
            .filter(|p| !p.contains(&text::MARK))
            .ne(b.iter().filter(|p| !p.contains(&text::MARK)))
            && only_separators(&a)
            && only_separators(&b)
    {
        true => Ok(Truth::No),
        false => Err(Refusal::new(
            RefusalKind::Names,
            "compares two texts that are put together in different ways from tokens, owners or times",
        )),
    }
}

/// What stands between the symbols cannot be a part of one.
fn only_separators(parts: &[Vec<u8>]) -> bool {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    parts
        .iter()
        .filter(|part| !part.contains(&text::MARK))
        .all(|part| {
            part.first().is_some_and(|b| !letter(b)) && part.last().is_some_and(|b| !letter(b))
        })
}

fn equal_symbols(a: Symbol, b: Symbol, clocks: &Clocks) -> Result<Truth, Refusal> {
    match (a, b) {
        (Symbol::Name(a), Symbol::Name(b)) => super::model::equal_names(a, b).map(Truth::from),
        (Symbol::Span(a) | Symbol::Count(a), Symbol::Span(b) | Symbol::Count(b)) => {
            Ok((clocks.ms(a) == clocks.ms(b)).into())
        }
        (Symbol::Name(_), _) | (_, Symbol::Name(_)) => Ok(Truth::No),
        (Symbol::Fence(a), Symbol::Fence(b)) if a != text::UNRANKED && b != text::UNRANKED => {
            Ok((a == b).into())
        }
        (Symbol::Fence(_) | Symbol::FenceCount(_), _)
        | (_, Symbol::Fence(_) | Symbol::FenceCount(_)) => Err(Refusal::new(
            RefusalKind::Names,
            "compares the value of a fence, of which the model knows only its place among fences",
        )),
        (Symbol::Part { .. }, _) | (_, Symbol::Part { .. }) => Err(parts::refusal()),
        (Symbol::Many(_) | Symbol::ManyCount(_), _)
        | (_, Symbol::Many(_) | Symbol::ManyCount(_)) => {
            Err(Refusal::new(RefusalKind::Horizon, MANY))
        }
        _ => match (clocks.time_of(a), clocks.time_of(b)) {
            (Some(a), Some(b)) => clocks.same(a, b),
            _ => Ok(Truth::No),
        },
    }
}

/// The clocks of who knows times only as they lie to one present.
fn of_a_server(scale: Scale) -> Clocks {
    let start = Moment::default();
    Clocks {
        wall: start,
        monotonic: start,
        scale: Some(scale),
    }
}

/// Are two texts of a server one? Their times are told from one present.
///
/// # Errors
/// If that depends on what the model does not have.
pub fn same_text(a: &Text, b: &Text, scale: Scale) -> Result<bool, Refusal> {
    let clocks = of_a_server(scale);
    match equal_texts(a, b, &clocks)? {
        Truth::Yes => Ok(true),
        Truth::No => Ok(false),
        Truth::Open(_) => Err(Refusal::new(
            RefusalKind::Rounding,
            "compares two times of one tick, which may be one or not",
        )),
    }
}

/// Is `a < b` (or `a <= b`) of two time stamps of a server? Both are told from one present.
///
/// # Errors
/// If that depends on what the model does not have.
pub fn time_order(a: Symbol, b: Symbol, or_equal: bool, scale: Scale) -> Result<Truth, Refusal> {
    let clocks = of_a_server(scale);
    match (clocks.time_of(a), clocks.time_of(b)) {
        (Some(a), Some(b)) => clocks.before(a, b, or_equal),
        _ => Err(Refusal::new(RefusalKind::Digits, DIGITS)),
    }
}
