//! What stands in a lock file's table.

use super::types::Op;

/// The operations of a lock. A file has `release` and `acquire`, or in place of the
/// latter those of a read-write lock.
pub const OPERATIONS: [&str; 4] = [
    Op::Acquire.name(),
    Op::Release.name(),
    Op::AcquireRead.name(),
    Op::AcquireWrite.name(),
];

/// The operations of a lock that is held alone.
pub(super) const PLAIN: [Op; 2] = [Op::Acquire, Op::Release];

/// The operations of a read-write lock.
pub(super) const MODES: [Op; 3] = [Op::Release, Op::AcquireRead, Op::AcquireWrite];

/// Operations that other locks have. Nothing calls them, so no verdict would be about
/// them, and a file that has one is refused.
pub(super) const UNCALLED: [&str; 2] = ["renew", "try_acquire"];

/// Its other fields.
pub(super) const FIELDS: [&str; 12] = [
    "about",
    "name",
    "description",
    "fair",
    "keys",
    "nodes",
    "params",
    "reentrant",
    "renews",
    "scripts",
    "server",
    "ttl_step",
];
