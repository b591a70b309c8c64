//! The client's local states: every input that each of them takes.

use std::collections::BTreeMap;

use lockproof_lua::RefusalKind;
use lockproof_redis::Reply;
use lockproof_trace::Outcome;

use super::error::{intern, unbounded};
use super::{ACQUIRE, BACKGROUND, Closure, ClosureError, HOLDER, Local, LocalCommand, RELEASE};
use crate::lock::{Exchange, LockError, Op, Output, Phase, View, Waiting};
use crate::world::client::{Emitted, Ending, Facade, Sent, Symbolic, THREADS, Wait};
use crate::world::fences;
use crate::world::owners::Sender;
use crate::world::program::ClientProgram;
use crate::world::watches::Guard;

/// Different contents of a handle that two callers share, with what else is handed over. Each
/// meets every local state.
const EXCHANGES_MAX: usize = 64;

impl Closure {
    pub(super) fn add_root(&mut self, program: &dyn ClientProgram, object: u8) {
        let program = program.fork();
        let (key, view) = (program.key(), program.view());
        self.add_local(key, &view, [None; THREADS], (0, object), program);
    }

    fn add_local(
        &mut self,
        mut key: Vec<u8>,
        view: &View,
        awaiting: [Option<u16>; THREADS],
        (depth, object): (u32, u8),
        mut program: Box<dyn ClientProgram>,
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
        let mut facade = Facade::of(view, self.renews);
        if self.rules.keys.has_fences() {
            program.map_fences(&mut |rank| {
                facade.fences |= fences::bit(rank);
                rank
            });
        }
        self.locals.push(Local {
            facade,
            object,
            awaiting,
            depth,
            program: Some(program),
            next: BTreeMap::new(),
        });
        id
    }

    pub(super) fn close_locals(
        &mut self,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<(), ClosureError> {
        let mut id = 0;
        while id < self.locals.len() {
            for input in self.open_inputs(id) {
                if should_stop() {
                    return Err(ClosureError::Stopped);
                }
                self.run(id as u32, input)?;
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
                if self.is_multi(*family, true) && !self.needs.refused {
                    let definite = true;
                    inputs.push(Symbolic::Fail { thread, definite });
                }
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
            Phase::Idle => {
                let acquires = self.operations.iter().filter(|op| op.mode().is_some());
                inputs.extend(acquires.map(|op| Symbolic::Call(*op)));
            }
            Phase::Held => {
                inputs.push(Symbolic::Call(Op::Release));
                if facade.holds < self.needs.holds_max {
                    let nested = |op: &&Op| op.mode() == Some(facade.mode);
                    let nested = self.operations.iter().filter(nested);
                    inputs.extend(nested.map(|op| Symbolic::Call(*op)));
                }
                let others = self
                    .operations
                    .iter()
                    .filter(|op| op.while_held().is_some());
                inputs.extend(others.map(|op| Symbolic::Call(*op)));
            }
            Phase::Acquiring | Phase::Releasing | Phase::Renewing | Phase::Asking => {}
        }
        inputs.extend((1..=self.needs.advance_max).map(Symbolic::Advance));
        inputs.extend((0..self.messages.len() as u16).map(Symbolic::Message));
        inputs.extend((0..self.exchanges.len() as u16).map(Symbolic::Exchange));
        if self.needs.cancels && facade.can_be_cancelled() {
            inputs.push(Symbolic::Cancel);
        }
        if facade.fences != 0 {
            let all = self.needs.renumberings().into_iter();
            let told = all.filter(|renumbering| renumbering.is_for_all());
            inputs.extend(told.map(|how| Symbolic::Renumber(how.index() as u8)));
        }
        if self.needs.step > 0 {
            inputs.extend([self.needs.step, -self.needs.step].map(Symbolic::Skew));
        }
        for (thread, wait) in facade.threads.iter().enumerate() {
            let thread = thread as u8;
            match wait {
                Wait::Ready | Wait::TimedOut { .. } => inputs.push(Symbolic::Wake(thread)),
                Wait::Choice { options } => {
                    inputs.extend((1..=*options).map(|value| Symbolic::Choose { thread, value }));
                }
                Wait::Open { .. } => {
                    inputs.extend([1, 2].map(|value| Symbolic::Choose { thread, value }));
                }
                Wait::Time | Wait::Message | Wait::Reply { .. } => {}
            }
            let waits = matches!(wait, Wait::Reply { .. } | Wait::TimedOut { .. });
            let fails = [(self.needs.failing, false), (self.needs.refused, true)];
            for (_, definite) in fails.into_iter().filter(|(can, _)| waits && *can) {
                inputs.push(Symbolic::Fail { thread, definite });
            }
        }
        inputs
    }

    fn run(&mut self, id: u32, input: Symbolic) -> Result<(), ClosureError> {
        let local = &self.locals[id as usize];
        let (depth, object) = (local.depth + 1, local.object);
        let outermost = local.facade.holds == 0;
        let Some(program) = &local.program else {
            return Ok(());
        };
        let mut program = program.fork();
        let replies = self.local_replies.items();
        let heard = match input {
            Symbolic::Message(_) => self.messages_heard(),
            _ => Vec::new(),
        };
        let told = (&heard[..], self.exchanges.items());
        let concrete = input.input(outermost, replies, told, self.needs.step_ms);
        let stepped = match (concrete, input) {
            (Some(concrete), _) => program.step(&concrete),
            (None, Symbolic::Renumber(how)) => {
                let how = self.needs.renumberings()[usize::from(how)];
                program.map_fences(&mut |rank| how.rank(rank));
                Ok(Output::default())
            }
            (None, _) => Ok(Output::default()),
        };
        let output = match stepped {
            Ok(output) => output,
            Err(error) => return self.refused(id, input, error),
        };
        if let Some(line) = sends_a_fence(&output) {
            let reason = format!(
                "{}: the lock sends the value of a fence in a command, where the model does not \
                 follow it",
                self.at(line)
            );
            return self.poisoned(id, input, RefusalKind::Names, reason);
        }
        let (key, view) = (program.key(), program.view());
        self.validity_ms = self.validity_ms.max(view.validity_left_ms);
        if self.locals.len() > self.limits.locals || depth > self.limits.depth {
            let hint = self.longest().unwrap_or_else(|| growing_local(&*program));
            return Err(unbounded("client", self.locals.len(), hint));
        }
        for used in &output.durations {
            self.note_duration(used.ms, used.line);
        }
        let mut emitted = self.emitted(&*program, &output, object)?;
        let exchange = output.exchange.as_ref();
        if let Some(exchange) = exchange.filter(|_| self.needs.shared_handle) {
            let Some(number) = self.add_exchange(exchange)? else {
                let reason = self.too_many_handles();
                return self.poisoned(id, input, RefusalKind::Names, reason);
            };
            emitted.exchange = number + 1;
        }
        if self.keeps {
            emitted.kept = output.kept;
            self.kept.insert(output.kept);
        }
        self.note_senders(id, input, &emitted);
        emitted.rounded = output.late;
        let awaiting = self.awaiting_after(id, &view, &emitted);
        let next = self.add_local(key, &view, awaiting, (depth, object), program);
        self.locals[id as usize].next.insert(input, (emitted, next));
        Ok(())
    }

    /// The program depends on what the model does not have.
    fn refused(&mut self, id: u32, input: Symbolic, error: LockError) -> Result<(), ClosureError> {
        let reason = error.to_string();
        let kind = match &error {
            LockError::Refused { refusal, .. } => refusal.kind,
            // A state and a handle that never meet may have met here. If the search gets there,
            // they do.
            LockError::Run { .. } if self.needs.shared_handle => RefusalKind::Names,
            LockError::Run { .. } if self.is_unexpected_abort(id, input) => RefusalKind::Names,
            _ if self.has_no_reply(id, input) => return Err(without_reply(error).into()),
            _ => return Err(error.into()),
        };
        match kind {
            RefusalKind::Names
            | RefusalKind::Horizon
            | RefusalKind::Rounding
            | RefusalKind::Order => {}
            // Whatever the state, such a program is not in the model.
            RefusalKind::Digits | RefusalKind::Lacks | RefusalKind::Limit => {
                return Err(error.into());
            }
        }
        self.poisoned(id, input, kind, reason)
    }

    /// The number of what one caller gives to the other; `None` if a handle takes too many
    /// contents to follow.
    fn add_exchange(&mut self, exchange: &Exchange) -> Result<Option<u16>, ClosureError> {
        if let Some(known) = self.exchanges.find(exchange) {
            return Ok(Some(known));
        }
        if self.exchanges.len() >= EXCHANGES_MAX {
            return Ok(None);
        }
        intern(&mut self.exchanges, exchange, "set of handles' contents").map(Some)
    }

    fn too_many_handles(&self) -> String {
        format!(
            "{}: the handle that two callers share takes more than {EXCHANGES_MAX} different contents",
            self.at(0)
        )
    }

    /// Nothing can be said about what the program does.
    fn poisoned(
        &mut self,
        id: u32,
        input: Symbolic,
        kind: RefusalKind,
        reason: String,
    ) -> Result<(), ClosureError> {
        let poison = self.poison(kind, reason);
        let emitted = Emitted {
            poison,
            ..Emitted::default()
        };
        self.locals[id as usize].next.insert(input, (emitted, id));
        Ok(())
    }

    /// The client goes on without the reply that it waited for.
    fn has_no_reply(&self, id: u32, input: Symbolic) -> bool {
        let waits = |thread: u8| self.locals[id as usize].facade.threads[usize::from(thread)];
        match input {
            Symbolic::Wake(thread) => matches!(waits(thread), Wait::TimedOut { .. }),
            Symbolic::Fail { .. } => true,
            Symbolic::Call(_)
            | Symbolic::Skew(_)
            | Symbolic::Advance(_)
            | Symbolic::Choose { .. }
            | Symbolic::Reply { .. }
            | Symbolic::Message(_)
            | Symbolic::Exchange(_)
            | Symbolic::Cancel
            | Symbolic::Renumber(_) => false,
        }
    }

    /// A transaction that no watch guards was not executed. That is so only if an operation left
    /// its connection watching, and most never do.
    fn is_unexpected_abort(&self, id: u32, input: Symbolic) -> bool {
        let Symbolic::Reply { thread, reply } = input else {
            return false;
        };
        let family = self.locals[id as usize].awaiting[usize::from(thread)];
        let plain = family.is_some_and(|family| self.is_multi(family, false));
        plain && *self.local_replies.get(reply) == Reply::Nil
    }

    pub(super) fn at(&self, line: u32) -> String {
        match line {
            0 => self.file.clone(),
            line => format!("{}:{line}", self.file),
        }
    }

    /// The output in closed form; new commands get numbers and families.
    fn emitted(
        &mut self,
        program: &dyn ClientProgram,
        output: &Output,
        object: u8,
    ) -> Result<Emitted, ClosureError> {
        let mut emitted = Emitted {
            abandoned: output
                .abandoned
                .iter()
                .fold(0, |set, thread| set | 1 << thread),
            ending: ending_of(output.outcome.as_ref(), output.lost),
            broken: output.broken.len().min(usize::from(u8::MAX)) as u8,
            fence: output.fence,
            ..Emitted::default()
        };
        let view = program.view();
        let leaves = view.phase == Phase::Releasing && view.holds == 0;
        for request in &output.sent {
            let local = LocalCommand {
                sender: Sender::of(view.mode, leaves && request.thread == 0),
                connection: Guard::connection(&request.argv, request.thread),
                object,
                argv: request.argv.clone(),
            };
            let command = self.add_local_command(program, &local, request.line)?;
            emitted.sent.push(Sent {
                thread: request.thread,
                node: request.node,
                command,
            });
        }
        Ok(emitted)
    }

    /// Which operation each command belongs to.
    fn note_senders(&mut self, from: u32, input: Symbolic, emitted: &Emitted) {
        let callers = match input {
            Symbolic::Call(Op::Release) => RELEASE,
            Symbolic::Call(op) if op.while_held().is_some() => HOLDER,
            Symbolic::Call(_) => ACQUIRE,
            _ => match self.locals[from as usize].facade.phase {
                Phase::Releasing => RELEASE,
                Phase::Renewing | Phase::Asking => HOLDER,
                Phase::Idle | Phase::Acquiring | Phase::Held => ACQUIRE,
            },
        };
        for sent in &emitted.sent {
            let family = usize::from(self.family(sent.command));
            self.family_senders[family] |= match sent.thread {
                0 => callers,
                _ => BACKGROUND,
            };
        }
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
}

/// How an operation ended with an output, if one did; a background thread that
/// reports the lock lost ends the hold.
pub(in crate::world) fn ending_of(
    outcome: Option<&(Op, Outcome)>,
    lost: bool,
) -> Option<(Op, Ending)> {
    outcome
        .map(|(op, outcome)| (*op, Ending::of(outcome)))
        .or(lost.then_some((Op::Acquire, Ending::Lost)))
}

/// The line that sends the value of a fence, if one does.
fn sends_a_fence(output: &Output) -> Option<u32> {
    let names = |word: &Vec<u8>| fences::ranks(word).next().is_some();
    let mut sent = output.sent.iter();
    let found = sent.find(|request| request.argv.iter().any(names));
    found.map(|request| request.line)
}

/// Names the numbers that have grown, for the user to look at.
fn growing_local(program: &dyn ClientProgram) -> String {
    let locals: Vec<String> = program
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

/// The same error, and how the program came to it if a nil is what is wrong.
fn without_reply(error: LockError) -> LockError {
    let of_nil = |message: &str| message.contains("nil") || message.contains("returned nothing");
    match error {
        LockError::Run { at, message } if of_nil(&message) => LockError::Run {
            at,
            message: format!(
                "{message}; that is so where no reply comes in time: the command gives nil, err then"
            ),
        },
        other => other,
    }
}
