//! Answers the words that suspend: what a thread asked for, and what comes next.

use lockproof_lua::text::{self, NameKind, Span, Symbol, Text};
use lockproof_lua::{Key, Native, Refusal, RefusalKind, Stop, Table, Value};

use super::error::LockError;
use super::program::{Program, THREADS_MAX, Wait, Worker};
use super::types::*;
use super::words::Word;

/// What happens to the thread that asked.
pub(crate) enum Next {
    /// It runs on at once with these values.
    Resume(Vec<Value>),
    /// It waits.
    Wait(Wait),
    /// It ends with an error of the user's own; the reason names the place.
    Fail(String),
    /// It ends.
    End,
}

/// Numbers that `held` takes: thirty years, in ms.
const NUMBER_MAX: f64 = 1e12;

/// A word with its arguments.
pub(super) struct Ask {
    word: Word,
    /// From 0.
    node: i64,
    /// ms, or negative for the default.
    timeout_ms: f64,
    pub(super) values: Vec<Value>,
}

impl Ask {
    pub(super) fn value(&self, index: usize) -> &Value {
        self.values.get(index).unwrap_or(&Value::Nil)
    }

    fn plain(&self, index: usize) -> Option<String> {
        match self.value(index) {
            Value::Text(text) => {
                let plain = text.as_plain()?;
                Some(String::from_utf8_lossy(plain).into_owned())
            }
            _ => None,
        }
    }
}

/// What is wrong with what was asked.
pub(super) enum Wrong {
    Message(String),
    Refused(Refusal),
}

impl From<String> for Wrong {
    fn from(message: String) -> Wrong {
        Wrong::Message(message)
    }
}

impl From<&str> for Wrong {
    fn from(message: &str) -> Wrong {
        Wrong::Message(message.to_owned())
    }
}

impl From<Refusal> for Wrong {
    fn from(refusal: Refusal) -> Wrong {
        Wrong::Refused(refusal)
    }
}

pub(super) type Answer<T = Next> = Result<T, Wrong>;

pub(super) fn refuse<T>(kind: RefusalKind, what: &str) -> Answer<T> {
    Err(Wrong::Refused(Refusal {
        kind,
        what: what.to_owned(),
        line: 0,
    }))
}

impl Program {
    /// Answers what a thread asked for from `output.line`.
    pub(crate) fn answer(
        &mut self,
        thread: Thread,
        native: Native,
        values: Vec<Value>,
        output: &mut Output,
    ) -> Result<Next, LockError> {
        let Some(word) = Word::of(native) else {
            return Ok(Next::End);
        };
        let bound = native.node > 0;
        let ask = Ask {
            word,
            node: if bound { i64::from(native.node) - 1 } else { 0 },
            timeout_ms: native.timeout_us as f64 / 1000.0,
            values,
        };
        let line = output.line;
        let answer = self.answer_word(thread, &ask, output);
        answer.map_err(|wrong| match wrong {
            Wrong::Message(message) => LockError::Run {
                at: self.shared.file.at(line),
                message,
            },
            Wrong::Refused(refusal) => self.explain(Stop::Refused(Refusal { line, ..refusal })),
        })
    }

    fn answer_word(&mut self, thread: Thread, ask: &Ask, output: &mut Output) -> Answer {
        match ask.word {
            Word::Redis
            | Word::Script
            | Word::Evalsha
            | Word::ScriptLoad
            | Word::Multi
            | Word::Subscribe
            | Word::Unsubscribe => self.command(thread, ask, output),
            Word::Sleep => {
                let left = self.duration(ask, 0, output)?;
                Ok(Next::Wait(match self.ms(left) {
                    ..=0 => Wait::Ready,
                    _ => Wait::Sleep { left },
                }))
            }
            Word::Random => random(ask),
            Word::Wait => self.wait_for_message(ask, output),
            Word::Spawn | Word::Every => self.spawn(ask, output),
            Word::Stop => self.stop(thread, ask, output),
            Word::Error => {
                let reason = match ask.value(0) {
                    Value::Text(text) => text::printable(text.bytes()),
                    Value::Number(number) => lockproof_lua::number::to_text(*number),
                    _ => "error".to_owned(),
                };
                let at = self.shared.file.at(output.line);
                Ok(Next::Fail(format!("{at}: {reason}")))
            }
            Word::Assert => assert_(ask, output),
            Word::Lost if thread != 0 => {
                self.lose(output);
                Ok(Next::Resume(Vec::new()))
            }
            Word::Held | Word::Busy | Word::Failed | Word::Lost if thread != 0 => Err(format!(
                "{}() is an outcome of an operation; a background thread can only report lost()",
                ask.word.name()
            )
            .into()),
            Word::Held | Word::Busy | Word::Failed | Word::Lost => self.say_outcome(ask),
            // The others are answered where they are said.
            _ => Ok(Next::End),
        }
    }

    fn note(&self, ms: i64, output: &mut Output) {
        output.durations.push(UsedDuration {
            ms,
            line: output.line,
        });
    }

    fn command(&mut self, thread: Thread, ask: &Ask, output: &mut Output) -> Answer {
        let nodes = self.shared.config.nodes;
        let node = u8::try_from(ask.node).ok().filter(|node| *node < nodes);
        let node = node.ok_or_else(|| {
            format!(
                "there is no server {}; lock.nodes lists 1 to {nodes}",
                ask.node + 1
            )
        })?;
        let ms = match ask.timeout_ms < 0.0 {
            true => self.shared.config.timeout_ms,
            false => ask.timeout_ms.ceil() as i64,
        };
        self.note(ms, output);
        let argv = match ask.word {
            Word::Script | Word::Evalsha | Word::ScriptLoad => self.eval(ask)?,
            Word::Subscribe | Word::Unsubscribe => self.channel(ask)?,
            Word::Multi => self.multi(thread, node, ask)?,
            _ => self.plain_command(ask)?,
        };
        self.watch(thread, node, &argv)?;
        output.sent.push(Request {
            thread,
            node,
            argv,
            line: output.line,
        });
        let left = Span { ms, ticks: 0 };
        Ok(Next::Wait(Wait::Reply { node, left }))
    }

    /// A value as a command's argument. Times print as their decimal ms.
    fn argument(&self, value: &Value) -> Answer<Vec<u8>> {
        let text = match value {
            Value::Number(number) if !number.is_finite() => {
                let shown = lockproof_lua::number::to_text(*number);
                return Err(format!("{shown} can not be an argument of a command").into());
            }
            // All digits, as client libraries print numbers.
            Value::Number(number) => return Ok(number.to_string().into_bytes()),
            other => self.machine.text_of(other)?,
        };
        let Some(text) = text else {
            let kind = match value {
                Value::Table(_) => "table",
                other => other.type_name(),
            };
            return Err(format!(
                "a {kind} can not be an argument of a command; it takes texts, numbers and times"
            )
            .into());
        };
        if self.machine.clocks.scale.is_some()
            && !text.is_symbolic()
            && text.bytes().contains(&text::MARK)
        {
            return refuse(
                RefusalKind::Lacks,
                "sends a text with the byte 255, which the model does not follow",
            );
        }
        Ok(self.machine.outgoing(&text))
    }

    fn plain_command(&self, ask: &Ask) -> Answer<Vec<Vec<u8>>> {
        let Some(name) = ask.plain(0) else {
            return Err("redis(command, ...) needs the command's name, such as \"GET\"".into());
        };
        let words = ["subscribe", "unsubscribe"];
        if let Some(word) = words.iter().find(|word| name.eq_ignore_ascii_case(word)) {
            return Err(format!(
                "redis(\"{name}\", ...) would take its connection away from the other commands; \
                 use {word}(channel)"
            )
            .into());
        }
        let words = ["multi", "exec", "discard"];
        if words.iter().any(|word| name.eq_ignore_ascii_case(word)) {
            return Err(format!(
                "redis(\"{name}\", ...) is a part of a transaction, which is one word here; use \
                 multi{{ {{\"DEL\", lock.key}}, .. }}"
            )
            .into());
        }
        let mut argv = Vec::with_capacity(ask.values.len());
        for (index, value) in ask.values.iter().enumerate() {
            argv.push(self.argument(value).map_err(|wrong| match wrong {
                Wrong::Message(why) => {
                    Wrong::Message(format!("argument {index} of the command: {why}"))
                }
                refused => refused,
            })?);
        }
        Ok(argv)
    }

    /// A declared script as one command: EVAL with its whole text, EVALSHA with its name,
    /// or SCRIPT LOAD. What a client library makes of NOSCRIPT is the lock file's business:
    /// other clients' commands run between the two.
    fn eval(&self, ask: &Ask) -> Answer<Vec<Vec<u8>>> {
        let name = ask
            .plain(0)
            .ok_or_else(|| format!("{}(name, ...) needs the name of a script", ask.word.name()))?;
        let text = self.shared.file.scripts.get(&name).ok_or_else(|| {
            format!("the file declares no script `{name}`; add it: scripts = {{ \"{name}\" }}")
        })?;
        if ask.word == Word::ScriptLoad {
            let words: [&[u8]; 3] = [b"SCRIPT", b"LOAD", text.as_bytes()];
            return Ok(words.map(<[u8]>::to_vec).to_vec());
        }
        let keys = self.arguments(ask.value(1), "the keys")?;
        let args = self.arguments(ask.value(2), "the arguments")?;
        let (verb, script) = match ask.word {
            Word::Evalsha => ("EVALSHA", lockproof_redis::script_sha(text.as_bytes())),
            _ => ("EVAL", text.clone()),
        };
        let mut argv = vec![
            verb.into(),
            script.into_bytes(),
            keys.len().to_string().into_bytes(),
        ];
        argv.extend(keys);
        argv.extend(args);
        Ok(argv)
    }

    /// Each element of a list; nothing for nil.
    pub(super) fn arguments(&self, list: &Value, what: &str) -> Answer<Vec<Vec<u8>>> {
        let id = match list {
            Value::Nil => return Ok(Vec::new()),
            Value::Table(id) => *id,
            _ => return Err(format!("{what} must be a list such as {{lock.key}}").into()),
        };
        let table = self.machine.heap.get(id);
        let mut out = Vec::new();
        for index in 1..=table.length() {
            out.push(
                self.argument(&table.item(index))
                    .map_err(|wrong| match wrong {
                        Wrong::Message(why) => Wrong::Message(format!("{what}: {why}")),
                        refused => refused,
                    })?,
            );
        }
        Ok(out)
    }

    fn channel(&mut self, ask: &Ask) -> Answer<Vec<Vec<u8>>> {
        let Value::Text(_) = ask.value(0) else {
            return Err("a channel's name must be a text".into());
        };
        let name = self.argument(ask.value(0))?;
        let model = self.machine.clocks.scale.is_some();
        if model && !text::symbols(&name).all(is_owner) {
            return refuse(
                RefusalKind::Lacks,
                "names a channel by a token or a time, which the model does not follow",
            );
        }
        let verb = if ask.word == Word::Subscribe {
            self.client.channels.insert(name.clone());
            "SUBSCRIBE"
        } else {
            self.client.channels.remove(&name);
            "UNSUBSCRIBE"
        };
        Ok(vec![verb.into(), name])
    }

    /// A duration that something ends after, in whole ms.
    fn duration(&self, ask: &Ask, index: usize, output: &mut Output) -> Answer<Span> {
        let span = match ask.value(index) {
            Value::Number(ms) if *ms >= 0.0 && *ms < 1e12 => Span {
                ms: ms.ceil() as i64,
                ticks: 0,
            },
            Value::Duration(duration) if duration.scale == 1.0 => Span {
                ms: duration.ms.ceil() as i64,
                ticks: duration.ticks,
            },
            Value::Duration(_) | Value::Beyond(_) => {
                return refuse(
                    RefusalKind::Rounding,
                    "waits for a duration that depends on what happens between two ticks, or on times long ago",
                );
            }
            _ => {
                return Err(format!(
                    "{}() needs a number of ms that is not negative",
                    ask.word.name()
                )
                .into());
            }
        };
        if span.ticks != 0 && self.ms(span) < 0 {
            return Err(format!(
                "{}() needs a number of ms that is not negative",
                ask.word.name()
            )
            .into());
        }
        self.note(span.ms, output);
        Ok(span)
    }

    fn wait_for_message(&mut self, ask: &Ask, output: &mut Output) -> Answer {
        if let Some((channel, payload)) = self.client.inbox.pop_front() {
            let model = self.machine.clocks.scale.is_some();
            return Ok(Next::Resume(message_values(&channel, &payload, model)));
        }
        let left = self.duration(ask, 0, output)?;
        Ok(Next::Wait(match self.ms(left) {
            ..=0 => Wait::Ready,
            _ => Wait::Message { left },
        }))
    }

    fn spawn(&mut self, ask: &Ask, output: &mut Output) -> Answer {
        let (every, body) = match ask.word {
            Word::Every => (Some(self.duration(ask, 0, output)?), ask.value(1)),
            _ => (None, ask.value(0)),
        };
        if every.is_some_and(|every| self.ms(every) <= 0) {
            return Err("every(ms, fn) needs a pause of at least 1 ms between two rounds".into());
        }
        if !matches!(body, Value::Function(_) | Value::Native(_)) {
            return Err(format!("{}() needs a function to run", ask.word.name()).into());
        }
        let wait = match every {
            Some(left) => Wait::Sleep { left },
            None => Wait::Ready,
        };
        let id = self.add_worker(Worker {
            stack: None,
            body: body.clone(),
            every,
            late: false,
            wait,
            line: output.line,
        });
        let id = id.ok_or_else(|| {
            format!(
                "a client has at most {THREADS_MAX} threads, the caller's among them; \
                 stop one first (is one left over from the round before?)"
            )
        })?;
        Ok(Next::Resume(vec![self.thread_value(id)]))
    }

    fn stop(&mut self, thread: Thread, ask: &Ask, output: &mut Output) -> Answer {
        let target = match ask.values.first() {
            None => i64::from(thread),
            Some(Value::Nil) => return Ok(Next::Resume(Vec::new())),
            Some(Value::Text(text)) if self.shares_handle() => match self.thread_named(text) {
                Some((id, true)) => id as i64,
                Some((id, false)) => {
                    output.stops |= 1 << id;
                    return Ok(Next::Resume(Vec::new()));
                }
                None => -1,
            },
            Some(Value::Number(number)) if number.fract() == 0.0 && !self.shares_handle() => {
                *number as i64
            }
            Some(_) => -1,
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
        self.stop_worker(index, output);
        Ok(Next::Resume(Vec::new()))
    }

    /// Makes the value that `return held(...)` and its like hand back.
    fn say_outcome(&mut self, ask: &Ask) -> Answer {
        let mut table = Table::default();
        let mut set = |name: &str, value: Value| table.set(Key::Text(Text::from(name)), value);
        set("outcome", Value::text(ask.word.name()));
        let argument = ask.value(0);
        match ask.word {
            Word::Held => {
                let (validity, fence) = self.held_fields(argument)?;
                set("validity", validity);
                set("fence", fence);
            }
            Word::Failed => {
                let reason = match argument {
                    Value::Nil => Value::text("failed"),
                    Value::Text(_) => argument.clone(),
                    _ => return Err("failed(reason) takes a text".into()),
                };
                set("reason", reason);
            }
            _ => {}
        }
        let table = self.machine.heap.table(table);
        Ok(Next::Resume(vec![Value::Table(table)]))
    }

    /// `held()`, `held(ms)`, `held{validity = ms, fence = n}`.
    fn held_fields(&self, argument: &Value) -> Answer<(Value, Value)> {
        let number = |value: Value, field: &str| match value {
            Value::Number(number) if !number.is_finite() || number.abs() > NUMBER_MAX => {
                Err(Wrong::Message(format!(
                    "held{{{field} = ...}} takes a number up to {NUMBER_MAX:e}, not {number}"
                )))
            }
            Value::Nil | Value::Number(_) | Value::Duration(_) | Value::Beyond(_) => Ok(value),
            other => Err(Wrong::Message(format!(
                "held{{{field} = ...}} takes a number, not a {}",
                kind_of(&other)
            ))),
        };
        let Value::Table(id) = argument else {
            return Ok((number(argument.clone(), "validity")?, Value::Nil));
        };
        let table = self.machine.heap.get(*id);
        let known = ["validity", "fence"].map(|name| Key::Text(Text::from(name)));
        if table.entries().any(|(key, _)| !known.contains(&key)) {
            return Err("held{...} has the fields `validity` (ms) and `fence` (a number)".into());
        }
        let fence = match table.field("fence") {
            fence @ Value::Offset(_) => fence,
            other => number(other, "fence")?,
        };
        Ok((number(table.field("validity"), "validity")?, fence))
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Time(_) => "time",
        other => other.type_name(),
    }
}

/// The client goes on, whatever comes of it: an assertion is no part of what it does.
fn assert_(ask: &Ask, output: &mut Output) -> Answer {
    let Some(condition) = ask.values.first() else {
        return Err("assert_(condition, text) needs a condition".into());
    };
    let text = match ask.value(1) {
        Value::Nil => "what it asserts is not so".to_owned(),
        Value::Text(text) => text::printable(text.bytes()),
        other => {
            let kind = kind_of(other);
            let what = format!(
                "assert_(condition, text) takes a text that says what must be so, not a {kind}"
            );
            return Err(what.into());
        }
    };
    if matches!(condition, Value::Nil | Value::Bool(false)) {
        let line = output.line;
        output.broken.push(Broken { line, text });
    }
    Ok(Next::Resume(Vec::new()))
}

fn random(ask: &Ask) -> Answer {
    match ask.value(0) {
        Value::Number(n) if n.fract() == 0.0 && (1.0..=255.0).contains(n) => {
            Ok(Next::Wait(Wait::Choice { options: *n as u8 }))
        }
        _ => Err("random(n) needs a whole number from 1 to 255".into()),
    }
}

/// It stands for who a client is.
fn is_owner(symbol: Symbol) -> bool {
    matches!(symbol, Symbol::Name(name) if name.kind == NameKind::Owner)
}

/// What `wait` gives; the channel's name as this client has it.
pub(super) fn message_values(channel: &[u8], payload: &str, model: bool) -> Vec<Value> {
    let channel = match model {
        true => Text::symbolic(channel),
        false => Text::plain(channel),
    };
    vec![Value::text(payload), Value::Text(channel)]
}
