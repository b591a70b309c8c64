//! The exhaustive search: counts, shortest paths, and that neither depends on
//! the number of workers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::explorer_support::graph::{Edge, Graph, check_slowly, graphs, graphs_that_run_over};
use crate::explorer_support::grid::Grid;
use crate::explorer_support::redlock::{Redlock, SMALL};
use crate::explorer_support::two_phase::TwoPhase;
use lockproof_model::check::{Exploration, ExploreOptions, Goal, Progress, StopReason, explore};
use lockproof_model::world::{Action, GoalSet, System, Transition};
use proptest::prelude::*;

fn options(workers: usize) -> ExploreOptions {
    ExploreOptions {
        workers,
        branching: GoalSet::MAX,
        ..ExploreOptions::default()
    }
}

fn search<Y: System + Clone + 'static>(
    system: &Y,
    options: ExploreOptions,
) -> Exploration<Y::State> {
    explore(Arc::new(system.clone()), options, |_| {})
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_search_agrees_with_the_slow_checker_for_any_number_of_workers(graph in graphs(60)) {
        let expected = check_slowly(&graph);
        for workers in 1..=4 {
            let found = search(&graph, options(workers));
            prop_assert!(found.complete);
            prop_assert_eq!(found.states, expected.states);
            prop_assert_eq!(found.transitions, expected.transitions);
            prop_assert_eq!(found.depth, expected.depth);
            prop_assert_eq!(&found.violations, &expected.violations);
            prop_assert_eq!(&found.stuck, &expected.stuck);
        }
    }

    #[test]
    fn an_early_end_is_the_same_for_any_number_of_workers(graph in graphs(60), states_max in 1u64..40) {
        let early = |workers, goal| {
            let early = ExploreOptions { states_max: Some(states_max), goal, ..options(workers) };
            search(&graph, early)
        };
        for goal in [Goal::Exhaust, Goal::AnyViolation, Goal::AllViolations] {
            let one = early(1, goal);
            prop_assert!(one.states <= states_max);
            for workers in 2..=4 {
                prop_assert_eq!(&early(workers, goal), &one);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_runs_over_is_judged_and_not_followed(graph in graphs_that_run_over(40)) {
        let expected = check_slowly(&graph);
        for workers in 1..=3 {
            let found = search(&graph, options(workers));
            prop_assert_eq!(found.states, expected.states);
            prop_assert_eq!(found.transitions, expected.transitions);
            prop_assert_eq!(&found.violations, &expected.violations);
            prop_assert_eq!(found.complete, found.overflow == 0);
        }
    }

    #[test]
    fn who_asks_for_all_violations_gets_each_that_there_is(graph in graphs(40)) {
        let expected = check_slowly(&graph);
        let all = ExploreOptions { goal: Goal::AllViolations, ..options(2) };
        prop_assert_eq!(&search(&graph, all).violations, &expected.violations);
    }
}

#[test]
fn the_small_redlock_has_the_same_states_paths_and_verdicts_for_any_number_of_workers() {
    let one = search(&SMALL, options(1));
    assert_eq!(
        (one.states, one.transitions, one.depth),
        (152_270, 830_050, 50)
    );
    for workers in 2..=4 {
        assert_eq!(search(&SMALL, options(workers)), one);
    }
}

#[test]
fn a_grid_is_counted_exactly_and_its_far_corner_is_found_by_the_longest_shortest_path() {
    let grid = Grid {
        counters: 4,
        limit: 20,
    };
    for workers in 1..=3 {
        let found = search(&grid, options(workers));
        assert_eq!(
            (found.states, found.transitions, found.depth),
            (grid.states(), grid.transitions(), grid.depth())
        );
        assert!(found.complete);
        let path = found.violations[0].as_ref().unwrap();
        // The least parent at each step: walking back, the highest counter first.
        let actions: Vec<u32> = path.steps.iter().map(|(action, _)| action.0).collect();
        let least: Vec<u32> = (0..4).flat_map(|counter| [counter; 19]).collect();
        assert_eq!(actions, least);
        assert!(found.stuck.iter().all(Option::is_none));
    }
}

#[test]
fn two_phase_commit_has_the_published_number_of_states() {
    for (managers, states) in [(3, 288), (5, 8_832), (7, 296_448)] {
        let found = search(
            &TwoPhase {
                managers,
                hasty: false,
            },
            options(2),
        );
        assert_eq!(found.states, states);
        assert_eq!((found.complete, &found.violations[0]), (true, &None));
    }
}

#[test]
fn a_hasty_coordinator_is_caught_in_the_fewest_steps() {
    let found = search(
        &TwoPhase {
            managers: 3,
            hasty: true,
        },
        options(2),
    );
    // Two prepare and are heard, the third aborts, commit, one obeys.
    let path = found.violations[0].as_ref().unwrap();
    assert_eq!(path.steps.len(), 7);
}

#[test]
fn redlock_loses_validity_to_a_restart_without_memory_and_never_without_one() {
    let found = search(&SMALL, options(0));
    assert_eq!(
        found.violations[0].as_ref().map(|path| path.steps.len()),
        Some(19)
    );
    let safe = search(
        &Redlock {
            amnesias: 0,
            ..SMALL
        },
        options(0),
    );
    assert!(safe.complete);
    assert_eq!(safe.violations[0], None);
    assert!(
        safe.violations[1].is_some(),
        "belief outlives validity without any fault"
    );
}

#[test]
fn a_lock_without_expiry_is_stuck_after_a_crash_and_free_with_one() {
    let free = search(&SMALL, options(2));
    assert_eq!((free.complete, &free.stuck), (true, &vec![None]));
    let planted = Redlock {
        expires: false,
        ..SMALL
    };
    let stuck = search(&planted, options(2))
        .stuck
        .remove(0)
        .expect("the orphaned lock blocks everybody");
    assert_eq!(stuck.steps.len(), 6);
    let last = stuck
        .steps
        .iter()
        .map(|(action, _)| planted.describe(&stuck.initial, *action))
        .next_back();
    assert_eq!(last.as_deref(), Some("crash 0"));
}

/// A chain 0, 1, 2 ... with the given extra edges.
fn chain(length: u16, extra: &[(u16, Edge)]) -> Graph {
    let plain = |to| Edge {
        to,
        violates: 0,
        fault: false,
        goals: 0,
        overflow: 0,
    };
    let mut edges: Vec<Vec<Edge>> = (1..length).map(|to| vec![plain(to)]).collect();
    edges.push(Vec::new());
    for (from, edge) in extra {
        edges[*from as usize].push(*edge);
    }
    Graph {
        initial: vec![0],
        edges,
        properties: 1,
        ..Graph::default()
    }
}

#[test]
fn a_violating_transition_to_a_known_state_is_found() {
    let back = Edge {
        to: 0,
        violates: 1,
        fault: false,
        goals: 1,
        overflow: 0,
    };
    let found = search(&chain(5, &[(4, back)]), options(2));
    let path = found.violations[0].as_ref().unwrap();
    assert_eq!(
        path.steps.iter().map(|step| step.1).collect::<Vec<_>>(),
        [1, 2, 3, 4, 0]
    );
}

#[test]
fn only_a_fault_leading_to_progress_does_not_free_a_state() {
    let by_fault = Edge {
        to: 0,
        violates: 0,
        fault: true,
        goals: 1,
        overflow: 0,
    };
    let stuck = search(&chain(3, &[(2, by_fault)]), options(2));
    assert_eq!(stuck.stuck[0].as_ref().map(|path| path.initial), Some(0));
    let freely = Edge {
        fault: false,
        ..by_fault
    };
    assert_eq!(search(&chain(3, &[(2, freely)]), options(2)).stuck[0], None);
}

#[test]
fn beyond_an_overflow_nothing_is_explored_and_nothing_is_claimed() {
    let over = Edge {
        to: 9,
        violates: 0,
        fault: false,
        goals: 1,
        overflow: 4,
    };
    let mut graph = chain(10, &[(2, over)]);
    graph.edges[2].remove(0);
    let found = search(&graph, options(2));
    assert_eq!((found.states, found.transitions), (3, 2));
    assert_eq!((found.complete, found.overflow), (false, 4));
    assert_eq!(found.stop_reason, Some(StopReason::Overflow(4)));
    assert!(found.stuck.iter().all(Option::is_none));
}

/// A grid that panics at one state, or only when it is asked about again.
#[derive(Clone)]
struct Faulty {
    grid: Grid,
    at: u64,
    visits_before: u64,
    visits: Arc<AtomicU64>,
}

impl System for Faulty {
    type State = [u64; 2];
    fn initial(&self) -> Vec<[u64; 2]> {
        self.grid.initial()
    }
    fn successors(&self, state: &[u64; 2], visit: &mut impl FnMut(Transition<[u64; 2]>)) {
        if state[0] == self.at {
            let visits = self.visits.fetch_add(1, Ordering::Relaxed);
            assert!(visits < self.visits_before, "planted panic");
        }
        self.grid.successors(state, visit);
    }
    fn properties(&self) -> Vec<String> {
        self.grid.properties()
    }
    fn branching(&self) -> Vec<String> {
        self.grid.branching()
    }
    fn describe(&self, state: &[u64; 2], action: Action) -> String {
        self.grid.describe(state, action)
    }
}

#[test]
fn a_panic_of_the_system_ends_the_search_with_a_reason_whenever_it_strikes() {
    // The search visits each state once, then comes the sweep, then the path.
    for visits_before in 0..3 {
        for workers in 1..=4 {
            let grid = Grid {
                counters: 3,
                limit: 12,
            };
            let system = Faulty {
                grid,
                at: 0x05_0203,
                visits_before,
                visits: Arc::default(),
            };
            let found = search(&system, options(workers));
            assert!(!found.complete);
            assert_eq!(
                found.stop_reason,
                Some(StopReason::Panicked("planted panic".to_owned()))
            );
        }
    }
}

#[test]
fn a_search_stops_when_it_is_told_to() {
    for workers in 1..=3 {
        let asked = AtomicU64::new(0);
        let should_stop = Arc::new(move || asked.fetch_add(1, Ordering::Relaxed) > 40);
        let grid = Grid {
            counters: 4,
            limit: 40,
        };
        let found = search(
            &grid,
            ExploreOptions {
                should_stop,
                ..options(workers)
            },
        );
        assert!(!found.complete);
        assert_eq!(found.stop_reason, Some(StopReason::Stopped));
        assert!(found.states < grid.states());
    }
}

#[test]
fn a_violation_found_before_the_stop_is_not_lost() {
    let system = SMALL;
    let stopped = AtomicU64::new(0);
    let deep = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = Arc::clone(&deep);
    let should_stop = Arc::new(move || {
        stopped.fetch_add(1, Ordering::Relaxed);
        deep.load(Ordering::Relaxed)
    });
    let found = explore(
        Arc::new(system),
        ExploreOptions {
            should_stop,
            ..options(2)
        },
        move |progress| seen.store(progress.depth >= 22, Ordering::Relaxed),
    );
    assert_eq!(found.stop_reason, Some(StopReason::Stopped));
    assert_eq!(found.violations, search(&system, options(1)).violations);
}

#[test]
fn a_violation_to_which_there_is_no_time_to_find_the_way_is_unknown() {
    let whole = search(&SMALL, options(2));
    assert!(whole.violations.iter().any(Option::is_some));
    let hurried = search(
        &SMALL,
        ExploreOptions {
            give_up: Arc::new(|| true),
            ..options(2)
        },
    );
    assert_eq!(hurried.stop_reason, Some(StopReason::Stopped));
    assert!(!hurried.complete && hurried.violations.iter().all(Option::is_none));
    assert_eq!(hurried.states, whole.states);
}

#[test]
fn progress_names_each_level_once_with_its_exact_frontier() {
    let grid = Grid {
        counters: 2,
        limit: 9,
    };
    let reports: Arc<Mutex<Vec<Progress>>> = Arc::default();
    let sink = Arc::clone(&reports);
    explore(Arc::new(grid), options(2), move |progress| {
        sink.lock().unwrap().push(progress)
    });
    let reports = reports.lock().unwrap();
    let frontiers: Vec<(u32, u64)> = reports
        .iter()
        .map(|report| (report.depth, report.frontier))
        .collect();
    let diagonal = |depth: u32| u64::from(if depth < 9 { depth + 1 } else { 17 - depth });
    assert_eq!(
        frontiers,
        (0..=16)
            .map(|depth| (depth, diagonal(depth)))
            .collect::<Vec<_>>()
    );
}

#[test]
fn a_panic_in_the_report_ends_the_search_too() {
    let found = explore(Arc::new(SMALL), options(2), |progress| {
        assert!(progress.depth < 3, "planted panic")
    });
    assert_eq!(
        found.stop_reason,
        Some(StopReason::Panicked("planted panic".to_owned()))
    );
}

#[test]
fn a_limit_keeps_the_memory_and_still_searches_the_last_whole_level() {
    let whole = search(&SMALL, options(2));
    let limited = search(
        &SMALL,
        ExploreOptions {
            states_max: Some(20_000),
            ..options(2)
        },
    );
    assert_eq!(limited.stop_reason, Some(StopReason::StateLimit(20_000)));
    assert!(limited.states <= 20_000 && limited.depth < whole.depth);
    let enough = search(
        &SMALL,
        ExploreOptions {
            states_max: Some(whole.states),
            ..options(2)
        },
    );
    assert_eq!(enough, whole);
}

#[test]
fn a_goal_ends_the_search_at_the_level_of_the_violation() {
    let found = search(
        &SMALL,
        ExploreOptions {
            goal: Goal::AnyViolation,
            ..options(2)
        },
    );
    assert_eq!(found.stop_reason, Some(StopReason::GoalReached));
    let shortest = found
        .violations
        .iter()
        .flatten()
        .map(|path| path.steps.len())
        .min();
    assert_eq!(shortest, Some(found.depth as usize));
}

#[test]
fn a_system_without_initial_states_is_searched_completely_and_has_none() {
    let found = search(
        &Graph {
            properties: 2,
            ..Graph::default()
        },
        options(3),
    );
    assert_eq!((found.states, found.complete), (0, true));
    assert_eq!(found.violations, [None, None]);
}

#[test]
fn every_step_of_a_path_is_a_transition_of_the_system() {
    let found = search(&SMALL, options(2));
    for path in found.violations.iter().flatten() {
        let mut state = path.initial;
        assert!(SMALL.initial().contains(&state));
        for (action, next) in &path.steps {
            let mut is_one = false;
            SMALL.successors(&state, &mut |step| {
                is_one |= step.action == *action && step.state == *next
            });
            assert!(is_one, "{state:?} has no {action:?} to {next:?}");
            state = *next;
        }
    }
}
