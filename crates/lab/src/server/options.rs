//! How to start a server, and what can go wrong with one.

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use crate::binaries::Binary;
use crate::clock::{ClockError, Library};

/// How a server keeps its data over a restart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Persistence {
    /// Nothing is kept.
    None,
    /// An append-only file, synced about once a second.
    Everysec,
    /// An append-only file, synced before each reply.
    Always,
}

impl Persistence {
    /// The setting with this catalogue name: `none`, `everysec` or `always`.
    pub fn from_name(name: &str) -> Option<Persistence> {
        match name {
            "none" => Some(Persistence::None),
            "everysec" => Some(Persistence::Everysec),
            "always" => Some(Persistence::Always),
            _ => None,
        }
    }

    pub(super) fn arguments(self) -> &'static [&'static str] {
        match self {
            Persistence::None => &["--appendonly", "no"],
            Persistence::Everysec => &["--appendonly", "yes", "--appendfsync", "everysec"],
            Persistence::Always => &["--appendonly", "yes", "--appendfsync", "always"],
        }
    }
}

/// A clock of the server's own.
#[derive(Clone, Debug)]
pub struct OwnClock {
    /// What the server loads to have it.
    pub library: Library,
    /// Where the clock stands still at first, in ms since 1970; `None` lets it
    /// run from true time.
    pub freeze_at_ms: Option<i64>,
}

/// How to start a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The program.
    pub binary: Binary,
    /// What a restart keeps.
    pub persistence: Persistence,
    /// `None` leaves the server on the machine's clock.
    pub clock: Option<OwnClock>,
    /// More arguments, after lockproof's own, so they win.
    pub args: Vec<String>,
    /// The text of a configuration file, which the server may rewrite (Sentinel
    /// must be able to). Arguments win over it. `None` gives it none.
    pub config: Option<String>,
    /// Runs it as a member of a Redis Cluster, with a second leased port for the
    /// cluster bus.
    pub cluster: bool,
    /// Whether it looks for keys whose time is over by itself, or only where a command meets
    /// one. A command meets a key through the millisecond in which its time ends; from 8.0 on
    /// Redis's own search may delete it in that millisecond (`activeExpireCycleTryExpire` of
    /// its expire.c), ten times a second. On a clock that stands still there, that is chance.
    pub expires_by_itself: bool,
    /// How long the server may take until it answers PING.
    pub start_patience: Duration,
    /// How long it may take to answer one of the harness's own commands.
    pub command_patience: Duration,
}

impl ServerOptions {
    /// No persistence, the machine's clock, ten seconds to start.
    pub fn new(binary: Binary) -> ServerOptions {
        ServerOptions {
            binary,
            persistence: Persistence::None,
            clock: None,
            args: Vec::new(),
            config: None,
            cluster: false,
            expires_by_itself: true,
            start_patience: Duration::from_secs(10),
            command_patience: Duration::from_secs(5),
        }
    }
}

/// What can go wrong with a server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// It cannot have a clock of its own.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The system refused something that every server needs.
    #[error("failed to {what} for {server}: {source}")]
    System {
        /// The server, by program and address.
        server: String,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The process ended by itself.
    #[error("{server} ended by itself ({status}); the end of its log:\n{log}")]
    Died {
        /// The server, by program and address.
        server: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines that it wrote.
        log: String,
    },
    /// It runs, but does not answer PING in time.
    #[error(
        "{server} did not answer PING within {patience:?} (last: {last}); the end of its log:\n{log}"
    )]
    NotReady {
        /// The server, by program and address.
        server: String,
        /// How long it had.
        patience: Duration,
        /// The last answer or error.
        last: String,
        /// The last lines that it wrote.
        log: String,
    },
    /// One of the harness's own commands failed.
    #[error("{server} failed to answer {command}: {source}; is it paused or cut off?")]
    Command {
        /// The server, by program and address.
        server: String,
        /// The command's name.
        command: String,
        /// What happened instead.
        source: io::Error,
    },
    /// It answers, but on the machine's clock.
    #[error(
        "{server} did not load the clock library; give a program that is linked dynamically, for \
         {}, and started without a wrapper that clears the environment; the end of its log:\n{log}",
        std::env::consts::ARCH
    )]
    ClockNotLoaded {
        /// The server, by program and address.
        server: String,
        /// The last lines that it wrote; the dynamic loader's words are among them.
        log: String,
    },
    /// Its clock does not follow.
    #[error(
        "{server} shows {shown_ms} ms since 1970, not {wanted_ms}, although its clock was set; \
         is it paused?"
    )]
    ClockStuck {
        /// The server, by program and address.
        server: String,
        /// What TIME answered last.
        shown_ms: i64,
        /// What it should be.
        wanted_ms: i64,
    },
    /// The operation needs a dead server.
    #[error("{server} still runs; kill it before {what}")]
    StillRunning {
        /// The server, by program and address.
        server: String,
        /// What was tried.
        what: &'static str,
    },
}
