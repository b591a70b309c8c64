//! The embedded proxy: in this process, and it knows where a message ends.
//!
//! A gate replays a trace by deciding about single messages: this request
//! reaches the server now, that reply is lost. In [`Mode::Hold`] every request
//! and every reply waits on arrival, is reported with what it says, and goes
//! only when it is released. In [`Mode::Pass`] the proxy only forwards.
//!
//! What it does to a connection is what a network could do to it. Messages of
//! one direction never overtake each other; after a lost message nothing more
//! gets through that way; a request that is under way reaches the server even if
//! its client is dead by then. Orders that would break these rules are refused,
//! because the client would then see what no network shows it.
//!
//! The proxy's port stays leased while it refuses connections, so that nobody
//! else can get it.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::super::server::port::{PortLease, listen};
use super::connection::{Birth, Connection, Order};
use super::event::{Event, LinkId, ProxyEvent};
use super::frame::FRAME_BYTES_MAX;
use super::lane::Key;
use super::settings::Settings;
use super::stream::Answer;
pub use super::stream::Delivery;
use super::thread;
use super::{Applied, Cut, Direction, Link, LinkAction, ProxyError};

/// What happens to messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// They pass, and nobody is told.
    Pass,
    /// They pass and are reported.
    Watch,
    /// They are reported and wait until they are released or lost.
    Hold,
}

/// How the bytes of a link are cut into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Requests and replies in RESP.
    Resp,
    /// Anything: replication, the cluster bus. Whole directions can be held and
    /// delayed, but nothing is reported and there are no single messages.
    Raw,
}

/// How to set up a proxy.
#[derive(Clone, Copy, Debug)]
pub struct EmbeddedOptions {
    /// The mode that it starts in.
    pub mode: Mode,
    /// What it understands.
    pub framing: Framing,
    /// What a client sends from MULTI to EXEC is one message, and so is what it gets for it.
    /// Only for clients that send all of it without waiting for a reply in between.
    pub transactions: bool,
    /// Longer messages than this many bytes end the connection.
    pub frame_bytes_max: usize,
    /// Decides the jitter.
    pub seed: u64,
}

impl Default for EmbeddedOptions {
    fn default() -> EmbeddedOptions {
        EmbeddedOptions {
            mode: Mode::Pass,
            framing: Framing::Resp,
            transactions: false,
            frame_bytes_max: FRAME_BYTES_MAX,
            seed: 1,
        }
    }
}

/// One link through this process. Dropping it ends its connections.
#[derive(Debug)]
pub struct EmbeddedProxy {
    lease: PortLease,
    shared: Arc<Shared>,
    doors: mpsc::UnboundedSender<(bool, Answer<()>)>,
    task: JoinHandle<()>,
    /// Where all of its tasks run.
    home: Handle,
}

#[derive(Debug)]
struct Shared {
    /// A connection is listed, with the settings of that moment, under one lock:
    /// so a change of settings misses none.
    registry: Mutex<Registry>,
}

#[derive(Debug)]
struct Registry {
    upstream: SocketAddr,
    birth: Birth,
    live: BTreeMap<u64, mpsc::UnboundedSender<Order>>,
    refuses: bool,
}

impl Shared {
    fn registry(&self) -> MutexGuard<'_, Registry> {
        // Nothing that holds the lock can leave it half changed.
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl EmbeddedProxy {
    /// Listens on a free loopback port for clients of `upstream`. What happens
    /// is told to `events`; several proxies may share one receiver.
    pub async fn start(
        link: LinkId,
        upstream: SocketAddr,
        options: EmbeddedOptions,
        events: mpsc::UnboundedSender<ProxyEvent>,
    ) -> Result<EmbeddedProxy, ProxyError> {
        let socket = |source| ProxyError::Socket {
            what: "listen on a loopback port",
            source,
        };
        let lease = PortLease::take().map_err(socket)?;
        let address = lease.address();
        // What is told to somebody would have to cross to him from the proxies' thread.
        let passes = options.mode == Mode::Pass;
        let home = match passes {
            false => Handle::current(),
            true => thread::handle().map_err(|source| ProxyError::Socket {
                what: "start the thread of the proxies",
                source,
            })?,
        };
        let listener = {
            let _inside = home.enter();
            listen(address).map_err(socket)?
        };
        let registry = Registry {
            upstream,
            birth: Birth {
                link,
                id: 0,
                settings: settings(options.mode, Settings::default()),
                raw: options.framing == Framing::Raw,
                transactions: options.transactions,
                keeps_awake: passes,
                frame_bytes_max: options.frame_bytes_max,
                seed: options.seed,
                events,
            },
            live: BTreeMap::new(),
            refuses: false,
        };
        let shared = Arc::new(Shared {
            registry: Mutex::new(registry),
        });
        let (doors, orders) = mpsc::unbounded_channel();
        let task = home.spawn(accept(shared.clone(), address, listener, orders));
        Ok(EmbeddedProxy {
            lease,
            shared,
            doors,
            task,
            home,
        })
    }

    /// Where clients are to connect to.
    pub fn address(&self) -> SocketAddr {
        self.lease.address()
    }

    /// Takes in a client that connected to another address of this harness, as
    /// if it had connected to this one. While connections are refused it is reset.
    pub fn adopt(&self, client: TcpStream) {
        let moved = client.into_std().and_then(|client| {
            // From its runtime to that of the proxies.
            let _inside = self.home.enter();
            take_in(&self.shared, TcpStream::from_std(client)?);
            Ok(())
        });
        // Without a descriptor for it the client is closed: a link that fails.
        drop(moved);
    }

    /// The connections that are alive, by number.
    pub fn connections(&self) -> Vec<u64> {
        self.shared.registry().live.keys().copied().collect()
    }

    /// Connects to another server from the next connection on, as clients do that
    /// learn of a failover. Connections that exist stay where they are.
    pub fn redirect(&self, upstream: SocketAddr) {
        self.shared.registry().upstream = upstream;
    }

    /// Changes what happens to messages in both directions. Leaving
    /// [`Mode::Hold`] lets go everything that waits.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), ProxyError> {
        self.change(|old| *old = settings(mode, *old)).await
    }

    /// Lets a held request go on to the server; resolves when its bytes have
    /// been handed to the server's connection.
    pub async fn release_request(&self, connection: u64, seq: u64) -> Result<Delivery, ProxyError> {
        let key = Key::Numbered(seq);
        self.order(connection, |done| {
            Order::Release(Direction::ToServer, key, done)
        })
        .await
    }

    /// Loses a held request: the server never sees it, nor anything that the
    /// client sends after it on this connection.
    pub async fn lose_request(&self, connection: u64, seq: u64) -> Result<(), ProxyError> {
        let key = Key::Numbered(seq);
        self.order(connection, |done| {
            Order::Lose(Direction::ToServer, key, done)
        })
        .await
    }

    /// Lets the held reply to request `seq` go on to the client; resolves when
    /// its bytes have been handed to the client's connection.
    pub async fn release_reply(&self, connection: u64, seq: u64) -> Result<Delivery, ProxyError> {
        let key = Key::Numbered(seq);
        self.order(connection, |done| {
            Order::Release(Direction::ToClient, key, done)
        })
        .await
    }

    /// Lets the held reply to request `seq` go on to the client, and ends the
    /// connection with it: the client cannot send a command on it any more when
    /// it has read the reply.
    pub async fn release_last_reply(&self, connection: u64, seq: u64) -> Result<(), ProxyError> {
        let key = Key::Numbered(seq);
        self.order(connection, |done| Order::ReleaseLast(key, done))
            .await
    }

    /// Loses the held reply to request `seq`, and all that follows it on this
    /// connection.
    pub async fn lose_reply(&self, connection: u64, seq: u64) -> Result<(), ProxyError> {
        let key = Key::Numbered(seq);
        self.order(connection, |done| {
            Order::Lose(Direction::ToClient, key, done)
        })
        .await
    }

    /// Lets a held push go on to the client.
    pub async fn release_push(&self, connection: u64, seq: u64) -> Result<Delivery, ProxyError> {
        let key = Key::Push(seq);
        self.order(connection, |done| {
            Order::Release(Direction::ToClient, key, done)
        })
        .await
    }

    /// Loses a held push, and all that follows it on this connection.
    pub async fn lose_push(&self, connection: u64, seq: u64) -> Result<(), ProxyError> {
        let key = Key::Push(seq);
        self.order(connection, |done| {
            Order::Lose(Direction::ToClient, key, done)
        })
        .await
    }

    /// Ends a connection as the client sees it. Requests that are held stay, and
    /// can be released or lost: they are on their way.
    pub async fn cut(&self, connection: u64, how: Cut) -> Result<(), ProxyError> {
        let lose = false;
        self.order(connection, |done| Order::Cut { how, lose, done })
            .await
    }

    /// Ends a connection as both sides see it. A server that holds a command back learns so
    /// that nobody waits for it any more.
    pub async fn hang_up(&self, connection: u64) -> Result<(), ProxyError> {
        self.order(connection, Order::HangUp).await
    }

    /// Ends all connections, and loses what waits in them.
    pub async fn cut_all(&self, how: Cut) -> Result<(), ProxyError> {
        let lose = true;
        self.order_all(|done| Order::Cut { how, lose, done }).await
    }

    /// Refuses new connections (the client gets ECONNREFUSED), or accepts them
    /// again. Connections that exist go on.
    pub async fn refuse(&self, refuse: bool) -> Result<(), ProxyError> {
        self.shared.registry().refuses = refuse;
        let (done, answer) = oneshot::channel();
        self.doors
            .send((refuse, done))
            .map_err(|_| ProxyError::Stopped)?;
        answer.await.map_err(|_| ProxyError::Stopped)?
    }

    /// Holds one direction, or lets it go.
    pub async fn hold(&self, direction: Direction, hold: bool) -> Result<(), ProxyError> {
        self.change(|settings| settings.way(direction).hold = hold)
            .await
    }

    /// Delays one direction; zero ends it.
    pub async fn delay(&self, direction: Direction, delay: Duration) -> Result<(), ProxyError> {
        self.jitter(direction, delay, Duration::ZERO).await
    }

    /// Delays one direction by `delay`, plus or minus up to `jitter`; zero of both
    /// ends it. Nothing overtakes.
    pub async fn jitter(
        &self,
        direction: Direction,
        delay: Duration,
        jitter: Duration,
    ) -> Result<(), ProxyError> {
        self.change(|settings| {
            let way = settings.way(direction);
            (way.delay, way.jitter) = (delay, jitter);
        })
        .await
    }

    /// Swallows one direction silently, or ends that. A connection that lost
    /// bytes stays broken.
    pub async fn blackhole(&self, direction: Direction, on: bool) -> Result<(), ProxyError> {
        self.change(|settings| settings.way(direction).blackhole = on)
            .await
    }

    async fn change(&self, change: impl FnOnce(&mut Settings)) -> Result<(), ProxyError> {
        let answers = {
            let mut registry = self.shared.registry();
            change(&mut registry.birth.settings);
            let settings = registry.birth.settings;
            send_all(&registry, |done| Order::Set(settings, done))
        };
        wait_all(answers).await
    }

    async fn order<T>(
        &self,
        connection: u64,
        order: impl FnOnce(Answer<T>) -> Order,
    ) -> Result<T, ProxyError> {
        let gone = || ProxyError::NoConnection { connection };
        let (done, answer) = oneshot::channel();
        let sent = match self.shared.registry().live.get(&connection) {
            Some(live) => live.send(order(done)),
            None => return Err(gone()),
        };
        sent.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    async fn order_all(&self, order: impl Fn(Answer<()>) -> Order) -> Result<(), ProxyError> {
        let answers = send_all(&self.shared.registry(), order);
        wait_all(answers).await
    }

    async fn apply_action(&self, action: LinkAction) -> Result<(), ProxyError> {
        match action {
            LinkAction::Hold(direction) => self.hold(direction, true).await,
            LinkAction::Release(direction) => self.hold(direction, false).await,
            LinkAction::Delay { direction, ms } => self.delay(direction, millis(ms)).await,
            LinkAction::Jitter {
                direction,
                ms,
                jitter_ms,
            } => self.jitter(direction, millis(ms), millis(jitter_ms)).await,
            LinkAction::Bandwidth {
                direction,
                kb_per_s,
            } => {
                self.change(|settings| settings.way(direction).kb_per_s = kb_per_s)
                    .await
            }
            LinkAction::SlowClose { direction, ms } => {
                self.change(|settings| settings.way(direction).slow_close = millis(ms))
                    .await
            }
            LinkAction::DataLimit { direction, bytes } => {
                self.change(|settings| settings.way(direction).limit = bytes)
                    .await
            }
            LinkAction::Blackhole(direction) => self.blackhole(direction, true).await,
            LinkAction::Fill(direction) => self.blackhole(direction, false).await,
            LinkAction::Heal => {
                self.change(|settings| {
                    settings.to_server = Default::default();
                    settings.to_client = Default::default();
                })
                .await?;
                self.refuse(false).await
            }
            LinkAction::Cut(how) => self.cut_all(how).await,
            LinkAction::Down => {
                self.refuse(true).await?;
                self.cut_all(Cut::Fin).await
            }
            LinkAction::Up => self.refuse(false).await,
        }
    }
}

impl Link for EmbeddedProxy {
    fn address(&self) -> SocketAddr {
        self.lease.address()
    }

    fn apply(&self, action: LinkAction) -> Applied<'_> {
        Box::pin(self.apply_action(action))
    }
}

impl Drop for EmbeddedProxy {
    fn drop(&mut self) {
        self.task.abort();
        // Without a sender of orders a connection's task ends.
        self.shared.registry().live.clear();
    }
}

fn millis(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

type Answers = Vec<oneshot::Receiver<Result<(), ProxyError>>>;

fn send_all(registry: &Registry, order: impl Fn(Answer<()>) -> Order) -> Answers {
    registry
        .live
        .values()
        .filter_map(|live| {
            let (done, answer) = oneshot::channel();
            live.send(order(done)).ok().map(|()| answer)
        })
        .collect()
}

async fn wait_all(answers: Answers) -> Result<(), ProxyError> {
    for answer in answers {
        // A connection that ended meanwhile has nothing left to be changed.
        answer.await.unwrap_or(Ok(()))?;
    }
    Ok(())
}

fn settings(mode: Mode, mut settings: Settings) -> Settings {
    let hold = mode == Mode::Hold;
    settings.report = mode != Mode::Pass;
    settings.to_server.hold = hold;
    settings.to_client.hold = hold;
    settings
}

fn move_door(door: &mut Option<TcpListener>, refuse: bool, address: SocketAddr) -> io::Result<()> {
    match door.take() {
        Some(listener) if refuse => close(listener),
        None if refuse => Ok(()),
        Some(listener) => {
            *door = Some(listener);
            Ok(())
        }
        None => {
            *door = Some(listen(address)?);
            Ok(())
        }
    }
}

/// Ends listening at once. Dropping the listener would not: a child that is just
/// being forked has a copy of it and would go on listening until its exec.
fn close(listener: TcpListener) -> io::Result<()> {
    let socket: OwnedFd = listener.into_std()?.into();
    std::net::TcpStream::from(socket).shutdown(Shutdown::Both)
}

/// Takes in connections, and closes and opens the door.
async fn accept(
    shared: Arc<Shared>,
    address: SocketAddr,
    listener: TcpListener,
    mut doors: mpsc::UnboundedReceiver<(bool, Answer<()>)>,
) {
    let mut door = Some(listener);
    loop {
        let client = async {
            match &door {
                Some(listener) => listener.accept().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            order = doors.recv() => {
                let Some((refuse, done)) = order else { return };
                let moved = move_door(&mut door, refuse, address);
                let what = "listen again on the proxy's port";
                let _ = done.send(moved.map_err(|source| ProxyError::Socket { what, source }));
            }
            Ok((client, _)) = client => take_in(&shared, client),
        }
    }
}

/// Lists a connection and starts its task.
fn take_in(shared: &Arc<Shared>, client: TcpStream) {
    let (sender, orders) = mpsc::unbounded_channel();
    let (birth, upstream) = {
        let mut registry = shared.registry();
        if registry.refuses {
            // A reset is the nearest that is left to a refusal. On failure it
            // becomes a FIN, which ends the connection as well.
            let _ = client.set_zero_linger();
            return;
        }
        let birth = registry.birth.clone();
        registry.birth.id += 1;
        registry.live.insert(birth.id, sender);
        (birth, registry.upstream)
    };
    let shared = shared.clone();
    tokio::spawn(async move {
        let id = birth.id;
        match connect(upstream, &client).await {
            Ok(server) => Connection::new(birth, client, server, orders).run().await,
            Err(error) => {
                // A reset is the nearest that is left to a refusal.
                let _ = client.set_zero_linger();
                drop(client);
                let _ = birth.events.send(ProxyEvent {
                    link: birth.link,
                    connection: id,
                    event: Event::ConnectFailed {
                        error: error.to_string(),
                    },
                });
            }
        }
        shared.registry().live.remove(&id);
    });
}

async fn connect(upstream: SocketAddr, client: &TcpStream) -> io::Result<TcpStream> {
    client.set_nodelay(true)?;
    let server = TcpStream::connect(upstream).await?;
    server.set_nodelay(true)?;
    Ok(server)
}
