//! A key is equal for states that go on alike, and different for all others.

use crate::lock_support::*;

use std::collections::HashMap;

use lockproof_lua::text::{Reading, Span, Symbol};
use lockproof_model::lock::{Input, LockFile, Output, Phase, Program, Waiting, builtin_names};
use lockproof_redis::Reply;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[test]
fn programs_can_move_between_threads() {
    fn sendable<T: Send + Sync>(_: &T) {}
    sendable(&start("token"));
}

#[test]
fn one_history_gives_one_key_in_another_program_and_after_a_restart() {
    for name in builtin_names() {
        let (mut a, mut b) = (start(name), start(name));
        for _ in 0..2 {
            let acquire = acquires(a.file(), "token-1").remove(0);
            // Its script answers with a fence.
            let taken = match name {
                "fenced" | "fenced-redlock" => Reply::Int(1),
                _ => ok(),
            };
            for input in [acquire, advance(40), reply(0, taken), advance(3)] {
                step(&mut a, input.clone());
                step(&mut b, input);
                assert_eq!(key(&a), key(&b), "{name}");
            }
            b.restart(CLOCK).unwrap();
            a = start(name);
        }
    }
}

#[test]
fn in_a_model_the_clock_alone_does_not_show() {
    for name in builtin_names() {
        let (mut early, mut late) = (start_model(name), start_model(name));
        step(&mut late, advance(987 * STEP));
        for input in [
            acquires(early.file(), "token-1").remove(0),
            advance(STEP),
            reply(0, Reply::Int(0)),
            advance(2 * STEP),
        ] {
            let outputs = [&mut early, &mut late].map(|p| p.step(&input).unwrap_or_default());
            assert_eq!(outputs[0], outputs[1], "{name}");
            assert_eq!(key(&early), key(&late), "{name}");
        }
    }
}

#[test]
fn for_real_the_clock_does_not_show_either() {
    for name in builtin_names() {
        let (mut early, mut late) = (start(name), start(name));
        late.restart(CLOCK + 987_654).unwrap();
        for input in [
            acquires(early.file(), "token-1").remove(0),
            advance(40),
            reply(0, Reply::Int(0)),
            advance(9),
        ] {
            step(&mut early, input.clone());
            step(&mut late, input);
            assert_eq!(key(&early), key(&late), "{name}");
        }
    }
}

#[test]
fn an_idle_client_has_forgotten_its_token() {
    let mut p = start("token");
    let fresh = key(&p);
    step(&mut p, acquire("token-1"));
    step(&mut p, reply(0, Reply::Nil));
    step(&mut p, advance(77));
    assert_eq!(key(&p), fresh);
}

#[test]
fn in_a_model_tokens_have_no_letters() {
    let keys = |begin: fn(&str) -> Program| {
        ["token-1", "token-2"].map(|token| {
            let mut p = begin("redlock");
            step(&mut p, acquire(token));
            key(&p)
        })
    };
    let [one, other] = keys(start);
    assert_ne!(one, other);
    let [one, other] = keys(start_model);
    assert_eq!(one, other);
}

/// Runs acquire in two clients whose first `random(2)` differs: are the states
/// after that different, and what do they do later?
fn two_ways(body: &str) -> (Program, Program) {
    let run = |value| {
        let mut p = acquiring(body);
        step(&mut p, acquire("token-1"));
        step(&mut p, Input::Choose { thread: 0, value });
        p
    };
    (run(1), run(2))
}

#[track_caller]
fn told_apart(body: &str) {
    let (a, b) = two_ways(body);
    assert_ne!(key(&a), key(&b));
}

#[track_caller]
fn the_same(body: &str) {
    let (a, b) = two_ways(body);
    assert_eq!(key(&a), key(&b));
}

#[test]
fn two_waits_on_one_line_are_told_apart() {
    told_apart("if random(2) == 1 then sleep(5) else sleep(5) end return busy()");
    told_apart(
        "local f = random(2) == 1 and function() sleep(5) end or function() sleep(5) end f() return busy()",
    );
}

#[test]
fn half_finished_expressions_are_told_apart() {
    told_apart("return held(random(2) + redis('GET', 'x'))");
    told_apart("local t = { random(2), redis('GET', 'x') } return busy()");
    the_same("local t = { random(2) * 0, redis('GET', 'x') } return busy()");
}

#[test]
fn locals_upvalues_handle_and_loops_show() {
    told_apart("local n = random(2) sleep(5) return held(n)");
    told_apart("local n = random(2) local f = function() sleep(5) return n end return held(f())");
    told_apart("self.n = { deep = random(2) } sleep(5) return busy()");
    told_apart("for i = random(2), 3 do sleep(5) end return busy()");
    told_apart(
        "local t = { a = 1, b = 2 } local n = random(2) for k in pairs(t) do if n == 1 or k == 'b' then sleep(5) end end return busy()",
    );
    told_apart("local n = random(2) spawn(function() sleep(n) end) sleep(5) return busy()");
    told_apart(
        "local server = on(1, { timeout = 100 * random(2) }) sleep(5) server.redis('GET', 'x') return busy()",
    );
}

#[test]
fn what_can_not_matter_any_more_does_not_show() {
    the_same("do local n = random(2) end sleep(5) return busy()");
    the_same("self.n = random(2) self.n = nil sleep(5) return busy()");
    the_same(
        "local t = {} if random(2) == 1 then t.a = 1 t.b = 2 else t.b = 2 t.a = 1 end sleep(5) return busy()",
    );
    the_same(
        "local t = now() + 100000 * 0 if random(2) == 2 then t = t + 0 end sleep(5) return busy()",
    );
    the_same("local z = 0 if random(2) == 1 then z = -z end sleep(5) return busy()");
}

#[test]
fn a_shared_table_is_not_two_equal_tables() {
    told_apart(
        "local a = {} local b = random(2) == 1 and a or {} sleep(5) a.x = 1 return held(b.x)",
    );
}

#[test]
fn a_shared_variable_is_not_two_equal_variables() {
    // The function keeps the variable of the first round or of the last; only
    // in the last is it the local that the sleep is inside of.
    told_apart(
        "local f local n = random(2) for round = 1, 2 do\nlocal x = 0 if n == round then f = function() return x end end\n\
         if round == 2 then n = 0 sleep(5) x = 1 return held(f()) end end",
    );
    // Two functions that share a variable whose frame is gone.
    told_apart(
        "local function pair() local x = 0 return function() x = x + 1 return x end, function() return x end end\n\
         local put, get = pair() local _, other = pair() if random(2) == 1 then get = other end other = nil _ = nil\n\
         sleep(5) put() return held(get())",
    );
}

#[test]
fn reading_a_variables_identity_leaves_its_value() {
    let mut p = acquiring(
        "local x = 'keep' local f = function() return x end local g = function() x = x end sleep(5) g() return failed(f() .. x)",
    );
    step(&mut p, acquire("token-1"));
    for _ in 0..3 {
        key(&p);
    }
    step(&mut p, advance(5));
    let out = step(&mut p, wake(0));
    assert!(format!("{out:?}").contains("keepkeep"), "{out:?}");
}

#[test]
fn recursive_local_functions_have_a_key() {
    the_same(
        "local function f(n) if n == 0 then sleep(5) return 0 end return 1 + f(n - 1) end random(2) f(3) return busy()",
    );
}

#[test]
fn a_tail_call_keeps_the_line_that_waits() {
    let mut p = acquiring(
        "local function get()\nreturn redis('GET', 'x')\nend\nlocal v = get()\nreturn failed(v)",
    );
    let out = step(&mut p, acquire("token-1"));
    assert_eq!(out.sent[0].line, 3);
    key(&p);
}

#[test]
fn timers_and_kinds_of_threads_show() {
    let begin = |body: &str| {
        let mut p = acquiring(body);
        step(&mut p, acquire("token-1"));
        p
    };
    let every = begin("every(100, function() end) sleep(50) return busy()");
    let spawned = begin("spawn(function() end) sleep(50) return busy()");
    assert_ne!(key(&every), key(&spawned));
    let mut later = begin("every(100, function() end) sleep(50) return busy()");
    step(&mut later, advance(1));
    assert_ne!(key(&every), key(&later));
}

/// All that may come next, with few replies of each kind.
fn inputs(p: &Program, file: &LockFile) -> Vec<Input> {
    let view = p.view();
    let mut inputs = vec![
        advance(STEP),
        advance(2 * STEP),
        Input::Skew { ms: -STEP },
        Input::Skew { ms: STEP },
    ];
    match view.phase {
        Phase::Idle => inputs.extend(acquires(file, "")),
        Phase::Held => {
            inputs.push(release());
            if file.reentrant && view.holds < 3 {
                inputs.push(nested());
            }
            let others = file.operations().iter().copied();
            let others = others.filter(|op| op.while_held().is_some());
            inputs.extend(others.map(|op| Input::Call { op, token: None }));
        }
        _ => {}
    }
    for (thread, waiting) in view.threads {
        match waiting {
            Waiting::Ready => inputs.push(wake(thread)),
            Waiting::Reply { .. } | Waiting::TimedOut { .. } => {
                // A time stored a tick ago.
                let stamp = Symbol::Time(Span { ms: 0, ticks: -1 }, Reading::default()).text();
                for answer in [
                    ok(),
                    Reply::Nil,
                    Reply::Int(0),
                    Reply::Int(1),
                    Reply::Bulk(stamp),
                ] {
                    inputs.push(reply(thread, answer));
                }
                if matches!(waiting, Waiting::TimedOut { .. }) {
                    inputs.push(wake(thread));
                }
            }
            Waiting::Open { .. } | Waiting::Choice { .. } => {
                inputs.extend([1, 2].map(|value| Input::Choose { thread, value }));
            }
            _ => {}
        }
    }
    inputs
}

/// A key and an input.
type Asked = (Vec<u8>, String);
/// An output, or why there is none, and the key after it.
type Answered = (Result<Output, String>, Vec<u8>);

/// The strongest claim of this module, on long random walks: what a program of a
/// model does next is a function of its key.
#[test]
fn equal_keys_answer_alike() {
    for name in builtin_names() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        let mut seen: HashMap<Asked, Answered> = HashMap::new();
        let mut views = HashMap::new();
        let mut again = 0;
        for _ in 0..40 {
            let mut p = start_model(name);
            for _ in 0..120 {
                let before = key(&p);
                let view = views.entry(before.clone()).or_insert_with(|| p.view());
                assert_eq!(view, &p.view(), "{name}");
                let all = inputs(&p, &p.file().clone());
                let input = all[random.random_range(0..all.len())].clone();
                let asked = (before, format!("{input:?}"));
                let output = p.step(&input).map_err(|error| error.to_string());
                let refused = output.is_err();
                let now = (output, key(&p));
                if let Some(then) = seen.get(&asked) {
                    assert_eq!(then, &now, "{name}: {}", asked.1);
                    again += 1;
                } else {
                    seen.insert(asked, now);
                }
                if refused {
                    break;
                }
            }
        }
        assert!(again > 200, "{name}: only {again} states were met again");
    }
}
