//! Failovers that the model found, on real primaries and replicas.

use crate::gate_support::{RUNS, Script, assert_reproduced, is_seen, options as gate, reproduces};
use crate::world_support::{builtin, options, results, set, small, violation};
use lockproof_model::check::Checker;
use lockproof_replay::GatePool;
use lockproof_trace::{Event, FaultEvent, Trace, validate};

/// The same steps, but no replica lags, so nothing is lost.
fn control(trace: &Trace) -> Trace {
    let mut control = trace.clone();
    let lags = |event: &Event| {
        matches!(
            event,
            Event::Fault {
                fault: FaultEvent::ReplicaLags { .. }
            }
        )
    };
    control.steps.retain(|step| !lags(&step.event));
    for step in &mut control.steps {
        if let Event::Fault {
            fault: FaultEvent::Failover { lost, .. } | FaultEvent::SplitBrain { lost, .. },
        } = &mut step.event
        {
            *lost = 0;
        }
    }
    assert_ne!(control.steps.len(), trace.steps.len(), "nothing lagged");
    validate(&control).unwrap();
    control
}

/// And none does in which nothing is lost.
async fn shows(lock: &str, words: &str, property: &str) {
    let trace = violation(lock, words, property);
    reproduces(&trace, lock).await;
    let mut pool = GatePool::new(gate());
    let control = control(&trace);
    for _ in 0..RUNS {
        assert!(!is_seen(&pool.replay(&control, lock).await));
    }
}

#[tokio::test]
async fn the_token_lock_is_held_twice_after_a_failover_that_lost_it() {
    shows("token", "failover", "mutual-exclusion-validity").await;
}

#[tokio::test]
async fn redlock_loses_its_majority_with_one_replica_that_lags() {
    shows("redlock", "failover", "mutual-exclusion-validity").await;
}

#[tokio::test]
async fn setnx_without_its_expire_survives_a_failover_for_ever() {
    // The connection breaks between the two, so nothing has to be lost.
    let trace = violation("setnx-expire", "failover", "no-orphan");
    reproduces(&trace, "setnx-expire").await;
}

#[tokio::test]
async fn two_lost_writes_break_setnx_expire_where_one_does_not() {
    let property = "mutual-exclusion-belief";
    let kept = results("setnx-expire", "failover");
    let kept = kept.iter().find(|result| result.property == property);
    assert!(kept.unwrap().trace.is_none());
    shows("setnx-expire", "failover@2", property).await;
}

#[tokio::test]
async fn a_lock_that_an_old_primary_took_with_it_is_held_twice() {
    let property = "mutual-exclusion-validity";
    shows("token", "failover-split-brain", property).await;
}

async fn walks_agree(lock: &str, words: &str, seeds: std::ops::Range<u64>) {
    let (file, sizes) = (builtin(lock), small(lock));
    let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    let walks = checker.walks(&set(words, 3), seeds, 50).unwrap();
    let mut pool = GatePool::new(gate());
    let mut lost = 0;
    for walk in walks {
        validate(&walk).unwrap();
        lost += walk
            .steps
            .iter()
            .filter(|step| matches!(step.event, Event::Fault { fault: FaultEvent::Failover { lost, .. } | FaultEvent::SplitBrain { lost, .. } } if lost > 0))
            .count();
        assert_reproduced(&pool.replay(&walk, lock).await);
    }
    assert_ne!(lost, 0, "no walk lost anything");
}

#[tokio::test]
async fn random_walks_through_failovers_agree_with_real_servers() {
    for lock in [
        "token",
        "getset-timestamp",
        "token-renewed",
        "reentrant-hash",
    ] {
        walks_agree(lock, "failover@2", 0..25).await;
    }
    walks_agree("redlock", "failover*2", 0..25).await;
}

#[tokio::test]
async fn random_walks_with_two_primaries_agree_with_real_servers() {
    for lock in ["token", "setnx-expire", "token-renewed", "reentrant-hash"] {
        walks_agree(lock, "failover-split-brain@2", 0..25).await;
    }
    walks_agree("redlock", "failover-split-brain", 0..20).await;
}

#[tokio::test]
async fn failovers_go_together_with_other_faults() {
    let others = "failover@2 clock-jump client-crash node-pause delay loss partition";
    walks_agree("token", others, 0..25).await;
    walks_agree(
        "token",
        "failover-split-brain loss delay client-pause node-pause",
        0..25,
    )
    .await;
    walks_agree("token", "failover@2 node-restart-none*2", 0..25).await;
    walks_agree(
        "token",
        "failover@2 node-restart-none node-restart-always",
        0..25,
    )
    .await;
    walks_agree("setnx-expire", "failover@2 node-restart-everysec*2", 0..25).await;
}

fn failover(replicas: u8, lags: bool, lost: u8) -> Trace {
    let mut script = Script::new("token", 2, 1);
    script.trace.setup.replicas = replicas;
    if lags {
        script.fault(FaultEvent::ReplicaLags { node: 0 });
    }
    script.fault(FaultEvent::Failover { node: 0, lost });
    script.trace.clone()
}

#[test]
fn a_trace_says_what_a_failover_can_lose() {
    validate(&failover(1, true, 1)).unwrap();
    validate(&failover(1, false, 0)).unwrap();
    for (trace, problem) in [
        (failover(0, false, 0), "no node has a replica"),
        (failover(2, false, 0), "at most one replica"),
        (failover(1, false, 1), "not what its replica lagged behind"),
        (failover(1, true, 0), "not what its replica lagged behind"),
    ] {
        let error = validate(&trace).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    for (fault, problem) in [
        (FaultEvent::Demotion { node: 0 }, "no old server"),
        (
            FaultEvent::ClientNotices { client: 0, node: 0 },
            "no old server",
        ),
    ] {
        let mut trace = failover(1, false, 0);
        let mut step = trace.steps.last().cloned().unwrap();
        step.event = Event::Fault { fault };
        trace.steps.push(step);
        let error = validate(&trace).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
    let mut twice = failover(1, false, 0);
    twice.steps.extend(twice.steps.last().cloned());
    let error = validate(&twice).unwrap_err().to_string();
    assert!(error.contains("has taken its place before"), "{error}");
}
