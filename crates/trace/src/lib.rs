//! Traces: the versioned file that joins the formal and the real side.
//!
//! A trace is concrete. It carries real tokens, real time stamps and exact
//! commands and replies, so that a replay needs nothing but this file and the
//! lock file that it names. The formal side writes it (a counterexample or a
//! random walk), the real side reads it; they share no other type.

use lockproof_redis::Reply;
use serde::{Deserialize, Serialize};

mod fault;
mod file;
mod itf;
mod objects;
mod story;
mod validate;
pub mod words;

pub use fault::{FaultEvent, Lane, Mark, Told, Way};
pub use file::{MAX_BYTES, TraceError, check_lock, parse, read, to_json, write};
pub use itf::{itf, write_itf};
pub use objects::Objects;
use story::violation;
pub use story::{Real, Story, line, story};
pub use validate::{CLIENTS_MAX, Inconsistency, NODES_MAX, validate};

/// The schema name that this version reads and writes.
pub const SCHEMA: &str = "lockproof.trace/1";

/// The clock, in ms since 1970, at which every trace's tick 0 stands.
pub const EPOCH_MS: i64 = 1_700_000_000_000;

/// What a lock file reads as the error's message when a connection fails, on
/// both sides: a text of the operating system would be a difference.
pub const CONNECTION_FAILED: &str = "connection failed";

/// The name that a client gives itself (`lock.owner`), on both sides.
pub fn owner_name(client: u8) -> String {
    format!("client-{}", char::from(b'A'.wrapping_add(client)))
}

/// The client whose owner id `client` uses: its own, or where A and B are two workers of
/// one process (`shared`), A's for both.
pub fn owner_of(client: u8, shared: bool) -> u8 {
    if shared && client == 1 { 0 } else { client }
}

/// One run of a lock, step by step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Which lock file this is a run of.
    pub lock: LockRef,
    /// Sizes and times of the run.
    pub setup: Setup,
    /// The fault switches that were on, by their catalogue names.
    pub assumptions: Vec<Assumption>,
    /// The property that the last step violates; `None` for a random walk.
    pub property: Option<String>,
    /// The seed of a random walk; `None` for a counterexample.
    pub seed: Option<u64>,
    /// The run is endless: from some step on it goes round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// What happened, in order.
    pub steps: Vec<Step>,
}

/// How an endless run goes on: the same steps again and again, of which the trace has a few
/// rounds. (Tokens, times and the numbers of messages are new in each.)
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeats {
    /// The client that never gets what it tries to get.
    pub client: u8,
    /// The operation that it calls again and again.
    pub op: String,
    /// The numbers (from 1) of the steps with which rounds begin. Each ends where the next
    /// begins, the last one with the trace.
    pub rounds: Vec<u32>,
}

impl Repeats {
    /// The number of the first round's last step.
    pub fn first_end(&self) -> Option<usize> {
        self.rounds.get(1).map(|next| *next as usize - 1)
    }
}

impl Trace {
    /// How long it is: the number of the step that violates what it is about, or of its
    /// last step.
    pub fn length(&self) -> usize {
        violation(self).map_or(self.steps.len(), |(step, _)| step)
    }
}

/// Names a lock file and pins its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockRef {
    /// The lock's own name.
    pub name: String,
    /// The path, or the built-in name, that was checked.
    pub path: String,
    /// SHA-256 (hex) over the file and all of its scripts.
    pub sha256: String,
}

/// Sizes and times. All times are in ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setup {
    /// Number of clients, at least 1.
    pub clients: u8,
    /// Number of independent Redis nodes, at least 1.
    pub nodes: u8,
    /// The lease that each acquire asks for.
    pub ttl_ms: i64,
    /// Length of one model tick.
    pub tick_ms: i64,
    /// After this long without a reply a command fails with an unknown outcome.
    pub timeout_ms: i64,
    /// The lock's key on every node.
    pub key: String,
    /// The file's declared parameters with the values used.
    pub params: std::collections::BTreeMap<String, f64>,
    /// The clock at tick 0 in ms since 1970, on servers and unskewed clients.
    pub epoch_ms: i64,
    /// How servers persist: `none`, `everysec` or `always`.
    pub persistence: String,
    /// Replicas of each node, 0 or 1. A replica has its node's clock.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub replicas: u8,
    /// The servers' `min-replicas-to-write`, 0 or 1.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub min_replicas: u8,
    /// Clients A and B are two workers of one process: they use one owner id, A's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_owner: bool,
    /// 2: clients A and B are two callers of one process. What strikes the process strikes both.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub callers: u8,
    /// Each client has two lock objects, and each of its two parts stands here as a client of
    /// its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<Objects>,
    /// These two callers, or the two parts of each client, share one handle (`self`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared_handle: bool,
    /// The kind of server that the lock asks for, such as `valkey`; any will do if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

fn is_zero(count: &u8) -> bool {
    *count == 0
}

/// A fault switch that was on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumption {
    /// Catalogue name, e.g. `client-pause`.
    pub name: String,
    /// How often the fault may strike.
    pub budget: u8,
    /// Its size in ticks (of `failover`: in writes), where it has one; otherwise 0.
    pub size: u8,
}

/// One step of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Model time of the step in ticks since the start.
    pub tick: u32,
    /// What happens.
    pub event: Event,
    /// The line of the lock file that acts, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// What each client believes after the step, in client order.
    pub clients: Vec<ClientView>,
    /// Catalogue ids of the properties that this step violates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violates: Vec<String>,
}

/// A line of the user's lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Line number from 1.
    pub line: u32,
    /// The line's text, trimmed.
    pub text: String,
}

/// What happens in a step. Clients and nodes count from 0.
///
/// A command's life is `Send` (its bytes reach the proxy and are held there),
/// `Execute` (the proxy passes it on and holds the reply), `Deliver` (the reply
/// passes to the client). Faults strike between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Event {
    /// The driver calls an operation, such as `acquire` or `release`. `token` is the
    /// fresh token that an outermost acquire gets.
    Call {
        client: u8,
        op: String,
        token: Option<String>,
    },
    /// A sleeping thread of the client wakes, or its command times out
    /// (`timed_out`), at the clock that the ticks so far have reached.
    Wake {
        client: u8,
        thread: u8,
        timed_out: bool,
    },
    /// A thread's random draw, `random(n)`, gives this value (from 1).
    Choose { client: u8, thread: u8, value: u8 },
    /// Consequence of the step before: the client sends a command.
    Send {
        client: u8,
        thread: u8,
        node: u8,
        message: u32,
        argv: Vec<String>,
    },
    /// The node executes a command that was sent; `reply` is predicted.
    Execute {
        client: u8,
        node: u8,
        message: u32,
        reply: Reply,
    },
    /// Consequence of the step before: the node sends a message to a client that listens
    /// to the channel. It arrives with [`Event::Deliver`].
    Publish {
        client: u8,
        node: u8,
        message: u32,
        channel: String,
        payload: String,
    },
    /// The node holds a command back, until its time-out is over or it can be answered: a
    /// WAIT until the replica has what it asks for, a BLPOP until its list has an element.
    /// `Execute` follows then.
    Block { client: u8, node: u8, message: u32 },
    /// The node learns that the client of a BLPOP that it holds back has ended the
    /// connection, and forgets it.
    HangUp { client: u8, node: u8, message: u32 },
    /// The reply reaches the client. If the client has given the command up
    /// (`ignored`), nobody reads it.
    Deliver {
        client: u8,
        node: u8,
        message: u32,
        reply: Reply,
        ignored: bool,
    },
    /// The connection fails under a command; the client sees an error at once.
    /// `definite` tells *surely not executed* from *unknown*.
    Fail {
        client: u8,
        node: u8,
        message: u32,
        definite: bool,
    },
    /// Consequence of the step before: an operation ends.
    Outcome {
        client: u8,
        op: String,
        outcome: Outcome,
    },
    /// Consequence of the step before: the client comes to an `assert_` of its lock file
    /// whose condition is false. The line is the step's source.
    Assertion { client: u8, text: String },
    /// The holder writes to the guarded counter what it computed from the
    /// value that it read when it acquired. If it comes with a fence, and a higher one has
    /// been there before, it is refused.
    Write {
        client: u8,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        refused: bool,
    },
    /// All clocks advance by one tick.
    Tick,
    /// A fault begins or ends.
    Fault { fault: FaultEvent },
}

/// How an operation ended, as the lock file reports it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Outcome {
    /// Acquired; `validity_ms` from now on the client's clock, if it states one.
    Held {
        validity_ms: Option<i64>,
        fence: Option<i64>,
    },
    /// Somebody else holds it.
    Busy,
    /// The attempt failed for another reason.
    Failed { reason: String },
    /// The lock turned out to be lost.
    Lost,
    /// A release or a renewal ended: `Some(true)` it took effect, `Some(false)`
    /// it did not, `None` the lock does not say. Or a client said whether the lock is
    /// held: `Some(true)` it is, `Some(false)` it is not.
    Done { effect: Option<bool> },
}

/// What a client believes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientView {
    /// `idle`, `acquiring`, `held`, `releasing`, `renewing`, `asking`, `paused` or `crashed`.
    pub phase: String,
    /// B: between a successful acquire and its own release call.
    pub believes: bool,
    /// V: believes, and its own clock is before the end of its validity.
    pub valid: bool,
    /// Validity left on the client's clock in ms, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity_left_ms: Option<i64>,
    /// Hold count of a reentrant lock (1 for others while held).
    pub holds: u8,
}
