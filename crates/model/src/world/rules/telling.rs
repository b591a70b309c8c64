//! What a lock tells its caller of a loss: not while it holds, and in time.
//!
//! A false alarm is judged by what the client can know. Replies tell it what servers
//! have, and its own clock how much is left of the lease that a reply has confirmed. Of
//! both it is given the benefit of the doubt: a hold that was broken once is not asked
//! about again, and a lease counts from when the thread that renewed it last woke up.

use super::Successor;
use crate::lock::{Op, Phase};
use crate::world::catalogue::Safety;
use crate::world::client::{Ending, Symbolic, THREADS};
use crate::world::closure::Execution;
use crate::world::config::{NODES_MAX, WorldConfig};
use crate::world::layout::{Field, Packer};
use crate::world::log::Log;
use crate::world::message::{Content, Message};
use crate::world::tables::Tables;

/// Fields of one client.
#[derive(Clone, Copy, Debug)]
pub(in crate::world) struct TellingFields {
    /// Nodes (bit set) on which the lock has stood as its own without a break since the
    /// acquire of this hold wrote it.
    unbroken: Field,
    /// By node: ticks of the client's clock that are left of the lease that a reply has
    /// confirmed. 0 if none are, or if the lock's stand there was broken.
    left: [Field; NODES_MAX],
    /// By thread that waits for a reply: 1 + ticks of the client's clock since it was
    /// called or woke up from a sleep, up to the lease; 0 for others.
    round: [Field; THREADS],
    /// By thread that waits for a reply: 1 + the life, in ticks, that its command gave the
    /// lock on the node; 0 if it gave none.
    given: [Field; THREADS],
    /// 0: the lock stands on a quorum, or V is over; 1 + k: it does not, and k ticks of the
    /// client's clock have passed since while it ran.
    untold: Field,
}

/// The fields of each client; none if nobody asks.
pub(in crate::world) fn fields(
    config: &WorldConfig,
    tables: &Tables,
    packer: &mut Packer,
) -> Vec<TellingFields> {
    let telling = config.telling;
    if !telling.alarms && telling.within.is_none() {
        return Vec::new();
    }
    let lease = usize::from(config.ttl_ticks);
    let sent = tables.outputs.iter().flat_map(|output| &output.sent);
    let last = sent.map(|sent| usize::from(sent.thread)).max();
    let alarms = |most: usize| if telling.alarms { most } else { 0 };
    let mut client = || TellingFields {
        unbroken: packer.field(alarms((1 << config.nodes) - 1)),
        left: std::array::from_fn(|node| {
            let there = node < usize::from(config.nodes);
            packer.field(if there { alarms(lease) } else { 0 })
        }),
        round: std::array::from_fn(|thread| {
            let sends = last.is_some_and(|last| thread <= last);
            packer.field(if sends { alarms(1 + lease) } else { 0 })
        }),
        given: std::array::from_fn(|thread| {
            let sends = last.is_some_and(|last| thread <= last);
            packer.field(if sends { alarms(1 + lease) } else { 0 })
        }),
        untold: packer.field(telling.within.map_or(0, |most| usize::from(most) + 2)),
    };
    (0..config.clients).map(|_| client()).collect()
}

impl TellingFields {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = Field> + use<> {
        let TellingFields {
            unbroken,
            left,
            round,
            given,
            untold,
        } = *self;
        let many = left.into_iter().chain(round).chain(given);
        many.chain([unbroken, untold])
    }
}

impl<L: Log> Successor<'_, L> {
    fn telling(&self, client: usize) -> Option<TellingFields> {
        self.world.telling.get(client).copied()
    }

    /// What of this is the client's process's memory is gone.
    pub(super) fn forget_telling(&mut self, client: usize) {
        if let Some(fields) = self.telling(client) {
            fields.all().for_each(|field| self.state.set(field, 0));
        }
    }

    /// A command of the client's is executed. What its acquire writes is the lock of this
    /// hold; what another attempt sent may put another one there.
    pub(super) fn watch_lives(&mut self, client: usize, message: &Message, execution: &Execution) {
        let world = self.world;
        let Some(fields) = self.telling(client).filter(|_| !message.old) else {
            return;
        };
        let Content::Request(command) = message.content else {
            return;
        };
        if !execution.effect.wrote || !world.config.telling.alarms {
            return;
        }
        let named = world.tables.generations[usize::from(command)];
        let facts = world.facts(&self.state, client);
        let acquires = facts.phase == Phase::Acquiring && facts.holds == 0;
        let (present, older) = (named & 1 != 0, named & !1 != 0);
        let (before, bit) = (self.state.get(fields.unbroken), 1 << message.node);
        let after = match message.awaited {
            _ if older => before & !bit,
            true if acquires && message.thread == 0 => before | bit,
            false if !present => before & !bit,
            _ => before,
        };
        self.state.set(fields.unbroken, after);
        let life = world.tables.holders[usize::from(execution.after)].lives[client];
        // What leaves the end as it is tells the client nothing of it.
        if execution.effect.leased && message.awaited && after & bit != 0 {
            let lease = world.config.ttl_ticks;
            let given = fields.given[usize::from(message.thread)];
            self.state.set(given, 1 + usize::from(life.min(lease)));
        }
    }

    /// A message is about to reach the thread that waits for it. If it is a reply, the life
    /// that its command gave the lock is confirmed.
    pub(super) fn confirm_life(&mut self, client: usize, message: &Message) {
        let Some(fields) = self.telling(client) else {
            return;
        };
        let thread = usize::from(message.thread);
        let given = self.state.get(fields.given[thread]);
        match message.content {
            Content::Published(_) => return,
            Content::Reply(_) if given > 0 => {
                let since = self.state.get(fields.round[thread]).saturating_sub(1);
                let left = fields.left[usize::from(message.node)];
                self.state.set(left, (given - 1).saturating_sub(since));
            }
            _ => {}
        }
        self.state.set(fields.given[thread], 0);
    }

    /// The client has taken an input: which of its threads wait for replies, and since when.
    pub(super) fn settle_rounds(&mut self, client: usize, input: Symbolic, abandoned: u8) {
        let world = self.world;
        let Some(fields) = self.telling(client).filter(|_| world.config.telling.alarms) else {
            return;
        };
        if matches!(input, Symbolic::Call(_)) {
            self.state.set(fields.round[0], 0);
        }
        let facts = *world.facts(&self.state, client);
        for thread in 0..THREADS {
            let goes_on = facts.awaits & 1 << thread != 0 || facts.options[thread] != 0;
            let round = fields.round[thread];
            if !goes_on {
                self.state.set(round, 0);
            } else if self.state.get(round) == 0 && round.exists() {
                self.state.set(round, 1);
            }
            if !goes_on || abandoned & 1 << thread != 0 {
                self.state.set(fields.given[thread], 0);
            }
        }
    }

    /// An operation ended, or a background thread said that the lock is lost: is that so?
    pub(super) fn judge_alarm(
        &mut self,
        client: usize,
        (op, ending): (Op, Ending),
        (before, after): (u16, u16),
    ) {
        let world = self.world;
        let denies = matches!(op, Op::Renew | Op::IsHeld) && ending == Ending::Done(Some(false));
        let Some(fields) = self.telling(client) else {
            return;
        };
        let [was, is] = [before, after].map(|class| world.tables.facts[usize::from(class)]);
        let holds = was.holds > 0 && is.holds > 0 && world.is_valid(&was);
        if !holds || !denies && ending != Ending::Lost {
            return;
        }
        let certain = self.state.get(fields.unbroken) & self.standing(client);
        let has = |node: &usize| certain & 1 << node != 0 && self.state.get(fields.left[*node]) > 0;
        let nodes = (0..world.nodes.len()).filter(has).count();
        if nodes >= usize::from(world.config.quorum()) {
            self.violate(Safety::NoFalseAlarm);
        }
        self.state.set(fields.unbroken, 0);
    }

    /// Another server, or what one had saved, takes a node's place.
    pub(super) fn doubt_telling(&mut self, node: usize) {
        for client in 0..self.world.telling.len() {
            let unbroken = self.world.telling[client].unbroken;
            let kept = self.state.get(unbroken) & !(1 << node);
            self.state.set(unbroken, kept);
        }
    }

    /// After each step: where the lock still stands, and whether it is lost.
    pub(super) fn watch_telling(&mut self) {
        let world = self.world;
        for (client, fields) in world.telling.iter().enumerate() {
            let standing = self.standing(client);
            let kept = match world.facts(&self.state, client).phase {
                Phase::Idle => 0,
                _ => self.state.get(fields.unbroken) & standing,
            };
            self.state.set(fields.unbroken, kept);
            for node in (0..world.nodes.len()).filter(|node| kept & 1 << node == 0) {
                self.state.set(fields.left[node], 0);
            }
            if !fields.untold.exists() {
                continue;
            }
            let quorum = standing.count_ones() >= u32::from(world.config.quorum());
            let untold = match quorum || !world.valid(&self.state, client) {
                true => 0,
                false => self.state.get(fields.untold).max(1),
            };
            self.state.set(fields.untold, untold);
        }
    }

    /// So many ticks of the client's clock pass.
    pub(super) fn tick_telling(&mut self, client: usize, ticks: u8) {
        let world = self.world;
        let Some(fields) = self.telling(client) else {
            return;
        };
        let ticks = usize::from(ticks);
        self.age_leases(&fields, ticks);
        let untold = self.state.get(fields.untold);
        if let Some(within) = world.config.telling.within
            && untold > 0
            && world.runs(&self.state, client)
        {
            let most = usize::from(within) + 2;
            let untold = (untold + ticks).min(most);
            self.state.set(fields.untold, untold);
            if untold == most && ticks > 0 {
                self.violate(Safety::ToldWhenLost);
            }
        }
    }

    /// The client's wall clock has stepped. One that is ahead may end a lease for it.
    pub(super) fn skew_telling(&mut self, client: usize, ticks: i8) {
        let ahead = usize::try_from(ticks).unwrap_or(0);
        let monotonic = self.world.config.telling.monotonic;
        if let Some(fields) = self.telling(client).filter(|_| !monotonic) {
            self.age_leases(&fields, ahead);
        }
    }

    fn age_leases(&mut self, fields: &TellingFields, ticks: usize) {
        for field in fields.left {
            let left = self.state.get(field);
            self.state.set(field, left.saturating_sub(ticks));
        }
        let most = 1 + usize::from(self.world.config.ttl_ticks);
        for field in fields.round {
            let since = self.state.get(field);
            if since > 0 {
                self.state.set(field, (since + ticks).min(most));
            }
        }
    }
}
