//! A whole check: from a lock file and assumption sets to verdicts.
//!
//! Sets with the same needs share one closure. Each set is one world and one
//! exhaustive search that answers for all properties at once; each violation
//! becomes a concrete trace, which checks the tables once more on the way.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::lock::{Config, LockError, LockFile, Program};
use crate::redis::ScriptEngine;
use crate::trace::{self, Assumption, Setup, Trace};
use crate::world::catalogue::{Fault, PROPERTIES, Property, SizeUnit, Switch};
use crate::world::closure::{Closure, ClosureError, Needs};
use crate::world::concrete::{self, ConcreteError, Heading};
use crate::world::guard::{self, Effort, GuardError, HORIZON_FACTOR};
use crate::world::layout::State;
use crate::world::rules::overflow_reason;
use crate::world::tables::Tables;
use crate::world::walk::random_walk;
use crate::world::{Action, Plan, World, WorldConfig, WorldError};

use super::{
    CheckReport, CheckResult, Exploration, ExploreOptions, Path, Progress, SCHEMA, SimulateOptions,
    Simulation, Sizes, StopReason, Verdict, explore, simulate,
};

/// How to search, and how hard to guard.
#[derive(Clone)]
pub struct CheckOptions {
    pub sizes: Sizes,
    /// The properties to answer for.
    pub properties: Vec<Property>,
    pub explore: ExploreOptions,
    /// Random words on the live program, for each closure.
    pub guard: Effort,
}

/// What the caller lends a check: its clock, and its eyes.
pub trait Observer {
    /// Seconds since some fixed moment.
    fn seconds(&self) -> f64;
    /// An assumption set is about to be explored.
    fn begins(&self, _assumptions: &[Assumption]) {}
    /// A function that is told of progress while the search runs.
    fn progress(&self) -> Box<dyn Fn(Progress) + Send + Sync> {
        Box::new(|_| ())
    }
}

/// Why a check could not give verdicts.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("{file}: {source}")]
    Closure { file: String, source: ClosureError },
    #[error("{file}: {source}")]
    Guard { file: String, source: GuardError },
    #[error(transparent)]
    World(#[from] WorldError),
    #[error("lockproof contradicts itself (please report this): {0}")]
    Concrete(#[from] ConcreteError),
    #[error("failed to start the Lua engine for Redis scripts: {0}")]
    Engine(#[from] crate::redis::EngineError),
    /// A size or a budget that makes no sense.
    #[error("{0}")]
    Sizes(String),
}

/// A lock, ready to be explored under any assumption set.
pub struct Checker<'f> {
    file: &'f LockFile,
    options: CheckOptions,
    simulate: Option<SimulateOptions>,
    order: Vec<Fault>,
    tables: FxHashMap<Needs, Arc<Tables>>,
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
            tables: FxHashMap::default(),
        })
    }

    /// From now on worlds are not explored: random runs are followed through
    /// them. That finds violations in worlds that are too large to explore, and
    /// whatever it does not find is unknown.
    pub fn simulate(&mut self, options: SimulateOptions) {
        self.simulate = Some(options);
    }

    /// From now on these faults strike in this order: none before the one that
    /// stands before it has struck. Sets without them are as they were.
    pub fn order(&mut self, faults: Vec<Fault>) {
        self.order = faults;
    }

    fn order_in(&self, set: &[Switch]) -> Vec<Fault> {
        let on = |fault: &&Fault| find(set, **fault).is_some();
        self.order.iter().filter(on).copied().collect()
    }

    /// Checks every set and puts the answers together.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn check(
        &mut self,
        sets: &[Vec<Switch>],
        observer: &dyn Observer,
    ) -> Result<CheckReport, CheckError> {
        let mut results = Vec::new();
        for set in sets {
            results.extend(self.check_set(set, observer)?);
        }
        Ok(CheckReport {
            schema: SCHEMA.into(),
            lock: concrete::reference(self.file),
            setup: self.setup(&[]),
            results,
        })
    }

    /// Checks one assumption set.
    ///
    /// # Errors
    /// See [`CheckError`].
    pub fn check_set(
        &mut self,
        set: &[Switch],
        observer: &dyn Observer,
    ) -> Result<Vec<CheckResult>, CheckError> {
        observer.begins(&assumptions(set));
        let plan = match self.plan(set) {
            Err(CheckError::Closure {
                source: source @ ClosureError::Stopped,
                ..
            }) => return Ok(self.unknown(set, &source.to_string())),
            plan => plan?,
        };
        if let Some(reason) = self.unfollowed(set) {
            return Ok(self.unknown(set, &reason));
        }
        match plan.words() {
            0..=2 => self.search::<2>(plan, set, observer),
            3 => self.search::<3>(plan, set, observer),
            4 => self.search::<4>(plan, set, observer),
            _ => self.search::<8>(plan, set, observer),
        }
    }

    /// A combination that the world does not follow: a server that stands still
    /// or whose clock jumps while it holds a WAIT back, one that restarts or stands
    /// still while it asks for its replica.
    fn unfollowed(&self, set: &[Switch]) -> Option<String> {
        let first = |faults: &[Fault]| {
            let on = |fault: &&Fault| find(set, **fault).is_some();
            faults.iter().find(on).map(|fault| fault.info().id)
        };
        let told = |what, id| format!("{what} under {id} is not in the model yet");
        let waiting = first(&[Fault::NodePause, Fault::ClockJump]).filter(|_| self.waits(set));
        let asking = first(&[
            Fault::RestartNone,
            Fault::RestartEverysec,
            Fault::RestartAlways,
            Fault::NodePause,
        ]);
        let asking = asking.filter(|_| find(set, Fault::MinReplicas).is_some());
        let waiting = waiting.map(|id| told("WAIT", id));
        waiting.or_else(|| asking.map(|id| told(Fault::MinReplicas.info().id, id)))
    }

    /// Nothing was explored, so nothing is known.
    fn unknown(&self, set: &[Switch], reason: &str) -> Vec<CheckResult> {
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
        let plan = self.plan(set)?;
        if let Some(reason) = self.unfollowed(set) {
            return Err(CheckError::Sizes(reason));
        }
        match plan.words() {
            0..=2 => self.walk::<2>(plan, set, seeds, length),
            3 => self.walk::<3>(plan, set, seeds, length),
            4 => self.walk::<4>(plan, set, seeds, length),
            _ => self.walk::<8>(plan, set, seeds, length),
        }
    }

    /// The world of one assumption set, not yet of a width.
    ///
    /// # Errors
    /// If the lock cannot be closed, or fails the guard.
    pub fn plan(&mut self, set: &[Switch]) -> Result<Plan, CheckError> {
        lag(set)?;
        let tables = self.tables(set)?;
        Ok(Plan::new(self.world_config(set), tables))
    }

    fn world_config(&self, set: &[Switch]) -> WorldConfig {
        let sizes = &self.options.sizes;
        WorldConfig {
            clients: sizes.clients,
            nodes: sizes.nodes,
            ttl_ticks: sizes.ttl_ticks,
            reentrant: self.file.reentrant,
            switches: set.to_vec(),
            order: self.order_in(set),
        }
    }

    fn tables(&mut self, set: &[Switch]) -> Result<Arc<Tables>, CheckError> {
        let needs = self.needs(set);
        if let Some(tables) = self.tables.get(&needs) {
            return Ok(Arc::clone(tables));
        }
        let tables = Arc::new(self.close(needs.clone())?);
        self.tables.insert(needs, Arc::clone(&tables));
        Ok(tables)
    }

    fn close(&self, needs: Needs) -> Result<Tables, CheckError> {
        let file = self.file.path.clone();
        let mut config = self.config(needs.horizon_ms);
        let own = crate::world::symbols::OWN_NAME;
        let present = crate::world::symbols::PRESENT;
        let mut program = Program::start(self.file, &config, own, present)?;
        let mut scripts = ScriptEngine::new()?;
        let closure = Closure::build(
            &mut program,
            &mut scripts,
            needs,
            &*self.options.explore.should_stop,
        )
        .map_err(|source| CheckError::Closure {
            file: file.clone(),
            source,
        })?;
        let tables = Tables::build(closure).map_err(|source| CheckError::Closure {
            file: file.clone(),
            source,
        })?;
        config.horizon_ms *= HORIZON_FACTOR;
        let mut program = Program::start(self.file, &config, own, present)?;
        guard::walk(&mut program, &tables, self.options.guard)
            .map_err(|source| CheckError::Guard { file, source })?;
        Ok(tables)
    }

    /// What the lock file sees.
    pub fn config(&self, horizon_ms: i64) -> Config {
        let sizes = &self.options.sizes;
        Config {
            nodes: sizes.nodes,
            ttl_ms: i64::from(sizes.ttl_ticks) * sizes.tick_ms,
            timeout_ms: i64::from(sizes.timeout_ticks) * sizes.tick_ms,
            key: "lock".into(),
            params: sizes.params.clone(),
            horizon_ms,
        }
    }

    fn needs(&self, set: &[Switch]) -> Needs {
        let sizes = &self.options.sizes;
        let size = |fault: Fault| find(set, fault).map_or(0, |switch| switch.size);
        let on = |fault: Fault| find(set, fault).is_some();
        let drift = find(set, Fault::ClientDrift).map_or(0, |switch| switch.budget);
        let skew = size(Fault::ClientSkew);
        let stretch = size(Fault::ClientPause)
            .max(size(Fault::Delay))
            .max(size(Fault::NodePause));
        let horizon = sizes.ttl_ticks + stretch + 2 * skew + drift + size(Fault::ClockJump) + 3;
        let breaking = [
            Fault::RestartNone,
            Fault::RestartEverysec,
            Fault::RestartAlways,
            Fault::Failover,
            Fault::SplitBrain,
        ];
        let lingering = [Fault::ClientPause, Fault::Delay, Fault::NodePause];
        Needs {
            clients: sizes.clients,
            holds_max: if self.file.reentrant { 2 } else { 1 },
            ttl_ms: i64::from(sizes.ttl_ticks) * sizes.tick_ms,
            tick_ms: sizes.step_ms(),
            horizon_ms: i64::from(horizon) * sizes.step_ms(),
            advance_max: size(Fault::ClientPause).max(if drift > 0 { 2 } else { 1 }),
            skews: skews(skew as i8, drift as i8),
            ageing: lingering.into_iter().any(on),
            failing: breaking.into_iter().any(on),
            jump: size(Fault::ClockJump),
            slots: self.world_config(set).slots() as u8,
            refusing: on(Fault::MinReplicas),
        }
    }

    /// The setup of a trace under `set`.
    pub fn setup(&self, set: &[Switch]) -> Setup {
        let sizes = &self.options.sizes;
        let persistence = if find(set, Fault::RestartEverysec).is_some() {
            "everysec"
        } else if find(set, Fault::RestartAlways).is_some() {
            "always"
        } else {
            "none"
        };
        let mut params = self.file.params.clone();
        params.extend(sizes.params.clone());
        let config = self.config(0);
        Setup {
            clients: sizes.clients,
            nodes: sizes.nodes,
            ttl_ms: config.ttl_ms,
            tick_ms: sizes.step_ms(),
            timeout_ms: config.timeout_ms,
            key: config.key,
            params,
            epoch_ms: trace::EPOCH_MS,
            persistence: persistence.into(),
            replicas: u8::from(self.world_config(set).lag() > 0 || self.waits(set)),
            min_replicas: u8::from(find(set, Fault::MinReplicas).is_some()),
        }
    }

    /// The lock sends WAIT, so its nodes have replicas, failover or not.
    fn waits(&self, set: &[Switch]) -> bool {
        let tables = self.tables.get(&self.needs(set));
        tables.is_some_and(|tables| tables.waits())
    }

    fn search<const W: usize>(
        &self,
        plan: Plan,
        set: &[Switch],
        observer: &dyn Observer,
    ) -> Result<Vec<CheckResult>, CheckError> {
        let world: Arc<World<W>> = Arc::new(plan.build()?);
        let started = observer.seconds();
        let mut explore_options = self.options.explore.clone();
        explore_options.deadlock = self.options.properties.contains(&Property::DeadlockFreedom);
        let found = match &self.simulate {
            Some(options) => simulated(simulate(&*world, options)),
            None => explore(Arc::clone(&world), explore_options, observer.progress()),
        };
        let seconds = observer.seconds() - started;
        let mut results = Vec::new();
        for property in self.applicable() {
            results.push(self.answer(&world, set, &found, property, seconds)?);
        }
        Ok(results)
    }

    /// The properties asked for that make sense for this lock.
    fn applicable(&self) -> Vec<Property> {
        let asked = |property: &Property| self.options.properties.contains(property);
        let fits = |property: &Property| *property != Property::Reentrancy || self.file.reentrant;
        PROPERTIES
            .iter()
            .map(|info| info.property)
            .filter(asked)
            .filter(fits)
            .collect()
    }

    fn answer<const W: usize>(
        &self,
        world: &World<W>,
        set: &[Switch],
        found: &Exploration<State<W>>,
        property: Property,
        seconds: f64,
    ) -> Result<CheckResult, CheckError> {
        let path = match property {
            Property::DeadlockFreedom => found.deadlock.as_ref(),
            _ => found
                .violations
                .get(property as usize)
                .and_then(Option::as_ref),
        };
        let trace = path
            .map(|path| self.trace(world, set, path, property))
            .transpose()?;
        let (verdict, reason) = if trace.is_some() {
            (Verdict::Violated, None)
        } else if found.complete && found.overflow == 0 {
            (Verdict::Holds, None)
        } else {
            (Verdict::Unknown, Some(unknown_because(found)))
        };
        Ok(CheckResult {
            property: property.info().id.into(),
            assumptions: assumptions(set),
            verdict,
            reason,
            states: found.states,
            transitions: found.transitions,
            depth: found.depth,
            seconds,
            trace,
        })
    }

    fn trace<const W: usize>(
        &self,
        world: &World<W>,
        set: &[Switch],
        path: &Path<State<W>>,
        property: Property,
    ) -> Result<Trace, CheckError> {
        self.concretise(world, set, &path.steps, Some(property), None)
    }

    fn walk<const W: usize>(
        &self,
        plan: Plan,
        set: &[Switch],
        seeds: std::ops::Range<u64>,
        length: usize,
    ) -> Result<Vec<Trace>, CheckError> {
        let world: World<W> = plan.build()?;
        seeds
            .map(|seed| {
                let moves = random_walk(&world, seed, length);
                self.concretise(&world, set, &moves, None, Some(seed))
            })
            .collect()
    }

    /// A path of this lock's world as a trace.
    ///
    /// # Errors
    /// If the tables and the live program part ways.
    pub fn concretise<const W: usize>(
        &self,
        world: &World<W>,
        set: &[Switch],
        moves: &[(Action, State<W>)],
        property: Option<Property>,
        seed: Option<u64>,
    ) -> Result<Trace, CheckError> {
        let config = self.config(world.tables.needs.horizon_ms);
        let heading = Heading {
            property,
            seed,
            setup: self.setup(set),
            assumptions: assumptions(set),
        };
        Ok(concrete::concretise(
            world, self.file, &config, moves, heading,
        )?)
    }
}

/// What random runs found, as a search that did not see everything.
fn simulated<S>(found: Simulation<S>) -> Exploration<S> {
    Exploration {
        states: 0,
        transitions: found.steps,
        depth: 0,
        complete: false,
        stop_reason: Some(StopReason::Simulated(found.walks)),
        overflow: 0,
        violations: found.violations,
        deadlock: None,
    }
}

fn unknown_because<S>(found: &Exploration<S>) -> String {
    match &found.stop_reason {
        Some(StopReason::Overflow(bits)) => overflow_reason(*bits),
        Some(reason) => reason.to_string(),
        None => overflow_reason(found.overflow),
    }
}

/// A replica lags behind by some writes, and by few.
fn lag(set: &[Switch]) -> Result<(), CheckError> {
    let most = crate::world::LAG_MAX;
    let promotes = |switch: &&Switch| switch.fault.info().unit == SizeUnit::Writes;
    let wrong = |switch: &&Switch| !(1..=most).contains(&usize::from(switch.size));
    match set.iter().filter(promotes).find(wrong) {
        Some(switch) => {
            let id = switch.fault.info().id;
            Err(CheckError::Sizes(format!(
                "the size of {id} is {}; it must be from 1 to {most} writes",
                switch.size
            )))
        }
        None => Ok(()),
    }
}

fn find(set: &[Switch], fault: Fault) -> Option<&Switch> {
    set.iter().find(|switch| switch.fault == fault)
}

fn skews(size: i8, drift: i8) -> Vec<i8> {
    if drift > 0 {
        return (-(size + drift)..=size + drift).collect();
    }
    if size > 0 {
        vec![-size, 0, size]
    } else {
        vec![0]
    }
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
