//! Operands that may be symbols: numbers, ends of lives, elements.
//!
//! In a server of a model a text may be a token without letters or a time without
//! digits. A command that asks for more of it than to be stored and compared gets
//! an answer all the same, and the refusal is noted.

use lockproof_lua::text::{self, Span, Symbol, Text};
use lockproof_lua::{self as lua, RefusalKind};

use super::Bytes;
use super::notes::Notes;
use super::number::parse_i64;
use super::refusal::Refusal;
use super::server::{Expiry, Server};

const FELL_BACK: &str =
    "lowers a counter in Redis that grew beyond what the model holds to where it may be negative";

const MANY_AS_OPERAND: &str =
    "gives a command the value of a counter in Redis that grew beyond what the model holds";

/// An amount of time, or the moment at which something ends.
pub(super) enum Amount {
    Ms(i64),
    Span(Span),
    /// So far from the present.
    Moment(Span),
}

impl Server {
    /// Notes that the execution depends on what the model does not have.
    pub(super) fn refuse(&mut self, kind: RefusalKind, what: &str) {
        self.notes_mut().refuse(kind, what);
    }

    /// If the key is a counter of fences that is told by ranks: the rank of what it holds,
    /// if it is there.
    pub(super) fn fence_before(&self, key: &Bytes, stored: Option<&Bytes>) -> Option<Option<u8>> {
        self.scale()?;
        match stored {
            None => self.is_fence(key).then_some(None),
            Some(text) => match text::only_symbol(text) {
                Some(Symbol::Fence(rank)) => Some(Some(rank)),
                _ => None,
            },
        }
    }

    /// One command draws two fences.
    pub(super) fn refuse_fences(&mut self) {
        self.refuse(
            RefusalKind::Names,
            "draws two fences at once, of which the model follows one",
        );
    }

    /// What a stored count comes to when it is moved by so much, if it is one that is not told
    /// exactly: at least so many. That it may have fallen below 0 is noted.
    pub(super) fn many_moved(&mut self, stored: &Bytes, by: i64) -> Option<u8> {
        self.scale()?;
        let Some(Symbol::Many(least)) = text::only_symbol(stored) else {
            return None;
        };
        let moved = i64::from(least).saturating_add(by);
        if moved < 0 {
            self.refuse(RefusalKind::Horizon, FELL_BACK);
        }
        Some(moved.clamp(0, i64::from(u8::MAX)) as u8)
    }

    /// Notes that a command needs the value of a count that is not told exactly; false if the
    /// text has none in it.
    pub(super) fn refuse_many(&mut self, text: &Bytes) -> bool {
        let found = text::symbols(text)
            .any(|symbol| matches!(symbol, Symbol::Many(_) | Symbol::ManyCount(_)));
        if found {
            self.refuse(RefusalKind::Horizon, MANY_AS_OPERAND);
        }
        found
    }

    /// A whole number; `None` if the text is none.
    pub(super) fn integer(&mut self, text: &Bytes) -> Option<i64> {
        if self.scale().is_none() || !text::has_symbols(text) {
            return parse_i64(text);
        }
        if self.refuse_many(text) {
            return None;
        }
        self.refuse(
            RefusalKind::Digits,
            "uses a token, an owner, a time or a measured duration as a number that a command computes with",
        );
        None
    }

    /// The argument of EXPIRE and its kin, or of PX and its kin: in ms, or in
    /// seconds; from now on, or since 1970.
    pub(super) fn amount(&mut self, text: &Bytes, unit_ms: i64, relative: bool) -> Option<Amount> {
        let Some(scale) = self.scale() else {
            return parse_i64(text).map(Amount::Ms);
        };
        match text::only_symbol(text) {
            Some(Symbol::Span(span) | Symbol::Count(span)) if unit_ms == 1 && relative => {
                Some(Amount::Span(span))
            }
            Some(Symbol::Time(span, _)) if unit_ms == 1 && !relative => {
                self.notes_mut().clock = true;
                let offset = self.now_ms() - self.present_ms();
                // The server's clock is off by whole ticks.
                let ticks = (offset / scale.step_ms.max(1)) as i32;
                Some(Amount::Moment(span.later(-ticks)))
            }
            None if !text::has_symbols(text) => {
                let amount = parse_i64(text)?;
                if !relative && amount > 0 {
                    self.refuse(
                        RefusalKind::Digits,
                        "lets a key end at a fixed date, which depends on when it runs",
                    );
                }
                Some(Amount::Ms(amount))
            }
            _ if self.refuse_many(text) => None,
            _ => {
                self.refuse(
                    RefusalKind::Digits,
                    "lets a key end at a time in a form that the model does not follow; use PX, PXAT with a time of now(), or whole ms",
                );
                None
            }
        }
    }

    /// A key gets a life.
    pub(super) fn note_life(&mut self, end: Expiry) {
        if self.scale().is_some() {
            let life = self.life(end).ms;
            let lives = &mut self.notes_mut().lives;
            if !lives.contains(&life) {
                lives.push(life);
            }
        }
    }

    /// Are two texts one? Where that is open, it is noted.
    pub(super) fn same_text(&mut self, a: &Bytes, b: &Bytes) -> bool {
        let Some(scale) = self.scale() else {
            return a == b;
        };
        match lua::same_text(&Text::symbolic(a), &Text::symbolic(b), scale) {
            Ok(same) => same,
            Err(refusal) => {
                self.notes_mut().refuse(refusal.kind, refusal.what);
                a == b
            }
        }
    }

    /// A key, a field or a member by which something is looked up. What may be told
    /// apart from another one of the same symbols is no name in a model.
    pub(super) fn look_up(&mut self, text: &Bytes) {
        if self.scale().is_none() || !text::has_symbols(text) {
            return;
        }
        if let Some((kind, what)) = no_name(text) {
            self.refuse(kind, what);
        }
    }

    /// The order in which the `count` fields of a hash are listed.
    pub(super) fn listed(&mut self, count: usize) -> Vec<usize> {
        if self.scale().is_none() || count < 2 {
            return (0..count).collect();
        }
        let order = self.order();
        let notes: &mut Notes = self.notes_mut();
        match lua::orders_of(count) {
            Some(orders) => {
                notes.orders = notes.orders.max(orders);
                lua::permutation(count, order)
            }
            None => {
                notes.refuse(
                    RefusalKind::Order,
                    "lists a hash of more than four fields, whose order Redis does not promise",
                );
                (0..count).collect()
            }
        }
    }
}

impl Amount {
    /// The end that it names.
    pub(super) fn end(
        self,
        server: &Server,
        unit_ms: i64,
        relative: bool,
        command: &'static str,
    ) -> Result<Expiry, Refusal> {
        match self {
            Amount::Ms(amount) => {
                let base_ms = if relative { server.now_ms() } else { 0 };
                let at_ms = amount
                    .checked_mul(unit_ms)
                    .and_then(|ms| ms.checked_add(base_ms))
                    .ok_or(Refusal::ExpireTime(command))?;
                Ok(Expiry { at_ms, ticks: 0 })
            }
            Amount::Span(span) | Amount::Moment(span) => Ok(server.end_of(span)),
        }
    }
}

/// Why a text cannot be the name of a key, a field or a member in a model, if it cannot:
/// one name may stand for several, or several for one.
pub fn no_name(text: &[u8]) -> Option<(RefusalKind, &'static str)> {
    text::symbols(text).find_map(|symbol| match symbol {
        Symbol::Name(_) => None,
        Symbol::Far(_) => Some((
            RefusalKind::Horizon,
            "uses a time that lies too far back in the name of a key, a field or a member",
        )),
        Symbol::Time(..) | Symbol::Span(_) | Symbol::Count(_) | Symbol::Part { .. } => Some((
            RefusalKind::Rounding,
            "uses a time in the name of a key, a field or a member: two that are read moments apart may be one, or not",
        )),
        Symbol::Fence(_) | Symbol::FenceCount(_) => Some((
            RefusalKind::Names,
            "uses a fence in the name of a key, a field or a member",
        )),
        Symbol::Many(_) | Symbol::ManyCount(_) => Some((
            RefusalKind::Horizon,
            "uses a counter in Redis that grew beyond what the model holds in the name of a key, a field or a member",
        )),
    })
}
