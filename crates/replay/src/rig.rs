//! Servers, proxies and client processes, put up once and emptied between replays.

use std::time::Duration;

use lockproof_lab::binaries::Binary;
use lockproof_lab::client::protocol::{ClockMode, Feature, FromClient, Init, PROTOCOL, ToClient};
use lockproof_lab::client::{ClientError, ClientProcess};
use lockproof_lab::server::{Fleet, OwnClock, Persistence, Server, ServerOptions};
use lockproof_redis::Reply;
use lockproof_trace::{Trace, owner_name, words};
use tokio::task::JoinSet;

use super::look::{self, Listener};
use super::replica::{self, Replica, expect_ok};
use super::wire::{HeldReply, HeldRequest, WireError, Wires};
use super::{GateError, GateOptions, Stop};

/// What a rig is built for; one that has the right shape can be used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) clients: u8,
    pub(super) nodes: u8,
    persistence: Persistence,
    /// Each node has a replica.
    replicas: bool,
    /// .. and asks for it to write.
    pub(super) asks_for_replicas: bool,
    /// The kind of server that it takes; any will do if there is none.
    pub(super) kind: Option<&'static str>,
}

/// The kind of server that a trace may ask for.
const VALKEY: &str = "valkey";

impl Shape {
    /// The shape that a trace needs.
    pub fn of(trace: &Trace) -> Result<Self, Stop> {
        let setup = &trace.setup;
        let persistence = Persistence::from_name(&setup.persistence).ok_or_else(|| {
            Stop::NotReplayable(format!(
                "no server persists by `{}`; the trace may say none, everysec or always",
                setup.persistence
            ))
        })?;
        let kind = match setup.server.as_deref() {
            None => None,
            Some(VALKEY) => Some(VALKEY),
            Some(kind) => {
                return Err(Stop::NotReplayable(format!(
                    "it asks for a server of the kind `{kind}`; this version knows `{VALKEY}`"
                )));
            }
        };
        Ok(Self {
            clients: setup.clients,
            nodes: setup.nodes,
            persistence,
            replicas: setup.replicas > 0,
            asks_for_replicas: setup.min_replicas > 0,
            kind,
        })
    }
}

/// The property that is about the guarded counter.
pub(super) const EFFECT: &str = "mutual-exclusion-effect";
pub(super) const FENCES: &str = "fence-monotonicity";

/// The property of locks with modes.
pub(super) const READ_WRITE: &str = "read-write-exclusion";

/// The property of locks whose clients wait for messages.
pub(super) const NO_LOST_WAKE_UP: &str = "no-lost-wake-up";

/// What a restart leaves of a log.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kept {
    Nothing,
    Bytes(u64),
    All,
}

/// How much is in a node's log and in its replica's.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogBytes {
    pub node: u64,
    pub replica: u64,
}

/// Everything real.
pub(super) struct Rig {
    pub(super) shape: Shape,
    // Clients first: they are dropped, and end, before what they talk to.
    clients: Vec<Option<ClientProcess>>,
    /// What each client was told first.
    inits: Vec<Init>,
    options: GateOptions,
    pub wires: Wires,
    /// The nodes' first servers, and then their replicas, if they have any.
    pub(super) fleet: Fleet,
    /// By node, if they have any.
    pub(super) replicas: Vec<Replica>,
    /// Servers that stand still.
    pub(super) paused: Vec<bool>,
    /// By server, where one was asked for.
    pub(super) listeners: Vec<Option<Listener>>,
    /// The server of the guarded counter, once a trace needed it.
    pub(super) store: Option<Server>,
}

/// Under `everysec` a server puts off *writing* its log while a sync is under
/// way, for up to two seconds of its own clock, which stands still here. The
/// trace says what has reached the disk, so nothing is left to the server: it
/// writes at once and never syncs, and a power loss is the cut of its log.
fn write_at_once(persistence: Persistence) -> Vec<String> {
    match persistence {
        Persistence::Everysec => ["--appendfsync", "no"].map(String::from).to_vec(),
        Persistence::None | Persistence::Always => Vec::new(),
    }
}

fn arguments(shape: Shape) -> Vec<String> {
    let mut arguments = write_at_once(shape.persistence);
    arguments.extend(look::TELL.map(String::from));
    if shape.replicas {
        arguments.extend(replica::arguments());
    }
    if shape.asks_for_replicas {
        arguments.extend(["--min-replicas-to-write", "1"].map(String::from));
    }
    arguments
}

impl Rig {
    /// Starts servers and proxies. Clients come with the first reset.
    pub async fn start(
        shape: Shape,
        binary: Binary,
        options: &GateOptions,
    ) -> Result<Self, GateError> {
        let server = ServerOptions {
            persistence: shape.persistence,
            clock: Some(OwnClock {
                library: options.library.clone(),
                freeze_at_ms: Some(lockproof_trace::EPOCH_MS),
            }),
            command_patience: options.patience,
            expires_by_itself: false,
            args: arguments(shape),
            ..ServerOptions::new(binary)
        };
        let nodes = usize::from(shape.nodes);
        let servers = if shape.replicas { 2 * nodes } else { nodes };
        let fleet = Fleet::start(servers, &server).await?;
        let addresses: Vec<_> = fleet.servers.iter().map(Server::address).collect();
        let wires = Wires::start(shape.clients, shape.nodes, &addresses, options).await?;
        let mut replicas = Vec::new();
        for (node, primary) in fleet.servers[..servers - nodes].iter().enumerate() {
            let link = Replica::start(node as u16, primary, options.patience).await;
            replicas.push(link.map_err(WireError::from)?);
        }
        Ok(Self {
            shape,
            clients: (0..shape.clients).map(|_| None).collect(),
            inits: Vec::new(),
            options: options.clone(),
            wires,
            replicas,
            paused: vec![false; servers],
            listeners: Vec::new(),
            store: None,
            fleet,
        })
    }

    /// Do the servers keep a log?
    pub fn keeps_log(&self) -> bool {
        self.shape.persistence != Persistence::None
    }

    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Process ids: servers, then clients, then the guarded counter's server.
    pub fn processes(&self) -> Vec<u32> {
        let servers = self.fleet.servers.iter().filter_map(Server::pid);
        let clients = self.clients.iter().flatten().map(ClientProcess::pid);
        let store = self.store.iter().filter_map(Server::pid);
        servers.chain(clients).chain(store).collect()
    }

    /// Makes everything as new, for this trace.
    pub async fn reset(&mut self, trace: &Trace, lock: &str) -> Result<(), Stop> {
        // Clients first: one whose connection is cut while it still runs the
        // last trace goes on to its next command, and that command, held after
        // the wires were emptied, would be taken for one of this trace.
        self.respawn_clients().await?;
        self.inits.clear();
        for client in 0..self.shape.clients {
            let init = self.init(client, trace, lock)?;
            self.inits.push(init.clone());
            self.client(client)?.send(&ToClient::Init(Box::new(init)))?;
        }
        for client in 0..self.shape.clients {
            self.await_ready(client, trace).await?;
        }
        self.wires.reset().await?;
        self.reset_servers(trace.setup.epoch_ms).await?;
        if trace.property.as_deref() == Some(EFFECT) {
            let options = self.options.clone();
            self.start_store(&options).await?;
        }
        Ok(())
    }

    /// From now on servers ask for a replica to write, or do not.
    async fn ask_for_replicas(&self, count: &str) -> Result<(), GateError> {
        if self.shape.asks_for_replicas {
            for server in &self.fleet.servers {
                let command = ["CONFIG", "SET", "min-replicas-to-write", count];
                expect_ok(server, &command).await?;
            }
        }
        Ok(())
    }

    async fn reset_servers(&mut self, epoch_ms: i64) -> Result<(), GateError> {
        for (at, server) in self.fleet.servers.iter_mut().enumerate() {
            if std::mem::take(&mut self.paused[at]) {
                server.resume()?;
            }
            if server.pid().is_none() {
                server.restart().await?;
            }
        }
        for server in &self.fleet.servers {
            end_blocked_clients(server).await?;
        }
        // What empties them is a write.
        self.ask_for_replicas("0").await?;
        for (at, server) in self.fleet.servers.iter_mut().enumerate() {
            if let Some(clock) = server.clock() {
                clock.freeze_at(epoch_ms);
            }
            // A server that follows another gets this from there.
            let node = at.checked_sub(usize::from(self.shape.nodes));
            if self.replicas.get_mut(at).is_some_and(Replica::swap_back) {
                expect_ok(server, &["REPLICAOF", "NO", "ONE"]).await?;
            }
            if !node.is_some_and(|node| self.replicas[node].follows()) {
                expect_ok(server, &["FLUSHALL"]).await?;
            }
            // Nobody tells a replica to forget its scripts.
            expect_ok(server, &["SCRIPT", "FLUSH"]).await?;
            server.sync_clock().await?;
        }
        self.reset_replicas().await?;
        self.ask_for_replicas("1").await
    }

    /// First servers are primaries again, and all replicas follow them.
    async fn reset_replicas(&mut self) -> Result<(), GateError> {
        let (primaries, replicas) = self.fleet.servers.split_at(usize::from(self.shape.nodes));
        let pairs = primaries.iter().zip(replicas);
        for (link, (primary, replica)) in self.replicas.iter_mut().zip(pairs) {
            link.follow(primary, replica).await?;
        }
        Ok(())
    }

    /// Starts what crashed, or cannot be reset, all at once.
    async fn respawn_clients(&mut self) -> Result<(), Stop> {
        let mut starting = JoinSet::new();
        for (client, slot) in self.clients.iter_mut().enumerate() {
            if slot.as_ref().is_some_and(can_be_reset) {
                continue;
            }
            *slot = None;
            let options = self.options.clone();
            starting.spawn(async move { (client, spawn(&options).await) });
        }
        while let Some(joined) = starting.join_next().await {
            let (client, process) = match joined {
                Ok(started) => started,
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            };
            self.clients[client] = Some(process?);
        }
        Ok(())
    }

    /// Another process takes a client's place, with its name, at this time.
    pub async fn replace_client(
        &mut self,
        client: u8,
        trace: &Trace,
        epoch_ms: i64,
    ) -> Result<(), Stop> {
        let at = usize::from(client);
        let first = self.inits.get(at).cloned();
        let first = first.ok_or(GateError::ClientGone { client })?;
        self.clients[at] = Some(spawn(&self.options).await?);
        let process = self.client(client)?;
        let init = Init {
            id: process.fresh_id(),
            epoch_ms: Some(epoch_ms),
            ..first
        };
        process.send(&ToClient::Init(Box::new(init)))?;
        self.await_ready(client, trace).await
    }

    fn init(&mut self, client: u8, trace: &Trace, lock: &str) -> Result<Init, Stop> {
        let setup = &trace.setup;
        Ok(Init {
            id: self.client(client)?.fresh_id(),
            protocol: PROTOCOL.to_string(),
            client,
            owner: owner_name(setup.owner_of(client)),
            nodes: self.wires.addresses(client),
            key: setup.key_of(client),
            ttl_ms: setup.ttl_ms,
            timeout_ms: setup.timeout_ms,
            params: setup.params.clone(),
            lock: Some(lock.to_string()),
            notes: None,
            clock: ClockMode::Virtual,
            epoch_ms: Some(setup.epoch_ms),
            seed: trace.seed.unwrap_or(0),
        })
    }

    async fn await_ready(&mut self, client: u8, trace: &Trace) -> Result<(), Stop> {
        let process = self.client(client)?;
        let wanted = |message: &FromClient| {
            matches!(message, FromClient::Ready { .. } | FromClient::Error { .. })
        };
        match process.receive_where("`ready`", wanted).await? {
            FromClient::Ready { sha256, .. } => {
                // What stands before it is of the replay before this one.
                process.drain()?;
                let expected = &trace.lock.sha256;
                match sha256.filter(|sha256| sha256 != expected) {
                    None => Ok(()),
                    Some(sha256) => Err(Stop::NotReplayable(format!(
                        "the lock file has changed since the trace was written (sha256 {sha256}, \
                         not {expected}); check it again"
                    ))),
                }
            }
            FromClient::Error { message, .. } => Err(Stop::NotReplayable(format!(
                "{client} refuses the lock: {message}",
                client = words::client(client)
            ))),
            other => Err(process.misbehaved("`ready`", &other).into()),
        }
    }

    /// A client's process.
    pub fn client(&mut self, client: u8) -> Result<&mut ClientProcess, GateError> {
        self.clients
            .get_mut(usize::from(client))
            .and_then(Option::as_mut)
            .ok_or(GateError::ClientGone { client })
    }

    /// The client's process is gone, and another one must be started for the
    /// next replay.
    pub fn forget_client(&mut self, client: u8) {
        if let Some(slot) = self.clients.get_mut(usize::from(client)) {
            *slot = None;
        }
    }

    /// Passes a held request to its node, which holds it back.
    pub async fn pass(&mut self, request: &HeldRequest) -> Result<(), GateError> {
        Ok(self.wires.pass(request).await?)
    }

    /// Waits for the reply to a request that was passed on before.
    pub async fn reply(&mut self, request: HeldRequest) -> Result<HeldReply, GateError> {
        Ok(self.wires.reply(request).await?)
    }

    /// Passes a held request to its node and waits for the reply, which is held.
    pub async fn execute(&mut self, request: HeldRequest) -> Result<HeldReply, GateError> {
        Ok(self.wires.execute(request).await?)
    }

    /// All servers' clocks advance.
    pub async fn advance_servers(&mut self, ms: i64) -> Result<(), GateError> {
        for at in 0..self.fleet.servers.len() {
            self.jump_clock(at, ms).await?;
        }
        Ok(())
    }

    /// One node's clock jumps, which is its replica's as well.
    pub async fn jump_server(&mut self, node: u8, ms: i64) -> Result<(), GateError> {
        self.place(node)?;
        let first = usize::from(node);
        for at in (first..self.fleet.servers.len()).step_by(usize::from(self.shape.nodes)) {
            // A server removes what is over when it comes by. What it has not removed
            // before its clock goes back would come to life again.
            if ms < 0 && self.answers(at) {
                let all = ["SCAN", "0", "COUNT", "1000000"];
                self.fleet.servers[at].command(&all).await?;
            }
            self.jump_clock(at, ms).await?;
        }
        Ok(())
    }

    async fn jump_clock(&self, at: usize, ms: i64) -> Result<(), GateError> {
        let server = &self.fleet.servers[at];
        if let Some(clock) = server.clock() {
            clock.jump(ms);
        }
        sync(server, self.paused[at]).await
    }

    /// SIGSTOP to a server.
    pub fn pause_server(&mut self, node: u8) -> Result<(), GateError> {
        let at = self.place(node)?;
        self.fleet.servers[at].pause()?;
        self.paused[at] = true;
        Ok(())
    }

    /// SIGCONT to a server.
    pub async fn resume_server(&mut self, node: u8) -> Result<(), GateError> {
        let at = self.place(node)?;
        self.fleet.servers[at].resume()?;
        self.paused[at] = false;
        sync(&self.fleet.servers[at], false).await
    }

    /// SIGKILL to a server; what is `kept` of its log is what a power failure leaves.
    pub async fn end_server(&mut self, node: u8, kept: Kept) -> Result<(), GateError> {
        let at = self.place(node)?;
        let server = &mut self.fleet.servers[at];
        server.kill()?;
        match kept {
            Kept::Nothing => server.remove_aof()?,
            Kept::Bytes(bytes) => server.truncate_aof_to(bytes)?,
            Kept::All => {}
        }
        self.paused[at] = false;
        Ok(self.wires.node_restarted(node).await?)
    }

    /// A server that was ended starts again on its log.
    pub async fn raise_server(&mut self, node: u8) -> Result<(), GateError> {
        let at = self.place(node)?;
        self.fleet.servers[at].restart().await?;
        if let Ok((link, _, _)) = self.pair(node) {
            link.primary_restarted().await?;
        }
        Ok(self.wires.node_restarted(node).await?)
    }

    /// The node's server was ended, and has not started again.
    pub fn is_down(&self, node: u8) -> bool {
        let at = self.place(node);
        at.is_ok_and(|at| self.fleet.servers[at].pid().is_none())
    }

    /// How long any single awaited event may take.
    pub fn patience(&self) -> Duration {
        self.wires.patience()
    }

    /// Bytes in a node's log, and in its replica's, which gets all that it is
    /// to get before.
    pub async fn log_bytes(&mut self, node: u8) -> Result<LogBytes, GateError> {
        let mut bytes = LogBytes {
            node: self.fleet.servers[self.place(node)?].aof_len()?,
            replica: 0,
        };
        if self.keeps_log()
            && let Ok((link, primary, replica)) = self.pair(node)
        {
            link.settle(primary, replica).await?;
            bytes.replica = replica.aof_len()?;
        }
        Ok(bytes)
    }

    /// An error if a server died by itself.
    pub fn check_servers(&mut self) -> Result<(), GateError> {
        for server in self.fleet.servers.iter_mut().chain(&mut self.store) {
            server.check_alive()?;
        }
        Ok(())
    }

    /// Which of the servers stands for a node now.
    pub(super) fn place(&self, node: u8) -> Result<usize, GateError> {
        if node >= self.shape.nodes {
            return Err(GateError::NoNode { node });
        }
        let first = self.second(node) * usize::from(self.shape.nodes);
        Ok(first + usize::from(node))
    }
}

/// A server that stands still shows no time; it looks when it goes on.
async fn sync(server: &Server, paused: bool) -> Result<(), GateError> {
    // Redis asks the clock for every command; only Valkey keeps a copy of it.
    let caches = server.options().binary.name != "redis";
    if caches && !paused && server.pid().is_some() {
        server.sync_clock().await?;
    }
    Ok(())
}

/// Starts a client that a trace can be enforced on.
async fn spawn(options: &GateOptions) -> Result<ClientProcess, Stop> {
    let process = ClientProcess::spawn(&options.client, options.limits()).await?;
    if process.hello().features.contains(&Feature::VirtualTime) {
        return Ok(process);
    }
    Err(Stop::NotReplayable(format!(
        "`{}` keeps its own time (it lacks the feature virtual-time), so no trace can be enforced \
         on it; use a free run",
        process.hello().name
    )))
}

/// A client that is stopped, or cannot start afresh, is replaced.
fn can_be_reset(process: &ClientProcess) -> bool {
    process.hello().features.contains(&Feature::Reset) && !process.is_paused()
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        Self::Failed(error.into())
    }
}

/// Ends connections on which a command of the last trace still waits: its proxy keeps them, as a
/// machine that is gone does, and the next trace's elements would go there.
async fn end_blocked_clients(server: &Server) -> Result<(), GateError> {
    let Reply::Bulk(list) = server
        .command(&["CLIENT", "LIST", "TYPE", "NORMAL"])
        .await?
    else {
        return Ok(());
    };
    let list = String::from_utf8_lossy(&list).into_owned();
    for id in list.lines().filter_map(blocked) {
        // It may have ended by itself.
        server.command(&["CLIENT", "KILL", "ID", id]).await?;
    }
    Ok(())
}

/// The id of a client that a line of CLIENT LIST says is blocked
/// (<https://redis.io/docs/latest/commands/client-list/>).
fn blocked(line: &str) -> Option<&str> {
    let field = |name: &str| {
        let mut words = line.split(' ');
        words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    field("flags")?.contains('b').then(|| field("id"))?
}

#[cfg(test)]
mod tests {
    use super::blocked;

    #[test]
    fn who_waits_for_an_element_is_told_by_its_flags() {
        let line = "id=7 addr=127.0.0.1:5 laddr=127.0.0.1:6 name= age=1 flags=b db=0 cmd=blpop";
        assert_eq!(blocked(line), Some("7"));
        assert_eq!(blocked(&line.replace("flags=b", "flags=N")), None);
        assert_eq!(blocked(""), None);
    }
}
