//! The faults of free runs by name, for people.
//!
//! What they do is code in `lab/nemesis/`; which names and settings a file may
//! use is `FaultSpec` there. A test holds this list to it.

/// A fault that the nemesis of a free run can inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeFault {
    /// As scenario files write it.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub meaning: &'static str,
    /// Its settings besides `fault`.
    pub settings: &'static [&'static str],
}

const LINKS: [&str; 2] = ["between", "and"];

const fn fault(
    name: &'static str,
    meaning: &'static str,
    settings: &'static [&'static str],
) -> FreeFault {
    FreeFault {
        name,
        meaning,
        settings,
    }
}

/// All of them: links, clients, servers, clocks, replication.
pub const FREE_FAULTS: [FreeFault; 18] = [
    fault(
        "partition",
        "bytes between two groups stop, and are lost or late when it heals",
        &["between", "and", "one_way", "bytes"],
    ),
    fault(
        "slow-network",
        "bytes are late by latency_ms, plus or minus up to jitter_ms",
        &["between", "and", "latency_ms", "jitter_ms"],
    ),
    fault(
        "bandwidth",
        "bytes trickle at kb_per_s kB a second, each way",
        &["between", "and", "kb_per_s"],
    ),
    fault("reset", "connections are reset, once", &LINKS),
    fault(
        "refuse",
        "connections are ended, and new ones refused",
        &LINKS,
    ),
    fault(
        "slow-close",
        "the ends of connections are ms late",
        &["between", "and", "ms"],
    ),
    fault(
        "data-limit",
        "connections end after so many bytes each way",
        &["between", "and", "bytes"],
    ),
    fault(
        "client-pause",
        "client processes are stopped (SIGSTOP), and go on when it heals",
        &["clients"],
    ),
    fault(
        "client-crash",
        "client processes are killed, and replaced by new ones when it heals",
        &["clients"],
    ),
    fault(
        "client-restart",
        "client processes are killed, and start again with the same owner ids when it heals",
        &["clients"],
    ),
    fault(
        "client-skew",
        "clients' wall clocks are off by ms",
        &["clients", "ms"],
    ),
    fault(
        "server-pause",
        "servers are stopped (SIGSTOP)",
        &["servers"],
    ),
    fault(
        "node-restart",
        "servers are killed, and started again when it heals",
        &["servers"],
    ),
    fault(
        "power-loss",
        "servers lose what they wrote in the last lost_ms, and die",
        &["servers", "lost_ms"],
    ),
    fault(
        "clock-jump",
        "servers' wall clocks leap by ms",
        &["servers", "ms"],
    ),
    fault(
        "clock-drift",
        "servers' wall clocks run at rate_millionths of true speed",
        &["servers", "rate_millionths"],
    ),
    fault(
        "failover",
        "another node becomes primary; clients in stay do not hear of it",
        &["how", "lag_ms", "stay"],
    ),
    fault("wait-timeout", "replication from the primary stops", &[]),
];
