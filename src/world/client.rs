//! One client's automaton: inputs, outputs, and a live program that can be put
//! into any of its states.
//!
//! All clients run the same text, so there is one automaton, seen from the
//! client's own side: its own token is `<tok.0>`, its own clock reads
//! [`PRESENT`].

use crate::lock::{Input, LockError, Op, Output, Phase, View, Waiting};
use crate::redis::{Bytes, Reply};
use crate::trace::{CONNECTION_FAILED, Outcome};

use super::program::ClientProgram;
use super::symbols::{self, OWN_NAME, OWN_STALE, OWN_TOKEN, PRESENT};

/// Threads of one client, the caller's included.
pub const THREADS: usize = 4;

/// One input of the automaton. Replies are numbered by the closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Symbolic {
    Call(Op),
    /// So many ticks pass at once.
    Advance(u8),
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
}

/// How an operation ended, as far as the world cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ending {
    Held,
    Busy,
    Failed,
    Lost,
    Done(Option<bool>),
}

impl Ending {
    /// The world's view of an outcome.
    pub fn of(outcome: &Outcome) -> Ending {
        match outcome {
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
}

/// What the world sees of a local state.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Facade {
    pub phase: Phase,
    pub holds: u8,
    /// B and the stated validity is not over.
    pub valid: bool,
    /// The lease that the work must not outlast: none, running, over.
    pub lease: Lease,
    /// What each thread waits for, without times.
    pub threads: [Wait; THREADS],
}

/// The lease of the holder's work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Lease {
    None,
    Running,
    Over,
}

/// What a thread waits for, as far as the world cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Wait {
    /// Nothing, or time alone.
    Time,
    /// A reply from this node.
    Reply { node: u8 },
    /// As `Reply`, but its time-out has struck: it runs on unless the reply is first.
    TimedOut { node: u8 },
    /// It can run on.
    Ready,
    /// One of so many choices.
    Choice { options: u8 },
}

impl Facade {
    /// B: between a successful acquire and the client's own release call.
    pub fn believes(&self) -> bool {
        self.holds > 0
    }

    /// The facade of a program's view.
    pub fn of(view: &View) -> Facade {
        let mut threads = [Wait::Time; THREADS];
        for (thread, waiting) in &view.threads {
            threads[usize::from(*thread)] = match *waiting {
                Waiting::Reply { node, .. } => Wait::Reply { node },
                Waiting::TimedOut { node } => Wait::TimedOut { node },
                Waiting::Ready => Wait::Ready,
                Waiting::Choice { options } => Wait::Choice { options },
                Waiting::Sleep { .. } | Waiting::Message { .. } => Wait::Time,
            };
        }
        let believes = view.holds > 0;
        Facade {
            phase: view.phase,
            holds: view.holds,
            valid: believes && view.validity_left_ms.is_none_or(|left| left > 0),
            lease: match view.lease_left_ms {
                _ if !believes => Lease::None,
                None => Lease::None,
                Some(left) if left > 0 => Lease::Running,
                Some(_) => Lease::Over,
            },
            threads,
        }
    }
}

/// A program at a known clock and attempt, fed with symbolic inputs.
pub struct Live<'p> {
    program: &'p mut dyn ClientProgram,
    clock_ms: i64,
    attempt: u32,
    horizon_ms: i64,
    tick_ms: i64,
    /// The attempt's token that an older token of its own in a reply stands for;
    /// with `None` it stands for one that the program has never seen.
    pub stale_token: Option<String>,
}

/// What a program does and is after an input, to compare two runs.
#[derive(Debug, PartialEq)]
pub struct Answer {
    key: Vec<u8>,
    view: View,
    sent: Vec<(u8, u8, Vec<Bytes>)>,
    ending: Option<(Op, Ending)>,
}

impl<'p> Live<'p> {
    /// A program in its initial state. The clock starts `start_ms` after the
    /// canonical present: no behaviour may depend on it.
    pub fn start(
        program: &'p mut dyn ClientProgram,
        start_ms: i64,
        horizon_ms: i64,
        tick_ms: i64,
    ) -> Result<Live<'p>, LockError> {
        let clock_ms = PRESENT + start_ms;
        program.restart(clock_ms)?;
        Ok(Live {
            program,
            clock_ms,
            attempt: 0,
            horizon_ms,
            tick_ms,
            stale_token: None,
        })
    }

    /// Feeds one symbolic input; `replies` resolves reply numbers.
    pub fn step(&mut self, input: Symbolic, replies: &[Reply]) -> Result<Output, LockError> {
        let concrete = self.concrete(input, replies);
        self.program.step(&concrete)
    }

    fn concrete(&mut self, input: Symbolic, replies: &[Reply]) -> Input {
        match input {
            Symbolic::Call(op) => {
                let outermost = op == Op::Acquire && self.program.view().holds == 0;
                let token = outermost.then(|| {
                    self.attempt += 1;
                    live_token(self.attempt)
                });
                Input::Call { op, token }
            }
            Symbolic::Advance(ticks) => {
                let ms = self.tick_ms * i64::from(ticks);
                self.clock_ms += ms;
                Input::Advance { ms }
            }
            Symbolic::Wake(thread) => Input::Wake { thread },
            Symbolic::Choose { thread, value } => Input::Choose { thread, value },
            Symbolic::Fail { thread, definite } => Input::Fail {
                thread,
                definite,
                message: CONNECTION_FAILED.into(),
            },
            Symbolic::Reply { thread, reply } => Input::Reply {
                thread,
                reply: symbols::map_reply(&replies[usize::from(reply)], &mut |t| self.live_text(t)),
            },
        }
    }

    /// Canonical text as the live program meets it.
    fn live_text(&self, text: &[u8]) -> Vec<u8> {
        let named = symbols::map_symbols(text, |symbol| match symbol {
            symbols::Symbol::Local {
                token: true,
                mark: b'0',
            } => live_token(self.attempt),
            symbols::Symbol::Local {
                token: false,
                mark: b'0',
            } => OWN_NAME.into(),
            symbols::Symbol::Local {
                token: true,
                mark: b's',
            } => self.stale_token.clone().unwrap_or(OWN_STALE.into()),
            other => symbols::print(other),
        });
        symbols::map_times(&named, PRESENT, |distance| self.clock_ms + distance)
    }

    /// The live program's text in canonical form.
    fn canonical_text(&self, text: &[u8]) -> Vec<u8> {
        let named = replace_live_tokens(text, self.attempt);
        symbols::map_times(&named, self.clock_ms, |distance| {
            PRESENT + symbols::clamp(distance, self.horizon_ms)
        })
    }

    /// The canonical command line of a request.
    pub fn command(&self, argv: &[Bytes]) -> Vec<Bytes> {
        argv.iter().map(|word| self.canonical_text(word)).collect()
    }

    /// The canonical local state.
    pub fn key(&self) -> Result<Vec<u8>, LockError> {
        self.program.key(&|text| self.canonical_text(text))
    }

    /// The tokens of earlier attempts that the program still remembers.
    pub fn old_tokens(&self) -> Result<Vec<String>, LockError> {
        let key = self.program.key(&|text| text.to_vec())?;
        let older = (1..self.attempt).map(live_token);
        Ok(older
            .filter(|token| symbols::contains(&key, token))
            .collect())
    }

    /// True if the program remembers this very text.
    pub fn keeps(&self, text: &str) -> Result<bool, LockError> {
        let key = self.program.key(&|text| text.to_vec())?;
        Ok(symbols::contains(&key, text))
    }

    /// What the program did in its last step, and what it is now.
    pub fn answer(&self, output: &Output) -> Result<Answer, LockError> {
        let sent = output.sent.iter();
        let outcome = output.outcome.as_ref();
        Ok(Answer {
            key: self.key()?,
            view: self.view(),
            sent: sent
                .map(|request| (request.thread, request.node, self.command(&request.argv)))
                .collect(),
            ending: outcome.map(|(op, outcome)| (*op, Ending::of(outcome))),
        })
    }

    /// The program's view.
    pub fn view(&self) -> View {
        self.program.view()
    }

    /// The locals of the program, for messages.
    pub fn locals(&self) -> Vec<(String, String)> {
        self.program.locals()
    }
}

/// A fresh token for each attempt, of the canonical token's length.
fn live_token(attempt: u32) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    let digit = |n: u32| char::from(DIGITS[(n % 36) as usize]);
    let mut out = String::from("<tk");
    for power in [36 * 36, 36, 1] {
        out.push(digit(attempt / power));
    }
    out.push('>');
    out
}

fn replace_live_tokens(text: &[u8], attempt: u32) -> Vec<u8> {
    let current = live_token(attempt);
    let length = current.len();
    let mut out = Vec::with_capacity(text.len());
    let mut i = 0;
    while i < text.len() {
        let word = &text[i..text.len().min(i + length)];
        if word.len() == length && word.starts_with(b"<tk") && word.ends_with(b">") {
            let own = word == current.as_bytes();
            out.extend_from_slice(if own { OWN_TOKEN } else { OWN_STALE }.as_bytes());
            i += length;
        } else {
            out.push(text[i]);
            i += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_tokens_have_the_length_of_the_canonical_one() {
        assert_eq!(live_token(0).len(), OWN_TOKEN.len());
        assert_eq!(live_token(46_655).len(), OWN_TOKEN.len());
        assert_ne!(live_token(1), live_token(37));
    }

    #[test]
    fn the_present_attempts_token_is_told_from_older_ones() {
        let text = format!("a{}b{}", live_token(3), live_token(2));
        assert_eq!(
            replace_live_tokens(text.as_bytes(), 3),
            format!("a{OWN_TOKEN}b{OWN_STALE}").into_bytes()
        );
    }
}
