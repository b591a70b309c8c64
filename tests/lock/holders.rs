//! What a caller asks while it holds, and what a lock asserts of itself.

use crate::lock_support::*;

use lockproof_model::lock::{Broken, Input, LockError, Op, Output, Phase, Program};
use lockproof_trace::Outcome;

/// A lock whose acquire states a validity, with these operations more; the first line of
/// them is line 3.
fn with(more: &str) -> Program {
    let mut p = start_text(&format!(
        "return {{ acquire = function(lock) return held(3000) end,\n  release = function(lock) return true end,\n{more} }}"
    ));
    step(&mut p, acquire("t1"));
    p
}

fn call(op: Op) -> Input {
    Input::Call { op, token: None }
}

fn says(effect: bool) -> Outcome {
    let effect = Some(effect);
    Outcome::Done { effect }
}

fn outcome(output: &Output) -> Outcome {
    output.outcome.clone().expect("an operation ended").1
}

#[test]
fn a_renewal_runs_while_the_lock_is_held_and_changes_no_hold() {
    let mut p = with("renew = function(lock) return redis('PEXPIRE', lock.key, lock.ttl) == 1 end");
    let out = step(&mut p, call(Op::Renew));
    assert_eq!(sent(&out), ["PEXPIRE", "the-lock", "3000"]);
    assert_eq!((p.view().phase, p.view().holds), (Phase::Renewing, 1));
    let out = step(&mut p, reply(0, lockproof_redis::Reply::Int(1)));
    assert_eq!(out.outcome, Some((Op::Renew, says(true))));
    assert_eq!((p.view().phase, p.view().holds), (Phase::Held, 1));
}

#[test]
fn a_renewal_that_states_a_validity_starts_another_one() {
    let mut p = with("renew = function(lock) return held(2000) end");
    step(&mut p, advance(2_500));
    assert_eq!(p.view().validity_left_ms, Some(500));
    step(&mut p, call(Op::Renew));
    assert_eq!(p.view().validity_left_ms, Some(2_000));
}

#[test]
fn without_another_validity_the_old_one_goes_on() {
    for said in ["true", "held()", "failed('nobody knows')"] {
        let mut p = with(&format!("renew = function(lock) return {said} end"));
        step(&mut p, advance(2_500));
        step(&mut p, call(Op::Renew));
        let view = p.view();
        assert_eq!(
            (view.validity_left_ms, view.valid),
            (Some(500), true),
            "{said}"
        );
    }
}

#[test]
fn who_is_told_that_the_lock_is_lost_holds_it_validly_no_more() {
    for (op, said) in [
        (Op::Renew, "false"),
        (Op::Renew, "lost()"),
        (Op::IsHeld, "false"),
        (Op::IsHeld, "lost()"),
    ] {
        let mut p = with(&format!("{} = function(lock) return {said} end", op.name()));
        step(&mut p, call(op));
        let view = p.view();
        assert_eq!(
            (view.phase, view.holds, view.valid),
            (Phase::Held, 1, false),
            "{said}"
        );
        assert!(view.lost);
        // The caller still gives it back.
        assert_eq!(outcome(&step(&mut p, release())), says(true));
        assert_eq!(p.view().holds, 0);
    }
}

#[test]
fn what_was_lost_no_renewal_makes_valid_again() {
    let mut p = with(
        "renew = function(lock) return held(2000) end, is_held = function(lock) return false end",
    );
    step(&mut p, call(Op::IsHeld));
    step(&mut p, call(Op::Renew));
    assert!(!p.view().valid);
}

#[test]
fn a_question_answers_yes_or_no_or_not_at_all() {
    for (said, expected) in [("true", says(true)), ("1 == 2", says(false))] {
        let mut p = with(&format!("is_held = function(lock) return {said} end"));
        assert_eq!(outcome(&step(&mut p, call(Op::IsHeld))), expected);
    }
    let mut p = with("is_held = function(lock) return failed('no reply') end");
    let reason = "no reply".to_string();
    assert_eq!(
        outcome(&step(&mut p, call(Op::IsHeld))),
        Outcome::Failed { reason }
    );
    assert!(p.view().valid);
}

#[test]
fn what_an_operation_may_not_return_is_named_with_its_line() {
    let renew = "return true, false, held{...}, lost() or failed(reason)";
    let nothing = "nothing (does every way through it return?)";
    let is_held = "return true, false, lost() or failed(reason)";
    for (op, said, shown, instead) in [
        (Op::Renew, "return 7", "7", renew),
        (Op::Renew, "return 'OK'", "\"OK\"", renew),
        (Op::Renew, "return busy()", "busy()", renew),
        (Op::Renew, "local x = 1", nothing, renew),
        (Op::IsHeld, "return 1", "1", is_held),
        (Op::IsHeld, "return held(5)", "held()", is_held),
        (Op::IsHeld, "return {}", "a table", is_held),
        (Op::IsHeld, "local x = 1", nothing, is_held),
    ] {
        let name = op.name();
        let mut p = with(&format!("{name} = function(lock) {said} end"));
        let error = p.step(&call(op)).unwrap_err().to_string();
        let expected = format!("my-lock.lua:3: {name} returned {shown}; it may {instead}");
        assert!(error.contains(&expected), "{error}");
    }
}

#[test]
fn nobody_renews_what_nobody_holds() {
    let text = "return { acquire = function(lock) return busy() end, release = function(lock) end, \
                renew = function(lock) return true end }";
    let mut p = start_text(text);
    let error = p.step(&call(Op::Renew)).unwrap_err();
    assert!(matches!(error, LockError::Driver { .. }), "{error}");
    let mut p = with("");
    let error = p.step(&call(Op::Renew)).unwrap_err();
    assert!(
        error.to_string().contains("the lock has no `renew`"),
        "{error}"
    );
}

#[test]
fn who_tries_acquires_with_a_token_of_its_own() {
    let mut p = start_text(
        "return { acquire = function(lock) return busy() end, release = function(lock) end, \
         try_acquire = function(lock) return held{fence = #lock.token} end }",
    );
    let out = step(
        &mut p,
        Input::Call {
            op: Op::TryAcquire,
            token: Some("four".to_string()),
        },
    );
    let held = Outcome::Held {
        validity_ms: None,
        fence: Some(4),
    };
    assert_eq!(out.outcome, Some((Op::TryAcquire, held)));
    assert_eq!(p.view().holds, 1);
}

#[test]
fn an_assertion_that_is_not_so_is_reported_and_the_client_goes_on() {
    let mut p = acquiring(
        "assert_(true, 'fine')\nassert_(nil, 'not so')\nassert_(1 == 2)\nassert_(0, 'zero is true')\nreturn busy()",
    );
    let out = step(&mut p, acquire("t1"));
    let broken = |line: u32, text: &str| Broken {
        line,
        text: text.to_string(),
    };
    assert_eq!(
        out.broken,
        [broken(3, "not so"), broken(4, "what it asserts is not so")]
    );
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Busy)));
}

#[test]
fn an_assertion_takes_a_condition_and_a_text() {
    for (said, says) in [
        ("assert_()", "needs a condition"),
        (
            "assert_(true, 5)",
            "takes a text that says what must be so, not a number",
        ),
        (
            "assert_(true, {})",
            "takes a text that says what must be so, not a table",
        ),
    ] {
        let error = error_of(&format!("\n{said}"));
        assert!(
            error.starts_with("my-lock.lua:3: ") && error.contains(says),
            "{error}"
        );
    }
    let text = "assert_(true, 'loading')\nreturn { acquire = function(lock) end, release = function(lock) end }";
    let error = file(text).unwrap_err().to_string();
    assert!(error.starts_with("my-lock.lua:1: "), "{error}");
}
