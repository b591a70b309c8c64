//! A set of whole numbers that takes little room where they are consecutive.
//!
//! A counter's values are, so a million acknowledged writes are one run; a hash
//! set of them would be the largest thing in the judge's memory.

use std::collections::BTreeMap;

/// First to last, both within.
#[derive(Default)]
pub(super) struct Runs {
    runs: BTreeMap<i64, i64>,
    count: u64,
}

impl Runs {
    pub(super) fn contains(&self, number: i64) -> bool {
        let run = self.runs.range(..=number).next_back();
        run.is_some_and(|(_, last)| number <= *last)
    }

    /// False if it was there already.
    pub(super) fn insert(&mut self, number: i64) -> bool {
        let before = self.runs.range_mut(..=number).next_back();
        let mut first = number;
        if let Some((start, last)) = before {
            if number <= *last {
                return false;
            }
            if last.checked_add(1) == Some(number) {
                first = *start;
            }
        }
        let after = number
            .checked_add(1)
            .and_then(|next| self.runs.remove(&next));
        self.runs.insert(first, after.unwrap_or(number));
        self.count += 1;
        true
    }

    /// How many numbers are above this one.
    pub(super) fn above(&self, number: i64) -> u64 {
        let later = self.runs.range(..).rev();
        let later = later.take_while(|(_, last)| **last > number);
        later
            .map(|(first, last)| match number < *first {
                true => last.abs_diff(*first) + 1,
                false => last.abs_diff(number),
            })
            .sum()
    }

    /// How many numbers.
    pub(super) fn len(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn runs_are_a_set() {
        let mut state = 7u64;
        let (mut runs, mut set) = (Runs::default(), BTreeSet::new());
        for _ in 0..5_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
            let number = (state >> 33) as i64 % 700 - 350;
            assert_eq!(runs.contains(number), set.contains(&number));
            assert_eq!(runs.insert(number), set.insert(number));
        }
        assert_eq!(runs.len(), set.len() as u64);
        for number in -351..351 {
            let above = set.iter().filter(|other| **other > number).count();
            assert_eq!(runs.above(number), above as u64);
        }
        assert!(runs.insert(i64::MAX) && runs.insert(i64::MIN) && !runs.insert(i64::MAX));
    }

    #[test]
    fn consecutive_numbers_are_one_run_in_either_direction() {
        let mut runs = Runs::default();
        (0..1_000).for_each(|number| assert!(runs.insert(number)));
        (-1_000..0)
            .rev()
            .for_each(|number| assert!(runs.insert(number)));
        assert_eq!((runs.runs.len(), runs.len()), (1, 2_000));
    }
}
