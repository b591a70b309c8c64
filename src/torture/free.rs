//! One free run, from the first server to the last line of its history.

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::Notify;

use super::actor::Orders;
use super::crew::Crew;
use super::recorder::{Recorder, Tally};
use super::store::{Store, StoreError};
use super::workload::{COUNTER, ELEMENTS, STOCK};
use crate::history::{Header, Kind, Process, SCHEMA};
use crate::lock::LockFile;
use crate::redis::Reply;
use crate::replay::binaries::Binary;
use crate::replay::clock::Library;
use crate::replay::monotonic::now_ns;
use crate::replay::nemesis::{Field, NemesisError, NemesisEvent, Phase, Plan, Schedule};
use crate::replay::protocol::{ClockMode, Init, PROTOCOL};
use crate::replay::server::{Persistence, Server, ServerError, ServerOptions};
use crate::replay::topology::{
    Attachment, ProxyKind, Topology, TopologyError, TopologyKind, TopologyOptions,
};
use crate::scenario::{Kind as Servers, Range, Scenario, WorkloadKind};

/// The key that all clients compete for on servers of our own; on attached ones it is
/// drawn.
const KEY: &str = "lockproof:lock";
/// How long attached servers may take to be whole again after the last fault.
const HEALTH_PATIENCE: Duration = Duration::from_secs(15);
/// A process that did not run for this long has stalled, in ms.
const STALL_MS: u64 = 50;
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
    /// This program: it is actor and worker.
    pub program: PathBuf,
    /// The server program.
    pub binary: Binary,
    /// The clock library.
    pub library: Library,
    /// What stands in every link.
    pub proxy: ProxyKind,
    /// Servers that are there already, in place of servers of our own.
    pub attach: Option<Attachment>,
    /// Where the history goes.
    pub history: PathBuf,
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
    let started = match options.attach {
        // Servers of somebody else's are joined as a whole, so that they can be left.
        Some(_) => Some(starting.await),
        None => unless_told(watch, || early(began), starting).await,
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

/// What `work` gives; `None` if `watch` breaks off before.
async fn unless_told<T>(
    watch: &mut Watch<'_>,
    now: impl Fn() -> Now,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = std::pin::pin!(work);
    let mut looks = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Some(done),
            _ = looks.tick() => if watch(&now()).is_break() {
                return None;
            }
        }
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
    let mut crew = Crew::start(options.program.clone(), orders, recorder.clone())
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
    if options.attach.is_some() {
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
        let concluded = unless_told(watch, now, concluding).await;
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
    let mut versions = match options.attach {
        Some(_) => topology.attached_versions().await,
        None => [(
            options.binary.name.clone(),
            options.binary.version.to_string(),
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

/// Servers that the lock itself talks to.
fn lock_nodes(scenario: &Scenario, lock: &LockFile) -> u32 {
    let expected = scenario.expect.get(&lock.name);
    let nodes = expected
        .and_then(|expected| expected.nodes)
        .or(match scenario.topology.kind {
            Servers::Masters => scenario.topology.nodes,
            _ => None,
        });
    u32::from(nodes.unwrap_or(lock.nodes.default))
}

/// The scenario's servers; a lock that asks for several masters gets them.
pub fn topology_kind(scenario: &Scenario, lock: &LockFile) -> TopologyKind {
    let nodes = lock_nodes(scenario, lock) as u16;
    match scenario.topology.kind {
        Servers::Single | Servers::Masters if nodes > 1 => TopologyKind::Masters { nodes },
        Servers::Single | Servers::Masters => TopologyKind::Single,
        Servers::Replicated => TopologyKind::Replicated {
            replicas: u16::from(scenario.topology.replicas.unwrap_or(1)),
        },
        Servers::Sentinel => TopologyKind::Sentinel {
            sentinels: 3,
            replicas: 2,
        },
        Servers::Cluster => TopologyKind::Cluster {
            primaries: 3,
            replicas: 3,
        },
    }
}

fn topology_options(options: &FreeOptions) -> TopologyOptions {
    let scenario = &options.scenario;
    let persistence = Persistence::from_name(scenario.topology.persistence.name());
    TopologyOptions {
        persistence: persistence.unwrap_or(Persistence::None),
        node_args: node_arguments(scenario),
        // One more for the probe after the run.
        clients: scenario.clients.count as u16 + 1,
        proxy: options.proxy.clone(),
        clocks: Some(options.library.clone()),
        lock_key: KEY.into(),
        latency_ms: scenario.topology.latency_ms,
        attach: options.attach.clone(),
        seed: options.seed,
        ..TopologyOptions::new(
            topology_kind(&options.scenario, &options.lock),
            options.binary.clone(),
        )
    }
}

/// What the servers ask of their replicas.
fn node_arguments(scenario: &Scenario) -> Vec<String> {
    let topology = &scenario.topology;
    let Some(replicas) = topology.min_replicas_to_write else {
        return Vec::new();
    };
    let lag_s = topology.min_replicas_max_lag_s.unwrap_or(10);
    vec![
        "--min-replicas-to-write".into(),
        replicas.to_string(),
        "--min-replicas-max-lag".into(),
        lag_s.to_string(),
    ]
}

fn store_options(options: &FreeOptions) -> ServerOptions {
    ServerOptions::new(options.binary.clone())
}

/// The schedule of this seed.
pub fn schedule(options: &FreeOptions) -> Schedule {
    let nemesis = &options.scenario.nemesis;
    let range = |range: Range| (u64::from(range.0), u64::from(range.1));
    let plan = Plan {
        kind: topology_kind(&options.scenario, &options.lock),
        clients: options.scenario.clients.count as u16,
        faults: nemesis.faults.clone(),
        quiet_ms: range(nemesis.quiet_ms),
        fault_ms: range(nemesis.fault_ms),
        together: nemesis.together,
        when: nemesis.when,
        growing: nemesis.growing,
    };
    Schedule::generate(options.seed, &plan, options.duration.as_millis() as u64)
}

fn orders(
    options: &FreeOptions,
    topology: &Topology,
    client: u32,
    store: std::net::SocketAddr,
    (began_ns, until_ns): (u64, u64),
) -> Orders {
    let scenario = &options.scenario;
    let workload = &scenario.workload;
    let seed = options
        .seed
        .wrapping_mul(1_000_003)
        .wrapping_add(u64::from(client));
    Orders {
        process: client,
        adapter: (options.program.clone(), vec!["worker".into()]),
        init: Init {
            id: 0,
            protocol: PROTOCOL.into(),
            client: client as u8,
            owner: format!("client-{client}"),
            nodes: topology.client_addresses(client as u16),
            key: topology.options().lock_key.clone(),
            ttl_ms: scenario.clients.ttl_ms,
            timeout_ms: scenario.clients.timeout_ms,
            params: options.lock.params.clone(),
            lock: Some(options.lock.path.clone()),
            notes: None,
            clock: ClockMode::Real,
            epoch_ms: None,
            seed,
        },
        store,
        workload: workload.kind,
        work_ms: workload.work_ms,
        rest_ms: workload.rest_ms,
        nested: workload.nested && options.lock.reentrant,
        within_validity: workload.within_validity,
        round_ms: workload.round_ms,
        seed,
        began_ns,
        until_ns,
        acquires_max: None,
        stall_ms: STALL_MS,
    }
}

/// After healing: can anybody acquire?
fn orders_of_probe(
    options: &FreeOptions,
    topology: &Topology,
    store: std::net::SocketAddr,
    began_ns: u64,
) -> Orders {
    let client = options.scenario.clients.count;
    let patience_ns = (3 * options.scenario.clients.ttl_ms as u64 + 2000) * 1_000_000;
    let until_ns = now_ns() + patience_ns + ttl(options).as_nanos() as u64;
    Orders {
        acquires_max: Some(1),
        work_ms: Range(0, 0),
        rest_ms: Range(20, 20),
        nested: false,
        ..orders(options, topology, client, store, (began_ns, until_ns))
    }
}

fn ttl(options: &FreeOptions) -> Duration {
    Duration::from_millis(options.scenario.clients.ttl_ms as u64)
}

/// How long after the end of a run a client may still be busy.
fn patience_ms(options: &FreeOptions) -> u64 {
    let clients = &options.scenario.clients;
    let work = u64::from(options.scenario.workload.work_ms.1);
    let operations = 4
        * (clients.timeout_ms as u64 + 1)
        * u64::from(lock_nodes(&options.scenario, &options.lock));
    work + operations + 5000
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

/// The state after healing: what is left on the servers, whether anybody can
/// acquire, and what the store holds.
async fn conclude(
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
    let mut crew = Crew::start(options.program.clone(), vec![probe], recorder.clone())
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
