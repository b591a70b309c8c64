//! What a link costs: one round trip (PING) on one connection, without a proxy,
//! through the embedded one in each of its modes, and through toxiproxy.
//!
//! The candidates take turns, a few pings each, and medians are printed: on a
//! shared machine the load changes within a second, and a tool that measures one
//! after the other (criterion was tried) compares the loads instead.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lockproof_lab::binaries;
use lockproof_lab::proxy::embedded::{EmbeddedOptions, EmbeddedProxy, Mode};
use lockproof_lab::proxy::event::{Event, LinkId, ProxyEvent};
use lockproof_lab::proxy::toxiproxy::{self, Toxiproxy, ToxiproxyLink};
use lockproof_lab::proxy::{Cut, Link};
use lockproof_lab::server::{Server, ServerOptions};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// Pings in a turn: enough for the caches to be the candidate's own.
const TURN: usize = 20;

/// One way to the server, with a blocking client: an asynchronous one would be
/// part of what is measured.
struct Candidate {
    name: &'static str,
    stream: TcpStream,
    took: Vec<Duration>,
}

impl Candidate {
    fn connect(name: &'static str, address: SocketAddr) -> Candidate {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let took = Vec::new();
        Candidate { name, stream, took }
    }

    fn ping(&mut self) {
        let start = Instant::now();
        self.stream.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
        let mut reply = [0; 7];
        self.stream.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"+PONG\r\n");
        self.took.push(start.elapsed());
    }

    fn print(&mut self) {
        self.took.sort();
        let at = |percent| {
            let took: Duration = self.took[self.took.len() * percent / 100];
            took.as_secs_f64() * 1e6
        };
        println!(
            "{:28} median {:7.1} us   (10 %: {:.1}, 90 %: {:.1})",
            self.name,
            at(50),
            at(10),
            at(90)
        );
    }
}

type Told = UnboundedReceiver<ProxyEvent>;

async fn embedded(server: &Server, mode: Mode) -> (Arc<EmbeddedProxy>, Told) {
    let options = EmbeddedOptions {
        mode,
        ..Default::default()
    };
    let (sender, told) = unbounded_channel();
    let link = LinkId { client: 0, node: 0 };
    let proxy = EmbeddedProxy::start(link, server.address(), options, sender);
    (Arc::new(proxy.await.unwrap()), told)
}

/// The cheapest gate there can be: it lets everything go at once.
async fn release_all(proxy: Arc<EmbeddedProxy>, mut told: Told) {
    while let Some(ProxyEvent {
        connection, event, ..
    }) = told.recv().await
    {
        let released = match event {
            Event::Request { seq, .. } => proxy.release_request(connection, seq).await,
            Event::Reply { seq, .. } => proxy.release_reply(connection, seq).await,
            _ => continue,
        };
        released.unwrap();
    }
}

async fn toxic_link(server: &Server) -> Option<ToxiproxyLink> {
    match toxiproxy::find_program(&binaries::tool_directories()) {
        Err(error) => {
            eprintln!("toxiproxy is not measured: {error}");
            None
        }
        Ok(program) => {
            let toxiproxy = Toxiproxy::start(&program).await.unwrap();
            let link = toxiproxy.link("bench", server.address(), Cut::Fin).await;
            Some(link.unwrap())
        }
    }
}

fn main() {
    // `cargo test --benches` runs this without the flag: one turn shows that it works.
    let turns = match std::env::args().any(|argument| argument == "--bench") {
        true => 300,
        false => 1,
    };
    let runtime = Runtime::new().unwrap();
    let binary = binaries::find_default(&binaries::server_directories()).unwrap();
    let server = runtime
        .block_on(Server::start(&ServerOptions::new(binary)))
        .unwrap();
    let (pass, _unread) = runtime.block_on(embedded(&server, Mode::Pass));
    let (watch, mut told) = runtime.block_on(embedded(&server, Mode::Watch));
    runtime.spawn(async move { while told.recv().await.is_some() {} });
    let (gate, told) = runtime.block_on(embedded(&server, Mode::Hold));
    runtime.spawn(release_all(gate.clone(), told));
    let toxic = runtime.block_on(toxic_link(&server));

    let mut candidates = vec![
        Candidate::connect("direct", server.address()),
        Candidate::connect("embedded, pass", pass.address()),
        Candidate::connect("embedded, watch", watch.address()),
        Candidate::connect("embedded, hold and release", gate.address()),
    ];
    candidates.extend(
        toxic
            .as_ref()
            .map(|link| Candidate::connect("toxiproxy", link.address())),
    );
    for _ in 0..turns {
        for candidate in &mut candidates {
            for _ in 0..TURN {
                candidate.ping();
            }
        }
    }
    candidates.iter_mut().for_each(Candidate::print);
}
