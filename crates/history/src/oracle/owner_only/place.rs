//! One key on one server: the claims on it that count, and the removals that
//! cannot be judged yet.

use std::collections::{BTreeMap, BTreeSet};

use super::claims::{self, Claim, Standing};
use super::removal::Removal;

/// A key on a server.
#[derive(Default)]
pub(super) struct KeyClaims {
    /// What the server calls the key.
    pub name: Box<str>,
    claims: Vec<Claim>,
    /// Commands that were given up and may have claimed at any time since, by
    /// client: when they were sent, and their ids. A late reply takes them out.
    unanswered: BTreeMap<u32, BTreeSet<(u64, u64)>>,
    /// When the first of those was sent whose client died, by client: nobody will
    /// ever know.
    lost: BTreeMap<u32, u64>,
    /// Removals that are under way, or wait for what they overlapped.
    pub removals: Vec<Removal>,
}

impl KeyClaims {
    pub(super) fn new(name: &str) -> KeyClaims {
        KeyClaims {
            name: name.into(),
            ..KeyClaims::default()
        }
    }

    /// A command was sent that may claim the entry.
    pub(super) fn sent(&mut self, client: u32, id: u64, now: u64) {
        let claim = Claim {
            client,
            from: now,
            to: u64::MAX,
            standing: Standing::Open(id),
        };
        self.add(claim, now);
    }

    /// Adds a claim, which may also be the last before a removal that goes on or
    /// ended only now.
    pub(super) fn add(&mut self, claim: Claim, now: u64) {
        for removal in &mut self.removals {
            let goes_on = removal.done.as_ref().is_none_or(|done| done.time >= now);
            if goes_on {
                removal.claims.push(claim);
                claims::shorten_for(&mut removal.claims, removal.from);
            }
        }
        self.claims.push(claim);
        claims::prune(&mut self.claims, now);
    }

    /// The command ended, and this is its claim; or it has none.
    pub(super) fn resolve(&mut self, id: u64, now: Option<(u64, Standing)>, time: u64) {
        for removal in &mut self.removals {
            claims::resolve(&mut removal.claims, id, now);
        }
        claims::resolve(&mut self.claims, id, now);
        claims::prune(&mut self.claims, time);
    }

    /// The command was given up. Until its reply comes late, or for ever, it may
    /// have claimed at any time since it was sent.
    pub(super) fn give_up(&mut self, id: u64, client: u32, from: u64) {
        for removal in &mut self.removals {
            let forever = Some((u64::MAX, Standing::Possible));
            claims::resolve(&mut removal.claims, id, forever);
        }
        claims::resolve(&mut self.claims, id, None);
        self.unanswered
            .entry(client)
            .or_default()
            .insert((from, id));
    }

    /// The reply of a command that was given up came after all.
    pub(super) fn answer_late(&mut self, id: u64, late: Claim, claimed: bool, now: u64) {
        if let Some(all) = self.unanswered.get_mut(&late.client) {
            all.remove(&(late.from, id));
        }
        if claimed {
            self.claims.push(late);
            claims::prune(&mut self.claims, now);
        }
    }

    /// Nobody will read the replies to what the client sent.
    pub(super) fn crash(&mut self, client: u32) {
        let unanswered = self.unanswered.remove(&client).unwrap_or_default();
        if let Some((from, _)) = unanswered.first() {
            self.lost.entry(client).or_insert(*from);
        }
    }

    /// All that the client's open acquire did here, as one claim.
    pub(super) fn pending(&self, client: u32) -> Option<Claim> {
        let mut all = self.claims.iter();
        all.find(|claim| claims::is_pending(claim, client)).copied()
    }

    /// The acquire that made these claims ended.
    pub(super) fn settle(&mut self, whole: Claim, now: u64) {
        for removal in &mut self.removals {
            claims::settle(&mut removal.claims, whole);
        }
        claims::settle(&mut self.claims, whole);
        claims::prune(&mut self.claims, now);
    }

    /// What may be the last claim before a command that is sent now.
    pub(super) fn candidates(&self) -> Vec<Claim> {
        let forever = |from: u64, client: u32| Claim {
            client,
            from,
            to: u64::MAX,
            standing: Standing::Possible,
        };
        let first = |(client, all): (&u32, &BTreeSet<(u64, u64)>)| {
            all.first().map(|(from, _)| forever(*from, *client))
        };
        let mut candidates = self.claims.clone();
        candidates.extend(self.unanswered.iter().filter_map(first));
        candidates.extend(
            self.lost
                .iter()
                .map(|(client, from)| forever(*from, *client)),
        );
        candidates
    }
}
