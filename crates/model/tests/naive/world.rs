//! The state of a naive world: live programs, formal servers, real texts and times.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use lockproof_model::lock::{Config, LockError, LockFile, Program, ServerKind, View};
use lockproof_model::world::catalogue::{Fault, Switch};
use lockproof_redis::{Bytes, Dialect, Reply, Server};
use lockproof_trace as trace;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::owners::Owners;

/// What does not change in a world.
#[derive(Clone)]
pub struct Setup {
    pub file: LockFile,
    pub config: Config,
    pub clients: usize,
    /// The lease in ticks.
    pub ttl_ticks: i64,
    /// What a tick adds to every clock.
    pub step_ms: i64,
    pub switches: Vec<Switch>,
    pub texts: Texts,
    /// Somebody polls without a pause: time may pass over messages and ready threads.
    pub spins: bool,
    /// Most attempts of one client.
    pub attempts_max: u32,
    /// Servers come back, and links heal.
    pub repairs: bool,
}

impl Setup {
    /// It may name scripts by their SHA-1: then it matters which of them servers know.
    pub fn names_scripts(&self) -> bool {
        let text = self.file.text.to_lowercase();
        text.contains("evalsha") || text.contains("exists") && text.contains("script")
    }

    fn dialect(&self) -> Dialect {
        match self.file.server {
            ServerKind::Any => Dialect::default(),
            ServerKind::Valkey => Dialect::Valkey9,
        }
    }

    /// Budget and size of a fault.
    pub fn switch(&self, fault: Fault) -> (u8, u8) {
        let found = self.switches.iter().find(|switch| switch.fault == fault);
        found.map_or((0, 0), |switch| (switch.budget, switch.size))
    }

    /// The owner id of a client: A and B may have one.
    pub fn owner(&self, client: usize) -> String {
        if self.file.objects.two {
            return self.texts.owner(client - client % 2);
        }
        let one = self.switch(Fault::SharedOwner).0 > 0 || self.file.callers.owner;
        let shared = one && client == 1;
        self.texts.owner(if shared { 0 } else { client })
    }

    pub fn nodes(&self) -> usize {
        usize::from(self.config.nodes)
    }

    pub fn quorum(&self) -> usize {
        self.nodes() / 2 + 1
    }
}

/// Where texts and times come from.
#[derive(Clone)]
pub enum Texts {
    /// Those of traces; tokens are given by whoever follows one.
    Readable,
    /// Any, by a seed.
    Random { seed: u64, epoch_ms: i64 },
}

const ALPHABET: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

impl Texts {
    pub fn random(seed: u64) -> Texts {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let epoch_ms = random.random_range(1_000_000_000_000..9_000_000_000_000i64);
        Texts::Random { seed, epoch_ms }
    }

    pub fn epoch_ms(&self) -> i64 {
        match self {
            Texts::Readable => trace::EPOCH_MS,
            Texts::Random { epoch_ms, .. } => *epoch_ms,
        }
    }

    fn owner(&self, client: usize) -> String {
        match self {
            Texts::Readable => trace::owner_name(client as u8),
            Texts::Random { seed, .. } => word(*seed, client as u64 + 1, u64::MAX),
        }
    }

    pub fn token(&self, client: usize, attempt: u32) -> String {
        match self {
            Texts::Readable => format!("token-{client}-{attempt}"),
            Texts::Random { seed, .. } => word(*seed, client as u64 + 1, u64::from(attempt)),
        }
    }
}

/// A word of 12 to 39 letters, always the same one.
fn word(seed: u64, who: u64, which: u64) -> String {
    let mut random = ChaCha8Rng::seed_from_u64(seed ^ who.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    random.set_stream(which);
    let length = random.random_range(12..40usize);
    let letter = |_| char::from(ALPHABET[random.random_range(0..ALPHABET.len())]);
    (0..length).map(letter).collect()
}

/// A request on its way to a server, or what comes back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cargo {
    Request(Vec<Bytes>),
    Reply(Reply),
    Broken,
    /// No connection was made.
    Refused,
    /// Channel and text.
    Published((Bytes, Bytes)),
}

/// What of a channel reaches a client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ear {
    #[default]
    Nothing,
    Hears(Bytes),
    /// The server sends it, and nothing arrives.
    Deaf(Bytes),
}

#[derive(Clone, Debug)]
pub struct Message {
    /// Only a name; equal messages with different names are equal.
    pub id: u32,
    pub client: usize,
    pub thread: u8,
    pub node: usize,
    pub awaited: bool,
    /// Ticks that it may still stay in flight.
    pub allowance: u8,
    /// Its sender was paused before it had sent it.
    pub held: bool,
    /// A release or a background thread sent it.
    pub gives: bool,
    /// Its sender is a reader, or on the way there or back.
    pub reads: bool,
    /// It is part of the release of a last hold.
    pub leaves: bool,
    /// It goes, or comes, on a subscription.
    pub listens: bool,
    /// A renewal sent it, or a question whether the lock is held.
    pub holders: bool,
    /// Which of its thread's connections it is on.
    pub generation: u32,
    /// It asks its server to watch, or to watch no more.
    pub asks: Option<bool>,
    /// Its client's library has not sent it.
    pub withheld: bool,
    pub cargo: Arc<Cargo>,
}

impl Message {
    pub fn is_request(&self) -> bool {
        matches!(*self.cargo, Cargo::Request(_))
    }

    /// It comes on a subscription, behind what came before.
    pub fn comes(&self) -> bool {
        self.listens && !self.is_request()
    }

    fn print(&self, place: usize) -> u128 {
        print(&(
            (self.client, self.thread, self.node, self.awaited),
            (self.allowance, self.held, self.gives, &self.cargo),
            (self.reads, self.leaves, self.listens, self.holders, place),
            (self.generation, self.asks, self.withheld),
        ))
    }
}

/// What the world knows of a client besides its program. Times are ticks of the
/// client's own clock, but for `idle_since`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Ghost {
    pub crashed: bool,
    /// For so many ticks by now.
    pub paused: Option<i64>,
    pub offset_ms: i64,
    /// What its own clock counts.
    pub ticks: i64,
    pub attempt: u32,
    /// World time at which its last operation ended, or it died.
    pub idle_since: i64,
    /// Its work outlasts the lease.
    pub overrun: bool,
    /// The guarded counter as it read it when it acquired; `None` once it has written.
    pub read: Option<u32>,
    /// The fence that it was given then.
    pub fence: Option<i64>,
    /// Nodes on which the running operation took effect.
    pub effective: u8,
    /// When the running attempt of an acquire sent its first command.
    pub sent: Option<i64>,
    /// When it sent its last one, if nothing else was on its way then.
    pub asked: Option<i64>,
    /// From when the lease of the hold counts.
    pub leased: Option<i64>,
    /// A fault struck the running nested acquire.
    pub hampered: bool,
    /// A tick passed over it though it could have acted.
    pub late: bool,
    /// Nodes on which the lock stood at some moment since it asks whether it holds it.
    pub stood: u8,
    /// Nodes on which the lock is what operations of this hold wrote, and was never gone.
    pub mine: u8,
    /// What it is told of a loss.
    pub telling: crate::telling::Telling,
}

#[derive(Clone)]
pub struct Client {
    pub program: Program,
    pub ghost: Ghost,
    /// By thread: the node of a command about a subscription that it waits for.
    pub asking: std::collections::BTreeMap<u8, usize>,
    pub links: crate::transactions::Links,
    print: u128,
}

impl Client {
    pub fn new(program: Program) -> Client {
        let mut client = Client {
            program,
            ghost: Ghost::default(),
            asking: Default::default(),
            links: Default::default(),
            print: 0,
        };
        client.seal();
        client
    }

    /// To be called after every change.
    pub fn seal(&mut self) {
        let key = if self.ghost.crashed {
            Vec::new()
        } else {
            self.program.key()
        };
        self.print = print(&(key, &self.ghost, &self.asking, &self.links.open));
    }

    /// A thread of its waits for the answer to a command about a subscription at a node.
    pub fn asks(&self, node: usize) -> bool {
        self.asking.values().any(|asked| *asked == node)
    }

    pub fn runs(&self) -> bool {
        !self.ghost.crashed && self.ghost.paused.is_none()
    }

    /// What can be seen of it now; the clock of a paused one has gone on.
    pub fn view(&self, setup: &Setup) -> Result<View, LockError> {
        match self.ghost.paused {
            Some(ticks) if ticks > 0 => {
                let mut program = self.program.clone();
                program.step(&lockproof_model::lock::Input::Advance {
                    ms: ticks * setup.step_ms,
                })?;
                Ok(program.view())
            }
            _ => Ok(self.program.view()),
        }
    }
}

/// What a server holds, and who wrote what of it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Store {
    pub server: Server,
    pub owners: Owners,
}

#[derive(Clone)]
pub struct Node {
    pub store: Store,
    /// What it held before its last write, its last two, ..: its replica's.
    pub behind: Vec<Store>,
    pub promoted: bool,
    /// Its server is gone for so many ticks by now.
    pub down: Option<i64>,
    print: u128,
}

impl Node {
    pub fn new(setup: &Setup) -> Node {
        let store = Store {
            server: Server::new(setup.texts.epoch_ms()).with_dialect(setup.dialect()),
            owners: Owners::default(),
        };
        let (budget, writes) = setup.switch(Fault::Failover);
        let writes = if budget > 0 { usize::from(writes) } else { 0 };
        let mut node = Node {
            behind: vec![store.clone(); writes],
            store,
            promoted: false,
            down: None,
            print: 0,
        };
        node.seal();
        node
    }

    /// To be called after every change.
    pub fn seal(&mut self) {
        self.print = print(&(&self.store, &self.behind, self.promoted, self.down));
    }
}

/// What a link swallows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cut {
    Open,
    Both,
    Requests,
    Replies,
}

impl Cut {
    pub fn swallows(self, request: bool) -> bool {
        match self {
            Cut::Open => false,
            Cut::Both => true,
            Cut::Requests => request,
            Cut::Replies => !request,
        }
    }
}

#[derive(Clone)]
pub struct State {
    pub tick: i64,
    pub clients: Vec<Arc<Client>>,
    pub nodes: Vec<Arc<Node>>,
    pub messages: Vec<Message>,
    /// By client and node.
    pub cut: Vec<Cut>,
    /// What is left of each switch's budget, in the order of the setup.
    pub budget: Vec<u8>,
    /// The guarded counter.
    pub counter: u32,
    /// The highest fence that it has seen, and who got the lock with one last.
    pub fences: (Option<i64>, Option<usize>),
    pub next_id: u32,
    /// By client and node: what it listens to.
    pub ears: Vec<Ear>,
    /// A command has taken the lock away from the first node, and none has brought it back.
    pub freed: bool,
}

impl State {
    pub fn start(setup: &Setup) -> Result<State, LockError> {
        let epoch_ms = setup.texts.epoch_ms();
        let clients = (0..setup.clients).map(|client| {
            let owner = setup.owner(client);
            let config = crate::objects::config(setup, client);
            let mut program = Program::start(&setup.file, &config, &owner, epoch_ms)?;
            program.set_caller(client as u8);
            Ok(Arc::new(Client::new(program)))
        });
        Ok(State {
            tick: 0,
            clients: clients.collect::<Result<_, LockError>>()?,
            nodes: (0..setup.nodes())
                .map(|_| Arc::new(Node::new(setup)))
                .collect(),
            messages: Vec::new(),
            cut: vec![Cut::Open; setup.clients * setup.nodes()],
            budget: setup.switches.iter().map(|switch| switch.budget).collect(),
            counter: 0,
            fences: (None, None),
            next_id: 1,
            ears: vec![Ear::Nothing; setup.clients * setup.nodes()],
            freed: false,
        })
    }

    /// Equal states have equal prints, and different ones different ones, but for one
    /// case in 2^128.
    pub fn print(&self) -> u128 {
        let clients: Vec<u128> = self.clients.iter().map(|client| client.print).collect();
        let nodes: Vec<u128> = self.nodes.iter().map(|node| node.print).collect();
        let place = |at: usize| {
            let one = &self.messages[at];
            let same = |m: &&Message| (m.client, m.node) == (one.client, one.node) && m.comes();
            match one.comes() {
                true => self.messages[..=at].iter().filter(same).count(),
                false => 0,
            }
        };
        let messages = self.messages.iter().enumerate();
        let mut messages: Vec<u128> = messages.map(|(at, one)| one.print(place(at))).collect();
        messages.sort_unstable();
        let rest = (&self.cut, &self.budget, self.counter, self.tick);
        let rest = (rest, &self.ears, self.freed, self.fences);
        print(&(clients, nodes, messages, rest))
    }

    pub fn left(&self, setup: &Setup, fault: Fault) -> u8 {
        let at = setup.switches.iter().position(|one| one.fault == fault);
        at.map_or(0, |at| self.budget[at])
    }

    pub fn spend(&mut self, setup: &Setup, fault: Fault) {
        let at = setup.switches.iter().position(|one| one.fault == fault);
        if let Some(at) = at {
            self.budget[at] -= 1;
        }
    }

    pub fn message(&self, id: u32) -> Option<usize> {
        self.messages.iter().position(|message| message.id == id)
    }

    /// Changes a client.
    pub fn client_mut(&mut self, client: usize) -> &mut Client {
        Arc::make_mut(&mut self.clients[client])
    }

    /// Changes what only the world knows of a client.
    pub fn ghost(&mut self, client: usize, change: impl FnOnce(&mut Ghost)) {
        let client = self.client_mut(client);
        change(&mut client.ghost);
        client.seal();
    }

    pub fn believes(&self, client: usize) -> bool {
        let client = &self.clients[client];
        !client.ghost.crashed && client.program.view().holds > 0
    }
}

fn print(value: &impl Hash) -> u128 {
    let half = |salt: u64| {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        value.hash(&mut hasher);
        hasher.finish()
    };
    u128::from(half(1)) << 64 | u128::from(half(2))
}
