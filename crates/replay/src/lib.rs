//! The gate: a trace, enforced step by step on real servers.
//!
//! Free-running clients would need luck to meet the one interleaving that a
//! counterexample describes. So nothing here runs freely: every request and
//! every reply is held in a proxy until the trace lets it go, every server's
//! clock stands still until a tick, and every client's clock is moved by hand.
//! Then one run is enough, and each real command, reply, outcome and belief is
//! compared with the predicted one on the way. A replay that agrees to the end
//! *reproduced* the trace; the first difference is a defect of the model, and
//! it is reported with both sides and the step.
//!
//! Waiting for "long enough" was rejected wherever an event can be awaited
//! instead: a fixed sleep is either too short on a busy machine or too slow for
//! hundreds of replays. What remains are generous limits that only a broken
//! part can reach, and reaching one is *failed*, never a verdict.
//!
//! Starting servers is what costs most, so a [`GatePool`] keeps servers, proxies
//! and client processes for the next trace of the same shape, and empties them.

mod callers;
mod compare;
mod confirm;
mod content;
mod deeds;
mod drive;
mod endless;
mod failover;
mod fault;
mod held;
mod look;
mod messages;
mod monitor;
mod objects;
mod refusals;
mod replica;
mod report;
mod resource;
mod rig;
mod run;
mod subscriptions;
mod telling;
mod watch;
mod wire;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lockproof_lab::binaries::{self, Binary};
use lockproof_lab::client::{ClientCommand, ClientError, ClientLimits};
use lockproof_lab::clock::Library;
use lockproof_lab::proxy::ProxyKind;
use lockproof_lab::server::ServerError;
use lockproof_trace::{Trace, words};

pub use report::{
    Confirmation, Happening, RealSide, RealStep, ReplayReport, ReplayVerdict, SCHEMA,
};
use rig::{Rig, Shape};
use run::Replay;
pub use wire::WireError;

/// How to replay.
#[derive(Clone, Debug)]
pub struct GateOptions {
    /// The client program: `lockproof worker`, or an adapter with virtual time.
    pub client: ClientCommand,
    /// The server program.
    pub server: Binary,
    /// The clock library.
    pub library: Library,
    /// What stands between them.
    pub proxy: ProxyKind,
    /// How long any single awaited event may take.
    pub patience: Duration,
}

impl GateOptions {
    /// Embedded proxies and 5 s for each awaited event. `lockproof` is this
    /// program's own path; its subcommand `worker` is the client.
    pub fn new(lockproof: PathBuf, server: Binary, library: Library) -> Self {
        Self {
            client: ClientCommand {
                name: "worker".to_string(),
                program: lockproof,
                args: vec!["worker".into()],
            },
            server,
            library,
            proxy: ProxyKind::Embedded,
            patience: Duration::from_secs(5),
        }
    }

    fn limits(&self) -> ClientLimits {
        ClientLimits {
            answer: self.patience,
            ..ClientLimits::default()
        }
    }
}

/// What broke, when a replay failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GateError {
    /// A client process.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// A server.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A proxy.
    #[error(transparent)]
    Wire(#[from] WireError),
    /// The trace speaks of a client that is gone.
    #[error("{client} is asked for something after its process ended", client = words::client(*client))]
    ClientGone {
        /// Which.
        client: u8,
    },
    /// The trace speaks of a node that does not exist.
    #[error("the trace speaks of {node}, and its setup has fewer nodes", node = words::node(*node))]
    NoNode {
        /// Which.
        node: u8,
    },
    /// The trace speaks of a replica that is none any more, or never was.
    #[error("{node} has no replica (any more)", node = words::node(*node))]
    NoReplica {
        /// Which.
        node: u8,
    },
    /// A replica does not take over what its primary has.
    #[error("{replica} did not catch up with {primary} within {waited_ms} ms: {state}")]
    OutOfSync {
        /// The replica.
        replica: String,
        /// Its primary.
        primary: String,
        /// How long it was awaited.
        waited_ms: u64,
        /// What both said of it last.
        state: String,
    },
    /// A primary whose replica has left it still counts it.
    #[error("{primary} still counts its replica after {waited_ms} ms: {state}")]
    StillInTouch {
        /// The primary.
        primary: String,
        /// How long it was awaited.
        waited_ms: u64,
        /// What it said of it last.
        state: String,
    },
    /// A command to reset a server was refused.
    #[error("{server} refuses {command}: {reply}")]
    Refused {
        /// The server.
        server: String,
        /// The command.
        command: String,
        /// Its answer.
        reply: String,
    },
}

/// Why a replay stops before its end.
#[derive(Debug)]
enum Stop {
    Diverged { expected: String, actual: String },
    NotReplayable(String),
    Failed(GateError),
}

impl Stop {
    fn diverged(expected: impl Into<String>, actual: impl Into<String>) -> Self {
        Self::Diverged {
            expected: expected.into(),
            actual: actual.into(),
        }
    }
}

impl From<GateError> for Stop {
    fn from(error: GateError) -> Self {
        Self::Failed(error)
    }
}

impl From<WireError> for Stop {
    fn from(error: WireError) -> Self {
        Self::Failed(error.into())
    }
}

/// Replays one trace on servers of its own. `lock` is the lock file's path, or
/// the name of a built-in lock.
pub async fn replay(trace: &Trace, lock: &str, options: &GateOptions) -> ReplayReport {
    GatePool::new(options.clone()).replay(trace, lock).await
}

/// Servers, proxies and clients that are used for one replay after another.
/// Dropping it ends all of their processes.
pub struct GatePool {
    options: GateOptions,
    rig: Option<Rig>,
    /// Servers of the kinds that traces asked for, or why there are none.
    of_kind: BTreeMap<&'static str, Result<Binary, String>>,
}

impl GatePool {
    /// Starts nothing yet.
    pub fn new(options: GateOptions) -> Self {
        Self {
            options,
            rig: None,
            of_kind: BTreeMap::new(),
        }
    }

    /// Process ids of the servers, in node order, and then of the clients that
    /// run, in client order.
    pub fn processes(&self) -> Vec<u32> {
        self.rig.as_ref().map_or_else(Vec::new, Rig::processes)
    }

    /// Replays one trace. Servers of the last replay are used again if they fit
    /// and nothing broke.
    pub async fn replay(&mut self, trace: &Trace, lock: &str) -> ReplayReport {
        let began = Instant::now();
        let mut report = ReplayReport {
            schema: SCHEMA.to_string(),
            verdict: ReplayVerdict::Reproduced,
            steps_done: 0,
            confirmation: None,
            real: Vec::new(),
            history: Vec::new(),
            steps_ms: 0.0,
            setup_ms: 0.0,
        };
        // Taken out, so that a replay that is dropped half-way takes all of its
        // processes with it.
        let mut rig = match self.rig_for(trace).await {
            Ok(rig) => rig,
            Err(stop) => {
                report.verdict = verdict_of(stop, None);
                return report;
            }
        };
        let ready = rig.reset(trace, lock).await;
        report.setup_ms = ms_since(began);
        let stop = match ready {
            Ok(()) => enforce(trace, lock, &mut rig, &mut report).await.err(),
            Err(stop) => Some((stop, None)),
        };
        if let Some((stop, step)) = stop {
            let stop = blame_a_dead_server(&mut rig, stop).await;
            report.verdict = verdict_of(stop, step);
        }
        // Whatever went another way than the trace must not meet the next one.
        if report.verdict.is_reproduced() {
            self.rig = Some(rig);
        }
        report
    }

    async fn rig_for(&mut self, trace: &Trace) -> Result<Rig, Stop> {
        if trace.schema != lockproof_trace::SCHEMA {
            return Err(Stop::NotReplayable(format!(
                "its schema is `{}`, and this version reads `{}`",
                trace.schema,
                lockproof_trace::SCHEMA
            )));
        }
        let shape = Shape::of(trace)?;
        match self.rig.take().filter(|rig| rig.shape() == shape) {
            Some(rig) => Ok(rig),
            None => Ok(Rig::start(shape, self.server_for(shape)?, &self.options).await?),
        }
    }

    /// The server program that replays use, or another one that the lock asks for.
    fn server_for(&mut self, shape: Shape) -> Result<Binary, Stop> {
        let chosen = &self.options.server;
        let Some(kind) = shape.kind else {
            return Ok(chosen.clone());
        };
        let find = || binaries::of_kind(chosen, Some(kind)).map_err(|error| error.to_string());
        let found = self.of_kind.entry(kind).or_insert_with(find);
        found.clone().map_err(Stop::NotReplayable)
    }
}

/// Enforces the trace and fills the report; `Err` tells where and why it stopped.
async fn enforce(
    trace: &Trace,
    lock: &str,
    rig: &mut Rig,
    report: &mut ReplayReport,
) -> Result<(), (Stop, Option<usize>)> {
    let began = Instant::now();
    let mut run = Replay::new(trace, lock, rig);
    let result = match run.all().await {
        Ok(()) => run.confirm().await,
        Err(stop) => Err(stop),
    };
    let at = run.at;
    report.real = run.real;
    report.history = run.history;
    report.steps_ms = ms_since(began);
    report.steps_done = at;
    report.confirmation = result.map_err(|stop| (stop, Some(at)))?;
    report.steps_done = trace.steps.len();
    Ok(())
}

/// A server that died by itself explains whatever was missed; say so. Its
/// connections close before its process has ended, so after a failure it gets a
/// moment to do that.
async fn blame_a_dead_server(rig: &mut Rig, stop: Stop) -> Stop {
    let looks = match stop {
        Stop::Failed(_) => 50,
        Stop::Diverged { .. } | Stop::NotReplayable(_) => 1,
    };
    for look in 0..looks {
        if look > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if let Err(died) = rig.check_servers() {
            return Stop::Failed(died);
        }
    }
    stop
}

fn verdict_of(stop: Stop, step: Option<usize>) -> ReplayVerdict {
    match stop {
        Stop::Diverged { expected, actual } => ReplayVerdict::Diverged {
            step: step.unwrap_or(0),
            expected,
            actual,
        },
        Stop::NotReplayable(reason) => ReplayVerdict::NotReplayable { reason },
        Stop::Failed(error) => ReplayVerdict::Failed {
            step,
            error: error.to_string(),
        },
    }
}

fn ms_since(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1000.0
}
