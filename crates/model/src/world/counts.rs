//! Counts without a cap.
//!
//! Whoever repeats a command whose reply was lost counts on for ever: a hold in a hash that
//! HINCRBY raised each time has any number of holds. In the tables such a count is a number up
//! to [`text::MANY`], or *so many, or more* ([`Symbol::Many`]).
//!
//! - A count that a command moves to [`text::MANY`] or above is that many, or more.
//! - From there on each command moves what is known with it: raised by one it is one more at
//!   least, but no more than [`text::MANY`] is kept; lowered by one it is one less at least.
//! - A script that compares it learns what follows from that. `count == 0` and `count > 0` are
//!   known while there is one at least. Where the answer would be another one for some of the
//!   values that it may have, the execution is refused, and the verdict is unknown.
//!
//! Why this is exact: `least <= count` holds when the symbol is made, and each of the steps
//! keeps it. A reply or a branch is taken only if it is that of *every* count which is so high
//! or higher, and the real count is one of those. Nothing is guessed, so nothing is added to
//! what a real server can do and nothing is left out.
//!
//! Why it is enough: what is lost is lost where a count at [`text::MANY`] is raised, and then a
//! hold can be given back that was not counted. But who gives it back has first taken it. So
//! what is known falls below [`text::MANY`] only by the holds that clients have at one time and
//! the commands in flight, and never further. A lock that gives back more than it took (as one
//! that unlocks after each failure) can lower it to 0: there it is unknown.

use lockproof_lua::text::{self, Symbol};
use lockproof_redis::{Bytes, Value};

use super::node::Entry;

/// Keeps of the counts of `entry` what the tables have, after a command on `known`.
pub(super) fn saturate(known: &Entry, entry: &mut Entry) {
    match (&known.value, &mut entry.value) {
        (Value::String(old), Value::String(new)) => one(Some(old), new),
        (Value::Hash(old), Value::Hash(new)) => {
            for (field, text) in new {
                one(old.get(field), text);
            }
        }
        _ => {}
    }
}

fn one(old: Option<&Bytes>, new: &mut Bytes) {
    let high = match text::only_symbol(new) {
        Some(Symbol::Many(least)) => least > text::MANY,
        Some(_) => false,
        None => has_risen(old, new),
    };
    if high {
        *new = Symbol::Many(text::MANY).text();
    }
}

/// It was moved, and not set, to where counts are not told exactly.
fn has_risen(old: Option<&Bytes>, new: &Bytes) -> bool {
    let many = i64::from(text::MANY);
    match (old.and_then(|old| number(old)), number(new)) {
        (Some(old), Some(new)) => old != new && new >= many && (old - new).abs() < many,
        _ => false,
    }
}

/// The number that a text is, as Redis writes it.
pub(super) fn number(text: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == text).then_some(number)
}
