//! Numbers as C reads and prints them, which is how Lua 5.1 does.

/// C's `%.{precision}g`.
pub fn printf_g(value: f64, precision: usize) -> String {
    if let Some(text) = not_finite(value) {
        return text.to_owned();
    }
    let precision = precision.max(1);
    let scientific = format!("{value:.*e}", precision - 1);
    let (mantissa, exponent) = split_exponent(&scientific);
    if (-4..precision as i32).contains(&exponent) {
        let decimals = usize::try_from(precision as i32 - 1 - exponent).unwrap_or(0);
        trim_zeros(&format!("{value:.decimals$}")).to_owned()
    } else {
        format!("{}{}", trim_zeros(mantissa), c_exponent(exponent))
    }
}

/// C's way to write an exponent: a sign and at least two digits.
pub fn c_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.abs())
}

/// C's words for what is no finite number.
pub fn not_finite(value: f64) -> Option<&'static str> {
    match (
        value.is_nan(),
        value.is_infinite(),
        value.is_sign_negative(),
    ) {
        (true, _, true) => Some("-nan"),
        (true, _, false) => Some("nan"),
        (_, true, true) => Some("-inf"),
        (_, true, false) => Some("inf"),
        _ => None,
    }
}

/// Splits Rust's `{:e}` form, which always has an exponent.
pub fn split_exponent(scientific: &str) -> (&str, i32) {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    (mantissa, exponent.parse().unwrap_or(0))
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        text
    }
}

/// A number as Lua prints it (`%.14g`).
pub fn to_text(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e14 && !(value == 0.0 && value.is_sign_negative()) {
        return (value as i64).to_string();
    }
    printf_g(value, 14)
}

/// Reads a number as Lua's `tonumber` does: what C's `strtod` takes, or
/// hexadecimal digits, with space around it. C ends a text at its first zero.
pub fn parse(text: &[u8]) -> Option<f64> {
    let text = trim(text.split(|byte| *byte == 0).next().unwrap_or(text));
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let value = match digits {
        [b'0', b'x' | b'X', rest @ ..] => hexadecimal(rest)?,
        [b'0'..=b'9' | b'.', ..] => decimal(digits)?,
        _ => named(digits)?,
    };
    Some(if negative { -value } else { value })
}

/// Space as C's `isspace` has it.
pub fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c)
}

fn trim(mut text: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = text
        && is_space(*first)
    {
        text = rest;
    }
    while let [rest @ .., last] = text
        && is_space(*last)
    {
        text = rest;
    }
    text
}

fn decimal(text: &[u8]) -> Option<f64> {
    let allowed = |b: &u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
    if !text.iter().all(allowed) {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// C's hexadecimal floats too: digits, a point, a binary exponent behind `p`.
fn hexadecimal(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
    let (digits, exponent) = match text.split_once('p') {
        Some((digits, exponent)) => (digits, Some(exponent.parse::<i32>().ok()?)),
        None => (text.as_str(), None),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let mut value = 0.0;
    for digit in whole.chars().chain(fraction.chars()) {
        value = value * 16.0 + f64::from(digit.to_digit(16)?);
    }
    let shift = exponent.unwrap_or(0).clamp(-5000, 5000) - 4 * fraction.len() as i32;
    Some(value * 2f64.powi(shift))
}

fn named(text: &[u8]) -> Option<f64> {
    let word = text.to_ascii_lowercase();
    match word.as_slice() {
        b"inf" | b"infinity" => Some(f64::INFINITY),
        b"nan" => Some(f64::NAN),
        _ => None,
    }
}

/// A double as C casts it to a 64-bit integer on x86-64: towards zero, and the
/// least integer for whatever does not fit.
pub fn to_i64(value: f64) -> i64 {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if (-LIMIT..LIMIT).contains(&value) {
        value as i64
    } else {
        i64::MIN
    }
}

/// C's `pow` as Lua's `^`.
pub fn power(base: f64, exponent: f64) -> f64 {
    base.powf(exponent)
}

/// Lua's `%`: the sign is the divisor's.
pub fn modulo(a: f64, b: f64) -> f64 {
    a - (a / b).floor() * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_with_fourteen_digits() {
        let cases = [
            (0.1, "0.1"),
            (100.0, "100"),
            (1e14, "1e+14"),
            (123_456_789_012_345.0, "1.2345678901234e+14"),
            (-0.0, "-0"),
            (1e100, "1e+100"),
            (0.00001, "1e-05"),
            (2.5, "2.5"),
            (f64::INFINITY, "inf"),
        ];
        for (value, text) in cases {
            assert_eq!(to_text(value), text);
        }
    }

    #[test]
    fn texts_read_as_numbers_like_strtod() {
        let cases: [(&str, Option<f64>); 12] = [
            (" 12 ", Some(12.0)),
            ("0x10", Some(16.0)),
            ("-0x.8p1", Some(-1.0)),
            ("1e2", Some(100.0)),
            ("1e", None),
            ("", None),
            (".", None),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("inf", Some(f64::INFINITY)),
            ("1 2", None),
            ("12x", None),
        ];
        for (text, value) in cases {
            assert_eq!(parse(text.as_bytes()), value, "{text:?}");
        }
    }
}
