//! The world of one check: sizes, switches, and where everything stands in a
//! state.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::catalogue::{FAULTS, Fault, Switch};
use super::client::{Facade, THREADS};
use super::closure::Execution;
use super::layout::{Field, Packer, State};
use super::message::{Content, Message, MessageLayout};
use super::rules::Frees;
use super::tables::{Facts, NONE, Tables};

/// Most clients and nodes of a world.
pub const CLIENTS_MAX: usize = 4;
/// See [`CLIENTS_MAX`].
pub const NODES_MAX: usize = 7;
/// Most messages in flight that one client can have.
pub const SLOTS: usize = 8;
/// Most writes that a replica can lag behind its primary.
pub const LAG_MAX: usize = 4;
/// How a replica takes its node's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promotion {
    /// The server is dead.
    Failover,
    /// It goes on for those who have not noticed.
    SplitBrain,
    /// It is cut off from everybody.
    CutOff,
}

impl Promotion {
    pub const ALL: [Promotion; 3] = [
        Promotion::Failover,
        Promotion::SplitBrain,
        Promotion::CutOff,
    ];

    /// The fault in which it does.
    pub fn fault(self) -> Fault {
        match self {
            Promotion::Failover => Fault::Failover,
            Promotion::SplitBrain => Fault::SplitBrain,
            Promotion::CutOff => Fault::CutOff,
        }
    }
}

/// Sizes and switches of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldConfig {
    pub clients: u8,
    pub nodes: u8,
    /// The lease in ticks.
    pub ttl_ticks: u8,
    /// The lock can be acquired again by its holder.
    pub reentrant: bool,
    /// The fault switches that are on.
    pub switches: Vec<Switch>,
    /// Faults of these that strike in this order: none before the one that
    /// stands before it has struck. The others strike at any time.
    pub order: Vec<Fault>,
    /// Everything happens at ticks: comparisons of times that depend on what happens
    /// between two go one way.
    pub at_ticks: bool,
}

impl WorldConfig {
    /// Budget and size of a fault; zero if its switch is off.
    pub fn switch(&self, fault: Fault) -> (u8, u8) {
        self.switches
            .iter()
            .find(|switch| switch.fault == fault)
            .map_or((0, 0), |switch| (switch.budget, switch.size))
    }

    /// Messages in flight that one client can have. While a server stands
    /// still, a client that tries again and again leaves a request behind each
    /// time; otherwise few are ever in flight at once.
    pub fn slots(&self) -> usize {
        let (pauses, _) = self.switch(Fault::NodePause);
        if pauses > 0 { SLOTS } else { 3 }
    }

    /// Writes that a replica may lag behind; 0 if no node has a replica. A silent
    /// one lags, whether it is ever promoted or not: WAIT can tell.
    pub fn lag(&self) -> usize {
        let lags = Promotion::ALL.map(|promotion| self.switch(promotion.fault()).1);
        usize::from(
            lags.into_iter()
                .fold(self.asks_for_replicas().into(), u8::max),
        )
    }

    /// A promotion can leave the old server in service.
    pub fn splits(&self) -> bool {
        self.switch(Fault::SplitBrain).0 > 0
    }

    /// Servers ask for a replica to write (`min-replicas-to-write 1`).
    pub fn asks_for_replicas(&self) -> bool {
        self.switch(Fault::MinReplicas).0 > 0
    }

    /// The value of `silent` at which a replica counts as gone.
    pub(super) fn gone(&self) -> usize {
        let (budget, ticks) = self.switch(Fault::MinReplicas);
        if budget > 0 {
            2 + usize::from(ticks)
        } else {
            0
        }
    }

    /// Most of the nodes.
    pub fn quorum(&self) -> u8 {
        self.nodes / 2 + 1
    }
}

/// Fields of one client.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientFields {
    /// Class of its automaton.
    pub local: Field,
    /// 0 up, 1 crashed, 2 + k paused for k ticks so far.
    pub status: Field,
    /// Index of its clock offset.
    pub skew: Field,
    /// 0: holds and read the counter's present value (or does not hold),
    /// 1: somebody has written since, 2: has written itself.
    pub effect: Field,
    /// Nodes (bit set) on which the running operation took effect; all, once
    /// they are a quorum.
    pub effective: Field,
    /// Ticks since its last operation ended, while something of it is left.
    pub grace: Field,
    /// Its work outlasts the lease.
    pub overrun: Field,
    /// 0: no lease is counted; 1 + k: k ticks of its own clock since it sent what
    /// got (or may get) it the lock, up to the lease. Only if some lock's hold ends
    /// with the lease.
    pub lease: Field,
    /// The same of a nested acquire that runs.
    pub nested: Field,
    /// The same from when an acquire that runs sent its last command, on one server.
    pub asked: Field,
    /// The running nested acquire met a fault.
    pub hampered: Field,
    /// A tick has passed since its last step, though it could have gone on.
    pub late: Field,
    /// Messages in flight, the least first; the world uses the first few.
    slots: [Field; SLOTS],
}

/// Fields of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFields {
    /// Its keyspace.
    pub keyspace: Field,
    /// 0 up, 1 + k paused for k ticks so far.
    pub pause: Field,
    /// The keyspace on its disk (everysec only).
    pub synced: Field,
    /// The disk lags since before the last tick.
    pub lagging: Field,
    /// Its keyspace before its last write, before the last two, ..: what its
    /// replica may hold. All 0 once there is no replica any more.
    pub history: [Field; LAG_MAX],
    /// 1: its replica has taken its place, and nothing stands behind that one;
    /// 2: so it has, but the old server still serves those who have not noticed.
    pub promoted: Field,
    /// The keyspace of that old server; otherwise 0.
    pub old: Field,
    /// 0: its replica, if it has one, is in touch; 1 + k: it has been silent for k
    /// ticks; one more than ticks can be: it counts as gone, and the node's server
    /// refuses writes. Only if servers ask for replicas.
    pub silent: Field,
    /// The same of the old server, whose replica has left it; otherwise 0.
    pub old_silent: Field,
    /// Last writes that the replica may lack, if the lock sends WAIT: those
    /// since the last one that it is known to have.
    pub unacknowledged: Field,
}

/// The world as a transition system over states of `W` words.
pub struct World<const W: usize> {
    pub config: WorldConfig,
    pub tables: Arc<Tables>,
    pub(super) clients: Vec<ClientFields>,
    pub(super) nodes: Vec<NodeFields>,
    /// `cut[client * nodes + node]`.
    pub(super) cut: Vec<Field>,
    /// `moved[client * nodes + node]`: while the node's old server is still
    /// there, the client uses the new one.
    moved: Vec<Field>,
    /// `since[(client * nodes + node) * THREADS + thread]`: writes of the node
    /// since the last command on that thread's connection, as far as a replica can
    /// lag. That is what WAIT waits for. Only if the lock sends WAIT.
    pub(super) since: Vec<Field>,
    /// By the same index: 1 if the last command wrote nothing, and others had written
    /// since the one before.
    pub(super) unsure: Vec<Field>,
    /// Budget left, by fault.
    pub(super) budget: [Field; FAULTS.len()],
    /// How many faults of the order have struck.
    pub(super) struck: Field,
    /// How many must have before each fault.
    pub(super) place: [u8; FAULTS.len()],
    pub(super) messages: MessageLayout,
    /// Class of a client that has done nothing yet.
    pub(super) fresh: u16,
    /// Index of the clock offset 0.
    pub(super) no_skew: u8,
    slots_used: usize,
    /// Writes that a replica may lag behind.
    lag: usize,
    bits: usize,
    /// What a search came upon.
    pub reached: Reached,
    /// Leaves out what only faults and other properties than release-frees ask for.
    pub(super) acquiring: State<W>,
    /// What is known of what releases left, by client and state.
    pub(super) frees: Mutex<Frees<W>>,
}

/// What of the tables a search came upon, whatever the order of its work.
#[derive(Debug, Default)]
pub struct Reached {
    poisons: Vec<AtomicBool>,
    rounded: AtomicBool,
    acquired: AtomicBool,
    released: AtomicBool,
    commands: Vec<AtomicBool>,
}

impl Reached {
    fn new(poisons: usize, commands: usize) -> Reached {
        let flags = |count: usize| (0..count).map(|_| AtomicBool::new(false)).collect();
        Reached {
            poisons: flags(poisons),
            rounded: AtomicBool::new(false),
            acquired: AtomicBool::new(false),
            released: AtomicBool::new(false),
            commands: flags(commands),
        }
    }

    /// The poison with this number (from 1).
    pub(super) fn poison(&self, number: u16) {
        if let Some(flag) = self.poisons.get(usize::from(number) - 1) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    pub(super) fn round(&self) {
        raise(&self.rounded);
    }

    pub(super) fn acquire(&self) {
        raise(&self.acquired);
    }

    pub(super) fn release(&self) {
        raise(&self.released);
    }

    pub(super) fn command(&self, id: u16) {
        raise(&self.commands[usize::from(id)]);
    }

    /// Some acquire succeeded.
    pub fn acquired(&self) -> bool {
        self.acquired.load(Ordering::Relaxed)
    }

    /// Some release succeeded.
    pub fn released(&self) -> bool {
        self.released.load(Ordering::Relaxed)
    }

    /// Commands that a server executed, by the closure's numbers.
    pub fn commands(&self) -> impl Iterator<Item = u16> {
        let all = self.commands.iter().enumerate();
        all.filter(|(_, flag)| flag.load(Ordering::Relaxed))
            .map(|(at, _)| at as u16)
    }

    /// Numbers, from 0, of the closure's poisons.
    pub fn poisons(&self) -> impl Iterator<Item = usize> {
        let all = self.poisons.iter().enumerate();
        all.filter(|(_, flag)| flag.load(Ordering::Relaxed))
            .map(|(at, _)| at)
    }

    /// Something ended after a time that is no whole number of ticks.
    pub fn rounded(&self) -> bool {
        self.rounded.load(Ordering::Relaxed)
    }
}

/// Threads that all write the same flag again and again would wait for each other.
fn raise(flag: &AtomicBool) {
    if !flag.load(Ordering::Relaxed) {
        flag.store(true, Ordering::Relaxed);
    }
}

/// Why a world could not be built.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The state does not fit the largest representation.
    #[error(
        "a state of this world takes {bits} bits, more than {most}; use fewer clients, nodes or faults"
    )]
    TooWide { bits: usize, most: usize },
}

/// Where everything stands, before the width is known.
pub struct Plan {
    config: WorldConfig,
    tables: Arc<Tables>,
    packer: Packer,
    clients: Vec<ClientFields>,
    nodes: Vec<NodeFields>,
    cut: Vec<Field>,
    moved: Vec<Field>,
    since: Vec<Field>,
    unsure: Vec<Field>,
    budget: [Field; FAULTS.len()],
    struck: Field,
    messages: MessageLayout,
}

impl Plan {
    /// Lays out the states of a world.
    pub fn new(config: WorldConfig, tables: Arc<Tables>) -> Plan {
        let mut packer = Packer::default();
        let (_, delay) = config.switch(Fault::Delay);
        let messages = MessageLayout::new(
            tables.closure.commands.len(),
            tables.closure.replies.len(),
            config.nodes,
            delay,
            config.splits(),
            tables.waits(),
            config.switch(Fault::ClientPause).0 > 0,
        );
        let clients = (0..config.clients)
            .map(|_| client_fields(&config, &tables, &messages, &mut packer))
            .collect();
        let nodes = (0..config.nodes)
            .map(|_| node_fields(&config, &tables, &mut packer))
            .collect();
        let links = usize::from(config.clients) * usize::from(config.nodes);
        let (partitions, _) = config.switch(Fault::Partition);
        let cut = (0..links)
            .map(|_| packer.field(usize::from(partitions.min(1))))
            .collect();
        let moved = (0..links)
            .map(|_| packer.field(usize::from(config.splits())))
            .collect();
        let positions = if tables.waits() { links * THREADS } else { 0 };
        let since = (0..positions).map(|_| packer.field(config.lag())).collect();
        let unsure = (0..positions).map(|_| packer.field(1)).collect();
        let mut budget = [Field::NOTHING; FAULTS.len()];
        for switch in &config.switches {
            budget[switch.fault as usize] = packer.field(usize::from(switch.budget));
        }
        let struck = packer.field(config.order.len());
        Plan {
            config,
            tables,
            packer,
            clients,
            nodes,
            cut,
            moved,
            since,
            unsure,
            budget,
            struck,
            messages,
        }
    }

    /// Words that a state takes.
    pub fn words(&self) -> usize {
        self.packer.words()
    }

    /// The world over states of `W` words.
    ///
    /// # Errors
    /// If a state does not fit.
    pub fn build<const W: usize>(self) -> Result<World<W>, WorldError> {
        let bits = self.packer.bits();
        if self.packer.words() > W {
            return Err(WorldError::TooWide { bits, most: W * 64 });
        }
        let mut place = [0; FAULTS.len()];
        for (at, fault) in self.config.order.iter().enumerate() {
            place[*fault as usize] = at as u8;
        }
        let no_skew = self.tables.needs.skews.iter().position(|skew| *skew == 0);
        let ghosts = self.clients.iter().flat_map(|client| {
            [
                client.effect,
                client.effective,
                client.grace,
                client.hampered,
            ]
        });
        let faults = self.budget.iter().copied().chain([self.struck]);
        let acquiring = State::mask_without(ghosts.chain(faults));
        Ok(World {
            acquiring,
            slots_used: self.config.slots(),
            lag: self.config.lag(),
            fresh: self.tables.class_of[0],
            reached: Reached::new(
                self.tables.closure.poisons.len(),
                self.tables.closure.commands.len(),
            ),
            frees: Mutex::default(),
            no_skew: no_skew.map_or(0, |index| index as u8),
            config: self.config,
            tables: self.tables,
            clients: self.clients,
            nodes: self.nodes,
            cut: self.cut,
            moved: self.moved,
            since: self.since,
            unsure: self.unsure,
            budget: self.budget,
            struck: self.struck,
            place,
            messages: self.messages,
            bits,
        })
    }
}

fn client_fields(
    config: &WorldConfig,
    tables: &Tables,
    messages: &MessageLayout,
    packer: &mut Packer,
) -> ClientFields {
    let (crashes, _) = config.switch(Fault::ClientCrash);
    let (pauses, pause) = config.switch(Fault::ClientPause);
    let (overruns, _) = config.switch(Fault::Overrun);
    let lease = if tables.counts_leases {
        1 + usize::from(config.ttl_ticks)
    } else {
        0
    };
    let status = if pauses > 0 {
        2 + usize::from(pause)
    } else {
        usize::from(crashes.min(1))
    };
    ClientFields {
        local: packer.field(tables.facts.len() - 1),
        status: packer.field(status),
        skew: packer.field(tables.needs.skews.len() - 1),
        effect: packer.field(2),
        effective: packer.field((1 << config.nodes) - 1),
        grace: packer.field(tables.needs.grace()),
        overrun: packer.field(usize::from(overruns.min(1))),
        lease: packer.field(lease),
        nested: packer.field(if config.reentrant { lease } else { 0 }),
        asked: packer.field(if config.nodes == 1 { lease } else { 0 }),
        hampered: packer.field(usize::from(config.reentrant)),
        late: packer.field(usize::from(tables.spins)),
        slots: std::array::from_fn(|slot| {
            if slot < config.slots() {
                packer.field(messages.most())
            } else {
                Field::NOTHING
            }
        }),
    }
}

fn node_fields(config: &WorldConfig, tables: &Tables, packer: &mut Packer) -> NodeFields {
    let (pauses, pause) = config.switch(Fault::NodePause);
    let (losses, _) = config.switch(Fault::RestartEverysec);
    let keyspaces = tables.keyspaces - 1;
    NodeFields {
        keyspace: packer.field(keyspaces),
        pause: packer.field(if pauses > 0 {
            1 + usize::from(pause)
        } else {
            0
        }),
        synced: packer.field(if losses > 0 { keyspaces } else { 0 }),
        lagging: packer.field(usize::from(losses.min(1))),
        history: std::array::from_fn(|writes| {
            if writes < config.lag() {
                packer.field(keyspaces)
            } else {
                Field::NOTHING
            }
        }),
        promoted: packer.field(if config.splits() {
            2
        } else {
            config.lag().min(1)
        }),
        old: packer.field(if config.splits() { keyspaces } else { 0 }),
        silent: packer.field(config.gone()),
        old_silent: packer.field(if config.splits() { config.gone() } else { 0 }),
        unacknowledged: packer.field(if tables.waits() { config.lag() } else { 0 }),
    }
}

impl<const W: usize> World<W> {
    /// Bits of a state that are in use.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// The state before anything happened.
    pub fn start(&self) -> State<W> {
        let mut state = State([0; W]);
        for client in &self.clients {
            state.set(client.local, usize::from(self.fresh));
            state.set(client.skew, usize::from(self.no_skew));
        }
        for switch in &self.config.switches {
            state.set(
                self.budget[switch.fault as usize],
                usize::from(switch.budget),
            );
        }
        state
    }

    // ---- reading a state ----

    pub(super) fn crashed(&self, state: &State<W>, client: usize) -> bool {
        state.get(self.clients[client].status) == 1
    }

    /// Ticks that the client has been paused for, if it is paused.
    pub(super) fn paused(&self, state: &State<W>, client: usize) -> Option<u8> {
        let status = state.get(self.clients[client].status);
        (status >= 2).then(|| (status - 2) as u8)
    }

    /// Up and running.
    pub(super) fn runs(&self, state: &State<W>, client: usize) -> bool {
        state.get(self.clients[client].status) == 0
    }

    pub(super) fn node_paused(&self, state: &State<W>, node: usize) -> Option<u8> {
        state
            .get(self.nodes[node].pause)
            .checked_sub(1)
            .map(|ticks| ticks as u8)
    }

    /// What a node's replica may hold, but for what the node itself holds:
    /// the keyspaces before the node's last write, before its last two, ..;
    /// nothing if it has no replica.
    #[inline]
    pub(super) fn history(&self, state: &State<W>, node: usize) -> &[Field] {
        let fields = &self.nodes[node];
        let lag = if state.get(fields.promoted) == 0 {
            self.lag
        } else {
            0
        };
        &fields.history[..lag]
    }

    /// What a node's replica holds if it lacks the node's last `lost` writes.
    pub(super) fn replica(&self, state: &State<W>, node: usize, lost: usize) -> usize {
        match lost.checked_sub(1) {
            None => state.get(self.nodes[node].keyspace),
            Some(writes) => state.get(self.nodes[node].history[writes]),
        }
    }

    /// The old server of a node is still in service beside the new one.
    #[inline]
    pub(super) fn is_split(&self, state: &State<W>, node: usize) -> bool {
        state.get(self.nodes[node].promoted) == 2
    }

    pub(super) fn moved(&self, client: usize, node: usize) -> Field {
        self.moved[client * usize::from(self.config.nodes) + node]
    }

    /// What the client sends to the node now goes to the node's old server.
    pub(super) fn uses_old(&self, state: &State<W>, client: usize, node: usize) -> bool {
        self.is_split(state, node) && state.get(self.moved(client, node)) == 0
    }

    /// A replica stands behind the node's present server.
    pub(super) fn has_replica(&self, state: &State<W>, node: usize) -> bool {
        state.get(self.nodes[node].promoted) == 0
    }

    pub(super) fn cut(&self, client: usize, node: usize) -> Field {
        self.cut[client * usize::from(self.config.nodes) + node]
    }

    pub(super) fn message(&self, state: &State<W>, client: usize, slot: usize) -> Option<Message> {
        self.messages.unpack(state.get(self.slots(client)[slot]))
    }

    /// The message slots of a client.
    #[inline]
    pub(super) fn slots(&self, client: usize) -> &[Field] {
        &self.clients[client].slots[..self.slots_used]
    }

    /// The class of a client's automaton, the time of a pause counted in.
    pub(super) fn class_now(&self, state: &State<W>, client: usize) -> u16 {
        let class = state.get(self.clients[client].local) as u16;
        match self.paused(state, client) {
            Some(ticks) if ticks > 0 => self
                .tables
                .step(class, super::client::Symbolic::Advance(ticks))
                .map_or(class, |(next, _)| next),
            _ => class,
        }
    }

    /// The thread of a client that stands at an open comparison of times. It goes on
    /// at once: nothing else happens before.
    pub(super) fn open_thread(&self, state: &State<W>, client: usize) -> Option<u8> {
        if self.crashed(state, client) {
            return None;
        }
        let class = state.get(self.clients[client].local);
        let at_ticks = self.tables.facts[class].at_ticks;
        at_ticks
            .iter()
            .position(|option| *option != 0)
            .map(|thread| thread as u8)
    }

    /// B of a client; a dead one believes nothing.
    pub fn believes(&self, state: &State<W>, client: usize) -> bool {
        let class = state.get(self.clients[client].local);
        !self.crashed(state, client) && self.tables.facts[class].believes
    }

    /// V of a client, on its own clock.
    pub fn valid(&self, state: &State<W>, client: usize) -> bool {
        !self.crashed(state, client)
            && self.is_valid(&self.tables.facts[usize::from(self.class_now(state, client))])
    }

    /// V in a client's state.
    pub(super) fn is_valid(&self, facts: &Facts) -> bool {
        match self.config.at_ticks {
            true => facts.valid_at_ticks,
            false => facts.valid,
        }
    }

    // ---- the concrete side compares with these ----

    /// The class of a client's automaton, as it was when it last ran.
    pub fn class(&self, state: &State<W>, client: usize) -> u16 {
        state.get(self.clients[client].local) as u16
    }

    /// The number of a node's keyspace.
    pub fn keyspace(&self, state: &State<W>, node: usize) -> u16 {
        state.get(self.nodes[node].keyspace) as u16
    }

    /// The numbers of the keyspaces that a node's replica may hold besides the
    /// node's own: before its last write, before its last two, ..
    pub fn behind(&self, state: &State<W>, node: usize) -> Vec<u16> {
        let history = self.history(state, node).iter();
        history.map(|field| state.get(*field) as u16).collect()
    }

    /// The number of the keyspace of a node's old server, while that serves on.
    pub fn old(&self, state: &State<W>, node: usize) -> Option<u16> {
        self.is_split(state, node)
            .then(|| state.get(self.nodes[node].old) as u16)
    }

    /// For how long a node's server and its old one have not heard of their
    /// replicas (see [`NodeFields`]).
    pub(super) fn silence(&self, state: &State<W>, node: usize) -> [usize; 2] {
        let fields = &self.nodes[node];
        [fields.silent, fields.old_silent].map(|field| state.get(field))
    }

    /// What can be seen of a client.
    pub fn facade(&self, state: &State<W>, client: u8) -> &Facade {
        let class = self.class(state, usize::from(client));
        let local = self.tables.representatives[usize::from(class)];
        &self.tables.closure.locals[local as usize].facade
    }

    /// The client stands at a comparison of times that is open.
    pub fn is_open(&self, state: &State<W>, client: u8) -> bool {
        self.open_thread(state, usize::from(client)).is_some()
    }

    /// The messages in flight of a client.
    pub fn messages_of(&self, state: &State<W>, client: u8) -> Vec<Message> {
        let slots = 0..self.slots_used;
        slots
            .filter_map(|slot| self.message(state, usize::from(client), slot))
            .collect()
    }

    /// What the server makes of a request that it executes now.
    pub fn execution(
        &self,
        state: &State<W>,
        message: &Message,
        alone: bool,
    ) -> Option<&Execution> {
        let Content::Request(command) = message.content else {
            return None;
        };
        let node = usize::from(message.node);
        let keyspace = match message.old {
            true => self.old(state, node)?,
            false => self.keyspace(state, node),
        };
        Some(match alone {
            true => self.tables.execute_alone(command, keyspace),
            false => self.tables.execute(command, keyspace),
        })
    }

    /// A server's reply as the client reads it now.
    pub fn local_reply(&self, state: &State<W>, client: u8, reply: u16) -> u16 {
        let client = usize::from(client);
        let skew = state.get(self.clients[client].skew);
        self.tables.local_reply(client, skew, reply)
    }

    /// The message in a slot.
    pub fn message_in(&self, state: &State<W>, client: u8, slot: u8) -> Option<Message> {
        self.message(state, usize::from(client), usize::from(slot))
    }

    /// The client's clock offset in ticks.
    pub fn skew_ticks(&self, state: &State<W>, client: u8) -> i8 {
        self.tables.needs.skews[state.get(self.clients[usize::from(client)].skew)]
    }

    /// The token generations that a client's requests in flight name.
    pub fn generations_in_flight(&self, state: &State<W>, client: usize) -> u8 {
        (0..self.slots_used)
            .filter_map(|slot| match self.message(state, client, slot)?.content {
                Content::Request(command) => Some(self.tables.generations[usize::from(command)]),
                _ => None,
            })
            .fold(0, |all, one| all | one)
    }

    /// True if every table entry that a state names is a real one.
    pub(super) fn is_entry(id: u16) -> bool {
        id != NONE
    }
}
