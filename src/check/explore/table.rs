//! The set of states that one worker owns.
//!
//! States lie in one array in the order of their discovery, so a level of the
//! search is a range of it and no queue is kept; beside it is an open-addressing
//! index of `u32` entries. An entry spends as many bits as it needs on the
//! position and the rest on a tag of the hash, so that a probe that misses
//! almost never touches the (cold) state array. This costs the size of a state
//! plus 5 to 8 bytes; nothing else is stored per state, not even a parent:
//! [`super::trace`] finds parents again by running levels once more.
//!
//! Two things decide the speed, and both are waiting for memory. States are
//! looked up in groups whose loads are all begun before the first is needed.
//! And the index grows by half, not to double, by forgetting itself first and
//! reading the state array again from front to back: growing needs no second
//! index beside the first, which is the peak that decides what fits in memory.
//!
//! Rejected: `HashSet` (half as large again, double while it grows), storing
//! only fingerprints (a collision would silently prune), storing parents (a
//! third of the memory, and a message as well as a state per transition).

use std::hash::{Hash, Hasher};
use std::hint::black_box;

use rustc_hash::FxHasher;

const SLOTS_MIN: usize = 64;
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

/// See the module's essay.
pub(super) struct Table<S> {
    states: Vec<S>,
    /// 0 is empty; otherwise position + 1 in the low `position_bits`, tag above.
    slots: Vec<u32>,
    position_bits: u32,
}

impl<S: Copy + Eq + Hash> Table<S> {
    pub fn new() -> Table<S> {
        Table {
            states: Vec::new(),
            slots: vec![0; SLOTS_MIN],
            position_bits: bits_for(SLOTS_MIN),
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
        let Err(slot) = self.probe(new.hash, &new.state) else {
            return Ok(false);
        };
        let number = self.states.len() + 1;
        if number >= STATES_MAX {
            return Err(Full);
        }
        self.states.push(new.state);
        self.slots[slot] = self.entry(new.hash, number);
        // Linear probing at 13/16 looks at 3 slots for a state that is there and
        // at 15 for one that is not: one or two cache lines.
        if number * 16 >= self.slots.len() * 13 {
            self.grow();
        }
        Ok(true)
    }

    /// Adds all of `batch`, which becomes empty, and says how many were new.
    pub fn insert_all(&mut self, batch: &mut Vec<Hashed<S>>) -> Result<u64, Full> {
        let before = self.states.len();
        for group in batch.chunks(GROUP) {
            self.warm(group);
            for new in group {
                self.insert(new)?;
            }
        }
        batch.clear();
        Ok((self.states.len() - before) as u64)
    }

    /// Touches what [`Table::insert`] will need. The loads of a group do not
    /// depend on each other, nor is there a branch to guess wrong between them,
    /// so the processor overlaps their misses.
    fn warm(&self, group: &[Hashed<S>]) {
        let Some(first) = self.states.first() else {
            return;
        };
        let mut entries = [0; GROUP];
        for (entry, new) in entries.iter_mut().zip(group) {
            *entry = self.slots[self.home(new.hash)];
        }
        for (entry, new) in entries.iter().zip(group) {
            let agrees = *entry != 0 && self.tag_agrees(*entry, new.hash);
            let position = if agrees { self.position(*entry) } else { 0 };
            black_box(*self.states.get(position).unwrap_or(first));
        }
    }

    /// The position of the state, or else the slot where it belongs.
    fn probe(&self, hash: u64, state: &S) -> Result<usize, usize> {
        let mut slot = self.home(hash);
        loop {
            let entry = self.slots[slot];
            if entry == 0 {
                return Err(slot);
            }
            if self.tag_agrees(entry, hash) && self.states[self.position(entry)] == *state {
                return Ok(self.position(entry));
            }
            slot = self.after(slot);
        }
    }

    fn grow(&mut self) {
        let slots = self.slots.len() / 2 * 3;
        // The old entries go first: all of them are made anew.
        self.slots = Vec::new();
        self.slots = vec![0; slots];
        self.position_bits = bits_for(slots);
        let states = std::mem::take(&mut self.states);
        for (group_number, group) in states.chunks(GROUP).enumerate() {
            let mut hashes = [0; GROUP];
            for (hash, state) in hashes.iter_mut().zip(group) {
                *hash = hash_of(state);
                black_box(self.slots[self.home(*hash)]);
            }
            for (offset, hash) in hashes.iter().take(group.len()).enumerate() {
                self.place(*hash, group_number * GROUP + offset + 1);
            }
        }
        self.states = states;
    }

    /// Enters a state that has no entry yet.
    fn place(&mut self, hash: u64, number: usize) {
        let mut slot = self.home(hash);
        while self.slots[slot] != 0 {
            slot = self.after(slot);
        }
        self.slots[slot] = self.entry(hash, number);
    }

    fn home(&self, hash: u64) -> usize {
        (((hash >> 32) * self.slots.len() as u64) >> 32) as usize
    }

    fn after(&self, slot: usize) -> usize {
        if slot + 1 == self.slots.len() {
            0
        } else {
            slot + 1
        }
    }

    fn entry(&self, hash: u64, number: usize) -> u32 {
        (hash as u32) << self.position_bits | number as u32
    }

    fn position(&self, entry: u32) -> usize {
        (entry & ((1 << self.position_bits) - 1)) as usize - 1
    }

    fn tag_agrees(&self, entry: u32, hash: u64) -> bool {
        (entry >> self.position_bits) == (hash as u32) << self.position_bits >> self.position_bits
    }
}

/// Bits for the numbers of all states that `slots` may hold.
fn bits_for(slots: usize) -> u32 {
    (usize::BITS - (slots / 16 * 13 + 16).leading_zeros()).min(31)
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
