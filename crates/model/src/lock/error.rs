//! What can be wrong with a lock file, or with the way it is driven.

use lockproof_lua::Refusal;

/// Why a lock file cannot be loaded or run on.
///
/// Places are written `file:line` with the line of the user's own file.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// The file cannot be read.
    #[error(
        "failed to read the lock file {path}: {source}; check the path, or see the list of built-in locks"
    )]
    Read {
        /// As the user gave it.
        path: String,
        /// The system's own words.
        source: std::io::Error,
    },
    /// No built-in lock has this name.
    #[error("there is no built-in lock `{name}`; the built-in locks are {known}")]
    UnknownBuiltin {
        /// What was asked for.
        name: String,
        /// All names, comma separated.
        known: String,
    },
    /// The text is not Lua 5.1, or uses something that a lock file may not.
    #[error("{at}: {message}")]
    Syntax {
        /// `file:line`.
        at: String,
        /// What is wrong and what to write instead.
        message: String,
    },
    /// The table that the file returns is not a lock.
    #[error("{file}: {message}")]
    Shape {
        /// The file, with the line where it is known.
        file: String,
        /// Which field, and what it should be.
        message: String,
    },
    /// The program broke a rule or hit a Lua error while it ran. This is never
    /// an outcome of the lock: the file has to be mended first.
    #[error("{at}: {message}")]
    Run {
        /// `file:line`, or the file alone if no line is known.
        at: String,
        /// What happened and what to do.
        message: String,
    },
    /// The configuration does not fit the file.
    #[error("{file}: {message}")]
    Config {
        /// The file.
        file: String,
        /// Which value, and what it may be.
        message: String,
    },
    /// The driver gave an input that is not possible now: a mistake in the
    /// caller of [`Program::step`](super::Program::step), not in the lock file.
    #[error("the input {input} is not possible now: {why}")]
    Driver {
        /// The input, for the message.
        input: String,
        /// What the program waits for instead.
        why: String,
    },
    /// What the program does next depends on something that the model does not
    /// have, so nothing can be said about it.
    #[error("{at}: the lock {refusal}")]
    Refused {
        /// `file:line`.
        at: String,
        /// What it is.
        refusal: Refusal,
    },
}
