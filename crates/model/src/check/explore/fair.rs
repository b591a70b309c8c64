//! Endless fair runs on which somebody starves, found exactly.
//!
//! A pursuit starves if some endless run stays for ever where it goes on without having got there,
//! without faults, and does each of its *demands* again and again ([`System::pursuits`]). States
//! are finitely many, so such a run comes to a strongly connected part of the graph and
//! stays in it; and a demand that is met in a part is met in each larger one. So it is enough to
//! look at the maximal strongly connected components of the graph without the transitions
//! that leave the pursuit: one of them that meets each demand, by a transition within it or by a
//! state where the demand is not open, can be walked in a circle that visits all of these; and if
//! none does, no run starves the pursuit. Weak fairness (a thing that can always be done is
//! done at last) is such a demand, so are "endlessly often" ones; strong fairness is none
//! and is not asked here. (Lichtenstein & Pnueli, Checking that finite state concurrent
//! programs satisfy their linear specification, POPL 1985; Emerson & Lei, Modalities for model
//! checking, 1987. Components: Tarjan 1972, with a stack of its own.)
//!
//! The graph is that of bare states, as for branching properties: whatever they leave out has no
//! part in runs without faults. It is generated once and kept, 5 bytes a transition; beyond a
//! limit the answer is *unsure*.
//!
//! Some transitions are faults that may be none ([`System::may_happen`]). They are left out at
//! first; if nobody starves without them and somebody with them, the answer is unsure too.
//!
//! Rejected: nested depth-first search (it needs a pass a demand, and finds long circles), and
//! stateright's `eventually`, which looks at acyclic paths alone and forgets those that meet a
//! known state (tests/explorer/fair.rs shows both).

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::bare::{Numbered, bare_states};
use super::engine::Searched;
use super::lasso;
use super::sweep::first;
use super::table::Hashed;
use super::trace::on_threads;
use super::{ShouldStop, StopReason};
use crate::world::{Action, Demands, System, Transition};

/// More transitions than these are not kept: they take 640 MiB.
const TRANSITIONS_MAX: usize = 1 << 27;
/// States that a thread takes at a time, and between two looks at the limits.
const BLOCK: usize = 4096;
/// A transition meets no demand.
const NOTHING: u8 = 0x7f;
/// A transition is a fault that may be none.
const UNSURE: u8 = 0x80;
/// A state is in no component.
pub(super) const NONE: u32 = u32::MAX;

/// What becomes of those who try.
pub(super) enum Fate<S> {
    /// Whoever keeps trying gets there.
    Nobody,
    Starves(Circle<S>),
    Unsure(StopReason),
}

/// Where an endless run goes round.
pub(super) struct Circle<S> {
    pub pursuit: usize,
    pub level: u32,
    /// A state as it was searched: the least of the least level.
    pub entry: S,
    /// From its bare state back to it.
    pub round: Vec<(Action, S)>,
}

/// Looks for the run with the shortest stem.
pub(super) fn fate<Y: System>(
    system: &Y,
    searched: &[Searched<Y::State>],
    should_stop: &ShouldStop,
) -> Result<Fate<Y::State>, String> {
    let stopped = Ok(Fate::Unsure(StopReason::Stopped));
    let Some(tables) = bare_states(system, searched, should_stop)? else {
        return stopped;
    };
    let graph = match Graph::generate(system, Numbered::new(tables)?, should_stop)? {
        Ok(graph) => graph,
        Err(reason) => return Ok(Fate::Unsure(reason)),
    };
    let unsure = graph.meets.iter().any(|meets| meets & UNSURE != 0);
    for with_unsure in [false, true] {
        if with_unsure && !unsure {
            break;
        }
        let mut best: Option<(u32, Y::State, usize, Vec<u32>)> = None;
        for pursuit in 0..system.pursuits() {
            let look = Look {
                system,
                graph: &graph,
                pursuit,
                with_unsure,
            };
            let Some(components) = look.starving(should_stop) else {
                return stopped;
            };
            if components.iter().all(|component| *component == NONE) {
                continue;
            }
            let starves = |state: &Y::State| components[graph.number(system, state)] != NONE;
            let found = first(searched, starves);
            if let Some((level, entry)) = found
                && best.as_ref().is_none_or(|(least, ..)| level < *least)
            {
                best = Some((level, entry, pursuit, components));
            }
        }
        let Some((level, entry, pursuit, components)) = best else {
            continue;
        };
        if with_unsure {
            return Ok(Fate::Unsure(StopReason::MayHappen));
        }
        let demands = system.demands(pursuit);
        let at = graph.number(system, &entry) as u32;
        let round = lasso::round(&graph, &components, at, demands);
        return Ok(Fate::Starves(Circle {
            pursuit,
            level,
            entry,
            round: graph.told(system, at, &round),
        }));
    }
    Ok(Fate::Nobody)
}

/// The transitions between bare states in which no fault strikes.
pub(super) struct Graph<S> {
    bare: Numbered<S>,
    /// Where each state's transitions begin; one more at the end.
    starts: Vec<u32>,
    to: Vec<u32>,
    /// The number of the demand that each meets, or [`NOTHING`]; with [`UNSURE`].
    meets: Vec<u8>,
    /// Demands that are open in each state.
    pub open: Vec<Demands>,
}

/// A part of a graph.
#[derive(Default)]
struct Part {
    /// How many transitions each state has.
    counts: Vec<u32>,
    to: Vec<u32>,
    meets: Vec<u8>,
    open: Vec<Demands>,
}

impl<S: Copy + Ord + std::hash::Hash + Send + Sync> Graph<S> {
    fn number<Y: System<State = S>>(&self, system: &Y, state: &S) -> usize {
        self.bare.number(&Hashed::new(system.bare(state)))
    }

    /// The transitions of a state that are no fault: where they lead, and the demands that
    /// they meet.
    pub fn from(&self, state: u32) -> impl Iterator<Item = (u32, Demands)> + '_ {
        let sure = |at: &usize| self.meets[*at] & UNSURE == 0;
        let range = self.range(state).filter(sure);
        range.map(|at| (self.to[at], bit(self.meets[at])))
    }

    fn range(&self, state: u32) -> std::ops::Range<usize> {
        let state = state as usize;
        self.starts[state] as usize..self.starts[state + 1] as usize
    }

    fn generate<Y: System<State = S>>(
        system: &Y,
        bare: Numbered<S>,
        should_stop: &ShouldStop,
    ) -> Result<Result<Graph<S>, StopReason>, String> {
        let blocks: Vec<(usize, usize)> = (bare.tables.iter().enumerate())
            .flat_map(|(table, states)| {
                let starts = (0..states.states().len()).step_by(BLOCK);
                starts.map(move |start| (table, start))
            })
            .collect();
        let parts: Vec<Mutex<Part>> = blocks.iter().map(|_| Mutex::default()).collect();
        let (next, kept) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let stopped = AtomicBool::new(false);
        let full = || kept.load(Ordering::Relaxed) > TRANSITIONS_MAX;
        let take = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(&(table, start)) = blocks.get(at) else {
                    return;
                };
                if full() || should_stop() {
                    stopped.store(true, Ordering::Relaxed);
                    return;
                }
                let states = bare.tables[table].states();
                let states = &states[start..states.len().min(start + BLOCK)];
                let part = part(system, &bare, states);
                kept.fetch_add(part.to.len(), Ordering::Relaxed);
                *parts[at].lock().unwrap_or_else(|error| error.into_inner()) = part;
            }
        };
        on_threads(bare.tables.len(), take)?;
        if full() {
            return Ok(Err(StopReason::Transitions(TRANSITIONS_MAX as u64)));
        }
        if stopped.into_inner() {
            return Ok(Err(StopReason::Stopped));
        }
        let (states, transitions) = (bare.count(), kept.into_inner());
        let mut graph = Graph {
            bare,
            starts: Vec::with_capacity(states + 1),
            to: Vec::with_capacity(transitions),
            meets: Vec::with_capacity(transitions),
            open: Vec::with_capacity(states),
        };
        for part in parts {
            let part = part.into_inner().unwrap_or_else(|error| error.into_inner());
            let mut start = graph.to.len() as u32;
            for count in part.counts {
                graph.starts.push(start);
                start += count;
            }
            graph.to.extend(part.to);
            graph.meets.extend(part.meets);
            graph.open.extend(part.open);
        }
        graph.starts.push(graph.to.len() as u32);
        Ok(Ok(graph))
    }

    /// The states of a way as they are, with what happens between them. Of several ways to get
    /// there it is the one that meets the demand: that is why the way leads there.
    fn told<Y: System<State = S>>(
        &self,
        system: &Y,
        from: u32,
        way: &[(u32, Demands)],
    ) -> Vec<(Action, S)> {
        let mut at = from;
        let mut told = Vec::new();
        for (next, met) in way {
            let here = self.bare.state(at as usize);
            let there = self.bare.state(*next as usize);
            let mut found = None;
            system.edges(here, &mut |step: Transition<S>| {
                let meets = bit(system.meets(here, &step).unwrap_or(NOTHING));
                let follows = !step.fault && step.overflow == 0 && meets == *met;
                if follows && system.bare(&step.state) == *there {
                    found.get_or_insert(step.action);
                }
            });
            told.extend(found.map(|action| (action, *there)));
            at = *next;
        }
        told
    }
}

/// Generates the transitions of some states.
fn part<Y: System>(system: &Y, bare: &Numbered<Y::State>, states: &[Y::State]) -> Part {
    let mut part = Part::default();
    for state in states {
        let (before, mut open) = (part.to.len(), system.open(state));
        system.edges(state, &mut |next: Transition<Y::State>| {
            let unsure = next.fault && system.may_happen(&next);
            if next.overflow != 0 || next.fault && !unsure {
                return;
            }
            let meets = system.meets(state, &next).unwrap_or(NOTHING);
            open |= bit(meets);
            let to = bare.number(&Hashed::new(system.bare(&next.state)));
            part.to.push(to as u32);
            part.meets.push(meets | if unsure { UNSURE } else { 0 });
        });
        part.counts.push((part.to.len() - before) as u32);
        part.open.push(open);
    }
    part
}

/// The demand with this number, if it is one.
fn bit(meets: u8) -> Demands {
    match meets & !UNSURE {
        NOTHING => 0,
        number => 1 << number,
    }
}

/// A look for one pursuit.
struct Look<'a, Y: System> {
    system: &'a Y,
    graph: &'a Graph<Y::State>,
    pursuit: usize,
    /// Faults that may be none are none.
    with_unsure: bool,
}

impl<Y: System> Look<'_, Y> {
    /// For each state the component in which the pursuit starves, or [`NONE`]; `None` if it was
    /// told to stop.
    fn starving(&self, should_stop: &ShouldStop) -> Option<Vec<u32>> {
        let states = 0..self.graph.bare.count();
        let pursued = |state| {
            self.system
                .pursues(self.pursuit, self.graph.bare.state(state))
        };
        let inside: Vec<bool> = states.clone().map(pursued).collect();
        let (mut components, count) = self.components(&inside, should_stop)?;
        let mut met = vec![0; count];
        let mut endless = vec![false; count];
        for state in states.clone().filter(|state| inside[*state]) {
            let component = components[state];
            let here = component as usize;
            met[here] |= !self.graph.open[state];
            // Where nothing can happen at all, nothing happens for ever.
            endless[here] |= self.graph.range(state as u32).is_empty();
            for at in self.edges(state as u32) {
                if components[self.graph.to[at] as usize] == component {
                    met[here] |= bit(self.graph.meets[at]);
                    endless[here] = true;
                }
            }
        }
        let demands = self.system.demands(self.pursuit);
        for component in &mut components {
            let starves = *component != NONE
                && endless[*component as usize]
                && demands & !met[*component as usize] == 0;
            if !starves {
                *component = NONE;
            }
        }
        Some(components)
    }

    fn edges(&self, state: u32) -> impl Iterator<Item = usize> + '_ {
        let mut range = self.graph.range(state);
        std::iter::from_fn(move || range.find(|at| self.follows(*at)))
    }

    fn follows(&self, at: usize) -> bool {
        self.with_unsure || self.graph.meets[at] & UNSURE == 0
    }

    /// The maximal strongly connected components of what is inside, and how many they are.
    fn components(&self, inside: &[bool], should_stop: &ShouldStop) -> Option<(Vec<u32>, usize)> {
        let graph = self.graph;
        let states = inside.len();
        // From 1, in the order in which they were come upon; 0 if they were not yet.
        let mut index = vec![0u32; states];
        let mut low = vec![0u32; states];
        let mut component = vec![NONE; states];
        let (mut open, mut path): (Vec<u32>, Vec<(u32, u32)>) = (Vec::new(), Vec::new());
        let (mut seen, mut count) = (0, 0);
        for root in (0..states as u32).filter(|root| inside[*root as usize]) {
            if index[root as usize] != 0 {
                continue;
            }
            path.push((root, graph.starts[root as usize]));
            while let Some((state, at)) = path.pop() {
                let here = state as usize;
                if index[here] == 0 {
                    seen += 1;
                    (index[here], low[here]) = (seen, seen);
                    open.push(state);
                    if (seen as usize).is_multiple_of(BLOCK) && should_stop() {
                        return None;
                    }
                }
                if at < graph.starts[here + 1] {
                    path.push((state, at + 1));
                    let to = graph.to[at as usize] as usize;
                    if !inside[to] || !self.follows(at as usize) {
                        continue;
                    }
                    if index[to] == 0 {
                        path.push((to as u32, graph.starts[to]));
                    } else if component[to] == NONE {
                        low[here] = low[here].min(index[to]);
                    }
                    continue;
                }
                if low[here] == index[here] {
                    while let Some(member) = open.pop() {
                        component[member as usize] = count;
                        if member == state {
                            break;
                        }
                    }
                    count += 1;
                }
                if let Some((before, _)) = path.last() {
                    let before = *before as usize;
                    low[before] = low[before].min(low[here]);
                }
            }
        }
        Some((component, count as usize))
    }
}
