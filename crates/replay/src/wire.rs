//! The gate's hands on the network: one holding proxy for each client and node.
//!
//! Proxies report everything on one channel, in whatever order the network has.
//! A gate asks for one thing at a time, so what it has not asked for yet is put
//! on a shelf here. Connections are told apart as *busy* (a message of theirs is
//! somewhere on its way, or was lost) and idle, because a node's restart shows
//! at once on an idle connection, but on a busy one only where the trace says so.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use lockproof_lab::proxy::ProxyKind;
use lockproof_lab::proxy::embedded::{EmbeddedOptions, EmbeddedProxy, Mode};
use lockproof_lab::proxy::event::{Event, LinkId, ProxyEvent};
use lockproof_lab::proxy::toxiproxy::{Toxiproxy, ToxiproxyError, ToxiproxyLink};
use lockproof_lab::proxy::{Cut, Link, ProxyError};
use lockproof_redis::Reply;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use lockproof_trace::words;

use super::GateOptions;
use super::compare::command_text;

/// What can go wrong on the wire.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// A proxy refuses an order.
    #[error("the proxy of {client} at {node}: {source}", client = words::client(*client), node = words::node(*node))]
    Proxy {
        /// Whose link.
        client: u8,
        /// To which node.
        node: u8,
        /// What the proxy says.
        source: ProxyError,
    },
    /// A proxy could not be started.
    #[error(transparent)]
    Start(#[from] ProxyError),
    /// The toxiproxy server could not be used.
    #[error(transparent)]
    Toxiproxy(#[from] ToxiproxyError),
    /// A request that the client says it sent has not come.
    #[error(
        "no request of {client} for {node} came within {waited_ms} ms, although it \
         says that it sent: {command}", client = words::client(*client), node = words::node(*node))]
    NoRequest {
        /// Whose link.
        client: u8,
        /// To which node.
        node: u8,
        /// How long it was awaited.
        waited_ms: u64,
        /// The command.
        command: String,
    },
    /// A message that the node should have sent to a client that listens has not come.
    #[error("{node} sent {client} no message within {waited_ms} ms", node = words::node(*node), client = words::client(*client))]
    NoMessage {
        /// Who listens.
        client: u8,
        /// To which node.
        node: u8,
        /// How long it was awaited.
        waited_ms: u64,
    },
    /// A request was passed on, and the node did not answer.
    #[error("{node} did not answer within {waited_ms} ms: {command}", node = words::node(*node))]
    NoReply {
        /// Which node.
        node: u8,
        /// How long it was awaited.
        waited_ms: u64,
        /// The command.
        command: String,
    },
    /// The node closed the connection instead of answering.
    #[error("{node} closed the connection instead of answering: {command}", node = words::node(*node))]
    Closed {
        /// Which node.
        node: u8,
        /// The command.
        command: String,
    },
    /// The trace names a link that does not exist.
    #[error("there is no link of {client} to {node}", client = words::client(*client), node = words::node(*node))]
    NoLink {
        /// Which client.
        client: u8,
        /// Which node.
        node: u8,
    },
}

/// A message's place: its link, its connection, and its number on that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MessagePlace {
    pub client: u8,
    pub node: u8,
    pub connection: u64,
    seq: u64,
}

/// A request that waits in front of its node.
#[derive(Debug)]
pub(super) struct HeldRequest {
    pub place: MessagePlace,
    pub argv: Vec<String>,
}

/// A reply that waits in front of its client.
#[derive(Debug)]
pub(super) struct HeldReply {
    pub place: MessagePlace,
    pub reply: Reply,
}

/// A published message that waits in front of its client.
#[derive(Debug)]
pub(super) struct HeldPush {
    pub place: MessagePlace,
    pub message: Reply,
}

/// All links.
pub(super) struct Wires {
    /// By client, then by node.
    proxies: Vec<Vec<EmbeddedProxy>>,
    /// Behind each, by client and node: its node's servers, or what stands
    /// before them.
    upstreams: Vec<Vec<Vec<SocketAddr>>>,
    /// Behind them, if a real toxiproxy takes part; they keep its process.
    _toxic_links: Vec<ToxiproxyLink>,
    /// Takes connections, and reads nothing.
    nobody: (TcpListener, SocketAddr),
    events: mpsc::UnboundedReceiver<ProxyEvent>,
    requests: Vec<HeldRequest>,
    replies: BTreeMap<MessagePlace, Reply>,
    /// Published messages that no step has asked for yet, in the order of their arrival.
    pushes: Vec<HeldPush>,
    /// Connections on which a client subscribed.
    subscriptions: BTreeSet<(u8, u8, u64)>,
    /// Connections that their node has closed.
    closed: BTreeSet<(u8, u8, u64)>,
    /// Connections with a message on its way.
    busy: BTreeSet<(u8, u8, u64)>,
    /// Connections to a server that their client will not use again.
    outdated: BTreeSet<(u8, u8, u64)>,
    patience: Duration,
}

fn listen() -> Result<(TcpListener, SocketAddr), ProxyError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let with_address = listener.and_then(|listener| {
        let address = listener.local_addr()?;
        Ok((listener, address))
    });
    with_address.map_err(|source| ProxyError::Socket {
        what: "listen for those whose server is gone",
        source,
    })
}

impl Wires {
    /// Starts one proxy for each client and node, and holds everything. The
    /// servers are the first one of each node, and then their replicas.
    pub async fn start(
        clients: u8,
        nodes: u8,
        servers: &[SocketAddr],
        options: &GateOptions,
    ) -> Result<Self, WireError> {
        let toxiproxy = match &options.proxy {
            ProxyKind::Embedded => None,
            ProxyKind::Toxiproxy(program) => Some(Toxiproxy::start(program).await?),
        };
        let (sender, events) = mpsc::unbounded_channel();
        let hold = EmbeddedOptions {
            mode: Mode::Hold,
            transactions: true,
            ..EmbeddedOptions::default()
        };
        let (mut proxies, mut upstreams) = (Vec::new(), Vec::new());
        let mut toxic_links = Vec::new();
        for client in 0..clients {
            let (mut links, mut ways) = (Vec::new(), Vec::new());
            for node in 0..nodes {
                let link = LinkId {
                    client: client.into(),
                    node: node.into(),
                };
                let mut way = Vec::new();
                for at in (usize::from(node)..servers.len()).step_by(nodes.into()) {
                    way.push(match &toxiproxy {
                        None => servers[at],
                        Some(server) => {
                            let name = format!("client-{client}-server-{at}");
                            let toxic = server.link(&name, servers[at], Cut::Fin).await?;
                            let upstream = toxic.address();
                            toxic_links.push(toxic);
                            upstream
                        }
                    });
                }
                links.push(EmbeddedProxy::start(link, way[0], hold, sender.clone()).await?);
                ways.push(way);
            }
            proxies.push(links);
            upstreams.push(ways);
        }
        Ok(Self {
            proxies,
            upstreams,
            _toxic_links: toxic_links,
            nobody: listen()?,
            events,
            requests: Vec::new(),
            replies: BTreeMap::new(),
            pushes: Vec::new(),
            subscriptions: BTreeSet::new(),
            closed: BTreeSet::new(),
            busy: BTreeSet::new(),
            outdated: BTreeSet::new(),
            patience: options.patience,
        })
    }

    /// How long any single awaited event may take.
    pub fn patience(&self) -> Duration {
        self.patience
    }

    /// Where a client finds the nodes.
    pub fn addresses(&self, client: u8) -> Vec<String> {
        let links = self.proxies.get(usize::from(client));
        let links = links.into_iter().flatten();
        links.map(|proxy| proxy.address().to_string()).collect()
    }

    /// Ends all connections, and forgets what was held.
    pub async fn reset(&mut self) -> Result<(), WireError> {
        for (client, links) in self.proxies.iter().enumerate() {
            for (node, proxy) in links.iter().enumerate() {
                proxy.redirect(self.upstreams[client][node][0]);
                let done = async {
                    proxy.cut_all(Cut::Rst).await?;
                    proxy.refuse(false).await
                };
                done.await.map_err(wrong(client as u8, node as u8))?;
            }
        }
        while self.events.try_recv().is_ok() {}
        self.requests.clear();
        self.replies.clear();
        self.pushes.clear();
        self.subscriptions.clear();
        self.closed.clear();
        self.busy.clear();
        self.outdated.clear();
        Ok(())
    }

    /// Waits until a client's request is held before a node: the one with this
    /// text, if several are.
    pub async fn next_request(
        &mut self,
        client: u8,
        node: u8,
        argv: &[String],
    ) -> Result<HeldRequest, WireError> {
        let deadline = Instant::now() + self.patience;
        let here = |held: &HeldRequest| (held.place.client, held.place.node) == (client, node);
        loop {
            let exact = |held: &HeldRequest| here(held) && held.argv == argv;
            if let Some(at) = self.requests.iter().position(exact) {
                return Ok(self.requests.remove(at));
            }
            if !self.receive(deadline).await {
                break;
            }
        }
        // Another one than announced: the caller will say so.
        match self.requests.iter().position(here) {
            Some(at) => Ok(self.requests.remove(at)),
            None => Err(WireError::NoRequest {
                client,
                node,
                waited_ms: self.patience.as_millis() as u64,
                command: command_text(argv),
            }),
        }
    }

    /// A client's request that is held before a node already, if it is.
    pub fn request_here(&mut self, client: u8, node: u8, argv: &[String]) -> Option<HeldRequest> {
        while let Ok(event) = self.events.try_recv() {
            self.shelve(event);
        }
        let is_it = |held: &HeldRequest| {
            (held.place.client, held.place.node) == (client, node) && held.argv == argv
        };
        let at = self.requests.iter().position(is_it)?;
        Some(self.requests.remove(at))
    }

    /// Passes a request on to its node, and waits until the reply is held.
    pub async fn execute(&mut self, request: HeldRequest) -> Result<HeldReply, WireError> {
        self.pass(&request).await?;
        self.reply(request).await
    }

    /// Passes a request on to its node.
    pub async fn pass(&mut self, request: &HeldRequest) -> Result<(), WireError> {
        let place = request.place;
        self.proxy(place.client, place.node)?
            .release_request(place.connection, place.seq)
            .await
            .map_err(wrong(place.client, place.node))?;
        Ok(())
    }

    /// Has the reply to this request come already?
    pub fn is_answered(&mut self, request: &HeldRequest) -> bool {
        while let Ok(event) = self.events.try_recv() {
            self.shelve(event);
        }
        self.replies.contains_key(&request.place)
    }

    /// Waits until the reply to a request that was passed on is held.
    pub async fn reply(&mut self, request: HeldRequest) -> Result<HeldReply, WireError> {
        let place = request.place;
        let deadline = Instant::now() + self.patience;
        loop {
            if let Some(reply) = self.replies.remove(&place) {
                return Ok(HeldReply { place, reply });
            }
            let (node, command) = (place.node, || command_text(&request.argv));
            if self.closed.contains(&place.link_and_connection()) {
                let command = command();
                return Err(WireError::Closed { node, command });
            }
            if !self.receive(deadline).await {
                return Err(WireError::NoReply {
                    node,
                    waited_ms: self.patience.as_millis() as u64,
                    command: command(),
                });
            }
        }
    }

    /// Passes a reply on to its client. One that is dead or has closed the
    /// connection does not get it, which is no error.
    pub async fn deliver(&mut self, reply: HeldReply) -> Result<(), WireError> {
        let MessagePlace {
            client,
            node,
            connection,
            seq,
        } = reply.place;
        self.busy.remove(&(client, node, connection));
        let outdated = self.outdated.remove(&(client, node, connection));
        let proxy = self.proxy(client, node)?;
        let delivered = match outdated {
            true => proxy.release_last_reply(connection, seq).await,
            false => proxy.release_reply(connection, seq).await.map(|_| ()),
        };
        match delivered {
            Ok(()) | Err(ProxyError::NoConnection { .. }) => Ok(()),
            Err(error) => Err(wrong(client, node)(error)),
        }
    }

    /// Waits until a node's message to a client that listens is held.
    pub async fn next_push(&mut self, client: u8, node: u8) -> Result<HeldPush, WireError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let closed = &self.closed;
            let here = |held: &HeldPush| {
                (held.place.client, held.place.node) == (client, node)
                    && !closed.contains(&held.place.link_and_connection())
            };
            if let Some(at) = self.pushes.iter().position(here) {
                return Ok(self.pushes.remove(at));
            }
            if !self.receive(deadline).await {
                return Err(WireError::NoMessage {
                    client,
                    node,
                    waited_ms: self.patience.as_millis() as u64,
                });
            }
        }
    }

    /// Passes a published message on to its client.
    pub async fn hear(&mut self, push: HeldPush) -> Result<(), WireError> {
        let MessagePlace {
            client,
            node,
            connection,
            seq,
        } = push.place;
        let released = self
            .proxy(client, node)?
            .release_push(connection, seq)
            .await;
        released.map(|_| ()).map_err(wrong(client, node))
    }

    /// Published messages that have come for a client, and that no step asked for.
    pub fn unasked(&mut self, client: u8) -> Vec<(u8, Reply)> {
        while let Ok(event) = self.events.try_recv() {
            self.shelve(event);
        }
        let open = |held: &&HeldPush| !self.closed.contains(&held.place.link_and_connection());
        let own = self
            .pushes
            .iter()
            .filter(|held| held.place.client == client);
        own.filter(open)
            .map(|held| (held.place.node, held.message.clone()))
            .collect()
    }

    /// Ends the connections on which a client subscribed at a node. What is held of them
    /// is gone.
    pub async fn end_subscription(&mut self, client: u8, node: u8) -> Result<(), WireError> {
        while let Ok(event) = self.events.try_recv() {
            self.shelve(event);
        }
        let here = |of: &(u8, u8, u64)| (of.0, of.1) == (client, node);
        let (ended, others): (BTreeSet<_>, BTreeSet<_>) =
            self.subscriptions.iter().copied().partition(here);
        self.subscriptions = others;
        for (client, node, connection) in ended {
            self.cut_connection(client, node, connection).await?;
            self.closed.insert((client, node, connection));
        }
        Ok(())
    }

    /// The request vanishes before it reaches its node.
    pub async fn lose_request(&mut self, request: HeldRequest) -> Result<(), WireError> {
        let place = request.place;
        self.proxy(place.client, place.node)?
            .lose_request(place.connection, place.seq)
            .await
            .map_err(wrong(place.client, place.node))
    }

    /// The reply vanishes before it reaches its client.
    pub async fn lose_reply(&mut self, reply: HeldReply) -> Result<(), WireError> {
        let place = reply.place;
        self.proxy(place.client, place.node)?
            .lose_reply(place.connection, place.seq)
            .await
            .map_err(wrong(place.client, place.node))
    }

    /// The node learns that the client of a request that was passed on has gone.
    pub async fn hang_up(&mut self, request: &HeldRequest) -> Result<(), WireError> {
        let place = request.place;
        self.busy
            .remove(&(place.client, place.node, place.connection));
        let ended = self.proxy(place.client, place.node)?;
        match ended.hang_up(place.connection).await {
            Ok(()) | Err(ProxyError::NoConnection { .. }) => Ok(()),
            Err(error) => Err(wrong(place.client, place.node)(error)),
        }
    }

    /// The connection of a message breaks under its client.
    pub async fn cut(&mut self, place: MessagePlace) -> Result<(), WireError> {
        self.cut_connection(place.client, place.node, place.connection)
            .await
    }

    /// The node has restarted: connections with nothing on their way learn of
    /// it now, as an idle client does; on the others the trace says when.
    pub async fn node_restarted(&mut self, node: u8) -> Result<(), WireError> {
        for client in 0..self.proxies.len() as u8 {
            self.cut_idle(client, node).await?;
        }
        Ok(())
    }

    /// The node's server is gone: all clients find its other one (`server`: 0 is
    /// the first, 1 the second) instead, and learn of it as they do of a restart.
    pub async fn node_replaced(&mut self, node: u8, server: usize) -> Result<(), WireError> {
        for client in 0..self.proxies.len() as u8 {
            self.redirect(client, node, server)?;
        }
        self.node_restarted(node).await
    }

    /// The client uses this server of the node from its next command on. A command
    /// that is on its way stays with the server that it went to.
    pub async fn follow(&mut self, client: u8, node: u8, server: usize) -> Result<(), WireError> {
        self.redirect(client, node, server)?;
        self.cut_idle(client, node).await?;
        let left = self.proxy(client, node)?.connections();
        self.outdated.extend(
            left.into_iter()
                .map(|connection| (client, node, connection)),
        );
        Ok(())
    }

    fn redirect(&self, client: u8, node: u8, server: usize) -> Result<(), WireError> {
        let ways = self.upstreams.get(usize::from(client));
        let way = ways.and_then(|ways| ways.get(usize::from(node)));
        let server = way.and_then(|way| way.get(server));
        let server = server.ok_or(WireError::NoLink { client, node })?;
        self.proxy(client, node)?.redirect(*server);
        Ok(())
    }

    /// The node's server is gone. What a client sends there without being refused is on
    /// its way to nobody.
    pub async fn node_gone(&mut self, node: u8) -> Result<(), WireError> {
        for client in 0..self.proxies.len() as u8 {
            self.proxy(client, node)?.redirect(self.nobody.1);
        }
        self.node_restarted(node).await
    }

    /// Refuses new connections of this link, and ends idle ones, so that the
    /// next command must make one.
    pub async fn refuse(&mut self, client: u8, node: u8) -> Result<(), WireError> {
        self.set_refusing(client, node, true).await?;
        self.cut_idle(client, node).await
    }

    /// Accepts connections again.
    pub async fn accept(&mut self, client: u8, node: u8) -> Result<(), WireError> {
        self.set_refusing(client, node, false).await
    }

    async fn set_refusing(&self, client: u8, node: u8, refuse: bool) -> Result<(), WireError> {
        let refused = self.proxy(client, node)?.refuse(refuse).await;
        refused.map_err(wrong(client, node))
    }

    async fn cut_idle(&mut self, client: u8, node: u8) -> Result<(), WireError> {
        for connection in self.proxy(client, node)?.connections() {
            if !self.busy.contains(&(client, node, connection)) {
                self.cut_connection(client, node, connection).await?;
            }
        }
        Ok(())
    }

    async fn cut_connection(
        &mut self,
        client: u8,
        node: u8,
        connection: u64,
    ) -> Result<(), WireError> {
        self.busy.remove(&(client, node, connection));
        let cut = self.proxy(client, node)?.cut(connection, Cut::Fin).await;
        match cut {
            Ok(()) | Err(ProxyError::NoConnection { .. }) => Ok(()),
            Err(error) => Err(wrong(client, node)(error)),
        }
    }

    /// Shelves the next event; false if none came in time.
    async fn receive(&mut self, deadline: Instant) -> bool {
        let Ok(Some(event)) = timeout_at(deadline, self.events.recv()).await else {
            return false;
        };
        self.shelve(event);
        true
    }

    fn shelve(&mut self, event: ProxyEvent) {
        let ProxyEvent {
            link,
            connection,
            event,
        } = event;
        // The numbers are ours, and made from bytes.
        let (client, node) = (link.client as u8, link.node as u8);
        let place = |seq| MessagePlace {
            client,
            node,
            connection,
            seq,
        };
        match event {
            Event::Request { seq, argv } => {
                self.busy.insert((client, node, connection));
                let name = argv.first().map_or(&[][..], Vec::as_slice);
                if name.eq_ignore_ascii_case(b"subscribe") {
                    self.subscriptions.insert((client, node, connection));
                }
                self.requests.push(HeldRequest {
                    place: place(seq),
                    argv: argv
                        .iter()
                        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
                        .collect(),
                });
            }
            Event::Reply { seq, reply } => {
                self.replies.insert(place(seq), reply);
            }
            Event::ServerClosed | Event::Closed { .. } => {
                self.closed.insert((client, node, connection));
            }
            Event::Push { seq, message } => self.pushes.push(HeldPush {
                place: place(seq),
                message,
            }),
            // A connection that fails to be made shows as a request that does
            // not come.
            _ => {}
        }
    }

    fn proxy(&self, client: u8, node: u8) -> Result<&EmbeddedProxy, WireError> {
        self.proxies
            .get(usize::from(client))
            .and_then(|links| links.get(usize::from(node)))
            .ok_or(WireError::NoLink { client, node })
    }
}

impl MessagePlace {
    fn link_and_connection(&self) -> (u8, u8, u64) {
        (self.client, self.node, self.connection)
    }
}

fn wrong(client: u8, node: u8) -> impl Fn(ProxyError) -> WireError {
    move |source| WireError::Proxy {
        client,
        node,
        source,
    }
}
