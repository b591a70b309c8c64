//! Other checkers and ours on the very same worlds, for every built-in lock.
//!
//! stateright's breadth-first one: equal counts, and the same answer for each safety
//! property. For deadlock-freedom one that stores every edge and follows the definition.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::world_support::{builtin, options, set, sizes};
use lockproof_model::check::stateright::Adapter;
use lockproof_model::check::{Checker, ExploreOptions, explore};
use lockproof_model::lock::{LockFile, builtin_names};
use lockproof_model::world::{GoalSet, System, World};
use stateright::{Checker as _, Model};

/// States, transitions, and whether each safety property is violated.
type Seen = (u64, u64, Vec<bool>);

/// The states from which no way without faults leads to an acquire, with their levels.
fn stuck_slowly(world: &World) -> Vec<usize> {
    let mut states = world.initial();
    let mut number: HashMap<_, usize> = states.iter().copied().zip(0..).collect();
    let mut levels = vec![0; states.len()];
    let mut backwards: Vec<Vec<usize>> = vec![Vec::new(); states.len()];
    let mut queue = Vec::new();
    let mut at = 0;
    while at < states.len() {
        let mut good = world.excused(&states[at]);
        world.successors(&states[at].clone(), &mut |next| {
            let to = *number.entry(next.state).or_insert_with(|| {
                states.push(next.state);
                levels.push(levels[at] + 1);
                backwards.push(Vec::new());
                states.len() - 1
            });
            if !next.fault {
                backwards[to].push(at);
                good |= next.goals != 0;
            }
        });
        if good {
            queue.push(at);
        }
        at += 1;
    }
    let mut good = vec![false; states.len()];
    while let Some(state) = queue.pop() {
        if !std::mem::replace(&mut good[state], true) {
            queue.extend(&backwards[state]);
        }
    }
    let stuck = (0..states.len()).filter(|state| !good[*state]);
    stuck.map(|state| levels[state]).collect()
}

fn ours(world: &Arc<World>) -> Seen {
    let asked = ExploreOptions {
        workers: 2,
        branching: GoalSet::MAX,
        ..ExploreOptions::default()
    };
    let found = explore(Arc::clone(world), asked, |_| {});
    assert!(found.complete && found.overflow == 0, "{found:?}");
    let stuck = found.stuck[0].as_ref().map(|path| path.steps.len());
    assert_eq!(stuck, stuck_slowly(world).into_iter().min());
    let violated = found.violations.iter().map(Option::is_some);
    (found.states, found.transitions, violated.collect())
}

fn theirs(world: &Arc<World>) -> Seen {
    let checker = Adapter::new(Arc::clone(world)).checker().spawn_bfs().join();
    let discoveries = checker.discoveries();
    let names = world.properties();
    let violated = names
        .iter()
        .map(|name| discoveries.contains_key(name.as_str()));
    (
        checker.unique_state_count() as u64,
        (checker.state_count() - world.initial().len()) as u64,
        violated.collect(),
    )
}

/// Compares under each of `sets`; gives how many of the answers were "violated".
fn compare(lock: &str, ttl_ticks: u8, sets: &[&str]) -> usize {
    compare_file(&builtin(lock), ttl_ticks, sets)
}

fn compare_file(file: &LockFile, ttl_ticks: u8, sets: &[&str]) -> usize {
    let mut sizes = sizes(file, 2);
    sizes.ttl_ticks = ttl_ticks;
    let mut checker = Checker::new(file, options(&sizes, 1)).unwrap();
    let mut found = 0;
    for words in sets {
        let world = Arc::new(checker.world(&set(words, ttl_ticks)).unwrap());
        let seen = ours(&world);
        assert_eq!(theirs(&world), seen, "{} under {words:?}", file.name);
        found += seen.2.iter().filter(|violated| **violated).count();
    }
    found
}

/// The locks of this file's tests, so that a new built-in lock joins them.
const COMPARED: [&str; 23] = [
    "del-setnx-takeover",
    "delifeq",
    "exists-set",
    "fenced",
    "getset-timestamp",
    "redlock",
    "reentrant-hash",
    "reentrant-hash-renewed",
    "rw-hash",
    "rw-two-keys",
    "set-nx-px",
    "setnx-del",
    "setnx-expire",
    "setnx-expire-lua",
    "threadlocal-reentrant",
    "token",
    "token-extended",
    "token-get-del",
    "token-renewed",
    "token-setnx-expire-lua",
    "token-signalled",
    "token-wait",
    "token-watch",
];

#[test]
fn every_built_in_lock_is_compared() {
    let mut names = builtin_names();
    // Their worlds would take minutes; a smaller lock that listens stands for them, and
    // `redlock` and `fenced` for the last.
    names.retain(|name| !name.starts_with("redisson") && *name != "fenced-redlock");
    names.sort_unstable();
    assert_eq!(names, COMPARED);
}

#[test]
fn stateright_agrees_on_the_token_lock_whose_waiters_sleep_at_the_server() {
    compare("token-signalled", 2, &["", "client-crash", "loss"]);
}

#[test]
fn stateright_agrees_on_the_token_lock_that_waits() {
    let sets = [
        "",
        "client-crash",
        "loss",
        "failover@2",
        "failover-split-brain",
        "failover-cut-off client-pause",
        "node-restart-none failover",
        "failover min-replicas",
    ];
    let violated = compare("token-wait", 2, &sets);
    assert!(violated > 3, "{violated}");
}

#[test]
fn stateright_agrees_on_the_token_lock_that_its_holder_renews() {
    let sets = ["", "client-crash", "overrun", "loss", "node-flush"];
    let violated = compare("token-extended", 2, &sets);
    assert!(violated > 3, "{violated}");
}

#[test]
fn stateright_agrees_on_the_token_lock() {
    let sets = [
        "",
        "client-crash",
        "loss",
        "node-restart-none",
        "client-drift",
        "failover",
        "failover@2*2 node-restart-none",
        "failover-split-brain",
        "failover-split-brain min-replicas@1",
    ];
    assert_ne!(compare("token", 2, &sets), 0);
}

#[test]
fn stateright_agrees_on_setnx_then_expire() {
    let sets = ["", "client-crash", "client-pause", "delay", "failover@2"];
    assert_ne!(compare("setnx-expire", 2, &sets), 0);
}

#[test]
fn stateright_agrees_on_the_locks_of_one_key() {
    for lock in ["exists-set", "setnx-del", "setnx-expire-lua", "set-nx-px"] {
        let sets = ["", "client-crash", "overrun", "node-restart-none"];
        assert_ne!(compare(lock, 2, &sets), 0, "{lock}");
    }
    for lock in [
        "token-get-del",
        "token-setnx-expire-lua",
        "delifeq",
        "fenced",
        "token-watch",
    ] {
        assert_ne!(compare(lock, 2, &["", "client-pause"]), 0, "{lock}");
    }
}

#[test]
fn stateright_agrees_on_the_takeover_by_del_and_setnx() {
    assert_ne!(
        compare(
            "del-setnx-takeover",
            2,
            &["", "client-crash", "client-drift"]
        ),
        0
    );
}

#[test]
fn stateright_agrees_on_locks_with_readers_and_writers() {
    for lock in ["rw-two-keys", "rw-hash"] {
        assert_ne!(compare(lock, 2, &["", "client-crash"]), 0, "{lock}");
    }
}

#[test]
fn stateright_agrees_on_a_lock_that_waits_for_messages() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/messages");
    let file = LockFile::load(&folder.join("does-not-look-again.lua")).unwrap();
    assert_ne!(compare_file(&file, 2, &["", "loss"]), 0);
}

#[test]
fn stateright_agrees_on_the_lock_that_counts_in_its_thread() {
    assert_ne!(
        compare("threadlocal-reentrant", 2, &["", "client-crash"]),
        0
    );
}

#[test]
fn stateright_agrees_on_the_renewed_hash() {
    assert_ne!(compare("reentrant-hash-renewed", 2, &["", "node-flush"]), 0);
}

#[test]
fn stateright_agrees_on_getset_with_timestamps() {
    assert_ne!(compare("getset-timestamp", 2, &["", "client-skew"]), 0);
}

#[test]
fn stateright_agrees_on_the_renewed_token() {
    let sets = ["", "client-crash", "node-restart-none"];
    assert_ne!(compare("token-renewed", 2, &sets), 0);
}

#[test]
fn stateright_agrees_on_the_reentrant_hash() {
    let sets = ["", "client-crash", "node-restart-everysec"];
    assert_ne!(compare("reentrant-hash", 2, &sets), 0);
}

#[test]
fn stateright_agrees_on_redlock() {
    assert_ne!(compare("redlock", 2, &["", "node-restart-none"]), 0);
}

#[test]
fn others_agree_on_locks_that_wait_for_their_turn() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness");
    for name in [
        "excuses/waits-for-its-turn",
        "excuses/waits-with-a-mark-and-gets-less",
        "ownership/queue-of-waiters",
        "spinning/plain",
    ] {
        let file = LockFile::load(&folder.join(name).with_extension("lua")).unwrap();
        compare_file(&file, 2, &["", "client-crash", "loss"]);
    }
}
