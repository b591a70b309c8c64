//! Why a lock could not be closed.

use crate::lock::LockError;
use crate::redis::Bytes;
use crate::world::interner::Interner;

/// Why a lock could not be closed.
#[derive(Debug, thiserror::Error)]
pub enum ClosureError {
    /// The lock file itself fails.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The state space of one client or server does not stop growing.
    #[error(
        "the {what} of this lock grows without end (more than {limit}){hint}; bound it, or keep it out of the lock file's state"
    )]
    Unbounded {
        what: &'static str,
        limit: usize,
        hint: String,
    },
    /// A command carries another attempt's or another client's token.
    #[error(
        "line {line}: the command {command} sends a token that is not this attempt's own ({symbol}); lockproof can only follow a client's own present token"
    )]
    ForeignToken {
        line: u32,
        command: String,
        symbol: String,
    },
    /// The program tells foreign tokens apart.
    #[error(
        "the lock compares tokens or names of other clients with each other; lockproof represents them by one symbol and would merge states that differ"
    )]
    TellsForeignersApart,
    /// The program remembers an old token of its own, and looks for it.
    #[error(
        "line {line}: the lock remembers its token of an earlier attempt and compares it with what is stored; lockproof can only follow a client's own present token. Forget it (`self.token = nil`) when the lock is given back"
    )]
    TellsOldTokensApart { line: u32 },
    /// A command whose replies carry the server's absolute time in seconds.
    #[error(
        "line {line}: {command} depends on the server's absolute time in a form that the model does not follow; use PX, PEXPIRE or the client's now()"
    )]
    ServerTime { line: u32, command: String },
    /// The caller asked to stop.
    #[error("stopped before the lock's automaton was complete")]
    Stopped,
    /// A feature that the world does not model yet.
    #[error(
        "line {line}: {what} is not in the model yet, so nothing can be proved about this lock"
    )]
    NotModelled { line: u32, what: String },
}

pub(super) fn foreign(argv: &[Bytes], line: u32, symbol: String) -> ClosureError {
    ClosureError::ForeignToken {
        line,
        command: printable(argv),
        symbol,
    }
}

pub(in crate::world) fn printable(argv: &[Bytes]) -> String {
    let words: Vec<_> = argv
        .iter()
        .take(4)
        .map(|word| String::from_utf8_lossy(word))
        .collect();
    words.join(" ")
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
