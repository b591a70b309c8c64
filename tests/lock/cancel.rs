//! A caller interrupts an operation, as the guide promises it.

use crate::lock_support::*;

use lockproof_model::lock::{Input, LockError, Op, Phase, Program, Waiting};
use lockproof_redis::Reply;
use lockproof_trace::Outcome;

fn cancelled(op: Op) -> Option<(Op, Outcome)> {
    let reason = "cancelled".to_string();
    Some((op, Outcome::Failed { reason }))
}

/// A lock that cleans up like this, in an acquire like this.
fn begun(acquire_body: &str, clean_up: &str) -> Program {
    let mut p = start_text(&format!(
        "return {{\nacquire = function(lock)\n{acquire_body}\nend,\ncancelled = function(lock)\n{clean_up}\nend,\n\
         release = function(lock)\nredis('DEL', lock.key)\nreturn true\nend }}"
    ));
    step(&mut p, acquire("t1"));
    p
}

#[test]
fn an_operation_that_is_interrupted_ends_where_it_waits_and_gives_its_command_up() {
    for (body, abandoned) in [
        ("redis('GET', 'x')\nreturn held()", vec![0]),
        ("sleep(100)\nreturn held()", vec![]),
        ("wait(100)\nreturn held()", vec![]),
    ] {
        let mut p = acquiring(body);
        step(&mut p, acquire("t1"));
        let out = step(&mut p, Input::Cancel);
        assert_eq!(out.outcome, cancelled(Op::Acquire), "{body}");
        assert_eq!(out.abandoned, abandoned, "{body}");
        assert_eq!(phase(&p), Phase::Idle);
        assert!(p.step(&Input::Cancel).is_err(), "nothing runs any more");
        step(&mut p, acquire("t2"));
    }
}

#[test]
fn an_operation_whose_time_is_over_can_still_be_interrupted() {
    let mut p = acquiring("redis('GET', 'x')\nreturn held()");
    step(&mut p, acquire("t1"));
    step(&mut p, advance(60_000));
    assert!(matches!(p.view().threads[0].1, Waiting::TimedOut { .. }));
    assert_eq!(step(&mut p, Input::Cancel).abandoned, [0]);
}

#[test]
fn a_draw_is_no_waiting() {
    let mut p = acquiring("sleep(random(3))\nreturn held()");
    step(&mut p, acquire("t1"));
    assert!(matches!(
        p.step(&Input::Cancel),
        Err(LockError::Driver { .. })
    ));
    assert!(matches!(p.view().threads[0].1, Waiting::Choice { .. }));
}

#[test]
fn the_clean_up_runs_at_its_turn_and_decides_nothing() {
    for end in ["return held()", "error('no')", "return", "return 5"] {
        let mut p = begun(
            "redis('GET', 'x')\nreturn held()",
            &format!("redis('DEL', lock.token)\n{end}"),
        );
        let out = step(&mut p, Input::Cancel);
        assert_eq!((out.outcome, out.sent.len()), (None, 0));
        assert_eq!(p.view().threads, [(0, Waiting::Ready)]);
        let out = step(&mut p, wake(0));
        assert_eq!(sent(&out), ["DEL", "t1"]);
        assert_eq!(phase(&p), Phase::Acquiring);
        let out = step(&mut p, reply(0, Reply::Int(1)));
        assert_eq!(out.outcome, cancelled(Op::Acquire), "{end}");
        assert_eq!((phase(&p), out.fence), (Phase::Idle, None));
    }
}

#[test]
fn a_clean_up_that_is_interrupted_ends_there_and_the_next_acquire_has_its_own() {
    let mut p = begun("redis('GET', 'x')\nreturn held()", "sleep(10)");
    let at_first = key(&p);
    step(&mut p, Input::Cancel);
    step(&mut p, wake(0));
    assert_eq!(step(&mut p, Input::Cancel).outcome, cancelled(Op::Acquire));
    step(&mut p, acquire("t2"));
    assert_eq!(key(&p).len(), at_first.len());
    assert_eq!(step(&mut p, Input::Cancel).outcome, None);
}

#[test]
fn a_release_that_is_interrupted_has_no_clean_up_and_threads_live_on() {
    let mut p = begun(
        "spawn(function() sleep(900) end)\nreturn held()",
        "sleep(10)",
    );
    step(&mut p, wake(1));
    step(&mut p, release());
    assert_eq!(step(&mut p, Input::Cancel).outcome, cancelled(Op::Release));
    assert_eq!(p.view().threads, [(1, Waiting::Sleep { left_ms: 900 })]);
    assert_eq!((phase(&p), p.view().holds), (Phase::Idle, 0));
}

#[test]
fn a_state_that_differs_by_an_interrupt_is_another_state() {
    let body = "sleep(10)\nreturn held()";
    let mut plain = begun(body, body);
    let mut after = plain.clone();
    step(&mut after, Input::Cancel);
    step(&mut plain, advance(10));
    assert_ne!(key(&plain), key(&after));
}

#[test]
fn a_clean_up_that_is_no_function_is_an_error() {
    let text = "return { cancelled = 5, acquire = function() end, release = function() end }";
    let error = file(text).unwrap_err().to_string();
    assert!(
        error.contains("`cancelled` must be a function of `lock`"),
        "{error}"
    );
    let text = "return { canceled = 5, acquire = function() end, release = function() end }";
    let error = file(text).unwrap_err().to_string();
    assert!(error.contains("did you mean `cancelled`?"), "{error}");
}
