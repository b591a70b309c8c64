//! stateright's checkers and ours on the same systems, and the Explorer page.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use crate::explorer_support::graph::{Edge, Graph, graphs, graphs_that_run_over};
use crate::explorer_support::grid::Grid;
use crate::explorer_support::redlock::{Redlock, SMALL};
use crate::explorer_support::two_phase::TwoPhase;
use lockproof_model::check::stateright::{Adapter, ServeError, path_of, serve_explorer};
use lockproof_model::check::{
    ExploreOptions, Goal, Path, SimulateOptions, StopReason, explore, simulate,
};
use lockproof_model::world::System;
use proptest::prelude::*;
use stateright::{Checker, Model};

/// States, transitions, and whether each property is violated.
type Counts = (u64, u64, Vec<bool>);

fn ours<Y: System + Clone + 'static>(system: &Y) -> Counts {
    let found = explore(
        Arc::new(system.clone()),
        ExploreOptions {
            workers: 2,
            ..Default::default()
        },
        |_| {},
    );
    (
        found.states,
        found.transitions,
        found.violations.iter().map(Option::is_some).collect(),
    )
}

fn theirs<Y: System + Clone + 'static>(system: &Y, threads: usize) -> Counts {
    let model = Adapter::new(Arc::new(system.clone()));
    let properties = system.properties();
    let checker = model.checker().threads(threads).spawn_bfs().join();
    let discoveries = checker.discoveries();
    let generated = checker.state_count() - system.initial().len();
    let violated = properties
        .iter()
        .map(|name| discoveries.contains_key(name.as_str()))
        .collect();
    (
        checker.unique_state_count() as u64,
        generated as u64,
        violated,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn stateright_and_our_search_count_and_judge_alike(
        mut graph in prop_oneof![graphs(40), graphs_that_run_over(40)],
    ) {
        // stateright expands an initial state twice that is given twice.
        graph.initial.sort_unstable();
        graph.initial.dedup();
        prop_assert_eq!(theirs(&graph, 1), ours(&graph));
    }
}

#[test]
fn the_small_redlock_counts_the_same_in_stateright() {
    let counts = ours(&SMALL);
    assert_eq!(counts, (152_270, 830_050, vec![true, true]));
    assert_eq!(theirs(&SMALL, 2), counts);
    let safe = Redlock {
        amnesias: 0,
        ..SMALL
    };
    assert_eq!(theirs(&safe, 2), ours(&safe));
}

#[test]
fn two_phase_commit_counts_the_same_in_stateright() {
    for hasty in [false, true] {
        let system = TwoPhase { managers: 5, hasty };
        assert_eq!(theirs(&system, 2), ours(&system));
        assert_eq!(theirs(&system, 2).2, [hasty]);
    }
}

#[test]
fn a_grid_counts_the_same_in_stateright() {
    let grid = Grid {
        counters: 3,
        limit: 25,
    };
    assert_eq!(ours(&grid), (grid.states(), grid.transitions(), vec![true]));
    assert_eq!(theirs(&grid, 1), ours(&grid));
}

#[test]
fn stateright_sees_a_violating_transition_to_a_state_that_it_knows() {
    let edge = |to, violates| Edge {
        to,
        violates,
        fault: false,
        goals: 0,
        overflow: 0,
    };
    let edges = vec![vec![edge(1, 0)], vec![edge(0, 1)]];
    let graph = Graph {
        initial: vec![0],
        edges,
        properties: 1,
        ..Graph::default()
    };
    let checker = Adapter::new(Arc::new(graph)).checker().spawn_bfs().join();
    let path = path_of(checker.discoveries().remove("property 0").unwrap()).unwrap();
    assert_eq!((path.initial, path.last(), path.steps.len()), (0, &1, 1));
}

#[test]
fn a_path_of_stateright_ends_one_step_before_a_violation_and_is_no_shorter_than_ours() {
    let found = explore(Arc::new(SMALL), ExploreOptions::default(), |_| {});
    let checker = Adapter::new(Arc::new(SMALL)).checker().spawn_bfs().join();
    for (bit, name) in SMALL.properties().iter().enumerate() {
        let theirs = path_of(checker.discoveries().remove(name.as_str()).unwrap()).unwrap();
        let ours = found.violations[bit].as_ref().unwrap();
        assert!(theirs.steps.len() + 1 >= ours.steps.len());
        let mut violated = 0;
        SMALL.successors(theirs.last(), &mut |next| violated |= next.violates);
        assert_eq!(violated >> bit & 1, 1);
    }
}

/// As on the Explorer page.
#[test]
fn a_path_of_a_guided_model_ends_at_the_violation() {
    let guided = Adapter::new(Arc::new(SMALL)).guided(Box::new(|_: &Path<_>| String::new()));
    let checker = guided.checker().spawn_bfs().join();
    let found = explore(Arc::new(SMALL), ExploreOptions::default(), |_| {});
    for (bit, name) in SMALL.properties().iter().enumerate() {
        let theirs = path_of(checker.discoveries().remove(name.as_str()).unwrap()).unwrap();
        let ours = found.violations[bit].as_ref().unwrap();
        assert!(theirs.steps.len() >= ours.steps.len(), "{name}");
        let (last, before) = theirs.steps.split_last().unwrap();
        let from = before.last().map_or(theirs.initial, |(_, state)| *state);
        let mut violates = 0;
        SMALL.successors(&from, &mut |next| {
            if (next.action, next.state) == *last {
                violates |= next.violates;
            }
        });
        assert_eq!(violates >> bit & 1, 1, "{name}");
    }
}

#[test]
fn walks_find_what_the_search_finds_and_repeat_exactly() {
    // One node and long leases, so that blind walks have a chance.
    let lossy = Redlock {
        nodes: 1,
        ttl: 7,
        ..SMALL
    };
    let options = SimulateOptions {
        walks: 20_000,
        steps_max: 100,
        ..SimulateOptions::new(7)
    };
    let found = simulate(&lossy, &options);
    assert_eq!(found, simulate(&lossy, &options));
    assert_eq!(found.seed, 7);
    let goal = ExploreOptions {
        goal: Goal::AllViolations,
        ..ExploreOptions::default()
    };
    let shortest = explore(Arc::new(lossy), goal, |_| {}).violations;
    for (walk, least) in found.violations.iter().zip(&shortest) {
        let (walk, least) = (
            walk.as_ref().expect("a walk violates it"),
            least.as_ref().unwrap(),
        );
        assert!(walk.steps.len() >= least.steps.len());
    }
    assert_ne!(
        found.violations,
        simulate(&lossy, &SimulateOptions { seed: 8, ..options }).violations
    );
}

#[test]
fn walks_show_no_violation_where_there_is_none_and_stop_when_told() {
    let safe = Redlock {
        amnesias: 0,
        ..SMALL
    };
    let found = simulate(
        &safe,
        &SimulateOptions {
            walks: 300,
            ..SimulateOptions::new(1)
        },
    );
    assert_eq!((found.walks, found.stop_reason), (300, None));
    assert_eq!(found.violations[0], None);
    let stopped = simulate(
        &safe,
        &SimulateOptions {
            should_stop: Arc::new(|| true),
            ..SimulateOptions::new(1)
        },
    );
    assert_eq!(
        (stopped.walks, stopped.stop_reason),
        (0, Some(StopReason::Stopped))
    );
}

#[test]
fn a_walk_ends_where_the_model_runs_over() {
    let edge = |to, violates, overflow| Edge {
        to,
        violates,
        fault: false,
        goals: 0,
        overflow,
    };
    let graph = |overflow| Graph {
        initial: vec![0],
        edges: vec![vec![edge(1, 0, overflow)], vec![edge(0, 1, 0)]],
        properties: 1,
        ..Graph::default()
    };
    let walks = |overflow| simulate(&graph(overflow), &SimulateOptions::new(1));
    assert!(walks(0).violations[0].is_some());
    let over = walks(2);
    assert_eq!((over.walks, over.steps), (1_000, 1_000));
    assert_eq!(over.violations, [None]);
}

fn get(address: SocketAddr, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

#[test]
fn the_explorer_page_shows_names_and_drawings_of_our_system() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    // It serves until the process ends; the thread is never joined.
    std::thread::spawn(move || {
        serve_explorer(
            Arc::new(SMALL),
            address,
            Box::new(|path: &Path<_>| format!("<svg>{} steps</svg>", path.steps.len())),
        )
    });
    let answer = (0..200).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        get(address, "/.states/0/1")
    });
    let answer = answer.expect("the page answers");
    for text in ["serve 0", "tick 0", "<svg>2 steps</svg>", "validity"] {
        assert!(answer.contains(text), "no {text:?} in {answer}");
    }
    assert!(get(address, "/").unwrap().contains("<html"));
}

#[test]
fn the_explorer_page_is_refused_off_loopback_and_on_a_taken_port() {
    let serve = |address: SocketAddr| {
        serve_explorer(
            Arc::new(SMALL),
            address,
            Box::new(|_: &Path<_>| String::new()),
        )
    };
    let everywhere = serve("0.0.0.0:0".parse().unwrap()).unwrap_err();
    assert!(matches!(everywhere, ServeError::NotLoopback(_)));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let error = serve(taken.local_addr().unwrap()).unwrap_err();
    assert!(matches!(error, ServeError::Bind { .. }), "{error}");
}
