//! A topology, a fault, and looks at what it does.

use lockproof_lab::binaries::{self, Binary};
use lockproof_lab::nemesis::{Clients, FaultSpec, Field, Target};
use lockproof_lab::topology::{Party, Role, Topology, TopologyKind, TopologyOptions};
use lockproof_redis::Reply;

use super::Client;

pub const REPLICATED: TopologyKind = TopologyKind::Replicated { replicas: 2 };
pub const SENTINEL: TopologyKind = TopologyKind::Sentinel {
    sentinels: 3,
    replicas: 2,
};
pub const CLUSTER: TopologyKind = TopologyKind::Cluster {
    primaries: 3,
    replicas: 3,
};

pub fn servers() -> Vec<Binary> {
    let found = binaries::find(&binaries::server_directories());
    assert!(!found.is_empty(), "no server program: run scripts/setup.sh");
    found
}

pub fn options(kind: TopologyKind) -> TopologyOptions {
    TopologyOptions::new(kind, servers().remove(0))
}

pub async fn start(kind: TopologyKind) -> Topology {
    Topology::start(&options(kind)).await.unwrap()
}

pub fn one(party: &str) -> Vec<Target> {
    vec![party.parse().unwrap()]
}

/// Starts a fault, lets `during` look, heals it.
pub async fn with(
    topology: &mut Topology,
    clients: &mut dyn Clients,
    spec: FaultSpec,
    during: impl AsyncFnOnce(&mut Topology),
) {
    let (name, mut fault) = (spec.name(), spec.build());
    let mut field = Field::new(topology, clients);
    let told = match fault.start(&mut field).await {
        Ok(told) => told,
        Err(error) => panic!("{error}; the servers' logs:\n{}", field.topology.logs()),
    };
    println!("{name}: {told}");
    during(field.topology).await;
    fault.heal(&mut field).await.unwrap();
    // Healing twice is harmless.
    fault.heal(&mut field).await.unwrap();
}

pub async fn client(topology: &Topology, number: u16, node: usize) -> Client {
    let address = &topology.client_addresses(number)[node];
    Client::connect(address.parse().unwrap()).await.unwrap()
}

pub async fn works(topology: &Topology, number: u16, node: usize) -> bool {
    let address = topology.client_addresses(number)[node].parse().unwrap();
    match Client::connect(address).await {
        Ok(mut client) => client.send("PING").await.is_ok() && !client.gets_no_reply().await,
        Err(_) => false,
    }
}

pub async fn get(topology: &Topology, node: u16, key: &str) -> Reply {
    let reply = topology.ask(Party::Node(node), &["GET", key]).await;
    reply.expect("no answer to GET")
}

/// Not all that `wait_healthy` asks: Sentinel looks at replicas every ten seconds.
pub async fn follows_again(topology: &Topology, node: u16) {
    let follows = async || match topology.roles().await.remove(&node) {
        Some(Role::Replica { link, .. }) => link == "connected",
        _ => false,
    };
    super::until(follows).await;
}
