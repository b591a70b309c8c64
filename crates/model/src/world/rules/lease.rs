//! How long a holder's work takes.
//!
//! Work is shorter than the lease unless `overrun` is on. Where the lock states no
//! validity, the lease counts from when the client sent the command that got it the
//! lock: an attempt that failed before does not count, one whose end nobody knows
//! does. A renewal that took effect starts it anew, as a nested acquire does.

use super::Successor;
use crate::lock::Phase;
use crate::world::client::Limit;
use crate::world::layout::{Field, State};
use crate::world::log::Log;
use crate::world::world::World;

impl<L: Log> Successor<'_, L> {
    /// The counter of the acquire or renewal that runs.
    fn attempt(&self, client: usize) -> Field {
        let fields = &self.world.clients[client];
        let holds = self.world.tables.facts[self.state.get(fields.local)].holds;
        if holds > 0 {
            fields.nested
        } else {
            fields.lease
        }
    }

    /// An acquire or a renewal runs.
    fn prolongs(&self, client: usize) -> bool {
        let class = self.state.get(self.world.clients[client].local);
        prolongs(self.world.tables.facts[class].phase)
    }

    /// An operation begins.
    pub(super) fn begin_attempt(&mut self, client: usize) {
        let fields = &self.world.clients[client];
        self.state.set(fields.nested, 0);
        self.state.set(fields.hampered, 0);
    }

    /// The client sent so many commands.
    pub(super) fn count_attempt(&mut self, client: usize, sent: usize) {
        if !self.world.tables.counts_leases || !self.prolongs(client) {
            return;
        }
        let asked = self.world.clients[client].asked;
        let others = self.world.awaited(&self.state, client) > sent;
        if asked.exists() && (!others || self.state.get(asked) == 0) {
            self.state.set(asked, 1);
        }
        let attempt = self.attempt(client);
        if attempt.exists() && self.state.get(attempt) == 0 {
            self.state.set(attempt, 1);
        }
    }

    /// A command that got the client an entry, or a new end of it, is executed: the lease
    /// counts from when that was sent, whatever marks were left before.
    pub(super) fn restart_attempt(&mut self, client: usize) {
        if !self.world.tables.counts_leases || !self.prolongs(client) {
            return;
        }
        let attempt = self.attempt(client);
        let asked = self.state.get(self.world.clients[client].asked);
        if attempt.exists() && asked != 0 {
            self.state.set(attempt, asked);
        }
    }

    /// A reply comes to the client. If the acquire that runs has had no effect by
    /// now, and nothing is on its way, its next command is another attempt; gives
    /// what this one has counted.
    pub(super) fn end_attempt(&mut self, client: usize) -> usize {
        if !self.world.tables.counts_leases || !self.prolongs(client) {
            return 0;
        }
        let attempt = self.attempt(client);
        let counted = self.state.get(attempt);
        let effective = self.state.get(self.world.clients[client].effective);
        if effective == 0 && self.world.awaited(&self.state, client) == 0 {
            self.state.set(attempt, 0);
        }
        counted
    }

    /// An acquire succeeded, or a renewal (`nested`), `counted` after it was sent.
    pub(super) fn begin_lease(&mut self, client: usize, nested: bool, counted: usize) {
        if !self.world.tables.counts_leases {
            return;
        }
        let fields = self.world.clients[client];
        let attempt = if nested { fields.nested } else { fields.lease };
        let since = self.state.get(attempt).max(counted).max(1);
        self.state.set(fields.nested, 0);
        // What only looks does not prolong anything.
        if !nested || self.took_effect(client) {
            self.state.set(fields.lease, since);
        }
    }

    /// Forgets what does not matter any more.
    pub(super) fn settle_lease(&mut self, client: usize) {
        let fields = &self.world.clients[client];
        let facts = &self.world.tables.facts[self.state.get(fields.local)];
        let counts =
            facts.limit == Limit::Lease || facts.phase == Phase::Acquiring && facts.holds == 0;
        if !counts {
            self.state.set(fields.lease, 0);
        }
        if !prolongs(facts.phase) {
            self.state.set(fields.nested, 0);
            self.state.set(fields.asked, 0);
            self.state.set(fields.hampered, 0);
        }
    }

    /// So many ticks of the client's clock pass.
    pub(super) fn tick_lease(&mut self, client: usize, ticks: u8) {
        let fields = &self.world.clients[client];
        for field in [fields.lease, fields.nested, fields.asked] {
            let counted = self.state.get(field);
            if counted > 0 {
                let most = 1 + usize::from(self.world.config.ttl_ticks);
                self.state
                    .set(field, (counted + usize::from(ticks)).min(most));
            }
        }
    }
}

/// In an operation from which a lease can count.
fn prolongs(phase: Phase) -> bool {
    matches!(phase, Phase::Acquiring | Phase::Renewing)
}

impl World {
    /// The holder's work must end before the next tick.
    pub(super) fn must_end(&self, state: &State, client: usize) -> bool {
        let fields = &self.clients[client];
        let facts = &self.tables.facts[state.get(fields.local)];
        if facts.phase != Phase::Held || state.get(fields.overrun) != 0 {
            return false;
        }
        // The client's only thread waits elsewhere, and cannot give the lock back.
        if self.is_busy_elsewhere(state, client) {
            return false;
        }
        match facts.limit {
            Limit::None => false,
            Limit::Validity => facts.lapsing,
            Limit::Lease => state.get(fields.lease) >= usize::from(self.config.ttl_ticks),
        }
    }

    /// Messages in flight for which some thread of the client waits.
    fn awaited(&self, state: &State, client: usize) -> usize {
        let slots = 0..self.config.slots();
        slots
            .filter_map(|slot| self.message(state, client, slot))
            .filter(|message| message.awaited)
            .count()
    }
}
