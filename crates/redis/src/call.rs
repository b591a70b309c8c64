//! A command as its handler gets it, and what the handler answers.

use super::refusal::Refusal;
use super::{Bytes, Reply};

/// What a handler answers.
pub(super) type Answer = Result<Reply, Refusal>;

/// How a command came in.
pub(super) struct Call<'a> {
    /// The command's name in lower case.
    pub name: &'static str,
    /// Name and arguments; the arity has been checked.
    pub argv: &'a [Bytes],
    /// Who sent it.
    pub connection: u32,
}
