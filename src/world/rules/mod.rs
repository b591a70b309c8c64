//! What can happen in a state: `World` as a transition system.
//!
//! The rules, and what each fault switch adds to them, are told in
//! docs/model.md; this module is their exact form, a file a theme. A `Step` is
//! one transition in the making: a copy of the state that the rule edits, and
//! the flags that properties raise on the way.

mod clients;
mod failover;
mod min_replicas;
mod network;
mod nodes;
mod properties;
mod time;
mod wait;

use super::catalogue::{Fault, PROPERTIES, Property};
use super::layout::State;
use super::moves::Move;
use super::system::{Action, PropertySet, System, Transition};
use super::world::World;

/// Reasons why the representation overflowed, as bits of `Transition::overflow`.
pub const OVERFLOW_SLOTS: u8 = 1;

/// A counter in a keyspace grew beyond what the tables hold.
pub const OVERFLOW_COUNTER: u8 = 2;

/// More generations of one client's tokens than can be told apart.
pub const OVERFLOW_GENERATIONS: u8 = 4;

/// A table has no entry for what happened (an error of lockproof's own).
pub const OVERFLOW_TABLE: u8 = 8;

/// A WAIT whose answer depends on the server's version.
pub const OVERFLOW_WAIT: u8 = 16;

/// The overflow bits in words.
pub fn overflow_reason(overflow: u8) -> String {
    let reasons = [
        (
            OVERFLOW_SLOTS,
            "more messages of one client in flight than the model holds",
        ),
        (
            OVERFLOW_COUNTER,
            "a counter in Redis grew beyond what the model holds",
        ),
        (
            OVERFLOW_GENERATIONS,
            "too many old tokens of one client in flight",
        ),
        (
            OVERFLOW_TABLE,
            "a table entry is missing, which is an error in lockproof itself",
        ),
        (
            OVERFLOW_WAIT,
            "a WAIT follows a command that wrote nothing: Redis 7.0 and 8.2 disagree on what it asks for",
        ),
    ];
    let texts: Vec<&str> = reasons
        .iter()
        .filter(|(bit, _)| overflow & bit != 0)
        .map(|(_, text)| *text)
        .collect();
    texts.join("; ")
}

impl<const W: usize> System for World<W> {
    type State = State<W>;

    fn initial(&self) -> Vec<State<W>> {
        vec![self.start()]
    }

    fn successors(&self, state: &State<W>, visit: &mut impl FnMut(Transition<State<W>>)) {
        for client in 0..self.clients.len() {
            self.client_moves(state, client, visit);
            self.message_moves(state, client, visit);
        }
        for node in 0..self.nodes.len() {
            self.node_moves(state, node, visit);
        }
        self.link_moves(state, visit);
        self.tick_moves(state, visit);
    }

    fn properties(&self) -> Vec<String> {
        PROPERTIES
            .iter()
            .filter(|info| info.property != Property::DeadlockFreedom)
            .map(|info| info.id.to_owned())
            .collect()
    }

    fn excused(&self, state: &State<W>) -> bool {
        (0..self.clients.len()).all(|client| self.crashed(state, client))
    }

    fn describe(&self, _state: &State<W>, action: Action) -> String {
        Move::decode(action).map_or_else(|| format!("{action:?}"), |step| format!("{step:?}"))
    }
}

/// A transition in the making.
struct Step<'w, const W: usize> {
    world: &'w World<W>,
    state: State<W>,
    violates: PropertySet,
    fault: bool,
    progress: bool,
    overflow: u8,
}

impl<'w, const W: usize> Step<'w, W> {
    fn from(world: &'w World<W>, state: &State<W>) -> Self {
        Step {
            world,
            state: *state,
            violates: 0,
            fault: false,
            progress: false,
            overflow: 0,
        }
    }

    /// A step that spends one of a fault's budget.
    fn fault(world: &'w World<W>, state: &State<W>, fault: Fault) -> Self {
        let mut step = Step::from(world, state);
        world.spend(&mut step.state, fault);
        step.fault = true;
        step
    }

    fn finish(self, step: Move, visit: &mut impl FnMut(Transition<State<W>>)) {
        visit(Transition {
            action: step.encode(),
            state: self.state,
            violates: self.violates,
            fault: self.fault,
            progress: self.progress,
            overflow: self.overflow,
        });
    }

    fn violate(&mut self, property: Property) {
        self.violates |= property.bit();
    }
}

impl<const W: usize> World<W> {
    /// What can be spent of a fault's budget now: nothing before its turn.
    pub(super) fn left(&self, state: &State<W>, fault: Fault) -> usize {
        if usize::from(self.place[fault as usize]) > state.get(self.struck) {
            return 0;
        }
        self.budget_left(state, fault)
    }

    /// What can still be spent of a fault's budget, now or later.
    pub(super) fn budget_left(&self, state: &State<W>, fault: Fault) -> usize {
        state.get(self.budget[fault as usize])
    }

    /// A fault strikes: the one that stands behind it in the order may follow.
    pub(super) fn spend(&self, state: &mut State<W>, fault: Fault) {
        let field = self.budget[fault as usize];
        state.set(field, state.get(field) - 1);
        let struck = state.get(self.struck);
        if self.config.order.get(struck) == Some(&fault) {
            state.set(self.struck, struck + 1);
        }
    }
}
