//! Orders that nobody promises.
//!
//! Redis lists a hash, and Lua goes through a table, in an order that depends on
//! how it came about. A lock that depends on it is right by accident. So a run
//! takes one of the possible orders, and whoever runs it tries them all and
//! compares: a few entries have a few orders, and of more nothing is said.

use super::heap::{Key, Table};
use super::value::Value;

/// Entries up to which all orders are tried.
const ENTRIES_MAX: usize = 4;

/// How many orders so many entries have; `None` if those are too many to try.
pub fn count(entries: usize) -> Option<u32> {
    (entries <= ENTRIES_MAX).then(|| (1..=entries as u32).product::<u32>().max(1))
}

/// The place of each entry in order `number`; all orders are met by the numbers
/// below [`count`].
pub fn permutation(entries: usize, number: u32) -> Vec<usize> {
    let mut left: Vec<usize> = (0..entries).collect();
    let mut number = number as usize;
    let mut out = Vec::with_capacity(entries);
    for size in (1..=entries).rev() {
        out.push(left.remove(number % size));
        number /= size;
    }
    out
}

/// The entry after `key` when what is not in the list comes in order `number`.
pub(super) fn after(table: &Table, key: Option<&Key>, number: u32) -> Option<(Key, Value)> {
    let known = key.filter(|key| table.rest.contains_key(key));
    if known.is_none()
        && let Some((key, value)) = table.after(key)
        && !table.rest.contains_key(&key)
    {
        // Still in the list, which comes first.
        return Some((key, value));
    }
    let keys: Vec<&Key> = table.rest.keys().collect();
    let order = permutation(keys.len(), number);
    let from = match known {
        None => 0,
        Some(key) => order.iter().position(|index| keys[*index] == key)? + 1,
    };
    let mut later = order[from..].iter().map(|index| keys[*index]);
    let there = |key: &&Key| table.rest.get(*key).is_some_and(|v| *v != Value::Nil);
    let key = later.find(there)?;
    Some((key.clone(), table.rest.get(key)?.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_below_the_count_meet_every_order_once() {
        let mut found: Vec<Vec<usize>> = (0..24).map(|n| permutation(4, n)).collect();
        found.sort();
        found.dedup();
        assert_eq!(found.len(), count(4).unwrap() as usize);
        assert_eq!(count(5), None);
    }
}
