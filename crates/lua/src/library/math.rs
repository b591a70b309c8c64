//! The library `math`, without its random numbers.

use crate::arith;
use crate::error::{RefusalKind, Returned, Stop};
use crate::model::Truth;
use crate::parts;
use crate::text::UNRANKED;
use crate::value::{Duration, Value};
use crate::vm::{Host, Vm};

fn one(vm: &mut Vm<'_>, args: &[Value], f: impl Fn(f64) -> f64) -> Returned {
    let value = vm.number_arg(args, 1)?;
    Ok(vec![Value::Number(f(value))])
}

fn two(vm: &mut Vm<'_>, args: &[Value], f: impl Fn(f64, f64) -> f64) -> Returned {
    // C compilers look at the second argument first.
    let b = vm.number_arg(args, 2)?;
    let a = vm.number_arg(args, 1)?;
    Ok(vec![Value::Number(f(a, b))])
}

macro_rules! functions {
    ($($name:ident => $f:expr),* $(,)?) => {$(
        pub(super) fn $name(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
            one(vm, &args, $f)
        }
    )*};
}

functions! {
    acos => f64::acos,
    asin => f64::asin,
    atan => f64::atan,
    cos => f64::cos,
    cosh => f64::cosh,
    deg => |x| x / (std::f64::consts::PI / 180.0),
    exp => f64::exp,
    log => f64::ln,
    log10 => f64::log10,
    rad => |x| x * (std::f64::consts::PI / 180.0),
    sin => f64::sin,
    sinh => f64::sinh,
    sqrt => f64::sqrt,
    tan => f64::tan,
    tanh => f64::tanh,
}

pub(super) fn atan2(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    two(vm, &args, f64::atan2)
}

pub(super) fn fmod(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    two(vm, &args, |a, b| a % b)
}

pub(super) fn pow(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    two(vm, &args, f64::powf)
}

pub(super) fn abs(vm: &mut Vm<'_>, host: &mut dyn Host, args: Vec<Value>) -> Returned {
    match vm.numeric(&args, 1)? {
        Value::Number(value) => Ok(vec![Value::Number(value.abs())]),
        Value::Time(time) => Ok(vec![Value::Time(time)]),
        value => {
            let zero = Value::Number(0.0);
            match vm.below(host, &value, &zero, false)? {
                Truth::No => Ok(vec![value]),
                Truth::Yes => Ok(vec![vm.negate(host, value)?]),
                Truth::Open(_) => Err(open(vm)),
            }
        }
    }
}

fn open(vm: &Vm<'_>) -> Stop {
    vm.refuse(
        RefusalKind::Rounding,
        "asks which of two durations is longer, which depends on what happens between two ticks",
    )
}

/// Whole ms stay whole ms; a time has no parts of a ms.
fn rounded(vm: &mut Vm<'_>, args: &[Value], f: impl Fn(f64) -> f64) -> Returned {
    let value = vm.numeric(args, 1)?;
    Ok(vec![match value {
        Value::Number(value) => Value::Number(f(value)),
        Value::Time(_) => value,
        // A tick is a whole number of ms, so the parts are the number's.
        Value::Duration(duration) if duration.scale == 1.0 => Value::Duration(Duration {
            ms: f(duration.ms),
            ..duration
        }),
        _ => Value::Number(f(vm.number_arg(args, 1)?)),
    }])
}

pub(super) fn floor(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    if let Value::Part(part) = vm.numeric(&args, 1)?
        && let Some(whole) = parts::floor(part)
    {
        return Ok(vec![whole]);
    }
    rounded(vm, &args, f64::floor)
}

pub(super) fn ceil(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    rounded(vm, &args, f64::ceil)
}

fn extreme(vm: &mut Vm<'_>, host: &mut dyn Host, args: &[Value], least: bool) -> Returned {
    let mut best = vm.numeric(args, 1)?;
    for number in 2..=args.len() {
        let next = vm.numeric(args, number)?;
        if arith::lie_unknown(&best, &next) {
            // One of the two, so a fence as well, and nobody can tell which.
            best = arith::fence(UNRANKED);
            continue;
        }
        let (a, b) = match least {
            true => (&next, &best),
            false => (&best, &next),
        };
        match vm.below(host, a, b, false)? {
            Truth::Yes => best = next,
            Truth::No => {}
            Truth::Open(_) => return Err(open(vm)),
        }
    }
    Ok(vec![best])
}

pub(super) fn max(vm: &mut Vm<'_>, host: &mut dyn Host, args: Vec<Value>) -> Returned {
    extreme(vm, host, &args, false)
}

pub(super) fn min(vm: &mut Vm<'_>, host: &mut dyn Host, args: Vec<Value>) -> Returned {
    extreme(vm, host, &args, true)
}

pub(super) fn frexp(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let value = vm.number_arg(&args, 1)?;
    if value == 0.0 || !value.is_finite() {
        return Ok(vec![Value::Number(value), Value::Number(0.0)]);
    }
    let mut exponent = value.abs().log2().floor() as i32 + 1;
    let mut mantissa = value / 2f64.powi(exponent);
    while mantissa.abs() >= 1.0 {
        mantissa /= 2.0;
        exponent += 1;
    }
    while mantissa.abs() < 0.5 {
        mantissa *= 2.0;
        exponent -= 1;
    }
    Ok(vec![
        Value::Number(mantissa),
        Value::Number(f64::from(exponent)),
    ])
}

pub(super) fn ldexp(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let exponent = vm.int(&args, 2, None)?;
    let value = vm.number_arg(&args, 1)?;
    let exponent = exponent.clamp(-5000, 5000) as i32;
    Ok(vec![Value::Number(value * 2f64.powi(exponent))])
}

pub(super) fn modf(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let value = vm.number_arg(&args, 1)?;
    let whole = value.trunc();
    let fraction = if value.is_infinite() {
        0.0
    } else {
        value - whole
    };
    Ok(vec![Value::Number(whole), Value::Number(fraction)])
}
