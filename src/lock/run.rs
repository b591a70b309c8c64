//! How a program takes an input: timers, waking, and the end of operations.

use mlua::thread::ThreadStatus;
use mlua::{MultiValue, Value};

use super::ask::Next;
use super::convert::{self, CommandError};
use super::error::LockError;
use super::program::{Program, THREADS_MAX, Worker};
use super::types::*;
use super::walk;
use crate::trace::Outcome;

/// Waits in one operation. Far above what a lock does, far below for ever.
const WAITS_MAX: u32 = 10_000;

impl Program {
    /// Does what `input` says; true if Lua ran.
    pub(crate) fn dispatch(
        &mut self,
        input: &Input,
        output: &mut Output,
    ) -> Result<bool, LockError> {
        self.vm.begin_step();
        match input {
            Input::Advance { ms } => {
                self.advance(input, *ms)?;
                return Ok(false);
            }
            Input::Skew { ms } => {
                self.skew(*ms)?;
                return Ok(false);
            }
            Input::Message { channel, payload } => return self.message(channel, payload, output),
            Input::Call { op, token } => self.call(input, *op, token.as_deref(), output)?,
            Input::Wake { thread } => self.wake(input, *thread, output)?,
            Input::Choose { thread, value } => {
                let worker = self.worker(input, *thread)?;
                match worker.waiting {
                    Waiting::Choice { options } if (1..=options).contains(value) => {}
                    other => {
                        return Err(not_now(input, &format!("the thread waits for {other:?}")));
                    }
                }
                let value = Value::Number(f64::from(*value));
                self.run(*thread, MultiValue::from_iter([value]), output)?;
            }
            Input::Reply { thread, reply } => {
                self.expects_reply(input, *thread)?;
                let values = convert::reply_values(&self.vm.lua, reply)?;
                self.run(*thread, values, output)?;
            }
            Input::Fail {
                thread,
                definite,
                message,
            } => {
                self.expects_reply(input, *thread)?;
                let error = CommandError {
                    definite: *definite,
                    code: "CONNECTION",
                    message,
                    timeout: false,
                };
                let values = error.into_values(&self.vm.lua)?;
                self.run(*thread, values, output)?;
            }
        }
        Ok(true)
    }

    fn worker(&mut self, input: &Input, thread: Thread) -> Result<&mut Worker, LockError> {
        let worker = self.client.workers.get_mut(thread as usize);
        worker
            .and_then(Option::as_mut)
            .ok_or_else(|| not_now(input, &format!("there is no thread {thread}")))
    }

    fn expects_reply(&mut self, input: &Input, thread: Thread) -> Result<(), LockError> {
        match self.worker(input, thread)?.waiting {
            Waiting::Reply { .. } | Waiting::TimedOut { .. } => Ok(()),
            other => Err(not_now(input, &format!("the thread waits for {other:?}"))),
        }
    }

    fn advance(&mut self, input: &Input, ms: i64) -> Result<(), LockError> {
        if ms < 0 {
            return Err(not_now(
                input,
                "time only goes on; use Skew to set the clock back",
            ));
        }
        let horizon = self.config.horizon_ms;
        let client = &mut self.client;
        client.op_age_ms = (client.op_age_ms + ms).min(horizon);
        client.lease_ms = (client.lease_ms - ms).max(-horizon);
        for worker in client.workers.iter_mut().flatten() {
            worker.waiting = match worker.waiting {
                Waiting::Reply { node, timeout_ms } if timeout_ms <= ms => {
                    Waiting::TimedOut { node }
                }
                Waiting::Reply { node, timeout_ms } => Waiting::Reply {
                    node,
                    timeout_ms: timeout_ms - ms,
                },
                Waiting::Sleep { left_ms } | Waiting::Message { left_ms } if left_ms <= ms => {
                    Waiting::Ready
                }
                Waiting::Sleep { left_ms } => Waiting::Sleep {
                    left_ms: left_ms - ms,
                },
                Waiting::Message { left_ms } => Waiting::Message {
                    left_ms: left_ms - ms,
                },
                other => other,
            };
        }
        self.skew(ms)
    }

    fn skew(&mut self, ms: i64) -> Result<(), LockError> {
        let horizon = self.config.horizon_ms;
        let client = &mut self.client;
        client.clock_ms += ms;
        client.validity_ms = client
            .validity_ms
            .map(|left| (left - ms).clamp(-horizon, horizon));
        self.vm.set_clock(self.client.clock_ms)?;
        Ok(())
    }

    fn message(
        &mut self,
        channel: &str,
        payload: &str,
        output: &mut Output,
    ) -> Result<bool, LockError> {
        const INBOX_MAX: usize = 8;
        let client = &mut self.client;
        if !client.channels.contains(channel) {
            return Ok(false);
        }
        let waits = |w: &Option<Worker>| matches!(w, Some(w) if matches!(w.waiting, Waiting::Message { .. }));
        let Some(thread) = client.workers.iter().position(waits) else {
            // Kept for the next wait(): a message that arrives while the client is
            // busy with something else must not be lost by our doing.
            if client.inbox.len() == INBOX_MAX {
                client.inbox.pop_front();
            }
            client.inbox.push_back((channel.into(), payload.into()));
            return Ok(false);
        };
        let values = self.message_values(channel, payload)?;
        self.run(thread as Thread, values, output)?;
        Ok(true)
    }

    pub(crate) fn message_values(
        &self,
        channel: &str,
        payload: &str,
    ) -> Result<MultiValue, LockError> {
        let payload = self.vm.lua.create_string(payload)?;
        let channel = self.vm.lua.create_string(channel)?;
        Ok(MultiValue::from_iter([
            Value::String(payload),
            Value::String(channel),
        ]))
    }

    fn call(
        &mut self,
        input: &Input,
        op: Op,
        token: Option<&str>,
        output: &mut Output,
    ) -> Result<(), LockError> {
        let reentrant = self.file.reentrant;
        let (function, line) = match (op, self.client.phase, token) {
            (Op::Acquire, Phase::Idle, Some(token)) => {
                self.set_token(token)?;
                self.client.phase = Phase::Acquiring;
                self.acquire.clone()
            }
            (Op::Acquire, Phase::Held, None) if reentrant => {
                self.client.phase = Phase::Acquiring;
                self.acquire.clone()
            }
            (Op::Release, Phase::Held, None) => {
                self.client.phase = Phase::Releasing;
                self.client.holds -= 1;
                if self.client.holds == 0 {
                    self.client.drop_hold();
                }
                self.release.clone()
            }
            (_, phase, _) => {
                return Err(not_now(
                    input,
                    &format!(
                        "the client is {phase:?} (an outermost acquire brings a token, nothing else does; \
                         nesting needs `reentrant = true`)"
                    ),
                ));
            }
        };
        self.client.op = Some(op);
        self.client.op_age_ms = 0;
        self.client.op_sent = false;
        self.client.op_waits = 0;
        self.client.workers[0] = Some(Worker {
            coroutine: Some(self.vm.lua.create_thread(function)?),
            body: None,
            every_ms: None,
            waiting: Waiting::Ready,
            line,
        });
        let lock = self.lock.clone();
        self.run(0, MultiValue::from_iter([lock]), output)
    }

    fn wake(
        &mut self,
        input: &Input,
        thread: Thread,
        output: &mut Output,
    ) -> Result<(), LockError> {
        match self.worker(input, thread)?.waiting {
            Waiting::Ready => self.run(thread, MultiValue::new(), output),
            Waiting::TimedOut { .. } => {
                output.abandoned.push(thread);
                let error = CommandError {
                    definite: false,
                    code: "TIMEOUT",
                    message: "no reply in time",
                    timeout: true,
                };
                let values = error.into_values(&self.vm.lua)?;
                self.run(thread, values, output)
            }
            other => Err(not_now(input, &format!("the thread waits for {other:?}"))),
        }
    }

    /// Resumes a thread with `values` and answers what it asks for, until it
    /// waits or ends.
    fn run(
        &mut self,
        thread: Thread,
        values: MultiValue,
        output: &mut Output,
    ) -> Result<(), LockError> {
        let coroutine = {
            let lua = &self.vm.lua;
            // The callers looked the worker up; a missing one has nothing to run.
            let Some(worker) = &mut self.client.workers[thread as usize] else {
                return Ok(());
            };
            output.line = worker.line;
            match (&worker.coroutine, &worker.body) {
                (Some(coroutine), _) => coroutine.clone(),
                (None, Some(body)) => {
                    let coroutine = lua.create_thread(body.clone())?;
                    worker.coroutine = Some(coroutine.clone());
                    coroutine
                }
                (None, None) => return Ok(()),
            }
        };
        let mut values = values;
        loop {
            let yielded = coroutine.resume::<MultiValue>(values);
            let yielded = yielded.map_err(|error| {
                let line = walk::line_of(&self.vm.lua, &coroutine);
                self.places().explain(&error, line)
            })?;
            if coroutine.status() != ThreadStatus::Resumable {
                return self.ended(thread, yielded, output);
            }
            match self.answer(thread, yielded, output)? {
                Next::Resume(with) => values = with,
                Next::Wait(waiting) => return self.wait(thread, waiting, output.line),
                Next::Fail(reason) if thread == 0 => {
                    return self.end_operation(Outcome::Failed { reason }, output);
                }
                Next::Fail(_) | Next::End => {
                    self.client.workers[thread as usize] = None;
                    return Ok(());
                }
            }
        }
    }

    fn wait(&mut self, thread: Thread, waiting: Waiting, line: u32) -> Result<(), LockError> {
        if thread == 0 {
            self.client.op_waits += 1;
            if self.client.op_waits > WAITS_MAX {
                return Err(LockError::Run {
                    at: format!("{}:{line}", self.file.path),
                    message: format!(
                        "one operation waited {WAITS_MAX} times; give its loop a last round"
                    ),
                });
            }
        }
        if let Some(worker) = &mut self.client.workers[thread as usize] {
            worker.waiting = waiting;
            worker.line = line;
        }
        Ok(())
    }

    /// A thread's function returned.
    fn ended(
        &mut self,
        thread: Thread,
        values: MultiValue,
        output: &mut Output,
    ) -> Result<(), LockError> {
        let first = values.into_iter().next().unwrap_or(Value::Nil);
        if thread == 0 {
            let outcome = self.outcome(&first)?;
            return self.end_operation(outcome, output);
        }
        let slot = &mut self.client.workers[thread as usize];
        let again = slot
            .as_ref()
            .and_then(|worker| worker.every_ms)
            .filter(|_| !matches!(first, Value::Boolean(false)));
        match (slot.as_mut(), again) {
            (Some(worker), Some(left_ms)) => {
                worker.coroutine = None;
                worker.waiting = Waiting::Sleep { left_ms };
            }
            _ => *slot = None,
        }
        Ok(())
    }

    fn end_operation(&mut self, outcome: Outcome, output: &mut Output) -> Result<(), LockError> {
        let client = &mut self.client;
        client.workers[0] = None;
        let Some(op) = client.op.take() else {
            return Ok(());
        };
        match (&outcome, op) {
            (Outcome::Held { validity_ms, .. }, Op::Acquire) => {
                let horizon = self.config.horizon_ms;
                let nested = client.holds > 0;
                client.holds = client.holds.saturating_add(1);
                if let Some(validity) = validity_ms {
                    client.validity_ms = Some((*validity).clamp(-horizon, horizon));
                }
                // An inner acquire that sent nothing prolonged nothing.
                if !nested || client.op_sent {
                    client.lease_ms = self.config.ttl_ms - client.op_age_ms;
                }
            }
            (Outcome::Lost, _) => client.drop_hold(),
            _ => {}
        }
        client.phase = if client.holds > 0 {
            Phase::Held
        } else {
            Phase::Idle
        };
        client.op_age_ms = 0;
        output.outcome = Some((op, outcome));
        Ok(())
    }

    /// A background thread found that the lock is lost.
    pub(crate) fn lose(&mut self, output: &mut Output) {
        output.lost = true;
        self.client.drop_hold();
        if self.client.phase == Phase::Held {
            self.client.phase = Phase::Idle;
        }
    }

    /// Starts a background thread; gives its number.
    pub(crate) fn add_worker(&mut self, worker: Worker) -> Option<usize> {
        let free = (1..THREADS_MAX).find(|id| self.client.workers[*id].is_none())?;
        self.client.workers[free] = Some(worker);
        Some(free)
    }
}

pub(crate) fn not_now(input: &Input, why: &str) -> LockError {
    LockError::Driver {
        input: format!("{input:?}"),
        why: why.to_string(),
    }
}
