//! Claims about whole topologies, on every server program that this machine has.

use std::time::{Duration, Instant};

use crate::support::{Client, bulk, ok};
use lockproof_lab::binaries::{self, Binary};
use lockproof_lab::proxy::ProxyKind;
use lockproof_lab::proxy::{Cut, LinkAction, toxiproxy};
use lockproof_lab::topology::{
    LinkName, Party, Role, Topology, TopologyError, TopologyKind, TopologyOptions,
};
use lockproof_redis::Reply;

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

fn options(kind: TopologyKind) -> TopologyOptions {
    TopologyOptions::new(kind, servers().remove(0))
}

async fn start(kind: TopologyKind) -> Topology {
    Topology::start(&options(kind)).await.unwrap()
}

/// No server has a client that comes from another server's own address: all come
/// from proxies. And whoever is named by another is named by the door's address.
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

/// Each client reaches the primary by the addresses that it is given.
async fn clients_reach_it(topology: &Topology) {
    for client in 0..topology.options().clients {
        for address in topology.client_addresses(client) {
            let mut connection = Client::connect(address.parse().unwrap()).await.unwrap();
            let key = &topology.options().lock_key;
            let set = connection.ask(&format!("SET {key} v PX 5")).await.unwrap();
            assert_eq!(set, ok());
        }
    }
}

fn processes(topology: &Topology) -> Vec<u32> {
    let servers = topology.nodes().chain(topology.sentinels());
    let pid = |party| topology.server(party).unwrap().pid();
    servers.filter_map(pid).collect()
}

fn is_there(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_topology_comes_up_through_proxies_on_every_server() {
    for binary in servers() {
        for kind in KINDS {
            let begun = Instant::now();
            let options = TopologyOptions::new(kind, binary.clone());
            let mut topology = Topology::start(&options).await.unwrap();
            println!("{binary}: {kind:?} in {:?}", begun.elapsed());
            nobody_bypasses(&topology).await;
            clients_reach_it(&topology).await;
            topology.check_alive().unwrap();
        }
    }
}

mod with_toxiproxy {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_real_toxiproxy_stands_in_every_link_if_asked_for() {
        let program = toxiproxy::find_program(&binaries::tool_directories()).unwrap();
        for kind in [TopologyKind::Masters { nodes: 3 }, SENTINEL, CLUSTER] {
            let begun = Instant::now();
            let options = TopologyOptions {
                proxy: ProxyKind::Toxiproxy(program.clone()),
                ..options(kind)
            };
            let mut topology = Topology::start(&options).await.unwrap();
            println!("{kind:?} through toxiproxy in {:?}", begun.elapsed());
            assert!(
                topology
                    .links()
                    .all(|name| topology.embedded(name).is_none())
            );
            nobody_bypasses(&topology).await;
            clients_reach_it(&topology).await;
            // A proxy that vanishes is told, and not taken for a fault.
            let pid = topology.toxiproxy().unwrap().pid().unwrap();
            topology.check_alive().unwrap();
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            crate::support::until(async || topology.check_alive().is_err()).await;
            let error = topology.check_alive().unwrap_err().to_string();
            assert!(error.contains("toxiproxy-server"), "{error}");
        }
    }
}

#[tokio::test]
async fn nothing_is_left_after_a_drop_whatever_state_it_is_in() {
    let mut topology = start(SENTINEL).await;
    let pids = processes(&topology);
    assert_eq!(pids.len(), 6);
    topology.server(Party::Node(1)).unwrap().pause().unwrap();
    topology.server_mut(Party::Node(2)).unwrap().kill().unwrap();
    let home = topology
        .server(Party::Node(0))
        .unwrap()
        .directory()
        .to_owned();
    drop(topology);
    assert!(!pids.into_iter().any(is_there));
    assert!(!home.exists());
}

#[tokio::test]
async fn a_topology_that_never_becomes_healthy_says_so_in_time_with_its_logs() {
    // A primary without a password refuses who names one; a cluster takes two
    // seconds whatever happens.
    let wrong = ["--masterauth", "wrong"].map(String::from).to_vec();
    let kinds = [TopologyKind::Replicated { replicas: 2 }, CLUSTER];
    for (kind, node_args) in kinds.into_iter().zip([wrong, Vec::new()]) {
        let options = TopologyOptions {
            node_args,
            patience: Duration::from_millis(300),
            ..options(kind)
        };
        let error = Topology::start(&options).await.unwrap_err();
        assert!(matches!(error, TopologyError::Unhealthy { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("--- node-2"), "{text}");
        assert!(text.contains("within 300ms"), "{text}");
    }
}

#[tokio::test]
async fn a_contradiction_is_refused_before_anything_starts() {
    for kind in [
        TopologyKind::Masters { nodes: 0 },
        TopologyKind::Masters { nodes: 1_000 },
        TopologyKind::Sentinel {
            sentinels: 0,
            replicas: 1,
        },
    ] {
        let error = Topology::start(&options(kind)).await.unwrap_err();
        assert!(matches!(error, TopologyError::Options(_)), "{error}");
    }
}

#[tokio::test]
async fn a_server_that_dies_unplanned_is_told_apart_from_a_killed_one() {
    let mut topology = start(TopologyKind::Masters { nodes: 2 }).await;
    topology.server_mut(Party::Node(0)).unwrap().kill().unwrap();
    topology.check_alive().unwrap();
    assert_eq!(topology.missing().await.unwrap(), "node-0 is killed");
    let stop = topology
        .order(Party::Node(1), &["SHUTDOWN", "NOSAVE"])
        .await;
    assert!(stop.is_err(), "a server that goes answers nothing");
    crate::support::until(async || topology.check_alive().is_err()).await;
    let error = topology.check_alive().unwrap_err().to_string();
    assert!(error.starts_with("node-1: "), "{error}");
    assert!(error.contains("ended by itself"), "{error}");
}

#[tokio::test]
async fn a_client_follows_its_virtual_address_and_only_its_own() {
    let mut topology = start(TopologyKind::Replicated { replicas: 1 }).await;
    let address = |topology: &Topology, client| topology.client_addresses(client)[0].parse();
    let mut moved = Client::connect(address(&topology, 0).unwrap())
        .await
        .unwrap();
    let mut stays = Client::connect(address(&topology, 1).unwrap())
        .await
        .unwrap();
    assert_eq!(moved.ask("SET k v").await.unwrap(), ok());
    assert!(stays.ask("PING").await.is_ok());
    topology.point_client(0, 1, true).await.unwrap();
    assert!(moved.reply().await.is_err(), "the old connection lives on");
    assert!(stays.ask("PING").await.is_ok());
    let mut moved = Client::connect(address(&topology, 0).unwrap())
        .await
        .unwrap();
    let refused = moved.ask("SET k w").await.unwrap();
    assert!(format!("{refused:?}").contains("READONLY"), "{refused:?}");
    assert_eq!(
        (topology.pointed(0), topology.pointed(1)),
        (Some(1), Some(0))
    );
}

#[tokio::test]
async fn a_link_is_struck_alone() {
    let topology = start(TopologyKind::Replicated { replicas: 2 }).await;
    let name: LinkName = "node-1>node-0".parse().unwrap();
    let link = topology.link(name).unwrap();
    link.apply(LinkAction::Down).await.unwrap();
    link.apply(LinkAction::Cut(Cut::Rst)).await.unwrap();
    let linked = async |node| match topology.roles().await.remove(&node) {
        Some(Role::Replica { link, .. }) => link == "connected",
        _ => false,
    };
    crate::support::until(async || !linked(1).await).await;
    assert!(linked(2).await);
    let set = topology.order(Party::Node(0), &["SET", "k", "v"]).await;
    set.unwrap();
    let get = async |node| topology.ask(Party::Node(node), &["GET", "k"]).await;
    crate::support::until(async || get(2).await == Some(bulk("v"))).await;
    assert_eq!(get(1).await, Some(Reply::Nil));
    link.apply(LinkAction::Heal).await.unwrap();
    crate::support::until(async || get(1).await == Some(bulk("v"))).await;
    let none: LinkName = "client-9>node-0".parse().unwrap();
    assert!(matches!(topology.link(none), Err(TopologyError::NoLink(_))));
}

#[tokio::test]
async fn a_restarted_replica_comes_back_as_one() {
    for kind in [TopologyKind::Replicated { replicas: 1 }, CLUSTER] {
        let mut topology = start(kind).await;
        let node = match kind {
            CLUSTER => 4,
            _ => 1,
        };
        let server = topology.server_mut(Party::Node(node)).unwrap();
        server.restart().await.unwrap();
        topology
            .wait_healthy(crate::support::PATIENCE)
            .await
            .unwrap();
        assert!(!topology.roles().await[&node].is_primary());
        nobody_bypasses(&topology).await;
    }
}

#[tokio::test]
async fn a_client_that_asks_sentinels_itself_is_served_as_a_guest() {
    let topology = start(SENTINEL).await;
    let sentinels = topology.sentinel_addresses();
    let mut asks = Client::connect(sentinels[1].parse().unwrap())
        .await
        .unwrap();
    let command = "SENTINEL GET-MASTER-ADDR-BY-NAME lockproof";
    let door = topology.announced(Party::Node(0)).unwrap();
    let named = asks.ask(command).await.unwrap();
    let named_address = Reply::Array(vec![bulk("127.0.0.1"), bulk(&door.port().to_string())]);
    assert_eq!(named, named_address);
    let mut guest = Client::connect(door).await.unwrap();
    assert_eq!(guest.ask("SET k v").await.unwrap(), ok());
    // It crosses a link of its own, which can be struck.
    let link = topology.link("guest>node-0".parse().unwrap()).unwrap();
    link.apply(LinkAction::Cut(Cut::Rst)).await.unwrap();
    assert!(guest.ask("PING").await.is_err());
}
