//! Connections that watch keys, and the transactions that ask for them.
//!
//! A client's library sends a transaction that is guarded by a watch only on the connection
//! that watches. If that one is gone, the library knows it before anything is sent, whatever
//! the network is like by then.

use super::{OVERFLOW_SLOTS, OVERFLOW_TABLE, Successor};
use crate::world::layout::State;
use crate::world::log::{Log, Note};
use crate::world::message::{Content, Message};
use crate::world::tables::NONE;
use crate::world::watches::{Connection, Guard, Unwatch};
use crate::world::world::World;

impl<L: Log> Successor<'_, L> {
    /// Threads (bit set) of a client in this class give up their commands, and with them their
    /// connections. Only that of the caller's thread can watch anything.
    pub(super) fn leave_connections(&mut self, client: usize, class: u16, threads: u8) {
        if self.world.tables.watches() && threads & 1 != 0 {
            let node = self.world.tables.facts[usize::from(class)].asks[0];
            self.leave_connection(client, usize::from(node));
        }
    }

    /// All connections of a client are gone.
    pub(super) fn leave_all_connections(&mut self, client: usize) {
        if self.world.tables.watches() {
            for node in 0..self.world.nodes.len() {
                self.leave_connection(client, node);
            }
        }
    }

    fn leave_connection(&mut self, client: usize, node: usize) {
        let world = self.world;
        let watched = world.is_watching(&self.state, client, node);
        let late = world.has_given_up(&self.state, client, node);
        let mut on_its_way = false;
        self.rewrite_messages(client, |message| {
            let Some((command, guard)) = world.guarded(message) else {
                return true;
            };
            let here = usize::from(message.node) == node && message.thread == 0;
            if here && message.awaited && !message.held {
                on_its_way |= matches!(guard, Guard::Multi(_));
                message.content = Content::Request(world.tables.given_up(command, watched));
            }
            true
        });
        if !watched {
            return;
        }
        if on_its_way && late {
            self.overflow |= OVERFLOW_SLOTS;
        }
        let what = match on_its_way {
            true => Unwatch::GiveUp,
            false => Unwatch::Present,
        };
        self.unwatch(client, node, what);
    }

    fn unwatch(&mut self, client: usize, node: usize, what: Unwatch) {
        let field = self.world.nodes[node].keyspace;
        let keyspace = self.state.get(field);
        let after = self.world.tables.unwatched(client, what, keyspace);
        if after == usize::from(NONE) {
            self.overflow |= OVERFLOW_TABLE;
            return;
        }
        self.state.set(field, after);
        self.log.note(|| Note::Unwatched {
            field,
            client,
            what,
        });
    }

    /// A transaction that was given up, and will never arrive, leaves nothing watched behind.
    pub(super) fn close_what_was_given_up(&mut self) {
        let world = self.world;
        if !world.tables.watches() {
            return;
        }
        for node in 0..world.nodes.len() {
            let keyspace = self.state.get(world.nodes[node].keyspace);
            let given_up = world.tables.watchers(keyspace).given_up;
            for client in (0..world.clients.len()).filter(|client| given_up & 1 << client != 0) {
                if !world.has_given_up(&self.state, client, node) {
                    self.unwatch(client, node, Unwatch::GivenUp);
                }
            }
        }
    }
}

impl World {
    /// The connection of a client's caller to a node watches something.
    fn is_watching(&self, state: &State, client: usize, node: usize) -> bool {
        let keyspace = state.get(self.nodes[node].keyspace);
        self.tables.watchers(keyspace).present & 1 << client != 0
    }

    /// A transaction is on its way that its client has given up, on a connection that
    /// watches.
    fn has_given_up(&self, state: &State, client: usize, node: usize) -> bool {
        let late = |message: Message| {
            let given_up = self.connection(&message) == Connection::GivenUp;
            usize::from(message.node) == node && given_up
        };
        let mut slots = 0..self.slots_used;
        slots.any(|slot| self.message(state, client, slot).is_some_and(late))
    }

    /// The command of a request, and what it has to do with watches.
    fn guarded(&self, message: &Message) -> Option<(u16, Guard)> {
        match message.content {
            Content::Request(command) => Some((command, self.tables.guard(command)?)),
            _ => None,
        }
    }

    /// The client's library does not send this: the connection that watched is gone.
    pub(super) fn withholds(
        &self,
        state: &State,
        client: usize,
        node: usize,
        command: u16,
    ) -> bool {
        self.tables.guard(command) == Some(Guard::Multi(true))
            && !self.is_watching(state, client, node)
    }

    /// The refusal came from the client's library, and not from a server's side. (There is no
    /// world in which both kinds can be lost.)
    pub(super) fn is_of_library(&self, message: &Message) -> bool {
        message.content == Content::Refused && self.config.most_down() == 0
    }
}
