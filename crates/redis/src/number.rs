//! How Redis reads and prints numbers.
//!
//! Both are stricter, and odder, than Rust's: ` 1`, `+1`, `01` and `-0` are no
//! integers; a score of 0.1 is printed with 17 digits by Redis 7.0 and with
//! one by its successors. A lock that stores a time stamp through Lua sees
//! these differences.

use lockproof_lua::number::{not_finite, printf_g, split_exponent};

use super::Dialect;

/// Converts a Lua number to an integer reply: towards zero, and to the least
/// integer for whatever does not fit, as an x86-64 conversion does.
pub(super) use lockproof_lua::number::to_i64 as lua_to_i64;

/// Reads a decimal integer as Redis does: digits without leading zeros, an
/// optional minus, nothing else.
pub(super) fn parse_i64(text: &[u8]) -> Option<i64> {
    let digits = text.strip_prefix(b"-").unwrap_or(text);
    let canonical = match digits {
        [b'0'] => text.len() == 1,
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if !canonical {
        return None;
    }
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Reads a score: what C's `strtod` takes, without surrounding space, NaN and
/// values that overflow or vanish. Hexadecimal floats, which `strtod` also
/// takes, are refused here.
pub(super) fn parse_f64(text: &[u8]) -> Option<f64> {
    let text = std::str::from_utf8(text).ok()?;
    let value: f64 = text.parse().ok()?;
    let unsigned = text.trim_start_matches(['+', '-']).to_ascii_lowercase();
    if value.is_infinite() {
        return (unsigned == "inf" || unsigned == "infinity").then_some(value);
    }
    let mantissa = unsigned.split('e').next().unwrap_or("");
    let vanished = value == 0.0 && mantissa.contains(|c: char| matches!(c, '1'..='9'));
    (!value.is_nan() && !vanished).then_some(value)
}

/// Reads the end of a range of scores. Redis lets `strtod` read it without its
/// own checks, so space may precede it, nothing at all is 0, and what overflows
/// is infinite.
pub(super) fn parse_bound(text: &[u8]) -> Option<f64> {
    if text.is_empty() {
        return Some(0.0);
    }
    let value: f64 = std::str::from_utf8(text).ok()?.trim_start().parse().ok()?;
    (!value.is_nan()).then_some(value)
}

/// Prints a double in a reply, such as a score.
pub(super) fn reply_text(value: f64, dialect: Dialect) -> String {
    if value == 0.0 && value.is_sign_negative() {
        return "-0".to_owned();
    }
    argument_text(value, dialect)
}

/// Prints a Lua number that a script passes as a command's argument. Newer
/// servers print what is integral, up to half the range of a 64-bit integer, as
/// an integer; -0 loses its sign there.
pub(super) fn argument_text(value: f64, dialect: Dialect) -> String {
    let half = (i64::MAX / 2) as f64;
    if dialect == Dialect::Redis70 {
        printf_g(value, 17)
    } else if value.abs() <= half && value.fract() == 0.0 {
        (value as i64).to_string()
    } else {
        shortest(value)
    }
}

/// The fewest digits that read back as the same number, laid out as by
/// Redis 7.2 and later: plain digits while that adds few zeros, else an exponent.
fn shortest(value: f64) -> String {
    if let Some(text) = not_finite(value) {
        return text.to_owned();
    }
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = split_exponent(&scientific);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let count = digits.len() as i32;
    let trailing = exponent - count + 1;
    let body = if trailing >= 0 && exponent.abs() < count + 7 {
        digits + &"0".repeat(trailing as usize)
    } else if trailing < 0 && (trailing > -7 || exponent.abs() < 4) {
        let whole = count + trailing;
        if whole <= 0 {
            format!("0.{}{digits}", "0".repeat(-whole as usize))
        } else {
            let (whole, fraction) = digits.split_at(whole as usize);
            format!("{whole}.{fraction}")
        }
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}e{sign}{}", exponent.abs())
    };
    let minus = if value.is_sign_negative() { "-" } else { "" };
    format!("{minus}{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_strictly_as_redis_does() {
        assert_eq!(parse_i64(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_i64(b"0"), Some(0));
        for text in [
            "",
            "-",
            "+1",
            "01",
            "-0",
            " 1",
            "1 ",
            "1.0",
            "9223372036854775808",
        ] {
            assert_eq!(parse_i64(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn floats_that_overflow_or_vanish_are_refused() {
        assert_eq!(parse_f64(b"-inf"), Some(f64::NEG_INFINITY));
        assert_eq!(parse_f64(b"1e3"), Some(1000.0));
        assert_eq!(parse_f64(b"0e9"), Some(0.0));
        for text in ["nan", "1e400", "1e-400", "", " 1", "x"] {
            assert_eq!(parse_f64(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn old_servers_print_seventeen_digits_and_new_ones_the_fewest() {
        // Each row was read off a 7.0.15 and an 8.2.3 server.
        for (value, old, new) in [
            (0.1, "0.10000000000000001", "0.1"),
            (3.0, "3", "3"),
            (1e15, "1000000000000000", "1000000000000000"),
            (1e17, "1e+17", "100000000000000000"),
            (1e21, "1e+21", "1e+21"),
            (1e300, "1.0000000000000001e+300", "1e+300"),
            (-0.0, "-0", "0"),
            (1.5e-7, "1.4999999999999999e-07", "1.5e-7"),
            (f64::NEG_INFINITY, "-inf", "-inf"),
        ] {
            assert_eq!(argument_text(value, Dialect::Redis70), old);
            assert_eq!(argument_text(value, Dialect::Redis82), new);
        }
    }

    #[test]
    fn lua_numbers_truncate_and_what_does_not_fit_becomes_the_least_integer() {
        assert_eq!(lua_to_i64(3.9), 3);
        assert_eq!(lua_to_i64(-3.9), -3);
        for value in [f64::NAN, 1e30, -1e30, f64::INFINITY] {
            assert_eq!(lua_to_i64(value), i64::MIN);
        }
    }
}
