//! The exhaustive search: every reachable state of a [`System`], level by level.
//!
//! One breadth-first search serves one thread and all cores alike. It was chosen
//! over the checkers of stateright (which stand beside it in
//! [`super::stateright`]) for three things: its traces are shortest and the same
//! for any number of workers; it needs a fifth of the memory; and it keeps the
//! whole state set afterwards, so that "from every reachable state some client
//! can acquire again" can be decided on it.
//!
//! | part | what it does |
//! |---|---|
//! | `table` | the set of states that a worker owns |
//! | `engine` | a worker: expands its states, sorts out duplicates |
//! | `dataflow` | timely: carries states to their owners, keeps levels in step |
//! | `ledger` | counts, limits, the reason to stop |
//! | `trace` | shortest paths, found backwards afterwards |
//! | `branching`, `sweep` | branching properties, afterwards |
//! | `fair`, `lasso` | endless fair runs on which somebody starves, afterwards |
//!
//! What is deterministic: everything in an [`Exploration`] that was not stopped
//! by `should_stop` (or a panic). A violation counts at the level of its
//! transition's target, also when that state was known before; among the first
//! level's violations the least source, then the least action is taken.

mod bare;
mod branching;
mod dataflow;
mod engine;
mod fair;
mod lasso;
mod ledger;
mod prefetch;
mod sweep;
mod table;
mod trace;

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use branching::{Answer, answers};
use engine::{Engine, Found, Searched};
use fair::Fate;
use ledger::{Ledger, Totals};

use crate::world::{Action, GoalSet, PropertySet, System};

/// Asks whether to give up; called about once a millisecond by each worker. It
/// comes from outside because nothing here reads a clock.
pub type ShouldStop = Arc<dyn Fn() -> bool + Send + Sync>;

/// When a search may end before it has seen everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Goal {
    /// Search everything, whatever is found.
    #[default]
    Exhaust,
    /// End after the first level that violates some property.
    AnyViolation,
    /// End after the level by which every property was violated.
    AllViolations,
}

/// How to search.
#[derive(Clone)]
pub struct ExploreOptions {
    /// Threads; 0 means one for each core.
    pub workers: usize,
    /// Keep at most this many states. The level in which they do not fit is
    /// dropped and the level before it still searched for violations, so that
    /// the answer does not depend on `workers`.
    pub states_max: Option<u64>,
    /// When to end early.
    pub goal: Goal,
    /// Branching properties to decide as well.
    pub branching: GoalSet,
    /// Look for endless fair runs that starve a pursuit.
    pub fair: bool,
    /// Asks whether to stop searching. The ways to what was found until then are looked for
    /// all the same, which takes about half as long as the search has.
    pub should_stop: ShouldStop,
    /// Asks whether to give that up as well.
    pub give_up: ShouldStop,
}

impl Default for ExploreOptions {
    fn default() -> Self {
        ExploreOptions {
            workers: 0,
            states_max: None,
            goal: Goal::Exhaust,
            branching: 0,
            fair: false,
            should_stop: Arc::new(|| false),
            give_up: Arc::new(|| false),
        }
    }
}

/// How far a search has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Distinct states so far.
    pub states: u64,
    /// Transitions so far.
    pub transitions: u64,
    /// The level that is being expanded.
    pub depth: u32,
    /// The number of states of that level.
    pub frontier: u64,
    /// What is violated by then. It is not yet known whether live programs can do that too.
    pub violated: PropertySet,
}

/// Why a search did not see everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// More states than this limit are reachable.
    StateLimit(u64),
    /// `should_stop` said so.
    Stopped,
    /// [`ExploreOptions::goal`] was reached.
    GoalReached,
    /// The system could not represent some states (its bit set of reasons).
    Overflow(u8),
    /// A worker owns more states than it can number.
    TableFull,
    /// The system panicked.
    Panicked(String),
    /// The threads could not be run.
    Engine(String),
    /// Only so many random runs were followed.
    Simulated(u64),
    /// More transitions than this limit would have to be kept.
    Transitions(u64),
    /// An endless run needs a fault that may be none (see [`System::may_happen`]).
    MayHappen,
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::StateLimit(limit) => write!(
                f,
                "more than {limit} states; raise the limit or shrink the model"
            ),
            StopReason::Stopped => write!(
                f,
                "stopped before the end; allow more time and memory, or shrink the model"
            ),
            StopReason::GoalReached => {
                write!(f, "ended early, having found the violations asked for")
            }
            StopReason::Overflow(reasons) => {
                write!(
                    f,
                    "the model ran over its representation (reasons {reasons:#b}); raise its bounds"
                )
            }
            StopReason::TableFull => write!(
                f,
                "a worker holds 2^31 states; use more workers or shrink the model"
            ),
            StopReason::Panicked(text) => {
                write!(f, "the model panicked (please report this): {text}")
            }
            StopReason::Simulated(walks) => write!(
                f,
                "{walks} random runs did not show it, which proves nothing; explore instead"
            ),
            StopReason::Transitions(limit) => write!(
                f,
                "endless runs are looked for among at most {limit} transitions; shrink the model"
            ),
            StopReason::MayHappen => write!(
                f,
                "whether an endless run goes on depends on how many messages say the same, and \
                 more than two are not counted"
            ),
            StopReason::Engine(text) => write!(f, "the search could not run its threads: {text}"),
        }
    }
}

/// A run of a system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path<S> {
    /// Where it begins.
    pub initial: S,
    /// What happens, and the state after it.
    pub steps: Vec<(Action, S)>,
}

impl<S> Path<S> {
    /// The state at the end.
    pub fn last(&self) -> &S {
        self.steps.last().map_or(&self.initial, |(_, state)| state)
    }
}

/// An endless run: a path, and then the same again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lasso<S> {
    /// Which pursuit starves ([`System::pursuits`]).
    pub pursuit: usize,
    /// A shortest path to where it may go round.
    pub stem: Path<S>,
    /// One round, in bare states: from the stem's last one back to it. Empty if nothing at all
    /// happens any more.
    pub round: Vec<(Action, S)>,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exploration<S> {
    /// Distinct states.
    pub states: u64,
    /// Transitions, those to known states included; transitions that overflow
    /// are not counted, since they lead nowhere.
    pub transitions: u64,
    /// The length of the longest shortest path from an initial state.
    pub depth: u32,
    /// All that was asked was answered about all reachable states. Without
    /// this, `None` below means unknown.
    pub complete: bool,
    /// Why not, if not complete.
    pub stop_reason: Option<StopReason>,
    /// The reasons for which transitions overflowed; 0 if none did.
    pub overflow: u8,
    /// For each property a shortest path whose last transition violates it.
    pub violations: Vec<Option<Path<S>>>,
    /// For each branching property a shortest path to a state from which no way
    /// without faults leads to its goal, if [`ExploreOptions::branching`] asked for it.
    pub stuck: Vec<Option<Path<S>>>,
    /// Why nothing is known of a branching property though the search is complete.
    pub undecided: Vec<Option<StopReason>>,
    /// An endless fair run that starves somebody, if [`ExploreOptions::fair`] asked for it.
    pub starved: Option<Lasso<S>>,
    /// Why nothing is known of such runs though the search is complete.
    pub fair_undecided: Option<StopReason>,
}

impl<S> Exploration<S> {
    /// The same with other states.
    pub fn map<T>(self, to: impl Fn(&S) -> T) -> Exploration<T> {
        let path = |path: Path<S>| Path {
            initial: to(&path.initial),
            steps: path
                .steps
                .iter()
                .map(|(action, state)| (*action, to(state)))
                .collect(),
        };
        let paths =
            |paths: Vec<Option<Path<S>>>| paths.into_iter().map(|one| one.map(&path)).collect();
        Exploration {
            states: self.states,
            transitions: self.transitions,
            depth: self.depth,
            complete: self.complete,
            stop_reason: self.stop_reason,
            overflow: self.overflow,
            violations: paths(self.violations),
            stuck: paths(self.stuck),
            undecided: self.undecided,
            starved: self.starved.map(|lasso| Lasso {
                pursuit: lasso.pursuit,
                stem: path(lasso.stem),
                round: lasso
                    .round
                    .iter()
                    .map(|(action, state)| (*action, to(state)))
                    .collect(),
            }),
            fair_undecided: self.fair_undecided,
        }
    }
}

/// Searches `system`, and reports `progress` once a level and at least once a
/// million states. Never panics: a panic of the system becomes a
/// [`StopReason`].
pub fn explore<Y: System + 'static>(
    system: Arc<Y>,
    options: ExploreOptions,
    progress: impl Fn(Progress) + Send + Sync + 'static,
) -> Exploration<Y::State> {
    let search = catch_panic(|| Search::run(&system, &options, Box::new(progress)));
    let search = match search
        .map_err(StopReason::Panicked)
        .and_then(|search| search)
    {
        Ok(search) => search,
        Err(reason) => return Exploration::nothing(reason),
    };
    search.conclude(&system, &options)
}

/// A search that has ended, before its states are asked for paths.
struct Search<S> {
    totals: Totals,
    searched: Vec<Searched<S>>,
    properties: usize,
}

impl<S: Copy + Ord + std::hash::Hash + Send + Sync> Search<S> {
    fn run<Y: System<State = S> + 'static>(
        system: &Arc<Y>,
        options: &ExploreOptions,
        progress: Box<dyn Fn(Progress) + Send + Sync>,
    ) -> Result<Self, StopReason> {
        let properties = system.properties().len();
        let all = (0..properties.min(32)).fold(0, |all, property| all | 1 << property);
        let ledger = Arc::new(Ledger::new(options.states_max, options.goal, all, progress));
        let initial = system.initial();
        let workers = match options.workers {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            workers => workers,
        };
        let engine = |index| {
            Engine::new(
                Arc::clone(system),
                Arc::clone(&ledger),
                (index, workers),
                &initial,
            )
        };
        let engines = (0..workers).map(engine).collect();
        let should_stop = Arc::clone(&options.should_stop);
        let searched =
            dataflow::run(engines, Arc::clone(&ledger), should_stop).map_err(StopReason::Engine)?;
        Ok(Search {
            totals: ledger.totals(),
            searched,
            properties,
        })
    }

    /// Adds paths, and the answers on branching properties and on endless runs.
    fn conclude<Y: System<State = S> + 'static>(
        self,
        system: &Arc<Y>,
        options: &ExploreOptions,
    ) -> Exploration<S> {
        let mut stop = self.totals.stop.clone();
        let count = system.branching().len();
        let (mut stuck, mut undecided) = (vec![None; count], vec![None; count]);
        if stop.is_none() {
            match answers(system, &self.searched, options) {
                Ok(answers) => {
                    for (goal, answer) in answers.into_iter().enumerate() {
                        match answer {
                            None | Some(Answer::Free) => {}
                            Some(Answer::Stuck(level, state)) => stuck[goal] = Some((level, state)),
                            Some(Answer::Unsure(reason)) => undecided[goal] = Some(reason),
                        }
                    }
                }
                Err(reason) => stop = Some(reason),
            }
        }
        let (mut circle, mut fair_undecided) = (None, None);
        if stop.is_none() && options.fair {
            match catch_panic(|| fair::fate(&**system, &self.searched, &options.should_stop)) {
                Ok(Ok(Fate::Nobody)) => {}
                Ok(Ok(Fate::Starves(found))) => circle = Some(found),
                Ok(Ok(Fate::Unsure(reason))) => fair_undecided = Some(reason),
                Ok(Err(text)) | Err(text) => fair_undecided = Some(StopReason::Panicked(text)),
            }
        }
        let found: Vec<_> = (0..self.properties)
            .map(|property| self.least(property))
            .collect();
        let ends = found
            .iter()
            .flatten()
            .map(|found| (found.depth, found.from));
        let entry = circle.iter().map(|circle| (circle.level, circle.entry));
        let targets = ends.chain(stuck.iter().flatten().copied()).chain(entry);
        let targets: Vec<_> = targets.collect();
        let paths = match trace::paths(&**system, &self.searched, &targets, &options.give_up) {
            Ok(Some(paths)) => paths,
            Ok(None) => {
                stop = Some(StopReason::Stopped);
                Vec::new()
            }
            Err(text) => {
                stop = Some(StopReason::Panicked(text));
                Vec::new()
            }
        };
        let mut paths = paths.into_iter();
        let violations = found
            .iter()
            .map(|found| found.and_then(|found| Some(found.end(paths.next()?))))
            .collect();
        let stuck = stuck
            .into_iter()
            .map(|stuck| stuck.and_then(|_| paths.next()))
            .collect();
        Exploration {
            states: self.totals.states,
            transitions: self.totals.transitions,
            depth: self.totals.depth,
            complete: stop.is_none(),
            stop_reason: stop,
            overflow: self.totals.overflow,
            violations,
            stuck,
            undecided,
            starved: circle.and_then(|circle| {
                Some(Lasso {
                    pursuit: circle.pursuit,
                    stem: paths.next()?,
                    round: circle.round,
                })
            }),
            fair_undecided,
        }
    }

    /// The least of what the workers found against a property.
    fn least(&self, property: usize) -> Option<Found<S>> {
        self.searched
            .iter()
            .filter_map(|searched| searched.found.get(property).copied().flatten())
            .min()
    }
}

impl<S> Found<S> {
    /// The path to the source with the violating transition at its end.
    fn end(self, mut path: Path<S>) -> Path<S> {
        path.steps.push((self.action, self.to));
        path
    }
}

impl<S> Exploration<S> {
    fn nothing(reason: StopReason) -> Self {
        Exploration {
            states: 0,
            transitions: 0,
            depth: 0,
            complete: false,
            stop_reason: Some(reason),
            overflow: 0,
            violations: Vec::new(),
            stuck: Vec::new(),
            undecided: Vec::new(),
            starved: None,
            fair_undecided: None,
        }
    }
}

/// Runs code of the system's; its panic becomes an error.
pub(super) fn catch_panic<T>(task: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(task)).map_err(|panic| panic_text(&*panic))
}

fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it gave no message".to_owned())
}
