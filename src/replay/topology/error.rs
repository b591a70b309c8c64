//! What can go wrong with a topology.

use std::time::Duration;

use super::super::proxy::ProxyError;
use super::super::proxy::toxiproxy::ToxiproxyError;
use super::super::server::ServerError;
use super::names::{LinkName, Party};

/// Why a topology does not start, or does not do what it is told.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// Its options contradict themselves.
    #[error("failed to plan the topology: {0}")]
    Options(String),
    /// One of its servers.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// One of its proxies.
    #[error(transparent)]
    Proxy(#[from] ProxyError),
    /// The toxiproxy before its servers.
    #[error(transparent)]
    Toxiproxy(#[from] ToxiproxyError),
    /// An announced address cannot be had.
    #[error("failed to listen on a loopback port for {party}: {source}; are descriptors left?")]
    Door {
        /// Whose address.
        party: Party,
        /// What the system said.
        source: std::io::Error,
    },
    /// It did not become healthy.
    #[error(
        "the topology did not become healthy within {patience:?}: {missing}; is the machine \
         overloaded? The ends of the logs:\n{logs}"
    )]
    Unhealthy {
        /// How long it had.
        patience: Duration,
        /// What was still missing.
        missing: String,
        /// The last lines of each server.
        logs: String,
    },
    /// A server died although nobody killed it.
    #[error("{party}: {source}")]
    Died {
        /// Which.
        party: Party,
        /// How, with the end of its log.
        source: ServerError,
    },
    /// A server refused a command of the harness.
    #[error("{party} refused {command}: {answer}")]
    Refused {
        /// Which.
        party: Party,
        /// The command.
        command: String,
        /// What it answered.
        answer: String,
    },
    /// Only its owner can do that to it.
    #[error(
        "{0} is attached: lockproof did not start it, and can neither stop, kill nor restart it"
    )]
    Attached(Party),
    /// An attached server that holds what is not ours.
    #[error("failed to attach {party}: {why}")]
    InUse {
        /// Which.
        party: Party,
        /// What is there, and what to do.
        why: String,
    },
    /// An attached server does not answer.
    #[error("{party} did not carry out a command: {source}; is it up, and is its URL right?")]
    Silent {
        /// Which.
        party: Party,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is no such link.
    #[error("this topology has no link {0}; Topology::links lists them")]
    NoLink(LinkName),
    /// There is no such party.
    #[error("this topology has no {0}")]
    NoParty(Party),
    /// Nobody is primary at the moment, or nobody can tell.
    #[error("no node is known to be the primary ({0}); during a failover ask again")]
    NoPrimary(String),
}
