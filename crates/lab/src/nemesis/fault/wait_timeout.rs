//! Replication stops, and nothing else: WAIT times out.
//!
//! Writes still succeed at the primary. A client that asked WAIT for a replica
//! learns that none has the write, and the write stays: the catch of the lock that
//! counts on WAIT.

use super::partition::{Bytes, Partition};
use crate::nemesis::target::Target;
use crate::nemesis::{Field, Injection, Struck};

/// The primary's replication is held.
#[derive(Clone, Debug)]
pub struct WaitTimeout(Partition);

impl WaitTimeout {
    /// What the primary says to its replicas, and they to it, waits.
    pub fn new() -> WaitTimeout {
        WaitTimeout(Partition::new(
            &[Target::Primary],
            &[Target::Replicas],
            false,
            Bytes::Late,
        ))
    }
}

impl Injection for WaitTimeout {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        self.0.start(field)
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        self.0.heal(field)
    }
}
