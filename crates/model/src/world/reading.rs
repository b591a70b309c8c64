//! What a state says.

use super::client::Facade;
use super::layout::{Field, State};
use super::message::{Content, Message};
use super::owners::Sender;
use super::tables::{Facts, NONE};
use super::watches::Connection;
use super::world::World;

impl World {
    pub(super) fn crashed(&self, state: &State, client: usize) -> bool {
        state.get(self.clients[client].status) == 1
    }

    /// Ticks that the client has been paused for, if it is paused.
    pub(super) fn paused(&self, state: &State, client: usize) -> Option<u8> {
        let status = state.get(self.clients[client].status);
        (status >= 2).then(|| (status - 2) as u8)
    }

    /// Up and running.
    pub(super) fn runs(&self, state: &State, client: usize) -> bool {
        state.get(self.clients[client].status) == 0
    }

    pub(super) fn node_paused(&self, state: &State, node: usize) -> Option<u8> {
        state
            .get(self.nodes[node].pause)
            .checked_sub(1)
            .map(|ticks| ticks as u8)
    }

    /// What a node's replica may hold, but for what the node itself holds:
    /// the keyspaces before the node's last write, before its last two, ..;
    /// nothing if it has no replica.
    #[inline]
    pub(super) fn history(&self, state: &State, node: usize) -> &[Field] {
        let fields = &self.nodes[node];
        let lag = if state.get(fields.promoted) == 0 {
            self.lag
        } else {
            0
        };
        &fields.history[..lag]
    }

    /// What a node's replica holds if it lacks the node's last `lost` writes.
    pub(super) fn replica(&self, state: &State, node: usize, lost: usize) -> usize {
        match lost.checked_sub(1) {
            None => state.get(self.nodes[node].keyspace),
            Some(writes) => state.get(self.nodes[node].history[writes]),
        }
    }

    /// The old server of a node is still in service beside the new one.
    #[inline]
    pub(super) fn is_split(&self, state: &State, node: usize) -> bool {
        state.get(self.nodes[node].promoted) == 2
    }

    pub(super) fn moved(&self, client: usize, node: usize) -> Field {
        self.moved[client * usize::from(self.config.nodes) + node]
    }

    /// What the client sends to the node now goes to the node's old server.
    pub(super) fn uses_old(&self, state: &State, client: usize, node: usize) -> bool {
        self.is_split(state, node) && state.get(self.moved(client, node)) == 0
    }

    /// A replica stands behind the node's present server.
    pub(super) fn has_replica(&self, state: &State, node: usize) -> bool {
        state.get(self.nodes[node].promoted) == 0
    }

    pub(super) fn cut(&self, client: usize, node: usize) -> Field {
        self.cut[client * usize::from(self.config.nodes) + node]
    }

    pub(super) fn message(&self, state: &State, client: usize, slot: usize) -> Option<Message> {
        self.messages.unpack(state.get(self.slots(client)[slot]))
    }

    /// The message slots of a client.
    #[inline]
    pub(super) fn slots(&self, client: usize) -> &[Field] {
        &self.clients[client].slots[..self.slots_used]
    }

    /// The class of a client's automaton, the time of a pause counted in.
    pub(super) fn class_now(&self, state: &State, client: usize) -> u16 {
        let class = state.get(self.clients[client].local) as u16;
        match self.paused(state, client) {
            Some(ticks) if ticks > 0 => self
                .tables
                .step(class, super::client::Symbolic::Advance(ticks))
                .map_or(class, |(next, _)| next),
            _ => class,
        }
    }

    /// The thread of a client that stands at an open comparison of times. It goes on
    /// at once: nothing else happens before.
    pub(super) fn open_thread(&self, state: &State, client: usize) -> Option<u8> {
        if self.crashed(state, client) {
            return None;
        }
        let class = state.get(self.clients[client].local);
        let at_ticks = self.tables.facts[class].at_ticks;
        at_ticks
            .iter()
            .position(|option| *option != 0)
            .map(|thread| thread as u8)
    }

    /// B of a client; a dead one believes nothing.
    pub fn believes(&self, state: &State, client: usize) -> bool {
        let class = state.get(self.clients[client].local);
        !self.crashed(state, client) && self.tables.facts[class].believes
    }

    /// What is known of a client's state.
    pub(super) fn facts(&self, state: &State, client: usize) -> &Facts {
        &self.tables.facts[state.get(self.clients[client].local)]
    }

    /// The two may not hold the lock at once: it is one key, and they are not both readers.
    pub(super) fn exclude(&self, state: &State, one: usize, other: usize) -> bool {
        let modes = [one, other].map(|client| self.facts(state, client).mode);
        self.config.contend(one, other) && modes[0].excludes(modes[1])
    }

    /// In which part its client sent a request.
    pub(super) fn sender(&self, message: &Message) -> Sender {
        match message.content {
            Content::Request(command) => self.tables.closure.commands.get(command).sender,
            _ => Sender::default(),
        }
    }

    /// On which of its client's connections a request is.
    pub(super) fn connection(&self, message: &Message) -> Connection {
        match message.content {
            Content::Request(command) => self.tables.closure.commands.get(command).connection,
            _ => Connection::default(),
        }
    }

    /// V of a client, on its own clock.
    pub fn valid(&self, state: &State, client: usize) -> bool {
        !self.crashed(state, client)
            && self.is_valid(&self.tables.facts[usize::from(self.class_now(state, client))])
    }

    /// V in a client's state.
    pub(super) fn is_valid(&self, facts: &Facts) -> bool {
        match self.config.at_ticks {
            true => facts.valid_at_ticks,
            false => facts.valid,
        }
    }

    // ---- the concrete side compares with these ----

    /// The class of a client's automaton, as it was when it last ran.
    pub fn class(&self, state: &State, client: usize) -> u16 {
        state.get(self.clients[client].local) as u16
    }

    /// The number of a node's keyspace.
    pub fn keyspace(&self, state: &State, node: usize) -> u16 {
        state.get(self.nodes[node].keyspace) as u16
    }

    /// The fields of a state that number what servers, disks and replicas hold.
    pub(super) fn contents(&self, state: &State) -> Vec<Field> {
        let of_node = |node: usize| {
            let fields = &self.nodes[node];
            let old = self.is_split(state, node).then_some(fields.old);
            let synced = Some(fields.synced).filter(|synced| synced.exists());
            let own = [Some(fields.keyspace), synced, old].into_iter().flatten();
            own.chain(self.history(state, node).iter().copied())
        };
        (0..self.nodes.len()).flat_map(of_node).collect()
    }

    /// Whose contents a field numbers, in words.
    pub(super) fn place_of(&self, field: Field) -> String {
        let place = |node: usize| {
            let fields = &self.nodes[node];
            let behind = fields.history.iter().position(|other| *other == field);
            if field == fields.keyspace {
                Some(format!("node {node}"))
            } else if field == fields.synced {
                Some(format!("the disk of node {node}"))
            } else if field == fields.old {
                Some(format!("the old server of node {node}"))
            } else {
                behind.map(|writes| format!("the replica of node {node}, {} behind,", writes + 1))
            }
        };
        (0..self.nodes.len()).find_map(place).unwrap_or_default()
    }

    /// What can be seen of a client.
    pub fn facade(&self, state: &State, client: u8) -> &Facade {
        let class = self.class(state, usize::from(client));
        let local = self.tables.representatives[usize::from(class)];
        &self.tables.closure.locals[local as usize].facade
    }

    /// The client stands at a comparison of times that is open.
    pub fn is_open(&self, state: &State, client: u8) -> bool {
        self.open_thread(state, usize::from(client)).is_some()
    }

    /// The messages in flight of a client.
    pub fn messages_of(&self, state: &State, client: u8) -> Vec<Message> {
        let slots = 0..self.slots_used;
        slots
            .filter_map(|slot| self.message(state, usize::from(client), slot))
            .collect()
    }

    /// The message in a slot.
    pub fn message_in(&self, state: &State, client: u8, slot: u8) -> Option<Message> {
        self.message(state, usize::from(client), usize::from(slot))
    }

    /// The client's clock offset in ticks.
    pub fn skew_ticks(&self, state: &State, client: u8) -> i8 {
        self.tables.needs.skews[state.get(self.clients[usize::from(client)].skew)]
    }

    /// The generations of a client's tokens that requests in flight name: its own, and those
    /// of the other caller with which it shares a handle.
    pub fn generations_in_flight(&self, state: &State, client: usize) -> u8 {
        let by = |sender: usize, named: &[u8]| {
            (0..self.slots_used)
                .filter_map(|slot| match self.message(state, sender, slot)?.content {
                    Content::Request(command) => named.get(usize::from(command)).copied(),
                    _ => None,
                })
                .fold(0, |all, one| all | one)
        };
        let own = by(client, &self.tables.generations);
        match self.partner(client) {
            Some(partner) => own | by(partner, &self.tables.partner_generations),
            None => own,
        }
    }

    /// The other caller of a client's process, if it has one.
    #[inline]
    pub fn partner(&self, client: usize) -> Option<usize> {
        self.config.partner(client)
    }

    /// What strikes a process is told of its first caller.
    pub(super) fn is_first_caller(&self, client: usize) -> bool {
        self.partner(client).is_none_or(|partner| client < partner)
    }

    /// True if every table entry that a state names is a real one.
    pub(super) fn is_entry(id: u16) -> bool {
        id != NONE
    }
}
