//! Fences: who draws one, what it is worth among the others, and what the guarded
//! resource makes of it.

use std::cmp::Ordering;

use lockproof_lua::text::UNRANKED;

use super::{OVERFLOW_TABLE, Successor};
use crate::lock::Stated;
use crate::world::catalogue::Safety;
use crate::world::client::Symbolic;
use crate::world::closure::Execution;
use crate::world::fences::{self, Draw, LOSING, Renumbering, highest};
use crate::world::log::{Log, Note};
use crate::world::message::Content;
use crate::world::tables::NONE;
use crate::world::world::World;

/// What the guarded resource knows of a hold: it came without a fence.
pub(super) const NO_FENCE: usize = 0;

/// Its fence is the highest that the resource has seen.
const NEWEST: usize = 1;

/// The resource has seen a higher one.
pub(super) const OUTDATED: usize = 2;

impl<L: Log> Successor<'_, L> {
    /// A command draws a fence, which becomes the highest, or not: what it leaves and
    /// answers.
    pub(super) fn draw(&mut self, execution: Execution, draw: Draw) -> Execution {
        let world = self.world;
        let handed = self.state.get(world.handed) as u8;
        if draw == Draw::First && handed > 0 {
            // The counter is gone, and begins with 1 again.
            let rank = handed - 1;
            let sunk = Renumbering::Sink(if rank < LOSING { rank } else { UNRANKED });
            if rank == 0 {
                return execution;
            }
            let after = world.tables.renumbered_keyspace(sunk, execution.after);
            let reply = world.tables.renumbered_reply(sunk, execution.reply);
            if after == NONE || reply == NONE {
                self.overflow |= OVERFLOW_TABLE;
                return execution;
            }
            return Execution {
                after,
                reply,
                ..execution
            };
        }
        let how = match world.tables.needs.losing {
            true => Renumbering::Shift,
            false => Renumbering::Fill(self.free_rank()),
        };
        self.renumber(how);
        self.log.note(|| Note::Drew { how });
        if world.handed.exists() {
            let more = (handed + 1).min(LOSING + 1);
            self.state.set(world.handed, usize::from(more));
        }
        execution
    }

    /// The first rank that nobody's fence has, the counter's own aside.
    fn free_rank(&self) -> u8 {
        let world = self.world;
        let mut taken = highest::bit(self.state.get(world.highest) as u8);
        for client in 0..world.clients.len() {
            let class = self.state.get(world.clients[client].local);
            taken |= world.tables.facts[class].fences;
            for slot in 0..world.config.slots() {
                let message = world.message(&self.state, client, slot);
                if let Some(Content::Reply(reply)) = message.map(|message| message.content) {
                    taken |= world.tables.reply_fences[usize::from(reply)];
                }
            }
        }
        let mut ranks = 0..fences::KEEPING;
        ranks
            .find(|rank| taken & fences::bit(*rank) == 0)
            .unwrap_or(fences::KEEPING)
    }

    /// All fences get other ranks, wherever they are.
    fn renumber(&mut self, how: Renumbering) {
        let world = self.world;
        if world.tables.needs.losing {
            for node in 0..world.nodes.len() {
                self.change_node(node, None, |keyspace| {
                    world.tables.renumbered_keyspace(how, keyspace)
                });
            }
        }
        let mut missing = false;
        for client in 0..world.clients.len() {
            self.rewrite_messages(client, |message| {
                if let Content::Reply(reply) = message.content {
                    // What the tables lack does not stay as it is: the world stops there.
                    match world.tables.renumbered_reply(how, reply) {
                        NONE => missing = true,
                        renumbered => message.content = Content::Reply(renumbered),
                    }
                }
                true
            });
            let local = world.clients[client].local;
            let class = self.state.get(local) as u16;
            if world.tables.facts[usize::from(class)].fences == 0 {
                continue;
            }
            let input = Symbolic::Renumber(how.index() as u8);
            match world.tables.step(class, input) {
                Some((after, _)) => self.state.set(local, usize::from(after)),
                None => self.overflow |= OVERFLOW_TABLE,
            }
        }
        if missing {
            self.overflow |= OVERFLOW_TABLE;
        }
        let before = self.state.get(world.highest) as u8;
        let after = highest::renumbered(before, how);
        self.state.set(world.highest, usize::from(after));
    }

    /// An outermost acquire succeeded, and maybe with a fence. The new holder reads the
    /// guarded counter with it, so the resource has seen it.
    pub(super) fn hand_out(&mut self, client: usize, fence: Option<Stated>, valid: bool) {
        let world = self.world;
        let own = world.clients[client].fence;
        let Some(stated) = fence else {
            self.state.set(own, NO_FENCE);
            return;
        };
        let order = highest::compare(stated, self.state.get(world.highest) as u8);
        let worth = match order {
            Some(Ordering::Greater | Ordering::Equal) => NEWEST,
            Some(Ordering::Less) | None => OUTDATED,
        };
        if matches!(order, Some(Ordering::Greater) | None) {
            for fields in &world.clients {
                if self.state.get(fields.fence) == NEWEST {
                    self.state.set(fields.fence, OUTDATED);
                }
            }
            let highest = match order {
                Some(_) => highest::of(stated),
                None => highest::lost(),
            };
            self.state.set(world.highest, usize::from(highest));
        }
        if order.is_none() {
            // Who is outdated is not known: no write is claimed to be accepted.
            world.reached.lose_fences();
        }
        self.state.set(own, worth);
        // Who hears too late that it got the lock does not own it any more.
        if !valid {
            return;
        }
        let last = self.state.get(world.last_owner);
        let changes = last != 0 && last != client + 1;
        if changes && matches!(order, Some(Ordering::Less | Ordering::Equal)) {
            self.violate(Safety::FenceMonotonicity);
        }
        self.state.set(world.last_owner, client + 1);
    }
}

impl World {
    /// The guarded resource refuses what this client writes.
    pub(in crate::world) fn is_outdated(
        &self,
        state: &crate::world::layout::State,
        client: usize,
    ) -> bool {
        state.get(self.clients[client].fence) == OUTDATED
    }
}
