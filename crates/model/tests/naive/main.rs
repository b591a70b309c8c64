//! An independent, naive search, and a generator of lock files, against the pipeline.
//!
//! The search runs live programs and formal servers with absolute times and random
//! tokens: no tables, no symbols, no abstraction, nothing minimised. It is written from
//! docs/model.md and shares no code with `crates/model/src/world/rules`. It sees little, but what it
//! sees is so.

mod callers;
mod compare;
mod endless;
mod files;
mod follow;
mod free;
mod generated;
mod grammar;
mod holder;
mod judge;
mod liveness;
mod moves;
mod objects;
mod owners;
mod search;
mod shrink;
mod step;
mod subscriptions;
mod telling;
mod time;
mod transactions;
mod trouble;
mod world;

use compare::{Effort, Outcome, Question, compare_file};
use lockproof_model::lock::{LockFile, builtin_names};
use lockproof_model::world::catalogue::{Fault, Switch};

const EFFORT: Effort = Effort {
    transitions: 6_000,
    walks: 10,
    length: 80,
    states: 200_000,
};

fn set(words: &str, ttl_ticks: u8) -> Vec<Switch> {
    let switch = |id: &str| {
        let fault = Fault::parse(id).expect("a fault's name");
        fault.switch(ttl_ticks)
    };
    words.split_whitespace().map(switch).collect()
}

const SETS: [&str; 20] = [
    "",
    "client-crash",
    "client-restart",
    "shared-owner",
    "client-pause",
    "cancel",
    "overrun",
    "delay",
    "loss",
    "partition",
    "partition-one-way",
    "node-restart-none",
    "node-flush",
    "node-flush failover",
    "node-down",
    "node-down-delayed",
    "client-skew",
    "client-drift",
    "clock-jump",
    "failover",
];

/// Locks of which each command stands in another one as well: under these sets only.
const SIMPLE: [&str; 14] = [
    "exists-set",
    "setnx-del",
    "setnx-expire-lua",
    "set-nx-px",
    "token-get-del",
    "delifeq",
    "fenced",
    "reentrant-hash-renewed",
    "rw-hash",
    "rw-two-keys",
    "redisson-watchdog",
    "redisson-multi",
    "redisson-rw",
    "threadlocal-reentrant",
];
const FEW: [&str; 6] = [
    "",
    "cancel",
    "client-pause",
    "loss",
    "node-restart-none",
    "failover",
];

/// In two halves, since each half works on one thread.
#[test]
fn builtin_locks_of_odd_places() {
    builtin_locks(1);
}

#[test]
fn builtin_locks_of_even_places() {
    builtin_locks(0);
}

fn builtin_locks(half: usize) {
    let mut bad = 0;
    let thorough = std::env::var_os("NAIVE_SECONDS").is_some();
    let names = builtin_names().into_iter().enumerate();
    for (place, name) in names.skip(half).step_by(2) {
        if ["token-wait", "token-signalled"].contains(&name) {
            continue; // what servers hold back is not in the naive world
        }
        let sets = match name {
            "fenced-redlock" | "redisson-fair" => &FEW[..1], // the model's search of it takes long
            _ if SIMPLE.contains(&name) => &FEW[..],
            _ => &SETS[..],
        };
        let file = LockFile::builtin(name).expect("a built-in lock");
        // A third of its lease is to be whole ticks.
        let ttl_ticks = if name == "token-renewed" { 3 } else { 2 };
        // Three sets of four are left to the neighbours, but in a long run.
        let every = if thorough { 1 } else { 4 };
        for words in sets
            .iter()
            .skip(place / 2 % every % sets.len())
            .step_by(every)
        {
            let question = Question {
                text: String::new(),
                set: set(words, ttl_ticks),
                ttl_ticks,
                clients: 2,
                spins: false,
                seed: 1,
            };
            let mut outcome = Outcome::default();
            compare_file(&question, &file, EFFORT, &mut outcome);
            println!(
                "{name} {words:?}: {} hold, {} violated ({} exact), unknown {:?}, refused {:?}, {} transitions",
                outcome.holds,
                outcome.violated,
                outcome.exact,
                outcome.unknown,
                outcome.refused,
                outcome.transitions
            );
            for difference in &outcome.differences {
                println!(
                    "DIFFERENCE {name} {words:?} {} {}\n{}",
                    difference.kind, difference.property, difference.detail
                );
                bad += 1;
            }
        }
    }
    assert_eq!(bad, 0);
}
