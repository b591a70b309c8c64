//! A short way round within a component that does everything that a fair run has to do.
//!
//! The shortest one is a shortest path in the product of the component with the sets of demands
//! that are still to be met. That product is small where it matters: most demands are
//! met everywhere, since most things are rarely open. If it is large all the same, the
//! way goes from each demand to the nearest place where another one is met.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::fair::{Graph, NONE};
use crate::world::Demands;

/// More places of the product are not searched.
const PLACES_MAX: usize = 1_000_000;

/// A state, and the demands that are still to be met.
type Place = (u32, Demands);

/// A step: where it leads, and the demand that it meets.
type Step = (Place, Demands);

/// The steps of a closed way from `start`, which comes last, through its component. Empty if
/// nothing leads anywhere.
pub(super) fn round<S: Copy + Ord + std::hash::Hash + Send + Sync>(
    graph: &Graph<S>,
    components: &[u32],
    start: u32,
    demands: Demands,
) -> Vec<(u32, Demands)> {
    let walk = Walk {
        graph,
        components,
        component: components[start as usize],
    };
    let first = (start, demands & graph.open[start as usize]);
    if let Some(way) = walk.way(first, PLACES_MAX, |(state, left)| {
        state == start && left == 0
    }) {
        return way
            .into_iter()
            .map(|((state, _), met)| (state, met))
            .collect();
    }
    let (mut place, mut all) = (first, Vec::new());
    // Each leg meets a demand, or is the last one.
    for _ in 0..=Demands::BITS {
        let (_, open) = place;
        let done = |(state, left): Place| match open {
            0 => state == start,
            open => left != open,
        };
        let Some(leg) = walk.way(place, usize::MAX, done) else {
            break;
        };
        place = leg.last().map_or(place, |(place, _)| *place);
        all.extend(leg.into_iter().map(|((state, _), met)| (state, met)));
        if open == 0 {
            break;
        }
    }
    all
}

struct Walk<'a, S> {
    graph: &'a Graph<S>,
    components: &'a [u32],
    component: u32,
}

impl<S: Copy + Ord + std::hash::Hash + Send + Sync> Walk<'_, S> {
    /// The shortest way of at least one step from a place to one where it is `done`; `None` if
    /// there is none, or more than `most` places are to be looked at.
    fn way(&self, from: Place, most: usize, done: impl Fn(Place) -> bool) -> Option<Vec<Step>> {
        let mut before: FxHashMap<Place, (Place, Demands)> = FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        while let Some(place) = queue.pop_front() {
            for (to, met) in self.graph.from(place.0) {
                if self.component == NONE || self.components[to as usize] != self.component {
                    continue;
                }
                let next = (to, place.1 & !met & self.graph.open[to as usize]);
                if done(next) {
                    return Some(told(&before, from, place, (next, met)));
                }
                if next != from && !before.contains_key(&next) {
                    before.insert(next, (place, met));
                    queue.push_back(next);
                }
            }
            if before.len() > most {
                return None;
            }
        }
        None
    }
}

fn told(
    before: &FxHashMap<Place, (Place, Demands)>,
    from: Place,
    mut at: Place,
    last: Step,
) -> Vec<Step> {
    let mut way = vec![last];
    while at != from {
        let (earlier, met) = before[&at];
        way.push((at, met));
        at = earlier;
    }
    way.reverse();
    way
}
