//! What stands in a lock file's table.

/// The operations of a lock. A file has both.
pub const OPERATIONS: [&str; 2] = ["acquire", "release"];

/// Operations that other locks have. Nothing calls them, so no verdict would be about
/// them, and a file that has one is refused.
pub(super) const UNCALLED: [&str; 4] = ["renew", "try_acquire", "acquire_read", "acquire_write"];

/// Its other fields.
pub(super) const FIELDS: [&str; 10] = [
    "name",
    "description",
    "keys",
    "nodes",
    "params",
    "reentrant",
    "renews",
    "scripts",
    "server",
    "ttl_step",
];
