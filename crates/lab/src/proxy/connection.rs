//! One proxied connection: a task that owns both sockets.
//!
//! One task does everything, in turn: it reads, decides and writes both ways and
//! carries out the harness's orders. So an order takes effect between two
//! messages and never in the middle of one, and nothing needs a lock. Two tasks
//! (one a direction) were rejected: a cut would have to meet both at once, and
//! the matching of replies to requests would be shared.
//!
//! Reads and writes are never awaited, only readiness is: a peer that reads
//! nothing cannot keep the task from its other duties.

use std::io;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use super::event::{Event, LinkId, ProxyEvent, Unanswered};
use super::frame::{FrameError, last_reply, messages, parse_requests, transaction};
use super::lane::{Key, Next};
use super::settings::{Settings, Way};
use super::stream::{Answer, Delivery, Stream};
use super::thread::note_traffic;
use super::tracker::Tracker;
use super::{Cut, Direction};

mod orders;

pub(super) use orders::Order;

/// What every connection of a link is told at its birth.
#[derive(Clone, Debug)]
pub(super) struct Birth {
    pub link: LinkId,
    pub id: u64,
    pub settings: Settings,
    pub raw: bool,
    /// What goes from MULTI to EXEC is one message.
    pub transactions: bool,
    /// Its thread is to stay awake for a moment after each message.
    pub keeps_awake: bool,
    pub frame_bytes_max: usize,
    pub seed: u64,
    pub events: mpsc::UnboundedSender<ProxyEvent>,
}

/// Room that each read offers.
const READ_BYTES: usize = 16 << 10;

/// What woke the task.
enum Ready {
    Order(Option<Order>),
    Read(Direction),
    /// A socket takes bytes again, or a delay is over.
    Other,
}

/// The task's state.
pub(super) struct Connection {
    birth: Birth,
    /// `None` once it is closed.
    client: Option<TcpStream>,
    server: TcpStream,
    /// The server was told that no more requests will come.
    server_shut: bool,
    to_server: Stream,
    to_client: Stream,
    tracker: Tracker,
    jitter: ChaCha8Rng,
    /// A limit of data is reached: what was written goes out, then both ends close.
    spent: bool,
    orders: mpsc::UnboundedReceiver<Order>,
}

impl Connection {
    pub fn new(
        birth: Birth,
        client: TcpStream,
        server: TcpStream,
        orders: mpsc::UnboundedReceiver<Order>,
    ) -> Connection {
        let max = birth.frame_bytes_max;
        let jitter = ChaCha8Rng::seed_from_u64(birth.seed.wrapping_add(birth.id));
        Connection {
            birth,
            client: Some(client),
            server,
            server_shut: false,
            to_server: Stream::new(max),
            to_client: Stream::new(max),
            tracker: Tracker::default(),
            jitter,
            spent: false,
            orders,
        }
    }

    /// Runs until both sides are closed and nothing waits, or until the proxy is
    /// dropped.
    pub async fn run(mut self) {
        self.tell(Event::Connected);
        let result = self.serve().await;
        if let Err(error) = result {
            self.close_client(Cut::Rst).await;
            self.tell(Event::Broken { error });
        }
        let unanswered = self
            .tracker
            .unanswered(self.to_server.out.written)
            .into_iter()
            .map(|(seq, reached)| Unanswered { seq, reached })
            .collect();
        self.tell(Event::Closed { unanswered });
    }

    async fn serve(&mut self) -> Result<(), FrameError> {
        while !self.is_over() {
            match self.wait().await {
                Ready::Order(Some(order)) => self.obey(order).await?,
                Ready::Order(None) => return Ok(()),
                Ready::Read(direction) => self.read(direction)?,
                Ready::Other => {}
            }
            self.advance();
            self.settle().await;
        }
        Ok(())
    }

    async fn wait(&mut self) -> Ready {
        let (up, down) = (&self.to_server, &self.to_client);
        let ends = [Direction::ToServer, Direction::ToClient].map(|way| self.end_due(way));
        let dues = [up.due, down.due].into_iter().chain(ends);
        let due = dues.flatten().min();
        let client = self.client.as_ref();
        // A branch whose condition is false is not polled, but its expression
        // is built: these futures cope with a missing socket or time.
        let client_ready = async |interest| match client {
            Some(client) => drop(client.ready(interest).await),
            None => std::future::pending().await,
        };
        let timer = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            order = self.orders.recv() => Ready::Order(order),
            () = client_ready(Interest::WRITABLE), if !down.out.is_empty() => Ready::Other,
            _ = self.server.writable(), if !up.out.is_empty() => Ready::Other,
            _ = self.server.readable(), if down.wants_bytes() => Ready::Read(Direction::ToClient),
            () = client_ready(Interest::READABLE), if up.wants_bytes() => {
                Ready::Read(Direction::ToServer)
            }
            () = timer => Ready::Other,
        }
    }

    /// Takes what a socket has and files it, frame by frame.
    fn read(&mut self, direction: Direction) -> Result<(), FrameError> {
        let (socket, stream) = match direction {
            Direction::ToServer => (self.client.as_ref(), &mut self.to_server),
            Direction::ToClient => (Some(&self.server), &mut self.to_client),
        };
        let Some(socket) = socket else {
            return Ok(());
        };
        stream.partial.reserve(READ_BYTES);
        match socket.try_read_buf(&mut stream.partial) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Ok(count) if count > 0 => {
                if self.birth.keeps_awake {
                    note_traffic();
                }
            }
            // A reset says the same as an end of file, and that writing is in vain.
            ended => {
                stream.open = false;
                stream.ended_at = Some(Instant::now());
                match direction {
                    Direction::ToServer => {
                        if ended.is_err() {
                            self.to_client.out.close();
                        }
                        self.tell(Event::ClientClosed);
                    }
                    Direction::ToClient => {
                        self.to_server.out.close();
                        self.tell(Event::ServerClosed);
                    }
                }
                return Ok(());
            }
        }
        let mut bytes = std::mem::take(&mut stream.partial);
        let filed = self.file_frames(direction, &bytes)?;
        bytes.drain(..filed);
        self.stream(direction).partial = bytes;
        Ok(())
    }

    /// Files every whole frame; gives how many bytes that were.
    fn file_frames(&mut self, direction: Direction, bytes: &[u8]) -> Result<usize, FrameError> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let length = if self.birth.raw {
                rest.len()
            } else if direction == Direction::ToServer && rest[0] != b'*' {
                return Err(FrameError::Inline { byte: rest[0] });
            } else {
                match self.scan(direction, rest)? {
                    Some(length) => length,
                    None => break,
                }
            };
            self.file(direction, &rest[..length])?;
            at += length;
        }
        Ok(at)
    }

    /// The length of the first message, once all of it has come.
    fn scan(&mut self, direction: Direction, bytes: &[u8]) -> Result<Option<usize>, FrameError> {
        if self.birth.transactions {
            let length = match direction {
                Direction::ToServer => transaction(bytes, self.birth.frame_bytes_max)?,
                Direction::ToClient => match self.tracker.next_replies() {
                    1 => None,
                    count => Some(messages(bytes, count, self.birth.frame_bytes_max)?),
                },
            };
            if let Some(length) = length {
                return Ok(length);
            }
        }
        self.stream(direction).scanner.scan(bytes)
    }

    /// Passes one frame on, makes it wait, or drops it.
    fn file(&mut self, direction: Direction, frame: &[u8]) -> Result<(), FrameError> {
        let way = *self.birth.settings.way(direction);
        let report = self.birth.settings.report && !self.birth.raw;
        let key = match direction {
            _ if self.birth.raw => Key::Push(0),
            Direction::ToServer => Key::Numbered(self.tracker.number_request()),
            Direction::ToClient => self.tracker.name_reply(frame),
        };
        if report {
            self.report(direction, key, frame)?;
        }
        let stream = self.stream(direction);
        if way.blackhole {
            stream.lane.break_here();
        }
        let broken = stream.lane.is_broken() && !way.hold;
        if broken && stream.lane.is_empty() {
            return Ok(());
        }
        if way.hold || !way.is_prompt() || !stream.lane.is_empty() {
            let due = self.due(direction, way, frame.len());
            let stream = self.stream(direction);
            let waiting = stream.lane.push(key, frame.to_vec(), due);
            waiting.reported = report;
        } else {
            self.pass(direction, key, frame, None);
        }
        Ok(())
    }

    /// When a frame that arrives now may go by itself.
    fn due(&mut self, direction: Direction, way: Way, length: usize) -> Option<Instant> {
        if way.is_prompt() {
            return None;
        }
        let now = Instant::now();
        let jitter_us = u64::try_from(way.jitter.as_micros()).unwrap_or(u64::MAX / 4);
        let drawn_us = match jitter_us {
            0 => 0,
            most => self.jitter.random_range(0..=most * 2),
        };
        let late = (way.delay + Duration::from_micros(drawn_us)).saturating_sub(way.jitter);
        let mut free = now;
        if way.kb_per_s > 0 {
            let ns = length as u64 * 1_000_000 / u64::from(way.kb_per_s);
            let stream = self.stream(direction);
            free = stream.busy_until.map_or(now, |busy| busy.max(now)) + Duration::from_nanos(ns);
            stream.busy_until = Some(free);
        }
        Some(free + late)
    }

    /// How much of a frame a limit of data lets through.
    fn within_limit(&mut self, direction: Direction, length: usize) -> usize {
        let Some(limit) = self.birth.settings.way(direction).limit else {
            return length;
        };
        let stream = self.stream(direction);
        let left = usize::try_from(limit.saturating_sub(stream.counted)).unwrap_or(usize::MAX);
        let taken = length.min(left);
        stream.counted += taken as u64;
        self.spent |= taken == left;
        taken
    }

    fn pass(
        &mut self,
        direction: Direction,
        key: Key,
        frame: &[u8],
        answer: Option<Answer<Delivery>>,
    ) {
        if self.spent {
            // The connection is about to end; the rest is lost.
            if let Some(answer) = answer {
                let _ = answer.send(Ok(Delivery::Gone));
            }
            return;
        }
        let allowed = self.within_limit(direction, frame.len());
        if allowed < frame.len() {
            self.stream(direction).out.push(&frame[..allowed]);
            if let Some(answer) = answer {
                let _ = answer.send(Ok(Delivery::Gone));
            }
            return;
        }
        let out = &mut self.stream(direction).out;
        if out.gone {
            if let Some(answer) = answer {
                let _ = answer.send(Ok(Delivery::Gone));
            }
            return;
        }
        let end = out.push(frame);
        out.waiting.extend(answer.map(|answer| (end, answer)));
        if direction == Direction::ToServer && !self.birth.raw {
            self.tracker.passed_on(key.number(), frame, end);
        }
    }

    /// Lets go what may go, and writes what the sockets take.
    fn advance(&mut self) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let held = self.birth.settings.way(direction).hold;
            loop {
                match self.stream(direction).lane.next(held, Instant::now()) {
                    Next::Pass(waiting) => {
                        self.pass(direction, waiting.key, &waiting.bytes, None);
                    }
                    Next::Wait(due) => break self.stream(direction).due = due,
                }
            }
        }
        self.to_server.out.flush(&self.server);
        match &self.client {
            Some(client) => self.to_client.out.flush(client),
            None => self.to_client.out.close(),
        }
    }

    /// Hands on that a side closed, once what came before it has gone.
    async fn settle(&mut self) {
        let hold = self.birth.settings.to_server.hold || self.birth.settings.to_client.hold;
        if self.spent && self.to_server.out.is_empty() && self.to_client.out.is_empty() {
            self.end().await;
            return;
        }
        let late = |due: Option<Instant>| due.is_some_and(|due| due > Instant::now());
        let server_late = late(self.end_due(Direction::ToServer));
        let client_late = late(self.end_due(Direction::ToClient));
        // Under a gate the server learns of the client's end only when it has
        // answered all that it was given: the reply is compared with the model.
        // Where there are only bytes, the end is one of those that are held.
        let answered = match self.birth.raw {
            true => !self.birth.settings.to_server.hold,
            false => !hold || self.tracker.is_quiet(),
        };
        let told = self.server_shut || server_late;
        if !self.to_server.open && self.to_server.is_drained() && answered && !told {
            self.server_shut = true;
            // An error means that the server has closed already.
            let _ = self.server.shutdown().await;
        }
        let ended = !self.to_client.open && self.to_client.is_drained();
        if ended && !hold && !client_late {
            self.close_client(Cut::Fin).await;
        }
    }

    /// When the sender's end of the connection is to arrive, if that is to be late
    /// and nothing else stands before it: a time that has passed is acted on, so
    /// the task does not spin on it.
    fn end_due(&self, direction: Direction) -> Option<Instant> {
        let settings = &self.birth.settings;
        let held = settings.to_server.hold || settings.to_client.hold;
        let (stream, late, told) = match direction {
            Direction::ToServer => (&self.to_server, settings.to_server, self.server_shut),
            Direction::ToClient => (&self.to_client, settings.to_client, self.client.is_none()),
        };
        if told || held || late.slow_close.is_zero() || !stream.is_drained() {
            return None;
        }
        stream.ended_at.map(|at| at + late.slow_close)
    }

    /// Ends the connection on both sides.
    async fn end(&mut self) {
        self.close_client(Cut::Fin).await;
        for stream in [&mut self.to_server, &mut self.to_client] {
            stream.lane.lose_all();
            stream.out.close();
            stream.open = false;
        }
        let _ = self.server.shutdown().await;
        self.server_shut = true;
    }

    fn is_over(&self) -> bool {
        let client_gone = self.client.is_none() || !self.to_server.open;
        let idle = self.to_server.is_drained() && self.to_client.is_drained();
        let late = |way| self.end_due(way).is_some_and(|due| due > Instant::now());
        let told = !late(Direction::ToServer) && !late(Direction::ToClient);
        client_gone && !self.to_client.open && idle && told
    }

    /// Closes the client's side at once. Requests that wait stay: on a real
    /// network they would be on their way as well.
    async fn close_client(&mut self, how: Cut) {
        let Some(mut client) = self.client.take() else {
            return;
        };
        match how {
            // Unread bytes would turn the FIN into an RST, so they are read. And
            // closing alone would send nothing while a child that is just being
            // forked has a copy of the socket.
            Cut::Fin => {
                let mut rest = [0; 4 << 10];
                while client.try_read(&mut rest).is_ok_and(|count| count > 0) {}
                let _ = client.shutdown().await;
            }
            // On failure it becomes a FIN, which ends the connection as well.
            Cut::Rst => drop(client.set_zero_linger()),
        }
        drop(client);
        self.to_server.open = false;
        self.to_client.out.close();
    }

    fn report(&self, direction: Direction, key: Key, frame: &[u8]) -> Result<(), FrameError> {
        self.tell(match (direction, key) {
            (Direction::ToServer, key) => Event::Request {
                seq: key.number(),
                argv: parse_requests(frame)?,
            },
            (Direction::ToClient, Key::Numbered(seq)) => Event::Reply {
                seq,
                reply: last_reply(frame)?,
            },
            (Direction::ToClient, Key::Push(seq)) => Event::Push {
                seq,
                message: last_reply(frame)?,
            },
        });
        Ok(())
    }

    fn tell(&self, event: Event) {
        // Nobody listens any more: then nobody needs to know.
        let _ = self.birth.events.send(ProxyEvent {
            link: self.birth.link,
            connection: self.birth.id,
            event,
        });
    }

    fn stream(&mut self, direction: Direction) -> &mut Stream {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }
}
