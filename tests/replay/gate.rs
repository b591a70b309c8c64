//! The gate enforces a trace on real servers, and says so when they disagree.

use crate::gate_support::{
    Script, assert_reproduced, divergence, done, failed, happy_path, held, late_del, ok, options,
    reason,
};
use lockproof_lab::binaries::{find, server_directories, tool_directories};
use lockproof_lab::proxy::ProxyKind;
use lockproof_lab::proxy::toxiproxy;
use lockproof_redis::Reply;
use lockproof_replay::{GatePool, ReplayVerdict, replay};
use lockproof_trace::{FaultEvent, Outcome, Trace};

#[tokio::test]
async fn a_good_run_of_the_token_lock_is_reproduced() {
    let trace = happy_path();
    let report = replay(&trace, "token", &options()).await;
    assert_reproduced(&report);
    assert_eq!(report.steps_done, trace.steps.len());
    assert!(!report.history.is_empty());
}

#[tokio::test]
async fn an_expired_lease_lets_the_next_client_in() {
    let mut script = Script::new("token", 2, 1);
    script.take_token_lock(0, "t-1");
    script.tick().tick().tick().tick();
    script.take_token_lock(1, "t-2");
    let trace = script.violates("mutual-exclusion-belief");
    let report = replay(&trace, "token", &options()).await;
    assert_reproduced(&report);
    let confirmation = report.confirmation.unwrap();
    assert_eq!(confirmation.seen, Some(true), "{confirmation:?}");
}

/// Document 003: the client dies between SETNX and EXPIRE.
#[tokio::test]
async fn a_crash_between_setnx_and_expire_leaves_a_key_for_ever() {
    let mut script = Script::new("setnx-expire", 2, 1);
    script.acquire(0, "t-1");
    let set = script.send(0, 0, &["SETNX", "lock:a", "1"]);
    script.execute(set, Reply::Int(1));
    script
        .free(0, "crashed")
        .fault(FaultEvent::ClientCrash { client: 0 });
    for _ in 0..5 {
        script.tick();
    }
    script.acquire(1, "t-2");
    let again = script.send(1, 0, &["SETNX", "lock:a", "1"]);
    script.execute(again, Reply::Int(0));
    script.free(1, "idle").deliver(again);
    script.outcome(1, "acquire", Outcome::Busy);
    let trace = script.violates("deadlock-freedom");
    let report = replay(&trace, "setnx-expire", &options()).await;
    assert_reproduced(&report);
    let confirmation = report.confirmation.unwrap();
    assert_eq!(confirmation.seen, Some(true));
    assert_eq!(
        confirmation.evidence,
        [
            "B tried 7 times (busy) within 22000 ms; none acquired the lock",
            "N1 keeps `lock:a` without an expiry, written by A",
        ]
    );
}

#[tokio::test]
async fn a_late_del_deletes_the_next_owners_key() {
    let report = replay(&late_del(), "setnx-expire", &options()).await;
    assert_reproduced(&report);
    let confirmation = report.confirmation.unwrap();
    assert_eq!(confirmation.seen, Some(true));
    let holders = confirmation
        .evidence
        .iter()
        .filter(|line| line.contains("holds the lock"));
    assert_eq!(holders.count(), 2);
}

#[tokio::test]
async fn a_request_of_a_dead_client_still_arrives() {
    let mut script = Script::new("token", 2, 1);
    script.acquire(0, "t-1");
    let set = script.send(0, 0, &["SET", "lock:a", "t-1", "NX", "PX", "3000"]);
    script
        .free(0, "crashed")
        .fault(FaultEvent::ClientCrash { client: 0 });
    script.tick();
    script.execute(set, ok()).deliver_late(set);
    script.acquire(1, "t-2");
    let busy = script.send(1, 0, &["SET", "lock:a", "t-2", "NX", "PX", "3000"]);
    script.execute(busy, Reply::Nil);
    script.free(1, "idle").deliver(busy);
    script.outcome(1, "acquire", Outcome::Busy);
    assert_reproduced(&replay(&script.trace, "token", &options()).await);
}

#[tokio::test]
async fn a_paused_client_wakes_up_after_its_lease() {
    let mut script = Script::new("token", 2, 1);
    script.take_token_lock(0, "t-1");
    script.phase(0, "paused").fault(FaultEvent::ClientPause {
        client: 0,
        held: Vec::new(),
    });
    for _ in 0..4 {
        script.tick();
    }
    script.take_token_lock(1, "t-2");
    script
        .held(0, Some(-1000))
        .fault(FaultEvent::ClientResume { client: 0 });
    let trace = script.violates("mutual-exclusion-belief");
    assert_reproduced(&replay(&trace, "token", &options()).await);
}

#[tokio::test]
async fn lost_messages_never_arrive_and_their_commands_time_out() {
    let mut script = Script::new("token", 1, 1);
    for (token, reply) in [("t-1", false), ("t-2", true)] {
        script.acquire(0, token);
        let set = script.send(0, 0, &["SET", "lock:a", token, "NX", "PX", "3000"]);
        if reply {
            script.execute(set, ok());
        }
        script.lose(set, reply);
        script.tick().tick();
        script.free(0, "idle").wake(0, 0, true);
        script.outcome(0, "acquire", failed("no reply in time"));
    }
    // The second SET was executed, so its key stands in the way.
    script.acquire(0, "t-3");
    let set = script.send(0, 0, &["SET", "lock:a", "t-3", "NX", "PX", "3000"]);
    script.execute(set, Reply::Nil);
    script.free(0, "idle").deliver(set);
    script.outcome(0, "acquire", Outcome::Busy);
    assert_reproduced(&replay(&script.trace, "token", &options()).await);
}

/// A restart while one command is in front of the node and the client has an
/// idle connection too.
fn restart(setup: &str, persistence: &str, loses: bool, synced: bool) -> Script {
    let mut script = Script::new("token", 2, 1);
    script.trace.setup.persistence = setup.to_string();
    script.take_token_lock(0, "t-1");
    if synced {
        script.fault(FaultEvent::NodeFsync { node: 0 });
    }
    script.acquire(1, "t-2");
    let set = script.send(1, 0, &["SET", "lock:a", "t-2", "NX", "PX", "3000"]);
    script.fault(FaultEvent::NodeRestart {
        node: 0,
        persistence: persistence.to_string(),
        loses,
    });
    script.free(1, "idle").fail(set, false);
    script.outcome(1, "acquire", failed("connection failed"));
    script
}

#[tokio::test]
async fn what_a_restart_loses_depends_on_what_was_on_the_disk() {
    for (setup, persistence, loses, synced, lost) in [
        ("none", "none", true, false, true),
        ("everysec", "everysec", true, false, true),
        ("everysec", "everysec", false, true, false),
        ("everysec", "everysec", true, true, false),
        ("always", "always", false, false, false),
        // Where policies are mixed, the fault says what this restart keeps.
        ("everysec", "none", true, true, true),
        ("everysec", "always", false, false, false),
    ] {
        let mut script = restart(setup, persistence, loses, synced);
        if lost {
            script.take_token_lock(1, "t-3");
        } else {
            script.acquire(1, "t-3");
            let set = script.send(1, 0, &["SET", "lock:a", "t-3", "NX", "PX", "3000"]);
            script.execute(set, Reply::Nil);
            script.free(1, "idle").deliver(set);
            script.outcome(1, "acquire", Outcome::Busy);
        }
        // The first client's connection was idle, so it notices nothing.
        let text = script.script("release_if_owner");
        script.release(0);
        let del = script.send(0, 0, &["EVAL", &text, "1", "lock:a", "t-1"]);
        script.execute(del, Reply::Int(i64::from(!lost)));
        script.free(0, "idle").deliver(del);
        script.outcome(0, "release", done(Some(!lost)));
        let report = replay(&script.trace, "token", &options()).await;
        assert_reproduced(&report);
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_definite_failure() {
    let mut script = Script::new("token", 1, 1);
    script.take_token_lock(0, "t-1");
    let text = script.script("release_if_owner");
    script.release(0);
    let del = script.send(0, 0, &["EVAL", &text, "1", "lock:a", "t-1"]);
    script.free(0, "idle").fail(del, true);
    script.outcome(0, "release", done(Some(false)));
    script.acquire(0, "t-2");
    let set = script.send(0, 0, &["SET", "lock:a", "t-2", "NX", "PX", "3000"]);
    script.execute(set, Reply::Nil);
    script.free(0, "idle").deliver(set);
    script.outcome(0, "acquire", Outcome::Busy);
    assert_reproduced(&replay(&script.trace, "token", &options()).await);
}

fn clock_jump() -> Trace {
    let mut script = Script::new("token", 2, 1);
    script.take_token_lock(0, "t-1");
    script.fault(FaultEvent::ClockJump {
        node: 0,
        offset_ms: 4000,
    });
    script.take_token_lock(1, "t-2");
    script.violates("mutual-exclusion-validity")
}

#[tokio::test]
async fn a_server_clock_that_jumps_ends_the_lease_early() {
    let report = replay(&clock_jump(), "token", &options()).await;
    assert_reproduced(&report);
    assert_eq!(report.confirmation.unwrap().seen, Some(true));
}

#[tokio::test]
async fn a_client_whose_clock_drifts_counts_its_validity_wrongly() {
    let mut script = Script::new("token", 1, 1);
    script.take_token_lock(0, "t-1");
    script.fault(FaultEvent::ClientDrift {
        client: 0,
        ticks: 2,
    });
    script.held(0, Some(2000)).tick();
    script.fault(FaultEvent::ClientDrift {
        client: 0,
        ticks: 0,
    });
    script.held(0, Some(2000)).tick();
    script.tick();
    assert_reproduced(&replay(&script.trace, "token", &options()).await);
}

#[tokio::test]
async fn a_skewed_client_writes_its_own_clock() {
    let mut script = Script::new("getset-timestamp", 1, 1);
    script.fault(FaultEvent::ClientSkew {
        client: 0,
        offset_ms: 5000,
    });
    script.acquire(0, "t-1");
    // Its own clock + ttl + 1 s of tolerance.
    let expiry = (lockproof_trace::EPOCH_MS + 5000 + 3000 + 1000).to_string();
    let set = script.send(0, 0, &["SETNX", "lock:a", &expiry]);
    script.execute(set, Reply::Int(1));
    assert_reproduced(&replay(&script.trace, "getset-timestamp", &options()).await);
}

#[tokio::test]
async fn a_paused_node_executes_what_it_was_sent_when_it_goes_on() {
    let mut script = Script::new("token", 1, 1);
    script.acquire(0, "t-1");
    let set = script.send(0, 0, &["SET", "lock:a", "t-1", "NX", "PX", "3000"]);
    script.fault(FaultEvent::NodePause { node: 0 });
    script.tick();
    script.fault(FaultEvent::NodeResume { node: 0 });
    script.execute(set, ok());
    script.held(0, Some(2000)).deliver(set);
    script.outcome(0, "acquire", held(Some(2000)));
    assert_reproduced(&replay(&script.trace, "token", &options()).await);
}

#[tokio::test]
async fn a_renewal_thread_runs_beside_its_caller() {
    let mut script = Script::new("token-renewed", 1, 1);
    let renew = script.script("expire_if_owner");
    script.acquire(0, "t-1");
    let set = script.send(0, 0, &["SET", "lock:a", "t-1", "NX", "PX", "3000"]);
    script.execute(set, ok());
    script.held(0, None).deliver(set);
    script.outcome(0, "acquire", held(None));
    for _ in 0..5 {
        script.tick().wake(0, 1, false);
        let argv = ["EVAL", &renew, "1", "lock:a", "t-1", "3"];
        let prolong = script.send_from(0, 1, 0, &argv);
        script.execute(prolong, Reply::Int(1)).deliver(prolong);
    }
    let report = replay(&script.trace, "token-renewed", &options()).await;
    assert_reproduced(&report);
}

#[tokio::test]
async fn redlock_holds_a_majority_although_one_link_is_cut() {
    let mut script = Script::new("redlock", 1, 3);
    script
        .trace
        .setup
        .params
        .insert("node_timeout".into(), 1000.0);
    script.fault(FaultEvent::LinkCut {
        client: 0,
        node: 1,
        only: None,
    });
    script.acquire(0, "t-1");
    let argv = ["SET", "lock:a", "t-1", "NX", "PX", "3000"];
    let first = script.send(0, 0, &argv);
    script.execute(first, ok()).deliver(first);
    let second = script.send(0, 1, &argv);
    script.lose(second, false);
    script.tick().wake(0, 0, true);
    let third = script.send(0, 2, &argv);
    script.execute(third, ok());
    script.held(0, Some(2000)).deliver(third);
    script.outcome(0, "acquire", held(Some(2000)));
    assert_reproduced(&replay(&script.trace, "redlock", &options()).await);
}

#[tokio::test]
async fn every_server_version_at_hand_reproduces() {
    for server in find(&server_directories()) {
        let mut options = options();
        println!("{server}");
        options.server = server;
        let mut pool = GatePool::new(options);
        for (trace, lock) in [
            (happy_path(), "token"),
            (late_del(), "setnx-expire"),
            (clock_jump(), "token"),
            (restart("everysec", "everysec", true, true).trace, "token"),
        ] {
            assert_reproduced(&pool.replay(&trace, lock).await);
        }
    }
}

mod with_toxiproxy {
    use super::*;

    /// The same traces with somebody else's proxy in the way of every byte.
    #[tokio::test]
    async fn a_finding_does_not_hang_on_our_own_proxy() {
        let program = toxiproxy::find_program(&tool_directories()).unwrap();
        let mut options = options();
        options.proxy = ProxyKind::Toxiproxy(program);
        let mut pool = GatePool::new(options);
        for _ in 0..2 {
            assert_reproduced(&pool.replay(&late_del(), "setnx-expire").await);
        }
        let restarted = restart("none", "none", true, false).trace;
        assert_reproduced(&pool.replay(&restarted, "token").await);
    }
}

// Disagreement.

#[tokio::test]
async fn a_wrong_reply_is_found_at_its_step() {
    let mut script = Script::new("token", 1, 1);
    script.acquire(0, "t-1");
    let set = script.send(0, 0, &["SET", "lock:a", "t-1", "NX", "PX", "3000"]);
    script.execute(set, Reply::Nil);
    let wrong = script.last();
    script.free(0, "idle").deliver(set);
    script.outcome(0, "acquire", Outcome::Busy);
    let report = replay(&script.trace, "token", &options()).await;
    assert_eq!(
        divergence(&report),
        (wrong, "the reply nil", "the reply +OK")
    );
    assert_eq!(report.steps_done, wrong);
    assert!(!report.history.is_empty(), "what happened is kept");
}

#[tokio::test]
async fn a_wrong_command_is_found_at_its_step() {
    let mut script = Script::new("token", 1, 1);
    script.acquire(0, "t-1");
    script.send(0, 0, &["SET", "lock:a", "t-1", "NX", "PX", "9999"]);
    let wrong = script.last();
    let report = replay(&script.trace, "token", &options()).await;
    let (step, expected, actual) = divergence(&report);
    assert_eq!(step, wrong);
    assert!(expected.contains("argument 5: 9999"), "{expected}");
    assert!(actual.contains("argument 5: 3000"), "{actual}");
}

#[tokio::test]
async fn a_wrong_outcome_is_found_at_its_step() {
    let mut script = Script::new("token", 1, 1);
    script.acquire(0, "t-1");
    let set = script.send(0, 0, &["SET", "lock:a", "t-1", "NX", "PX", "3000"]);
    script.execute(set, ok());
    script.held(0, Some(3000)).deliver(set);
    script.outcome(0, "acquire", held(Some(2999)));
    let wrong = script.last();
    let report = replay(&script.trace, "token", &options()).await;
    let (step, expected, actual) = divergence(&report);
    assert_eq!(step, wrong);
    assert!(expected.contains("2999") && actual.contains("3000"));
}

#[tokio::test]
async fn a_wrong_belief_is_found_at_its_step() {
    let mut script = Script::new("token", 1, 1);
    script.take_token_lock(0, "t-1");
    script.tick();
    script.held(0, Some(1500)).write(0);
    let wrong = script.last();
    let report = replay(&script.trace, "token", &options()).await;
    let (step, expected, actual) = divergence(&report);
    assert_eq!(step, wrong);
    assert!(
        expected.contains("1500 ms") && actual.contains("2000 ms"),
        "{actual}"
    );
}

#[tokio::test]
async fn a_client_that_does_more_than_the_trace_says_is_found() {
    let mut script = Script::new("setnx-expire", 1, 1);
    script.acquire(0, "t-1");
    let set = script.send(0, 0, &["SETNX", "lock:a", "1"]);
    script.execute(set, Reply::Int(1)).deliver(set);
    script.tick();
    let wrong = script.last();
    let report = replay(&script.trace, "setnx-expire", &options()).await;
    let (step, _, actual) = divergence(&report);
    assert_eq!(step, wrong);
    assert!(actual.contains("EXPIRE lock:a 3"), "{actual}");
}

#[tokio::test]
async fn a_client_that_does_less_than_the_trace_says_is_found() {
    let mut script = Script::new("token", 1, 1);
    script.take_token_lock(0, "t-1");
    script.send(0, 0, &["GET", "lock:a"]);
    let wrong = script.last();
    let report = replay(&script.trace, "token", &options()).await;
    let (step, _, actual) = divergence(&report);
    assert_eq!((step, actual), (wrong, "it sends nothing"));
}

#[tokio::test]
async fn an_exclusion_that_was_not_violated_is_not_confirmed() {
    let mut script = Script::new("token", 2, 1);
    script.take_token_lock(0, "t-1");
    let trace = script.violates("mutual-exclusion-belief");
    let report = replay(&trace, "token", &options()).await;
    let (_, expected, _) = divergence(&report);
    assert_eq!(expected, "two clients that hold the lock");
}

#[tokio::test]
async fn a_reply_that_is_read_although_the_trace_says_ignored_is_found() {
    let mut script = Script::new("token", 1, 1);
    script.acquire(0, "t-1");
    let set = script.send(0, 0, &["SET", "lock:a", "t-1", "NX", "PX", "3000"]);
    script.execute(set, ok()).deliver_late(set);
    let mut pool = GatePool::new(options());
    let report = pool.replay(&script.trace, "token").await;
    let (_, expected, actual) = divergence(&report);
    assert_eq!(expected, "A takes nothing more from the network");
    assert_eq!(actual, "it takes the reply of N1 in thread 0");
    assert_reproduced(&pool.replay(&happy_path(), "token").await);
}

// Trouble.

#[tokio::test]
async fn another_lock_file_than_the_checked_one_is_not_replayed() {
    let mut trace = happy_path();
    trace.lock.sha256 = "0".repeat(64);
    let report = replay(&trace, "token", &options()).await;
    assert!(reason(&report.verdict).contains("has changed"));
}

#[tokio::test]
async fn a_trace_of_another_schema_is_not_replayed() {
    let mut trace = happy_path();
    trace.schema = "lockproof.trace/9".to_string();
    let report = replay(&trace, "token", &options()).await;
    assert!(reason(&report.verdict).contains("lockproof.trace/9"));
}

#[tokio::test]
async fn an_edited_trace_that_makes_no_sense_is_not_replayed() {
    let mut trace = happy_path();
    trace.steps.remove(1);
    let report = replay(&trace, "token", &options()).await;
    assert!(
        matches!(
            report.verdict,
            ReplayVerdict::Diverged { .. } | ReplayVerdict::NotReplayable { .. }
        ),
        "{}",
        report.verdict
    );
}
