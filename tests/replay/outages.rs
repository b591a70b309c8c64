//! Servers that are gone for a while, clients that start again, links that swallow one
//! way: their walks on real servers.

use std::time::Duration;

use crate::gate_support::options as gate;
use crate::world_support::{builtin, options, set, small};
use lockproof_model::check::Checker;
use lockproof_model::lock::LockFile;
use lockproof_replay::{GateOptions, GatePool};
use lockproof_trace::{Event, FaultEvent, Trace, validate};

fn walks(file: &LockFile, lock: &str, words: &str, count: u64) -> Vec<Trace> {
    let sizes = small(lock);
    let mut checker = Checker::new(file, options(&sizes, 1)).unwrap();
    let set = set(words, sizes.ttl_ticks);
    let walks = checker.walks(&set, 0..count, 60).unwrap();
    walks.iter().for_each(|walk| validate(walk).unwrap());
    walks
}

fn pool() -> GatePool {
    GatePool::new(GateOptions {
        patience: Duration::from_secs(20),
        ..gate()
    })
}

#[tokio::test]
async fn random_walks_agree_with_real_servers() {
    let mut all = Vec::new();
    for (lock, words) in [
        ("token", "node-down*2"),
        ("redlock", "node-down node-restart-everysec"),
        ("redlock", "node-down-delayed loss"),
        ("setnx-expire", "node-down node-restart-always partition"),
        ("token-renewed", "node-down client-restart"),
        ("token", "client-restart client-skew failover"),
        ("reentrant-hash", "client-crash client-restart*2"),
        ("reentrant-hash", "shared-owner client-restart"),
        ("token", "shared-owner failover"),
        ("token-wait", "partition-one-way failover"),
        ("token-wait", "node-flush*2 failover"),
        ("redlock", "node-flush node-restart-everysec clock-jump"),
        (
            "reentrant-hash",
            "node-flush node-pause failover-split-brain",
        ),
        (
            "setnx-expire",
            "partition-one-way*2 node-restart-none client-pause",
        ),
    ] {
        let mut pool = pool();
        for walk in walks(&builtin(lock), lock, words, 15) {
            let verdict = pool.replay(&walk, lock).await.verdict;
            assert!(verdict.is_reproduced(), "{lock} under {words}: {verdict:?}");
            all.push(walk);
        }
    }
    let count = |wanted: fn(&Event) -> bool| {
        let steps = all.iter().flat_map(|walk| &walk.steps);
        steps.filter(|step| wanted(&step.event)).count()
    };
    let seen = [
        count(|event| matches!(event, Event::Fail { definite: true, .. })),
        count(|event| {
            matches!(
                event,
                Event::Fault {
                    fault: FaultEvent::NodeUp { .. }
                }
            )
        }),
        count(|event| {
            matches!(
                event,
                Event::Fault {
                    fault: FaultEvent::ClientRestart { .. }
                }
            )
        }),
        count(|event| {
            matches!(
                event,
                Event::Fault {
                    fault: FaultEvent::LinkCut { only: Some(_), .. }
                }
            )
        }),
    ];
    assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
}

/// No proxy can hold back a refusal; the worker does.
#[tokio::test]
async fn who_calls_a_server_that_is_gone_without_a_pause_hears_of_it_when_the_trace_says() {
    let text = r#"
return {
  name = "impatient",
  acquire = function(lock)
    while true do
      local set, err = redis("SET", lock.key, lock.token, "NX", "PX", lock.ttl)
      if set then return held() end
      if not err then return busy() end
    end
  end,
  release = function(lock) redis("DEL", lock.key) end,
}
"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("impatient.lua");
    std::fs::write(&path, text).unwrap();
    let file = LockFile::load(&path).unwrap();
    let mut pool = pool();
    let mut both = 0;
    for words in [
        "node-down",
        "node-down client-pause*2",
        "node-down-delayed client-pause*2",
    ] {
        for walk in walks(&file, "token", words, 40) {
            let verdict = pool.replay(&walk, path.to_str().unwrap()).await.verdict;
            assert!(verdict.is_reproduced(), "{words}: {verdict:?}");
            both += u32::from(is_held_back_and_refused(&walk));
        }
    }
    assert!(both > 0, "no walk pauses who would be refused");
}

/// A pause comes before a client has sent what is refused afterwards.
fn is_held_back_and_refused(walk: &Trace) -> bool {
    let mut held_back = Vec::new();
    walk.steps.iter().any(|step| match &step.event {
        Event::Fault {
            fault: FaultEvent::ClientPause { client, held },
        } => {
            held_back.extend(held.iter().map(|message| (*client, *message)));
            false
        }
        Event::Fail {
            client,
            message,
            definite: true,
            ..
        } => held_back.contains(&(*client, *message)),
        _ => false,
    })
}
