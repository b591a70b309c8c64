//! Whose entry it can have been that a command removed.
//!
//! A claim or a removal was executed at some time of its interval. A claim may
//! be the last one before a removal unless a later one surely stood between: one
//! that began after the end of the former and ended before the removal began.
//! Intervals that touch may have been in either order.

/// How sure a claim is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It made its client the owner.
    Certain,
    /// It did, or it did nothing.
    Possible,
    /// Its acquire failed: who fails owns nothing. But should its client remove
    /// what it left behind, then nobody is to be blamed.
    Own,
    /// It was executed, and its client's acquire is still open.
    Pending,
    /// The command with this id has had no reply.
    Open(u64),
}

/// A client made itself the owner, perhaps, at some time from `from` to `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    pub client: u32,
    pub from: u64,
    /// `u64::MAX` if nobody knows.
    pub to: u64,
    pub standing: Standing,
}

/// A list is made shorter whenever it has grown by so many.
const LONG: usize = 48;

/// When the latest claim began that was surely over before `time`, if every claim
/// that `stands` did happen: what had ended by then was not the last.
///
/// `None` if there is none: then the entry may be older than all that is known.
pub(super) fn floor(claims: &[Claim], time: u64, stands: impl Fn(&Claim) -> bool) -> Option<u64> {
    let over = claims.iter().filter(|claim| claim.to < time);
    let over = over.filter(|claim| stands(claim));
    over.map(|claim| claim.from).max()
}

/// The command `id` ended: its claim is this from now on, or none.
pub(super) fn resolve(claims: &mut Vec<Claim>, id: u64, now: Option<(u64, Standing)>) {
    let Some(place) = claims.iter().position(|c| c.standing == Standing::Open(id)) else {
        return;
    };
    let mut claim = claims.swap_remove(place);
    let Some((to, standing)) = now else { return };
    (claim.to, claim.standing) = (to, standing);
    match standing {
        Standing::Pending => add_pending(claims, claim),
        _ => claims.push(claim),
    }
}

/// What an acquire does for its client is one claim: one of its commands made it,
/// and nobody says which.
fn add_pending(claims: &mut Vec<Claim>, claim: Claim) {
    match claims
        .iter_mut()
        .find(|other| is_pending(other, claim.client))
    {
        Some(other) => widen(other, claim),
        None => claims.push(claim),
    }
}

pub(super) fn is_pending(claim: &Claim, client: u32) -> bool {
    claim.client == client && claim.standing == Standing::Pending
}

fn widen(one: &mut Claim, other: Claim) {
    one.from = one.from.min(other.from);
    one.to = one.to.max(other.to);
}

/// The client's acquire ended; `whole` is all that it did here, with what it is
/// worth now.
pub(super) fn settle(claims: &mut [Claim], whole: Claim) {
    for claim in claims {
        if is_pending(claim, whole.client) {
            *claim = whole;
        }
    }
}

/// Drops what cannot be the last claim before anything that is sent from now on.
pub(super) fn prune(claims: &mut Vec<Claim>, now: u64) {
    let floor = floor(claims, now, |claim| claim.standing == Standing::Certain);
    claims.retain(|claim| {
        let settled = !matches!(claim.standing, Standing::Pending | Standing::Open(_));
        !settled || Some(claim.to) >= floor
    });
    // A wider claim that is not certain excuses more and accuses less.
    let vague = |claim: &Claim| matches!(claim.standing, Standing::Possible | Standing::Own);
    shorten(claims, vague);
}

/// Makes the claims shorter that a removal which began then has to choose from.
/// All that ended later may have been the last, and is the same to it.
pub(super) fn shorten_for(claims: &mut Vec<Claim>, began: u64) {
    let same = |claim: &Claim| {
        let settled = !matches!(claim.standing, Standing::Pending | Standing::Open(_));
        settled && claim.to >= began
    };
    shorten(claims, same);
}

/// In a long list, one claim for all of a client's that are alike.
fn shorten(claims: &mut Vec<Claim>, alike: impl Fn(&Claim) -> bool) {
    if claims.is_empty() || !claims.len().is_multiple_of(LONG) {
        return;
    }
    let mut kept: Vec<Claim> = Vec::new();
    for claim in claims.drain(..) {
        let same = |other: &&mut Claim| {
            other.client == claim.client && other.standing == claim.standing && alike(other)
        };
        match kept.iter_mut().find(same).filter(|_| alike(&claim)) {
            Some(other) => widen(other, claim),
            None => kept.push(claim),
        }
    }
    *claims = kept;
}
