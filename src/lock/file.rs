//! A lock file: found, rewritten, looked through and named by a hash.
//!
//! Loading runs the file once in the sandbox to read the table that it returns.
//! All scripts are resolved here, so that the hash covers every byte that can
//! reach a server.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mlua::{Table, Value};
use sha2::{Digest, Sha256};

use super::convert::number;
use super::error::LockError;
use super::message::Places;
use super::registry::{self, MODELS};
use super::source::{self, Rewritten};
use super::vm::Vm;
use crate::nearest;

/// Names of operations that a file may declare. The driver calls `acquire` and
/// `release`; the others are listed, so that what a file lacks is *not
/// applicable* and never invented.
pub(crate) const OPERATIONS: [&str; 6] = [
    "acquire",
    "release",
    "renew",
    "try_acquire",
    "acquire_read",
    "acquire_write",
];

pub(crate) const FIELDS: [&str; 7] = [
    "name",
    "description",
    "nodes",
    "params",
    "reentrant",
    "scripts",
    "ttl_step",
];

/// How many independent servers a lock works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCount {
    /// Used when nobody asks for another number.
    pub default: u8,
    /// The least that [`Program::start`](super::Program::start) takes.
    pub min: u8,
    /// The most that it takes.
    pub max: u8,
}

/// A loaded lock file. Cheap to clone: the texts are shared.
#[derive(Clone, Debug)]
pub struct LockFile {
    /// The lock's own name; the file's name if it declares none.
    pub name: String,
    /// One line for lists; empty if the file declares none.
    pub description: String,
    /// The path as given, or the built-in name.
    pub path: String,
    /// The text of the file.
    pub text: Arc<str>,
    /// SHA-256 (hex) over the file and its scripts in name order.
    pub sha256: String,
    /// Declared operations, in alphabetical order.
    pub operations: Vec<String>,
    /// May a holder acquire again?
    pub reentrant: bool,
    /// How many servers.
    pub nodes: NodeCount,
    /// Declared parameters with their defaults.
    pub params: BTreeMap<String, f64>,
    /// The lease must be a multiple of this many ms (1000 where EXPIRE sets it).
    pub ttl_step_ms: i64,
    /// Scripts by name, with their whole text.
    pub scripts: Arc<BTreeMap<String, String>>,
    pub(crate) rewritten: Arc<Rewritten>,
}

impl LockFile {
    /// Loads the lock file at `path`. Scripts that it names come from
    /// `lua/NAME.lua` beside it, then beside its folder, then from the built-in ones.
    pub fn load(path: &Path) -> Result<LockFile, LockError> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|source| LockError::Read {
            path: shown.clone(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        LockFile::from_text(&shown, &text, Some(folder))
    }

    /// The built-in lock `name`, as [`builtin_names`](super::builtin_names) lists it.
    pub fn builtin(name: &str) -> Result<LockFile, LockError> {
        let model = MODELS.iter().find(|model| model.name == name);
        let model = model.ok_or_else(|| LockError::UnknownBuiltin {
            name: name.to_string(),
            known: registry::builtin_names().join(", "),
        })?;
        LockFile::from_text(model.name, model.text, None)
    }

    /// A lock file that is in memory. `shown` stands for its path in messages;
    /// scripts are looked for in `folder/lua`, `folder/../lua` and the built-in ones.
    pub fn from_text(
        shown: &str,
        text: &str,
        folder: Option<&Path>,
    ) -> Result<LockFile, LockError> {
        let rewritten = source::rewrite(text).map_err(|bad| LockError::Syntax {
            at: format!("{shown}:{}", bad.line),
            message: bad.message,
        })?;
        let vm = Vm::new(1)?;
        let places = Places {
            file: shown,
            rewritten: &rewritten,
        };
        let value = vm.load(&places)?;
        let fields = Fields {
            file: shown,
            table: match value {
                Value::Table(table) => table,
                other => {
                    return Err(LockError::Shape {
                        file: shown.to_string(),
                        message: format!(
                            "the file returns a {}; it must end in `return {{ acquire = function(lock) ... end, \
                             release = function(lock) ... end }}`",
                            other.type_name()
                        ),
                    });
                }
            },
        };
        fields.known()?;
        let scripts = fields.scripts(folder)?;
        let stem = Path::new(shown).file_stem().unwrap_or_default();
        Ok(LockFile {
            name: fields
                .text("name")?
                .unwrap_or_else(|| stem.to_string_lossy().into_owned()),
            description: fields.text("description")?.unwrap_or_default(),
            path: shown.to_string(),
            sha256: hash(text, &scripts),
            operations: fields.operations()?,
            reentrant: fields.flag("reentrant")?,
            nodes: fields.nodes()?,
            params: fields.params()?,
            ttl_step_ms: fields.positive("ttl_step")?.unwrap_or(1),
            text: text.into(),
            scripts: Arc::new(scripts),
            rewritten: Arc::new(rewritten),
        })
    }

    /// The text of a line of the file (from 1), trimmed.
    pub fn line(&self, line: u32) -> Option<&str> {
        let index = (line as usize).checked_sub(1)?;
        self.text.lines().nth(index).map(str::trim)
    }
}

fn hash(text: &str, scripts: &BTreeMap<String, String>) -> String {
    let mut hasher = Sha256::new();
    // Lengths keep (ab, c) apart from (a, bc).
    let mut part = |bytes: &str| {
        hasher.update((bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    };
    part(text);
    for (name, script) in scripts {
        part(name);
        part(script);
    }
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The table that a file returns, read field by field.
struct Fields<'a> {
    file: &'a str,
    table: Table,
}

impl Fields<'_> {
    fn wrong(&self, message: impl Into<String>) -> LockError {
        LockError::Shape {
            file: self.file.to_string(),
            message: message.into(),
        }
    }

    fn known(&self) -> Result<(), LockError> {
        for pair in self.table.pairs::<Value, Value>() {
            let (key, _) = pair?;
            let name = key.to_string()?;
            if FIELDS.contains(&name.as_str()) || OPERATIONS.contains(&name.as_str()) {
                continue;
            }
            let hint = nearest::hint(&name, &[&FIELDS[..], &OPERATIONS].concat());
            return Err(self.wrong(format!("`{name}` is not a field of a lock; {hint}")));
        }
        Ok(())
    }

    fn get(&self, field: &str) -> Result<Value, LockError> {
        Ok(self.table.raw_get(field)?)
    }

    fn text(&self, field: &str) -> Result<Option<String>, LockError> {
        match self.get(field)? {
            Value::Nil => Ok(None),
            Value::String(text) => Ok(Some(text.to_string_lossy())),
            other => Err(self.wrong(format!(
                "`{field}` must be a text, not a {}",
                other.type_name()
            ))),
        }
    }

    fn flag(&self, field: &str) -> Result<bool, LockError> {
        match self.get(field)? {
            Value::Nil => Ok(false),
            Value::Boolean(flag) => Ok(flag),
            other => Err(self.wrong(format!(
                "`{field}` must be true or false, not a {}",
                other.type_name()
            ))),
        }
    }

    fn positive(&self, field: &str) -> Result<Option<i64>, LockError> {
        match self.get(field)? {
            Value::Nil => Ok(None),
            Value::Integer(n) if n > 0 => Ok(Some(n)),
            _ => Err(self.wrong(format!("`{field}` must be a positive whole number"))),
        }
    }

    fn operations(&self) -> Result<Vec<String>, LockError> {
        let mut found = Vec::new();
        for name in OPERATIONS {
            match self.get(name)? {
                Value::Nil => {}
                Value::Function(_) => found.push(name.to_string()),
                other => {
                    return Err(self.wrong(format!(
                        "`{name}` must be a function of `lock`, not a {}",
                        other.type_name()
                    )));
                }
            }
        }
        for needed in ["acquire", "release"] {
            if !found.iter().any(|name| name == needed) {
                return Err(self.wrong(format!(
                    "the lock has no `{needed}`; add `{needed} = function(lock) ... end`"
                )));
            }
        }
        found.sort();
        Ok(found)
    }

    fn nodes(&self) -> Result<NodeCount, LockError> {
        let count = |value: &Value| match value {
            Value::Integer(n) if (1..=255).contains(n) => Some(*n as u8),
            _ => None,
        };
        let found = match self.get("nodes")? {
            Value::Nil => Some((1, 1, 1)),
            Value::Table(range) => {
                let end = |name: &str| Ok::<_, LockError>(count(&range.raw_get(name)?));
                match (end("default")?, end("min")?, end("max")?) {
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
            _ => Err(self.wrong(
                "`nodes` must be a number of servers from 1 to 255, or {default = 3, min = 1, max = 9}",
            )),
        }
    }

    fn params(&self) -> Result<BTreeMap<String, f64>, LockError> {
        let mut params = BTreeMap::new();
        let table = match self.get("params")? {
            Value::Nil => return Ok(params),
            Value::Table(table) => table,
            _ => return Err(self.wrong("`params` must be a table of numbers by name")),
        };
        for pair in table.pairs::<Value, Value>() {
            let (name, value) = pair?;
            match (name.as_string(), number(&value)) {
                (Some(name), Some(number)) => params.insert(name.to_string_lossy(), number),
                _ => {
                    return Err(self.wrong(
                        "`params` must give each parameter a name and a number as its default",
                    ));
                }
            };
        }
        Ok(params)
    }

    fn scripts(&self, folder: Option<&Path>) -> Result<BTreeMap<String, String>, LockError> {
        let mut scripts = BTreeMap::new();
        let table = match self.get("scripts")? {
            Value::Nil => return Ok(scripts),
            Value::Table(table) => table,
            _ => return Err(self.wrong(SCRIPTS_SHAPE)),
        };
        for pair in table.pairs::<Value, Value>() {
            let (name, text) = match pair? {
                (Value::Integer(_), Value::String(name)) => {
                    let name = name.to_string_lossy();
                    let text = self.find_script(&name, folder)?;
                    (name, text)
                }
                (Value::String(name), Value::String(text)) => {
                    (name.to_string_lossy(), text.to_string_lossy())
                }
                _ => return Err(self.wrong(SCRIPTS_SHAPE)),
            };
            if scripts.insert(name.clone(), text).is_some() {
                return Err(self.wrong(format!("`scripts` declares `{name}` twice; keep one")));
            }
        }
        Ok(scripts)
    }

    fn find_script(&self, name: &str, folder: Option<&Path>) -> Result<String, LockError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(self.wrong(format!(
                "`{name}` can not be a script's name; use letters, digits, _ and -"
            )));
        }
        let places = folder.map(|dir| [dir.join("lua"), dir.join("..").join("lua")]);
        for place in places.iter().flatten() {
            let path = place.join(format!("{name}.lua"));
            if path.is_file() {
                return std::fs::read_to_string(&path).map_err(|source| LockError::Read {
                    path: path.display().to_string(),
                    source,
                });
            }
        }
        registry::builtin_script(name)
            .map(str::to_string)
            .ok_or_else(|| {
                self.wrong(format!(
                    "there is no script `{name}`; put it into lua/{name}.lua beside the lock file, \
                     or write `scripts = {{ {name} = [[...]] }}`"
                ))
            })
    }
}

const SCRIPTS_SHAPE: &str = "`scripts` must list the names of files in lua/, or give texts by name: \
     scripts = { \"release_if_owner\", mine = [[return 1]] }";
