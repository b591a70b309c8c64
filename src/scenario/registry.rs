//! The scenarios that are built in.

struct Builtin {
    name: &'static str,
    text: &'static str,
}

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../scenarios/", $name, ".toml")),
        }),*]
    };
}

/// The files of `scenarios/`.
const SCENARIOS: &[Builtin] = builtins!(
    "crash-between-commands",
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
    "power-loss",
    "aof-always",
    "failover-replica",
    "split-brain",
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
    SCENARIOS.iter().map(|scenario| scenario.name).collect()
}

/// The text of a built-in scenario.
pub fn builtin(name: &str) -> Option<&'static str> {
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name)?;
    Some(scenario.text)
}
