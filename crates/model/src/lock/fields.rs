//! The table that a lock file returns, read field by field.

use std::collections::BTreeMap;

use lockproof_input::{files, nearest};
use lockproof_lua::text::Text;
use lockproof_lua::{Key, Machine, Table, Value};

use super::about::{self, About};
use super::cancel::CLEAN_UP;
use super::error::LockError;
use super::keys::Keys;
use super::library::{Library, compiles};
use super::servers::{NodeCount, ServerKind};
use super::shape::{FIELDS, MODES, OPERATIONS, OPTIONAL, PLAIN};
use super::types::Op;

/// The longest time in which a lock can promise to tell of its loss, in leases.
const TOLD_WITHIN_MAX: f64 = 2.0;

type Params = BTreeMap<String, f64>;

const PARAMS_SHAPE: &str = "`params` must give each parameter a name and a number as its default, \
     or { default = .., check = .. } if checks take another";

/// The table that a file returns, read field by field.
pub(super) struct Fields<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) machine: &'a Machine,
    pub(super) table: &'a Table,
}

fn plain(text: &Text) -> String {
    String::from_utf8_lossy(text.bytes()).into_owned()
}

impl Fields<'_> {
    /// What is wrong with a field, with its line.
    pub(super) fn wrong(&self, field: &str, message: impl Into<String>) -> LockError {
        self.wrong_on(&[field], message)
    }

    /// The same of a field of a field of the table.
    fn wrong_on(&self, path: &[&str], message: impl Into<String>) -> LockError {
        let line = lockproof_lua::field_line(self.text.as_bytes(), path);
        let place = line.map_or(String::new(), |line| format!(":{line}"));
        LockError::Shape {
            file: format!("{}{place}", self.file),
            message: message.into(),
        }
    }

    pub(super) fn known(&self) -> Result<(), LockError> {
        for (key, _) in self.table.entries() {
            let name = match &key {
                Key::Text(text) => plain(text),
                other => self.machine.display(&other.value()),
            };
            if FIELDS.contains(&name.as_str()) || OPERATIONS.contains(&name.as_str()) {
                continue;
            }
            let hint = nearest::hint(&name, &[&FIELDS[..], &OPERATIONS].concat());
            return Err(self.wrong(&name, format!("`{name}` is not a field of a lock; {hint}")));
        }
        Ok(())
    }

    pub(super) fn get(&self, field: &str) -> Value {
        self.table.field(field)
    }

    pub(super) fn text(&self, field: &str) -> Result<Option<String>, LockError> {
        match self.get(field) {
            Value::Nil => Ok(None),
            Value::Text(text) => Ok(Some(plain(&text))),
            other => Err(self.wrong(
                field,
                format!("`{field}` must be a text, not a {}", other.type_name()),
            )),
        }
    }

    pub(super) fn flag(&self, field: &str) -> Result<bool, LockError> {
        match self.get(field) {
            Value::Nil => Ok(false),
            Value::Bool(flag) => Ok(flag),
            other => Err(self.wrong(
                field,
                format!(
                    "`{field}` must be true or false, not a {}",
                    other.type_name()
                ),
            )),
        }
    }

    pub(super) fn positive(&self, field: &str) -> Result<Option<i64>, LockError> {
        match self.get(field) {
            Value::Nil => Ok(None),
            Value::Number(n) if n >= 1.0 && n.fract() == 0.0 && n < 1e12 => Ok(Some(n as i64)),
            _ => Err(self.wrong(field, format!("`{field}` must be a positive whole number"))),
        }
    }

    pub(super) fn told_within(&self) -> Result<Option<f64>, LockError> {
        match self.get("told_within") {
            Value::Nil => Ok(None),
            Value::Number(leases) if (0.0..=TOLD_WITHIN_MAX).contains(&leases) => Ok(Some(leases)),
            _ => {
                let what =
                    format!("a number of leases from 0 to {TOLD_WITHIN_MAX}, such as 1 or 1 / 3");
                Err(self.wrong("told_within", format!("`told_within` must be {what}")))
            }
        }
    }

    pub(super) fn server(&self) -> Result<ServerKind, LockError> {
        match self.text("server")?.as_deref() {
            None => Ok(ServerKind::Any),
            Some("valkey") => Ok(ServerKind::Valkey),
            Some(_) => Err(self.wrong(
                "server",
                "`server` must be \"valkey\" (version 9 or later, for a lock that uses its own \
                 commands); leave it out for a lock that works on Redis",
            )),
        }
    }

    pub(super) fn about(&self) -> Result<About, LockError> {
        let fault = |fault: about::Fault| self.wrong_on(&fault.path(), fault.message.clone());
        let id = match self.get("about") {
            Value::Nil => return Ok(About::default()),
            Value::Table(id) => id,
            other => return Err(fault(about::no_table(other.type_name()))),
        };
        let mut about = About::default();
        for (key, value) in self.machine.heap.get(id).entries() {
            let name = match &key {
                Key::Text(text) => plain(text),
                other => self.machine.display(&other.value()),
            };
            let text = match &value {
                Value::Text(text) => Ok(plain(text)),
                other => Err(other.type_name()),
            };
            about.set(&name, text).map_err(fault)?;
        }
        Ok(about)
    }

    pub(super) fn keys(&self) -> Result<Keys, LockError> {
        let id = match self.get("keys") {
            Value::Nil => return Ok(Keys::default()),
            Value::Table(id) => id,
            _ => return Err(self.wrong("keys", super::keys::SHAPE)),
        };
        let mut declared = Vec::new();
        for (role, value) in self.machine.heap.get(id).entries() {
            let Key::Text(role) = role else {
                return Err(self.wrong("keys", super::keys::SHAPE));
            };
            let texts: Vec<Value> = match value {
                Value::Table(list) => self.machine.heap.get(list).list.clone(),
                single => vec![single],
            };
            for text in texts {
                let Value::Text(text) = text else {
                    return Err(self.wrong("keys", super::keys::SHAPE));
                };
                declared.push((plain(&role), plain(&text)));
            }
        }
        Keys::declared(&declared).map_err(|message| self.wrong("keys", message))
    }

    /// It is a read-write lock.
    pub(super) fn has_modes(&self) -> Result<bool, LockError> {
        let has = |op: Op| !matches!(self.get(op.name()), Value::Nil);
        let modes = has(Op::AcquireRead) || has(Op::AcquireWrite);
        if modes && has(Op::Acquire) {
            return Err(self.wrong(
                Op::Acquire.name(),
                "the lock has `acquire` beside `acquire_read` or `acquire_write`; a read-write lock has these two \
                 in place of `acquire`",
            ));
        }
        Ok(modes)
    }

    /// The operations that it has: those that it must have, then the others.
    pub(super) fn operations(&self, has_modes: bool) -> Result<Vec<Op>, LockError> {
        let required: &[Op] = if has_modes { &MODES } else { &PLAIN };
        let given = |op: &&Op| !matches!(self.get(op.name()), Value::Nil);
        let optional = OPTIONAL.iter().filter(given);
        let operations: Vec<Op> = required.iter().chain(optional).copied().collect();
        for name in operations.iter().map(|op| op.name()) {
            let wrong = match self.get(name) {
                Value::Function(_) => continue,
                Value::Nil => {
                    format!("the lock has no `{name}`; add `{name} = function(lock) ... end`")
                }
                other => format!(
                    "`{name}` must be a function of `lock`, not a {}",
                    other.type_name()
                ),
            };
            return Err(self.wrong(name, wrong));
        }
        if has_modes && operations.contains(&Op::TryAcquire) {
            return Err(self.wrong(Op::TryAcquire.name(),
                "the lock has `try_acquire` beside `acquire_read` and `acquire_write`; it belongs beside `acquire`, \
                 and takes no mode",
            ));
        }
        Ok(operations)
    }

    /// It cleans up after an acquire that was cancelled.
    pub(super) fn cleans_up(&self) -> Result<bool, LockError> {
        match self.get(CLEAN_UP) {
            Value::Nil => Ok(false),
            Value::Function(_) => Ok(true),
            other => Err(self.wrong(CLEAN_UP, format!(
                "`{CLEAN_UP}` must be a function of `lock`, which cleans up after an acquire that was \
                 cancelled, not a {}",
                other.type_name()
            ))),
        }
    }

    pub(super) fn nodes(&self) -> Result<NodeCount, LockError> {
        let count = |value: &Value| match value {
            Value::Number(n) if (1.0..=255.0).contains(n) && n.fract() == 0.0 => Some(*n as u8),
            _ => None,
        };
        let found = match self.get("nodes") {
            Value::Nil => Some((1, 1, 1)),
            Value::Table(id) => {
                let range = self.machine.heap.get(id);
                let end = |name: &str| count(&range.field(name));
                match (end("default"), end("min"), end("max")) {
                    (Some(default), Some(min), Some(max)) => Some((default, min, max)),
                    _ => None,
                }
            }
            value => count(&value).map(|n| (n, 1, u8::MAX)),
        };
        match found {
            Some((default, min, max)) if min <= default && default <= max => {
                Ok(NodeCount { default, min, max })
            }
            _ => Err(self.wrong("nodes",
                "`nodes` must be a number of servers from 1 to 255, or {default = 3, min = 1, max = 9}",
            )),
        }
    }

    /// A default, and a value in checks if that is another.
    fn param(&self, value: &Value) -> Option<(f64, Option<f64>)> {
        let id = match value {
            Value::Number(default) => return Some((*default, None)),
            Value::Table(id) => *id,
            _ => return None,
        };
        let table = self.machine.heap.get(id);
        match (table.field("default"), table.field("check")) {
            (Value::Number(default), Value::Number(check)) => Some((default, Some(check))),
            _ => None,
        }
    }

    /// Defaults, and values in checks.
    pub(super) fn params(&self) -> Result<(Params, Params), LockError> {
        let (mut params, mut checked) = (Params::new(), Params::new());
        let id = match self.get("params") {
            Value::Nil => return Ok((params, checked)),
            Value::Table(id) => id,
            _ => return Err(self.wrong("params", "`params` must be a table of numbers by name")),
        };
        for (key, value) in self.machine.heap.get(id).entries() {
            let Key::Text(name) = key else {
                return Err(self.wrong("params", PARAMS_SHAPE));
            };
            let name = plain(&name);
            let (default, check) = self
                .param(&value)
                .ok_or_else(|| self.wrong_on(&["params", &name], PARAMS_SHAPE))?;
            checked.extend(check.map(|check| (name.clone(), check)));
            params.insert(name, default);
        }
        Ok((params, checked))
    }

    pub(super) fn scripts(
        &self,
        library: Library<'_>,
    ) -> Result<BTreeMap<String, String>, LockError> {
        let mut scripts = BTreeMap::new();
        let id = match self.get("scripts") {
            Value::Nil => return Ok(scripts),
            Value::Table(id) => id,
            _ => return Err(self.wrong("scripts", SCRIPTS_SHAPE)),
        };
        for entry in self.machine.heap.get(id).entries() {
            let (name, text) = match entry {
                (Key::Number(_), Value::Text(name)) => {
                    let name = plain(&name);
                    let text = self.script(&name, library)?;
                    (name, text)
                }
                (Key::Text(name), Value::Text(text)) => (plain(&name), plain(&text)),
                _ => return Err(self.wrong("scripts", SCRIPTS_SHAPE)),
            };
            compiles(&name, &text).map_err(|why| self.wrong_on(&["scripts", &name], why))?;
            if scripts.insert(name.clone(), text).is_some() {
                return Err(self.wrong(
                    "scripts",
                    format!("`scripts` declares `{name}` twice; keep one"),
                ));
            }
        }
        Ok(scripts)
    }

    fn script(&self, name: &str, library: Library<'_>) -> Result<String, LockError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            let why = format!("`{name}` can not be a script's name; use letters, digits, _ and -");
            return Err(self.wrong("scripts", why));
        }
        library.script(name)?.ok_or_else(|| {
            let why = format!(
                "there is no script `{name}`; put it into lua/{name}.lua beside the lock file, \
                 or write `scripts = {{ {name} = [[...]] }}`"
            );
            self.wrong("scripts", why)
        })
    }

    /// A name that may stand in the name of a file, in a report and on a terminal.
    pub(super) fn name(&self, name: String) -> Result<String, LockError> {
        if files::is_name(&name) {
            return Ok(name);
        }
        Err(self.wrong("name", format!(
            "{name:?} can not be a lock's name; use at most {} letters, digits, _, - and ., and begin with a letter or a digit",
            files::NAME_BYTES
        )))
    }
}

const SCRIPTS_SHAPE: &str = "`scripts` must list the names of files in lua/, or give texts by name: \
     scripts = { \"release_if_owner\", mine = [[return 1]] }";
