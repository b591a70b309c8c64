//! What a Redis Cluster refuses of a lock, whatever the verdicts.
//!
//! A cluster executes a command or a script only if all of its keys are in one slot. The
//! model's servers are no cluster, so this is a warning and no verdict.

use lockproof_lua::text::{self, MARK};
use lockproof_redis::{Bytes, hashed, several_keys, slot};

/// Two keys of a command line that are in different slots, as people read them.
pub(super) fn cross_slot(argv: &[Bytes]) -> Option<(String, String)> {
    let keys = several_keys(argv);
    let (first, rest) = keys.split_first()?;
    let other = rest.iter().find(|other| !one_slot(first, other))?;
    Some((text::printable(first), text::printable(other)))
}

/// Names differ from attempt to attempt, and their letters are not known: keys that hash them
/// are in one slot only if they hash the same.
fn one_slot(one: &[u8], other: &[u8]) -> bool {
    let symbolic = |key: &[u8]| hashed(key).contains(&MARK);
    hashed(one) == hashed(other) || (!symbolic(one) && !symbolic(other) && slot(one) == slot(other))
}

/// The warning, with the place that sends the command.
pub(super) fn warning(place: &str, (one, other): &(String, String)) -> String {
    format!(
        "{place}: on a Redis Cluster this is refused: keys {one} and {other} are in different slots; \
         use {{..}} hash tags"
    )
}
