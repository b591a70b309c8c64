//! `cjson`: JSON as lua-cjson 2.1 reads and writes it.

use lockproof_lua::text::{self, Piece, Symbol, Text};
use lockproof_lua::{Key, Native, RefusalKind, Returned, Stop, Table, Value, Vm, number};

use super::super::host::NULL;

/// Tables inside each other that are written, and read.
const DEPTH_MAX: usize = 1000;

fn one<'a>(vm: &Vm<'_>, args: &'a [Value]) -> Result<&'a Value, Stop> {
    match args {
        [value] => Ok(value),
        _ => Err(vm.bad_argument(1, "expected 1 argument")),
    }
}

// ---- writing ----

pub(in super::super) fn encode(vm: &mut Vm<'_>, args: &[Value]) -> Returned {
    let value = one(vm, args)?.clone();
    let mut out = Vec::new();
    write(vm, &value, 0, &mut out)?;
    vm.allocate(out.len())?;
    let symbolic = vm.machine.clocks.scale.is_some();
    Ok(vec![Value::Text(match symbolic {
        true => Text::symbolic(out),
        false => Text::plain(out),
    })])
}

fn cannot(vm: &Vm<'_>, what: &str, why: &str) -> Stop {
    vm.error(format!("Cannot serialise {what}: {why}"))
}

fn write(vm: &mut Vm<'_>, value: &Value, depth: usize, out: &mut Vec<u8>) -> Result<(), Stop> {
    vm.charge(2)?;
    match value {
        Value::Nil => out.extend(b"null"),
        Value::Native(native) if native.id == NULL => out.extend(b"null"),
        Value::Bool(value) => out.extend(value.to_string().bytes()),
        Value::Number(number) if !number.is_finite() => {
            return Err(cannot(vm, "number", "must not be NaN or Inf"));
        }
        Value::Text(text) => write_text(text, out),
        Value::Table(id) => {
            let table = vm.machine.heap.get(*id).clone();
            let depth = depth + 1;
            if depth > DEPTH_MAX {
                return Err(vm.error(format!("Cannot serialise, excessive nesting ({depth})")));
            }
            match list_length(vm, &table)? {
                Some(length) => write_list(vm, &table, length, depth, out)?,
                None => write_object(vm, &table, depth, out)?,
            }
        }
        Value::Function(_) | Value::Native(_) => {
            return Err(cannot(vm, "function", "type not supported"));
        }
        other => match vm.part(other)? {
            Some(text) => out.extend_from_slice(text.bytes()),
            None => return Err(cannot(vm, other.type_name(), "type not supported")),
        },
    }
    Ok(())
}

/// The length of a table that is a list: all keys are positive whole numbers, and
/// not too few of them.
fn list_length(vm: &Vm<'_>, table: &Table) -> Result<Option<usize>, Stop> {
    let (mut most, mut count) = (0usize, 0usize);
    for (key, _) in table.entries() {
        match key.value() {
            Value::Number(number) if number >= 1.0 && number.fract() == 0.0 => {
                most = most.max(number as usize);
                count += 1;
            }
            _ => return Ok(None),
        }
    }
    if count == 0 {
        return Ok(None);
    }
    if most > count * 2 && most > 10 {
        return Err(cannot(vm, "table", "excessively sparse array"));
    }
    Ok(Some(most))
}

fn write_list(
    vm: &mut Vm<'_>,
    table: &Table,
    length: usize,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    out.push(b'[');
    for index in 1..=length {
        if index > 1 {
            out.push(b',');
        }
        write(vm, &table.item(index), depth, out)?;
    }
    out.push(b']');
    Ok(())
}

/// In the order in which Lua goes through the table, which nobody promises.
fn write_object(
    vm: &mut Vm<'_>,
    table: &Table,
    depth: usize,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let entries: Vec<(Key, Value)> = table.entries().collect();
    let order = super::some_order(
        vm,
        entries.len(),
        "writes a table with more than four fields as JSON, in an order that nobody promises",
    )?;
    out.push(b'{');
    for (place, index) in order.into_iter().enumerate() {
        if place > 0 {
            out.push(b',');
        }
        let (key, value) = &entries[index];
        match key.value() {
            Value::Text(text) => write_text(&text, out),
            Value::Number(number) => {
                out.extend(format!("\"{}\"", number::to_text(number)).bytes());
            }
            other => {
                let kind = other.type_name();
                return Err(cannot(vm, kind, "table key must be a number or string"));
            }
        }
        out.push(b':');
        write(vm, value, depth, out)?;
    }
    out.push(b'}');
    Ok(())
}

fn write_text(text: &Text, out: &mut Vec<u8>) {
    out.push(b'"');
    if !text.is_symbolic() {
        escape(text.bytes(), out);
    } else {
        for piece in text::pieces(text.bytes()) {
            match piece {
                Piece::Plain(bytes) => escape(bytes, out),
                // No letter of a token or a digit needs escaping.
                Piece::Symbol(symbol) => symbol.write(out),
            }
        }
    }
    out.push(b'"');
}

fn escape(bytes: &[u8], out: &mut Vec<u8>) {
    for byte in bytes {
        match byte {
            b'"' | b'\\' | b'/' => out.extend([b'\\', *byte]),
            0x08 => out.extend(b"\\b"),
            b'\t' => out.extend(b"\\t"),
            b'\n' => out.extend(b"\\n"),
            0x0c => out.extend(b"\\f"),
            b'\r' => out.extend(b"\\r"),
            0..=0x1f | 0x7f => out.extend(format!("\\u{byte:04x}").bytes()),
            other => out.push(*other),
        }
    }
}

// ---- reading ----

pub(in super::super) fn decode(vm: &mut Vm<'_>, args: &[Value]) -> Returned {
    one(vm, args)?;
    let text = vm.text_arg(args, 1)?;
    let bytes = text.bytes();
    vm.charge(bytes.len() as u64)?;
    if bytes.len() >= 2 && (bytes[0] == 0 || bytes[1] == 0) {
        return Err(vm.error("JSON parser does not support UTF-16 or UTF-32"));
    }
    let mut reader = Reader {
        text: bytes,
        symbolic: text.is_symbolic(),
        at: 0,
        depth: 0,
    };
    let token = reader.next(vm)?;
    let value = reader.value(vm, token)?;
    let (place, token) = reader.next(vm)?;
    match token {
        Token::End => Ok(vec![value]),
        other => Err(reader.unexpected(vm, "the end", place, &other)),
    }
}

#[derive(Debug)]
enum Token {
    ObjectBegin,
    ObjectEnd,
    ListBegin,
    ListEnd,
    Text(Vec<u8>),
    Number(f64),
    /// A time or a duration.
    Symbol(Symbol),
    Bool(bool),
    Null,
    Colon,
    Comma,
    End,
    Error(&'static str),
}

impl Token {
    fn name(&self) -> &'static str {
        match self {
            Token::ObjectBegin => "T_OBJ_BEGIN",
            Token::ObjectEnd => "T_OBJ_END",
            Token::ListBegin => "T_ARR_BEGIN",
            Token::ListEnd => "T_ARR_END",
            Token::Text(_) => "T_STRING",
            Token::Number(_) | Token::Symbol(_) => "T_NUMBER",
            Token::Bool(_) => "T_BOOLEAN",
            Token::Null => "T_NULL",
            Token::Colon => "T_COLON",
            Token::Comma => "T_COMMA",
            Token::End => "T_END",
            Token::Error(text) => text,
        }
    }
}

struct Reader<'t> {
    text: &'t [u8],
    symbolic: bool,
    at: usize,
    depth: usize,
}

type Placed = (usize, Token);

impl Reader<'_> {
    fn unexpected(&self, vm: &Vm<'_>, wanted: &str, place: usize, found: &Token) -> Stop {
        let found = found.name();
        let place = place + 1;
        vm.error(format!(
            "Expected {wanted} but found {found} at character {place}"
        ))
    }

    fn next(&mut self, vm: &Vm<'_>) -> Result<Placed, Stop> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        let place = self.at;
        let Some(&first) = self.text.get(self.at) else {
            return Ok((place, Token::End));
        };
        let single = match first {
            b'{' => Some(Token::ObjectBegin),
            b'}' => Some(Token::ObjectEnd),
            b'[' => Some(Token::ListBegin),
            b']' => Some(Token::ListEnd),
            b':' => Some(Token::Colon),
            b',' => Some(Token::Comma),
            _ => None,
        };
        if let Some(token) = single {
            self.at += 1;
            return Ok((place, token));
        }
        if first == b'"' {
            return Ok(self.text_token());
        }
        if self.symbolic && first == text::MARK {
            let symbol = text::symbols(&self.text[self.at..]).next();
            return match symbol {
                Some(symbol) if !matches!(symbol, Symbol::Name(_)) => {
                    self.at += symbol.text().len();
                    Ok((place, Token::Symbol(symbol)))
                }
                _ => Err(vm.refuse(
                    RefusalKind::Names,
                    "reads a token or an owner as JSON, which depends on its letters",
                )),
            };
        }
        for (word, token) in [
            ("true", Token::Bool(true)),
            ("false", Token::Bool(false)),
            ("null", Token::Null),
        ] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok((place, token));
            }
        }
        Ok((place, self.number_token()))
    }

    fn number_token(&mut self) -> Token {
        let rest = &self.text[self.at..];
        let unsigned = rest.strip_prefix(b"-").unwrap_or(rest);
        let lower: Vec<u8> = unsigned
            .iter()
            .take(3)
            .map(u8::to_ascii_lowercase)
            .collect();
        let looks = match unsigned.first() {
            Some(byte) if byte.is_ascii_digit() => true,
            _ => matches!(lower.as_slice(), b"inf" | b"nan"),
        };
        if !looks {
            return match rest.first() {
                Some(b'-') => Token::Error("invalid number"),
                _ => Token::Error("invalid token"),
            };
        }
        // As far as C's strtod would read.
        let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'+' | b'-');
        let most = rest.iter().take_while(|byte| part(byte)).count();
        let found = (1..=most)
            .rev()
            .find_map(|length| Some((length, number::parse(&rest[..length])?)));
        match found {
            Some((length, value)) => {
                self.at += length;
                Token::Number(value)
            }
            None => Token::Error("invalid number"),
        }
    }

    fn text_token(&mut self) -> Placed {
        let place = self.at;
        let mut out = Vec::new();
        let mut at = self.at + 1;
        loop {
            let Some(&byte) = self.text.get(at) else {
                return (at, Token::Error("unexpected end of string"));
            };
            if self.symbolic
                && byte == text::MARK
                && let Some(symbol) = text::symbols(&self.text[at..]).next()
            {
                symbol.write(&mut out);
                at += symbol.text().len();
                continue;
            }
            match byte {
                b'"' => {
                    self.at = at + 1;
                    return (place, Token::Text(out));
                }
                b'\\' => match self.escaped(at, &mut out) {
                    Ok(length) => at += length,
                    Err(text) => return (at, Token::Error(text)),
                },
                other => {
                    out.push(other);
                    at += 1;
                }
            }
        }
    }

    /// How many bytes an escape takes.
    fn escaped(&self, at: usize, out: &mut Vec<u8>) -> Result<usize, &'static str> {
        let plain = match self.text.get(at + 1) {
            Some(b'"') => b'"',
            Some(b'\\') => b'\\',
            Some(b'/') => b'/',
            Some(b'b') => 0x08,
            Some(b'f') => 0x0c,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'u') => return self.unicode(at, out),
            _ => return Err("invalid escape code"),
        };
        out.push(plain);
        Ok(2)
    }

    fn unicode(&self, at: usize, out: &mut Vec<u8>) -> Result<usize, &'static str> {
        let wrong = "invalid unicode escape code";
        let unit = |at: usize| {
            let digits = self.text.get(at + 2..at + 6)?;
            let starts = self.text.get(at..at + 2) == Some(b"\\u");
            let text = std::str::from_utf8(digits).ok().filter(|_| starts)?;
            u32::from_str_radix(text, 16).ok()
        };
        let first = unit(at).ok_or(wrong)?;
        let (code, length) = match first {
            0xd800..=0xdbff => {
                let second = unit(at + 6).filter(|low| (0xdc00..=0xdfff).contains(low));
                let second = second.ok_or(wrong)?;
                (0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff), 12)
            }
            0xdc00..=0xdfff => return Err(wrong),
            code => (code, 6),
        };
        let letter = char::from_u32(code).ok_or(wrong)?;
        let mut buffer = [0; 4];
        out.extend(letter.encode_utf8(&mut buffer).bytes());
        Ok(length)
    }

    fn value(&mut self, vm: &mut Vm<'_>, (place, token): Placed) -> Result<Value, Stop> {
        vm.charge(2)?;
        Ok(match token {
            Token::Text(text) => self.text_value(vm, text)?,
            Token::Number(number) => Value::Number(number),
            Token::Symbol(symbol) => {
                let text = Value::Text(Text::symbolic(symbol.text()));
                vm.number(&text)?.unwrap_or(Value::Nil)
            }
            Token::Bool(value) => Value::Bool(value),
            Token::Null => Value::Native(Native::plain(NULL)),
            Token::ObjectBegin => self.object(vm)?,
            Token::ListBegin => self.list(vm)?,
            other => return Err(self.unexpected(vm, "value", place, &other)),
        })
    }

    fn text_value(&self, vm: &mut Vm<'_>, text: Vec<u8>) -> Result<Value, Stop> {
        vm.allocate(text.len())?;
        Ok(Value::Text(match self.symbolic {
            true => Text::symbolic(text),
            false => Text::plain(text),
        }))
    }

    fn descend(&mut self, vm: &Vm<'_>) -> Result<(), Stop> {
        self.depth += 1;
        if self.depth <= DEPTH_MAX {
            return Ok(());
        }
        let (depth, place) = (self.depth, self.at);
        Err(vm.error(format!(
            "Found too many nested data structures ({depth}) at character {place}"
        )))
    }

    fn object(&mut self, vm: &mut Vm<'_>) -> Result<Value, Stop> {
        self.descend(vm)?;
        let mut table = Table::default();
        let mut token = self.next(vm)?;
        if !matches!(token.1, Token::ObjectEnd) {
            loop {
                let name = match token {
                    (_, Token::Text(text)) => self.text_value(vm, text)?,
                    (place, other) => {
                        return Err(self.unexpected(vm, "object key string", place, &other));
                    }
                };
                match self.next(vm)? {
                    (_, Token::Colon) => {}
                    (place, other) => return Err(self.unexpected(vm, "colon", place, &other)),
                }
                let next = self.next(vm)?;
                let value = self.value(vm, next)?;
                if let Some(key) = Key::of(&name) {
                    vm.allocate(32)?;
                    table.set(key, value);
                }
                match self.next(vm)? {
                    (_, Token::ObjectEnd) => break,
                    (_, Token::Comma) => token = self.next(vm)?,
                    (place, other) => {
                        return Err(self.unexpected(vm, "comma or object end", place, &other));
                    }
                }
            }
        }
        self.depth -= 1;
        Ok(Value::Table(vm.machine.heap.table(table)))
    }

    fn list(&mut self, vm: &mut Vm<'_>) -> Result<Value, Stop> {
        self.descend(vm)?;
        let mut table = Table::default();
        let mut token = self.next(vm)?;
        if !matches!(token.1, Token::ListEnd) {
            loop {
                let value = self.value(vm, token)?;
                vm.allocate(24)?;
                table.list.push(value);
                match self.next(vm)? {
                    (_, Token::ListEnd) => break,
                    (_, Token::Comma) => token = self.next(vm)?,
                    (place, other) => {
                        return Err(self.unexpected(vm, "comma or array end", place, &other));
                    }
                }
            }
        }
        self.depth -= 1;
        Ok(Value::Table(vm.machine.heap.table(table)))
    }
}
