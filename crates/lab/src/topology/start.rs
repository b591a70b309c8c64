//! Bringing a topology up.
//!
//! The order is given by who must know what: doors first, because servers are
//! started with the addresses that they announce; then nodes; then links, which
//! need the servers' ports; then the nodes are introduced to each other; then
//! Sentinels, to whom a node that is not a replica yet would be a riddle. What can
//! go at once goes at once. A door keeps comers waiting until it knows their link.

use std::net::SocketAddr;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::super::server::{OwnClock, Server, ServerError, ServerOptions};
use super::door::{Door, source};
use super::error::TopologyError;
use super::names::{Channel, LinkName, Party};
use super::options::{TopologyKind, TopologyOptions};
use super::sentinel::SentinelPlan;
use super::wire::WireMaker;
use super::{Member, Seat, Topology};

/// More of a kind than this have no loopback address of their own.
const PARTIES_MAX: u16 = 200;

/// The doors of one server.
#[derive(Debug, Default)]
struct Doors {
    data: Option<Door>,
    bus: Option<Door>,
}

impl Doors {
    fn port(&self) -> u16 {
        self.data.as_ref().map_or(0, |door| door.address().port())
    }
}

impl Topology {
    /// Starts servers and proxies, or joins attached ones, and waits until they
    /// work together. If something fails, nothing of ours is left behind.
    pub async fn start(options: &TopologyOptions) -> Result<Topology, TopologyError> {
        check(options)?;
        if let Some(attachment) = &options.attach {
            return Topology::attach(options, attachment).await;
        }
        let deadline = Instant::now() + options.patience;
        let (node_doors, sentinel_doors) = (open_nodes(options)?, open_sentinels(options)?);
        let sentinel_plans = sentinel_options(options, &node_doors, &sentinel_doors);
        let node_plans = (0..).zip(&node_doors);
        let node_plans = node_plans
            .map(|(number, doors)| node_options(options, number, doors))
            .collect();
        let (maker, nodes) = tokio::join!(WireMaker::new(options), start_all(node_plans));
        let nodes = members(nodes?, node_doors);
        let mut topology = Topology::of(options, maker?, nodes, Vec::new());
        topology.make_links(topology.links_to_nodes()).await?;
        topology.make_virtual_addresses()?;
        topology.introduce(deadline).await?;
        let sentinels = start_all(sentinel_plans).await?;
        topology.sentinels = members(sentinels, sentinel_doors);
        topology.make_links(topology.links_to_sentinels()).await?;
        topology.healthy_until(deadline, options.patience).await?;
        topology.keep_distance().await?;
        Ok(topology)
    }

    /// Who may come to this server.
    fn comers(&self, to: Party) -> Vec<Party> {
        let replicates = self.kind().replicates();
        let servers = self.nodes().chain(self.sentinels());
        let servers = servers.filter(|party| *party != to && replicates);
        let guests = replicates.then_some(Party::Guest);
        self.clients().chain(servers).chain(guests).collect()
    }

    fn links_to_nodes(&self) -> Vec<(LinkName, SocketAddr)> {
        let mut plans = Vec::new();
        for (to, member) in (0..).map(Party::Node).zip(&self.nodes) {
            for from in self.comers(to) {
                plans.push((LinkName::data(from, to), member.seat.known_as()));
                let bus = member.seat.own().and_then(Server::bus_address);
                if let (Party::Node(_), Some(bus)) = (from, bus) {
                    plans.push((LinkName::bus(from, to), bus));
                }
            }
        }
        plans
    }

    fn links_to_sentinels(&self) -> Vec<(LinkName, SocketAddr)> {
        let mut plans = Vec::new();
        for (to, member) in (0..).map(Party::Sentinel).zip(&self.sentinels) {
            for from in self.comers(to) {
                // A Sentinel is asked, and publishes through nodes: no node
                // connects to one.
                if !matches!(from, Party::Node(_)) {
                    plans.push((LinkName::data(from, to), member.seat.known_as()));
                }
            }
        }
        plans
    }

    /// Makes links, and lets everybody through the doors, each by his own link.
    pub(super) async fn make_links(
        &mut self,
        plans: Vec<(LinkName, SocketAddr)>,
    ) -> Result<(), TopologyError> {
        for (name, wire) in self.maker.make_all(&plans).await? {
            let member = self.member(name.to)?;
            let door = match name.channel {
                Channel::Data => &member.door,
                Channel::Bus => &member.bus,
            };
            if let Some(door) = door {
                door.admit(name.from, wire.way());
            }
            self.links.insert(name, wire);
        }
        Ok(())
    }

    pub(super) fn make_virtual_addresses(&mut self) -> Result<(), TopologyError> {
        if !self.kind().replicates() {
            return Ok(());
        }
        for client in 0..self.options.clients {
            let party = Party::Client(client);
            let door = open(party)?;
            let first = LinkName::data(party, Party::Node(0));
            let wire = self.links.get(&first).ok_or(TopologyError::NoLink(first))?;
            door.admit(Party::Guest, wire.way());
            self.virtuals.push(door);
            self.pointed.push(0);
        }
        Ok(())
    }

    async fn introduce(&mut self, deadline: Instant) -> Result<(), TopologyError> {
        match self.kind() {
            TopologyKind::Single | TopologyKind::Masters { .. } => Ok(()),
            // Sentinels start only when replicas follow: they look again at a
            // node that they saw as a primary only ten seconds later.
            TopologyKind::Replicated { .. } | TopologyKind::Sentinel { .. } => {
                self.join_replicas(deadline).await
            }
            TopologyKind::Cluster { primaries, .. } => {
                self.join_cluster(primaries, deadline).await?;
                let owner = self.slot_owner().await?;
                for client in 0..self.options.clients {
                    self.point_client(client, owner, false).await?;
                }
                Ok(())
            }
        }
    }
}

fn check(options: &TopologyOptions) -> Result<(), TopologyError> {
    let kind = options.kind;
    let most = kind.nodes().max(kind.sentinels()).max(options.clients);
    let wrong = match kind {
        _ if kind.nodes() == 0 => "it has no node; give it at least one".into(),
        _ if most > PARTIES_MAX => {
            format!("{most} parties of one kind are too many; the most is {PARTIES_MAX}")
        }
        TopologyKind::Sentinel { sentinels: 0, .. } => "it has no Sentinel; give it three".into(),
        TopologyKind::Cluster { primaries: 0, .. } => "it has no primary; give it three".into(),
        _ => return Ok(()),
    };
    Err(TopologyError::Options(wrong))
}

fn open(party: Party) -> Result<Door, TopologyError> {
    Door::open().map_err(|source| TopologyError::Door { party, source })
}

fn open_nodes(options: &TopologyOptions) -> Result<Vec<Doors>, TopologyError> {
    let cluster = matches!(options.kind, TopologyKind::Cluster { .. });
    let announces = options.kind.replicates();
    let doors = |node| {
        Ok(Doors {
            data: announces.then(|| open(node)).transpose()?,
            bus: cluster.then(|| open(node)).transpose()?,
        })
    };
    (0..options.kind.nodes())
        .map(Party::Node)
        .map(doors)
        .collect()
}

fn open_sentinels(options: &TopologyOptions) -> Result<Vec<Doors>, TopologyError> {
    let doors = |sentinel| {
        Ok(Doors {
            data: Some(open(sentinel)?),
            bus: None,
        })
    };
    let sentinels = (0..options.kind.sentinels()).map(Party::Sentinel);
    sentinels.map(doors).collect()
}

fn words<const N: usize>(words: [&str; N]) -> impl Iterator<Item = String> {
    words.map(String::from).into_iter()
}

fn node_options(options: &TopologyOptions, number: u16, doors: &Doors) -> ServerOptions {
    let kind = options.kind;
    let mut args = Vec::new();
    if kind.replicates() {
        let port = doors.port().to_string();
        args.extend(from(Party::Node(number)));
        args.extend(words(["--replica-announce-ip", "127.0.0.1"]));
        args.extend(words(["--replica-announce-port", &port]));
        if let Some(bus) = &doors.bus {
            let bus = bus.address().port().to_string();
            let down = options.down_after_ms.to_string();
            args.extend(words(["--cluster-announce-ip", "127.0.0.1"]));
            args.extend(words(["--cluster-announce-port", &port]));
            args.extend(words(["--cluster-announce-bus-port", &bus]));
            args.extend(words(["--cluster-node-timeout", &down]));
        }
    }
    args.extend(options.node_args.iter().cloned());
    ServerOptions {
        persistence: options.persistence,
        clock: options.clocks.clone().map(|library| OwnClock {
            library,
            freeze_at_ms: None,
        }),
        args,
        config: kind.replicates().then(String::new),
        cluster: matches!(kind, TopologyKind::Cluster { .. }),
        ..ServerOptions::new(options.binary.clone())
    }
}

fn sentinel_options(
    options: &TopologyOptions,
    nodes: &[Doors],
    sentinels: &[Doors],
) -> Vec<ServerOptions> {
    let ports = |doors: &[Doors]| doors.iter().map(Doors::port).collect::<Vec<u16>>();
    let (node_ports, sentinel_ports) = (ports(nodes), ports(sentinels));
    let plan = |number| {
        let plan = SentinelPlan {
            number,
            nodes: &node_ports,
            sentinels: &sentinel_ports,
            down_after_ms: options.down_after_ms,
        };
        let mut args: Vec<String> = from(Party::Sentinel(number)).collect();
        args.push("--sentinel".into());
        ServerOptions {
            args,
            config: Some(plan.config()),
            ..ServerOptions::new(options.binary.clone())
        }
    };
    (0..options.kind.sentinels()).map(plan).collect()
}

/// The loopback address by which doors know this server.
fn from(party: Party) -> impl Iterator<Item = String> {
    let address = source(party).map(|address| address.to_string());
    address
        .into_iter()
        .flat_map(|address| ["--bind-source-addr".to_owned(), address])
}

async fn start_all(plans: Vec<ServerOptions>) -> Result<Vec<Server>, ServerError> {
    let mut starting = JoinSet::new();
    for (index, plan) in plans.into_iter().enumerate() {
        starting.spawn(async move { (index, Server::start(&plan).await) });
    }
    let mut started = starting.join_all().await;
    started.sort_by_key(|(index, _)| *index);
    started.into_iter().map(|(_, server)| server).collect()
}

fn members(servers: Vec<Server>, doors: Vec<Doors>) -> Vec<Member> {
    servers
        .into_iter()
        .zip(doors)
        .map(|(server, doors)| Member {
            seat: Seat::Own(Box::new(server)),
            door: doors.data,
            bus: doors.bus,
        })
        .collect()
}
