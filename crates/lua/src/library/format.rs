//! `string.format`, as C's `printf` prints.

use crate::error::{RefusalKind, Returned, Stop};
use crate::number::{c_exponent, not_finite, printf_g, split_exponent, to_i64};
use crate::text::Text;
use crate::value::Value;
use crate::vm::{Host, Vm};

/// One `%...` of a format.
#[derive(Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

impl Spec {
    /// Reads flags, width and precision; how many bytes they take.
    fn read(text: &[u8]) -> Result<(Spec, usize), &'static str> {
        let mut spec = Spec::default();
        let mut at = 0;
        while let Some(flag) = text.get(at) {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            at += 1;
        }
        if at > 5 {
            return Err("invalid format (repeated flags)");
        }
        let digits = |at: &mut usize| {
            let mut value = None;
            for _ in 0..2 {
                if let Some(digit) = text.get(*at).filter(|b| b.is_ascii_digit()) {
                    value = Some(value.unwrap_or(0) * 10 + usize::from(digit - b'0'));
                    *at += 1;
                }
            }
            value
        };
        spec.width = digits(&mut at).unwrap_or(0);
        if text.get(at) == Some(&b'.') {
            at += 1;
            spec.precision = Some(digits(&mut at).unwrap_or(0));
        }
        if text.get(at).is_some_and(u8::is_ascii_digit) {
            return Err("invalid format (width or precision too long)");
        }
        Ok((spec, at))
    }

    fn is_plain(&self) -> bool {
        self.width == 0 && self.precision.is_none() && !self.plus && !self.space
    }

    /// Fills up to the width.
    fn pad(&self, sign: &str, body: String, zeros: bool) -> String {
        let length = sign.len() + body.len();
        let fill = self.width.saturating_sub(length);
        if self.left {
            format!("{sign}{body}{}", " ".repeat(fill))
        } else if zeros && self.zero {
            format!("{sign}{}{body}", "0".repeat(fill))
        } else {
            format!("{}{sign}{body}", " ".repeat(fill))
        }
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        }
    }

    fn digits(&self, digits: String) -> String {
        let least = self.precision.unwrap_or(1);
        if self.precision == Some(0) && digits == "0" {
            return String::new();
        }
        let fill = least.saturating_sub(digits.len());
        "0".repeat(fill) + &digits
    }

    fn signed(&self, value: i64) -> String {
        let body = self.digits(value.unsigned_abs().to_string());
        self.pad(self.sign(value < 0), body, self.precision.is_none())
    }

    fn unsigned(&self, value: u64, kind: u8) -> String {
        let digits = match kind {
            b'o' => format!("{value:o}"),
            b'x' => format!("{value:x}"),
            b'X' => format!("{value:X}"),
            _ => value.to_string(),
        };
        let mut body = self.digits(digits);
        let mut prefix = "";
        if self.alternate {
            match kind {
                b'o' if !body.starts_with('0') => body.insert(0, '0'),
                b'x' if value != 0 => prefix = "0x",
                b'X' if value != 0 => prefix = "0X",
                _ => {}
            }
        }
        self.pad(prefix, body, self.precision.is_none())
    }

    fn float(&self, value: f64, kind: u8) -> String {
        let upper = kind.is_ascii_uppercase();
        let negative = value.is_sign_negative();
        let sign = self.sign(negative);
        if let Some(word) = not_finite(value) {
            let word = word.trim_start_matches('-').to_owned();
            let word = if upper {
                word.to_ascii_uppercase()
            } else {
                word
            };
            return self.pad(sign, word, false);
        }
        let precision = self.precision.unwrap_or(6);
        let value = value.abs();
        let body = match kind.to_ascii_lowercase() {
            b'f' => {
                let point = if self.alternate && precision == 0 {
                    "."
                } else {
                    ""
                };
                format!("{value:.precision$}{point}")
            }
            b'e' => {
                let text = format!("{value:.precision$e}");
                let (mantissa, exponent) = split_exponent(&text);
                let point = if self.alternate && precision == 0 {
                    "."
                } else {
                    ""
                };
                format!("{mantissa}{point}{}", c_exponent(exponent))
            }
            _ if self.alternate => with_zeros(value, precision.max(1)),
            _ => printf_g(value, precision),
        };
        let body = if upper {
            body.to_ascii_uppercase()
        } else {
            body
        };
        self.pad(sign, body, true)
    }
}

/// `%#g` keeps the zeros behind the point.
fn with_zeros(value: f64, precision: usize) -> String {
    let scientific = format!("{value:.*e}", precision - 1);
    let (mantissa, exponent) = split_exponent(&scientific);
    if (-4..precision as i32).contains(&exponent) {
        let decimals = usize::try_from(precision as i32 - 1 - exponent).unwrap_or(0);
        let text = format!("{value:.decimals$}");
        return if text.contains('.') { text } else { text + "." };
    }
    let point = if mantissa.contains('.') { "" } else { "." };
    format!("{mantissa}{point}{}", c_exponent(exponent))
}

pub(super) fn format(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let template = vm.text_arg(&args, 1)?;
    if template.is_symbolic() {
        return Err(vm.refuse(
            RefusalKind::Names,
            "uses a text with a token, an owner or a time in it as a format",
        ));
    }
    let plain = template.bytes();
    let mut out = Parts::default();
    let mut at = 0;
    let mut argument = 1;
    while at < plain.len() {
        let byte = plain[at];
        at += 1;
        if byte != b'%' {
            out.letters.push(byte);
            continue;
        }
        if plain.get(at) == Some(&b'%') {
            out.letters.push(b'%');
            at += 1;
            continue;
        }
        let (spec, length) = Spec::read(&plain[at..]).map_err(|text| vm.error(text))?;
        at += length;
        let kind = plain.get(at).copied().unwrap_or(0);
        at += 1;
        argument += 1;
        if argument > args.len() {
            return Err(vm.bad_argument(argument, "no value"));
        }
        one(vm, &args, argument, (&spec, kind), &mut out)?;
        vm.charge(4 + spec.width as u64)?;
    }
    let parts = out.finish();
    let text = vm.join(&parts)?;
    Ok(vec![Value::Text(text)])
}

#[derive(Default)]
struct Parts {
    done: Vec<Text>,
    letters: Vec<u8>,
}

impl Parts {
    fn symbolic(&mut self, text: Text) {
        self.done
            .push(Text::plain(std::mem::take(&mut self.letters)));
        self.done.push(text);
    }

    fn finish(mut self) -> Vec<Text> {
        self.done.push(Text::plain(self.letters));
        self.done
    }
}

fn one(
    vm: &mut Vm<'_>,
    args: &[Value],
    number: usize,
    (spec, kind): (&Spec, u8),
    out: &mut Parts,
) -> Result<(), Stop> {
    match kind {
        b'c' => {
            let value = vm.integer(args, number, None)? as u8;
            let text = spec.pad("", String::from(char::from(value)), false);
            // A letter is a byte there.
            out.letters.extend(text.chars().map(|c| c as u8));
        }
        b'd' | b'i' | b'o' | b'u' | b'x' | b'X' => {
            let decimal = matches!(kind, b'd' | b'i' | b'u') && spec.is_plain();
            if decimal && let Some(text) = as_time(vm, args, number)? {
                out.symbolic(text);
                return Ok(());
            }
            let value = to_i64(vm.number_arg(args, number)?);
            let text = match kind {
                b'd' | b'i' => spec.signed(value),
                _ => spec.unsigned(value as u64, kind),
            };
            out.letters.extend(text.bytes());
        }
        b'e' | b'E' | b'f' | b'g' | b'G' => {
            let whole = spec.precision == Some(0) && kind == b'f' && spec.width == 0;
            if (whole || kind == b'g' && spec.precision >= Some(13))
                && let Some(text) = as_time(vm, args, number)?
            {
                out.symbolic(text);
                return Ok(());
            }
            let value = vm.number_arg(args, number)?;
            out.letters.extend(spec.float(value, kind).bytes());
        }
        b'q' => {
            let text = vm.text_arg(args, number)?;
            let mut quoted = vec![b'"'];
            for piece in crate::text::pieces(text.bytes()) {
                match piece {
                    crate::text::Piece::Plain(bytes) => quote(bytes, &mut quoted),
                    crate::text::Piece::Symbol(symbol) => symbol.write(&mut quoted),
                }
            }
            quoted.push(b'"');
            match text.is_symbolic() {
                true => out.symbolic(Text::symbolic(quoted)),
                false => out.letters.extend(quoted),
            }
        }
        b's' => {
            let text = vm.text_arg(args, number)?;
            if text.is_symbolic() {
                if !spec.is_plain() {
                    return Err(vm.refuse(
                        RefusalKind::Names,
                        "prints a token, an owner or a time with a width, which depends on its length",
                    ));
                }
                out.symbolic(text);
                return Ok(());
            }
            let bytes = text.bytes();
            let cut = spec.precision.unwrap_or(bytes.len()).min(bytes.len());
            let fill = spec.width.saturating_sub(cut);
            if !spec.left {
                out.letters.extend(std::iter::repeat_n(b' ', fill));
            }
            out.letters.extend_from_slice(&bytes[..cut]);
            if spec.left {
                out.letters.extend(std::iter::repeat_n(b' ', fill));
            }
        }
        0 => return Err(vm.error("invalid option '%' to 'format'")),
        other => {
            let shown = char::from(other);
            return Err(vm.error(format!("invalid option '%{shown}' to 'format'")));
        }
    }
    Ok(())
}

/// A time or a measured duration as the text of its whole ms.
fn as_time(vm: &Vm<'_>, args: &[Value], number: usize) -> Result<Option<Text>, Stop> {
    match vm.numeric(args, number)? {
        value @ (Value::Time(_) | Value::Duration(_)) => vm.part(&value),
        _ => Ok(None),
    }
}

fn quote(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'"' | b'\\' | b'\n' => out.extend([b'\\', *byte]),
            b'\r' => out.extend(b"\\r"),
            0 => out.extend(b"\\000"),
            other => out.push(*other),
        }
    }
}
