//! Texts, and the symbols in them.
//!
//! In a model a token has no letters and a time stamp no digits: a lock may do
//! with them only what would come out alike for any token and at any time. So
//! they stand in texts as *symbols*, which are equal or different, can be
//! stored, sent, and concatenated, and have no inside. What would look inside
//! ([`crate::Refusal`]) ends the run, and nothing is said about the lock.
//!
//! A symbol is a few bytes that begin with [`MARK`], which no UTF-8 text
//! contains. That keeps a text with symbols a plain byte string for everything
//! that only stores, compares and copies (all of the formal Redis but its
//! numbers and orders). Rejected: a list of pieces, because every command
//! handler would have had to take it apart.

use std::fmt;
use std::sync::Arc;

use super::model::view;

/// The first byte of a symbol.
pub const MARK: u8 = 0xff;

/// Milliseconds as a sum: so many, and so many ticks. What a duration is worth
/// is `ms + ticks * step`, where a step is a little more than the tick that the
/// lock file sees (docs/model.md); kept apart, both can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The part that does not come from ticks.
    pub ms: i64,
    /// Ticks that have passed, or are to pass.
    pub ticks: i32,
}

impl Span {
    /// What it is worth in ms when a tick takes `step_ms`.
    pub fn value(self, step_ms: i64) -> i64 {
        self.ms + i64::from(self.ticks) * step_ms
    }

    /// So many ticks more.
    #[must_use]
    pub fn later(self, ticks: i32) -> Span {
        Span {
            ticks: self.ticks + ticks,
            ..self
        }
    }
}

/// Which reading of a clock a time stamp is. Two readings within a tick may show one ms, or not;
/// one reading always shows the same.
///
/// In a client its own have numbers, and one that came from a server tells whose it is. So do
/// those in a server: there only what a request brings for the first time has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reading(u16);

impl Reading {
    const SENT: u16 = 0x8000;
    const KEPT: u16 = 0x4000;
    const TWIN: u16 = 0x2000;
    const LOW: u16 = 0x1fff;
    /// The highest number of a client's own readings.
    pub const MAX: u16 = Reading::LOW;

    /// A client's own, of those that it remembers the one with this number (from 1).
    pub fn own(number: u16) -> Reading {
        Reading(number.clamp(1, Reading::MAX))
    }

    /// One that a server keeps, of this client: its number in a server, in a client how many
    /// clients after it.
    pub fn kept(client: u8) -> Reading {
        Reading(Reading::KEPT | u16::from(client))
    }

    /// As bytes of a text or a key.
    pub(super) fn bytes(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }

    /// The number of a client's own.
    pub fn number(self) -> Option<u16> {
        (self.0 & Reading::KEPT == 0).then_some(self.0 & Reading::LOW)
    }

    /// Whose it is that a server keeps.
    pub fn client(self) -> Option<u8> {
        (self.0 & Reading::KEPT != 0).then_some((self.0 & Reading::LOW) as u8)
    }

    /// An own one with another number, or a kept one of another client.
    #[must_use]
    pub fn renamed(self, to: u16) -> Reading {
        Reading(self.0 & !Reading::LOW | to & Reading::LOW)
    }

    /// An own one was sent to a server, so what a server tells may be this one.
    pub fn is_sent(self) -> bool {
        self.0 & Reading::SENT != 0
    }

    /// The same, sent.
    #[must_use]
    pub fn sent(self) -> Reading {
        Reading(self.0 | Reading::SENT)
    }

    /// An own one that was sent, as a server keeps it of this client.
    #[must_use]
    pub fn keep(self, client: u8) -> Reading {
        Reading(Reading::kept(client).0 | self.0 & Reading::TWIN)
    }

    /// A kept one beside another one of its client and tick.
    #[must_use]
    pub fn twin(self) -> Reading {
        Reading(self.0 | Reading::TWIN)
    }

    /// Both are surely one reading of a clock.
    pub fn is(self, other: Reading) -> bool {
        let twins = (self.0 | other.0) & Reading::TWIN != 0;
        match (self.client(), other.client()) {
            (None, None) => self.number() == other.number(),
            (Some(one), Some(another)) => one == another && !twins,
            (None, Some(whose)) => self.is_sent() && whose == 0 && !twins,
            (Some(whose), None) => other.is_sent() && whose == 0 && !twins,
        }
    }
}

impl Default for Reading {
    /// The first client's, or the client's own, kept by a server.
    fn default() -> Reading {
        Reading::kept(0)
    }
}

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NameKind {
    /// The token of one attempt to acquire.
    Token,
    /// A client's stable identity.
    Owner,
    /// A background thread of one of two callers that share a handle.
    Thread,
}

/// A token or an owner. What `who` and `mark` stand for is the world's business
/// (`world/symbols.rs`); two names are the same text exactly if they are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    pub kind: NameKind,
    pub who: u8,
    pub mark: u8,
}

/// A time stamp so far from the present that its distance is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Far {
    /// After the present, or before it.
    pub future: bool,
    /// Where it was stored when it got that far: a hash of key and field, and
    /// the server. Two that were read at the same place soon after each other
    /// are the same.
    pub place: u32,
    pub node: u8,
    /// When a client read it, in ticks of that client; 0 in a server.
    pub read: i32,
}

/// Something in a text that has no inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbol {
    Name(Name),
    /// A time stamp: the decimal ms since 1970 of the moment that is this far
    /// from the present (inside a program: from its tick 0).
    Time(Span, Reading),
    /// A time stamp beyond the horizon.
    Far(Far),
    /// The decimal text of a duration that came from subtracting times.
    Span(Span),
    /// The same as an integer reply, such as PTTL gives.
    Count(Span),
    /// The decimal text of a counter's value that is told by its rank: 0 is the highest
    /// that was ever handed out, 1 one below, and so on; of [`UNRANKED`] nothing is known.
    Fence(u8),
    /// The same as an integer reply, such as INCR gives.
    FenceCount(u8),
    /// The seconds, or the microseconds, of an answer of TIME: the moment, and which answer
    /// of those in one run of a script. It never leaves the script.
    Part {
        seconds: bool,
        answer: u8,
        at: Span,
        reading: Reading,
    },
    /// The decimal text of a count of which only this is known: it is so many, or more.
    Many(u8),
    /// The same as an integer reply, such as HINCRBY gives.
    ManyCount(u8),
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    Plain(&'a [u8]),
    Symbol(Symbol),
}

const NAME_LENGTH: usize = 4;
const SPAN_LENGTH: usize = 14;
const TIME_LENGTH: usize = SPAN_LENGTH + 2;
const FAR_LENGTH: usize = 12;
const FENCE_LENGTH: usize = 3;
const PART_LENGTH: usize = TIME_LENGTH + 2;
const MANY_LENGTH: usize = 3;

/// Counts below this are told exactly, unless they were higher before; of no count more
/// is known than that it is as high as this.
pub const MANY: u8 = 7;

/// The rank of a fence of which nothing is known but that it is above 0.
pub const UNRANKED: u8 = u8::MAX;

/// The rank of a fence that a command draws: one above rank 0, until the command is over.
pub const DRAWN: u8 = u8::MAX - 1;

impl Symbol {
    /// Appends the symbol to a text.
    pub fn write(self, out: &mut Vec<u8>) {
        out.push(MARK);
        match self {
            Symbol::Name(name) => {
                out.push(match name.kind {
                    NameKind::Token => b't',
                    NameKind::Owner => b'o',
                    NameKind::Thread => b'h',
                });
                out.extend([name.who, name.mark]);
            }
            Symbol::Time(span, reading) => {
                write_span(out, b'T', span);
                out.extend(reading.bytes());
            }
            Symbol::Span(span) => write_span(out, b'S', span),
            Symbol::Count(span) => write_span(out, b'C', span),
            Symbol::Fence(rank) => out.extend([b'N', rank]),
            Symbol::FenceCount(rank) => out.extend([b'M', rank]),
            Symbol::Part {
                seconds,
                answer,
                at,
                reading,
            } => {
                write_span(out, b'P', at);
                out.extend(reading.bytes());
                out.extend([u8::from(seconds), answer]);
            }
            Symbol::Many(least) => out.extend([b'L', least]),
            Symbol::ManyCount(least) => out.extend([b'I', least]),
            Symbol::Far(far) => {
                out.push(b'F');
                out.push(u8::from(far.future));
                out.extend(far.place.to_be_bytes());
                out.push(far.node);
                out.extend(far.read.to_be_bytes());
            }
        }
    }

    /// The symbol as a text of its own.
    pub fn text(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(TIME_LENGTH);
        self.write(&mut out);
        out
    }

    /// Reads the symbol at the start of `bytes`, and how long it is.
    fn read(bytes: &[u8]) -> Option<(Symbol, usize)> {
        let [MARK, kind, rest @ ..] = bytes else {
            return None;
        };
        let name = |kind| {
            let who = *rest.first()?;
            let mark = *rest.get(1)?;
            Some((Symbol::Name(Name { kind, who, mark }), NAME_LENGTH))
        };
        match kind {
            b't' => name(NameKind::Token),
            b'o' => name(NameKind::Owner),
            b'h' => name(NameKind::Thread),
            b'T' => {
                let reading = u16::from_be_bytes(rest.get(12..14)?.try_into().ok()?);
                Some((
                    Symbol::Time(read_span(rest)?, Reading(reading)),
                    TIME_LENGTH,
                ))
            }
            b'S' => Some((Symbol::Span(read_span(rest)?), SPAN_LENGTH)),
            b'C' => Some((Symbol::Count(read_span(rest)?), SPAN_LENGTH)),
            b'N' => Some((Symbol::Fence(*rest.first()?), FENCE_LENGTH)),
            b'M' => Some((Symbol::FenceCount(*rest.first()?), FENCE_LENGTH)),
            b'P' => {
                let reading = u16::from_be_bytes(rest.get(12..14)?.try_into().ok()?);
                let part = Symbol::Part {
                    seconds: *rest.get(14)? != 0,
                    answer: *rest.get(15)?,
                    at: read_span(rest)?,
                    reading: Reading(reading),
                };
                Some((part, PART_LENGTH))
            }
            b'L' => Some((Symbol::Many(*rest.first()?), MANY_LENGTH)),
            b'I' => Some((Symbol::ManyCount(*rest.first()?), MANY_LENGTH)),
            b'F' => {
                let future = *rest.first()? != 0;
                let place = u32::from_be_bytes(rest.get(1..5)?.try_into().ok()?);
                let node = *rest.get(5)?;
                let read = i32::from_be_bytes(rest.get(6..10)?.try_into().ok()?);
                let far = Far {
                    future,
                    place,
                    node,
                    read,
                };
                Some((Symbol::Far(far), FAR_LENGTH))
            }
            _ => None,
        }
    }
}

fn write_span(out: &mut Vec<u8>, kind: u8, span: Span) {
    out.push(kind);
    out.extend(span.ms.to_be_bytes());
    out.extend(span.ticks.to_be_bytes());
}

fn read_span(rest: &[u8]) -> Option<Span> {
    let ms = i64::from_be_bytes(rest.get(..8)?.try_into().ok()?);
    let ticks = i32::from_be_bytes(rest.get(8..12)?.try_into().ok()?);
    Some(Span { ms, ticks })
}

/// The parts of a text, in order. Bytes that begin like a symbol and are none
/// are plain.
pub fn pieces(text: &[u8]) -> Pieces<'_> {
    Pieces { rest: text }
}

/// See [`pieces`].
#[derive(Clone, Debug)]
pub struct Pieces<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Piece<'a>;

    fn next(&mut self) -> Option<Piece<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        if let Some((symbol, length)) = Symbol::read(self.rest) {
            self.rest = &self.rest[length..];
            return Some(Piece::Symbol(symbol));
        }
        let next = (1..self.rest.len())
            .find(|at| self.rest[*at] == MARK && Symbol::read(&self.rest[*at..]).is_some());
        let (plain, rest) = self.rest.split_at(next.unwrap_or(self.rest.len()));
        self.rest = rest;
        Some(Piece::Plain(plain))
    }
}

/// The symbols of a text, in order.
pub fn symbols(text: &[u8]) -> impl Iterator<Item = Symbol> + '_ {
    let quick = if text.contains(&MARK) { text } else { &[] };
    pieces(quick).filter_map(|piece| match piece {
        Piece::Symbol(symbol) => Some(symbol),
        Piece::Plain(_) => None,
    })
}

/// True if there is a token in the text of which only that is known that it is an older one.
pub fn has_lost(text: &[u8]) -> bool {
    symbols(text).any(|symbol| matches!(symbol, Symbol::Name(name) if name.who == view::LOST))
}

/// True if there is a stamp in the text of which equal bytes do not say that it is the same,
/// or will not when it is numbered anew; or a part of one.
pub fn has_open_reading(text: &[u8]) -> bool {
    symbols(text).any(|symbol| match symbol {
        Symbol::Time(_, reading) => reading.client().is_none() || !reading.is(reading),
        Symbol::Part { .. } => true,
        _ => false,
    })
}

/// True if there is a client's own reading of its clock in the text.
pub fn has_own_reading(text: &[u8]) -> bool {
    symbols(text).any(|symbol| matches!(symbol, Symbol::Time(_, r) if r.client().is_none()))
}

/// True if there is a part of an answer of TIME in the text.
pub fn has_part(text: &[u8]) -> bool {
    symbols(text).any(|symbol| matches!(symbol, Symbol::Part { .. }))
}

/// True if there is a symbol in the text.
pub fn has_symbols(text: &[u8]) -> bool {
    symbols(text).next().is_some()
}

/// The one symbol that the text consists of.
pub fn only_symbol(text: &[u8]) -> Option<Symbol> {
    let (symbol, length) = Symbol::read(text)?;
    (length == text.len()).then_some(symbol)
}

/// The text with every symbol replaced by what `f` appends for it.
pub fn map_symbols(text: &[u8], mut f: impl FnMut(Symbol, &mut Vec<u8>)) -> Vec<u8> {
    if !text.contains(&MARK) {
        return text.to_vec();
    }
    let mut out = Vec::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Plain(bytes) => out.extend_from_slice(bytes),
            Piece::Symbol(symbol) => f(symbol, &mut out),
        }
    }
    out
}

/// A text for people: symbols in words.
pub fn printable(text: &[u8]) -> String {
    let mut out = String::new();
    for piece in pieces(text) {
        match piece {
            Piece::Plain(bytes) => out += &String::from_utf8_lossy(bytes),
            Piece::Symbol(symbol) => out += &symbol.to_string(),
        }
    }
    out
}

impl fmt::Display for Symbol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Symbol::Name(name) => {
                let kind = match name.kind {
                    NameKind::Token => "token",
                    NameKind::Owner => "owner",
                    NameKind::Thread => "thread",
                };
                match name.who {
                    view::OWN => write!(f, "<its own {kind}>"),
                    view::OLDER | view::OLDER_REMEMBERED | view::KEPT => {
                        write!(f, "<its own older {kind}>")
                    }
                    view::PARTNER => write!(f, "<the other caller's {kind}>"),
                    view::LOST => write!(f, "<an older {kind} of the process>"),
                    view::FOREIGN | view::FOREIGN_REMEMBERED => {
                        write!(f, "<another client's {kind}>")
                    }
                    who => {
                        let mark = Some(char::from(name.mark)).filter(char::is_ascii_graphic);
                        let mark = mark.map(String::from).unwrap_or_default();
                        write!(f, "<{kind} {}{mark}>", char::from(who))
                    }
                }
            }
            Symbol::Time(span, _) => write!(f, "<time {:+} ms {:+} ticks>", span.ms, span.ticks),
            Symbol::Part { seconds: true, .. } => write!(f, "<the seconds of TIME>"),
            Symbol::Part { .. } => write!(f, "<the microseconds of TIME>"),
            Symbol::Far(far) if far.future => write!(f, "<time far ahead>"),
            Symbol::Far(_) => write!(f, "<time long ago>"),
            Symbol::Fence(UNRANKED) | Symbol::FenceCount(UNRANKED) => write!(f, "<fence>"),
            Symbol::Fence(rank) | Symbol::FenceCount(rank) => write!(f, "<fence -{rank}>"),
            Symbol::Many(least) | Symbol::ManyCount(least) => write!(f, "<{least} or more>"),
            Symbol::Span(span) | Symbol::Count(span) => {
                write!(f, "<{} ms {:+} ticks>", span.ms, span.ticks)
            }
        }
    }
}

/// A text of a Lua program. Cheap to copy.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Text {
    bytes: Arc<[u8]>,
    /// There may be symbols in it. In a plain text [`MARK`] is a byte like any.
    symbolic: bool,
}

impl Text {
    /// A text without symbols.
    pub fn plain(bytes: impl AsRef<[u8]>) -> Text {
        Text {
            bytes: bytes.as_ref().into(),
            symbolic: false,
        }
    }

    /// A text in which symbols stand.
    pub fn symbolic(bytes: impl AsRef<[u8]>) -> Text {
        let bytes: Arc<[u8]> = bytes.as_ref().into();
        Text {
            symbolic: has_symbols(&bytes),
            bytes,
        }
    }

    /// All bytes, those of symbols among them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, if there is no symbol among them.
    pub fn as_plain(&self) -> Option<&[u8]> {
        (!self.symbolic).then_some(&*self.bytes)
    }

    /// True if there are symbols in it.
    #[inline]
    pub fn is_symbolic(&self) -> bool {
        self.symbolic
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Text {
        Text::plain(text)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", printable(&self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_survive_in_the_middle_of_a_text() {
        let name = Symbol::Name(Name {
            kind: NameKind::Token,
            who: b'A',
            mark: b'0',
        });
        let span = Span {
            ms: -4000,
            ticks: 3,
        };
        let time = Symbol::Time(span, Reading::own(2).sent());
        let far = Symbol::Far(Far {
            future: false,
            place: 77,
            node: 2,
            read: -1,
        });
        let mut text = b"x:".to_vec();
        name.write(&mut text);
        text.push(b':');
        time.write(&mut text);
        far.write(&mut text);
        let found: Vec<Piece> = pieces(&text).collect();
        assert_eq!(
            found,
            [
                Piece::Plain(b"x:"),
                Piece::Symbol(name),
                Piece::Plain(b":"),
                Piece::Symbol(time),
                Piece::Symbol(far)
            ]
        );
        assert_eq!(only_symbol(&time.text()), Some(time));
        assert_eq!(only_symbol(&text), None);
    }

    #[test]
    fn a_mark_without_a_symbol_behind_it_is_a_byte() {
        let found: Vec<Piece> = pieces(&[b'a', MARK, b'?', MARK]).collect();
        assert_eq!(found, [Piece::Plain(&[b'a', MARK, b'?', MARK])]);
        assert!(!has_symbols(&[MARK, b'T', 1]));
    }
}
