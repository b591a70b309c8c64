//! The set of states that one worker owns.
//!
//! States lie in one array in the order of their discovery, so a level of the
//! search is a range of it and no queue is kept; beside it is an open-addressing
//! index of `u32` entries. An entry spends as many bits as it needs on the
//! position and the rest on a tag of the hash, so that a probe that misses
//! almost never touches the (cold) state array. This costs the size of a state
//! plus 5 to 6 bytes; nothing else is stored per state, not even a parent:
//! [`super::trace`] finds parents again by running levels once more.
//!
//! What decides the speed is waiting for memory: a load that nothing overlaps
//! costs as much as fifteen that do. So a bucket is a cache line of 16 entries,
//! and a lookup rarely needs a second one; and states are looked up in batches,
//! whose lines, and then whose likely states, are all asked for before the first
//! is needed. The index grows by a half, not to double, by forgetting itself first
//! and reading the state array again from front to back: so it needs no second
//! index beside the first, the peak that decides what fits in memory. (Growing by
//! a third saves half a byte a state more and costs a tenth of the time.)
//!
//! Rejected: `HashSet` (half as large again, double while it grows), storing
//! only fingerprints (a collision would silently prune), storing parents (a
//! third of the memory, and a message as well as a state per transition).

use std::hash::{Hash, Hasher};

use rustc_hash::FxHasher;

use super::prefetch::prefetch;

/// Entries of a bucket: a cache line.
const WAYS: usize = 16;
const LINES_MIN: usize = 4;
/// States looked up together, so that their cache misses overlap.
pub(super) const GROUP: usize = 32;
/// One less than this many states fit: the position must leave a bit for a tag.
const STATES_MAX: usize = 1 << 31;

/// The table cannot number another state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

/// A state with its hash, so that the hash is computed once.
#[derive(Clone, Copy)]
pub(super) struct Hashed<S> {
    pub hash: u64,
    pub state: S,
}

impl<S: Hash> Hashed<S> {
    pub fn new(state: S) -> Hashed<S> {
        Hashed {
            hash: hash_of(&state),
            state,
        }
    }
}

/// The hash that decides owner, shard, slot and tag. It has no random seed: the
/// same search must do the same work twice.
pub(super) fn hash_of<S: Hash>(state: &S) -> u64 {
    let mut hasher = FxHasher::default();
    state.hash(&mut hasher);
    // Fx leaves patterns of small packed states in its bits, and here different
    // bits decide different things; one more multiplication spreads them.
    let mixed = hasher.finish();
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}

/// The worker, of `workers`, that owns the state with this hash.
pub(super) fn owner(hash: u64, workers: usize) -> usize {
    // Multiplying instead of dividing: this runs once a transition. The upper
    // half of the hash is left to the slots.
    (((hash & 0xffff_ffff) * workers as u64) >> 32) as usize
}

/// A bucket, filled from the front. An entry is 0 if it is empty; otherwise the
/// position + 1 is in its low bits and the tag above.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u32; WAYS]);

impl Line {
    /// Bit i says whether entry i agrees with `like` where `mask` has ones. One
    /// comparison of all entries without a branch becomes a few instructions.
    #[inline(always)]
    fn agreeing(&self, like: u32, mask: u32) -> u32 {
        let bits = self.0.iter().enumerate();
        bits.fold(0, |found, (way, entry)| {
            found | u32::from((entry ^ like) & mask == 0) << way
        })
    }

    /// The first empty entry, or [`WAYS`].
    fn used(&self) -> usize {
        (self.agreeing(0, u32::MAX) | 1 << WAYS).trailing_zeros() as usize
    }
}

/// See the module's essay.
pub(super) struct Table<S> {
    states: Vec<S>,
    lines: Vec<Line>,
    position_bits: u32,
}

impl<S: Copy + Eq + Hash> Table<S> {
    pub fn new() -> Table<S> {
        let position_bits = bits_for(LINES_MIN);
        Table {
            states: Vec::new(),
            lines: vec![Line([0; WAYS]); LINES_MIN],
            position_bits,
        }
    }

    /// All states, in the order of their discovery.
    pub fn states(&self) -> &[S] {
        &self.states
    }

    /// The position of a state in [`Table::states`].
    pub fn find(&self, hash: u64, state: &S) -> Option<usize> {
        self.probe(hash, state).ok()
    }

    /// Adds a state; false if it was there already.
    pub fn insert(&mut self, new: &Hashed<S>) -> Result<bool, Full> {
        let Err(line) = self.probe(new.hash, &new.state) else {
            return Ok(false);
        };
        let number = self.states.len() + 1;
        if number >= STATES_MAX {
            return Err(Full);
        }
        self.states.push(new.state);
        self.place(line, new.hash, number);
        // At this load every fourth line is full and sends a lookup on.
        if number * 8 >= self.lines.len() * WAYS * 7 {
            self.grow();
        }
        Ok(true)
    }

    /// Adds all of `batch`, which becomes empty, and says how many were new. Who
    /// fills a batch calls [`Table::touch_line`] for each state.
    pub fn insert_all(&mut self, batch: &mut Vec<Hashed<S>>) -> Result<u64, Full> {
        let before = self.states.len();
        for new in &*batch {
            self.touch_state(self.likely(new.hash));
        }
        for new in &*batch {
            self.insert(new)?;
        }
        batch.clear();
        Ok((self.states.len() - before) as u64)
    }

    /// Begins to load what a lookup of this hash reads first.
    #[inline]
    pub fn touch_line(&self, hash: u64) {
        prefetch(&self.lines[self.home(hash)]);
    }

    /// Begins to load a state that a lookup will compare.
    #[inline]
    pub fn touch_state(&self, position: usize) {
        if let Some(state) = self.states.get(position) {
            prefetch(state);
        }
    }

    /// The position of the state, or else the line where it belongs.
    fn probe(&self, hash: u64, state: &S) -> Result<usize, usize> {
        let mut number = self.home(hash);
        loop {
            let line = &self.lines[number];
            let mut agreeing = line.agreeing(self.tag(hash), self.tag_mask());
            while agreeing != 0 {
                let position = self.position(line.0[agreeing.trailing_zeros() as usize]);
                // The position of an empty entry is beyond all states.
                if self.states.get(position) == Some(state) {
                    return Ok(position);
                }
                agreeing &= agreeing - 1;
            }
            if line.0[WAYS - 1] == 0 {
                return Err(number);
            }
            number = self.after(number);
        }
    }

    /// The position of the first state in the home line whose tag agrees;
    /// beyond all states if there is none.
    pub fn likely(&self, hash: u64) -> usize {
        let line = &self.lines[self.home(hash)];
        let way = line
            .agreeing(self.tag(hash), self.tag_mask())
            .trailing_zeros() as usize;
        line.0
            .get(way)
            .map_or(usize::MAX, |entry| self.position(*entry))
    }

    fn grow(&mut self) {
        let lines = self.lines.len() / 2 * 3 + 4;
        // The old entries go first: all of them are made anew.
        self.lines = Vec::new();
        self.lines = vec![Line([0; WAYS]); lines];
        self.position_bits = bits_for(lines);
        let states = std::mem::take(&mut self.states);
        for (group_number, group) in states.chunks(GROUP).enumerate() {
            let mut hashes = [0; GROUP];
            for (hash, state) in hashes.iter_mut().zip(group) {
                *hash = hash_of(state);
            }
            for hash in hashes {
                prefetch(&self.lines[self.home(hash)]);
            }
            for (offset, hash) in hashes.iter().take(group.len()).enumerate() {
                self.place(self.home(*hash), *hash, group_number * GROUP + offset + 1);
            }
        }
        self.states = states;
    }

    /// Enters a state that has no entry yet, in this line or one after it.
    fn place(&mut self, mut line: usize, hash: u64, number: usize) {
        let entry = self.tag(hash) | number as u32;
        loop {
            let used = self.lines[line].used();
            if let Some(free) = self.lines[line].0.get_mut(used) {
                *free = entry;
                return;
            }
            line = self.after(line);
        }
    }

    fn home(&self, hash: u64) -> usize {
        (((hash >> 32) * self.lines.len() as u64) >> 32) as usize
    }

    fn after(&self, line: usize) -> usize {
        if line + 1 == self.lines.len() {
            0
        } else {
            line + 1
        }
    }

    fn position(&self, entry: u32) -> usize {
        ((entry & !self.tag_mask()) as usize).wrapping_sub(1)
    }

    fn tag(&self, hash: u64) -> u32 {
        (hash as u32) << self.position_bits
    }

    fn tag_mask(&self) -> u32 {
        u32::MAX << self.position_bits
    }
}

/// Bits for the numbers of all states that fit into `lines`.
fn bits_for(lines: usize) -> u32 {
    (usize::BITS - (lines * WAYS).leading_zeros()).min(31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        #[test]
        fn a_table_is_the_set_of_what_was_inserted(values in prop::collection::vec(0u32..5_000, 0..20_000)) {
            let mut table = Table::new();
            let mut set = HashSet::new();
            for value in &values {
                let new = table.insert(&Hashed::new(*value)).unwrap();
                prop_assert_eq!(new, set.insert(*value));
            }
            prop_assert_eq!(table.states().len(), set.len());
            for value in 0u32..5_000 {
                let found = table.find(hash_of(&value), &value);
                prop_assert_eq!(found.is_some(), set.contains(&value));
                prop_assert!(found.is_none_or(|at| table.states()[at] == value));
            }
        }
    }

    #[test]
    fn states_beyond_sixteen_position_bits_are_still_found() {
        let mut table = Table::new();
        let mut batch: Vec<_> = (0u64..300_000).chain(0..300_000).map(Hashed::new).collect();
        assert_eq!(table.insert_all(&mut batch), Ok(300_000));
        assert!((0u64..300_000).all(|i| table.find(hash_of(&i), &i) == Some(i as usize)));
        assert_eq!(table.find(hash_of(&300_000u64), &300_000), None);
    }

    /// A state type whose hashes all agree: tags and homes tell nothing apart.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Colliding(u16);
    impl Hash for Colliding {
        fn hash<H: Hasher>(&self, hasher: &mut H) {
            0u8.hash(hasher);
        }
    }

    #[test]
    fn equal_hashes_do_not_make_states_equal() {
        let mut table = Table::new();
        let mut batch: Vec<_> = (0..2_000)
            .map(|i| Hashed::new(Colliding(i % 1_000)))
            .collect();
        assert_eq!(table.insert_all(&mut batch), Ok(1_000));
    }

    #[test]
    fn every_owner_gets_a_fair_share() {
        for workers in 1..9 {
            let mut shares = vec![0; workers];
            (0u64..80_000).for_each(|i| shares[owner(hash_of(&[i, i >> 3]), workers)] += 1);
            let fair = 80_000 / workers;
            assert!(
                shares
                    .iter()
                    .all(|share| (fair * 9 / 10..=fair * 11 / 10).contains(share)),
                "{shares:?}"
            );
        }
    }
}
