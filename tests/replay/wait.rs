//! WAIT, cut-off primaries and old ones that come back: in the model, and on
//! real primaries and replicas.

use std::time::Duration;

use crate::gate_support::{
    RUNS, Script, assert_reproduced, divergence, is_seen, options as gate, reproduces,
};
use crate::world_support::{builtin, options, results, set, small, violated, violation};
use lockproof_model::check::{CheckError, Checker, Verdict};
use lockproof_redis::Reply;
use lockproof_replay::{GateOptions, GatePool};
use lockproof_trace::{Event, FaultEvent, Trace, validate};

fn faults(trace: &Trace) -> impl Iterator<Item = &FaultEvent> {
    trace.steps.iter().filter_map(|step| match &step.event {
        Event::Fault { fault } => Some(fault),
        _ => None,
    })
}

#[test]
fn a_lock_that_waits_for_its_replica_survives_failovers_that_break_the_token_lock() {
    const TWICE: [&str; 3] = [
        "mutual-exclusion-belief",
        "mutual-exclusion-validity",
        "mutual-exclusion-effect",
    ];
    for words in ["failover", "failover@2", "failover-cut-off", "failover*2"] {
        let token = violated(&results("token", words));
        assert!(
            TWICE.iter().all(|id| token.contains(id)),
            "{words}: {token}"
        );
        let waits = results("token-wait", words);
        assert_eq!(violated(&waits), "", "{words}");
        assert!(waits.iter().all(|result| result.verdict == Verdict::Holds));
    }
}

#[test]
fn what_the_world_does_not_follow_is_unknown_and_never_holds() {
    for words in ["node-pause", "clock-jump"] {
        let results = results("token-wait", words);
        assert!(
            results
                .iter()
                .all(|result| result.verdict == Verdict::Unknown)
        );
        let (file, sizes) = (builtin("token-wait"), small("token-wait"));
        let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
        let walks = checker.walks(&set(words, 3), 0..1, 10);
        let Err(CheckError::Sizes(reason)) = walks else {
            panic!("walks under {words}");
        };
        assert!(reason.contains("WAIT under"), "{reason}");
    }
}

/// The same steps, but no replica lags.
fn control(trace: &Trace) -> Trace {
    let mut control = trace.clone();
    let lags = |event: &Event| {
        matches!(
            event,
            Event::Fault {
                fault: FaultEvent::ReplicaLags { .. } | FaultEvent::ReplicaCatchesUp { .. }
            }
        )
    };
    control.steps.retain(|step| !lags(&step.event));
    for step in &mut control.steps {
        if let Event::Fault {
            fault:
                FaultEvent::Failover { lost, .. }
                | FaultEvent::SplitBrain { lost, .. }
                | FaultEvent::CutOff { lost, .. },
        } = &mut step.event
        {
            *lost = 0;
        }
    }
    assert_ne!(control.steps.len(), trace.steps.len(), "nothing lagged");
    validate(&control).unwrap();
    control
}

#[tokio::test]
async fn a_lock_that_went_with_a_cut_off_primary_is_held_twice() {
    let trace = violation("token", "failover-cut-off", "mutual-exclusion-validity");
    reproduces(&trace, "token").await;
    let mut pool = GatePool::new(gate());
    let control = control(&trace);
    for _ in 0..RUNS {
        assert!(!is_seen(&pool.replay(&control, "token").await));
    }
}

#[tokio::test]
async fn a_wait_on_the_new_primary_confirms_a_set_on_the_old_one() {
    let property = "mutual-exclusion-validity";
    let trace = violation("token-wait", "failover-split-brain", property);
    assert!(faults(&trace).any(|fault| matches!(fault, FaultEvent::Rejoin { .. })));
    reproduces(&trace, "token-wait").await;
}

async fn walks_agree(lock: &str, words: &str, seeds: std::ops::Range<u64>) -> Vec<Trace> {
    let (file, sizes) = (builtin(lock), small(lock));
    let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    let walks = checker.walks(&set(words, 3), seeds, 60).unwrap();
    // A replica that comes back takes a second, on a busy machine several.
    let mut pool = GatePool::new(GateOptions {
        patience: Duration::from_secs(20),
        ..gate()
    });
    for (seed, walk) in walks.iter().enumerate() {
        validate(walk).unwrap();
        let report = pool.replay(walk, lock).await;
        assert!(
            report.verdict.is_reproduced(),
            "{lock} under {words}, walk {seed}: {:?}",
            report.verdict
        );
    }
    walks
}

/// How many of the walks' events are such.
fn count(walks: &[Trace], wanted: impl Fn(&Event) -> bool) -> usize {
    let steps = walks.iter().flat_map(|walk| &walk.steps);
    steps.filter(|step| wanted(&step.event)).count()
}

#[tokio::test]
async fn random_walks_with_wait_agree_with_real_servers() {
    let mut walks = Vec::new();
    for words in [
        "failover@2",
        "failover*2",
        "failover-split-brain",
        "failover-cut-off*2 loss delay",
        "failover client-pause client-crash partition",
    ] {
        walks.extend(walks_agree("token-wait", words, 0..25).await);
    }
    let blocked = count(&walks, |event| matches!(event, Event::Block { .. }));
    let is = |wanted: fn(&FaultEvent) -> bool| {
        count(
            &walks,
            |event| matches!(event, Event::Fault { fault } if wanted(fault)),
        )
    };
    let caught_up = is(|fault| matches!(fault, FaultEvent::ReplicaCatchesUp { .. }));
    let rejoined = is(|fault| matches!(fault, FaultEvent::Rejoin { .. }));
    let cut_off = is(|fault| matches!(fault, FaultEvent::CutOff { .. }));
    let numbers = [blocked, caught_up, rejoined, cut_off];
    assert!(numbers.iter().all(|number| *number > 5), "{numbers:?}");
}

#[tokio::test]
async fn random_walks_with_wait_and_restarts_agree_with_real_servers() {
    walks_agree("token-wait", "failover node-restart-none*2", 0..12).await;
    walks_agree("token-wait", "failover node-restart-always*2", 0..12).await;
}

#[tokio::test]
async fn random_walks_through_two_failovers_agree_with_real_servers() {
    for lock in ["token", "reentrant-hash", "token-renewed"] {
        walks_agree(lock, "failover*2 failover-cut-off", 0..20).await;
        walks_agree(lock, "failover-split-brain*2", 0..20).await;
    }
    walks_agree("redlock", "failover-cut-off*2", 0..10).await;
}

/// A walk in which a WAIT was held back and answered.
fn blocked_walk() -> Trace {
    let (file, sizes) = (builtin("token-wait"), small("token-wait"));
    let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    let walks = checker.walks(&set("failover", 3), 0..50, 40).unwrap();
    let mut walks = walks.into_iter();
    let found = walks.find(|walk| {
        let mut events = walk.steps.iter().map(|step| &step.event);
        let blocked = events.find_map(|event| match event {
            Event::Block { message, .. } => Some(*message),
            _ => None,
        });
        events.any(|event| {
            matches!(event, Event::Execute { message, reply: Reply::Int(1), .. }
                if Some(*message) == blocked)
        })
    });
    found.expect("some walk's first blocked WAIT is answered")
}

#[tokio::test]
async fn a_trace_that_lies_about_a_wait_diverges() {
    let honest = blocked_walk();
    let mut pool = GatePool::new(gate());
    assert_reproduced(&pool.replay(&honest, "token-wait").await);
    // The replica has caught up, and the trace says that nobody acknowledged.
    let mut denied = honest.clone();
    let blocked = denied.steps.iter().find_map(|step| match step.event {
        Event::Block { message, .. } => Some(message),
        _ => None,
    });
    for step in &mut denied.steps {
        if let Event::Execute { message, reply, .. } | Event::Deliver { message, reply, .. } =
            &mut step.event
            && Some(*message) == blocked
        {
            assert_eq!(*reply, Reply::Int(1));
            *reply = Reply::Int(0);
        }
    }
    let report = pool.replay(&denied, "token-wait").await;
    let (_, expected, actual) = divergence(&report);
    assert_eq!((expected, actual), ("the reply 0", "the reply 1"));
    // The replica never catches up, so it cannot have acknowledged.
    let mut stuck = honest;
    stuck.steps.retain(|step| {
        !matches!(
            &step.event,
            Event::Fault {
                fault: FaultEvent::ReplicaCatchesUp { .. }
            }
        )
    });
    let mut hasty = gate();
    hasty.patience = Duration::from_millis(500);
    let report = GatePool::new(hasty).replay(&stuck, "token-wait").await;
    assert!(!report.verdict.is_reproduced(), "{}", report.verdict);
}

fn scripted(replicas: u8, faults: &[FaultEvent]) -> Trace {
    let mut script = Script::new("token", 2, 1);
    script.trace.setup.replicas = replicas;
    for fault in faults {
        script.fault(fault.clone());
    }
    script.trace
}

#[test]
fn a_trace_says_who_can_come_back_and_who_can_catch_up() {
    let failover = FaultEvent::Failover { node: 0, lost: 0 };
    let split = FaultEvent::SplitBrain { node: 0, lost: 0 };
    let rejoin = FaultEvent::Rejoin { node: 0 };
    let lags = FaultEvent::ReplicaLags { node: 0 };
    let cut_off = |lost| FaultEvent::CutOff { node: 0, lost };
    let catches_up = |lacks| FaultEvent::ReplicaCatchesUp {
        node: 0,
        lacks,
        known: true,
    };
    for good in [
        vec![failover.clone(), rejoin.clone(), cut_off(0), rejoin.clone()],
        vec![lags.clone(), catches_up(0), failover.clone()],
        vec![lags.clone(), catches_up(1), cut_off(1)],
        vec![
            split.clone(),
            FaultEvent::Demotion { node: 0 },
            rejoin.clone(),
        ],
    ] {
        validate(&scripted(1, &good)).unwrap();
    }
    for (bad, problem) in [
        (vec![rejoin.clone()], "no old server"),
        (vec![split, rejoin.clone()], "no old server"),
        (
            vec![failover.clone(), rejoin.clone(), rejoin],
            "no old server",
        ),
        (vec![catches_up(0)], "did not lag"),
        (
            vec![lags, catches_up(0), cut_off(1)],
            "not what its replica lagged behind",
        ),
        (
            vec![failover.clone(), failover],
            "has taken its place before",
        ),
    ] {
        let error = validate(&scripted(1, &bad)).unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
    }
}
