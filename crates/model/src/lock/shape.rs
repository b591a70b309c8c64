//! What stands in a lock file's table.

use super::types::Op;

/// The operations of a lock. A file has `release` and `acquire`, or in place of the
/// latter those of a read-write lock. The others it may have beside them.
pub const OPERATIONS: [&str; 7] = [
    Op::Acquire.name(),
    Op::Release.name(),
    Op::AcquireRead.name(),
    Op::AcquireWrite.name(),
    Op::Renew.name(),
    Op::IsHeld.name(),
    Op::TryAcquire.name(),
];

/// The operations that a lock must have which is held alone.
pub(super) const PLAIN: [Op; 2] = [Op::Acquire, Op::Release];

/// The operations that a read-write lock must have.
pub(super) const MODES: [Op; 3] = [Op::Release, Op::AcquireRead, Op::AcquireWrite];

/// The operations that a lock may have.
pub(super) const OPTIONAL: [Op; 3] = [Op::Renew, Op::IsHeld, Op::TryAcquire];

/// Its other fields.
pub(super) const FIELDS: [&str; 16] = [
    "about",
    "callers",
    super::cancel::CLEAN_UP,
    "name",
    "description",
    "fair",
    "keys",
    "nodes",
    "objects",
    "params",
    "reentrant",
    "renews",
    "scripts",
    "server",
    "told_within",
    "ttl_step",
];
