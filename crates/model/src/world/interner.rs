//! Numbers for values: the first time a value is seen it gets the next one.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Values in the order of their first appearance.
#[derive(Clone, Debug)]
pub struct Interner<T> {
    items: Vec<T>,
    index: FxHashMap<T, u16>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Interner {
            items: Vec::new(),
            index: FxHashMap::default(),
        }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    /// The value's number; `None` when all 65,535 are given out.
    pub fn intern(&mut self, value: &T) -> Option<u16> {
        if let Some(&id) = self.index.get(value) {
            return Some(id);
        }
        let id = u16::try_from(self.items.len())
            .ok()
            .filter(|id| *id < u16::MAX)?;
        self.items.push(value.clone());
        self.index.insert(value.clone(), id);
        Some(id)
    }

    /// The number of a value that was seen before.
    pub fn find(&self, value: &T) -> Option<u16> {
        self.index.get(value).copied()
    }

    /// The value with this number.
    pub fn get(&self, id: u16) -> &T {
        &self.items[usize::from(id)]
    }

    /// All values, by number.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// How many values there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True before the first value.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
