//! One assumption set: its search, and what each property's answer rests on.
//!
//! `holds` is said only if the whole space was explored, nothing in it depended on
//! what the model does not have, and no time in it was rounded. A violation is said
//! only with a trace that live programs and formal servers have followed.

use std::sync::Arc;

use lockproof_lua::RefusalKind;
use lockproof_trace::Trace;

use crate::world::catalogue::{Fair, Fault, Property, Safety, Switch};
use crate::world::concrete::{self, Concrete, ConcreteError, Heading};
use crate::world::layout::State;
use crate::world::packed::Narrow;
use crate::world::rules::overflow_reason;
use crate::world::tables::{Fingerprint, Tables};
use crate::world::walk::{random_walk, settle};
use crate::world::{Action, World};

use super::attempts;
use super::endless::{self, Run};
use super::needs::REACH_MAX;
use super::{
    CheckError, CheckResult, Checker, Exploration, ExploreOptions, Observer, Path, Simulation,
    StopReason, Verdict, assumptions, explore, simulate,
};

/// A search of one world, and the world.
struct Searched {
    world: Arc<World>,
    found: Exploration<State>,
    /// The world's fingerprint, if searches are shared.
    print: Option<Fingerprint>,
}

/// What a search says of a property.
enum Answer {
    Violated(Box<Trace>),
    Holds,
    Unknown(String),
}

impl Checker<'_> {
    /// Searches the world of `set`, enlarging the horizon as far as the lock asks
    /// for, and answers for each property.
    pub(super) fn search(
        &mut self,
        set: &[Switch],
        observer: &dyn Observer,
    ) -> Result<Vec<CheckResult>, CheckError> {
        let started = observer.seconds();
        let mut furthest = REACH_MAX;
        let searched = loop {
            let world = match self.world_so_far(set) {
                // So far the tables do not reach.
                Err(error) if error.is_limit() && self.reach > 1 => {
                    self.reach /= 2;
                    furthest = self.reach;
                    continue;
                }
                world => world?,
            };
            let searched = self.searched(world, furthest, observer);
            if searched.is_whole() && self.extend(set, &searched.world)? {
                continue;
            }
            // By need, what the lock does is known only now.
            if let Some(reason) = self.unfollowed(set) {
                return Ok(self.unknown(set, &reason));
            }
            self.prints.extend(searched.print);
            if self.reach >= furthest || !searched.beyond_horizon() {
                break searched;
            }
            self.reach *= 2;
        };
        if searched.is_whole() {
            self.examine(&searched.world)?;
        }
        let complete = searched.found.complete && searched.found.overflow == 0;
        self.seen.note(&searched.world, complete);
        let mut again = None;
        let mut answers = Vec::new();
        for property in self.applicable() {
            let answer = self.answer(set, &searched, &mut again, property, observer)?;
            answers.push((property, answer));
        }
        self.guard(set, &searched.world.tables)?;
        let seconds = observer.seconds() - started;
        let cells = answers.into_iter();
        Ok(cells
            .map(|(property, answer)| cell(set, &searched.found, property, answer, seconds))
            .collect())
    }

    /// The world of one assumption set. If the lock is closed by need, a search goes
    /// through it until it lacks nothing, or meets a limit.
    ///
    /// # Errors
    /// If the lock cannot be closed, or a state of its world is too large.
    pub fn world(&mut self, set: &[Switch]) -> Result<World, CheckError> {
        loop {
            let world = self.world_so_far(set)?;
            if !world.tables.closure.is_by_need() {
                return Ok(world);
            }
            let searched = self.searched(world, self.reach, &());
            if !searched.is_whole() || !self.extend(set, &searched.world)? {
                return self.world_so_far(set);
            }
        }
    }

    /// Searches a world. It ends early where a further horizon will be tried.
    fn searched(&self, world: World, furthest: i64, observer: &dyn Observer) -> Searched {
        let world = Arc::new(world);
        let whole = !world.tables.closure.is_by_need();
        let shared = self.memo.as_ref().filter(|_| whole);
        let print = shared.map(|_| world.tables.fingerprint(&world.config));
        if let Some(found) = print.and_then(|print| self.known(print, &world)) {
            return Searched {
                world,
                found,
                print,
            };
        }
        let mut options = self.options.explore.clone();
        options.branching = self
            .options
            .properties
            .iter()
            .fold(0, |all, one| match one {
                Property::Branching(one) => all | one.bit(),
                Property::Safety(_) | Property::Fair(_) => all,
            });
        let fair = |one: &Property| matches!(one, Property::Fair(_));
        options.fair = self.options.properties.iter().any(fair);
        if self.reach < furthest {
            let (stop, watched) = (Arc::clone(&options.should_stop), Arc::clone(&world));
            options.should_stop = Arc::new(move || stop() || beyond_horizon(&watched));
        }
        let found = match &self.simulate {
            Some(options) => simulated(simulate(&*world, options)),
            None => match world.words() {
                0..=2 => explored::<2>(&world, options, observer),
                3 => explored::<3>(&world, options, observer),
                4 => explored::<4>(&world, options, observer),
                5 => explored::<5>(&world, options, observer),
                6 => explored::<6>(&world, options, observer),
                7 => explored::<7>(&world, options, observer),
                _ => explored::<8>(&world, options, observer),
            },
        };
        if let Some(print) = print {
            self.keep(print, &world, &found);
        }
        Searched {
            world,
            found,
            print,
        }
    }

    fn answer(
        &self,
        set: &[Switch],
        searched: &Searched,
        again: &mut Option<Searched>,
        property: Property,
        observer: &dyn Observer,
    ) -> Result<Answer, CheckError> {
        let restarts = set
            .iter()
            .any(|switch| switch.fault == Fault::ClientRestart);
        if property == Property::Safety(Safety::NoOrphanAtOnce) && restarts {
            return Ok(Answer::Unknown(
                "under client-restart the model does not know which process of a client left a key"
                    .into(),
            ));
        }
        if let Some(reason) = self.not_asked_of_objects(property) {
            return Ok(Answer::Unknown(reason.into()));
        }
        let Some(run) = searched.run(property) else {
            return Ok(searched.unviolated(property));
        };
        let world = &searched.world;
        match self.concrete(world, set, &run, Some(property), None) {
            Ok(concrete) => Ok(violated(world, concrete)),
            Err(CheckError::Concrete(ConcreteError::BetweenTicks { what })) => {
                self.answer_at_ticks(set, searched, again, (property, what), observer)
            }
            Err(error) => Err(error),
        }
    }

    /// A violation takes something that happens between two ticks. Maybe another
    /// does not.
    fn answer_at_ticks(
        &self,
        set: &[Switch],
        searched: &Searched,
        again: &mut Option<Searched>,
        (property, what): (Property, String),
        observer: &dyn Observer,
    ) -> Result<Answer, CheckError> {
        if again.is_none() {
            let world = self.at_ticks(set, &searched.world.tables)?;
            *again = Some(self.searched(world, self.reach, observer));
        }
        let run = again.as_ref().and_then(|searched| {
            let run = searched.run(property)?;
            Some((&searched.world, run))
        });
        let Some((world, run)) = run else {
            return Ok(between_ticks(&what));
        };
        match self.concrete(world, set, &run, Some(property), None) {
            Ok(concrete) => Ok(violated(world, concrete)),
            Err(CheckError::Concrete(ConcreteError::BetweenTicks { what })) => {
                Ok(between_ticks(&what))
            }
            Err(error) => Err(error),
        }
    }

    pub(super) fn walk(
        &mut self,
        set: &[Switch],
        seeds: std::ops::Range<u64>,
        length: usize,
    ) -> Result<Vec<Trace>, CheckError> {
        let tables = self.tables(set)?;
        let world = self.at_ticks(set, &tables)?;
        seeds
            .map(|seed| {
                let mut moves = random_walk(&world, seed, length);
                loop {
                    settle(&world, &mut moves);
                    match self.concretise(&world, set, &moves, None, Some(seed)) {
                        // Its random tokens lie otherwise than the path has it. It ends before.
                        Err(CheckError::Concrete(ConcreteError::BetweenTicks { .. }))
                            if moves.pop().is_some() => {}
                        done => return done,
                    }
                }
            })
            .collect()
    }

    /// A path of this lock's world as a trace.
    ///
    /// # Errors
    /// If the tables and the live program part ways.
    pub fn concretise(
        &self,
        world: &World,
        set: &[Switch],
        moves: &[(Action, State)],
        property: Option<Property>,
        seed: Option<u64>,
    ) -> Result<Trace, CheckError> {
        let run = Run {
            moves: moves.to_vec(),
            ..Run::default()
        };
        let concrete = self.concrete(world, set, &run, property, seed)?;
        Ok(concrete.trace)
    }

    fn concrete(
        &self,
        world: &World,
        set: &[Switch],
        run: &Run,
        property: Option<Property>,
        seed: Option<u64>,
    ) -> Result<Concrete, CheckError> {
        let config = self.config(set);
        let heading = Heading {
            property,
            seed,
            setup: self.setup(set),
            assumptions: assumptions(set),
            endless: run.endless.clone(),
        };
        Ok(concrete::concretise(
            world, self.file, &config, &run.moves, heading,
        )?)
    }
}

impl Searched {
    fn beyond_horizon(&self) -> bool {
        beyond_horizon(&self.world)
    }

    /// Nobody stopped it, and it met no limit.
    fn is_whole(&self) -> bool {
        matches!(
            self.found.stop_reason,
            None | Some(StopReason::Overflow(_) | StopReason::Simulated(_))
        )
    }

    /// What violates a property, as its trace shows it: where nobody can acquire any more,
    /// everybody tries; an endless run goes round a few times.
    fn run(&self, property: Property) -> Option<Run> {
        let world = &self.world;
        let path = |paths: &[Option<Path<State>>], at: usize| paths.get(at).cloned().flatten();
        Some(match property {
            Property::Safety(property) => Run {
                moves: path(&self.found.violations, property as usize)?.steps,
                ..Run::default()
            },
            Property::Branching(property) => {
                let path = path(&self.found.stuck, property as usize)?;
                Run {
                    moves: attempts::followed(world, &path, property).steps,
                    ..Run::default()
                }
            }
            Property::Fair(Fair::StarvationFreedom) => {
                endless::unrolled(world, self.found.starved.as_ref()?)?
            }
        })
    }

    /// Why nothing is known of this property alone.
    fn undecided(&self, property: Property) -> Option<String> {
        let reason = match property {
            Property::Safety(_) => None,
            Property::Branching(one) => self.found.undecided.get(one as usize)?.as_ref(),
            Property::Fair(_) => self.found.fair_undecided.as_ref(),
        };
        Some(match reason? {
            StopReason::Overflow(bits) => overflow_reason(*bits),
            reason => reason.to_string(),
        })
    }

    /// The answer on a property that nothing violates.
    fn unviolated(&self, property: Property) -> Answer {
        let mut reasons = self.poisons();
        reasons.extend(self.undecided(property));
        if !self.found.complete || self.found.overflow != 0 && reasons.is_empty() {
            let because = unknown_because(&self.found);
            // What is not complete is unknown even where nothing says why.
            if reasons.is_empty() || !because.is_empty() {
                reasons.push(because);
            }
        }
        if reasons.is_empty() && self.world.reached.rounded() {
            reasons.push(rounded_because(&self.world.tables));
        }
        let of_fences = [Safety::Effect, Safety::FenceMonotonicity].map(Property::Safety);
        if reasons.is_empty() && self.world.reached.lost_fences() && of_fences.contains(&property) {
            reasons.push(FENCES_LOST.into());
        }
        if reasons.is_empty() {
            Answer::Holds
        } else {
            Answer::Unknown(reasons.join("; "))
        }
    }

    /// Why nothing can be said about parts of what was reached.
    fn poisons(&self) -> Vec<String> {
        let poisons = &self.world.tables.closure.poisons;
        let reached = self.world.reached.poisons();
        reached.map(|at| poisons[at].reason.clone()).collect()
    }
}

/// Why a property of fences is unknown though nothing violates it.
const FENCES_LOST: &str = "a fence has to be compared with another one, and how the two lie is \
     more than the model keeps: a counter has lost more than it tells apart, or fences come from \
     different counters";

fn between_ticks(what: &str) -> Answer {
    Answer::Unknown(format!(
        "what may violate it needs {what}, between two ticks; a smaller --tick-ms may tell"
    ))
}

fn beyond_horizon(world: &World) -> bool {
    let poisons = &world.tables.closure.poisons;
    let mut reached = world.reached.poisons();
    reached.any(|at| poisons[at].kind == RefusalKind::Horizon)
}

fn violated(world: &World, concrete: Concrete) -> Answer {
    if concrete.rounded {
        return Answer::Unknown(rounded_because(&world.tables));
    }
    Answer::Violated(Box::new(concrete.trace))
}

fn cell<S>(
    set: &[Switch],
    found: &Exploration<S>,
    property: Property,
    answer: Answer,
    seconds: f64,
) -> CheckResult {
    let (verdict, reason, trace) = match answer {
        Answer::Violated(trace) => (Verdict::Violated, None, Some(*trace)),
        Answer::Holds => (Verdict::Holds, None, None),
        Answer::Unknown(reason) => (Verdict::Unknown, Some(reason), None),
    };
    CheckResult {
        property: property.info().id.into(),
        assumptions: assumptions(set),
        verdict,
        reason,
        states: found.states,
        transitions: found.transitions,
        depth: found.depth,
        seconds,
        trace,
    }
}

/// What random runs found, as a search that did not see everything.
/// A search that keeps `W` words of each state.
fn explored<const W: usize>(
    world: &Arc<World>,
    options: ExploreOptions,
    observer: &dyn Observer,
) -> Exploration<State> {
    let narrow = Narrow::<W>(Arc::clone(world));
    let found = explore(Arc::new(narrow), options, observer.progress());
    found.map(|state| state.state())
}

fn simulated<S>(found: Simulation<S>) -> Exploration<S> {
    Exploration {
        states: 0,
        transitions: found.steps,
        depth: 0,
        complete: false,
        stop_reason: Some(StopReason::Simulated(found.walks)),
        overflow: 0,
        violations: found.violations,
        stuck: Vec::new(),
        undecided: Vec::new(),
        starved: None,
        fair_undecided: None,
    }
}

fn unknown_because<S>(found: &Exploration<S>) -> String {
    match &found.stop_reason {
        Some(StopReason::Overflow(bits)) => overflow_reason(*bits),
        Some(reason) => reason.to_string(),
        None => overflow_reason(found.overflow),
    }
}

/// Durations after which something ends, and which are no whole ticks.
fn rounded_because(tables: &Tables) -> String {
    let tick_ms = tables.needs.tick_ms;
    let mut rounded: Vec<String> = Vec::new();
    for duration in &tables.closure.durations {
        if duration.ms % tick_ms != 0 {
            rounded.push(format!("{} ms (line {})", duration.ms, duration.line));
        }
    }
    rounded.sort();
    format!(
        "{} {} no whole number of ticks of {tick_ms} ms; give --tick-ms and --ttl-ticks that fit",
        rounded.join(", "),
        if rounded.len() == 1 { "is" } else { "are" },
    )
}
