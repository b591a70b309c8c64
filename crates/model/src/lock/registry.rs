//! The locks and scripts that are built in: one list, used by everything.

use lockproof_input::{self as builtin, Builtin, builtins};

/// The lock files of `models/`, in the order of the catalogue.
pub(crate) const MODELS: &[Builtin] = builtins!("models", ".lua":
    "exists-set",
    "setnx-del",
    "setnx-expire",
    "setnx-expire-lua",
    "set-nx-px",
    "del-setnx-takeover",
    "getset-timestamp",
    "token-get-del",
    "token",
    "token-setnx-expire-lua",
    "token-wait",
    "token-signalled",
    "token-renewed",
    "token-extended",
    "reentrant-hash",
    "reentrant-hash-renewed",
    "threadlocal-reentrant",
    "redisson",
    "redisson-watchdog",
    "redisson-multi",
    "redlock",
    "rw-two-keys",
    "rw-hash",
    "redisson-rw",
    "delifeq",
    "fenced",
    "fenced-redlock",
    "token-watch",
    "redisson-fair",
);

/// The scripts of `lua/`.
pub(crate) const SCRIPTS: &[Builtin] = builtins!("lua", ".lua":
    "release_if_owner",
    "expire_if_owner",
    "hash_lock",
    "hash_unlock",
    "hash_expire_if_owner",
    "redisson_lock",
    "redisson_unlock",
    "redisson_renew",
    "redisson_fair_lock",
    "redisson_fair_unlock",
    "redisson_fair_leave",
    "redisson_rw_read",
    "redisson_rw_write",
    "redisson_rw_read_unlock",
    "redisson_rw_write_unlock",
    "setnx_expire",
    "rw_read",
    "rw_write",
    "rw_hash_read",
    "rw_hash_write",
    "rw_hash_release",
    "fenced_lock",
);

/// A lock that needs no file of its own: clients do what they do in another one, and what
/// makes it another lock is how its servers are set up, which is an assumption.
pub struct Setup {
    pub name: &'static str,
    /// The built-in lock that its clients run.
    pub lock: &'static str,
    /// What is assumed of the servers, as `--assume` takes it.
    pub assumptions: &'static str,
    pub meaning: &'static str,
}

/// Locks that are a set-up of servers.
pub const SETUPS: &[Setup] = &[
    Setup {
        name: "redlock-delayed-restart",
        lock: "redlock",
        assumptions: "node-down-delayed",
        meaning: "a server that was down stays away for more than a lease, so that no lock which it has forgotten is held still",
    },
    Setup {
        name: "token-min-replicas",
        lock: "token",
        assumptions: "failover,min-replicas",
        meaning: "a server refuses writes while no replica is in contact with it (min-replicas-to-write 1)",
    },
];

/// Names of the built-in locks, in the order of the catalogue.
pub fn builtin_names() -> Vec<&'static str> {
    builtin::names(MODELS)
}

/// The text of the built-in script `name`.
pub(crate) fn builtin_script(name: &str) -> Option<&'static str> {
    builtin::text(SCRIPTS, name)
}
