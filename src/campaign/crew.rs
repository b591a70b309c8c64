//! Several gates at once. A replay mostly waits for processes to answer, so a
//! few of them side by side keep the cores busy.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::replay::gate::{GateOptions, GatePool, ReplayVerdict};
use crate::report::model::Replay;
use crate::trace::Trace;

use super::CampaignError;

/// Gates that work side by side.
const GATES: usize = 3;

/// A crew of gates, each with servers, proxies and clients of its own.
pub struct Crew {
    runtime: tokio::runtime::Runtime,
    pools: Vec<GatePool>,
}

impl Crew {
    /// Starts nothing yet.
    pub fn new(runtime: tokio::runtime::Runtime, gate: GateOptions) -> Crew {
        let pools = (0..GATES).map(|_| GatePool::new(gate.clone())).collect();
        Crew { runtime, pools }
    }

    /// Replays every trace of the lock at `path`; results in the traces' order.
    ///
    /// # Errors
    /// If the harness broke twice under the same trace.
    pub fn replay(&mut self, traces: &[Trace], path: &str) -> Result<Vec<Replay>, CampaignError> {
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Option<Result<Replay, String>>>> =
            traces.iter().map(|_| Mutex::new(None)).collect();
        let runtime = &self.runtime;
        std::thread::scope(|scope| {
            for pool in &mut self.pools {
                let (next, results) = (&next, &results);
                scope.spawn(move || {
                    while let Some(index) = claim(next, traces.len()) {
                        let result = runtime.block_on(replay(pool, &traces[index], path));
                        // Nobody panics while holding a result's lock.
                        if let Ok(mut slot) = results[index].lock() {
                            *slot = Some(result);
                        }
                    }
                });
            }
        });
        traces
            .iter()
            .zip(results)
            .map(|(trace, slot)| settle(trace, slot))
            .collect()
    }
}

fn claim(next: &AtomicUsize, count: usize) -> Option<usize> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    (index < count).then_some(index)
}

fn settle(
    trace: &Trace,
    slot: Mutex<Option<Result<Replay, String>>>,
) -> Result<Replay, CampaignError> {
    let result = slot.into_inner().ok().flatten();
    let result = result.unwrap_or_else(|| Err("the replay ended without a result".into()));
    result.map_err(|error| CampaignError::Harness {
        what: format!("{} ({} steps)", trace.lock.name, trace.steps.len()),
        error,
    })
}

/// One replay; the harness gets a second try if it broke by itself.
async fn replay(pool: &mut GatePool, trace: &Trace, path: &str) -> Result<Replay, String> {
    let mut error = String::new();
    for _ in 0..2 {
        match pool.replay(trace, path).await.verdict {
            ReplayVerdict::Reproduced => return Ok(Replay::Reproduced),
            ReplayVerdict::Diverged {
                step,
                expected,
                actual,
            } => {
                return Ok(Replay::Diverged {
                    step: step + 1,
                    model: expected,
                    real: actual,
                });
            }
            ReplayVerdict::NotReplayable { reason } => {
                return Ok(Replay::NotReplayable { reason });
            }
            ReplayVerdict::Failed { error: broken, .. } => error = broken,
        }
    }
    Err(error)
}
