//! The set of states that one worker owns.
//!
//! States lie in one array in the order of their discovery, so a level of the
//! search is a range of it and no queue is kept; beside it is an open-addressing
//! index of `u32` entries. An entry spends as many bits as it needs on the
//! position and the rest on a tag of the hash, so that a probe that misses
//! almost never touches the (cold) state array. This costs the size of a state
//! plus 5 to 10 bytes; nothing else is stored per state, not even a parent:
//! [`super::trace`] finds parents again by running levels once more.
//!
//! The index is split into shards only so that growing is gradual: a single
//! table would hold its old and its new half at once, which is the peak that
//! decides how large a search fits in memory. Rejected: `HashSet` (a byte of
//! control and a second copy of each state, and the same peak), storing only
//! fingerprints (a collision would silently prune), storing parents (a third of
//! the memory, and a message as well as a state for each transition).

use std::hash::{Hash, Hasher};
use std::hint::black_box;

use rustc_hash::FxHasher;

/// Index shards of one table; see the module's essay.
const SHARDS: usize = 16;
const SHARD_BITS: u32 = SHARDS.trailing_zeros();
const SHARD_SLOTS_MIN: usize = 16;
/// States looked up together, so that their cache misses overlap.
const GROUP: usize = 16;
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
    // Multiplying instead of dividing: this runs once a transition. Only the
    // upper half is used, so that owner and slot stay independent.
    (((hash >> 32) * workers as u64) >> 32) as usize
}

struct Shard {
    /// 0 is empty; otherwise position + 1 in the low `position_bits`, tag above.
    slots: Vec<u32>,
    used: usize,
    position_bits: u32,
}

impl Shard {
    fn home(&self, hash: u64) -> usize {
        (hash >> SHARD_BITS) as usize & (self.slots.len() - 1)
    }

    fn tag(&self, hash: u64) -> u32 {
        ((hash >> 32) as u32) << self.position_bits
    }

    fn position(&self, entry: u32) -> usize {
        (entry & ((1 << self.position_bits) - 1)) as usize - 1
    }

    fn tag_agrees(&self, entry: u32, tag: u32) -> bool {
        entry != 0 && (entry ^ tag) >> self.position_bits == 0
    }

    fn crowded(&self) -> bool {
        self.used * 16 >= self.slots.len() * 13
    }
}

/// See the module's essay.
pub(super) struct Table<S> {
    states: Vec<S>,
    shards: Vec<Shard>,
}

impl<S: Copy + Eq + Hash> Table<S> {
    pub fn new() -> Table<S> {
        let shard = || Shard {
            slots: vec![0; SHARD_SLOTS_MIN],
            used: 0,
            position_bits: 16,
        };
        Table {
            states: Vec::new(),
            shards: (0..SHARDS).map(|_| shard()).collect(),
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
        let position = self.states.len() + 1;
        if position >= STATES_MAX {
            return Err(Full);
        }
        let number = shard_of(new.hash);
        self.states.push(new.state);
        let shard = &mut self.shards[number];
        if position >> shard.position_bits != 0 {
            // Other shards have filled up faster than this one.
            self.rebuild(number, self.shards[number].slots.len());
            return self.insert_known_absent(new.hash, position);
        }
        shard.slots[slot] = shard.tag(new.hash) | position as u32;
        shard.used += 1;
        if shard.crowded() {
            let slots = shard.slots.len() * 2;
            self.rebuild(number, slots);
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

    /// Touches what [`Table::insert`] will need. Each of a group's loads is
    /// independent, so the processor overlaps their misses; one insertion after
    /// another would wait for memory twice per state.
    fn warm(&self, group: &[Hashed<S>]) {
        let mut entries = [0; GROUP];
        for (entry, new) in entries.iter_mut().zip(group) {
            let shard = &self.shards[shard_of(new.hash)];
            *entry = shard.slots[shard.home(new.hash)];
        }
        for (entry, new) in entries.iter().zip(group) {
            let shard = &self.shards[shard_of(new.hash)];
            if shard.tag_agrees(*entry, shard.tag(new.hash)) {
                black_box(self.states[shard.position(*entry)]);
            }
        }
    }

    /// The position of the state, or else the slot where it belongs.
    fn probe(&self, hash: u64, state: &S) -> Result<usize, usize> {
        let shard = &self.shards[shard_of(hash)];
        let (tag, mask) = (shard.tag(hash), shard.slots.len() - 1);
        let mut slot = shard.home(hash);
        loop {
            let entry = shard.slots[slot];
            if entry == 0 {
                return Err(slot);
            }
            if shard.tag_agrees(entry, tag) {
                let position = shard.position(entry);
                if self.states[position] == *state {
                    return Ok(position);
                }
            }
            slot = (slot + 1) & mask;
        }
    }

    fn insert_known_absent(&mut self, hash: u64, position: usize) -> Result<bool, Full> {
        let shard = &mut self.shards[shard_of(hash)];
        place(shard, hash, position);
        shard.used += 1;
        Ok(true)
    }

    fn rebuild(&mut self, number: usize, slots: usize) {
        let old = &self.shards[number];
        // Twice the present size: the next rebuild of this shard is due by then.
        let position_bits = (usize::BITS - (self.states.len() * 2).leading_zeros()).clamp(16, 31);
        let mut new = Shard {
            slots: vec![0; slots],
            used: old.used,
            position_bits,
        };
        for &entry in old.slots.iter().filter(|entry| **entry != 0) {
            let position = old.position(entry);
            place(&mut new, hash_of(&self.states[position]), position + 1);
        }
        self.shards[number] = new;
    }
}

fn shard_of(hash: u64) -> usize {
    hash as usize & (SHARDS - 1)
}

fn place(shard: &mut Shard, hash: u64, position: usize) {
    let mask = shard.slots.len() - 1;
    let mut slot = shard.home(hash);
    while shard.slots[slot] != 0 {
        slot = (slot + 1) & mask;
    }
    shard.slots[slot] = shard.tag(hash) | position as u32;
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
