//! Lua 5.1's patterns.
//!
//! The matcher is lstrlib.c's, over characters that may stand for a part of a
//! symbol. Of such a character only its kind is known: what a token may consist
//! of, or that a time is digits. So whether it matches a class may be sure, or
//! not; and how many of them a symbol has is not known either. A match whose
//! outcome depends on that is refused.

use super::super::error::{Refusal, RefusalKind};
use super::super::text::{self, Piece, Symbol};

/// Captures at most, as LUA_MAXCAPTURES.
const CAPTURES_MAX: usize = 32;
/// Matches inside each other, as MAXCCALLS.
const DEPTH_MAX: usize = 200;

/// Why there is no match and no mismatch.
#[derive(Debug)]
pub(super) enum Bad {
    /// The pattern is wrong, in Lua's words.
    Malformed(String),
    Refused(Refusal),
    /// Too much work.
    Spent,
}

/// A character of a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Byte(u8),
    /// A part of a symbol: its first, one in the middle, or its last.
    Part(Symbol, u8),
}

/// A symbol is taken for this many characters; any number of them would give
/// the same matches, or the match is refused.
const PARTS: usize = 3;

/// A text to match against.
pub(super) struct Subject {
    units: Vec<Unit>,
    /// The byte at which each unit begins; those inside a symbol have none.
    bytes: Vec<Option<usize>>,
    length: usize,
}

impl Subject {
    pub fn new(text: &[u8], symbolic: bool) -> Subject {
        let mut subject = Subject {
            units: Vec::with_capacity(text.len()),
            bytes: Vec::with_capacity(text.len() + 1),
            length: text.len(),
        };
        if !symbolic {
            subject.units = text.iter().map(|byte| Unit::Byte(*byte)).collect();
            subject.bytes = (0..=text.len()).map(Some).collect();
            return subject;
        }
        let mut at = 0;
        for piece in text::pieces(text) {
            match piece {
                Piece::Plain(bytes) => {
                    for byte in bytes {
                        subject.units.push(Unit::Byte(*byte));
                        subject.bytes.push(Some(at));
                        at += 1;
                    }
                }
                Piece::Symbol(symbol) => {
                    for part in 0..PARTS {
                        subject.units.push(Unit::Part(symbol, part as u8));
                        subject.bytes.push((part == 0).then_some(at));
                    }
                    at += symbol.text().len();
                }
            }
        }
        subject.bytes.push(Some(at));
        subject
    }

    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// The byte at which a unit begins.
    pub fn byte(&self, unit: usize) -> Result<usize, Bad> {
        match self.bytes.get(unit) {
            Some(Some(byte)) => Ok(*byte),
            Some(None) => Err(inside()),
            None => Ok(self.length),
        }
    }

    /// The unit that begins at a byte.
    pub fn unit(&self, byte: usize) -> usize {
        let found = self.bytes.iter().position(|at| *at == Some(byte));
        found.unwrap_or(self.units.len())
    }
}

fn inside() -> Bad {
    Bad::Refused(Refusal::new(
        RefusalKind::Names,
        "takes a token, an owner or a time apart by a pattern",
    ))
}

/// What a capture holds, in units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Capture {
    Open(usize),
    Text(usize, usize),
    Position(usize),
}

/// A matcher of one pattern.
pub(super) struct Matcher<'a> {
    subject: &'a Subject,
    pattern: &'a [u8],
    pub captures: Vec<Capture>,
    depth: usize,
    /// Work left.
    pub steps: u64,
}

type Found = Result<Option<usize>, Bad>;

impl<'a> Matcher<'a> {
    pub fn new(subject: &'a Subject, pattern: &'a [u8], steps: u64) -> Matcher<'a> {
        Matcher {
            subject,
            pattern,
            captures: Vec::new(),
            depth: 0,
            steps,
        }
    }

    /// The end of a match of the pattern from its byte `p` at unit `s`.
    pub fn matches(&mut self, s: usize, p: usize) -> Found {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            self.depth -= 1;
            return Err(Bad::Malformed("pattern too complex".into()));
        }
        let found = self.match_here(s, p);
        self.depth -= 1;
        found
    }

    fn spend(&mut self) -> Result<(), Bad> {
        self.spend_on(1)
    }

    /// A set is read byte by byte, each time that something is compared with it.
    fn spend_on(&mut self, bytes: usize) -> Result<(), Bad> {
        self.steps = self.steps.checked_sub(bytes as u64).ok_or(Bad::Spent)?;
        Ok(())
    }

    fn match_here(&mut self, mut s: usize, mut p: usize) -> Found {
        loop {
            self.spend()?;
            let Some(first) = self.pattern.get(p) else {
                return Ok(Some(s));
            };
            match first {
                b'(' if self.pattern.get(p + 1) == Some(&b')') => {
                    return self.start_capture(s, p + 2, Capture::Position(s));
                }
                b'(' => return self.start_capture(s, p + 1, Capture::Open(s)),
                b')' => return self.end_capture(s, p + 1),
                b'%' => match self.pattern.get(p + 1) {
                    Some(b'b') => {
                        match self.balance(s, p + 2)? {
                            Some(end) => s = end,
                            None => return Ok(None),
                        }
                        p += 4;
                        continue;
                    }
                    Some(b'f') => {
                        p += 2;
                        if self.pattern.get(p) != Some(&b'[') {
                            return Err(Bad::Malformed("missing '[' after '%f' in pattern".into()));
                        }
                        let end = self.class_end(p)?;
                        self.spend_on(end - p)?;
                        if !self.frontier(s, p, end)? {
                            return Ok(None);
                        }
                        p = end;
                        continue;
                    }
                    Some(digit) if digit.is_ascii_digit() => {
                        match self.back_reference(s, *digit)? {
                            Some(end) => s = end,
                            None => return Ok(None),
                        }
                        p += 2;
                        continue;
                    }
                    _ => {}
                },
                b'$' if p + 1 == self.pattern.len() => {
                    return Ok((s == self.subject.len()).then_some(s));
                }
                _ => {}
            }
            let end = self.class_end(p)?;
            self.spend_on(end - p)?;
            match self.pattern.get(end) {
                Some(b'?') => {
                    if self.single(s, p, end, false)?
                        && let Some(found) = self.matches(s + 1, end + 1)?
                    {
                        return Ok(Some(found));
                    }
                    p = end + 1;
                }
                Some(b'*') => return self.most(s, p, end),
                Some(b'+') => {
                    return match self.single(s, p, end, true)? {
                        true => self.most(s + 1, p, end),
                        false => Ok(None),
                    };
                }
                Some(b'-') => return self.least(s, p, end),
                _ => {
                    if !self.single(s, p, end, false)? {
                        return Ok(None);
                    }
                    s += 1;
                    p = end;
                }
            }
        }
    }

    fn class_end(&self, p: usize) -> Result<usize, Bad> {
        let mut at = p + 1;
        match self.pattern.get(p) {
            Some(b'%') => {
                if at >= self.pattern.len() {
                    return Err(Bad::Malformed("malformed pattern (ends with '%')".into()));
                }
                Ok(at + 1)
            }
            Some(b'[') => {
                if self.pattern.get(at) == Some(&b'^') {
                    at += 1;
                }
                loop {
                    let Some(byte) = self.pattern.get(at) else {
                        return Err(Bad::Malformed("malformed pattern (missing ']')".into()));
                    };
                    at += 1;
                    if *byte == b'%' && at < self.pattern.len() {
                        at += 1;
                    }
                    if self.pattern.get(at) == Some(&b']') {
                        return Ok(at + 1);
                    }
                }
            }
            _ => Ok(at),
        }
    }

    /// Does the unit at `s` match the item from `p` to `end`? Only an item that
    /// repeats may match a part of a symbol, for nobody knows how many it has.
    fn single(&mut self, s: usize, p: usize, end: usize, repeats: bool) -> Result<bool, Bad> {
        self.spend_on(end - p)?;
        let Some(unit) = self.subject.units.get(s) else {
            return Ok(false);
        };
        match *unit {
            Unit::Byte(byte) => Ok(self.byte_matches(byte, p, end)),
            Unit::Part(symbol, _) => {
                let mut letters = alphabet(symbol);
                let first = letters
                    .next()
                    .is_some_and(|byte| self.byte_matches(byte, p, end));
                if letters.any(|byte| self.byte_matches(byte, p, end) != first) {
                    return Err(inside());
                }
                if first && !repeats {
                    return Err(inside());
                }
                Ok(first)
            }
        }
    }

    fn byte_matches(&self, byte: u8, p: usize, end: usize) -> bool {
        match self.pattern[p] {
            b'.' => true,
            b'%' => class_matches(byte, self.pattern[p + 1]),
            b'[' => self.set_matches(byte, p, end - 1),
            other => other == byte,
        }
    }

    /// The set from `p` (`[`) to `last` (`]`).
    fn set_matches(&self, byte: u8, p: usize, last: usize) -> bool {
        let mut at = p + 1;
        let mut found = true;
        if self.pattern.get(at) == Some(&b'^') {
            found = false;
            at += 1;
        }
        while at < last {
            let here = self.pattern[at];
            if here == b'%' {
                at += 1;
                if class_matches(byte, self.pattern[at]) {
                    return found;
                }
                at += 1;
            } else if self.pattern.get(at + 1) == Some(&b'-') && at + 2 < last {
                if here <= byte && byte <= self.pattern[at + 2] {
                    return found;
                }
                at += 3;
            } else {
                if here == byte {
                    return found;
                }
                at += 1;
            }
        }
        !found
    }

    fn most(&mut self, s: usize, p: usize, end: usize) -> Found {
        let mut count = 0;
        while self.single(s + count, p, end, true)? {
            count += 1;
        }
        loop {
            if let Some(found) = self.matches(s + count, end + 1)? {
                return Ok(Some(found));
            }
            match count.checked_sub(1) {
                Some(less) => count = less,
                None => return Ok(None),
            }
        }
    }

    fn least(&mut self, mut s: usize, p: usize, end: usize) -> Found {
        loop {
            if let Some(found) = self.matches(s, end + 1)? {
                return Ok(Some(found));
            }
            if !self.single(s, p, end, true)? {
                return Ok(None);
            }
            s += 1;
        }
    }

    fn start_capture(&mut self, s: usize, p: usize, what: Capture) -> Found {
        if self.captures.len() >= CAPTURES_MAX {
            return Err(Bad::Malformed("too many captures".into()));
        }
        let level = self.captures.len();
        self.captures.push(what);
        let found = self.matches(s, p)?;
        if found.is_none() {
            self.captures.truncate(level);
        }
        Ok(found)
    }

    fn end_capture(&mut self, s: usize, p: usize) -> Found {
        let open = self
            .captures
            .iter()
            .rposition(|capture| matches!(capture, Capture::Open(_)));
        let Some(level) = open else {
            return Err(Bad::Malformed("invalid pattern capture".into()));
        };
        let Capture::Open(from) = self.captures[level] else {
            return Ok(None);
        };
        self.captures[level] = Capture::Text(from, s);
        let found = self.matches(s, p)?;
        if found.is_none() && level < self.captures.len() {
            self.captures[level] = Capture::Open(from);
        }
        Ok(found)
    }

    fn balance(&mut self, s: usize, p: usize) -> Found {
        let (Some(&open), Some(&close)) = (self.pattern.get(p), self.pattern.get(p + 1)) else {
            return Err(Bad::Malformed("unbalanced pattern".into()));
        };
        if self.subject.units.get(s) != Some(&Unit::Byte(open)) {
            return match self.subject.units.get(s) {
                Some(Unit::Part(symbol, _)) if alphabet(*symbol).any(|b| b == open) => {
                    Err(inside())
                }
                _ => Ok(None),
            };
        }
        let mut depth = 1;
        for at in s + 1..self.subject.len() {
            self.spend()?;
            match self.subject.units[at] {
                Unit::Byte(byte) if byte == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Ok(Some(at + 1));
                    }
                }
                Unit::Byte(byte) if byte == open => depth += 1,
                Unit::Byte(_) => {}
                Unit::Part(symbol, _) => {
                    if alphabet(symbol).any(|byte| byte == open || byte == close) {
                        return Err(inside());
                    }
                }
            }
        }
        Ok(None)
    }

    fn frontier(&mut self, s: usize, p: usize, end: usize) -> Result<bool, Bad> {
        let at = |index: Option<usize>| match index.and_then(|i| self.subject.units.get(i)) {
            Some(Unit::Byte(byte)) => Ok(*byte),
            Some(Unit::Part(..)) => Err(inside()),
            None => Ok(0),
        };
        let (before, here) = (at(s.checked_sub(1))?, at(Some(s))?);
        Ok(!self.set_matches(before, p, end - 1) && self.set_matches(here, p, end - 1))
    }

    fn back_reference(&mut self, s: usize, digit: u8) -> Found {
        let level = usize::from(digit.wrapping_sub(b'1'));
        let Some(Capture::Text(from, to)) = self.captures.get(level).copied() else {
            return Err(Bad::Malformed("invalid capture index".into()));
        };
        let length = to - from;
        self.spend_on(length)?;
        let Some(there) = self.subject.units.get(s..s + length) else {
            return Ok(None);
        };
        let known = &self.subject.units[from..to];
        let symbols = |units: &[Unit]| units.iter().any(|unit| matches!(unit, Unit::Part(..)));
        if symbols(known) || symbols(there) {
            return Err(inside());
        }
        Ok((known == there).then_some(s + length))
    }
}

/// The letters that a symbol may consist of.
fn alphabet(symbol: Symbol) -> impl Iterator<Item = u8> {
    let names = matches!(symbol, Symbol::Name(_));
    (0..=255u8).filter(move |byte| match names {
        true => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'),
        false => byte.is_ascii_digit(),
    })
}

fn class_matches(byte: u8, class: u8) -> bool {
    let found = match class.to_ascii_lowercase() {
        b'a' => byte.is_ascii_alphabetic(),
        b'c' => byte.is_ascii_control(),
        b'd' => byte.is_ascii_digit(),
        b'l' => byte.is_ascii_lowercase(),
        b'p' => byte.is_ascii_punctuation(),
        b's' => super::super::number::is_space(byte),
        b'u' => byte.is_ascii_uppercase(),
        b'w' => byte.is_ascii_alphanumeric(),
        b'x' => byte.is_ascii_hexdigit(),
        b'z' => byte == 0,
        _ => return class == byte,
    };
    found != class.is_ascii_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{Name, NameKind};

    fn find(text: &[u8], pattern: &str) -> Result<Option<(usize, Vec<Capture>)>, Bad> {
        let subject = Subject::new(text, true);
        let mut matcher = Matcher::new(&subject, pattern.as_bytes(), 10_000);
        let end = matcher.matches(0, 0)?;
        Ok(end.map(|end| (end, matcher.captures)))
    }

    fn token_and_time() -> Vec<u8> {
        let mut text = Symbol::Name(Name {
            kind: NameKind::Token,
            who: b'.',
            mark: b'0',
        })
        .text();
        text.push(b':');
        Symbol::Time(Default::default(), Default::default()).write(&mut text);
        text
    }

    #[test]
    fn a_text_is_split_where_it_was_joined() {
        let text = token_and_time();
        for pattern in ["(.-):(%d+)$", "([^:]+):(.*)", "(.*):(%d*)"] {
            let (end, captures) = find(&text, pattern).unwrap().unwrap();
            assert_eq!(end, 7, "{pattern}");
            assert_eq!(captures, [Capture::Text(0, 3), Capture::Text(4, 7)]);
        }
    }

    #[test]
    fn what_depends_on_the_letters_of_a_token_is_refused() {
        let text = token_and_time();
        for pattern in ["%d+", ".", "...:", "%w+:", "(%x*)", ".?.?.?:"] {
            assert!(
                matches!(find(&text, pattern), Err(Bad::Refused(_))),
                "{pattern}"
            );
        }
    }
}
