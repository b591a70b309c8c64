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
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::proxy::frame::encode_request;
use crate::replies::Replies;

/// A connection on which one command waits for its reply before the next.
#[derive(Debug)]
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

/// A connection that is kept for one question after the other, with the process that it leads to.
pub(super) type Kept = Mutex<Option<(u32, Admin)>>;

/// Asks on the connection that is kept, or on a new one if there is none to this process, or if it
/// ends meanwhile: the question may be put twice.
pub(super) async fn ask_on<A: AsRef<[u8]>>(
    kept: &Kept,
    (server, pid): (SocketAddr, Option<u32>),
    argv: &[A],
    patience: Duration,
) -> io::Result<Reply> {
    let exchange = async {
        let mut kept = kept.lock().await;
        // Taken out: a question that is given up must leave no reply to the next one.
        if let Some((of, mut admin)) = kept.take().filter(|(of, _)| Some(*of) == pid)
            && let Ok(reply) = admin.command(argv).await
        {
            *kept = Some((of, admin));
            return Ok(reply);
        }
        let mut admin = Admin::connect(server).await?;
        let reply = admin.command(argv).await?;
        *kept = pid.map(|pid| (pid, admin));
        Ok(reply)
    };
    timeout(patience, exchange)
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
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
