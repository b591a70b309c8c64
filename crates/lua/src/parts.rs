//! Numbers made of the two parts of one answer of TIME: seconds and microseconds.
//!
//! Of those, a model knows the moment that they tell together, and nothing of either. So
//! only what puts them together again has a value: `seconds * 1000 + floor(micros / 1000)`
//! and its kin are a time in ms. All else is refused.

use super::arith::Odd;
use super::ast::Binary;
use super::error::{Refusal, RefusalKind};
use super::value::{Clock, Part, Time, Value};

/// What is said of all else.
pub(super) const PARTS: &str = "uses the seconds or the microseconds of TIME in a way that the model does not follow; make whole ms of them: seconds * 1000 + math.floor(microseconds / 1000)";

const MS_PER_SECOND: f64 = 1000.0;
const MS_PER_MICRO: f64 = 1.0 / 1000.0;

pub(super) fn refusal() -> Refusal {
    Refusal::new(RefusalKind::Digits, PARTS)
}

/// `a op b`, one of which is a part.
pub(super) fn arithmetic(op: Binary, a: &Value, b: &Value) -> Result<Value, Odd> {
    let found = match (op, a, b) {
        (Binary::Add, Value::Part(a), Value::Part(b)) => sum(*a, *b),
        (Binary::Mul, Value::Part(part), Value::Number(by))
        | (Binary::Mul, Value::Number(by), Value::Part(part)) => {
            scaled(*part, |number| number * by)
        }
        (Binary::Div, Value::Part(part), Value::Number(by)) => scaled(*part, |number| number / by),
        _ => None,
    };
    found.ok_or(Odd::Refused(refusal()))
}

/// Two parts of one answer, each of them once.
fn sum(a: Part, b: Part) -> Option<Value> {
    let apart = (a.seconds == 0.0 && b.micros == 0.0) || (b.seconds == 0.0 && a.micros == 0.0);
    if a.answer != b.answer || a.at != b.at || !apart {
        return None;
    }
    Some(settled(Part {
        seconds: a.seconds + b.seconds,
        micros: a.micros + b.micros,
        whole: a.whole || b.whole,
        ..a
    }))
}

fn scaled(part: Part, by: impl Fn(f64) -> f64) -> Option<Value> {
    let scaled = Part {
        seconds: by(part.seconds),
        micros: by(part.micros),
        ..part
    };
    let finite = scaled.seconds.is_finite() && scaled.micros.is_finite();
    let nothing = scaled.seconds == 0.0 && scaled.micros == 0.0;
    (finite && !nothing && !part.whole).then_some(Value::Part(scaled))
}

/// `math.floor(part)`.
pub(super) fn floor(part: Part) -> Option<Value> {
    let ms = part.micros == MS_PER_MICRO && !part.whole;
    (ms && (part.seconds == 0.0 || part.seconds == MS_PER_SECOND)).then(|| {
        settled(Part {
            whole: true,
            ..part
        })
    })
}

/// A whole number of ms, of both parts, is a time.
fn settled(part: Part) -> Value {
    match part.whole && part.seconds == MS_PER_SECOND && part.micros == MS_PER_MICRO {
        true => Value::Time(Time::At(Clock::Wall, part.at)),
        false => Value::Part(part),
    }
}
