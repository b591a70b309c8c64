//! What a key can hold.
//!
//! Everything is an ordered plain collection, so that two servers with the
//! same contents are equal, hash alike and print alike. Redis keeps hashes in
//! an order that depends on history and encoding; nobody may rely on it, and
//! keeping it here would split one state of the model into many.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::Hasher;

use lockproof_lua::text::{self, Symbol};

use super::Bytes;

/// A Redis hash, by field.
pub type Hash = BTreeMap<Bytes, Bytes>;

/// A Redis list, from left to right.
pub type List = VecDeque<Bytes>;

/// A Redis set.
pub type Set = BTreeSet<Bytes>;

/// The value of a key. A collection in a server is never empty: Redis removes
/// the key with the last element.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Value {
    /// A byte string (also counters: Redis keeps them as decimal text).
    String(Bytes),
    /// A hash.
    Hash(Hash),
    /// A list.
    List(List),
    /// A set.
    Set(Set),
    /// A sorted set.
    SortedSet(SortedSet),
}

impl Value {
    /// The name that TYPE answers.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::String(_) => "string",
            Self::Hash(_) => "hash",
            Self::List(_) => "list",
            Self::Set(_) => "set",
            Self::SortedSet(_) => "zset",
        }
    }

    /// What it costs to look through it, in instructions of Lua.
    pub(super) fn weight(&self) -> u64 {
        let weight = match self {
            Self::String(text) => text.len() / 16,
            Self::Hash(hash) => hash.len() / 4,
            Self::List(list) => list.len() / 4,
            Self::Set(set) => set.len() / 4,
            Self::SortedSet(set) => set.len() / 4,
        };
        weight as u64
    }

    /// Whether this is a collection without elements.
    pub(super) fn is_empty_collection(&self) -> bool {
        match self {
            Self::String(_) => false,
            Self::Hash(hash) => hash.is_empty(),
            Self::List(list) => list.is_empty(),
            Self::Set(set) => set.is_empty(),
            Self::SortedSet(set) => set.is_empty(),
        }
    }
}

/// The score of a member of a sorted set.
///
/// The order is one of states, in which they compare and hash, and for numbers that of
/// IEEE 754: the numeric one, since neither NaN nor -0 is ever kept. How two times lie
/// is asked elsewhere (`scores.rs`).
#[derive(Clone, Copy, Debug)]
pub enum Score {
    /// A number.
    Number(f64),
    /// A time, in a server of a model: [`Symbol::Time`] or [`Symbol::Far`].
    Stamp(Symbol),
}

impl Score {
    /// The same with its text rewritten, if it is a time.
    #[must_use]
    pub fn renamed(self, rename: &mut impl FnMut(&[u8]) -> Bytes) -> Score {
        match self {
            Score::Number(_) => self,
            Score::Stamp(symbol) => {
                let text = rename(&symbol.text());
                Score::Stamp(text::only_symbol(&text).unwrap_or(symbol))
            }
        }
    }
}

impl PartialEq for Score {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Score {}

impl PartialOrd for Score {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Score {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        use std::cmp::Ordering::{Greater, Less};
        match (self, other) {
            (Score::Number(a), Score::Number(b)) => a.total_cmp(b),
            (Score::Stamp(a), Score::Stamp(b)) => a.cmp(b),
            (Score::Number(_), Score::Stamp(_)) => Less,
            (Score::Stamp(_), Score::Number(_)) => Greater,
        }
    }
}

impl std::hash::Hash for Score {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Score::Number(number) => number.to_bits().hash(state),
            Score::Stamp(symbol) => symbol.hash(state),
        }
    }
}

/// A Redis sorted set. Locks keep a handful of members in one, so ranks are
/// computed on demand instead of being kept in a second index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SortedSet {
    scores: BTreeMap<Bytes, Score>,
}

impl SortedSet {
    /// Number of members.
    pub fn len(&self) -> usize {
        self.scores.len()
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.scores.is_empty()
    }

    /// The score of a member.
    pub fn score(&self, member: &[u8]) -> Option<Score> {
        self.scores.get(member).copied()
    }

    /// Sets a member's score and gives the one it had. A number must not be NaN;
    /// a -0 is kept as 0, as small sorted sets keep it in Redis.
    pub fn insert(&mut self, member: Bytes, score: Score) -> Option<Score> {
        let score = match score {
            Score::Number(number) => {
                debug_assert!(!number.is_nan(), "the caller rejects NaN");
                // In IEEE 754 -0 + 0 is 0, and nothing else changes.
                Score::Number(number + 0.0)
            }
            stamp => stamp,
        };
        self.scores.insert(member, score)
    }

    /// Removes a member and gives its score.
    pub fn remove(&mut self, member: &[u8]) -> Option<Score> {
        self.scores.remove(member)
    }

    /// Members with their scores. Without times: lowest first; equal scores by member.
    pub fn ranked(&self) -> Vec<(&Bytes, Score)> {
        let mut members: Vec<_> = self.scores.iter().collect();
        // A stable sort keeps the map's member order among equal scores.
        members.sort_by_key(|(_, score)| **score);
        let members = members.into_iter().map(|(member, score)| (member, *score));
        members.collect()
    }
}

impl FromIterator<(Bytes, f64)> for SortedSet {
    fn from_iter<I: IntoIterator<Item = (Bytes, f64)>>(members: I) -> Self {
        let members = members.into_iter();
        let scored = members.map(|(member, score)| (member, Score::Number(score)));
        scored.collect()
    }
}

impl FromIterator<(Bytes, Score)> for SortedSet {
    fn from_iter<I: IntoIterator<Item = (Bytes, Score)>>(members: I) -> Self {
        let mut set = Self::default();
        for (member, score) in members {
            set.insert(member, score);
        }
        set
    }
}

/// A type of value, for lookups that refuse the other types.
pub(super) trait Kind: Sized {
    /// This type's part of a value.
    fn of(value: &Value) -> Option<&Self>;
    /// This type's part of a value, to be changed.
    fn of_mut(value: &mut Value) -> Option<&mut Self>;
    /// A value of this type.
    fn into_value(self) -> Value;
}

macro_rules! kind {
    ($type:ty, $variant:ident) => {
        impl Kind for $type {
            fn of(value: &Value) -> Option<&Self> {
                match value {
                    Value::$variant(inner) => Some(inner),
                    _ => None,
                }
            }

            fn of_mut(value: &mut Value) -> Option<&mut Self> {
                match value {
                    Value::$variant(inner) => Some(inner),
                    _ => None,
                }
            }

            fn into_value(self) -> Value {
                Value::$variant(self)
            }
        }
    };
}

kind!(Bytes, String);
kind!(Hash, Hash);
kind!(List, List);
kind!(Set, Set);
kind!(SortedSet, SortedSet);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_scores_rank_by_member_even_across_the_two_zeros() {
        let set: SortedSet = [(b"b".to_vec(), -0.0), (b"a".to_vec(), 0.0)]
            .into_iter()
            .collect();
        let order: Vec<_> = set.ranked().into_iter().map(|(m, _)| m.clone()).collect();
        assert_eq!(order, [b"a".to_vec(), b"b".to_vec()]);
    }
}
