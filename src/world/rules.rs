//! What can happen in a state: `World` as a transition system.
//!
//! The rules, and what each fault switch adds to them, are told in
//! docs/model.md; this file is their exact form. A `Step` is one transition in
//! the making: a copy of the state that the rule edits, and the flags that
//! properties raise on the way.

use crate::lock::{Op, Phase};

use super::catalogue::{Fault, PROPERTIES, Property};
use super::client::{Ending, Symbolic, THREADS};
use super::layout::State;
use super::message::{Content, Message};
use super::moves::Move;
use super::system::{Action, PropertySet, System, Transition};
use super::world::{SLOTS, World};

/// Reasons why the representation overflowed, as bits of `Transition::overflow`.
pub const OVERFLOW_SLOTS: u8 = 1;
/// A counter in a keyspace grew beyond what the tables hold.
pub const OVERFLOW_COUNTER: u8 = 2;
/// More generations of one client's tokens than can be told apart.
pub const OVERFLOW_GENERATIONS: u8 = 4;
/// A table has no entry for what happened (an error of lockproof's own).
pub const OVERFLOW_TABLE: u8 = 8;

/// The overflow bits in words.
pub fn overflow_reason(overflow: u8) -> String {
    let reasons = [
        (
            OVERFLOW_SLOTS,
            "more messages of one client in flight than the model holds",
        ),
        (
            OVERFLOW_COUNTER,
            "a counter in Redis grew beyond what the model holds",
        ),
        (
            OVERFLOW_GENERATIONS,
            "too many old tokens of one client in flight",
        ),
        (
            OVERFLOW_TABLE,
            "a table entry is missing, which is an error in lockproof itself",
        ),
    ];
    let texts: Vec<&str> = reasons
        .iter()
        .filter(|(bit, _)| overflow & bit != 0)
        .map(|(_, text)| *text)
        .collect();
    texts.join("; ")
}

impl<const W: usize> System for World<W> {
    type State = State<W>;

    fn initial(&self) -> Vec<State<W>> {
        vec![self.start()]
    }

    fn successors(&self, state: &State<W>, visit: &mut impl FnMut(Transition<State<W>>)) {
        for client in 0..self.clients.len() {
            self.client_moves(state, client, visit);
            self.message_moves(state, client, visit);
        }
        for node in 0..self.nodes.len() {
            self.node_moves(state, node, visit);
        }
        self.link_moves(state, visit);
        self.tick_moves(state, visit);
    }

    fn properties(&self) -> Vec<String> {
        PROPERTIES
            .iter()
            .filter(|info| info.property != Property::DeadlockFreedom)
            .map(|info| info.id.to_owned())
            .collect()
    }

    fn excused(&self, state: &State<W>) -> bool {
        (0..self.clients.len()).all(|client| self.crashed(state, client))
    }

    fn describe(&self, _state: &State<W>, action: Action) -> String {
        Move::decode(action).map_or_else(|| format!("{action:?}"), |step| format!("{step:?}"))
    }
}

/// A transition in the making.
struct Step<'w, const W: usize> {
    world: &'w World<W>,
    state: State<W>,
    violates: PropertySet,
    fault: bool,
    progress: bool,
    overflow: u8,
}

impl<'w, const W: usize> Step<'w, W> {
    fn from(world: &'w World<W>, state: &State<W>) -> Self {
        Step {
            world,
            state: *state,
            violates: 0,
            fault: false,
            progress: false,
            overflow: 0,
        }
    }

    /// A step that spends one of a fault's budget.
    fn fault(world: &'w World<W>, state: &State<W>, fault: Fault) -> Self {
        let mut step = Step::from(world, state);
        let field = world.budget[fault as usize];
        step.state.set(field, state.get(field) - 1);
        step.fault = true;
        step
    }

    fn finish(self, step: Move, visit: &mut impl FnMut(Transition<State<W>>)) {
        visit(Transition {
            action: step.encode(),
            state: self.state,
            violates: self.violates,
            fault: self.fault,
            progress: self.progress,
            overflow: self.overflow,
        });
    }

    fn violate(&mut self, property: Property) {
        self.violates |= property.bit();
    }

    // ---- clients ----

    /// Feeds an input to a client's automaton and carries out what it puts out.
    fn feed(&mut self, client: usize, input: Symbolic) {
        let world = self.world;
        let fields = &world.clients[client];
        let before = self.state.get(fields.local) as u16;
        let Some((after, emitted)) = world.tables.step(before, input) else {
            self.overflow |= OVERFLOW_TABLE;
            return;
        };
        self.state.set(fields.local, usize::from(after));
        if emitted.abandoned != 0 {
            self.abandon(client, emitted.abandoned);
        }
        for sent in &emitted.sent {
            self.send(client, sent.thread, sent.node, sent.command);
        }
        if let Some((op, ending)) = emitted.ending {
            self.end(client, op, ending, before, after);
            self.state.set(fields.effective, 0);
        }
        if !world.tables.facts[usize::from(after)].believes {
            self.state.set(fields.overrun, 0);
            self.state.set(fields.effect, 0);
        }
    }

    /// Starts an operation. An outermost acquire brings a fresh token, and
    /// older tokens of the client are renamed.
    fn call(&mut self, client: usize, op: Op) {
        let fields = self.world.clients[client];
        let holds = self.world.tables.facts[self.state.get(fields.local)].holds;
        self.state.set(fields.effective, 0);
        self.state.set(fields.grace, 0);
        if op == Op::Acquire && holds == 0 {
            self.retire(client);
        }
        self.feed(client, Symbolic::Call(op));
    }

    fn retire(&mut self, client: usize) {
        let world = self.world;
        let generations = world.generations_in_flight(&self.state, client);
        let Some(mask) = world.tables.mask(generations) else {
            self.overflow |= OVERFLOW_GENERATIONS;
            return;
        };
        for node in 0..world.nodes.len() {
            self.change_node(node, |keyspace| {
                world.tables.retire_keyspace(client, mask, keyspace)
            });
        }
        for owner in 0..world.clients.len() {
            self.rewrite_messages(owner, |message| {
                message.content = match message.content {
                    Content::Request(id) => {
                        Content::Request(world.tables.retire_command(client, mask, id))
                    }
                    Content::Reply(id) => {
                        Content::Reply(world.tables.retire_reply(client, mask, id))
                    }
                    Content::Broken => Content::Broken,
                };
                true
            });
        }
    }

    /// How an operation ended, and what the properties say to that.
    fn end(&mut self, client: usize, op: Op, ending: Ending, before: u16, after: u16) {
        let tables = &self.world.tables;
        let was = tables.facts[usize::from(before)];
        let is = tables.facts[usize::from(after)];
        match (op, ending) {
            (Op::Acquire, Ending::Held) => {
                self.progress = true;
                if was.holds == 0 {
                    self.acquired(client, is.valid);
                }
            }
            (Op::Acquire, Ending::Busy) if was.holds > 0 && was.valid => {
                self.violate(Property::Reentrancy);
            }
            (Op::Release, Ending::Done(Some(true))) => {
                self.claimed(client);
                self.released(client, is.holds, is.valid);
            }
            _ => {}
        }
    }

    /// An operation claimed to have taken effect.
    fn claimed(&mut self, client: usize) {
        let nodes = self.state.get(self.world.clients[client].effective);
        if nodes.count_ones() < u32::from(self.world.config.quorum()) {
            self.violate(Property::HonestOutcome);
        }
    }

    /// An outermost acquire reported success.
    fn acquired(&mut self, client: usize, valid: bool) {
        let world = self.world;
        let quorum = usize::from(world.config.quorum());
        self.claimed(client);
        if valid && self.nodes_where(|holders| holders.leased & 1 << client != 0) < quorum {
            self.violate(Property::Lease);
        }
        for other in (0..world.clients.len()).filter(|other| *other != client) {
            if world.believes(&self.state, other) {
                self.violate(Property::Belief);
            }
            if valid && world.valid(&self.state, other) {
                self.violate(Property::Validity);
            }
        }
    }

    /// A release reported success, with so many holds left.
    fn released(&mut self, client: usize, holds: u8, valid: bool) {
        if !self.world.config.reentrant {
            return;
        }
        let quorum = usize::from(self.world.config.quorum());
        let kept = self.nodes_where(|holders| holders.any & 1 << client != 0) >= quorum;
        if (holds == 0 && kept) || (holds > 0 && valid && !kept) {
            self.violate(Property::Reentrancy);
        }
    }

    fn nodes_where(&self, test: impl Fn(&super::node::Holders) -> bool) -> usize {
        let world = self.world;
        let holders =
            |node: &super::world::NodeFields| &world.tables.holders[self.state.get(node.keyspace)];
        world
            .nodes
            .iter()
            .filter(|node| test(holders(node)))
            .count()
    }

    /// The holder writes what it computed from the value that it read when it
    /// acquired: a write over somebody else's loses that one.
    fn write(&mut self, client: usize) {
        let world = self.world;
        let own = world.clients[client].effect;
        if self.state.get(own) == 1 {
            self.violate(Property::Effect);
        }
        self.state.set(own, 2);
        for other in (0..world.clients.len()).filter(|other| *other != client) {
            let effect = world.clients[other].effect;
            if world.believes(&self.state, other) && self.state.get(effect) == 0 {
                self.state.set(effect, 1);
            }
        }
    }

    fn crash(&mut self, client: usize) {
        let fields = self.world.clients[client];
        for field in [
            fields.effect,
            fields.effective,
            fields.grace,
            fields.overrun,
        ] {
            self.state.set(field, 0);
        }
        self.state.set(fields.status, 1);
        self.state.set(fields.local, usize::from(self.world.fresh));
        self.state.set(fields.skew, usize::from(self.world.no_skew));
        self.rewrite_messages(client, |message| {
            message.awaited = false;
            matches!(message.content, Content::Request(_))
        });
        self.judge_the_dead();
    }

    fn resume(&mut self, client: usize) {
        let class = self.world.class_now(&self.state, client);
        self.state
            .set(self.world.clients[client].local, usize::from(class));
        self.state.set(self.world.clients[client].status, 0);
    }

    /// No key without an expiry may belong to a dead client.
    fn judge_the_dead(&mut self) {
        let world = self.world;
        for client in 0..world.clients.len() {
            let pending = world
                .slots(client)
                .iter()
                .any(|slot| self.state.get(*slot) != 0);
            if world.crashed(&self.state, client)
                && !pending
                && self.nodes_where(|holders| holders.unbounded & 1 << client != 0) > 0
            {
                self.violate(Property::NoOrphan);
            }
        }
    }

    // ---- messages ----

    fn send(&mut self, client: usize, thread: u8, node: u8, command: u16) {
        let world = self.world;
        if self.state.get(world.cut(client, usize::from(node))) == 1 {
            return;
        }
        let skew = self.state.get(world.clients[client].skew);
        let command = world.tables.server_command(client, skew, command);
        if !World::<W>::is_entry(command) {
            self.overflow |= OVERFLOW_TABLE;
            return;
        }
        let content = Content::Request(command);
        self.post(
            client,
            Message {
                content,
                node,
                thread,
                awaited: true,
                allowance: 0,
                old: world.uses_old(&self.state, client, usize::from(node)),
            },
        );
    }

    /// Puts a message into a free slot.
    fn post(&mut self, client: usize, message: Message) {
        // Slots are sorted, the empty ones first.
        let first = self.world.slots(client)[0];
        if self.state.get(first) != 0 {
            self.overflow |= OVERFLOW_SLOTS;
            return;
        }
        self.state.set(first, self.world.messages.pack(message));
        self.sort_slots(client);
    }

    fn sort_slots(&mut self, client: usize) {
        let slots = self.world.slots(client);
        let mut packed = [0; SLOTS];
        for (value, slot) in packed.iter_mut().zip(slots) {
            *value = self.state.get(*slot);
        }
        packed[..slots.len()].sort_unstable();
        for (slot, value) in slots.iter().zip(packed) {
            self.state.set(*slot, value);
        }
    }

    /// Edits every message of a client; `edit` says whether to keep it.
    fn rewrite_messages(&mut self, client: usize, mut edit: impl FnMut(&mut Message) -> bool) {
        for &slot in self.world.slots(client) {
            if let Some(mut message) = self.world.messages.unpack(self.state.get(slot)) {
                let kept = edit(&mut message);
                let packed = if kept {
                    self.world.messages.pack(message)
                } else {
                    0
                };
                self.state.set(slot, packed);
            }
        }
        self.sort_slots(client);
    }

    fn abandon(&mut self, client: usize, threads: u8) {
        self.rewrite_messages(client, |message| {
            if message.awaited && threads & 1 << message.thread != 0 {
                message.awaited = false;
            }
            message.awaited || matches!(message.content, Content::Request(_))
        });
    }

    fn take(&mut self, client: usize, slot: usize) {
        self.state.set(self.world.slots(client)[slot], 0);
        self.sort_slots(client);
    }

    /// A request reaches its node.
    fn execute(&mut self, client: usize, slot: usize, message: Message, command: u16) {
        let world = self.world;
        let node = world.nodes[usize::from(message.node)];
        let server = if message.old { node.old } else { node.keyspace };
        let keyspace = self.state.get(server) as u16;
        let execution = world.tables.execute(command, keyspace);
        if execution.overflow {
            self.overflow |= OVERFLOW_COUNTER;
        }
        self.judge_effect(client, &message, execution);
        if message.old {
            self.state.set(node.old, usize::from(execution.after));
        } else {
            self.write_to(usize::from(message.node), usize::from(execution.after));
        }
        self.take(client, slot);
        if message.awaited {
            let content = Content::Reply(execution.reply);
            self.post(
                client,
                Message {
                    content,
                    allowance: 0,
                    ..message
                },
            );
        }
        self.judge_the_dead();
    }

    fn judge_effect(
        &mut self,
        client: usize,
        message: &Message,
        execution: &super::closure::Execution,
    ) {
        let world = self.world;
        let effect = execution.effect;
        for victim in 0..world.clients.len() {
            if effect.victims & 1 << victim != 0 && world.valid(&self.state, victim) {
                self.violate(Property::OwnerOnly);
            }
        }
        if effect.created && message.thread != 0 {
            self.violate(Property::Lease);
        }
        if effect.own && message.awaited {
            self.take_effect(client, usize::from(message.node));
        }
    }

    /// The running operation of the client took effect on a node. Which nodes
    /// does not matter any more once they are a quorum.
    fn take_effect(&mut self, client: usize, node: usize) {
        let world = self.world;
        let fields = &world.clients[client];
        let phase = world.tables.facts[self.state.get(fields.local)].phase;
        if !matches!(phase, Phase::Acquiring | Phase::Releasing) {
            return;
        }
        let nodes = self.state.get(fields.effective) | 1 << node;
        let quorum = nodes.count_ones() >= u32::from(world.config.quorum());
        let all = (1 << world.nodes.len()) - 1;
        self.state
            .set(fields.effective, if quorum { all } else { nodes });
    }

    fn deliver(&mut self, client: usize, slot: usize, message: Message) {
        self.take(client, slot);
        let thread = message.thread;
        match message.content {
            Content::Reply(reply) => {
                let skew = self.state.get(self.world.clients[client].skew);
                let reply = self.world.tables.local_reply(client, skew, reply);
                self.feed(client, Symbolic::Reply { thread, reply });
            }
            _ => self.feed(
                client,
                Symbolic::Fail {
                    thread,
                    definite: false,
                },
            ),
        }
    }

    // ---- nodes ----

    /// The same change to all that a node holds: in memory, on its disk, in
    /// its replica, whatever that lacks, and in its old server.
    fn change_node(&mut self, node: usize, change: impl Fn(u16) -> u16) {
        let world = self.world;
        let fields = &world.nodes[node];
        let history = world.history(&self.state, node).iter();
        for &field in [fields.keyspace, fields.synced].iter().chain(history) {
            if field.exists() {
                let changed = change(self.state.get(field) as u16);
                self.state.set(field, usize::from(changed));
            }
        }
        if world.is_split(&self.state, node) {
            let changed = change(self.state.get(fields.old) as u16);
            self.state.set(fields.old, usize::from(changed));
        }
    }

    /// The node holds this now. If that is another content than before, its
    /// replica may lack one write more, up to its bound.
    fn write_to(&mut self, node: usize, keyspace: usize) {
        let world = self.world;
        let field = world.nodes[node].keyspace;
        let mut before = self.state.get(field);
        if before == keyspace {
            return;
        }
        for &older in world.history(&self.state, node) {
            let next = self.state.get(older);
            self.state.set(older, before);
            before = next;
        }
        self.state.set(field, keyspace);
    }

    /// The server process dies and starts again with this keyspace. To its
    /// replica that is a change as any write is.
    fn restart(&mut self, node: usize, keyspace: usize) {
        let fields = self.world.nodes[node];
        self.write_to(node, keyspace);
        if fields.synced.exists() {
            self.state.set(fields.synced, keyspace);
            self.state.set(fields.lagging, 0);
        }
        self.break_connections(node, false);
        self.judge_the_dead();
    }

    /// The server is gone for good, and its replica takes its place.
    fn fail_over(&mut self, node: usize, lost: usize) {
        self.promote(node, lost);
        self.break_connections(node, false);
        self.judge_the_dead();
    }

    /// The replica takes the server's place, but the server goes on: what is in
    /// flight stays with it, and so do the clients until they notice.
    fn split(&mut self, node: usize, lost: usize) {
        let world = self.world;
        let fields = world.nodes[node];
        let old = self.state.get(fields.keyspace);
        self.promote(node, lost);
        self.state.set(fields.promoted, 2);
        self.state.set(fields.old, old);
        for client in 0..world.clients.len() {
            self.rewrite_messages(client, |message| {
                message.old |= usize::from(message.node) == node;
                true
            });
        }
        self.judge_the_dead();
    }

    /// The old server is taken away. Who still used it finds the new one.
    fn demote(&mut self, node: usize) {
        let world = self.world;
        let fields = world.nodes[node];
        self.state.set(fields.promoted, 1);
        self.state.set(fields.old, 0);
        for client in 0..world.clients.len() {
            self.state.set(world.moved(client, node), 0);
        }
        self.break_connections(node, true);
        self.judge_the_dead();
    }

    /// The replica, which lacks the server's last `lost` writes, is the node
    /// now. Its disk holds what the server's held, unless that is more than the
    /// replica ever got.
    fn promote(&mut self, node: usize, lost: usize) {
        let world = self.world;
        let fields = world.nodes[node];
        let promoted = world.replica(&self.state, node, lost);
        let synced = self.state.get(fields.synced);
        let unknown = |fewer| world.replica(&self.state, node, fewer) == synced;
        if fields.synced.exists() && (0..lost).any(unknown) {
            self.state.set(fields.synced, promoted);
        }
        for &field in world.history(&self.state, node) {
            self.state.set(field, 0);
        }
        self.state.set(fields.keyspace, promoted);
        self.state.set(fields.promoted, 1);
    }

    /// Every command in flight to the node, or to its old server, fails at its
    /// client, with an unknown outcome.
    fn break_connections(&mut self, node: usize, old: bool) {
        let world = self.world;
        for client in 0..world.clients.len() {
            self.rewrite_messages(client, |message| {
                if usize::from(message.node) == node && message.old == old {
                    message.content = Content::Broken;
                    message.allowance = 0;
                    message.old = false;
                    return message.awaited;
                }
                true
            });
        }
    }

    // ---- time ----

    /// One tick for everybody; `drift` names a client whose clock advances by
    /// another number of ticks.
    fn tick(&mut self, drift: Option<(usize, u8)>) {
        let world = self.world;
        for node in 0..world.nodes.len() {
            self.tick_node(node);
        }
        for client in 0..world.clients.len() {
            let ticks = match drift {
                Some((drifting, ticks)) if drifting == client => ticks,
                _ => 1,
            };
            self.tick_client(client, ticks);
        }
        for client in 0..world.clients.len() {
            self.tick_grace(client);
        }
    }

    fn tick_node(&mut self, index: usize) {
        let tables = &self.world.tables;
        let node = &self.world.nodes[index];
        if node.synced.exists() {
            let lagging = self.state.get(node.synced) != self.state.get(node.keyspace);
            self.state.set(node.lagging, usize::from(lagging));
        }
        self.change_node(index, |keyspace| tables.tick[usize::from(keyspace)]);
        let pause = self.state.get(node.pause);
        if pause > 0 {
            self.state.set(node.pause, pause + 1);
        }
    }

    fn tick_client(&mut self, client: usize, ticks: u8) {
        let world = self.world;
        let fields = world.clients[client];
        if let Some(paused) = world.paused(&self.state, client) {
            self.state.set(fields.status, 2 + usize::from(paused) + 1);
        } else if world.runs(&self.state, client) && ticks > 0 {
            self.feed(client, Symbolic::Advance(ticks));
        }
        if ticks != 1 {
            let skew = self.state.get(fields.skew) + usize::from(ticks);
            self.state.set(fields.skew, skew - 1);
        }
        let tables = &world.tables;
        self.rewrite_messages(client, |message| {
            message.allowance = message.allowance.saturating_sub(1);
            message.content = match message.content {
                Content::Request(id) => Content::Request(tables.age_command[usize::from(id)]),
                Content::Reply(id) => Content::Reply(tables.age_reply[usize::from(id)]),
                Content::Broken => Content::Broken,
            };
            true
        });
    }

    /// Counts the grace after a client's last operation while something of it
    /// is left, and judges what is left at its end.
    fn tick_grace(&mut self, client: usize) {
        let world = self.world;
        let fields = world.clients[client];
        let idle = world.tables.facts[self.state.get(fields.local)].phase == Phase::Idle;
        let left = self.nodes_where(|holders| holders.any & 1 << client != 0) > 0;
        let requests = world
            .slots(client)
            .iter()
            .any(|slot| self.state.get(*slot) != 0);
        if !idle || !(left || requests) {
            self.state.set(fields.grace, 0);
            return;
        }
        let ttl = usize::from(world.config.ttl_ticks);
        let grace = (self.state.get(fields.grace) + 1).min(ttl);
        self.state.set(fields.grace, grace);
        if grace == ttl && left {
            self.violate(Property::NoOrphan);
        }
    }
}

impl<const W: usize> World<W> {
    fn client_moves(
        &self,
        state: &State<W>,
        index: usize,
        visit: &mut impl FnMut(Transition<State<W>>),
    ) {
        let client = index as u8;
        if self.crashed(state, index) {
            return;
        }
        if self.left(state, Fault::ClientCrash) > 0 {
            let mut step = Step::fault(self, state, Fault::ClientCrash);
            step.crash(index);
            step.finish(Move::Crash { client }, visit);
        }
        if self.paused(state, index).is_some() {
            let mut step = Step::from(self, state);
            step.resume(index);
            step.finish(Move::Resume { client }, visit);
            return;
        }
        self.own_moves(state, index, visit);
        self.client_faults(state, index, visit);
    }

    /// What a running client does by itself.
    fn own_moves(
        &self,
        state: &State<W>,
        index: usize,
        visit: &mut impl FnMut(Transition<State<W>>),
    ) {
        let client = index as u8;
        let fields = &self.clients[index];
        let class = state.get(fields.local) as u16;
        let facts = &self.tables.facts[usize::from(class)];
        for op in [Op::Acquire, Op::Release] {
            if self.tables.step(class, Symbolic::Call(op)).is_some() {
                let mut step = Step::from(self, state);
                step.call(index, op);
                step.finish(Move::Call { client, op }, visit);
            }
        }
        for thread in 0..THREADS as u8 {
            if facts.ready & 1 << thread != 0 {
                let mut step = Step::from(self, state);
                step.feed(index, Symbolic::Wake(thread));
                step.finish(Move::Wake { client, thread }, visit);
            }
            for value in 1..=facts.options[usize::from(thread)] {
                let mut step = Step::from(self, state);
                step.feed(index, Symbolic::Choose { thread, value });
                step.finish(
                    Move::Choose {
                        client,
                        thread,
                        value,
                    },
                    visit,
                );
            }
        }
        if facts.phase == Phase::Held && state.get(fields.effect) != 2 {
            let mut step = Step::from(self, state);
            step.write(index);
            step.finish(Move::Write { client }, visit);
        }
    }

    fn client_faults(
        &self,
        state: &State<W>,
        index: usize,
        visit: &mut impl FnMut(Transition<State<W>>),
    ) {
        let client = index as u8;
        let fields = &self.clients[index];
        let class = state.get(fields.local) as u16;
        let facts = &self.tables.facts[usize::from(class)];
        let fresh = class == self.fresh;
        if self.left(state, Fault::ClientPause) > 0 && !fresh {
            let mut step = Step::fault(self, state, Fault::ClientPause);
            step.state.set(fields.status, 2);
            step.finish(Move::Pause { client }, visit);
        }
        let lapsing = facts.lapsing && state.get(fields.overrun) == 0;
        if self.left(state, Fault::Overrun) > 0 && lapsing {
            let mut step = Step::fault(self, state, Fault::Overrun);
            step.state.set(fields.overrun, 1);
            step.finish(Move::Overrun { client }, visit);
        }
        let skewed = state.get(fields.skew) != usize::from(self.no_skew);
        if self.left(state, Fault::ClientSkew) > 0 && fresh && !skewed {
            let (_, size) = self.config.switch(Fault::ClientSkew);
            for ticks in [size as i8, -(size as i8)] {
                let skew = self
                    .tables
                    .needs
                    .skews
                    .iter()
                    .position(|skew| *skew == ticks);
                let mut step = Step::fault(self, state, Fault::ClientSkew);
                let skew = skew.unwrap_or_default();
                step.state.set(fields.skew, skew);
                step.finish(
                    Move::Skew {
                        client,
                        skew: skew as u8,
                    },
                    visit,
                );
            }
        }
    }

    fn message_moves(
        &self,
        state: &State<W>,
        index: usize,
        visit: &mut impl FnMut(Transition<State<W>>),
    ) {
        let client = index as u8;
        for slot in 0..self.config.slots() {
            let Some(message) = self.message(state, index, slot) else {
                continue;
            };
            let place = slot as u8;
            if let Content::Request(command) = message.content {
                if !self.waits_for_node(state, &message) {
                    let mut step = Step::from(self, state);
                    step.execute(index, slot, message, command);
                    step.finish(
                        Move::Execute {
                            client,
                            slot: place,
                        },
                        visit,
                    );
                }
            } else if self.runs(state, index) {
                let mut step = Step::from(self, state);
                step.deliver(index, slot, message);
                step.finish(
                    Move::Deliver {
                        client,
                        slot: place,
                    },
                    visit,
                );
            }
            if message.content != Content::Broken {
                self.message_faults(state, index, slot, message, visit);
            }
        }
    }

    fn message_faults(
        &self,
        state: &State<W>,
        index: usize,
        slot: usize,
        message: Message,
        visit: &mut impl FnMut(Transition<State<W>>),
    ) {
        let (client, place) = (index as u8, slot as u8);
        if self.left(state, Fault::Loss) > 0 {
            let mut step = Step::fault(self, state, Fault::Loss);
            step.take(index, slot);
            step.judge_the_dead();
            step.finish(
                Move::Lose {
                    client,
                    slot: place,
                },
                visit,
            );
        }
        let (_, size) = self.config.switch(Fault::Delay);
        if self.left(state, Fault::Delay) > 0 && message.allowance == 0 {
            let mut step = Step::fault(self, state, Fault::Delay);
            let delayed = Message {
                allowance: size,
                ..message
            };
            step.state
                .set(self.slots(index)[slot], self.messages.pack(delayed));
            step.sort_slots(index);
            step.finish(
                Move::Delay {
                    client,
                    slot: place,
                },
                visit,
            );
        }
    }

    fn node_moves(
        &self,
        state: &State<W>,
        index: usize,
        visit: &mut impl FnMut(Transition<State<W>>),
    ) {
        let node = index as u8;
        let fields = &self.nodes[index];
        if self.is_split(state, index) {
            self.split_moves(state, index, visit);
        }
        if self.node_paused(state, index).is_some() {
            let mut step = Step::from(self, state);
            step.state.set(fields.pause, 0);
            step.finish(Move::ResumeNode { node }, visit);
            return;
        }
        let keyspace = state.get(fields.keyspace);
        let synced = state.get(fields.synced);
        if fields.synced.exists() && synced != keyspace {
            let mut step = Step::from(self, state);
            step.state.set(fields.synced, keyspace);
            step.state.set(fields.lagging, 0);
            step.finish(Move::Fsync { node }, visit);
        }
        let empty = usize::from(self.tables.emptied);
        let restarts = [
            (Fault::RestartNone, empty, Move::RestartNone { node }),
            (
                Fault::RestartEverysec,
                synced,
                Move::RestartEverysec { node },
            ),
            (Fault::RestartAlways, keyspace, Move::RestartAlways { node }),
        ];
        for (fault, after, restart) in restarts {
            if self.left(state, fault) > 0 {
                let mut step = Step::fault(self, state, fault);
                step.restart(index, after);
                step.finish(restart, visit);
            }
        }
        if self.left(state, Fault::NodePause) > 0 {
            let mut step = Step::fault(self, state, Fault::NodePause);
            step.state.set(fields.pause, 1);
            step.finish(Move::PauseNode { node }, visit);
        }
        if self.left(state, Fault::ClockJump) > 0 {
            for back in [false, true] {
                let mut step = Step::fault(self, state, Fault::ClockJump);
                let jumped = &self.tables.jump[usize::from(back)];
                step.change_node(index, |keyspace| jumped[usize::from(keyspace)]);
                step.finish(Move::Jump { node, back }, visit);
            }
        }
        self.promotions(state, index, Fault::Failover, visit);
        self.promotions(state, index, Fault::SplitBrain, visit);
    }

    /// Clients notice the new server, and the old one goes, all at any time.
    fn split_moves(
        &self,
        state: &State<W>,
        index: usize,
        visit: &mut impl FnMut(Transition<State<W>>),
    ) {
        let node = index as u8;
        for client in 0..self.clients.len() {
            if self.runs(state, client) && self.uses_old(state, client, index) {
                let mut step = Step::from(self, state);
                step.state.set(self.moved(client, index), 1);
                let client = client as u8;
                step.finish(Move::Notice { client, node }, visit);
            }
        }
        let mut step = Step::from(self, state);
        step.demote(index);
        step.finish(Move::Demote { node }, visit);
    }

    /// The replica takes over, whichever of the last writes it lacks.
    fn promotions(
        &self,
        state: &State<W>,
        index: usize,
        fault: Fault,
        visit: &mut impl FnMut(Transition<State<W>>),
    ) {
        let promoted = state.get(self.nodes[index].promoted) != 0;
        if promoted || self.left(state, fault) == 0 {
            return;
        }
        let (_, most) = self.config.switch(fault);
        for lost in 0..=usize::from(most) {
            let replica = |lost| self.replica(state, index, lost);
            // Writes that left no trace by now are not worth a move of their own.
            if (0..lost).any(|fewer| replica(fewer) == replica(lost)) {
                continue;
            }
            let mut step = Step::fault(self, state, fault);
            let node = index as u8;
            if fault == Fault::Failover {
                step.fail_over(index, lost);
                let lost = lost as u8;
                step.finish(Move::Failover { node, lost }, visit);
            } else {
                step.split(index, lost);
                let lost = lost as u8;
                step.finish(Move::SplitBrain { node, lost }, visit);
            }
        }
    }

    fn link_moves(&self, state: &State<W>, visit: &mut impl FnMut(Transition<State<W>>)) {
        for index in 0..self.cut.len() {
            let nodes = usize::from(self.config.nodes);
            let (client, node) = ((index / nodes) as u8, (index % nodes) as u8);
            let field = self.cut[index];
            if state.get(field) == 1 {
                let mut step = Step::from(self, state);
                step.state.set(field, 0);
                step.finish(Move::Heal { client, node }, visit);
            } else if self.left(state, Fault::Partition) > 0
                && !self.crashed(state, usize::from(client))
            {
                let mut step = Step::fault(self, state, Fault::Partition);
                step.state.set(field, 1);
                step.rewrite_messages(usize::from(client), |message| message.node != node);
                step.finish(Move::Cut { client, node }, visit);
            }
        }
    }

    fn tick_moves(&self, state: &State<W>, visit: &mut impl FnMut(Transition<State<W>>)) {
        if !self.time_may_pass(state) {
            return;
        }
        let mut step = Step::from(self, state);
        step.tick(None);
        step.finish(Move::Tick, visit);
        if self.left(state, Fault::ClientDrift) == 0 {
            return;
        }
        for client in (0..self.clients.len()).filter(|client| self.runs(state, *client)) {
            for ticks in [0u8, 2] {
                let skew = state.get(self.clients[client].skew) + usize::from(ticks);
                let range = 1..=self.tables.needs.skews.len();
                if range.contains(&skew) {
                    let mut step = Step::fault(self, state, Fault::ClientDrift);
                    step.tick(Some((client, ticks)));
                    step.finish(
                        Move::Drift {
                            client: client as u8,
                            ticks,
                        },
                        visit,
                    );
                }
            }
        }
    }

    /// Urgency: time stands still while somebody has to act first.
    fn time_may_pass(&self, state: &State<W>) -> bool {
        (0..self.clients.len()).all(|client| self.client_may_wait(state, client))
            && (0..self.nodes.len()).all(|node| self.node_may_wait(state, node))
    }

    fn client_may_wait(&self, state: &State<W>, client: usize) -> bool {
        let fields = &self.clients[client];
        if let Some(ticks) = self.paused(state, client) {
            let (_, size) = self.config.switch(Fault::ClientPause);
            if ticks >= size {
                return false;
            }
        } else if !self.crashed(state, client) {
            let facts = &self.tables.facts[state.get(fields.local)];
            // The work is shorter than the lease, so the release call comes
            // before the tick that would end the lease.
            let must_end = facts.lapsing && state.get(fields.overrun) == 0;
            if facts.ready != 0 || facts.options != [0; THREADS] || must_end {
                return false;
            }
        }
        self.slots(client).iter().all(|slot| {
            self.messages
                .unpack(state.get(*slot))
                .is_none_or(|message| message.allowance > 0 || self.stuck(state, client, &message))
        })
    }

    /// A message whose receiver is paused does not hold time up.
    fn stuck(&self, state: &State<W>, client: usize, message: &Message) -> bool {
        match message.content {
            Content::Request(_) => self.waits_for_node(state, message),
            _ => !self.runs(state, client),
        }
    }

    /// The server that a request goes to stands still; an old one never does.
    fn waits_for_node(&self, state: &State<W>, message: &Message) -> bool {
        !message.old && self.node_paused(state, usize::from(message.node)).is_some()
    }

    fn node_may_wait(&self, state: &State<W>, node: usize) -> bool {
        let fields = &self.nodes[node];
        if let Some(ticks) = self.node_paused(state, node) {
            // A server that stands still syncs nothing either.
            let (_, size) = self.config.switch(Fault::NodePause);
            return ticks < size;
        }
        state.get(fields.lagging) == 0 || state.get(fields.synced) == state.get(fields.keyspace)
    }
}
