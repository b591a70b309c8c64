//! What can happen in a state: `World` as a transition system.
//!
//! The rules, and what each fault switch adds to them, are told in
//! docs/model.md; this module is their exact form, a file a theme. A `Successor` is
//! one transition in the making: a copy of the state that the rule edits, and
//! the flags that properties raise on the way.

mod clients;
mod failover;
mod fairness;
mod fences;
mod held;
mod lease;
mod min_replicas;
mod network;
mod node_down;
mod nodes;
mod objects;
mod partition;
mod properties;
mod queue;
mod release;
mod subscriptions;
mod telling;
mod time;
mod trouble;
mod wait;
mod watches;

use super::catalogue::{Branching, Fault, Safety};
use super::config::SLOTS;
use super::layout::State;
use super::log::{Log, Note, Notes, Unread};
use super::moves::Move;
use super::system::{Action, Demands, GoalSet, PropertySet, System, Transition, Trouble};
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

/// Something happened of which the model can say nothing; the world's
/// [`Reached`](crate::world::Reached) knows what.
pub const OVERFLOW_POISON: u8 = 32;

/// A server holds more old tokens, or older times, than can be told apart.
pub const OVERFLOW_BLURRED: u8 = 64;

/// More happens after a release than the search for an acquire follows.
pub const OVERFLOW_RELEASE: u8 = 128;

/// In the making, a release reported success and left no hold.
const RELEASED: PropertySet = 1 << 31;

pub use fairness::Pursuit;
pub(super) use fairness::pursuits;
pub(super) use release::Frees;
pub(super) use telling::{TellingFields, fields as telling_fields};
pub(crate) use trouble::repairs;
use trouble::visit_lasting;

/// The overflow bits in words. What a poison is says the world.
pub fn overflow_reason(overflow: u8) -> String {
    let reasons = [
        (
            OVERFLOW_SLOTS,
            "more messages of one client in flight than the model holds",
        ),
        (
            OVERFLOW_COUNTER,
            "a counter, a collection or a text in Redis grew beyond what the model holds",
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
            OVERFLOW_BLURRED,
            "a server holds more old tokens, or older times, than the model tells apart",
        ),
        (
            OVERFLOW_RELEASE,
            "more can happen after a release than the check of release-frees follows",
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

/// Who is told of each transition. Behind a pointer, or each of those who ask would get
/// the rules compiled once more.
type Visit<'v, L> = dyn FnMut(Transition<State>, L) + 'v;

impl System for World {
    type State = State;

    fn initial(&self) -> Vec<State> {
        vec![self.start()]
    }

    fn successors(&self, state: &State, visit: &mut impl FnMut(Transition<State>)) {
        self.transitions(state, &mut |mut transition, Unread| {
            self.judge_release(&mut transition);
            self.judge_rest(state, &mut transition);
            visit(transition);
        });
    }

    fn edges(&self, state: &State, visit: &mut impl FnMut(Transition<State>)) {
        self.transitions(state, &mut |transition, Unread| visit(transition));
    }

    fn properties(&self) -> Vec<String> {
        Safety::ALL.map(|one| one.info().id.to_owned()).to_vec()
    }

    fn branching(&self) -> Vec<String> {
        Branching::ALL.map(|one| one.info().id.to_owned()).to_vec()
    }

    fn excused(&self, state: &State) -> bool {
        (0..self.clients.len()).all(|client| self.crashed(state, client))
    }

    /// Without budgets of faults, and without what only safety properties remember. (An
    /// old server that may come back once more may do so only for another promotion.)
    fn bare(&self, state: &State) -> State {
        state.masked(&self.bare)
    }

    fn asked_in_trouble(&self, goal: usize) -> Option<usize> {
        (goal == Branching::FaultTolerance as usize).then_some(Branching::DeadlockFreedom as usize)
    }

    fn trouble(&self, state: &State) -> Trouble<State> {
        self.trouble_of(state)
    }

    fn lasting(&self, state: &State, visit: &mut impl FnMut(Transition<State>)) {
        self.transitions(state, &mut |transition, Unread| {
            visit_lasting(self, transition, visit)
        });
    }

    fn pursuits(&self) -> usize {
        self.pursuits.len()
    }

    fn pursues(&self, pursuit: usize, state: &State) -> bool {
        self.is_pursued(self.pursuits[pursuit], state)
    }

    fn demands(&self, pursuit: usize) -> Demands {
        self.demands_of(self.pursuits[pursuit])
    }

    fn open(&self, state: &State) -> Demands {
        self.always_open(state)
    }

    fn meets(&self, state: &State, next: &Transition<State>) -> Option<u8> {
        self.meets_by(state, next.action)
    }

    fn may_happen(&self, next: &Transition<State>) -> bool {
        self.may_happen_by(next.action)
    }

    fn describe(&self, _state: &State, action: Action) -> String {
        Move::decode(action).map_or_else(|| format!("{action:?}"), |step| format!("{step:?}"))
    }
}

impl World {
    /// What this action does when it leads from one state to the other, and all that it
    /// violates; `None` if it does not lead there.
    pub(super) fn follow(
        &self,
        before: &State,
        action: Action,
        after: &State,
    ) -> Option<(PropertySet, Vec<Note>)> {
        let mut found = None;
        let mut violates = 0;
        self.transitions(before, &mut |mut transition, Notes(notes)| {
            if transition.action == action && transition.state == *after {
                self.judge_release(&mut transition);
                self.judge_rest(before, &mut transition);
                violates |= transition.violates;
                found.get_or_insert(notes);
            }
        });
        found.map(|notes| (violates, notes))
    }

    /// Every transition, before releases are judged.
    fn transitions<L: Log>(&self, state: &State, visit: &mut Visit<'_, L>) {
        let open = |client| Some((client, self.open_thread(state, client)?));
        if let Some((client, thread)) = (0..self.clients.len()).find_map(open) {
            self.choices(state, client, thread, visit);
            return;
        }
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
}

/// A transition in the making.
#[derive(Clone)]
struct Successor<'w, L> {
    world: &'w World,
    state: State,
    violates: PropertySet,
    fault: bool,
    goals: GoalSet,
    overflow: u8,
    /// Requests that the client has just sent, each with what is in flight of it (0 if
    /// nothing is), and how many.
    sent: [(usize, usize); SLOTS],
    sends: usize,
    log: L,
}

impl<'w, L: Log> Successor<'w, L> {
    fn from(world: &'w World, state: &State) -> Self {
        Successor {
            world,
            state: *state,
            violates: 0,
            fault: false,
            goals: 0,
            overflow: 0,
            sent: [(0, 0); SLOTS],
            sends: 0,
            log: L::default(),
        }
    }

    /// A step that spends one of a fault's budget.
    fn fault(world: &'w World, state: &State, fault: Fault) -> Self {
        let mut step = Successor::from(world, state);
        world.spend(&mut step.state, fault);
        step.fault = true;
        step
    }

    fn finish(mut self, step: Move, visit: &mut Visit<'_, L>) {
        self.swallow();
        self.close_ranks();
        self.close_what_was_given_up();
        self.watch_holders();
        self.watch_telling();
        let transition = Transition {
            action: step.encode(),
            state: self.state,
            violates: self.violates,
            fault: self.fault,
            goals: self.goals,
            overflow: self.overflow,
        };
        visit(transition, self.log);
    }

    fn violate(&mut self, property: Safety) {
        self.violates |= property.bit();
    }
}

impl World {
    /// What can be spent of a fault's budget now: nothing before its turn.
    pub(super) fn left(&self, state: &State, fault: Fault) -> usize {
        let off = !self.budget[fault as usize].exists();
        if off || usize::from(self.place[fault as usize]) > state.get(self.struck) {
            return 0;
        }
        self.budget_left(state, fault)
    }

    /// What can still be spent of a fault's budget, now or later.
    pub(super) fn budget_left(&self, state: &State, fault: Fault) -> usize {
        state.get(self.budget[fault as usize])
    }

    /// A fault strikes: the one that stands behind it in the order may follow.
    pub(super) fn spend(&self, state: &mut State, fault: Fault) {
        let field = self.budget[fault as usize];
        state.set(field, state.get(field) - 1);
        let struck = state.get(self.struck);
        if self.config.order.get(struck) == Some(&fault) {
            state.set(self.struck, struck + 1);
        }
    }
}
