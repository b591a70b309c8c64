//! Faults as a schedule writes them.
//!
//! A spec is data: it can be kept, compared and read by a person. What strikes is
//! the [`Injection`] that is built from it.

// A new fault or move must not slip through.
#![deny(clippy::wildcard_enum_match_arm)]

use serde::{Deserialize, Serialize};

use super::Injection;
use super::client_crash::ClientCrash;
use super::client_pause::ClientPause;
use super::client_skew::ClientSkew;
use super::clock_drift::ClockDrift;
use super::clock_jump::ClockJump;
use super::failover::{Failover, How};
use super::links::{LinkFault, LinkHarm};
use super::node_restart::NodeRestart;
use super::partition::{Bytes, Partition};
use super::power_loss::PowerLoss;
use super::server_pause::ServerPause;
use super::target::Target;
use super::wait_timeout::WaitTimeout;
use crate::topology::TopologyKind;

/// One fault and whom it strikes. `between` and `and` are the two groups whose
/// links are struck.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // the groups mean the same everywhere
pub enum FaultSpec {
    /// Bytes stop; `one_way` stops only what `between` says.
    Partition {
        between: Vec<Target>,
        and: Vec<Target>,
        one_way: bool,
        bytes: Bytes,
    },
    /// Bytes are late, one way by `latency_ms` plus or minus up to `jitter_ms`.
    SlowNetwork {
        between: Vec<Target>,
        and: Vec<Target>,
        latency_ms: u32,
        jitter_ms: u32,
    },
    /// Bytes trickle, each way at `kb_per_s` kB a second.
    Bandwidth {
        between: Vec<Target>,
        and: Vec<Target>,
        kb_per_s: u32,
    },
    /// Connections are reset, once.
    Reset {
        between: Vec<Target>,
        and: Vec<Target>,
    },
    /// Connections are ended, and new ones refused.
    Refuse {
        between: Vec<Target>,
        and: Vec<Target>,
    },
    /// Ends of connections are `ms` late.
    SlowClose {
        between: Vec<Target>,
        and: Vec<Target>,
        ms: u32,
    },
    /// Connections end after `bytes` each way.
    DataLimit {
        between: Vec<Target>,
        and: Vec<Target>,
        bytes: u64,
    },
    /// Clients stand still.
    ClientPause { clients: Vec<Target> },
    /// Clients die, and are replaced when it heals.
    ClientCrash { clients: Vec<Target> },
    /// Clients die, and start again with the same owner ids when it heals.
    ClientRestart { clients: Vec<Target> },
    /// Clients' wall clocks are off by `ms`.
    ClientSkew { clients: Vec<Target>, ms: i64 },
    /// Servers stand still.
    ServerPause { servers: Vec<Target> },
    /// Servers die, and are restarted when it heals.
    NodeRestart { servers: Vec<Target> },
    /// Servers lose what they wrote in the last `lost_ms`, and die.
    PowerLoss { servers: Vec<Target>, lost_ms: u32 },
    /// Servers' wall clocks leap by `ms`.
    ClockJump { servers: Vec<Target>, ms: i64 },
    /// Servers' wall clocks run at `rate_millionths` of true speed.
    ClockDrift {
        servers: Vec<Target>,
        rate_millionths: u32,
    },
    /// Another node becomes primary; replication stopped `lag_ms` before, and the
    /// clients in `stay` do not hear of it.
    Failover {
        how: How,
        lag_ms: u32,
        stay: Vec<Target>,
    },
    /// Replication from the primary stops.
    WaitTimeout {},
}

impl FaultSpec {
    /// Its catalogue name.
    pub fn name(&self) -> &'static str {
        self.build().name()
    }

    /// The fault that strikes.
    pub fn build(&self) -> Box<dyn Injection> {
        let link = |name, harm, between: &[Target], and: &[Target]| -> Box<dyn Injection> {
            Box::new(LinkFault::new(name, harm, between, and))
        };
        match self {
            FaultSpec::Partition {
                between,
                and,
                one_way,
                bytes,
            } => Box::new(Partition::new(between, and, *one_way, *bytes)),
            FaultSpec::ClientPause { clients } => Box::new(ClientPause::new(clients)),
            FaultSpec::ClientCrash { clients } => Box::new(ClientCrash::new(clients)),
            FaultSpec::ClientRestart { clients } => Box::new(ClientCrash::and_restart(clients)),
            FaultSpec::ClientSkew { clients, ms } => Box::new(ClientSkew::new(clients, *ms)),
            FaultSpec::ServerPause { servers } => Box::new(ServerPause::new(servers)),
            FaultSpec::NodeRestart { servers } => Box::new(NodeRestart::new(servers)),
            FaultSpec::PowerLoss { servers, lost_ms } => {
                Box::new(PowerLoss::new(servers, *lost_ms))
            }
            FaultSpec::ClockJump { servers, ms } => Box::new(ClockJump::new(servers, *ms)),
            FaultSpec::ClockDrift {
                servers,
                rate_millionths,
            } => Box::new(ClockDrift::new(servers, *rate_millionths)),
            FaultSpec::Failover { how, lag_ms, stay } => {
                Box::new(Failover::new(*how, *lag_ms, stay))
            }
            FaultSpec::WaitTimeout {} => Box::new(WaitTimeout::new()),
            FaultSpec::SlowNetwork {
                between,
                and,
                latency_ms,
                jitter_ms,
            } => {
                let harm = LinkHarm::Slow {
                    latency_ms: *latency_ms,
                    jitter_ms: *jitter_ms,
                };
                link("slow-network", harm, between, and)
            }
            FaultSpec::Bandwidth {
                between,
                and,
                kb_per_s,
            } => {
                let harm = LinkHarm::Bandwidth {
                    kb_per_s: *kb_per_s,
                };
                link("bandwidth", harm, between, and)
            }
            FaultSpec::Reset { between, and } => link("reset", LinkHarm::Reset, between, and),
            FaultSpec::Refuse { between, and } => link("refuse", LinkHarm::Refuse, between, and),
            FaultSpec::SlowClose { between, and, ms } => {
                link("slow-close", LinkHarm::SlowClose { ms: *ms }, between, and)
            }
            FaultSpec::DataLimit {
                between,
                and,
                bytes,
            } => {
                let harm = LinkHarm::DataLimit { bytes: *bytes };
                link("data-limit", harm, between, and)
            }
        }
    }

    /// Why this cannot be done to servers that lockproof did not start; `None` if
    /// it can.
    pub fn impossible_when_attached(&self, kind: TopologyKind) -> Option<&'static str> {
        const PROCESS: &str = "it strikes a server's process, and an attached one is not ours";
        const CLOCK: &str = "it sets a server's clock, and an attached one is not ours";
        const LINK: &str = "no proxy stands between the servers of an attached Sentinel or cluster";
        let linked = !matches!(
            kind,
            TopologyKind::Sentinel { .. } | TopologyKind::Cluster { .. }
        );
        match self {
            FaultSpec::ServerPause { .. }
            | FaultSpec::NodeRestart { .. }
            | FaultSpec::PowerLoss { .. } => Some(PROCESS),
            FaultSpec::ClockJump { .. } | FaultSpec::ClockDrift { .. } => Some(CLOCK),
            FaultSpec::Failover { how, lag_ms, .. } => match how {
                How::Dead | How::Frozen => Some(PROCESS),
                How::Writable if kind.sentinels() > 0 => Some(PROCESS),
                How::CutOff if !linked => Some(LINK),
                How::CutOff | How::Writable | How::Command | How::Force
                    if *lag_ms > 0 && !linked =>
                {
                    Some(LINK)
                }
                How::CutOff | How::Writable | How::Command | How::Force => None,
            },
            FaultSpec::WaitTimeout {} if !linked => Some(LINK),
            FaultSpec::Partition {
                bytes: Bytes::Dropped,
                ..
            } => Some("attached servers are in another network than ours"),
            FaultSpec::Partition { between, and, .. }
            | FaultSpec::SlowNetwork { between, and, .. }
            | FaultSpec::Bandwidth { between, and, .. }
            | FaultSpec::Reset { between, and }
            | FaultSpec::Refuse { between, and }
            | FaultSpec::SlowClose { between, and, .. }
            | FaultSpec::DataLimit { between, and, .. } => {
                let clients = |group: &[Target]| group.iter().any(|target| target.is_client());
                (!linked && !clients(between) && !clients(and)).then_some(LINK)
            }
            FaultSpec::WaitTimeout {}
            | FaultSpec::ClientPause { .. }
            | FaultSpec::ClientCrash { .. }
            | FaultSpec::ClientRestart { .. }
            | FaultSpec::ClientSkew { .. } => None,
        }
    }

    /// True if what it takes away begins before the holder acquires that it strikes.
    pub(super) fn begins_before_its_holder(&self) -> bool {
        match self {
            FaultSpec::Failover { lag_ms, .. } => *lag_ms > 0,
            FaultSpec::PowerLoss { .. } => true,
            FaultSpec::Partition { .. }
            | FaultSpec::ClientPause { .. }
            | FaultSpec::ClientCrash { .. }
            | FaultSpec::ClientRestart { .. }
            | FaultSpec::ClientSkew { .. }
            | FaultSpec::ServerPause { .. }
            | FaultSpec::NodeRestart { .. }
            | FaultSpec::ClockJump { .. }
            | FaultSpec::ClockDrift { .. }
            | FaultSpec::SlowNetwork { .. }
            | FaultSpec::Bandwidth { .. }
            | FaultSpec::Reset { .. }
            | FaultSpec::Refuse { .. }
            | FaultSpec::SlowClose { .. }
            | FaultSpec::DataLimit { .. }
            | FaultSpec::WaitTimeout {} => false,
        }
    }

    /// True if it strikes whoever holds.
    pub(super) fn names_the_holder(&self) -> bool {
        let mut groups = self.groups().into_iter();
        groups.any(|(_, group)| group.contains(&Target::TheHolder))
    }

    /// The groups that it strikes, by the names of their settings.
    pub fn groups(&self) -> Vec<(&'static str, &[Target])> {
        match self {
            FaultSpec::Partition { between, and, .. }
            | FaultSpec::SlowNetwork { between, and, .. }
            | FaultSpec::Bandwidth { between, and, .. }
            | FaultSpec::Reset { between, and }
            | FaultSpec::Refuse { between, and }
            | FaultSpec::SlowClose { between, and, .. }
            | FaultSpec::DataLimit { between, and, .. } => {
                vec![("between", between.as_slice()), ("and", and.as_slice())]
            }
            FaultSpec::ClientPause { clients }
            | FaultSpec::ClientCrash { clients }
            | FaultSpec::ClientRestart { clients }
            | FaultSpec::ClientSkew { clients, .. } => vec![("clients", clients.as_slice())],
            FaultSpec::ServerPause { servers }
            | FaultSpec::NodeRestart { servers }
            | FaultSpec::PowerLoss { servers, .. }
            | FaultSpec::ClockJump { servers, .. }
            | FaultSpec::ClockDrift { servers, .. } => vec![("servers", servers.as_slice())],
            FaultSpec::Failover { stay, .. } => vec![("stay", stay.as_slice())],
            FaultSpec::WaitTimeout {} => vec![],
        }
    }

    /// The groups that it strikes, to be changed.
    pub(super) fn targets_mut(&mut self) -> Vec<&mut Vec<Target>> {
        match self {
            FaultSpec::Partition { between, and, .. }
            | FaultSpec::SlowNetwork { between, and, .. }
            | FaultSpec::Bandwidth { between, and, .. }
            | FaultSpec::Reset { between, and }
            | FaultSpec::Refuse { between, and }
            | FaultSpec::SlowClose { between, and, .. }
            | FaultSpec::DataLimit { between, and, .. } => vec![between, and],
            FaultSpec::ClientPause { clients }
            | FaultSpec::ClientCrash { clients }
            | FaultSpec::ClientRestart { clients }
            | FaultSpec::ClientSkew { clients, .. } => vec![clients],
            FaultSpec::ServerPause { servers }
            | FaultSpec::NodeRestart { servers }
            | FaultSpec::PowerLoss { servers, .. }
            | FaultSpec::ClockJump { servers, .. }
            | FaultSpec::ClockDrift { servers, .. } => vec![servers],
            FaultSpec::Failover { stay, .. } => vec![stay],
            FaultSpec::WaitTimeout {} => vec![],
        }
    }
}
