//! A real server with a clock that stands still, and two connections to it.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use lockproof_lab::binaries::{Binary, Version, find, server_directories};
use lockproof_lab::clock::Library;
use lockproof_lab::proxy::frame::{FRAME_BYTES_MAX, Scanner, encode_request, parse_reply};
use lockproof_lab::server::{OwnClock, Server, ServerOptions};
use lockproof_redis::{Bytes, Dialect, Reply};
use lockproof_trace::EPOCH_MS;

/// Only a server that hangs gets here.
const PATIENCE: Duration = Duration::from_secs(20);

/// The dialect that models a program; `None` for one that no dialect models.
fn dialect_of(binary: &Binary) -> Option<Dialect> {
    match (binary.name.as_str(), binary.version) {
        ("redis", Version(7, 0, _)) => Some(Dialect::Redis70),
        ("redis", Version(8, 2, _)) => Some(Dialect::Redis82),
        ("valkey", Version(9, _, _)) => Some(Dialect::Valkey9),
        _ => None,
    }
}

pub struct RealServer {
    // The connections close before the server goes.
    sender: Connection,
    subscriber: Connection,
    server: Server,
    // What the server was started in, so it goes last.
    _runtime: tokio::runtime::Runtime,
    name: String,
    dialect: Dialect,
    broken: bool,
}

impl fmt::Display for RealServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl RealServer {
    /// Every program on this machine that a dialect models, started.
    pub fn start_all() -> Vec<Self> {
        let mut servers = Vec::new();
        for binary in find(&server_directories()) {
            match dialect_of(&binary) {
                Some(dialect) => servers.push(Self::start(binary, dialect)),
                None => println!("{binary}: skipped, no dialect models it"),
            }
        }
        servers
    }

    /// The first of them.
    pub fn start_default() -> Self {
        let known = find(&server_directories())
            .into_iter()
            .find_map(|binary| Some((dialect_of(&binary)?, binary)));
        let (dialect, binary) = known.expect("no server to compare with: install redis-server");
        Self::start(binary, dialect)
    }

    fn start(binary: Binary, dialect: Dialect) -> Self {
        let name = binary.to_string();
        let options = ServerOptions {
            clock: Some(OwnClock {
                library: Library::built_in().unwrap(),
                freeze_at_ms: Some(EPOCH_MS),
            }),
            // What is compared is what commands meet.
            expires_by_itself: false,
            ..ServerOptions::new(binary)
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let server = runtime.block_on(Server::start(&options)).unwrap();
        let address = server.address();
        Self {
            sender: Connection::open(address),
            subscriber: Connection::open(address),
            server,
            _runtime: runtime,
            name,
            dialect,
            broken: false,
        }
    }

    /// Whether the server failed to answer and cannot be compared with any more.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// An empty server at the epoch, as a new one would be.
    pub fn reset(&mut self) {
        let words = |line: &str| {
            line.split(' ')
                .map(|word| word.as_bytes().to_vec())
                .collect()
        };
        // A sequence that differs may end within a transaction.
        let ends: [Vec<Bytes>; 2] = [words("DISCARD"), words("UNWATCH")];
        self.pipeline(&ends);
        self.ask_for_replica(false);
        let clear: [Vec<Bytes>; 2] = [words("FLUSHALL"), words("SCRIPT FLUSH")];
        self.pipeline(&clear);
        self.subscriber_ask(&words("UNSUBSCRIBE"));
        self.set_clock(EPOCH_MS);
    }

    /// Nobody follows this server.
    pub fn ask_for_replica(&mut self, asks: bool) {
        let words = ["CONFIG", "SET", "min-replicas-to-write"].into_iter();
        let words = words.chain([if asks { "1" } else { "0" }]);
        let argv: Vec<Bytes> = words.map(|word| word.as_bytes().to_vec()).collect();
        let reply = self.pipeline(&[argv]).remove(0);
        assert_eq!(reply, Reply::Status("OK".into()));
    }

    /// Moves the clock and waits until the server shows it (Valkey looks at it
    /// once a ms only). Asks on the open connection: one a question would use
    /// up the machine's ports.
    pub fn set_clock(&mut self, now_ms: i64) {
        let clock = self.server.clock().expect("it was started with one");
        if clock.now_ms() == now_ms {
            return;
        }
        clock.freeze_at(now_ms);
        let deadline = Instant::now() + PATIENCE;
        while self.time_ms() != now_ms {
            assert!(
                Instant::now() < deadline,
                "{self} does not follow its clock"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// What the server shows, in whole ms since 1970.
    fn time_ms(&mut self) -> i64 {
        let reply = self.pipeline(&[vec![b"TIME".to_vec()]]).remove(0);
        let number = |part: &Reply| match part {
            Reply::Bulk(digits) => String::from_utf8_lossy(digits).parse::<i64>().unwrap(),
            other => panic!("TIME gives strings, not {other:?}"),
        };
        match reply {
            Reply::Array(parts) => number(&parts[0]) * 1_000 + number(&parts[1]) / 1_000,
            other => panic!("TIME gives an array, not {other:?}"),
        }
    }

    /// Sends all at once and reads all replies.
    pub fn pipeline(&mut self, commands: &[Vec<Bytes>]) -> Vec<Reply> {
        let bytes: Vec<u8> = commands
            .iter()
            .flat_map(|argv| encode_request(argv))
            .collect();
        self.broken = true;
        self.sender.write(&bytes);
        let replies = commands.iter().map(|_| self.sender.read()).collect();
        self.broken = false;
        replies
    }

    /// Sends a command on the subscriber's connection and gives what came until
    /// it was done: messages that had been on their way, then confirmations.
    pub fn subscriber_ask(&mut self, argv: &[Bytes]) -> Vec<Reply> {
        let mark = b"that is all".to_vec();
        let ping: [Bytes; 2] = [b"PING".to_vec(), mark.clone()];
        self.broken = true;
        self.subscriber.write(&encode_request(argv));
        self.subscriber.write(&encode_request(&ping));
        let mark = Reply::Bulk(mark);
        let pong = Reply::Array(vec![Reply::Bulk(b"pong".to_vec()), mark.clone()]);
        let mut came = Vec::new();
        loop {
            let reply = self.subscriber.read();
            if reply == mark || reply == pong {
                self.broken = false;
                return came;
            }
            came.push(reply);
        }
    }
}

struct Connection {
    stream: TcpStream,
    bytes: Vec<u8>,
    scanner: Scanner,
}

impl Connection {
    fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream,
            bytes: Vec::new(),
            scanner: Scanner::new(FRAME_BYTES_MAX),
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    fn read(&mut self) -> Reply {
        loop {
            if let Some(end) = self.scanner.scan(&self.bytes).unwrap() {
                let reply = parse_reply(&self.bytes[..end]).unwrap();
                self.bytes.drain(..end);
                return reply;
            }
            let mut chunk = [0; 16_384];
            let count = match self.stream.read(&mut chunk) {
                // A process that was stopped and goes on finds its call cut short.
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                count => count.expect("no reply came"),
            };
            assert!(count > 0, "the server closed the connection");
            self.bytes.extend(&chunk[..count]);
        }
    }
}
