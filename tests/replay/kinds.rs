//! Locks that ask for a kind of server.

use crate::gate_support::options as gate;
use crate::world_support::{builtin, options, set, small};
use lockproof_model::check::Checker;
use lockproof_replay::{ReplayVerdict, replay};
use lockproof_trace::Trace;

fn walks(words: &str, count: u64) -> Vec<Trace> {
    let (file, sizes) = (builtin("delifeq"), small("delifeq"));
    let mut checker = Checker::new(&file, options(&sizes, 1)).unwrap();
    let set = set(words, sizes.ttl_ticks);
    checker.walks(&set, 0..count, 40).unwrap()
}

#[tokio::test]
async fn a_kind_that_nobody_knows_is_no_reason_to_replay_on_another() {
    let mut walk = walks("", 1).remove(0);
    walk.setup.server = Some("oracle".to_owned());
    let report = replay(&walk, "delifeq", &gate()).await;
    let ReplayVerdict::NotReplayable { reason, .. } = &report.verdict else {
        panic!("{:?}", report.verdict);
    };
    assert!(
        reason.contains("`oracle`") && reason.contains("`valkey`"),
        "{reason}"
    );
}

mod with_valkey {
    use super::*;
    use lockproof_replay::GatePool;

    #[tokio::test]
    async fn a_lock_for_valkey_is_replayed_on_valkey_whatever_the_others_use() {
        let mut pool = GatePool::new(gate());
        let mut deleted = 0;
        for words in [
            "client-pause",
            "loss failover",
            "node-restart-none clock-jump",
        ] {
            for walk in walks(words, 10) {
                assert_eq!(walk.setup.server.as_deref(), Some("valkey"));
                let verdict = pool.replay(&walk, "delifeq").await.verdict;
                assert!(verdict.is_reproduced(), "{words}: {verdict:?}");
                let text = serde_json::to_string(&walk.steps).unwrap();
                deleted += usize::from(text.contains("DELIFEQ"));
            }
        }
        assert!(deleted > 10, "{deleted}");
    }
}
