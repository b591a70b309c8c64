//! The library `string`, but for `format`.

use super::given;
use super::pattern::{Bad, Capture, Matcher, Subject};
use crate::error::{RefusalKind, Returned, Stop};
use crate::heap::{Key, Table};
use crate::ops::{length_of, place_after};
use crate::text::{self, Text};
use crate::value::{Native, Offset, TableId, Value};
use crate::vm::{Host, TOO_LONG, Vm};
use std::sync::Arc;

/// Steps of a match that cost as much as one instruction.
const STEPS_PER_UNIT: u64 = 4;

pub(super) fn len(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let text = vm.text_arg(&args, 1)?;
    Ok(vec![length_of(&text)])
}

/// An index that counts from the end if it is negative.
fn from_end(index: i64, length: i64) -> i64 {
    match index {
        0.. => index,
        _ => (length + index + 1).max(0),
    }
}

pub(super) fn sub(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let text = vm.text_arg(&args, 1)?;
    let start = vm.numeric(&args, 2)?;
    let end = match given(&args, 3) {
        true => vm.numeric(&args, 3)?,
        false => Value::Number(-1.0),
    };
    if let (Some(plain), Value::Number(start), Value::Number(end)) = (text.as_plain(), &start, &end)
    {
        let length = plain.len() as i64;
        let start = from_end(crate::number::to_i64(*start), length).max(1);
        let end = from_end(crate::number::to_i64(*end), length).min(length);
        if start > end {
            return Ok(vec![Value::text("")]);
        }
        let part = &plain[start as usize - 1..end as usize];
        vm.allocate(part.len())?;
        return Ok(vec![Value::text(part)]);
    }
    let from = vm.cut(&text, &start, true)?;
    let to = vm.cut(&text, &end, false)?;
    let part = text.bytes().get(from..to).unwrap_or(&[]);
    Ok(vec![Value::Text(Text::symbolic(part))])
}

impl Vm<'_> {
    /// The byte at which a text with symbols in it is cut: in front of the
    /// character with this number, or behind it.
    fn cut(&self, text: &Text, index: &Value, before: bool) -> Result<usize, Stop> {
        let bytes = text.bytes();
        let wanted = match index {
            Value::Number(number) => {
                let number = crate::number::to_i64(*number);
                if number < 0 {
                    return self.cut_from_end(text, number, before);
                }
                Offset {
                    plain: number,
                    symbols: Vec::new(),
                }
            }
            Value::Offset(place) => (**place).clone(),
            _ => return Err(self.apart()),
        };
        let wanted = Offset {
            plain: wanted.plain - i64::from(before),
            ..wanted
        };
        if wanted.plain <= 0 && wanted.symbols.is_empty() {
            return Ok(0);
        }
        if wanted == place_after(bytes) {
            return Ok(bytes.len());
        }
        let mut at = 0;
        let mut seen = Offset {
            plain: 0,
            symbols: Vec::new(),
        };
        for piece in text::pieces(bytes) {
            match piece {
                text::Piece::Plain(plain) => {
                    let left = wanted.plain - seen.plain;
                    if seen.symbols == wanted.symbols && (0..=plain.len() as i64).contains(&left) {
                        return Ok(at + left as usize);
                    }
                    seen.plain += plain.len() as i64;
                    at += plain.len();
                }
                text::Piece::Symbol(symbol) => {
                    if seen == wanted {
                        return Ok(at);
                    }
                    seen.pass(symbol);
                    at += symbol.text().len();
                }
            }
        }
        Err(self.apart())
    }

    /// The same from the end: -1 is the last character.
    fn cut_from_end(&self, text: &Text, index: i64, before: bool) -> Result<usize, Stop> {
        let behind = -index - i64::from(!before);
        let last = text::pieces(text.bytes()).last();
        let plain = match last {
            Some(text::Piece::Plain(plain)) => plain.len() as i64,
            _ => 0,
        };
        match behind <= plain {
            true => Ok(text.bytes().len() - behind as usize),
            false => Err(self.apart()),
        }
    }

    fn apart(&self) -> Stop {
        self.refuse(
            RefusalKind::Names,
            "takes a token, an owner or a time apart, or counts its letters",
        )
    }
}

pub(super) fn byte(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let plain = vm.plain_arg(&args, 1, "looks at the letters of")?;
    let length = plain.len() as i64;
    let start = from_end(vm.integer(&args, 2, Some(1))?, length);
    let end = from_end(vm.integer(&args, 3, Some(start))?, length).min(length);
    let start = start.max(1);
    if start > end {
        return Ok(Vec::new());
    }
    vm.charge((end - start) as u64)?;
    if end - start >= 8000 {
        return Err(vm.error("string slice too long"));
    }
    let part = &plain[start as usize - 1..end as usize];
    Ok(part
        .iter()
        .map(|byte| Value::Number(f64::from(*byte)))
        .collect())
}

pub(super) fn char(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let mut out = Vec::with_capacity(args.len());
    for number in 1..=args.len() {
        let value = vm.int(&args, number, None)?;
        match u8::try_from(value) {
            Ok(byte) => out.push(byte),
            Err(_) => return Err(vm.bad_argument(number, "invalid value")),
        }
    }
    vm.allocate(out.len())?;
    Ok(vec![Value::text(out)])
}

fn mapped(vm: &mut Vm<'_>, args: &[Value], f: impl Fn(&mut Vec<u8>)) -> Returned {
    let plain = vm.plain_arg(args, 1, "changes the letters of")?;
    vm.allocate(plain.len())?;
    let mut out = plain.to_vec();
    f(&mut out);
    Ok(vec![Value::text(out)])
}

pub(super) fn lower(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    mapped(vm, &args, |text| text.make_ascii_lowercase())
}

pub(super) fn upper(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    mapped(vm, &args, |text| text.make_ascii_uppercase())
}

pub(super) fn reverse(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    mapped(vm, &args, |text| text.reverse())
}

pub(super) fn rep(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let text = vm.text_arg(&args, 1)?;
    let count = usize::try_from(vm.int(&args, 2, None)?).unwrap_or(0);
    let bytes = text.bytes().len().saturating_mul(count);
    vm.allocate(bytes)?;
    let out = text.bytes().repeat(count);
    Ok(vec![Value::Text(match text.is_symbolic() {
        true => Text::symbolic(out),
        false => Text::plain(out),
    })])
}

impl Vm<'_> {
    fn matched(&mut self, result: Result<Option<usize>, Bad>) -> Result<Option<usize>, Stop> {
        result.map_err(|bad| self.bad(bad))
    }

    fn bad(&self, bad: Bad) -> Stop {
        match bad {
            Bad::Malformed(text) => self.error(text),
            Bad::Refused(refusal) => self.refused(refusal),
            Bad::Spent => self.refuse(RefusalKind::Limit, TOO_LONG),
        }
    }

    fn steps(&self) -> u64 {
        self.machine.budget.saturating_mul(STEPS_PER_UNIT)
    }

    /// What a match cost.
    fn pay(&mut self, left: u64) -> Result<(), Stop> {
        let spent = self.steps().saturating_sub(left);
        self.charge(spent / STEPS_PER_UNIT + 1)
    }

    /// Captures as values; the whole match if there are none and it is wanted.
    fn captured(
        &mut self,
        text: &Text,
        subject: &Subject,
        captures: &[Capture],
        whole: Option<(usize, usize)>,
    ) -> Returned {
        let mut values = Vec::new();
        if captures.is_empty() {
            if let Some((from, to)) = whole {
                values.push(self.part_of(text, subject, from, to)?);
            }
            return Ok(values);
        }
        for capture in captures {
            values.push(match *capture {
                Capture::Text(from, to) => self.part_of(text, subject, from, to)?,
                Capture::Position(at) => self.position(text, subject, at, 1)?,
                Capture::Open(_) => return Err(self.error("unfinished capture")),
            });
        }
        Ok(values)
    }

    fn part_of(
        &mut self,
        text: &Text,
        subject: &Subject,
        from: usize,
        to: usize,
    ) -> Result<Value, Stop> {
        let range = |at| subject.byte(at);
        let (from, to) = match (range(from), range(to)) {
            (Ok(from), Ok(to)) => (from, to),
            (Err(bad), _) | (_, Err(bad)) => return Err(self.bad(bad)),
        };
        let part = &text.bytes()[from..to];
        self.allocate(part.len())?;
        Ok(Value::Text(match text.is_symbolic() {
            true => Text::symbolic(part),
            false => Text::plain(part),
        }))
    }

    /// The number of the character at a unit (plus `offset`).
    fn position(
        &mut self,
        text: &Text,
        subject: &Subject,
        at: usize,
        offset: i64,
    ) -> Result<Value, Stop> {
        let byte = match subject.byte(at) {
            Ok(byte) => byte,
            Err(bad) => return Err(self.bad(bad)),
        };
        if !text.is_symbolic() {
            return Ok(Value::Number((byte as i64 + offset) as f64));
        }
        let mut place = place_after(&text.bytes()[..byte]);
        place.plain += offset;
        if place.symbols.is_empty() {
            return Ok(Value::Number(place.plain as f64));
        }
        Ok(Value::Offset(Arc::new(place)))
    }

    /// The unit at which a search begins.
    fn start_unit(
        &mut self,
        text: &Text,
        subject: &Subject,
        args: &[Value],
    ) -> Result<usize, Stop> {
        if !given(args, 3) {
            return Ok(0);
        }
        match self.numeric(args, 3)? {
            Value::Number(number) if !text.is_symbolic() => {
                let length = text.bytes().len() as i64;
                let start = from_end(crate::number::to_i64(number), length);
                Ok((start.max(1) - 1).min(length) as usize)
            }
            index => {
                let byte = self.cut(text, &index, true)?;
                Ok(subject.unit(byte))
            }
        }
    }
}

pub(super) fn find(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    search(vm, &args, true)
}

pub(super) fn matches(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    search(vm, &args, false)
}

const SPECIAL: &[u8] = b"^$*+?.([%-";

fn search(vm: &mut Vm<'_>, args: &[Value], find: bool) -> Returned {
    let text = vm.text_arg(args, 1)?;
    let pattern = vm.text_arg(args, 2)?;
    let subject = Subject::new(text.bytes(), text.is_symbolic());
    let start = vm.start_unit(&text, &subject, args)?;
    let plain = find
        && (args.get(3).is_some_and(Value::is_true)
            || !pattern.bytes().iter().any(|byte| SPECIAL.contains(byte)));
    if plain {
        return plain_search(vm, &text, &subject, &pattern, start);
    }
    let pattern = vm.letters(&pattern, "uses as a pattern")?;
    let (anchored, from) = match pattern.first() {
        Some(b'^') => (true, 1),
        _ => (false, 0),
    };
    let mut matcher = Matcher::new(&subject, &pattern, vm.steps());
    let mut at = start;
    loop {
        matcher.captures.clear();
        let found = matcher.matches(at, from);
        if let Some(end) = vm.matched(found)? {
            let captures = std::mem::take(&mut matcher.captures);
            vm.pay(matcher.steps)?;
            if !find {
                return vm.captured(&text, &subject, &captures, Some((at, end)));
            }
            let mut values = vec![
                vm.position(&text, &subject, at, 1)?,
                vm.position(&text, &subject, end, 0)?,
            ];
            values.extend(vm.captured(&text, &subject, &captures, None)?);
            return Ok(values);
        }
        at += 1;
        if anchored || at > subject.len() {
            vm.pay(matcher.steps)?;
            return Ok(vec![Value::Nil]);
        }
    }
}

fn plain_search(
    vm: &mut Vm<'_>,
    text: &Text,
    subject: &Subject,
    part: &Text,
    start: usize,
) -> Returned {
    let letter = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    let from = match subject.byte(start) {
        Ok(from) => from,
        Err(bad) => return Err(vm.bad(bad)),
    };
    let unsure = text.is_symbolic()
        && (part.is_symbolic() || part.bytes().iter().all(letter) && !part.bytes().is_empty());
    if unsure || part.is_symbolic() && !text.is_symbolic() && part.bytes().is_empty() {
        return Err(vm.refuse(
            RefusalKind::Names,
            "looks in a text with a token, an owner or a time for something that may be a part of it",
        ));
    }
    if part.is_symbolic() {
        return Ok(vec![Value::Nil]);
    }
    vm.charge((text.bytes().len() + part.bytes().len()) as u64)?;
    let Some(at) = find_bytes(&text.bytes()[from..], part.bytes()) else {
        return Ok(vec![Value::Nil]);
    };
    let (at, end) = (from + at, from + at + part.bytes().len());
    let (first, last) = (subject.unit(at), subject.unit(end));
    Ok(vec![
        vm.position(text, subject, first, 1)?,
        vm.position(text, subject, last, 0)?,
    ])
}

fn find_bytes(text: &[u8], part: &[u8]) -> Option<usize> {
    memchr::memmem::find(text, part)
}

pub(super) fn gmatch(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    let text = vm.text_arg(&args, 1)?;
    let pattern = vm.text_arg(&args, 2)?;
    let state = Table {
        list: vec![Value::Text(text), Value::Text(pattern), Value::Number(0.0)],
        ..Table::default()
    };
    let id = vm.machine.heap.table(state);
    let step = super::native("string", "(gmatch)").map_or(0, |native| native.id);
    Ok(vec![Value::Native(Native {
        // Where its state lies.
        timeout_us: i64::from(id.0),
        node: 1,
        id: step,
    })])
}

pub(super) fn gmatch_next(vm: &mut Vm<'_>, _: &mut dyn Host, args: Vec<Value>) -> Returned {
    // The state comes as the first argument; see `Vm::native`.
    let id = vm.table_arg(&args, 1)?;
    let (text, pattern, start) = vm.gmatch_state(id);
    let (Value::Text(text), Value::Text(pattern), Value::Number(start)) = (text, pattern, start)
    else {
        return Ok(vec![Value::Nil]);
    };
    let subject = Subject::new(text.bytes(), text.is_symbolic());
    let pattern = vm.letters(&pattern, "uses as a pattern")?;
    let mut matcher = Matcher::new(&subject, &pattern, vm.steps());
    let mut at = start as usize;
    while at <= subject.len() {
        matcher.captures.clear();
        let found = matcher.matches(at, 0);
        if let Some(end) = vm.matched(found)? {
            let captures = std::mem::take(&mut matcher.captures);
            vm.pay(matcher.steps)?;
            let next = if end == at { end + 1 } else { end };
            let index = Key::of(&Value::Number(3.0));
            if let (Some(table), Some(key)) = (vm.machine.heap.get_mut(id), index) {
                table.set(key, Value::Number(next as f64));
            }
            return vm.captured(&text, &subject, &captures, Some((at, end)));
        }
        at += 1;
    }
    vm.pay(matcher.steps)?;
    Ok(vec![Value::Nil])
}

impl Vm<'_> {
    fn gmatch_state(&self, id: TableId) -> (Value, Value, Value) {
        let list = &self.machine.heap.get(id).list;
        let at = |index: usize| list.get(index).cloned().unwrap_or(Value::Nil);
        (at(0), at(1), at(2))
    }
}

pub(super) fn gsub(vm: &mut Vm<'_>, host: &mut dyn Host, args: Vec<Value>) -> Returned {
    let text = vm.text_arg(&args, 1)?;
    let pattern = vm.text_arg(&args, 2)?;
    let pattern = vm.letters(&pattern, "uses as a pattern")?;
    let replacement = args.get(2).cloned().unwrap_or(Value::Nil);
    let usable = matches!(
        replacement,
        Value::Number(_) | Value::Text(_) | Value::Table(_) | Value::Function(_) | Value::Native(_)
    );
    if !usable {
        return Err(vm.bad_argument(3, "string/function/table expected"));
    }
    let most = vm.int(&args, 4, Some(i64::MAX))?;
    let subject = Subject::new(text.bytes(), text.is_symbolic());
    let (anchored, from) = match pattern.first() {
        Some(b'^') => (true, 1),
        _ => (false, 0),
    };
    let mut out: Vec<Text> = Vec::new();
    let mut at = 0;
    let mut kept = 0;
    let mut count = 0;
    while count < most {
        let mut matcher = Matcher::new(&subject, &pattern, vm.steps());
        let found = matcher.matches(at, from);
        let end = vm.matched(found)?;
        let captures = std::mem::take(&mut matcher.captures);
        vm.pay(matcher.steps)?;
        if let Some(end) = end {
            count += 1;
            if let Value::Text(part) = vm.part_of(&text, &subject, kept, at)? {
                out.push(part);
            }
            out.push(replaced(
                vm,
                host,
                (&text, &subject),
                &captures,
                (at, end),
                &replacement,
            )?);
            kept = end;
            if end > at {
                at = end;
            } else if at < subject.len() {
                at += 1;
            } else {
                break;
            }
        } else if at < subject.len() {
            at += 1;
        } else {
            break;
        }
        if anchored {
            break;
        }
    }
    if let Value::Text(part) = vm.part_of(&text, &subject, kept, subject.len())? {
        out.push(part);
    }
    let joined = vm.join(&out)?;
    Ok(vec![Value::Text(joined), Value::Number(count as f64)])
}

/// What stands for a match.
fn replaced(
    vm: &mut Vm<'_>,
    host: &mut dyn Host,
    (text, subject): (&Text, &Subject),
    captures: &[Capture],
    (from, to): (usize, usize),
    replacement: &Value,
) -> Result<Text, Stop> {
    let whole = vm.part_of(text, subject, from, to)?;
    let place = Some((from, to));
    let found = match replacement {
        Value::Table(_) => {
            let first = &captures[..captures.len().min(1)];
            let values = vm.captured(text, subject, first, place)?;
            let key = values.into_iter().next().unwrap_or(Value::Nil);
            vm.index(host, replacement, &key, None)?
        }
        Value::Function(_) | Value::Native(_) => {
            let values = vm.captured(text, subject, captures, place)?;
            let found = vm.call(host, replacement, values)?;
            found.into_iter().next().unwrap_or(Value::Nil)
        }
        other => {
            let Some(template) = vm.part(other)? else {
                return Ok(Text::from(""));
            };
            let values = match template.bytes().contains(&b'%') {
                true => vm.captured(text, subject, captures, place)?,
                false => Vec::new(),
            };
            return fill(vm, &template, &whole, &values);
        }
    };
    if !found.is_true() {
        return vm.part(&whole).map(|text| text.unwrap_or(Text::from("")));
    }
    match found {
        Value::Text(_) | Value::Number(_) => {
            vm.part(&found).map(|text| text.unwrap_or(Text::from("")))
        }
        other => {
            let kind = vm.type_of(&other);
            Err(vm.error(format!("invalid replacement value (a {kind})")))
        }
    }
}

/// `%1` and its like in a replacement.
fn fill(vm: &mut Vm<'_>, template: &Text, whole: &Value, values: &[Value]) -> Result<Text, Stop> {
    let Some(plain) = template.as_plain() else {
        // No symbol holds a %.
        return match template.bytes().contains(&b'%') {
            false => Ok(template.clone()),
            true => Err(vm.apart()),
        };
    };
    let mut parts = Vec::new();
    let mut letters = Vec::new();
    let mut at = 0;
    while at < plain.len() {
        if plain[at] != b'%' {
            letters.push(plain[at]);
            at += 1;
            continue;
        }
        let next = plain.get(at + 1).copied();
        at += 2;
        let value = match next {
            Some(b'0') => whole.clone(),
            Some(digit) if digit.is_ascii_digit() => {
                let index = usize::from(digit - b'1');
                match values.get(index) {
                    Some(value) => value.clone(),
                    None => return Err(vm.error("invalid capture index")),
                }
            }
            Some(other) => {
                letters.push(other);
                continue;
            }
            None => {
                letters.push(0);
                continue;
            }
        };
        parts.push(Text::plain(std::mem::take(&mut letters)));
        parts.extend(vm.part(&value)?);
    }
    parts.push(Text::plain(letters));
    vm.join(&parts)
}
