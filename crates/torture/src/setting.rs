//! What a scenario and a lock ask for: servers, faults, clients.

use std::time::Duration;

use lockproof_lab::client::protocol::{ClockMode, Init, PROTOCOL};
use lockproof_lab::monotonic::now_ns;
use lockproof_lab::nemesis::{Plan, Schedule};
use lockproof_lab::server::{Persistence, ServerOptions};
use lockproof_lab::topology::{Topology, TopologyKind, TopologyOptions};
use lockproof_model::lock::LockFile;
use lockproof_trace::owner_of;

use super::actor::Orders;
use super::free::FreeOptions;
use lockproof_scenario::{Kind as Servers, Range, Scenario};

/// The key that all clients compete for on servers of our own; on attached ones it is
/// drawn.
const KEY: &str = "lockproof:lock";
/// A process that did not run for this long has stalled, in ms.
const STALL_MS: u64 = 50;

/// Servers that the lock itself talks to.
pub(super) fn lock_nodes(scenario: &Scenario, lock: &LockFile) -> u32 {
    let expected = scenario.expect.get(&lock.name);
    let nodes = expected
        .and_then(|expected| expected.nodes)
        .or(match scenario.topology.kind {
            Servers::Masters => scenario.topology.nodes,
            _ => None,
        });
    u32::from(nodes.unwrap_or(lock.nodes.default))
}

/// The scenario's servers; a lock that asks for several masters gets them.
pub fn topology_kind(scenario: &Scenario, lock: &LockFile) -> TopologyKind {
    let nodes = lock_nodes(scenario, lock) as u16;
    match scenario.topology.kind {
        Servers::Single | Servers::Masters if nodes > 1 => TopologyKind::Masters { nodes },
        Servers::Single | Servers::Masters => TopologyKind::Single,
        Servers::Replicated => TopologyKind::Replicated {
            replicas: u16::from(scenario.topology.replicas.unwrap_or(1)),
        },
        Servers::Sentinel => TopologyKind::Sentinel {
            sentinels: 3,
            replicas: 2,
        },
        Servers::Cluster => TopologyKind::Cluster {
            primaries: 3,
            replicas: 3,
        },
    }
}

pub(super) fn topology_options(options: &FreeOptions) -> TopologyOptions {
    let scenario = &options.scenario;
    let persistence = Persistence::from_name(scenario.topology.persistence.name());
    TopologyOptions {
        persistence: persistence.unwrap_or(Persistence::None),
        node_args: node_arguments(scenario),
        // One more for the probe after the run.
        clients: scenario.clients.count as u16 + 1,
        proxy: options.ground.proxy.clone(),
        clocks: Some(options.ground.library.clone()),
        lock_key: KEY.into(),
        latency_ms: scenario.topology.latency_ms,
        attach: options.ground.attach.clone(),
        seed: options.seed,
        ..TopologyOptions::new(
            topology_kind(&options.scenario, &options.lock),
            options.ground.server.clone(),
        )
    }
}

/// What the servers ask of their replicas.
fn node_arguments(scenario: &Scenario) -> Vec<String> {
    let topology = &scenario.topology;
    let Some(replicas) = topology.min_replicas_to_write else {
        return Vec::new();
    };
    let lag_s = topology.min_replicas_max_lag_s.unwrap_or(10);
    vec![
        "--min-replicas-to-write".into(),
        replicas.to_string(),
        "--min-replicas-max-lag".into(),
        lag_s.to_string(),
    ]
}

pub(super) fn store_options(options: &FreeOptions) -> ServerOptions {
    ServerOptions::new(options.ground.server.clone())
}

/// The schedule of this seed.
pub fn schedule(options: &FreeOptions) -> Schedule {
    let nemesis = &options.scenario.nemesis;
    let range = |range: Range| (u64::from(range.0), u64::from(range.1));
    let plan = Plan {
        kind: topology_kind(&options.scenario, &options.lock),
        clients: options.scenario.clients.count as u16,
        faults: nemesis.faults.clone(),
        quiet_ms: range(nemesis.quiet_ms),
        fault_ms: range(nemesis.fault_ms),
        together: nemesis.together,
        when: nemesis.when,
        growing: nemesis.growing,
    };
    Schedule::generate(options.seed, &plan, options.duration.as_millis() as u64)
}

pub(super) fn orders(
    options: &FreeOptions,
    topology: &Topology,
    client: u32,
    store: std::net::SocketAddr,
    (began_ns, until_ns): (u64, u64),
) -> Orders {
    let scenario = &options.scenario;
    let workload = &scenario.workload;
    let seed = options
        .seed
        .wrapping_mul(1_000_003)
        .wrapping_add(u64::from(client));
    let owner = owner_of(client as u8, scenario.clients.shared_owner);
    Orders {
        process: client,
        adapter: (options.ground.program.clone(), vec!["worker".into()]),
        init: Init {
            id: 0,
            protocol: PROTOCOL.into(),
            client: client as u8,
            owner: format!("client-{owner}"),
            nodes: topology.client_addresses(client as u16),
            key: topology.options().lock_key.clone(),
            ttl_ms: scenario.clients.ttl_ms,
            timeout_ms: scenario.clients.timeout_ms,
            params: options.lock.params.clone(),
            lock: Some(options.lock.path.clone()),
            notes: None,
            clock: ClockMode::Real,
            epoch_ms: None,
            seed,
        },
        store,
        workload: workload.kind,
        work_ms: workload.work_ms,
        rest_ms: workload.rest_ms,
        nested: workload.nested && options.lock.reentrant,
        within_validity: workload.within_validity,
        round_ms: workload.round_ms,
        seed,
        began_ns,
        until_ns,
        acquires_max: None,
        stall_ms: STALL_MS,
    }
}

/// After healing: can anybody acquire?
pub(super) fn orders_of_probe(
    options: &FreeOptions,
    topology: &Topology,
    store: std::net::SocketAddr,
    began_ns: u64,
) -> Orders {
    let client = options.scenario.clients.count;
    let patience_ns = (3 * options.scenario.clients.ttl_ms as u64 + 2000) * 1_000_000;
    let until_ns = now_ns() + patience_ns + ttl(options).as_nanos() as u64;
    Orders {
        acquires_max: Some(1),
        work_ms: Range(0, 0),
        rest_ms: Range(20, 20),
        nested: false,
        ..orders(options, topology, client, store, (began_ns, until_ns))
    }
}

pub(super) fn ttl(options: &FreeOptions) -> Duration {
    Duration::from_millis(options.scenario.clients.ttl_ms as u64)
}

/// How long after the end of a run a client may still be busy.
pub(super) fn patience_ms(options: &FreeOptions) -> u64 {
    let clients = &options.scenario.clients;
    let work = u64::from(options.scenario.workload.work_ms.1);
    let operations = 4
        * (clients.timeout_ms as u64 + 1)
        * u64::from(lock_nodes(&options.scenario, &options.lock));
    work + operations + 5000
}
