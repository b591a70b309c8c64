//! Real servers that lockproof starts, stops, freezes and kills.
//!
//! Each server is a process of its own on a loopback port and in a temporary
//! directory of its own, started from nothing for each replay: that takes about
//! ten milliseconds, and no state of an earlier run can leak into a verdict.
//! Containers were rejected as the default: they add seconds and a daemon, and a
//! process can be stopped, killed and given a clock just as well.
//!
//! A server's port stays leased (see `port.rs`) for as long as the
//! [`Server`] lives, so that it can come back on it, and so that several runs on
//! one machine do not collide.

pub mod admin;
mod disk;
mod options;
pub(super) mod port;

use std::ffi::OsStr;
use std::io;
use std::net::SocketAddr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lockproof_redis::Reply;
use tokio::time::{Instant, sleep};

use admin::{Kept, ask, ask_on};
pub use options::{OwnClock, Persistence, ServerError, ServerOptions};
use port::PortLease;

use super::binaries::Version;
use super::clock::{ServerClock, layout};
use super::process::{Reaped, Tail, spawn, spawn_with_clock};
use super::scratch::Scratch;

/// One running server process (or one that was killed and may come back).
/// Dropping it kills and reaps the process and removes its directory.
#[derive(Debug)]
pub struct Server {
    // Dropped in this order: the process before what it uses.
    process: Option<Reaped>,
    options: ServerOptions,
    clock: Option<ServerClock>,
    directory: Scratch,
    /// What the process says. It is not kept in a file: a program that prints for
    /// ever would fill the disk.
    log: Option<Tail>,
    lease: PortLease,
    /// The port of the cluster bus.
    bus: Option<PortLease>,
    /// For questions that are asked often.
    kept: Kept,
}

/// Its name in the server's directory.
const CONFIG_FILE: &str = "server.conf";

/// So soon a server that runs looks at its clock again.
const SOON: Duration = Duration::from_millis(2);

/// How often another port is tried if a foreign program listens on ours.
const PORT_TRIES: usize = 5;

impl Server {
    /// Starts a server on a free loopback port and waits until it answers.
    pub async fn start(options: &ServerOptions) -> Result<Server, ServerError> {
        let mut tries = 1;
        loop {
            let mut server = Server::prepare(options)?;
            match server.launch().await {
                Ok(()) => return Ok(server),
                Err(ServerError::Died { log, .. })
                    if tries < PORT_TRIES && log.contains("Address already in use") =>
                {
                    tries += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Takes a directory, a port and a clock; starts nothing yet.
    fn prepare(options: &ServerOptions) -> Result<Server, ServerError> {
        let system = |what| {
            move |source| ServerError::System {
                server: options.binary.to_string(),
                what,
                source,
            }
        };
        let directory =
            Scratch::new("server").map_err(system("make a folder for temporary files"))?;
        let lease = PortLease::take().map_err(system("lease a loopback port"))?;
        let bus = match options.cluster {
            true => Some(PortLease::take().map_err(system("lease a port for its bus"))?),
            false => None,
        };
        if let Some(text) = &options.config {
            std::fs::write(directory.path().join(CONFIG_FILE), text)
                .map_err(system("write its configuration file"))?;
        }
        let clock = match &options.clock {
            None => None,
            Some(own) => {
                let clock = ServerClock::create(&directory.path().join("clock"))?;
                if let Some(ms) = own.freeze_at_ms {
                    clock.freeze_at(ms);
                }
                Some(clock)
            }
        };
        Ok(Server {
            process: None,
            options: options.clone(),
            clock,
            directory,
            log: None,
            lease,
            bus,
            kept: Kept::default(),
        })
    }

    /// Starts the process and waits until it answers and shows the right time.
    async fn launch(&mut self) -> Result<(), ServerError> {
        if let Some(clock) = &self.clock {
            clock.forget_reader();
        }
        let (child, log) = self
            .start_process()
            .map_err(|source| self.system("start the process", source))?;
        self.log = Some(log);
        self.process = Some(Reaped::new(child));
        let mut ready = self.wait_ready().await;
        if ready.is_ok() && self.clock.as_ref().is_some_and(|clock| !clock.is_read()) {
            ready = Err(ServerError::ClockNotLoaded {
                server: self.to_string(),
                log: self.log_tail(),
            });
        }
        if ready.is_ok() && !self.options.expires_by_itself {
            ready = self.stop_expiry().await;
        }
        if ready.is_err() {
            self.process = None;
            return ready;
        }
        self.sync_clock().await
    }

    async fn stop_expiry(&self) -> Result<(), ServerError> {
        let command = ["DEBUG", "SET-ACTIVE-EXPIRE", "0"];
        match self.command(&command).await? {
            Reply::Status(_) => Ok(()),
            reply => Err(ServerError::Command {
                server: self.to_string(),
                command: command.join(" "),
                source: io::Error::other(format!("{reply:?}")),
            }),
        }
    }

    fn start_process(&self) -> io::Result<(Child, Tail)> {
        let (said, log) = io::pipe()?;
        let tail = Tail::of(said)?;
        let command = self.command_line(log)?;
        let child = match &self.options.clock {
            Some(own) => spawn_with_clock(command, &own.library)?,
            None => spawn(command)?,
        };
        Ok((child, tail))
    }

    fn command_line(&self, log: io::PipeWriter) -> io::Result<Command> {
        let mut command = Command::new(&self.options.binary.path);
        if self.options.config.is_some() {
            // The server takes a first argument without dashes for the file.
            command.arg(self.directory.path().join(CONFIG_FILE));
        }
        if let Some(bus) = &self.bus {
            let port = bus.address().port().to_string();
            command.args(["--cluster-enabled", "yes", "--cluster-port", &port]);
        }
        command
            .args(["--port", &self.address().port().to_string()])
            .args(["--bind", "127.0.0.1", "--daemonize", "no", "--save", ""])
            .args(["--repl-diskless-sync-delay", "0"])
            // It sleeps until a wall-clock time. On a clock that stands still
            // that time has always passed, and the thread burns a whole core.
            .args(["--jemalloc-bg-thread", "no"])
            .arg("--dir")
            .arg(self.directory.path())
            .args(self.options.persistence.arguments())
            .args(self.debugging())
            .args(&self.options.args)
            .stdin(Stdio::null())
            .stderr(log.try_clone()?)
            .stdout(log);
        if let Some(clock) = &self.clock {
            command.env(OsStr::from_bytes(layout::VARIABLE.to_bytes()), clock.path());
        }
        Ok(command)
    }

    /// What a server wants to hear before it takes DEBUG, which it always does before 7.0.
    fn debugging(&self) -> &'static [&'static str] {
        let asks = self.options.binary.version >= Version(7, 0, 0);
        match asks && !self.options.expires_by_itself {
            true => &["--enable-debug-command", "local"],
            false => &[],
        }
    }

    async fn wait_ready(&mut self) -> Result<(), ServerError> {
        let patience = self.options.start_patience;
        let deadline = Instant::now() + patience;
        let mut pause = Duration::from_millis(1);
        loop {
            self.check_alive()?;
            let left = deadline.saturating_duration_since(Instant::now());
            let last = match ask(self.address(), &["PING"], left).await {
                Ok(Reply::Status(pong)) if pong == "PONG" => match self.ask_identity().await? {
                    true => return Ok(()),
                    false => "another server answers on this port".to_owned(),
                },
                Ok(reply) => format!("{reply:?}"),
                Err(error) => error.to_string(),
            };
            if Instant::now() >= deadline {
                return Err(ServerError::NotReady {
                    server: self.to_string(),
                    patience,
                    last,
                    log: self.log_tail(),
                });
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    /// True if the server that answers on our port is our process.
    async fn ask_identity(&self) -> Result<bool, ServerError> {
        let info = match self.command(&["INFO", "server"]).await? {
            Reply::Bulk(text) => String::from_utf8_lossy(&text).into_owned(),
            _ => String::new(),
        };
        let field = info
            .lines()
            .find_map(|line| line.strip_prefix("process_id:"));
        Ok(field.and_then(|digits| digits.trim().parse().ok()) == self.pid())
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.lease.address()
    }

    /// Where its cluster bus listens, if it has one.
    pub fn bus_address(&self) -> Option<SocketAddr> {
        self.bus.as_ref().map(PortLease::address)
    }

    /// The process id; `None` while the server is killed.
    pub fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Reaped::pid)
    }

    /// The directory of its files; it goes when this value goes.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The server's own clock, if it was given one.
    pub fn clock(&self) -> Option<&ServerClock> {
        self.clock.as_ref()
    }

    /// How it was started.
    pub fn options(&self) -> &ServerOptions {
        &self.options
    }

    /// Sends one command past every proxy, on a connection of its own. An error
    /// reply is a reply.
    pub async fn command<A: AsRef<[u8]>>(&self, argv: &[A]) -> Result<Reply, ServerError> {
        ask(self.address(), argv, self.options.command_patience)
            .await
            .map_err(|source| self.unanswered(argv, source))
    }

    /// As [`Server::command`], for a question that changes nothing: on a connection that is kept
    /// for the next one. If it ends meanwhile, the question is put once more on another.
    pub async fn question<A: AsRef<[u8]>>(&self, argv: &[A]) -> Result<Reply, ServerError> {
        let process = (self.address(), self.pid());
        ask_on(&self.kept, process, argv, self.options.command_patience)
            .await
            .map_err(|source| self.unanswered(argv, source))
    }

    fn unanswered<A: AsRef<[u8]>>(&self, argv: &[A], source: io::Error) -> ServerError {
        let name = argv.first().map(AsRef::as_ref);
        ServerError::Command {
            server: self.to_string(),
            command: String::from_utf8_lossy(name.unwrap_or_default()).into_owned(),
            source,
        }
    }

    /// Waits until the server shows the time that its clock shows, in whole ms:
    /// at least what it shows at the call, at most what it shows by then. Needed
    /// after each move of the clock: Valkey looks at the clock once a ms and
    /// adds up monotonic time in between. Does nothing without a clock.
    pub async fn sync_clock(&self) -> Result<(), ServerError> {
        let Some(clock) = &self.clock else {
            return Ok(());
        };
        let wanted_ms = clock.now_ms();
        let began = Instant::now();
        let deadline = began + self.options.command_patience;
        loop {
            let shown_ms = time_ms(&self.question(&["TIME"]).await?);
            if (wanted_ms..=clock.now_ms()).contains(&shown_ms) {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(ServerError::ClockStuck {
                    server: self.to_string(),
                    shown_ms,
                    wanted_ms,
                });
            }
            // A sleep takes two ms or more, and Valkey one at most: it is asked again and again.
            if began.elapsed() > SOON {
                sleep(Duration::from_millis(1)).await;
            }
        }
    }

    /// Stops the process (SIGSTOP); returns once it stands. Connections hang,
    /// and what arrives meanwhile is executed after [`Server::resume`].
    pub fn pause(&self) -> Result<(), ServerError> {
        self.signal("pause the process", Reaped::stop)
    }

    /// Lets a paused process go on (SIGCONT).
    pub fn resume(&self) -> Result<(), ServerError> {
        self.signal("resume the process", Reaped::resume)
    }

    fn signal(
        &self,
        what: &'static str,
        send: impl FnOnce(&Reaped) -> io::Result<()>,
    ) -> Result<(), ServerError> {
        match &self.process {
            None => Ok(()),
            Some(process) => send(process).map_err(|source| self.system(what, source)),
        }
    }

    /// Kills the process (SIGKILL) and reaps it. Its port and directory stay.
    pub fn kill(&mut self) -> Result<(), ServerError> {
        match self.process.take() {
            None => Ok(()),
            Some(mut process) => process
                .kill()
                .map_err(|source| self.system("kill the process", source)),
        }
    }

    /// Starts a killed server again (killing it first if need be) on the same
    /// port, directory and clock, and waits until it answers.
    pub async fn restart(&mut self) -> Result<(), ServerError> {
        self.kill()?;
        self.forget_copies()?;
        self.launch().await
    }

    /// An error, with the end of its log, if the process ended without having
    /// been told to.
    pub fn check_alive(&mut self) -> Result<(), ServerError> {
        let Some(process) = &mut self.process else {
            return Ok(());
        };
        match process.child().try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(ServerError::Died {
                server: self.to_string(),
                status,
                log: self.log_tail(),
            }),
            Err(source) => Err(self.system("ask after the process", source)),
        }
    }

    /// The last lines that the server wrote.
    pub fn log_tail(&self) -> String {
        const LINES: usize = 15;
        let text = self.log.as_ref().map(Tail::text).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES)..].join("\n")
    }

    pub(super) fn system(&self, what: &'static str, source: io::Error) -> ServerError {
        ServerError::System {
            server: self.to_string(),
            what,
            source,
        }
    }
}

impl std::fmt::Display for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {}", self.options.binary, self.address())
    }
}

/// The answer of TIME in whole ms since 1970; -1 if it is none.
fn time_ms(reply: &Reply) -> i64 {
    let number = |reply: &Reply| match reply {
        Reply::Bulk(digits) => std::str::from_utf8(digits).ok()?.parse::<i64>().ok(),
        _ => None,
    };
    let parts = match reply {
        Reply::Array(parts) => parts.as_slice(),
        _ => &[],
    };
    match parts {
        [s, us] => number(s)
            .zip(number(us))
            .map_or(-1, |(s, us)| s * 1_000 + us / 1_000),
        _ => -1,
    }
}

/// Several servers, started at once.
#[derive(Debug)]
pub struct Fleet {
    /// In the order of their numbers.
    pub servers: Vec<Server>,
}

impl Fleet {
    /// Starts `count` servers concurrently. If one fails, none is left.
    pub async fn start(count: usize, options: &ServerOptions) -> Result<Fleet, ServerError> {
        let starting: Vec<_> = (0..count)
            .map(|_| {
                let options = options.clone();
                tokio::spawn(async move { Server::start(&options).await })
            })
            .collect();
        let mut started = Vec::with_capacity(count);
        for task in starting {
            started.push(match task.await {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            });
        }
        let servers = started.into_iter().collect::<Result<_, _>>()?;
        Ok(Fleet { servers })
    }
}
