//! From a path through the tables back to real commands, tokens and times.
//!
//! The concrete simulation runs live client programs against formal servers
//! with real tokens and absolute times, in the order that a path says. What a move
//! does say the notes of its rule (`world/log.rs`); there are no rules here. It does
//! two jobs: it writes the [`Trace`] that a real server replays, and it checks
//! the tables, for after every move each live client must be in the class, and
//! each server in the keyspace, that the path claims.

mod clients;
mod compare;
mod events;
mod fences;
mod messages;
mod play;
mod reading;
mod replicas;
mod steps;

use std::collections::BTreeMap;

use lockproof_redis::{Bytes, Reply, ScriptEngine};
use lockproof_trace::{self as trace, Step, Trace};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::lock::{Config, LockError, LockFile, Op, Program};

use super::catalogue::{Property, Safety};
use super::client::Published;
use super::execute::{Executed, Executor};
use super::layout::{Field, State};
use super::message::Message;
use super::moves::Move;
use super::node::Keyspace;
use super::owners::Author;
use super::symbols;
use super::system::Action;
use super::world::World;
use clients::Client;
use replicas::{Connection, LinkChange, Replica};

/// Why a path could not be made concrete.
#[derive(Debug, thiserror::Error)]
pub enum ConcreteError {
    /// The lock file failed.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// No Lua engine for the scripts.
    #[error("failed to start the Lua engine for Redis scripts: {0}")]
    Engine(#[from] lockproof_redis::EngineError),
    /// The tables and the live program part ways: an error of lockproof's own.
    #[error("the tables disagree with the live program at move {at} ({what}): {detail}")]
    Mismatch {
        at: usize,
        what: String,
        detail: String,
    },
    /// The path needs something to happen between two ticks.
    #[error("it needs {what}, between two ticks of the model")]
    BetweenTicks { what: String },
}

/// A path: the moves, each with the state after it.
pub type Moves = [(Action, State)];

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
    /// Where the path goes round, if it does.
    pub endless: Option<Endless>,
}

/// An endless run, of which a path shows a few rounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endless {
    /// Who starves.
    pub client: u8,
    /// What it calls again and again.
    pub op: Op,
    /// The moves with which rounds begin.
    pub rounds: Vec<usize>,
}

/// A path made concrete.
pub struct Concrete {
    pub trace: Trace,
    /// Something ends in the run after a time that is no whole number of ticks: what
    /// the trace shows may be due to that.
    pub rounded: bool,
}

/// Runs `moves` and writes them down as a trace.
///
/// # Errors
/// See [`ConcreteError`].
pub fn concretise(
    world: &World,
    file: &LockFile,
    config: &Config,
    moves: &Moves,
    heading: Heading,
) -> Result<Concrete, ConcreteError> {
    let mut run = ConcreteRun::start(world, file, config, &Texts::readable())?;
    if let Some(endless) = &heading.endless {
        run.rounds.clone_from(&endless.rounds);
    }
    run.follow(moves, heading.property)?;
    if let Some(property @ Property::Branching(_)) = heading.property
        && let Some(last) = run.steps.last_mut()
    {
        last.violates.push(property.info().id.into());
    }
    let rounded = run.rounded;
    let (mut steps, rounds) = run.told();
    let repeats = heading.endless.map(|endless| trace::Repeats {
        client: endless.client,
        op: endless.op.name().into(),
        rounds,
    });
    // The run is not over there; but from there on it is known.
    if let Some(property @ Property::Fair(_)) = heading.property
        && let Some(end) = repeats.as_ref().and_then(trace::Repeats::first_end)
        && let Some(step) = steps.get_mut(end.saturating_sub(1))
    {
        step.violates.push(property.info().id.into());
    }
    let trace = Trace {
        schema: trace::SCHEMA.into(),
        lock: reference(file),
        setup: heading.setup,
        assumptions: heading.assumptions,
        property: heading.property.map(|property| property.info().id.into()),
        seed: heading.seed,
        repeats,
        steps,
    };
    Ok(Concrete { trace, rounded })
}

/// Runs `moves` with random tokens, owners and start times, and compares every
/// state with what the path claims.
///
/// # Errors
/// See [`ConcreteError`].
pub fn verify(
    world: &World,
    file: &LockFile,
    config: &Config,
    moves: &Moves,
    seed: u64,
) -> Result<(), ConcreteError> {
    let texts = Texts::random(seed, world.config.clients);
    ConcreteRun::start(world, file, config, &texts)?.follow(moves, None)
}

/// A lock file as traces and reports name it.
pub fn reference(file: &LockFile) -> trace::LockRef {
    trace::LockRef {
        name: file.name.clone(),
        path: file.path.clone(),
        sha256: file.sha256.clone(),
    }
}

fn mismatch(at: usize, what: impl std::fmt::Debug, detail: impl Into<String>) -> ConcreteError {
    ConcreteError::Mismatch {
        at,
        what: format!("{what:?}"),
        detail: detail.into(),
    }
}

/// How a run makes up what its texts and times are.
struct Texts {
    /// The clock at tick 0, in ms since 1970.
    epoch_ms: i64,
    owners: Vec<String>,
    /// Random tokens.
    random: Option<ChaCha8Rng>,
}

/// Letters of tokens and owners.
const ALPHABET: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

impl Texts {
    /// Those of a trace, which somebody is to read.
    fn readable() -> Texts {
        Texts {
            epoch_ms: trace::EPOCH_MS,
            owners: (0..u8::MAX).map(trace::owner_name).collect(),
            random: None,
        }
    }

    /// Any texts, at any time of the years in which time stamps have 13 digits.
    fn random(seed: u64, clients: u8) -> Texts {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let epoch_ms = random.random_range(1_000_000_000_000..9_000_000_000_000i64);
        let owners = (0..clients).map(|_| word(&mut random)).collect();
        Texts {
            epoch_ms,
            owners,
            random: Some(random),
        }
    }
}

/// A random word, long enough to be unlike any other.
fn word(random: &mut ChaCha8Rng) -> String {
    let length = random.random_range(12..40usize);
    let letter = |_| char::from(ALPHABET[random.random_range(0..ALPHABET.len())]);
    (0..length).map(letter).collect()
}

/// A message with its real content.
struct Parcel {
    id: u32,
    client: usize,
    /// What it is to the path.
    message: Message,
    cargo: Cargo,
    /// Published messages like it behind it, which are one with it to the path.
    like: Vec<u32>,
}

enum Cargo {
    Request(Vec<Bytes>),
    Reply(Reply),
    /// Its connection broke, before or after its server took it.
    Broken {
        taken: bool,
    },
    /// No connection was made.
    Refused,
    Published(Published),
}

struct ConcreteRun<'w> {
    world: &'w World,
    file: &'w LockFile,
    config: &'w Config,
    /// What one tick adds to every clock, in ms.
    tick_ms: i64,
    epoch_ms: i64,
    /// Where random tokens come from.
    random: Option<ChaCha8Rng>,
    scripts: ScriptEngine,
    clients: Vec<Client>,
    /// Real contents of servers, disks and replicas, by the field that numbers them;
    /// where none is, it is `empty`.
    servers: BTreeMap<Field, Keyspace>,
    empty: Keyspace,
    /// What the executed command leaves, until it is stored.
    result: Option<Keyspace>,
    /// In the order in which they were sent.
    parcels: Vec<Parcel>,
    /// The message that the path deals with.
    hand: Option<Parcel>,
    replicas: Vec<Replica>,
    /// Steps before which a node's replica is left behind, or catches up.
    links: Vec<LinkChange>,
    /// For each connection how much its node had written at its last command.
    positions: BTreeMap<Connection, usize>,
    next_id: u32,
    tick: u32,
    /// The move that is carried out: its number, and the states around it.
    at: usize,
    before: State,
    after: State,
    steps: Vec<Step>,
    /// The moves with which rounds begin, and then the steps.
    rounds: Vec<usize>,
    starts: Vec<usize>,
    rounded: bool,
    /// The value of the fence of each rank, as far as it is known.
    fences: Vec<Option<i64>>,
}

/// More open comparisons in a row than these are not followed at the end of a path.
const OPEN_MAX: usize = 64;

/// More refusals than these are not followed at the end of a path.
const REFUSALS_MAX: usize = 16;

/// The token of a client's attempt in a concrete run: readable, and unlike any other.
fn token_name(client: u8, attempt: u32) -> String {
    let noise = (u64::from(client) * 1_000_003 + u64::from(attempt))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(23);
    format!("{}{attempt}-{:08x}", symbols::letter(client), noise as u32)
}

/// What the program of a client gets: each lock object has its own key.
fn config_of(world: &World, config: &Config, client: u8) -> Config {
    let key = match world.config.objects {
        Some(objects) => objects.key(client, &config.key),
        None => config.key.clone(),
    };
    Config {
        key,
        ..config.clone()
    }
}

impl<'w> ConcreteRun<'w> {
    fn start(
        world: &'w World,
        file: &'w LockFile,
        config: &'w Config,
        texts: &Texts,
    ) -> Result<Self, ConcreteError> {
        let clients = (0..world.config.clients)
            .map(|client| {
                let owner = world.config.owner_of(usize::from(client));
                let owner = texts.owners[usize::from(owner)].clone();
                let config = config_of(world, config, client);
                let mut program = Program::start(file, &config, &owner, texts.epoch_ms)?;
                program.set_caller(client);
                Ok(Client::new(program, owner))
            })
            .collect::<Result<Vec<Client>, LockError>>()?;
        Ok(ConcreteRun {
            world,
            file,
            config,
            tick_ms: world.tables.needs.step_ms,
            epoch_ms: texts.epoch_ms,
            random: texts.random.clone(),
            scripts: ScriptEngine::new()?,
            clients,
            servers: BTreeMap::new(),
            empty: Keyspace::default(),
            result: None,
            parcels: Vec::new(),
            hand: None,
            replicas: vec![Replica::default(); usize::from(world.config.nodes)],
            links: Vec::new(),
            positions: BTreeMap::new(),
            next_id: 1,
            tick: 0,
            at: 0,
            before: world.start(),
            after: world.start(),
            steps: Vec::new(),
            rounds: Vec::new(),
            starts: Vec::new(),
            rounded: false,
            fences: vec![None; usize::from(super::fences::KEEPING)],
        })
    }

    /// Takes the moves one after the other, and compares.
    fn follow(&mut self, moves: &Moves, property: Option<Property>) -> Result<(), ConcreteError> {
        for (at, (action, after)) in moves.iter().enumerate() {
            self.carry_out(at, *action, after)?;
        }
        // Who was refused hears of it, whether a path goes on or not.
        for at in moves.len()..moves.len() + REFUSALS_MAX {
            let Some((action, after)) = self.world.first_refusal(&self.before) else {
                break;
            };
            self.carry_out(at, action, &after)?;
        }
        // An assertion may stand before a comparison that is open, and its client goes on.
        let asserts = property == Some(Property::Safety(Safety::Assertion));
        for at in moves.len()..moves.len() + OPEN_MAX {
            let rest = asserts.then(|| self.world.rest_at_ticks(&self.before));
            let Some((action, after)) = rest.flatten() else {
                break;
            };
            self.carry_out(at, action, &after)?;
        }
        if property.is_some_and(Property::asks_for_validity) {
            self.compare_validity(&self.before)?;
        }
        Ok(())
    }

    /// One move.
    fn carry_out(&mut self, at: usize, action: Action, after: &State) -> Result<(), ConcreteError> {
        let step = Move::decode(action).ok_or_else(|| mismatch(at, "move", "unknown code"))?;
        self.at = at;
        self.after = *after;
        let told = self.world.follow(&self.before, action, after);
        let (violates, notes) =
            told.ok_or_else(|| mismatch(at, step, "the rules have no such move"))?;
        let first = self.steps.len();
        if self.rounds.contains(&at) {
            self.starts.push(first);
        }
        self.announce(at, step)?;
        for note in notes {
            self.play(note)?;
        }
        self.announce_pause(step);
        self.hand = None;
        self.compare(step)?;
        self.finish_move(first, violates);
        self.before = *after;
        Ok(())
    }

    fn now(&self) -> i64 {
        self.epoch_ms + i64::from(self.tick) * self.tick_ms
    }

    /// What a formal server makes of a command now, in a world in which it lacks a replica
    /// that it asks for, or not, and so many listen to it.
    fn executed(
        &mut self,
        keyspace: &Keyspace,
        author: Author,
        argv: &[Bytes],
        world: (bool, u32),
    ) -> Executed {
        let present = self.now();
        let mut executor = Executor {
            scripts: &mut self.scripts,
            rules: &self.world.tables.closure.rules,
            scale: None,
            present,
        };
        executor.execute(keyspace, author, argv, world)
    }

    /// A new attempt's token.
    fn fresh_token(&mut self, client: usize) -> String {
        let state = &mut self.clients[client];
        state.attempt += 1;
        match &mut self.random {
            Some(random) => word(random),
            None => token_name(client as u8, state.attempt),
        }
    }
}
