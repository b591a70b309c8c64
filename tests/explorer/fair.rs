//! Endless fair runs on graphs that were made by hand, with answers that are known; and on random
//! ones beside a slow checker of its own. Where stateright's `eventually` errs, its wrong
//! answer stands beside ours.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use lockproof_model::check::{Exploration, ExploreOptions, StopReason, explore};
use lockproof_model::world::{Action, Demands, System, Transition};
use proptest::prelude::*;
use stateright::{Checker, Model, Property};

/// One edge: where it leads, which demand it meets, and whether it is a fault.
#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u8,
    meets: Option<u8>,
    fault: bool,
    may_happen: bool,
}

/// A graph with one pursuit, which goes on everywhere but in `there`.
#[derive(Clone, Debug, Default)]
struct Chase {
    edges: Vec<Vec<Edge>>,
    /// Where the pursuit has got what it wants.
    there: BTreeSet<u8>,
    /// Demands that are open in a state whatever can happen.
    open: BTreeMap<u8, Demands>,
    demands: Demands,
}

impl System for Chase {
    type State = u8;

    fn initial(&self) -> Vec<u8> {
        vec![0]
    }

    fn successors(&self, state: &u8, visit: &mut impl FnMut(Transition<u8>)) {
        for (number, edge) in self.edges[usize::from(*state)].iter().enumerate() {
            visit(Transition {
                action: Action(number as u32),
                state: edge.to,
                violates: 0,
                fault: edge.fault,
                goals: 0,
                overflow: 0,
            });
        }
    }

    fn properties(&self) -> Vec<String> {
        Vec::new()
    }

    fn branching(&self) -> Vec<String> {
        Vec::new()
    }

    fn pursuits(&self) -> usize {
        1
    }

    fn pursues(&self, _: usize, state: &u8) -> bool {
        !self.there.contains(state)
    }

    fn demands(&self, _: usize) -> Demands {
        self.demands
    }

    fn open(&self, state: &u8) -> Demands {
        self.open.get(state).copied().unwrap_or(0)
    }

    fn meets(&self, state: &u8, next: &Transition<u8>) -> Option<u8> {
        self.edges[usize::from(*state)][next.action.0 as usize].meets
    }

    fn may_happen(&self, next: &Transition<u8>) -> bool {
        let edges = self.edges.iter().flatten();
        next.fault
            && edges
                .clone()
                .any(|edge| edge.may_happen && edge.to == next.state)
    }

    fn describe(&self, state: &u8, action: Action) -> String {
        format!("{state} does {}", action.0)
    }
}

/// A graph from its edges `(from, to, the demand that it meets)`.
fn chase(states: u8, edges: &[(u8, u8, Option<u8>)], there: &[u8], demands: Demands) -> Chase {
    let mut chase = Chase {
        edges: vec![Vec::new(); usize::from(states)],
        there: there.iter().copied().collect(),
        demands,
        ..Chase::default()
    };
    for (from, to, meets) in edges {
        chase.edges[usize::from(*from)].push(Edge {
            to: *to,
            meets: *meets,
            fault: false,
            may_happen: false,
        });
    }
    chase
}

fn searched(chase: &Chase, workers: usize) -> Exploration<u8> {
    let options = ExploreOptions {
        workers,
        fair: true,
        ..ExploreOptions::default()
    };
    explore(Arc::new(chase.clone()), options, |_| {})
}

/// The states of the stem, and of one round after its last one.
fn lasso(chase: &Chase) -> Option<(Vec<u8>, Vec<u8>)> {
    let found = searched(chase, 1);
    assert!(found.complete && found.fair_undecided.is_none());
    let lasso = found.starved?;
    let stem = lasso.stem.steps.iter().map(|(_, state)| *state);
    let stem = [lasso.stem.initial].into_iter().chain(stem);
    let round = lasso.round.iter().map(|(_, state)| *state);
    Some((stem.collect(), round.collect()))
}

/// The same graph in stateright: eventually the pursuit has got there.
#[derive(Clone)]
struct Theirs(Chase);

impl Model for Theirs {
    type State = u8;
    type Action = usize;

    fn init_states(&self) -> Vec<u8> {
        vec![0]
    }

    fn actions(&self, state: &u8, actions: &mut Vec<usize>) {
        actions.extend(0..self.0.edges[usize::from(*state)].len());
    }

    fn next_state(&self, state: &u8, action: usize) -> Option<u8> {
        Some(self.0.edges[usize::from(*state)][action].to)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::eventually(
            "gets there",
            |model: &Theirs, state| model.0.there.contains(state),
        )]
    }
}

/// Whether stateright finds a run that never gets there.
fn stateright_finds_one(chase: &Chase) -> bool {
    let theirs = Theirs(chase.clone());
    let checker = theirs.checker().spawn_bfs().join();
    !checker.discoveries().is_empty()
}

#[test]
fn a_run_that_goes_round_without_getting_there_is_found_and_stateright_misses_it() {
    // 0 -> 1 -> 0 for ever; 1 -> 2 would be there.
    let circle = chase(
        3,
        &[(0, 1, None), (1, 0, None), (1, 2, None), (2, 2, None)],
        &[2],
        0,
    );
    assert_eq!(lasso(&circle), Some((vec![0], vec![1, 0])));
    assert!(
        !stateright_finds_one(&circle),
        "its documentation says so: cycles are missed"
    );
}

#[test]
fn a_run_behind_merged_states_is_found_and_stateright_misses_it() {
    // Two ways to 3: over 1, which was there once, and over 2, which never was. stateright comes
    // to 3 over 1 first, remembers that all is well, and never asks again. 3 leads nowhere.
    let merged = chase(
        4,
        &[(0, 1, None), (0, 2, None), (1, 3, None), (2, 3, None)],
        &[1],
        0,
    );
    assert_eq!(lasso(&merged), Some((vec![0, 1, 3], vec![])));
    assert!(!stateright_finds_one(&merged));
    // The other way round it finds it.
    let other = chase(
        4,
        &[(0, 2, None), (0, 1, None), (2, 3, None), (1, 3, None)],
        &[1],
        0,
    );
    assert!(lasso(&other).is_some() && stateright_finds_one(&other));
}

#[test]
fn a_run_on_which_somebody_is_never_let_do_what_they_always_could_is_not_fair() {
    // 0 -> 0 is somebody else's step; 0 -> 1 (demand 0) always could happen.
    let unfair = chase(2, &[(0, 0, None), (0, 1, Some(0)), (1, 1, None)], &[1], 1);
    assert_eq!(lasso(&unfair), None);
    // Without the demand it is a run like another; stateright knows no fairness at all.
    let any = Chase {
        demands: 0,
        ..unfair
    };
    assert_eq!(lasso(&any), Some((vec![0], vec![0])));
}

#[test]
fn what_can_only_be_done_now_and_then_may_be_left_undone() {
    // In 1 nobody can do it, so weak fairness does not ask for it.
    let edges = [(0, 1, None), (1, 0, None), (0, 2, Some(0)), (2, 2, None)];
    assert_eq!(
        lasso(&chase(3, &edges, &[2], 1)),
        Some((vec![0], vec![1, 0]))
    );
}

#[test]
fn two_demands_that_two_circles_meet_are_met_by_going_round_both() {
    // 0 <-> 1 meets demand 0, 0 <-> 2 meets demand 1, and both are always open.
    let edges = [(0, 1, Some(0)), (1, 0, None), (0, 2, Some(1)), (2, 0, None)];
    let mut both = chase(3, &edges, &[], 0b11);
    both.open = (0..3).map(|state| (state, 0b11)).collect();
    assert_eq!(lasso(&both), Some((vec![0], vec![1, 0, 2, 0])));
    // In different components they do not help each other.
    let edges = [(0, 1, None), (1, 1, Some(0)), (0, 2, None), (2, 2, Some(1))];
    let mut apart = chase(3, &edges, &[], 0b11);
    apart.open = (0..3).map(|state| (state, 0b11)).collect();
    assert_eq!(lasso(&apart), None);
}

#[test]
fn a_demand_is_met_by_a_state_in_which_it_is_not_open() {
    let edges = [(0, 1, None), (1, 2, None), (2, 1, None)];
    let mut held = chase(3, &edges, &[], 1);
    held.open = [(0, 1), (1, 1), (2, 1)].into();
    assert_eq!(lasso(&held), None, "the hold never ends");
    held.open = [(0, 1), (1, 1)].into();
    assert_eq!(lasso(&held), Some((vec![0, 1], vec![2, 1])));
}

#[test]
fn the_stem_may_need_a_fault_and_the_round_may_not() {
    let mut faulty = chase(2, &[(0, 1, None), (1, 1, None), (1, 0, None)], &[0], 0);
    faulty.edges[0][0].fault = true;
    assert_eq!(lasso(&faulty), Some((vec![0, 1], vec![1])));
    faulty.edges[1][0].fault = true;
    assert_eq!(lasso(&faulty), None, "no further faults strike");
}

#[test]
fn a_run_that_needs_what_may_be_impossible_is_unknown() {
    let mut unsure = chase(2, &[(0, 1, None), (1, 0, None), (1, 1, None)], &[0], 0);
    (unsure.edges[1][1].fault, unsure.edges[1][1].may_happen) = (true, true);
    let found = searched(&unsure, 1);
    assert_eq!((found.complete, found.starved), (true, None));
    assert_eq!(found.fair_undecided, Some(StopReason::MayHappen));
}

#[test]
fn the_shortest_stem_is_taken_and_then_a_shortest_round() {
    // A long circle at once, a short one behind it.
    let edges = [
        (0, 1, None),
        (1, 2, None),
        (2, 0, None),
        (2, 3, None),
        (3, 3, None),
        (0, 4, None),
        (4, 0, None),
    ];
    assert_eq!(
        lasso(&chase(5, &edges, &[], 0)),
        Some((vec![0], vec![4, 0]))
    );
}

/// Follows the definition: the largest set of pursued states from which each demand can be met
/// once more without leaving the set, found by taking states away (Emerson & Lei 1986).
fn starves_slowly(chase: &Chase) -> bool {
    let steps = |state: u8| {
        chase.edges[usize::from(state)]
            .iter()
            .filter(|edge| !edge.fault)
    };
    let open = |state: u8, demand: u8| {
        let given = chase.open.get(&state).copied().unwrap_or(0);
        given >> demand & 1 == 1 || steps(state).any(|edge| edge.meets == Some(demand))
    };
    let states = 0..chase.edges.len() as u8;
    let mut set: BTreeSet<u8> = states
        .filter(|state| !chase.there.contains(state))
        .collect();
    let demands: Vec<u8> = (0..8)
        .filter(|demand| chase.demands >> demand & 1 == 1)
        .collect();
    loop {
        let before = set.len();
        // Somewhere to go, and be it nowhere because there is nowhere at all.
        let goes = |state: &u8, set: &BTreeSet<u8>| {
            steps(*state).next().is_none() || steps(*state).any(|edge| set.contains(&edge.to))
        };
        let inner = set.clone();
        set.retain(|state| goes(state, &inner));
        for demand in &demands {
            let inner = set.clone();
            let meets = |state: u8| {
                !open(state, *demand)
                    || steps(state)
                        .any(|edge| edge.meets == Some(*demand) && inner.contains(&edge.to))
            };
            let mut reach: BTreeSet<u8> = inner
                .iter()
                .copied()
                .filter(|state| meets(*state))
                .collect();
            loop {
                let more: Vec<u8> = (inner.iter().copied())
                    .filter(|state| !reach.contains(state))
                    .filter(|state| steps(*state).any(|edge| reach.contains(&edge.to)))
                    .collect();
                if more.is_empty() {
                    break;
                }
                reach.extend(more);
            }
            set = reach;
        }
        if set.len() == before {
            break;
        }
    }
    // Reached by any way, faults included.
    let mut reached = BTreeSet::from([0u8]);
    let mut queue = vec![0u8];
    while let Some(state) = queue.pop() {
        for edge in &chase.edges[usize::from(state)] {
            if reached.insert(edge.to) {
                queue.push(edge.to);
            }
        }
    }
    set.iter().any(|state| reached.contains(state))
}

fn chases() -> impl Strategy<Value = Chase> {
    (2u8..14).prop_flat_map(|states| {
        let edge = (0..states, 0u8..9, 0u8..7).prop_map(|(to, meets, fault)| Edge {
            to,
            meets: (meets < 3).then_some(meets),
            fault: fault == 0,
            may_happen: false,
        });
        let edges = prop::collection::vec(prop::collection::vec(edge, 0..4), usize::from(states));
        let there = prop::collection::btree_set(0..states, 0..3);
        let open = prop::collection::btree_map(0..states, 0u64..8, 0..8);
        (edges, there, open, 0u64..8).prop_map(|(edges, there, open, demands)| Chase {
            edges,
            there,
            open,
            demands,
        })
    })
}

/// Follows a lasso through the graph and asks whether it is what it says.
fn is_fair(chase: &Chase, found: &Exploration<u8>) {
    let lasso = found.starved.as_ref().unwrap();
    let last = *lasso.stem.last();
    let (mut at, mut left) = (last, chase.demands & chase.open_in(last));
    for (action, next) in &lasso.round {
        let edge = chase.edges[usize::from(at)][action.0 as usize];
        assert!(!edge.fault && edge.to == *next && !chase.there.contains(next));
        left &= !edge.meets.map_or(0, |demand| 1 << demand) & chase.open_in(*next);
        at = *next;
    }
    assert!(!chase.there.contains(&last));
    assert_eq!((at, left), (last, 0), "{lasso:?}");
    let nothing = chase.edges[usize::from(last)].iter().all(|edge| edge.fault);
    assert!(!lasso.round.is_empty() || nothing);
}

impl Chase {
    fn open_in(&self, state: u8) -> Demands {
        let steps = self.edges[usize::from(state)].iter();
        let steps = steps.filter(|edge| !edge.fault);
        let more = steps.filter_map(|edge| edge.meets);
        more.fold(self.open(&state), |open, demand| open | 1 << demand)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fair_runs_are_found_where_the_definition_has_them_and_nowhere_else(chase in chases()) {
        let one = searched(&chase, 1);
        prop_assert!(one.complete && one.fair_undecided.is_none());
        prop_assert_eq!(one.starved.is_some(), starves_slowly(&chase), "{:?}", chase);
        if one.starved.is_some() {
            is_fair(&chase, &one);
        }
        prop_assert_eq!(&searched(&chase, 3), &one);
    }
}
