//! Several gates at once. A replay mostly waits for processes to answer, so a
//! few of them side by side keep the cores busy.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use lockproof_lab::binaries::Binary;
use lockproof_lab::stoppable::unless;
use lockproof_model::check::ShouldStop;
use lockproof_replay::{GateOptions, GatePool, ReplayVerdict};
use lockproof_report::model::Replay;
use lockproof_trace::Trace;

use super::CampaignError;

/// Gates that work side by side.
const GATES: usize = 3;

/// A crew of gates, each with servers, proxies and clients of its own, for each server program.
pub struct Crew {
    runtime: tokio::runtime::Runtime,
    servers: Vec<(Binary, Vec<GatePool>)>,
}

impl Crew {
    /// Starts nothing yet.
    pub fn new(runtime: tokio::runtime::Runtime, gate: GateOptions) -> Crew {
        let mut crew = Crew {
            runtime,
            servers: Vec::new(),
        };
        crew.hire(gate);
        crew
    }

    /// Gates with another server program.
    pub fn hire(&mut self, gate: GateOptions) {
        let pools = (0..GATES).map(|_| GatePool::new(gate.clone()));
        self.servers.push((gate.server.clone(), pools.collect()));
    }

    /// The server programs, in the order in which they came.
    pub fn servers(&self) -> impl ExactSizeIterator<Item = &Binary> {
        self.servers.iter().map(|(server, _)| server)
    }

    /// Replays every trace of the lock at `path` on one of the servers; results in the traces'
    /// order. Those that `stop` forbade have none.
    ///
    /// # Errors
    /// If the harness could not be set up twice in turn, or there is no thread.
    pub fn replay(
        &mut self,
        server: usize,
        traces: &[Trace],
        path: &str,
        stop: &ShouldStop,
    ) -> Result<Vec<Option<Replay>>, CampaignError> {
        let next = AtomicUsize::new(0);
        let results: Vec<Mutex<Slot>> = traces.iter().map(|_| Mutex::new(None)).collect();
        let runtime = &self.runtime;
        std::thread::scope(|scope| {
            let pools = self.servers[server].1.iter_mut();
            for (number, pool) in pools.enumerate() {
                let (next, results) = (&next, &results);
                let work = move || {
                    while let Some(index) = claim(next, traces.len()).filter(|_| !stop()) {
                        let work = replay(pool, &traces[index], path);
                        let result = runtime.block_on(unless(&**stop, work));
                        // Nobody panics while holding a result's lock.
                        if let Ok(mut slot) = results[index].lock() {
                            *slot = result;
                        }
                    }
                };
                match std::thread::Builder::new().spawn_scoped(scope, work) {
                    // One alone does all the work.
                    Err(_) if number > 0 => break,
                    started => started.map_err(CampaignError::Thread)?,
                };
            }
            Ok::<_, CampaignError>(())
        })?;
        let slots = traces.iter().zip(results);
        slots
            .map(|(trace, slot)| settle(trace, slot, stop()))
            .collect()
    }
}

fn claim(next: &AtomicUsize, count: usize) -> Option<usize> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    (index < count).then_some(index)
}

/// What became of a trace; nothing if it was not replayed.
type Slot = Option<Result<Replay, String>>;

fn settle(
    trace: &Trace,
    slot: Mutex<Slot>,
    stopped: bool,
) -> Result<Option<Replay>, CampaignError> {
    let result = slot.into_inner().ok().flatten();
    if result.is_none() && stopped {
        return Ok(None);
    }
    let result = result.unwrap_or_else(|| Err("the replay ended without a result".into()));
    result.map(Some).map_err(|error| CampaignError::Harness {
        what: format!("{} ({} steps)", trace.lock.name, trace.steps.len()),
        error,
    })
}

/// One replay; the harness gets a second try if it broke by itself. What breaks it twice at the
/// same trace says nothing of the others: that trace is not replayable. Where nothing can even be
/// set up, it is an error.
async fn replay(pool: &mut GatePool, trace: &Trace, path: &str) -> Result<Replay, String> {
    let mut broken = None;
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
            ReplayVerdict::Failed { error, step } => broken = Some((step, error)),
        }
    }
    match broken {
        Some((Some(step), error)) => Ok(Replay::NotReplayable {
            reason: format!(
                "it broke twice, the second time at step {}: {error}",
                step + 1
            ),
        }),
        Some((None, error)) => Err(error),
        None => Err("it was not tried".to_owned()),
    }
}
