//! Deadlock-freedom: after healing, some client can acquire.
//!
//! A failure proves something only if nobody who lives holds the lock, at any
//! time of the attempt. A final acquire that names no key tried any of them.

use crate::record::F;
use crate::seen::{Completion, Op, Seen};
use crate::{Finding, Header, Kind};

use super::Oracle;
use super::clients::{Clients, Question, State, Which};
use super::tally::Tally;

pub(super) const NAME: &str = "deadlock-freedom";

/// An attempt that failed, while it is not known who held.
struct Failed {
    question: Question,
    time: u64,
    line: u64,
}

pub(super) struct DeadlockFreedom {
    tally: Tally,
    clients: Clients,
    failed: Vec<Failed>,
}

impl DeadlockFreedom {
    pub(super) fn new(header: &Header) -> DeadlockFreedom {
        DeadlockFreedom {
            tally: Tally::default(),
            clients: Clients::new(header.reentrant),
            failed: Vec::new(),
        }
    }

    fn tried(&mut self, op: &Op, end: &Completion<'_>) {
        self.tally.checked += 1;
        if end.kind == Kind::Info {
            let words = || "nobody knows whether a client could acquire after healing".into();
            self.tally.possible(end.time, &[end.line], words);
        }
        if end.kind != Kind::Fail {
            return;
        }
        let which = match op.details.key.is_some() && !op.vague {
            true => Which::One(op.key),
            false => Which::Any,
        };
        self.failed.push(Failed {
            question: self.clients.ask(None, which, op.invoked),
            time: end.time,
            line: end.line,
        });
        self.tell();
    }

    fn tell(&mut self) {
        let tally = &mut self.tally;
        self.failed.retain(|failed| {
            let (time, lines) = (failed.time, [failed.line]);
            match failed.question.answer() {
                None => return true,
                Some(State::Free) => {
                    let words = || "after healing nobody holds, and nobody can acquire".into();
                    tally.sure(time, &lines, words);
                }
                Some(_) => {
                    let words =
                        || "after healing nobody can acquire; a client may still hold".into();
                    tally.possible(time, &lines, words);
                }
            }
            false
        });
    }
}

impl Oracle for DeadlockFreedom {
    fn see(&mut self, seen: &Seen<'_>) {
        self.clients.see(seen);
        if !self.failed.is_empty() {
            let failed = self.failed.iter_mut();
            failed.for_each(|failed| failed.question.see(seen));
            self.tell();
        }
        match seen {
            Seen::Ended(op, end) if op.f == F::FinalAcquire => self.tried(op, end),
            _ => {}
        }
    }

    fn finish(self: Box<Self>, examples: usize) -> Finding {
        let nothing = "the history has no `final-acquire`";
        self.tally.finish(NAME, examples, nothing)
    }
}
