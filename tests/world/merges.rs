//! Planted wrong merges: tables that say something else than the lock does, and the
//! guard of every check, which must notice.
//!
//! The tables come from what programs and formal servers did in symbols. If a key
//! forgot something, if two contents of a server became one, if a look-up took the
//! wrong row, the search would follow a lock that nobody wrote. The guard follows
//! random walks through the tables on live programs of the lock file, with random
//! tokens, owners and start times.

use std::sync::Arc;

use crate::world_support::{builtin, options, set, sizes, text};
use lockproof_model::check::Checker;
use lockproof_model::lock::{Config, LockFile, Op, Phase, Program};
use lockproof_model::world::World;
use lockproof_model::world::client::{Ending, Symbolic};
use lockproof_model::world::closure::{Closure, Subject};
use lockproof_model::world::concrete;
use lockproof_model::world::tables::Tables;
use lockproof_model::world::walk::random_walk;
use lockproof_redis::ScriptEngine;

/// Walks within which each mistake must be found; a check takes eight.
const WALKS: u64 = 100;

/// Moves of a walk, as in a check.
const MOVES: usize = 40;

/// Closes `tables_of`, lets `spoil` spoil it, and follows walks through it on live
/// programs of `live`: the number of the first that differs, and how.
fn first_difference(
    tables_of: &LockFile,
    live: &LockFile,
    words: &str,
    spoil: impl FnOnce(&mut Closure),
    spoil_tables: impl FnOnce(&mut Tables),
) -> Option<(u64, String)> {
    let sizes = sizes(tables_of, 2);
    let set = set(words, sizes.ttl_ticks);
    let mut checker = Checker::new(tables_of, options(&sizes, 1)).unwrap();
    let sound = checker.world(&set).unwrap();
    let needs = sound.tables.needs.clone();
    let for_real = checker.config(&set);
    let in_model = Config {
        scale: Some(needs.scale()),
        ..for_real.clone()
    };
    let mut subject = Subject {
        second: None,
        program: &Program::start(tables_of, &in_model, "", 0).unwrap(),
        scripts: &mut ScriptEngine::new().unwrap(),
        rules: sound.tables.closure.rules.clone(),
        renews: tables_of.renews,
        file: tables_of.path.clone(),
        should_stop: &|| false,
    };
    let mut closure = Closure::build(&mut subject, needs).unwrap();
    spoil(&mut closure);
    let mut tables = Tables::build(closure).unwrap();
    spoil_tables(&mut tables);
    let mut config = sound.config.clone();
    config.at_ticks = true;
    let world = World::new(config, Arc::new(tables)).unwrap();
    (0..WALKS).find_map(|seed| {
        let moves = random_walk(&world, seed, MOVES);
        let error = concrete::verify(&world, live, &for_real, &moves, seed).err()?;
        Some((seed, error.to_string()))
    })
}

#[track_caller]
fn found(what: &str, difference: Option<(u64, String)>) {
    let Some((walk, message)) = difference else {
        panic!("{what} is not found in {WALKS} walks");
    };
    println!("{what}: found in walk {walk}: {message}");
    assert!(message.contains("disagree"), "{message}");
}

fn in_closure(what: &str, words: &str, spoil: impl FnOnce(&mut Closure)) {
    let file = builtin("token");
    found(what, first_difference(&file, &file, words, spoil, |_| ()));
}

fn in_tables(what: &str, words: &str, spoil: impl FnOnce(&mut Tables)) {
    let file = builtin("token");
    found(what, first_difference(&file, &file, words, |_| (), spoil));
}

#[test]
fn sound_tables_pass() {
    for name in [
        "token",
        "setnx-expire",
        "getset-timestamp",
        "reentrant-hash",
    ] {
        for words in [
            "",
            "client-pause loss",
            "client-skew",
            "node-restart-everysec",
        ] {
            let file = builtin(name);
            let difference = first_difference(&file, &file, words, |_| (), |_| ());
            assert_eq!(difference, None, "{name} under {words:?}");
        }
    }
}

// ---- what a key forgets ----

/// The token lock, with this at the beginning of its acquire.
fn token_with(first: &str) -> LockFile {
    text(&format!(
        "return {{ scripts = {{ 'release_if_owner' }}, acquire = function(lock)\n{first}\n\
         local ok, err = redis('SET', lock.key, lock.token, 'NX', 'PX', lock.ttl)\n\
         if err then return failed(err.message) end\n\
         if not ok then return busy() end\nreturn held() end,\n\
         release = function(lock)\nlocal n = script('release_if_owner', {{ lock.key }}, {{ lock.token }})\n\
         return n == 1 end }}"
    ))
}

/// A lock file whose tables are those of another that does not remember what it
/// does: as if the keys of its programs had left that out.
#[test]
fn what_a_key_forgets_is_found() {
    let plain = token_with("");
    for (what, first) in [
        (
            "a count of the calls",
            "self.calls = math.min((self.calls or 0) + 1, 4)\nif self.calls == 4 then return failed('tired') end",
        ),
        (
            "the time of the last call",
            "local idle = self.last and now() - self.last > 2 * lock.ttl\nself.last = now()\n\
             if idle then return failed('stale') end",
        ),
        (
            "an outcome",
            "if self.tried then self.tried = nil return failed('again') end\nself.tried = true",
        ),
    ] {
        let remembering = token_with(first);
        let difference = first_difference(&plain, &remembering, "", |_| (), |_| ());
        found(what, difference);
        let difference = first_difference(&remembering, &remembering, "", |_| (), |_| ());
        assert_eq!(difference, None, "{what}");
    }
}

// ---- local states that became one ----

/// Whether a local state of the closure is in this phase.
fn in_phase(closure: &Closure, id: u32, phase: Phase) -> bool {
    closure.locals[id as usize].facade.phase == phase
}

#[test]
fn a_held_lock_that_became_an_idle_client_is_found() {
    in_closure("held is idle", "", |closure| {
        for id in 0..closure.locals.len() {
            for (emitted, next) in closure.locals[id].next.values_mut() {
                if emitted.ending == Some((Op::Acquire, Ending::Held)) {
                    *next = 0;
                }
            }
        }
    });
}

#[test]
fn a_time_out_that_never_strikes_is_found() {
    in_closure("no time-out", "loss", |closure| {
        for id in 0..closure.locals.len() as u32 {
            if in_phase(closure, id, Phase::Acquiring) {
                let next = closure.locals[id as usize]
                    .next
                    .get_mut(&Symbolic::Advance(1));
                next.unwrap().1 = id;
            }
        }
    });
}

#[test]
fn a_client_that_says_something_else_is_found() {
    in_closure("busy is held", "", |closure| {
        let held = closure
            .locals
            .iter()
            .flat_map(|local| local.next.values())
            .find(|(emitted, _)| emitted.ending == Some((Op::Acquire, Ending::Held)))
            .cloned()
            .unwrap();
        for local in &mut closure.locals {
            for step in local.next.values_mut() {
                if step.0.ending == Some((Op::Acquire, Ending::Busy)) {
                    *step = held.clone();
                }
            }
        }
    });
}

// ---- what servers do ----

/// Rewrites what commands that contain `part` do.
fn executions(closure: &mut Closure, part: &str, change: impl Fn(&mut Closure, usize, usize)) {
    for command in 0..closure.commands.len() {
        let argv = &closure.commands.get(command as u16).argv;
        let fits = argv
            .iter()
            .any(|word| String::from_utf8_lossy(word).contains(part));
        if fits {
            for keyspace in 0..closure.keyspaces.len() {
                change(closure, command, keyspace);
            }
        }
    }
}

#[test]
fn a_set_that_overwrites_is_found() {
    in_closure("NX is ignored", "", |closure| {
        executions(closure, "NX", |closure, command, keyspace| {
            closure.executions[command][keyspace] = closure.executions[command][0];
        });
    });
}

#[test]
fn a_delete_that_leaves_the_key_is_found() {
    in_closure("DEL leaves it", "", |closure| {
        executions(closure, "del", |closure, command, keyspace| {
            closure.executions[command][keyspace].after = keyspace as u16;
        });
    });
}

#[test]
fn a_release_that_deletes_whatever_is_there_is_found() {
    in_closure("any token deletes", "overrun", |closure| {
        executions(closure, "del", |closure, command, keyspace| {
            closure.executions[command][keyspace].after = 0;
        });
    });
}

// ---- time and faults ----

#[test]
fn a_key_that_never_expires_is_found() {
    in_tables("no expiry", "client-crash", |tables| {
        for id in 0..tables.tick.len() {
            if tables.tick[id] == 0 {
                tables.tick[id] = id as u16;
            }
        }
    });
}

#[test]
fn a_restart_that_loses_nothing_is_found() {
    in_tables("nothing is lost", "node-restart-none", |tables| {
        tables.emptied = (tables.keyspaces - 1) as u16;
    });
}

#[test]
fn a_clock_that_jumps_the_other_way_is_found() {
    in_tables("jumps are mirrored", "clock-jump", |tables| {
        tables.jump.swap(0, 1)
    });
}
