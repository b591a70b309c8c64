//! The bare states of a search, each once.
//!
//! Each thread collects those of one worker's states; then each gathers from all
//! that were collected what it owns. So nothing is locked.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::ShouldStop;
use super::engine::Searched;
use super::table::{Hashed, Table, owner};
use super::trace::on_threads;
use crate::world::System;

/// States between two looks at the limits, and inserted together.
const BATCH: usize = 256;

/// Bare states, and their numbers.
pub(super) struct Numbered<S> {
    /// Each state in the table of its owner.
    pub tables: Vec<Table<S>>,
    /// The number of each table's first state.
    pub firsts: Vec<usize>,
    count: usize,
}

impl<S: Copy + Eq + std::hash::Hash> Numbered<S> {
    pub fn new(tables: Vec<Table<S>>) -> Result<Numbered<S>, String> {
        let mut count = 0;
        let firsts = tables.iter().map(|table| {
            count += table.states().len();
            count - table.states().len()
        });
        let firsts = firsts.collect();
        if u32::try_from(count).is_err() {
            return Err(format!("{count} bare states are more than can be numbered"));
        }
        Ok(Numbered {
            tables,
            firsts,
            count,
        })
    }

    pub fn count(&self) -> usize {
        self.count
    }

    pub fn owner(&self, hash: u64) -> usize {
        owner(hash, self.tables.len())
    }

    /// The number of a bare state.
    ///
    /// # Panics
    /// If no search came upon the state, which is then no bare one: what is said of it
    /// could not be trusted.
    pub fn number(&self, bare: &Hashed<S>) -> usize {
        let table = self.owner(bare.hash);
        let position = self.tables[table].find(bare.hash, &bare.state);
        let position = position.expect("bare states lead to bare states of what was searched");
        self.firsts[table] + position
    }

    /// The state with this number.
    pub fn state(&self, number: usize) -> &S {
        let table = self.firsts.partition_point(|first| *first <= number) - 1;
        &self.tables[table].states()[number - self.firsts[table]]
    }
}

/// The bare states of all that were searched, each in the table of its owner; `None`
/// if `should_stop` said so.
pub(super) fn bare_states<Y: System>(
    system: &Y,
    searched: &[Searched<Y::State>],
    should_stop: &ShouldStop,
) -> Result<Option<Vec<Table<Y::State>>>, String> {
    collected(searched, should_stop, |state| Some(system.bare(state)))
}

/// What becomes of the states that were searched, each once; see [`bare_states`].
pub(super) fn collected<S: Copy + Eq + std::hash::Hash + Send + Sync>(
    searched: &[Searched<S>],
    should_stop: &ShouldStop,
    of: impl Fn(&S) -> Option<S> + Sync,
) -> Result<Option<Vec<Table<S>>>, String> {
    let workers = searched.len();
    let collected = on_each(workers, |number| {
        let states = searched[number].table.states().iter();
        table_of(states.filter_map(&of).map(Hashed::new), should_stop)
    })?;
    let collected = match collected {
        Some(collected) if workers > 1 => collected,
        one => return Ok(one),
    };
    on_each(workers, |number| {
        let hashed = by_depth(&collected).map(|state| Hashed::new(*state));
        let owned = hashed.filter(|bare| owner(bare.hash, workers) == number);
        table_of(owned, should_stop)
    })
}

/// The states of all tables, those of about one depth together.
fn by_depth<S: Copy + Eq + std::hash::Hash>(tables: &[Table<S>]) -> impl Iterator<Item = &S> {
    let most = tables.iter().map(|table| table.states().len()).max();
    let starts = (0..most.unwrap_or(0)).step_by(BATCH);
    starts.flat_map(move |start| {
        let part = move |table: &Table<S>| {
            let states = table.states();
            start.min(states.len())..states.len().min(start + BATCH)
        };
        let parts = tables.iter().map(move |table| &table.states()[part(table)]);
        parts.flatten()
    })
}

fn table_of<S: Copy + Eq + std::hash::Hash>(
    states: impl Iterator<Item = Hashed<S>>,
    should_stop: &ShouldStop,
) -> Option<Table<S>> {
    let mut table = Table::new();
    let mut batch = Vec::with_capacity(BATCH);
    for state in states {
        table.touch_line(state.hash);
        batch.push(state);
        if batch.len() == BATCH {
            if should_stop() {
                return None;
            }
            // There are no more of them than of states, and those had room.
            table.insert_all(&mut batch).ok()?;
        }
    }
    table.insert_all(&mut batch).ok()?;
    Some(table)
}

/// What each of so many threads makes, in the order of their numbers; `None` if one
/// of them gave up.
fn on_each<T: Send>(
    threads: usize,
    task: impl Fn(usize) -> Option<T> + Sync,
) -> Result<Option<Vec<T>>, String> {
    let next = AtomicUsize::new(0);
    let numbered = || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        (number, task(number))
    };
    let mut made = on_threads(threads, numbered)?;
    made.sort_unstable_by_key(|(number, _)| *number);
    Ok(made.into_iter().map(|(_, made)| made).collect())
}
