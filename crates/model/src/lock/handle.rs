//! A handle that two callers of one process share.
//!
//! Each caller is a program of its own, with a copy of the handle. When a step of one has
//! changed its copy, the other is given the whole contents at once ([`Exchange`]), before
//! anybody runs. So both always hold the same, and it is as if there were one table.
//!
//! That is exact because a shared handle holds only what has no identity: booleans, numbers,
//! texts. A table or a function in it could be reached from a caller's stack as well, and is
//! refused. What the other caller sees of a token or a thread is told from its own side.

use lockproof_lua::text::{self, Name, NameKind, Symbol, Text};
use lockproof_lua::{Key, Refusal, RefusalKind, Stop, Table, Value, view};

use super::error::LockError;
use super::program::{Program, THREADS_MAX, Wait};
use super::types::{Input, Op, Output, Thread};

/// What one caller hands to the other after a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Exchange {
    /// The one who sends it has begun a new attempt: its token so far is an older one.
    pub attempt: bool,
    /// Threads (bit set) of the other caller that are stopped.
    pub stops: u8,
    /// All that the handle holds, in the order of its keys.
    pub fields: Vec<(Plain, Plain)>,
}

/// What a shared handle can hold, in a model from the receiver's side.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Plain {
    Bool(bool),
    /// The bits of a finite number.
    Number(u64),
    Text(Vec<u8>),
}

impl Plain {
    /// The number.
    pub fn number(number: f64) -> Plain {
        Plain::Number(number.to_bits())
    }

    fn value(&self) -> Value {
        match self {
            Plain::Bool(value) => Value::Bool(*value),
            Plain::Number(bits) => Value::Number(f64::from_bits(*bits)),
            Plain::Text(bytes) => Value::Text(Text::symbolic(bytes)),
        }
    }
}

fn refusal(kind: RefusalKind, what: String) -> Refusal {
    Refusal {
        kind,
        what,
        line: 0,
    }
}

/// A name as the other caller sees it.
fn from_the_other_side(name: Name) -> Name {
    let who = match (name.kind, name.who) {
        (NameKind::Owner, _) => name.who,
        (_, view::OWN) => view::PARTNER,
        (_, view::PARTNER) => view::OWN,
        _ => view::LOST,
    };
    let mark = match (name.kind, who) {
        (NameKind::Token, _) => b'0',
        _ => name.mark,
    };
    Name { who, mark, ..name }
}

/// A text as the other caller sees it.
fn text_from_the_other_side(
    bytes: &[u8],
    is_key: bool,
    one_owner: bool,
) -> Result<Vec<u8>, Refusal> {
    let mut wrong = None;
    let seen = text::map_symbols(bytes, |symbol, out| {
        let seen = match symbol {
            Symbol::Name(name) if name.kind != NameKind::Owner => {
                let name = from_the_other_side(name);
                if is_key && name.who == view::LOST {
                    wrong = Some((RefusalKind::Names, "an older token as a key"));
                }
                Symbol::Name(name)
            }
            // Both have the same one, or the model would have to tell who is who.
            Symbol::Name(name) if one_owner && name.who == view::OWN => Symbol::Name(name),
            Symbol::Name(name) => {
                wrong = Some((RefusalKind::Names, "an owner id"));
                Symbol::Name(name)
            }
            other => {
                wrong = Some((
                    RefusalKind::Horizon,
                    "a time, a measured duration or a fence",
                ));
                other
            }
        };
        seen.write(out);
    });
    match wrong {
        None => Ok(seen),
        Some((kind, what)) => Err(refusal(
            kind,
            format!(
                "keeps {what} in a handle that two callers share, where the model does not follow it"
            ),
        )),
    }
}

impl Program {
    /// Two callers, or two objects of a client, share this program's handle.
    pub(super) fn shares_handle(&self) -> bool {
        self.shared.file.shares_handle()
    }

    /// From now on this is the caller of this number: threads are named by it.
    pub fn set_caller(&mut self, caller: u8) {
        self.caller = caller;
    }

    /// All that the handle holds, as the other caller sees it.
    ///
    /// # Errors
    /// If it holds what two callers cannot share.
    pub fn handle_fields(&self) -> Result<Vec<(Plain, Plain)>, LockError> {
        self.fields_after(0)
    }

    /// The same after a step whose last line was this one, which an error names.
    fn fields_after(&self, line: u32) -> Result<Vec<(Plain, Plain)>, LockError> {
        let Value::Table(id) = self.handle else {
            return Ok(Vec::new());
        };
        let entries = self.machine.heap.get(id).entries();
        let entries = entries.filter(|(_, value)| *value != Value::Nil);
        let told = entries
            .map(|(key, value)| Ok((self.plain(&key.value(), true)?, self.plain(&value, false)?)));
        told.collect::<Result<_, Refusal>>()
            .map_err(|refusal| self.explain(Stop::Refused(Refusal { line, ..refusal })))
    }

    fn plain(&self, value: &Value, is_key: bool) -> Result<Plain, Refusal> {
        let lacks = |what: &str| {
            let what = format!(
                "keeps {what} in a handle that two callers share; such a handle holds booleans, finite numbers and texts"
            );
            Err(refusal(RefusalKind::Lacks, what))
        };
        match value {
            Value::Bool(value) => Ok(Plain::Bool(*value)),
            Value::Number(number) if number.is_finite() => Ok(Plain::number(*number)),
            Value::Text(text) if std::str::from_utf8(text.bytes()).is_ok() => {
                Ok(Plain::Text(text.bytes().to_vec()))
            }
            Value::Text(text) if text.is_symbolic() => {
                let seen = text_from_the_other_side(
                    text.bytes(),
                    is_key,
                    self.shared.file.shares_owner(),
                )?;
                Ok(Plain::Text(seen))
            }
            Value::Text(_) => lacks("a text that is not UTF-8"),
            Value::Number(_) => lacks("a number that is none"),
            Value::Table(_) => lacks("a table"),
            Value::Time(_) | Value::Duration(_) | Value::Beyond(_) | Value::Offset(_) => {
                lacks("a time")
            }
            _ => lacks("a function"),
        }
    }

    /// What the other caller has to be given after a step, if anything.
    pub(super) fn exchange(
        &self,
        input: &Input,
        before: &[(Plain, Plain)],
        output: &Output,
    ) -> Result<Option<Exchange>, LockError> {
        let begins = |op: &Op, token: &Option<String>| op.mode().is_some() && token.is_some();
        let attempt = matches!(input, Input::Call { op, token } if begins(op, token));
        let fields = self.fields_after(output.line)?;
        let told = attempt || output.stops != 0 || fields != before;
        let stops = output.stops;
        Ok(told.then_some(Exchange {
            attempt,
            stops,
            fields,
        }))
    }

    /// Takes over what the other caller has done.
    pub(super) fn take_over(
        &mut self,
        exchange: &Exchange,
        output: &mut Output,
    ) -> Result<(), LockError> {
        if exchange.attempt {
            self.lose_the_others_token()?;
        }
        for id in (1..THREADS_MAX).filter(|id| exchange.stops & 1 << id != 0) {
            self.stop_worker(id, output);
        }
        let mut held = Table::default();
        for (key, value) in &exchange.fields {
            if let Some(key) = Key::of(&key.value()) {
                held.set(key, value.value());
            }
        }
        if let Value::Table(id) = self.handle
            && let Some(table) = self.machine.heap.get_mut(id)
        {
            *table = held;
        }
        Ok(())
    }

    /// Ends a background thread of this caller.
    pub(super) fn stop_worker(&mut self, id: usize, output: &mut Output) {
        if let Some(stopped) = self.client.workers[id].take()
            && matches!(stopped.wait, Wait::Reply { .. } | Wait::TimedOut { .. })
        {
            output.abandoned.push(id as Thread);
        }
    }

    /// What was the other caller's present token is an older one now.
    fn lose_the_others_token(&mut self) -> Result<(), LockError> {
        let is_present = |symbol: Symbol| match symbol {
            Symbol::Name(name) => name.kind == NameKind::Token && name.who == view::PARTNER,
            _ => false,
        };
        let names_it =
            |text: &Text| text.is_symbolic() && text::symbols(text.bytes()).any(is_present);
        let handle = self.handle.clone();
        let heap = &self.machine.heap;
        let tables = &heap.live().tables;
        let own = match handle {
            Value::Table(id) => heap.get(id) as *const Table,
            _ => std::ptr::null(),
        };
        let others = tables.iter().filter(|table| !std::ptr::eq(*table, own));
        let mut keys = others.flat_map(|table| table.rest.keys());
        if keys.any(|key| matches!(key, Key::Text(text) if names_it(text))) {
            let what = "keeps the other caller's token as a key of a table".to_owned();
            return Err(self.explain(Stop::Refused(refusal(RefusalKind::Names, what))));
        }
        // The handle is about to be filled anew.
        if let Value::Table(id) = handle
            && let Some(table) = self.machine.heap.get_mut(id)
        {
            *table = Table::default();
        }
        let (machine, mut threads, mut values) = self.parts();
        machine.for_each_value(&mut threads, &mut values, &mut |value| {
            if let Value::Text(text) = value
                && names_it(text)
            {
                *text = Text::symbolic(text::map_symbols(text.bytes(), |symbol, out| {
                    let lost = |name: Name| Name {
                        who: view::LOST,
                        mark: b'0',
                        ..name
                    };
                    match symbol {
                        Symbol::Name(name) if is_present(symbol) => Symbol::Name(lost(name)),
                        other => other,
                    }
                    .write(out);
                }));
            }
        });
        Ok(())
    }

    /// What `spawn` and `every` give for a thread of this caller.
    pub(super) fn thread_value(&self, id: usize) -> Value {
        if !self.shares_handle() {
            return Value::Number(id as f64);
        }
        let name = Name {
            kind: NameKind::Thread,
            who: view::OWN,
            mark: b'0' + id as u8,
        };
        match self.shared.config.scale {
            Some(_) => Value::Text(Text::symbolic(Symbol::Name(name).text())),
            None => Value::text(format!("thread {id} of caller {}", self.caller)),
        }
    }

    /// The thread that a value names, and whether it is this caller's own.
    pub(super) fn thread_named(&self, text: &Text) -> Option<(usize, bool)> {
        let (id, own) = if let Some(Symbol::Name(name)) = text::only_symbol(text.bytes())
            && name.kind == NameKind::Thread
        {
            let own = name.who == view::OWN;
            (usize::from(name.mark.wrapping_sub(b'0')), own)
        } else {
            let plain = String::from_utf8(text.as_plain()?.to_vec()).ok()?;
            let (id, caller) = plain.strip_prefix("thread ")?.split_once(" of caller ")?;
            // Only what spawn gives is one; in a model that is a symbol.
            self.shared.config.scale.is_none().then_some(())?;
            (id.parse().ok()?, caller.parse::<u8>().ok()? == self.caller)
        };
        (1..THREADS_MAX).contains(&id).then_some((id, own))
    }
}
