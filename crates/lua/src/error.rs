//! How a run ends that does not end well.

use super::value::Value;

/// Why nothing can be said about what a program does next. It is not an error of
/// the program, which may not catch it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Refusal {
    pub kind: RefusalKind,
    /// What the program did, as the end of "it ...".
    pub what: String,
    /// The line of its text, from 1; 0 if none is known.
    pub line: u32,
}

/// What kind of thing the model does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RefusalKind {
    /// The inside of a token or an owner: its letters, length or order.
    Names,
    /// The digits of a time stamp, or when exactly something is.
    Digits,
    /// Times that are further from the present than the model keeps apart.
    Horizon,
    /// Durations between two ticks.
    Rounding,
    /// An order that nobody promises.
    Order,
    /// A function or a feature that the model's Lua or Redis lacks.
    Lacks,
    /// More work or memory than a run may take.
    Limit,
}

impl Refusal {
    /// One whose line is not known yet.
    pub fn new(kind: RefusalKind, what: impl Into<String>) -> Refusal {
        Refusal {
            kind,
            what: what.into(),
            line: 0,
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.what)
    }
}

/// What a run comes to, unless it stopped.
pub type VmResult<T> = Result<T, Stop>;

/// What a function returns.
pub type Returned = VmResult<Vec<Value>>;

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq)]
pub enum Stop {
    /// The program raised an error.
    Raised {
        /// What it raised; for errors of Lua's own, a text that begins with the place.
        value: Value,
        /// The line where it was raised, 0 if none is known.
        line: u32,
    },
    /// See [`Refusal`].
    Refused(Refusal),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Stop {
        Stop::Refused(refusal)
    }
}
