//! Who holds, as far as the removal of an entry is concerned.

use rustc_hash::FxHashMap;

use crate::history::operations::{End, Op};
use crate::history::record::F;
use crate::history::{Header, Kind};

/// What is known of a client at the time of a removal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holding {
    /// It held from before the removal until after it; the line of its acquire.
    Surely(u64),
    /// The time is over for which that is sure.
    Past(u64),
    /// Its acquire is open: if nobody will ever know how it ended, it may hold.
    Acquiring,
    /// Nobody knows how its last acquire ended.
    Perhaps,
    /// It does not hold, or the removal may have come before or after its hold.
    No,
}

#[derive(Clone, Copy)]
struct Hold {
    since: u64,
    until: u64,
    line: u64,
}

/// A client.
#[derive(Default)]
struct State {
    /// What it does, or did last.
    doing: Option<F>,
    hold: Option<Hold>,
    /// When its last acquire was invoked, if that is open or of unknown outcome.
    asked: Option<u64>,
    /// The line of its open acquire.
    acquiring: Option<u64>,
}

/// All clients.
pub(super) struct Holders {
    reentrant: bool,
    states: FxHashMap<u32, State>,
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

    /// How the client stands to a removal from `from` to `to`, which is now.
    pub(super) fn holding(&self, client: u32, (from, to): (u64, u64)) -> Holding {
        let Some(state) = self.states.get(&client) else {
            return Holding::No;
        };
        match (state.hold, state.asked) {
            (Some(hold), _) if hold.since > from => Holding::No,
            (Some(hold), _) if to < hold.until => Holding::Surely(hold.line),
            (Some(hold), _) => Holding::Past(hold.line),
            (None, Some(asked)) if asked > from => Holding::No,
            (None, Some(_)) if state.acquiring.is_some() => Holding::Acquiring,
            (None, Some(_)) => Holding::Perhaps,
            (None, None) => Holding::No,
        }
    }

    /// An operation begins; true if it ends what the client held.
    pub(super) fn invoked(&mut self, op: &Op, client: u32) -> bool {
        let state = self.states.entry(client).or_default();
        if matches!(op.f, F::Acquire | F::Release) {
            state.doing = Some(op.f);
        }
        match op.f {
            F::Acquire => (state.asked, state.acquiring) = (Some(op.invoked), Some(op.line)),
            F::Release => state.asked = None,
            _ => {}
        }
        // With nested holds the first release is not the end; but then it is no
        // longer sure what the client holds.
        let ends = op.f == F::Release || (op.f == F::Acquire && !self.reentrant);
        if ends {
            state.hold = None;
        }
        ends
    }

    /// Its acquire ended.
    pub(super) fn acquired(&mut self, op: &Op, client: u32, end: &End<'_>) {
        let state = self.states.entry(client).or_default();
        state.acquiring = None;
        if end.kind != Kind::Info {
            state.asked = None;
        }
        if end.kind == Kind::Ok {
            let until = end.details.validity_ns;
            let until = until.map_or(u64::MAX, |validity| {
                op.invoked.saturating_add_signed(validity)
            });
            state.hold = Some(Hold {
                since: state.hold.map_or(end.time, |hold| hold.since),
                until,
                line: end.line,
            });
        }
    }

    /// It died, or was told that its lock is gone.
    pub(super) fn let_go(&mut self, client: u32) {
        let state = self.states.entry(client).or_default();
        (state.hold, state.asked) = (None, None);
    }
}
