//! What an embedded proxy tells the harness.

use lockproof_redis::{Bytes, Reply};

use super::frame::FrameError;

/// Names a link: who connects (a client, or a replica) to which node. The proxy
/// only hands it back in its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId {
    /// The client's number, from 0.
    pub client: u16,
    /// The node's number, from 0.
    pub node: u16,
}

/// One thing that happened on a link.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyEvent {
    /// On which link.
    pub link: LinkId,
    /// On which of its connections; they count from 0 in the order of arrival.
    pub connection: u64,
    /// What.
    pub event: Event,
}

/// What happened on a connection.
///
/// Requests count from 0 on each connection, and a reply bears the number of the
/// request that it answers. Messages are reported when they arrive, and only in
/// the modes [`Watch`](super::embedded::Mode::Watch) and
/// [`Hold`](super::embedded::Mode::Hold).
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A client connected, and the proxy to the server.
    Connected,
    /// A client connected, but the server does not accept; the client's
    /// connection is reset.
    ConnectFailed {
        /// Why.
        error: String,
    },
    /// A request came from the client.
    Request {
        /// Its number.
        seq: u64,
        /// The command and its arguments.
        argv: Vec<Bytes>,
    },
    /// A reply came from the server.
    Reply {
        /// The number of the request that it answers.
        seq: u64,
        /// What it says.
        reply: Reply,
    },
    /// The server sent something that answers no request: a pub/sub message, or
    /// the confirmation of a further channel.
    Push {
        /// Its number; pushes have numbers of their own.
        seq: u64,
        /// What it says.
        message: Reply,
    },
    /// The client closed the connection (or died). Requests of it that are held
    /// can still be released: they are on their way.
    ClientClosed,
    /// The server closed the connection (or died). In `Hold` mode the client
    /// does not learn of it until the connection is cut.
    ServerClosed,
    /// Somebody does not speak RESP as the proxy knows it; the connection is reset.
    Broken {
        /// What is wrong.
        error: FrameError,
    },
    /// The connection is gone on both sides.
    Closed {
        /// Requests that were passed on and never answered.
        unanswered: Vec<Unanswered>,
    },
}

/// A request whose outcome nobody knows, unless the bytes never got there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The request's number.
    pub seq: u64,
    /// All of its bytes were handed to the server's connection. `false` means
    /// that the server surely did not execute it.
    pub reached: bool,
}
