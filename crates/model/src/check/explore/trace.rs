//! Shortest paths, found backwards.
//!
//! The search keeps no parents. To find the path to a state of level n, level
//! n - 1 is expanded again and the least state with a transition to it (by the
//! order of states, then of actions) becomes its predecessor, and so on down to
//! level 0. This costs about half a search, only when there is something to
//! show, and for all properties together; in return the search stores and sends
//! nothing per transition. And the choice depends on the *sets* of states of the
//! levels only, so the path is the same for any number of workers.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::engine::Searched;
use super::{Path, ShouldStop, catch_panic};
use crate::world::{Action, System};

/// States that a thread takes at a time.
const BLOCK: usize = 4096;

/// The predecessors that were found for the wanted states, in their order.
type Parents<S> = Vec<Option<(S, Action)>>;

/// A shortest path to each of `targets`, given with their levels; `None` if `give_up` said
/// so.
pub(super) fn paths<Y: System>(
    system: &Y,
    searched: &[Searched<Y::State>],
    targets: &[(u32, Y::State)],
    give_up: &ShouldStop,
) -> Result<Option<Vec<Path<Y::State>>>, String> {
    let path = |(_, state): &(u32, Y::State)| Path {
        initial: *state,
        steps: Vec::new(),
    };
    let mut paths: Vec<Path<Y::State>> = targets.iter().map(path).collect();
    let deepest = targets.iter().map(|(depth, _)| *depth).max().unwrap_or(0);
    for level in (1..=deepest).rev() {
        let active = |index: &usize| targets[*index].0 >= level;
        let mut wanted: Vec<_> = (0..paths.len())
            .filter(active)
            .map(|index| paths[index].initial)
            .collect();
        wanted.sort_unstable();
        wanted.dedup();
        let parents = parents(system, searched, level as usize - 1, &wanted, give_up)?;
        if give_up() {
            return Ok(None);
        }
        for index in (0..paths.len()).filter(active) {
            let path = &mut paths[index];
            let parent = wanted
                .binary_search(&path.initial)
                .ok()
                .and_then(|at| parents[at]);
            let (parent, action) = parent.ok_or(
                "a state has no predecessor; `successors` must give the same transitions each time",
            )?;
            // Steps are collected last first; see below.
            path.steps.push((action, path.initial));
            path.initial = parent;
        }
    }
    paths.iter_mut().for_each(|path| path.steps.reverse());
    Ok(Some(paths))
}

/// The least predecessor in `level` of each of `wanted`, which is sorted; of some only if
/// `give_up` said so.
fn parents<Y: System>(
    system: &Y,
    searched: &[Searched<Y::State>],
    level: usize,
    wanted: &[Y::State],
    give_up: &ShouldStop,
) -> Result<Parents<Y::State>, String> {
    let mut blocks = searched
        .iter()
        .flat_map(|worker| worker.level(level).chunks(BLOCK));
    let (Some(first), second) = (blocks.next(), blocks.next()) else {
        return Ok(vec![None; wanted.len()]);
    };
    if second.is_none() {
        // Deep and narrow systems would spend their time on starting threads.
        return catch_panic(|| parents_in_block(system, first, wanted));
    }
    let blocks: Vec<_> = [first].into_iter().chain(second).chain(blocks).collect();
    let next = AtomicUsize::new(0);
    let take = || {
        let mut best = vec![None; wanted.len()];
        while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed))
            && !give_up()
        {
            merge(&mut best, parents_in_block(system, block, wanted));
        }
        best
    };
    let found = on_threads(searched.len(), take)?;
    let mut best = vec![None; wanted.len()];
    found.into_iter().for_each(|more| merge(&mut best, more));
    Ok(best)
}

fn parents_in_block<Y: System>(
    system: &Y,
    block: &[Y::State],
    wanted: &[Y::State],
) -> Parents<Y::State> {
    let mut best = vec![None; wanted.len()];
    for state in block {
        system.edges(state, &mut |next| {
            if next.overflow != 0 {
                return;
            }
            if let Ok(at) = wanted.binary_search(&next.state) {
                keep_least(&mut best[at], (*state, next.action));
            }
        });
    }
    best
}

fn merge<T: Ord + Copy>(best: &mut [Option<T>], more: Vec<Option<T>>) {
    for (best, more) in best.iter_mut().zip(more) {
        if let Some(more) = more {
            keep_least(best, more);
        }
    }
}

fn keep_least<T: Ord + Copy>(best: &mut Option<T>, new: T) {
    if best.is_none_or(|best| new < best) {
        *best = Some(new);
    }
}

/// Runs `task` so often, on several threads at once where they can be had; a panic in
/// one is an error of all.
pub(super) fn on_threads<T: Send>(
    threads: usize,
    task: impl Fn() -> T + Sync,
) -> Result<Vec<T>, String> {
    let threads = threads.max(1);
    std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, || catch_panic(&task));
        let handles: Vec<_> = (0..threads).map_while(|at| start(at).ok()).collect();
        // What no thread could be had for is done here.
        let own = (handles.len()..threads).map(|_| catch_panic(&task));
        let own: Vec<_> = own.collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, Result<T, String>>| {
            handle
                .join()
                .unwrap_or_else(|panic| Err(super::panic_text(&*panic)))
        };
        handles.into_iter().map(join).chain(own).collect()
    })
}
