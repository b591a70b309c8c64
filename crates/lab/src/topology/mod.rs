//! Topologies: servers that belong together, with a proxy in every link.
//!
//! A lock does not fail on a server but between servers: while a replica lags,
//! while Sentinels vote, while a cluster moves a slot. So the harness starts whole
//! topologies, and every connection in them (client to node, replication,
//! Sentinel to node and to Sentinel, the cluster bus) runs through a proxy of its
//! own, so that a fault strikes one link and no other. docs/topologies.md shows
//! them.
//!
//! What servers announce is the address of a door (see `door.rs`), never their own,
//! and each of them connects from a loopback address of its own, by which the door
//! knows it. So nobody can find a way past the proxies, and a test that looks at
//! the servers' client lists sees it if somebody does.
//!
//! Lock clients know plain addresses. Where the primary may change, each client
//! has a *virtual address*, as a load balancer or a floating IP would give it; the
//! harness points it at a node ([`Topology::point_client`]). That a client library
//! asks Sentinel or the cluster itself was rejected as the default: six adapters
//! would do it in six ways, and a finding would be about discovery and not about
//! the lock. Such a client is still served: the doors take it in as a guest.
//!
//! Nothing outlives a [`Topology`]: dropping it kills and reaps every server, also
//! stopped ones, and if the harness itself is killed the kernel does it.

mod attach;
mod attachment;
mod cluster;
mod door;
mod error;
mod health;
mod names;
mod options;
mod outage;
mod replicated;
mod role;
mod sentinel;
mod start;
mod wire;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use lockproof_redis::Reply;

use attach::Attached;
pub use attachment::{ATTACH_SCHEMA, AttachedNode, AttachedToxiproxy, Attachment, AttachmentError};
pub use error::TopologyError;
pub use names::{Channel, LinkName, NameError, Party};
pub use options::{TopologyKind, TopologyOptions};
pub use role::Role;
pub use sentinel::SENTINEL_GROUP;

use super::proxy::embedded::EmbeddedProxy;
use super::proxy::toxiproxy::Toxiproxy;
use super::proxy::{Cut, Direction, Link, LinkAction};
use super::server::Server;
use super::server::admin::ask;
use door::Door;
use outage::Outage;
use wire::{Wire, WireMaker};

/// How often something that is waited for is looked at.
const POLL: Duration = Duration::from_millis(10);

/// How long a server may take over a question about itself. One that is stopped
/// answers never, and a failover must not wait for it.
const ASK_PATIENCE: Duration = Duration::from_millis(300);

/// How long an attached server may take over an order.
const ORDER_PATIENCE: Duration = Duration::from_secs(5);

/// One server with the addresses that it announces.
#[derive(Debug)]
struct Member {
    seat: Seat,
    /// `None` where nobody is told of the server.
    door: Option<Door>,
    bus: Option<Door>,
}

/// Whose process a server is.
#[derive(Debug)]
enum Seat {
    /// Ours.
    Own(Box<Server>),
    /// Somebody else's.
    Attached {
        /// Where the harness reaches it.
        address: SocketAddr,
        /// Where others reach it.
        upstream: SocketAddr,
    },
}

impl Seat {
    /// Where the harness asks it; `None` while it is killed.
    fn asked_at(&self) -> Option<SocketAddr> {
        match self {
            Seat::Own(server) => server.pid().map(|_| server.address()),
            Seat::Attached { address, .. } => Some(*address),
        }
    }

    /// Where a proxy before it leads.
    fn known_as(&self) -> SocketAddr {
        match self {
            Seat::Own(server) => server.address(),
            Seat::Attached { upstream, .. } => *upstream,
        }
    }

    fn own(&self) -> Option<&Server> {
        match self {
            Seat::Own(server) => Some(server),
            Seat::Attached { .. } => None,
        }
    }
}

impl From<Seat> for Member {
    /// A server whom nobody is told of.
    fn from(seat: Seat) -> Member {
        Member {
            seat,
            door: None,
            bus: None,
        }
    }
}

/// A running topology.
#[derive(Debug)]
pub struct Topology {
    // Servers go before the proxies: a reset would be news to them.
    nodes: Vec<Member>,
    sentinels: Vec<Member>,
    /// Each client's virtual address; empty where no primary can change.
    virtuals: Vec<Door>,
    links: BTreeMap<LinkName, Wire>,
    /// Where each client's virtual address leads.
    pointed: Vec<u16>,
    /// Clients that stay where they point.
    pinned: BTreeSet<u16>,
    /// Whom the harness made primary last.
    promoted: u16,
    /// The servers that faults have stopped or killed so far.
    outages: BTreeMap<Party, Outage>,
    /// When the primary changed last by a fault.
    failed_over: Option<Instant>,
    options: TopologyOptions,
    maker: WireMaker,
    /// What there is to be put back; `None` for servers of our own.
    attached: Option<Attached>,
}

impl Topology {
    /// Servers without any link yet.
    fn of(
        options: &TopologyOptions,
        maker: WireMaker,
        nodes: Vec<Member>,
        sentinels: Vec<Member>,
    ) -> Topology {
        Topology {
            nodes,
            sentinels,
            virtuals: Vec::new(),
            links: BTreeMap::new(),
            pointed: Vec::new(),
            pinned: BTreeSet::new(),
            promoted: 0,
            outages: BTreeMap::new(),
            failed_over: None,
            options: options.clone(),
            maker,
            attached: None,
        }
    }

    /// What it was started with.
    pub fn options(&self) -> &TopologyOptions {
        &self.options
    }

    /// Which servers there are.
    pub fn kind(&self) -> TopologyKind {
        self.options.kind
    }

    /// The servers that hold data.
    pub fn nodes(&self) -> impl Iterator<Item = Party> + use<> {
        (0..self.kind().nodes()).map(Party::Node)
    }

    /// The Sentinels.
    pub fn sentinels(&self) -> impl Iterator<Item = Party> + use<> {
        (0..self.kind().sentinels()).map(Party::Sentinel)
    }

    /// The clients that have links of their own.
    pub fn clients(&self) -> impl Iterator<Item = Party> + use<> {
        (0..self.options.clients).map(Party::Client)
    }

    /// All links, in the order of their names.
    pub fn links(&self) -> impl Iterator<Item = LinkName> + '_ {
        self.links.keys().copied()
    }

    /// One link.
    pub fn link(&self, name: LinkName) -> Result<&dyn Link, TopologyError> {
        match self.links.get(&name) {
            Some(wire) => Ok(wire),
            None => Err(TopologyError::NoLink(name)),
        }
    }

    /// For how long bytes are on their way on this link while nothing is wrong, in ms.
    pub fn distance_ms(&self, name: LinkName) -> u32 {
        match name.from {
            Party::Client(_) => self.options.latency_ms,
            _ => 0,
        }
    }

    /// Puts clients as far from the servers as the options say.
    async fn keep_distance(&self) -> Result<(), TopologyError> {
        for name in self.links().filter(|name| self.distance_ms(*name) > 0) {
            for direction in [Direction::ToServer, Direction::ToClient] {
                let ms = self.distance_ms(name);
                let late = LinkAction::Delay { direction, ms };
                self.link(name)?.apply(late).await?;
            }
        }
        Ok(())
    }

    /// The proxy of a link, if it is one of this process: it can hold single
    /// messages.
    pub fn embedded(&self, name: LinkName) -> Option<&EmbeddedProxy> {
        self.links.get(&name).and_then(Wire::embedded)
    }

    /// The toxiproxy that all links run through; `None` with embedded proxies.
    pub fn toxiproxy(&self) -> Option<&Toxiproxy> {
        self.maker.toxiproxy()
    }

    /// A node or a Sentinel that is a process of ours.
    ///
    /// # Errors
    /// If there is no such party, or it is attached.
    pub fn server(&self, party: Party) -> Result<&Server, TopologyError> {
        let seat = &self.member(party)?.seat;
        seat.own().ok_or(TopologyError::Attached(party))
    }

    /// The same, to be killed or restarted. Faults use [`Topology::kill_server`] and
    /// [`Topology::pause_server`], which know of each other.
    ///
    /// # Errors
    /// As [`Topology::server`].
    pub fn server_mut(&mut self, party: Party) -> Result<&mut Server, TopologyError> {
        let member = match party {
            Party::Node(number) => self.nodes.get_mut(usize::from(number)),
            Party::Sentinel(number) => self.sentinels.get_mut(usize::from(number)),
            Party::Client(_) | Party::Guest => None,
        };
        match &mut member.ok_or(TopologyError::NoParty(party))?.seat {
            Seat::Own(server) => Ok(server),
            Seat::Attached { .. } => Err(TopologyError::Attached(party)),
        }
    }

    fn member(&self, party: Party) -> Result<&Member, TopologyError> {
        let member = match party {
            Party::Node(number) => self.nodes.get(usize::from(number)),
            Party::Sentinel(number) => self.sentinels.get(usize::from(number)),
            Party::Client(_) | Party::Guest => None,
        };
        member.ok_or(TopologyError::NoParty(party))
    }

    /// The address by which everybody but this client's own links knows a server.
    pub fn announced(&self, party: Party) -> Result<SocketAddr, TopologyError> {
        let member = self.member(party)?;
        match (&member.door, &member.seat) {
            (Some(door), _) => Ok(door.address()),
            (None, Seat::Attached { upstream, .. }) => Ok(*upstream),
            (None, Seat::Own(_)) => Err(TopologyError::NoParty(party)),
        }
    }

    /// The address by which one node follows another. Attached nodes have no
    /// doors, so each follows through a link of its own.
    fn followed_at(&self, follower: u16, node: u16) -> Result<SocketAddr, TopologyError> {
        let link = LinkName::data(Party::Node(follower), Party::Node(node));
        match (&self.options.attach, self.links.get(&link)) {
            (Some(attachment), Some(wire)) => {
                let host = attachment.toxiproxy.seen_by_nodes;
                Ok(SocketAddr::new(host, wire.address().port()))
            }
            _ => self.announced(Party::Node(node)),
        }
    }

    fn announced_bus(&self, node: u16) -> Result<SocketAddr, TopologyError> {
        let party = Party::Node(node);
        let door = self.member(party)?.bus.as_ref();
        door.map(Door::address).ok_or(TopologyError::NoParty(party))
    }

    /// The node that announces this `host:port`.
    pub fn node_announced_at(&self, address: &str) -> Option<u16> {
        let at = |node: &u16| {
            let announced = self.announced(Party::Node(*node));
            announced.is_ok_and(|announced| announced.to_string() == address)
        };
        (0..self.kind().nodes()).find(at)
    }

    /// What to hand to an adapter as its nodes, each `host:port`: the client's
    /// links to all nodes, or its virtual address where the primary may change.
    pub fn client_addresses(&self, client: u16) -> Vec<String> {
        if let Some(door) = self.virtuals.get(usize::from(client)) {
            return vec![door.address().to_string()];
        }
        self.nodes()
            .filter_map(|node| self.links.get(&LinkName::data(Party::Client(client), node)))
            .map(|wire| wire.address().to_string())
            .collect()
    }

    /// What to hand to a client that asks Sentinels itself, each `host:port`. It
    /// is a guest to them and to the nodes, unless it connects from 127.0.3.N:
    /// then it is client N - 1.
    pub fn sentinel_addresses(&self) -> Vec<String> {
        self.sentinels()
            .filter_map(|party| Some(self.announced(party).ok()?.to_string()))
            .collect()
    }

    /// Leads a client's virtual address to another node. Its connections to the
    /// old one are reset, as by a load balancer; give `cut: false` to let them
    /// live on. Does nothing where clients have a link to each node.
    pub async fn point_client(
        &mut self,
        client: u16,
        node: u16,
        cut: bool,
    ) -> Result<(), TopologyError> {
        let index = usize::from(client);
        let (Some(door), Some(old)) = (self.virtuals.get(index), self.pointed.get(index).copied())
        else {
            return Ok(());
        };
        if old == node {
            return Ok(());
        }
        let name = LinkName::data(Party::Client(client), Party::Node(node));
        let new = self.links.get(&name).ok_or(TopologyError::NoLink(name))?;
        door.admit(Party::Guest, new.way());
        self.pointed[index] = node;
        if cut {
            let left = LinkName::data(Party::Client(client), Party::Node(old));
            self.link(left)?.apply(LinkAction::Cut(Cut::Rst)).await?;
        }
        Ok(())
    }

    /// Where a client's virtual address leads; `None` if it has none.
    pub fn pointed(&self, client: u16) -> Option<u16> {
        self.pointed.get(usize::from(client)).copied()
    }

    /// Lets a client stay where it points whoever is primary, as one that has not
    /// heard of a failover, or lets it follow again.
    pub fn pin_client(&mut self, client: u16, pinned: bool) {
        match pinned {
            true => self.pinned.insert(client),
            false => self.pinned.remove(&client),
        };
    }

    /// Points every client that is not pinned at the primary of this moment; gives
    /// its number.
    pub async fn follow_primary(&mut self) -> Result<u16, TopologyError> {
        let primary = self.primary().await?;
        for client in 0..self.options.clients {
            if !self.pinned.contains(&client) {
                self.point_client(client, primary, true).await?;
            }
        }
        Ok(primary)
    }

    /// The node that takes writes of the lock's key: whom most Sentinels name,
    /// who owns the key's slot, or whom the harness promoted last. Node 0 where
    /// there is no such thing.
    pub async fn primary(&self) -> Result<u16, TopologyError> {
        match self.kind() {
            TopologyKind::Single | TopologyKind::Masters { .. } => Ok(0),
            TopologyKind::Replicated { .. } => Ok(self.promoted),
            TopologyKind::Sentinel { .. } => self.sentinels_primary().await,
            TopologyKind::Cluster { .. } => self.slot_owner().await,
        }
    }

    /// The primary has just changed by a fault.
    pub(super) fn note_failover(&mut self) {
        self.failed_over = Some(Instant::now());
    }

    /// When the primary changed last by a fault; `None` if it never did.
    pub(super) fn last_failover(&self) -> Option<Instant> {
        self.failed_over
    }

    /// What each node says that it is. One that does not answer soon is missing.
    pub async fn roles(&self) -> BTreeMap<u16, Role> {
        let answers = self.ask_all(self.nodes(), &["ROLE"]).await;
        let known = |(party, answer): (Party, Option<Reply>)| match party {
            Party::Node(node) => Some((node, Role::read(&answer?)?)),
            _ => None,
        };
        answers.into_iter().filter_map(known).collect()
    }

    /// Asks a server past all proxies; `None` if it does not answer soon.
    pub async fn ask<A: AsRef<[u8]>>(&self, party: Party, command: &[A]) -> Option<Reply> {
        let address = self.member(party).ok()?.seat.asked_at()?;
        ask(address, command, ASK_PATIENCE).await.ok()
    }

    /// Asks several servers at once; so those that do not answer cost little.
    async fn ask_all(
        &self,
        parties: impl Iterator<Item = Party>,
        command: &[&str],
    ) -> Vec<(Party, Option<Reply>)> {
        let argv: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        let mut asking = tokio::task::JoinSet::new();
        for party in parties {
            let member = self.member(party).ok();
            let address = member.and_then(|member| member.seat.asked_at());
            let argv = argv.clone();
            asking.spawn(async move {
                let answer = match address {
                    Some(address) => ask(address, &argv, ASK_PATIENCE).await.ok(),
                    None => None,
                };
                (party, answer)
            });
        }
        let mut answers = asking.join_all().await;
        answers.sort_by_key(|(party, _)| *party);
        answers
    }

    /// Gives a server an order past all proxies; an error reply is an error.
    pub async fn order(&self, party: Party, command: &[&str]) -> Result<(), TopologyError> {
        let answer = match &self.member(party)?.seat {
            Seat::Own(server) => server.command(command).await?,
            Seat::Attached { address, .. } => {
                let asked = ask(*address, command, ORDER_PATIENCE).await;
                asked.map_err(|source| TopologyError::Silent {
                    party,
                    address: *address,
                    source,
                })?
            }
        };
        match answer {
            Reply::Error(error) => Err(TopologyError::Refused {
                party,
                command: command.join(" "),
                answer: error.to_string(),
            }),
            _ => Ok(()),
        }
    }
}
