//! Replies off a socket, one after the other.

use std::io;

use lockproof_redis::Reply;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::proxy::frame::{FRAME_BYTES_MAX, Scanner, parse_reply};

/// The bytes of a connection that are not a whole reply yet.
#[derive(Debug)]
pub struct Replies {
    bytes: Vec<u8>,
    scanner: Scanner,
}

/// Those of a new connection.
impl Default for Replies {
    fn default() -> Replies {
        Replies {
            bytes: Vec::with_capacity(512),
            scanner: Scanner::new(FRAME_BYTES_MAX),
        }
    }
}

impl Replies {
    /// The next reply. Cancelling it loses nothing: what has come is kept.
    ///
    /// # Errors
    /// `UnexpectedEof` if the server closed the connection, `InvalidData` if it
    /// does not speak RESP2, and whatever the socket says.
    pub async fn next(&mut self, stream: &mut TcpStream) -> io::Result<Reply> {
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        loop {
            if !self.bytes.is_empty()
                && let Some(end) = self.scanner.scan(&self.bytes).map_err(invalid)?
            {
                let reply = parse_reply(&self.bytes[..end]).map_err(invalid);
                self.bytes.drain(..end);
                return reply;
            }
            if stream.read_buf(&mut self.bytes).await? == 0 {
                let why = "the connection was closed";
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
            }
        }
    }
}
