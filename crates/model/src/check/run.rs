//! A whole check: from a lock file and assumption sets to verdicts.
//!
//! Sets with the same needs share one closure. Each set is one world and one
//! exhaustive search that answers for all properties at once ([`super::search`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use lockproof_trace::{Assumption, Trace};
use rustc_hash::FxHashMap;

use crate::lock::{LockError, LockFile};
use crate::world::catalogue::{Branching, Fault, PROPERTIES, Property, Safety, Switch};
use crate::world::closure::{ClosureError, Needs, Wanted};
use crate::world::concrete::{self, ConcreteError};
use crate::world::tables::{Fingerprint, Tables};
use crate::world::{World, WorldError};

use super::guard::Guard;
use super::memo::Memo;
use super::needs::{find, lag};
use super::seen::Seen;
use super::{
    CheckReport, CheckResult, ExploreOptions, Progress, SCHEMA, SimulateOptions, Sizes, StopReason,
    Verdict,
};

/// How to search, and how hard to guard.
#[derive(Clone)]
pub struct CheckOptions {
    pub sizes: Sizes,
    /// The properties to answer for.
    pub properties: Vec<Property>,
    pub explore: ExploreOptions,
    /// Random walks on live programs, for each assumption set.
    pub guard: Guard,
    /// `explore.should_stop` is a limit in time: sets that are small are searched
    /// before those that are not.
    pub timed: bool,
}

impl CheckOptions {
    /// What is usually asked, all states, the usual sizes and guard.
    pub fn for_file(file: &LockFile) -> CheckOptions {
        CheckOptions {
            sizes: Sizes::for_file(file),
            properties: Property::usual(file.fair),
            explore: ExploreOptions::default(),
            guard: Guard::usual(1),
            timed: false,
        }
    }
}

/// See [`Checker::close_by_need_beyond`].
const BY_NEED_BEYOND: usize = 4_000;

/// A set with no more states than this is small.
const QUICK_STATES: u64 = 200_000;

/// What the caller lends a check: its clock, and its eyes.
pub trait Observer {
    /// Seconds since some fixed moment.
    fn seconds(&self) -> f64;
    /// An assumption set is about to be explored.
    fn begins(&self, _assumptions: &[Assumption]) {}
    /// An assumption set is answered: nothing about it changes any more. Sets under which the lock
    /// is refused come last, and only if it is not refused under all.
    fn answered(&self, _results: &[CheckResult]) {}
    /// The lock file has a mistake whatever the verdicts; told once, as soon as it is seen.
    fn warns(&self, _warning: &str) {}
    /// So many sets, the next one included, share what is left of the time: from here on
    /// `should_stop` says so when the next one has used up its part. 0 takes that back.
    fn shares(&self, _sets: usize) {}
    /// A function that is told of progress while the search runs.
    fn progress(&self) -> Box<dyn Fn(Progress) + Send + Sync> {
        Box::new(|_| ())
    }
}

/// Nobody watches, and seconds are 0.
impl Observer for () {
    fn seconds(&self) -> f64 {
        0.0
    }
}

/// Why a check could not give verdicts.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("{file}: {source}")]
    Closure { file: String, source: ClosureError },
    /// The lock has what the model has not, with file and line.
    #[error("{0}")]
    NotModelled(ClosureError),
    #[error(transparent)]
    World(#[from] WorldError),
    #[error("lockproof contradicts itself (please report this): {0}")]
    Concrete(ConcreteError),
    #[error("failed to start the Lua engine for Redis scripts: {0}")]
    Engine(#[from] lockproof_redis::EngineError),
    /// A size or a budget that makes no sense.
    #[error("{0}")]
    Sizes(String),
}

impl From<ConcreteError> for CheckError {
    /// A live program may fail where its tables do not: a loop that ends as soon as time passes
    /// never ends where time stands still while it runs. That is the file's business.
    fn from(error: ConcreteError) -> CheckError {
        match error {
            ConcreteError::Lock(error) => CheckError::Lock(error),
            other => CheckError::Concrete(other),
        }
    }
}

impl CheckError {
    /// The lock cannot be answered for under one assumption set, and maybe under
    /// others it can.
    pub fn is_refusal(&self) -> bool {
        match self {
            CheckError::Lock(_)
            | CheckError::Closure { .. }
            | CheckError::NotModelled(_)
            | CheckError::World(_) => true,
            CheckError::Concrete(_) | CheckError::Engine(_) | CheckError::Sizes(_) => false,
        }
    }

    /// The lock grew beyond the tables.
    pub(super) fn is_limit(&self) -> bool {
        matches!(self, CheckError::Closure { source, .. } if source.is_limit())
    }

    /// The search was told to stop before it had begun.
    fn is_stop(&self) -> bool {
        let CheckError::Closure { source, .. } = self else {
            return false;
        };
        matches!(source, ClosureError::Stopped)
    }
}

/// A lock, ready to be explored under any assumption set.
pub struct Checker<'f> {
    pub(super) file: &'f LockFile,
    pub(super) options: CheckOptions,
    pub(super) simulate: Option<SimulateOptions>,
    order: Vec<Fault>,
    /// Clients give commands up after a tick, whatever the faults.
    pub(super) impatient: bool,
    /// Ticks end at the very moment at which durations of so many ticks end.
    pub(super) exact: bool,
    /// How much further than it must be the horizon is.
    pub(super) reach: i64,
    pub(super) tables: FxHashMap<Needs, Arc<Tables>>,
    /// A lock of whose servers so many different contents can be made is closed by need.
    pub(super) by_need_beyond: usize,
    /// What searches came to, of locks that are closed by need.
    pub(super) wanted: FxHashMap<Needs, Wanted>,
    /// The lock is closed by need: under some needs there were too many pairs.
    pub(super) by_need: bool,
    pub(super) seen: Seen,
    /// Searches that another check may have done, and this one adds to.
    pub(super) memo: Option<Arc<Memo>>,
    /// The worlds of the last [`Checker::compare_set`].
    pub(super) prints: Vec<Fingerprint>,
}

impl<'f> Checker<'f> {
    /// A checker of `file`.
    ///
    /// # Errors
    /// If the sizes make no sense for this file.
    pub fn new(file: &'f LockFile, options: CheckOptions) -> Result<Checker<'f>, CheckError> {
        options.sizes.validate(file)?;
        Ok(Checker {
            file,
            options,
            simulate: None,
            order: Vec::new(),
            impatient: false,
            exact: false,
            reach: 1,
            tables: FxHashMap::default(),
            by_need_beyond: BY_NEED_BEYOND,
            wanted: FxHashMap::default(),
            by_need: false,
            seen: Seen::new(file),
            memo: None,
            prints: Vec::new(),
        })
    }

    /// From now on worlds are not explored: random runs are followed through
    /// them. That finds violations in worlds that are too large to explore, and
    /// whatever it does not find is unknown.
    pub fn simulate(&mut self, options: SimulateOptions) {
        self.simulate = Some(options);
    }

    /// From now on a lock of whose servers more than so many different contents can be made
    /// is closed by need: 4,000 unless told otherwise. The answers are the same; which
    /// of several shortest traces is found may not be.
    pub fn close_by_need_beyond(&mut self, contents: usize) {
        self.by_need_beyond = contents;
    }

    /// From now on these faults strike in this order: none before the one that
    /// stands before it has struck. Sets without them are as they were.
    pub fn order(&mut self, faults: Vec<Fault>) {
        self.order = faults;
    }

    pub(super) fn order_in(&self, set: &[Switch]) -> Vec<Fault> {
        let on = |fault: &&Fault| find(set, **fault).is_some();
        self.order.iter().filter(on).copied().collect()
    }

    /// Checks every set and puts the answers together. Sets under which the lock is
    /// refused are unknown, with the reason.
    ///
    /// # Errors
    /// See [`CheckError`]; a refusal only if it befalls every set.
    pub fn check(
        &mut self,
        sets: &[Vec<Switch>],
        observer: &dyn Observer,
    ) -> Result<CheckReport, CheckError> {
        let mut cells: Vec<Option<Vec<CheckResult>>> = vec![None; sets.len()];
        let (mut refused, mut refused_at) = (None, Vec::new());
        let mut answered = sets.is_empty();
        let mut warned = BTreeSet::new();
        let mut hopeless: Option<String> = None;
        for quick in self.passes(sets.len()) {
            let open = cheapest_first(sets, |place| cells[place].is_none(), quick.is_none());
            for (turn, place) in open.iter().enumerate() {
                // Faults only add to what is too much without them.
                if let Some(reason) = &hopeless {
                    cells[*place] = Some(self.unknown(&sets[*place], reason));
                    refused_at.push(*place);
                    continue;
                }
                observer.shares(open.len() - turn);
                let found = self.check_within(quick, &sets[*place], observer);
                for warning in self.seen.mistaken(self.file) {
                    if !warned.contains(&warning) {
                        observer.warns(&warning);
                        warned.insert(warning);
                    }
                }
                match found {
                    Err(error) if error.is_refusal() => {
                        let reason = error.to_string();
                        cells[*place] = Some(self.unknown(&sets[*place], &reason));
                        hopeless = (error.is_limit() && sets[*place].is_empty()).then_some(reason);
                        refused_at.push(*place);
                        refused.get_or_insert(error);
                    }
                    // With faults it is no smaller.
                    Ok(None) if sets[*place].is_empty() => break,
                    Ok(None) => {}
                    found => {
                        cells[*place] = found?;
                        answered = true;
                        cells[*place]
                            .iter()
                            .for_each(|found| observer.answered(found));
                    }
                }
            }
        }
        observer.shares(0);
        if let Some(error) = refused.filter(|_| !answered) {
            return Err(error);
        }
        for place in refused_at {
            cells[place]
                .iter()
                .for_each(|found| observer.answered(found));
        }
        let results = cells.into_iter().flatten().flatten().collect();
        Ok(CheckReport {
            schema: SCHEMA.into(),
            lock: concrete::reference(self.file),
            setup: self.setup(&[]),
            results,
            warnings: self.seen.warnings(self.file),
        })
    }

    /// Limits of the rounds in which sets are searched. If the time is limited small
    /// ones come first, so that a large one does not use it up for all.
    fn passes(&self, sets: usize) -> Vec<Option<u64>> {
        match self.options.timed && sets > 1 && self.simulate.is_none() {
            true => vec![Some(QUICK_STATES), None],
            false => vec![None],
        }
    }

    /// Checks one assumption set; `None` if it is larger than `quick`.
    fn check_within(
        &mut self,
        quick: Option<u64>,
        set: &[Switch],
        observer: &dyn Observer,
    ) -> Result<Option<Vec<CheckResult>>, CheckError> {
        let whole = self.options.explore.states_max;
        let Some(quick) = quick.filter(|quick| whole.is_none_or(|whole| *quick < whole)) else {
            return self.check_set(set, observer).map(Some);
        };
        let reach = self.reach;
        self.options.explore.states_max = Some(quick);
        let cells = self.check_set(set, observer);
        self.options.explore.states_max = whole;
        let larger = StopReason::StateLimit(quick).to_string();
        // Its part of the time is used up; others may leave more of theirs.
        let stopped = (self.options.explore.should_stop)();
        let is_open = |cell: &CheckResult| {
            let reason = cell.reason.as_ref();
            stopped && reason.is_some() || reason.is_some_and(|reason| reason.contains(&larger))
        };
        let cells = Some(cells?).filter(|cells| !cells.iter().any(is_open));
        if cells.is_none() {
            // As if it had not been looked at.
            self.reach = reach;
        }
        Ok(cells)
    }

    /// How much further than they must be horizons are by now. What is found of a set may depend on
    /// that in its number of states.
    pub fn reach(&self) -> i64 {
        self.reach
    }

    /// Goes on where a check was that had come so far ([`Checker::reach`]).
    pub fn resume(&mut self, reach: i64) {
        self.reach = reach.clamp(1, super::needs::REACH_MAX);
    }

    /// Checks one assumption set, and searches it more than once.
    ///
    /// Ticks that end just after what they end find whatever comes too late; ticks that
    /// end at that very moment find what comes just in time: a key is still there when a
    /// sleep of its length ends. In every run what lasts as long ends in one of these
    /// orders. (Whole numbers of ticks are enough for closed bounds, and these are the
    /// open ones: Henzinger, Manna, Pnueli, What good are digital clocks?, 1992.)
    ///
    /// Where faults hold messages up each is searched with clients that wait longer than
    /// the lease, and with clients that hardly wait: the one reads replies that come too
    /// late, the other leaves requests behind.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn check_set(
        &mut self,
        set: &[Switch],
        observer: &dyn Observer,
    ) -> Result<Vec<CheckResult>, CheckError> {
        observer.begins(&assumptions(set));
        let late = self.check_with_patience(set, observer)?;
        self.exact = true;
        let exact = self.check_with_patience(set, observer);
        self.exact = false;
        Ok(both(late, exact?))
    }

    fn check_with_patience(
        &mut self,
        set: &[Switch],
        observer: &dyn Observer,
    ) -> Result<Vec<CheckResult>, CheckError> {
        let patient = self.check_once(set, observer)?;
        if !self.patience_matters(set).is_ok_and(|matters| matters) {
            return Ok(patient);
        }
        self.impatient = true;
        let impatient = self.check_once(set, observer);
        self.impatient = false;
        Ok(both(patient, impatient?))
    }

    pub(super) fn check_once(
        &mut self,
        set: &[Switch],
        observer: &dyn Observer,
    ) -> Result<Vec<CheckResult>, CheckError> {
        lag(set)?;
        loop {
            match self.tables(set) {
                Err(error) if error.is_stop() => return Ok(self.unknown(set, &error.to_string())),
                // Another set asked for that horizon.
                Err(error) if error.is_limit() && self.reach > 1 => self.reach /= 2,
                // A lock that is too large without faults is so under all of them.
                Err(error) if error.is_limit() && !set.is_empty() => {
                    return Ok(self.unknown(set, &error.to_string()));
                }
                tables => break drop(tables?),
            }
        }
        if let Some(reason) = self.unfollowed(set) {
            return Ok(self.unknown(set, &reason));
        }
        // A search may close the lock anew, and be told to stop in that.
        match self.search(set, observer) {
            Err(error) if error.is_stop() => Ok(self.unknown(set, &error.to_string())),
            answered => answered,
        }
    }

    /// The answers for a set that nobody has the time for.
    pub fn not_checked(&self, set: &[Switch], reason: &str) -> Vec<CheckResult> {
        self.unknown(set, reason)
    }

    /// Nothing was explored, so nothing is known.
    pub(super) fn unknown(&self, set: &[Switch], reason: &str) -> Vec<CheckResult> {
        let properties = self.applicable().into_iter();
        properties
            .map(|property| CheckResult {
                property: property.info().id.into(),
                assumptions: assumptions(set),
                verdict: Verdict::Unknown,
                reason: Some(reason.to_owned()),
                states: 0,
                transitions: 0,
                depth: 0,
                seconds: 0.0,
                trace: None,
            })
            .collect()
    }

    /// Seeded random walks of `length` moves under `set`, as traces.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn walks(
        &mut self,
        set: &[Switch],
        seeds: std::ops::Range<u64>,
        length: usize,
    ) -> Result<Vec<Trace>, CheckError> {
        self.world(set)?;
        if let Some(reason) = self.unfollowed(set) {
            return Err(CheckError::Sizes(reason));
        }
        self.walk(set, seeds, length)
    }

    /// The world of one assumption set, as far as its tables go.
    pub(super) fn world_so_far(&mut self, set: &[Switch]) -> Result<World, CheckError> {
        lag(set)?;
        let tables = self.tables(set)?;
        Ok(World::new(self.world_config(set), tables)?)
    }

    pub(super) fn tables(&mut self, set: &[Switch]) -> Result<Arc<Tables>, CheckError> {
        let needs = self.needs(set);
        if let Some(tables) = self.tables.get(&needs) {
            return Ok(Arc::clone(tables));
        }
        let tables = Arc::new(self.close(needs.clone())?);
        self.tables.insert(needs, Arc::clone(&tables));
        Ok(tables)
    }

    /// What a Redis Cluster would refuse of the lock, as far as sets were checked: a
    /// sentence each, in the order of the file's lines.
    pub fn cluster_warnings(&self) -> Vec<String> {
        self.seen.cross_slot(self.file).collect()
    }

    /// The properties asked for that make sense for this lock: the others are not answered.
    pub fn applicable(&self) -> Vec<Property> {
        let asked = |property: &Property| self.options.properties.contains(property);
        let fits = |property: &Property| match property {
            Property::Safety(Safety::Reentrancy) => self.file.reentrant,
            Property::Safety(Safety::ReadWrite) => self.file.has_modes,
            Property::Safety(Safety::NoLostWakeUp) => {
                self.file.listens && self.options.sizes.nodes == 1
            }
            Property::Safety(Safety::Assertion) => self.file.asserts,
            Property::Safety(Safety::FenceMonotonicity) => self.file.has_fences,
            Property::Safety(Safety::NoFalseAlarm) => self.file.says_lost,
            Property::Safety(Safety::ToldWhenLost) => self.file.told_within.is_some(),
            // With one node it would be asked where that node is up, and ask for what
            // deadlock-freedom asks for.
            Property::Branching(Branching::FaultTolerance) => self.options.sizes.nodes > 1,
            Property::Safety(_) | Property::Branching(_) | Property::Fair(_) => true,
        };
        PROPERTIES
            .iter()
            .map(|info| info.property)
            .filter(asked)
            .filter(fits)
            .collect()
    }
}

/// The places of the sets that are `open`; where they are not all small, those of few switches come
/// first, which have fewer states as a rule.
fn cheapest_first(sets: &[Vec<Switch>], open: impl Fn(usize) -> bool, sorted: bool) -> Vec<usize> {
    let mut places: Vec<usize> = (0..sets.len()).filter(|place| open(*place)).collect();
    if sorted {
        places.sort_by_key(|place| sets[*place].len());
    }
    places
}

/// What two searches of one set say together.
fn both(one: Vec<CheckResult>, other: Vec<CheckResult>) -> Vec<CheckResult> {
    let pairs = one.into_iter().zip(other);
    pairs.map(|(one, other)| one.and(other)).collect()
}

/// A set of switches in the words of the trace format.
pub fn assumptions(set: &[Switch]) -> Vec<Assumption> {
    set.iter()
        .map(|switch| Assumption {
            name: switch.fault.info().id.into(),
            budget: switch.budget,
            size: switch.size,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// One who has no time for delays.
    struct Impatient {
        over: Arc<AtomicBool>,
        shares: RefCell<Vec<usize>>,
    }

    impl Observer for Impatient {
        fn seconds(&self) -> f64 {
            0.0
        }

        fn begins(&self, set: &[Assumption]) {
            let late = set.iter().any(|switch| switch.name == "delay");
            self.over.store(late, Ordering::SeqCst);
        }

        fn shares(&self, sets: usize) {
            self.over.store(false, Ordering::SeqCst);
            self.shares.borrow_mut().push(sets);
        }
    }

    #[test]
    fn a_set_that_uses_up_its_time_takes_none_from_the_others() {
        let file = LockFile::builtin("token").unwrap();
        let set = |names: &[&str]| -> Vec<Switch> {
            let faults = names.iter().map(|name| Fault::parse(name).unwrap());
            faults.map(|fault| fault.switch(3)).collect()
        };
        let sets = [
            set(&["loss", "delay"]),
            set(&["delay"]),
            set(&[]),
            set(&["client-crash"]),
        ];
        let over = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&over);
        let mut options = CheckOptions::for_file(&file);
        options.timed = true;
        options.explore.should_stop = Arc::new(move || watched.load(Ordering::SeqCst));
        let observer = Impatient {
            over,
            shares: RefCell::default(),
        };
        let mut checker = Checker::new(&file, options).unwrap();
        let report = checker.check(&sets, &observer).unwrap();
        for result in &report.results {
            let late = result
                .assumptions
                .iter()
                .any(|switch| switch.name == "delay");
            assert_eq!(result.verdict == Verdict::Unknown, late, "{result:?}");
        }
        // In order first, and then what is left, of few switches first.
        assert_eq!(*observer.shares.borrow(), [4, 3, 2, 1, 2, 1, 0]);
        let alone = |set: &[Switch]| {
            let mut checker = Checker::new(&file, CheckOptions::for_file(&file)).unwrap();
            checker.check_set(set, &()).unwrap()
        };
        let answered: Vec<CheckResult> = sets[2..].iter().flat_map(|set| alone(set)).collect();
        let late = report.results.len() - answered.len();
        assert_eq!(report.results[late..], answered);
    }

    #[test]
    fn what_is_larger_is_searched_last_and_sets_of_few_switches_first() {
        let set = |count: usize| vec![Fault::parse("loss").unwrap().switch(3); count];
        let sets = [set(3), set(1), set(2), set(1)];
        assert_eq!(cheapest_first(&sets, |_| true, true), [1, 3, 2, 0]);
        assert_eq!(cheapest_first(&sets, |place| place != 1, true), [3, 2, 0]);
        assert_eq!(cheapest_first(&sets, |_| true, false), [0, 1, 2, 3]);
    }
}
