//! No orphan: what is left on the servers after healing belongs to somebody.
//!
//! A key without expiry is an orphan at once if its owner is dead or has nothing
//! to hold; a key with an expiry only if it is still there when a whole lease
//! has passed. A key of a client that holds, or may, is none.

use crate::history::operations::{End, Seen};
use crate::history::record::{F, LeftKey};
use crate::history::{Finding, Header, Kind};

use super::Oracle;
use super::clients::{Clients, State};
use super::tally::Tally;

pub(super) const NAME: &str = "no-orphan";

pub(super) struct NoOrphan {
    tally: Tally,
    ttl_ms: i64,
    clients: Clients,
}

impl NoOrphan {
    pub(super) fn new(header: &Header) -> NoOrphan {
        NoOrphan {
            tally: Tally::default(),
            ttl_ms: header.ttl_ms,
            clients: Clients::default(),
        }
    }

    fn look(&mut self, end: &End<'_>) {
        self.tally.checked += 1;
        let Some(rare) = end.details.rare() else {
            return;
        };
        let lease_over = rare
            .after_ms
            .is_some_and(|after| after >= self.ttl_ms as f64);
        for key in rare.keys.iter().flatten() {
            if key.pttl_ms.is_none() || lease_over {
                self.left(key, end);
            }
        }
    }

    fn left(&mut self, key: &LeftKey, end: &End<'_>) {
        let owner = key.owner.map(|owner| self.clients.state(owner));
        let sure = match owner {
            Some(State::Holds) => return,
            Some(State::Perhaps) => false,
            Some(State::Free | State::Dead) => true,
            None => self.clients.nobody_holds(),
        };
        let words = || {
            let expiry = match key.pttl_ms {
                Some(ms) => format!("expires in {ms} ms"),
                None => "has no expiry".into(),
            };
            let owner = match (key.owner, owner) {
                (Some(client), Some(State::Dead)) => format!("client {client}, which is dead"),
                (Some(client), Some(State::Perhaps)) => {
                    format!("client {client}, which may hold it")
                }
                (Some(client), _) => format!("client {client}, which does not hold"),
                (None, _) => "nobody that the history names".into(),
            };
            let name = key.key.escape_debug();
            format!(
                "`{name}` is left on node {}, {expiry} and belongs to {owner}",
                key.node
            )
        };
        match sure {
            true => self.tally.sure(end.time, &[end.line], words),
            false => self.tally.possible(end.time, &[end.line], words),
        }
    }
}

impl Oracle for NoOrphan {
    fn see(&mut self, seen: &Seen<'_>) {
        self.clients.see(seen);
        if let Seen::Ended(op, end) = seen
            && op.f == F::FinalKeys
            && end.kind == Kind::Ok
        {
            self.look(end);
        }
    }

    fn finish(self: Box<Self>, examples: usize) -> Finding {
        let nothing = "the history has no `final-keys`";
        self.tally.finish(NAME, examples, nothing)
    }
}
