//! The world of one check: sizes, switches, and where everything stands in a
//! state.

use std::sync::{Arc, Mutex};

use crate::lock::Op;

use super::catalogue::{FAULTS, Fault};
use super::client::THREADS;
use super::config::{LAG_MAX, SLOTS, WorldConfig};
use super::fences;
use super::layout::{Field, Packer, State, WORDS};
use super::message::{MessageKinds, MessageLayout};
use super::reached::Reached;
use super::rules::{Frees, Pursuit, TellingFields, pursuits, telling_fields};
use super::tables::Tables;

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
    /// 0: it holds without a fence (or does not hold), 1: its fence is the highest that the
    /// guarded resource has seen, 2: that has seen a higher one.
    pub fence: Field,
    /// Nodes (bit set) on which the running operation took effect; all, once
    /// they are a quorum. Of a question whether the lock is held: nodes on which it has
    /// stood at some moment since.
    pub effective: Field,
    /// Ticks since its last operation ended, while something of it is left.
    pub grace: Field,
    /// Its work outlasts the lease.
    pub overrun: Field,
    /// 0: no lease is counted; 1 + k: k ticks of its own clock since it sent what
    /// got (or may get) it the lock, up to the lease. Only if some lock's hold ends
    /// with the lease.
    pub lease: Field,
    /// The same of a nested acquire, or a renewal, that runs.
    pub nested: Field,
    /// The same from when an acquire or a renewal that runs sent its last command, on one
    /// server.
    pub asked: Field,
    /// The running nested acquire met a fault.
    pub hampered: Field,
    /// A tick has passed since its last step, though it could have gone on.
    pub late: Field,
    /// Nodes (bit set) on which the lock has stood as its own without a break since an
    /// operation of this hold wrote it. Only if the lock says whether it is held.
    pub mine: Field,
    /// Messages in flight, the least first; the world uses the first few.
    pub(super) slots: [Field; SLOTS],
}

/// Fields of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct NodeFields {
    /// Its keyspace.
    pub keyspace: Field,
    /// 0 up, 1 + k paused for k ticks so far.
    pub pause: Field,
    /// 0 up, 1 + k gone for k ticks so far.
    pub down: Field,
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

/// The world as a transition system.
pub struct World {
    pub config: WorldConfig,
    pub tables: Arc<Tables>,
    pub(super) clients: Vec<ClientFields>,
    pub(super) nodes: Vec<NodeFields>,
    /// `cut[client * nodes + node]`: 0, or what the link swallows (see `rules/partition.rs`).
    pub(super) cut: Vec<Field>,
    /// Links can swallow what goes one way.
    pub(super) one_way: bool,
    /// `moved[client * nodes + node]`: while the node's old server is still
    /// there, the client uses the new one.
    pub(super) moved: Vec<Field>,
    /// `since[(client * nodes + node) * THREADS + thread]`: writes of the node
    /// since the last command on that thread's connection, as far as a replica can
    /// lag. That is what WAIT waits for. Only if the lock sends WAIT.
    pub(super) since: Vec<Field>,
    /// By the same index: 1 if the last command wrote nothing, and others had written
    /// since the one before.
    pub(super) unsure: Vec<Field>,
    /// `listening[client * nodes + node]`: the client's subscription at the node's server
    /// stands (1), or nothing of it arrives any more (2). Only if clients listen.
    pub(super) listening: Vec<Field>,
    /// A command has taken the lock away, and nobody has taken it since. Only if clients
    /// wait for messages, and on one server.
    pub(super) freed: Field,
    /// The highest fence that an acquire stated (see `fences::highest`).
    pub(super) highest: Field,
    /// 1 + the client whose acquire stated one last; 0 if none did.
    pub(super) last_owner: Field,
    /// How many fences were drawn, up to what ranks tell; only if a counter can begin anew.
    pub(super) handed: Field,
    /// Budget left, by fault.
    pub(super) budget: [Field; FAULTS.len()],
    /// By client, how it tells its caller that the lock is lost; empty if nobody asks.
    pub(super) telling: Vec<TellingFields>,
    /// How many faults of the order have struck.
    pub(super) struck: Field,
    /// How many must have before each fault.
    pub(super) place: [u8; FAULTS.len()],
    pub(super) messages: MessageLayout,
    /// Class of a client that has done nothing yet, by the place of its lock object.
    fresh: [u16; 2],
    /// Index of the clock offset 0.
    pub(super) no_skew: u8,
    pub(super) slots_used: usize,
    /// Writes that a replica may lag behind.
    pub(super) lag: usize,
    bits: usize,
    words: usize,
    /// Who may starve.
    pub pursuits: Vec<Pursuit>,
    /// What a search came upon.
    pub reached: Reached,
    /// Leaves out budgets of faults, and what only safety properties remember.
    pub(super) bare: State,
    /// What is known of what releases left, by client and state.
    pub(super) frees: Mutex<Frees>,
}

/// Why a world could not be built.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The state does not fit the largest representation.
    #[error(
        "a state of this world takes {bits} bits, more than {most}; use fewer clients, nodes or faults"
    )]
    TooWide { bits: usize, most: usize },
    /// A server that nobody reached, or that was taken away, still knows its scripts when it
    /// follows the new one, and might take its place.
    #[error(
        "{at}: the lock names scripts by SHA-1, and an old server that went on may take its node's \
         place again, with the scripts that it knew; the model does not follow that"
    )]
    OldScripts { at: String },
    /// A connection that watches keys, beside faults of which the model does not follow what
    /// they do to it.
    #[error("{at}: the lock watches keys, and {faults}; the model does not follow that")]
    Watches { at: String, faults: &'static str },
}

impl World {
    /// Lays out the states of a world.
    ///
    /// # Errors
    /// If a state does not fit, or the model does not follow the lock under these faults.
    pub fn new(config: WorldConfig, tables: Arc<Tables>) -> Result<World, WorldError> {
        if let Some(at) = tables
            .closure
            .names_scripts_at()
            .filter(|_| config.survives())
        {
            return Err(WorldError::OldScripts { at });
        }
        if let (Some(at), Some(faults)) = (tables.closure.watches_at(), unfollowed(&config)) {
            return Err(WorldError::Watches { at, faults });
        }
        let mut packer = Packer::default();
        let (_, delay) = config.switch(Fault::Delay);
        let messages = MessageLayout::new(MessageKinds {
            commands: tables.closure.commands.len(),
            replies: tables.closure.replies.len(),
            nodes: config.nodes,
            allowance: delay,
            splits: config.splits(),
            waits: tables.waits(),
            pops: tables.pops(),
            pauses: config.switch(Fault::ClientPause).0 > 0,
            refuses: tables.refuses(),
            published: tables.closure.messages.len(),
            listens: tables.listens(),
        });
        let clients: Vec<ClientFields> = (0..config.clients)
            .map(|_| client_fields(&config, &tables, &messages, &mut packer))
            .collect();
        let nodes = (0..config.nodes)
            .map(|_| node_fields(&config, &tables, &mut packer))
            .collect();
        let links = usize::from(config.clients) * usize::from(config.nodes);
        let cut = (0..links)
            .map(|_| packer.field(config.most_cut()))
            .collect();
        let moved = (0..links)
            .map(|_| packer.field(usize::from(config.splits())))
            .collect();
        let positions = if tables.waits() { links * THREADS } else { 0 };
        let since = (0..positions).map(|_| packer.field(config.lag())).collect();
        let unsure = (0..positions).map(|_| packer.field(1)).collect();
        let subscriptions = if tables.listens() { links } else { 0 };
        let listening = (0..subscriptions).map(|_| packer.field(2)).collect();
        let waits = tables.facts.iter().any(|facts| facts.waits);
        let judged = (waits || tables.pops()) && config.nodes == 1;
        let freed = packer.field(usize::from(judged));
        let states = tables.states_fences;
        let most = |most: usize| if states { most } else { 0 };
        let highest = packer.field(most(usize::from(fences::highest::MOST)));
        let last_owner = packer.field(most(usize::from(config.clients)));
        let counts = tables.draws_fences && tables.needs.losing;
        let handed = usize::from(fences::LOSING) + 1;
        let handed = packer.field(if counts { handed } else { 0 });
        let mut budget = [Field::NOTHING; FAULTS.len()];
        for switch in &config.switches {
            budget[switch.fault as usize] = packer.field(usize::from(switch.budget));
        }
        let struck = packer.field(config.order.len());
        let telling = telling_fields(&config, &tables, &mut packer);
        let bits = packer.bits();
        if packer.words() > WORDS {
            return Err(WorldError::TooWide {
                bits,
                most: WORDS * 64,
            });
        }
        let mut place = [0; FAULTS.len()];
        for (at, fault) in config.order.iter().enumerate() {
            place[*fault as usize] = at as u8;
        }
        let no_skew = tables.needs.skews.iter().position(|skew| *skew == 0);
        let ghosts = (clients.iter())
            .flat_map(|one| [one.effect, one.fence, one.grace, one.hampered, one.mine]);
        // From when a lease counts depends on what took effect.
        let effects = clients.iter().map(|client| client.effective);
        let effects = effects.filter(|_| !tables.counts_leases);
        let faults = budget.iter().copied().chain([struck]);
        let ghosts = ghosts.chain([freed]);
        let ghosts = ghosts.chain(telling.iter().flat_map(TellingFields::all));
        let bare = State::mask_without(ghosts.chain(effects).chain(faults));
        let second = usize::from(config.objects.is_some());
        let fresh = [tables.class_of[0], tables.class_of[second]];
        Ok(World {
            bare,
            pursuits: pursuits(config.clients, fresh[0], &tables),
            slots_used: config.slots(),
            one_way: config.one_way(),
            lag: config.lag(),
            fresh,
            reached: Reached::of(&tables),
            frees: Mutex::default(),
            no_skew: no_skew.map_or(0, |index| index as u8),
            config,
            tables,
            clients,
            nodes,
            cut,
            moved,
            since,
            unsure,
            listening,
            freed,
            highest,
            last_owner,
            handed,
            budget,
            telling,
            struck,
            place,
            messages,
            bits,
            words: packer.words(),
        })
    }
}

/// Faults beside which no key can be watched, in words.
fn unfollowed(config: &WorldConfig) -> Option<&'static str> {
    let on = |fault| config.switch(fault).0 > 0;
    if on(Fault::SplitBrain) || on(Fault::CutOff) {
        return Some("a client may still be connected with a server that was replaced and goes on");
    }
    let refusals = "a link may lose the news of a refused connection, and not those of a \
                    connection that is known to be gone";
    (config.most_down() > 0 && config.most_cut() > 0).then_some(refusals)
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
    let prolongs = config.reentrant || tables.has(Op::Renew);
    let nodes = (1 << config.nodes) - 1;
    ClientFields {
        local: packer.field(tables.facts.len() - 1),
        status: packer.field(status),
        skew: packer.field(tables.needs.skews.len() - 1),
        effect: packer.field(2),
        fence: packer.field(if tables.states_fences { 2 } else { 0 }),
        effective: packer.field(nodes),
        grace: packer.field(tables.needs.grace()),
        overrun: packer.field(usize::from(overruns.min(1))),
        lease: packer.field(lease),
        nested: packer.field(if prolongs { lease } else { 0 }),
        asked: packer.field(if config.nodes == 1 { lease } else { 0 }),
        hampered: packer.field(usize::from(config.reentrant)),
        late: packer.field(usize::from(tables.spins)),
        mine: packer.field(if tables.has(Op::IsHeld) { nodes } else { 0 }),
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
        down: packer.field(config.most_down()),
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

impl World {
    /// Bits of a state that are in use.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Words of a state that are in use.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Class of a client that has done nothing yet.
    pub(super) fn fresh(&self, client: usize) -> u16 {
        let place = self
            .config
            .objects
            .map_or(0, |objects| objects.place(client as u8));
        self.fresh[usize::from(place)]
    }

    /// The state before anything happened.
    pub fn start(&self) -> State {
        let mut state = State([0; WORDS]);
        for (at, client) in self.clients.iter().enumerate() {
            state.set(client.local, usize::from(self.fresh(at)));
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
}
