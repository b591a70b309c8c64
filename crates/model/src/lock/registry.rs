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
    "token-renewed",
    "reentrant-hash",
    "reentrant-hash-renewed",
    "redisson",
    "redisson-watchdog",
    "redlock",
    "rw-two-keys",
    "rw-hash",
    "delifeq",
    "fenced",
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
    "setnx_expire",
    "rw_read",
    "rw_write",
    "rw_hash_read",
    "rw_hash_write",
    "rw_hash_release",
    "fenced_lock",
);

/// Names of the built-in locks, in the order of the catalogue.
pub fn builtin_names() -> Vec<&'static str> {
    builtin::names(MODELS)
}

/// The text of the built-in script `name`.
pub(crate) fn builtin_script(name: &str) -> Option<&'static str> {
    builtin::text(SCRIPTS, name)
}
