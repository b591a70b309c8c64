//! Random graphs as systems, and a slow checker that is obviously right.

use std::collections::{BTreeMap, BTreeSet};

use lockproof_model::check::Path;
use lockproof_model::world::{Action, GoalSet, System, Transition};
use proptest::prelude::*;

/// Branching properties of a graph.
const GOALS: usize = 2;

/// One edge; see `Transition`.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    pub to: u16,
    pub violates: u32,
    pub fault: bool,
    pub goals: GoalSet,
    pub overflow: u8,
}

/// A system given by its edges; edge i of a node is action i / 2, so that some
/// actions have two outcomes.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub initial: Vec<u16>,
    pub edges: Vec<Vec<Edge>>,
    pub excused: BTreeSet<u16>,
    pub properties: usize,
}

impl Graph {
    fn transitions(&self, state: u16) -> impl Iterator<Item = Transition<u16>> + '_ {
        self.edges[state as usize]
            .iter()
            .enumerate()
            .map(|(number, edge)| Transition {
                action: Action(number as u32 / 2),
                state: edge.to,
                violates: edge.violates,
                fault: edge.fault,
                goals: edge.goals,
                overflow: edge.overflow,
            })
    }
}

impl System for Graph {
    type State = u16;

    fn initial(&self) -> Vec<u16> {
        self.initial.clone()
    }

    fn successors(&self, state: &u16, visit: &mut impl FnMut(Transition<u16>)) {
        self.transitions(*state).for_each(visit);
    }

    fn properties(&self) -> Vec<String> {
        (0..self.properties)
            .map(|property| format!("property {property}"))
            .collect()
    }

    fn branching(&self) -> Vec<String> {
        (0..GOALS).map(|goal| format!("b{goal}")).collect()
    }

    fn excused(&self, state: &u16) -> bool {
        self.excused.contains(state)
    }

    fn describe(&self, state: &u16, action: Action) -> String {
        format!("{state} does {}", action.0)
    }
}

/// What the slow checker says.
#[derive(Debug, PartialEq, Eq)]
pub struct Expected {
    pub states: u64,
    pub transitions: u64,
    pub depth: u32,
    pub violations: Vec<Option<Path<u16>>>,
    pub stuck: Vec<Option<Path<u16>>>,
}

/// Builds the whole graph and follows the definitions word by word.
pub fn check_slowly(graph: &Graph) -> Expected {
    let levels = levels(graph);
    let depth_of = |state: u16| {
        levels
            .iter()
            .position(|level| level.contains(&state))
            .unwrap()
    };
    let reachable: BTreeSet<u16> = levels.iter().flatten().copied().collect();
    let followed = |state: &u16| graph.transitions(*state).filter(|next| next.overflow == 0);
    let violation = |property: usize| {
        let violating = reachable.iter().flat_map(|state| {
            let bad = graph
                .transitions(*state)
                .filter(move |next| next.violates >> property & 1 == 1);
            bad.map(move |next| (depth_of(*state), *state, next.action, next.state))
        });
        let (_, from, action, to) = violating.min()?;
        let mut path = least_path(graph, &levels, from);
        path.steps.push((action, to));
        Some(path)
    };
    let stuck = |goal: usize| {
        let found = reachable
            .difference(&good(graph, &reachable, 1 << goal))
            .map(|state| (depth_of(*state), *state))
            .min();
        found.map(|(_, state)| least_path(graph, &levels, state))
    };
    Expected {
        states: reachable.len() as u64,
        transitions: reachable
            .iter()
            .map(|state| followed(state).count() as u64)
            .sum(),
        depth: levels.len() as u32 - 1,
        violations: (0..graph.properties).map(violation).collect(),
        stuck: (0..GOALS).map(stuck).collect(),
    }
}

fn levels(graph: &Graph) -> Vec<BTreeSet<u16>> {
    let mut seen: BTreeSet<u16> = graph.initial.iter().copied().collect();
    let mut levels = vec![seen.clone()];
    while let Some(last) = levels.last() {
        let targets = last
            .iter()
            .flat_map(|state| graph.transitions(*state).filter(|next| next.overflow == 0));
        let next: BTreeSet<u16> = targets
            .map(|next| next.state)
            .filter(|state| !seen.contains(state))
            .collect();
        if next.is_empty() {
            break;
        }
        seen.extend(&next);
        levels.push(next);
    }
    levels
}

fn least_path(graph: &Graph, levels: &[BTreeSet<u16>], to: u16) -> Path<u16> {
    let depth = levels.iter().position(|level| level.contains(&to)).unwrap();
    if depth == 0 {
        return Path {
            initial: to,
            steps: Vec::new(),
        };
    }
    let leads = |from: &u16| {
        let edges = graph
            .transitions(*from)
            .filter(|next| next.overflow == 0 && next.state == to);
        edges
            .map(|next| next.action)
            .min()
            .map(|action| (*from, action))
    };
    let (from, action) = levels[depth - 1].iter().filter_map(leads).min().unwrap();
    let mut path = least_path(graph, levels, from);
    path.steps.push((action, to));
    path
}

/// Backward reachability over stored edges.
fn good(graph: &Graph, reachable: &BTreeSet<u16>, goal: GoalSet) -> BTreeSet<u16> {
    let mut backwards: BTreeMap<u16, Vec<u16>> = BTreeMap::new();
    let mut queue: Vec<u16> = Vec::new();
    for state in reachable {
        for next in graph.transitions(*state).filter(|next| !next.fault) {
            backwards.entry(next.state).or_default().push(*state);
            if next.goals & goal != 0 {
                queue.push(*state);
            }
        }
    }
    queue.extend(graph.excused.intersection(reachable));
    let mut good = BTreeSet::new();
    while let Some(state) = queue.pop() {
        if good.insert(state) {
            queue.extend(backwards.get(&state).into_iter().flatten());
        }
    }
    good
}

/// The same, and some edges leave the model.
pub fn graphs_that_run_over(nodes: u16) -> impl Strategy<Value = Graph> {
    let overflows = prop::collection::vec(0u8..24, 1..64);
    (graphs(nodes), overflows).prop_map(|(mut graph, overflows)| {
        let edges = graph.edges.iter_mut().flatten();
        for (edge, overflow) in edges.zip(overflows.iter().cycle()) {
            edge.overflow = if *overflow < 4 { *overflow } else { 0 };
        }
        graph
    })
}

/// Graphs of up to `nodes` nodes: sparse enough to be deep, with rare flags.
pub fn graphs(nodes: u16) -> impl Strategy<Value = Graph> {
    (1..=nodes).prop_flat_map(|nodes| {
        let edge =
            (0..nodes, 0u32..60, 0u8..6, 0u8..16).prop_map(|(to, violates, fault, goals)| Edge {
                to,
                violates: if violates < 8 { violates } else { 0 },
                fault: fault == 0,
                goals: if goals < 4 { goals } else { 0 },
                overflow: 0,
            });
        let edges = prop::collection::vec(prop::collection::vec(edge, 0..4), nodes as usize);
        let initial = prop::collection::vec(0..nodes, 1..3);
        let excused = prop::collection::btree_set(0..nodes, 0..2);
        (initial, edges, excused).prop_map(|(initial, edges, excused)| Graph {
            initial,
            edges,
            excused,
            properties: 3,
        })
    })
}
