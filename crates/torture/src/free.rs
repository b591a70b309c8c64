//! One free run, from the first server to the last line of its history.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use lockproof_history::{Header, Kind, Process, SCHEMA};
use lockproof_lab::binaries::Binary;
use lockproof_lab::clock::Library;
use lockproof_lab::monotonic::now_ns;
use lockproof_lab::nemesis::{Field, NemesisError, NemesisEvent, Phase, Schedule};
use lockproof_lab::proxy::ProxyKind;
use lockproof_lab::server::{Server, ServerError};
use lockproof_lab::stoppable::unless;
use lockproof_lab::topology::{Attachment, Topology, TopologyError};
use lockproof_model::lock::LockFile;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::crew::Crew;
use super::finals::conclude;
use super::recorder::{Recorder, Tally};
use super::setting::{
    lock_nodes, orders, orders_of_probe, patience_ms, schedule, store_options, topology_options,
};
use super::store::{Store, StoreError};
use super::workload::STOCK;
use lockproof_scenario::{Scenario, WorkloadKind};

/// How long attached servers may take to be whole again after the last fault.
const HEALTH_PATIENCE: Duration = Duration::from_secs(15);
/// How often `watch` is asked.
const LOOK: Duration = Duration::from_millis(200);

/// What a free run needs.
#[derive(Clone)]
pub struct FreeOptions {
    /// The story.
    pub scenario: Scenario,
    /// The lock file, and how a worker is told of it.
    pub lock: LockFile,
    /// Seed of every draw.
    pub seed: u64,
    /// How long clients work.
    pub duration: Duration,
    /// What it runs on.
    pub ground: Ground,
    /// Where the history goes.
    pub history: PathBuf,
}

/// What free runs run on.
#[derive(Clone)]
pub struct Ground {
    /// This program: it is actor and worker.
    pub program: PathBuf,
    /// The server program.
    pub server: Binary,
    /// The clock library.
    pub library: Library,
    /// What stands in every link.
    pub proxy: ProxyKind,
    /// Servers that are there already, in place of servers of our own.
    pub attach: Option<Attachment>,
}

/// What a run leaves behind apart from its history.
#[derive(Clone, Debug)]
pub struct FreeRun {
    /// What the nemesis did.
    pub schedule: Schedule,
    /// Figures.
    pub tally: Tally,
    /// How long clients worked, in s.
    pub seconds: f64,
    /// How long it took until they did, in s.
    pub setup_seconds: f64,
    /// It was asked to stop before its time: clients were ended in the midst of
    /// their work, and nothing was looked at afterwards.
    pub cut_short: bool,
    /// What went wrong without ending the run.
    pub warnings: Vec<String>,
    /// What the keys on attached servers have in their names; `None` on servers of our
    /// own.
    pub keys: Option<String>,
}

/// What a run is doing now.
#[derive(Clone, Debug)]
pub struct Now {
    /// Time since clients began to work.
    pub elapsed: Duration,
    /// Figures so far.
    pub tally: Tally,
    /// The faults that are in force.
    pub faults: Vec<String>,
}

/// What ended a run before its end. The history up to then is whole.
#[derive(Debug, thiserror::Error)]
pub enum FreeError {
    /// The servers did not come up, or one died unplanned.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// The store did not start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A fault could not be had, or not healed.
    #[error(transparent)]
    Nemesis(#[from] NemesisError),
    /// The history could not be written.
    #[error("failed to write the history {}: {source}", path.display())]
    History {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A client did not start.
    #[error("failed to start the clients: {0}")]
    Clients(io::Error),
    /// `watch` broke off before there was a history.
    #[error("stopped before the servers had started")]
    Stopped,
    /// One of these, and then attached servers could not be put back.
    #[error("{error}\n{left}")]
    AndNotPutBack {
        /// What ended the run.
        error: Box<FreeError>,
        /// What is left.
        left: TopologyError,
    },
}

impl FreeError {
    /// True if what was given to be attached cannot be: nothing was run.
    pub fn is_refusal(&self) -> bool {
        matches!(self, FreeError::Topology(error) if error.is_refusal())
    }
}

/// Who is told a few times a second how a run goes, and may end it.
pub type Watch<'w> = dyn FnMut(&Now) -> ControlFlow<()> + Send + 'w;

/// Plays the scenario once. When `watch` breaks off, faults are healed, clients are
/// ended, and the history ends there as an interrupted one; it is whole up to then.
///
/// # Errors
/// See [`FreeError`]. Servers and clients are gone when this returns.
pub async fn run(options: &FreeOptions, watch: &mut Watch<'_>) -> Result<FreeRun, FreeError> {
    let began = Instant::now();
    let (servers, store_only) = (topology_options(options), store_options(options));
    let starting = async { tokio::join!(Topology::start(&servers), Server::start(&store_only)) };
    let started = match options.ground.attach {
        // Servers of somebody else's are joined as a whole, so that they can be left.
        Some(_) => Some(starting.await),
        None => unless(|| watch(&early(began)).is_break(), starting).await,
    };
    let (topology, store) = started.ok_or(FreeError::Stopped)?;
    let mut topology = topology?;
    let played = match store {
        Ok(mut store) => play(options, began, &mut topology, &mut store, watch).await,
        Err(error) => Err(error.into()),
    };
    match (played, topology.detach().await) {
        (Ok(mut run), Ok(notes)) => {
            run.warnings.extend(notes);
            Ok(run)
        }
        (Ok(_), Err(left)) => Err(left.into()),
        (Err(error), Ok(_)) => Err(error),
        (Err(error), Err(left)) => Err(FreeError::AndNotPutBack {
            error: Box::new(error),
            left,
        }),
    }
}

/// How a run goes that has not begun.
fn early(began: Instant) -> Now {
    Now {
        elapsed: began.elapsed(),
        tally: Tally::default(),
        faults: Vec::new(),
    }
}

/// The run itself, between servers that are up and servers that are left.
async fn play(
    options: &FreeOptions,
    began: Instant,
    topology: &mut Topology,
    store: &mut Server,
    watch: &mut Watch<'_>,
) -> Result<FreeRun, FreeError> {
    let began_ns = now_ns();
    let header = header(options, topology).await;
    let recorder = Recorder::create(&options.history, &header, began_ns)
        .map_err(|source| history_error(options, source))?;
    let mut connection = Store::connect(store.address()).await?;
    if let Some((keys, found)) = topology.found() {
        let value = json!({ "keys": keys, "found": found });
        recorder.say(Process::Harness, Kind::Info, "attached", value);
    }
    set_up(options, &mut connection, &recorder).await?;

    let until_ns = now_ns() + options.duration.as_nanos() as u64;
    let orders = (0..options.scenario.clients.count)
        .map(|client| {
            orders(
                options,
                topology,
                client,
                store.address(),
                (began_ns, until_ns),
            )
        })
        .collect();
    let mut crew = Crew::start(options.ground.program.clone(), orders, recorder.clone())
        .map_err(FreeError::Clients)?;
    let setup_seconds = began.elapsed().as_secs_f64();

    let working = Instant::now();
    let schedule = schedule(options);
    let struck = strike(&schedule, topology, &mut crew, &recorder, watch).await;
    let mut cut_short = struck.as_ref().is_ok_and(ControlFlow::is_break);
    let next_process = crew.next_process();
    let warnings = end(options, crew, cut_short);
    let seconds = working.elapsed().as_secs_f64();
    struck.map(drop)?;
    topology.check_alive()?;
    if options.ground.attach.is_some() {
        // Whether somebody else's servers live only they can say.
        topology.wait_healthy(HEALTH_PATIENCE).await?;
    }
    store.check_alive()?;
    if !cut_short {
        let mut probe = orders_of_probe(options, topology, store.address(), began_ns);
        // Clients that came back after their death have had the numbers up to here.
        probe.process = next_process;
        let now = || Now {
            tally: recorder.tally(),
            ..early(working)
        };
        let concluding = conclude(options, topology, &mut connection, &recorder, probe);
        let concluded = unless(|| watch(&now()).is_break(), concluding).await;
        cut_short = concluded.is_none();
        concluded.unwrap_or(Ok(()))?;
    }
    recorder.end(!cut_short);
    if let Some(source) = recorder.take_error() {
        return Err(history_error(options, source));
    }
    Ok(FreeRun {
        schedule,
        tally: recorder.tally(),
        seconds,
        setup_seconds,
        cut_short,
        warnings,
        keys: topology.found().map(|(keys, _)| keys),
    })
}

/// Ends the clients: by themselves, or at once. Gives what went wrong.
fn end(options: &FreeOptions, mut crew: Crew, cut_short: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if cut_short {
        crew.dismiss();
    }
    let patience = Duration::from_millis(patience_ms(options));
    let killed = crew.finish(Instant::now() + patience);
    if killed > 0 {
        warnings.push(format!("{killed} clients did not end by themselves"));
    }
    for (client, said) in crew.complaints() {
        warnings.push(format!("client {client} failed: {said}"));
    }
    warnings
}

fn history_error(options: &FreeOptions, source: io::Error) -> FreeError {
    FreeError::History {
        path: options.history.clone(),
        source,
    }
}

async fn header(options: &FreeOptions, topology: &Topology) -> Header {
    let scenario = &options.scenario;
    let mut versions = match options.ground.attach {
        Some(_) => topology.attached_versions().await,
        None => [(
            options.ground.server.name.clone(),
            options.ground.server.version.to_string(),
        )]
        .into(),
    };
    versions.insert("lockproof".into(), env!("CARGO_PKG_VERSION").into());
    Header {
        schema: SCHEMA.into(),
        lock: options.lock.name.clone(),
        workload: scenario.workload.kind.name().into(),
        ttl_ms: scenario.clients.ttl_ms,
        clients: scenario.clients.count,
        nodes: lock_nodes(&options.scenario, &options.lock),
        seed: options.seed,
        scenario: Some(scenario.name.clone()),
        reentrant: options.lock.reentrant,
        versions,
        params: options.lock.params.clone(),
    }
}

async fn set_up(
    options: &FreeOptions,
    store: &mut Store,
    recorder: &Recorder,
) -> Result<(), FreeError> {
    let workload = &options.scenario.workload;
    if workload.kind == WorkloadKind::Coupon {
        store.set(STOCK, &workload.coupons.to_string()).await?;
        let value = json!({ "coupons": workload.coupons });
        recorder.say(Process::Harness, Kind::Info, "setup", value);
    }
    Ok(())
}

/// Carries out the schedule while clients work, and tells how it goes. Breaks if it
/// was told to.
async fn strike(
    schedule: &Schedule,
    topology: &mut Topology,
    crew: &mut Crew,
    recorder: &Recorder,
    watch: &mut Watch<'_>,
) -> Result<ControlFlow<()>, FreeError> {
    let began = Instant::now();
    let stop = Notify::new();
    let mut go = ControlFlow::Continue(());
    let in_force = std::sync::Mutex::new(Vec::<(Option<u32>, String)>::new());
    let record = |event: NemesisEvent| {
        let mut in_force = in_force
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        match event.phase {
            Phase::Starting => in_force.push((event.id, event.fault.to_owned())),
            Phase::Healed => in_force.retain(|(id, _)| *id != event.id),
            _ => {}
        }
        recorder.say(Process::Nemesis, Kind::Info, event.fault, told(&event));
    };
    let mut field = Field::new(topology, crew);
    let mut run = std::pin::pin!(schedule.run_until(&mut field, record, stop.notified()));
    let mut looks = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            ended = &mut run => return Ok(ended.map(|()| go)?),
            _ = looks.tick(), if go.is_continue() => {
                let faults = in_force
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .iter()
                    .map(|(_, name)| name.clone())
                    .collect();
                go = watch(&Now { elapsed: began.elapsed(), tally: recorder.tally(), faults });
                if go.is_break() {
                    // A step that is being done is finished first.
                    stop.notify_one();
                }
            }
        }
    }
}

/// A nemesis event as histories write it.
fn told(event: &NemesisEvent) -> Value {
    let phase = match event.phase {
        Phase::Starting => "start",
        Phase::Started => "started",
        Phase::Healing => "healing",
        Phase::Healed => "end",
        Phase::Failed => "failed",
        Phase::Followed => "followed",
    };
    json!({ "phase": phase, "fault": event.fault, "id": event.id, "details": event.details })
}
