//! Subscriptions: who listens, what is published to them, and the waking of those who
//! wait.
//!
//! A client listens on a connection of its own (a subscribed one takes few other commands;
//! Redis manual, Pub/Sub), one for each node. What comes on it comes in the order in which
//! its server sent it. A message goes to who listens when it is published, once, and to
//! nobody else: delivery is at most once. When the connection ends, so does the
//! subscription, and the client is not told. What a link swallows leaves a gap in a stream
//! of bytes, so nothing behind it is heard, and when the link heals the connection is
//! reset.

use super::{OVERFLOW_SLOTS, Successor};
use crate::lock::Phase;
use crate::world::catalogue::Safety;
use crate::world::layout::{Field, State};
use crate::world::log::{Log, Note};
use crate::world::message::{Content, Message, PLACES};
use crate::world::world::World;

/// The server sends what is published, and the client hears it.
const HEARS: usize = 1;

/// The server sends it, and nothing arrives.
pub(super) const DEAF: usize = 2;

impl<L: Log> Successor<'_, L> {
    /// A server begins or ends a client's subscription.
    pub(super) fn subscribe(&mut self, client: usize, node: u8, begins: bool) {
        let field = self.world.listening(client, usize::from(node));
        self.state.set(field, if begins { HEARS } else { 0 });
    }

    /// Nothing more of what the server sends on a client's subscription arrives.
    pub(super) fn deafen(&mut self, client: usize, node: u8) {
        let field = self.world.listening(client, usize::from(node));
        if self.state.get(field) == HEARS {
            self.state.set(field, DEAF);
        }
        self.clear_subscription(client, node);
    }

    /// What is on its way on a client's subscription is gone, but for what the client sends.
    pub(super) fn clear_subscription(&mut self, client: usize, node: u8) {
        self.rewrite_messages(client, |message| message.node != node || message.place == 0);
    }

    /// The place of what a server sends next on a client's subscription.
    pub(super) fn next_place(&mut self, client: usize, node: u8) -> u8 {
        let last = self.world.last_on_subscription(&self.state, client, node);
        let place = 1 + last.map_or(0, |(_, message)| message.place);
        if place > PLACES {
            self.overflow |= OVERFLOW_SLOTS;
        }
        place.min(PLACES)
    }

    /// A server sends messages to all who listen.
    pub(super) fn publish(&mut self, node: u8, publication: u16) {
        let world = self.world;
        for &number in world.tables.publication(publication) {
            for client in 0..world.clients.len() {
                let field = world.listening(client, usize::from(node));
                if world.tables.hears(client, number) && self.state.get(field) == HEARS {
                    self.send_message(client, node, number);
                }
            }
        }
    }

    fn send_message(&mut self, client: usize, node: u8, number: u16) {
        let world = self.world;
        let last = world.last_on_subscription(&self.state, client, node);
        let content = Content::Published(number);
        if world.swallows_replies(&self.state, client, usize::from(node)) {
            let message = Message::published(number, node, 0);
            self.log.note(|| Note::Published {
                client,
                message,
                onto: None,
                lost: true,
            });
            self.deafen(client, node);
            return;
        }
        if let Some((slot, onto)) = last.filter(|(_, last)| last.content == content) {
            if onto.more && world.config.at_ticks {
                self.overflow |= OVERFLOW_SLOTS;
                return;
            }
            let message = Message { more: true, ..onto };
            self.state
                .set(world.slots(client)[slot], world.messages.pack(message));
            self.sort_slots(client);
            self.log.note(|| Note::Published {
                client,
                message,
                onto: Some(onto),
                lost: false,
            });
            return;
        }
        let message = Message::published(number, node, self.next_place(client, node));
        self.post(client, message);
        self.log.note(|| Note::Published {
            client,
            message,
            onto: None,
            lost: false,
        });
    }

    /// What stood in a slot, or one message of those that stood there, is taken; `more`:
    /// of those that are left there are two or more.
    pub(super) fn take_one(&mut self, client: usize, slot: usize, message: Message, more: bool) {
        self.take(client, slot);
        if message.more {
            let rest = Message { more, ..message };
            self.post(client, rest);
            self.log.note(|| Note::Parted { message: rest });
        } else if message.place > 0 {
            self.move_up(client, message);
        }
    }

    /// What comes behind a message on the same subscription is one place nearer.
    fn move_up(&mut self, client: usize, gone: Message) {
        self.rewrite_messages(client, |message| {
            if message.node == gone.node && message.place > gone.place {
                message.place -= 1;
            }
            true
        });
    }

    /// A client ends the connection of its subscription: it gave up a command on it.
    pub(super) fn hang_up(&mut self, client: usize, threads: u8, before: u16) {
        let world = self.world;
        let facts = &world.tables.facts[usize::from(before)];
        for (thread, node) in facts.asks.into_iter().enumerate() {
            if threads & facts.subscribing & 1 << thread == 0 {
                continue;
            }
            self.subscribe(client, node, false);
            self.rewrite_messages(client, |message| {
                message.node != node || !world.is_of_subscription(message)
            });
        }
    }

    /// No client listens to the node's server any more.
    pub(super) fn end_subscriptions(&mut self, node: usize) {
        let world = self.world;
        for client in 0..world.clients.len() {
            if world.tables.listens() {
                self.state.set(world.listening(client, node), 0);
            }
        }
        self.state.set(world.freed, 0);
    }

    /// A client's connections are gone, with its process.
    pub(super) fn end_own_subscriptions(&mut self, client: usize) {
        let world = self.world;
        if world.tables.listens() {
            for node in 0..world.nodes.len() {
                self.state.set(world.listening(client, node), 0);
            }
        }
    }

    /// A command made this of what a server held: the lock may be free now.
    pub(super) fn note_freedom(&mut self, before: u16, after: u16) {
        let world = self.world;
        if !world.freed.exists() {
            return;
        }
        let is_held = |keyspace: u16| world.tables.holders[usize::from(keyspace)].locked != 0;
        if is_held(after) {
            self.state.set(world.freed, 0);
        } else if is_held(before) {
            self.state.set(world.freed, 1);
        }
    }

    /// Time passes: nobody may sleep on while the lock is free and nothing comes that
    /// wakes them.
    pub(super) fn judge_waiting(&mut self) {
        let world = self.world;
        if !world.freed.exists() || self.state.get(world.freed) == 0 {
            return;
        }
        let held = self.nodes_where(|holders| holders.locked != 0) > 0;
        let acquires = |client: usize| {
            let acquiring = world.facts(&self.state, client).phase == Phase::Acquiring;
            acquiring && world.runs(&self.state, client)
        };
        let asleep = |client: usize| {
            let waits = world.facts(&self.state, client).waits;
            acquires(client) && waits && !world.is_told(&self.state, client)
        };
        let mut clients = 0..world.clients.len();
        // An element wakes one of those who wait in a queue, and that one can pass it on.
        let queues = |client| acquires(client) && world.is_held_back(&self.state, client);
        let awake = |client| acquires(client) && !queues(client) && !asleep(client);
        let forgotten = clients.clone().any(queues) && !clients.clone().any(awake);
        if !held && (forgotten || clients.any(asleep)) {
            self.violate(Safety::NoLostWakeUp);
        }
    }
}

impl World {
    pub(super) fn listening(&self, client: usize, node: usize) -> Field {
        self.listening[client * usize::from(self.config.nodes) + node]
    }

    /// A command of the client's is under way on its subscription.
    pub(super) fn asks_on_subscription(&self, state: &State, client: usize, node: u8) -> bool {
        let facts = self.facts(state, client);
        let asks =
            |thread: usize| facts.subscribing & 1 << thread != 0 && facts.asks[thread] == node;
        (0..facts.asks.len()).any(asks)
    }

    /// The link to a client that was deaf is whole again: its connection is reset. If a
    /// command is under way on it, the client gives it up first.
    pub(super) fn hears_again(&self, state: &mut State, client: usize, node: u8) {
        if self.tables.listens() && !self.asks_on_subscription(state, client, node) {
            let field = self.listening(client, usize::from(node));
            if state.get(field) == DEAF {
                state.set(field, 0);
            }
        }
    }

    /// The client's subscription stands at the node's server.
    fn listens(&self, state: &State, client: usize, node: usize) -> bool {
        self.tables.listens() && state.get(self.listening(client, node)) != 0
    }

    /// So many clients listen at the node's server to what is published.
    pub(in crate::world) fn listeners(
        &self,
        state: &State,
        node: usize,
        publication: u16,
    ) -> usize {
        // All of it is on one channel.
        let Some(first) = self.tables.publication(publication).first() else {
            return 0;
        };
        let hears = |client: &usize| {
            self.tables.hears(*client, *first) && self.listens(state, *client, node)
        };
        (0..self.clients.len()).filter(hears).count()
    }

    /// What comes last on a client's subscription, of all that is on its way; its slot.
    fn last_on_subscription(
        &self,
        state: &State,
        client: usize,
        node: u8,
    ) -> Option<(usize, Message)> {
        let slots = 0..self.slots_used;
        let messages = slots.filter_map(|slot| Some((slot, self.message(state, client, slot)?)));
        let placed = messages.filter(|(_, message)| message.node == node && message.place > 0);
        placed.max_by_key(|(_, message)| message.place)
    }

    /// Something is on its way to the client on its subscription.
    pub(super) fn brings_something(&self, state: &State, client: usize, node: u8) -> bool {
        self.last_on_subscription(state, client, node).is_some()
    }

    /// The message goes, or comes, on a client's subscription.
    pub(super) fn is_of_subscription(&self, message: &Message) -> bool {
        let subscribes = |command| self.tables.subscription(command).is_some();
        message.place > 0
            || matches!(message.content, Content::Request(command) if subscribes(command))
    }

    /// Another thread of the client waits for an answer on the subscription, where there
    /// is room for one command at a time.
    pub(super) fn is_subscribing(
        &self,
        state: &State,
        client: usize,
        thread: u8,
        node: u8,
    ) -> bool {
        let facts = self.facts(state, client);
        let asks = |other: usize| {
            other != usize::from(thread)
                && facts.subscribing & 1 << other != 0
                && facts.asks[other] == node
        };
        (0..facts.asks.len()).any(asks)
    }

    /// A message is on its way to the client.
    fn is_told(&self, state: &State, client: usize) -> bool {
        let mut messages =
            (0..self.slots_used).filter_map(|slot| self.message(state, client, slot));
        messages.any(|message| matches!(message.content, Content::Published(_)))
    }
}
