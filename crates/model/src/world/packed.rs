//! The world over states of as many words as it uses.
//!
//! The rules know states of one size, so they are written and compiled once. A search
//! keeps millions of states and copies each of them many times; it gets no word more than
//! the world uses.

use std::sync::Arc;

use super::layout::Packed;
use super::system::{Action, Demands, System, Transition, Trouble};
use super::world::World;

/// The same system as its world, with states of `W` words.
pub struct Narrow<const W: usize>(pub Arc<World>);

fn narrow<const W: usize>(transition: Transition<super::layout::State>) -> Transition<Packed<W>> {
    Transition {
        state: Packed::of(&transition.state),
        action: transition.action,
        violates: transition.violates,
        fault: transition.fault,
        goals: transition.goals,
        overflow: transition.overflow,
    }
}

impl<const W: usize> System for Narrow<W> {
    type State = Packed<W>;

    fn initial(&self) -> Vec<Packed<W>> {
        self.0.initial().iter().map(Packed::of).collect()
    }

    fn successors(&self, state: &Packed<W>, visit: &mut impl FnMut(Transition<Packed<W>>)) {
        self.0
            .successors(&state.state(), &mut |transition| visit(narrow(transition)));
    }

    fn edges(&self, state: &Packed<W>, visit: &mut impl FnMut(Transition<Packed<W>>)) {
        self.0
            .edges(&state.state(), &mut |transition| visit(narrow(transition)));
    }

    fn properties(&self) -> Vec<String> {
        self.0.properties()
    }

    fn branching(&self) -> Vec<String> {
        self.0.branching()
    }

    fn excused(&self, state: &Packed<W>) -> bool {
        self.0.excused(&state.state())
    }

    fn bare(&self, state: &Packed<W>) -> Packed<W> {
        Packed::of(&self.0.bare(&state.state()))
    }

    fn asked_in_trouble(&self, goal: usize) -> Option<usize> {
        self.0.asked_in_trouble(goal)
    }

    fn trouble(&self, state: &Packed<W>) -> Trouble<Packed<W>> {
        match self.0.trouble(&state.state()) {
            Trouble::None => Trouble::None,
            Trouble::TooMuch => Trouble::TooMuch,
            Trouble::Lasting(state) => Trouble::Lasting(Packed::of(&state)),
        }
    }

    fn lasting(&self, state: &Packed<W>, visit: &mut impl FnMut(Transition<Packed<W>>)) {
        self.0
            .lasting(&state.state(), &mut |transition| visit(narrow(transition)));
    }

    fn pursuits(&self) -> usize {
        self.0.pursuits()
    }

    fn pursues(&self, pursuit: usize, state: &Packed<W>) -> bool {
        self.0.pursues(pursuit, &state.state())
    }

    fn demands(&self, pursuit: usize) -> Demands {
        self.0.demands(pursuit)
    }

    fn open(&self, state: &Packed<W>) -> Demands {
        self.0.open(&state.state())
    }

    fn meets(&self, state: &Packed<W>, next: &Transition<Packed<W>>) -> Option<u8> {
        self.0.meets_by(&state.state(), next.action)
    }

    fn may_happen(&self, next: &Transition<Packed<W>>) -> bool {
        self.0.may_happen_by(next.action)
    }

    fn describe(&self, state: &Packed<W>, action: Action) -> String {
        self.0.describe(&state.state(), action)
    }
}
