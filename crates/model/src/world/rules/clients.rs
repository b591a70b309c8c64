//! What clients do by themselves, and the faults that strike them.

use super::Visit;
use super::{OVERFLOW_GENERATIONS, OVERFLOW_POISON, OVERFLOW_TABLE, Successor};
use crate::lock::{Kept, Mode, Op, Phase};
use crate::world::catalogue::{Fault, Safety};
use crate::world::client::{Symbolic, THREADS};
use crate::world::closure::Missing;
use crate::world::layout::State;
use crate::world::log::{Log, Note, Retired};
use crate::world::message::{Content, Message};
use crate::world::moves::{Act, Move};
use crate::world::system::{Action, System};
use crate::world::tables::NONE;
use crate::world::world::World;

impl<L: Log> Successor<'_, L> {
    /// Feeds an input to a client's automaton and carries out what it puts out.
    pub(super) fn feed(&mut self, client: usize, input: Symbolic) {
        let world = self.world;
        let fields = &world.clients[client];
        let before = self.state.get(fields.local) as u16;
        let counted = match input {
            Symbolic::Reply { .. } => self.end_attempt(client),
            _ => 0,
        };
        let Some((after, emitted)) = world.tables.step(before, input) else {
            self.overflow |= OVERFLOW_TABLE;
            return;
        };
        self.state.set(fields.local, usize::from(after));
        self.log.note(|| Note::Fed {
            client,
            class: before,
            input,
        });
        if emitted.poison != 0 {
            world.reached.poison(emitted.poison);
            self.overflow |= OVERFLOW_POISON;
            return;
        }
        if emitted.rounded {
            world.reached.round();
        }
        let own = !matches!(
            input,
            Symbolic::Advance(_) | Symbolic::Skew(_) | Symbolic::Exchange(_)
        );
        if own {
            self.state.set(fields.late, 0);
        }
        let hampers = matches!(input, Symbolic::Fail { .. } | Symbolic::Cancel);
        let hampers = hampers || emitted.abandoned != 0;
        if hampers && world.tables.facts[usize::from(before)].holds > 0 {
            self.state
                .set(fields.hampered, usize::from(fields.hampered.exists()));
        }
        if emitted.abandoned != 0 {
            self.hang_up(client, emitted.abandoned, before);
            self.leave_connections(client, before, emitted.abandoned);
            self.abandon(client, emitted.abandoned);
            self.open_new_connections(client, before, emitted.abandoned);
        }
        for sent in &emitted.sent {
            self.send(client, sent.thread, sent.node, sent.command);
        }
        if !emitted.sent.is_empty() {
            self.count_attempt(client, emitted.sent.len());
        }
        self.log.note(|| Note::Settled {
            client,
            class: after,
            ending: emitted.ending,
            fence: emitted.fence,
            abandoned: emitted.abandoned,
            broken: emitted.broken,
        });
        if emitted.broken > 0 {
            self.violate(Safety::Assertion);
        }
        if let Some((op, ending)) = emitted.ending {
            self.end(
                client,
                op,
                ending,
                (before, after),
                (emitted.fence, counted),
            );
            self.judge_alarm(client, (op, ending), (before, after));
            // A background thread that says that the lock is lost ends no operation.
            let phase = world.tables.facts[usize::from(after)].phase;
            if matches!(phase, Phase::Idle | Phase::Held) {
                self.state.set(fields.effective, 0);
            }
        }
        if !world.tables.facts[usize::from(after)].believes {
            self.state.set(fields.overrun, 0);
            self.state.set(fields.effect, 0);
            self.state.set(fields.fence, 0);
        }
        self.settle_lease(client);
        self.settle_rounds(client, input, emitted.abandoned);
        if emitted.exchange != 0
            && let Some(partner) = world.partner(client)
        {
            self.feed(partner, Symbolic::Exchange(emitted.exchange - 1));
        }
    }

    /// Starts an operation. An outermost acquire brings a fresh token, and
    /// older tokens of the client are renamed.
    pub(super) fn call(&mut self, client: usize, op: Op) {
        let fields = self.world.clients[client];
        let holds = self.world.tables.facts[self.state.get(fields.local)].holds;
        self.state.set(fields.effective, 0);
        self.state.set(fields.grace, 0);
        self.begin_attempt(client);
        self.begin_watch(client, op);
        let fresh = op.mode().is_some() && holds == 0;
        let retirement = fresh.then(|| {
            let class = self.state.get(fields.local) as u16;
            let output = self.world.tables.step(class, Symbolic::Call(op));
            Retired {
                named: self.world.generations_in_flight(&self.state, client),
                kept: output.map_or(Kept::default(), |(_, emitted)| emitted.kept),
            }
        });
        self.log.note(|| Note::Begun {
            client,
            op,
            retirement,
        });
        if let Some(retirement) = retirement {
            self.retire(client, retirement);
        }
        if self.overflow & OVERFLOW_TABLE == 0 {
            self.feed(client, Symbolic::Call(op));
        }
    }

    fn retire(&mut self, client: usize, Retired { named, kept }: Retired) {
        let world = self.world;
        let Some(mask) = world.tables.renaming(named, kept) else {
            self.overflow |= OVERFLOW_GENERATIONS;
            return;
        };
        for node in 0..world.nodes.len() {
            self.change_node(node, None, |keyspace| {
                let after = world.tables.retire_keyspace(client, mask, keyspace);
                if after == NONE {
                    world.reached.lack(Missing::Retirement {
                        keyspace,
                        client,
                        renaming: mask,
                    });
                }
                after
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
                    same @ (Content::Broken | Content::Refused | Content::Published(_)) => same,
                };
                true
            });
        }
    }

    /// The client, and the other caller of its process if it has one.
    fn process(&self, client: usize) -> impl Iterator<Item = usize> + use<L> {
        [Some(client), self.world.partner(client)]
            .into_iter()
            .flatten()
    }

    fn crash(&mut self, client: usize) {
        for caller in self.process(client) {
            self.crash_caller(caller);
        }
        self.judge_the_dead();
    }

    fn crash_caller(&mut self, client: usize) {
        let fields = self.world.clients[client];
        self.forget(client);
        self.state.set(fields.status, 1);
        self.state.set(fields.skew, usize::from(self.world.no_skew));
    }

    /// The client's process is another one.
    fn start_again(&mut self, client: usize) {
        for client in self.process(client) {
            self.forget(client);
            self.state.set(self.world.clients[client].status, 0);
            self.log.note(|| Note::Restarted { client });
        }
    }

    /// All that a client's process knew is gone; what it has sent is on its way.
    fn forget(&mut self, client: usize) {
        let fields = self.world.clients[client];
        for field in [
            fields.effect,
            fields.fence,
            fields.effective,
            fields.grace,
            fields.overrun,
            fields.lease,
            fields.nested,
            fields.asked,
            fields.hampered,
            fields.late,
            fields.mine,
        ] {
            self.state.set(field, 0);
        }
        let fresh = self.world.fresh(client);
        self.state.set(fields.local, usize::from(fresh));
        self.forget_telling(client);
        self.end_own_subscriptions(client);
        self.leave_all_connections(client);
        let world = self.world;
        self.rewrite_messages(client, |message| {
            message.awaited = false;
            let request = matches!(message.content, Content::Request(_));
            let listens = world.is_of_subscription(message);
            let held_back = message.blocked.is_some() && message.turn == 0;
            request && !held_back && !message.held && !listens
        });
    }

    fn resume(&mut self, client: usize) {
        for caller in self.process(client) {
            self.resume_caller(caller);
        }
    }

    fn resume_caller(&mut self, client: usize) {
        let paused = self.world.paused(&self.state, client).unwrap_or(0);
        let before = self.world.class(&self.state, client);
        let class = self.world.class_now(&self.state, client);
        self.state
            .set(self.world.clients[client].local, usize::from(class));
        self.state.set(self.world.clients[client].status, 0);
        let world = self.world;
        let mut cut = 0u8;
        let mut down = 0u8;
        for node in 0..world.nodes.len() {
            cut |= u8::from(world.swallows_requests(&self.state, client, node)) << node;
            down |= u8::from(world.is_down(&self.state, node)) << node;
        }
        self.rewrite_messages(client, |message| {
            let sent = !message.held || cut & 1 << message.node == 0;
            let gone = message.held && down & 1 << message.node != 0;
            if gone && !message.old {
                message.content = Content::Refused;
            }
            message.held = false;
            sent
        });
        if paused > 0 {
            self.log.note(|| Note::Fed {
                client,
                class: before,
                input: Symbolic::Advance(paused),
            });
            self.log.note(|| Note::Settled {
                client,
                class,
                ending: None,
                fence: None,
                abandoned: 0,
                broken: 0,
            });
        }
    }

    fn pause(&mut self, client: usize) {
        for caller in self.process(client) {
            self.state.set(self.world.clients[caller].status, 2);
        }
    }

    /// The last `held` requests that the client has just sent are not sent yet: it
    /// is paused before.
    fn hold_back(&mut self, client: usize, held: usize) {
        let world = self.world;
        self.pause(client);
        self.log.hold_back(held);
        for at in self.sends - held..self.sends {
            let (request, in_flight) = self.sent[at];
            let Some(message) = world.messages.unpack(request) else {
                continue;
            };
            let held = Message {
                held: true,
                ..message
            };
            let slots = world.slots(client).iter();
            let mut slots = slots.rev();
            let slot = slots.find(|slot| self.state.get(**slot) == in_flight);
            match slot.filter(|_| in_flight != 0) {
                Some(slot) => self.state.set(*slot, world.messages.pack(held)),
                None => self.post(client, held),
            }
        }
        self.sort_slots(client);
    }

    /// The end of what a client does: as it is, and once for each request that a
    /// pause may hold back.
    pub(super) fn finish_act(self, client: u8, act: Act, visit: &mut Visit<'_, L>) {
        let world = self.world;
        if self.sends > 0 && world.left(&self.state, Fault::ClientPause) > 0 {
            for held in 1..=self.sends {
                let mut step = Successor {
                    fault: true,
                    ..self.clone()
                };
                world.spend(&mut step.state, Fault::ClientPause);
                step.hold_back(usize::from(client), held);
                let held = held as u8;
                step.finish(Move::PauseAfter { client, act, held }, visit);
            }
        }
        self.finish(act.of(client), visit);
    }
}

impl World {
    pub(super) fn client_moves<L: Log>(
        &self,
        state: &State,
        index: usize,
        visit: &mut Visit<'_, L>,
    ) {
        let client = index as u8;
        let first = self.is_first_caller(index);
        let fresh = self.is_fresh_process(state, index);
        if first
            && self.left(state, Fault::ClientRestart) > 0
            && (!fresh || self.crashed(state, index))
        {
            let mut step = Successor::fault(self, state, Fault::ClientRestart);
            step.start_again(index);
            step.finish(Move::ClientRestart { client }, visit);
        }
        if self.crashed(state, index) {
            return;
        }
        if first && self.left(state, Fault::ClientCrash) > 0 {
            let mut step = Successor::fault(self, state, Fault::ClientCrash);
            step.crash(index);
            step.finish(Move::Crash { client }, visit);
        }
        if self.paused(state, index).is_some() {
            if first {
                let mut step = Successor::from(self, state);
                step.resume(index);
                step.finish(Move::Resume { client }, visit);
            }
            return;
        }
        self.own_moves(state, index, visit);
        self.client_faults(state, index, visit);
    }

    /// No caller of the client's process has done anything yet.
    fn is_fresh_process(&self, state: &State, client: usize) -> bool {
        let fresh = |caller| self.class(state, caller) == self.fresh(caller);
        fresh(client) && self.partner(client).is_none_or(fresh)
    }

    /// What a running client does by itself.
    fn own_moves<L: Log>(&self, state: &State, index: usize, visit: &mut Visit<'_, L>) {
        let client = index as u8;
        let fields = &self.clients[index];
        let class = state.get(fields.local) as u16;
        let facts = &self.tables.facts[usize::from(class)];
        for op in self.tables.operations.iter().copied() {
            if self.may_call(state, index, op)
                && self.tables.step(class, Symbolic::Call(op)).is_some()
            {
                let mut step = Successor::from(self, state);
                step.call(index, op);
                step.finish_act(client, Act::Call(op), visit);
            }
        }
        for thread in 0..THREADS as u8 {
            if facts.ready & 1 << thread != 0 && !self.reply_is_due(state, index, thread) {
                let mut step = Successor::from(self, state);
                step.feed(index, Symbolic::Wake(thread));
                step.finish_act(client, Act::Wake(thread), visit);
            }
            self.choices(state, index, thread, visit);
        }
        let writes = facts.phase == Phase::Held && facts.mode == Mode::Write;
        let writes = writes && self.config.objects.is_none();
        if writes && state.get(fields.effect) != 2 {
            let mut step = Successor::from(self, state);
            step.write(index);
            step.finish(Move::Write { client }, visit);
        }
    }

    /// The thread chooses; of an open comparison's ways maybe the one at ticks only.
    pub(super) fn choices<L: Log>(
        &self,
        state: &State,
        index: usize,
        thread: u8,
        visit: &mut Visit<'_, L>,
    ) {
        let client = index as u8;
        let class = state.get(self.clients[index].local);
        let facts = &self.tables.facts[class];
        let at_ticks = facts.at_ticks[usize::from(thread)];
        for value in 1..=facts.options[usize::from(thread)] {
            if self.config.at_ticks && at_ticks != 0 && at_ticks != value {
                continue;
            }
            let mut step = Successor::from(self, state);
            step.feed(index, Symbolic::Choose { thread, value });
            step.finish_act(client, Act::Choose(thread, value), visit);
        }
    }

    /// Where a path ends in the midst of what a client does, at an open comparison: how the
    /// client goes on if everything happens at ticks.
    pub(in crate::world) fn rest_at_ticks(&self, state: &State) -> Option<(Action, State)> {
        let open = |client| Some((client, self.open_thread(state, client)?));
        let (client, thread) = (0..self.clients.len()).find_map(open)?;
        let facts = &self.tables.facts[usize::from(self.class(state, client))];
        let goes_on = Move::Choose {
            client: client as u8,
            thread,
            value: facts.at_ticks[usize::from(thread)],
        };
        let mut rest = None;
        self.edges(state, &mut |transition| {
            if transition.action == goes_on.encode() {
                rest.get_or_insert((transition.action, transition.state));
            }
        });
        rest
    }

    /// The tick that made a command time out passed over a client that spins: its
    /// reply is about to come.
    fn reply_is_due(&self, state: &State, index: usize, thread: u8) -> bool {
        let fields = &self.clients[index];
        let facts = &self.tables.facts[state.get(fields.local)];
        let due = |message: Message| {
            message.awaited
                && message.thread == thread
                && message.allowance == 0
                && message.blocked.is_none()
                && !self.waits_for_node(state, &message)
        };
        state.get(fields.late) != 0
            && facts.timed_out & 1 << thread != 0
            && (0..self.config.slots())
                .filter_map(|slot| self.message(state, index, slot))
                .any(due)
    }

    fn client_faults<L: Log>(&self, state: &State, index: usize, visit: &mut Visit<'_, L>) {
        let client = index as u8;
        let fields = &self.clients[index];
        let stirs = self.is_first_caller(index) && !self.is_fresh_process(state, index);
        if self.left(state, Fault::ClientPause) > 0 && stirs {
            let mut step = Successor::fault(self, state, Fault::ClientPause);
            step.pause(index);
            step.finish(Move::Pause { client }, visit);
        }
        let class = state.get(fields.local) as u16;
        if self.left(state, Fault::Cancel) > 0
            && self.tables.step(class, Symbolic::Cancel).is_some()
        {
            let mut step = Successor::fault(self, state, Fault::Cancel);
            step.feed(index, Symbolic::Cancel);
            step.finish(Move::Cancel { client }, visit);
        }
        if self.left(state, Fault::Overrun) > 0 && self.must_end(state, index) {
            let mut step = Successor::fault(self, state, Fault::Overrun);
            step.state.set(fields.overrun, 1);
            step.finish(Move::Overrun { client }, visit);
        }
        if self.left(state, Fault::ClientSkew) > 0 {
            let size = self.tables.needs.step;
            for ticks in [size, -size] {
                let skews = &self.tables.needs.skews;
                let offset = skews[state.get(fields.skew)] + ticks;
                let Some(skew) = skews.iter().position(|skew| *skew == offset) else {
                    continue;
                };
                let mut step = Successor::fault(self, state, Fault::ClientSkew);
                step.state.set(fields.skew, skew);
                step.feed(index, Symbolic::Skew(ticks));
                step.skew_telling(index, ticks);
                step.judge_validity(index);
                let skew = skew as u8;
                step.finish(Move::Skew { client, skew }, visit);
            }
        }
    }
}
