//! What a client program takes in and gives out.
//!
//! A [`Program`](super::Program) is purely reactive: it never reads a clock and
//! never opens a socket. The same program is driven by the closure (over
//! symbolic values), by the concrete simulation of a trace, and by the worker
//! process on real servers.

use lockproof_lua::Scale;
use lockproof_redis::Reply;
use lockproof_trace::Outcome;

use super::handle::Exchange;
use super::names::Kept;

/// Sizes and times that a lock file sees. All times are in ms.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// `#lock.nodes`: number of independent servers, at least 1.
    pub nodes: u8,
    /// `lock.ttl`: the lease that an acquire asks for.
    pub ttl_ms: i64,
    /// A command without a time-out of its own gives up after this long.
    pub timeout_ms: i64,
    /// `lock.key`.
    pub key: String,
    /// `lock.params`: overrides of the file's declared defaults.
    pub params: std::collections::BTreeMap<String, f64>,
    /// How a model measures times; `None` for a program that runs for real.
    pub scale: Option<Scale>,
}

/// The operations that a driver calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Op {
    /// Try to get the lock (nested, if the client holds it already).
    Acquire,
    /// Give it back (one level, if nested).
    Release,
    /// Try to get a read-write lock together with other readers.
    AcquireRead,
    /// Try to get a read-write lock alone.
    AcquireWrite,
    /// Prolong the lease of the lock that is held.
    Renew,
    /// Say whether the lock is still held.
    IsHeld,
    /// Try to get the lock, and do not wait for it.
    TryAcquire,
}

impl Op {
    /// Every operation. Moves name them by their place here: a place stands for ever.
    pub const ALL: [Op; 7] = [
        Op::Acquire,
        Op::Release,
        Op::AcquireRead,
        Op::AcquireWrite,
        Op::Renew,
        Op::IsHeld,
        Op::TryAcquire,
    ];

    /// As lock files and traces name it.
    pub const fn name(self) -> &'static str {
        match self {
            Op::Acquire => "acquire",
            Op::Release => "release",
            Op::AcquireRead => "acquire_read",
            Op::AcquireWrite => "acquire_write",
            Op::Renew => "renew",
            Op::IsHeld => "is_held",
            Op::TryAcquire => "try_acquire",
        }
    }

    /// The operation of this name.
    pub fn parse(name: &str) -> Option<Op> {
        Op::ALL.into_iter().find(|op| op.name() == name)
    }

    /// In which mode it acquires; `None` if it does not.
    pub const fn mode(self) -> Option<Mode> {
        match self {
            Op::Acquire | Op::AcquireWrite | Op::TryAcquire => Some(Mode::Write),
            Op::AcquireRead => Some(Mode::Read),
            Op::Release | Op::Renew | Op::IsHeld => None,
        }
    }

    /// Where the caller stands while a holder's operation runs that neither acquires nor
    /// releases; `None` for the others.
    pub const fn while_held(self) -> Option<Phase> {
        match self {
            Op::Renew => Some(Phase::Renewing),
            Op::IsHeld => Some(Phase::Asking),
            Op::Acquire | Op::Release => None,
            Op::AcquireRead | Op::AcquireWrite | Op::TryAcquire => None,
        }
    }
}

/// How a client holds a lock, or tries to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Mode {
    /// Alone. Locks without modes know nothing else.
    #[default]
    Write,
    /// Together with other readers.
    Read,
}

impl Mode {
    /// As lock files read it in `lock.mode`.
    pub const fn name(self) -> &'static str {
        match self {
            Mode::Write => "write",
            Mode::Read => "read",
        }
    }

    /// Two clients may not hold the lock like this at once.
    pub fn excludes(self, other: Mode) -> bool {
        self == Mode::Write || other == Mode::Write
    }
}

/// A thread of a client: 0 is the caller's, the others are spawned.
pub type Thread = u8;

/// One input of a client program.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The driver calls an operation; an outermost acquire brings a fresh token.
    Call { op: Op, token: Option<String> },
    /// The client's clock and its timers advance. Nobody runs: threads whose
    /// time has come become [`Waiting::Ready`].
    Advance { ms: i64 },
    /// The client's wall clock alone is set off by this much (timers are
    /// monotonic and do not move).
    Skew { ms: i64 },
    /// A ready thread runs on: its sleep is over, or its command timed out.
    Wake { thread: Thread },
    /// A thread's `random(n)` gives this value, in `1..=n`. Of a comparison that is
    /// open ([`Waiting::Open`]), 1 is true and 2 is false.
    Choose { thread: Thread, value: u8 },
    /// The reply to the thread's command arrives.
    Reply { thread: Thread, reply: Reply },
    /// The thread's command fails at once. `definite`: it was surely not executed.
    Fail {
        thread: Thread,
        definite: bool,
        message: String,
    },
    /// A message arrives on a channel that the client subscribed to. In a model the name may
    /// have owners' symbols in it.
    Message { channel: Vec<u8>, payload: String },
    /// The other caller of the process has changed the handle that both share, or stops
    /// threads of this one.
    Exchange(Exchange),
    /// The caller interrupts the operation that runs, where it waits. The operation ends as
    /// failed, at once or after the file's clean-up; other threads live on.
    Cancel,
}

/// A command that a thread sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Who waits for the reply.
    pub thread: Thread,
    /// The server, from 0.
    pub node: u8,
    /// The command and its arguments, scripts as EVAL with their whole text.
    pub argv: Vec<Vec<u8>>,
    /// The line of the user's file, from 1.
    pub line: u32,
}

/// What a program does in answer to one input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Commands sent, in order; at most one a thread.
    pub sent: Vec<Request>,
    /// Threads that gave up the command they were waiting for (time-out, stop).
    pub abandoned: Vec<Thread>,
    /// The operation that ended, if one did, and how.
    pub outcome: Option<(Op, Outcome)>,
    /// The fence that a successful acquire stated.
    pub fence: Option<Stated>,
    /// A background thread reported `lost()`.
    pub lost: bool,
    /// Assertions that did not hold, in order.
    pub broken: Vec<Broken>,
    /// The line of the user's file that acted last, from 1; 0 if none did.
    pub line: u32,
    /// A wait ended here at a tick, and not when it was over.
    pub late: bool,
    /// Sleeps and time-outs, for whoever measures time in ticks.
    pub durations: Vec<UsedDuration>,
    /// In a model: the tokens of earlier attempts that the program knows, now that a new
    /// one has begun.
    pub kept: Kept,
    /// Threads (bit set) of the other caller that it stops.
    pub stops: u8,
    /// What the other caller of the process has to be given, before anybody else runs.
    pub exchange: Option<Exchange>,
}

/// An `assert_(condition, text)` whose condition was false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The line of the user's file, from 1.
    pub line: u32,
    /// What the file says of it.
    pub text: String,
}

/// A fence, as `held{fence = n}` states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stated {
    /// A counter's, by its rank (in a model).
    Rank(u8),
    /// A number up to [`Stated::NUMBER_MAX`].
    Number(u8),
    /// Some other number.
    Other,
}

impl Stated {
    /// Larger numbers are not told apart.
    pub const NUMBER_MAX: u8 = 15;
}

/// A duration after which something ends: a sleep, a time-out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UsedDuration {
    /// In ms, ticks left out.
    pub ms: i64,
    /// The line of the user's file, from 1.
    pub line: u32,
}

/// Where the caller stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Nothing is held and nothing runs in the caller's thread.
    Idle,
    /// In an acquire call (a nested one if `holds > 0`).
    Acquiring,
    /// Between a successful acquire and the release call.
    Held,
    /// In a release call. `holds` already counts without the one being released.
    Releasing,
    /// In a renew call, between an acquire and its release.
    Renewing,
    /// In an is_held call, between an acquire and its release.
    Asking,
}

impl Phase {
    /// As traces and clients name it.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Idle => "idle",
            Phase::Acquiring => "acquiring",
            Phase::Held => "held",
            Phase::Releasing => "releasing",
            Phase::Renewing => "renewing",
            Phase::Asking => "asking",
        }
    }
}

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Waiting {
    /// The reply of the command that it sent to `node`; times out in `timeout_ms` more.
    Reply { node: u8, timeout_ms: i64 },
    /// Its command timed out; it runs on at `Wake`, unless the reply comes first.
    TimedOut { node: u8 },
    /// The end of a sleep (or the next round of `every`), in `left_ms` more.
    Sleep { left_ms: i64 },
    /// Its sleep is over; it runs on at `Wake`.
    Ready,
    /// `random(n)`.
    Choice { options: u8 },
    /// A comparison of times whose answer depends on what happens between two
    /// ticks (in a model only). If everything happens at ticks, it is `at_ticks`.
    Open { at_ticks: bool },
    /// `wait(ms)` for a message.
    Message { left_ms: i64 },
}

/// The outside view of a client program between two inputs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct View {
    /// Where the caller stands.
    pub phase: Phase,
    /// Hold count: 0 when idle, up to the nesting depth.
    pub holds: u8,
    /// How it holds the lock, or tries to; `Write` when idle.
    pub mode: Mode,
    /// V: ms until the validity that the acquire stated ends, on the client's
    /// clock, 0 when it is over; `None` if the lock stated none or nothing is held.
    pub validity_left_ms: Option<i64>,
    /// Something is held, the lock did not say that it is lost, and a stated
    /// validity is not over.
    pub valid: bool,
    /// `valid` if everything happens at ticks (in a model, where a validity may end
    /// between two).
    pub valid_at_ticks: bool,
    /// The lock said of this hold that it is lost.
    pub lost: bool,
    /// A background thread lives, or lived, during this hold.
    pub renewed: bool,
    /// Live threads with something to wait for, by id.
    pub threads: Vec<(Thread, Waiting)>,
}
