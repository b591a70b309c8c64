//! A client of a free run: a process that works under the lock until its time is
//! over, and says what happens as it happens.
//!
//! It drives an adapter (lockproof's own worker, or anybody's library) over the
//! adapter protocol, does the workload against the store, and writes an event a
//! line to its standard output. Nobody tells it what to do next, so it is as
//! fast as the lock. It ends by itself when its time is over, and it dies with
//! the harness.

use std::ffi::OsString;
use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Duration;

use lockproof_history::{Event, Kind, Process};
use lockproof_lab::client::protocol::{Call, CallResult, FromClient, Init, Mode, ToClient};
use lockproof_lab::client::{ClientCommand, ClientError, ClientLimits, ClientProcess};
use lockproof_lab::monotonic::now_ns;
use lockproof_lab::process::thread;
use lockproof_trace::Outcome;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::stall;
use super::store::{Store, StoreError};
use super::workload::{self, Bench};
use lockproof_scenario::{Range, WorkloadKind};

/// An adapter may be stopped for as long as a scenario likes; it is given up
/// after this much more than its client's own time-outs.
const ANSWER_PATIENCE: Duration = Duration::from_secs(120);

/// Who minds the validity of its lock stops working this long before its end: a
/// process may be kept from running for a while.
const BEFORE_THE_END: Duration = Duration::from_millis(50);

/// What an actor is told, as one line of JSON on its standard input.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// The number that its events carry.
    pub process: u32,
    /// Program and arguments of the adapter.
    pub adapter: (PathBuf, Vec<String>),
    /// What the adapter is told first.
    pub init: Init,
    /// Where the guarded resource is.
    pub store: SocketAddr,
    /// What to do under the lock.
    pub workload: WorkloadKind,
    /// Work under the lock, in ms.
    pub work_ms: Range,
    /// Rest between two attempts, in ms.
    pub rest_ms: Range,
    /// In the middle of the work, acquire once more.
    #[serde(default)]
    pub nested: bool,
    /// Work ends before the stated validity does.
    #[serde(default)]
    pub within_validity: bool,
    /// How long a round of the lottery lasts, in ms.
    pub round_ms: u32,
    /// Decides every length and draw.
    pub seed: u64,
    /// When the run began, on the monotonic clock.
    pub began_ns: u64,
    /// When to begin no new attempt any more, on the same clock.
    pub until_ns: u64,
    /// End after this many successful acquires, if given.
    #[serde(default)]
    pub acquires_max: Option<u64>,
    /// A gap in this process's own running that is worth an event, in ms.
    pub stall_ms: u64,
}

/// What ended an actor before its time; told on its standard error.
#[derive(Debug, thiserror::Error)]
pub(super) enum ActorError {
    #[error("failed to read its orders: {0}")]
    Orders(String),
    #[error("failed to start a runtime: {0}")]
    Runtime(std::io::Error),
    #[error(transparent)]
    Adapter(#[from] ClientError),
    #[error("the adapter refused: {0}")]
    Refused(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs this process as an actor.
pub fn main() -> ExitCode {
    match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The harness keeps the end of stderr; nobody else reads it.
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn play() -> Result<(), ActorError> {
    let mut line = String::new();
    std::io::stdin()
        .read_line(&mut line)
        .map_err(|error| ActorError::Orders(error.to_string()))?;
    let orders: Orders =
        serde_json::from_str(&line).map_err(|error| ActorError::Orders(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(ActorError::Runtime)?;
    let voice = Voice::new(&orders);
    let skews = listen().map_err(ActorError::Runtime)?;
    stall::watch(voice, Duration::from_millis(orders.stall_ms)).map_err(ActorError::Runtime)?;
    runtime.block_on(act(orders, voice, skews))
}

/// A further line on standard input: how far the client's wall clock is to be off.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skew {
    /// From true time, in ms; 0 sets it right.
    pub skew_ms: i64,
}

/// Reads further lines on a thread that ends with the process.
fn listen() -> std::io::Result<UnboundedReceiver<Skew>> {
    let (sender, receiver) = unbounded_channel();
    thread("skews", move || {
        for line in std::io::stdin().lines() {
            let Ok(line) = line else { return };
            let Ok(skew) = serde_json::from_str(&line) else {
                continue;
            };
            if sender.send(skew).is_err() {
                return;
            }
        }
    })?;
    Ok(receiver)
}

/// Says what happens: one event, one line, at once.
#[derive(Clone, Copy)]
pub(super) struct Voice {
    process: u32,
    began_ns: u64,
}

impl Voice {
    fn new(orders: &Orders) -> Voice {
        Voice {
            process: orders.process,
            began_ns: orders.began_ns,
        }
    }

    pub(super) fn say(self, kind: Kind, f: &str, value: Value, error: Option<String>) {
        // One write under the lock, so that two threads' lines never mix, and with
        // its time read there, so that times never go back. Without a reader the
        // harness is gone, and so is this process in a moment.
        let mut out = std::io::stdout().lock();
        let event = Event {
            time: now_ns().saturating_sub(self.began_ns),
            process: Process::Client(self.process),
            kind,
            f: f.to_owned(),
            value,
            error,
        };
        let Ok(mut line) = serde_json::to_vec(&event) else {
            return;
        };
        line.push(b'\n');
        let _ = out.write_all(&line).and_then(|()| out.flush());
    }
}

async fn act(
    orders: Orders,
    voice: Voice,
    skews: UnboundedReceiver<Skew>,
) -> Result<(), ActorError> {
    let (program, args) = orders.adapter.clone();
    let command = ClientCommand {
        name: format!("client {}", orders.process),
        program,
        args: args.into_iter().map(OsString::from).collect(),
    };
    let limits = ClientLimits {
        answer: ANSWER_PATIENCE,
        ..ClientLimits::default()
    };
    let mut adapter = ClientProcess::spawn(&command, limits).await?;
    let mut init = orders.init.clone();
    init.id = adapter.fresh_id();
    // Into the same pipe as what this process says: should both be killed, what
    // was noted reaches the history all the same.
    if init.lock.is_some() {
        init.notes = Some(format!("/proc/{}/fd/1", std::process::id()));
    }
    match adapter.request(&ToClient::Init(Box::new(init))).await? {
        FromClient::Ready { .. } => {}
        FromClient::Error { message, .. } => return Err(ActorError::Refused(message)),
        other => return Err(adapter.misbehaved("`ready`", &other).into()),
    }
    voice.say(Kind::Info, "ready", json!({ "pid": adapter.pid() }), None);
    let mut actor = Actor {
        store: Store::connect(orders.store).await?,
        rng: ChaCha8Rng::seed_from_u64(orders.seed),
        attempts: 0,
        acquired: 0,
        unsure: false,
        validity: None,
        skews,
        skew_ms: 0,
        clock_orders: Vec::new(),
        orders,
        voice,
        adapter,
    };
    actor.rounds().await
}

struct Actor {
    orders: Orders,
    voice: Voice,
    adapter: ClientProcess,
    store: Store,
    rng: ChaCha8Rng,
    attempts: u64,
    acquired: u64,
    /// Some release had an unknown outcome.
    unsure: bool,
    /// How long the last acquire is valid, from its end on; `None` if it names no
    /// bound.
    validity: Option<Duration>,
    skews: UnboundedReceiver<Skew>,
    /// How far the client's clock is off now.
    skew_ms: i64,
    /// Orders to set the clock that have not been answered.
    clock_orders: Vec<u64>,
}

impl Actor {
    async fn rounds(&mut self) -> Result<(), ActorError> {
        while now_ns() < self.orders.until_ns {
            if self.orders.acquires_max == Some(self.acquired) {
                break;
            }
            if self.acquire(Level::Outer).await? {
                workload::once(self.orders.workload, self).await?;
                self.release().await?;
            }
            let rest = self.length(self.orders.rest_ms);
            wait(rest).await;
        }
        for id in std::mem::take(&mut self.clock_orders) {
            let is_answer = |message: &FromClient| message.id() == Some(id);
            let answer = self
                .adapter
                .receive_where("the answer to `skew`", is_answer);
            clock_is_set(answer.await?)?;
        }
        if self.unsure {
            // Whatever became of its releases, it claims nothing any more: what is
            // left on the servers now is nobody's.
            self.voice.say(Kind::Info, "lost", json!(null), None);
        }
        // Without it the harness takes its end for a death.
        self.voice.say(Kind::Info, "done", json!(null), None);
        Ok(())
    }

    /// Sets the client's clock as the harness last said. It does not wait for the answer:
    /// a call may be under way.
    fn follow_skew(&mut self, Skew { skew_ms }: Skew) -> Result<(), ActorError> {
        let id = self.adapter.fresh_id();
        let ms = skew_ms - self.skew_ms;
        self.adapter.send(&ToClient::Skew { id, ms })?;
        self.skew_ms = skew_ms;
        self.clock_orders.push(id);
        Ok(())
    }

    /// Sends a request and waits for its answer. Whatever the harness says of the
    /// client's clock before or meanwhile is in force at once.
    async fn answer(&mut self, request: &ToClient) -> Result<FromClient, ActorError> {
        while let Ok(skew) = self.skews.try_recv() {
            self.follow_skew(skew)?;
        }
        self.adapter.send(request)?;
        let awaiting = format!("the answer to `{}`", request.name());
        let is_answer = |message: &FromClient| message.id() == Some(request.id());
        let answer = loop {
            let skew = tokio::select! {
                answer = self.adapter.receive_where(&awaiting, is_answer) => break answer?,
                Some(skew) = self.skews.recv() => skew,
            };
            self.follow_skew(skew)?;
        };
        for message in self.adapter.drain()? {
            if let Some(id) = message.id() {
                // The answer may come after that of the call beside it, or calls later.
                if let Some(at) = self.clock_orders.iter().position(|order| *order == id) {
                    self.clock_orders.remove(at);
                    clock_is_set(message)?;
                }
            } else if let FromClient::Lost { reason } = message {
                self.voice.say(Kind::Info, "lost", json!(null), reason);
            }
        }
        Ok(answer)
    }

    async fn acquire(&mut self, level: Level) -> Result<bool, ActorError> {
        self.attempts += 1;
        // An inner hold is told by its owner and has no token of its own.
        let fresh = format!("{}-{}", self.orders.process, self.attempts);
        let token = (level == Level::Outer).then_some(fresh);
        let key = self.orders.init.key.clone();
        let value = json!({ "token": token, "key": key });
        self.voice.say(Kind::Invoke, "acquire", value, None);
        let answer = self.call("acquire", token).await?;
        Ok(match answer {
            Answer::Ended(Outcome::Held { validity_ms, fence }) => {
                let value = json!({ "validity_ms": validity_ms, "fence": fence });
                self.voice.say(Kind::Ok, "acquire", value, None);
                self.acquired += 1;
                let valid = validity_ms.map(|ms| u64::try_from(ms).unwrap_or(0));
                self.validity = valid.map(Duration::from_millis);
                true
            }
            Answer::Ended(Outcome::Busy) => {
                self.refused("acquire", "busy".into());
                false
            }
            // Its caller was told that it has no lock, so it believes in none.
            Answer::Ended(Outcome::Failed { reason }) => {
                self.refused("acquire", reason);
                false
            }
            Answer::Ended(other) => {
                self.refused("acquire", format!("{other:?}"));
                false
            }
            Answer::Error(message) => {
                self.refused("acquire", message);
                false
            }
        })
    }

    async fn release(&mut self) -> Result<(), ActorError> {
        self.voice.say(Kind::Invoke, "release", json!(null), None);
        match self.call("release", None).await? {
            Answer::Ended(Outcome::Done { effect }) => {
                let value = json!({ "effect": effect });
                self.voice.say(Kind::Ok, "release", value, None);
            }
            Answer::Ended(other) => self.unknown_release(format!("{other:?}")),
            Answer::Error(message) => self.unknown_release(message),
        }
        Ok(())
    }

    fn refused(&self, f: &str, error: String) {
        self.voice.say(Kind::Fail, f, json!(null), Some(error));
    }

    fn unknown_release(&mut self, error: String) {
        self.unsure = true;
        self.voice
            .say(Kind::Info, "release", json!(null), Some(error));
    }

    async fn call(&mut self, op: &str, token: Option<String>) -> Result<Answer, ActorError> {
        let call = ToClient::Call(Call {
            id: self.adapter.fresh_id(),
            op: op.to_owned(),
            caller: 0,
            mode: Mode::Write,
            token,
            wait_ms: None,
        });
        Ok(match self.answer(&call).await? {
            FromClient::Result(CallResult { outcome, .. }) => Answer::Ended(outcome),
            FromClient::Error { message, .. } => Answer::Error(message),
            other => return Err(self.adapter.misbehaved("a result", &other).into()),
        })
    }

    /// How long to work now.
    fn work_length(&mut self) -> Duration {
        let drawn = self.length(self.orders.work_ms);
        match self.validity.filter(|_| self.orders.within_validity) {
            Some(validity) => drawn.min(validity.saturating_sub(BEFORE_THE_END)),
            None => drawn,
        }
    }

    fn length(&mut self, range: Range) -> Duration {
        let drawn = u64::from(self.rng.next_u32());
        Duration::from_millis(workload::length_ms(range, drawn))
    }
}

/// Sleeps, unless there is no time to sleep: a timer is never shorter than 1 ms.
async fn wait(length: Duration) {
    if !length.is_zero() {
        tokio::time::sleep(length).await;
    }
}

/// A client whose clock could not be set is no evidence of anything.
fn clock_is_set(answer: FromClient) -> Result<(), ActorError> {
    match answer {
        FromClient::Error { message, .. } => Err(ActorError::Refused(message)),
        _ => Ok(()),
    }
}

/// Which of its holds a client acquires.
#[derive(Clone, Copy, PartialEq)]
enum Level {
    Outer,
    /// It holds already.
    Inner,
}

enum Answer {
    Ended(Outcome),
    Error(String),
}

impl Bench for Actor {
    fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn invoke(&mut self, f: &str, value: Value) {
        self.voice.say(Kind::Invoke, f, value, None);
    }

    fn ok(&mut self, f: &str, value: Value) {
        self.voice.say(Kind::Ok, f, value, None);
    }

    fn fail(&mut self, f: &str, error: &str) {
        self.refused(f, error.to_owned());
    }

    fn work(&mut self) -> Pin<Box<dyn Future<Output = Result<(), ActorError>> + '_>> {
        Box::pin(async {
            let length = self.work_length();
            let half = if self.orders.nested {
                length / 2
            } else {
                length
            };
            wait(half).await;
            if !self.orders.nested {
                return Ok(());
            }
            let inner = self.acquire(Level::Inner).await?;
            wait(length - half).await;
            if inner {
                self.release().await?;
            }
            Ok(())
        })
    }

    fn draw(&mut self, bound: u64) -> u64 {
        self.rng.next_u64() % bound.max(1)
    }

    fn unique(&mut self) -> u64 {
        (u64::from(self.orders.process) << 32) | self.attempts
    }

    fn round(&self) -> u64 {
        let elapsed_ms = now_ns().saturating_sub(self.orders.began_ns) / 1_000_000;
        elapsed_ms / u64::from(self.orders.round_ms.max(1))
    }
}
