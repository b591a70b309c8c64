//! The joint closure: a client's local states and a server's keyspaces, closed
//! together to a fixpoint.
//!
//! The commands that clients send, every keyspace that those commands, ticks
//! and fault effects reach, the replies to each command, the local states that
//! those replies reach, and so on until nothing is new. No alphabet is guessed.
//! The closure pairs more than the world can (any command with any keyspace),
//! which costs a little and can never lose a behaviour. Programs cannot be
//! copied while they are suspended, so a local state is rebuilt by running the
//! program again over the inputs that first led to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::lock::{LockError, Op, Output, Phase, View, Waiting};
use crate::redis::{Bytes, Reply, ScriptEngine};

use super::client::{Emitted, Ending, Facade, Live, Sent, Symbolic, THREADS};
use super::interner::Interner;
use super::node::{Effect, Keyspace};
use super::program::ClientProgram;
use super::symbols::{self, GENERATIONS, STALE};
use super::unmodelled;

/// What the closure has to provide for: the union of the needs of the
/// assumption sets that will be explored with it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Needs {
    pub clients: u8,
    /// Deepest nesting of holds that the driver goes to.
    pub holds_max: u8,
    /// The lease asked for, in ms.
    pub ttl_ms: i64,
    /// What one tick adds to every clock, in ms.
    pub tick_ms: i64,
    /// Time differences saturate here, in ms.
    pub horizon_ms: i64,
    /// Most ticks that a client may get in one advance.
    pub advance_max: u8,
    /// Clock offsets of clients in ticks, 0 among them.
    pub skews: Vec<i8>,
    /// Messages can outlive a tick.
    pub ageing: bool,
    /// Connections can fail under a command.
    pub failing: bool,
    /// Size of server clock jumps in ticks, 0 for none.
    pub jump: u8,
    /// Message slots of one client.
    pub slots: u8,
}

/// Why a lock could not be closed.
#[derive(Debug, thiserror::Error)]
pub enum ClosureError {
    /// The lock file itself fails.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The state space of one client or server does not stop growing.
    #[error(
        "the {what} of this lock grows without end (more than {limit}){hint}; bound it, or keep it out of the lock file's state"
    )]
    Unbounded {
        what: &'static str,
        limit: usize,
        hint: String,
    },
    /// A command carries another attempt's or another client's token.
    #[error(
        "line {line}: the command {command} sends a token that is not this attempt's own ({symbol}); lockproof can only follow a client's own present token"
    )]
    ForeignToken {
        line: u32,
        command: String,
        symbol: String,
    },
    /// The program tells foreign tokens apart.
    #[error(
        "the lock compares tokens or names of other clients with each other; lockproof represents them by one symbol and would merge states that differ"
    )]
    TellsForeignersApart,
    /// The program remembers an old token of its own, and looks for it.
    #[error(
        "line {line}: the lock remembers its token of an earlier attempt and compares it with what is stored; lockproof can only follow a client's own present token. Forget it (`self.token = nil`) when the lock is given back"
    )]
    TellsOldTokensApart { line: u32 },
    /// A command whose replies carry the server's absolute time in seconds.
    #[error(
        "line {line}: {command} depends on the server's absolute time in a form that the model does not follow; use PX, PEXPIRE or the client's now()"
    )]
    ServerTime { line: u32, command: String },
    /// The caller asked to stop.
    #[error("stopped before the lock's automaton was complete")]
    Stopped,
    /// A feature that the world does not model yet.
    #[error(
        "line {line}: {what} is not in the model yet, so nothing can be proved about this lock"
    )]
    NotModelled { line: u32, what: String },
}

/// A command as the servers see it. The family is what does not change with
/// client, skew or age: replies are handed to whoever waits for that family.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    pub client: u8,
    pub family: u16,
    pub argv: Vec<Bytes>,
}

/// What one command does to one keyspace.
#[derive(Clone, Copy, Debug)]
pub struct Execution {
    pub after: u16,
    pub reply: u16,
    pub effect: Effect,
    pub overflow: bool,
}

/// A local state of the unminimised automaton.
#[derive(Clone, Debug)]
pub struct Local {
    pub facade: Facade,
    /// Family of the command that each thread waits for.
    pub awaiting: [Option<u16>; THREADS],
    /// The state and input that first led here.
    parent: Option<(u32, Symbolic)>,
    /// Successors by input.
    pub next: BTreeMap<Symbolic, (Emitted, u32)>,
}

/// The closed system of one lock.
pub struct Closure {
    pub needs: Needs,
    pub locals: Vec<Local>,
    local_index: rustc_hash::FxHashMap<Vec<u8>, u32>,
    /// Commands as clients send them, with the line that sent each first.
    pub local_commands: Interner<Vec<Bytes>>,
    pub families: Interner<Vec<Bytes>>,
    pub commands: Interner<Command>,
    pub replies: Interner<Reply>,
    pub local_replies: Interner<Reply>,
    pub keyspaces: Interner<Keyspace>,
    /// `executions[command][keyspace]`.
    pub executions: Vec<Vec<Execution>>,
    /// Local replies that can come to each family.
    family_replies: Vec<BTreeSet<u16>>,
    /// The line that first sent a command of each family.
    family_lines: Vec<u32>,
    /// Local replies that are the `G` twin of another.
    pub twins: BTreeMap<u16, u16>,
    /// Some command can see the server's clock.
    pub server_time: bool,
    limits: Limits,
}

/// Where a closure stops and says that something grows for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Local states of the unminimised automaton.
    pub locals: usize,
    /// Inputs that it takes to reach a local state. States are rebuilt by their
    /// paths, so a counter that grows for ever would take an hour to reach
    /// `locals`.
    pub depth: usize,
    /// Different contents of a server.
    pub keyspaces: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            locals: 60_000,
            depth: 600,
            keyspaces: 12_000,
        }
    }
}

impl Closure {
    /// Closes `program` under `needs`.
    ///
    /// # Errors
    /// See [`ClosureError`].
    pub fn build(
        program: &mut dyn ClientProgram,
        scripts: &mut ScriptEngine,
        needs: Needs,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Closure, ClosureError> {
        Closure::build_within(program, scripts, needs, should_stop, Limits::default())
    }

    /// The same within other limits.
    ///
    /// # Errors
    /// See [`ClosureError`].
    pub fn build_within(
        program: &mut dyn ClientProgram,
        scripts: &mut ScriptEngine,
        needs: Needs,
        should_stop: &dyn Fn() -> bool,
        limits: Limits,
    ) -> Result<Closure, ClosureError> {
        let mut closure = Closure::empty(needs, limits);
        closure.add_keyspace(&Keyspace::default())?;
        closure.add_root(program)?;
        loop {
            let before = closure.size();
            closure.close_locals(program, should_stop)?;
            closure.close_messages()?;
            closure.close_keyspaces(scripts)?;
            if closure.size() == before {
                return Ok(closure);
            }
        }
    }

    fn empty(needs: Needs, limits: Limits) -> Closure {
        Closure {
            needs,
            locals: Vec::new(),
            local_index: Default::default(),
            local_commands: Interner::default(),
            families: Interner::default(),
            commands: Interner::default(),
            replies: Interner::default(),
            local_replies: Interner::default(),
            keyspaces: Interner::default(),
            executions: Vec::new(),
            family_replies: Vec::new(),
            family_lines: Vec::new(),
            twins: BTreeMap::new(),
            server_time: false,
            limits,
        }
    }

    /// Everything that can grow; equal twice in a row means closed.
    fn size(&self) -> [usize; 7] {
        [
            self.locals.len(),
            self.locals.iter().map(|local| local.next.len()).sum(),
            self.commands.len(),
            self.replies.len(),
            self.local_replies.len(),
            self.keyspaces.len(),
            self.family_replies.iter().map(BTreeSet::len).sum(),
        ]
    }

    // ---- clients ----

    fn add_root(&mut self, program: &mut dyn ClientProgram) -> Result<(), ClosureError> {
        let live = self.live(program)?;
        let key = live.key()?;
        let view = live.view();
        self.add_local(key, &view, [None; THREADS], None);
        Ok(())
    }

    fn live<'p>(&self, program: &'p mut dyn ClientProgram) -> Result<Live<'p>, LockError> {
        Live::start(program, 0, self.needs.horizon_ms, self.needs.tick_ms)
    }

    /// A program that was fed these inputs.
    fn live_at<'p>(
        &self,
        program: &'p mut dyn ClientProgram,
        path: &[Symbolic],
    ) -> Result<Live<'p>, LockError> {
        let mut live = self.live(program)?;
        for step in path {
            live.step(*step, self.local_replies.items())?;
        }
        Ok(live)
    }

    fn brings_an_old_token(&self, input: Symbolic) -> bool {
        let Symbolic::Reply { reply, .. } = input else {
            return false;
        };
        let mut found = false;
        symbols::map_reply(self.local_replies.get(reply), &mut |text| {
            found |= symbols::contains(text, symbols::OWN_STALE);
            text.to_vec()
        });
        found
    }

    /// One symbol stands for all older tokens of a client's own. A program that
    /// remembers one of them must not be able to find out whether the reply
    /// names that one: not at once, and not later from what it keeps.
    fn finds_old_tokens(
        &self,
        program: &mut dyn ClientProgram,
        path: &[Symbolic],
        input: Symbolic,
    ) -> Result<bool, LockError> {
        let remembered = self.live_at(program, path)?.old_tokens()?;
        if remembered.is_empty() {
            return Ok(false);
        }
        let replies = self.local_replies.items();
        let mut live = self.live_at(program, path)?;
        let output = live.step(input, replies)?;
        let answer = live.answer(&output)?;
        if live.keeps(symbols::OWN_STALE)? && !live.old_tokens()?.is_empty() {
            return Ok(true);
        }
        for token in remembered {
            let mut live = self.live_at(program, path)?;
            live.stale_token = Some(token);
            let output = live.step(input, replies)?;
            if live.answer(&output)? != answer {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The line that first sent what a reply answers.
    fn asking_line(&self, id: u32, input: Symbolic) -> u32 {
        let Symbolic::Reply { thread, .. } = input else {
            return 0;
        };
        let family = self.locals[id as usize].awaiting[usize::from(thread)];
        family.map_or(0, |family| self.family_lines[usize::from(family)])
    }

    fn add_local(
        &mut self,
        mut key: Vec<u8>,
        view: &View,
        awaiting: [Option<u16>; THREADS],
        parent: Option<(u32, Symbolic)>,
    ) -> u32 {
        // What a thread asked for is not on its stack any more, yet decides
        // which replies it can get.
        for family in awaiting {
            key.extend(family.map_or([0xff, 0xff], u16::to_le_bytes));
        }
        if let Some(&id) = self.local_index.get(&key) {
            return id;
        }
        let id = self.locals.len() as u32;
        self.local_index.insert(key, id);
        let facade = Facade::of(view);
        self.locals.push(Local {
            facade,
            awaiting,
            parent,
            next: BTreeMap::new(),
        });
        id
    }

    fn close_locals(
        &mut self,
        program: &mut dyn ClientProgram,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<(), ClosureError> {
        let mut id = 0;
        while id < self.locals.len() {
            if should_stop() {
                return Err(ClosureError::Stopped);
            }
            for input in self.open_inputs(id) {
                self.run(program, id as u32, input)?;
            }
            id += 1;
        }
        Ok(())
    }

    /// The inputs of a local state that were not run yet.
    fn open_inputs(&self, id: usize) -> Vec<Symbolic> {
        let local = &self.locals[id];
        let mut inputs = self.inputs_of(&local.facade);
        for (thread, family) in local.awaiting.iter().enumerate() {
            if let Some(family) = family {
                let thread = thread as u8;
                let replies = &self.family_replies[usize::from(*family)];
                inputs.extend(
                    replies
                        .iter()
                        .map(|&reply| Symbolic::Reply { thread, reply }),
                );
            }
        }
        inputs.retain(|input| !local.next.contains_key(input));
        inputs
    }

    /// The inputs that do not depend on replies.
    fn inputs_of(&self, facade: &Facade) -> Vec<Symbolic> {
        let mut inputs = Vec::new();
        match facade.phase {
            Phase::Idle => inputs.push(Symbolic::Call(Op::Acquire)),
            Phase::Held => {
                inputs.push(Symbolic::Call(Op::Release));
                if facade.holds < self.needs.holds_max {
                    inputs.push(Symbolic::Call(Op::Acquire));
                }
            }
            Phase::Acquiring | Phase::Releasing => {}
        }
        inputs.extend((1..=self.needs.advance_max).map(Symbolic::Advance));
        for (thread, wait) in facade.threads.iter().enumerate() {
            let thread = thread as u8;
            match wait {
                super::client::Wait::Ready | super::client::Wait::TimedOut { .. } => {
                    inputs.push(Symbolic::Wake(thread));
                }
                super::client::Wait::Choice { options } => {
                    inputs.extend((1..=*options).map(|value| Symbolic::Choose { thread, value }))
                }
                _ => {}
            }
            let waits = matches!(
                wait,
                super::client::Wait::Reply { .. } | super::client::Wait::TimedOut { .. }
            );
            if waits && self.needs.failing {
                inputs.push(Symbolic::Fail {
                    thread,
                    definite: false,
                });
            }
        }
        inputs
    }

    fn path_to(&self, id: u32) -> Vec<Symbolic> {
        let mut path = Vec::new();
        let mut at = id;
        while let Some((parent, input)) = self.locals[at as usize].parent {
            path.push(input);
            at = parent;
        }
        path.reverse();
        path
    }

    fn run(
        &mut self,
        program: &mut dyn ClientProgram,
        id: u32,
        input: Symbolic,
    ) -> Result<(), ClosureError> {
        let path = self.path_to(id);
        if self.brings_an_old_token(input) && self.finds_old_tokens(program, &path, input)? {
            let line = self.asking_line(id, input);
            return Err(ClosureError::TellsOldTokensApart { line });
        }
        let mut live = self.live_at(program, &path)?;
        let output = live.step(input, self.local_replies.items())?;
        let key = live.key()?;
        let view = live.view();
        if self.locals.len() > self.limits.locals || path.len() > self.limits.depth {
            let hint = growing_local(&live);
            return Err(unbounded("client state", self.locals.len(), hint));
        }
        if let Some((thread, _)) = view
            .threads
            .iter()
            .find(|(_, waiting)| matches!(waiting, Waiting::Message { .. }))
        {
            let what = format!("waiting for a message (thread {thread})");
            return Err(ClosureError::NotModelled {
                line: output.line,
                what,
            });
        }
        let emitted = self.emitted(&live, &output)?;
        let awaiting = self.awaiting_after(id, &view, &emitted);
        let next = self.add_local(key, &view, awaiting, Some((id, input)));
        self.locals[id as usize].next.insert(input, (emitted, next));
        Ok(())
    }

    /// The output in closed form; new commands get numbers and families.
    fn emitted(&mut self, live: &Live, output: &Output) -> Result<Emitted, ClosureError> {
        let mut emitted = Emitted {
            abandoned: output
                .abandoned
                .iter()
                .fold(0, |set, thread| set | 1 << thread),
            ending: ending_of(output),
            sent: Vec::new(),
        };
        for request in &output.sent {
            let argv = live.command(&request.argv);
            let command = self.add_local_command(argv, request.line)?;
            emitted.sent.push(Sent {
                thread: request.thread,
                node: request.node,
                command,
            });
        }
        Ok(emitted)
    }

    fn add_local_command(&mut self, argv: Vec<Bytes>, line: u32) -> Result<u16, ClosureError> {
        if let Some(id) = self.local_commands.find(&argv) {
            return Ok(id);
        }
        self.server_time |= unmodelled::examine(&argv, line)?;
        let id = intern(&mut self.local_commands, &argv, "set of commands")?;
        let family = self.family_of(&argv, line)?;
        for client in 0..self.needs.clients {
            for index in 0..self.needs.skews.len() {
                let skew = self.skew_ms(index);
                let argv = to_server(&argv, client, skew, self.needs.horizon_ms)
                    .map_err(|symbol| foreign(&argv, line, symbol))?;
                intern(
                    &mut self.commands,
                    &Command {
                        client,
                        family,
                        argv,
                    },
                    "set of commands",
                )?;
            }
        }
        Ok(id)
    }

    /// The number of an argv's family.
    fn family_of(&mut self, argv: &[Bytes], line: u32) -> Result<u16, ClosureError> {
        let masked: Vec<Bytes> = argv.iter().map(|word| symbols::mask_times(word)).collect();
        let family = intern(&mut self.families, &masked, "set of commands")?;
        if self.family_replies.len() <= usize::from(family) {
            self.family_replies.push(BTreeSet::new());
            self.family_lines.push(line);
        }
        Ok(family)
    }

    /// The family of a command that was seen before.
    pub fn family(&self, local_command: u16) -> u16 {
        let argv = self.local_commands.get(local_command);
        let masked: Vec<Bytes> = argv.iter().map(|word| symbols::mask_times(word)).collect();
        self.families.find(&masked).unwrap_or(u16::MAX)
    }

    fn awaiting_after(&self, from: u32, view: &View, emitted: &Emitted) -> [Option<u16>; THREADS] {
        let mut awaiting = [None; THREADS];
        for (thread, waiting) in &view.threads {
            if matches!(waiting, Waiting::Reply { .. } | Waiting::TimedOut { .. }) {
                awaiting[usize::from(*thread)] =
                    self.locals[from as usize].awaiting[usize::from(*thread)];
            }
        }
        for sent in &emitted.sent {
            let slot = &mut awaiting[usize::from(sent.thread)];
            let waits = view.threads.iter().any(|(thread, waiting)| {
                *thread == sent.thread && matches!(waiting, Waiting::Reply { .. })
            });
            *slot = waits.then(|| self.family(sent.command));
        }
        awaiting
    }

    // ---- messages ----

    /// The client clock offset with this index, in ms.
    pub fn skew_ms(&self, index: usize) -> i64 {
        i64::from(self.needs.skews[index]) * self.needs.tick_ms
    }

    /// Closes commands and replies under age and retirement, and hands every
    /// reply to the families that can get it.
    fn close_messages(&mut self) -> Result<(), ClosureError> {
        let masks = self.masks();
        let mut id = 0;
        while id < self.commands.len() {
            let command = self.commands.get(id as u16).clone();
            for argv in self.variants(&command.argv, &masks) {
                let variant = Command {
                    argv,
                    ..command.clone()
                };
                intern(&mut self.commands, &variant, "set of commands")?;
            }
            id += 1;
        }
        Ok(())
    }

    /// A message after a tick and after each retirement.
    fn variants(&self, argv: &[Bytes], masks: &[u8]) -> Vec<Vec<Bytes>> {
        let mut out = Vec::new();
        if self.needs.ageing && argv.iter().any(|word| symbols::has_time(word)) {
            let horizon = self.needs.horizon_ms;
            let age = |word: &Bytes| symbols::shift(word, -self.needs.tick_ms, horizon);
            out.push(argv.iter().map(age).collect());
        }
        for client in 0..self.needs.clients {
            if argv
                .iter()
                .any(|word| symbols::generations(word, client) != 0)
            {
                for mask in masks {
                    let map = retirement(*mask);
                    let retire = |word: &Bytes| symbols::retire(word, client, &map);
                    out.push(argv.iter().map(retire).collect());
                }
            }
        }
        out
    }

    /// The sets of token generations that messages in flight can name when
    /// their client starts a new attempt.
    pub fn masks(&self) -> Vec<u8> {
        let bits = (self.needs.slots + 1).min(GENERATIONS);
        (0..1u8 << bits)
            .filter(|mask| mask.count_ones() <= u32::from(self.needs.slots))
            .collect()
    }

    // ---- servers ----

    fn add_keyspace(&mut self, keyspace: &Keyspace) -> Result<u16, ClosureError> {
        let id = intern(&mut self.keyspaces, keyspace, "keyspace")?;
        if self.keyspaces.len() > self.limits.keyspaces {
            let hint = format!(": the last one holds {keyspace}");
            return Err(unbounded("keyspace", self.limits.keyspaces, hint));
        }
        Ok(id)
    }

    fn close_keyspaces(&mut self, scripts: &mut ScriptEngine) -> Result<(), ClosureError> {
        let masks = self.masks();
        let mut id = 0;
        let mut moved = 0;
        loop {
            while id < self.commands.len() {
                self.executions.resize(self.commands.len(), Vec::new());
                self.execute_everywhere(scripts, id)?;
                id += 1;
            }
            while moved < self.keyspaces.len() {
                self.move_keyspace(moved, &masks)?;
                moved += 1;
            }
            let done = |row: &Vec<Execution>| row.len() == self.keyspaces.len();
            if self.executions.iter().all(done) {
                break;
            }
            id = 0;
        }
        self.close_replies(&masks)
    }

    fn execute_everywhere(
        &mut self,
        scripts: &mut ScriptEngine,
        id: usize,
    ) -> Result<(), ClosureError> {
        let mut at = self.executions[id].len();
        while at < self.keyspaces.len() {
            let command = self.commands.get(id as u16);
            let before = self.keyspaces.get(at as u16);
            let executed = before.execute(scripts, command.client, &command.argv);
            let line = self.family_lines[usize::from(command.family)];
            unmodelled::examine_reply(&executed.reply, line)?;
            let overflow = executed.overflow.is_some();
            // What overflows is not represented: the world stops there.
            let after = if overflow {
                at as u16
            } else {
                self.add_keyspace(&executed.after)?
            };
            let reply = intern(&mut self.replies, &executed.reply, "set of replies")?;
            self.executions[id].push(Execution {
                after,
                reply,
                effect: executed.effect,
                overflow,
            });
            at += 1;
        }
        Ok(())
    }

    fn move_keyspace(&mut self, id: usize, masks: &[u8]) -> Result<(), ClosureError> {
        let keyspace = self.keyspaces.get(id as u16).clone();
        let Needs {
            tick_ms,
            horizon_ms,
            jump,
            clients,
            ..
        } = self.needs;
        self.add_keyspace(&keyspace.advance(tick_ms, horizon_ms))?;
        self.add_keyspace(&keyspace.emptied())?;
        if jump > 0 {
            for jumped in self.jumps(&keyspace) {
                self.add_keyspace(&jumped)?;
            }
        }
        for client in 0..clients {
            for mask in masks {
                self.add_keyspace(&keyspace.retire(client, &retirement(*mask)))?;
            }
        }
        Ok(())
    }

    /// The keyspace after the server's clock jumped forward and back.
    pub fn jumps(&self, keyspace: &Keyspace) -> [Keyspace; 2] {
        let ms = i64::from(self.needs.jump) * self.needs.tick_ms;
        // Above what any budget can reach, so that holding lives there loses nothing.
        let life_max = self.needs.ttl_ms + 8 * ms;
        [ms, -ms].map(|ms| keyspace.jump(ms, self.server_time, life_max))
    }

    /// Closes replies under age and retirement and translates them for clients.
    fn close_replies(&mut self, masks: &[u8]) -> Result<(), ClosureError> {
        // Which families can get which reply.
        let mut reach: BTreeSet<(u16, u16)> = BTreeSet::new();
        for (id, row) in self.executions.iter().enumerate() {
            let command = self.commands.get(id as u16);
            for execution in row {
                reach.insert((command.family, execution.reply));
            }
        }
        let mut open: Vec<(u16, u16)> = reach.iter().copied().collect();
        while let Some((family, reply)) = open.pop() {
            for variant in self.reply_variants(reply, masks) {
                let id = intern(&mut self.replies, &variant, "set of replies")?;
                if reach.insert((family, id)) {
                    open.push((family, id));
                }
            }
        }
        for (family, reply) in reach {
            self.hand_to_clients(family, reply)?;
        }
        Ok(())
    }

    fn reply_variants(&self, reply: u16, masks: &[u8]) -> Vec<Reply> {
        let reply = self.replies.get(reply);
        let mut out = Vec::new();
        if self.needs.ageing {
            out.push(self.aged_reply(reply));
        }
        for client in 0..self.needs.clients {
            for mask in masks {
                out.push(self.retired_reply(reply, client, *mask));
            }
        }
        out
    }

    /// A reply one tick later.
    pub fn aged_reply(&self, reply: &Reply) -> Reply {
        let Needs {
            tick_ms,
            horizon_ms,
            ..
        } = self.needs;
        symbols::map_reply(reply, &mut |text| {
            symbols::shift(text, -tick_ms, horizon_ms)
        })
    }

    /// A reply after a client started a new attempt.
    pub fn retired_reply(&self, reply: &Reply, client: u8, mask: u8) -> Reply {
        let map = retirement(mask);
        symbols::map_reply(reply, &mut |text| symbols::retire(text, client, &map))
    }

    /// A reply as `client` reads it.
    pub fn local_reply(&self, reply: &Reply, client: u8, skew_ms: i64) -> Reply {
        let horizon = self.needs.horizon_ms;
        symbols::map_reply(reply, &mut |text| {
            symbols::to_local(text, client, skew_ms, horizon)
        })
    }

    fn hand_to_clients(&mut self, family: u16, reply: u16) -> Result<(), ClosureError> {
        for client in 0..self.needs.clients {
            for index in 0..self.needs.skews.len() {
                let skew = self.skew_ms(index);
                let local = self.local_reply(self.replies.get(reply), client, skew);
                let id = intern(&mut self.local_replies, &local, "set of replies")?;
                self.family_replies[usize::from(family)].insert(id);
                self.add_twin(family, id, &local)?;
            }
        }
        Ok(())
    }

    fn add_twin(&mut self, family: u16, id: u16, local: &Reply) -> Result<(), ClosureError> {
        let mut found = false;
        let twin = symbols::map_reply(local, &mut |text| match symbols::twin(text) {
            Some(twin) => {
                found = true;
                twin
            }
            None => text.to_vec(),
        });
        if found {
            let twin = intern(&mut self.local_replies, &twin, "set of replies")?;
            self.family_replies[usize::from(family)].insert(twin);
            self.twins.insert(twin, id);
        }
        Ok(())
    }

    /// The number of a local state that the concrete side reached.
    pub fn find_local(&self, mut key: Vec<u8>, awaiting: [Option<u16>; THREADS]) -> Option<u32> {
        for family in awaiting {
            key.extend(family.map_or([0xff, 0xff], u16::to_le_bytes));
        }
        self.local_index.get(&key).copied()
    }
}

/// How an operation ended with an output, if one did; a background thread that
/// reports the lock lost ends the hold.
pub(super) fn ending_of(output: &Output) -> Option<(Op, Ending)> {
    let ended = output.outcome.as_ref();
    ended
        .map(|(op, outcome)| (*op, Ending::of(outcome)))
        .or(output.lost.then_some((Op::Acquire, Ending::Lost)))
}

/// Names the numbers that have grown, for the user to look at.
fn growing_local(live: &Live) -> String {
    let locals: Vec<String> = live
        .locals()
        .into_iter()
        .filter(|(_, value)| value.parse::<f64>().is_ok_and(|n| n.abs() > 20.0))
        .map(|(name, value)| format!("{name} = {value}"))
        .collect();
    if locals.is_empty() {
        String::new()
    } else {
        format!(": look at {}", locals.join(", "))
    }
}

/// What becomes of each generation when a client starts a new attempt while
/// its messages in flight name the generations in `mask`.
pub fn retirement(mask: u8) -> [u8; GENERATIONS as usize] {
    let mut map = [STALE; GENERATIONS as usize];
    let mut rank = 1;
    for generation in 0..GENERATIONS {
        if mask & 1 << generation != 0 {
            map[usize::from(generation)] = rank.min(STALE);
            rank += 1;
        }
    }
    map
}

/// A command line as the servers see it.
pub fn to_server(
    argv: &[Bytes],
    client: u8,
    skew_ms: i64,
    horizon_ms: i64,
) -> Result<Vec<Bytes>, String> {
    argv.iter()
        .map(|word| symbols::to_server(word, client, skew_ms, horizon_ms))
        .collect()
}

fn foreign(argv: &[Bytes], line: u32, symbol: String) -> ClosureError {
    ClosureError::ForeignToken {
        line,
        command: printable(argv),
        symbol,
    }
}

pub(super) fn printable(argv: &[Bytes]) -> String {
    let words: Vec<_> = argv
        .iter()
        .take(4)
        .map(|word| String::from_utf8_lossy(word))
        .collect();
    words.join(" ")
}

fn intern<T: Clone + Eq + std::hash::Hash>(
    interner: &mut Interner<T>,
    value: &T,
    what: &'static str,
) -> Result<u16, ClosureError> {
    interner
        .intern(value)
        .ok_or_else(|| unbounded(what, usize::from(u16::MAX), String::new()))
}

fn unbounded(what: &'static str, limit: usize, hint: String) -> ClosureError {
    ClosureError::Unbounded { what, limit, hint }
}
