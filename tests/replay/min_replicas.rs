//! min-replicas-to-write: what real servers do, what the world says of it, and its
//! traces on real pairs of servers.

use std::time::{Duration, Instant};

use crate::gate_support::{RUNS, Script, divergence, options as gate, reproduces};
use crate::world_support::drive::Drive;
use crate::world_support::{builtin, options, results, set, small, violated, violation};
use lockproof_lab::binaries::{self, Binary};
use lockproof_lab::server::{Fleet, Server, ServerOptions};
use lockproof_model::check::{Checker, Verdict};
use lockproof_model::lock::Op;
use lockproof_model::world::moves::Move;
use lockproof_redis::Reply;
use lockproof_replay::GatePool;
use lockproof_trace::{Event, FaultEvent, Trace, validate};

const A: u8 = 0;
const PATIENCE: Duration = Duration::from_secs(20);

// ---- real servers, whose clocks run ----

async fn ask(server: &Server, command: &str) -> Reply {
    let argv: Vec<&str> = command.split(' ').collect();
    server.command(&argv).await.unwrap()
}

async fn refuses(server: &Server) -> bool {
    match ask(server, "SET a 1").await {
        Reply::Status(_) => false,
        Reply::Error(line) if line.starts_with("NOREPLICAS") => true,
        other => panic!("{other:?}"),
    }
}

/// Waits until the server refuses writes, or takes them again; how long that was.
async fn until(server: &Server, refused: bool) -> Duration {
    let began = Instant::now();
    while refuses(server).await != refused {
        assert!(began.elapsed() < PATIENCE, "still not {refused}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    began.elapsed()
}

/// A primary that asks for a replica, and its replica, which is in touch.
async fn pair(binary: Binary) -> Fleet {
    let options = ServerOptions {
        args: [
            ["--repl-diskless-sync-delay", "0"],
            ["--min-replicas-to-write", "1"],
            ["--min-replicas-max-lag", "1"],
        ]
        .concat()
        .iter()
        .map(ToString::to_string)
        .collect(),
        ..ServerOptions::new(binary)
    };
    let fleet = Fleet::start(2, &options).await.unwrap();
    let [primary, replica] = [&fleet.servers[0], &fleet.servers[1]];
    assert!(refuses(primary).await, "nobody follows yet");
    let port = primary.address().port();
    ask(replica, &format!("REPLICAOF 127.0.0.1 {port}")).await;
    until(primary, false).await;
    fleet
}

#[tokio::test]
async fn real_servers_refuse_writes_at_once_or_after_a_while_and_take_them_again() {
    let found = binaries::find(&binaries::server_directories());
    assert!(!found.is_empty(), "no server program: run scripts/setup.sh");
    for binary in found {
        let fleet = pair(binary).await;
        let [primary, replica] = [&fleet.servers[0], &fleet.servers[1]];
        replica.pause().unwrap();
        assert!(!refuses(primary).await, "{primary} cannot know yet");
        let after = until(primary, true).await;
        println!("{primary} refuses writes {after:?} after its replica fell silent");
        replica.resume().unwrap();
        until(primary, false).await;
        // A promotion closes the connection: whoever asks next is refused, and the
        // new primary has no replica of its own.
        ask(replica, "REPLICAOF NO ONE").await;
        assert!(refuses(replica).await, "{replica} is alone");
        until(primary, true).await;
        assert_eq!(ask(primary, "GET a").await, Reply::Bulk(b"1".to_vec()));
    }
}

// ---- the world ----

/// Two clients of the token lock whose server hears no more of its replica.
fn silent(words: &str) -> Drive {
    let mut drive = Drive::of(&builtin("token"), words);
    drive.take(Move::FallSilent { node: 0 });
    drive
}

fn is_refused(drive: &mut Drive) -> bool {
    drive.acquire(A).execute(A, "SET");
    let (_, reply) = drive.reply(A);
    drive.deliver(A);
    match reply {
        Reply::Error(line) => line.starts_with("NOREPLICAS"),
        reply => {
            assert_eq!(reply, Reply::Status("OK".into()));
            false
        }
    }
}

#[test]
fn a_server_takes_writes_for_as_long_as_its_size_says_and_no_longer() {
    for (words, most) in [("min-replicas@1", 1), ("min-replicas@3", 3)] {
        let mut drive = silent(words);
        for _ in 0..most {
            drive.tick();
        }
        assert!(!is_refused(&mut drive), "{words}");
        let mut drive = silent(words);
        for _ in 0..=most {
            drive.tick();
        }
        assert!(is_refused(&mut drive), "{words}");
    }
}

#[test]
fn a_server_may_refuse_at_once_and_takes_writes_when_its_replica_is_back() {
    let refuse = Move::Refuse {
        node: 0,
        old: false,
    };
    let mut drive = silent("min-replicas");
    assert!(is_refused(drive.take(refuse)));
    assert!(!drive.offers(refuse));
    assert!(!is_refused(drive.take(Move::Regain { node: 0 })));
    let again = Move::FallSilent { node: 0 };
    assert!(!drive.offers(again), "once was all of its budget");
}

#[test]
fn a_promoted_replica_is_alone_until_the_old_server_comes_back() {
    let mut drive = Drive::of(&builtin("token"), "failover min-replicas");
    drive.take(Move::Failover { node: 0, lost: 0 });
    assert!(is_refused(&mut drive));
    drive.take(Move::Rejoin { node: 0 });
    assert!(!is_refused(&mut drive));
}

#[test]
fn an_old_primary_goes_on_only_if_its_replica_was_silent_before() {
    let split = Move::SplitBrain { node: 0, lost: 0 };
    let words = "failover-split-brain min-replicas";
    let mut drive = Drive::of(&builtin("token"), words);
    assert!(is_refused(drive.take(split)));
    let mut drive = silent(words);
    assert!(!is_refused(drive.take(split)));
    let refuse = Move::Refuse { node: 0, old: true };
    assert!(drive.offers(refuse));
    drive.take(refuse).release(A).execute(A, "EVAL");
    let refused = matches!(drive.reply(A).1, Reply::Error(line) if line.starts_with("NOREPLICAS"));
    assert!(refused, "its release comes too late");
}

#[test]
fn a_replica_in_touch_has_everything_after_a_tick_and_a_silent_one_may_not() {
    let lost = Move::Failover { node: 0, lost: 1 };
    let held = |drive: &mut Drive| {
        drive.take(Move::Call {
            client: A,
            op: Op::Acquire,
        });
        drive.answer(A).tick();
        drive.offers(lost)
    };
    let mut drive = Drive::of(&builtin("token"), "failover min-replicas");
    assert!(!held(&mut drive));
    assert!(held(&mut silent("failover min-replicas")));
}

#[test]
fn what_the_world_does_not_follow_is_unknown_and_never_holds() {
    for fault in ["node-restart-none", "node-pause"] {
        let results = results("token", &format!("min-replicas {fault}"));
        let unknown = |result: &lockproof_model::check::CheckResult| {
            let reason = result.reason.as_deref().unwrap_or_default();
            result.verdict == Verdict::Unknown && reason.contains("min-replicas under")
        };
        assert!(results.iter().all(unknown), "{fault}");
    }
}

#[test]
fn waiting_for_the_replica_helps_where_asking_for_it_does_not() {
    let token = violated(&results("token", "failover min-replicas"));
    assert!(token.contains("mutual-exclusion-validity"), "{token}");
    assert_eq!(
        violated(&results("token-wait", "failover min-replicas")),
        ""
    );
}

// ---- its traces on real pairs ----

fn is_silence(step: &lockproof_trace::Step) -> bool {
    let silence = |fault: &FaultEvent| {
        matches!(
            fault,
            FaultEvent::ReplicaSilent { .. } | FaultEvent::ReplicaGone { .. }
        )
    };
    matches!(&step.event, Event::Fault { fault } if silence(fault))
}

/// Without its silence the trace cannot come true.
async fn needs_silence(trace: &Trace, lock: &str, actual: &str) {
    let mut control = trace.clone();
    control.steps.retain(|step| !is_silence(step));
    validate(&control).unwrap();
    let mut pool = GatePool::new(gate());
    for _ in 0..RUNS {
        let report = pool.replay(&control, lock).await;
        assert!(divergence(&report).2.contains(actual), "{report:?}");
    }
}

#[tokio::test]
async fn an_expire_that_is_refused_leaves_a_lock_for_ever() {
    let trace = violation("setnx-expire", "min-replicas", "deadlock-freedom");
    reproduces(&trace, "setnx-expire").await;
    needs_silence(&trace, "setnx-expire", "the reply 1").await;
}

#[tokio::test]
async fn an_old_primary_that_has_not_noticed_gives_a_lock_that_is_lost() {
    let words = "failover-split-brain min-replicas";
    let trace = violation("setnx-expire", words, "mutual-exclusion-validity");
    reproduces(&trace, "setnx-expire").await;
    needs_silence(&trace, "setnx-expire", "NOREPLICAS").await;
}

#[tokio::test]
async fn random_walks_agree_with_real_servers() {
    let mut walks = Vec::new();
    for (lock, words) in [
        ("token", "failover min-replicas*2"),
        ("token-wait", "min-replicas*2"),
        ("token-wait", "failover@2 min-replicas"),
        ("setnx-expire", "failover-split-brain min-replicas"),
        ("token-renewed", "failover-split-brain min-replicas*2"),
        ("token", "failover-split-brain*2 min-replicas*2"),
        ("reentrant-hash", "failover-cut-off min-replicas loss"),
        ("redlock", "failover min-replicas"),
    ] {
        let (file, sizes) = (builtin(lock), small(lock));
        let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
        let set = set(words, sizes.ttl_ticks);
        let mut pool = GatePool::new(lockproof_replay::GateOptions {
            patience: PATIENCE,
            ..gate()
        });
        for walk in checker.walks(&set, 0..20, 60).unwrap() {
            validate(&walk).unwrap();
            let report = pool.replay(&walk, lock).await;
            let verdict = &report.verdict;
            assert!(verdict.is_reproduced(), "{lock} under {words}: {verdict:?}");
            walks.push(walk);
        }
    }
    let count = |wanted: fn(&Event) -> bool| {
        let steps = walks.iter().flat_map(|walk| &walk.steps);
        steps.filter(|step| wanted(&step.event)).count()
    };
    let numbers = [
        count(
            |event| matches!(event, Event::Execute { reply: Reply::Error(line), .. } if line.starts_with("NOREPLICAS")),
        ),
        count(|event| {
            matches!(
                event,
                Event::Fault {
                    fault: FaultEvent::ReplicaGone { old: false, .. }
                }
            )
        }),
        count(|event| {
            matches!(
                event,
                Event::Fault {
                    fault: FaultEvent::ReplicaGone { old: true, .. }
                }
            )
        }),
        count(|event| {
            matches!(
                event,
                Event::Fault {
                    fault: FaultEvent::ReplicaBack { .. }
                }
            )
        }),
    ];
    assert!(numbers.iter().all(|number| *number > 2), "{numbers:?}");
}

#[test]
fn a_trace_says_who_asks_and_who_is_silent() {
    let scripted = |min_replicas, faults: &[FaultEvent]| {
        let mut script = Script::new("token", 2, 1);
        script.trace.setup.replicas = 1;
        script.trace.setup.min_replicas = min_replicas;
        for fault in faults {
            script.fault(fault.clone());
        }
        validate(&script.trace).map_err(|error| error.to_string())
    };
    let silent = FaultEvent::ReplicaSilent { node: 0 };
    let back = FaultEvent::ReplicaBack { node: 0 };
    let gone = |old| FaultEvent::ReplicaGone { node: 0, old };
    let split = FaultEvent::SplitBrain { node: 0, lost: 0 };
    for good in [
        vec![silent.clone(), gone(false), back.clone(), silent.clone()],
        vec![silent.clone(), split.clone(), gone(true)],
    ] {
        scripted(1, &good).unwrap();
    }
    for (asks, bad, problem) in [
        (0, vec![silent.clone()], "min_replicas is 0"),
        (2, vec![], "min_replicas is 2"),
        (1, vec![gone(false)], "was not silent"),
        (
            1,
            vec![silent.clone(), gone(false), gone(false)],
            "had gone before",
        ),
        (1, vec![silent.clone(), silent.clone()], "was silent before"),
        (1, vec![back], "was not silent"),
        (1, vec![split, gone(true)], "was not silent"),
    ] {
        let error = scripted(asks, &bad).unwrap_err();
        assert!(error.contains(problem), "{error}");
    }
}
