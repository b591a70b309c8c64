//! What a topology is to look like.

use std::time::Duration;

use tokio::sync::mpsc::UnboundedSender;

use super::super::binaries::Binary;
use super::super::clock::Library;
use super::super::proxy::ProxyKind;
use super::super::proxy::event::ProxyEvent;
use super::super::server::Persistence;
use super::attachment::Attachment;

/// Which servers there are and how they belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopologyKind {
    /// One server.
    Single,
    /// Servers that know nothing of each other, as Redlock wants them.
    Masters {
        /// How many.
        nodes: u16,
    },
    /// A primary, node 0 at first, and replicas. Nobody promotes but the harness.
    Replicated {
        /// How many replicas.
        replicas: u16,
    },
    /// A primary, node 0 at first, with replicas, and Sentinels over them.
    Sentinel {
        /// How many Sentinels; more than half of them must agree.
        sentinels: u16,
        /// How many replicas.
        replicas: u16,
    },
    /// A Redis Cluster; nodes 0.. are the primaries at first, and each replica
    /// belongs to a primary in turn.
    Cluster {
        /// How many primaries; fewer than three can promote nobody.
        primaries: u16,
        /// How many replicas in all.
        replicas: u16,
    },
}

impl TopologyKind {
    /// Servers that hold data.
    pub fn nodes(self) -> u16 {
        match self {
            TopologyKind::Single => 1,
            TopologyKind::Masters { nodes } => nodes,
            TopologyKind::Replicated { replicas } | TopologyKind::Sentinel { replicas, .. } => {
                1 + replicas
            }
            TopologyKind::Cluster {
                primaries,
                replicas,
            } => primaries + replicas,
        }
    }

    /// Sentinels.
    pub fn sentinels(self) -> u16 {
        match self {
            TopologyKind::Sentinel { sentinels, .. } => sentinels,
            _ => 0,
        }
    }

    /// True if the nodes talk to each other, so that another may become primary.
    pub fn replicates(self) -> bool {
        !matches!(self, TopologyKind::Single | TopologyKind::Masters { .. })
    }
}

/// How to start a topology.
#[derive(Clone, Debug)]
pub struct TopologyOptions {
    /// Which servers.
    pub kind: TopologyKind,
    /// The server program; a Sentinel is the same program.
    pub binary: Binary,
    /// What a restart of a node keeps.
    pub persistence: Persistence,
    /// How many clients get links of their own.
    pub clients: u16,
    /// Which proxy.
    pub proxy: ProxyKind,
    /// The clock library; with it every node has a clock of its own, which runs
    /// from true time. `None` leaves them on the machine's clock, where clock
    /// faults cannot be had.
    pub clocks: Option<Library>,
    /// In a cluster, clients are led to the node that owns this key's slot.
    pub lock_key: String,
    /// How far clients are from the servers: for so many ms every byte between them is
    /// on its way, each way. No fault ends it.
    pub latency_ms: u32,
    /// After how many ms of silence Sentinels and cluster nodes take a node for
    /// down. Shorter than the stalls of a busy machine means failovers that
    /// nobody asked for.
    pub down_after_ms: u32,
    /// Settings of every node as arguments, `--name` and value in turn. Attached servers must
    /// have them already.
    pub node_args: Vec<String>,
    /// Where the embedded proxies of client links tell what passes.
    pub events: Option<UnboundedSender<ProxyEvent>>,
    /// Decides the jitter of embedded proxies.
    pub seed: u64,
    /// How long the whole may take to come up.
    pub patience: Duration,
    /// Servers that are there already. Of the options above only the kind, the
    /// number of clients and their distance then count; the lock's key is drawn.
    pub attach: Option<Attachment>,
}

impl TopologyOptions {
    /// Two clients, embedded proxies, no persistence, the machine's clock, 500 ms
    /// until a node counts as down.
    pub fn new(kind: TopologyKind, binary: Binary) -> TopologyOptions {
        TopologyOptions {
            kind,
            binary,
            persistence: Persistence::None,
            clients: 2,
            proxy: ProxyKind::Embedded,
            clocks: None,
            lock_key: "lock".into(),
            latency_ms: 0,
            down_after_ms: 500,
            node_args: Vec::new(),
            events: None,
            seed: 1,
            patience: Duration::from_secs(20),
            attach: None,
        }
    }
}
