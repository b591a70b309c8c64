//! Who wrote what of an entry, and whose of it a command took.

use std::collections::{BTreeMap, VecDeque};

use lockproof_redis::{Bytes, Value, Write};

use super::elements;
use crate::world::node::{Entry, Writers};
use crate::world::owners::{Author, Owners, Sender};

/// Who wrote what, afterwards.
pub(super) fn writers(
    known: Option<&Entry>,
    value: &Value,
    written: &[Write],
    key: &Bytes,
    author: Author,
) -> Writers {
    let here = || written.iter().filter(|place| place.key == *key);
    // Whoever only moves scores leaves members to those who put them there.
    let moves = matches!(value, Value::SortedSet(_)) && here().all(|place| place.counts);
    let wrote =
        |element: Option<&Bytes>| !moves && here().any(|place| place.element.as_ref() == element);
    match value {
        Value::String(_) => match known.map(|known| &known.writers) {
            Some(Writers::One(owners)) if !wrote(None) => Writers::One(*owners),
            Some(Writers::One(owners)) => Writers::One(Owners::written(Some(*owners), author)),
            _ => Writers::One(Owners::written(None, author)),
        },
        Value::List(list) => {
            let Some((Value::List(old), Writers::Items(writers))) =
                known.map(|known| (&known.value, &known.writers))
            else {
                return Writers::Items(vec![Owners::written(None, author); list.len()]);
            };
            let kept = kept(old, list).into_iter();
            Writers::Items(
                kept.map(|old| old.map_or(Owners::written(None, author), |at| writers[at]))
                    .collect(),
            )
        }
        collection => {
            let old = match known.map(|known| &known.writers) {
                Some(Writers::Each(each)) => each.clone(),
                _ => BTreeMap::new(),
            };
            let owner = |element: &Bytes| match old.get(element) {
                Some(owners) if !wrote(Some(element)) => *owners,
                old => Owners::written(old.copied(), author),
            };
            let all = elements(collection).into_iter();
            Writers::Each(
                all.map(|element| (element.clone(), owner(element)))
                    .collect(),
            )
        }
    }
}

/// Where each item of a list was before, if it was there: commands take items away
/// and put new ones at the ends.
fn kept(old: &VecDeque<Bytes>, new: &VecDeque<Bytes>) -> Vec<Option<usize>> {
    let find = |from: usize, item: &Bytes| {
        let offset = old.iter().skip(from).position(|known| known == item);
        offset.map(|offset| from + offset)
    };
    let common = |fresh: usize| {
        let mut from = 0;
        let stayed = new.iter().skip(fresh).map_while(|item| {
            from = find(from, item)? + 1;
            Some(())
        });
        stayed.count()
    };
    // The beginning of the new list that was not there before.
    let fresh = (0..=new.len())
        .max_by_key(|fresh| (common(*fresh), usize::MAX - fresh))
        .unwrap_or(0);
    let mut from = 0;
    let stayed = new.iter().skip(fresh).map(|item| {
        let at = find(from, item)?;
        from = at + 1;
        Some(at)
    });
    std::iter::repeat_n(None, fresh).chain(stayed).collect()
}

/// Clients (bit sets) whose element is gone, and others whose element was written over. A
/// counter is there for all to count, so counting alone is no writing over.
pub(super) fn touched(known: &Entry, entry: &Entry, written: &[Write], author: Author) -> (u8, u8) {
    let here = || written.iter().filter(|write| write.key == entry.key);
    let counts = here().all(|write| write.counts);
    let wrote =
        |element: Option<&Bytes>| !counts && here().any(|write| write.element.as_ref() == element);
    match (&known.writers, &entry.writers) {
        (Writers::One(old), Writers::One(_)) => match wrote(None) {
            true => (0, old.overwritten(author)),
            false => (0, 0),
        },
        (Writers::Each(old), Writers::Each(new)) => {
            let gone = old
                .iter()
                .filter(|(element, _)| !new.contains_key(*element));
            let over = old.iter().filter(|(element, _)| wrote(Some(element)));
            let gone = gone.fold(0, |set, (_, owners)| set | owners.set());
            let over = over.fold(0, |set, (_, owners)| set | owners.overwritten(author));
            (gone, over)
        }
        (Writers::Items(old), Writers::Items(_)) => {
            let (Value::List(before), Value::List(after)) = (&known.value, &entry.value) else {
                return (known.writers.set(), 0);
            };
            let kept = kept(before, after);
            let gone = (0..old.len()).filter(|at| !kept.contains(&Some(*at)));
            (gone.fold(0, |set, at| set | old[at].set()), 0)
        }
        // Another type stands there now.
        (old, _) => (old.set(), 0),
    }
}

/// Others whose hold a change of the expiry shortens or prolongs. Who shares a
/// collection, or a text with other readers, prolongs it for all; nobody may shorten it.
pub(super) fn expiry_victims(known: &Entry, entry: &Entry, author: Author, step_ms: i64) -> u8 {
    let others = known.writers.set() & !author.bit();
    let shares = match author.sender {
        Sender::LeavingReader => known.writers.set() | entry.writers.set(),
        Sender::Alone | Sender::Reader => entry.writers.set(),
    };
    let own = shares & author.bit() != 0;
    let shared = own
        && match entry.writers {
            Writers::One(owners) => owners.is_shared(),
            Writers::Each(_) | Writers::Items(_) => true,
        };
    let longer = match (known.life, entry.life) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(old), Some(new)) => new.value(step_ms) >= old.value(step_ms),
    };
    if shared && longer { 0 } else { others }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_of(old: &[&str], new: &[&str]) -> Vec<Option<usize>> {
        let list = |items: &[&str]| items.iter().map(|item| item.as_bytes().to_vec()).collect();
        kept(&list(old), &list(new))
    }

    #[test]
    fn an_item_in_front_of_an_equal_one_is_new() {
        assert_eq!(
            kept_of(&["a", "b"], &["b", "a", "b"]),
            [None, Some(0), Some(1)]
        );
    }

    #[test]
    fn what_is_behind_an_item_that_was_taken_away_stays() {
        assert_eq!(kept_of(&["a", "b"], &["b"]), [Some(1)]);
        assert_eq!(kept_of(&["a", "b", "a"], &["b", "a"]), [Some(1), Some(2)]);
        assert_eq!(kept_of(&["a"], &["a", "b"]), [Some(0), None]);
        assert_eq!(kept_of(&[], &["a"]), [None]);
    }
}
