//! Any [`System`] as a `stateright::Model`: its checkers, its simulation and its
//! Explorer web page.
//!
//! It stands beside [`super::explore`] as a second opinion written by others
//! (tests hold the two to the same counts and verdicts) and as a page on which a
//! person walks through a model.
//!
//! The two do not mean the same by a violation. Ours are flags of transitions;
//! stateright judges states. So the adapter says of a *state* that it violates a
//! property if some transition out of it does: a path of stateright's ends one
//! step before ours, and verdicts agree. Rejected: to carry the flags in the
//! state that a transition leads to. Either they count in its identity, and the
//! state counts grow, or they do not, and a violating transition to a state that
//! is known already is never seen. On the Explorer page nobody compares counts, and
//! a counterexample should end at its violation: there the flags are carried.
//!
//! Transitions that overflow lead nowhere here too.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use stateright::{Model, Property};

use super::Path;
use super::explore::catch_panic;
use crate::world::{Action, PropertySet, System, Transition};

/// What the Explorer page shows and says beside the system's own words.
pub trait Guide<S>: Send + Sync {
    /// A drawing of the path to a state that is looked at, as SVG.
    fn draw(&self, path: &Path<S>) -> String;

    /// What a transition does, in a line; `None` leaves that to the system.
    fn action(&self, _step: &Edge<S>) -> Option<String> {
        None
    }

    /// What is so after a transition; `None` shows the state.
    fn outcome(&self, _step: &Edge<S>) -> Option<String> {
        None
    }
}

impl<S, F: Fn(&Path<S>) -> String + Send + Sync> Guide<S> for F {
    fn draw(&self, path: &Path<S>) -> String {
        self(path)
    }
}

/// A system as stateright sees it.
pub struct Adapter<Y: System> {
    system: Arc<Y>,
    properties: Vec<Property<Self>>,
    guide: Option<Box<dyn Guide<Y::State>>>,
}

impl<Y: System> Adapter<Y> {
    /// Wraps a system. Only its first 32 properties are checked, as there are no
    /// bits for more.
    pub fn new(system: Arc<Y>) -> Self {
        let names = system.properties();
        let always = names
            .iter()
            .zip(conditions::<Y>())
            .map(|(name, holds)| Property::always(forever(name), holds));
        let properties = always
            .chain([Property::always(EXPLORED, |_, _| true)])
            .collect();
        Adapter {
            system,
            properties,
            guide: None,
        }
    }

    /// For the Explorer page: with a guide, and with paths that end at the violation. A state counts
    /// once for each set of properties that a transition to it violates.
    pub fn guided(self, guide: Box<dyn Guide<Y::State>>) -> Self {
        Adapter {
            guide: Some(guide),
            ..self
        }
    }

    fn violated_from(&self, node: &Node<Y::State>) -> PropertySet {
        *node.violated.get_or_init(|| {
            let mut violated = 0;
            self.system
                .successors(&node.state, &mut |next| violated |= next.violates);
            violated
        })
    }

    fn holds<const PROPERTY: usize>(&self, node: &Node<Y::State>) -> bool {
        let violated = match &self.guide {
            Some(_) => node.arrived,
            None => self.violated_from(node),
        };
        violated >> PROPERTY & 1 == 0
    }
}

/// A property that always holds. stateright does not expand a state that violates
/// every property, and with none it expands nothing at all; with this one it
/// visits what there is to visit.
pub const EXPLORED: &str = "(the whole space is explored)";

/// A condition of stateright's is a plain function: it cannot be told which
/// property it is for, so there is one for each bit.
type Condition<Y> = fn(&Adapter<Y>, &Node<<Y as System>::State>) -> bool;

macro_rules! conditions {
    ($($bit:literal)*) => { [$(Adapter::<Y>::holds::<$bit> as Condition<Y>),*] };
}

fn conditions<Y: System>() -> [Condition<Y>; 32] {
    conditions!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31)
}

/// stateright wants names that live for ever. Each distinct one is leaked once.
fn forever(name: &str) -> &'static str {
    static NAMES: OnceLock<Mutex<BTreeSet<&'static str>>> = OnceLock::new();
    let mut names = NAMES
        .get_or_init(Mutex::default)
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let new: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(new);
    new
}

/// A state, and what transitions out of it violate, once somebody asked. The
/// latter is derived and counts neither in equality nor in the hash.
#[derive(Clone)]
pub struct Node<S> {
    /// The system's state.
    pub state: S,
    /// What the transition to it violated, on the Explorer page; empty elsewhere.
    arrived: PropertySet,
    violated: OnceLock<PropertySet>,
}

impl<S> Node<S> {
    /// A node of which nothing was asked yet.
    pub fn new(state: S) -> Self {
        Node {
            state,
            arrived: 0,
            violated: OnceLock::new(),
        }
    }
}

impl<S: PartialEq> PartialEq for Node<S> {
    fn eq(&self, other: &Self) -> bool {
        (&self.state, self.arrived) == (&other.state, other.arrived)
    }
}

impl<S: Eq> Eq for Node<S> {}

impl<S: Hash> Hash for Node<S> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.state, self.arrived).hash(hasher);
    }
}

impl<S: fmt::Debug> fmt::Debug for Node<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}

/// A transition as an action of stateright's. It holds both ends, so that the
/// next state need not be looked for again and a name can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge<S> {
    /// The state before.
    pub from: S,
    /// The transition.
    pub transition: Transition<S>,
}

impl<Y: System> Model for Adapter<Y> {
    type State = Node<Y::State>;
    type Action = Edge<Y::State>;

    fn init_states(&self) -> Vec<Self::State> {
        self.system.initial().into_iter().map(Node::new).collect()
    }

    fn actions(&self, node: &Self::State, actions: &mut Vec<Self::Action>) {
        let from = node.state;
        self.system.successors(&from, &mut |transition| {
            if transition.overflow == 0 {
                actions.push(Edge { from, transition });
            }
        });
    }

    fn next_state(&self, _: &Self::State, step: Self::Action) -> Option<Self::State> {
        let carried = self.guide.as_ref().map(|_| step.transition.violates);
        Some(Node {
            arrived: carried.unwrap_or(0),
            ..Node::new(step.transition.state)
        })
    }

    fn format_action(&self, step: &Self::Action) -> String {
        let told = self.guide.as_ref().and_then(|guide| guide.action(step));
        told.unwrap_or_else(|| self.system.describe(&step.from, step.transition.action))
    }

    fn format_step(&self, _: &Self::State, step: Self::Action) -> Option<String> {
        let names = self.properties.iter().enumerate();
        let violated = names.filter(|(bit, _)| step.transition.violates >> bit & 1 == 1);
        let violated: String = violated
            .map(|(_, property)| format!("violates {}\n", property.name))
            .collect();
        let told = self.guide.as_ref().and_then(|guide| guide.outcome(&step));
        let state = told.unwrap_or_else(|| format!("{:#?}", step.transition.state));
        Some(format!("{violated}{state}"))
    }

    fn as_svg(&self, path: stateright::Path<Self::State, Self::Action>) -> Option<String> {
        let guide = self.guide.as_ref()?;
        Some(guide.draw(&path_of(path)?))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        self.properties.clone()
    }
}

/// A path of stateright's as ours. None if it has no state, which stateright
/// rules out.
pub fn path_of<S: Copy>(path: stateright::Path<Node<S>, Edge<S>>) -> Option<Path<S>> {
    let mut nodes = path.into_vec().into_iter();
    let (first, mut taken) = nodes.next()?;
    let mut steps: Vec<(Action, S)> = Vec::new();
    for (node, next) in nodes {
        steps.extend(taken.map(|step| (step.transition.action, node.state)));
        taken = next;
    }
    Some(Path {
        initial: first.state,
        steps,
    })
}

/// Why the Explorer page could not be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The page shows files of the working directory to anybody who asks.
    #[error("{0} is not a loopback address; use 127.0.0.1 or ::1")]
    NotLoopback(SocketAddr),
    /// The address is taken or not ours.
    #[error("cannot listen on {address}: {source}; choose another port")]
    Bind {
        /// Where it should have listened.
        address: SocketAddr,
        /// What the operating system says.
        source: std::io::Error,
    },
    /// The server or the system gave up.
    #[error("the Explorer page ended: {0}")]
    Ended(String),
}

/// Where the page can be served, asked before anything is built: at this address, with a port that
/// is free if it has port 0.
///
/// # Errors
/// If the address is none of this machine alone, or is taken.
pub fn can_listen(address: SocketAddr) -> Result<SocketAddr, ServeError> {
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(address));
    }
    let bound = TcpListener::bind(address).and_then(|bound| bound.local_addr());
    bound.map_err(|source| ServeError::Bind { address, source })
}

/// Serves stateright's Explorer page until the process ends.
///
/// This is the one place in `check` that does IO, and the IO is stateright's.
/// Note that it prefers page files in `./ui` of the working directory, if there
/// are any, to its own.
pub fn serve_explorer<Y: System + 'static>(
    system: Arc<Y>,
    address: SocketAddr,
    guide: Box<dyn Guide<Y::State>>,
) -> Result<Infallible, ServeError> {
    // stateright panics when it cannot bind. Trying first turns the likely case
    // into an error that says what to do.
    let address = can_listen(address)?;
    let model = Adapter::new(system).guided(guide);
    let served = catch_panic(|| drop(model.checker().serve(address)));
    Err(ServeError::Ended(
        served
            .err()
            .unwrap_or_else(|| "its server stopped".to_owned()),
    ))
}
