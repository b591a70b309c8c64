//! Claims about whole topologies, on every server program that this machine has.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use lockproof::redis::Reply;
use lockproof::replay::binaries::{self, Binary};
use lockproof::replay::topology::{
    LinkName, Party, ProxyKind, Role, Topology, TopologyError, TopologyKind, TopologyOptions,
};

const SENTINEL: TopologyKind = TopologyKind::Sentinel {
    sentinels: 3,
    replicas: 2,
};
const CLUSTER: TopologyKind = TopologyKind::Cluster {
    primaries: 3,
    replicas: 3,
};
const KINDS: [TopologyKind; 5] = [
    TopologyKind::Single,
    TopologyKind::Masters { nodes: 5 },
    TopologyKind::Replicated { replicas: 2 },
    SENTINEL,
    CLUSTER,
];

fn servers() -> Vec<Binary> {
    let found = binaries::find(&binaries::server_directories());
    assert!(!found.is_empty(), "no server program: run scripts/setup.sh");
    found
}

async fn start(kind: TopologyKind, binary: &Binary) -> Topology {
    let options = TopologyOptions::new(kind, binary.clone());
    Topology::start(&options).await.unwrap()
}

/// No server has a client that comes from another server's own address: all come
/// from proxies.
async fn nobody_bypasses(topology: &Topology) {
    for party in topology.nodes().chain(topology.sentinels()) {
        let Some(Reply::Bulk(list)) = topology.ask(party, &["CLIENT", "LIST"]).await else {
            panic!("{party} gave no list of clients");
        };
        let list = String::from_utf8_lossy(&list).into_owned();
        for client in list.lines() {
            let from = client.split(' ').find_map(|w| w.strip_prefix("addr="));
            let from = from.unwrap_or_default();
            assert!(from.starts_with("127.0.0.1:"), "{party}: {client}");
        }
    }
    for (node, role) in topology.roles().await {
        let named = match role {
            Role::Primary { replicas, .. } => replicas,
            Role::Replica { of, .. } => vec![of],
        };
        for address in named {
            let known = topology.node_announced_at(&address);
            assert!(known.is_some_and(|n| n != node), "node-{node}: {address}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_topology_comes_up_through_proxies_on_every_server() {
    for binary in servers() {
        for kind in KINDS {
            let begun = Instant::now();
            let mut topology = start(kind, &binary).await;
            println!("{binary}: {kind:?} in {:?}", begun.elapsed());
            nobody_bypasses(&topology).await;
            topology.check_alive().unwrap();
        }
    }
}
