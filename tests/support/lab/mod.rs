//! A bare client, for tests that must see every byte and every error.

pub mod nemesis;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use lockproof_lab::proxy::frame::{FRAME_BYTES_MAX, Scanner, encode_request, parse_reply};
use lockproof_redis::Reply;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Only a test that hangs gets here; nothing is measured against it.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// How long a test looks on while nothing may happen. Too short can only make
/// it miss a fault, never find one that is not there.
const LOOK: Duration = Duration::from_millis(30);

#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    bytes: Vec<u8>,
    scanner: Scanner,
}

impl Client {
    pub async fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Client {
            stream,
            bytes: Vec::new(),
            scanner: Scanner::new(FRAME_BYTES_MAX),
        })
    }

    pub async fn send(&mut self, command: &str) -> io::Result<()> {
        let argv: Vec<&str> = command.split_whitespace().collect();
        self.send_bytes(&encode_request(&argv)).await
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await
    }

    pub async fn reply(&mut self) -> io::Result<Reply> {
        timeout(PATIENCE, self.read()).await.expect("no reply came")
    }

    async fn read(&mut self) -> io::Result<Reply> {
        loop {
            if let Some(end) = self.scanner.scan(&self.bytes).unwrap() {
                let reply = parse_reply(&self.bytes[..end]).unwrap();
                self.bytes.drain(..end);
                return Ok(reply);
            }
            if self.stream.read_buf(&mut self.bytes).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    pub async fn ask(&mut self, command: &str) -> io::Result<Reply> {
        self.send(command).await?;
        self.reply().await
    }

    /// True if for a while neither a byte nor an end arrives.
    pub async fn has_nothing(&mut self) -> bool {
        timeout(LOOK, self.read()).await.is_err()
    }

    /// True if for a while no reply arrives (the connection may end).
    pub async fn gets_no_reply(&mut self) -> bool {
        !matches!(timeout(LOOK, self.read()).await, Ok(Ok(_)))
    }
}

/// Waits until it is so.
pub async fn until(mut so: impl AsyncFnMut() -> bool) {
    let wait = async {
        while !so().await {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, wait).await.expect("it never became so");
}

pub fn ok() -> Reply {
    Reply::Status("OK".into())
}

pub fn bulk(text: &str) -> Reply {
    Reply::Bulk(text.into())
}
