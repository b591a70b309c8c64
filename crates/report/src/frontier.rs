//! The frontier of each lock in a report: the smallest sets of faults that break it, and the largest
//! under which it is safe.
//!
//! It is read off the cells, so it costs nothing. Only what was checked is said, and what follows
//! from that: a fault only adds behaviours, so what breaks under a set breaks under every larger
//! one, and what holds under a set holds under every smaller one. Switches that change what others
//! mean stand alone ([`combines`]), and nothing follows from them. The same fault with another
//! budget or size is another switch here. (It would be right to let a larger budget stand for a
//! smaller one; nothing asks for that.)
//!
//! A lock breaks under a set if one of its properties does. It is safe there if all that were asked
//! of it at that size hold, each asked under that very set: a cell that is missing is not known.

use std::collections::BTreeMap;

use lockproof_model::check::Verdict;
use lockproof_model::check::frontier::combines;
use lockproof_trace::{Assumption, words};
use serde::Serialize;

use super::matrix::sizes_text;
use super::model::{Cell, Report, Sizes};
use super::sets::{self, NO_FAULTS, listed};

/// More sets of one lock at one size than this are not looked at: a report that is read back may
/// have any number.
const SETS_MAX: usize = 600;
/// More sets than this are not named in a sentence.
const NAMED_MAX: usize = 24;
/// With more switches than this it is not counted what follows.
const SWITCHES_MAX: usize = 40;
/// Sets of more faults are not counted.
const FAULTS_MAX: usize = 3;

/// What is known of one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All properties hold.
    Safe,
    /// Some property is violated.
    Breaks,
    /// None is known to be violated, and not all are known to hold.
    Unknown,
}

/// A set of faults that was checked.
#[derive(Clone, Debug)]
pub struct CheckedSet<'r> {
    /// The set.
    pub set: &'r [Assumption],
    /// What came of it.
    pub answer: Answer,
    /// How many properties are violated, of so many.
    pub broken: usize,
    /// Properties that were asked of the lock at this size.
    pub properties: usize,
    /// It is on the frontier: no smaller set is known to break the lock, or no larger one to be safe.
    pub extreme: bool,
    /// Steps of the shortest counterexample, if there is one.
    pub steps: Option<usize>,
    /// Every switch only adds behaviours.
    combines: bool,
}

/// The frontier of one lock at one size.
#[derive(Clone, Debug)]
pub struct LockFrontier<'r> {
    /// The lock's name.
    pub lock: &'r str,
    /// The size.
    pub sizes: Sizes,
    /// It has cells of other sizes too.
    pub sizes_differ: bool,
    /// What was checked: smaller sets first, and otherwise in the order of the report.
    pub sets: Vec<CheckedSet<'r>>,
    /// Sets that were left out because there are too many.
    pub left_out: usize,
    /// What follows from them.
    pub saving: Option<Saving>,
}

/// Of how many sets something is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Saving {
    /// Sets of at most so many faults are counted.
    pub faults: usize,
    /// So many there are.
    pub sets: usize,
    /// These were checked, whatever came of it.
    pub asked: usize,
    /// Of these it is known without a check.
    pub follow: usize,
}

/// The frontier of each lock of the report, in its order; none of a report on scenarios, whose
/// faults strike in an order.
pub fn frontiers(report: &Report) -> Vec<LockFrontier<'_>> {
    if !report.scenarios.is_empty() {
        return Vec::new();
    }
    // Each lock in the order of the report, and its sizes in theirs.
    let mut order: Vec<(&str, Sizes)> = Vec::new();
    let mut cells: BTreeMap<(&str, Sizes), Vec<&Cell>> = BTreeMap::new();
    for cell in &report.cells {
        let key = (cell.lock.as_str(), cell.sizes);
        cells
            .entry(key)
            .or_insert_with(|| {
                order.push(key);
                Vec::new()
            })
            .push(cell);
    }
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    let mut often: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, (lock, _)) in order.iter().enumerate() {
        first.entry(lock).or_insert(place);
        *often.entry(lock).or_default() += 1;
    }
    order.sort_by_key(|(lock, _)| first[lock]);
    let each = order.into_iter();
    each.map(|key| of_cells(report, key, &cells[&key], often[key.0] > 1))
        .collect()
}

fn of_cells<'r>(
    report: &'r Report,
    (lock, sizes): (&'r str, Sizes),
    cells: &[&'r Cell],
    sizes_differ: bool,
) -> LockFrontier<'r> {
    let mut properties: Vec<&str> = cells.iter().map(|cell| cell.property.as_str()).collect();
    properties.sort_unstable();
    properties.dedup();
    // By the set's words, which tell two sets apart: a set has no order of its own here.
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: Vec<(&'r [Assumption], Vec<&Cell>)> = Vec::new();
    let mut left_out = std::collections::BTreeSet::new();
    for cell in cells {
        let key = words::assumptions(&cell.assumptions);
        match places.get(&key) {
            Some(place) => found[*place].1.push(cell),
            None if found.len() < SETS_MAX => {
                places.insert(key, found.len());
                found.push((&cell.assumptions, vec![cell]));
            }
            None => drop(left_out.insert(key)),
        }
    }
    found.sort_by_key(|(set, _)| set.len());
    let mut sets: Vec<CheckedSet> = found
        .iter()
        .map(|(set, cells)| checked(report, set, cells, &properties))
        .collect();
    mark_extremes(&mut sets);
    LockFrontier {
        lock,
        sizes,
        sizes_differ,
        saving: saving(&sets),
        sets,
        left_out: left_out.len(),
    }
}

fn checked<'r>(
    report: &Report,
    set: &'r [Assumption],
    cells: &[&Cell],
    properties: &[&str],
) -> CheckedSet<'r> {
    let has = |property: &str, verdict: Verdict| {
        let mut of_property = cells.iter().filter(|cell| cell.property == property);
        of_property.any(|cell| cell.verdict == verdict)
    };
    let count = |verdict: Verdict| properties.iter().filter(|one| has(one, verdict)).count();
    let broken = count(Verdict::Violated);
    let answer = match (broken, count(Verdict::Holds)) {
        (0, holding) if holding == properties.len() => Answer::Safe,
        (0, _) => Answer::Unknown,
        _ => Answer::Breaks,
    };
    let traces = cells.iter().filter_map(|cell| {
        let id = cell.counterexample.as_deref()?;
        Some(report.counterexample(id)?.trace.length())
    });
    CheckedSet {
        set,
        answer,
        broken,
        properties: properties.len(),
        extreme: false,
        steps: traces.min(),
        combines: set.iter().all(|one| combines(&one.name)),
    }
}

/// Every switch of `part` is in `whole`, and what is known of one says something of the other.
fn is_part(part: &CheckedSet, whole: &CheckedSet) -> bool {
    part.combines && whole.combines && part.set.iter().all(|one| whole.set.contains(one))
}

fn mark_extremes(sets: &mut [CheckedSet]) {
    let extreme = |at: usize| {
        let one = &sets[at];
        let mut others = sets.iter().enumerate().filter(|(other, _)| *other != at);
        match one.answer {
            Answer::Breaks => {
                !others.any(|(_, part)| part.answer == Answer::Breaks && is_part(part, one))
            }
            Answer::Safe => {
                !others.any(|(_, whole)| whole.answer == Answer::Safe && is_part(one, whole))
            }
            // What is unknown here may follow from others.
            Answer::Unknown => !others.any(|(_, other)| match other.answer {
                Answer::Breaks => is_part(other, one),
                Answer::Safe => is_part(one, other),
                Answer::Unknown => false,
            }),
        }
    };
    let extremes: Vec<bool> = (0..sets.len()).map(extreme).collect();
    for (set, extreme) in sets.iter_mut().zip(extremes) {
        set.extreme = extreme;
    }
}

/// Counts the sets of at most two faults, or of as many as were checked together: those that were
/// asked for, and those of which the answer follows.
fn saving(sets: &[CheckedSet]) -> Option<Saving> {
    let mut switches: Vec<&Assumption> = Vec::new();
    for one in sets
        .iter()
        .filter(|one| one.combines)
        .flat_map(|one| one.set)
    {
        if !switches.contains(&one) {
            switches.push(one);
        }
    }
    if switches.len() > SWITCHES_MAX {
        return None;
    }
    let bits = |set: &[Assumption]| {
        set.iter().fold(0_u64, |bits, one| {
            let at = switches.iter().position(|known| *known == one);
            bits | at.map_or(0, |at| 1 << at)
        })
    };
    let of = |answer: Answer| -> Vec<u64> {
        let sets = sets.iter().filter(|one| one.combines);
        let sets = sets.filter(|one| one.answer == answer);
        sets.map(|one| bits(one.set)).collect()
    };
    let (breaks, safe, open) = (of(Answer::Breaks), of(Answer::Safe), of(Answer::Unknown));
    let largest = sets.iter().filter(|one| one.combines);
    let largest = largest.map(|one| one.set.len()).max()?;
    let faults = largest.clamp(2, FAULTS_MAX).min(switches.len().max(1));
    let mut saving = Saving {
        faults,
        sets: 0,
        asked: 0,
        follow: 0,
    };
    for set in combinations(&switches, faults) {
        saving.sets += 1;
        if [&breaks, &safe, &open]
            .iter()
            .any(|known| known.contains(&set))
        {
            saving.asked += 1;
        } else if breaks.iter().any(|part| part & set == *part)
            || safe.iter().any(|whole| whole & set == set)
        {
            saving.follow += 1;
        }
    }
    // Those that are tried alone, and sets of more faults than are counted.
    let further = sets
        .iter()
        .filter(|one| !one.combines || one.set.len() > faults);
    let further = further.count();
    saving.sets += further;
    saving.asked += further;
    Some(saving)
}

/// All sets of at most so many switches, as bits; none that has a fault twice.
fn combinations(switches: &[&Assumption], most: usize) -> Vec<u64> {
    let mut all = vec![0_u64];
    let mut level = vec![(0_u64, 0_usize)];
    for _ in 0..most {
        let mut next = Vec::new();
        for (set, from) in level {
            for at in from..switches.len() {
                let same = |other: usize| {
                    set >> other & 1 == 1 && switches[other].name == switches[at].name
                };
                if !(0..at).any(same) {
                    next.push((set | 1 << at, at + 1));
                }
            }
        }
        all.extend(next.iter().map(|(set, _)| *set));
        level = next;
    }
    all
}

impl LockFrontier<'_> {
    /// The lock's name, with the size where it has several.
    pub fn title(&self) -> String {
        let name = words::printable(self.lock);
        match self.sizes_differ {
            true => format!("{name} ({})", sizes_text(self.sizes)),
            false => name,
        }
    }

    /// The frontier in a sentence without its subject: `breaks with {client-pause} or
    /// {loss, clock-jump}; safe under {client-crash}`.
    pub fn sentence(&self) -> String {
        let breaks = self.named(Answer::Breaks);
        let safe = self.named(Answer::Safe);
        let open = self.named(Answer::Unknown);
        let mut parts = Vec::new();
        parts.push(match breaks.as_slice() {
            [] => "nothing that was checked breaks it".to_owned(),
            [one, ..] if one == NO_FAULTS => "breaks without any fault".to_owned(),
            some => format!("breaks with {}", listed(some, "or", NAMED_MAX)),
        });
        let (none, safe) = match safe.split_first() {
            Some((first, rest)) if first == NO_FAULTS => (true, rest),
            _ => (false, safe.as_slice()),
        };
        let safe = match safe {
            [] => None,
            [one] => Some(format!("under {one}")),
            some => Some(format!("under each of {}", listed(some, "and", NAMED_MAX))),
        };
        let none = none.then(|| "without faults".to_owned());
        let safe: Vec<String> = none.into_iter().chain(safe).collect();
        if !safe.is_empty() {
            parts.push(format!("safe {}", safe.join(", and ")));
        }
        if !open.is_empty() {
            parts.push(format!(
                "not known under {}",
                listed(&open, "or", NAMED_MAX)
            ));
        }
        parts.join("; ")
    }

    /// What the sentence rests on: `22 of 211 sets of at most 2 faults asked for, 145 follow, 44
    /// are not known`.
    pub fn saving_words(&self) -> String {
        let mut out = String::new();
        if let Some(saving) = self.saving {
            let open = saving.sets - saving.asked - saving.follow;
            out = format!(
                "{} of {} of at most {} asked for",
                saving.asked,
                words::plural(saving.sets as u32, "set"),
                words::plural(saving.faults as u32, "fault"),
            );
            out += &match (saving.follow, open) {
                (0, 0) => String::new(),
                (_, 0) => "; the others follow".to_owned(),
                (follow, open) => format!(", {follow} follow, {open} not known"),
            };
        }
        if self.left_out > 0 {
            out += &format!(
                "; {} not looked at here",
                words::plural(self.left_out as u32, "set")
            );
        }
        out
    }

    /// The sets of an answer on the frontier, in braces.
    pub(super) fn extremes(&self, answer: Answer) -> Vec<String> {
        let sets = self.sets.iter();
        let sets = sets.filter(|one| one.extreme && one.answer == answer);
        let name = |one: &CheckedSet| {
            let names: Vec<String> = one.set.iter().map(|one| self.switch_words(one)).collect();
            format!("{{{}}}", names.join(", "))
        };
        sets.map(name).collect()
    }

    fn named(&self, answer: Answer) -> Vec<String> {
        let sets = self.sets.iter();
        let sets = sets.filter(|one| one.extreme && one.answer == answer);
        let sets: Vec<&CheckedSet> = sets.collect();
        sets.iter().map(|one| self.set_words(one.set)).collect()
    }

    /// A set in braces; budgets and sizes where they are not the usual ones.
    fn set_words(&self, set: &[Assumption]) -> String {
        match set {
            [] => NO_FAULTS.to_owned(),
            set => {
                let names: Vec<String> = set.iter().map(|one| self.switch_words(one)).collect();
                format!("{{{}}}", names.join(", "))
            }
        }
    }

    /// A switch; its budget and size where they are not the usual ones.
    pub fn switch_words(&self, switch: &Assumption) -> String {
        sets::switch_words(switch, self.sizes.ttl_ticks)
    }
}
