//! Claims about the nemesis: each fault does what it says, and heals.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::nemesis::*;
use crate::support::{Client, bulk, ok};
use lockproof_lab::binaries::{self, Binary};
use lockproof_lab::clock::Library;
use lockproof_lab::nemesis::{Bytes, Clients, FaultSpec, Field, How, NemesisError, NoClients};
use lockproof_lab::process;
use lockproof_lab::proxy::ProxyKind;
use lockproof_lab::proxy::toxiproxy;
use lockproof_lab::server::Persistence;
use lockproof_lab::topology::{Party, Topology, TopologyKind, TopologyOptions};
use lockproof_redis::Reply;

async fn masters(proxy: ProxyKind) -> Topology {
    let kind = TopologyKind::Masters { nodes: 3 };
    let options = TopologyOptions {
        proxy,
        ..options(kind)
    };
    Topology::start(&options).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_stops_what_it_says_and_nothing_else() {
    partition(masters(ProxyKind::Embedded).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn link_faults_do_what_they_say_and_end() {
    link_faults(masters(ProxyKind::Embedded).await).await;
}

/// The same through somebody else's proxy.
mod with_toxiproxy {
    use super::*;

    async fn masters() -> Topology {
        let program = toxiproxy::find_program(&binaries::tool_directories()).unwrap();
        super::masters(ProxyKind::Toxiproxy(program)).await
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_partition_stops_what_it_says_and_nothing_else() {
        partition(masters().await).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn link_faults_do_what_they_say_and_end() {
        link_faults(masters().await).await;
    }
}

async fn partition(mut topology: Topology) {
    for bytes in [Bytes::Late, Bytes::Lost] {
        let spec = FaultSpec::Partition {
            between: one("client-0"),
            and: one("node-1"),
            one_way: false,
            bytes,
        };
        let mut cut_off = client(&topology, 0, 1).await;
        assert!(cut_off.ask("PING").await.is_ok());
        with(&mut topology, &mut NoClients, spec, async |topology| {
            cut_off.send(&format!("SET {bytes:?} 1")).await.unwrap();
            assert!(cut_off.has_nothing().await);
            assert!(works(topology, 0, 0).await && works(topology, 1, 1).await);
            assert!(!works(topology, 0, 1).await);
        })
        .await;
        // A short one delivers late, a long one not at all.
        let reply = cut_off.reply().await;
        assert_eq!(reply.ok(), (bytes == Bytes::Late).then(ok));
        let kept = get(&topology, 1, &format!("{bytes:?}")).await;
        assert_eq!(kept == bulk("1"), bytes == Bytes::Late);
        assert!(works(&topology, 0, 1).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_one_way_partition_lets_the_other_way_pass() {
    let mut topology = start(TopologyKind::Single).await;
    let spec = |between, and| FaultSpec::Partition {
        between: one(between),
        and: one(and),
        one_way: true,
        bytes: Bytes::Lost,
    };
    let mut client_0 = client(&topology, 0, 0).await;
    let spec = spec("node-0", "client-0");
    with(&mut topology, &mut NoClients, spec, async |topology| {
        client_0.send("SET heard 1").await.unwrap();
        assert!(client_0.has_nothing().await);
        assert_eq!(get(topology, 0, "heard").await, bulk("1"));
    })
    .await;
}

async fn link_faults(mut topology: Topology) {
    let (between, and) = (|| one("clients"), || one("node-0"));
    let timed = async |topology: &Topology, command: &str| {
        let mut client = client(topology, 0, 0).await;
        let begun = Instant::now();
        client.ask(command).await.unwrap();
        begun.elapsed()
    };
    let slow = FaultSpec::SlowNetwork {
        between: between(),
        and: and(),
        latency_ms: 30,
        jitter_ms: 5,
    };
    with(&mut topology, &mut NoClients, slow, async |topology| {
        assert!(timed(topology, "PING").await >= Duration::from_millis(50));
    })
    .await;
    let narrow = FaultSpec::Bandwidth {
        between: between(),
        and: and(),
        kb_per_s: 100,
    };
    with(&mut topology, &mut NoClients, narrow, async |topology| {
        let long = format!("ECHO {}", "x".repeat(8_000));
        assert!(timed(topology, &long).await >= Duration::from_millis(80));
    })
    .await;
    let mut struck = client(&topology, 0, 0).await;
    let mut spared = client(&topology, 0, 1).await;
    assert!(struck.ask("PING").await.is_ok() && spared.ask("PING").await.is_ok());
    let reset = FaultSpec::Reset {
        between: between(),
        and: and(),
    };
    with(&mut topology, &mut NoClients, reset, async |_| {
        let ended = struck.reply().await.unwrap_err();
        assert_eq!(ended.kind(), std::io::ErrorKind::ConnectionReset);
        assert!(spared.ask("PING").await.is_ok());
    })
    .await;
    let refuse = FaultSpec::Refuse {
        between: between(),
        and: and(),
    };
    with(&mut topology, &mut NoClients, refuse, async |topology| {
        assert!(!works(topology, 0, 0).await && works(topology, 0, 1).await);
    })
    .await;
    let limit = FaultSpec::DataLimit {
        between: between(),
        and: and(),
        bytes: 20,
    };
    with(&mut topology, &mut NoClients, limit, async |topology| {
        let mut client = client(topology, 1, 0).await;
        assert!(client.ask("PING").await.is_ok());
        assert!(client.ask("PING").await.is_err());
    })
    .await;
    let late = FaultSpec::SlowClose {
        between: between(),
        and: and(),
        ms: 60,
    };
    with(&mut topology, &mut NoClients, late, async |topology| {
        let mut client = client(topology, 1, 0).await;
        let begun = Instant::now();
        assert_eq!(client.ask("QUIT").await.unwrap(), ok());
        assert!(client.reply().await.is_err());
        assert!(begun.elapsed() >= Duration::from_millis(60));
    })
    .await;
    assert!(works(&topology, 0, 0).await && works(&topology, 1, 0).await);
}

#[tokio::test]
async fn a_paused_server_applies_later_what_came_meanwhile() {
    let mut topology = start(TopologyKind::Single).await;
    let mut late = client(&topology, 0, 0).await;
    assert!(late.ask("PING").await.is_ok());
    let spec = FaultSpec::ServerPause {
        servers: one("primary"),
    };
    with(&mut topology, &mut NoClients, spec, async |_| {
        late.send("SET late 1").await.unwrap();
        assert!(late.has_nothing().await);
    })
    .await;
    assert_eq!(late.reply().await.unwrap(), ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_and_a_power_loss_lose_what_the_persistence_says() {
    for (persistence, after_restart, after_power_loss) in [
        (Persistence::None, false, false),
        (Persistence::Everysec, true, false),
        (Persistence::Always, true, true),
    ] {
        let options = TopologyOptions {
            persistence,
            ..options(TopologyKind::Single)
        };
        let mut topology = Topology::start(&options).await.unwrap();
        let set = async |topology: &Topology, key| {
            let set = topology.order(Party::Node(0), &["SET", key, "1"]).await;
            set.unwrap();
        };
        set(&topology, "early").await;
        let spec = FaultSpec::NodeRestart {
            servers: one("node-0"),
        };
        with(&mut topology, &mut NoClients, spec, async |topology| {
            assert!(!works(topology, 0, 0).await);
        })
        .await;
        let early = get(&topology, 0, "early").await == bulk("1");
        assert_eq!(early, after_restart, "{persistence:?}");

        let spec = FaultSpec::PowerLoss {
            servers: one("node-0"),
            // The write comes in the middle, also on a busy machine.
            lost_ms: 1_000,
        };
        let mut writer = client(&topology, 0, 0).await;
        let write = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            writer.ask("SET late 1").await.unwrap();
        };
        let nobody = &mut NoClients;
        let strike = with(&mut topology, nobody, spec, async |_| {});
        tokio::join!(write, strike);
        let late = get(&topology, 0, "late").await == bulk("1");
        assert_eq!(late, after_power_loss, "{persistence:?}");
        let early = get(&topology, 0, "early").await == bulk("1");
        assert_eq!(early, after_restart, "{persistence:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flush_takes_all_keys_of_a_primary_and_of_its_replica() {
    let options = options(TopologyKind::Replicated { replicas: 1 });
    let mut topology = Topology::start(&options).await.unwrap();
    let set = ["SET", "lease", "1", "PX", "20000"];
    topology.order(Party::Node(0), &set).await.unwrap();
    topology
        .order(Party::Node(0), &["WAIT", "1", "5000"])
        .await
        .unwrap();
    let all = FaultSpec::NodeFlush {
        servers: one("nodes"),
    };
    with(&mut topology, &mut NoClients, all, async |topology| {
        topology
            .order(Party::Node(0), &["WAIT", "1", "5000"])
            .await
            .unwrap();
        for node in [0, 1] {
            assert_eq!(get(topology, node, "lease").await, Reply::Nil);
        }
    })
    .await;
    let replica = FaultSpec::NodeFlush {
        servers: one("node-1"),
    };
    let mut nobody = NoClients;
    let mut field = Field::new(&mut topology, &mut nobody);
    let refused = replica.build().start(&mut field).await.unwrap_err();
    assert!(refused.to_string().contains("READONLY"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_fault_moves_the_clock_of_one_server_on_every_server() {
    let library = Library::built_in().unwrap();
    for binary in servers() {
        let options = TopologyOptions {
            clocks: Some(library.clone()),
            ..TopologyOptions::new(TopologyKind::Masters { nodes: 2 }, binary)
        };
        let mut topology = Topology::start(&options).await.unwrap();
        for node in topology.nodes() {
            let lease = ["SET", "lease", "1", "PX", "20000"];
            topology.order(node, &lease).await.unwrap();
        }
        let jump = FaultSpec::ClockJump {
            servers: one("node-0"),
            ms: 30_000,
        };
        with(&mut topology, &mut NoClients, jump, async |topology| {
            assert_eq!(get(topology, 0, "lease").await, Reply::Nil);
            assert_eq!(get(topology, 1, "lease").await, bulk("1"));
        })
        .await;
        let drift = FaultSpec::ClockDrift {
            servers: one("node-1"),
            rate_millionths: 100_000_000,
        };
        with(&mut topology, &mut NoClients, drift, async |topology| {
            // Twenty seconds in two tenths.
            crate::support::until(async || get(topology, 1, "lease").await == Reply::Nil).await;
        })
        .await;
        let off = |node| {
            topology
                .server(Party::Node(node))
                .unwrap()
                .clock()
                .unwrap()
                .now_ms()
        };
        assert!((off(0) - off(1)).abs() < 1_000, "a clock was not set right");
    }
    let mut topology = start(TopologyKind::Single).await;
    let clients = &mut NoClients;
    let jump = FaultSpec::ClockJump {
        servers: one("node-0"),
        ms: 1,
    };
    let mut field = Field::new(&mut topology, clients);
    let error = jump.build().start(&mut field).await.unwrap_err();
    assert!(error.to_string().contains("with clocks"), "{error}");
}

/// Client processes that only wait.
struct Sleepers {
    processes: Vec<process::Reaped>,
    skews: Vec<i64>,
}

impl Sleepers {
    fn start(count: usize) -> Sleepers {
        Sleepers {
            processes: (0..count).map(|_| sleeper()).collect(),
            skews: vec![0; count],
        }
    }
}

fn sleeper() -> process::Reaped {
    let mut command = Command::new("sleep");
    command.arg("600");
    process::Reaped::new(process::spawn(command).unwrap())
}

impl Clients for Sleepers {
    fn pause(&mut self, client: u16) -> std::io::Result<()> {
        self.processes[usize::from(client)].stop()
    }

    fn resume(&mut self, client: u16) -> std::io::Result<()> {
        self.processes[usize::from(client)].resume()
    }

    fn kill(&mut self, client: u16) -> std::io::Result<()> {
        self.processes[usize::from(client)].kill()
    }

    fn restart(&mut self, client: u16, _: bool) -> std::io::Result<()> {
        self.processes[usize::from(client)] = sleeper();
        Ok(())
    }

    fn skew(&mut self, client: u16, ms: i64) -> std::io::Result<()> {
        let none = || std::io::Error::other("this client has no clock");
        *self.skews.get_mut(usize::from(client)).ok_or_else(none)? = ms;
        Ok(())
    }
}

fn state(process: &process::Reaped) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.pid())).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Starts a fault, looks, and heals it.
async fn struck(
    topology: &mut Topology,
    clients: &mut Sleepers,
    spec: FaultSpec,
    look: impl FnOnce(&Sleepers),
) {
    let mut fault = spec.build();
    let mut field = Field::new(&mut *topology, &mut *clients);
    fault.start(&mut field).await.unwrap();
    look(clients);
    let mut field = Field::new(topology, clients);
    fault.heal(&mut field).await.unwrap();
}

#[tokio::test]
async fn client_processes_are_stopped_killed_replaced_and_skewed() {
    let mut topology = start(TopologyKind::Single).await;
    let mut clients = Sleepers::start(2);
    let pause = FaultSpec::ClientPause {
        clients: one("client-0"),
    };
    struck(&mut topology, &mut clients, pause, |clients| {
        assert_eq!(state(&clients.processes[0]), Some('T'));
        assert_ne!(state(&clients.processes[1]), Some('T'));
    })
    .await;
    assert_ne!(state(&clients.processes[0]), Some('T'));
    let (kept, killed) = (clients.processes[0].pid(), clients.processes[1].pid());
    let crash = FaultSpec::ClientCrash {
        clients: one("client-1"),
    };
    struck(&mut topology, &mut clients, crash, |clients| {
        assert_eq!(state(&clients.processes[1]), None);
    })
    .await;
    assert_eq!(clients.processes[0].pid(), kept);
    assert_ne!(clients.processes[1].pid(), killed);
    assert!(state(&clients.processes[1]).is_some());
    let skew = FaultSpec::ClientSkew {
        clients: one("client-0"),
        ms: -60_000,
    };
    struck(&mut topology, &mut clients, skew, |clients| {
        assert_eq!(clients.skews, [-60_000, 0]);
    })
    .await;
    assert_eq!(clients.skews, [0, 0]);
    clients.skews.pop();
    let skew = FaultSpec::ClientSkew {
        clients: one("client-1"),
        ms: -60_000,
    };
    let mut field = Field::new(&mut topology, &mut clients);
    let error = skew.build().start(&mut field).await.unwrap_err();
    assert!(error.to_string().contains("clock of client 1"), "{error}");
}

#[tokio::test]
async fn wait_times_out_while_replication_is_cut_and_the_write_stays() {
    let mut topology = start(REPLICATED).await;
    let wait = async |topology: &Topology, key: &str, ms: u32| {
        let mut client = client(topology, 0, 0).await;
        client.ask(&format!("SET {key} 1")).await.unwrap();
        client.ask(&format!("WAIT 2 {ms}")).await.unwrap()
    };
    assert_eq!(wait(&topology, "before", 20_000).await, Reply::Int(2));
    let spec = FaultSpec::WaitTimeout {};
    with(&mut topology, &mut NoClients, spec, async |topology| {
        assert_eq!(wait(topology, "cut", 150).await, Reply::Int(0));
        assert_eq!(get(topology, 0, "cut").await, bulk("1"));
        assert_eq!(get(topology, 1, "cut").await, Reply::Nil);
    })
    .await;
    crate::support::until(async || get(&topology, 1, "cut").await == bulk("1")).await;
}

/// A write that is acknowledged while replication lags is lost by the failover.
#[tokio::test(flavor = "multi_thread")]
async fn a_manual_failover_loses_what_replication_had_not_carried() {
    for how in [How::Dead, How::Frozen, How::CutOff, How::Writable] {
        let mut topology = start(REPLICATED).await;
        let mut writer = client(&topology, 0, 0).await;
        writer.ask("SET early 1").await.unwrap();
        assert_ne!(writer.ask("WAIT 2 5000").await.unwrap(), Reply::Int(0));
        let mut stays = client(&topology, 1, 0).await;
        assert!(stays.ask("PING").await.is_ok());
        let write = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert_eq!(writer.ask("SET late 1").await.unwrap(), ok());
        };
        let spec = FaultSpec::Failover {
            how,
            lag_ms: 1_000,
            stay: one("client-1"),
        };
        let nobody = &mut NoClients;
        let strike = with(&mut topology, nobody, spec, async |topology| {
            let primary = topology.primary().await.unwrap();
            assert_ne!(primary, 0);
            assert_eq!(get(topology, primary, "early").await, bulk("1"));
            assert_eq!(get(topology, primary, "late").await, Reply::Nil);
            let mut moved = client(topology, 0, 0).await;
            assert_eq!(moved.ask("SET k new").await.unwrap(), ok());
            match how {
                How::CutOff | How::Writable => {
                    assert_eq!(stays.ask("SET k old").await.unwrap(), ok(), "{how:?}");
                }
                _ => assert_eq!(topology.pointed(1), Some(0)),
            }
        });
        tokio::join!(write, strike);
        topology
            .wait_healthy(crate::support::PATIENCE)
            .await
            .unwrap();
        let primary = topology.primary().await.unwrap();
        assert_eq!(topology.pointed(1), Some(primary));
        assert_eq!(get(&topology, 0, "k").await, bulk("new"), "{how:?}");
    }
}

/// What a node's configuration says.
async fn setting(topology: &Topology, node: u16, name: &str) -> String {
    match topology
        .ask(Party::Node(node), &["CONFIG", "GET", name])
        .await
    {
        Some(Reply::Array(words)) => match words.last() {
            Some(Reply::Bulk(value)) => String::from_utf8_lossy(value).into_owned(),
            other => panic!("{name}: {other:?}"),
        },
        other => panic!("{name}: {other:?}"),
    }
}

/// While Sentinel or an operator tells replicas whom to follow, nobody follows.
#[tokio::test(flavor = "multi_thread")]
async fn a_failover_waits_until_a_replica_follows_again() {
    let mut topology = start(REPLICATED).await;
    let mut replicas = Vec::new();
    for node in [1, 2] {
        let followed = setting(&topology, node, "replicaof").await;
        let port: u16 = setting(&topology, node, "port").await.parse().unwrap();
        let mut replica = Client::connect(([127, 0, 0, 1], port).into())
            .await
            .unwrap();
        assert_eq!(replica.ask("REPLICAOF NO ONE").await.unwrap(), ok());
        replicas.push((replica, followed));
    }
    let follow = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        for (replica, followed) in &mut replicas {
            let again = format!("REPLICAOF {followed}");
            assert_eq!(replica.ask(&again).await.unwrap(), ok());
        }
    };
    let spec = FaultSpec::Failover {
        how: How::Dead,
        lag_ms: 0,
        stay: vec![],
    };
    let nobody = &mut NoClients;
    let strike = with(&mut topology, nobody, spec, async |topology| {
        assert_ne!(topology.primary().await.unwrap(), 0);
    });
    tokio::join!(follow, strike);
}

/// Failovers on one server program, each healed before the next.
async fn fails_over(binary: Binary, kind: TopologyKind, hows: &[How]) {
    let options = TopologyOptions::new(kind, binary.clone());
    let mut topology = Topology::start(&options).await.unwrap();
    for how in hows.iter().copied() {
        let old = topology.primary().await.unwrap();
        let set = format!("SET {} {how:?}", options.lock_key);
        let spec = FaultSpec::Failover {
            how,
            lag_ms: 0,
            stay: vec![],
        };
        let begun = Instant::now();
        with(&mut topology, &mut NoClients, spec, async |topology| {
            println!("{binary}: {kind:?} {how:?} in {:?}", begun.elapsed());
            assert_ne!(topology.primary().await.unwrap(), old);
            let mut moved = client(topology, 0, 0).await;
            // A cluster is whole again only a moment after its slots are.
            crate::support::until(async || moved.ask(&set).await.is_ok_and(|reply| reply == ok()))
                .await;
        })
        .await;
        follows_again(&topology, old).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sentinel_promotes_on_every_server() {
    for binary in servers() {
        fails_over(binary, SENTINEL, &[How::Dead]).await;
    }
    fails_over(servers().remove(0), SENTINEL, &[How::Command]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_promotes_on_every_server() {
    for binary in servers() {
        fails_over(binary, CLUSTER, &[How::Command, How::Force, How::Dead]).await;
    }
}

/// Split brain under Sentinel: the old primary wakes up and still takes writes.
#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_wakes_up_beside_its_heir_takes_writes() {
    let mut topology = start(SENTINEL).await;
    let mut stays = client(&topology, 1, 0).await;
    assert!(stays.ask("PING").await.is_ok());
    let spec = FaultSpec::Failover {
        how: How::Writable,
        lag_ms: 0,
        stay: one("client-1"),
    };
    with(&mut topology, &mut NoClients, spec, async |topology| {
        assert_eq!(stays.ask("SET k old").await.unwrap(), ok());
        let mut moved = client(topology, 0, 0).await;
        assert_eq!(moved.ask("SET k new").await.unwrap(), ok());
    })
    .await;
    follows_again(&topology, 0).await;
    crate::support::until(async || get(&topology, 0, "k").await == bulk("new")).await;
}

#[tokio::test]
async fn what_a_topology_does_not_have_is_said() {
    let mut topology = start(TopologyKind::Single).await;
    let failover = |how| FaultSpec::Failover {
        how,
        lag_ms: 0,
        stay: vec![],
    };
    let partition = FaultSpec::Partition {
        between: one("node-0"),
        and: one("node-1"),
        one_way: false,
        bytes: Bytes::Lost,
    };
    for spec in [failover(How::Dead), failover(How::Force), partition] {
        let mut nobody = NoClients;
        let mut field = Field::new(&mut topology, &mut nobody);
        let error = spec.build().start(&mut field).await.unwrap_err();
        assert!(
            matches!(error, NemesisError::NotApplicable { .. }),
            "{error}"
        );
    }
    let undrawn = FaultSpec::ServerPause {
        servers: one("some-node"),
    };
    let mut nobody = NoClients;
    let mut field = Field::new(&mut topology, &mut nobody);
    let error = undrawn.build().start(&mut field).await.unwrap_err();
    assert!(matches!(error, NemesisError::Undrawn(_)), "{error}");
}
