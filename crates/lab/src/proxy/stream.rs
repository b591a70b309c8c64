//! One direction of a connection: read, cut into frames, wait, write.

use std::collections::VecDeque;
use std::io;

use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::ProxyError;
use super::frame::Scanner;
use super::lane::Lane;

/// Where a message that was let go ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// All of its bytes were handed to the other end's connection.
    Written,
    /// The other end has closed its connection; nobody gets the message.
    Gone,
}

pub(super) type Answer<T> = oneshot::Sender<Result<T, ProxyError>>;

/// Reading stops while this much waits or is unwritten in one direction.
const BACKLOG_BYTES_MAX: usize = 64 << 20;

/// Bytes on their way into a socket.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    bytes: Vec<u8>,
    done: usize,
    /// Bytes written since the connection began.
    pub written: u64,
    /// Who wants to know when so many bytes have been written.
    pub waiting: VecDeque<(u64, Answer<Delivery>)>,
    /// The peer takes nothing more.
    pub gone: bool,
}

impl Outbox {
    pub fn push(&mut self, bytes: &[u8]) -> u64 {
        if !self.gone {
            self.bytes.extend_from_slice(bytes);
        }
        self.end()
    }

    pub fn is_empty(&self) -> bool {
        self.done == self.bytes.len()
    }

    /// What `written` will be when all is out.
    pub fn end(&self) -> u64 {
        self.written + (self.bytes.len() - self.done) as u64
    }

    /// Writes what the socket takes now.
    pub fn flush(&mut self, socket: &TcpStream) {
        while !self.is_empty() {
            match socket.try_write(&self.bytes[self.done..]) {
                Ok(count) => {
                    self.done += count;
                    self.written += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return self.close(),
            }
        }
        if self.is_empty() {
            self.bytes.clear();
            self.done = 0;
        }
        while let Some((_, answer)) = self.waiting.pop_front_if(|(at, _)| *at <= self.written) {
            let _ = answer.send(Ok(Delivery::Written));
        }
    }

    /// The peer is gone, and with it what was not written yet.
    pub fn close(&mut self) {
        self.gone = true;
        self.bytes.clear();
        self.done = 0;
        for (_, answer) in self.waiting.drain(..) {
            let _ = answer.send(Ok(Delivery::Gone));
        }
    }
}

/// One direction: from the socket that is read to the one that is written.
#[derive(Debug)]
pub(super) struct Stream {
    /// The reading end has not said end of file.
    pub open: bool,
    /// Bytes of a frame that is not complete.
    pub partial: Vec<u8>,
    pub scanner: Scanner,
    pub lane: Lane,
    pub out: Outbox,
    /// When the front of the lane may go by itself.
    pub due: Option<Instant>,
    /// Until when a limited bandwidth is taken.
    pub busy_until: Option<Instant>,
    /// When the sender ended the connection.
    pub ended_at: Option<Instant>,
    /// Bytes passed on since a limit of data is in force.
    pub counted: u64,
}

impl Stream {
    pub fn new(frame_bytes_max: usize) -> Stream {
        Stream {
            open: true,
            partial: Vec::new(),
            scanner: Scanner::new(frame_bytes_max),
            lane: Lane::default(),
            out: Outbox::default(),
            due: None,
            busy_until: None,
            ended_at: None,
            counted: 0,
        }
    }

    pub fn wants_bytes(&self) -> bool {
        self.open && self.lane.bytes() + self.out.bytes.len() < BACKLOG_BYTES_MAX
    }

    /// Nothing is left that could still go this way.
    pub fn is_drained(&self) -> bool {
        self.lane.is_empty() && self.out.is_empty()
    }
}
