//! The adapter protocol: what the harness and a client process say to each other.
//!
//! A client is a process of its own, so that SIGSTOP and SIGKILL are real and a
//! lock library of any language can be driven. The two sides exchange JSON, one
//! message a line, on the process's stdin and stdout. JSON lines were chosen
//! over a socket with a binary framing because every language has both halves
//! in its standard library, and because a person can read and type them.
//!
//! Types here are strict: an unknown field is an error. A lenient reader would
//! take a misspelt `validity_ms` for "this lock states no validity", and a
//! verdict would silently rest on it. What may grow, grows by version.
//!
//! `docs/adapter-protocol.md` is the text for adapter authors; its examples are
//! parsed by `tests/replay/adapter_protocol.rs`.

use std::collections::BTreeMap;

use lockproof_trace::Outcome;
use serde::{Deserialize, Serialize};

/// The version that both sides must name.
pub const PROTOCOL: &str = "lockproof.adapter/1";

/// The longest line that the harness reads, in bytes without the line feed.
pub const LINE_BYTES_MAX: usize = 1 << 20;

/// What the harness writes to a client's stdin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ToClient {
    /// Become this client. Answered by [`FromClient::Ready`].
    Init(Box<Init>),
    /// Start an operation. Answered by [`FromClient::Result`] or
    /// [`FromClient::Error`]; in virtual time by [`FromClient::Step`].
    Call(Call),
    /// Give up the call `target`: it answers soon, with its result or with the
    /// error `cancelled`. Answered by [`FromClient::Ok`].
    Cancel {
        /// This request.
        id: u64,
        /// The call to give up.
        target: u64,
    },
    /// Virtual time: the clock and the timers advance by `ms`; nobody runs.
    Advance {
        /// This request.
        id: u64,
        /// How far, in ms.
        ms: i64,
    },
    /// Virtual time: a thread whose time has come runs on.
    Wake {
        /// This request.
        id: u64,
        /// Which thread.
        thread: u8,
    },
    /// Virtual time: a thread hears now that its connection was refused, as
    /// [`FromClient::Refused`] told the harness before.
    Hear {
        /// This request.
        id: u64,
        /// Which thread.
        thread: u8,
    },
    /// Virtual time: a refused thread is to try again, and has not heard of the refusal:
    /// its process was stopped before it tried at all. Answered by [`FromClient::Ok`].
    Retry {
        /// This request.
        id: u64,
        /// Which thread.
        thread: u8,
    },
    /// Virtual time: a thread's random draw gives this value.
    Choose {
        /// This request.
        id: u64,
        /// Which thread.
        thread: u8,
        /// The value, from 1.
        value: u8,
    },
    /// The wall clock alone is set off by `ms` more. In virtual time answered
    /// by [`FromClient::Step`], otherwise by [`FromClient::Ok`].
    Skew {
        /// This request.
        id: u64,
        /// How far, in ms; negative sets the clock back.
        ms: i64,
    },
    /// Virtual time: the other caller of the process has done this to what both share
    /// ([`StepReport::exchange`]). Answered by [`FromClient::Step`].
    Exchange {
        /// This request.
        id: u64,
        /// What it has done.
        exchange: Exchange,
    },
    /// End now: close every connection, answer [`FromClient::Ok`], exit with 0.
    Shutdown {
        /// This request.
        id: u64,
    },
}

impl ToClient {
    /// The id that the answer will carry.
    pub fn id(&self) -> u64 {
        match self {
            Self::Init(init) => init.id,
            Self::Call(call) => call.id,
            Self::Cancel { id, .. }
            | Self::Advance { id, .. }
            | Self::Wake { id, .. }
            | Self::Hear { id, .. }
            | Self::Retry { id, .. }
            | Self::Choose { id, .. }
            | Self::Skew { id, .. }
            | Self::Exchange { id, .. }
            | Self::Shutdown { id } => *id,
        }
    }

    /// The message's name on the wire, for error messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Init(_) => "init",
            Self::Call(_) => "call",
            Self::Cancel { .. } => "cancel",
            Self::Advance { .. } => "advance",
            Self::Wake { .. } => "wake",
            Self::Hear { .. } => "hear",
            Self::Retry { .. } => "retry",
            Self::Choose { .. } => "choose",
            Self::Skew { .. } => "skew",
            Self::Exchange { .. } => "exchange",
            Self::Shutdown { .. } => "shutdown",
        }
    }
}

/// Everything that a client must know before its first call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Init {
    /// This request.
    pub id: u64,
    /// Always [`PROTOCOL`].
    pub protocol: String,
    /// The client's number, from 0.
    pub client: u8,
    /// The client's stable identity, which no other client has.
    pub owner: String,
    /// `host:port` of every node, in the lock's own node order. They lead to
    /// proxies: a library must not ask the server for its address.
    pub nodes: Vec<String>,
    /// The lock's key.
    pub key: String,
    /// The lease to ask for, in ms.
    pub ttl_ms: i64,
    /// A command without a time-out of its own gives up after this many ms.
    pub timeout_ms: i64,
    /// Numbers that the lock file or the adapter declares.
    #[serde(default)]
    pub params: BTreeMap<String, f64>,
    /// The lock file to run. Real libraries have none and ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// A file or pipe to append notes of the lock's commands to, for lockproof's
    /// own worker (`lab::client::notes`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Who moves the client's clock.
    pub clock: ClockMode,
    /// Virtual time: the clock's first value, in ms since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epoch_ms: Option<i64>,
    /// Decides random draws in real time.
    #[serde(default)]
    pub seed: u64,
}

/// Who moves a client's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockMode {
    /// The machine does.
    Real,
    /// The harness does, by `advance`; needs the feature `virtual-time`.
    Virtual,
}

/// One operation to run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// This request; the answer carries it.
    pub id: u64,
    /// One of the operations that the client named: `acquire`, `release`, ...
    pub op: String,
    /// The caller's identity inside the process, for locks that are reentrant
    /// by thread. Calls of one caller never overlap; those of two may.
    #[serde(default)]
    pub caller: u32,
    /// Reader or writer; only with the feature `read-write` is it ever `read`.
    #[serde(default)]
    pub mode: Mode,
    /// A token that no other attempt has. Ignored by libraries that draw
    /// their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// How long an acquire may wait for a busy lock, in ms; 0 or nothing: as
    /// long as the lock file says, and a library tries once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<i64>,
}

/// Reader or writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Excludes everybody.
    #[default]
    Write,
    /// Excludes writers only.
    Read,
}

/// What a client may offer beyond `init`, `call` and `shutdown`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Feature {
    /// Understands `advance`, `wake`, `hear`, `retry`, `choose`, and reports every `step`.
    VirtualTime,
    /// `init` may come again: forget everything and start afresh.
    Reset,
    /// Understands `cancel`.
    Cancel,
    /// A holder may acquire again.
    Reentrant,
    /// Calls may have `mode: read`.
    ReadWrite,
    /// Uses the token that a call brings.
    Token,
    /// Renews its lease in the background while it holds.
    Renewal,
    /// Understands `skew` in real time.
    Skew,
}

/// What a client writes to its stdout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FromClient {
    /// The first line, unasked.
    Hello(Hello),
    /// Answers `init`.
    Ready {
        /// Of the `init`.
        id: u64,
        /// What can be called now (a worker learns it from the lock file).
        operations: Vec<String>,
        /// SHA-256 (hex) over the lock file and its scripts, if one is run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sha256: Option<String>,
    },
    /// A call ended, and how.
    Result(CallResult),
    /// A request failed, or a call ended in an error.
    Error {
        /// Of the request or call.
        id: u64,
        /// Whether it surely took no effect. If in doubt: `false`.
        definite: bool,
        /// The kind of error.
        code: ErrorCode,
        /// For a person.
        message: String,
    },
    /// A request was done that has no other answer.
    Ok {
        /// Of the request.
        id: u64,
    },
    /// Unasked: the client has noticed that it no longer holds the lock.
    Lost {
        /// Why it thinks so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Unasked: a background renewal succeeded.
    Renewed {
        /// The validity from now on, in ms, if the lock states one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        validity_ms: Option<i64>,
    },
    /// Unasked: a line for the harness's log.
    Log {
        /// The text.
        message: String,
    },
    /// Virtual time: a node refused the connection that a command needed. The thread
    /// that waits does not know it before [`ToClient::Hear`], and may have to
    /// [`ToClient::Retry`].
    Refused {
        /// Who waits.
        thread: u8,
        /// Which node.
        node: u8,
        /// For a person.
        message: String,
    },
    /// Virtual time: one input was taken, and this is what came of it.
    Step(Box<StepReport>),
}

impl FromClient {
    /// The request that this answers, if it is an answer.
    pub fn id(&self) -> Option<u64> {
        match self {
            Self::Ready { id, .. } | Self::Error { id, .. } | Self::Ok { id } => Some(*id),
            Self::Result(result) => Some(result.id),
            Self::Step(step) => step.id,
            Self::Hello(_)
            | Self::Lost { .. }
            | Self::Renewed { .. }
            | Self::Refused { .. }
            | Self::Log { .. } => None,
        }
    }
}

/// A client introduces itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hello {
    /// Always [`PROTOCOL`].
    pub protocol: String,
    /// The adapter's name, for messages and reports.
    pub name: String,
    /// The version of the library that it drives.
    pub version: String,
    /// What it offers.
    #[serde(default)]
    pub features: Vec<Feature>,
    /// What can be called, if that is known before `init`.
    #[serde(default)]
    pub operations: Vec<String>,
}

/// The end of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallResult {
    /// Of the call.
    pub id: u64,
    /// How it ended.
    pub outcome: Outcome,
    /// Hold count after it, if the lock counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<u8>,
    /// The token that a library drew for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Kinds of errors. Whether one is definite is said beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorCode {
    /// The message makes no sense, or not now.
    BadRequest,
    /// The lock has no such operation, mode or feature: *not applicable*.
    NotApplicable,
    /// The server could not be reached, or the connection broke.
    Connection,
    /// No answer from the server in time.
    Timeout,
    /// The server answered with an error.
    Server,
    /// The call was cancelled.
    Cancelled,
    /// A defect of the adapter, the library or the lock file.
    Internal,
}

/// What one input did to a client in virtual time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepReport {
    /// The request that was the input; nothing if the network was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// What the network brought, if it was the input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// Commands sent, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sent: Vec<SentCommand>,
    /// Threads that gave up the command that they waited for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abandoned: Vec<u8>,
    /// The operation that ended, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// A background thread noticed that the lock is lost.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lost: bool,
    /// What the lock file asserts, and is not so; in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub broken: Vec<Broken>,
    /// The line of the lock file that acted last, from 1; 0 if none did.
    #[serde(default)]
    pub line: u32,
    /// What the other caller of the process has to be given, before anybody else runs; only
    /// of a lock whose callers share a handle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<Exchange>,
    /// What the client believes now.
    pub view: View,
}

/// What one of two callers of a process has done to what both share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// It has begun a new attempt.
    pub attempt: bool,
    /// Threads of the other caller that it stops, from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<u8>,
    /// All that the handle holds now: keys and values.
    pub fields: Vec<(HandleValue, HandleValue)>,
}

/// A key or a value in a handle that two callers share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HandleValue {
    /// A boolean.
    Bool(bool),
    /// A finite number, as the shortest decimal text that reads back as the same.
    Number(String),
    /// A text.
    Text(String),
}

/// An assertion of the lock file's that does not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Broken {
    /// The line of the lock file, from 1.
    pub line: u32,
    /// What the file says of it.
    pub text: String,
}

/// What the network brought to a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Cause {
    /// The reply to the thread's command.
    Reply {
        /// Who waited.
        thread: u8,
        /// From where.
        node: u8,
    },
    /// The thread's command failed after it was sent.
    Fail {
        /// Who waited.
        thread: u8,
        /// From where.
        node: u8,
        /// Whether it was surely not executed.
        definite: bool,
        /// For a person.
        message: String,
    },
    /// A published message.
    Message {
        /// Where it was published.
        channel: String,
        /// What it says.
        payload: String,
    },
}

/// A command that a thread of the client sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SentCommand {
    /// Who waits for the reply.
    pub thread: u8,
    /// To which node.
    pub node: u8,
    /// The command and its arguments as text.
    pub argv: Vec<String>,
    /// The line of the lock file, from 1.
    pub line: u32,
}

/// An operation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ended {
    /// Which.
    pub op: String,
    /// How.
    pub outcome: Outcome,
}

impl Ended {
    /// It was an acquire, in whatever mode.
    pub fn acquires(&self) -> bool {
        ["acquire", "acquire_read", "acquire_write", "try_acquire"].contains(&self.op.as_str())
    }
}

/// What a client believes between two inputs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// `idle`, `acquiring`, `held`, `releasing`, `renewing` or `asking`.
    pub phase: String,
    /// Hold count; 0 when idle.
    pub holds: u8,
    /// ms until the stated validity ends on the client's own clock, if one was
    /// stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub validity_left_ms: Option<i64>,
    /// Live threads with something to wait for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<ThreadView>,
}

/// What one thread waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThreadView {
    /// Which thread; 0 is the caller's.
    pub thread: u8,
    /// `reply`, `timed-out`, `sleep`, `ready`, `choice` or `message`.
    pub waits_for: String,
    /// ms until its time comes, if that is bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ms: Option<i64>,
}
