//! Threads, timers, messages and loss, as the guide promises them.

use crate::lock_support::*;

use lockproof_model::lock::{Input, LockError, Op, Phase, Program, Waiting};
use lockproof_redis::Reply;
use lockproof_trace::Outcome;

fn begun(body: &str) -> Program {
    let mut p = acquiring(body);
    step(&mut p, acquire("t1"));
    p
}

fn message(text: &str) -> Input {
    Input::Message {
        channel: b"freed".to_vec(),
        payload: text.to_string(),
    }
}

fn failed(reason: &str) -> Option<(Op, Outcome)> {
    let reason = reason.to_string();
    Some((Op::Acquire, Outcome::Failed { reason }))
}

#[test]
fn a_spawned_thread_runs_only_when_it_is_woken() {
    let mut p = begun("spawn(function() redis('GET', 'x') end)\nredis('GET', 'y')\nreturn held()");
    let threads = p.view().threads;
    assert_eq!(threads[0].0, 0);
    assert_eq!(threads[1], (1, Waiting::Ready));
    let out = step(&mut p, wake(1));
    assert_eq!((out.sent[0].thread, out.sent[0].line, out.line), (1, 2, 2));
}

#[test]
fn threads_take_the_smallest_free_number() {
    let mut p = begun(
        "local function work() sleep(100) end\nlocal a, b = spawn(work), spawn(work)\nstop(a)\nlocal c = spawn(work)\n\
         return failed(a .. b .. c)",
    );
    assert_eq!(p.view().threads.len(), 2);
    p.restart(CLOCK).unwrap();
    assert_eq!(step(&mut p, acquire("t1")).outcome, failed("121"));
}

#[test]
fn threads_share_the_handle_and_captured_variables() {
    let mut p = begun(
        "local n = 0\nspawn(function() n = n + 1 self.seen = n end)\nsleep(10)\nreturn failed(n .. self.seen)",
    );
    step(&mut p, wake(1));
    step(&mut p, advance(10));
    assert_eq!(step(&mut p, wake(0)).outcome, failed("11"));
}

#[test]
fn time_wakes_nobody_by_itself() {
    let mut p = begun("sleep(10)\nreturn busy()");
    let out = step(&mut p, advance(9));
    assert_eq!(out, Default::default());
    assert_eq!(p.view().threads, [(0, Waiting::Sleep { left_ms: 1 })]);
    step(&mut p, advance(1));
    assert_eq!(p.view().threads, [(0, Waiting::Ready)]);
    step(&mut p, advance(500));
    assert_eq!(p.view().threads, [(0, Waiting::Ready)]);
    assert!(step(&mut p, wake(0)).outcome.is_some());
}

#[test]
fn skew_moves_the_clock_and_no_timer() {
    let mut p = begun("local t = now()\nsleep(10)\nreturn held(now() - t)");
    step(&mut p, Input::Skew { ms: -300 });
    assert_eq!(p.view().threads, [(0, Waiting::Sleep { left_ms: 10 })]);
    assert_eq!(p.clock_ms(), CLOCK - 300);
    step(&mut p, advance(10));
    let out = step(&mut p, wake(0));
    assert_eq!(out.outcome, held(Some(-290)));
    step(&mut p, Input::Skew { ms: 5 });
    // It is over, however long ago.
    assert_eq!(p.view().validity_left_ms, Some(0));
    step(&mut p, Input::Skew { ms: -296 });
    assert_eq!(p.view().validity_left_ms, Some(1));
}

#[test]
fn every_waits_first_and_ends_on_false_or_on_stop() {
    for ending in [
        "return self.rounds < 2",
        "if self.rounds == 2 then stop() end",
    ] {
        let mut p = begun(&format!(
            "self.rounds = 0\nevery(100, function() self.rounds = self.rounds + 1 {ending} end)\nreturn held()"
        ));
        for _ in 0..2 {
            assert_eq!(p.view().threads, [(1, Waiting::Sleep { left_ms: 100 })]);
            step(&mut p, advance(100));
            step(&mut p, wake(1));
        }
        assert!(p.view().threads.is_empty());
    }
}

#[test]
fn a_background_loss_ends_the_validity_and_not_the_hold() {
    let mut p = begun("spawn(function()\nlost() end)\nreturn held(500)");
    assert_eq!(p.view().validity_left_ms, Some(500));
    let out = step(&mut p, wake(1));
    assert_eq!((out.lost, out.line, out.outcome), (true, 3, None));
    let view = p.view();
    // The caller's work goes on, without validity, until it calls release.
    assert_eq!(
        (view.phase, view.holds, view.validity_left_ms),
        (Phase::Held, 1, Some(0))
    );
    assert!(view.lost && !view.valid);
    step(&mut p, release());
    assert_eq!(phase(&p), Phase::Idle);
}

#[test]
fn a_release_may_report_the_lock_lost_or_failed() {
    for (word, outcome) in [
        ("lost()", Outcome::Lost),
        (
            "failed('no')",
            Outcome::Failed {
                reason: "no".into(),
            },
        ),
    ] {
        let mut p = start_text(&format!(
            "return {{ acquire = function(lock) return held {{ fence = 7 }} end,\nrelease = function(lock) return {word} end }}"
        ));
        let out = step(&mut p, acquire("t1"));
        let held = Outcome::Held {
            validity_ms: None,
            fence: Some(7),
        };
        assert_eq!(out.outcome, Some((Op::Acquire, held)));
        assert_eq!(
            step(&mut p, release()).outcome,
            Some((Op::Release, outcome))
        );
        assert_eq!(phase(&p), Phase::Idle);
    }
}

#[test]
fn an_error_in_a_background_thread_ends_that_thread_only() {
    let mut p = begun("spawn(function() error('x') end)\nreturn held()");
    let out = step(&mut p, wake(1));
    assert_eq!((out.outcome, out.lost), (None, false));
    assert_eq!((phase(&p), p.view().threads.len()), (Phase::Held, 0));
}

#[test]
fn a_hold_without_validity_is_valid_for_ever_and_a_thread_makes_it_a_renewed_one() {
    let mut p = begun("redis('GET', 'x')\nreturn held()");
    step(&mut p, reply(0, Reply::Nil));
    step(&mut p, advance(30_000));
    let view = p.view();
    assert_eq!(
        (view.validity_left_ms, view.valid, view.renewed),
        (None, true, false)
    );
    let mut p = begun("spawn(function() sleep(5) end)\nreturn held(100)");
    let view = p.view();
    assert_eq!(
        (view.validity_left_ms, view.valid, view.renewed),
        (Some(100), true, true)
    );
    // It counts as renewed when the thread is gone.
    step(&mut p, wake(1));
    step(&mut p, advance(100));
    step(&mut p, wake(1));
    step(&mut p, advance(1));
    let view = p.view();
    assert!(view.threads.is_empty());
    assert_eq!(
        (view.validity_left_ms, view.valid, view.renewed),
        (Some(0), false, true)
    );
}

#[test]
fn a_message_wakes_who_waits_and_is_kept_for_who_will() {
    let body = "subscribe('freed')\nlocal first = wait(100)\nsleep(10)\nlocal second, channel = wait(100)\n\
                local third = wait(100)\nreturn failed(first .. second .. channel .. type(third))";
    let mut p = acquiring(body);
    let out = step(&mut p, acquire("t1"));
    assert_eq!(sent(&out), ["SUBSCRIBE", "freed"]);
    step(&mut p, reply(0, Reply::Nil));
    assert_eq!(p.view().threads, [(0, Waiting::Message { left_ms: 100 })]);
    step(&mut p, message("a"));
    let before = key(&p);
    step(&mut p, message("b"));
    assert_ne!(key(&p), before);
    step(&mut p, advance(10));
    step(&mut p, wake(0));
    assert_eq!(p.view().threads, [(0, Waiting::Message { left_ms: 100 })]);
    step(&mut p, advance(100));
    assert_eq!(step(&mut p, wake(0)).outcome, failed("abfreednil"));
}

#[test]
fn a_message_of_another_channel_is_not_for_this_client() {
    let mut p = begun("local text = wait(100)\nreturn busy()");
    let before = key(&p);
    step(&mut p, message("a"));
    assert_eq!(key(&p), before);
}

#[test]
fn replies_become_lua_values() {
    let body = "local r = redis('X')\nreturn failed(type(r[1]) .. tostring(r[2]) .. r[3] .. r[4] .. r[5][1])";
    let mut p = begun(body);
    let nested = Reply::Array(vec![bulk("in")]);
    let all = vec![Reply::Nil, Reply::Int(-4), bulk("text"), ok(), nested];
    let out = step(&mut p, reply(0, Reply::Array(all)));
    assert_eq!(out.outcome, failed("boolean-4textOKin"));
}

#[test]
fn errors_tell_refused_from_unknown() {
    let body = "local v, err = redis('X')\nreturn failed(type(v) .. tostring(err.definite) .. tostring(err.timeout) .. err.code)";
    let mut p = begun(body);
    let error = Reply::Error("READONLY You can't write".to_string());
    assert_eq!(
        step(&mut p, reply(0, error)).outcome,
        failed("niltruefalseREADONLY")
    );
    step(&mut p, acquire("t2"));
    let fail = Input::Fail {
        thread: 0,
        definite: true,
        message: "refused".into(),
    };
    assert_eq!(step(&mut p, fail).outcome, failed("niltruefalseCONNECTION"));
    step(&mut p, acquire("t3"));
    step(&mut p, advance(1_000));
    assert_eq!(step(&mut p, wake(0)).outcome, failed("nilfalsetrueTIMEOUT"));
}

#[test]
fn arguments_print_as_redis_reads_them() {
    let body = "redis('X', 1, -2, 0.5, 3e3, 'text', now() + 1, lock.ttl / 1000)";
    let mut p = acquiring(body);
    let argv = sent(&step(&mut p, acquire("t1")));
    let time = (CLOCK + 1).to_string();
    assert_eq!(
        argv,
        ["X", "1", "-2", "0.5", "3000", "text", time.as_str(), "3"]
    );
}

#[test]
fn a_time_comes_back_from_its_text_and_nothing_else_does() {
    let body = "local t = now()\nlocal back = time(redis('X'))\nlocal none = time('abc') or time(nil) or time('') or time('12 ')\n\
                return failed(tostring(back == t) .. tostring(none) .. type(back))";
    let mut p = begun(body);
    let out = step(&mut p, reply(0, bulk(&CLOCK.to_string())));
    assert_eq!(out.outcome, failed("trueniltime"));
}

#[test]
fn scripts_come_from_beside_the_file_then_from_its_parent_then_built_in() {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("lua/mine.lua", "return 'outer'");
    write("lua/shared.lua", "return 'shared'");
    write("locks/lua/mine.lua", "return 'inner'");
    let text = "return { scripts = { 'mine', 'shared', 'release_if_owner', own = 'return 4' },\n\
                acquire = function(lock) end, release = function(lock) end }";
    write("locks/some-lock.lua", text);
    let load = || {
        lockproof_model::lock::LockFile::load(&folder.path().join("locks/some-lock.lua")).unwrap()
    };
    let file = load();
    assert_eq!(file.name, "some-lock");
    assert_eq!(file.scripts["mine"], "return 'inner'");
    assert_eq!(file.scripts["shared"], "return 'shared'");
    assert!(file.scripts["release_if_owner"].contains("del"));
    assert_eq!(file.scripts["own"], "return 4");
    assert_eq!(file.sha256, load().sha256);
    write("lua/shared.lua", "return 'changed'");
    assert_ne!(file.sha256, load().sha256);
    assert_eq!(
        file.line(2),
        Some("acquire = function(lock) end, release = function(lock) end }")
    );

    let missing =
        lockproof_model::lock::LockFile::load(&folder.path().join("none.lua")).unwrap_err();
    assert!(missing.to_string().contains("check the path"), "{missing}");
    let unknown = lockproof_model::lock::LockFile::builtin("tokn").unwrap_err();
    assert!(unknown.to_string().contains("token-renewed"), "{unknown}");
}

#[test]
fn a_thread_has_its_token_after_the_operation_that_began_it() {
    let mut p = begun("spawn(function() sleep(10) redis('DEL', lock.token) end)\nreturn busy()");
    step(&mut p, wake(1));
    step(&mut p, advance(10));
    assert_eq!(sent(&step(&mut p, wake(1))), ["DEL", "t1"]);
}

#[test]
fn a_lost_hold_says_nothing_of_the_next() {
    let mut p = begun("spawn(function() lost() end)\nreturn held(500)");
    step(&mut p, wake(1));
    step(&mut p, release());
    step(&mut p, acquire("t2"));
    let view = p.view();
    assert!(view.valid && !view.lost);
}

fn nesting(acquire: &str) -> Program {
    start_text(&format!(
        "return {{ reentrant = true, acquire = function(lock)\n{acquire}\nend, release = function(lock) end }}"
    ))
}

#[test]
fn a_nested_acquire_brings_no_lost_hold_back() {
    let mut p = nesting("spawn(function() lost() end)\nreturn held(500)");
    step(&mut p, acquire("t1"));
    step(&mut p, wake(1));
    step(&mut p, nested());
    let view = p.view();
    assert_eq!((view.holds, view.validity_left_ms), (2, Some(0)));
}

#[test]
fn a_nested_acquire_may_find_that_the_lock_is_lost() {
    let mut p =
        nesting("if self.inner then return lost() end\nself.inner = true\nreturn held(500)");
    step(&mut p, acquire("t1"));
    step(&mut p, nested());
    let view = p.view();
    assert!(view.lost && !view.valid);
    assert_eq!((view.phase, view.holds), (Phase::Held, 1));
}

#[test]
fn a_lost_hold_is_another_state_than_one_whose_validity_is_over() {
    let mut p = begun(
        "local n = random(2)\nspawn(function() if n == 1 then lost() end end)\nreturn held(n == 1 and 500 or 0)",
    );
    let mut other = p.clone();
    for (p, value) in [(&mut p, 1), (&mut other, 2)] {
        step(p, Input::Choose { thread: 0, value });
        step(p, wake(1));
        assert_eq!(p.view().validity_left_ms, Some(0));
    }
    assert_ne!(p.key(), other.key());
}

#[test]
fn what_waits_is_rounded_up_and_what_is_stated_is_rounded_down() {
    let mut p = begun("sleep(10.5)\nreturn held(10.5)");
    assert_eq!(p.view().threads, [(0, Waiting::Sleep { left_ms: 11 })]);
    step(&mut p, advance(11));
    assert_eq!(step(&mut p, wake(0)).outcome, held(Some(10)));
}

#[test]
fn the_monotonic_clock_is_not_set() {
    let mut p = begun("local t = monotonic()\nsleep(10)\nreturn held(monotonic() - t)");
    step(&mut p, Input::Skew { ms: -300 });
    step(&mut p, advance(10));
    assert_eq!(step(&mut p, wake(0)).outcome, held(Some(10)));
}

// ---- in a model ----

/// A lock of a model whose acquire has this body.
fn modelled(body: &str) -> Program {
    let text =
        format!("return {{ acquire = function(lock)\n{body}\nend, release = function(lock) end }}");
    start_model_of(&file(&text).unwrap())
}

fn refusal(p: &mut Program, input: Input) -> String {
    match p.step(&input) {
        Err(error @ LockError::Refused { .. }) => error.to_string(),
        other => panic!("it is not refused: {other:?}"),
    }
}

#[test]
fn a_clock_that_is_set_back_brings_a_validity_back() {
    let mut p = modelled("return held(2000 - (now() - now()))");
    step(&mut p, acquire(""));
    step(&mut p, advance(3 * STEP));
    assert!(!p.view().valid);
    step(&mut p, Input::Skew { ms: -2 * STEP });
    assert!(p.view().valid);
}

#[test]
fn in_a_model_no_fixed_date_is_a_time() {
    let mut p = modelled("return held(time('1700000000000') - now())");
    let said = refusal(&mut p, acquire(""));
    assert!(said.contains("a fixed date"), "{said}");
    // One of another century is in the past or in the future.
    for (fixed, is_later) in [("0", "false"), ("99999999999999", "true")] {
        let mut p = modelled(&format!("return failed(tostring(time('{fixed}') > now()))"));
        assert_eq!(step(&mut p, acquire("")).outcome, failed(is_later));
    }
}

#[test]
fn in_a_model_a_time_with_more_beside_it_is_no_time() {
    let mut p = modelled("return failed(tostring(time(tostring(now()) .. ':x')))");
    assert_eq!(step(&mut p, acquire("")).outcome, failed("nil"));
}

#[test]
fn in_a_model_nobody_sleeps_for_half_of_what_was_measured() {
    let mut p = modelled("local t = now()\nsleep(1000)\nsleep((now() - t) / 2)\nreturn busy()");
    step(&mut p, acquire(""));
    step(&mut p, advance(STEP));
    let said = refusal(&mut p, wake(0));
    assert!(said.contains("waits for a duration"), "{said}");
}

#[test]
fn in_a_model_the_byte_of_symbols_is_not_sent() {
    let mut p = modelled("redis('SET', lock.key, 'a\\255')\nreturn busy()");
    let said = refusal(&mut p, acquire(""));
    assert!(said.contains("the byte 255"), "{said}");
}

#[test]
fn in_a_model_what_happens_between_two_ticks_is_left_open() {
    for (comparison, ms) in [("now() == t", 0), ("now() - t < 1500", STEP)] {
        let mut p = modelled(&format!(
            "local t = now()\nredis('GET', 'x')\nreturn failed(tostring({comparison}))"
        ));
        step(&mut p, acquire(""));
        step(&mut p, advance(ms));
        step(&mut p, reply(0, ok()));
        let open = Waiting::Open { at_ticks: true };
        assert_eq!(p.view().threads, [(0, open)], "{comparison}");
    }
}

#[test]
fn a_message_that_says_what_a_kept_one_says_is_dropped() {
    let body = "subscribe('freed')\nsleep(10)\nlocal a = wait(5)\nlocal b = wait(5)\n\
                return failed(a .. tostring(b))";
    let mut p = begun(body);
    step(&mut p, reply(0, Reply::Int(1)));
    step(&mut p, message("x"));
    step(&mut p, message("x"));
    step(&mut p, advance(10));
    step(&mut p, wake(0));
    step(&mut p, advance(5));
    assert_eq!(step(&mut p, wake(0)).outcome, failed("xnil"));
}

#[test]
fn subscribe_is_no_command_but_a_word() {
    let mut p = acquiring("redis('SUBSCRIBE', 'freed')\nreturn busy()");
    let error = p.step(&acquire("t1")).unwrap_err().to_string();
    assert!(error.contains("use subscribe(channel)"), "{error}");
    assert!(error.contains(":"), "{error}");
}
