//! The faults of free runs, a file a fault: what strikes, behind one table.
//!
//! A [`FaultSpec`] is data, as scenarios and schedules write it: it can be kept, compared
//! and read by a person. What strikes is the [`Injection`] that is built from it.

mod client_crash;
mod client_pause;
mod client_skew;
mod clock_drift;
mod clock_jump;
mod clocks;
mod failover;
mod felled;
mod links;
mod node_flush;
mod node_restart;
mod partition;
mod power_loss;
mod server_pause;
mod wait_timeout;

pub use failover::{Failover, How};
pub use links::LinkFault;
pub use node_restart::NodeRestart;
pub use partition::{Bytes, Partition};

use serde::{Deserialize, Serialize};

use super::Injection;
use super::target::Target;
use crate::topology::TopologyKind;
use client_crash::ClientCrash;
use client_pause::ClientPause;
use client_skew::ClientSkew;
use clock_drift::ClockDrift;
use clock_jump::ClockJump;
use links::LinkHarm;
use node_flush::NodeFlush;
use power_loss::PowerLoss;
use server_pause::ServerPause;
use wait_timeout::WaitTimeout;

/// What people are told of a fault that the nemesis can inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultInfo {
    /// As scenario files write it.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub meaning: &'static str,
    /// Its settings besides `fault`.
    pub settings: &'static [&'static str],
    /// It does all that it does as it begins.
    pub at_once: bool,
}

impl FaultInfo {
    /// The fault with this name.
    pub fn of(name: &str) -> Option<&'static FaultInfo> {
        FAULTS.iter().find(|info| info.name == name)
    }
}

/// The faults: name, meaning, the groups that they strike (in brackets) and their other
/// settings.
macro_rules! faults {
    ($($fault:ident $name:literal $($when:ident)?, $meaning:literal:
        [$($group:ident)*] $($setting:ident: $type:ty),*;)*) => {
        /// One fault and whom it strikes. `between` and `and` are the two groups whose
        /// links are struck.
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(tag = "fault", deny_unknown_fields)]
        #[allow(missing_docs)] // settings mean the same everywhere
        pub enum FaultSpec {
            $(#[doc = $meaning] #[serde(rename = $name)]
            $fault { $($group: Vec<Target>,)* $($setting: $type,)* },)*
        }

        /// All of them: links, clients, servers, clocks, replication.
        pub const FAULTS: &[FaultInfo] = &[$(FaultInfo {
            name: $name,
            meaning: $meaning,
            settings: &[$(stringify!($group),)* $(stringify!($setting),)*],
            at_once: faults!(is $($when)?),
        },)*];

        impl FaultSpec {
            /// Its catalogue name.
            pub fn name(&self) -> &'static str {
                match self {
                    $(FaultSpec::$fault { .. } => $name,)*
                }
            }

            /// The groups that it strikes, by the names of their settings.
            pub fn groups(&self) -> Vec<(&'static str, &[Target])> {
                match self {
                    $(FaultSpec::$fault { $($group,)* .. } => {
                        vec![$((stringify!($group), $group.as_slice())),*]
                    })*
                }
            }

            /// The groups that it strikes, to be changed.
            pub(super) fn groups_mut(&mut self) -> Vec<&mut Vec<Target>> {
                match self {
                    $(FaultSpec::$fault { $($group,)* .. } => vec![$($group),*],)*
                }
            }
        }
    };
    (is) => { false };
    (is at_once) => { true };
}

faults! {
    Partition "partition", "bytes between two groups stop, and are lost or late when it heals":
        [between and] one_way: bool, bytes: Bytes;
    SlowNetwork "slow-network", "bytes are late by latency_ms, plus or minus up to jitter_ms":
        [between and] latency_ms: u32, jitter_ms: u32;
    Bandwidth "bandwidth", "bytes trickle at kb_per_s kB a second, each way":
        [between and] kb_per_s: u32;
    Reset "reset" at_once, "connections are reset, once":
        [between and];
    Refuse "refuse", "connections are ended, and new ones refused":
        [between and];
    SlowClose "slow-close", "the ends of connections are ms late":
        [between and] ms: u32;
    DataLimit "data-limit", "connections end after so many bytes each way":
        [between and] bytes: u64;
    ClientPause "client-pause" at_once,
        "client processes are stopped (SIGSTOP), and go on when it heals":
        [clients];
    ClientCrash "client-crash" at_once,
        "client processes are killed, and replaced by new ones when it heals":
        [clients];
    ClientRestart "client-restart" at_once,
        "client processes are killed, and start again with the same owner ids when it heals":
        [clients];
    ClientSkew "client-skew", "clients' wall clocks are off by ms":
        [clients] ms: i64;
    ServerPause "server-pause", "servers are stopped (SIGSTOP)":
        [servers];
    NodeRestart "node-restart" at_once, "servers are killed, and started again when it heals":
        [servers];
    NodeFlush "node-flush" at_once, "all keys of servers are deleted (FLUSHALL)":
        [servers];
    PowerLoss "power-loss" at_once, "servers lose what they wrote in the last lost_ms, and die":
        [servers] lost_ms: u32;
    ClockJump "clock-jump" at_once, "servers' wall clocks leap by ms":
        [servers] ms: i64;
    ClockDrift "clock-drift", "servers' wall clocks run at rate_millionths of true speed":
        [servers] rate_millionths: u32;
    Failover "failover",
        "another node becomes primary, lag_ms after replication stopped; clients in stay do not hear of it":
        [stay] how: How, lag_ms: u32;
    WaitTimeout "wait-timeout", "replication from the primary stops":
        [];
}

// A new fault must not slip through.
#[deny(clippy::wildcard_enum_match_arm)]
impl FaultSpec {
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
            FaultSpec::NodeFlush { servers } => Box::new(NodeFlush::new(servers)),
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
        const DATA: &str = "it deletes all keys, and an attached server may hold somebody's data";
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
            FaultSpec::NodeFlush { .. } => Some(DATA),
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
            | FaultSpec::NodeFlush { .. }
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
}
