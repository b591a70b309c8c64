//! Who holds a key, surely or perhaps, as time goes by.
//!
//! Each acquire is an interval of its own, from its success to the call of the
//! release that ends it. Two of different clients are in each other's way if one
//! begins before the other ends, both ways round: `a.since < b.end` and
//! `b.since < a.end`. So a touch is none, because a history cannot say what
//! happened first at one time; and a hold of no length is one within another,
//! whose ends lie on both sides of it whatever the order. (A common part "longer
//! than nothing" was asked for once. With a coarse clock every fifth overlap is
//! of no length.)
//!
//! Therefore a new interval is compared with the others only when time has moved
//! on past its beginning, and it is known who was still there.
//!
//! A client that acquires again has one interval more; each has its own validity.
//! A reentrant lock's releases end the last one first, any other lock's all of
//! them. Where it is not known whether the last acquire took effect, a release
//! leaves the one below it in doubt. A release that did not succeed leaves a
//! ghost: the next one may be its repetition, and end nothing further.
//!
//! An acquire of unknown outcome may have held from its invocation, which is in
//! the past when the outcome turns out to be unknown. For that each key keeps
//! the latest ends of holds.

use super::top::Top;

/// One acquire of a key, while its client may hold by it.
struct Hold {
    client: u32,
    /// The line that began it.
    line: u64,
    /// Since when it may be, in ns.
    since: u64,
    /// Until when it surely is, in ns: if at all, and at most until its validity is
    /// over for sure.
    sure_until: u64,
    /// Until when it may be at most, in ns.
    may_until: u64,
    /// It is not in doubt whether it ends only with the next release.
    sure: bool,
    /// Its client was told that it holds.
    told: bool,
    /// It came to light at this very time.
    fresh: bool,
    /// In the order in which they came to light.
    number: u64,
}

impl Hold {
    /// Both may have held together. What holds at no time ends at 0, before
    /// everything.
    fn may_meet(&self, other: &Hold) -> bool {
        self.client != other.client && self.since < other.may_until && other.since < self.may_until
    }

    /// Both surely held together.
    fn surely_meet(&self, other: &Hold) -> bool {
        self.client != other.client
            && self.since < other.sure_until
            && other.since < self.sure_until
    }

    /// It ends at this time, if it has not before.
    fn end(&mut self, now: u64) {
        self.sure_until = self.sure_until.min(now);
        self.may_until = self.may_until.min(now);
    }
}

/// Two holds that are in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clash {
    pub sure: bool,
    pub time: u64,
    /// Client and line of the later hold.
    pub later: (u32, u64),
    /// Client and line of the earlier hold; no line if it is long over.
    pub earlier: (u32, Option<u64>),
}

/// When an acquire was granted, and how long it is good for.
#[derive(Clone, Copy)]
pub(super) struct Grant {
    pub client: u32,
    pub line: u64,
    pub time: u64,
    /// It surely was this key, and surely was not lost at once.
    pub sure: bool,
    pub sure_until: u64,
    pub may_until: u64,
}

/// All holds of one key.
#[derive(Default)]
pub(super) struct KeyHolds {
    active: Vec<Hold>,
    /// Holds that ended at this very time.
    gone: Vec<Hold>,
    /// When each client's last hold ended, of those that ended before.
    ended: Top<u64>,
    count: u64,
}

impl KeyHolds {
    /// An acquire succeeded.
    pub(super) fn grant(&mut self, grant: Grant) {
        let Grant { time, .. } = grant;
        self.count += 1;
        self.active.push(Hold {
            client: grant.client,
            line: grant.line,
            since: time,
            // A validity that was over by then leaves nothing, not even a moment.
            sure_until: match grant.sure && grant.sure_until > time {
                true => grant.sure_until,
                false => 0,
            },
            may_until: match grant.may_until > time {
                true => grant.may_until,
                false => 0,
            },
            sure: grant.sure,
            told: true,
            fresh: true,
            number: self.count,
        });
    }

    /// An acquire has an unknown outcome: it may have held since `since`, and, if
    /// its client lives, may still.
    pub(super) fn suspect(&mut self, (client, line): (u32, u64), since: u64, over: Option<u64>) {
        self.count += 1;
        let hold = Hold {
            client,
            line,
            since,
            sure_until: 0,
            may_until: over.unwrap_or(u64::MAX),
            sure: false,
            told: false,
            fresh: true,
            number: self.count,
        };
        match over {
            Some(_) => self.gone.push(hold),
            None => self.active.push(hold),
        }
    }

    /// One release begins.
    pub(super) fn release(&mut self, client: u32, now: u64, reentrant: bool) {
        if !reentrant {
            return self.end(client, now);
        }
        let mut own = self.active.iter_mut().rev();
        if let Some(last) = own.find(|hold| hold.client == client && hold.sure) {
            last.sure = false;
            last.sure_until = last.sure_until.min(now);
        }
        if let Some(place) = self.active.iter().rposition(|hold| hold.client == client) {
            let mut hold = self.active.remove(place);
            hold.end(now);
            self.gone.push(hold);
        }
    }

    /// A release did not succeed, or nobody knows whether it did: the next one may
    /// be for the same acquire, which holds nothing any longer.
    pub(super) fn release_failed(&mut self, client: u32, now: u64) {
        self.active.push(Hold {
            client,
            line: 0,
            since: now,
            sure_until: 0,
            may_until: 0,
            sure: false,
            told: true,
            fresh: false,
            number: 0,
        });
    }

    /// A client that asks again does not think that it holds, unless it was told so.
    pub(super) fn asks_again(&mut self, client: u32, now: u64) {
        self.end_those(now, |hold| hold.client == client && !hold.told);
    }

    /// The client holds no longer.
    pub(super) fn end(&mut self, client: u32, now: u64) {
        self.end_those(now, |hold| hold.client == client);
    }

    fn end_those(&mut self, now: u64, which: impl Fn(&Hold) -> bool) {
        for mut hold in self.active.extract_if(.., |hold| which(hold)) {
            hold.end(now);
            self.gone.push(hold);
        }
    }

    /// Time has moved on past `now`: compares what came to light then with the rest.
    pub(super) fn settle(&mut self, now: u64, mut clash: impl FnMut(Clash)) {
        let all = || self.active.iter().chain(&self.gone);
        for hold in all().filter(|hold| hold.fresh) {
            // Of two that came to light together the later one is told.
            let earlier = |other: &&Hold| !other.fresh || other.number < hold.number;
            let found = |sure: bool, other: (u32, Option<u64>)| Clash {
                sure,
                time: now,
                later: (hold.client, hold.line),
                earlier: other,
            };
            let named = |other: &Hold| (other.client, Some(other.line));
            let mut others = all().filter(earlier);
            if let Some(other) = others.find(|other| hold.surely_meet(other)) {
                clash(found(true, named(other)));
                continue;
            }
            let mut others = all().filter(earlier);
            let met = others.find(|other| hold.may_meet(other)).map(named);
            let ended = self.ended.of_others(hold.client);
            let ended = ended.filter(|(end, _)| *end > hold.since);
            let met = met.or(ended.map(|(_, other)| (other, None)));
            if let Some(other) = met {
                clash(found(false, other));
            }
        }
        for hold in self.gone.drain(..) {
            self.ended.put(hold.client, hold.may_until);
        }
        for hold in &mut self.active {
            hold.fresh = false;
        }
    }
}
