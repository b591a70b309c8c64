//! What a link costs: one round trip (PING) on one connection, without a proxy,
//! through the embedded one in each of its modes, and through toxiproxy. All in
//! one run, because figures from different runs on a shared machine say little
//! about each other.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, criterion_group, criterion_main};
use lockproof::replay::binaries;
use lockproof::replay::proxy::embedded::{EmbeddedOptions, EmbeddedProxy, Mode};
use lockproof::replay::proxy::event::{Event, LinkId, ProxyEvent};
use lockproof::replay::proxy::toxiproxy::{self, Toxiproxy};
use lockproof::replay::proxy::{Cut, Link};
use lockproof::replay::server::{Server, ServerOptions};
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// A blocking client: a runtime of its own would be part of what is measured.
struct Pinger(TcpStream);

impl Pinger {
    fn connect(address: SocketAddr) -> Pinger {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        let mut pinger = Pinger(stream);
        pinger.ping();
        pinger
    }

    fn ping(&mut self) {
        self.0.write_all(b"*1\r\n$4\r\nPING\r\n").unwrap();
        let mut reply = [0; 7];
        self.0.read_exact(&mut reply).unwrap();
        assert_eq!(&reply, b"+PONG\r\n");
    }
}

async fn embedded(
    server: &Server,
    mode: Mode,
) -> (Arc<EmbeddedProxy>, UnboundedReceiver<ProxyEvent>) {
    let options = EmbeddedOptions {
        mode,
        ..Default::default()
    };
    let (sender, events) = unbounded_channel();
    let link = LinkId { client: 0, node: 0 };
    let proxy = EmbeddedProxy::start(link, server.address(), options, sender);
    (Arc::new(proxy.await.unwrap()), events)
}

/// The cheapest gate there can be: it lets everything go at once.
async fn release_all(proxy: Arc<EmbeddedProxy>, mut events: UnboundedReceiver<ProxyEvent>) {
    while let Some(told) = events.recv().await {
        let connection = told.connection;
        let released = match told.event {
            Event::Request { seq, .. } => proxy.release_request(connection, seq).await,
            Event::Reply { seq, .. } => proxy.release_reply(connection, seq).await,
            _ => continue,
        };
        released.unwrap();
    }
}

fn round_trips(criterion: &mut Criterion) {
    let runtime = Runtime::new().unwrap();
    let binary = binaries::find_default(&binaries::server_directories()).unwrap();
    let server = runtime
        .block_on(Server::start(&ServerOptions::new(binary)))
        .unwrap();
    let mut group = criterion.benchmark_group("round trip");
    let mut measure = |name: &str, address| {
        let mut pinger = Pinger::connect(address);
        group.bench_function(name, |bencher| bencher.iter(|| pinger.ping()));
    };
    measure("direct", server.address());
    let (pass, _told) = runtime.block_on(embedded(&server, Mode::Pass));
    measure("embedded, pass", pass.address());
    let (watch, told) = runtime.block_on(embedded(&server, Mode::Watch));
    runtime.spawn(async move {
        let mut told = told;
        while told.recv().await.is_some() {}
    });
    measure("embedded, watch", watch.address());
    let (gate, told) = runtime.block_on(embedded(&server, Mode::Hold));
    let address = gate.address();
    runtime.spawn(release_all(gate, told));
    measure("embedded, hold and release", address);
    match toxiproxy::find_program(&binaries::tool_directories()) {
        Err(error) => eprintln!("toxiproxy is not measured: {error}"),
        Ok(program) => {
            let toxiproxy = runtime.block_on(Toxiproxy::start(&program)).unwrap();
            let link = toxiproxy.link("bench", server.address(), Cut::Fin);
            let link = runtime.block_on(link).unwrap();
            measure("toxiproxy", link.address());
        }
    }
    group.finish();
}

criterion_group! {
    name = proxies;
    config = Criterion::default()
        .sample_size(50)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(2));
    targets = round_trips
}
criterion_main!(proxies);
