//! A command that may have removed an entry, or changed its expiry, and what is
//! to be said of it once all is known that it overlapped.

use super::claims::{Claim, Standing, floor};
use super::holders::Holding;

/// One such command.
pub(super) struct Removal {
    /// None if it was seen to be executed.
    pub id: Option<u64>,
    pub client: u32,
    /// False if it changed the expiry.
    pub removed: bool,
    pub from: u64,
    /// When its reply was read, which proves that it did something.
    pub done: Option<Done>,
    /// What may have been the last claim before it.
    pub claims: Vec<Claim>,
}

/// What was so when the reply of a removal was read.
pub(super) struct Done {
    pub time: u64,
    pub line: u64,
    /// Until when servers came back with what they had had, if they did.
    pub shaken: Option<u64>,
    /// How the clients stood to it that have made claims.
    pub holdings: Vec<(u32, Holding)>,
}

/// What is to be said of a removal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It cannot be told yet.
    Wait,
    /// Nothing to be blamed for.
    Fine,
    /// It was another's, who held (the line of its acquire), in every order.
    Sure(u32, u64),
    /// The same if what nobody knows was so.
    Possible(u32, Option<u64>),
}

fn can_hold(holding: Holding) -> bool {
    holding != Holding::No
}

impl Removal {
    /// True if the entry can have been the client's own, whatever comes to light.
    pub(super) fn is_excused(&self) -> bool {
        let stands =
            |claim: &Claim| matches!(claim.standing, Standing::Certain | Standing::Pending);
        let floor = floor(&self.claims, self.from, stands);
        let own = |claim: &&Claim| {
            claim.client == self.client && !matches!(claim.standing, Standing::Open(_))
        };
        self.claims
            .iter()
            .filter(own)
            .any(|claim| Some(claim.to) >= floor)
    }

    /// Notes how all that made claims stand to it.
    pub(super) fn note_holders(&mut self, holding: impl Fn(u32, (u64, u64)) -> Holding) {
        let Some(done) = &mut self.done else { return };
        let span = (self.from, done.time);
        for claim in &self.claims {
            let client = claim.client;
            let known = done.holdings.iter().any(|(other, _)| *other == client);
            if client != self.client && !known {
                done.holdings.push((client, holding(client, span)));
            }
        }
    }

    /// A client's holding is perhaps another, for what the history said since.
    pub(super) fn update(&mut self, client: u32, now: impl Fn(&Removal, Holding) -> Holding) {
        let holdings = self.done.as_ref().map(|done| &done.holdings);
        let place = holdings.and_then(|all| all.iter().position(|(other, _)| *other == client));
        let Some(place) = place else { return };
        let holding = |removal: &Removal| {
            let done = removal.done.as_ref()?;
            Some(now(removal, done.holdings[place].1))
        };
        let holding = holding(self);
        if let (Some(done), Some(holding)) = (&mut self.done, holding) {
            done.holdings[place].1 = holding;
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        let Some(done) = &self.done else {
            return Verdict::Wait;
        };
        if self.is_excused() {
            return Verdict::Fine;
        }
        let open = |claim: &Claim| matches!(claim.standing, Standing::Open(_) | Standing::Pending);
        let acquiring = |(_, holding): &(u32, Holding)| *holding == Holding::Acquiring;
        if self.claims.iter().any(open) || done.holdings.iter().any(acquiring) {
            return Verdict::Wait;
        }
        let holding = |client| {
            let mut all = done.holdings.iter();
            all.find(|(other, _)| *other == client)
                .map_or(Holding::No, |(_, holding)| *holding)
        };
        let certain = |claim: &Claim| claim.standing == Standing::Certain;
        let (last, begun) = self.last(certain, |claim| claim.standing != Standing::Own);
        // Nobody's, or what a server came back with.
        let older = |begun: Option<u64>| begun.is_none() || done.shaken >= begun;
        if let Some(verdict) = all_surely(&last, holding).filter(|_| !older(begun)) {
            return verdict;
        }
        // The worst case: whatever may have been claimed by one who may hold was.
        let stands = |claim: &Claim| {
            certain(claim)
                || (claim.standing == Standing::Possible && can_hold(holding(claim.client)))
        };
        let (last, begun) = self.last(stands, stands);
        let all_may = last.iter().all(|claim| can_hold(holding(claim.client)));
        match last.first() {
            Some(claim) if all_may && !older(begun) => {
                let line = match holding(claim.client) {
                    Holding::Surely(line) | Holding::Past(line) => Some(line),
                    _ => None,
                };
                Verdict::Possible(claim.client, line)
            }
            _ => Verdict::Fine,
        }
    }

    /// The claims that `count` and may have been the last, if all that `stand` did
    /// happen; and the time before which a claim must end to be none of them.
    fn last(
        &self,
        stands: impl Fn(&Claim) -> bool,
        counts: impl Fn(&Claim) -> bool,
    ) -> (Vec<&Claim>, Option<u64>) {
        let floor = floor(&self.claims, self.from, stands);
        let last = self.claims.iter().filter(|claim| Some(claim.to) >= floor);
        (last.filter(|claim| counts(claim)).collect(), floor)
    }
}

fn all_surely(last: &[&Claim], holding: impl Fn(u32) -> Holding) -> Option<Verdict> {
    let mut verdict = None;
    for claim in last {
        match holding(claim.client) {
            Holding::Surely(line) => verdict = Some(Verdict::Sure(claim.client, line)),
            _ => return None,
        }
    }
    verdict
}
