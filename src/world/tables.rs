//! Dense read-only tables: all that the search looks at.
//!
//! Everything that runs Lua or allocates happened before; from here on a
//! client and a server are numbers, and a step of either is one look-up.

use crate::lock::{Op, Phase};
use crate::redis::{Bytes, Reply};

use super::client::{Emitted, Facade, Lease, Symbolic, THREADS, Wait};
use super::closure::{Closure, ClosureError, Command, Execution, Needs, retirement, to_server};
use super::minimise;
use super::node::Holders;
use super::symbols;

/// No such transition.
pub const NONE: u16 = u16::MAX;

/// The facts about one client state that the world's rules ask for.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    pub phase: Phase,
    pub holds: u8,
    pub believes: bool,
    pub valid: bool,
    pub lease: Lease,
    /// Held, and the lease is over or will be with the next tick.
    pub lapsing: bool,
    /// Threads (bit set) that can run on now, time-outs included.
    pub ready: u8,
    /// Those of them whose command timed out.
    pub timed_out: u8,
    /// Options of the choice that each thread stands at; 0 for none.
    pub options: [u8; THREADS],
    /// The node that each thread waits for; 0 if for none.
    pub asks: [u8; THREADS],
}

/// The tables of one lock under given needs.
pub struct Tables {
    pub needs: Needs,
    /// Majority of the nodes.
    pub closure: Closure,
    /// Class of each unminimised local state.
    pub class_of: Vec<u16>,
    pub facts: Vec<Facts>,
    pub inputs: InputSpace,
    next: Vec<u16>,
    output: Vec<u16>,
    pub outputs: Vec<Emitted>,
    /// `server_command[(client * skews + skew) * local commands + command]`.
    server_command: Vec<u16>,
    /// `local_reply[(client * skews + skew) * replies + reply]`.
    local_reply: Vec<u16>,
    executions: Vec<Execution>,
    refusals: Vec<Execution>,
    pub keyspaces: usize,
    pub tick: Vec<u16>,
    /// Forward and back.
    pub jump: [Vec<u16>; 2],
    pub emptied: u16,
    pub holders: Vec<Holders>,
    pub age_command: Vec<u16>,
    pub age_reply: Vec<u16>,
    retire_keyspace: Vec<u16>,
    retire_command: Vec<u16>,
    retire_reply: Vec<u16>,
    mask_index: Vec<u16>,
    masks: usize,
    /// Generations of its own client's tokens that each command names.
    pub generations: Vec<u8>,
    /// Most commands that one client waits for at once.
    pub concurrency: u8,
    /// Of each command that is a WAIT: in how many ticks it gives up.
    waits: Vec<Option<u8>>,
    /// The replies of WAIT, with no and with one replica.
    pub acknowledged: [u16; 2],
}

/// Inputs of the client automaton as consecutive numbers.
#[derive(Clone, Copy, Debug)]
pub struct InputSpace {
    advance_max: u16,
    replies: u16,
}

const OPTIONS_MAX: u16 = 8;

impl InputSpace {
    /// The input's number.
    pub fn index(self, input: Symbolic) -> usize {
        let threads = THREADS as u16;
        let advance = 2;
        let wake = advance + self.advance_max;
        let choose = wake + threads;
        let fail = choose + threads * OPTIONS_MAX;
        let reply = fail + threads * 2;
        usize::from(match input {
            Symbolic::Call(Op::Acquire) => 0,
            Symbolic::Call(Op::Release) => 1,
            Symbolic::Advance(ticks) => advance + u16::from(ticks) - 1,
            Symbolic::Wake(thread) => wake + u16::from(thread),
            Symbolic::Choose { thread, value } => {
                choose + u16::from(thread) * OPTIONS_MAX + u16::from(value) - 1
            }
            Symbolic::Fail { thread, definite } => {
                fail + u16::from(thread) * 2 + u16::from(definite)
            }
            Symbolic::Reply { thread, reply: r } => reply + u16::from(thread) * self.replies + r,
        })
    }

    /// How many inputs there are.
    pub fn len(self) -> usize {
        let threads = THREADS;
        2 + usize::from(self.advance_max)
            + threads * (1 + usize::from(OPTIONS_MAX) + 2 + usize::from(self.replies))
    }

    /// Never: the calls are always there.
    pub fn is_empty(self) -> bool {
        false
    }
}

impl Tables {
    /// Minimises the closure and lays it out.
    ///
    /// # Errors
    /// If the lock tells foreign tokens apart (see [`ClosureError`]).
    pub fn build(closure: Closure) -> Result<Tables, ClosureError> {
        let class_of = minimise::classes(&closure)?;
        let inputs = InputSpace {
            advance_max: u16::from(closure.needs.advance_max),
            replies: closure.local_replies.len() as u16,
        };
        let automaton = Automaton::lay_out(&closure, &class_of, inputs);
        let moves = Moves::lay_out(&closure);
        let messages = Messages::lay_out(&closure);
        let emptied = keyspace_id(&closure, 0, |k| k.emptied());
        let mut mask_index = vec![NONE; 256];
        for (index, mask) in closure.masks().iter().enumerate() {
            mask_index[usize::from(*mask)] = index as u16;
        }
        Ok(Tables {
            needs: closure.needs.clone(),
            facts: automaton.facts,
            inputs,
            next: automaton.next,
            output: automaton.output,
            outputs: automaton.outputs,
            concurrency: automaton.concurrency,
            class_of,
            server_command: messages.server_command,
            local_reply: messages.local_reply,
            age_command: messages.age_command,
            age_reply: messages.age_reply,
            retire_command: messages.retire_command,
            retire_reply: messages.retire_reply,
            generations: messages.generations,
            executions: closure.executions.iter().flatten().copied().collect(),
            refusals: closure.refusals.iter().flatten().copied().collect(),
            keyspaces: closure.keyspaces.len(),
            tick: moves.tick,
            jump: moves.jump,
            retire_keyspace: moves.retire,
            holders: moves.holders,
            emptied,
            mask_index,
            masks: closure.masks().len(),
            waits: closure.waits(),
            acknowledged: [0, 1].map(|count| find_reply(&closure, &Reply::Int(count))),
            closure,
        })
    }

    /// The transition of a client state: next state and output.
    #[inline]
    pub fn step(&self, class: u16, input: Symbolic) -> Option<(u16, &Emitted)> {
        let at = usize::from(class) * self.inputs.len() + self.inputs.index(input);
        let next = self.next[at];
        (next != NONE).then(|| (next, &self.outputs[usize::from(self.output[at])]))
    }

    /// The lock sends WAIT.
    pub fn waits(&self) -> bool {
        !self.waits.is_empty()
    }

    /// If a command is a WAIT: in how many ticks it gives up.
    #[inline]
    pub fn wait(&self, command: u16) -> Option<u8> {
        *self.waits.get(usize::from(command))?
    }

    /// A client's command as the servers see it.
    #[inline]
    pub fn server_command(&self, client: usize, skew: usize, command: u16) -> u16 {
        let per = self.closure.local_commands.len();
        self.server_command[(client * self.needs.skews.len() + skew) * per + usize::from(command)]
    }

    /// A server's reply as the client reads it.
    #[inline]
    pub fn local_reply(&self, client: usize, skew: usize, reply: u16) -> u16 {
        let per = self.closure.replies.len();
        self.local_reply[(client * self.needs.skews.len() + skew) * per + usize::from(reply)]
    }

    /// What a command does to a keyspace.
    #[inline]
    pub fn execute(&self, command: u16, keyspace: u16) -> &Execution {
        &self.executions[usize::from(command) * self.keyspaces + usize::from(keyspace)]
    }

    /// What a command does on a server that refuses writes for want of a replica.
    #[inline]
    pub fn execute_alone(&self, command: u16, keyspace: u16) -> &Execution {
        &self.refusals[usize::from(command) * self.keyspaces + usize::from(keyspace)]
    }

    /// The index of a set of generations, for the `retire_` functions.
    #[inline]
    pub fn mask(&self, generations: u8) -> Option<usize> {
        let index = self.mask_index[usize::from(generations)];
        (index != NONE).then_some(usize::from(index))
    }

    /// A keyspace after a client's retirement.
    #[inline]
    pub fn retire_keyspace(&self, client: usize, mask: usize, keyspace: u16) -> u16 {
        self.retire_keyspace[(client * self.masks + mask) * self.keyspaces + usize::from(keyspace)]
    }

    /// A command in flight after a client's retirement.
    #[inline]
    pub fn retire_command(&self, client: usize, mask: usize, command: u16) -> u16 {
        let per = self.closure.commands.len();
        self.retire_command[(client * self.masks + mask) * per + usize::from(command)]
    }

    /// A reply in flight after a client's retirement.
    #[inline]
    pub fn retire_reply(&self, client: usize, mask: usize, reply: u16) -> u16 {
        let per = self.closure.replies.len();
        self.retire_reply[(client * self.masks + mask) * per + usize::from(reply)]
    }
}

/// The client automaton, laid out.
struct Automaton {
    facts: Vec<Facts>,
    next: Vec<u16>,
    output: Vec<u16>,
    outputs: Vec<Emitted>,
    concurrency: u8,
}

impl Automaton {
    fn lay_out(closure: &Closure, class_of: &[u16], inputs: InputSpace) -> Automaton {
        let representatives = minimise::representatives(class_of);
        let width = inputs.len();
        let mut outputs: super::interner::Interner<Emitted> = Default::default();
        let mut next = vec![NONE; representatives.len() * width];
        let mut output = vec![NONE; representatives.len() * width];
        let mut facts = Vec::new();
        let mut concurrency = 1;
        for (class, &id) in representatives.iter().enumerate() {
            let local = &closure.locals[id as usize];
            facts.push(facts_of(&local.facade));
            let waiting = local.awaiting.iter().flatten().count() as u8;
            concurrency = concurrency.max(waiting);
            for (input, (emitted, target)) in &local.next {
                let at = class * width + inputs.index(*input);
                next[at] = class_of[*target as usize];
                output[at] = outputs.intern(emitted).unwrap_or(NONE);
            }
        }
        let tick = inputs.index(Symbolic::Advance(1));
        for class in 0..facts.len() {
            let after = next[class * width + tick];
            let over = after != NONE && facts[usize::from(after)].lease == Lease::Over;
            facts[class].lapsing = facts[class].phase == Phase::Held && over;
        }
        Automaton {
            facts,
            next,
            output,
            outputs: outputs.items().to_vec(),
            concurrency,
        }
    }
}

fn facts_of(facade: &Facade) -> Facts {
    let mut facts = Facts {
        phase: facade.phase,
        holds: facade.holds,
        believes: facade.believes(),
        valid: facade.valid,
        lease: facade.lease,
        lapsing: false,
        ready: 0,
        timed_out: 0,
        options: [0; THREADS],
        asks: [0; THREADS],
    };
    for (thread, wait) in facade.threads.iter().enumerate() {
        match wait {
            Wait::Ready => facts.ready |= 1 << thread,
            Wait::TimedOut { node } => {
                facts.asks[thread] = *node;
                facts.ready |= 1 << thread;
                facts.timed_out |= 1 << thread;
            }
            Wait::Choice { options } => facts.options[thread] = *options,
            Wait::Reply { node } => facts.asks[thread] = *node,
            Wait::Time => {}
        }
    }
    facts
}

/// What time and faults make of keyspaces.
struct Moves {
    tick: Vec<u16>,
    jump: [Vec<u16>; 2],
    retire: Vec<u16>,
    holders: Vec<Holders>,
}

impl Moves {
    fn lay_out(closure: &Closure) -> Moves {
        let Needs {
            tick_ms,
            horizon_ms,
            ttl_ms,
            clients,
            jump,
            ..
        } = closure.needs;
        let ids = 0..closure.keyspaces.len() as u16;
        let map = |f: &dyn Fn(&super::node::Keyspace) -> super::node::Keyspace| -> Vec<u16> {
            ids.clone().map(|id| keyspace_id(closure, id, f)).collect()
        };
        let mut retire = Vec::new();
        for client in 0..clients {
            for mask in closure.masks() {
                retire.extend(map(&|k| k.retire(client, &retirement(mask))));
            }
        }
        let jumped = |direction: usize| {
            if jump == 0 {
                Vec::new()
            } else {
                map(&|k| {
                    let [forward, back] = closure.jumps(k);
                    if direction == 0 { forward } else { back }
                })
            }
        };
        Moves {
            tick: map(&|k| k.advance(tick_ms, horizon_ms)),
            jump: [jumped(0), jumped(1)],
            retire,
            holders: closure
                .keyspaces
                .items()
                .iter()
                .map(|k| k.holders(ttl_ms))
                .collect(),
        }
    }
}

/// The number of what `f` makes of a keyspace; the closure has seen it.
fn keyspace_id(
    closure: &Closure,
    id: u16,
    f: impl Fn(&super::node::Keyspace) -> super::node::Keyspace,
) -> u16 {
    let after = f(closure.keyspaces.get(id));
    closure.keyspaces.find(&after).unwrap_or(NONE)
}

/// What time, retirement and translation make of messages.
struct Messages {
    server_command: Vec<u16>,
    local_reply: Vec<u16>,
    age_command: Vec<u16>,
    age_reply: Vec<u16>,
    retire_command: Vec<u16>,
    retire_reply: Vec<u16>,
    generations: Vec<u8>,
}

impl Messages {
    fn lay_out(closure: &Closure) -> Messages {
        let mut messages = Messages {
            server_command: Vec::new(),
            local_reply: Vec::new(),
            age_command: Vec::new(),
            age_reply: Vec::new(),
            retire_command: Vec::new(),
            retire_reply: Vec::new(),
            generations: Vec::new(),
        };
        messages.translate(closure);
        messages.age(closure);
        messages.retire(closure);
        messages
    }

    fn translate(&mut self, closure: &Closure) {
        for client in 0..closure.needs.clients {
            for index in 0..closure.needs.skews.len() {
                let skew = closure.skew_ms(index);
                for id in 0..closure.local_commands.len() as u16 {
                    self.server_command
                        .push(server_command(closure, client, skew, id));
                }
                for reply in closure.replies.items() {
                    let local = closure.local_reply(reply, client, skew);
                    self.local_reply
                        .push(closure.local_replies.find(&local).unwrap_or(NONE));
                }
            }
        }
    }

    fn age(&mut self, closure: &Closure) {
        let Needs {
            tick_ms,
            horizon_ms,
            ..
        } = closure.needs;
        let age = |word: &Bytes| symbols::shift(word, -tick_ms, horizon_ms);
        for command in closure.commands.items() {
            self.age_command.push(find_command(closure, command, age));
            let set = command
                .argv
                .iter()
                .map(|word| symbols::generations(word, command.client));
            self.generations.push(set.fold(0, |all, one| all | one));
        }
        for reply in closure.replies.items() {
            self.age_reply
                .push(find_reply(closure, &closure.aged_reply(reply)));
        }
    }

    fn retire(&mut self, closure: &Closure) {
        for client in 0..closure.needs.clients {
            for mask in closure.masks() {
                let map = retirement(mask);
                for command in closure.commands.items() {
                    let retire = |word: &Bytes| symbols::retire(word, client, &map);
                    self.retire_command
                        .push(find_command(closure, command, retire));
                }
                for reply in closure.replies.items() {
                    let retired = closure.retired_reply(reply, client, mask);
                    self.retire_reply.push(find_reply(closure, &retired));
                }
            }
        }
    }
}

fn server_command(closure: &Closure, client: u8, skew_ms: i64, id: u16) -> u16 {
    let argv = closure.local_commands.get(id);
    let Ok(argv) = to_server(argv, client, skew_ms, closure.needs.horizon_ms) else {
        return NONE;
    };
    let family = closure.family(id);
    closure
        .commands
        .find(&Command {
            client,
            family,
            argv,
        })
        .unwrap_or(NONE)
}

fn find_command(closure: &Closure, command: &Command, f: impl Fn(&Bytes) -> Bytes) -> u16 {
    let argv = command.argv.iter().map(f).collect();
    closure
        .commands
        .find(&Command { argv, ..*command })
        .unwrap_or(NONE)
}

fn find_reply(closure: &Closure, reply: &Reply) -> u16 {
    closure.replies.find(reply).unwrap_or(NONE)
}
