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
use crate::world::moves::Move;
use crate::world::system::Transition;
use crate::world::world::World;

/// More states than this are not followed.
const STATES_MAX: usize = 100_000;

/// What is known of what a release left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::world) enum Freed {
    Yes,
    No,
    /// The search met this overflow.
    Unknown(u8),
}

impl<const W: usize> World<W> {
    /// Judges a transition in which a release may have reported success.
    pub(super) fn judge_release(&self, transition: &mut Transition<State<W>>) {
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
    fn asks_for_freedom(&self, state: &State<W>, client: u8) -> bool {
        let others = || (0..self.clients.len()).filter(|other| *other != usize::from(client));
        let mine = 1u8 << client;
        let theirs = |node: usize| {
            let holders = &self.tables.holders[usize::from(self.keyspace(state, node))];
            holders.any & !mine != 0
        };
        let idle = |other: usize| {
            let facts = &self.tables.facts[usize::from(self.class(state, other))];
            !self.crashed(state, other) && facts.phase == Phase::Idle
        };
        others().any(idle)
            && !others().any(|other| self.believes(state, other))
            && !(0..self.nodes.len()).any(theirs)
    }

    fn freed(&self, state: &State<W>, client: u8) -> Freed {
        let start = self.without_faults(state);
        let key = (client, start);
        let mut known = self.frees.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(freed) = known.get(&key) {
            return *freed;
        }
        drop(known);
        let freed = self.search_for_acquire(start, client);
        known = self.frees.lock().unwrap_or_else(|e| e.into_inner());
        known.insert(key, freed);
        freed
    }

    /// The state, without what only faults and other properties ask for.
    fn without_faults(&self, state: &State<W>) -> State<W> {
        let mut state = *state;
        self.budget.iter().for_each(|field| state.set(*field, 0));
        state.set(self.struck, 0);
        for client in &self.clients {
            for field in [
                client.effect,
                client.effective,
                client.grace,
                client.hampered,
            ] {
                state.set(field, 0);
            }
        }
        state
    }

    fn search_for_acquire(&self, start: State<W>, client: u8) -> Freed {
        let ticks = self.config.ttl_ticks - 1;
        let mut seen: FxHashMap<State<W>, u8> = FxHashMap::default();
        let mut open = vec![(start, ticks)];
        let mut overflow = 0;
        while let Some((state, ticks)) = open.pop() {
            if seen.get(&state).is_some_and(|known| *known >= ticks) {
                continue;
            }
            if seen.len() >= STATES_MAX {
                return Freed::Unknown(OVERFLOW_RELEASE);
            }
            seen.insert(state, ticks);
            let first = open.len();
            let mut found = false;
            self.transitions(&state, &mut |next| {
                let Some(step) = Move::decode(next.action) else {
                    return;
                };
                let tick = u8::from(step == Move::Tick);
                let asks = |op| step == Move::Call { client, op };
                if next.fault || tick > ticks || asks(Op::Acquire) || asks(Op::Release) {
                    return;
                }
                if next.overflow != 0 {
                    overflow |= next.overflow;
                    return;
                }
                let others = step.client().is_some_and(|acting| acting != client);
                found |= others && next.goals & Branching::DeadlockFreedom.bit() != 0;
                open.push((next.state, ticks - tick));
            });
            if found {
                return Freed::Yes;
            }
            // Ticks come last in a state, and are to be tried last.
            open[first..].reverse();
        }
        match overflow {
            0 => Freed::No,
            overflow => Freed::Unknown(overflow),
        }
    }
}
