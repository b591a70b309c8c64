//! Clients that the header does not know of.
//!
//! No verdict depends on how many clients there are, so a number beyond them is
//! told and judged: refusing would lose the histories of those who give each
//! client a new number after an unknown outcome, as Jepsen does. But a slip of
//! the pen makes one client two, of which one holds for ever, and must be seen.
//!
//! A client that was started again may have the next number, and so may one that
//! looks at the end whether it can acquire.

use rustc_hash::FxHashSet;

use super::Process;
use super::record::{F, Record};

/// Who was told of already.
#[derive(Default)]
pub(super) struct Crowd {
    clients: u32,
    deaths: u32,
    told: FxHashSet<u32>,
}

impl Crowd {
    pub(super) fn new(clients: u32) -> Crowd {
        Crowd {
            clients,
            ..Crowd::default()
        }
    }

    /// Warns of each number that is beyond those of the clients, once.
    pub(super) fn see(&mut self, record: &Record, warn: &mut impl FnMut(String)) {
        self.deaths += u32::from(record.death().is_some());
        let acts = match record.process {
            Process::Client(client) => Some(client),
            _ => None,
        };
        self.check(acts, record.line, warn);
        if matches!(record.f, F::Execute | F::Crash) {
            self.check(record.details.client, record.line, warn);
        }
        let rare = record.details.rare();
        for key in rare
            .and_then(|rare| rare.keys.as_ref())
            .into_iter()
            .flatten()
        {
            self.check(key.owner, record.line, warn);
        }
    }

    fn check(&mut self, client: Option<u32>, line: u64, warn: &mut impl FnMut(String)) {
        let next = self.clients.saturating_add(self.deaths);
        let Some(client) = client.filter(|client| *client > next) else {
            return;
        };
        if self.told.insert(client) {
            let clients = self.clients;
            warn(format!(
                "line {line}: client {client} is none of the {clients} clients that the header names, from 0; it is judged as one more"
            ));
        }
    }
}
