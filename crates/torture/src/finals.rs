//! The state after a run and its faults: keys, whether anybody can acquire, and the store.

use std::time::{Duration, Instant};

use lockproof_history::{Kind, Process};
use lockproof_lab::topology::Topology;
use lockproof_redis::Reply;
use serde_json::{Value, json};

use super::actor::Orders;
use super::crew::Crew;
use super::free::{FreeError, FreeOptions};
use super::recorder::Recorder;
use super::setting::{patience_ms, topology_kind, ttl};
use super::store::Store;
use super::workload::{COUNTER, ELEMENTS, STOCK};
use lockproof_scenario::WorkloadKind;

/// The state after healing: what is left on the servers, whether anybody can
/// acquire, and what the store holds.
pub(super) async fn conclude(
    options: &FreeOptions,
    topology: &mut Topology,
    store: &mut Store,
    recorder: &Recorder,
    probe: Orders,
) -> Result<(), FreeError> {
    let grace = ttl(options) + Duration::from_millis(100);
    tokio::time::sleep(grace).await;
    let value =
        json!({ "keys": keys(options, topology).await, "after_ms": grace.as_millis() as u64 });
    recorder.say(Process::Harness, Kind::Ok, "final-keys", value);
    let before = recorder.tally().acquired;
    let mut crew = Crew::start(
        options.ground.program.clone(),
        vec![probe],
        recorder.clone(),
    )
    .map_err(FreeError::Clients)?;
    let deadline = Instant::now() + Duration::from_millis(patience_ms(options)) + 4 * ttl(options);
    while !crew.has_ended() && Instant::now() < deadline {
        // Sentinel may change its mind after the last fault. That nobody is primary
        // for a moment is no error.
        let _ = topology.follow_primary().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    crew.finish(deadline);
    let acquired = recorder.tally().acquired > before;
    let kind = if acquired { Kind::Ok } else { Kind::Fail };
    recorder.say(Process::Harness, kind, "final-acquire", json!(null));
    // Last, for the probe has worked under the lock as well.
    final_store(options, store, recorder).await
}

async fn final_store(
    options: &FreeOptions,
    store: &mut Store,
    recorder: &Recorder,
) -> Result<(), FreeError> {
    let (f, value) = match options.scenario.workload.kind {
        WorkloadKind::Hold => (
            "final-counter",
            json!({ "value": store.number(COUNTER).await? }),
        ),
        WorkloadKind::Coupon => (
            "final-coupons",
            json!({ "left": store.number(STOCK).await? }),
        ),
        WorkloadKind::GuardedSet => {
            let text = store.text(ELEMENTS).await?.unwrap_or_default();
            let elements = text
                .split(',')
                .filter_map(|element| element.parse::<u64>().ok());
            (
                "final-set",
                json!({ "elements": elements.collect::<Vec<_>>() }),
            )
        }
        WorkloadKind::Lottery => return Ok(()),
    };
    recorder.say(Process::Harness, Kind::Ok, f, value);
    Ok(())
}

/// Every key that is left on the servers that clients use.
async fn keys(options: &FreeOptions, topology: &Topology) -> Vec<Value> {
    let mut found = Vec::new();
    for (number, party) in topology.nodes().enumerate() {
        if topology_kind(&options.scenario, &options.lock).replicates()
            && topology.primary().await.ok() != Some(number as u16)
        {
            continue;
        }
        for name in topology.keys_of_lock(party).await {
            let pttl = match topology.ask(party, &["PTTL", &name]).await {
                Some(Reply::Int(pttl @ -1..)) => pttl,
                _ => continue,
            };
            let value = topology.ask(party, &["GET", &name]).await;
            let owner = value
                .as_ref()
                .and_then(text)
                .and_then(|token| owner(&token));
            found.push(json!({ "node": number, "key": name, "pttl_ms": pttl, "owner": owner }));
        }
    }
    found
}

fn text(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Bulk(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}

/// The process that drew a token (`3-17` is the third process's).
fn owner(token: &str) -> Option<u32> {
    token.split_once('-')?.0.parse().ok()
}
