//! The exhaustive search: counts, shortest paths, and that neither depends on
//! the number of workers.

mod explorer_support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use explorer_support::graph::{Edge, Graph, check_slowly, graphs};
use explorer_support::grid::Grid;
use explorer_support::redlock::{Redlock, SMALL};
use lockproof::check::{Exploration, ExploreOptions, Goal, Progress, StopReason, explore};
use lockproof::world::{Action, System, Transition};
use proptest::prelude::*;

fn options(workers: usize) -> ExploreOptions {
    ExploreOptions { workers, deadlock: true, ..ExploreOptions::default() }
}

fn search<Y: System + Clone + 'static>(system: &Y, options: ExploreOptions) -> Exploration<Y::State> {
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
            prop_assert_eq!(&found.deadlock, &expected.deadlock);
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

#[test]
fn the_small_redlock_has_the_same_states_paths_and_verdicts_for_any_number_of_workers() {
    let one = search(&SMALL, options(1));
    assert_eq!((one.states, one.transitions, one.depth), (152_270, 830_050, 50));
    for workers in 2..=4 {
        assert_eq!(search(&SMALL, options(workers)), one);
    }
}
