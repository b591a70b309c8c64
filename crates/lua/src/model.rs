//! What a program in a model may learn of times, and how.
//!
//! A time is a moment on a clock; what can be asked is how two of them lie, and
//! how far apart they are. In a model, moments are told by ticks, and those
//! further from the present than a horizon are not told apart any more. So an
//! answer may be *yes*, *no*, open (time passes between two ticks, and the answer
//! depends on when: both are explored), or beyond the model (a [`Refusal`]).

use super::error::{Refusal, RefusalKind};
use super::text::{Far, Name, NameKind, Span, Symbol};
use super::value::{Beyond, Clock, Duration, Moment, Time, Value};

/// What happens within a tick may take so many ms, or none.
pub const MOMENT_MS: i64 = 10;

/// Answers that the model gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    Yes,
    No,
    /// It depends on what happens between two ticks. If everything happens at ticks,
    /// this is the answer.
    Open(bool),
}

impl From<bool> for Truth {
    fn from(value: bool) -> Truth {
        if value { Truth::Yes } else { Truth::No }
    }
}

impl Truth {
    pub(super) fn not(self) -> Truth {
        match self {
            Truth::Yes => Truth::No,
            Truth::No => Truth::Yes,
            Truth::Open(at_ticks) => Truth::Open(!at_ticks),
        }
    }
}

/// How times are measured in a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// A tick as programs see it, in ms.
    pub tick_ms: i64,
    /// What a tick adds to every clock, in ms: a little more.
    pub step_ms: i64,
    /// Times further from the present than this, in ms, are not told apart.
    pub horizon_ms: i64,
}

/// The clocks of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clocks {
    pub wall: Moment,
    pub monotonic: Moment,
    /// `None` for a program that runs for real: its moments are ms.
    pub scale: Option<Scale>,
}

/// A time as far as it is known.
pub(super) enum Known {
    /// So far from the present of its clock.
    At(Clock, Span),
    /// Before (or after) the moment so far from the present of the wall clock.
    Past(Span, Far),
    Future(Span, Far),
}

fn refuse(kind: RefusalKind, what: &str) -> Refusal {
    Refusal::new(kind, what)
}

pub(super) const TOO_FAR: &str =
    "compares times that lie so far back, or ahead, that the model does not keep them apart";

impl Clocks {
    pub(super) fn now(&self, clock: Clock) -> Moment {
        match clock {
            Clock::Wall => self.wall,
            Clock::Monotonic => self.monotonic,
        }
    }

    fn step_ms(&self) -> i64 {
        self.scale.map_or(0, |scale| scale.step_ms)
    }

    /// What a span is worth in ms.
    pub(super) fn ms(&self, span: Span) -> i64 {
        span.value(self.step_ms())
    }

    /// What is known of a time.
    pub(super) fn know(&self, time: Time) -> Known {
        let Some(scale) = self.scale else {
            return match time {
                Time::At(clock, moment) => Known::At(clock, moment.since(self.now(clock))),
                Time::Far(far, _) => Known::Past(Span::default(), far),
            };
        };
        let horizon = Span {
            ms: scale.horizon_ms,
            ticks: 0,
        };
        let back = Span {
            ms: -scale.horizon_ms,
            ticks: 0,
        };
        match time {
            Time::At(clock, moment) => {
                let distance = moment.since(self.now(clock));
                let ms = distance.value(scale.step_ms);
                let own = Far {
                    future: false,
                    place: 0,
                    node: u8::MAX,
                    read: 0,
                };
                // What lies ahead comes nearer, and is told exactly.
                match ms <= -scale.horizon_ms {
                    true => Known::Past(back, own),
                    false => Known::At(clock, distance),
                }
            }
            Time::Far(far, shift) => {
                let moved = |bound: Span| Span {
                    ms: bound.ms + shift,
                    ..bound
                };
                // A moved stamp is another one.
                let far = Far {
                    node: if shift == 0 { far.node } else { u8::MAX },
                    ..far
                };
                match far.future {
                    true => Known::Future(moved(horizon), far),
                    false => Known::Past(moved(back), far),
                }
            }
        }
    }

    /// `a` and `b` are the same stamp: read at one place so soon after each other
    /// that nothing written in between can be that old.
    pub(super) fn same_far(&self, a: Far, b: Far) -> bool {
        let Some(scale) = self.scale else {
            return a == b;
        };
        let steps = scale.horizon_ms / scale.step_ms.max(1);
        let now = self.monotonic.tick;
        let recent = |far: Far| i64::from(now - far.read) < steps / 2;
        let place = |far: Far| (far.future, far.place, far.node);
        a.node != u8::MAX && !a.future && place(a) == place(b) && recent(a) && recent(b)
    }

    /// Is `a < b`, or `a <= b` with `or_equal`?
    pub(super) fn before(&self, a: Time, b: Time, or_equal: bool) -> Result<Truth, Refusal> {
        use Known::{At, Future, Past};
        let too_far = || refuse(RefusalKind::Horizon, TOO_FAR);
        match (self.know(a), self.know(b)) {
            (At(one, a), At(other, b)) => {
                if one != other {
                    return Err(mixed());
                }
                let apart = Span {
                    ms: a.ms - b.ms,
                    ticks: a.ticks - b.ticks,
                };
                Ok(self.negative(apart.ms as f64, apart.ticks, or_equal))
            }
            (Past(bound, _), At(_, b)) if self.ms(bound) < self.ms(b) => Ok(Truth::Yes),
            (At(_, a), Future(bound, _)) if self.ms(a) < self.ms(bound) => Ok(Truth::Yes),
            (Past(..), Future(..)) => Ok(Truth::Yes),
            (At(_, a), Past(bound, _)) if self.ms(bound) < self.ms(a) => Ok(Truth::No),
            (Future(bound, _), At(_, b)) if self.ms(b) < self.ms(bound) => Ok(Truth::No),
            (Future(..), Past(..)) => Ok(Truth::No),
            (Past(_, a), Past(_, b)) | (Future(_, a), Future(_, b)) if self.same_far(a, b) => {
                Ok(or_equal.into())
            }
            _ => Err(too_far()),
        }
    }

    /// Is `a == b`?
    pub(super) fn same(&self, a: Time, b: Time) -> Result<Truth, Refusal> {
        use Known::{At, Future, Past};
        let one_reading = a.reading().is(b.reading());
        match (self.know(a), self.know(b)) {
            (At(one, a), At(other, b)) => {
                if one != other {
                    return Err(mixed());
                }
                let near = a.ticks == b.ticks && (a.ms - b.ms).abs() <= MOMENT_MS;
                if near && self.scale.is_some() && !one_reading {
                    // Two readings within a tick may be one ms, or not.
                    return Ok(Truth::Open(a.ms == b.ms));
                }
                Ok((self.ms(a) == self.ms(b)).into())
            }
            (Past(_, a), Past(_, b)) | (Future(_, a), Future(_, b)) => match self.same_far(a, b) {
                true => Ok(Truth::Yes),
                false => Err(refuse(RefusalKind::Horizon, TOO_FAR)),
            },
            _ => Ok(Truth::No),
        }
    }

    /// `a - b`.
    pub(super) fn between(&self, a: Time, b: Time) -> Result<Value, Refusal> {
        use Known::{At, Future, Past};
        let beyond = |bound: i64, least| {
            Ok(Value::Beyond(Beyond {
                bound: bound as f64,
                least,
            }))
        };
        match (self.know(a), self.know(b)) {
            (At(one, a), At(other, b)) => {
                if one != other {
                    return Err(mixed());
                }
                let apart = Span {
                    ms: a.ms - b.ms,
                    ticks: a.ticks - b.ticks,
                };
                // A program that runs for real has numbers.
                Ok(match self.scale {
                    Some(_) => Value::span(apart),
                    None => Value::Number(apart.ms as f64),
                })
            }
            (Past(bound, _), At(_, b)) => beyond(self.ms(bound) - self.ms(b), false),
            (Future(bound, _), At(_, b)) => beyond(self.ms(bound) - self.ms(b), true),
            (At(_, a), Past(bound, _)) => beyond(self.ms(a) - self.ms(bound), true),
            (At(_, a), Future(bound, _)) => beyond(self.ms(a) - self.ms(bound), false),
            (Past(_, a), Past(_, b)) | (Future(_, a), Future(_, b)) if self.same_far(a, b) => {
                Ok(Value::Number(0.0))
            }
            _ => Err(refuse(RefusalKind::Horizon, TOO_FAR)),
        }
    }

    /// Is a duration of so many ms and ticks below zero (or not above it)?
    ///
    /// Of ms that are a whole number of ticks the answer is exact. Otherwise the
    /// duration ends between two ticks, and so may what it is compared with. What lies
    /// within one tick lies moments apart.
    pub(super) fn negative(&self, ms: f64, ticks: i32, or_equal: bool) -> Truth {
        let Some(scale) = self.scale else {
            return (ms < 0.0 || or_equal && ms == 0.0).into();
        };
        let tick_ms = scale.tick_ms as f64;
        let whole = (ms / tick_ms).floor();
        let value = ms + f64::from(ticks) * scale.step_ms as f64;
        let at_ticks = value < 0.0 || or_equal && value == 0.0;
        if ticks == 0 && ms.abs() <= (MOMENT_MS as f64).min(tick_ms - 1.0) {
            return Truth::Open(at_ticks);
        }
        if whole * tick_ms == ms {
            return at_ticks.into();
        }
        let may_be_negative = whole + f64::from(ticks) <= 0.0;
        let may_be_positive = whole + 1.0 + f64::from(ticks) >= 0.0;
        match (may_be_negative, may_be_positive) {
            (true, true) => Truth::Open(at_ticks),
            (negative, _) => negative.into(),
        }
    }

    /// A duration against a number: is it less (or equal)?
    pub(super) fn duration_below(&self, a: Duration, b: f64, or_equal: bool) -> Truth {
        // Scaled back, and mirrored if the scale is negative.
        let ms = a.ms - b / a.scale;
        if a.scale > 0.0 {
            self.negative(ms, a.ticks, or_equal)
        } else {
            self.negative(ms, a.ticks, !or_equal).not()
        }
    }

    /// The moment that a symbol's distance names, or what is known of it.
    pub(super) fn time_of(&self, symbol: Symbol) -> Option<Time> {
        match symbol {
            Symbol::Time(span, reading) => Some(Time::At(
                Clock::Wall,
                Moment {
                    ms: span.ms,
                    tick: span.ticks,
                    reading,
                },
            )),
            Symbol::Far(far) => Some(Time::Far(far, 0)),
            _ => None,
        }
    }
}

fn mixed() -> Refusal {
    refuse(
        RefusalKind::Digits,
        "compares a time of the wall clock with one of the monotonic clock, which have nothing to do with each other",
    )
}

/// Whose a name is, as a client's program sees it. In a server names are told by
/// a client's letter, and all of them apart.
pub mod view {
    /// The client's own: its present token, or its owner name.
    pub const OWN: u8 = b'.';
    /// An older token of the client's own, in the reply that came last.
    pub const OLDER: u8 = b'*';
    /// One that the program remembers.
    pub const OLDER_REMEMBERED: u8 = b'/';
    /// The token of an earlier attempt of its own, kept through the attempts since: it has
    /// one number as long as the program knows it.
    pub const KEPT: u8 = b'^';
    /// Somebody else's, in the reply that came last.
    pub const FOREIGN: u8 = b'+';
    /// One that the program remembers.
    pub const FOREIGN_REMEMBERED: u8 = b'-';
    /// Of two callers that share a handle: the other one's present token, or a thread of it.
    pub const PARTNER: u8 = b'=';
    /// A token that the handle of two callers keeps, and that is neither's present one.
    pub const LOST: u8 = b'?';
}

/// How the mark of a name from a reply is put together: whose it is (the
/// others are numbered), and its number among that client's in the reply.
pub fn mark(other: u8, number: u8) -> u8 {
    other << 4 | number & 0x0f
}

/// Are two names one?
///
/// # Errors
/// A name in a reply may be one that the program remembers, or not: a client's
/// tables do not follow which.
pub(super) fn equal_names(a: Name, b: Name) -> Result<bool, Refusal> {
    use view::{FOREIGN, FOREIGN_REMEMBERED, KEPT, LOST, OLDER, OLDER_REMEMBERED, OWN, PARTNER};
    let lost = a.who == LOST || b.who == LOST;
    if a == b && !lost {
        return Ok(true);
    }
    if a.kind != b.kind || a.kind != NameKind::Token {
        return Ok(false);
    }
    // Two present tokens are surely others than an older one.
    let present = |name: Name| matches!(name.who, OWN | PARTNER);
    let older = lost && !present(a) && !present(b);
    let whose = a.mark >> 4 == b.mark >> 4;
    let unknown = matches!(
        (a.who, b.who),
        (OLDER_REMEMBERED, OLDER | OLDER_REMEMBERED)
            | (OLDER, OLDER_REMEMBERED | KEPT)
            | (OLDER_REMEMBERED, KEPT)
            | (KEPT, OLDER | OLDER_REMEMBERED)
            | (FOREIGN_REMEMBERED, FOREIGN | FOREIGN_REMEMBERED)
            | (FOREIGN, FOREIGN_REMEMBERED)
    );
    if unknown && whose || older {
        return Err(refuse(
            RefusalKind::Names,
            "compares a token that it remembers with another one: the model follows a client's own present token only. \
             Forget it (`self.token = nil`) when the lock is given back",
        ));
    }
    Ok(false)
}
