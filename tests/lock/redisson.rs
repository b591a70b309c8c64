//! Redisson's locks send what the library sends, driven by hand-made replies.

use crate::lock_support::*;

use lockproof_model::lock::{Input, Op, Program, Waiting};
use lockproof_redis::Reply;
use lockproof_trace::Outcome;

const QUEUE: &str = "redisson_lock_queue:{the-lock}";
const TIMEOUTS: &str = "redisson_lock_timeout:{the-lock}";
const CHANNEL: &str = "redisson_lock__channel:{the-lock}:client-a";

/// The keys and arguments of a script that was sent, with the number of keys before them.
fn arguments(argv: &[String]) -> Vec<&str> {
    assert_eq!(argv[0], "EVAL");
    argv[2..].iter().map(String::as_str).collect()
}

/// A client of the fair lock that waits for a message: the lock is taken for 500 ms more.
fn waiting_in_the_queue() -> Program {
    let mut p = start("redisson-fair");
    step(&mut p, acquire("t1"));
    let argv = sent(&step(&mut p, reply(0, Reply::Int(500))));
    assert_eq!(argv, ["SUBSCRIBE", CHANNEL]);
    step(&mut p, reply(0, Reply::Nil));
    step(&mut p, reply(0, Reply::Int(500)));
    p
}

#[test]
fn the_fair_lock_sends_its_queue_its_time_and_how_long_a_waiter_may_stay() {
    let mut p = start("redisson-fair");
    let argv = sent(&step(&mut p, acquire("t1")));
    let now = CLOCK.to_string();
    assert_eq!(
        arguments(&argv),
        [
            "3", "the-lock", QUEUE, TIMEOUTS, "3000", "client-a", "3000", &now
        ]
    );
    assert_eq!(step(&mut p, reply(0, Reply::Nil)).outcome, held(None));
    step(&mut p, advance(200));
    let argv = sent(&step(&mut p, release()));
    let now = (CLOCK + 200).to_string();
    assert_eq!(
        arguments(&argv),
        [
            "4",
            "the-lock",
            QUEUE,
            TIMEOUTS,
            "redisson_lock__channel:{the-lock}",
            "0",
            "3000",
            "client-a",
            &now
        ]
    );
}

#[test]
fn a_waiter_of_the_fair_lock_listens_on_its_own_channel_and_tries_when_it_is_told() {
    let mut p = waiting_in_the_queue();
    assert_eq!(p.view().threads, [(0, Waiting::Message { left_ms: 500 })]);
    let told = Input::Message {
        channel: CHANNEL.into(),
        payload: "0".into(),
    };
    let argv = sent(&step(&mut p, told));
    assert_eq!(&arguments(&argv)[..2], ["3", "the-lock"]);
    let argv = sent(&step(&mut p, reply(0, Reply::Nil)));
    assert_eq!(argv, ["UNSUBSCRIBE", CHANNEL]);
    assert_eq!(step(&mut p, reply(0, Reply::Nil)).outcome, held(None));
}

#[test]
fn a_waiter_of_the_fair_lock_whose_time_is_over_leaves_the_queue() {
    let mut p = waiting_in_the_queue();
    step(&mut p, advance(500));
    step(&mut p, wake(0));
    step(&mut p, advance(900));
    // 1.4 s are over: of the lease that the server tells, 1.6 s can be waited for.
    step(&mut p, reply(0, Reply::Int(2_500)));
    assert_eq!(p.view().threads, [(0, Waiting::Message { left_ms: 1_600 })]);
    step(&mut p, advance(1_600));
    let argv = sent(&step(&mut p, wake(0)));
    assert_eq!(arguments(&argv), ["2", QUEUE, TIMEOUTS, "client-a", "3000"]);
    let argv = sent(&step(&mut p, reply(0, Reply::Nil)));
    assert_eq!(argv, ["UNSUBSCRIBE", CHANNEL]);
    let out = step(&mut p, reply(0, Reply::Nil));
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Busy)));
}

#[test]
fn redisson_on_five_servers_fails_when_they_take_half_a_lease_together() {
    for (each_ms, outcome) in [(299, held(None)), (300, None)] {
        let mut p = start("redisson-multi");
        let mut out = step(&mut p, acquire("t1"));
        for node in 0..5 {
            assert_eq!(out.sent[0].node, node);
            assert_eq!(&sent(&out)[2..], ["1", "the-lock", "3000", "client-a"]);
            step(&mut p, advance(each_ms));
            out = step(&mut p, reply(0, Reply::Nil));
        }
        assert_eq!(out.outcome, outcome);
        // Too slow: it counts itself out everywhere.
        if outcome.is_none() {
            assert_eq!(
                &sent(&out)[4..],
                ["redisson_lock__channel:{the-lock}", "0", "3000", "client-a"]
            );
        }
    }
    let mut p = start("redisson-multi");
    step(&mut p, acquire("t1"));
    step(&mut p, advance(300));
    assert_eq!(p.view().threads, [(0, Waiting::TimedOut { node: 0 })]);
}

#[test]
fn redisson_s_readers_have_keys_of_their_own_and_its_writer_a_field() {
    let mut p = start("redisson-rw");
    let holds = "{the-lock}:client-a:rwlock_timeout";
    let argv = sent(&step(&mut p, acquire_for(Op::AcquireRead)));
    assert_eq!(
        &argv[2..],
        ["2", "the-lock", holds, "3000", "client-a", "client-a:write"]
    );
    step(&mut p, reply(0, Reply::Nil));
    let argv = sent(&step(&mut p, release()));
    let channel = "redisson_rwlock:{the-lock}";
    assert_eq!(
        &argv[2..],
        [
            "4",
            "the-lock",
            channel,
            holds,
            "{the-lock}",
            "0",
            "client-a"
        ]
    );
    step(&mut p, reply(0, Reply::Int(0)));

    let argv = sent(&step(&mut p, acquire_for(Op::AcquireWrite)));
    assert_eq!(&argv[2..], ["1", "the-lock", "3000", "client-a:write"]);
    // Who has to wait listens first.
    let argv = sent(&step(&mut p, reply(0, Reply::Int(500))));
    assert_eq!(argv, ["SUBSCRIBE", channel]);
}
