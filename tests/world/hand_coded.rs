//! Lock files against state machines written by hand.
//!
//! A lock file's automaton comes out of suspended Lua stacks, symbols for tokens
//! and times, keys and minimisation. If any of these merged too much or too
//! little, its world would have fewer or more states than that of the same
//! protocol as a plain struct. Both go through the same closure and search, so
//! nothing else can make a difference.

use std::sync::Arc;

use crate::world_support::machines::{Machine, Protocol, Redlock, SetnxExpire, Token};
use crate::world_support::{builtin, options, set, sizes};
use lockproof_model::check::{Checker, ExploreOptions, explore};
use lockproof_model::lock::Config;
use lockproof_model::world::GoalSet;
use lockproof_model::world::World;
use lockproof_model::world::closure::{Closure, Subject};
use lockproof_model::world::program::ClientProgram;
use lockproof_model::world::tables::Tables;
use lockproof_redis::ScriptEngine;

/// What there is to compare of a world.
#[derive(Debug, PartialEq)]
struct Seen {
    classes: usize,
    keyspaces: usize,
    states: u64,
    transitions: u64,
    depth: u32,
    violated: Vec<bool>,
    stuck: Vec<bool>,
}

fn search(world: World) -> Seen {
    let (classes, keyspaces) = (world.tables.facts.len(), world.tables.keyspaces);
    let asked = ExploreOptions {
        workers: 1,
        branching: GoalSet::MAX,
        ..ExploreOptions::default()
    };
    let found = explore(Arc::new(world), asked, |_| {});
    assert!(found.complete && found.overflow == 0, "{found:?}");
    Seen {
        classes,
        keyspaces,
        states: found.states,
        transitions: found.transitions,
        depth: found.depth,
        violated: found.violations.iter().map(Option::is_some).collect(),
        stuck: found.stuck.iter().map(Option::is_some).collect(),
    }
}

fn close(program: &dyn ClientProgram, like: &World) -> Tables {
    let mut subject = Subject {
        second: None,
        program,
        scripts: &mut ScriptEngine::new().unwrap(),
        rules: like.tables.closure.rules.clone(),
        renews: false,
        file: "by hand".into(),
        should_stop: &|| false,
    };
    let needs = like.tables.needs.clone();
    Tables::build(Closure::build(&mut subject, needs).unwrap()).unwrap()
}

/// Both worlds under each of `sets`.
fn compare<P: Protocol>(lock: &str, ttl_ticks: u8, sets: &[&str]) {
    let file = builtin(lock);
    let mut sizes = sizes(&file, 2);
    sizes.ttl_ticks = ttl_ticks;
    let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    for words in sets {
        let lua = checker.world(&set(words, ttl_ticks)).unwrap();
        let config = Config {
            scale: Some(lua.tables.needs.scale()),
            ..checker.config(&set(words, ttl_ticks))
        };
        let tables = close(&Machine::<P>::new(config), &lua);
        let hand = World::new(lua.config.clone(), Arc::new(tables)).unwrap();
        assert_eq!(search(hand), search(lua), "{lock} under {words:?}");
    }
}

#[test]
fn the_token_lock_is_the_machine_that_one_would_write() {
    let sets = [
        "",
        "client-crash",
        "client-pause",
        "delay",
        "loss",
        "partition",
        "node-restart-none",
        "node-restart-everysec",
        "node-pause",
        "client-drift",
        "clock-jump",
        "overrun",
        "client-crash loss",
    ];
    compare::<Token>("token", 3, &sets);
}

#[test]
fn setnx_then_expire_is_the_machine_that_one_would_write() {
    let sets = [
        "",
        "client-crash",
        "client-pause",
        "delay",
        "loss",
        "node-restart-everysec",
        "client-skew",
        "clock-jump",
    ];
    compare::<SetnxExpire>("setnx-expire", 3, &sets);
}

#[test]
fn redlock_on_three_servers_is_the_machine_that_one_would_write() {
    compare::<Redlock>("redlock", 2, &["", "client-crash", "node-restart-none"]);
}
