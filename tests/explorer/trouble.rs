//! A branching property that is asked in lasting trouble, on a machine with a known answer.

use std::sync::Arc;

use lockproof_model::check::{Exploration, ExploreOptions, StopReason, explore};
use lockproof_model::world::{Action, System, Transition, Trouble};

/// A pump that stands still for up to two ticks after a fault, while a tank fills; whoever waits for
/// the tank needs five ticks.
#[derive(Clone, Copy)]
struct Pump {
    /// A second pump fills the tank meanwhile.
    spare: bool,
}

/// Level of the tank in the low byte, ticks of standing still in the high one.
const FULL: u16 = 5;
const STILL: u16 = 1 << 8;

impl Pump {
    fn step(state: u16, action: u32, fault: bool, goals: u8) -> Transition<u16> {
        Transition {
            action: Action(action),
            state,
            violates: 0,
            fault,
            goals,
            overflow: 0,
        }
    }

    fn tick(&self, state: u16, visit: &mut impl FnMut(Transition<u16>)) {
        let (level, still) = (state & 255, state & !255);
        let fills = u16::from(still == 0 || self.spare);
        let level = (level + fills).min(FULL);
        let still = if still > 0 { still + STILL } else { 0 };
        visit(Self::step(still | level, 0, false, 0));
    }
}

impl System for Pump {
    type State = u16;

    fn initial(&self) -> Vec<u16> {
        vec![0]
    }

    fn successors(&self, state: &u16, visit: &mut impl FnMut(Transition<u16>)) {
        let (level, still) = (state & 255, state & !255);
        // At its bound time waits for the repair.
        if still < 3 * STILL {
            self.tick(*state, visit);
        }
        if still == 0 && level == 0 {
            visit(Self::step(STILL | level, 1, true, 0));
        }
        if still > 0 {
            visit(Self::step(level, 2, false, 0));
        }
        if level == FULL {
            visit(Self::step(still, 3, false, 0b11));
        }
    }

    fn properties(&self) -> Vec<String> {
        Vec::new()
    }

    fn branching(&self) -> Vec<String> {
        vec!["some day".into(), "though it stands still".into()]
    }

    fn asked_in_trouble(&self, goal: usize) -> Option<usize> {
        (goal == 1).then_some(0)
    }

    fn trouble(&self, state: &u16) -> Trouble<u16> {
        match state & !255 {
            0 => Trouble::None,
            _ => Trouble::Lasting(state & 255 | STILL),
        }
    }

    fn lasting(&self, state: &u16, visit: &mut impl FnMut(Transition<u16>)) {
        self.successors(state, &mut |mut next| {
            if !next.fault && next.action != Action(2) {
                next.state = next.state & 255 | STILL;
                visit(next);
            }
        });
    }

    fn describe(&self, state: &u16, action: Action) -> String {
        format!("{state} does {}", action.0)
    }
}

fn asked(pump: Pump, branching: u8) -> Exploration<u16> {
    let options = ExploreOptions {
        workers: 2,
        branching,
        ..ExploreOptions::default()
    };
    explore(Arc::new(pump), options, |_| {})
}

const ALONE: Pump = Pump { spare: false };
const WITH_A_SPARE: Pump = Pump { spare: true };

#[test]
fn what_only_a_repair_makes_possible_is_possible_some_day_and_not_while_it_lasts() {
    let found = asked(ALONE, 0b11);
    assert!(found.complete);
    assert_eq!(found.stuck[0], None);
    let stuck = found.stuck[1].as_ref().unwrap();
    assert_eq!((stuck.steps.len(), *stuck.last()), (1, STILL));
}

#[test]
fn time_goes_on_in_lasting_trouble_beyond_what_the_search_let_pass() {
    // Five ticks are needed, and the search lets two pass before the repair.
    let found = asked(WITH_A_SPARE, 0b11);
    assert_eq!((found.complete, &found.stuck), (true, &vec![None, None]));
    assert_eq!(found.undecided, [None, None]);
}

#[test]
fn the_two_can_be_asked_alone_and_nothing_else_of_the_search_changes() {
    for pump in [ALONE, WITH_A_SPARE] {
        let both = asked(pump, 0b11);
        let [plain, lasting] = [0b01, 0b10].map(|one| asked(pump, one));
        assert_eq!(
            [&plain.stuck[0], &lasting.stuck[1]],
            [&both.stuck[0], &both.stuck[1]]
        );
        assert_eq!([&plain.stuck[1], &lasting.stuck[0]], [&None, &None]);
        assert_eq!((plain.states, lasting.states), (both.states, both.states));
    }
}

#[test]
fn a_way_that_may_lead_over_an_overflow_leaves_that_property_alone_unknown() {
    let slow = Slow(ALONE);
    let options = ExploreOptions {
        workers: 1,
        branching: 0b11,
        ..ExploreOptions::default()
    };
    let found = explore(Arc::new(slow), options, |_| {});
    assert_eq!((found.complete, &found.stuck), (true, &vec![None, None]));
    assert_eq!(found.undecided, [None, Some(StopReason::Overflow(1))]);
}

/// The pump alone, in a model that holds no time in lasting trouble.
struct Slow(Pump);

impl System for Slow {
    type State = u16;
    fn initial(&self) -> Vec<u16> {
        self.0.initial()
    }
    fn successors(&self, state: &u16, visit: &mut impl FnMut(Transition<u16>)) {
        self.0.successors(state, visit);
    }
    fn properties(&self) -> Vec<String> {
        self.0.properties()
    }
    fn branching(&self) -> Vec<String> {
        self.0.branching()
    }
    fn asked_in_trouble(&self, goal: usize) -> Option<usize> {
        self.0.asked_in_trouble(goal)
    }
    fn trouble(&self, state: &u16) -> Trouble<u16> {
        self.0.trouble(state)
    }
    fn lasting(&self, state: &u16, visit: &mut impl FnMut(Transition<u16>)) {
        self.0.lasting(state, &mut |mut next| {
            next.overflow = 1;
            visit(next);
        });
    }
    fn describe(&self, state: &u16, action: Action) -> String {
        self.0.describe(state, action)
    }
}
