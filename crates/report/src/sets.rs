//! Sets of faults in words.

use lockproof_model::check::frontier::is_usual;
use lockproof_trace::{Assumption, words};

/// How the empty set is called.
pub(super) const NO_FAULTS: &str = "no faults";

/// A fault; its budget and size where they are not the usual ones of a lease of so many ticks.
pub(super) fn switch_words(switch: &Assumption, ttl_ticks: u32) -> String {
    match is_usual(switch, ttl_ticks) {
        true => words::printable(&switch.name),
        false => words::assumption(switch),
    }
}

/// `a, b or c`, with `last` before the last; of more than `most` the first, and how many more
/// there are.
pub(super) fn listed<T: AsRef<str>>(some: &[T], last: &str, most: usize) -> String {
    let all: Vec<&str> = some.iter().map(AsRef::as_ref).collect();
    match all.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        all if all.len() > most => {
            let more = all.len() - most;
            format!("{} {last} {more} more", all[..most].join(", "))
        }
        [rest @ .., end] => format!("{} {last} {end}", rest.join(", ")),
    }
}
