//! Who holds a key, surely or perhaps, as time goes by.
//!
//! Two intervals overlap if their common part is longer than nothing: `[a, b)`
//! and `[b, c)` do not. A history cannot say in which order things with equal
//! times happened, so a touch is no violation. Therefore a new hold is compared
//! with the others only when time has moved on past its beginning and it is
//! known who was still there.
//!
//! An acquire of unknown outcome may have held from its invocation, which is in
//! the past when the outcome turns out to be unknown. For that each key keeps
//! the latest end of a hold, and whose it was. One is enough: if it is the
//! asking client's own, it came before that client's invocation, and so did
//! every other end.

/// One client's hold of one key.
pub(super) struct Hold {
    pub client: u32,
    /// Nested successes that are known; 0 if the hold is only possible.
    pub sure: u32,
    /// Nested acquires that may have succeeded, with the sure ones.
    pub may: u32,
    /// Since when it may be, in ns.
    pub since: u64,
    /// Until when it surely is at least, while it lasts, in ns.
    pub sure_until: u64,
    /// Until when it may be at most, while it lasts, in ns.
    pub may_until: u64,
    /// The line that began it.
    pub line: u64,
    /// It became sure at this very time.
    fresh_sure: bool,
    /// It became possible at this very time.
    fresh: bool,
    /// It was counted as a possible violation.
    suspected: bool,
}

/// Two holds that are in each other's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clash {
    pub sure: bool,
    pub time: u64,
    /// Client and line of the later hold.
    pub later: (u32, u64),
    /// Client and line of the earlier hold; no line if it is over.
    pub earlier: (u32, Option<u64>),
}

/// When an acquire was granted, and how long it is good for.
#[derive(Clone, Copy)]
pub(super) struct Grant {
    pub client: u32,
    pub line: u64,
    pub time: u64,
    pub sure_until: u64,
    pub may_until: u64,
}

/// All holds of one key.
#[derive(Default)]
pub(super) struct KeyHolds {
    pub active: Vec<Hold>,
    /// The client whose hold ended last, and when.
    ended: Option<(u32, u64)>,
}

impl KeyHolds {
    /// An acquire succeeded.
    pub(super) fn grant(&mut self, grant: Grant, reentrant: bool) {
        if let Some(hold) = self
            .active
            .iter_mut()
            .find(|hold| hold.client == grant.client)
            && reentrant
        {
            hold.fresh_sure |= hold.sure == 0;
            hold.sure_until = match hold.sure {
                0 => grant.sure_until,
                _ => hold.sure_until.max(grant.sure_until),
            };
            hold.may_until = hold.may_until.max(grant.may_until);
            hold.sure += 1;
            hold.may += 1;
            return;
        }
        // A client that acquires again without a release has a new hold now.
        self.end(grant.client, grant.time);
        self.active.push(Hold {
            client: grant.client,
            sure: 1,
            may: 1,
            since: grant.time,
            sure_until: grant.sure_until,
            may_until: grant.may_until,
            line: grant.line,
            fresh_sure: true,
            fresh: true,
            suspected: false,
        });
    }

    /// An acquire has an unknown outcome: it may have held since `since`, up to
    /// `now`, and, if it `stays`, longer.
    pub(super) fn suspect(
        &mut self,
        (client, line): (u32, u64),
        (since, now): (u64, u64),
        stays: bool,
    ) -> Option<Clash> {
        let clash = |earlier| Clash {
            sure: false,
            time: now,
            later: (client, line),
            earlier,
        };
        let mut found = self
            .ended
            .filter(|(_, end)| *end > since && now > since)
            .map(|(other, _)| clash((other, None)));
        for other in self.active.iter().filter(|other| other.client != client) {
            if since.max(other.since) < now.min(other.may_until) {
                found = found.or(Some(clash((other.client, Some(other.line)))));
            }
        }
        if let Some(own) = self.active.iter_mut().find(|hold| hold.client == client) {
            // It holds already: one more nested hold, perhaps, or a longer one.
            let known = own.suspected;
            own.suspected |= found.is_some();
            own.may += 1;
            own.may_until = u64::MAX;
            own.fresh = true;
            return found.filter(|_| !known);
        }
        if stays {
            self.active.push(Hold {
                client,
                sure: 0,
                may: 1,
                since,
                sure_until: 0,
                may_until: u64::MAX,
                line,
                fresh_sure: false,
                fresh: true,
                suspected: found.is_some(),
            });
        } else if now > since {
            self.over(client, now);
        }
        found
    }

    /// One release begins.
    pub(super) fn release(&mut self, client: u32, now: u64, reentrant: bool) {
        let Some(hold) = self.active.iter_mut().find(|hold| hold.client == client) else {
            return;
        };
        hold.sure = hold.sure.saturating_sub(1);
        hold.may = hold.may.saturating_sub(1);
        if !reentrant || hold.may == 0 {
            self.end(client, now);
        }
    }

    /// A client that asks again does not think that it holds, unless it was told so.
    pub(super) fn asks_again(&mut self, client: u32, now: u64) {
        let only_perhaps = |hold: &Hold| hold.client == client && hold.sure == 0;
        if self.active.iter().any(only_perhaps) {
            self.end(client, now);
        }
    }

    /// The client's hold is over.
    pub(super) fn end(&mut self, client: u32, now: u64) {
        if let Some(place) = self.active.iter().position(|hold| hold.client == client) {
            let hold = self.active.remove(place);
            let end = now.min(hold.may_until);
            if end > hold.since {
                self.over(client, end);
            }
        }
    }

    fn over(&mut self, client: u32, end: u64) {
        if self.ended.is_none_or(|(_, latest)| latest <= end) {
            self.ended = Some((client, end));
        }
    }

    /// Time has moved on past `now`: compares what began then with the rest.
    pub(super) fn settle(&mut self, now: u64, mut clash: impl FnMut(Clash)) {
        for index in 0..self.active.len() {
            let hold = &self.active[index];
            let found = if !hold.fresh {
                hold.fresh_sure
                    .then(|| self.sure_clash(index, now))
                    .flatten()
            } else {
                self.sure_clash(index, now)
                    .or_else(|| self.possible_clash(index, now))
            };
            if let Some(found) = found {
                self.active[index].suspected = true;
                clash(found);
            }
        }
        for hold in &mut self.active {
            (hold.fresh, hold.fresh_sure) = (false, false);
        }
    }

    fn sure_clash(&self, index: usize, now: u64) -> Option<Clash> {
        let hold = &self.active[index];
        if !hold.fresh_sure || hold.sure_until <= now {
            return None;
        }
        let surely = |(other, at): (&Hold, usize)| {
            at != index
                && other.sure > 0
                && other.sure_until > now
                && (!other.fresh_sure || at < index)
        };
        self.against(index, now, true, surely)
    }

    fn possible_clash(&self, index: usize, now: u64) -> Option<Clash> {
        let hold = &self.active[index];
        if hold.suspected || hold.may_until <= now {
            return None;
        }
        let perhaps = |(other, at): (&Hold, usize)| at != index && other.may_until > now;
        self.against(index, now, false, perhaps)
    }

    fn against(
        &self,
        index: usize,
        time: u64,
        sure: bool,
        fits: impl Fn((&Hold, usize)) -> bool,
    ) -> Option<Clash> {
        let hold = &self.active[index];
        let mut others = self.active.iter().enumerate();
        let (_, other) = others.find(|(at, other)| fits((other, *at)))?;
        Some(Clash {
            sure,
            time,
            later: (hold.client, hold.line),
            earlier: (other.client, Some(other.line)),
        })
    }
}
