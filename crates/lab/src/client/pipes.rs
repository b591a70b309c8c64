//! The three threads that serve a client's pipes.
//!
//! The reader parses as it reads, so that an error knows its line. The first
//! fault ends it: what follows a broken line cannot be trusted.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use tokio::sync::mpsc;

use super::error::{ClientFault, shorten};
use crate::client::protocol::{FromClient, LINE_BYTES_MAX, PROTOCOL};
use crate::process::{Tail, thread};

const WRITES_QUEUED_MAX: usize = 1024;

/// A message and the line of stdout on which it stood, from 1.
pub(super) struct Line {
    pub number: u64,
    pub message: FromClient,
}

/// The harness's ends of a client's pipes.
pub(super) struct Pipes {
    lines: mpsc::Receiver<Result<Line, ClientFault>>,
    seen: Arc<AtomicU64>,
    writes: SyncSender<Vec<u8>>,
    stderr: Option<Tail>,
}

impl Pipes {
    /// Starts the threads. A child without pipes reads as one that has ended.
    ///
    /// # Errors
    /// If the machine has no thread left.
    pub fn attach(child: &mut Child, queued_max: usize) -> io::Result<Self> {
        let (sender, lines) = mpsc::channel(queued_max.max(1));
        let seen = Arc::new(AtomicU64::new(0));
        if let Some(stdout) = child.stdout.take() {
            let seen = Arc::clone(&seen);
            thread("lines", move || read_lines(stdout, &sender, &seen))?;
        }
        let (writes, queue) = sync_channel::<Vec<u8>>(WRITES_QUEUED_MAX);
        if let Some(stdin) = child.stdin.take() {
            thread("writes", move || write_all(stdin, queue.into_iter()))?;
        }
        Ok(Self {
            lines,
            seen,
            writes,
            stderr: child.stderr.take().map(Tail::of).transpose()?,
        })
    }

    /// The next message or the fault that ended the reading; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Line, ClientFault>> {
        self.lines.recv().await
    }

    /// The next message, if it is there already.
    pub fn try_next(&mut self) -> Option<Result<Line, ClientFault>> {
        self.lines.try_recv().ok()
    }

    /// Lines that the client has written so far.
    pub fn lines_seen(&self) -> u64 {
        self.seen.load(Ordering::Acquire)
    }

    /// Queues bytes for stdin. `Err` is the length of a queue that is full.
    /// Bytes for a client that has closed its stdin are dropped: its end is
    /// reported where its answer is awaited.
    pub fn write(&self, bytes: Vec<u8>) -> Result<(), usize> {
        match self.writes.try_send(bytes) {
            Ok(()) | Err(TrySendError::Disconnected(_)) => Ok(()),
            Err(TrySendError::Full(_)) => Err(WRITES_QUEUED_MAX),
        }
    }

    /// The end of stderr. Call it after the process was killed.
    pub fn stderr_tail(&self) -> String {
        self.stderr.as_ref().map_or(String::new(), Tail::text)
    }
}

fn read_lines(
    stdout: ChildStdout,
    sender: &mpsc::Sender<Result<Line, ClientFault>>,
    seen: &AtomicU64,
) {
    let mut reader = BufReader::new(stdout);
    let mut number = 0;
    loop {
        number += 1;
        let parsed = match read_bounded(&mut reader) {
            Ok(None) | Err(_) => return,
            Ok(Some(Bounded::Whole(bytes))) => parse(number, &bytes),
            Ok(Some(Bounded::TooLong(begin))) => Err(ClientFault::Oversize {
                line: number,
                text: shorten(&String::from_utf8_lossy(&begin[..begin.len().min(1024)])),
            }),
        };
        seen.store(number, Ordering::Release);
        let last = parsed.is_err();
        match sender.try_send(parsed) {
            Ok(()) if !last => {}
            Ok(()) | Err(mpsc::error::TrySendError::Closed(_)) => return,
            Err(mpsc::error::TrySendError::Full(_)) => {
                let queued = sender.max_capacity();
                // The reader may wait here: it has nothing more to say.
                let _ = sender.blocking_send(Err(ClientFault::Flood {
                    line: number,
                    queued,
                }));
                return;
            }
        }
    }
}

enum Bounded {
    Whole(Vec<u8>),
    TooLong(Vec<u8>),
}

fn read_bounded(reader: &mut impl BufRead) -> std::io::Result<Option<Bounded>> {
    let mut line = Vec::new();
    let read = reader
        .take(LINE_BYTES_MAX as u64 + 1)
        .read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() == Some(&b'\n') {
        line.pop();
    } else if line.len() > LINE_BYTES_MAX {
        return Ok(Some(Bounded::TooLong(line)));
    }
    Ok(Some(Bounded::Whole(line)))
}

fn parse(number: u64, bytes: &[u8]) -> Result<Line, ClientFault> {
    let bad = |reason: String| ClientFault::BadLine {
        line: number,
        text: shorten(&String::from_utf8_lossy(bytes)),
        reason,
    };
    if number == 1 {
        check_version(bytes)?;
    }
    let message = serde_json::from_slice(bytes).map_err(|e| bad(e.to_string()))?;
    Ok(Line { number, message })
}

/// A hello of another version may well have other fields, so its version is
/// looked at before the strict parser sees it.
fn check_version(bytes: &[u8]) -> Result<(), ClientFault> {
    #[derive(serde::Deserialize)]
    struct Named {
        protocol: Option<String>,
    }
    match serde_json::from_slice::<Named>(bytes) {
        Ok(Named {
            protocol: Some(found),
        }) if found != PROTOCOL => Err(ClientFault::WrongVersion {
            line: 1,
            found: shorten(&found),
        }),
        _ => Ok(()),
    }
}

fn write_all(mut stdin: ChildStdin, queue: impl Iterator<Item = Vec<u8>>) {
    for bytes in queue {
        if stdin.write_all(&bytes).is_err() {
            return;
        }
    }
}
