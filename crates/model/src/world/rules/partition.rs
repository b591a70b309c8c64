//! Links that swallow what is sent on them.

use super::Successor;
use super::Visit;
use crate::world::catalogue::Fault;
use crate::world::config::WorldConfig;
use crate::world::layout::State;
use crate::world::log::Log;
use crate::world::message::Content;
use crate::world::moves::Move;
use crate::world::world::World;

/// A link swallows all of both ways; only requests; only replies.
const BOTH: usize = 1;
const REQUESTS: usize = 2;
const REPLIES: usize = 3;

impl WorldConfig {
    /// Links can swallow what goes one way.
    pub(in crate::world) fn one_way(&self) -> bool {
        self.switch(Fault::PartitionOneWay).0 > 0
    }

    /// The most that a link can swallow.
    pub(in crate::world) fn most_cut(&self) -> usize {
        if self.one_way() {
            REPLIES
        } else {
            usize::from(self.switch(Fault::Partition).0.min(1))
        }
    }
}

impl<L: Log> Successor<'_, L> {
    /// What is on its way on a link that swallows one way is lost.
    #[inline]
    pub(super) fn swallow(&mut self) {
        if self.world.one_way {
            self.lose_what_is_swallowed();
        }
    }

    fn lose_what_is_swallowed(&mut self) {
        let world = self.world;
        let mut lost = false;
        for client in 0..world.clients.len() {
            for slot in 0..world.config.slots() {
                let Some(message) = world.message(&self.state, client, slot) else {
                    continue;
                };
                let way = match message.content {
                    Content::Refused if world.is_of_library(&message) => continue,
                    Content::Request(_) if message.held || message.blocked.is_some() => continue,
                    Content::Request(_) => REQUESTS,
                    // The news of a connection come from the server's side as well.
                    Content::Reply(_)
                    | Content::Broken
                    | Content::Refused
                    | Content::Published(_) => REPLIES,
                };
                let cut = world.cut(client, usize::from(message.node));
                if self.state.get(cut) == way && message.place > 0 {
                    self.lose(client, slot, message);
                    self.deafen(client, message.node);
                    // Others have moved.
                    return self.lose_what_is_swallowed();
                }
                if self.state.get(cut) == way {
                    // Those that are less move up into its place, and were looked at.
                    self.lose(client, slot, message);
                    lost = true;
                }
            }
        }
        if lost {
            self.judge_the_dead();
        }
    }
}

impl World {
    /// What the client sends to the node is lost.
    pub(super) fn swallows_requests(&self, state: &State, client: usize, node: usize) -> bool {
        matches!(state.get(self.cut(client, node)), BOTH | REQUESTS)
    }

    /// What the node's server sends to the client is lost.
    pub(super) fn swallows_replies(&self, state: &State, client: usize, node: usize) -> bool {
        matches!(state.get(self.cut(client, node)), BOTH | REPLIES)
    }

    pub(super) fn link_moves<L: Log>(&self, state: &State, visit: &mut Visit<'_, L>) {
        if !self.cut.iter().any(|field| field.exists()) {
            return;
        }
        for index in 0..self.cut.len() {
            let nodes = usize::from(self.config.nodes);
            let (client, node) = ((index / nodes) as u8, (index % nodes) as u8);
            let field = self.cut[index];
            if state.get(field) != 0 {
                let mut step = Successor::from(self, state);
                step.state.set(field, 0);
                self.hears_again(&mut step.state, usize::from(client), node);
                step.finish(Move::Heal { client, node }, visit);
                continue;
            }
            if self.crashed(state, usize::from(client)) {
                continue;
            }
            if self.left(state, Fault::Partition) > 0 {
                let mut step = Successor::fault(self, state, Fault::Partition);
                step.state.set(field, BOTH);
                if self.brings_something(state, usize::from(client), node) {
                    step.deafen(usize::from(client), node);
                }
                step.rewrite_messages(usize::from(client), |message| {
                    let stays = message.held || message.turn > 0 || self.is_of_library(message);
                    stays || message.node != node
                });
                step.finish(Move::Cut { client, node }, visit);
            }
            if self.left(state, Fault::PartitionOneWay) > 0 {
                for (way, replies) in [(REQUESTS, false), (REPLIES, true)] {
                    let mut step = Successor::fault(self, state, Fault::PartitionOneWay);
                    step.state.set(field, way);
                    let cut = Move::CutOneWay {
                        client,
                        node,
                        replies,
                    };
                    step.finish(cut, visit);
                }
            }
        }
    }
}
