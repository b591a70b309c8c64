//! Proxies: the network between clients and servers, under the harness's hand.
//!
//! Every link of a topology (one client to one server, or one server to another)
//! runs through a proxy of its own, so a fault strikes one link and no other.
//! Two implementations stand behind one interface, [`Link`]:
//!
//! - [`embedded`], the default, lives in this process and knows RESP: on top of
//!   what every [`Link`] does, it holds, releases and loses single requests and
//!   single replies. That is what the replay of a trace needs.
//! - [`toxiproxy`] drives a real toxiproxy server: an independent implementation
//!   that knows only TCP. It shows that a finding does not hang on our proxy.
//!
//! One conformance test (`tests/lab/proxies.rs`) makes the same claims about both.
//! Packet filters were rejected for this: they need root and a network
//! namespace, and they see packets where a fault is about messages.

pub mod embedded;
pub mod event;
pub mod frame;
pub mod toxiproxy;

mod connection;
mod lane;
mod settings;
mod stream;
mod thread;
mod toxiproxy_api;
mod tracker;

use std::future::Future;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;

/// What stands between clients and servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProxyKind {
    /// The proxy of this process.
    #[default]
    Embedded,
    /// A real toxiproxy; this program is started. Where single messages are held, it stands
    /// between the embedded proxy and the server.
    Toxiproxy(PathBuf),
}

impl ProxyKind {
    /// As reports and command lines write it.
    pub fn name(&self) -> &'static str {
        match self {
            ProxyKind::Embedded => "embedded",
            ProxyKind::Toxiproxy(_) => "toxiproxy",
        }
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Requests, from the client to the server.
    ToServer,
    /// Replies, from the server to the client.
    ToClient,
}

/// How a connection ends, as the client sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cut {
    /// In good order (FIN): the client reads an end of file.
    Fin,
    /// By a reset (RST): the client gets an error.
    Rst,
}

/// What can be done to a whole link, by every kind of proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LinkAction {
    /// From now on bytes of this direction wait. None is lost.
    Hold(Direction),
    /// What waits goes on, at once and in order; the direction is free again.
    Release(Direction),
    /// From now on bytes of this direction arrive this many ms late; 0 ends it,
    /// and what waits goes on.
    Delay {
        /// Which way.
        direction: Direction,
        /// By how much, in ms.
        ms: u32,
    },
    /// As a delay, and in its place, by a random amount; both 0 end it.
    Jitter {
        /// Which way.
        direction: Direction,
        /// By how much in the middle, in ms.
        ms: u32,
        /// Plus or minus up to this, in ms.
        jitter_ms: u32,
    },
    /// From now on bytes of this direction trickle; 0 ends it.
    Bandwidth {
        /// Which way.
        direction: Direction,
        /// How many kB (1,000 bytes) pass in a second.
        kb_per_s: u32,
    },
    /// From now on the end of a connection, if the sender of this direction ends
    /// it, arrives late; 0 ends it.
    SlowClose {
        /// Which way.
        direction: Direction,
        /// By how much, in ms.
        ms: u32,
    },
    /// From now on each connection ends when it has carried so many bytes this
    /// way; `None` ends it. Connections that ended do not come back.
    DataLimit {
        /// Which way.
        direction: Direction,
        /// How many, counted from now.
        bytes: Option<u64>,
    },
    /// A partition: from now on bytes of this direction vanish, and nobody is
    /// told. A connection that lost bytes stays broken for ever, as TCP demands.
    Blackhole(Direction),
    /// Ends a black hole. Connections that lost bytes do not come back.
    Fill(Direction),
    /// Ends everything that lasts, and accepts connections again.
    /// Connections that lost bytes do not come back.
    Heal,
    /// Ends the connections that exist. What waited in them is lost.
    Cut(Cut),
    /// Ends the connections that exist and refuses new ones.
    Down,
    /// Accepts connections again.
    Up,
}

/// What a proxy answers to an order that it cannot carry out.
#[derive(Debug, thiserror::Error)]
pub enum ProxyError {
    /// The connection has ended, or never was.
    #[error("connection {connection} does not exist (any more); it ended or was cut")]
    NoConnection {
        /// Its number.
        connection: u64,
    },
    /// The message is not waiting.
    #[error("message {seq} is not held on connection {connection}; wait for its event first")]
    NotHeld {
        /// The connection's number.
        connection: u64,
        /// The message's number.
        seq: u64,
    },
    /// An earlier message of the same direction still waits.
    #[error(
        "message {seq} on connection {connection} cannot overtake message {front}: a TCP stream \
         keeps its order; release or lose that one first, or use another connection"
    )]
    Overtakes {
        /// The connection's number.
        connection: u64,
        /// The message's number.
        seq: u64,
        /// The one that is in front.
        front: u64,
    },
    /// An earlier message of the same direction was lost.
    #[error(
        "message {seq} cannot follow a lost one on connection {connection}: the client would take \
         its reply for another's; cut the connection and let the client make a new one"
    )]
    AfterLoss {
        /// The connection's number.
        connection: u64,
        /// The message's number.
        seq: u64,
    },
    /// A socket cannot be had.
    #[error("failed to {what}: {source}")]
    Socket {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Toxiproxy does not do it.
    #[error(transparent)]
    Toxiproxy(#[from] toxiproxy::ToxiproxyError),
    /// The proxy's task has ended.
    #[error("the proxy has stopped; was its runtime shut down?")]
    Stopped,
}

/// The future of a [`Link::apply`]; boxed, so that a run can choose its kind of
/// proxy when it starts.
pub type Applied<'a> = Pin<Box<dyn Future<Output = Result<(), ProxyError>> + Send + 'a>>;

/// A link through a proxy, of whichever kind.
pub trait Link: Send + Sync {
    /// Where clients are to connect to.
    fn address(&self) -> SocketAddr;

    /// Does this to the link; resolves once it is in force.
    fn apply(&self, action: LinkAction) -> Applied<'_>;
}
