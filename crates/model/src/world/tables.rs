//! Dense read-only tables: all that the search looks at.
//!
//! Everything that runs Lua or allocates happened before; from here on a
//! client and a server are numbers, and a step of either is one look-up.

mod fingerprint;
mod inputs;
mod moves;

use lockproof_redis::Reply;

use crate::lock::{Kept, Mode, Op, Phase};

use super::client::{Emitted, Facade, Limit, Symbolic, THREADS, Wait};
use super::closure::{Closure, ClosureError, Execution, Needs};
use super::fences::{self, Renumbering};
use super::minimise;
use super::node::Holders;
use super::spin;
use super::watches::{Guard, Unwatch, Watchers};
use moves::{Messages, Moves, find_reply, keyspace_id};

pub use inputs::InputSpace;

pub use fingerprint::Fingerprint;

/// No such transition.
pub const NONE: u16 = u16::MAX;

/// The facts about one client state that the world's rules ask for.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Facts {
    pub phase: Phase,
    pub holds: u8,
    /// How the client holds the lock, or tries to.
    pub mode: Mode,
    pub believes: bool,
    /// Threads of its own go on.
    pub alive: bool,
    pub valid: bool,
    /// The same if everything happens at ticks.
    pub valid_at_ticks: bool,
    /// What ends the holder's work.
    pub limit: Limit,
    /// Held, and what the lock itself says of the hold's end is over, or will be
    /// with the next tick.
    pub lapsing: bool,
    /// Threads (bit set) that can run on now, time-outs included.
    pub ready: u8,
    /// Those of them whose command timed out.
    pub timed_out: u8,
    /// Threads (bit set) that can go on like this for ever while no time passes.
    pub spins: u8,
    /// Options of the choice that each thread stands at; 0 for none.
    pub options: [u8; THREADS],
    /// The option that an open comparison takes if everything happens at ticks; 0
    /// if none is open.
    pub at_ticks: [u8; THREADS],
    /// The node that each thread waits for; 0 if for none.
    pub asks: [u8; THREADS],
    /// Threads (bit set) that wait for a reply, also if its time-out has struck.
    pub awaits: u8,
    /// Threads (bit set) that wait for the answer to SUBSCRIBE or UNSUBSCRIBE.
    pub subscribing: u8,
    /// The caller's thread waits for a message.
    pub waits: bool,
    /// Ranks (bit set) of the fences that the client remembers.
    pub fences: u8,
}

impl Facts {
    /// What happens next, or whether the client's validity is over, depends on what
    /// happens between two ticks.
    fn is_open(&self) -> bool {
        self.at_ticks != [0; THREADS] || self.valid != self.valid_at_ticks
    }
}

/// The tables of one lock under given needs.
pub struct Tables {
    pub needs: Needs,
    pub closure: Closure,
    /// Class of each unminimised local state.
    pub class_of: Vec<u16>,
    /// Commands that only releases send.
    pub releases: Vec<bool>,
    /// Commands that only renewals send, and questions whether the lock is held.
    pub holders_own: Vec<bool>,
    /// The operations that clients call, in the order of [`Op::ALL`].
    pub operations: Vec<Op>,
    /// One unminimised local state of each class.
    pub representatives: Vec<u32>,
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
    /// By keyspace: all keys are deleted. Empty where no lock names scripts by SHA-1.
    flushed: Vec<u16>,
    /// By keyspace, what of it is on disks and replicas. Empty in the same case.
    stored: Vec<u16>,
    pub holders: Vec<Holders>,
    pub age_command: Vec<u16>,
    pub age_reply: Vec<u16>,
    retire_keyspace: Vec<u16>,
    retire_command: Vec<u16>,
    retire_reply: Vec<u16>,
    mask_index: Vec<u16>,
    /// What clients keep, for the `retire_` functions.
    kept: Vec<Kept>,
    masks: usize,
    /// `renumbered_keyspace[renumbering * keyspaces + keyspace]`; empty if servers' fences
    /// keep their ranks.
    renumbered_keyspace: Vec<u16>,
    /// The same of replies.
    renumbered_reply: Vec<u16>,
    /// Ranks (bit set) of the fences in each reply.
    pub reply_fences: Vec<u8>,
    /// Some acquire states a fence.
    pub states_fences: bool,
    /// Some command draws a fence.
    pub draws_fences: bool,
    /// Generations of its own client's tokens that each command names.
    pub generations: Vec<u8>,
    /// Generations of the other caller's tokens that each command names; empty if no two
    /// callers share a handle.
    pub partner_generations: Vec<u8>,
    /// Keyspaces that name more stale tokens of one client than can be told apart,
    /// or in which old times became one.
    pub blurred: Vec<bool>,
    /// Some hold ends with the lease alone.
    pub counts_leases: bool,
    /// Some client can go on for ever while no time passes.
    pub spins: bool,
    /// Clients hold the lock as readers or as writers.
    pub has_modes: bool,
    /// Something can depend on what happens between two ticks.
    pub opens: bool,
    /// Of each command that is a WAIT: in how many ticks it gives up.
    waits: Vec<Option<u8>>,
    /// The replies of WAIT, with no and with one replica.
    pub acknowledged: [u16; 2],
    /// Of each command that is a BLPOP: in how many ticks it gives up.
    pops: Vec<Option<u8>>,
    /// The reply of a BLPOP that waited in vain.
    pub nothing: u16,
    /// Of each command, whether it begins (`true`) or ends a subscription; nothing at all
    /// if no client listens.
    subscriptions: Vec<Option<bool>>,
    /// By the number of a publication: its messages that somebody can hear.
    publications: Vec<Vec<u16>>,
    /// By the number of a message, the clients (bit set) that may listen to its channel.
    hearers: Vec<u8>,
    /// What each command has to do with watches; nothing at all if none has.
    guards: Vec<Option<Guard>>,
    /// By the number of a command, what it is when its client has given it up, without a watch
    /// on its connection and with one. Empty in the same case, as are the others.
    given_up: Vec<[u16; 2]>,
    /// `unwatched[(client * 3 + what) * keyspaces + keyspace]`.
    unwatched: Vec<u16>,
    /// By keyspace, who watches something there.
    watchers: Vec<Watchers>,
}

impl Tables {
    /// Minimises the closure and lays it out.
    ///
    /// # Errors
    /// If the lock's automaton does not fit the tables.
    pub fn build(mut closure: Closure) -> Result<Tables, ClosureError> {
        let class_of = minimise::classes(&mut closure)?;
        let inputs = InputSpace::of(&closure);
        let automaton = Automaton::lay_out(&closure, &class_of, inputs);
        let moves = Moves::lay_out(&closure);
        let messages = Messages::lay_out(&closure);
        let emptied = keyspace_id(&closure, 0, |k| k.emptied());
        let mut mask_index = vec![NONE; 256];
        for (index, mask) in closure.masks().iter().enumerate() {
            mask_index[usize::from(*mask)] = index as u16;
        }
        let limited = |facts: &Facts| facts.limit == Limit::Lease;
        Ok(Tables {
            needs: closure.needs.clone(),
            counts_leases: automaton.facts.iter().any(limited),
            spins: automaton.facts.iter().any(|facts| facts.spins != 0),
            has_modes: automaton.facts.iter().any(|facts| facts.mode == Mode::Read),
            opens: automaton.facts.iter().any(Facts::is_open) || !closure.ways.is_empty(),
            facts: automaton.facts,
            inputs,
            next: automaton.next,
            output: automaton.output,
            outputs: automaton.outputs,
            releases: {
                let commands = closure.commands.items().iter();
                commands
                    .map(|command| closure.only_releases(command))
                    .collect()
            },
            holders_own: {
                let commands = closure.commands.items().iter();
                commands
                    .map(|command| closure.only_holders(command))
                    .collect()
            },
            operations: closure.operations(),
            representatives: minimise::representatives(&class_of),
            class_of,
            server_command: messages.server_command,
            local_reply: messages.local_reply,
            age_command: messages.age_command,
            age_reply: messages.age_reply,
            retire_command: messages.retire_command,
            retire_reply: messages.retire_reply,
            renumbered_keyspace: moves.renumbered,
            renumbered_reply: messages.renumbered,
            reply_fences: {
                let replies = closure.replies.items().iter();
                replies.map(fences::ranks_of_reply).collect()
            },
            states_fences: automaton.states_fences,
            draws_fences: {
                let tables = [&closure.executions, &closure.refusals];
                let mut all = tables.into_iter().flatten().flatten();
                all.any(|execution| execution.drew.is_some())
            },
            generations: messages.generations,
            partner_generations: messages.partner_generations,
            executions: closure.executions.iter().flatten().copied().collect(),
            refusals: closure.refusals.iter().flatten().copied().collect(),
            keyspaces: closure.keyspaces.len(),
            tick: moves.tick,
            jump: moves.jump,
            retire_keyspace: moves.retire,
            holders: moves.holders,
            blurred: moves.blurred,
            emptied,
            flushed: moves.flushed,
            stored: moves.stored,
            mask_index,
            kept: closure.kept(),
            masks: closure.masks().len(),
            waits: closure.waits(),
            acknowledged: [0, 1].map(|count| find_reply(&closure, &Reply::Int(count))),
            pops: closure.pops(),
            nothing: find_reply(&closure, &Reply::Nil),
            subscriptions: closure.subscriptions(),
            publications: closure.publications_heard(),
            hearers: closure.hearers(),
            guards: closure.guards(),
            given_up: messages.given_up,
            unwatched: moves.unwatched,
            watchers: moves.watchers,
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

    /// Clients can call this.
    pub fn has(&self, op: Op) -> bool {
        self.operations.contains(&op)
    }

    /// Some client subscribes to a channel.
    pub fn listens(&self) -> bool {
        !self.subscriptions.is_empty()
    }

    /// If a command begins (`true`) or ends a subscription.
    #[inline]
    pub fn subscription(&self, command: u16) -> Option<bool> {
        *self.subscriptions.get(usize::from(command))?
    }

    /// The messages of a publication that reach those who listen.
    pub fn publication(&self, number: u16) -> &[u16] {
        &self.publications[usize::from(number)]
    }

    /// The client may listen to the channel of the message.
    #[inline]
    pub fn hears(&self, client: usize, message: u16) -> bool {
        self.hearers[usize::from(message)] >> client & 1 != 0
    }

    /// What comes of a command that asks how many listen to what it publishes.
    #[inline]
    pub fn heard(
        &self,
        command: u16,
        keyspace: u16,
        alone: bool,
        listeners: usize,
    ) -> Option<&Execution> {
        let heard = self.closure.heard.get(&(command, keyspace, alone))?;
        heard.get(listeners.checked_sub(1)?)
    }

    /// The lock watches keys, or sends transactions.
    pub fn watches(&self) -> bool {
        !self.guards.is_empty()
    }

    /// A command can fail before it is sent.
    pub fn refuses(&self) -> bool {
        self.needs.refused || self.guards.contains(&Some(Guard::Multi(true)))
    }

    /// What a command has to do with watches.
    #[inline]
    pub fn guard(&self, command: u16) -> Option<Guard> {
        *self.guards.get(usize::from(command))?
    }

    /// What a command is when its client has given it up; `watched`: its connection watches.
    #[inline]
    pub fn given_up(&self, command: u16, watched: bool) -> u16 {
        self.given_up
            .get(usize::from(command))
            .map_or(command, |both| both[usize::from(watched)])
    }

    /// A keyspace after that of a client's watches.
    #[inline]
    pub fn unwatched(&self, client: usize, what: Unwatch, keyspace: usize) -> usize {
        let at = (client * Unwatch::ALL.len() + what as usize) * self.keyspaces + keyspace;
        self.unwatched
            .get(at)
            .map_or(keyspace, |after| usize::from(*after))
    }

    /// Who watches something in a keyspace.
    #[inline]
    pub fn watchers(&self, keyspace: usize) -> Watchers {
        self.watchers.get(keyspace).copied().unwrap_or_default()
    }

    /// What of a keyspace is written to disks and sent to replicas.
    #[inline]
    pub fn stored(&self, keyspace: usize) -> usize {
        self.stored
            .get(keyspace)
            .map_or(keyspace, |stored| usize::from(*stored))
    }

    /// A keyspace after all keys were deleted.
    pub fn flushed(&self, keyspace: usize) -> usize {
        let flushed = self.flushed.get(keyspace).copied();
        usize::from(flushed.unwrap_or(self.emptied))
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

    /// The lock sends BLPOP.
    pub fn pops(&self) -> bool {
        !self.pops.is_empty()
    }

    /// If a command is a BLPOP: in how many ticks it gives up.
    #[inline]
    pub fn pop(&self, command: u16) -> Option<u8> {
        *self.pops.get(usize::from(command))?
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

    /// What else can come of a command, where comparisons of times in its script do not
    /// come out as if everything happened at ticks.
    #[inline]
    pub fn ways(&self, command: u16, keyspace: u16, alone: bool) -> &[Execution] {
        let ways = &self.closure.ways;
        if ways.is_empty() {
            return &[];
        }
        ways.get(&(command, keyspace, alone))
            .map_or(&[], Vec::as_slice)
    }

    /// The index of a renaming, for the `retire_` functions: of the tokens that messages in
    /// flight name, and of what the program keeps.
    #[inline]
    pub fn renaming(&self, named: u8, kept: Kept) -> Option<usize> {
        let index = self.mask_index[usize::from(named)];
        let kept = self.kept.binary_search(&kept).ok()?;
        (index != NONE).then_some(kept * self.masks + usize::from(index))
    }

    /// How many renamings there are for a client.
    #[inline]
    fn renamings(&self) -> usize {
        self.kept.len() * self.masks
    }

    /// A keyspace after fences were renumbered; [`NONE`] if the tables have no such row.
    #[inline]
    pub fn renumbered_keyspace(&self, how: Renumbering, keyspace: u16) -> u16 {
        let at = how.index() * self.keyspaces + usize::from(keyspace);
        self.renumbered_keyspace.get(at).copied().unwrap_or(NONE)
    }

    /// A reply in flight after fences were renumbered; [`NONE`] if the tables have no such row.
    #[inline]
    pub fn renumbered_reply(&self, how: Renumbering, reply: u16) -> u16 {
        let at = how.index() * self.closure.replies.len() + usize::from(reply);
        self.renumbered_reply.get(at).copied().unwrap_or(NONE)
    }

    /// A keyspace after a client's retirement.
    #[inline]
    pub fn retire_keyspace(&self, client: usize, renaming: usize, keyspace: u16) -> u16 {
        self.retire_keyspace
            [(client * self.renamings() + renaming) * self.keyspaces + usize::from(keyspace)]
    }

    /// A command in flight after a client's retirement.
    #[inline]
    pub fn retire_command(&self, client: usize, renaming: usize, command: u16) -> u16 {
        let per = self.closure.commands.len();
        self.retire_command[(client * self.renamings() + renaming) * per + usize::from(command)]
    }

    /// A reply in flight after a client's retirement.
    #[inline]
    pub fn retire_reply(&self, client: usize, renaming: usize, reply: u16) -> u16 {
        let per = self.closure.replies.len();
        self.retire_reply[(client * self.renamings() + renaming) * per + usize::from(reply)]
    }
}

/// The client automaton, laid out.
struct Automaton {
    states_fences: bool,
    facts: Vec<Facts>,
    next: Vec<u16>,
    output: Vec<u16>,
    outputs: Vec<Emitted>,
}

impl Automaton {
    fn lay_out(closure: &Closure, class_of: &[u16], inputs: InputSpace) -> Automaton {
        let representatives = minimise::representatives(class_of);
        let width = inputs.len();
        let mut outputs: super::interner::Interner<Emitted> = Default::default();
        let mut next = vec![NONE; representatives.len() * width];
        let mut output = vec![NONE; representatives.len() * width];
        let mut facts = Vec::new();
        for (class, &id) in representatives.iter().enumerate() {
            let local = &closure.locals[id as usize];
            let mut known = facts_of(&local.facade);
            for (thread, family) in local.awaiting.iter().enumerate() {
                let subscribes = family.is_some_and(|family| closure.subscribes(family));
                known.subscribing |= u8::from(subscribes) << thread;
            }
            facts.push(known);
            for (input, (emitted, target)) in &local.next {
                let column = inputs.index(*input);
                assert!(column < width, "an input has no column in the table");
                let at = class * width + column;
                next[at] = class_of[*target as usize];
                output[at] = outputs.intern(emitted).unwrap_or(NONE);
            }
        }
        let spins = spin::spinning(closure, class_of, &representatives);
        for (facts, spins) in facts.iter_mut().zip(spins) {
            facts.spins = spins;
        }
        let tick = inputs.index(Symbolic::Advance(1));
        for class in 0..facts.len() {
            let after = next[class * width + tick];
            let ends = after == NONE || !facts[usize::from(after)].valid;
            facts[class].lapsing = facts[class].phase == Phase::Held
                && match facts[class].limit {
                    Limit::None | Limit::Lease => false,
                    Limit::Validity => ends,
                };
        }
        Automaton {
            states_fences: outputs.items().iter().any(|out| out.fence.is_some()),
            facts,
            next,
            output,
            outputs: outputs.items().to_vec(),
        }
    }
}

fn facts_of(facade: &Facade) -> Facts {
    let mut facts = Facts {
        phase: facade.phase,
        holds: facade.holds,
        mode: facade.mode,
        believes: facade.believes(),
        alive: facade.alive,
        valid: facade.valid,
        valid_at_ticks: facade.valid_at_ticks,
        limit: facade.limit,
        lapsing: false,
        ready: 0,
        timed_out: 0,
        spins: 0,
        options: [0; THREADS],
        at_ticks: [0; THREADS],
        asks: [0; THREADS],
        awaits: 0,
        subscribing: 0,
        waits: facade.threads[0] == Wait::Message,
        fences: facade.fences,
    };
    for (thread, wait) in facade.threads.iter().enumerate() {
        match wait {
            Wait::Ready => facts.ready |= 1 << thread,
            Wait::TimedOut { node } => {
                facts.asks[thread] = *node;
                facts.awaits |= 1 << thread;
                facts.ready |= 1 << thread;
                facts.timed_out |= 1 << thread;
            }
            Wait::Choice { options } => facts.options[thread] = *options,
            Wait::Open { at_ticks } => {
                facts.options[thread] = 2;
                facts.at_ticks[thread] = if *at_ticks { 1 } else { 2 };
            }
            Wait::Reply { node } => {
                facts.asks[thread] = *node;
                facts.awaits |= 1 << thread;
            }
            Wait::Time | Wait::Message => {}
        }
    }
    facts
}
