//! What the closure and the world of an assumption set have to provide for.

use std::sync::Arc;

use lockproof_lua::Scale;
use lockproof_redis::{Dialect, ScriptEngine};
use lockproof_trace::{self as trace, Objects, Setup};

use crate::lock::{Callers, Config, Program, ServerKind};
use crate::world::catalogue::{Beside, Fault, FaultInfo, Harm, Property, Safety, SizeUnit, Switch};
use crate::world::closure::{Closure, ClosureError, Limits, Needs, Subject};
use crate::world::node::KeyRules;
use crate::world::program::ClientProgram;
use crate::world::tables::Tables;
use crate::world::{Telling, World, WorldConfig};

use super::{CheckError, Checker};

/// The horizon is enlarged up to this many times what a set needs by itself.
pub(super) const REACH_MAX: i64 = 64;

/// A lock that is closed by need is so with horizons up to this much further than the first:
/// with ever further ones there are ever more contents, and nothing may come of it.
const BY_NEED_REACH_MAX: i64 = 4;

/// These strike one client, and would have to strike a whole process. Which clients use one
/// owner id the file says.
const BESIDE_NO_CALLERS: [Fault; 6] = [
    Fault::Cancel,
    Fault::SharedOwner,
    Fault::ClientSkew,
    Fault::ClientDrift,
    Fault::Partition,
    Fault::PartitionOneWay,
];

impl Checker<'_> {
    pub(super) fn world_config(&self, set: &[Switch]) -> WorldConfig {
        let sizes = &self.options.sizes;
        WorldConfig {
            clients: self.clients(),
            nodes: sizes.nodes,
            ttl_ticks: sizes.ttl_ticks,
            reentrant: self.file.reentrant,
            callers: self.callers(),
            objects: self.objects(),
            switches: set.to_vec(),
            order: self.order_in(set),
            at_ticks: false,
            tidy: self
                .options
                .properties
                .contains(&Property::Safety(Safety::NoOrphanAtOnce)),
            telling: self.telling(),
        }
    }

    /// What is watched of how the lock tells its callers that it is lost.
    fn telling(&self) -> Telling {
        let asked = |property| {
            let applicable = self.applicable();
            applicable.contains(&Property::Safety(property))
        };
        let sizes = &self.options.sizes;
        let ticks = self.file.told_within.and_then(|leases| {
            let ticks = leases * f64::from(sizes.ttl_ticks);
            asked(Safety::ToldWhenLost).then_some(ticks.round() as u8)
        });
        Telling {
            alarms: asked(Safety::NoFalseAlarm),
            within: ticks,
            monotonic: self.file.monotonic,
        }
    }

    /// The lock's automata under `needs`. Over a client that spins time passes while
    /// messages are in flight.
    pub(super) fn close(&mut self, needs: Needs) -> Result<Tables, CheckError> {
        let ageing = Needs {
            ageing: true,
            ..needs.clone()
        };
        // That it spins was found when it was closed before.
        if self.wanted.contains_key(&ageing) {
            return self.close_or_begin(ageing);
        }
        let tables = self.close_or_begin(needs)?;
        if !tables.spins || tables.needs.ageing {
            return Ok(tables);
        }
        self.close_or_begin(ageing)
    }

    /// All pairs, or if these are too many those that searches came to so far.
    fn close_or_begin(&mut self, needs: Needs) -> Result<Tables, CheckError> {
        if self.by_need && self.reach <= BY_NEED_REACH_MAX {
            self.begin_by_need(&needs);
        }
        match self.close_once(needs.clone()) {
            // With a further horizon there are ever more contents, and nothing may come of it.
            Err(CheckError::Closure { source, .. })
                if source.is_of_contents()
                    && self.reach == 1
                    && !self.wanted.contains_key(&needs) =>
            {
                self.by_need = true;
                self.begin_by_need(&needs);
                self.close_once(needs)
            }
            tables => tables,
        }
    }

    /// From now on what is wanted is closed under `needs`, beginning with what was wanted of the
    /// lock under others: much of that is asked for again.
    fn begin_by_need(&mut self, needs: &Needs) {
        if self.wanted.contains_key(needs) {
            return;
        }
        let most = self.wanted.values().max_by_key(|wanted| wanted.len());
        let known = most.cloned().unwrap_or_default();
        self.wanted.insert(needs.clone(), known);
    }

    /// Where a closure of all pairs ends. With the first horizon a lock goes on by need.
    fn limits(&self) -> Limits {
        match self.reach {
            1 => Limits {
                keyspaces: self.by_need_beyond,
                ..Limits::default()
            },
            _ => Limits::default(),
        }
    }

    fn close_once(&self, needs: Needs) -> Result<Tables, CheckError> {
        let config = self.config_of(needs.timeout_ms, Some(needs.scale()));
        let mut program = Program::start(self.file, &config, "", trace::EPOCH_MS)?;
        program.watch_lines(Arc::clone(&self.seen.lines));
        let second = self.second(&config)?;
        let mut subject = Subject {
            program: &program,
            second: second.as_ref().map(|program| program as &dyn ClientProgram),
            scripts: &mut ScriptEngine::new()?,
            rules: KeyRules {
                keys: self.file.keys.clone(),
                key: config.key.clone(),
                objects: self.objects(),
                dialect: dialect_of(self.file.server),
                by_sha: Default::default(),
            },
            renews: self.file.renews,
            file: self.file.path.clone(),
            should_stop: &*self.options.explore.should_stop,
        };
        let closure = match self.wanted.get(&needs) {
            Some(wanted) => Closure::build_by_need(&mut subject, needs, wanted),
            None => Closure::build_within(&mut subject, needs, self.limits(), None),
        };
        let tables = closure.and_then(Tables::build);
        tables.map_err(|error| self.unclosed(error))
    }

    /// The search of a world came to pairs that its tables lack: they are closed as well
    /// from now on. False if it lacked none.
    ///
    /// # Errors
    /// If there are more different contents of a server than can be numbered.
    pub(super) fn extend(&mut self, set: &[Switch], world: &World) -> Result<bool, CheckError> {
        let closure = &world.tables.closure;
        let lacks = world.reached.lacks();
        if lacks.is_empty() {
            return Ok(false);
        }
        // What the tables were closed for may be more than was asked for.
        let wanted = self.wanted.entry(closure.needs.clone()).or_default();
        if !wanted.add(closure, &lacks) {
            return Err(self.unclosed(ClosureError::too_many_contents()));
        }
        self.tables.remove(&self.needs(set));
        Ok(true)
    }

    /// What can be said of a lock only when all of it is known, which is so after a search
    /// that lacked nothing.
    ///
    /// # Errors
    /// If it is nothing that the model follows.
    pub(super) fn examine(&self, world: &World) -> Result<(), CheckError> {
        match world.tables.closure.is_by_need() {
            true => world
                .tables
                .closure
                .check()
                .map_err(|error| self.unclosed(error)),
            false => Ok(()),
        }
    }

    fn unclosed(&self, source: ClosureError) -> CheckError {
        match source {
            ClosureError::Lock(error) => CheckError::Lock(error),
            source @ ClosureError::NotModelled { .. } => CheckError::NotModelled(source),
            source => CheckError::Closure {
                file: self.file.path.clone(),
                source,
            },
        }
    }

    /// What the lock file sees under `set` when it runs for real.
    pub fn config(&self, set: &[Switch]) -> Config {
        self.config_of(self.timeout_ms(set), None)
    }

    /// Default time-out of a command, in ms. Where messages can be held up it is as
    /// long as they can be, or just longer than the lease: then a reply can come when
    /// the lease is over, and a request can be executed when nobody waits any more.
    fn timeout_ms(&self, set: &[Switch]) -> i64 {
        let sizes = &self.options.sizes;
        let longest = set
            .iter()
            .filter(|switch| switch.fault.info().harm == Harm::HoldsUp)
            .map(|switch| switch.size.min(sizes.ttl_ticks + 1))
            .max();
        let usual = match longest {
            Some(longest) if !self.impatient => longest.max(1),
            _ => self.parts(),
        };
        let ticks = sizes.timeout_ticks.unwrap_or(usual);
        i64::from(ticks) * sizes.tick_ms
    }

    /// Some command has no time-out of its own, and messages can be held up for longer
    /// than the usual one.
    pub(super) fn patience_matters(&mut self, set: &[Switch]) -> Result<bool, CheckError> {
        let timeout_ms = self.timeout_ms(set);
        let usual_ms = i64::from(self.parts()) * self.options.sizes.tick_ms;
        if self.options.sizes.timeout_ticks.is_some() || timeout_ms <= usual_ms {
            return Ok(false);
        }
        let tables = self.tables(set)?;
        let mut durations = tables.closure.durations.iter();
        Ok(durations.any(|duration| duration.ms == timeout_ms))
    }

    /// Ticks of a third of the lease.
    fn parts(&self) -> u8 {
        (self.options.sizes.ttl_ticks / 3).max(1)
    }

    fn config_of(&self, timeout_ms: i64, scale: Option<Scale>) -> Config {
        let sizes = &self.options.sizes;
        Config {
            nodes: sizes.nodes,
            ttl_ms: i64::from(sizes.ttl_ticks) * sizes.tick_ms,
            timeout_ms,
            key: "lock".into(),
            params: sizes.params.clone(),
            scale,
        }
    }

    /// What a tick adds to every clock.
    fn step_ms(&self) -> i64 {
        let sizes = &self.options.sizes;
        match self.exact {
            true => sizes.tick_ms,
            false => sizes.step_ms(),
        }
    }

    pub(super) fn needs(&self, set: &[Switch]) -> Needs {
        let sizes = &self.options.sizes;
        let size = |fault: Fault| find(set, fault).map_or(0, |switch| switch.size);
        let on = |fault: Fault| find(set, fault).is_some();
        let drift = find(set, Fault::ClientDrift).map_or(0, |switch| switch.budget);
        let skew = find(set, Fault::ClientSkew);
        let step = skew.map_or(0, |skew| skew.size);
        let steps = skew.map_or(0, |skew| skew.budget);
        let late =
            |switch: &&Switch| matches!(switch.fault.info().harm, Harm::HoldsUp | Harm::Stops);
        let stretch = set.iter().filter(late).map(|switch| switch.size).max();
        let stretch = stretch.unwrap_or(0);
        let parts = [sizes.ttl_ticks, stretch, drift, size(Fault::ClockJump), 3];
        // From one end of a clock's offsets to the other: what is over for longer
        // stays over.
        let set_back = 2 * u32::from(step) * u32::from(steps);
        let horizon: u32 = parts.into_iter().map(u32::from).sum::<u32>() + set_back;
        let harms = |harm: Harm| set.iter().any(|switch| switch.fault.info().harm == harm);
        Needs {
            clients: self.clients(),
            holds_max: if self.file.reentrant { 2 } else { 1 },
            ttl_ms: i64::from(sizes.ttl_ticks) * sizes.tick_ms,
            timeout_ms: self.timeout_ms(set),
            tick_ms: sizes.tick_ms,
            step_ms: self.step_ms(),
            horizon_ms: i64::from(horizon) * self.step_ms() * self.reach,
            advance_max: size(Fault::ClientPause).max(if drift > 0 { 2 } else { 1 }),
            skews: skews(step as i8, steps as i8, drift as i8),
            step: step as i8,
            ageing: harms(Harm::HoldsUp) || harms(Harm::Stops),
            failing: harms(Harm::Breaks),
            refused: on(Fault::NodeDown) || on(Fault::DelayedRestart),
            jump: size(Fault::ClockJump),
            jumps: find(set, Fault::ClockJump).map_or(0, |switch| switch.budget),
            slots: self.world_config(set).slots() as u8,
            cancels: on(Fault::Cancel),
            refusing: on(Fault::MinReplicas),
            shared_owner: self.world_config(set).shares_owner(),
            shared_handle: self.callers().handle || self.file.objects.shared,
            objects: self.objects(),
            losing: self.file.keys.has_fences() && self.world_config(set).loses_fences(),
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
        let config = self.config(set);
        Setup {
            clients: self.clients(),
            nodes: sizes.nodes,
            ttl_ms: config.ttl_ms,
            tick_ms: self.step_ms(),
            timeout_ms: config.timeout_ms,
            key: config.key,
            params,
            epoch_ms: trace::EPOCH_MS,
            persistence: persistence.into(),
            replicas: u8::from(self.world_config(set).lag() > 0 || self.waits(set)),
            min_replicas: u8::from(find(set, Fault::MinReplicas).is_some()),
            shared_owner: self.world_config(set).shares_owner(),
            callers: if self.callers().two { 2 } else { 0 },
            objects: self.objects(),
            shared_handle: self.callers().handle || self.file.objects.shared,
            server: self.file.server.name().map(str::to_owned),
        }
    }

    /// A combination that the world does not follow, if there is one.
    pub(super) fn unfollowed(&self, set: &[Switch]) -> Option<String> {
        let told = |what: &str, id| format!("{what} under {id} is not in the model yet");
        set.iter().find_map(|switch| {
            let FaultInfo { id, not_beside, .. } = switch.fault.info();
            if self.objects().is_some() && BESIDE_NO_CALLERS.contains(&switch.fault) {
                return Some(told("a client with two lock objects", id));
            }
            if self.callers().two && BESIDE_NO_CALLERS.contains(&switch.fault) {
                return Some(told("a process with two callers", id));
            }
            not_beside.iter().find_map(|beside| match beside {
                Beside::Wait => self.waits(set).then(|| told("WAIT", id)),
                Beside::Pops => self.pops(set).then(|| told("BLPOP", id)),
                Beside::Messages => self.listens(set).then(|| told("SUBSCRIBE", id)),
                Beside::Fault(other) => {
                    find(set, *other).map(|other| told(other.fault.info().id, id))
                }
            })
        })
    }

    /// Clients listen to a channel.
    fn listens(&self, set: &[Switch]) -> bool {
        let tables = self.tables.get(&self.needs(set));
        tables.is_some_and(|tables| tables.listens())
    }

    /// Clients of a world: each lock object of a client is one.
    fn clients(&self) -> u8 {
        let clients = self.options.sizes.clients;
        match self.objects() {
            Some(_) => 2 * clients,
            None => clients,
        }
    }

    /// The lock objects of each client, if there are two.
    fn objects(&self) -> Option<Objects> {
        let objects = self.file.objects;
        let order = match objects.opposite {
            true => Objects::Opposite,
            false => Objects::Same,
        };
        objects.two.then_some(order)
    }

    /// Why a property is not asked of clients that have two lock objects.
    pub(super) fn not_asked_of_objects(&self, property: Property) -> Option<&'static str> {
        self.objects()?;
        match property {
            Property::Safety(Safety::Effect) => {
                Some("not asked of clients with two lock objects: there is one guarded counter")
            }
            Property::Safety(Safety::NoOrphanAtOnce) => Some(
                "not asked of clients with two lock objects: which of them comes to rest is open",
            ),
            Property::Fair(_) => {
                Some("not asked of clients with two lock objects: who starves for which is open")
            }
            Property::Safety(Safety::NoFalseAlarm | Safety::ToldWhenLost) => {
                Some("not asked of clients with two lock objects: whose loss is told is open")
            }
            Property::Safety(_) | Property::Branching(_) => None,
        }
    }

    /// The program of a second lock object, with a key of its own.
    fn second(&self, config: &Config) -> Result<Option<Program>, CheckError> {
        let Some(objects) = self.objects() else {
            return Ok(None);
        };
        let config = Config {
            key: objects.key(1, &config.key),
            ..config.clone()
        };
        let mut program = Program::start(self.file, &config, "", trace::EPOCH_MS)?;
        program.watch_lines(Arc::clone(&self.seen.lines));
        Ok(Some(program))
    }

    /// What the first two clients have in common.
    fn callers(&self) -> Callers {
        self.file.callers.among(self.options.sizes.clients)
    }

    /// The lock sends BLPOP.
    fn pops(&self, set: &[Switch]) -> bool {
        let tables = self.tables.get(&self.needs(set));
        tables.is_some_and(|tables| tables.pops())
    }

    /// The lock sends WAIT, so its nodes have replicas, failover or not.
    fn waits(&self, set: &[Switch]) -> bool {
        let tables = self.tables.get(&self.needs(set));
        tables.is_some_and(|tables| tables.waits())
    }
}

/// What the servers that a lock asks for speak.
fn dialect_of(server: ServerKind) -> Dialect {
    match server {
        ServerKind::Any => Dialect::default(),
        ServerKind::Valkey => Dialect::Valkey9,
    }
}

/// A replica lags behind by some writes, and by few.
pub(super) fn lag(set: &[Switch]) -> Result<(), CheckError> {
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

pub(super) fn find(set: &[Switch], fault: Fault) -> Option<&Switch> {
    set.iter().find(|switch| switch.fault == fault)
}

/// Offsets that a clock can have: so many steps of this size, and the drift. Without
/// gaps if it drifts, since it then goes through all of them.
fn skews(size: i8, steps: i8, drift: i8) -> Vec<i8> {
    if drift > 0 {
        let most = size * steps + drift;
        return (-most..=most).collect();
    }
    (-steps..=steps).map(|n| n * size).collect()
}
