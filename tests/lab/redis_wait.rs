//! What the model says of WAIT, asked of every real server of this machine: the
//! facts that docs/model.md lists. A replica that stands still lacks whatever its
//! primary writes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use lockproof_lab::binaries::{self, Binary};
use lockproof_lab::server::{Fleet, Server, ServerOptions};
use lockproof_redis::{Reply, ScriptEngine, Server as Formal};

const PATIENCE: Duration = Duration::from_secs(10);

/// A connection of its own: what WAIT asks for belongs to one.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn to(server: &Server) -> Self {
        let address: SocketAddr = server.address();
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(BufReader::new(stream))
    }

    /// The first line of the reply; a bulk string's text is skipped.
    fn ask(&mut self, command: &str) -> String {
        let words: Vec<&str> = command.split(' ').collect();
        let mut request = format!("*{}\r\n", words.len());
        for word in words {
            request += &format!("${}\r\n{word}\r\n", word.len());
        }
        self.0.get_mut().write_all(request.as_bytes()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        if let Some(length) = line.strip_prefix('$') {
            let length: i64 = length.trim().parse().unwrap();
            let mut text = vec![0; usize::try_from(length + 2).unwrap_or(0)];
            self.0.read_exact(&mut text).unwrap();
        }
        line.trim().to_owned()
    }

    /// The reply, and whether it took as long as the 100 ms that were asked for.
    fn wait(&mut self) -> (String, bool) {
        let began = Instant::now();
        let reply = self.ask("WAIT 1 100");
        (reply, began.elapsed() >= Duration::from_millis(99))
    }
}

fn answered() -> (String, bool) {
    (":1".into(), false)
}

fn given_up() -> (String, bool) {
    (":0".into(), true)
}

/// A primary, its replica, which has everything, and what they are.
async fn pair(binary: Binary) -> Fleet {
    let options = ServerOptions {
        args: ["--repl-diskless-sync-delay", "0", "--hz", "100"]
            .map(String::from)
            .to_vec(),
        ..ServerOptions::new(binary)
    };
    let fleet = Fleet::start(2, &options).await.unwrap();
    let port = fleet.servers[0].address().port().to_string();
    let follow = ["REPLICAOF", "127.0.0.1", &port];
    fleet.servers[1].command(&follow).await.unwrap();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let info = fleet.servers[0].command(&["INFO", "replication"]).await;
        if matches!(info, Ok(Reply::Bulk(text)) if String::from_utf8_lossy(&text).contains("state=online"))
        {
            return fleet;
        }
        assert!(Instant::now() < deadline, "no replica");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn servers() -> Vec<Binary> {
    let found = binaries::find(&binaries::server_directories());
    assert!(!found.is_empty(), "no server program: run scripts/setup.sh");
    found
}

#[tokio::test]
async fn without_a_replica_a_wait_takes_its_whole_time_and_answers_none() {
    for binary in servers() {
        let server = Server::start(&ServerOptions::new(binary)).await.unwrap();
        let mut connection = Connection::to(&server);
        assert_eq!(connection.wait(), given_up());
        assert_eq!(connection.ask("SET a 1"), "+OK");
        assert_eq!(connection.wait(), given_up());
    }
}

#[tokio::test]
async fn a_wait_asks_for_all_up_to_the_last_command_of_its_own_connection() {
    for binary in servers() {
        let fleet = pair(binary).await;
        let name = fleet.servers[0].to_string();
        let mut early = Connection::to(&fleet.servers[0]);
        let mut writer = Connection::to(&fleet.servers[0]);
        assert_eq!(writer.ask("SET a 1"), "+OK");
        assert_eq!(early.ask("GET a"), "$1");
        // A replica that has just come says what it has within a second.
        assert_eq!(writer.ask("WAIT 1 5000"), ":1", "{name}");
        fleet.servers[1].pause().unwrap();
        assert_eq!(writer.ask("SET a 2"), "+OK");
        // It was there before, and has seen nothing of that write.
        assert_eq!(early.wait(), answered(), "{name}: an earlier position");
        assert_eq!(writer.wait(), given_up(), "{name}: its own write");
        // A read sees it, and so asks for it; but not where only writes count.
        assert_eq!(early.ask("GET a"), "$1");
        let after_read = if name.starts_with("redis 7.0") {
            given_up()
        } else {
            answered()
        };
        assert_eq!(early.wait(), after_read, "{name}: after a read");
        // The write stayed, and a connection that has done nothing asks for nothing.
        assert_eq!(writer.ask("GET a"), "$1");
        let mut fresh = Connection::to(&fleet.servers[0]);
        assert_eq!(fresh.wait(), answered(), "{name}: a new connection");
        fleet.servers[1].resume().unwrap();
        assert_eq!(writer.ask("WAIT 1 5000"), ":1", "{name}: it caught up");
        assert_eq!(writer.wait(), answered(), "{name}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_a_wait_is_said_as_the_formal_server_says_it() {
    let mut scripts = ScriptEngine::new().unwrap();
    let server = Server::start(&ServerOptions::new(servers().remove(0)))
        .await
        .unwrap();
    for command in [
        "WAIT",
        "WAIT 1",
        "WAIT x 1",
        "WAIT 1 x",
        "WAIT 1 -1",
        "WAIT 0 0",
        "WAIT 1 1 1",
    ] {
        let argv: Vec<&str> = command.split(' ').collect();
        let bytes: Vec<Vec<u8>> = argv.iter().map(|word| word.as_bytes().to_vec()).collect();
        let formal = Formal::new(0).execute(&mut scripts, 1, &bytes);
        assert_eq!(server.command(&argv).await.unwrap(), formal, "{command}");
    }
}
