//! The frontier between the sets of assumptions that break a property and those under
//! which it holds.
//!
//! A fault that is allowed only adds behaviours. So what breaks under a set breaks under
//! every larger one, and what holds under a set holds under every smaller one: asking for
//! few sets answers for all. Large sets are asked first, because one that holds answers
//! for every part of it; one that breaks is made smaller until no part of it breaks. (So
//! do algorithms that enumerate minimal unsatisfiable subsets, such as Liffiton and
//! others, "Fast, flexible MUS enumeration", Constraints 21, 2016.)

use std::collections::BTreeMap;

use lockproof_trace::Assumption;

use crate::world::catalogue::Fault;

/// Some of the elements, as bits.
pub type Subset = u32;

/// The most elements.
pub const ELEMENTS_MAX: u32 = 28;

/// What is known of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Holds,
    Breaks,
    Unknown,
}

/// What the frontier of a property is, among sets of a bounded number of elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    /// The sets that break it, no part of which does. Where a part is unknown, the set is
    /// the smallest that is known to break it.
    pub breaks: Vec<Subset>,
    /// The sets of which nothing is known, no part of which breaks it or is unknown.
    pub unknown: Vec<Subset>,
    /// Under any of these elements together, up to the bound, it holds; no element can be
    /// added to one of these sets.
    pub safe: Vec<Subset>,
    /// How many sets were asked for.
    pub asked: usize,
    /// How many there are.
    pub sets: usize,
}

/// Whether what is known under the fault switch of this name says something of sets that have it
/// beside others: it only adds behaviours. Of a name that is not in the catalogue nothing follows.
pub fn combines(name: &str) -> bool {
    Fault::parse(name).is_some_and(Fault::joins_all)
}

/// Whether a switch has the budget and the size that it has unless told otherwise, where a lease
/// is so many ticks.
pub fn is_usual(switch: &Assumption, ttl_ticks: u32) -> bool {
    let ttl = u8::try_from(ttl_ticks).unwrap_or(u8::MAX);
    let usual = |fault: Fault| {
        (switch.budget, switch.size) == (fault.info().budget, fault.default_size(ttl))
    };
    Fault::parse(&switch.name).is_some_and(usual)
}

/// Finds the frontier among all sets of at most `most` of `elements` elements. `ask` is
/// called once for a set at most.
///
/// # Panics
/// If there are more than [`ELEMENTS_MAX`] elements.
pub fn frontier(elements: u32, most: u32, ask: &mut dyn FnMut(Subset) -> Answer) -> Frontier {
    assert!(elements <= ELEMENTS_MAX, "a set is kept as bits");
    let mut search = Search {
        ask,
        known: BTreeMap::new(),
        holds: Vec::new(),
        breaks: Vec::new(),
    };
    let singles = (0..elements.min(elements * most)).map(|element| 1 << element);
    let mut usable = 0;
    if search.answer(0) == Answer::Breaks {
        search.breaks.push(0);
    } else {
        for single in singles {
            match search.answer(single) {
                Answer::Holds => usable |= single,
                Answer::Breaks => search.breaks.push(single),
                Answer::Unknown => {}
            }
        }
    }
    for size in (2..=most.min(elements)).rev() {
        for set in subsets(usable, size) {
            if search.answer(set) == Answer::Breaks && !search.is_broken(set) {
                let least = search.shrunk(set);
                search.breaks.push(least);
            }
        }
    }
    search.conclude(elements, most)
}

struct Search<'a> {
    ask: &'a mut dyn FnMut(Subset) -> Answer,
    /// What was asked.
    known: BTreeMap<Subset, Answer>,
    holds: Vec<Subset>,
    breaks: Vec<Subset>,
}

impl Search<'_> {
    fn is_broken(&self, set: Subset) -> bool {
        self.breaks.iter().any(|known| known & set == *known)
    }

    fn answer(&mut self, set: Subset) -> Answer {
        if let Some(known) = self.known.get(&set) {
            return *known;
        }
        if self.is_broken(set) {
            return Answer::Breaks;
        }
        if self.holds.iter().any(|known| known & set == set) {
            return Answer::Holds;
        }
        let answer = (self.ask)(set);
        self.known.insert(set, answer);
        if answer == Answer::Holds {
            self.holds.push(set);
        }
        answer
    }

    /// A part of a set that breaks, no part of which is known to break.
    fn shrunk(&mut self, mut set: Subset) -> Subset {
        loop {
            let parts = elements_of(set).map(|element| set & !element);
            let parts: Vec<Subset> = parts.collect();
            let broken = (parts.into_iter()).find(|part| self.answer(*part) == Answer::Breaks);
            match broken {
                Some(part) => set = part,
                None => return set,
            }
        }
    }

    fn conclude(mut self, elements: u32, most: u32) -> Frontier {
        self.breaks
            .sort_unstable_by_key(|set| (set.count_ones(), *set));
        let unknown = self.known.iter();
        let unknown = unknown.filter(|(_, answer)| **answer == Answer::Unknown);
        let mut open: Vec<Subset> = unknown.map(|(set, _)| *set).collect();
        open.retain(|set| {
            let holds = self.holds.iter().any(|known| known & set == *set);
            !holds && !self.is_broken(*set)
        });
        let open = minimal(open);
        let obstacles = [&self.breaks[..], &open[..]].concat();
        let all = u32::MAX >> (32 - elements.max(1)) & !(u32::from(elements == 0));
        let mut safe = Vec::new();
        largest_without(all, &obstacles, &mut safe);
        let sets = (0..=most.min(elements)).map(|size| choose(elements, size));
        Frontier {
            breaks: self.breaks,
            unknown: open,
            safe: maximal(safe),
            asked: self.known.len(),
            sets: sets.sum(),
        }
    }
}

/// The sets without a part among them, smallest first.
fn minimal(mut sets: Vec<Subset>) -> Vec<Subset> {
    sets.sort_unstable_by_key(|set| (set.count_ones(), *set));
    let mut least: Vec<Subset> = Vec::new();
    for set in sets {
        if !least.iter().any(|part| part & set == *part) {
            least.push(set);
        }
    }
    least
}

/// The sets that are part of no other, largest first.
fn maximal(mut sets: Vec<Subset>) -> Vec<Subset> {
    sets.sort_unstable_by_key(|set| (u32::MAX - set.count_ones(), *set));
    let mut most: Vec<Subset> = Vec::new();
    for set in sets {
        if !most.iter().any(|whole| whole & set == set) {
            most.push(set);
        }
    }
    most
}

/// The parts of a set that contain no obstacle: at each obstacle one of its elements goes.
fn largest_without(set: Subset, obstacles: &[Subset], found: &mut Vec<Subset>) {
    if found.iter().any(|known| known & set == set) {
        return;
    }
    match obstacles
        .iter()
        .find(|obstacle| *obstacle & set == **obstacle)
    {
        None => found.push(set),
        Some(obstacle) => {
            for element in elements_of(*obstacle) {
                largest_without(set & !element, obstacles, found);
            }
        }
    }
}

fn elements_of(set: Subset) -> impl Iterator<Item = Subset> {
    (0..ELEMENTS_MAX)
        .map(|at| 1 << at)
        .filter(move |element| set & element != 0)
}

/// All parts of a set with so many elements, in order.
fn subsets(set: Subset, size: u32) -> Vec<Subset> {
    let elements: Vec<Subset> = elements_of(set).collect();
    let mut found = vec![(0, 0)];
    for _ in 0..size {
        let longer = found.iter().flat_map(|(part, from): &(Subset, usize)| {
            let rest = elements.iter().enumerate().skip(*from);
            rest.map(move |(at, element)| (part | element, at + 1))
        });
        found = longer.collect();
    }
    found.into_iter().map(|(part, _)| part).collect()
}

fn choose(elements: u32, size: u32) -> usize {
    (0..size).fold(1, |product, at| {
        product * (elements - at) as usize / (at + 1) as usize
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn of(elements: u32, most: u32, broken: &[Subset]) -> Frontier {
        let mut asked = Vec::new();
        frontier(elements, most, &mut |set| {
            assert!(!asked.contains(&set), "asked twice: {set:b}");
            asked.push(set);
            match broken.iter().any(|part| part & set == *part) {
                true => Answer::Breaks,
                false => Answer::Holds,
            }
        })
    }

    #[test]
    fn nothing_breaks_and_little_is_asked() {
        let found = of(6, 3, &[]);
        assert!(found.breaks.is_empty());
        assert_eq!(found.safe, [0b11_1111]);
        // Nothing, six alone, and twenty threes, which answer for the fifteen pairs.
        assert_eq!((found.asked, found.sets), (27, 42));
    }

    #[test]
    fn what_breaks_without_faults_leaves_nothing_safe() {
        let found = of(5, 3, &[0]);
        assert_eq!(
            (found.breaks, found.safe, found.asked),
            (vec![0], vec![], 1)
        );
    }

    #[test]
    fn singles_and_pairs_that_break_are_found_and_never_asked_with_others() {
        let found = of(5, 3, &[0b1, 0b110]);
        assert_eq!(found.breaks, [0b1, 0b110]);
        assert_eq!(found.safe, [0b1_1010, 0b1_1100]);
    }

    #[test]
    fn a_set_beyond_the_bound_is_not_seen() {
        let found = of(5, 2, &[0b111]);
        assert_eq!((found.breaks, found.safe), (vec![], vec![0b1_1111]));
        assert_eq!(of(5, 3, &[0b111]).breaks, [0b111]);
    }

    #[test]
    fn what_is_unknown_is_not_safe_and_its_parts_are_asked() {
        let mut asked = Vec::new();
        let found = frontier(4, 3, &mut |set| {
            asked.push(set);
            match set {
                0b111 => Answer::Unknown,
                _ => Answer::Holds,
            }
        });
        assert_eq!(found.unknown, [0b111]);
        assert_eq!(found.safe, [0b1011, 0b1101, 0b1110]);
        // 0b011 is part of 0b1011, which holds.
        assert!(!asked.contains(&0b011));
        let single = frontier(3, 3, &mut |set| match set & 1 {
            1 => Answer::Unknown,
            _ => Answer::Holds,
        });
        assert_eq!((single.unknown, single.safe), (vec![1], vec![0b110]));
    }

    #[test]
    fn random_frontiers_are_those_of_brute_force() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for _ in 0..300 {
            let elements = random.random_range(1..8_u32);
            let most = random.random_range(1..5_u32);
            let broken: Vec<Subset> = (0..random.random_range(0..5))
                .map(|_| random.random_range(1..1_u32 << elements))
                .collect();
            let breaks = |set: Subset| broken.iter().any(|part| part & set == *part);
            let bounded = |set: &Subset| set.count_ones() <= most;
            let all: Vec<Subset> = (0..1_u32 << elements).filter(bounded).collect();
            let found = of(elements, most, &broken);
            let wanted = minimal(all.iter().copied().filter(|set| breaks(*set)).collect());
            assert_eq!(found.breaks, wanted, "{broken:?}");
            // Every bounded set is under a safe one exactly if it does not break.
            for set in &all {
                let safe = found.safe.iter().any(|whole| whole & set == *set);
                assert_eq!(safe, !breaks(*set), "{broken:?}: {set:b}");
            }
            assert_eq!(found.sets, all.len());
            assert!(found.asked <= all.len());
        }
    }
}
