//! The branching properties that were asked for: one sweep for all that have a goal in common.
//!
//! A property may ask for the goal of another also from states in trouble, while the trouble lasts
//! ([`System::asked_in_trouble`]). Where nothing is broken the two ask the same, and nothing
//! breaks on a way without faults: so there the other's sweep has the answer. States in lasting
//! trouble are a system of their own. Time may pass in it that the search did not let pass, so
//! it is searched once more, from all of them at once, and swept.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::bare::collected;
use super::engine::Searched;
use super::sweep::{Sweeper, first, sweep};
use super::{ExploreOptions, Search, StopReason, catch_panic};
use crate::world::{Action, System, Transition, Trouble};

/// What is known of one property.
pub(super) enum Answer<S> {
    /// The goal can be reached from everywhere.
    Free,
    /// Not from this state, the least of this level.
    Stuck(u32, S),
    /// It could not be found out.
    Unsure(StopReason),
}

/// The answers, by property; `None` where nobody asked.
pub(super) type Answers<S> = Vec<Option<Answer<S>>>;

/// Answers what was asked, after a complete search.
pub(super) fn answers<Y: System + 'static>(
    system: &Arc<Y>,
    searched: &[Searched<Y::State>],
    options: &ExploreOptions,
) -> Result<Answers<Y::State>, StopReason> {
    let mut sweeps: BTreeMap<usize, Sweeper<'_, Y>> = BTreeMap::new();
    let mut answers = Vec::new();
    for goal in 0..system.branching().len() {
        if goal >= 8 || options.branching >> goal & 1 == 0 {
            answers.push(None);
            continue;
        }
        let base = system.asked_in_trouble(goal).unwrap_or(goal);
        if let Entry::Vacant(place) = sweeps.entry(base) {
            place.insert(swept(&**system, searched, base, options)?);
        }
        let plain = &sweeps[&base];
        answers.push(Some(match base == goal {
            true => {
                let stuck = |state: &Y::State| plain.is_stuck(state);
                let found = (!plain.free).then(|| first(searched, stuck)).flatten();
                found.map_or(Answer::Free, |(level, state)| Answer::Stuck(level, state))
            }
            false => {
                in_trouble(system, searched, (plain, base), options).unwrap_or_else(Answer::Unsure)
            }
        }));
    }
    Ok(answers)
}

fn swept<'a, Y: System>(
    system: &'a Y,
    searched: &[Searched<Y::State>],
    goal: usize,
    options: &ExploreOptions,
) -> Result<Sweeper<'a, Y>, StopReason> {
    let found = catch_panic(|| sweep(system, searched, goal, &options.should_stop));
    let found = found
        .and_then(|found| found)
        .map_err(StopReason::Panicked)?;
    found.ok_or(StopReason::Stopped)
}

fn in_trouble<Y: System + 'static>(
    system: &Arc<Y>,
    searched: &[Searched<Y::State>],
    (plain, goal): (&Sweeper<'_, Y>, usize),
    options: &ExploreOptions,
) -> Result<Answer<Y::State>, StopReason> {
    let troubled = catch_panic(|| {
        collected(searched, &options.should_stop, |state| {
            match system.trouble(state) {
                Trouble::None | Trouble::TooMuch => None,
                Trouble::Lasting(state) => Some(state),
            }
        })
    });
    let troubled = troubled
        .and_then(|found| found)
        .map_err(StopReason::Panicked)?;
    let troubled = troubled.ok_or(StopReason::Stopped)?;
    let states = troubled.iter().flat_map(|table| table.states());
    let states: Vec<Y::State> = states.copied().collect();
    drop(troubled);
    if states.is_empty() && plain.free {
        return Ok(Answer::Free);
    }
    let lasting = Arc::new(Lasting(Arc::clone(system), states));
    let again = catch_panic(|| Search::run(&lasting, options, Box::new(|_| ())));
    let again = again.map_err(StopReason::Panicked)??;
    let overflow = again.totals.overflow;
    if let Some(reason) = &again.totals.stop
        && overflow == 0
    {
        return Err(reason.clone());
    }
    let worse = swept(&*lasting, &again.searched, goal, options)?;
    let stuck = |state: &Y::State| match system.trouble(state) {
        Trouble::None => !plain.free && plain.is_stuck(state),
        Trouble::TooMuch => false,
        Trouble::Lasting(state) => worse.is_stuck(&state),
    };
    let found = match plain.free && worse.free {
        true => None,
        false => first(searched, stuck),
    };
    match found {
        None => Ok(Answer::Free),
        // A way may lead over what overflowed.
        Some(_) if overflow != 0 => Err(StopReason::Overflow(overflow)),
        Some((level, state)) => Ok(Answer::Stuck(level, state)),
    }
}

/// States in lasting trouble, and what can happen in them.
struct Lasting<Y: System>(Arc<Y>, Vec<Y::State>);

impl<Y: System> System for Lasting<Y> {
    type State = Y::State;

    fn initial(&self) -> Vec<Y::State> {
        self.1.clone()
    }

    fn successors(&self, state: &Y::State, visit: &mut impl FnMut(Transition<Y::State>)) {
        self.0.lasting(state, visit);
    }

    fn properties(&self) -> Vec<String> {
        Vec::new()
    }

    fn branching(&self) -> Vec<String> {
        self.0.branching()
    }

    fn describe(&self, state: &Y::State, action: Action) -> String {
        self.0.describe(state, action)
    }
}
