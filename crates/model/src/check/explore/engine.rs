//! One worker of the search: the states it owns, and the expansion of a level.
//!
//! The engine knows nothing of timely: it is told which level it is at, given
//! the states that other workers sent, and leaves the states that others own in
//! parcels. [`super::dataflow`] carries parcels and keeps the levels in step.
//!
//! A transition costs a hash, a look at a small cache of states seen lately, and
//! (if that fails) either one insertion or two words in a parcel. The cache may
//! forget anything, but what it remembers was inserted or sent before, so it
//! drops most duplicates before they cost a cache miss or a message.

use std::ops::Range;
use std::sync::Arc;

use super::ledger::{Ledger, News};
use super::prefetch::prefetch;
use super::table::{Full, Hashed, Table, owner};
use crate::world::{Action, System, Transition};

/// States that are expanded between two looks at the mail and at the limits.
/// Small, because nothing else holds back a worker that runs ahead of the rest.
const TURN: u32 = 2048;
/// States in a parcel: enough to make the cost of a message vanish.
const PARCEL: usize = 512;
/// Entries of the cache of recent states at the beginning, and at most: 2 MiB
/// at 16 bytes a state, a share of the third-level cache. Each doubling there
/// spares the table about a tenth of its lookups.
const RECENT_MIN: usize = 1 << 10;
const RECENT_MAX: usize = 1 << 17;
/// States that wait to be sorted out, and then to be inserted, together. What the
/// next stage will read is asked for as soon as a state joins its batch, so that
/// it has come when the batch is full; both batches' lines fit the nearest caches.
const BATCH: usize = 256;

/// A violating transition that was seen at the least depth so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found<S> {
    /// The level of `from`. First, so that the order of finds prefers it.
    pub depth: u32,
    pub from: S,
    pub action: Action,
    pub to: S,
}

/// What is left of a worker when the search has ended.
pub(super) struct Searched<S> {
    pub table: Table<S>,
    /// For each closed level, the end of its range of states.
    ends: Vec<u32>,
    /// The least violation of each property that this worker saw.
    pub found: Vec<Option<Found<S>>>,
}

impl<S: Copy + Eq + std::hash::Hash> Searched<S> {
    /// The worker's states of a level.
    pub fn level(&self, level: usize) -> &[S] {
        &self.table.states()[self.range(level)]
    }

    /// The number of levels in which the worker may have states.
    pub fn levels(&self) -> usize {
        self.ends.len() + 1
    }

    /// The positions of the worker's states of a level.
    pub fn range(&self, level: usize) -> Range<usize> {
        let all = self.table.states().len();
        let end = |level: usize| self.ends.get(level).map_or(all, |end| *end as usize);
        match level.checked_sub(1) {
            None => 0..end(0),
            Some(before) => end(before)..end(level),
        }
    }
}

/// See the module's essay.
pub(super) struct Engine<Y: System> {
    system: Arc<Y>,
    ledger: Arc<Ledger>,
    searched: Searched<Y::State>,
    /// The level that is being expanded, and what is left of it.
    at: Option<(u32, Range<u32>)>,
    desk: Desk<Y::State>,
    news: News,
}

/// What the expansion of a state writes to; apart from the table, so that a
/// state can be read there meanwhile.
struct Desk<S> {
    index: usize,
    /// Successors just generated or received.
    fresh: Vec<Hashed<S>>,
    own: Vec<Hashed<S>>,
    parcels: Vec<Vec<S>>,
    recent: Vec<S>,
}

impl<Y: System> Engine<Y> {
    /// Worker `index` of `workers`, which owns its share of the initial states.
    pub fn new(
        system: Arc<Y>,
        ledger: Arc<Ledger>,
        (index, workers): (usize, usize),
        initial: &[Y::State],
    ) -> Self {
        let table = Table::new();
        // Initial states are known to their owners from the start, so any of
        // them is a sound filling for the cache.
        let recent = initial
            .first()
            .map_or(Vec::new(), |first| vec![*first; RECENT_MIN]);
        let found = vec![None; system.properties().len()];
        let parcels = vec![Vec::new(); workers];
        let desk = Desk {
            index,
            fresh: Vec::new(),
            own: Vec::new(),
            parcels,
            recent,
        };
        let searched = Searched {
            table,
            ends: Vec::new(),
            found,
        };
        let mut engine = Engine {
            system,
            ledger,
            searched,
            at: None,
            desk,
            news: News::default(),
        };
        let own = initial
            .iter()
            .map(|state| Hashed::new(*state))
            .filter(|s| owner(s.hash, workers) == index);
        engine.desk.own.extend(own);
        engine.keep();
        engine.ledger.post(None, &mut engine.news);
        engine
    }

    /// The level to which new states belong.
    pub fn tail(&self) -> u32 {
        self.searched.ends.len() as u32
    }

    /// Whether the tail has states of this worker.
    pub fn tail_has_states(&self) -> bool {
        !self.searched.range(self.tail() as usize).is_empty()
    }

    /// Closes all levels up to and including `level`: nothing can be added any
    /// more, and the states of `level` are the ones to expand.
    pub fn close(&mut self, level: u32) {
        let end = self.searched.table.states().len() as u32;
        while self.searched.ends.len() <= level as usize {
            self.searched.ends.push(end);
        }
        let range = self.searched.range(level as usize);
        let range = range.start as u32..range.end as u32;
        self.at = (self.ledger.begin(level) && !range.is_empty()).then_some((level, range));
    }

    /// Takes in states of the tail level that another worker found.
    pub fn receive(&mut self, states: &[Y::State]) {
        for batch in states.chunks(BATCH) {
            for state in batch {
                self.desk.put(Hashed::new(*state));
            }
            self.keep();
        }
        self.post();
    }

    /// Expands the next states of the level; false when it is done.
    pub fn turn(&mut self) -> bool {
        let Some((level, rest)) = &mut self.at else {
            return false;
        };
        let (level, start) = (*level, rest.start);
        let end = rest.end.min(start.saturating_add(TURN));
        rest.start = end;
        let done = rest.start == rest.end;
        for position in start..end {
            let state = self.searched.table.states()[position as usize];
            self.expand(level, &state);
            if self.desk.fresh.len() >= BATCH {
                self.keep();
            }
        }
        self.keep();
        self.post();
        if done || self.ledger.halted() {
            self.at = None;
        }
        self.at.is_some()
    }

    /// Whether a level is being expanded.
    pub fn busy(&self) -> bool {
        self.at.is_some()
    }

    /// Takes the parcels that are ready (or all of them) with their receivers.
    pub fn outgoing(&mut self, all: bool) -> impl Iterator<Item = (usize, Vec<Y::State>)> + '_ {
        let least = if all { 1 } else { PARCEL };
        let parcels = self.desk.parcels.iter_mut().enumerate();
        parcels
            .filter(move |(_, parcel)| parcel.len() >= least)
            .map(|(to, parcel)| (to, std::mem::take(parcel)))
    }

    /// Gives up what is left of the level.
    pub fn abandon(&mut self) {
        self.at = None;
        self.desk.fresh.clear();
        self.desk.own.clear();
        self.desk.parcels.iter_mut().for_each(Vec::clear);
    }

    /// What was searched. The worker is of no use afterwards.
    pub fn finish(&mut self) -> Searched<Y::State> {
        std::mem::replace(
            &mut self.searched,
            Searched {
                table: Table::new(),
                ends: Vec::new(),
                found: Vec::new(),
            },
        )
    }

    fn expand(&mut self, level: u32, state: &Y::State) {
        let (desk, news, found) = (&mut self.desk, &mut self.news, &mut self.searched.found);
        let keep = !self.ledger.full();
        self.system
            .successors(state, &mut |next: Transition<Y::State>| {
                if next.violates != 0 {
                    news.violated |= next.violates;
                    note(found, level, state, &next);
                }
                if next.overflow != 0 {
                    news.overflow |= next.overflow;
                    return;
                }
                news.transitions += 1;
                if keep {
                    desk.put(Hashed::new(next.state));
                }
            });
    }

    /// Sorts out the fresh states and inserts the own ones.
    fn keep(&mut self) {
        self.desk.sort_out(&self.searched.table);
        if self.ledger.full() {
            self.desk.own.clear();
            return;
        }
        match self.searched.table.insert_all(&mut self.desk.own) {
            Ok(new) => self.news.states += new,
            Err(Full) => self.ledger.halt(super::StopReason::TableFull),
        }
        self.desk.remember(self.searched.table.states());
    }

    /// Tells the others what has been done. Must happen before timely hears that
    /// messages were consumed or a capability was dropped: whoever begins the
    /// next level relies on it.
    fn post(&mut self) {
        self.ledger.post(self.tail().checked_sub(1), &mut self.news);
    }
}

impl<S: Copy + Eq + std::hash::Hash> Desk<S> {
    /// Takes in a state just generated or received.
    #[inline]
    fn put(&mut self, new: Hashed<S>) {
        prefetch(&self.recent[place(new.hash, &self.recent)]);
        self.fresh.push(new);
    }

    /// Puts the fresh states where they will be kept, except those seen lately.
    fn sort_out(&mut self, table: &Table<S>) {
        let workers = self.parcels.len();
        for new in &self.fresh {
            let at = place(new.hash, &self.recent);
            if self.recent[at] == new.state {
                continue;
            }
            self.recent[at] = new.state;
            match owner(new.hash, workers) {
                own if own == self.index => {
                    table.touch_line(new.hash);
                    self.own.push(*new);
                }
                to => self.parcels[to].push(new.state),
            }
        }
        self.fresh.clear();
    }

    /// Lets the cache grow with the states; what it held is forgotten.
    fn remember(&mut self, known: &[S]) {
        if let Some(first) = known.first()
            && known.len() > self.recent.len()
            && self.recent.len() < RECENT_MAX
        {
            self.recent = vec![*first; self.recent.len() * 4];
        }
    }
}

/// Where the cache of recent states has room for the one with this hash.
#[inline(always)]
fn place<S>(hash: u64, recent: &[S]) -> usize {
    (hash >> 12) as usize & (recent.len() - 1)
}

#[cold]
fn note<S: Copy + Ord>(found: &mut [Option<Found<S>>], depth: u32, from: &S, next: &Transition<S>) {
    let new = Found {
        depth,
        from: *from,
        action: next.action,
        to: next.state,
    };
    for (property, best) in found.iter_mut().enumerate().take(32) {
        if next.violates >> property & 1 == 1 && best.as_ref().is_none_or(|best| new < *best) {
            *best = Some(new);
        }
    }
}
