//! Answers the words that suspend: what a thread asked for, and what comes next.

use mlua::{MultiValue, Table, Value};

use super::convert;
use super::error::LockError;
use super::program::{Program, THREADS_MAX, Worker};
use super::types::*;
use super::words::Word;
use crate::trace::Outcome;

/// What happens to the thread that asked.
pub(crate) enum Next {
    /// It runs on at once with these values.
    Resume(MultiValue),
    /// It waits.
    Wait(Waiting),
    /// It ends with an error of the user's own; the reason names the place.
    Fail(String),
    /// It ends.
    End,
}

/// A word with its arguments, as the C function yielded it.
struct Ask {
    word: Word,
    /// The user's line.
    line: u32,
    /// From 0.
    node: i64,
    /// ms, or negative for the default.
    timeout_ms: f64,
    values: MultiValue,
}

impl Ask {
    fn read(mut values: MultiValue, line_of: impl Fn(u32) -> u32) -> Option<Ask> {
        let timeout_ms = convert::number(&values.pop_back()?)?;
        let node = values.pop_back()?.as_i64()? - 1;
        let line = line_of(u32::try_from(values.pop_back()?.as_i64()?).unwrap_or(0));
        let word = Word::from_number(values.pop_back()?.as_i64()?)?;
        Some(Ask {
            word,
            line,
            node,
            timeout_ms,
            values,
        })
    }

    fn value(&self, index: usize) -> &Value {
        self.values.get(index).unwrap_or(&Value::Nil)
    }

    fn text(&self, index: usize) -> Option<String> {
        Some(self.value(index).as_string()?.to_string_lossy())
    }
}

type Answer = Result<Next, String>;

impl Program {
    /// Answers what a thread yielded.
    pub(crate) fn answer(
        &mut self,
        thread: Thread,
        yielded: MultiValue,
        output: &mut Output,
    ) -> Result<Next, LockError> {
        let lines = &self.file.rewritten;
        let ask = Ask::read(yielded, |line| lines.user_line(line));
        let Some(ask) = ask else {
            return Err(LockError::Engine(mlua::Error::runtime(
                "a coroutine yielded without a word",
            )));
        };
        output.line = ask.line;
        let answer = match ask.word {
            Word::Redis | Word::Script | Word::Subscribe | Word::Unsubscribe => {
                self.command(thread, &ask, output)
            }
            Word::Sleep => self.duration(&ask, 0).map(|ms| match ms {
                0 => Next::Wait(Waiting::Ready),
                left_ms => Next::Wait(Waiting::Sleep { left_ms }),
            }),
            Word::Random => random(&ask),
            Word::Wait => self.wait_for_message(&ask)?,
            Word::Spawn | Word::Every => self.spawn(&ask),
            Word::Stop => self.stop(thread, &ask, output),
            Word::Error => {
                let reason = ask.text(0).unwrap_or_else(|| "error".to_string());
                Ok(Next::Fail(format!(
                    "{}:{}: {reason}",
                    self.file.path, ask.line
                )))
            }
            Word::Lost if thread != 0 => {
                self.lose(output);
                Ok(Next::Resume(MultiValue::new()))
            }
            Word::Held | Word::Busy | Word::Failed | Word::Lost if thread != 0 => Err(format!(
                "{}() is an outcome of an operation; a background thread can only report lost()",
                ask.word.name()
            )),
            Word::Held | Word::Busy | Word::Failed | Word::Lost => self.say_outcome(&ask)?,
        };
        answer.map_err(|message| LockError::Run {
            at: format!("{}:{}", self.file.path, ask.line),
            message,
        })
    }

    fn command(&mut self, thread: Thread, ask: &Ask, output: &mut Output) -> Answer {
        let nodes = self.config.nodes;
        let node = u8::try_from(ask.node).ok().filter(|node| *node < nodes);
        let node = node.ok_or_else(|| {
            format!(
                "there is no server {}; lock.nodes lists 1 to {nodes}",
                ask.node + 1
            )
        })?;
        let timeout_ms = if ask.timeout_ms < 0.0 {
            self.config.timeout_ms
        } else {
            self.horizon_allows(ask.timeout_ms.ceil())?
        };
        let argv = match ask.word {
            Word::Script => self.eval(ask)?,
            Word::Subscribe | Word::Unsubscribe => self.channel(ask)?,
            _ => self.plain_command(ask)?,
        };
        if thread == 0 {
            self.client.op_sent = true;
        }
        output.sent.push(Request {
            thread,
            node,
            argv,
            line: ask.line,
        });
        Ok(Next::Wait(Waiting::Reply { node, timeout_ms }))
    }

    fn plain_command(&self, ask: &Ask) -> Result<Vec<Vec<u8>>, String> {
        if ask.text(0).is_none() {
            return Err("redis(command, ...) needs the command's name, such as \"GET\"".into());
        }
        let values = ask.values.iter().enumerate();
        values
            .map(|(index, value)| {
                convert::argument(&self.vm, value, &|ms| self.shown_time(ms))
                    .map_err(|why| format!("argument {index} of the command: {why}"))
            })
            .collect()
    }

    /// A script as one EVAL with its whole text. Not EVALSHA: a client library
    /// may turn that into three commands, and a step must be one.
    fn eval(&self, ask: &Ask) -> Result<Vec<Vec<u8>>, String> {
        let name = ask.text(0).ok_or("script(name, keys, args) needs a name")?;
        let text = self.file.scripts.get(&name).ok_or_else(|| {
            format!("the file declares no script `{name}`; add it: scripts = {{ \"{name}\" }}")
        })?;
        let mut keys = Vec::new();
        let time = |ms| self.shown_time(ms);
        let count = convert::arguments_of(&self.vm, ask.value(1), "the keys", &time, &mut keys)?;
        let mut argv = vec![
            b"EVAL".to_vec(),
            text.clone().into_bytes(),
            count.to_string().into_bytes(),
        ];
        argv.append(&mut keys);
        convert::arguments_of(&self.vm, ask.value(2), "the arguments", &time, &mut argv)?;
        Ok(argv)
    }

    fn channel(&mut self, ask: &Ask) -> Result<Vec<Vec<u8>>, String> {
        let name = ask.text(0).ok_or("a channel's name must be a text")?;
        let verb = if ask.word == Word::Subscribe {
            self.client.channels.insert(name.clone());
            "SUBSCRIBE"
        } else {
            self.client.channels.remove(&name);
            "UNSUBSCRIBE"
        };
        Ok(vec![verb.into(), name.into_bytes()])
    }

    /// What Redis gets to see of a time: a function of what the key keeps.
    fn shown_time(&self, ms: f64) -> i64 {
        let (clock, horizon) = (self.client.clock_ms, self.config.horizon_ms);
        clock + (ms as i64 - clock).clamp(-horizon, horizon)
    }

    fn duration(&self, ask: &Ask, index: usize) -> Result<i64, String> {
        match convert::number(ask.value(index)) {
            Some(ms) if ms >= 0.0 => self.horizon_allows(ms.ceil()),
            _ => Err(format!(
                "{}() needs a number of ms that is not negative",
                ask.word.name()
            )),
        }
    }

    fn horizon_allows(&self, ms: f64) -> Result<i64, String> {
        let horizon = self.config.horizon_ms;
        if ms > horizon as f64 {
            return Err(format!(
                "{ms} ms is beyond the horizon of {horizon} ms, where times stop to be told apart; \
                 raise the horizon of the check"
            ));
        }
        Ok(ms as i64)
    }

    fn wait_for_message(&mut self, ask: &Ask) -> Result<Answer, LockError> {
        if let Some((channel, payload)) = self.client.inbox.pop_front() {
            return Ok(Ok(Next::Resume(self.message_values(&channel, &payload)?)));
        }
        Ok(self.duration(ask, 0).map(|ms| match ms {
            0 => Next::Wait(Waiting::Ready),
            left_ms => Next::Wait(Waiting::Message { left_ms }),
        }))
    }

    fn spawn(&mut self, ask: &Ask) -> Answer {
        let (every_ms, body) = match ask.word {
            Word::Every => (Some(self.duration(ask, 0)?), ask.value(1)),
            _ => (None, ask.value(0)),
        };
        if every_ms == Some(0) {
            return Err("every(ms, fn) needs a pause of at least 1 ms between two rounds".into());
        }
        let Value::Function(body) = body else {
            return Err(format!("{}() needs a function to run", ask.word.name()));
        };
        let waiting = match every_ms {
            Some(left_ms) => Waiting::Sleep { left_ms },
            None => Waiting::Ready,
        };
        let id = self.add_worker(Worker {
            coroutine: None,
            body: Some(body.clone()),
            every_ms,
            waiting,
            line: ask.line,
        });
        let id = id.ok_or_else(|| {
            format!(
                "a client has at most {THREADS_MAX} threads, the caller's among them; \
                 stop one first (is one left over from the round before?)"
            )
        })?;
        Ok(Next::Resume(MultiValue::from_iter([Value::Number(
            id as f64,
        )])))
    }

    fn stop(&mut self, thread: Thread, ask: &Ask, output: &mut Output) -> Answer {
        let target = match ask.values.front() {
            None => i64::from(thread),
            Some(Value::Nil) => return Ok(Next::Resume(MultiValue::new())),
            Some(value) => value.as_i64().unwrap_or(-1),
        };
        if target == 0 {
            return Err("stop() ends a background thread; an operation ends by `return`".into());
        }
        if target == i64::from(thread) {
            return Ok(Next::End);
        }
        let index = usize::try_from(target).ok().filter(|i| *i < THREADS_MAX);
        let index = index
            .ok_or("stop(thread) takes what spawn() or every() gave, or nothing for this thread")?;
        if let Some(stopped) = self.client.workers[index].take() {
            use Waiting::{Reply, TimedOut};
            if matches!(stopped.waiting, Reply { .. } | TimedOut { .. }) {
                output.abandoned.push(index as Thread);
            }
        }
        Ok(Next::Resume(MultiValue::new()))
    }

    /// Makes the value that `return held(...)` and its like hand back.
    fn say_outcome(&self, ask: &Ask) -> Result<Answer, LockError> {
        let table = self.vm.lua.create_table()?;
        table.raw_set("outcome", ask.word.name())?;
        let argument = ask.value(0);
        match ask.word {
            Word::Held => match held_fields(argument) {
                Ok((validity, fence)) => {
                    table.raw_set("validity", validity)?;
                    table.raw_set("fence", fence)?;
                }
                Err(message) => return Ok(Err(message)),
            },
            Word::Failed => {
                let reason = match argument {
                    Value::Nil => "failed".to_string(),
                    Value::String(text) => text.to_string_lossy(),
                    _ => return Ok(Err("failed(reason) takes a text".to_string())),
                };
                table.raw_set("reason", reason)?;
            }
            _ => {}
        }
        Ok(Ok(Next::Resume(MultiValue::from_iter([Value::Table(
            table,
        )]))))
    }

    /// What the running operation returned, as an outcome.
    pub(crate) fn outcome(&self, value: &Value) -> Result<Outcome, LockError> {
        let said = match value {
            Value::Table(table) => self.read_outcome(table)?,
            _ => None,
        };
        let outcome = match (self.client.op, value, said) {
            (Some(Op::Acquire), _, Some(outcome)) => Some(outcome),
            (Some(Op::Release), _, Some(Outcome::Held { .. } | Outcome::Busy)) => None,
            (Some(Op::Release), _, Some(outcome)) => Some(outcome),
            (Some(Op::Release), Value::Boolean(effect), _) => Some(Outcome::Done {
                effect: Some(*effect),
            }),
            (Some(Op::Release), Value::Nil, _) => Some(Outcome::Done { effect: None }),
            _ => None,
        };
        outcome.ok_or_else(|| LockError::Run {
            at: self.file.path.clone(),
            message: match self.client.op {
                Some(Op::Release) => {
                    "release returns true (it took effect), false (it did not), nothing (it does not say), \
                     failed(reason) or lost()"
                }
                _ => "acquire returns held{...}, busy(), failed(reason) or lost(); does every way through it return?",
            }
            .to_string(),
        })
    }

    fn read_outcome(&self, table: &Table) -> Result<Option<Outcome>, LockError> {
        let name: Option<String> = table.raw_get("outcome")?;
        let whole = |field: &str| -> Result<Option<i64>, LockError> {
            let number: Option<f64> = table.raw_get(field)?;
            Ok(number.map(|n| n.floor() as i64))
        };
        Ok(match name.as_deref() {
            Some("held") => Some(Outcome::Held {
                validity_ms: whole("validity")?,
                fence: whole("fence")?,
            }),
            Some("busy") => Some(Outcome::Busy),
            Some("failed") => Some(Outcome::Failed {
                reason: table.raw_get("reason")?,
            }),
            Some("lost") => Some(Outcome::Lost),
            _ => None,
        })
    }
}

fn random(ask: &Ask) -> Answer {
    match ask.value(0).as_i64() {
        Some(n @ 1..=255) => Ok(Next::Wait(Waiting::Choice { options: n as u8 })),
        _ => Err("random(n) needs a whole number from 1 to 255".to_string()),
    }
}

/// `held()`, `held(ms)`, `held{validity = ms, fence = n}`.
fn held_fields(argument: &Value) -> Result<(Value, Value), String> {
    let number = |value: Value, field: &str| match value {
        Value::Nil | Value::Integer(_) | Value::Number(_) => Ok(value),
        other => Err(format!(
            "held{{{field} = ...}} takes a number, not a {}",
            other.type_name()
        )),
    };
    let table = match argument {
        Value::Table(table) => table,
        other => return Ok((number(other.clone(), "validity")?, Value::Nil)),
    };
    for pair in table.pairs::<Value, Value>() {
        let known = pair.is_ok_and(|(key, _)| {
            key.as_string()
                .is_some_and(|name| name == "validity" || name == "fence")
        });
        if !known {
            return Err("held{...} has the fields `validity` (ms) and `fence` (a number)".into());
        }
    }
    let field = |name: &str| table.raw_get(name).unwrap_or(Value::Nil);
    Ok((
        number(field("validity"), "validity")?,
        number(field("fence"), "fence")?,
    ))
}
