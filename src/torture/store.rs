//! The guarded resource: what a service would keep in its database.
//!
//! A Redis server of its own, which no proxy stands before and no fault touches:
//! whatever is lost here was lost by the lock. Reads and writes are separate
//! commands without any transaction, because guarding them is the lock's job.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::redis::Reply;
use crate::replay::proxy::frame::{FRAME_BYTES_MAX, Scanner, encode_request, parse_reply};

/// A connection to the store.
pub struct Store {
    stream: TcpStream,
    bytes: Vec<u8>,
    scanner: Scanner,
}

/// Why the store did not answer. No fault ever touches it, so this is an error of
/// the harness.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The connection broke.
    #[error("the store did not answer: {0}")]
    Io(#[from] io::Error),
    /// It answered something else than expected.
    #[error("the store answered {0} to {1}")]
    Reply(String, String),
}

impl Store {
    /// Connects.
    ///
    /// # Errors
    /// If nothing listens there.
    pub async fn connect(address: SocketAddr) -> Result<Store, StoreError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Store {
            stream,
            bytes: Vec::new(),
            scanner: Scanner::new(FRAME_BYTES_MAX),
        })
    }

    async fn command(&mut self, argv: &[&str]) -> Result<Reply, StoreError> {
        self.stream.write_all(&encode_request(argv)).await?;
        let invalid = |error| io::Error::new(io::ErrorKind::InvalidData, error);
        loop {
            if let Some(end) = self.scanner.scan(&self.bytes).map_err(invalid)? {
                let reply = parse_reply(&self.bytes[..end]).map_err(invalid)?;
                self.bytes.drain(..end);
                return Ok(reply);
            }
            if self.stream.read_buf(&mut self.bytes).await? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
            }
        }
    }

    /// A number that is kept under `key`; 0 if nothing is.
    pub async fn number(&mut self, key: &str) -> Result<i64, StoreError> {
        match self.text(key).await? {
            None => Ok(0),
            Some(text) => text
                .parse()
                .map_err(|_| StoreError::Reply(text, format!("GET {key}"))),
        }
    }

    /// What is kept under `key`.
    pub async fn text(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        match self.command(&["GET", key]).await? {
            Reply::Nil => Ok(None),
            Reply::Bulk(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            other => Err(StoreError::Reply(
                format!("{other:?}"),
                format!("GET {key}"),
            )),
        }
    }

    /// Keeps `value` under `key`, whatever was there.
    pub async fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        match self.command(&["SET", key, value]).await? {
            Reply::Status(_) => Ok(()),
            other => Err(StoreError::Reply(
                format!("{other:?}"),
                format!("SET {key}"),
            )),
        }
    }
}
