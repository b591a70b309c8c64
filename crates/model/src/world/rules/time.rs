//! Ticks, and who has to act before the next one.

use super::Successor;
use super::Visit;
use crate::lock::Phase;
use crate::world::catalogue::{Fault, Safety};
use crate::world::client::{Symbolic, THREADS};
use crate::world::layout::{Field, State};
use crate::world::log::{Log, Note};
use crate::world::message::{Content, Message};
use crate::world::moves::Move;
use crate::world::tables::Facts;
use crate::world::world::World;

impl<L: Log> Successor<'_, L> {
    /// One tick for everybody; `drift` names a client whose clock advances by
    /// another number of ticks.
    fn tick(&mut self, drift: Option<(usize, u8)>) {
        let world = self.world;
        self.judge_waiting();
        for node in 0..world.nodes.len() {
            self.tick_silence(node);
        }
        self.log.note(|| Note::Ticked { drift });
        for node in 0..world.nodes.len() {
            self.tick_node(node);
        }
        for client in 0..world.clients.len() {
            let ticks = match drift {
                Some((drifting, ticks)) if drifting == client => ticks,
                _ => 1,
            };
            self.tick_client(client, ticks);
        }
        for client in 0..world.clients.len() {
            self.tick_messages(client);
        }
        self.lose_what_was_in_vain();
        for client in 0..world.clients.len() {
            self.tick_grace(client);
        }
    }

    fn tick_node(&mut self, index: usize) {
        let tables = &self.world.tables;
        let node = &self.world.nodes[index];
        if node.synced.exists() {
            let stored = tables.stored(self.state.get(node.keyspace));
            let lagging = self.state.get(node.synced) != stored;
            self.state.set(node.lagging, usize::from(lagging));
        }
        self.change_node(index, Some((1, true)), |keyspace| {
            tables.tick[usize::from(keyspace)]
        });
        let pause = self.state.get(node.pause);
        if pause > 0 {
            self.state.set(node.pause, pause + 1);
        }
        self.tick_down(index);
    }

    fn tick_client(&mut self, client: usize, ticks: u8) {
        let world = self.world;
        let fields = world.clients[client];
        if let Some(paused) = world.paused(&self.state, client) {
            self.state.set(fields.status, 2 + usize::from(paused) + 1);
        } else if world.runs(&self.state, client) {
            self.state
                .set(fields.late, usize::from(world.is_late(&self.state, client)));
            if ticks > 0 {
                self.feed(client, Symbolic::Advance(ticks));
            }
        }
        self.tick_lease(client, ticks);
        self.tick_telling(client, ticks);
        if ticks != 1 {
            let skew = self.state.get(fields.skew) + usize::from(ticks);
            self.state.set(fields.skew, skew - 1);
        }
    }

    fn tick_messages(&mut self, client: usize) {
        let tables = &self.world.tables;
        self.rewrite_messages(client, |message| {
            message.allowance = message.allowance.saturating_sub(1);
            message.content = match message.content {
                Content::Request(id) => Content::Request(tables.age_command[usize::from(id)]),
                Content::Reply(id) => Content::Reply(tables.age_reply[usize::from(id)]),
                same @ (Content::Broken | Content::Refused | Content::Published(_)) => same,
            };
            let heard = tables.tick_pop(message);
            tables.tick_wait(message);
            heard
        });
    }

    /// Counts the grace after a client's last operation while something of it
    /// is left, and judges what is left at its end.
    fn tick_grace(&mut self, client: usize) {
        let world = self.world;
        let fields = world.clients[client];
        let idle = world.tables.facts[self.state.get(fields.local)].phase == Phase::Idle;
        let left = self.nodes_where(|holders| holders.any & 1 << client != 0) > 0;
        let requests = world
            .slots(client)
            .iter()
            .any(|slot| self.state.get(*slot) != 0);
        let alive = world.tables.facts[self.state.get(fields.local)].alive;
        let watched = left || requests || alive || self.can_come_back(client);
        if !idle || !watched {
            self.state.set(fields.grace, 0);
            return;
        }
        let over = world.tables.needs.grace();
        let grace = (self.state.get(fields.grace) + 1).min(over);
        self.state.set(fields.grace, grace);
        if grace == over && left {
            self.violate(Safety::NoOrphan);
        }
    }
}

impl<L: Log> Successor<'_, L> {
    /// A disk, a replica or an old server still has something of the client's.
    fn can_come_back(&self, client: usize) -> bool {
        let world = self.world;
        let has = |field: &Field| {
            let keyspace = self.state.get(*field);
            world.tables.holders[keyspace].any & 1 << client != 0
        };
        (0..world.nodes.len()).any(|node| {
            let fields = &world.nodes[node];
            let synced = fields.synced.exists().then_some(&fields.synced);
            let old = world.is_split(&self.state, node).then_some(&fields.old);
            let behind = world.history(&self.state, node);
            synced.into_iter().chain(old).chain(behind).any(has)
        })
    }
}

impl World {
    pub(super) fn tick_moves<L: Log>(&self, state: &State, visit: &mut Visit<'_, L>) {
        if !self.time_may_pass(state) {
            return;
        }
        let mut step = Successor::from(self, state);
        step.tick(None);
        step.finish(Move::Tick, visit);
        if self.left(state, Fault::ClientDrift) == 0 {
            return;
        }
        for client in (0..self.clients.len()).filter(|client| self.runs(state, *client)) {
            for ticks in [0u8, 2] {
                let skew = state.get(self.clients[client].skew) + usize::from(ticks);
                let range = 1..=self.tables.needs.skews.len();
                if range.contains(&skew) {
                    let mut step = Successor::fault(self, state, Fault::ClientDrift);
                    step.tick(Some((client, ticks)));
                    step.finish(
                        Move::Drift {
                            client: client as u8,
                            ticks,
                        },
                        visit,
                    );
                }
            }
        }
    }

    /// Urgency: time stands still while somebody has to act first.
    fn time_may_pass(&self, state: &State) -> bool {
        (0..self.clients.len()).all(|client| self.client_may_wait(state, client))
            && (0..self.nodes.len()).all(|node| self.node_may_wait(state, node))
    }

    fn client_may_wait(&self, state: &State, client: usize) -> bool {
        let fields = &self.clients[client];
        if let Some(ticks) = self.paused(state, client) {
            let (_, size) = self.config.switch(Fault::ClientPause);
            if ticks >= size {
                return false;
            }
        } else if !self.crashed(state, client) {
            let facts = &self.tables.facts[state.get(fields.local)];
            // The work is shorter than the lease, so the release call comes
            // before the tick that would end the lease.
            if self.has_to_act(state, client, facts) || self.must_end(state, client) {
                return false;
            }
        }
        self.slots(client).iter().all(|slot| {
            self.messages
                .unpack(state.get(*slot))
                .is_none_or(|message| self.may_stay(state, client, &message))
        })
    }

    /// Some thread can go on. One that spins may be late by a tick.
    fn has_to_act(&self, state: &State, client: usize, facts: &Facts) -> bool {
        let late = state.get(self.clients[client].late) != 0;
        let spins = if late { 0 } else { facts.spins };
        let acts = |thread: &usize| facts.ready & 1 << thread != 0 || facts.options[*thread] != 0;
        (0..THREADS)
            .filter(acts)
            .any(|thread| spins & 1 << thread == 0)
    }

    /// The client spins, and was not late since its last step: what is in flight for
    /// the threads that do may be late.
    fn spins(&self, state: &State, client: usize, thread: u8) -> bool {
        let fields = &self.clients[client];
        self.tables.spins
            && self.runs(state, client)
            && state.get(fields.late) == 0
            && self.tables.facts[state.get(fields.local)].spins & 1 << thread != 0
    }

    /// A tick passes over a client that spins.
    fn is_late(&self, state: &State, client: usize) -> bool {
        let fields = &self.clients[client];
        if !fields.late.exists() {
            return false;
        }
        let facts = &self.tables.facts[state.get(fields.local)];
        let acts = |thread: usize| facts.ready & 1 << thread != 0 || facts.options[thread] != 0;
        let due = |message: &Message| {
            message.awaited && message.allowance == 0 && message.blocked.is_none()
        };
        let slots = 0..self.config.slots();
        let mut messages = slots.filter_map(|slot| self.message(state, client, slot));
        (0..THREADS).any(acts) || messages.any(|message| due(&message))
    }

    fn may_stay(&self, state: &State, client: usize, message: &Message) -> bool {
        message.allowance > 0
            || message.place > 1
            || message.held
            || message.blocked.is_some() && !self.hears_of_end(state, client, message)
            || message.awaited && self.spins(state, client, message.thread)
            || self.stuck(state, client, message)
    }

    /// A message whose receiver is paused does not hold time up.
    fn stuck(&self, state: &State, client: usize, message: &Message) -> bool {
        match message.content {
            Content::Request(_) => self.waits_for_node(state, message),
            _ => !self.runs(state, client),
        }
    }

    /// The server that a request goes to stands still; an old one never does.
    pub(super) fn waits_for_node(&self, state: &State, message: &Message) -> bool {
        !message.old && self.node_paused(state, usize::from(message.node)).is_some()
    }

    fn node_may_wait(&self, state: &State, node: usize) -> bool {
        let fields = &self.nodes[node];
        if let Some(ticks) = self.node_paused(state, node) {
            // A server that stands still syncs nothing either.
            let (_, size) = self.config.switch(Fault::NodePause);
            return ticks < size;
        }
        self.may_stay_down(state, node)
            && (state.get(fields.lagging) == 0
                || state.get(fields.synced) == self.tables.stored(state.get(fields.keyspace)))
    }
}
