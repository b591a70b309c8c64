//! What is known of each client: does it hold, perhaps, or not at all?

use std::collections::BTreeMap;

use crate::history::Kind;
use crate::history::operations::Seen;
use crate::history::record::F;

/// A client's state by what the history says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has never acquired, its acquire failed, its release is complete, or it
    /// was told that the lock is lost.
    Free,
    /// Acquired, and not released.
    Holds,
    /// An acquire or a release of it is open, or of unknown outcome.
    Perhaps,
    /// It died.
    Dead,
}

/// All clients' states.
#[derive(Default)]
pub(super) struct Clients {
    states: BTreeMap<u32, (State, u32)>,
}

impl Clients {
    pub(super) fn see(&mut self, seen: &Seen<'_>) {
        if let Some(client) = seen.death() {
            self.states.insert(client, (State::Dead, 0));
        } else if let Some(client) = seen.loser() {
            self.states.insert(client, (State::Free, 0));
        }
        let (op, end) = match seen {
            Seen::Invoked(op) => (op, None),
            Seen::Ended(op, end) => (op, Some(end.kind)),
            Seen::Noted(_) => return,
        };
        let Some(client) = op.client() else { return };
        let (state, depth) = self.states.entry(client).or_insert((State::Free, 0));
        match (op.f, end) {
            (F::Acquire, None) if *depth == 0 => *state = State::Perhaps,
            (F::Acquire, Some(Kind::Ok)) => (*state, *depth) = (State::Holds, *depth + 1),
            (F::Acquire, Some(Kind::Fail)) if *depth == 0 => *state = State::Free,
            (F::Acquire, Some(Kind::Info)) => *state = State::Perhaps,
            (F::Release, None) => *state = State::Perhaps,
            (F::Release, Some(Kind::Ok)) => {
                *depth = depth.saturating_sub(1);
                *state = match depth {
                    0 => State::Free,
                    _ => State::Holds,
                };
            }
            _ => {}
        }
    }

    pub(super) fn state(&self, client: u32) -> State {
        self.states
            .get(&client)
            .map_or(State::Free, |(state, _)| *state)
    }

    /// True if nobody who lives holds or may hold.
    pub(super) fn nobody_holds(&self) -> bool {
        let mut states = self.states.values();
        states.all(|(state, _)| matches!(state, State::Free | State::Dead))
    }
}
