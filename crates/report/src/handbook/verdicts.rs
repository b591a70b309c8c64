//! The verdicts of a report, asked by lock, property and fault.

use std::collections::BTreeMap;

use lockproof_model::check::Verdict;

use super::super::model::{Cell, Report};

/// The names of the faults of a set, in its order.
type Set<'r> = Vec<&'r str>;

/// Of each lock, property and set of faults the worst verdict over sizes and budgets.
pub(super) struct Verdicts<'r> {
    /// In the order of the report.
    locks: Vec<&'r str>,
    /// By property and set, then by lock's place.
    of: BTreeMap<(&'r str, Set<'r>), BTreeMap<usize, Verdict>>,
}

impl<'r> Verdicts<'r> {
    pub fn new(report: &'r Report) -> Verdicts<'r> {
        let mut all = Verdicts {
            locks: Vec::new(),
            of: BTreeMap::new(),
        };
        for cell in &report.cells {
            all.add(cell);
        }
        all
    }

    fn add(&mut self, cell: &'r Cell) {
        let known = self.locks.iter().position(|lock| *lock == cell.lock);
        let lock = known.unwrap_or_else(|| {
            self.locks.push(&cell.lock);
            self.locks.len() - 1
        });
        let set = cell.assumptions.iter().map(|one| one.name.as_str());
        let key = (cell.property.as_str(), set.collect());
        let of_lock = self.of.entry(key).or_default();
        let worst = of_lock.entry(lock).or_insert(cell.verdict);
        if order(cell.verdict) < order(*worst) {
            *worst = cell.verdict;
        }
    }

    /// The locks, in the order of the report.
    pub fn locks(&self) -> &[&'r str] {
        &self.locks
    }

    /// The verdict on the lock at a place; `None` if it was not asked.
    pub fn verdict(&self, lock: usize, property: &str, set: &[&str]) -> Option<Verdict> {
        let answers = self.of.get(&(property, set.to_vec()))?;
        answers.get(&lock).copied()
    }

    /// The lock was asked for something under these faults.
    pub fn asked(&self, lock: usize, set: &[&str]) -> bool {
        let mut of_set = self.of.iter().filter(|((_, known), _)| known == set);
        of_set.any(|(_, answers)| answers.contains_key(&lock))
    }
}

fn order(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Violated => 0,
        Verdict::Unknown => 1,
        Verdict::Holds => 2,
    }
}
