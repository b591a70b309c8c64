//! What clients do by themselves, and the faults that strike them.

use super::{OVERFLOW_GENERATIONS, OVERFLOW_TABLE, Step};
use crate::lock::{Op, Phase};
use crate::world::catalogue::Fault;
use crate::world::client::{Symbolic, THREADS};
use crate::world::layout::State;
use crate::world::message::Content;
use crate::world::moves::Move;
use crate::world::system::Transition;
use crate::world::world::World;

impl<'w, const W: usize> Step<'w, W> {
    /// Feeds an input to a client's automaton and carries out what it puts out.
    pub(super) fn feed(&mut self, client: usize, input: Symbolic) {
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
            self.open_new_connections(client, before, emitted.abandoned);
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
            matches!(message.content, Content::Request(_)) && message.blocked.is_none()
        });
        self.judge_the_dead();
    }

    fn resume(&mut self, client: usize) {
        let class = self.world.class_now(&self.state, client);
        self.state
            .set(self.world.clients[client].local, usize::from(class));
        self.state.set(self.world.clients[client].status, 0);
    }
}

impl<const W: usize> World<W> {
    pub(super) fn client_moves(
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
}
