//! From a path through the tables back to real commands, tokens and times.
//!
//! The concrete simulation runs live client programs against formal servers
//! with real tokens and absolute times, in the order that a path says. It does
//! two jobs: it writes the [`Trace`] that a real server replays, and it checks
//! the tables, for after every move each live client must be in the class, and
//! each server in the keyspace, that the path claims.

mod clients;
mod compare;
mod messages;
mod moves;
mod nodes;
mod replicas;
mod silence;
mod steps;

use std::collections::BTreeMap;

use crate::lock::{Config, LockError, LockFile, Program};
use crate::redis::{Bytes, Reply, ScriptEngine};
use crate::trace::{self, Step, Trace};

use super::catalogue::Property;
use super::client::THREADS;
use super::layout::State;
use super::moves::Move;
use super::node::Keyspace;
use super::symbols;
use super::system::{Action, PropertySet, System};
use super::world::World;
use replicas::{LinkChange, Replica};

/// Why a path could not be made concrete.
#[derive(Debug, thiserror::Error)]
pub enum ConcreteError {
    /// The lock file failed.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No Lua engine for the scripts.
    #[error("failed to start the Lua engine for Redis scripts: {0}")]
    Engine(#[from] crate::redis::EngineError),
    /// The tables and the live program part ways: an error of lockproof's own.
    #[error("the tables disagree with the live program at move {at} ({what}): {detail}")]
    Mismatch {
        at: usize,
        what: String,
        detail: String,
    },
}

/// A path: the moves, each with the state after it.
pub type Moves<const W: usize> = [(Action, State<W>)];

/// What a trace says of itself.
#[derive(Clone, Debug)]
pub struct Heading {
    /// The violated property; `None` for a walk.
    pub property: Option<Property>,
    /// The seed of a walk.
    pub seed: Option<u64>,
    /// The setup; its times are those of `config`.
    pub setup: trace::Setup,
    pub assumptions: Vec<trace::Assumption>,
}

/// Runs `moves` and writes them down as a trace.
///
/// # Errors
/// See [`ConcreteError`].
pub fn concretise<const W: usize>(
    world: &World<W>,
    file: &LockFile,
    config: &Config,
    moves: &Moves<W>,
    heading: Heading,
) -> Result<Trace, ConcreteError> {
    let mut run = Run::start(world, file, config)?;
    let mut before = world.start();
    for (at, (action, after)) in moves.iter().enumerate() {
        let step = Move::decode(*action).ok_or_else(|| mismatch(at, "move", "unknown code"))?;
        let first = run.steps.len();
        run.take(at, step, &before)?;
        run.compare(at, step, after)?;
        let violates = violations(world, &before, *action, after);
        run.finish_move(first, violates);
        before = *after;
    }
    if heading.property == Some(Property::DeadlockFreedom)
        && let Some(last) = run.steps.last_mut()
    {
        last.violates
            .push(Property::DeadlockFreedom.info().id.into());
    }
    Ok(Trace {
        schema: trace::SCHEMA.into(),
        lock: reference(file),
        setup: heading.setup,
        assumptions: heading.assumptions,
        property: heading.property.map(|property| property.info().id.into()),
        seed: heading.seed,
        steps: run.told(),
    })
}

/// A lock file as traces and reports name it.
pub fn reference(file: &LockFile) -> trace::LockRef {
    trace::LockRef {
        name: file.name.clone(),
        path: file.path.clone(),
        sha256: file.sha256.clone(),
    }
}

fn violations<const W: usize>(
    world: &World<W>,
    before: &State<W>,
    action: Action,
    after: &State<W>,
) -> PropertySet {
    let mut found = 0;
    world.successors(before, &mut |transition| {
        if transition.action == action && transition.state == *after {
            found |= transition.violates;
        }
    });
    found
}

fn mismatch(at: usize, what: impl std::fmt::Debug, detail: impl Into<String>) -> ConcreteError {
    ConcreteError::Mismatch {
        at,
        what: format!("{what:?}"),
        detail: detail.into(),
    }
}

/// A message with its real content.
struct Parcel {
    id: u32,
    client: u8,
    thread: u8,
    node: u8,
    awaited: bool,
    /// To or from the node's old server.
    old: bool,
    content: Cargo,
    /// A WAIT that its server holds back: ticks until it gives up.
    blocked: Option<u8>,
}

enum Cargo {
    Request(Vec<Bytes>),
    Reply(Reply),
    Broken,
}

struct Client {
    program: Program,
    crashed: bool,
    /// Ticks paused so far.
    paused: Option<u8>,
    /// Its clock minus true time, in ms.
    offset_ms: i64,
    attempt: u32,
    /// Every token it had, with the generation that the tables give it.
    tokens: Vec<(String, u8)>,
    awaiting: [Option<u16>; THREADS],
}

struct Run<'w, const W: usize> {
    world: &'w World<W>,
    file: &'w LockFile,
    tick_ms: i64,
    horizon_ms: i64,
    scripts: ScriptEngine,
    clients: Vec<Client>,
    nodes: Vec<Keyspace>,
    synced: Vec<Keyspace>,
    replicas: Vec<Replica>,
    /// Old servers that still serve, by node, and the clients that use the new one.
    split: BTreeMap<u8, (Keyspace, Vec<u8>)>,
    /// For how long servers (node, and whether it is the old one) have not heard of
    /// their replica, in the world's coding; only those who have not.
    silence: BTreeMap<(u8, bool), usize>,
    /// Steps before which a node's replica is left behind, or catches up.
    links: Vec<LinkChange>,
    /// For each connection (client, node, thread) how much its node had written at
    /// its last command.
    positions: BTreeMap<(u8, u8, u8), usize>,
    parcels: Vec<Parcel>,
    cut: BTreeMap<(u8, u8), bool>,
    next_id: u32,
    tick: u32,
    steps: Vec<Step>,
}

/// The token of a client's attempt in a concrete run: readable, and unlike any other.
fn token_name(client: u8, attempt: u32) -> String {
    let noise = (u64::from(client) * 1_000_003 + u64::from(attempt))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(23);
    format!("{}{attempt}-{:08x}", symbols::letter(client), noise as u32)
}

impl<'w, const W: usize> Run<'w, W> {
    fn start(
        world: &'w World<W>,
        file: &'w LockFile,
        config: &Config,
    ) -> Result<Self, ConcreteError> {
        let clients = (0..world.config.clients)
            .map(|client| {
                Ok(Client {
                    program: Program::start(
                        file,
                        config,
                        &trace::owner_name(client),
                        trace::EPOCH_MS,
                    )?,
                    crashed: false,
                    paused: None,
                    offset_ms: 0,
                    attempt: 0,
                    tokens: Vec::new(),
                    awaiting: [None; THREADS],
                })
            })
            .collect::<Result<Vec<Client>, LockError>>()?;
        let nodes = vec![Keyspace::default(); usize::from(world.config.nodes)];
        let replica = Replica::behind(&Keyspace::default(), world.config.lag());
        Ok(Run {
            world,
            file,
            tick_ms: world.tables.needs.tick_ms,
            horizon_ms: world.tables.needs.horizon_ms,
            scripts: ScriptEngine::new()?,
            clients,
            synced: nodes.clone(),
            replicas: vec![replica; nodes.len()],
            silence: BTreeMap::new(),
            links: Vec::new(),
            positions: BTreeMap::new(),
            split: BTreeMap::new(),
            nodes,
            parcels: Vec::new(),
            cut: BTreeMap::new(),
            next_id: 1,
            tick: 0,
            steps: Vec::new(),
        })
    }

    fn now(&self) -> i64 {
        trace::EPOCH_MS + i64::from(self.tick) * self.tick_ms
    }
}
