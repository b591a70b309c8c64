//! One command to one server, for the harness's own use.
//!
//! The harness asks a server for its time, its process id, its replication
//! state. These questions must never share a connection with a client under
//! test, nor go through a proxy that may hold them, so each is one short
//! connection of its own. A client library was rejected here: its retries and
//! hand-shakes would be commands that nobody asked for.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::proxy::frame::{FRAME_BYTES_MAX, Scanner, encode_request, parse_reply};
use crate::redis::Reply;

/// Sends one command on a new connection and gives its reply. An error reply is
/// a reply. `patience` bounds the whole exchange.
pub async fn ask<A: AsRef<[u8]>>(
    server: SocketAddr,
    argv: &[A],
    patience: Duration,
) -> io::Result<Reply> {
    let request = encode_request(argv);
    timeout(patience, exchange(server, &request))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

async fn exchange(server: SocketAddr, request: &[u8]) -> io::Result<Reply> {
    let mut stream = TcpStream::connect(server).await?;
    stream.set_nodelay(true)?;
    stream.write_all(request).await?;
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
    let mut scanner = Scanner::new(FRAME_BYTES_MAX);
    let mut bytes = Vec::with_capacity(512);
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if let Some(end) = scanner.scan(&bytes).map_err(invalid)? {
            return parse_reply(&bytes[..end]).map_err(invalid);
        }
    }
}
