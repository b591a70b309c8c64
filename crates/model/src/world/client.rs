//! One client's automaton: inputs, outputs, and what the world sees of a state.
//!
//! All clients run the same text, so there is one automaton, seen from the
//! client's own side.

use lockproof_redis::{Bytes, Reply};
use lockproof_trace::{CONNECTION_FAILED, Outcome};

use crate::lock::{Exchange, Input, Kept, Mode, Op, Phase, Stated, View, Waiting};

/// Threads of one client, the caller's included.
pub const THREADS: usize = 4;

/// One input of the automaton. Replies are numbered by the closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbolic {
    Call(Op),
    /// So many ticks pass at once.
    Advance(u8),
    /// The wall clock alone moves by so many ticks.
    Skew(i8),
    Wake(u8),
    Choose {
        thread: u8,
        value: u8,
    },
    /// The command fails; `definite`: surely not executed.
    Fail {
        thread: u8,
        definite: bool,
    },
    Reply {
        thread: u8,
        reply: u16,
    },
    /// The caller interrupts the operation that runs.
    Cancel,
    /// This published message, as the closure numbers them.
    Message(u16),
    /// What the other caller of its process has done to the handle that both share, as the
    /// closure numbers it.
    Exchange(u16),
    /// The fences that it remembers get new ranks: the closure's number of how. Nothing
    /// happens to the client.
    Renumber(u8),
}

impl Symbolic {
    /// The input as a program takes it, if it is one for programs. A new attempt's token has
    /// no name here.
    pub fn input(
        self,
        outermost: bool,
        replies: &[Reply],
        (messages, exchanges): (&[Published], &[Exchange]),
        step_ms: i64,
    ) -> Option<Input> {
        Some(match self {
            Symbolic::Call(op) => Input::Call {
                op,
                token: (op.mode().is_some() && outermost).then(String::new),
            },
            Symbolic::Advance(ticks) => Input::Advance {
                ms: step_ms * i64::from(ticks),
            },
            Symbolic::Skew(ticks) => Input::Skew {
                ms: step_ms * i64::from(ticks),
            },
            Symbolic::Wake(thread) => Input::Wake { thread },
            Symbolic::Choose { thread, value } => Input::Choose { thread, value },
            Symbolic::Fail { thread, definite } => Input::Fail {
                thread,
                definite,
                message: CONNECTION_FAILED.into(),
            },
            Symbolic::Reply { thread, reply } => Input::Reply {
                thread,
                reply: replies[usize::from(reply)].clone(),
            },
            Symbolic::Cancel => Input::Cancel,
            Symbolic::Message(message) => messages[usize::from(message)].input(),
            Symbolic::Exchange(number) => Input::Exchange(exchanges[usize::from(number)].clone()),
            Symbolic::Renumber(_) => return None,
        })
    }
}

/// A message that a server sends to whoever listens to the channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Published {
    pub channel: Bytes,
    pub payload: Bytes,
}

impl Published {
    /// The message as a program takes it.
    pub fn input(&self) -> Input {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        Input::Message {
            channel: self.channel.clone(),
            payload: text(&self.payload),
        }
    }
}

/// How an operation ended, as far as the world cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    Held,
    /// Held, with a stated validity that is over already.
    HeldTooLate,
    Busy,
    Failed,
    Lost,
    Done(Option<bool>),
}

impl Ending {
    /// The world's view of an outcome.
    pub fn of(outcome: &Outcome) -> Ending {
        match outcome {
            Outcome::Held {
                validity_ms: Some(..=0),
                ..
            } => Ending::HeldTooLate,
            Outcome::Held { .. } => Ending::Held,
            Outcome::Busy => Ending::Busy,
            Outcome::Failed { .. } => Ending::Failed,
            Outcome::Lost => Ending::Lost,
            Outcome::Done { effect } => Ending::Done(*effect),
        }
    }
}

/// A command as the closure numbers it: who waits, where it goes, what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Sent {
    pub thread: u8,
    pub node: u8,
    /// Index into the closure's local commands.
    pub command: u16,
}

/// What a transition of the automaton puts out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Emitted {
    pub sent: Vec<Sent>,
    /// Threads (bit set) whose command was given up.
    pub abandoned: u8,
    pub ending: Option<(Op, Ending)>,
    /// Assertions that do not hold.
    pub broken: u8,
    /// The fence that came with it.
    pub fence: Option<Stated>,
    /// Why nothing can be said about what the program does here: one more than the
    /// number of the closure's reason; 0 if it can.
    pub poison: u16,
    /// Something ends after a time that is no whole number of ticks.
    pub rounded: bool,
    /// What the program keeps of its older tokens, where a new attempt begins and servers
    /// have to know.
    pub kept: Kept,
    /// What the other caller of the process is given: one more than the closure's number;
    /// 0 for nothing.
    pub exchange: u16,
}

/// What the world sees of a local state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Facade {
    pub phase: Phase,
    pub holds: u8,
    /// How the client holds the lock, or tries to.
    pub mode: Mode,
    /// Threads besides the caller's go on.
    pub alive: bool,
    /// B and the stated validity is not over.
    pub valid: bool,
    /// `valid` if everything happens at ticks.
    pub valid_at_ticks: bool,
    /// How long the holder's work can take.
    pub limit: Limit,
    /// What each thread waits for, without times.
    pub threads: [Wait; THREADS],
    /// Ranks (bit set) of the fences that it remembers. A view does not show them.
    pub fences: u8,
}

/// What ends the holder's work, unless the assumption `overrun` lets it go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// Nothing does, or there is no hold.
    None,
    /// The lease, counted from when the acquire was sent.
    Lease,
    /// The validity that the lock stated; it is over when the lock says that it is lost.
    Validity,
}

impl Limit {
    fn of(view: &View, renews: bool) -> Limit {
        if view.holds == 0 {
            Limit::None
        } else if view.lost {
            Limit::Validity
        } else if view.renewed || renews {
            Limit::None
        } else if view.validity_left_ms.is_some() {
            Limit::Validity
        } else {
            Limit::Lease
        }
    }
}

/// What a thread waits for, as far as the world cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wait {
    /// Nothing, or time alone.
    Time,
    /// A message, or time.
    Message,
    /// A reply from this node.
    Reply { node: u8 },
    /// As `Reply`, but its time-out has struck: it runs on unless the reply is first.
    TimedOut { node: u8 },
    /// It can run on.
    Ready,
    /// One of so many choices.
    Choice { options: u8 },
    /// A comparison of times that is open: true or false. If everything happens at
    /// ticks, it is `at_ticks`.
    Open { at_ticks: bool },
}

impl Facade {
    /// B: between a successful acquire and the client's own release call.
    pub fn believes(&self) -> bool {
        self.holds > 0
    }

    /// An operation runs and waits, so its caller can interrupt it.
    pub fn can_be_cancelled(&self) -> bool {
        let runs = !matches!(self.phase, Phase::Idle | Phase::Held);
        runs && !matches!(self.threads[0], Wait::Choice { .. } | Wait::Open { .. })
    }

    /// The facade of a program's view; `renews` if its file says that it does.
    pub fn of(view: &View, renews: bool) -> Facade {
        let mut threads = [Wait::Time; THREADS];
        for (thread, waiting) in &view.threads {
            threads[usize::from(*thread)] = match *waiting {
                Waiting::Reply { node, .. } => Wait::Reply { node },
                Waiting::TimedOut { node } => Wait::TimedOut { node },
                Waiting::Ready => Wait::Ready,
                Waiting::Choice { options } => Wait::Choice { options },
                Waiting::Open { at_ticks } => Wait::Open { at_ticks },
                Waiting::Message { .. } => Wait::Message,
                Waiting::Sleep { .. } => Wait::Time,
            };
        }
        Facade {
            phase: view.phase,
            holds: view.holds,
            mode: view.mode,
            alive: view.threads.iter().any(|(thread, _)| *thread != 0),
            valid: view.valid,
            valid_at_ticks: view.valid_at_ticks,
            limit: Limit::of(view, renews),
            threads,
            fences: 0,
        }
    }
}
