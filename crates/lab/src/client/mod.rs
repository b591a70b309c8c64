//! Client processes: spawn one, talk to it, stop it, kill it, leave nothing behind.
//!
//! A client under test may be anybody's code, so nothing it does may hang or
//! bloat the harness: lines, queues and waits are bounded, and every way to
//! misbehave is a [`ClientError`] of its own, raised after the process has been
//! killed and reaped.
//!
//! Reading and writing happen on plain threads rather than as async tasks: a
//! blocked pipe then blocks nobody else, and `Drop`, which cannot await, can
//! still kill and reap. Each process leads a process group, because an adapter
//! is often a shell script around the program that matters, and a signal must
//! reach both.

mod error;
pub mod notes;
mod pipes;
pub mod protocol;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

pub use error::{ClientError, ClientFault};
use pipes::{Line, Pipes};
use protocol::{FromClient, Hello, PROTOCOL, ToClient};

use super::process::{Reaped, spawn};

/// How to start a client process.
#[derive(Clone, Debug)]
pub struct ClientCommand {
    /// The name that error messages use.
    pub name: String,
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
}

/// Bounds on what a client may do.
#[derive(Clone, Debug)]
pub struct ClientLimits {
    /// How long a client may take to say hello, and to answer.
    pub answer: Duration,
    /// Messages that may wait to be looked at, before the client counts as
    /// flooding.
    pub queued_max: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            answer: Duration::from_secs(5),
            queued_max: 4096,
        }
    }
}

/// A running client process that has said hello. Dropping it kills and reaps it.
pub struct ClientProcess {
    name: String,
    limits: ClientLimits,
    child: Child,
    group: Pid,
    pipes: Pipes,
    hello: Hello,
    /// Messages that arrived while another one was awaited.
    waiting: VecDeque<Line>,
    next_id: u64,
    paused: bool,
    /// Set once the process has been waited for; its pid means nothing then.
    reaped: Option<ExitStatus>,
}

impl ClientProcess {
    /// Starts a client and waits for its `hello`.
    pub async fn spawn(command: &ClientCommand, limits: ClientLimits) -> Result<Self, ClientError> {
        let failed = |source| ClientError {
            client: command.name.clone(),
            fault: ClientFault::Spawn {
                program: command.program.display().to_string(),
                source,
            },
            stderr_tail: String::new(),
        };
        let mut child = start(command).map_err(failed)?;
        let group = Pid::from_child(&child);
        let pipes = match Pipes::attach(&mut child, limits.queued_max) {
            Ok(pipes) => pipes,
            Err(error) => {
                drop(Reaped::new(child));
                return Err(failed(error));
            }
        };
        let mut this = Self {
            name: command.name.clone(),
            limits,
            child,
            group,
            pipes,
            hello: Hello {
                protocol: PROTOCOL.to_string(),
                name: command.name.clone(),
                version: String::new(),
                features: Vec::new(),
                operations: Vec::new(),
            },
            waiting: VecDeque::new(),
            next_id: 1,
            paused: false,
            reaped: None,
        };
        let line = this.receive_line("hello").await?;
        match line.message {
            FromClient::Hello(hello) => this.hello = hello,
            other => return Err(this.unexpected("hello", line.number, &other)),
        }
        Ok(this)
    }

    /// What the client said of itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// The name that error messages use.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An id that no message to this client has had.
    pub fn fresh_id(&mut self) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        id
    }

    /// Queues a message for the client's stdin; does not wait.
    pub fn send(&mut self, message: &ToClient) -> Result<(), ClientError> {
        let mut line = serde_json::to_vec(message).map_err(|e| {
            self.fail(ClientFault::Encode {
                message: message.name(),
                source: e,
            })
        })?;
        line.push(b'\n');
        match self.pipes.write(line) {
            Ok(()) => Ok(()),
            Err(queued) => Err(self.fail(ClientFault::Deaf { queued })),
        }
    }

    /// The next message, whatever it is; `awaiting` says in errors what for.
    pub async fn receive(&mut self, awaiting: &str) -> Result<FromClient, ClientError> {
        if let Some(line) = self.waiting.pop_front() {
            return Ok(line.message);
        }
        Ok(self.receive_line(awaiting).await?.message)
    }

    /// Sends `message` and waits for the message that carries its id. Others
    /// that arrive meanwhile stay queued for [`Self::receive`].
    pub async fn request(&mut self, message: &ToClient) -> Result<FromClient, ClientError> {
        self.send(message)?;
        let awaiting = format!("the answer to `{}` (id {})", message.name(), message.id());
        loop {
            let line = self.receive_line(&awaiting).await?;
            if line.message.id() == Some(message.id()) {
                return Ok(line.message);
            }
            self.park(line)?;
        }
    }

    /// The first message that `wanted` accepts, within the answer limit for
    /// each; others stay queued in order.
    pub async fn receive_where(
        &mut self,
        awaiting: &str,
        wanted: impl Fn(&FromClient) -> bool,
    ) -> Result<FromClient, ClientError> {
        let known = self.waiting.iter().position(|line| wanted(&line.message));
        if let Some(line) = known.and_then(|at| self.waiting.remove(at)) {
            return Ok(line.message);
        }
        loop {
            let line = self.receive_line(awaiting).await?;
            if wanted(&line.message) {
                return Ok(line.message);
            }
            self.park(line)?;
        }
    }

    /// The first message that has arrived and that `wanted` accepts, if any has; others stay
    /// queued in order.
    pub fn take_where(
        &mut self,
        wanted: impl Fn(&FromClient) -> bool,
    ) -> Result<Option<FromClient>, ClientError> {
        while let Some(next) = self.pipes.try_next() {
            match next {
                Ok(line) => self.park(line)?,
                Err(fault) => return Err(self.fail(fault)),
            }
        }
        let known = self.waiting.iter().position(|line| wanted(&line.message));
        let line = known.and_then(|at| self.waiting.remove(at));
        Ok(line.map(|line| line.message))
    }

    /// Messages that arrived and that nobody has asked for yet.
    pub fn drain(&mut self) -> Result<Vec<FromClient>, ClientError> {
        let mut messages: Vec<_> = self.waiting.drain(..).map(|line| line.message).collect();
        while let Some(next) = self.pipes.try_next() {
            match next {
                Ok(line) => messages.push(line.message),
                Err(fault) => return Err(self.fail(fault)),
            }
        }
        Ok(messages)
    }

    /// Stops the process (SIGSTOP) and waits until it has really stopped.
    pub fn pause(&mut self) -> Result<(), ClientError> {
        self.signal(Signal::STOP)?;
        // The signal is only pending when kill returns; a step that follows at
        // once could still meet a running client. NOWAIT leaves the status for
        // whoever reaps the process.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.group), options) {
            Ok(Some(status)) if status.stopped() => {
                self.paused = true;
                Ok(())
            }
            Ok(_) => Err(self.fail(ClientFault::Exited {
                awaiting: "SIGSTOP to take effect".to_string(),
                lines: self.pipes.lines_seen(),
                status: None,
            })),
            Err(errno) => Err(self.fail(ClientFault::Signal {
                signal: "SIGSTOP",
                source: errno.into(),
            })),
        }
    }

    /// Lets the process continue (SIGCONT).
    pub fn resume(&mut self) -> Result<(), ClientError> {
        self.signal(Signal::CONT)?;
        self.paused = false;
        Ok(())
    }

    /// Stopped, and not resumed?
    pub fn is_paused(&self) -> bool {
        self.paused
    }

    /// Kills the process and all of its group (SIGKILL), and reaps it.
    pub fn kill(&mut self) -> Option<ExitStatus> {
        if self.reaped.is_none() {
            // A group that is gone already is what was wanted.
            let _ = kill_process_group(self.group, Signal::KILL);
            self.reaped = self.child.wait().ok();
        }
        self.reaped
    }

    /// An error about this client, raised by somebody who has read a message
    /// that makes no sense where it stands. Kills and reaps the process.
    pub fn misbehaved(&mut self, awaiting: &str, message: &FromClient) -> ClientError {
        let number = self.pipes.lines_seen();
        self.unexpected(awaiting, number, message)
    }

    fn signal(&mut self, signal: Signal) -> Result<(), ClientError> {
        let name = if signal == Signal::STOP {
            "SIGSTOP"
        } else {
            "SIGCONT"
        };
        kill_process_group(self.group, signal).map_err(|errno| {
            self.fail(ClientFault::Signal {
                signal: name,
                source: errno.into(),
            })
        })
    }

    fn park(&mut self, line: Line) -> Result<(), ClientError> {
        if self.waiting.len() >= self.limits.queued_max {
            return Err(self.fail(ClientFault::Flood {
                line: line.number,
                queued: self.waiting.len(),
            }));
        }
        self.waiting.push_back(line);
        Ok(())
    }

    async fn receive_line(&mut self, awaiting: &str) -> Result<Line, ClientError> {
        let limit = self.limits.answer;
        let next = tokio::time::timeout(limit, self.pipes.next()).await;
        let fault = match next {
            Ok(Some(Ok(line))) => return Ok(line),
            Ok(Some(Err(fault))) => fault,
            Ok(None) => ClientFault::Exited {
                awaiting: awaiting.to_string(),
                lines: self.pipes.lines_seen(),
                status: self.exit_status(),
            },
            Err(_) => ClientFault::NoAnswer {
                awaiting: awaiting.to_string(),
                after_ms: limit.as_millis() as u64,
                lines: self.pipes.lines_seen(),
            },
        };
        Err(self.fail(fault))
    }

    /// The exit status of a process that closed its stdout; nothing if it goes
    /// on without. It may have closed it long before it exits, so it is not
    /// waited for without a bound.
    fn exit_status(&mut self) -> Option<ExitStatus> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        for _ in 0..50 {
            // NOWAIT: reaping it now would free its process group's number, and
            // what it left behind in the group is still to be killed.
            if let Ok(Some(_)) = waitid(WaitId::Pid(self.group), options) {
                return self.kill();
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        None
    }

    fn unexpected(&mut self, awaiting: &str, line: u64, message: &FromClient) -> ClientError {
        let text = serde_json::to_string(message).unwrap_or_else(|e| e.to_string());
        self.fail(ClientFault::Unexpected {
            awaiting: awaiting.to_string(),
            line,
            text: error::shorten(&text),
        })
    }

    fn fail(&mut self, fault: ClientFault) -> ClientError {
        self.kill();
        ClientError {
            client: self.name.clone(),
            fault,
            stderr_tail: self.pipes.stderr_tail(),
        }
    }
}

/// Starts the program with pipes on all three streams, as the leader of its
/// own process group.
fn start(command: &ClientCommand) -> std::io::Result<Child> {
    let mut child = Command::new(&command.program);
    child
        .args(&command.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    spawn(child)
}

impl Drop for ClientProcess {
    fn drop(&mut self) {
        self.kill();
    }
}
