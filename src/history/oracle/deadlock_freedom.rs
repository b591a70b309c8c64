//! Deadlock-freedom: after healing, some client can acquire.
//!
//! A failure proves something only if nobody who lives holds the lock.

use crate::history::operations::Seen;
use crate::history::record::F;
use crate::history::{Finding, Kind};

use super::Oracle;
use super::clients::Clients;
use super::tally::Tally;

pub(super) const NAME: &str = "deadlock-freedom";

#[derive(Default)]
pub(super) struct DeadlockFreedom {
    tally: Tally,
    clients: Clients,
}

impl Oracle for DeadlockFreedom {
    fn see(&mut self, seen: &Seen<'_>) {
        self.clients.see(seen);
        let Seen::Ended(op, end) = seen else { return };
        if op.f != F::FinalAcquire {
            return;
        }
        self.tally.checked += 1;
        let lines = [end.line];
        match end.kind {
            Kind::Fail if self.clients.nobody_holds() => {
                let words = || "after healing nobody holds, and nobody can acquire".into();
                self.tally.sure(end.time, &lines, words);
            }
            Kind::Fail => {
                let words = || "after healing nobody can acquire; a client may still hold".into();
                self.tally.possible(end.time, &lines, words);
            }
            Kind::Info => {
                let words = || "nobody knows whether a client could acquire after healing".into();
                self.tally.possible(end.time, &lines, words);
            }
            Kind::Ok | Kind::Invoke => {}
        }
    }

    fn finish(self: Box<Self>, examples: usize) -> Finding {
        let nothing = "the history has no `final-acquire`";
        self.tally.finish(NAME, examples, nothing)
    }
}
