//! After a release that reports success another client can acquire.
//!
//! Looked for is a way without faults, shorter than the lease: messages arrive,
//! pauses and partitions end, others call acquire, and the client that released
//! asks for nothing. What it left behind would be gone once the lease is over, so
//! that much time does not pass. If others have entries of their own, or hold the
//! lock, nothing is asked.

use rustc_hash::FxHashMap;

use super::{OVERFLOW_RELEASE, RELEASED};
use crate::lock::{Op, Phase};
use crate::world::catalogue::{Branching, Safety};
use crate::world::layout::State;
use crate::world::log::Unread;
use crate::world::moves::Move;
use crate::world::system::Transition;
use crate::world::world::World;

/// More states than this are not followed.
const STATES_MAX: usize = 100_000;

/// More states than these are not remembered.
const KNOWN_MAX: usize = 4_000_000;

/// What is known of what a release left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freed {
    Yes,
    No,
    /// The search met this overflow.
    Unknown(u8),
}

/// What is known of a state in which a client asks for nothing.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct Known {
    /// Another one can acquire in so many ticks.
    within: u8,
    /// No other one can in fewer ticks than these.
    before: u8,
}

impl Known {
    const NOTHING: Known = Known {
        within: u8::MAX,
        before: 0,
    };
}

/// What is known, by the client that released and the state.
#[derive(Debug, Default)]
pub(in crate::world) struct Frees {
    known: FxHashMap<(u8, State), Known>,
    unknown: FxHashMap<(u8, State), u8>,
}

impl Frees {
    fn of(&self, client: u8, state: &State) -> Known {
        let known = self.known.get(&(client, *state));
        known.copied().unwrap_or(Known::NOTHING)
    }

    fn note(&mut self, client: u8, state: &State, change: impl Fn(&mut Known)) {
        if self.known.len() < KNOWN_MAX {
            let entry = self.known.entry((client, *state));
            change(entry.or_insert(Known::NOTHING));
        }
    }
}

/// A state on the way to an acquire.
struct Visit {
    state: State,
    /// Ticks that are left.
    ticks: u8,
    /// Where it comes from, among those visited.
    parent: usize,
}

impl World {
    /// Judges a transition in which a release may have reported success.
    pub(super) fn judge_release(&self, transition: &mut Transition<State>) {
        if transition.violates & RELEASED == 0 {
            return;
        }
        transition.violates &= !RELEASED;
        let Some(client) = Move::decode(transition.action).and_then(Move::client) else {
            return;
        };
        if transition.overflow != 0 || !self.asks_for_freedom(&transition.state, client) {
            return;
        }
        match self.freed(&transition.state, client) {
            Freed::Yes => {}
            Freed::No => transition.violates |= Safety::ReleaseFrees.bit(),
            Freed::Unknown(overflow) => transition.overflow |= overflow,
        }
    }

    /// Somebody else is there to acquire, and nobody else has anything.
    fn asks_for_freedom(&self, state: &State, client: u8) -> bool {
        // The other object of the client is the client's own.
        let own = self.config.objects.map(|objects| objects.partner(client));
        let mine = 1u8 << client | own.map_or(0, |own| 1 << own);
        let others = || (0..self.clients.len()).filter(|other| mine & 1 << other == 0);
        let contends = |other: &usize| self.config.contend(*other, usize::from(client));
        let theirs = |node: usize| {
            let holders = &self.tables.holders[usize::from(self.keyspace(state, node))];
            holders.any & !mine != 0
        };
        let idle = |other: usize| {
            let facts = &self.tables.facts[usize::from(self.class(state, other))];
            let free = !self.crashed(state, other) && !self.is_busy_elsewhere(state, other);
            free && facts.phase == Phase::Idle
        };
        // A server that is gone is nothing that a release could mend.
        let gone = |node: usize| self.is_down(state, node);
        others().filter(contends).any(idle)
            && !(0..self.nodes.len()).any(gone)
            && !others().any(|other| self.believes(state, other))
            && !(0..self.nodes.len()).any(theirs)
    }

    fn freed(&self, state: &State, client: u8) -> Freed {
        let start = state.masked(&self.bare);
        let ticks = self.config.ttl_ticks - 1;
        let frees = self.frees();
        let known = frees.of(client, &start);
        if known.within <= ticks {
            return Freed::Yes;
        }
        if known.before > ticks {
            return Freed::No;
        }
        if let Some(overflow) = frees.unknown.get(&(client, start)) {
            return Freed::Unknown(*overflow);
        }
        drop(frees);
        let freed = self.search_for_acquire(start, client, ticks);
        if let Freed::Unknown(overflow) = freed {
            self.frees().unknown.insert((client, start), overflow);
        }
        freed
    }

    fn frees(&self) -> std::sync::MutexGuard<'_, Frees> {
        self.frees.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn search_for_acquire(&self, start: State, client: u8, ticks: u8) -> Freed {
        let mut seen: FxHashMap<State, u8> = FxHashMap::default();
        let mut visited: Vec<Visit> = Vec::new();
        let mut open = vec![Visit {
            state: start,
            ticks,
            parent: usize::MAX,
        }];
        let mut overflow = 0;
        while let Some(visit) = open.pop() {
            let Visit { state, ticks, .. } = visit;
            if seen.get(&state).is_some_and(|known| *known >= ticks) {
                continue;
            }
            if seen.len() >= STATES_MAX {
                return Freed::Unknown(OVERFLOW_RELEASE);
            }
            seen.insert(state, ticks);
            let parent = visited.len();
            visited.push(visit);
            // Somebody came here before, and went on.
            let known = self.frees().of(client, &state);
            if known.before > ticks {
                continue;
            }
            let mut left = ticks.checked_sub(known.within);
            let first = open.len();
            if left.is_none() {
                self.with_calls_out_of_turn(&state, client, &mut |next, Unread| {
                    let Some(step) = Move::decode(next.action) else {
                        return;
                    };
                    let tick = u8::from(step == Move::Tick);
                    let asks = matches!(step, Move::Call { client: who, .. } if who == client);
                    if next.fault || tick > ticks || asks {
                        return;
                    }
                    if next.overflow != 0 {
                        overflow |= next.overflow;
                        return;
                    }
                    if self.another_acquires(&state, &next, step, client) {
                        left = Some(ticks - tick);
                    }
                    open.push(Visit {
                        state: next.state.masked(&self.bare),
                        ticks: ticks - tick,
                        parent,
                    });
                });
            }
            if let Some(left) = left {
                self.note_way(&visited, client, left);
                return Freed::Yes;
            }
            // Ticks come last in a state, and are to be tried last.
            open[first..].reverse();
        }
        if overflow != 0 {
            return Freed::Unknown(overflow);
        }
        let mut frees = self.frees();
        for (state, ticks) in &seen {
            frees.note(client, state, |known| {
                known.before = known.before.max(ticks + 1)
            });
        }
        Freed::No
    }

    /// Another client gets the lock that the client gave back.
    fn another_acquires(
        &self,
        state: &State,
        next: &Transition<State>,
        step: Move,
        client: u8,
    ) -> bool {
        let Some(objects) = self.config.objects else {
            let others = step.client().is_some_and(|acting| acting != client);
            return others && next.goals & Branching::DeadlockFreedom.bit() != 0;
        };
        let gets = |other: usize| {
            other != usize::from(client)
                && objects.contend(other as u8, client)
                && !self.believes(state, other)
                && self.believes(&next.state, other)
        };
        (0..self.clients.len()).any(gets)
    }

    /// What can happen; and whoever is after the same lock may ask for it at once, without
    /// the other lock that it usually takes before.
    fn with_calls_out_of_turn(
        &self,
        state: &State,
        client: u8,
        visit: &mut super::Visit<'_, Unread>,
    ) {
        self.transitions(state, visit);
        if self.config.objects.is_none() {
            return;
        }
        for other in (0..self.clients.len()).filter(|other| *other != usize::from(client)) {
            let contends = self.config.contend(other, usize::from(client));
            let waits = !self.runs(state, other) || self.is_busy_elsewhere(state, other);
            let open = (0..self.clients.len()).any(|one| self.open_thread(state, one).is_some());
            if !contends || waits || open || self.facts(state, other).phase != Phase::Idle {
                continue;
            }
            let acquires = |op: &&Op| op.mode().is_some();
            for op in self.tables.operations.iter().filter(acquires).copied() {
                let mut step = super::Successor::<Unread>::from(self, state);
                step.call(other, op);
                let client = other as u8;
                step.finish(Move::Call { client, op }, visit);
            }
        }
    }

    /// From the last one visited an acquire follows, with `left` ticks to spare; so it
    /// does from all on the way to it.
    fn note_way(&self, visited: &[Visit], client: u8, left: u8) {
        let mut frees = self.frees();
        let mut at = visited.len() - 1;
        while let Some(visit) = visited.get(at) {
            let needed = visit.ticks - left;
            frees.note(client, &visit.state, |known| {
                known.within = known.within.min(needed)
            });
            at = visit.parent;
        }
    }
}
