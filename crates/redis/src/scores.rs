//! Scores of sorted sets: numbers, and in a server of a model times.
//!
//! How two times lie may depend on what happens between two ticks. Such a comparison is
//! open, as in a script: whoever runs the command asks for each answer
//! ([`Server::set_answers`]).

use lockproof_lua::text::{self, Far, Span, Symbol};
use lockproof_lua::{self as lua, Refusal as Unknown, RefusalKind, Truth};

use super::number::{parse_bound, parse_f64, reply_text};
use super::refusal::Refusal;
use super::value::Score;
use super::{Bytes, Dialect, Reply, Server};

/// More open comparisons than these in one command or run of a script are not followed
/// where each may come out either way.
const OPENED_MAX: u32 = 6;

/// Times have thirteen digits: what is no more lies below all of them ..
const BELOW_TIMES: f64 = 1e12;
/// .. and what is no less above all of them.
const ABOVE_TIMES: f64 = 1e13;

const COMPUTES: &str =
    "computes with the score of a sorted set that is a time in another way than to add whole ms";
const MOVES_FAR: &str =
    "moves a score that is a time so far back, or ahead, that the model does not keep it";
const FIXED: &str = "compares a time that is the score of a sorted set with a fixed number, which depends on when it runs";

/// What is said of more open comparisons than are followed.
pub(super) fn opened_too_often() -> String {
    format!(
        "compares times more than {OPENED_MAX} times with an answer that depends on what happens \
         between two ticks"
    )
}

impl Server {
    /// The answer to the next open comparison; `None` if there were too many.
    pub(super) fn open(&mut self, at_ticks: bool) -> Option<bool> {
        let opened = self.notes_mut().opened;
        if opened == OPENED_MAX {
            return None;
        }
        self.notes_mut().opened += 1;
        let otherwise = self.answers() & 1 << opened != 0;
        Some(at_ticks != otherwise)
    }

    fn answer(&mut self, at_ticks: bool) -> bool {
        self.open(at_ticks).unwrap_or_else(|| {
            let notes = self.notes_mut();
            notes.refuse(RefusalKind::Rounding, opened_too_often());
            at_ticks
        })
    }

    /// A score or an increment; `None` if the text is none.
    pub(super) fn score(&mut self, text: &Bytes) -> Option<Score> {
        if self.scale().is_none() || !text::has_symbols(text) {
            return parse_f64(text).map(Score::Number);
        }
        match text::only_symbol(text) {
            Some(stamp @ Symbol::Time(..)) => Some(Score::Stamp(stamp)),
            // It is far back wherever it stands, and that is all that is known.
            Some(Symbol::Far(far)) => Some(Score::Stamp(Symbol::Far(Far {
                place: 0,
                node: u8::MAX,
                read: 0,
                ..far
            }))),
            _ if self.refuse_many(text) => None,
            _ => {
                self.refuse(
                    RefusalKind::Digits,
                    "uses a token, an owner or a measured duration as the score of a sorted set",
                );
                None
            }
        }
    }

    /// One end of a range of scores.
    pub(super) fn bound(&mut self, text: &Bytes) -> Result<Bound, Refusal> {
        let (rest, exclusive) = match text.strip_prefix(b"(") {
            Some(rest) => (rest, true),
            None => (text.as_slice(), false),
        };
        let score = if self.scale().is_some() && text::has_symbols(rest) {
            self.score(&rest.to_vec())
        } else {
            parse_bound(rest).map(Score::Number)
        };
        let score = score.ok_or(Refusal::BoundNotAFloat)?;
        Ok(Bound { score, exclusive })
    }

    /// The sum of two scores.
    pub(super) fn sum(&mut self, a: Score, b: Score) -> Score {
        match (a, b) {
            (Score::Number(a), Score::Number(b)) => Score::Number(a + b),
            (Score::Stamp(Symbol::Time(span, reading)), Score::Number(ms))
            | (Score::Number(ms), Score::Stamp(Symbol::Time(span, reading)))
                if ms.fract() == 0.0 && ms.abs() < BELOW_TIMES =>
            {
                let moved = Span {
                    ms: span.ms + ms as i64,
                    ..span
                };
                Score::Stamp(Symbol::Time(moved, reading))
            }
            (Score::Stamp(Symbol::Far(far)), Score::Number(ms))
            | (Score::Number(ms), Score::Stamp(Symbol::Far(far)))
                if ms.fract() == 0.0 && ms.abs() < BELOW_TIMES =>
            {
                let nearer = match far.future {
                    true => ms < 0.0,
                    false => ms > 0.0,
                };
                if nearer {
                    self.refuse(RefusalKind::Horizon, MOVES_FAR);
                }
                Score::Stamp(Symbol::Far(Far {
                    place: 0,
                    node: u8::MAX,
                    read: 0,
                    ..far
                }))
            }
            _ => {
                self.refuse(RefusalKind::Digits, COMPUTES);
                a
            }
        }
    }

    /// How `a < b` (or `a <= b`) comes out.
    fn lies_below(&mut self, a: Score, b: Score, or_equal: bool) -> Truth {
        let found = match (a, b) {
            (Score::Number(a), Score::Number(b)) => {
                return (if or_equal { a <= b } else { a < b }).into();
            }
            (Score::Stamp(a), Score::Stamp(b)) => match self.scale() {
                Some(scale) => lua::time_order(a, b, or_equal, scale),
                None => Ok((a < b || or_equal && a == b).into()),
            },
            (Score::Number(number), Score::Stamp(_)) => below_times(number).map(Truth::from),
            (Score::Stamp(_), Score::Number(number)) => {
                below_times(number).map(|below| (!below).into())
            }
        };
        found.unwrap_or_else(|refusal| {
            self.notes_mut().refuse(refusal.kind, refusal.what);
            Truth::No
        })
    }

    /// `a < b`, or `a <= b` with `or_equal`.
    pub(super) fn below(&mut self, a: Score, b: Score, or_equal: bool) -> bool {
        match self.lies_below(a, b, or_equal) {
            Truth::Yes => true,
            Truth::No => false,
            Truth::Open(at_ticks) => self.answer(at_ticks),
        }
    }

    /// Two scores are one.
    pub(super) fn is_same_score(&mut self, a: Score, b: Score) -> bool {
        match (a, b) {
            (Score::Number(a), Score::Number(b)) => a == b,
            _ => {
                let below = self.below(a, b, false);
                !below && self.below(a, b, true)
            }
        }
    }

    /// Members from the lowest score up; those of one score by their letters, which a token
    /// or an owner has not: either may come first.
    pub(super) fn rank(&mut self, members: Vec<(Bytes, Score)>) -> Vec<(Bytes, Score)> {
        let mut ranked: Vec<(Bytes, Score)> = Vec::with_capacity(members.len());
        for member in members {
            let mut at = ranked.len();
            while at > 0 && self.comes_before(&member, &ranked[at - 1]) {
                at -= 1;
            }
            ranked.insert(at, member);
        }
        ranked
    }

    /// See [`Server::rank`].
    pub(super) fn comes_before(&mut self, a: &(Bytes, Score), b: &(Bytes, Score)) -> bool {
        let below = self.lies_below(a.1, b.1, false);
        let up_to = match below {
            Truth::Yes => return true,
            Truth::No | Truth::Open(_) => self.lies_below(a.1, b.1, true),
        };
        let letters = a.0 < b.0;
        let named = text::has_symbols(&a.0) || text::has_symbols(&b.0);
        match (below, up_to) {
            (_, Truth::No) => false,
            (Truth::No, Truth::Yes) => {
                self.notes_mut().tied = true;
                match named && self.scale().is_some() {
                    true => self.answer(letters),
                    false => letters,
                }
            }
            (below, up_to) => {
                let yes = |truth| matches!(truth, Truth::Yes | Truth::Open(true));
                self.answer(yes(below) || yes(up_to) && letters)
            }
        }
    }
}

/// A number lies below every time of these centuries, or above all of them.
fn below_times(number: f64) -> Result<bool, Unknown> {
    if number <= BELOW_TIMES {
        return Ok(true);
    }
    if number >= ABOVE_TIMES {
        return Ok(false);
    }
    Err(Unknown::new(RefusalKind::Digits, FIXED))
}

/// A score in a reply.
pub(super) fn reply_of(score: Score, dialect: Dialect) -> Reply {
    Reply::Bulk(match score {
        Score::Number(number) => reply_text(number, dialect).into_bytes(),
        Score::Stamp(symbol) => symbol.text(),
    })
}

/// One end of a range of scores.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    score: Score,
    exclusive: bool,
}

impl Bound {
    /// The score lies on this side of a lower bound.
    pub fn admits_above(self, server: &mut Server, score: Score) -> bool {
        server.below(self.score, score, !self.exclusive)
    }

    /// The score lies on this side of an upper bound.
    pub fn admits_below(self, server: &mut Server, score: Score) -> bool {
        server.below(score, self.score, !self.exclusive)
    }
}
