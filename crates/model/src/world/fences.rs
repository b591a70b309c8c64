//! Fences: the values of counters that only grow.
//!
//! In the tables a fence is its *rank*: 0 is the highest that was ever handed out, 1 a
//! lower one, and so on. When a new highest is drawn, all others are renumbered, in
//! servers, messages and clients alike, as tokens are when a new attempt begins.
//!
//! - Where no server can lose what it has, and there is one, its counter is always the
//!   highest. Then only the order of fences matters: a rank that nobody has any more is
//!   filled, so ranks are few and the order is exact for ever.
//! - Where a counter can fall back, it matters by how much: it hands out again what lies
//!   above it. So there a rank is the exact distance to the highest. What is [`LOSING`] or
//!   more below it is unranked, and so is the first fence of a counter that begins anew
//!   when more than that were handed out.
//!
//! Of an unranked fence nothing is known. A program that compares it is refused; where a
//! property would have to, its verdict is unknown.

use std::cmp::Ordering;

use lockproof_lua::text::{self, DRAWN, Symbol, UNRANKED};
use lockproof_redis::Reply;

use crate::lock::Stated;

use super::symbols;

/// Ranks where nothing is lost.
pub const KEEPING: u8 = 6;

/// Ranks where a counter can fall back.
pub const LOSING: u8 = 3;

/// What a command did to a counter of fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Draw {
    /// It drew a fence above all others.
    Highest,
    /// It drew the first one of a counter that was not there.
    First,
}

/// New ranks for all fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Renumbering {
    /// There is a new highest, and every distance is one more.
    Shift,
    /// There is a new highest, and nobody has a fence of this rank: lower ones keep theirs.
    Fill(u8),
    /// What a counter that began anew drew has this rank, and is not the highest.
    Sink(u8),
}

impl Renumbering {
    /// All that a world can need.
    pub fn all(losing: bool) -> Vec<Renumbering> {
        if losing {
            let sunk = (1..LOSING).chain([UNRANKED]).map(Renumbering::Sink);
            return [Renumbering::Shift].into_iter().chain(sunk).collect();
        }
        (0..=KEEPING).map(Renumbering::Fill).collect()
    }

    /// Its number among all.
    pub fn index(self) -> usize {
        match self {
            Renumbering::Shift => 0,
            Renumbering::Fill(rank) => usize::from(rank),
            Renumbering::Sink(UNRANKED) => usize::from(LOSING),
            Renumbering::Sink(rank) => usize::from(rank),
        }
    }

    /// It is told to everybody; otherwise it is about one server's answer.
    pub fn is_for_all(self) -> bool {
        !matches!(self, Renumbering::Sink(_))
    }

    /// The new rank.
    pub fn rank(self, rank: u8) -> u8 {
        match self {
            _ if rank == UNRANKED => UNRANKED,
            Renumbering::Shift if rank + 1 >= LOSING => UNRANKED,
            Renumbering::Shift => rank + 1,
            Renumbering::Fill(gap) if rank >= gap => rank,
            Renumbering::Fill(_) if rank + 1 >= KEEPING => UNRANKED,
            Renumbering::Fill(_) => rank + 1,
            Renumbering::Sink(to) if rank == 0 => to,
            Renumbering::Sink(_) => rank,
        }
    }

    /// A text with every fence renumbered.
    pub fn text(self, text: &[u8]) -> Vec<u8> {
        map_ranks(text, |rank| self.rank(rank))
    }

    /// A reply with every fence renumbered.
    pub fn reply(self, reply: &Reply) -> Reply {
        symbols::map_reply(reply, &mut |text| self.text(text))
    }
}

/// A text with the rank of every fence rewritten.
pub fn map_ranks(text: &[u8], f: impl Fn(u8) -> u8) -> Vec<u8> {
    text::map_symbols(text, |symbol, out| {
        match symbol {
            Symbol::Fence(rank) => Symbol::Fence(f(rank)),
            Symbol::FenceCount(rank) => Symbol::FenceCount(f(rank)),
            other => other,
        }
        .write(out);
    })
}

/// The ranks of the fences in a text.
pub fn ranks(text: &[u8]) -> impl Iterator<Item = u8> + '_ {
    text::symbols(text).filter_map(|symbol| match symbol {
        Symbol::Fence(rank) | Symbol::FenceCount(rank) => Some(rank),
        _ => None,
    })
}

/// A rank as a bit of a set; an unranked fence is in none.
pub fn bit(rank: u8) -> u8 {
    match rank {
        0..KEEPING => 1 << rank,
        _ => 0,
    }
}

/// The ranks of the fences in a reply, as a set.
pub fn ranks_of_reply(reply: &Reply) -> u8 {
    match reply {
        Reply::Bulk(text) => ranks(text).fold(0, |set, rank| set | bit(rank)),
        Reply::Array(items) => items.iter().fold(0, |set, item| set | ranks_of_reply(item)),
        Reply::Nil | Reply::Int(_) | Reply::Status(_) | Reply::Error(_) => 0,
    }
}

/// What a command drew is the highest once it is over.
pub fn is_drawn(text: &[u8]) -> bool {
    ranks(text).any(|rank| rank == DRAWN)
}

/// The ranks after a command that drew the highest.
pub fn settled(text: &[u8]) -> Vec<u8> {
    map_ranks(text, |rank| match rank {
        DRAWN => 0,
        UNRANKED => UNRANKED,
        other => other + 1,
    })
}

/// The highest fence that was stated, as a number of a state: 0 for none.
pub mod highest {
    use super::*;

    const UNKNOWN: u8 = 1 + KEEPING;
    const NUMBERS: u8 = UNKNOWN + 1;

    /// The largest such number.
    pub const MOST: u8 = NUMBERS + Stated::NUMBER_MAX;

    /// The number of a stated fence.
    pub fn of(stated: Stated) -> u8 {
        match stated {
            Stated::Rank(rank @ 0..KEEPING) => 1 + rank,
            Stated::Number(number) => NUMBERS + number,
            Stated::Rank(_) | Stated::Other => UNKNOWN,
        }
    }

    /// How a stated fence lies to the highest before it.
    pub fn compare(stated: Stated, highest: u8) -> Option<Ordering> {
        match (of(stated), highest) {
            (_, 0) => Some(Ordering::Greater),
            (UNKNOWN, _) | (_, UNKNOWN) => None,
            (new, old) if new < UNKNOWN && old < UNKNOWN => Some(old.cmp(&new)),
            (new, old) if new > UNKNOWN && old > UNKNOWN => Some(new.cmp(&old)),
            _ => None,
        }
    }

    /// The number when a fence's order to it was not known.
    pub fn lost() -> u8 {
        UNKNOWN
    }

    /// The same after all fences were renumbered.
    pub fn renumbered(highest: u8, renumbering: Renumbering) -> u8 {
        match highest.checked_sub(1) {
            Some(rank @ 0..KEEPING) => of(Stated::Rank(renumbering.rank(rank))),
            _ => highest,
        }
    }

    /// Its rank as a set.
    pub fn bit(highest: u8) -> u8 {
        highest.checked_sub(1).map_or(0, super::bit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(renumbering: Renumbering) -> Vec<u8> {
        (0..KEEPING).map(|rank| renumbering.rank(rank)).collect()
    }

    #[test]
    fn a_gap_is_filled_and_what_lies_below_keeps_its_rank() {
        assert_eq!(mapped(Renumbering::Fill(2)), [1, 2, 2, 3, 4, 5]);
        assert_eq!(mapped(Renumbering::Fill(0)), [0, 1, 2, 3, 4, 5]);
        assert_eq!(
            mapped(Renumbering::Fill(KEEPING)),
            [1, 2, 3, 4, 5, UNRANKED]
        );
    }

    #[test]
    fn a_distance_that_is_not_kept_is_unranked() {
        assert_eq!(mapped(Renumbering::Shift)[..3], [1, 2, UNRANKED]);
        assert_eq!(Renumbering::Sink(2).rank(0), 2);
        assert_eq!(Renumbering::Sink(UNRANKED).rank(0), UNRANKED);
        assert_eq!(Renumbering::Sink(2).rank(1), 1);
    }

    #[test]
    fn renumberings_have_numbers_of_their_own() {
        for losing in [false, true] {
            for (at, one) in Renumbering::all(losing).into_iter().enumerate() {
                assert_eq!(one.index(), at, "{one:?}");
            }
        }
    }

    #[test]
    fn a_stated_fence_is_compared_only_with_what_is_known() {
        let old = highest::of(Stated::Rank(1));
        assert_eq!(
            highest::compare(Stated::Rank(0), old),
            Some(Ordering::Greater)
        );
        assert_eq!(
            highest::compare(Stated::Rank(1), old),
            Some(Ordering::Equal)
        );
        assert_eq!(highest::compare(Stated::Rank(2), old), Some(Ordering::Less));
        assert_eq!(highest::compare(Stated::Number(2), old), None);
        assert_eq!(highest::compare(Stated::Rank(UNRANKED), old), None);
        assert_eq!(highest::compare(Stated::Other, 0), Some(Ordering::Greater));
        let two = highest::of(Stated::Number(2));
        assert_eq!(
            highest::compare(Stated::Number(3), two),
            Some(Ordering::Greater)
        );
        assert_eq!(
            highest::compare(Stated::Number(1), two),
            Some(Ordering::Less)
        );
        let shifted = highest::renumbered(old, Renumbering::Shift);
        assert_eq!(shifted, highest::of(Stated::Rank(2)));
        let lost = highest::renumbered(shifted, Renumbering::Shift);
        assert_eq!(highest::compare(Stated::Rank(0), lost), None);
        assert_eq!(highest::renumbered(two, Renumbering::Shift), two);
    }
}
