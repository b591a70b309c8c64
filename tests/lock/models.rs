//! Each built-in lock says what its document says, driven by hand-made replies.

use crate::lock_support::*;

use lockproof_model::lock::{Input, LockFile, Op, Phase, Waiting, builtin_names};
use lockproof_redis::Reply;
use lockproof_trace::Outcome;

#[test]
fn every_builtin_loads_describes_itself_and_starts() {
    for name in builtin_names() {
        let file = LockFile::builtin(name).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(file.name, name);
        assert!(!file.description.is_empty(), "{name}");
        assert_eq!(file.sha256.len(), 64);
        assert_eq!(start(name).view().phase, Phase::Idle);
    }
}

#[test]
fn token_states_a_validity_counted_from_before_the_request() {
    let mut p = start("token");
    let out = step(&mut p, acquire("t1"));
    assert_eq!(sent(&out), ["SET", "the-lock", "t1", "NX", "PX", "3000"]);
    assert_eq!(out.sent[0].line, 10);
    assert_eq!(out.line, 10);
    step(&mut p, advance(200));
    let out = step(&mut p, reply(0, ok()));
    assert_eq!(out.outcome, held(Some(2_800)));
    assert_eq!(out.line, 14);
    step(&mut p, advance(100));
    assert_eq!(p.view().validity_left_ms, Some(2_700));

    let out = step(&mut p, release());
    assert_eq!(p.view().validity_left_ms, None);
    assert_eq!(phase(&p), Phase::Releasing);
    let argv = sent(&out);
    assert_eq!(argv[0], "EVAL");
    assert!(argv[1].contains("redis.call(\"del\", KEYS[1])"));
    assert_eq!(&argv[2..], ["1", "the-lock", "t1"]);
    assert_eq!(
        step(&mut p, reply(0, Reply::Int(1))).outcome,
        done(Some(true))
    );
    assert_eq!(phase(&p), Phase::Idle);
}

#[test]
fn token_is_busy_on_nil_and_failed_when_the_reply_does_not_come() {
    let mut p = start("token");
    step(&mut p, acquire("t1"));
    let out = step(&mut p, reply(0, Reply::Nil));
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Busy)));

    step(&mut p, acquire("t2"));
    step(&mut p, advance(1_000));
    assert_eq!(p.view().threads, [(0, Waiting::TimedOut { node: 0 })]);
    let out = step(&mut p, wake(0));
    assert_eq!(out.abandoned, [0]);
    let reason = "no reply in time".to_string();
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Failed { reason })));
}

#[test]
fn a_reply_that_arrives_after_the_time_but_before_the_wake_is_used() {
    let mut p = start("token");
    step(&mut p, acquire("t1"));
    step(&mut p, advance(1_000));
    let out = step(&mut p, reply(0, ok()));
    assert_eq!(out.outcome, held(Some(2_000)));
    assert!(out.abandoned.is_empty());
}

#[test]
fn token_release_of_a_lock_that_is_gone_reports_no_effect() {
    let mut p = start("token");
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, ok()));
    step(&mut p, release());
    let out = step(&mut p, reply(0, Reply::Int(0)));
    assert_eq!(out.outcome, done(Some(false)));
}

#[test]
fn setnx_expire_uses_two_commands_and_claims_nothing_on_release() {
    let mut p = start("setnx-expire");
    assert_eq!(
        sent(&step(&mut p, acquire("t1"))),
        ["SETNX", "the-lock", "1"]
    );
    let out = step(&mut p, reply(0, Reply::Int(1)));
    assert_eq!(sent(&out), ["EXPIRE", "the-lock", "3"]);
    let out = step(&mut p, reply(0, Reply::Int(1)));
    assert_eq!(out.outcome, held(None));
    assert_eq!(p.view().validity_left_ms, None);
    assert_eq!(sent(&step(&mut p, release())), ["DEL", "the-lock"]);
    assert_eq!(step(&mut p, reply(0, Reply::Int(1))).outcome, done(None));

    step(&mut p, acquire("t2"));
    let out = step(&mut p, reply(0, Reply::Int(0)));
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Busy)));
}

#[test]
fn setnx_expire_fails_when_its_second_command_is_lost() {
    let mut p = start("setnx-expire");
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, Reply::Int(1)));
    let fail = Input::Fail {
        thread: 0,
        definite: false,
        message: "connection reset".to_string(),
    };
    let out = step(&mut p, fail);
    let reason = "connection reset".to_string();
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Failed { reason })));
}

#[test]
fn getset_timestamp_stores_the_clock_plus_lease_plus_tolerance() {
    let mut p = start("getset-timestamp");
    let out = step(&mut p, acquire("t1"));
    let stamp = (CLOCK + 4_000).to_string();
    assert_eq!(sent(&out), ["SETNX", "the-lock", stamp.as_str()]);
    step(&mut p, reply(0, Reply::Int(1)));
    assert_eq!(step(&mut p, reply(0, Reply::Int(1))).outcome, held(None));
}

#[test]
fn getset_timestamp_takes_over_only_what_has_passed_and_nobody_else_took() {
    let stamp = (CLOCK + 4_000).to_string();
    let passed = (CLOCK - 1).to_string();
    let busy = Some((Op::Acquire, Outcome::Busy));
    let mut p = start("getset-timestamp");

    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, Reply::Int(0)));
    let not_passed = bulk(&CLOCK.to_string());
    assert_eq!(step(&mut p, reply(0, not_passed)).outcome, busy);

    step(&mut p, acquire("t2"));
    step(&mut p, reply(0, Reply::Int(0)));
    let out = step(&mut p, reply(0, bulk(&passed)));
    assert_eq!(sent(&out), ["GETSET", "the-lock", stamp.as_str()]);
    let out = step(&mut p, reply(0, bulk(&passed)));
    assert_eq!(sent(&out), ["EXPIRE", "the-lock", "3"]);
    assert_eq!(step(&mut p, reply(0, Reply::Int(1))).outcome, held(None));
    step(&mut p, release());
    step(&mut p, reply(0, Reply::Int(1)));

    step(&mut p, acquire("t3"));
    step(&mut p, reply(0, Reply::Int(0)));
    step(&mut p, reply(0, bulk(&passed)));
    let somebody_elses = bulk(&(CLOCK + 4_001).to_string());
    assert_eq!(step(&mut p, reply(0, somebody_elses)).outcome, busy);
}

#[test]
fn token_wait_holds_once_a_replica_has_the_key_and_gives_it_up_otherwise() {
    let mut p = start("token-wait");
    step(&mut p, acquire("t1"));
    let out = step(&mut p, reply(0, ok()));
    assert_eq!(sent(&out), ["WAIT", "1", "100"]);
    step(&mut p, advance(200));
    let out = step(&mut p, reply(0, Reply::Int(1)));
    assert_eq!(out.outcome, held(Some(2_800)));

    let mut p = start("token-wait");
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, ok()));
    let out = step(&mut p, reply(0, Reply::Int(0)));
    assert_eq!(sent(&out)[0], "EVAL");
    let out = step(&mut p, reply(0, Reply::Int(1)));
    let reason = "no replica has the lock".to_owned();
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Failed { reason })));
}

#[test]
fn token_renewed_renews_in_the_background_until_the_release() {
    let mut p = start("token-renewed");
    step(&mut p, acquire("t1"));
    let out = step(&mut p, reply(0, ok()));
    assert_eq!(out.outcome, held(None));
    assert!(p.view().renewed);
    assert_eq!(p.view().threads, [(1, Waiting::Sleep { left_ms: 1_000 })]);
    for _ in 0..3 {
        step(&mut p, advance(1_000));
        assert_eq!(p.view().threads, [(1, Waiting::Ready)]);
        let argv = sent(&step(&mut p, wake(1)));
        assert!(argv[1].contains("expire"));
        assert_eq!(&argv[2..], ["1", "the-lock", "t1", "3"]);
        step(&mut p, reply(1, Reply::Int(1)));
        assert_eq!(p.view().threads, [(1, Waiting::Sleep { left_ms: 1_000 })]);
    }
    let out = step(&mut p, release());
    assert!(out.abandoned.is_empty());
    let only_the_caller = [(
        0,
        Waiting::Reply {
            node: 0,
            timeout_ms: 1_000,
        },
    )];
    assert_eq!(p.view().threads, only_the_caller);
    step(&mut p, reply(0, Reply::Int(1)));
    assert!(p.view().threads.is_empty());
}

#[test]
fn token_renewed_gives_up_a_renewal_that_is_under_way_at_the_release() {
    let mut p = start("token-renewed");
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, ok()));
    step(&mut p, advance(1_000));
    step(&mut p, wake(1));
    assert_eq!(step(&mut p, release()).abandoned, [1]);
}

#[test]
fn a_renewed_lock_comes_back_to_the_same_state_each_period() {
    let mut p = start("token-renewed");
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, ok()));
    let first = key(&p);
    step(&mut p, advance(1_000));
    assert_ne!(key(&p), first);
    step(&mut p, wake(1));
    step(&mut p, reply(1, Reply::Int(1)));
    assert_eq!(key(&p), first);
}

#[test]
fn reentrant_hash_counts_holds_and_reads_the_three_replies_of_unlock() {
    let mut p = start("reentrant-hash");
    let argv = sent(&step(&mut p, acquire("t1")));
    assert!(argv[1].contains("hincrby"));
    assert_eq!(&argv[2..], ["1", "the-lock", "client-a", "3"]);
    assert_eq!(step(&mut p, reply(0, Reply::Int(1))).outcome, held(None));
    step(&mut p, advance(500));
    step(&mut p, nested());
    assert_eq!((phase(&p), p.view().holds), (Phase::Acquiring, 1));
    step(&mut p, reply(0, Reply::Int(1)));
    assert_eq!((phase(&p), p.view().holds), (Phase::Held, 2));

    step(&mut p, release());
    assert_eq!((phase(&p), p.view().holds), (Phase::Releasing, 1));
    let out = step(&mut p, reply(0, Reply::Int(0)));
    assert_eq!(out.outcome, done(Some(true)));
    assert_eq!((phase(&p), p.view().holds), (Phase::Held, 1));
    step(&mut p, release());
    let out = step(&mut p, reply(0, Reply::Nil));
    assert_eq!(out.outcome, done(Some(false)));
    assert_eq!((phase(&p), p.view().holds), (Phase::Idle, 0));
}

#[test]
fn a_nested_acquire_that_is_refused_leaves_the_outer_hold() {
    let mut p = start("reentrant-hash");
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, Reply::Int(1)));
    step(&mut p, nested());
    let out = step(&mut p, reply(0, Reply::Int(0)));
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Busy)));
    assert_eq!((phase(&p), p.view().holds), (Phase::Held, 1));
}

#[test]
fn redlock_asks_the_nodes_in_turn_and_needs_a_majority() {
    let mut p = start("redlock");
    let out = step(&mut p, acquire("t1"));
    assert_eq!(out.sent[0].node, 0);
    step(&mut p, advance(50));
    let out = step(&mut p, wake(0));
    assert_eq!(
        (out.abandoned.as_slice(), out.sent[0].node),
        ([0].as_slice(), 1)
    );
    assert_eq!(step(&mut p, reply(0, ok())).sent[0].node, 2);
    let out = step(&mut p, reply(0, ok()));
    assert_eq!(out.outcome, held(Some(2_950)));

    let effects = [Reply::Int(0), Reply::Int(1), Reply::Int(1)];
    step(&mut p, release());
    let mut last = None;
    for effect in effects {
        last = step(&mut p, reply(0, effect)).outcome;
    }
    assert_eq!(last, done(Some(true)));
}

#[test]
fn redlock_unlocks_all_nodes_after_a_minority() {
    let mut p = start("redlock");
    step(&mut p, acquire("t1"));
    for answer in [ok(), Reply::Nil] {
        step(&mut p, reply(0, answer));
    }
    let mut out = step(&mut p, reply(0, Reply::Nil));
    for node in 0..3 {
        assert_eq!((sent(&out)[0].as_str(), out.sent[0].node), ("EVAL", node));
        out = step(&mut p, reply(0, Reply::Int(0)));
    }
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Busy)));
}

#[test]
fn redlock_that_took_longer_than_the_lease_fails_and_unlocks() {
    let file = LockFile::builtin("redlock").unwrap();
    let mut slow = config(3);
    slow.params.insert("node_timeout".to_string(), 2_000.0);
    let mut p = lockproof_model::lock::Program::start(&file, &slow, "client-a", CLOCK).unwrap();
    step(&mut p, acquire("t1"));
    for _ in 0..2 {
        step(&mut p, advance(1_500));
        step(&mut p, reply(0, ok()));
    }
    let mut out = step(&mut p, reply(0, ok()));
    for _ in 0..3 {
        out = step(&mut p, reply(0, Reply::Int(1)));
    }
    let reason = "the lease ran out meanwhile".to_string();
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Failed { reason })));
}

#[test]
fn exists_then_set_asks_first_and_sets_in_a_second_command() {
    let mut p = start("exists-set");
    assert_eq!(sent(&step(&mut p, acquire("t1"))), ["EXISTS", "the-lock"]);
    let out = step(&mut p, reply(0, Reply::Int(0)));
    assert_eq!(sent(&out), ["SET", "the-lock", "1"]);
    assert_eq!(step(&mut p, reply(0, ok())).outcome, held(None));
}

#[test]
fn constant_values_are_set_and_anybody_deletes() {
    let (first, script) = (["SETNX", "the-lock", "1"], ["1", "the-lock", "1", "3"]);
    for (name, wanted) in [("setnx-del", &first[..]), ("setnx-expire-lua", &script[..])] {
        let mut p = start(name);
        let argv = sent(&step(&mut p, acquire("t1")));
        assert!(argv.ends_with(&wanted.iter().map(ToString::to_string).collect::<Vec<_>>()));
        assert_eq!(step(&mut p, reply(0, Reply::Int(1))).outcome, held(None));
        assert_eq!(sent(&step(&mut p, release())), ["DEL", "the-lock"]);
        assert_eq!(step(&mut p, reply(0, Reply::Int(1))).outcome, done(None));
    }
    let mut p = start("set-nx-px");
    let argv = sent(&step(&mut p, acquire("t1")));
    assert_eq!(argv, ["SET", "the-lock", "1", "NX", "PX", "3000"]);
}

#[test]
fn a_script_that_returns_false_is_busy() {
    let mut p = start("setnx-expire-lua");
    step(&mut p, acquire("t1"));
    let out = step(&mut p, reply(0, Reply::Nil));
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Busy)));
}

#[test]
fn del_setnx_takeover_deletes_what_has_passed_and_tries_once_more() {
    let mut p = start("del-setnx-takeover");
    let stamp = (CLOCK + 3_000).to_string();
    let argv = sent(&step(&mut p, acquire("t1")));
    assert_eq!(argv, ["SETNX", "the-lock", stamp.as_str()]);
    step(&mut p, reply(0, Reply::Int(0)));
    let passed = bulk(&(CLOCK - 1).to_string());
    assert_eq!(sent(&step(&mut p, reply(0, passed))), ["DEL", "the-lock"]);
    let out = step(&mut p, reply(0, Reply::Int(1)));
    assert_eq!(sent(&out), ["SETNX", "the-lock", stamp.as_str()]);
    let out = step(&mut p, reply(0, Reply::Int(1)));
    assert_eq!(sent(&out), ["EXPIRE", "the-lock", "3"]);
    assert_eq!(step(&mut p, reply(0, Reply::Int(1))).outcome, held(None));
}

#[test]
fn token_get_del_compares_in_the_client() {
    let mut p = start("token-get-del");
    for (value, wanted) in [("t1", done(Some(true))), ("t2", done(Some(false)))] {
        let argv = sent(&step(&mut p, acquire("t1")));
        assert_eq!(argv, ["SET", "the-lock", "t1", "EX", "3", "NX"]);
        step(&mut p, reply(0, ok()));
        assert_eq!(sent(&step(&mut p, release())), ["GET", "the-lock"]);
        let out = step(&mut p, reply(0, bulk(value)));
        let out = match out.outcome {
            None => {
                assert_eq!(sent(&out), ["DEL", "the-lock"]);
                step(&mut p, reply(0, Reply::Int(1)))
            }
            Some(_) => out,
        };
        assert_eq!(out.outcome, wanted);
    }
}

#[test]
fn the_polling_token_lock_makes_one_try_less_than_asked_for() {
    let mut p = start("token-setnx-expire-lua");
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, Reply::Nil));
    assert_eq!(p.view().threads, [(0, Waiting::Sleep { left_ms: 100 })]);
    step(&mut p, advance(100));
    assert_eq!(sent(&step(&mut p, wake(0)))[0], "EVAL");
    step(&mut p, reply(0, Reply::Nil));
    step(&mut p, advance(100));
    let out = step(&mut p, wake(0));
    assert_eq!(out.outcome, Some((Op::Acquire, Outcome::Busy)));
}

#[test]
fn the_renewed_hash_is_renewed_until_the_last_of_its_holds() {
    let mut p = start("reentrant-hash-renewed");
    for call in [acquire("t1"), nested()] {
        step(&mut p, call);
        assert_eq!(step(&mut p, reply(0, Reply::Int(1))).outcome, held(None));
        assert_eq!(p.view().threads.len(), 1, "one timer for all holds");
    }
    step(&mut p, advance(1_000));
    let argv = sent(&step(&mut p, wake(1)));
    assert!(argv[1].contains("hexists"));
    assert_eq!(&argv[2..], ["1", "the-lock", "client-a", "3"]);
    step(&mut p, reply(1, Reply::Int(1)));
    step(&mut p, release());
    assert_eq!(
        step(&mut p, reply(0, Reply::Int(0))).outcome,
        done(Some(true))
    );
    assert_eq!(p.view().threads.len(), 1, "an outer hold is left");
    step(&mut p, release());
    step(&mut p, reply(0, Reply::Int(1)));
    assert!(p.view().threads.is_empty());
}

#[test]
fn a_lock_given_back_by_another_thread_ends_the_renewal_of_this_one() {
    let mut p = start("threadlocal-reentrant");
    let argv = sent(&step(&mut p, acquire("t1")));
    assert_eq!(argv, ["SET", "the-lock", "t1", "EX", "3", "NX"]);
    assert_eq!(step(&mut p, reply(0, ok())).outcome, held(None));
    let out = step(&mut p, nested());
    assert_eq!((out.sent.len(), out.outcome), (0, held(None)));

    // It renews at once, and then sleeps for a whole lease.
    let argv = sent(&step(&mut p, wake(1)));
    assert_eq!(&argv[2..], ["1", "the-lock", "t1", "3"]);
    step(&mut p, reply(1, Reply::Int(1)));
    let sleeps = (1, Waiting::Sleep { left_ms: 3_000 });
    assert_eq!(p.view().threads, [sleeps, (2, Waiting::Ready)]);
    step(&mut p, wake(2));
    step(&mut p, advance(3_000));
    assert!(step(&mut p, wake(1)).sent.is_empty());
    assert!(p.view().threads.is_empty(), "nobody renews");

    let out = step(&mut p, release());
    assert_eq!((out.sent.len(), out.outcome), (0, done(Some(true))));
    assert_eq!(&sent(&step(&mut p, release()))[3..], ["the-lock", "t1"]);
    let out = step(&mut p, reply(0, Reply::Int(0)));
    assert_eq!(out.outcome, done(Some(true)), "whatever the script found");
}

#[test]
fn the_thread_local_lock_is_renewed_four_times_and_by_a_thread_of_an_earlier_hold() {
    let mut p = start("threadlocal-reentrant");
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, ok()));
    step(&mut p, wake(1));
    step(&mut p, reply(1, Reply::Int(1)));
    step(&mut p, release());
    step(&mut p, reply(0, Reply::Int(1)));
    step(&mut p, acquire("t2"));
    step(&mut p, reply(0, ok()));
    for _ in 0..3 {
        step(&mut p, advance(3_000));
        assert_eq!(&sent(&step(&mut p, wake(1)))[3..], ["the-lock", "t1", "3"]);
        step(&mut p, reply(1, Reply::Int(0)));
    }
    step(&mut p, advance(3_000));
    assert!(step(&mut p, wake(1)).sent.is_empty());
}

#[test]
fn delifeq_asks_for_valkey_and_lets_the_server_compare() {
    let file = LockFile::builtin("delifeq").unwrap();
    assert_eq!(file.server.name(), Some("valkey"));
    let mut p = start("delifeq");
    step(&mut p, acquire("t1"));
    step(&mut p, reply(0, ok()));
    assert_eq!(
        sent(&step(&mut p, release())),
        ["DELIFEQ", "the-lock", "t1"]
    );
    assert_eq!(
        step(&mut p, reply(0, Reply::Int(0))).outcome,
        done(Some(false))
    );
}

#[test]
fn readers_and_the_writer_of_two_keys_delete_their_own_key() {
    for (op, mode) in [(Op::AcquireRead, "read"), (Op::AcquireWrite, "write")] {
        let mut p = start("rw-two-keys");
        let argv = sent(&step(&mut p, acquire_for(op)));
        assert_eq!(
            &argv[2..],
            ["2", "the-lock:read", "the-lock:write", "3"],
            "{mode}"
        );
        let out = step(&mut p, reply(0, Reply::Int(1)));
        assert_eq!(out.outcome.map(|(op, _)| op), Some(op));
        assert_eq!(p.view().mode.name(), mode);
        let key = format!("the-lock:{mode}");
        assert_eq!(sent(&step(&mut p, release())), ["DEL", &key]);
        assert_eq!(p.view().mode.name(), mode, "until the release has ended");
        step(&mut p, reply(0, Reply::Int(1)));
        assert_eq!(p.view().mode.name(), "write");
    }
}

#[test]
fn the_hash_of_time_stamps_releases_the_stamp_that_it_has_written() {
    let mut p = start("rw-hash");
    let argv = sent(&step(&mut p, acquire_for(Op::AcquireRead)));
    let stamp = argv.last().unwrap().clone();
    assert_eq!(&argv[2..6], ["1", "the-lock", "4000", "3000"]);
    step(&mut p, reply(0, Reply::Int(1)));
    step(&mut p, advance(700));
    let argv = sent(&step(&mut p, release()));
    assert_eq!(&argv[2..], ["1", "the-lock", "read", &stamp]);
    assert_eq!(
        step(&mut p, reply(0, Reply::Int(0))).outcome,
        done(Some(false))
    );
}

#[test]
fn a_lock_has_the_operations_of_its_file_and_no_others() {
    for (name, wrong) in [
        ("token", Op::AcquireRead),
        ("token", Op::AcquireWrite),
        ("rw-hash", Op::Acquire),
    ] {
        let error = start(name).step(&acquire_for(wrong)).unwrap_err();
        let says = format!("the lock has no `{}`", wrong.name());
        assert!(error.to_string().contains(&says), "{error}");
    }
}
