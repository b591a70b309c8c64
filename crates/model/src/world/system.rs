//! A finite transition system with small fixed-size states: the seam between
//! the world (and test systems) and every explorer.

use std::fmt::Debug;
use std::hash::Hash;

/// A set of up to 32 properties (bit i = the i-th of [`System::properties`]).
pub type PropertySet = u32;

/// A set of up to 8 goals (bit i = that of the i-th of [`System::branching`]).
pub type GoalSet = u8;

/// What is broken in a state, to who asks what is possible while it stays so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble<S> {
    /// Nothing is.
    None,
    /// So much that nothing is asked of the state.
    TooMuch,
    /// Something is; the state, bare, and without how long it has been so.
    Lasting(S),
}

/// What a fair run does again and again (bit set). See [`System::pursuits`].
pub type Demands = u64;

/// A transition system. Implementations are read-only tables: `successors`
/// allocates nothing and may be called from several threads.
pub trait System: Send + Sync {
    /// A state: plain data, compared and hashed by value.
    type State: Copy + Eq + Ord + Hash + Debug + Send + Sync + 'static;

    /// The initial states, in a fixed order.
    fn initial(&self) -> Vec<Self::State>;

    /// Calls `visit` once for each transition out of `state`, always in the
    /// same order. Two transitions may lead to the same state.
    fn successors(&self, state: &Self::State, visit: &mut impl FnMut(Transition<Self::State>));

    /// The same transitions; what they violate need not be said.
    fn edges(&self, state: &Self::State, visit: &mut impl FnMut(Transition<Self::State>)) {
        self.successors(state, visit);
    }

    /// Names of the properties that transitions violate, in bit order.
    fn properties(&self) -> Vec<String>;

    /// Names of the properties of the whole graph, in the order of their goals' bits:
    /// from every reachable state a way without faults leads to the goal.
    fn branching(&self) -> Vec<String>;

    /// Whether the branching properties ask nothing of this state, for instance
    /// because no client is left that could acquire.
    fn excused(&self, _state: &Self::State) -> bool {
        false
    }

    /// A state that is as good as this one for branching properties, without what they
    /// do not depend on. It is bare itself and excused if this one is; without faults, the
    /// two reach the same goals, and what they lead to has the same bare states.
    fn bare(&self, state: &Self::State) -> Self::State {
        *state
    }

    /// The goal of this branching property, if not its own: that of another, which it asks for
    /// from states in trouble as well, while the trouble lasts.
    fn asked_in_trouble(&self, _goal: usize) -> Option<usize> {
        None
    }

    /// What is broken in a state.
    fn trouble(&self, _state: &Self::State) -> Trouble<Self::State> {
        Trouble::None
    }

    /// The transitions out of a state in lasting trouble in which neither a fault strikes nor
    /// anything is repaired; they lead to states in lasting trouble.
    fn lasting(&self, state: &Self::State, visit: &mut impl FnMut(Transition<Self::State>)) {
        self.edges(state, visit);
    }

    /// How many pursuits there are: somebody tries to get somewhere. A run starves a pursuit if
    /// from some state on it stays where [`System::pursues`] says that it goes on, strikes no
    /// fault, and does each of its [`System::demands`] again and again: by a transition that
    /// meets it, or by a state in which it is not open. All this depends on bare states only.
    fn pursuits(&self) -> usize {
        0
    }

    /// In this state, which is bare, the pursuit goes on, and has not got there.
    fn pursues(&self, _pursuit: usize, _state: &Self::State) -> bool {
        false
    }

    /// What a run must do again and again to starve the pursuit.
    fn demands(&self, _pursuit: usize) -> Demands {
        0
    }

    /// Demands that are open in a state even if no transition out of it meets them.
    fn open(&self, _state: &Self::State) -> Demands {
        0
    }

    /// The number of the demand that a transition meets. Where some transition out of a state
    /// does, the demand is open.
    fn meets(&self, _state: &Self::State, _next: &Transition<Self::State>) -> Option<u8> {
        None
    }

    /// Whether this fault may be none: it happens by itself in some of the runs that its state
    /// stands for, and in others it cannot.
    fn may_happen(&self, _next: &Transition<Self::State>) -> bool {
        false
    }

    /// One line for an action, for messages and the Explorer page.
    fn describe(&self, state: &Self::State, action: Action) -> String;
}

/// What happens in a transition; its meaning is the system's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Action(pub u32);

/// One transition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transition<S> {
    /// What happens.
    pub action: Action,
    /// The state after it.
    pub state: S,
    /// Properties that this transition, or the state after it, violates.
    pub violates: PropertySet,
    /// A fault strikes; liveness ("can acquire again") may not count on it.
    pub fault: bool,
    /// Goals of branching properties that it reaches.
    pub goals: GoalSet,
    /// The model's representation overflowed here (bit set of reasons): what is
    /// beyond was not explored, and no property can be said to hold.
    pub overflow: u8,
}
