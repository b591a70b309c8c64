//! Lock files against state machines written by hand.
//!
//! A lock file's automaton comes out of suspended Lua stacks, a rewritten
//! source, keys and minimisation. If any of these merged too much or too
//! little, its world would have fewer or more states than that of the same
//! protocol as a plain struct. Both go through the same closure and search, so
//! nothing else can make a difference.

mod world_support;

use std::sync::Arc;

use lockproof::check::{Checker, ExploreOptions, explore};
use lockproof::lock::Config;
use lockproof::redis::ScriptEngine;
use lockproof::world::closure::Closure;
use lockproof::world::guard::{self, HORIZON_FACTOR};
use lockproof::world::program::ClientProgram;
use lockproof::world::tables::Tables;
use lockproof::world::{Plan, World};
use world_support::machines::{Machine, Protocol, Redlock, SetnxExpire, Token};
use world_support::{builtin, options, set, sizes};

/// What there is to compare of a world.
#[derive(Debug, PartialEq)]
struct Seen {
    classes: usize,
    keyspaces: usize,
    states: u64,
    transitions: u64,
    depth: u32,
    violated: Vec<bool>,
    deadlock: bool,
}

fn search(world: World<4>) -> Seen {
    let (classes, keyspaces) = (world.tables.facts.len(), world.tables.keyspaces);
    let asked = ExploreOptions {
        workers: 1,
        deadlock: true,
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
        deadlock: found.deadlock.is_some(),
    }
}

fn close(program: &mut dyn ClientProgram, like: &World<4>) -> Tables {
    let mut scripts = ScriptEngine::new().unwrap();
    let needs = like.tables.needs.clone();
    Tables::build(Closure::build(program, &mut scripts, needs, &|| false).unwrap()).unwrap()
}

/// Both worlds under each of `sets`, and the machine on the guard's wide horizon.
fn compare<P: Protocol>(lock: &str, ttl_ticks: u8, sets: &[&str]) {
    let file = builtin(lock);
    let mut sizes = sizes(&file, 2);
    sizes.ttl_ticks = ttl_ticks;
    let options = options(&sizes, 1);
    let effort = options.guard;
    let mut checker = Checker::new(&file, options).unwrap();
    for words in sets {
        let plan = checker.plan(&set(words, ttl_ticks)).unwrap();
        let lua: World<4> = plan.build().unwrap();
        let near = checker.config(lua.tables.needs.horizon_ms);
        let tables = close(&mut Machine::<P>::new(near.clone()), &lua);
        let far = Config {
            horizon_ms: near.horizon_ms * HORIZON_FACTOR,
            ..near
        };
        guard::walk(&mut Machine::<P>::new(far), &tables, effort).unwrap();
        let plan = Plan::new(lua.config.clone(), Arc::new(tables));
        let hand: World<4> = plan.build().unwrap();
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
