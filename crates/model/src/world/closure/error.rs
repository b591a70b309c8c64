//! Why a lock could not be closed.

use crate::lock::LockError;
use crate::world::interner::Interner;

/// Why a lock could not be closed.
#[derive(Debug, thiserror::Error)]
pub enum ClosureError {
    /// The lock file itself fails.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The state space of one client or server does not stop growing.
    #[error(
        "the {what} of this lock takes too many forms (more than {limit}){hint}; bound what grows, or keep it out of the lock's state"
    )]
    Unbounded {
        what: &'static str,
        limit: usize,
        hint: String,
    },
    /// The caller asked to stop.
    #[error("stopped before the lock's automaton was complete")]
    Stopped,
    /// Something that the model does not have, as a sentence about the lock.
    #[error("{at}: {what}; nothing can be proved about it")]
    NotModelled { at: String, what: String },
}

/// What grows where servers hold too many different things.
pub(super) const CONTENT: &str = "content of a server";

impl ClosureError {
    /// The lock grew beyond the tables, and did not do anything wrong.
    pub fn is_limit(&self) -> bool {
        matches!(self, ClosureError::Unbounded { .. } | ClosureError::Stopped)
    }

    /// Servers can hold more than tables can number, if every command meets every content.
    pub fn is_of_contents(&self) -> bool {
        matches!(self, ClosureError::Unbounded { what, .. } if *what == CONTENT)
    }
}

impl ClosureError {
    pub(in crate::world) fn too_many_classes() -> ClosureError {
        unbounded("client", usize::from(u16::MAX), String::new())
    }

    /// More contents of a server were come to than can be numbered.
    pub fn too_many_contents() -> ClosureError {
        unbounded(CONTENT, usize::from(u16::MAX), String::new())
    }
}

pub(super) fn intern<T: Clone + Eq + std::hash::Hash>(
    interner: &mut Interner<T>,
    value: &T,
    what: &'static str,
) -> Result<u16, ClosureError> {
    interner
        .intern(value)
        .ok_or_else(|| unbounded(what, usize::from(u16::MAX), String::new()))
}

pub(super) fn unbounded(what: &'static str, limit: usize, hint: String) -> ClosureError {
    ClosureError::Unbounded { what, limit, hint }
}
