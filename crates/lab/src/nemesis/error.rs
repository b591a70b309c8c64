//! Why a fault cannot be had.

use super::super::clock::ClockError;
use super::super::proxy::ProxyError;
use super::super::server::ServerError;
use super::super::topology::TopologyError;
use super::target::Target;

/// What can go wrong with a fault.
#[derive(Debug, thiserror::Error)]
pub enum NemesisError {
    /// The topology, or one of its links or servers.
    #[error(transparent)]
    Topology(#[from] TopologyError),
    /// One of the servers.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// One of the links.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// A clock.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// A client process.
    #[error("failed to {what} client {client}: {source}")]
    Client {
        /// What was tried.
        what: &'static str,
        /// Its number.
        client: u16,
        /// What the system said.
        source: std::io::Error,
    },
    /// The fault does not go with the topology.
    #[error("{fault} cannot be had here: {why}")]
    NotApplicable {
        /// The fault.
        fault: &'static str,
        /// What it would need.
        why: String,
    },
    /// A target that only a draw could make definite.
    #[error("{0} stands for a draw; generate a schedule from the plan, or name the parties")]
    Undrawn(Target),
    /// A fault that is to strike a holder found none. It does nothing then.
    #[error("nobody worked under the lock")]
    NobodyHeld,
    /// A failover did not happen.
    #[error("nobody but node-{old} became primary within {seconds} s; the last word was: {last}")]
    NoFailover {
        /// Who was primary.
        old: u16,
        /// How long it had.
        seconds: u64,
        /// What was known last.
        last: String,
    },
    /// A schedule that cannot be read.
    #[error("failed to read the schedule: {0}")]
    Schedule(String),
}
