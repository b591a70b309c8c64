//! Operations that their callers interrupt, on real servers.

use crate::gate_support::{assert_reproduced, options as gate};
use crate::world_support::{NoClock, builtin, options, set, sizes, small};
use lockproof_model::check::{Checker, Verdict};
use lockproof_model::lock::LockFile;
use lockproof_replay::GatePool;
use lockproof_trace::{Event, FaultEvent, Trace, validate};

fn cancels(walk: &Trace) -> usize {
    let is_one = |step: &&lockproof_trace::Step| {
        matches!(
            &step.event,
            Event::Fault {
                fault: FaultEvent::Cancel { .. }
            }
        )
    };
    walk.steps.iter().filter(is_one).count()
}

async fn follow(file: &LockFile, lock: &str, sizes: lockproof_model::check::Sizes, words: &str) {
    let set = set(words, sizes.ttl_ticks);
    let mut checker = Checker::new(file, options(&sizes, 1)).unwrap();
    let walks = checker.walks(&set, 0..12, 60).unwrap();
    let mut pool = GatePool::new(gate());
    let mut seen = 0;
    for walk in &walks {
        validate(walk).unwrap();
        seen += cancels(walk);
        let verdict = pool.replay(walk, lock).await.verdict;
        assert!(verdict.is_reproduced(), "{lock} under {words}: {verdict:?}");
    }
    assert!(seen > 3, "{lock} under {words}: {seen} interrupts");
}

#[tokio::test]
async fn random_walks_with_interrupts_agree_with_real_servers() {
    for (lock, words) in [
        ("token", "cancel*3"),
        ("redlock", "cancel*2 loss"),
        ("redisson", "cancel*2"),
        ("reentrant-hash", "cancel*2 client-pause"),
        ("setnx-expire", "cancel*2 node-down"),
    ] {
        follow(&builtin(lock), lock, small(lock), words).await;
    }
}

#[tokio::test]
async fn a_clean_up_runs_on_real_servers_as_the_model_says() {
    for name in ["watchdog-is-stopped", "clean-up-without-a-token"] {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/soundness/cancel");
        let path = format!("{path}/{name}.lua");
        let file = LockFile::load(std::path::Path::new(&path)).unwrap();
        let sizes = sizes(&file, 3);
        follow(&file, &path, sizes, "cancel*3").await;
    }
}

#[tokio::test]
async fn a_key_that_an_interrupted_acquire_leaves_for_ever_is_seen_on_a_real_server() {
    let file = builtin("setnx-expire");
    let mut checker = Checker::new(&file, options(&sizes(&file, 2), 2)).unwrap();
    let results = checker.check_set(&set("cancel", 3), &NoClock).unwrap();
    let mut found = Vec::new();
    for result in results {
        if result.verdict != Verdict::Violated {
            continue;
        }
        let trace = result.trace.unwrap();
        let report = GatePool::new(gate()).replay(&trace, "setnx-expire").await;
        assert_reproduced(&report);
        found.push(trace.property.unwrap());
    }
    for property in ["no-orphan", "deadlock-freedom"] {
        assert!(found.iter().any(|id| id == property), "{found:?}");
    }
}
