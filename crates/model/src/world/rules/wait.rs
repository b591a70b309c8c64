//! WAIT: what a client knows of its node's replica.
//!
//! A replica has some beginning of its node's writes, as late as it likes. Only
//! an answer to WAIT tells how much: then it has all that was written before
//! the last command on the asking connection. So a node remembers how many of
//! its last writes nobody knows the replica to have, and a connection, how many
//! writes came since its last command.

use super::Visit;
use super::{OVERFLOW_WAIT, Successor};
use crate::world::client::THREADS;
use crate::world::layout::{Field, State};
use crate::world::log::{Log, Note};
use crate::world::message::{Content, FOR_EVER, Message};
use crate::world::moves::Move;
use crate::world::tables::Tables;
use crate::world::world::World;

impl<L: Log> Successor<'_, L> {
    /// A WAIT reaches its node. If the replica is known to have all that it
    /// asks for, the answer comes at once; otherwise the server holds it back.
    pub(super) fn begin_wait(&mut self, client: usize, slot: usize, message: Message, ticks: u8) {
        self.take(client, slot);
        if !message.awaited {
            self.log.note(|| Note::Blocked);
            return;
        }
        let answered = self.world.is_acknowledged(&self.state, client, &message);
        if answered {
            self.note_acknowledged(client, &message);
            self.note_command(client, &message, false);
        } else {
            self.log.note(|| Note::Blocked);
            if self.is_unsure(client, &message) {
                self.overflow |= OVERFLOW_WAIT;
            }
        }
        let content = if answered {
            Content::Reply(self.world.tables.acknowledged[1])
        } else {
            message.content
        };
        self.post_back(
            client,
            Message {
                content,
                allowance: 0,
                blocked: (!answered).then_some(ticks),
                ..message
            },
        );
    }

    /// The replica has what a blocked WAIT asks for, and maybe no more.
    fn acknowledge(&mut self, client: usize, message: Message) {
        self.note_acknowledged(client, &message);
        let node = usize::from(message.node);
        let field = self.world.nodes[node].unacknowledged;
        let since = self.world.since(client, node, message.thread);
        let left = self.state.get(field).min(self.state.get(since));
        self.state.set(field, left);
        self.answer_waits(node);
    }

    fn note_acknowledged(&mut self, client: usize, message: &Message) {
        self.log.note(|| Note::Acknowledged {
            client,
            node: usize::from(message.node),
            thread: message.thread,
        });
    }

    /// Every WAIT whose answer is known now gets it.
    pub(super) fn answer_waits(&mut self, node: usize) {
        let world = self.world;
        if !world.tables.waits() {
            return;
        }
        for client in 0..world.clients.len() {
            let state = self.state;
            self.rewrite_messages(client, |message| {
                let here = usize::from(message.node) == node && message.blocked.is_some();
                if here && world.is_acknowledged(&state, client, message) {
                    message.blocked = None;
                    message.content = Content::Reply(world.tables.acknowledged[1]);
                }
                true
            });
        }
    }

    /// A command was executed: the connection's next WAIT asks for all that was
    /// written up to here. If the command wrote nothing, servers disagree on that.
    pub(super) fn note_command(&mut self, client: usize, message: &Message, wrote: bool) {
        let world = self.world;
        if world.tables.waits() && message.awaited && !message.old {
            let link = world.link(client, usize::from(message.node), message.thread);
            let (since, unsure) = (world.since[link], world.unsure[link]);
            let missed = self.state.get(since) > 0 || self.state.get(unsure) > 0;
            self.state.set(unsure, usize::from(missed && !wrote));
            self.state.set(since, 0);
            self.log.note(|| Note::Positioned {
                client,
                node: usize::from(message.node),
                thread: message.thread,
            });
        }
    }

    fn is_unsure(&self, client: usize, message: &Message) -> bool {
        let node = usize::from(message.node);
        let link = self.world.link(client, node, message.thread);
        !message.old && self.state.get(self.world.unsure[link]) > 0
    }

    /// Threads that gave a command up use new connections, on which they have
    /// written nothing: a WAIT there asks for nothing.
    pub(super) fn open_new_connections(&mut self, client: usize, before: u16, threads: u8) {
        let world = self.world;
        if !world.tables.waits() {
            return;
        }
        let asks = world.tables.facts[usize::from(before)].asks;
        for thread in (0..THREADS as u8).filter(|thread| threads & 1 << thread != 0) {
            let node = usize::from(asks[usize::from(thread)]);
            let link = world.link(client, node, thread);
            self.state.set(world.since[link], world.config.lag());
            self.state.set(world.unsure[link], 0);
            self.log.note(|| Note::Connected {
                client,
                node,
                thread,
            });
        }
    }

    /// One write more that the replica may lack.
    pub(super) fn count_write(&mut self, node: usize) {
        let world = self.world;
        if !world.tables.waits() || !world.has_replica(&self.state, node) {
            return;
        }
        let own = world.nodes[node].unacknowledged;
        let (lacks, most) = (self.state.get(own), world.config.lag());
        let silent = !world.in_touch(&self.state, node);
        for field in world.all_since(node) {
            let writes = self.state.get(field);
            // Of a silent replica nobody knows that it has all but the last few: a
            // connection that asks for what it lacks goes on to do so.
            let asks = silent && writes < lacks;
            let writes = (writes + 1).min(most - usize::from(asks));
            self.state.set(field, writes);
        }
        self.state.set(own, (lacks + 1).min(most));
    }

    /// All connections to the node are new, and the replica, if there is one,
    /// has to come back: a WAIT asks for what was there then.
    pub(super) fn forget_positions(&mut self, node: usize) {
        let world = self.world;
        if world.tables.waits() {
            self.log.note(|| Note::Forgot { node });
            for field in world.all_since(node).chain(world.all_unsure(node)) {
                self.state.set(field, 0);
            }
        }
    }
}

impl Tables {
    /// One tick for a blocked WAIT: its server gives up in time.
    pub(super) fn tick_wait(&self, message: &mut Message) {
        match message.blocked {
            Some(FOR_EVER) | None => {}
            Some(0 | 1) => {
                message.blocked = None;
                message.content = Content::Reply(self.acknowledged[0]);
            }
            Some(ticks) => message.blocked = Some(ticks - 1),
        }
    }
}

impl World {
    /// The place of a thread's connection in lists of them.
    fn link(&self, client: usize, node: usize, thread: u8) -> usize {
        let link = client * usize::from(self.config.nodes) + node;
        link * THREADS + usize::from(thread)
    }

    /// Writes of the node since the last command on a thread's connection.
    pub(super) fn since(&self, client: usize, node: usize, thread: u8) -> Field {
        self.since[self.link(client, node, thread)]
    }

    /// The positions of all connections to a node.
    pub(super) fn all_since(&self, node: usize) -> impl Iterator<Item = Field> {
        self.of_node(&self.since, node)
    }

    fn all_unsure(&self, node: usize) -> impl Iterator<Item = Field> {
        self.of_node(&self.unsure, node)
    }

    fn of_node<'f>(
        &self,
        fields: &'f [Field],
        node: usize,
    ) -> impl Iterator<Item = Field> + use<'f> {
        let nodes = usize::from(self.config.nodes);
        let links = fields.chunks(THREADS).skip(node).step_by(nodes.max(1));
        links.flatten().copied()
    }

    /// The node's replica is known to have all that a WAIT asks for.
    fn is_acknowledged(&self, state: &State, client: usize, message: &Message) -> bool {
        let node = usize::from(message.node);
        let since = self.since(client, node, message.thread);
        !message.old
            && self.has_replica(state, node)
            && !self.refuses(state, node, false)
            && state.get(self.nodes[node].unacknowledged) <= state.get(since)
    }

    /// What can happen to a WAIT that its server holds back, besides time.
    pub(super) fn wait_moves<L: Log>(
        &self,
        state: &State,
        index: usize,
        slot: usize,
        message: Message,
        visit: &mut Visit<'_, L>,
    ) {
        let node = usize::from(message.node);
        if message.old || !self.has_replica(state, node) || !self.in_touch(state, node) {
            return;
        }
        let mut step = Successor::from(self, state);
        step.acknowledge(index, message);
        let (client, slot) = (index as u8, slot as u8);
        step.finish(Move::Acknowledge { client, slot }, visit);
    }
}
