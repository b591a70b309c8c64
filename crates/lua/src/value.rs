//! The values of a Lua program.

use std::sync::Arc;

use super::text::{Reading, Span, Symbol, Text};

/// A table, by its place in the [`super::heap::Heap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TableId(pub u32);

/// A function of the program's own, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FunctionId(pub u32);

/// A local that functions share, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CellId(pub u32);

/// A function that is not written in Lua: its number, and two values that it is
/// bound to (a server and a time-out in ms for the words of lock files).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Native {
    pub id: u16,
    pub node: u16,
    /// In thousandths of a ms; negative for the default.
    pub timeout_us: i64,
}

impl Native {
    /// A function that is bound to nothing.
    pub const fn plain(id: u16) -> Native {
        Native {
            id,
            node: 0,
            timeout_us: -1,
        }
    }
}

/// Which clock a time was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Clock {
    /// The client's wall clock, which a step moves.
    Wall,
    /// Its monotonic clock.
    Monotonic,
}

/// A moment: ms on its clock, and ticks since the program began; and which reading of the
/// clock told it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Moment {
    pub ms: i64,
    pub tick: i32,
    pub reading: Reading,
}

impl Moment {
    /// How long after `other` it is.
    pub fn since(self, other: Moment) -> Span {
        Span {
            ms: self.ms - other.ms,
            ticks: self.tick - other.tick,
        }
    }

    /// So much later.
    #[must_use]
    pub fn plus(self, span: Span) -> Moment {
        Moment {
            ms: in_reach(self.ms.saturating_add(span.ms)),
            tick: self.tick.saturating_add(span.ticks),
            reading: self.reading,
        }
    }
}

/// So many ms, or the most that times are moved by: 2^60, thirty million years, so that what is
/// far in a file is far here, and differences of two of them are numbers.
pub(super) fn in_reach(ms: i64) -> i64 {
    const MOST: i64 = 1 << 60;
    ms.clamp(-MOST, MOST)
}

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Time {
    At(Clock, Moment),
    /// Beyond the horizon, and moved by so many ms from there.
    Far(super::text::Far, i64),
}

impl Time {
    /// Which reading of the clock it is.
    pub fn reading(self) -> Reading {
        match self {
            Time::At(_, moment) => moment.reading,
            Time::Far(..) => Reading::default(),
        }
    }
}

/// A duration that came from subtracting times: `(ms + ticks * step) * scale` ms.
/// Without ticks it is a plain number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duration {
    pub ms: f64,
    pub ticks: i32,
    pub scale: f64,
}

/// A duration of which one end is known, or a count that grew beyond what is told exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Beyond {
    /// In ms, or as a count.
    pub bound: f64,
    /// It is at least the bound; otherwise at most.
    pub least: bool,
}

/// A number made of one answer of a server's TIME: so many times its seconds, and so many
/// times its microseconds. See `parts.rs`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The moment that the answer tells.
    pub at: Moment,
    /// Which answer of those in one run of a script it is.
    pub answer: u8,
    pub seconds: f64,
    pub micros: f64,
    /// What the microseconds make was rounded down to whole ms.
    pub whole: bool,
}

/// A place in a text behind symbols, or the length of one with symbols in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Offset {
    /// Bytes that are no symbols'.
    pub plain: i64,
    /// The symbols before it, sorted.
    pub symbols: Vec<Symbol>,
}

impl Offset {
    /// What both have before them takes as much room, whatever it happens to be. Of a
    /// duration or a fence the same symbol stands for many numbers.
    pub fn is_as_long_as(&self, other: &Offset) -> bool {
        let fixed = |symbol: &Symbol| match symbol {
            Symbol::Name(_) | Symbol::Time(..) | Symbol::Far(_) => true,
            Symbol::Span(_) | Symbol::Count(_) | Symbol::Fence(_) | Symbol::FenceCount(_) => false,
            Symbol::Part { .. } | Symbol::Many(_) | Symbol::ManyCount(_) => false,
        };
        self.symbols == other.symbols && self.symbols.iter().all(fixed)
    }

    /// One symbol more lies before it. Which reading a stamp is does not matter.
    pub fn pass(&mut self, symbol: Symbol) {
        self.symbols.push(match symbol {
            Symbol::Time(span, _) => Symbol::Time(span, Reading::default()),
            other => other,
        });
        self.symbols.sort_unstable();
    }
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Nil,
    Bool(bool),
    Number(f64),
    Text(Text),
    Table(TableId),
    Function(FunctionId),
    Native(Native),
    Time(Time),
    Duration(Duration),
    Beyond(Beyond),
    Offset(Arc<Offset>),
    Part(Part),
    /// A local that functions share; stands on stacks only.
    Cell(CellId),
}

impl Value {
    /// A text without symbols.
    pub fn text(text: impl AsRef<[u8]>) -> Value {
        Value::Text(Text::plain(text))
    }

    /// All but `nil` and `false`.
    pub fn is_true(&self) -> bool {
        !matches!(self, Value::Nil | Value::Bool(false))
    }

    /// What Lua's `type` says.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Nil => "nil",
            Value::Bool(_) => "boolean",
            Value::Number(_)
            | Value::Time(_)
            | Value::Duration(_)
            | Value::Beyond(_)
            | Value::Offset(_)
            | Value::Part(_) => "number",
            Value::Text(_) => "string",
            Value::Table(_) => "table",
            Value::Function(_) | Value::Native(_) | Value::Cell(_) => "function",
        }
    }

    /// A count that is so high, or higher.
    pub fn many(least: u8) -> Value {
        Value::Beyond(Beyond {
            bound: f64::from(least),
            least: true,
        })
    }

    /// A duration that clocks measured. Within a tick it is one, too: moments pass there.
    pub fn span(span: Span) -> Value {
        Value::Duration(Duration {
            ms: span.ms as f64,
            ticks: span.ticks,
            scale: 1.0,
        })
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Value {
        Value::Number(value)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::text(text)
    }
}
