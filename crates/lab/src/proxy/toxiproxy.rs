//! A real toxiproxy server as the network.
//!
//! It stands for what the embedded proxy cannot prove about itself: a finding
//! that also shows through somebody else's proxy does not come from ours. It
//! knows only TCP, so it holds and loses whole directions and never a single
//! message. For the replay of a trace both stand in a row, client, embedded
//! gate, toxiproxy, server: the gate decides, and the bytes still cross a real
//! toxiproxy.
//!
//! How the actions are expressed: a hold is a latency of a day (removing it lets
//! the bytes go at once and in order), a black hole is a `timeout` of 0, a cut is
//! `enabled: false` and then true. A reset needs preparation. Toxiproxy arms a
//! connection for it only when the connection is made, and then every end of
//! that connection is a reset. So a link says at its creation how its
//! connections end.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use super::super::binaries::or_in;
use super::super::process::brief;
use super::super::process::{Reaped, Tail, spawn};
use super::super::server::port::PortLease;
pub use super::toxiproxy_api::{Api, ApiError, Toxic};
use super::{Applied, Cut, Direction, Link, LinkAction};

/// The program's name.
pub const PROGRAM: &str = "toxiproxy-server";

/// Longer than any run: what is held is let go by removing the toxic.
const HOLD_MS: u32 = 24 * 60 * 60 * 1_000;

/// How long the server may take to answer for the first time.
const START_PATIENCE: Duration = Duration::from_secs(10);

/// Why toxiproxy cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ToxiproxyError {
    /// There is no such program.
    #[error(
        "failed to find {PROGRAM} on the search path{}; install it (in a clone of lockproof, \
         scripts/setup.sh --tests builds it where Go is installed)",
        or_in(looked)
    )]
    NotFound {
        /// What was looked through beside the search path.
        looked: Vec<PathBuf>,
    },
    /// The process cannot be started.
    #[error("failed to start {PROGRAM}: {0}")]
    Start(#[from] std::io::Error),
    /// The process ended, or does not answer.
    #[error("{PROGRAM} is not there to be asked ({why}); it printed:\n{log}")]
    NotReady {
        /// How it failed.
        why: String,
        /// What it printed.
        log: String,
    },
    /// The API refused or was out of reach.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The action is not possible on this link.
    #[error(
        "this link's connections end by {0:?} only: toxiproxy arms resets when a connection is \
         made; create the link with the other ending"
    )]
    Ending(Cut),
}

/// Finds the program: in one of these directories, or on the search path.
pub fn find_program(directories: &[PathBuf]) -> Result<PathBuf, ToxiproxyError> {
    let unpacked = directories.iter().map(|directory| directory.join(PROGRAM));
    unpacked
        .chain([PathBuf::from(PROGRAM)])
        .find(|program| {
            let mut command = Command::new(program);
            command.arg("-version");
            brief::ask(command).is_ok_and(|answer| answer.status.success())
        })
        .ok_or_else(|| ToxiproxyError::NotFound {
            looked: directories.to_vec(),
        })
}

/// A toxiproxy server. One that was started here ends when this and all of its
/// links are gone.
#[derive(Clone, Debug)]
pub struct Toxiproxy {
    /// `None` for somebody else's.
    process: Option<Arc<Process>>,
    api: Api,
}

/// Where a proxy of somebody else's toxiproxy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Where it listens, as the toxiproxy knows the address.
    pub listen: SocketAddr,
    /// Where we reach it.
    pub reached_at: SocketAddr,
}

#[derive(Debug)]
struct Process {
    child: std::sync::Mutex<Reaped>,
    _lease: PortLease,
    log: Tail,
}

impl Process {
    fn child(&self) -> std::sync::MutexGuard<'_, Reaped> {
        // Nothing that holds the lock can leave it half changed.
        let lock = self.child.lock();
        lock.unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Toxiproxy {
    /// Starts a server on a free loopback port and waits until it answers.
    pub async fn start(program: &Path) -> Result<Toxiproxy, ToxiproxyError> {
        let lease = PortLease::take()?;
        let (said, pipe) = std::io::pipe()?;
        let log = Tail::of(said)?;
        let mut command = Command::new(program);
        command
            .args(["-host", "127.0.0.1", "-seed", "1", "-port"])
            .arg(lease.address().port().to_string())
            .stdin(Stdio::null())
            .stdout(pipe.try_clone()?)
            .stderr(pipe);
        let mut child = Reaped::new(spawn(command)?);
        let api = Api::new(&lease.address().to_string());
        wait_ready(&mut child, &api, &log).await?;
        let process = Process {
            child: std::sync::Mutex::new(child),
            _lease: lease,
            log,
        };
        Ok(Toxiproxy {
            process: Some(Arc::new(process)),
            api,
        })
    }

    /// Joins somebody else's server.
    pub fn attach(api: SocketAddr) -> Toxiproxy {
        Toxiproxy {
            process: None,
            api: Api::new(&api.to_string()),
        }
    }

    /// The server's process id; `None` for somebody else's.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(|process| process.child().pid())
    }

    /// An error, with what it printed, if a server of ours ended. (Somebody else's
    /// is missed when it is asked for something.)
    pub fn check_alive(&self) -> Result<(), ToxiproxyError> {
        let Some(process) = &self.process else {
            return Ok(());
        };
        let status = process.child().child().try_wait()?;
        match status {
            None => Ok(()),
            Some(status) => Err(not_ready(&process.log, format!("it ended: {status}"))),
        }
    }

    /// The HTTP API, for what a [`Link`] does not offer.
    pub fn api(&self) -> &Api {
        &self.api
    }

    /// Makes a link to `upstream` on a free loopback port. `name` must be new.
    /// `ending` is how its connections end, whoever ends them.
    pub async fn link(
        &self,
        name: &str,
        upstream: SocketAddr,
        ending: Cut,
    ) -> Result<ToxiproxyLink, ToxiproxyError> {
        let lease = PortLease::take()?;
        let place = Endpoint {
            listen: lease.address(),
            reached_at: lease.address(),
        };
        let mut link = self.link_at(name, place, upstream, ending).await?;
        link.lease = Some(lease);
        Ok(link)
    }

    /// The same, at a given place.
    pub async fn link_at(
        &self,
        name: &str,
        place: Endpoint,
        upstream: SocketAddr,
        ending: Cut,
    ) -> Result<ToxiproxyLink, ToxiproxyError> {
        self.api
            .create(name, &place.listen.to_string(), &upstream.to_string())
            .await?;
        let link = ToxiproxyLink {
            server: self.clone(),
            name: name.to_owned(),
            address: place.reached_at,
            lease: None,
            ending,
            toxics: Mutex::default(),
            down: Mutex::default(),
        };
        if ending == Cut::Rst {
            // With a toxicity of 0 it only arms connections and strikes none.
            let toxic = Toxic::ResetPeer { timeout: 0 };
            for (direction, toxic_name) in [
                (Direction::ToServer, "arm-up"),
                (Direction::ToClient, "arm-down"),
            ] {
                self.api
                    .add_toxic(name, toxic_name, direction, toxic, 0)
                    .await?;
            }
        }
        Ok(link)
    }
}

async fn wait_ready(child: &mut Reaped, api: &Api, log: &Tail) -> Result<(), ToxiproxyError> {
    let deadline = Instant::now() + START_PATIENCE;
    loop {
        let ended = child.child().try_wait()?;
        let why = match (ended, api.version().await) {
            (Some(status), _) => format!("it ended: {status}"),
            (None, Ok(_)) => return Ok(()),
            (None, Err(error)) => error.to_string(),
        };
        if ended.is_some() || Instant::now() >= deadline {
            return Err(not_ready(log, why));
        }
        sleep(Duration::from_millis(2)).await;
    }
}

fn not_ready(log: &Tail, why: String) -> ToxiproxyError {
    let log = log.text();
    ToxiproxyError::NotReady { why, log }
}

/// One proxy of a toxiproxy server.
#[derive(Debug)]
pub struct ToxiproxyLink {
    server: Toxiproxy,
    name: String,
    address: SocketAddr,
    /// Keeps the port ours, where it is one of this machine.
    lease: Option<PortLease>,
    ending: Cut,
    /// The toxics that are in force, by name: an action may come twice, but the
    /// API takes no toxic twice.
    toxics: Mutex<BTreeSet<String>>,
    /// It refuses connections.
    down: Mutex<bool>,
}

impl ToxiproxyLink {
    /// Its name at the server.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a toxic, in place of the one of the same kind and direction.
    pub async fn add(&self, direction: Direction, toxic: Toxic) -> Result<(), ToxiproxyError> {
        let kind = match toxic {
            Toxic::Latency { .. } => "latency",
            Toxic::Timeout { .. } => "timeout",
            Toxic::ResetPeer { .. } => "reset",
            Toxic::Bandwidth { .. } => "bandwidth",
            Toxic::LimitData { .. } => "limit",
            Toxic::SlowClose { .. } => "slow-close",
        };
        self.add_named(kind, direction, toxic).await
    }

    /// Takes away every toxic of this link.
    pub async fn clear(&self) -> Result<(), ToxiproxyError> {
        let names: Vec<String> = self.toxics.lock().await.iter().cloned().collect();
        for name in names {
            self.remove(&name).await?;
        }
        Ok(())
    }

    /// Takes the proxy away from the server.
    pub async fn delete(self) -> Result<(), ToxiproxyError> {
        Ok(self.server.api.delete(&self.name).await?)
    }

    async fn add_named(
        &self,
        kind: &str,
        direction: Direction,
        toxic: Toxic,
    ) -> Result<(), ToxiproxyError> {
        let name = toxic_name(kind, direction);
        self.remove(&name).await?;
        self.server
            .api
            .add_toxic(&self.name, &name, direction, toxic, 100)
            .await?;
        self.toxics.lock().await.insert(name);
        Ok(())
    }

    async fn remove(&self, name: &str) -> Result<(), ToxiproxyError> {
        if self.toxics.lock().await.remove(name) {
            self.server.api.remove_toxic(&self.name, name).await?;
        }
        Ok(())
    }

    async fn cut(&self, how: Cut) -> Result<(), ToxiproxyError> {
        if how != self.ending {
            return Err(ToxiproxyError::Ending(self.ending));
        }
        self.server.api.enable(&self.name, false).await?;
        match *self.down.lock().await {
            true => Ok(()),
            false => Ok(self.server.api.enable(&self.name, true).await?),
        }
    }

    async fn put_down(&self, down: bool) -> Result<(), ToxiproxyError> {
        let mut state = self.down.lock().await;
        self.server.api.enable(&self.name, !down).await?;
        *state = down;
        Ok(())
    }

    /// Puts a toxic in force, or ends it.
    async fn set(
        &self,
        kind: &str,
        direction: Direction,
        toxic: Option<Toxic>,
    ) -> Result<(), ToxiproxyError> {
        match toxic {
            Some(toxic) => self.add_named(kind, direction, toxic).await,
            None => self.remove(&toxic_name(kind, direction)).await,
        }
    }

    async fn apply_action(&self, action: LinkAction) -> Result<(), ToxiproxyError> {
        let latency = |latency, jitter| Toxic::Latency { latency, jitter };
        match action {
            LinkAction::Hold(direction) => {
                self.add_named("hold", direction, latency(HOLD_MS, 0)).await
            }
            LinkAction::Release(direction) => self.set("hold", direction, None).await,
            LinkAction::Delay { direction, ms } => {
                let toxic = (ms > 0).then(|| latency(ms, 0));
                self.set("delay", direction, toxic).await
            }
            LinkAction::Jitter {
                direction,
                ms,
                jitter_ms,
            } => {
                let toxic = (ms > 0 || jitter_ms > 0).then(|| latency(ms, jitter_ms));
                self.set("delay", direction, toxic).await
            }
            LinkAction::Bandwidth {
                direction,
                kb_per_s,
            } => {
                let toxic = (kb_per_s > 0).then_some(Toxic::Bandwidth { rate: kb_per_s });
                self.set("bandwidth", direction, toxic).await
            }
            LinkAction::SlowClose { direction, ms } => {
                let toxic = (ms > 0).then_some(Toxic::SlowClose { delay: ms });
                self.set("slow-close", direction, toxic).await
            }
            LinkAction::DataLimit { direction, bytes } => {
                let toxic = bytes.map(|bytes| Toxic::LimitData { bytes });
                self.set("limit", direction, toxic).await
            }
            LinkAction::Blackhole(direction) => {
                let hole = Toxic::Timeout { timeout: 0 };
                self.add_named("hole", direction, hole).await
            }
            LinkAction::Fill(direction) => self.set("hole", direction, None).await,
            LinkAction::Heal => {
                self.clear().await?;
                self.put_down(false).await
            }
            LinkAction::Cut(how) => self.cut(how).await,
            LinkAction::Down => self.put_down(true).await,
            LinkAction::Up => self.put_down(false).await,
        }
    }
}

fn toxic_name(kind: &str, direction: Direction) -> String {
    let way = match direction {
        Direction::ToServer => "up",
        Direction::ToClient => "down",
    };
    format!("{kind}-{way}")
}

impl Link for ToxiproxyLink {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn apply(&self, action: LinkAction) -> Applied<'_> {
        Box::pin(async move { Ok(self.apply_action(action).await?) })
    }
}
