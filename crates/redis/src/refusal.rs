//! The error replies, word for word as Redis 7.0 sends them.
//!
//! Locks branch on a reply's kind, people read its text, and the differential
//! test compares it whole. So the texts live in one place and handlers name
//! them by meaning.

/// Why a command was refused. `Display` gives the error line without its `-`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    #[error("WRONGTYPE Operation against a key holding the wrong kind of value")]
    WrongType,
    #[error("ERR syntax error")]
    Syntax,
    #[error("ERR value is not an integer or out of range")]
    NotAnInteger,
    #[error("ERR hash value is not an integer")]
    HashNotAnInteger,
    #[error("ERR value is not a valid float")]
    NotAFloat,
    #[error("ERR min or max is not a float")]
    BoundNotAFloat,
    #[error("ERR resulting score is not a number (NaN)")]
    NotANumber,
    #[error("ERR increment or decrement would overflow")]
    Overflow,
    #[error("ERR decrement would overflow")]
    DecrementOverflow,
    #[error("ERR value is out of range, must be positive")]
    NotPositive,
    #[error("ERR invalid expire time in '{0}' command")]
    ExpireTime(&'static str),
    #[error("ERR wrong number of arguments for '{0}' command")]
    Arity(String),
    #[error("NOREPLICAS Not enough good replicas to write.")]
    NoReplicas,
    /// Real servers have it, and the model has not.
    #[error("ERR lockproof does not model {0}")]
    Lacks(&'static str),
    /// Anything said in one place only, or differently by different servers.
    #[error("{0}")]
    Other(String),
}

impl Refusal {
    /// A refusal with a text of its own.
    pub(super) fn other(line: impl Into<String>) -> Self {
        Self::Other(line.into())
    }
}
