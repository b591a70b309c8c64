//! How a program takes an input: timers, waking, and the end of operations.

use lockproof_lua::text::{Span, Text};
use lockproof_lua::{
    Key, Moment, Pause, Refusal, RefusalKind, Stop, Table, Thread as Stack, Value,
};
use lockproof_redis::Reply;
use lockproof_trace::Outcome;

use super::ask::{Next, message_values};
use super::cancel;
use super::error::LockError;
use super::names::{self, Turn};
use super::program::{Program, THREADS_MAX, Wait, Worker};
use super::transactions::Watching;
use super::types::*;

/// Why a command failed, for the `err` of `nil, err`.
struct CommandError<'a> {
    /// Surely not executed.
    definite: bool,
    code: &'a str,
    message: &'a str,
    timeout: bool,
}

impl Program {
    /// Does what `input` says.
    pub(crate) fn dispatch(&mut self, input: &Input, output: &mut Output) -> Result<(), LockError> {
        match input {
            Input::Advance { ms } => self.advance(input, *ms),
            Input::Skew { ms } => self.skew(input, *ms),
            Input::Message { channel, payload } => self.message(channel, payload, output),
            Input::Exchange(exchange) => self.take_over(exchange, output),
            Input::Call { op, token } => self.call(input, *op, token.as_deref(), output),
            Input::Wake { thread } => self.wake(input, *thread, output),
            Input::Choose { thread, value } => self.choose(input, *thread, *value, output),
            Input::Cancel => self.cancel(input, output),
            Input::Reply { thread, reply } => {
                let node = self.expects_reply(input, *thread)?;
                self.client.watching.answered(*thread, reply);
                if names::brings_names(reply) {
                    self.turn(Turn::Reply)?;
                }
                let values = self.reply_values(reply, node);
                self.run(*thread, values, output)
            }
            Input::Fail {
                thread,
                definite,
                message,
            } => {
                self.expects_reply(input, *thread)?;
                self.client.watching.unanswered(*thread);
                let values = self.failure(&CommandError {
                    definite: *definite,
                    code: "CONNECTION",
                    message,
                    timeout: false,
                });
                self.run(*thread, values, output)
            }
        }
    }

    fn worker(&mut self, input: &Input, thread: Thread) -> Result<&mut Worker, LockError> {
        let worker = self.client.workers.get_mut(usize::from(thread));
        worker
            .and_then(Option::as_mut)
            .ok_or_else(|| not_now(input, &format!("there is no thread {thread}")))
    }

    fn expects_reply(&mut self, input: &Input, thread: Thread) -> Result<u8, LockError> {
        match self.worker(input, thread)?.wait {
            Wait::Reply { node, .. } | Wait::TimedOut { node } => Ok(node),
            other => Err(not_now(input, &format!("the thread waits for {other:?}"))),
        }
    }

    /// So many ms as this program counts time.
    fn span(&self, ms: i64) -> Span {
        match self.shared.config.scale {
            None => Span { ms, ticks: 0 },
            Some(scale) => Span {
                ms: 0,
                ticks: (ms / scale.step_ms.max(1)) as i32,
            },
        }
    }

    /// Clocks that are moved by so much still show numbers of ms that Lua can tell apart.
    fn stays_in_reach(&self, input: &Input, ms: i64) -> Result<(), LockError> {
        let clocks = &self.machine.clocks;
        let fine = |clock: Moment| is_in_reach(clock.ms.saturating_add(ms));
        match is_in_reach(ms) && fine(clocks.wall) && fine(clocks.monotonic) {
            true => Ok(()),
            false => Err(not_now(input, "no clock can show that time")),
        }
    }

    fn advance(&mut self, input: &Input, ms: i64) -> Result<(), LockError> {
        if ms < 0 {
            return Err(not_now(
                input,
                "time only goes on; use Skew to set the clock back",
            ));
        }
        self.stays_in_reach(input, ms)?;
        let span = self.span(ms);
        let less = |left: Span| Span {
            ms: left.ms - span.ms,
            ticks: left.ticks - span.ticks,
        };
        let step_ms = self.ms(Span { ms: 0, ticks: 1 });
        let over = |left: Span| left.value(step_ms) <= 0;
        let tick_ms = self.shared.config.scale.map(|scale| scale.tick_ms);
        let late = |left: Span| tick_ms.is_some_and(|tick_ms| left.ms % tick_ms != 0);
        for worker in self.client.workers.iter_mut().flatten() {
            let left = match worker.wait {
                Wait::Reply { left, .. } | Wait::Sleep { left } | Wait::Message { left } => {
                    Some(left)
                }
                Wait::TimedOut { .. } | Wait::Ready | Wait::Choice { .. } | Wait::Open { .. } => {
                    None
                }
            };
            if let Some(left) = left {
                worker.late = over(less(left)) && late(left);
            }
            worker.wait = match worker.wait {
                Wait::Reply { node, left } => match less(left) {
                    left if over(left) => Wait::TimedOut { node },
                    left => Wait::Reply { node, left },
                },
                Wait::Sleep { left } => match less(left) {
                    left if over(left) => Wait::Ready,
                    left => Wait::Sleep { left },
                },
                Wait::Message { left } => match less(left) {
                    left if over(left) => Wait::Ready,
                    left => Wait::Message { left },
                },
                other => other,
            };
        }
        let monotonic = &mut self.machine.clocks.monotonic;
        *monotonic = monotonic.plus(span);
        let wall = &mut self.machine.clocks.wall;
        *wall = wall.plus(span);
        self.age_validity(span);
        Ok(())
    }

    /// The wall clock alone moves.
    fn skew(&mut self, input: &Input, ms: i64) -> Result<(), LockError> {
        self.stays_in_reach(input, ms)?;
        let span = self.span(ms);
        let wall = &mut self.machine.clocks.wall;
        *wall = wall.plus(span);
        // A validity is counted on the clock that the lock's own times come from.
        if !self.file().monotonic {
            self.age_validity(span);
        }
        let Some(scale) = self.shared.config.scale.filter(|_| ms < 0) else {
            return Ok(());
        };
        let (_, ahead_ms) = self.key_and_ahead();
        let left_ms = self.client.validity.map_or(0, |left| self.ms(left));
        if ahead_ms.max(left_ms) <= scale.horizon_ms {
            return Ok(());
        }
        let refusal = Refusal {
            kind: RefusalKind::Horizon,
            what: "has a time, or states a validity, so far ahead that the steps of a clock lead beyond what the model tells apart".into(),
            line: 0,
        };
        Err(self.explain(Stop::Refused(refusal)))
    }

    fn age_validity(&mut self, span: Span) {
        let over = self.client.validity.map(|left| self.is_over_for_good(left));
        if self.client.lost || over == Some(true) {
            return;
        }
        if let Some(left) = &mut self.client.validity {
            left.ms -= span.ms;
            left.ticks -= span.ticks;
        }
    }

    fn message(
        &mut self,
        channel: &[u8],
        payload: &str,
        output: &mut Output,
    ) -> Result<(), LockError> {
        const INBOX_MAX: usize = 8;
        let client = &mut self.client;
        if !client.channels.contains(channel) {
            return Ok(());
        }
        let waits =
            |w: &Option<Worker>| matches!(w, Some(w) if matches!(w.wait, Wait::Message { .. }));
        let Some(thread) = client.workers.iter().position(waits) else {
            // Kept for the next wait(): a message that arrives while the client is
            // busy with something else must not be lost by our doing. One that says what
            // a message that waits here says already tells nothing new.
            let known = |(on, said): &(Vec<u8>, String)| on == channel && said == payload;
            if client.inbox.iter().any(known) {
                return Ok(());
            }
            if client.inbox.len() == INBOX_MAX {
                client.inbox.pop_front();
            }
            client.inbox.push_back((channel.into(), payload.into()));
            return Ok(());
        };
        let model = self.machine.clocks.scale.is_some();
        let values = message_values(channel, payload, model);
        self.run(thread as Thread, values, output)
    }

    fn call(
        &mut self,
        input: &Input,
        op: Op,
        token: Option<&str>,
        output: &mut Output,
    ) -> Result<(), LockError> {
        let operations = &self.shared.operations;
        let Some((_, function)) = operations.iter().find(|(known, _)| *known == op) else {
            return Err(not_now(input, &format!("the lock has no `{}`", op.name())));
        };
        let function = function.clone();
        let nests = self.shared.file.reentrant && op.mode() == Some(self.client.mode);
        match (op.mode(), self.client.phase, token) {
            (Some(mode), Phase::Idle, Some(token)) => {
                if self.shared.config.scale.is_some() {
                    output.kept = self.turn(Turn::Attempt)?;
                }
                self.set_token(token);
                self.client.mode = mode;
                self.client.phase = Phase::Acquiring;
            }
            (Some(_), Phase::Held, None) if nests => self.client.phase = Phase::Acquiring,
            (None, Phase::Held, None) => match op.while_held() {
                Some(phase) => self.client.phase = phase,
                None => {
                    self.client.phase = Phase::Releasing;
                    self.client.holds -= 1;
                    if self.client.holds == 0 {
                        self.client.drop_hold();
                    }
                }
            },
            (_, phase, _) => {
                return Err(not_now(
                    input,
                    &format!(
                        "the client is {phase:?} (an outermost acquire brings a token, nothing else does; \
                         nesting needs `reentrant = true`, and the mode that is held)"
                    ),
                ));
            }
        }
        self.client.op = Some(op);
        let line = self.machine.line_of(&function);
        self.client.workers[0] = Some(Worker {
            line,
            ..Worker::of_caller(Stack::new(function, vec![self.shared.lock.clone()]))
        });
        self.run(0, Vec::new(), output)
    }

    fn wake(
        &mut self,
        input: &Input,
        thread: Thread,
        output: &mut Output,
    ) -> Result<(), LockError> {
        let worker = self.worker(input, thread)?;
        output.late = std::mem::take(&mut worker.late);
        match worker.wait {
            Wait::Ready => self.run(thread, Vec::new(), output),
            Wait::TimedOut { .. } => {
                output.abandoned.push(thread);
                self.client.watching.unanswered(thread);
                let values = self.failure(&CommandError {
                    definite: false,
                    code: "TIMEOUT",
                    message: "no reply in time",
                    timeout: true,
                });
                self.run(thread, values, output)
            }
            other => Err(not_now(input, &format!("the thread waits for {other:?}"))),
        }
    }

    fn choose(
        &mut self,
        input: &Input,
        thread: Thread,
        value: u8,
        output: &mut Output,
    ) -> Result<(), LockError> {
        let values = match self.worker(input, thread)?.wait {
            Wait::Choice { options } if (1..=options).contains(&value) => {
                vec![Value::Number(f64::from(value))]
            }
            Wait::Open { .. } if (1..=2).contains(&value) => vec![Value::Bool(value == 1)],
            other => return Err(not_now(input, &format!("the thread waits for {other:?}"))),
        };
        self.run(thread, values, output)
    }

    /// Resumes a thread with `values` and answers what it asks for, until it
    /// waits or ends.
    fn run(
        &mut self,
        thread: Thread,
        values: Vec<Value>,
        output: &mut Output,
    ) -> Result<(), LockError> {
        let Some(worker) = &self.client.workers[usize::from(thread)] else {
            return Ok(());
        };
        output.line = worker.line;
        let mut values = values;
        loop {
            let next = match self.resume(thread, values)? {
                Pause::Ended { values, line } => return self.ended(thread, (values, line), output),
                Pause::Open { line, at_ticks } => {
                    output.line = line;
                    Next::Wait(Wait::Open { at_ticks })
                }
                Pause::Waits { native, args, line } => {
                    output.line = line;
                    self.answer(thread, native, args, output)?
                }
            };
            match next {
                Next::Resume(with) => values = with,
                Next::Wait(wait) => {
                    self.wait(thread, wait, output.line);
                    return Ok(());
                }
                Next::Fail(reason) if thread == 0 => {
                    return self.end_operation(Outcome::Failed { reason }, None, output);
                }
                Next::Fail(_) | Next::End => {
                    self.client.workers[usize::from(thread)] = None;
                    return Ok(());
                }
            }
        }
    }

    fn wait(&mut self, thread: Thread, wait: Wait, line: u32) {
        if let Some(worker) = &mut self.client.workers[usize::from(thread)] {
            worker.wait = wait;
            worker.line = line;
        }
    }

    /// A thread's function returned these values, on this line.
    fn ended(
        &mut self,
        thread: Thread,
        (values, line): (Vec<Value>, u32),
        output: &mut Output,
    ) -> Result<(), LockError> {
        let first = values.into_iter().next().unwrap_or(Value::Nil);
        if thread == 0 && self.client.cancelled {
            return self.end_operation(cancel::failed(), None, output);
        }
        if thread == 0 {
            let (outcome, validity) = self.outcome(&first, line, output)?;
            return self.end_operation(outcome, validity, output);
        }
        let slot = &mut self.client.workers[usize::from(thread)];
        let again = slot
            .as_ref()
            .and_then(|worker| worker.every)
            .filter(|_| first != Value::Bool(false));
        match (slot.as_mut(), again) {
            (Some(worker), Some(left)) => {
                worker.stack = None;
                worker.wait = Wait::Sleep { left };
            }
            _ => *slot = None,
        }
        Ok(())
    }

    /// The operation that runs ends. However its clean-up ends, one that was cancelled has
    /// failed.
    pub(super) fn end_operation(
        &mut self,
        outcome: Outcome,
        validity: Option<Span>,
        output: &mut Output,
    ) -> Result<(), LockError> {
        let client = &mut self.client;
        client.workers[0] = None;
        client.watching = Watching::default();
        let cancelled = std::mem::take(&mut client.cancelled);
        let outcome = if cancelled { cancel::failed() } else { outcome };
        let Some(op) = client.op.take() else {
            return Ok(());
        };
        match (&outcome, op) {
            (Outcome::Held { .. }, op) if op.mode().is_some() => {
                client.holds = client.holds.saturating_add(1);
                if validity.is_some() && !client.lost {
                    client.validity = validity;
                }
            }
            (Outcome::Held { .. }, Op::Renew) if validity.is_some() && !client.lost => {
                client.validity = validity;
            }
            // Who is told that the lock is not held any more works no longer.
            (Outcome::Done { effect }, Op::Renew | Op::IsHeld) if *effect == Some(false) => {
                client.lose();
            }
            (Outcome::Lost, _) => client.lose(),
            _ => {}
        }
        client.phase = if client.holds > 0 {
            Phase::Held
        } else {
            Phase::Idle
        };
        output.outcome = Some((op, outcome));
        Ok(())
    }

    /// A background thread found that the lock is lost. The caller's work goes on
    /// until it calls release.
    pub(crate) fn lose(&mut self, output: &mut Output) {
        output.lost = self.client.holds > 0 && !self.client.lost;
        self.client.lose();
    }

    /// Starts a background thread; gives its number.
    pub(crate) fn add_worker(&mut self, worker: Worker) -> Option<usize> {
        let free = (1..THREADS_MAX).find(|id| self.client.workers[*id].is_none())?;
        self.client.workers[free] = Some(worker);
        Some(free)
    }

    // ---- values on their way in ----

    fn failure(&mut self, error: &CommandError<'_>) -> Vec<Value> {
        let mut table = Table::default();
        let mut set = |name: &str, value: Value| table.set(Key::Text(Text::from(name)), value);
        set("definite", Value::Bool(error.definite));
        set("code", Value::text(error.code));
        set("message", Value::text(error.message));
        set("timeout", Value::Bool(error.timeout));
        let table = self.machine.heap.table(table);
        vec![Value::Nil, Value::Table(table)]
    }

    /// A reply as the word gives it to the file: a value, or `nil, err`.
    fn reply_values(&mut self, reply: &Reply, node: u8) -> Vec<Value> {
        if let Reply::Error(message) = reply {
            let code = message.split(' ').next().unwrap_or("ERR");
            return self.failure(&CommandError {
                definite: true,
                code,
                message,
                timeout: false,
            });
        }
        vec![self.reply_value(reply, node)]
    }

    fn reply_value(&mut self, reply: &Reply, node: u8) -> Value {
        match reply {
            Reply::Nil => Value::Nil,
            Reply::Status(text) | Reply::Error(text) => Value::text(text),
            Reply::Int(number) => Value::Number(*number as f64),
            Reply::Bulk(bytes) => {
                let text = self.machine.incoming(bytes, node);
                match lockproof_lua::text::only_symbol(text.bytes()) {
                    Some(lockproof_lua::text::Symbol::Count(span)) if text.is_symbolic() => {
                        Value::span(span)
                    }
                    Some(lockproof_lua::text::Symbol::FenceCount(rank)) if text.is_symbolic() => {
                        lockproof_lua::fence(rank)
                    }
                    Some(lockproof_lua::text::Symbol::ManyCount(least)) if text.is_symbolic() => {
                        Value::many(least)
                    }
                    _ => Value::Text(text),
                }
            }
            Reply::Array(items) => {
                let list = items.iter().map(|item| match self.reply_value(item, node) {
                    // As in Redis's own scripts: false keeps the place of a nil.
                    Value::Nil => Value::Bool(false),
                    value => value,
                });
                let table = Table {
                    list: list.collect(),
                    ..Table::default()
                };
                Value::Table(self.machine.heap.table(table))
            }
        }
    }
}

/// What a clock may show, in ms since 1970: whole numbers beyond are none in Lua.
pub(crate) fn is_in_reach(ms: i64) -> bool {
    ms.unsigned_abs() <= 1 << 53
}

pub(crate) fn not_now(input: &Input, why: &str) -> LockError {
    LockError::Driver {
        input: format!("{input:?}"),
        why: why.to_string(),
    }
}
