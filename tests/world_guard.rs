//! Locks that the model cannot represent exactly are refused, with a message
//! that says what to do; and the guard finds every wrong merge that is planted.

mod world_support;

use std::collections::BTreeMap;

use lockproof::check::{CheckError, Verdict};
use lockproof::lock::{Config, Input, LockError, Op, Output, Program, View};
use lockproof::redis::ScriptEngine;
use lockproof::trace::Outcome;
use lockproof::world::closure::{Closure, ClosureError, Limits, Needs};
use lockproof::world::guard::{self, Effort, GuardError, HORIZON_FACTOR};
use lockproof::world::program::ClientProgram;
use lockproof::world::symbols::{OWN_NAME, PRESENT};
use lockproof::world::tables::Tables;
use world_support::machines::{Machine, Token};
use world_support::{check, sizes, text, try_check};

/// The message with which a lock of these two bodies is refused, with no fault on.
fn refusal(acquire: &str, release: &str) -> (CheckError, String) {
    let file = lock(acquire, release);
    let error = try_check(&file, &sizes(&file, 2), "").expect_err("the lock is refused");
    let message = error.to_string();
    (error, message)
}

/// The body of acquire begins on line 2.
fn lock(acquire: &str, release: &str) -> lockproof::lock::LockFile {
    text(&format!(
        "return {{ acquire = function(lock)\n{acquire}\nend, release = function(lock)\n{release}\nend }}"
    ))
}

const SET: &str =
    "if not redis('SET', lock.key, lock.token, 'NX', 'PX', lock.ttl) then return busy() end";
const DEL: &str = "redis('DEL', lock.key)";

#[test]
fn times_compared_beyond_the_horizon_are_refused() {
    // The lock gives up a lease that it thinks it has lost long ago.
    let acquire = "if self.last and now() - self.last > 40000 then return failed('stale') end\n\
                   self.last = now()\nif not redis('SET', lock.key, lock.token, 'NX', 'PX', lock.ttl) \
                   then return busy() end return held()";
    let (error, message) = refusal(acquire, DEL);
    assert!(matches!(error, CheckError::Guard { .. }), "{message}");
    assert!(message.contains("times within a few TTLs"), "{message}");
}

#[test]
fn times_compared_within_the_horizon_are_taken() {
    let acquire = "if self.last and now() - self.last > 4000 then self.last = now() return failed('stale') end\n\
                   self.last = now()\nif not redis('SET', lock.key, lock.token, 'NX', 'PX', lock.ttl) \
                   then return busy() end return held()";
    let file = lock(acquire, DEL);
    check(&file, &sizes(&file, 2), "");
}

#[test]
fn two_foreign_tokens_compared_with_each_other_are_refused() {
    let acquire = format!(
        "local first = redis('GET', lock.key)\nsleep(lock.ttl / 3)\nlocal second = redis('GET', lock.key)\n\
         if first ~= second then return busy() end\n{SET}\nreturn held()"
    );
    let (error, message) = refusal(&acquire, DEL);
    let CheckError::Closure { source, .. } = error else {
        panic!("{message}")
    };
    assert!(
        matches!(source, ClosureError::TellsForeignersApart),
        "{message}"
    );
    assert!(message.contains("compares tokens"), "{message}");
}

#[test]
fn a_foreign_token_compared_with_ones_own_is_taken() {
    let release = "if redis('GET', lock.key) == lock.token then redis('DEL', lock.key) return true end return false";
    let file = lock(&format!("{SET}\nreturn held()"), release);
    check(&file, &sizes(&file, 2), "");
}

/// A lock that leaves its key behind, and remembers its token as `self.old`.
fn remembering(acquire: &str) -> lockproof::lock::LockFile {
    lock(
        &format!("{acquire}\nself.old = lock.token\n{SET}\nreturn held()"),
        "return false",
    )
}

#[test]
fn looking_for_an_old_token_of_ones_own_is_refused() {
    let at_once =
        "if self.old and redis('GET', lock.key) == self.old then return failed('mine') end";
    let later = "local found = redis('GET', lock.key)\nsleep(lock.ttl / 3)\n\
                 if self.old and found == self.old then return failed('mine') end";
    for acquire in [at_once, later] {
        let file = remembering(acquire);
        let error = try_check(&file, &sizes(&file, 2), "").expect_err("it is refused");
        let message = error.to_string();
        for part in ["line 2", "token of an earlier attempt", "Forget it"] {
            assert!(message.contains(part), "no {part:?} in {message}");
        }
    }
}

#[test]
fn an_old_token_that_is_remembered_and_not_looked_for_is_taken() {
    let file =
        remembering("if redis('GET', lock.key) == lock.token then return failed('fresh') end");
    check(&file, &sizes(&file, 2), "");
}

#[test]
fn a_foreign_token_that_is_sent_is_refused_with_its_line() {
    let acquire = format!(
        "{SET}\nlocal other = redis('GET', lock.key)\nif other then redis('SET', 'seen', other) end\nreturn held()"
    );
    let (_, message) = refusal(&acquire, DEL);
    for part in ["my-lock.lua: line 4", "SET seen", "own present token"] {
        assert!(message.contains(part), "no {part:?} in {message}");
    }
}

#[test]
fn the_servers_absolute_time_is_refused_with_its_line() {
    let expireat = format!("{SET}\nredis('EXPIREAT', lock.key, '1700000000')\nreturn held()");
    let script = format!("{SET}\nreturn held()");
    let time = format!("redis('TIME')\n{DEL}");
    for (acquire, release, line) in [(&expireat[..], DEL, "line 3"), (&script, &time, "line 5")] {
        let (_, message) = refusal(acquire, release);
        for part in [line, "absolute time", "use PX, PEXPIRE"] {
            assert!(message.contains(part), "no {part:?} in {message}");
        }
    }
}

#[test]
fn a_script_that_asks_for_the_time_is_refused() {
    let file = text(
        "return { scripts = { clock = [[return redis.call('time')[1] ]] },\n\
         acquire = function(lock)\nscript('clock', {}, {}) return held() end,\n\
         release = function(lock) redis('DEL', lock.key) end }",
    );
    let message = try_check(&file, &sizes(&file, 2), "")
        .unwrap_err()
        .to_string();
    for part in ["line 3", "absolute time"] {
        assert!(message.contains(part), "no {part:?} in {message}");
    }
}

#[test]
fn messages_are_refused_as_not_modelled() {
    let acquire = format!("subscribe('wake')\n{SET}\nreturn held()");
    let (_, message) = refusal(&acquire, DEL);
    for part in ["line 2", "SUBSCRIBE is not in the model yet"] {
        assert!(message.contains(part), "no {part:?} in {message}");
    }
    let acquire = format!("wait(lock.ttl)\n{SET}\nreturn held()");
    let (_, message) = refusal(&acquire, DEL);
    assert!(message.contains("waiting for a message"), "{message}");
}

#[test]
fn commands_that_the_model_does_not_have_are_refused_and_not_answered_as_unknown() {
    for (command, named) in [
        ("redis('append', 'log', 'x')", "the command APPEND"),
        ("redis('EVALSHA', '00', 0)", "the command EVALSHA"),
        ("redis('DELIFEQ', lock.key, 'x')", "the command DELIFEQ"),
        ("redis('SCRIPT', 'LOAD', 'return 1')", "the command SCRIPT"),
        ("redis('WAIT', 2, 100)", "WAIT for 2 replicas"),
        (
            "redis('WAIT', 1, 900000)",
            "WAIT with a time-out of 900000 ms",
        ),
    ] {
        let (_, message) = refusal(&format!("{command}\n{SET}\nreturn held()"), DEL);
        for part in ["line 2", named, "not in the model"] {
            assert!(message.contains(part), "no {part:?} in {message}");
        }
    }
}

#[test]
fn commands_that_the_model_does_not_have_are_refused_in_scripts_too() {
    let direct = "return redis.call('APPEND', KEYS[1], 'x')";
    let guarded = "local _ = redis.pcall ( \"append\", KEYS[1], 'x')";
    let made_up = "return redis.call('APP' .. 'END', KEYS[1], 'x')";
    let waits = "return redis.call('wait', '1', '100')";
    for script in [direct, guarded, made_up, waits] {
        let file = text(&format!(
            "return {{ scripts = {{ log = [[{script}]] }},\n\
             acquire = function(lock)\nscript('log', {{ 'log' }}) return held() end,\n\
             release = function(lock) redis('DEL', lock.key) end }}"
        ));
        let message = try_check(&file, &sizes(&file, 2), "")
            .unwrap_err()
            .to_string();
        for part in ["line 3", "a command", "not in the model"] {
            assert!(message.contains(part), "no {part:?} in {message}");
        }
    }
}

#[test]
fn a_command_that_every_server_refuses_is_only_an_error() {
    for command in ["redis('EVAL')", "redis('SET', lock.key)"] {
        let acquire = format!(
            "local _, err = {command}\nif err.definite then return busy() end\nreturn held()"
        );
        let file = lock(&acquire, DEL);
        for result in check(&file, &sizes(&file, 2), "") {
            // Nobody ever acquires, and nothing else can go wrong.
            let stuck = result.property == "deadlock-freedom";
            let expected = if stuck {
                Verdict::Violated
            } else {
                Verdict::Holds
            };
            assert_eq!(result.verdict, expected, "{command}: {}", result.property);
        }
    }
}

#[test]
fn a_key_or_a_value_may_be_called_like_a_command() {
    let file = lock(
        "if redis('SETNX', 'time', 'expireat') == 0 then return busy() end\nreturn held()",
        "redis('DEL', 'time')",
    );
    check(&file, &sizes(&file, 2), "");
}

#[test]
fn a_counter_in_redis_that_grows_for_ever_is_unknown_and_never_holds() {
    let acquire = format!("redis('INCR', 'attempts')\n{SET}\nreturn held()");
    let file = lock(&acquire, DEL);
    for result in check(&file, &sizes(&file, 2), "") {
        assert_ne!(result.verdict, Verdict::Holds, "{}", result.property);
        let reason = result.reason.unwrap_or_default();
        let counted = reason.contains("counter in Redis");
        assert!(counted || result.verdict == Verdict::Violated, "{reason}");
    }
}

// ---- what grows for ever ----

fn needs() -> Needs {
    Needs {
        clients: 2,
        holds_max: 1,
        ttl_ms: 3000,
        tick_ms: 1001,
        horizon_ms: 6 * 1001,
        advance_max: 1,
        skews: vec![0],
        ageing: false,
        failing: false,
        jump: 0,
        slots: 3,
        refusing: false,
    }
}

fn config(needs: &Needs, horizon_factor: i64) -> Config {
    Config {
        nodes: 1,
        ttl_ms: needs.ttl_ms,
        timeout_ms: 1000,
        key: "lock".into(),
        params: BTreeMap::new(),
        horizon_ms: needs.horizon_ms * horizon_factor,
    }
}

fn closing(acquire: &str, limits: Limits) -> String {
    let file = lock(acquire, DEL);
    let mut program = Program::start(&file, &config(&needs(), 1), OWN_NAME, PRESENT).unwrap();
    let mut scripts = ScriptEngine::new().unwrap();
    let closed = Closure::build_within(&mut program, &mut scripts, needs(), &|| false, limits);
    closed.map(|_| ()).expect_err("it grows").to_string()
}

#[test]
fn a_counter_in_the_client_that_grows_for_ever_is_named() {
    let acquire = format!("self.rounds = (self.rounds or 50) + 1\n{SET}\nreturn held()");
    for limits in [
        Limits {
            locals: 500,
            ..Limits::default()
        },
        Limits {
            depth: 60,
            ..Limits::default()
        },
    ] {
        let message = closing(&acquire, limits);
        for part in [
            "the client state",
            "grows without end",
            "self.rounds",
            "bound it",
        ] {
            assert!(message.contains(part), "no {part:?} in {message}");
        }
    }
}

#[test]
fn a_text_in_redis_that_grows_for_ever_is_shown() {
    let limits = Limits {
        keyspaces: 40,
        ..Limits::default()
    };
    let message = closing(
        &format!("redis('RPUSH', 'log', 'x')\n{SET}\nreturn held()"),
        limits,
    );
    for part in ["the keyspace", "grows without end", "`log`: a list of"] {
        assert!(message.contains(part), "no {part:?} in {message}");
    }
}

// ---- planted wrong merges ----

/// The token machine with something that its key forgets.
struct Forgetful {
    inner: Machine<Token>,
    forgotten: Forgotten,
    count: u32,
}

#[derive(Clone, Copy)]
enum Forgotten {
    /// Ticks since the last call: after 30 an acquire says `failed`.
    IdleTicks,
    /// Calls: the tenth sends its command to nobody's key.
    Calls,
    /// Ticks since the start: after 60 a release claims nothing.
    AllTicks,
}

impl Forgetful {
    fn new(horizon_factor: i64, forgotten: Forgotten) -> Forgetful {
        Forgetful {
            inner: Machine::new(config(&needs(), horizon_factor)),
            forgotten,
            count: 0,
        }
    }

    fn count(&mut self, input: &Input) {
        match (self.forgotten, input) {
            (Forgotten::IdleTicks | Forgotten::AllTicks, Input::Advance { .. })
            | (Forgotten::Calls, Input::Call { .. }) => self.count += 1,
            _ => {}
        }
    }
}

impl ClientProgram for Forgetful {
    fn restart(&mut self, clock_ms: i64) -> Result<(), LockError> {
        self.count = 0;
        self.inner.restart(clock_ms)
    }

    fn step(&mut self, input: &Input) -> Result<Output, LockError> {
        self.count(input);
        let mut output = self.inner.step(input)?;
        match (self.forgotten, input) {
            (Forgotten::IdleTicks, Input::Call { .. }) => {
                if self.count > 30 {
                    output
                        .sent
                        .iter_mut()
                        .for_each(|sent| sent.argv[1] = b"stale".to_vec());
                }
                self.count = 0;
            }
            (Forgotten::Calls, _) if self.count >= 10 => {
                output
                    .sent
                    .iter_mut()
                    .for_each(|sent| sent.argv[1] = b"other".to_vec());
            }
            (Forgotten::AllTicks, _) if self.count > 60 => {
                if let Some((Op::Release, outcome)) = &mut output.outcome {
                    *outcome = Outcome::Done { effect: None };
                }
            }
            _ => {}
        }
        Ok(output)
    }

    fn view(&self) -> View {
        self.inner.view()
    }

    fn key(&self, canon: &dyn Fn(&[u8]) -> Vec<u8>) -> Result<Vec<u8>, LockError> {
        self.inner.key(canon)
    }

    fn locals(&self) -> Vec<(String, String)> {
        self.inner.locals()
    }
}

const EFFORT: Effort = Effort {
    seed: 1,
    words: 20,
    length: 2000,
};

fn tables(program: &mut dyn ClientProgram) -> Tables {
    let mut scripts = ScriptEngine::new().unwrap();
    Tables::build(Closure::build(program, &mut scripts, needs(), &|| false).unwrap()).unwrap()
}

fn guarded(forgotten: Forgotten) -> GuardError {
    let tables = tables(&mut Forgetful::new(1, forgotten));
    let mut live = Forgetful::new(HORIZON_FACTOR, forgotten);
    guard::walk(&mut live, &tables, EFFORT).expect_err("the guard finds it")
}

fn word_of(error: &GuardError) -> u32 {
    match error {
        GuardError::Differs { word, .. } => *word,
        GuardError::Lock(error) => panic!("{error}"),
    }
}

#[test]
fn a_key_that_forgets_the_number_of_calls_is_found() {
    let error = guarded(Forgotten::Calls);
    let message = error.to_string();
    for part in ["it sends", "instead of", "seed 1", "Keep state in `self`"] {
        assert!(message.contains(part), "no {part:?} in {message}");
    }
}

#[test]
fn a_key_that_forgets_the_clock_is_found_by_how_a_release_ends() {
    let message = guarded(Forgotten::AllTicks).to_string();
    assert!(message.contains("it ends with"), "{message}");
}

#[test]
fn a_key_that_forgets_a_long_idleness_is_found_by_a_word_of_ticks() {
    // Thirty ticks in a row hardly ever happen in an even word.
    let error = guarded(Forgotten::IdleTicks);
    assert_eq!(word_of(&error) % 2, 1, "{error}");
}

#[test]
fn a_true_machine_passes_the_guard_whatever_the_seed() {
    let tables = tables(&mut Machine::<Token>::new(config(&needs(), 1)));
    for seed in 0..5 {
        let mut live = Machine::<Token>::new(config(&needs(), HORIZON_FACTOR));
        guard::walk(&mut live, &tables, Effort { seed, ..EFFORT }).unwrap();
    }
}

#[test]
fn the_guard_repeats_itself_exactly() {
    let first = guarded(Forgotten::Calls).to_string();
    assert_eq!(first, guarded(Forgotten::Calls).to_string());
}
