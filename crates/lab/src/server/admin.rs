//! Commands of the harness's own.
//!
//! The harness asks a server for its time, its process id, its replication
//! state. These questions must never share a connection with a client under
//! test, nor go through a proxy that may hold them. A client library was rejected
//! here: its retries and hand-shakes would be commands that nobody asked for.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use lockproof_redis::Reply;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::proxy::frame::encode_request;
use crate::replies::Replies;

/// A connection on which one command waits for its reply before the next.
pub struct Admin {
    stream: TcpStream,
    replies: Replies,
}

impl Admin {
    /// Connects.
    ///
    /// # Errors
    /// If nothing listens there.
    pub async fn connect(server: SocketAddr) -> io::Result<Admin> {
        let stream = TcpStream::connect(server).await?;
        stream.set_nodelay(true)?;
        Ok(Admin {
            stream,
            replies: Replies::default(),
        })
    }

    /// Sends one command and gives its reply. An error reply is a reply.
    ///
    /// # Errors
    /// If the connection breaks; whether the command was carried out is then
    /// unknown.
    pub async fn command<A: AsRef<[u8]>>(&mut self, argv: &[A]) -> io::Result<Reply> {
        self.stream.write_all(&encode_request(argv)).await?;
        self.next().await
    }

    /// What the server sends next.
    ///
    /// # Errors
    /// If the connection breaks.
    pub async fn next(&mut self) -> io::Result<Reply> {
        self.replies.next(&mut self.stream).await
    }
}

/// Sends one command on a new connection and gives its reply. An error reply is
/// a reply. `patience` bounds the whole exchange.
pub async fn ask<A: AsRef<[u8]>>(
    server: SocketAddr,
    argv: &[A],
    patience: Duration,
) -> io::Result<Reply> {
    let exchange = async { Admin::connect(server).await?.command(argv).await };
    timeout(patience, exchange)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}
