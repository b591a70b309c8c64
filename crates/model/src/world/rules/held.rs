//! What a holder's operations claim: that the lease was renewed, that the lock is held.
//!
//! A renewal is judged like an acquire, by what its commands did. A question changes
//! nothing, so its answer is judged by where the lock stood meanwhile. `true` is a lie
//! if there was no quorum of nodes on each of which it stood at some moment since the
//! call. `false` is one if on a quorum nothing happened to it since an operation of this
//! hold wrote it: no more is asked, since a client may tell its lock by a token or a
//! stamp, and an older attempt's request that arrives late can put another one there.

use super::Successor;
use crate::lock::{Op, Phase};
use crate::world::catalogue::Safety;
use crate::world::client::Ending;
use crate::world::execute::Effect;
use crate::world::log::Log;
use crate::world::message::{Content, Message};

impl<L: Log> Successor<'_, L> {
    /// An operation of a holder's ended that neither acquires nor releases.
    pub(super) fn judge_holders(
        &mut self,
        client: usize,
        op: Op,
        ending: Ending,
        valid: bool,
        counted: usize,
    ) {
        match (op, ending) {
            (Op::Renew, Ending::Held | Ending::HeldTooLate | Ending::Done(Some(true))) => {
                self.world.reached.succeed(op);
                if ending == Ending::HeldTooLate || !self.took_effect(client) {
                    self.violate(Safety::HonestOutcome);
                }
                self.begin_lease(client, true, counted);
                self.judge_lease(client, valid);
                self.judge_validity(client);
            }
            (Op::IsHeld, Ending::Done(Some(true))) => {
                self.world.reached.succeed(op);
                if !self.took_effect(client) {
                    self.violate(Safety::HonestOutcome);
                }
            }
            (Op::IsHeld, Ending::Done(Some(false)) | Ending::Lost) => {
                let stood = self.state.get(self.world.clients[client].mine);
                if stood.count_ones() >= u32::from(self.world.config.quorum()) {
                    self.violate(Safety::HonestOutcome);
                }
            }
            _ => {}
        }
    }

    /// The command belongs to a holder's operation that neither acquires nor releases.
    pub(super) fn is_holders(&self, client: usize, message: &Message) -> bool {
        let tables = &self.world.tables;
        let Content::Request(command) = message.content else {
            return false;
        };
        let phase = tables.facts[self.state.get(self.world.clients[client].local)].phase;
        let runs = matches!(phase, Phase::Renewing | Phase::Asking);
        tables.holders_own[usize::from(command)] || message.awaited && message.thread == 0 && runs
    }

    /// Nodes (bit set) on which the lock stands as the client's own.
    pub(super) fn standing(&self, client: usize) -> usize {
        let world = self.world;
        let stands = |node: &usize| {
            let keyspace = self.state.get(world.nodes[*node].keyspace);
            world.tables.holders[keyspace].locked & 1 << client != 0
        };
        let nodes = (0..world.nodes.len()).filter(stands);
        nodes.fold(0, |set, node| set | 1 << node)
    }

    /// An operation begins.
    pub(super) fn begin_watch(&mut self, client: usize, op: Op) {
        let fields = &self.world.clients[client];
        if op == Op::IsHeld {
            self.stood(client);
        } else if op.mode().is_some() && !self.world.believes(&self.state, client) {
            self.state.set(fields.mine, 0);
        }
    }

    /// Another server, or what one had saved, takes a node's place: the same client's lock
    /// may stand there from an older hold.
    pub(super) fn doubt_holders(&mut self, node: usize) {
        for fields in &self.world.clients {
            let kept = self.state.get(fields.mine) & !(1 << node);
            self.state.set(fields.mine, kept);
        }
        self.doubt_telling(node);
    }

    /// Where the lock stands now counts for the running question. Which nodes does not
    /// matter any more once they are a quorum. Of two who are one owner it is both's.
    fn stood(&mut self, client: usize) {
        let world = self.world;
        let effective = world.clients[client].effective;
        let owner = |client: usize| world.config.owner_of(client);
        let same = (0..world.clients.len()).filter(|other| owner(*other) == owner(client));
        let standing = same.fold(0, |nodes, other| nodes | self.standing(other));
        let nodes = self.state.get(effective) | standing;
        let quorum = nodes.count_ones() >= u32::from(world.config.quorum());
        let all = (1 << world.nodes.len()) - 1;
        self.state.set(effective, if quorum { all } else { nodes });
    }

    /// A command of the client's is executed. What its own operation writes is the lock
    /// of this hold; what comes from elsewhere may be another attempt's.
    pub(super) fn watch_write(&mut self, client: usize, message: &Message, effect: Effect) {
        let world = self.world;
        let mine = world.clients[client].mine;
        if !mine.exists() || !effect.wrote || message.old {
            return;
        }
        let phase = world.tables.facts[self.state.get(world.clients[client].local)].phase;
        let own = message.awaited && message.thread == 0;
        let (before, bit) = (self.state.get(mine), 1 << message.node);
        let after = match phase {
            Phase::Acquiring | Phase::Renewing | Phase::Releasing if own => before | bit,
            Phase::Asking if own => before,
            _ => before & !bit,
        };
        self.state.set(mine, after);
    }

    /// After each step: where the lock still stands, and where it stood while a question
    /// runs.
    pub(super) fn watch_holders(&mut self) {
        let world = self.world;
        if !world.tables.has(Op::IsHeld) {
            return;
        }
        for client in 0..world.clients.len() {
            let fields = &world.clients[client];
            let facts = &world.tables.facts[self.state.get(fields.local)];
            let kept = match facts.phase {
                Phase::Idle => 0,
                _ => self.state.get(fields.mine) & self.standing(client),
            };
            self.state.set(fields.mine, kept);
            if facts.phase == Phase::Asking {
                self.stood(client);
            }
        }
    }
}
