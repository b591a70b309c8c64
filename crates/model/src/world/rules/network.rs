//! Messages and links: requests reach nodes, replies reach clients, or they do not.

use super::Visit;
use super::{
    OVERFLOW_BLURRED, OVERFLOW_COUNTER, OVERFLOW_POISON, OVERFLOW_SLOTS, OVERFLOW_TABLE, Successor,
};
use crate::world::catalogue::Fault;
use crate::world::client::Symbolic;
use crate::world::closure::{Execution, MISSING, Missing};
use crate::world::config::SLOTS;
use crate::world::layout::State;
use crate::world::log::{Fate, Log, Note};
use crate::world::message::{Content, Message};
use crate::world::moves::{Act, Move};
use crate::world::world::World;

impl<L: Log> Successor<'_, L> {
    pub(super) fn send(&mut self, client: usize, thread: u8, node: u8, command: u16) {
        let world = self.world;
        let skew = self.state.get(world.clients[client].skew);
        let command = world.tables.server_command(client, skew, command);
        if !World::is_entry(command) {
            self.overflow |= OVERFLOW_TABLE;
            return;
        }
        let message = Message {
            content: Content::Request(command),
            node,
            thread,
            awaited: true,
            allowance: 0,
            old: world.uses_old(&self.state, client, usize::from(node)),
            blocked: None,
            turn: 0,
            held: false,
            place: 0,
            more: false,
        };
        let subscribes = world.is_of_subscription(&message);
        if subscribes && world.is_subscribing(&self.state, client, thread, node) {
            self.overflow |= OVERFLOW_SLOTS;
        }
        // On a cut link it is lost at once, and a server that is gone refuses it, unless
        // it is held back until that ends.
        let to = usize::from(node);
        let gone = !message.old && world.is_down(&self.state, to);
        let (fate, content) = if world.withholds(&self.state, client, to, command) {
            (Fate::Withheld, Content::Refused)
        } else if world.swallows_requests(&self.state, client, to) {
            (Fate::Lost, message.content)
        } else if gone {
            (Fate::Refused, Content::Refused)
        } else {
            (Fate::Posted, message.content)
        };
        self.log.note(|| Note::Sent {
            client,
            message,
            fate,
        });
        let request = world.messages.pack(message);
        let mut in_flight = 0;
        if fate != Fate::Lost {
            let message = Message { content, ..message };
            in_flight = world.messages.pack(message);
            self.post(client, message);
        }
        if fate != Fate::Withheld
            && let Some(sent) = self.sent.get_mut(self.sends)
        {
            *sent = (request, in_flight);
            self.sends += 1;
        }
    }

    /// Puts a message into a free slot.
    pub(super) fn post(&mut self, client: usize, message: Message) {
        // Slots are sorted, the empty ones first.
        let slots = self.world.slots(client);
        if self.state.get(slots[0]) != 0 {
            self.overflow |= OVERFLOW_SLOTS;
            return;
        }
        let packed = self.world.messages.pack(message);
        let mut at = 0;
        while let Some(next) = slots.get(at + 1) {
            let smaller = self.state.get(*next);
            if smaller >= packed {
                break;
            }
            self.state.set(slots[at], smaller);
            at += 1;
        }
        self.state.set(slots[at], packed);
    }

    /// What became of a message that was taken is in flight.
    pub(super) fn post_back(&mut self, client: usize, message: Message) {
        self.post(client, message);
        self.log.note(|| Note::Posted { message });
    }

    pub(super) fn sort_slots(&mut self, client: usize) {
        let slots = self.world.slots(client);
        let mut packed = [0; SLOTS];
        for (value, slot) in packed.iter_mut().zip(slots) {
            *value = self.state.get(*slot);
        }
        let packed = &mut packed[..slots.len()];
        if packed.is_sorted() {
            return;
        }
        packed.sort_unstable();
        for (slot, value) in slots.iter().zip(packed) {
            self.state.set(*slot, *value);
        }
    }

    /// Edits every message of a client; `edit` says whether to keep it.
    pub(super) fn rewrite_messages(
        &mut self,
        client: usize,
        mut edit: impl FnMut(&mut Message) -> bool,
    ) {
        let mut changed = false;
        let mut messages = Vec::new();
        // Slots are sorted, the empty ones first.
        for &slot in self.world.slots(client).iter().rev() {
            let before = self.state.get(slot);
            let Some(mut message) = self.world.messages.unpack(before) else {
                break;
            };
            let packed = match edit(&mut message) {
                true => self.world.messages.pack(message),
                false => 0,
            };
            if L::ON && packed != before {
                let was = self.world.messages.unpack(before);
                messages.extend(was.map(|was| (was, (packed != 0).then_some(message))));
            }
            changed |= packed != before;
            self.state.set(slot, packed);
        }
        if changed {
            self.log.note(|| Note::Rewritten { client, messages });
            self.sort_slots(client);
        }
    }

    pub(super) fn abandon(&mut self, client: usize, threads: u8) {
        self.rewrite_messages(client, |message| {
            if matches!(message.content, Content::Published(_)) {
                return true;
            }
            if message.awaited && threads & 1 << message.thread != 0 {
                message.awaited = false;
            }
            let request = matches!(message.content, Content::Request(_));
            message.awaited || (request && (message.blocked.is_none() || message.turn > 0))
        });
    }

    pub(super) fn take(&mut self, client: usize, slot: usize) {
        if L::ON
            && let Some(message) = self.world.message(&self.state, client, slot)
        {
            self.log.note(|| Note::Taken { client, message });
        }
        let slots = self.world.slots(client);
        for at in (1..=slot).rev() {
            let smaller = self.state.get(slots[at - 1]);
            self.state.set(slots[at], smaller);
            if smaller == 0 {
                return;
            }
        }
        self.state.set(slots[0], 0);
    }

    /// A message, or all in one place, is lost on its way.
    pub(super) fn lose(&mut self, client: usize, slot: usize, message: Message) {
        self.take(client, slot);
        self.log.note(|| Note::Lost { message });
    }

    /// A request reaches its node. Of the ways in which its script may compare times the
    /// first (0) is that at ticks.
    fn execute(&mut self, client: usize, slot: usize, message: Message, command: u16, way: u8) {
        let world = self.world;
        if let Some(ticks) = world.tables.wait(command) {
            self.begin_wait(client, slot, message, ticks);
            return;
        }
        world.reached.command(command);
        let node = world.nodes[usize::from(message.node)];
        self.take(client, slot);
        let server = if message.old { node.old } else { node.keyspace };
        let keyspace = self.state.get(server) as u16;
        let refuses = world.refuses(&self.state, usize::from(message.node), message.old);
        if refuses && world.believes(&self.state, client) {
            let hampered = world.clients[client].hampered;
            self.state.set(hampered, usize::from(hampered.exists()));
        }
        let execution = match refuses {
            true => world.tables.execute_alone(command, keyspace),
            false => world.tables.execute(command, keyspace),
        };
        let ways = world.tables.ways(command, keyspace, refuses);
        let other = usize::from(way).checked_sub(1);
        let execution = other.and_then(|at| ways.get(at)).unwrap_or(execution);
        let heard = match execution.published {
            0 => None,
            _ => {
                let node = usize::from(message.node);
                let listeners = world.listeners(&self.state, node, execution.published);
                world.tables.heard(command, keyspace, refuses, listeners)
            }
        };
        let execution = heard.unwrap_or(execution);
        if execution.poison == MISSING {
            world.reached.lack(Missing::Execution {
                command,
                keyspace,
                alone: refuses,
            });
            self.overflow |= OVERFLOW_TABLE;
            return;
        }
        if execution.overflow {
            self.overflow |= OVERFLOW_COUNTER;
        }
        if execution.poison != 0 {
            world.reached.poison(execution.poison);
            self.overflow |= OVERFLOW_POISON;
            return;
        }
        if let Some(ticks) = world.tables.pop(command)
            && execution.reply == world.tables.nothing
        {
            self.enqueue(client, message, ticks);
            return;
        }
        if execution.rounded {
            world.reached.round();
        }
        if world.tables.blurred[usize::from(execution.after)] {
            self.overflow |= OVERFLOW_BLURRED;
        }
        let execution = match execution.drew {
            Some(draw) => self.draw(*execution, draw),
            None => *execution,
        };
        let execution = &execution;
        self.carry_out(client, &message, execution, (refuses, way));
        let subscription = world.tables.subscription(command);
        if let Some(begins) = subscription {
            self.subscribe(client, message.node, begins);
        }
        if message.awaited {
            let place = match subscription {
                Some(_) => self.next_place(client, message.node),
                None => 0,
            };
            let content = Content::Reply(execution.reply);
            self.post_back(
                client,
                Message {
                    content,
                    allowance: 0,
                    place,
                    ..message
                },
            );
        }
        if execution.published != 0 {
            self.publish(message.node, execution.published);
        }
        self.serve(&message);
        self.judge_the_dead();
    }

    /// The server has this of the request that was taken; `alone` and `way` as in
    /// [`Note::Executed`].
    pub(super) fn carry_out(
        &mut self,
        client: usize,
        message: &Message,
        execution: &Execution,
        (alone, way): (bool, u8),
    ) {
        let node = self.world.nodes[usize::from(message.node)];
        let server = if message.old { node.old } else { node.keyspace };
        let keyspace = self.state.get(server) as u16;
        self.log.note(|| Note::Executed {
            server,
            message: *message,
            execution: *execution,
            alone,
            way,
        });
        self.judge_effect(client, message, execution);
        let stored = |keyspace: u16| self.world.tables.stored(usize::from(keyspace));
        let changes = stored(execution.after) != stored(keyspace) || execution.counted;
        if message.old {
            self.state.set(node.old, usize::from(execution.after));
        } else {
            let node = usize::from(message.node);
            self.write_to(node, usize::from(execution.after), changes);
        }
        self.log.note(|| Note::Left { to: server });
        self.note_command(client, message, changes);
        self.note_freedom(keyspace, execution.after);
    }

    fn deliver(&mut self, client: usize, slot: usize, message: Message, more: bool) {
        self.take_one(client, slot, message, more);
        self.confirm_life(client, &message);
        let thread = message.thread;
        match message.content {
            Content::Reply(reply) => {
                let skew = self.state.get(self.world.clients[client].skew);
                let reply = self.world.tables.local_reply(client, skew, reply);
                self.feed(client, Symbolic::Reply { thread, reply });
            }
            Content::Request(_) | Content::Broken | Content::Refused => {
                let definite = message.content == Content::Refused;
                self.feed(client, Symbolic::Fail { thread, definite });
            }
            Content::Published(number) => self.feed(client, Symbolic::Message(number)),
        }
    }

    /// Every command in flight to the node, or to its old server, fails at its
    /// client, with an unknown outcome.
    pub(super) fn break_connections(&mut self, node: usize, old: bool) {
        let world = self.world;
        self.end_subscriptions(node);
        for client in 0..world.clients.len() {
            self.rewrite_messages(client, |message| {
                let refused = message.content == Content::Refused;
                if usize::from(message.node) == node && message.old == old && !refused {
                    if matches!(message.content, Content::Published(_)) {
                        return false;
                    }
                    message.place = 0;
                    message.content = Content::Broken;
                    message.allowance = 0;
                    message.old = false;
                    message.blocked = None;
                    message.turn = 0;
                    message.held = false;
                    return message.awaited;
                }
                true
            });
        }
    }
}

impl World {
    pub(super) fn message_moves<L: Log>(
        &self,
        state: &State,
        index: usize,
        visit: &mut Visit<'_, L>,
    ) {
        let client = index as u8;
        for slot in 0..self.config.slots() {
            let Some(message) = self.message(state, index, slot) else {
                continue;
            };
            let place = slot as u8;
            if message.held {
                continue;
            }
            if message.turn > 0 {
                self.queue_moves(state, index, slot, message, visit);
                continue;
            }
            if message.blocked.is_some() {
                self.wait_moves(state, index, slot, message, visit);
                continue;
            }
            if let Content::Request(command) = message.content {
                if !self.waits_for_node(state, &message) {
                    for way in 0..=self.other_ways(state, &message, command) {
                        let mut step = Successor::from(self, state);
                        step.execute(index, slot, message, command, way);
                        let slot = place;
                        step.finish(Move::Execute { client, slot, way }, visit);
                    }
                }
            } else if self.runs(state, index) && message.place <= 1 {
                for &more in self.left_over(&message) {
                    let mut step = Successor::from(self, state);
                    step.deliver(index, slot, message, more);
                    // There may be fewer: no way to an acquire leads over messages that are
                    // not there.
                    step.fault |= more;
                    step.finish_act(client, Act::Deliver(place, more), visit);
                }
            }
            if !matches!(message.content, Content::Broken | Content::Refused) {
                self.message_faults(state, index, slot, message, visit);
            }
        }
    }

    /// How many other ways there are in which the script of a request may compare times.
    fn other_ways(&self, state: &State, message: &Message, command: u16) -> u8 {
        if self.config.at_ticks {
            return 0;
        }
        let node = usize::from(message.node);
        let server = match message.old {
            true => self.nodes[node].old,
            false => self.nodes[node].keyspace,
        };
        let refuses = self.refuses(state, node, message.old);
        let ways = self.tables.ways(command, state.get(server) as u16, refuses);
        ways.len() as u8
    }

    /// Whether, once one is taken of what stands in a slot, two or more are left.
    fn left_over(&self, message: &Message) -> &'static [bool] {
        match message.more && !self.config.at_ticks {
            true => &[false, true],
            false => &[false],
        }
    }

    /// A message is lost. What comes on a subscription is a stream of bytes: nothing comes
    /// behind a gap. If a published message is lost, its connection is, and with it the
    /// subscription; `None` if a command is under way on it.
    fn lost<L: Log>(
        &self,
        state: &State,
        client: usize,
        slot: usize,
        message: Message,
    ) -> Option<Successor<'_, L>> {
        let node = message.node;
        let published = matches!(message.content, Content::Published(_));
        if published && self.asks_on_subscription(state, client, node) {
            return None;
        }
        let mut step = Successor::fault(self, state, Fault::Loss);
        step.lose(client, slot, message);
        if published {
            step.subscribe(client, node, false);
            step.clear_subscription(client, node);
        } else if message.place > 0 {
            step.deafen(client, node);
        }
        step.judge_the_dead();
        Some(step)
    }

    fn message_faults<L: Log>(
        &self,
        state: &State,
        index: usize,
        slot: usize,
        message: Message,
        visit: &mut Visit<'_, L>,
    ) {
        let (client, place) = (index as u8, slot as u8);
        if self.left(state, Fault::Loss) > 0
            && let Some(step) = self.lost(state, index, slot, message)
        {
            let slot = place;
            step.finish(Move::Lose { client, slot }, visit);
        }
        let (_, size) = self.config.switch(Fault::Delay);
        if self.left(state, Fault::Delay) > 0 && message.allowance == 0 {
            let mut step = Successor::fault(self, state, Fault::Delay);
            let delayed = Message {
                allowance: size,
                ..message
            };
            step.take(index, slot);
            step.post_back(index, delayed);
            step.finish(
                Move::Delay {
                    client,
                    slot: place,
                },
                visit,
            );
        }
    }
}
