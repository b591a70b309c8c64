//! No orphan: what is left on the servers after healing belongs to somebody.
//!
//! A key without expiry is an orphan at once if its owner is dead or does not
//! hold it; a key with an expiry only if it is still there when a whole lease has
//! passed. A key of a client that held it at some time of the read is none.
//!
//! A server may call a key by a name that no acquire named, because the lock made
//! one of its own. Such a key belongs to whatever its owner holds.

use crate::record::{F, LeftKey};
use crate::seen::{Completion, Op, Seen, is_vague};
use crate::{Finding, Header, Kind};

use super::Oracle;
use super::clients::{Clients, Question, State};
use super::tally::Tally;

pub(super) const NAME: &str = "no-orphan";

/// A key that was left, while it is not known who held it.
struct Left {
    question: Question,
    key: LeftKey,
    owner_dead: bool,
    time: u64,
    line: u64,
}

pub(super) struct NoOrphan {
    tally: Tally,
    ttl_ms: i64,
    clients: Clients,
    left: Vec<Left>,
}

impl NoOrphan {
    pub(super) fn new(header: &Header) -> NoOrphan {
        NoOrphan {
            tally: Tally::default(),
            ttl_ms: header.ttl_ms,
            clients: Clients::new(header.reentrant),
            left: Vec::new(),
        }
    }

    fn look(&mut self, op: &Op, end: &Completion<'_>) {
        self.tally.checked += 1;
        let Some(rare) = end.details.rare() else {
            return;
        };
        let lease_over = rare
            .after_ms
            .is_some_and(|after| after >= self.ttl_ms as f64);
        let left = rare.keys.iter().flatten();
        for key in left.filter(|key| key.pttl_ms.is_none() || lease_over) {
            let which = self.clients.stored(&key.key);
            self.left.push(Left {
                question: self.clients.ask(key.owner, which, op.invoked),
                key: key.clone(),
                owner_dead: key.owner.is_some_and(|owner| self.clients.is_dead(owner)),
                time: end.time,
                line: end.line,
            });
        }
        self.tell();
    }

    fn tell(&mut self) {
        let tally = &mut self.tally;
        self.left.retain(|left| {
            let Some(state) = left.question.answer() else {
                return true;
            };
            let lines = [left.line];
            match state {
                // Of several keys that look alike the owner may hold another.
                State::Holds if left.key.owner.is_some() && !is_vague(&left.key.key) => {}
                State::Free => tally.sure(left.time, &lines, || words(left, state)),
                _ => tally.possible(left.time, &lines, || words(left, state)),
            }
            false
        });
    }
}

fn words(left: &Left, state: State) -> String {
    let key = &left.key;
    let expiry = match key.pttl_ms {
        Some(ms) => format!("expires in {ms} ms"),
        None => "has no expiry".into(),
    };
    let owner = match (key.owner, state) {
        (Some(client), State::Free) if left.owner_dead => {
            format!("client {client}, which is dead")
        }
        (Some(client), State::Free) => format!("client {client}, which does not hold"),
        (Some(client), _) => format!("client {client}, which may hold it"),
        (None, _) => "nobody that the history names".into(),
    };
    let name = key.key.escape_debug();
    format!(
        "`{name}` is left on node {}, {expiry} and belongs to {owner}",
        key.node
    )
}

impl Oracle for NoOrphan {
    fn see(&mut self, seen: &Seen<'_>) {
        self.clients.see(seen);
        if !self.left.is_empty() {
            let left = self.left.iter_mut();
            left.for_each(|left| left.question.see(seen));
            self.tell();
        }
        match seen {
            Seen::Ended(op, end) if op.f == F::FinalKeys && end.kind == Kind::Ok => {
                self.look(op, end);
            }
            _ => {}
        }
    }

    fn finish(self: Box<Self>, examples: usize) -> Finding {
        let nothing = "the history has no `final-keys`";
        self.tally.finish(NAME, examples, nothing)
    }
}
