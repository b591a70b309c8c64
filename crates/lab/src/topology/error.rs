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
    /// A server that was given to be attached, and must not be, or cannot be used.
    /// Nothing was done to any.
    #[error("failed to attach {server}: {why}")]
    Refusal {
        /// Which, as its user knows it.
        server: String,
        /// What was found there, and what to do.
        why: String,
    },
    /// What is attached does not fit the topology.
    #[error("failed to attach the servers: {0}")]
    Misfit(String),
    /// Another run uses the toxiproxy, or one was killed.
    #[error(
        "the toxiproxy has a proxy `{proxy}` already: another run uses it, or one was killed; \
         wait for the other, or give the same servers once more with --take-over, which removes \
         its proxies and its keys (`{keys}...`) and gives the servers their roles back"
    )]
    Occupied {
        /// One of its proxies.
        proxy: String,
        /// What its keys have in them.
        keys: String,
    },
    /// Attached servers could not be left as they were found.
    #[error(
        "failed to leave the attached servers as they were found:\n- {}\nPut that right, or give \
         the same servers once more with --take-over when they answer",
        .0.join("\n- ")
    )]
    NotPutBack(Vec<String>),
    /// The same, after something else went wrong.
    #[error("{error}\n{left}")]
    AndNotPutBack {
        /// What went wrong first.
        error: Box<TopologyError>,
        /// What is left.
        left: Box<TopologyError>,
    },
    /// No random name could be drawn.
    #[error("failed to draw a name for the run's keys: {0}")]
    Draw(std::io::Error),
    /// An attached server does not answer.
    #[error(
        "{party} ({address}) did not carry out a command: {source}; is it up, and is its URL right?"
    )]
    Silent {
        /// Which.
        party: Party,
        /// Where it was asked.
        address: std::net::SocketAddr,
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

impl TopologyError {
    /// True if what was given cannot be attached; lockproof and the machine are not
    /// at fault, and nothing was done.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            TopologyError::Refusal { .. }
                | TopologyError::Misfit(_)
                | TopologyError::Occupied { .. }
        )
    }
}
