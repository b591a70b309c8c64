//! The scenarios that are built in.

use lockproof_input::{self as builtin, Builtin, builtins};

/// The files of `scenarios/`.
const SCENARIOS: &[Builtin] = builtins!("scenarios", ".toml":
    "crash-between-commands",
    "one-owner-id",
    "gc-pause",
    "overrun",
    "server-pause",
    "lost-reply",
    "late-request",
    "partition-client",
    "partition-minority",
    "two-of-five-down",
    "slow-network",
    "clock-jump",
    "clock-skew",
    "amnesia-restart",
    "flush",
    "power-loss",
    "aof-always",
    "failover-replica",
    "split-brain",
    "split-brain-min-replicas",
    "replication-lag-with-wait",
    "failover-and-back",
    "sentinel-failover",
    "cluster-failover",
    "coupon",
    "lottery",
    "published-set-up",
);

/// Names of the built-in scenarios.
pub fn builtin_names() -> Vec<&'static str> {
    builtin::names(SCENARIOS)
}

/// The text of a built-in scenario.
pub fn builtin(name: &str) -> Option<&'static str> {
    builtin::text(SCENARIOS, name)
}
