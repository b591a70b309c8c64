//! BLPOP: who waits for an element of a list, and who gets it.
//!
//! A server holds a BLPOP back while its list is empty. After each command (a script is one
//! command), it serves those who wait, first come first served: each gets the first element
//! of its list, if there is one by then. So a script that pushes an element and takes it away
//! again wakes nobody. What is taken is a write of its own, which a replica may lack.
//!
//! A client that gives its command up, or dies, ends its connection. Its server learns of
//! that like of any message, at any time before the next tick, or later if the link is cut.
//! Until then the client stands in the queue, and an element may be taken for nobody.

use super::{OVERFLOW_BLURRED, OVERFLOW_POISON, OVERFLOW_SLOTS, OVERFLOW_TABLE, Successor, Visit};
use crate::world::catalogue::Fault;
use crate::world::closure::{MISSING, Missing};
use crate::world::layout::State;
use crate::world::log::{Log, Note};
use crate::world::message::{Content, Message, TURNS};
use crate::world::moves::Move;
use crate::world::tables::Tables;
use crate::world::world::World;

impl<L: Log> Successor<'_, L> {
    /// The list of the BLPOP that was taken is empty: its server holds it back.
    pub(super) fn enqueue(&mut self, client: usize, message: Message, ticks: u8) {
        self.log.note(|| Note::Blocked);
        let turns = 1..=TURNS;
        let free = turns
            .into_iter()
            .find(|turn| self.in_turn(&message, *turn).is_none());
        if free.is_none() {
            self.overflow |= OVERFLOW_SLOTS;
        }
        self.post_back(
            client,
            Message {
                allowance: 0,
                blocked: Some(ticks),
                turn: free.unwrap_or(TURNS),
                ..message
            },
        );
    }

    /// Who stands at this turn before the server of a message: client, slot and BLPOP.
    fn in_turn(&self, there: &Message, turn: u8) -> Option<(usize, usize, Message)> {
        let world = self.world;
        let mut clients = 0..world.clients.len();
        clients.find_map(|client| {
            let mut slots = 0..world.slots_used;
            slots.find_map(|slot| {
                let message = world.message(&self.state, client, slot)?;
                let here = (message.node, message.old) == (there.node, there.old);
                (here && message.turn == turn).then_some((client, slot, message))
            })
        })
    }

    /// The server of a message that was executed serves those who wait.
    pub(super) fn serve(&mut self, executed: &Message) {
        if !self.world.tables.pops() {
            return;
        }
        for turn in 1..=TURNS {
            let Some((client, slot, waiting)) = self.in_turn(executed, turn) else {
                return;
            };
            if let Content::Request(command) = waiting.content {
                self.serve_one(client, slot, waiting, command);
            }
        }
    }

    fn serve_one(&mut self, client: usize, slot: usize, waiting: Message, command: u16) {
        let world = self.world;
        let node = world.nodes[usize::from(waiting.node)];
        let server = if waiting.old { node.old } else { node.keyspace };
        let keyspace = self.state.get(server) as u16;
        let execution = *world.tables.execute(command, keyspace);
        if execution.poison == MISSING {
            world.reached.lack(Missing::Execution {
                command,
                keyspace,
                alone: false,
            });
            self.overflow |= OVERFLOW_TABLE;
            return;
        }
        if execution.poison != 0 {
            world.reached.poison(execution.poison);
            self.overflow |= OVERFLOW_POISON;
            return;
        }
        // Nothing is there, or something that is no list: who waits waits on.
        if execution.after == keyspace {
            return;
        }
        if world.tables.blurred[usize::from(execution.after)] {
            self.overflow |= OVERFLOW_BLURRED;
        }
        self.take(client, slot);
        let message = Message {
            blocked: None,
            turn: 0,
            ..waiting
        };
        self.carry_out(client, &message, &execution, (false, 0));
        let content = Content::Reply(execution.reply);
        let reply = Message { content, ..message };
        if message.awaited && world.swallows_replies(&self.state, client, node_of(&reply)) {
            self.log.note(|| Note::Lost { message: reply });
        } else if message.awaited {
            self.post_back(client, reply);
        }
    }

    /// The nil of a BLPOP that waited in vain is lost on a link that is cut.
    pub(super) fn lose_what_was_in_vain(&mut self) {
        let world = self.world;
        if !world.tables.pops() {
            return;
        }
        for client in 0..world.clients.len() {
            // Those that are less move up into its place, and were looked at.
            for slot in 0..world.slots_used {
                if let Some(message) = world.message(&self.state, client, slot)
                    && matches!(message.content, Content::Reply(_))
                    && world.swallows_replies(&self.state, client, node_of(&message))
                {
                    self.lose(client, slot, message);
                }
            }
        }
    }

    /// Who stands behind somebody that is gone moves up.
    pub(super) fn close_ranks(&mut self) {
        let world = self.world;
        if !world.tables.pops() {
            return;
        }
        for (node, old) in (0..world.nodes.len()).flat_map(|node| [(node, false), (node, true)]) {
            let mut taken = [false; TURNS as usize + 1];
            let here = |message: &Message| {
                (usize::from(message.node), message.old) == (node, old) && message.turn > 0
            };
            for client in 0..world.clients.len() {
                let slots = 0..world.slots_used;
                let messages = slots.filter_map(|slot| world.message(&self.state, client, slot));
                messages
                    .filter(here)
                    .for_each(|message| taken[usize::from(message.turn)] = true);
            }
            let rank = |turn: u8| {
                taken[1..=usize::from(turn)]
                    .iter()
                    .filter(|one| **one)
                    .count()
            };
            for client in 0..world.clients.len() {
                self.rewrite_messages(client, |message| {
                    if here(message) {
                        message.turn = rank(message.turn) as u8;
                    }
                    true
                });
            }
        }
    }
}

fn node_of(message: &Message) -> usize {
    usize::from(message.node)
}

impl Tables {
    /// One tick for a BLPOP that is held back: its server gives up in time. False if
    /// nobody hears of that.
    pub(super) fn tick_pop(&self, message: &mut Message) -> bool {
        if message.turn > 0 && matches!(message.blocked, Some(0 | 1)) {
            message.blocked = None;
            message.turn = 0;
            message.content = Content::Reply(self.nothing);
            return message.awaited;
        }
        true
    }
}

impl World {
    /// A server holds back the BLPOP that the client's caller waits for.
    pub(super) fn is_held_back(&self, state: &State, client: usize) -> bool {
        let mut slots = 0..self.slots_used;
        slots.any(|slot| {
            let message = self.message(state, client, slot);
            message
                .is_some_and(|message| message.turn > 0 && message.awaited && message.thread == 0)
        })
    }

    /// The server learns in time that the client of a BLPOP has gone.
    pub(super) fn hears_of_end(&self, state: &State, client: usize, message: &Message) -> bool {
        let node = usize::from(message.node);
        message.turn > 0
            && !message.awaited
            && !self.swallows_requests(state, client, node)
            && !self.waits_for_node(state, message)
    }

    /// What can happen to a BLPOP that its server holds back, besides time and elements.
    pub(super) fn queue_moves<L: Log>(
        &self,
        state: &State,
        index: usize,
        place: usize,
        message: Message,
        visit: &mut Visit<'_, L>,
    ) {
        let (client, slot) = (index as u8, place as u8);
        if !self.hears_of_end(state, index, &message) {
            return;
        }
        let mut step: Successor<'_, L> = Successor::from(self, state);
        step.take(index, place);
        step.log.note(|| Note::HungUp);
        step.judge_the_dead();
        step.finish(Move::HangUp { client, slot }, visit);
        let (_, size) = self.config.switch(Fault::Delay);
        if self.left(state, Fault::Delay) > 0 && message.allowance == 0 {
            let mut step: Successor<'_, L> = Successor::fault(self, state, Fault::Delay);
            let delayed = Message {
                allowance: size,
                ..message
            };
            step.take(index, place);
            step.post_back(index, delayed);
            step.finish(Move::Delay { client, slot }, visit);
        }
    }
}
