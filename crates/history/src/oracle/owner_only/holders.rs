//! Who holds, as far as the removal of an entry is concerned.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::super::clients::Which;
use crate::record::F;
use crate::seen::{Completion, Op};
use crate::{Header, Kind};

/// What is known of a client at the time of a removal; more accuses more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Holding {
    /// It does not hold, or the removal may have come before or after its hold.
    No,
    /// Nobody knows how its last acquire ended.
    Perhaps,
    /// Its acquire is open: if nobody will ever know how it ended, it may hold.
    Acquiring,
    /// It may hold; the line of its acquire. The time is over for which that was
    /// sure, or it may be another key.
    Past(u64),
    /// It held from before the removal until after it; the line of its acquire.
    Surely(u64),
}

/// An acquire that is not released.
#[derive(Clone, Copy)]
struct Level {
    since: u64,
    /// Until when it surely is, if it ends not earlier; 0 if never.
    until: u64,
    line: u64,
}

/// A client and a key.
#[derive(Default)]
struct Held {
    levels: Vec<Level>,
    /// When its last acquire was invoked, if that is open or of unknown outcome.
    asked: Option<u64>,
    acquiring: bool,
}

/// A client.
#[derive(Default)]
struct State {
    /// What it does, or did last.
    doing: Option<F>,
    /// The line of its acquire that is open, or ended at this very time.
    acquiring: Option<u64>,
    keys: BTreeMap<usize, Held>,
}

/// All clients.
pub(super) struct Holders {
    reentrant: bool,
    states: FxHashMap<u32, State>,
}

impl Held {
    fn holding(&self, (from, to): (u64, u64)) -> Holding {
        // Those that began with the removal, or later, may have come after it.
        let before = || self.levels.iter().filter(|level| level.since < from);
        let (first, reach) = (before().next(), before().map(|level| level.until).max());
        // One that began before another was over goes on where that ends.
        let go_on = |reach: u64, level: &Level| match level.since < reach {
            true => reach.max(level.until),
            false => reach,
        };
        let reach = reach.map(|reach| self.levels.iter().fold(reach, go_on));
        match (first, reach, self.asked) {
            (Some(level), Some(reach), _) if to < reach => Holding::Surely(level.line),
            (Some(level), ..) => Holding::Past(level.line),
            _ if !self.levels.is_empty() => Holding::No,
            (.., Some(asked)) if asked >= from => Holding::No,
            (.., Some(_)) if self.acquiring => Holding::Acquiring,
            (.., Some(_)) => Holding::Perhaps,
            (.., None) => Holding::No,
        }
    }
}

impl Holders {
    pub(super) fn new(header: &Header) -> Holders {
        Holders {
            reentrant: header.reentrant,
            states: FxHashMap::default(),
        }
    }

    /// What the client does, or did last.
    pub(super) fn doing(&self, client: u32) -> Option<F> {
        self.states.get(&client).and_then(|state| state.doing)
    }

    /// The line of its acquire, while that is open.
    pub(super) fn acquiring(&self, client: u32) -> Option<u64> {
        self.states.get(&client)?.acquiring
    }

    /// How the client stands to a removal from `from` to `to`, which is now, of an
    /// entry for these keys.
    pub(super) fn holding(&self, client: u32, which: Which, span: (u64, u64)) -> Holding {
        let Some(state) = self.states.get(&client) else {
            return Holding::No;
        };
        let keys = state.keys.iter().filter(|(key, _)| which.fits(**key));
        let most = keys.map(|(_, held)| held.holding(span)).max();
        match most.unwrap_or(Holding::No) {
            // It holds one of its keys, and nobody says that it is this one.
            Holding::Surely(line) if which.is_any() && state.keys.len() > 1 => Holding::Past(line),
            holding => holding,
        }
    }

    /// An operation begins; true if it ends what the client held of that key.
    pub(super) fn invoked(&mut self, op: &Op, client: u32) -> bool {
        let state = self.states.entry(client).or_default();
        if !matches!(op.f, F::Acquire | F::Release) {
            return false;
        }
        state.doing = Some(op.f);
        let held = state.keys.entry(op.key).or_default();
        if op.f == F::Acquire {
            state.acquiring = Some(op.line);
            (held.asked, held.acquiring) = (Some(op.invoked), true);
            // Who asks again only gives up what it may hold.
            return !self.reentrant && held.levels.is_empty();
        }
        held.asked = None;
        match self.reentrant {
            true => drop(held.levels.pop()),
            false => held.levels.clear(),
        }
        held.levels.is_empty()
    }

    /// Its acquire ended.
    pub(super) fn acquired(&mut self, op: &Op, client: u32, end: &Completion<'_>) {
        let state = self.states.entry(client).or_default();
        let held = state.keys.entry(op.key).or_default();
        held.acquiring = false;
        if end.kind != Kind::Info {
            held.asked = None;
        }
        if end.kind != Kind::Ok {
            return;
        }
        let until = end.details.validity_ns;
        let until = until.map_or(u64::MAX, |validity| {
            op.invoked.saturating_add_signed(validity)
        });
        held.levels.push(Level {
            since: end.time,
            until: match op.told_lost || op.vague {
                true => 0,
                false => until,
            },
            line: end.line,
        });
    }

    /// Time has moved on since its acquire ended, or it does something else.
    pub(super) fn settled(&mut self, client: u32, line: u64) {
        if let Some(state) = self.states.get_mut(&client)
            && state.acquiring == Some(line)
        {
            state.acquiring = None;
        }
    }

    /// It died, or was told that its lock is gone.
    pub(super) fn let_go(&mut self, client: u32, which: Which) {
        let state = self.states.entry(client).or_default();
        for (_, held) in state.keys.iter_mut().filter(|(key, _)| which.fits(**key)) {
            held.levels.clear();
            if !held.acquiring {
                held.asked = None;
            }
        }
    }
}
