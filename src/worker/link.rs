//! The worker's connections: one for each thread and node, opened on first use.
//!
//! One connection a thread keeps commands apart the way a connection pool does
//! in a real client, and lets a gate tell whose request it holds. A command
//! that is given up (a time-out) leaves its socket open and unread: closing it
//! would tell the other end, and a request that is still on its way must be
//! able to arrive late, which is the very fault that locks are tested for.
//!
//! What is definite is decided here and nowhere else. Until the first byte of a
//! request is handed to the kernel nothing can have been executed; after that
//! every error leaves the outcome unknown. The `redis` crate's connections were
//! not used because they hide this moment, and because a command is not to be
//! retried, pipelined or preceded by a HELLO.

use std::collections::BTreeMap;
use std::io;

use lockproof_lab::proxy::frame::encode_request;
use lockproof_lab::replies::Replies;
use lockproof_redis::{Multi, Reply};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// What came on one of the connections.
#[derive(Debug)]
pub(super) struct Arrival {
    /// The request that it answers, as [`Links::send`] numbered it; of no
    /// meaning for a message.
    pub request: u64,
    /// What came.
    pub news: News,
}

/// What a connection can bring.
#[derive(Debug)]
pub(super) enum News {
    /// The reply to the command.
    Reply(Reply),
    /// The command failed.
    Failed {
        /// Whether it was surely not executed.
        definite: bool,
        /// For a person.
        message: String,
    },
    /// A published message.
    Message {
        /// Where it was published.
        channel: String,
        /// What it says.
        payload: String,
    },
}

/// Who uses a connection. A subscribed connection may send no other command,
/// so subscriptions have one of their own, which all threads share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    Thread(u8),
    Subscriptions,
}

impl Lane {
    fn of(thread: u8, argv: &[Vec<u8>]) -> Self {
        let verb = argv.first().map_or(&[][..], Vec::as_slice);
        let subscribes = [&b"SUBSCRIBE"[..], b"UNSUBSCRIBE"]
            .iter()
            .any(|name| verb.eq_ignore_ascii_case(name));
        if subscribes {
            Self::Subscriptions
        } else {
            Self::Thread(thread)
        }
    }
}

/// All connections of one client.
pub(super) struct Links {
    addresses: Vec<String>,
    open: BTreeMap<(Lane, u8), Link>,
    /// On which connection each thread's last command went.
    last: BTreeMap<u8, Lane>,
    /// Connections whose command was given up; kept so that they stay open.
    abandoned: Vec<Link>,
    arrivals: mpsc::UnboundedSender<Arrival>,
    requests: u64,
}

/// The way to one connection's task; dropping it closes the connection when no reply is
/// awaited.
struct Link {
    inbox: mpsc::UnboundedSender<Request>,
    /// Ends the task, and the connection with it.
    task: AbortHandle,
}

impl Links {
    /// No connection yet; what comes of them goes to `arrivals`.
    pub fn new(addresses: Vec<String>, arrivals: mpsc::UnboundedSender<Arrival>) -> Self {
        Self {
            addresses,
            open: BTreeMap::new(),
            last: BTreeMap::new(),
            abandoned: Vec::new(),
            arrivals,
            requests: 0,
        }
    }

    /// Sends a command and gives its number. Its reply or failure arrives
    /// later. `Err` names a node that this client was given no address for.
    pub fn send(&mut self, thread: u8, node: u8, argv: &[Vec<u8>]) -> Result<u64, String> {
        let address = self
            .addresses
            .get(usize::from(node))
            .ok_or_else(|| format!("there is no node {node}: `init` named fewer"))?;
        let lane = Lane::of(thread, argv);
        self.last.insert(thread, lane);
        let link = self.open.entry((lane, node)).or_insert_with(|| {
            let (sender, inbox) = mpsc::unbounded_channel();
            let task = Task::new(address.clone(), self.arrivals.clone()).run(inbox);
            Link {
                inbox: sender,
                task: tokio::spawn(task).abort_handle(),
            }
        });
        self.requests += 1;
        // The task lives as long as this sender does.
        let _ = link.inbox.send(Request::new(self.requests, argv));
        Ok(self.requests)
    }

    /// The thread has given up the command that it sent to `node`. A late
    /// answer carries a number that nobody waits for. If the command was about a
    /// subscription, the connection is closed: nobody could tell any more what is
    /// subscribed on it.
    pub fn abandon(&mut self, thread: u8, node: u8) {
        let lane = self.last.remove(&thread).unwrap_or(Lane::Thread(thread));
        let Some(link) = self.open.remove(&(lane, node)) else {
            return;
        };
        match lane {
            Lane::Thread(_) => self.abandoned.push(link),
            Lane::Subscriptions => link.task.abort(),
        }
    }
}

/// A command on its way to its connection.
struct Request {
    number: u64,
    bytes: Vec<u8>,
    /// Replies that come for it; the last one counts.
    replies: usize,
    kind: Kind,
}

/// What a command has to do with watched keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Plain,
    Watch,
    Unwatch,
    /// A transaction; `true`: only if the connection still watches.
    Multi(bool),
}

impl Request {
    fn new(number: u64, argv: &[Vec<u8>]) -> Request {
        let is = |word: &str| {
            argv.first()
                .is_some_and(|name| name.eq_ignore_ascii_case(word.as_bytes()))
        };
        let multi = Multi::of(argv);
        let requests = multi.as_ref().map(Multi::requests);
        let kind = match multi {
            Some(multi) => Kind::Multi(multi.guarded),
            None if is("watch") => Kind::Watch,
            None if is("unwatch") => Kind::Unwatch,
            None => Kind::Plain,
        };
        Request {
            number,
            replies: requests.as_ref().map_or(1, Vec::len),
            bytes: match requests {
                Some(requests) => requests
                    .iter()
                    .flat_map(|one| encode_request(one))
                    .collect(),
                None => encode_request(argv),
            },
            kind,
        }
    }
}

/// One connection, run by a task of its own.
struct Task {
    address: String,
    arrivals: mpsc::UnboundedSender<Arrival>,
    stream: Option<TcpStream>,
    replies: Replies,
    /// The request whose replies come next, and how many.
    awaited: Option<(u64, usize)>,
    /// The last request's kind.
    kind: Kind,
    /// Keys are watched on this connection.
    watching: bool,
}

impl Task {
    fn new(address: String, arrivals: mpsc::UnboundedSender<Arrival>) -> Self {
        Self {
            address,
            arrivals,
            stream: None,
            replies: Replies::default(),
            awaited: None,
            kind: Kind::Plain,
            watching: false,
        }
    }

    async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Request>) {
        loop {
            tokio::select! {
                biased;
                read = next(self.stream.as_mut(), &mut self.replies) => {
                    match read {
                        Ok(reply) => self.take(reply),
                        Err(error) => self.broken(&error.to_string()),
                    }
                }
                request = inbox.recv(), if self.awaited.is_none() => {
                    let Some(request) = request else { return };
                    self.write(&request).await;
                }
                // An abandoned connection is closed even if its reply never comes.
                () = self.arrivals.closed() => return,
            }
        }
    }

    fn take(&mut self, reply: Reply) {
        if let Some(message) = published(&reply) {
            self.report(0, message);
        } else if let Some((number, replies)) = self.awaited.take() {
            if replies > 1 {
                self.awaited = Some((number, replies - 1));
                return;
            }
            match self.kind {
                Kind::Watch | Kind::Unwatch if !matches!(reply, Reply::Error(_)) => {
                    self.watching = self.kind == Kind::Watch;
                }
                _ => {}
            }
            self.report(number, News::Reply(reply));
        } else {
            // Nobody asked: the two ends disagree about where they are.
            self.broken("a reply came that no command asked for");
        }
    }

    /// Forgets the connection. A command that waits on it has an unknown outcome.
    fn broken(&mut self, message: &str) {
        self.lose_stream();
        if let Some((number, _)) = self.awaited.take() {
            self.failed(number, false, message.to_string());
        }
    }

    fn lose_stream(&mut self) {
        self.stream = None;
        self.watching = false;
    }

    async fn write(&mut self, request: &Request) {
        let number = request.number;
        if self.stream.as_ref().is_some_and(has_ended) {
            self.lose_stream();
        }
        if let Kind::Multi(guarded) = request.kind {
            let watching = std::mem::take(&mut self.watching);
            if guarded && !watching {
                let message =
                    "the connection that watched keys is gone: the transaction is not sent";
                return self.failed(number, true, message.to_string());
            }
        }
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => match self.connect().await {
                Ok(stream) => stream,
                Err(error) => {
                    let message = format!("failed to connect to {}: {error}", self.address);
                    return self.failed(number, true, message);
                }
            },
        };
        match stream.write_all(&request.bytes).await {
            Ok(()) => {
                self.stream = Some(stream);
                self.awaited = Some((number, request.replies));
                self.kind = request.kind;
            }
            Err(error) => self.failed(number, false, error.to_string()),
        }
    }

    async fn connect(&mut self) -> io::Result<TcpStream> {
        self.replies = Replies::default();
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        Ok(stream)
    }

    fn failed(&self, number: u64, definite: bool, message: String) {
        self.report(number, News::Failed { definite, message });
    }

    fn report(&self, request: u64, news: News) {
        // The receiver is gone only when the whole client is.
        let _ = self.arrivals.send(Arrival { request, news });
    }
}

/// The next reply; never, without a connection.
async fn next(stream: Option<&mut TcpStream>, replies: &mut Replies) -> io::Result<Reply> {
    match stream {
        Some(stream) => replies.next(stream).await,
        None => std::future::pending().await,
    }
}

/// Has the other end closed an idle connection? Asked of the kernel and not of
/// tokio, whose view is as old as its last turn: a restart that happened just
/// before this command must not make its outcome unknown.
fn has_ended(stream: &TcpStream) -> bool {
    let mut byte = [0];
    !matches!(
        rustix::io::read(stream, &mut byte),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR)
    )
}

/// `["message", channel, payload]`, as a subscribed connection receives it.
fn published(reply: &Reply) -> Option<News> {
    let Reply::Array(parts) = reply else {
        return None;
    };
    let [
        Reply::Bulk(kind),
        Reply::Bulk(channel),
        Reply::Bulk(payload),
    ] = parts.as_slice()
    else {
        return None;
    };
    (kind == b"message").then(|| News::Message {
        channel: String::from_utf8_lossy(channel).into_owned(),
        payload: String::from_utf8_lossy(payload).into_owned(),
    })
}
