//! What a move makes of a state.

use std::sync::Arc;

use lockproof_model::lock::{Input, LockError, Mode, Op, Output, Phase};
use lockproof_model::world::catalogue::{Fault, Safety};
use lockproof_redis::{ScriptEngine, Server};
use lockproof_trace::CONNECTION_FAILED;

use crate::moves::{Action, Move};
use crate::owners::{Effect, Sender};
use crate::world::{Cargo, Cut, Ear, Message, Node, Setup, State, Store};
use crate::{callers, holder, judge, subscriptions, telling, time, transactions};

/// A state in the making, and what its move violates.
pub struct Step<'s> {
    pub setup: &'s Setup,
    pub state: State,
    pub violates: u32,
    /// Requests sent in this move.
    pub sent: Vec<u32>,
    /// Messages that were published.
    pub published: Vec<u32>,
    /// How many orders an execution had to choose from.
    pub orders: u32,
    /// An acquire succeeded.
    pub acquired: Option<usize>,
    /// Its client has all that it wants then.
    pub complete: bool,
    /// A release that reports success left no hold.
    pub released: Option<usize>,
}

/// Why nothing can be said of what happens.
#[derive(Clone, Debug)]
pub struct Stuck(pub String);

impl From<LockError> for Stuck {
    fn from(error: LockError) -> Stuck {
        Stuck(error.to_string())
    }
}

/// Carries an action out, and judges it.
pub fn take<'s>(
    setup: &'s Setup,
    engine: &mut ScriptEngine,
    before: &State,
    action: Action,
) -> Result<Step<'s>, Stuck> {
    let mut step = Step::from(setup, before);
    step.carry_out(engine, action.step)?;
    if action.held > 0 {
        step.hold_back(before, action)?;
    }
    let ticked = matches!(action.step, Move::Tick | Move::Drift { .. });
    holder::watch(&mut step);
    telling::watch(&mut step)?;
    judge::state(&mut step, before, ticked)?;
    Ok(step)
}

/// The same change to all that a node and its replica hold.
pub fn change_node(state: &mut State, node: usize, change: impl Fn(&mut Store)) {
    let node = Arc::make_mut(&mut state.nodes[node]);
    change(&mut node.store);
    node.behind.iter_mut().for_each(change);
    node.seal();
}

impl<'s> Step<'s> {
    fn from(setup: &'s Setup, before: &State) -> Step<'s> {
        Step {
            setup,
            state: before.clone(),
            violates: 0,
            sent: Vec::new(),
            orders: 1,
            published: Vec::new(),
            acquired: None,
            complete: false,
            released: None,
        }
    }

    pub fn violate(&mut self, property: Safety) {
        self.violates |= property.bit();
    }

    fn carry_out(&mut self, engine: &mut ScriptEngine, step: Move) -> Result<(), Stuck> {
        let setup = self.setup;
        match step {
            Move::Call { client, op } => self.call(client, op)?,
            Move::Wake { client, thread } => self.feed(client, &Input::Wake { thread })?,
            Move::Choose {
                client,
                thread,
                value,
            } => {
                self.feed(client, &Input::Choose { thread, value })?;
            }
            Move::Execute { id, order } => self.execute(engine, id, order)?,
            Move::Deliver { id } => self.deliver(id)?,
            Move::Write { client } => judge::write(self, client),
            Move::Tick => {
                subscriptions::judge(self);
                telling::tick(self, None);
                time::tick(setup, &mut self.state, None)?;
            }
            Move::Drift { client, ticks } => {
                self.state.spend(setup, Fault::ClientDrift);
                subscriptions::judge(self);
                telling::tick(self, Some((client, ticks)));
                time::tick(setup, &mut self.state, Some((client, ticks)))?;
            }
            Move::Resume { client } => {
                for caller in callers::process(setup, client) {
                    self.resume(caller)?;
                }
            }
            Move::Heal { client, node } => {
                self.state.cut[client * setup.nodes() + node] = Cut::Open;
                subscriptions::healed(self, client, node);
            }
            Move::Crash { client } => {
                self.state.spend(setup, Fault::ClientCrash);
                callers::crash(self, client);
            }
            Move::ClientRestart { client } => callers::restart(self, client)?,
            Move::Pause { client } => {
                self.state.spend(setup, Fault::ClientPause);
                callers::pause(self, client);
            }
            Move::Cancel { client } => {
                self.state.spend(setup, Fault::Cancel);
                self.feed(client, &Input::Cancel)?;
            }
            Move::Overrun { client } => {
                self.state.spend(setup, Fault::Overrun);
                self.state.ghost(client, |ghost| ghost.overrun = true);
            }
            Move::Skew { client, back } => {
                self.state.spend(setup, Fault::ClientSkew);
                let size = i64::from(setup.switch(Fault::ClientSkew).1) * setup.step_ms;
                let ms = if back { -size } else { size };
                let one = self.state.client_mut(client);
                one.program.step(&Input::Skew { ms })?;
                one.ghost.offset_ms += ms;
                telling::skew(&mut one.ghost, ms / setup.step_ms, setup.file.monotonic);
                one.seal();
            }
            Move::Delay { id } => {
                self.state.spend(setup, Fault::Delay);
                let at = self.at(id)?;
                self.state.messages[at].allowance = setup.switch(Fault::Delay).1;
            }
            Move::Lose { id } => {
                self.state.spend(setup, Fault::Loss);
                let at = self.at(id)?;
                let message = self.state.messages.remove(at);
                subscriptions::lost(self, &message);
            }
            Move::Cut { client, node, cut } => {
                let fault = match cut {
                    Cut::Requests | Cut::Replies => Fault::PartitionOneWay,
                    Cut::Open | Cut::Both => Fault::Partition,
                };
                self.state.spend(setup, fault);
                self.state.cut[client * setup.nodes() + node] = cut;
            }
            Move::Restart { node } => {
                self.state.spend(setup, Fault::RestartNone);
                self.empty(node);
            }
            Move::Flush { node } => {
                self.state.spend(setup, Fault::NodeFlush);
                self.flush(node);
            }
            Move::Down { node, delayed } => {
                self.state.spend(
                    setup,
                    if delayed {
                        Fault::DelayedRestart
                    } else {
                        Fault::NodeDown
                    },
                );
                self.empty(node);
                let one = Arc::make_mut(&mut self.state.nodes[node]);
                one.down = Some(0);
                one.seal();
            }
            Move::Up { node } => {
                let one = Arc::make_mut(&mut self.state.nodes[node]);
                one.down = None;
                one.seal();
            }
            Move::Jump { node, back } => {
                self.state.spend(setup, Fault::ClockJump);
                let size = i64::from(setup.switch(Fault::ClockJump).1) * setup.step_ms;
                change_node(&mut self.state, node, |store| {
                    store.server.advance(if back { -size } else { size });
                    store.owners.keep(&store.server);
                });
            }
            Move::Failover { node, lost } => {
                self.state.spend(setup, Fault::Failover);
                let one = Arc::make_mut(&mut self.state.nodes[node]);
                if let Some(lost) = lost.checked_sub(1) {
                    one.store = one.behind[lost].clone();
                }
                one.store.server.forget_scripts();
                one.behind.clear();
                one.promoted = true;
                one.seal();
                self.break_connections(node);
            }
        }
        self.swallow();
        transactions::sweep(self);
        Ok(())
    }

    /// Links swallow what is on them.
    fn swallow(&mut self) {
        subscriptions::swallowed(self);
        let (cut, nodes) = (&self.state.cut, self.setup.nodes());
        let swallowed = |m: &Message| {
            cut[m.client * nodes + m.node].swallows(m.is_request()) && !m.held && !m.withheld
        };
        self.state.messages.retain(|m| !swallowed(m));
    }

    fn at(&self, id: u32) -> Result<usize, Stuck> {
        let at = self.state.message(id);
        at.ok_or_else(|| Stuck(format!("no message {id} in flight")))
    }

    fn call(&mut self, client: usize, op: Op) -> Result<(), Stuck> {
        let setup = self.setup;
        let one = self.state.client_mut(client);
        let outermost = op.mode().is_some() && one.program.view().holds == 0;
        let token = outermost.then(|| {
            one.ghost.attempt += 1;
            setup.texts.token(client, one.ghost.attempt)
        });
        self.call_with(client, op, token)
    }

    /// Calls an operation with this token.
    fn call_with(&mut self, client: usize, op: Op, token: Option<String>) -> Result<(), Stuck> {
        self.state.ghost(client, |ghost| {
            ghost.effective = 0;
            ghost.hampered = false;
            ghost.sent = None;
            ghost.asked = None;
        });
        holder::begin(self, client, op);
        self.feed(client, &Input::Call { op, token })
    }

    /// The client takes an input, and what it does in answer is carried out.
    fn feed(&mut self, client: usize, input: &Input) -> Result<(), Stuck> {
        let before = self.state.clients[client].program.view();
        let counted = judge::end_of_attempt(self, client, input);
        telling::takes(self, client, input);
        let now = self.state.tick;
        let one = self.state.client_mut(client);
        if let Input::Reply { thread, .. } | Input::Fail { thread, .. } = input {
            one.asking.remove(thread);
        }
        let output = one.program.step(input)?;
        let after = one.program.view();
        one.ghost.late = false;
        let failed = matches!(input, Input::Fail { .. } | Input::Cancel);
        let failed = failed || !output.abandoned.is_empty();
        if failed && before.holds > 0 && before.phase == Phase::Acquiring {
            one.ghost.hampered = true;
        }
        if after.phase == Phase::Idle && output.outcome.is_some() {
            one.ghost.idle_since = now;
        }
        let releases = before.phase == Phase::Releasing
            || matches!(
                input,
                Input::Call {
                    op: Op::Release,
                    ..
                }
            );
        let holders = match input {
            Input::Call { op, .. } => holder::is_holders(*op),
            _ => matches!(before.phase, Phase::Renewing | Phase::Asking),
        };
        self.send(client, &output, (releases, holders));
        if !output.broken.is_empty() {
            self.violate(Safety::Assertion);
        }
        if !output.sent.is_empty() && holder::prolongs(after.phase) {
            let awaited = |m: &&Message| m.client == client && m.awaited;
            let others = self.state.messages.iter().filter(awaited).count() > output.sent.len();
            let one = self.state.client_mut(client);
            let now = Some(one.ghost.ticks);
            one.ghost.sent = one.ghost.sent.or(now);
            one.ghost.asked = one.ghost.asked.filter(|_| others).or(now);
        }
        if let Some((op, outcome)) = &output.outcome {
            judge::ended(self, client, *op, outcome, (&before, counted));
            self.state.client_mut(client).ghost.effective = 0;
        }
        let one = self.state.client_mut(client);
        if !holder::prolongs(after.phase) {
            one.ghost.asked = None;
        }
        if after.holds == 0 {
            one.ghost.overrun = false;
            one.ghost.read = None;
            one.ghost.fence = None;
            one.ghost.leased = None;
        }
        one.seal();
        telling::took(self, client, &before, &output.abandoned);
        callers::hand_over(self, client, output.exchange)
    }

    pub fn send(&mut self, client: usize, output: &Output, (releases, holders): (bool, bool)) {
        for thread in &output.abandoned {
            if let Some(node) = self.state.client_mut(client).asking.remove(thread) {
                subscriptions::hang_up(&mut self.state, self.setup.nodes(), client, node);
            }
            self.state.messages.retain_mut(|message| {
                if message.client == client && message.thread == *thread && message.awaited {
                    message.awaited = false;
                    return message.is_request();
                }
                true
            });
            transactions::gives_up(self, client, *thread);
        }
        let view = self.state.clients[client].program.view();
        let leaves = view.phase == Phase::Releasing && view.holds == 0;
        for request in &output.sent {
            let holders = holders && request.thread == 0;
            let id = self.state.next_id;
            self.state.next_id += 1;
            let node = usize::from(request.node);
            let listens = subscriptions::subscribes(&request.argv);
            if listens {
                let one = self.state.client_mut(client);
                one.asking.insert(request.thread, node);
                one.seal();
            }
            let (generation, asks, withheld) = transactions::sends(self, client, request);
            if self.state.cut[client * self.setup.nodes() + node].swallows(true) && !withheld {
                continue;
            }
            self.sent.push(id);
            self.state.messages.push(Message {
                id,
                client,
                thread: request.thread,
                node,
                awaited: true,
                allowance: 0,
                held: false,
                gives: releases || holders || request.thread != 0,
                holders,
                reads: view.mode == Mode::Read,
                leaves: leaves && request.thread == 0,
                listens,
                generation,
                asks,
                withheld,
                cargo: Arc::new(match self.state.nodes[node].down {
                    _ if withheld => Cargo::Refused,
                    Some(_) => Cargo::Refused,
                    None => Cargo::Request(request.argv.clone()),
                }),
            });
        }
    }

    fn execute(&mut self, engine: &mut ScriptEngine, id: u32, order: u32) -> Result<(), Stuck> {
        let at = self.at(id)?;
        let message = self.state.messages.remove(at);
        let Cargo::Request(argv) = &*message.cargo else {
            return Err(Stuck(format!("message {id} is no request")));
        };
        if argv[0].eq_ignore_ascii_case(b"blpop") {
            return Err(Stuck("BLPOP is not in the naive world".into()));
        }
        let mut store = self.state.nodes[message.node].store.clone();
        let before = store.server.clone();
        let held = subscriptions::is_held(self);
        store.server.set_order(order);
        subscriptions::tune_in(self, message.node, &mut store.server);
        let connection = match transactions::are_sent(self.setup) {
            true => transactions::connection(&message),
            false => subscriptions::connection(message.client, argv),
        };
        let reply = transactions::execute(&mut store.server, engine, connection, argv);
        let notes = store.server.take_notes();
        store.server.set_order(0);
        if !self.setup.names_scripts() {
            store.server.forget_scripts();
        }
        if let Some((refusal, _)) = &notes.refusal {
            return Err(Stuck(format!("a server: {refusal}")));
        }
        self.orders = notes.orders.max(1);
        let by = Sender {
            who: message.client,
            reads: message.reads,
            leaves: message.leaves,
        };
        let effect = store
            .owners
            .follow(&before, &store.server, &notes, by, &self.setup.file);
        if let Some(key) = &effect.undeclared {
            return Err(Stuck(format!("it writes `{key}`, which is not declared")));
        }
        judge::executed(self, &message, &effect)?;
        self.take_effect(&message, &effect);
        holder::wrote(self, &message, &effect);
        telling::wrote(self, &message, &effect, &store);
        let node = message.node;
        let mut said = Server::default();
        std::mem::swap(&mut said, &mut store.server);
        if message.awaited {
            let cargo = Arc::new(Cargo::Reply(reply));
            self.state.messages.push(Message {
                cargo,
                allowance: 0,
                ..message
            });
        }
        subscriptions::tune_out(self, node, &mut said);
        store.server = said;
        self.write_to(node, store);
        self.state.freed = !subscriptions::is_held(self) && (self.state.freed || held);
        Ok(())
    }

    /// The node holds this now; its replica may lack the write.
    fn write_to(&mut self, node: usize, store: Store) {
        let node = Arc::make_mut(&mut self.state.nodes[node]);
        let stored = |store: &Store| {
            let mut store = store.clone();
            store.server.forget_scripts();
            transactions::close_all(&mut store);
            store
        };
        if node.store != store {
            let before = stored(&node.store);
            if !node.behind.is_empty() && before != stored(&store) {
                node.behind.pop();
                node.behind.insert(0, before);
            }
            node.store = store;
            node.seal();
        }
    }

    /// Nodes on which the running operation took effect.
    fn take_effect(&mut self, message: &Message, effect: &Effect) {
        let phase = self.state.clients[message.client].program.view().phase;
        let bit = 1u8 << message.node;
        if !message.awaited {
            return;
        }
        let alone = self.setup.nodes() == 1;
        self.state.ghost(message.client, |ghost| {
            if holder::prolongs(phase) && effect.leased && alone {
                ghost.sent = ghost.asked;
            }
        });
        self.state.ghost(message.client, |ghost| match phase {
            Phase::Acquiring | Phase::Renewing if effect.wrote => ghost.effective |= bit,
            Phase::Acquiring | Phase::Renewing if effect.deleted => ghost.effective &= !bit,
            Phase::Releasing if effect.wrote || effect.deleted => ghost.effective |= bit,
            Phase::Acquiring | Phase::Releasing | Phase::Idle | Phase::Held => {}
            Phase::Renewing | Phase::Asking => {}
        });
    }

    fn deliver(&mut self, id: u32) -> Result<(), Stuck> {
        let at = self.at(id)?;
        let message = self.state.messages.remove(at);
        let thread = message.thread;
        let input = match &*message.cargo {
            Cargo::Published((channel, payload)) => Input::Message {
                channel: channel.clone(),
                payload: String::from_utf8_lossy(payload).into_owned(),
            },
            Cargo::Reply(reply) => Input::Reply {
                thread,
                reply: reply.clone(),
            },
            Cargo::Broken | Cargo::Refused => Input::Fail {
                thread,
                definite: *message.cargo == Cargo::Refused,
                message: CONNECTION_FAILED.into(),
            },
            Cargo::Request(_) => return Err(Stuck(format!("message {id} is a request"))),
        };
        if let Cargo::Reply(reply) = &*message.cargo {
            transactions::arrives(self, &message, reply);
        }
        telling::arrives(self, &message);
        self.feed(message.client, &input)
    }

    fn resume(&mut self, client: usize) -> Result<(), Stuck> {
        let one = self.state.client_mut(client);
        let ticks = one.ghost.paused.take().unwrap_or(0);
        if ticks > 0 {
            let ms = ticks * self.setup.step_ms;
            one.program.step(&Input::Advance { ms })?;
        }
        one.seal();
        let (cut, nodes) = (&self.state.cut, self.setup.nodes());
        let swallowed = |m: &Message| cut[client * nodes + m.node].swallows(true);
        let kept = |m: &Message| !m.held || m.withheld || m.client != client || !swallowed(m);
        self.state.messages.retain(kept);
        for message in self
            .state
            .messages
            .iter_mut()
            .filter(|m| m.client == client)
        {
            message.held = false;
        }
        Ok(())
    }

    /// A server without persistence dies.
    fn empty(&mut self, node: usize) {
        self.flush(node);
        let one = Arc::make_mut(&mut self.state.nodes[node]);
        one.store.server.forget_scripts();
        one.seal();
        self.break_connections(node);
    }

    /// A server's keys are deleted.
    fn flush(&mut self, node: usize) {
        let server = &self.state.nodes[node].store.server;
        let mut empty = Node::new(self.setup).store;
        empty.server.set_clock(server.now_ms());
        for script in server.scripts() {
            empty.server.insert_script(script);
        }
        transactions::flushed(server, &mut empty.server);
        self.write_to(node, empty);
    }

    fn break_connections(&mut self, node: usize) {
        let nodes = self.setup.nodes();
        for client in 0..self.setup.clients {
            self.state.ears[client * nodes + node] = Ear::Nothing;
        }
        self.state.freed = false;
        transactions::ended(&mut self.state, node);
        for client in 0..self.setup.clients {
            self.state.ghost(client, |ghost| {
                ghost.mine &= !(1 << node);
                telling::doubt(ghost, node);
            });
        }
        self.state.messages.retain_mut(|message| {
            if message.node == node && *message.cargo != Cargo::Refused {
                message.listens = false;
                message.cargo = Arc::new(Cargo::Broken);
                message.allowance = 0;
                message.held = false;
                return message.awaited;
            }
            true
        });
    }

    /// The client is paused before it has sent the last requests of this move.
    fn hold_back(&mut self, before: &State, action: Action) -> Result<(), Stuck> {
        let client = match action.step {
            Move::Call { client, .. } | Move::Wake { client, .. } => Some(client),
            Move::Choose { client, .. } => Some(client),
            Move::Deliver { id } => before.message(id).map(|at| before.messages[at].client),
            _ => None,
        };
        let client = client.ok_or_else(|| Stuck(format!("{action:?} sends nothing")))?;
        self.state.spend(self.setup, Fault::ClientPause);
        callers::pause(self, client);
        let first = self.sent.len() - action.held;
        for id in self.sent[first..].iter().copied() {
            let at = self.at(id)?;
            self.state.messages[at].held = true;
        }
        Ok(())
    }
}

/// Calls with a token that a trace gives; the last `held` requests are held back.
pub fn call_with<'s>(
    setup: &'s Setup,
    before: &State,
    (client, op): (usize, Op),
    token: Option<String>,
    held: usize,
) -> Result<Step<'s>, Stuck> {
    let mut step = Step::from(setup, before);
    step.call_with(client, op, token)?;
    if held > 0 {
        let call = Move::Call { client, op };
        step.hold_back(before, Action { step: call, held })?;
    }
    holder::watch(&mut step);
    telling::watch(&mut step)?;
    judge::state(&mut step, before, false)?;
    Ok(step)
}
