//! A lock file: found, rewritten, looked through and named by a hash.
//!
//! Loading runs the file once in the sandbox to read the table that it returns.
//! All scripts are resolved here, so that the hash covers every byte that can
//! reach a server.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lockproof_input::{files, nearest};
use lockproof_lua::text::{self, Text};
use lockproof_lua::{
    Code, Key, Machine, Pause, RefusalKind, Stop, Table, TableId, Thread, Value, Vm,
};
use sha2::{Digest, Sha256};

use super::about::{self, About};
use super::callers::{self, Callers};
use super::cancel::CLEAN_UP;
use super::error::LockError;
use super::keys::Keys;
use super::objects::{self, Objects};
use super::registry::{self, MODELS};
use super::shape::{FIELDS, MODES, OPERATIONS, OPTIONAL, PLAIN};
use super::types::{Mode, Op};
use super::words::{self, ClientHost};

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
    /// What the file says of the lock to readers; no verdict depends on it.
    pub about: About,
    /// The path as given, or the built-in name.
    pub path: String,
    /// The text of the file.
    pub text: Arc<str>,
    /// SHA-256 (hex) over the file and its scripts in name order.
    pub sha256: String,
    /// It has modes: `acquire_read` and `acquire_write` in place of `acquire`.
    pub has_modes: bool,
    /// Its clients wait for messages, or for elements of lists.
    pub listens: bool,
    /// It says by `assert_` what must be so.
    pub asserts: bool,
    /// It tells its caller by `lost()` that the lock is lost.
    pub says_lost: bool,
    /// It promises to tell that so soon, in leases.
    pub told_within: Option<f64>,
    /// Its acquire hands out fences.
    pub has_fences: bool,
    /// May a holder acquire again?
    pub reentrant: bool,
    /// A background thread renews the lease for as long as the lock is held, so the
    /// holder's work may take any time.
    pub renews: bool,
    /// It claims that whoever keeps trying acquires: it is asked for starvation-freedom.
    pub fair: bool,
    /// What the first two clients share, if they are two callers of one process.
    pub callers: Callers,
    /// The lock objects of each client.
    pub objects: Objects,
    /// What its keys are.
    pub keys: Keys,
    /// How many servers.
    pub nodes: NodeCount,
    /// Declared parameters with their defaults.
    pub params: BTreeMap<String, f64>,
    /// Those that have another value in checks, where the lease is short.
    pub checked_params: BTreeMap<String, f64>,
    /// The lease must be a multiple of this many ms (1000 where EXPIRE sets it).
    pub ttl_step_ms: i64,
    /// The kind of server that it asks for.
    pub server: ServerKind,
    /// Scripts by name, with their whole text.
    pub scripts: Arc<BTreeMap<String, String>>,
    /// It reads the monotonic clock; a validity that it states is counted on that.
    pub monotonic: bool,
    pub(super) operations: Arc<[Op]>,
    /// It has a function that cleans up after an acquire that was cancelled.
    pub cleans_up: bool,
    pub(crate) code: Arc<Code>,
}

/// On which servers a lock works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerKind {
    /// Redis and Valkey.
    Any,
    /// Valkey 9 or later: it uses commands that only this has.
    Valkey,
}

impl ServerKind {
    /// As traces and the servers themselves name it; `None` if any will do.
    pub fn name(self) -> Option<&'static str> {
        match self {
            ServerKind::Any => None,
            ServerKind::Valkey => Some("valkey"),
        }
    }
}

impl LockFile {
    /// Loads the lock file at `path`. Scripts that it names come from
    /// `lua/NAME.lua` beside it, then beside its folder, then from the built-in ones.
    pub fn load(path: &Path) -> Result<LockFile, LockError> {
        let shown = path.display().to_string();
        let text = files::text(path, FILE_BYTES).map_err(|source| LockError::Read {
            path: shown.clone(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        // What some editors put in front of UTF-8.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        LockFile::from_text(&shown, text, Some(folder))
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
        LockFile::from_text_with(shown, text, Library::Folder(folder))
    }

    pub(super) fn from_text_with(
        shown: &str,
        text: &str,
        library: Library<'_>,
    ) -> Result<LockFile, LockError> {
        let code = Code::compile(shown, text.as_bytes()).map_err(|error| LockError::Syntax {
            at: format!("{shown}:{}", error.line),
            message: error.message,
        })?;
        let mut pops = ["BLPOP", "blpop"].into_iter();
        let mut file = LockFile {
            name: String::new(),
            description: String::new(),
            about: About::default(),
            path: shown.to_string(),
            sha256: String::new(),
            has_modes: false,
            listens: code.reads_global("wait") || pops.any(|name| code.functions_name(name)),
            asserts: code.reads_global("assert_"),
            says_lost: code.reads_global("lost"),
            told_within: None,
            has_fences: code.functions_name("fence"),
            reentrant: false,
            renews: false,
            fair: false,
            callers: Callers::default(),
            objects: Objects::default(),
            keys: Keys::default(),
            nodes: NodeCount {
                default: 1,
                min: 1,
                max: 1,
            },
            params: BTreeMap::new(),
            checked_params: BTreeMap::new(),
            ttl_step_ms: 1,
            server: ServerKind::Any,
            text: text.into(),
            scripts: Arc::default(),
            monotonic: code.reads_global("monotonic"),
            operations: Arc::default(),
            cleans_up: false,
            code: Arc::new(code),
        };
        let (machine, table) = file.run()?;
        let fields = Fields {
            file: shown,
            text,
            machine: &machine,
            table: machine.heap.get(table),
        };
        fields.known()?;
        let scripts = fields.scripts(library)?;
        let stem = Path::new(shown).file_stem().unwrap_or_default();
        file.name = match fields.text("name")? {
            Some(name) => fields.name(name)?,
            None => name_of(&stem.to_string_lossy()),
        };
        file.description = fields.text("description")?.unwrap_or_default();
        file.about = fields.about()?;
        file.sha256 = hash(text, &scripts);
        file.has_modes = fields.has_modes()?;
        file.operations = fields.operations(file.has_modes)?.into();
        file.cleans_up = fields.cleans_up()?;
        file.reentrant = fields.flag("reentrant")?;
        file.renews = fields.flag("renews")?;
        file.fair = fields.flag("fair")?;
        file.told_within = fields.told_within()?;
        file.callers =
            callers::declared(&fields.get("callers"), &machine).map_err(|why| fields.wrong(why))?;
        file.objects = objects::declared(&fields.get("objects"), &machine)
            .map_err(|why| fields.wrong_at("objects", why))?;
        file.keys = fields.keys()?;
        file.nodes = fields.nodes()?;
        (file.params, file.checked_params) = fields.params()?;
        file.ttl_step_ms = fields.positive("ttl_step")?.unwrap_or(1);
        file.server = fields.server()?;
        file.scripts = Arc::new(scripts);
        match objects::unfollowed(&file) {
            Some((field, why)) => Err(fields.wrong_at(field, why)),
            None => Ok(file),
        }
    }

    /// Runs the file: a machine with what it made, and the table that it returns.
    pub(crate) fn run(&self) -> Result<(Machine, TableId), LockError> {
        let mut machine = words::furnish(Arc::clone(&self.code));
        let main = machine.main();
        let mut thread = Thread::new(main, Vec::new());
        let mut host = ClientHost {
            token: None,
            mode: Mode::default(),
            handle: None,
        };
        let ended = Vm::new(&mut machine, &mut thread)
            .resume(&mut host, Vec::new())
            .map_err(|stop| self.explain(stop))?;
        let value = match ended {
            Pause::Ended(values) => values.into_iter().next().unwrap_or(Value::Nil),
            Pause::Waits { line, .. } | Pause::Open { line, .. } => {
                return Err(LockError::Run {
                    at: self.at(line),
                    message: "a word that may wait was used while the file is loaded; use it inside an operation"
                        .to_string(),
                });
            }
        };
        match value {
            Value::Table(table) => Ok((machine, table)),
            other => Err(LockError::Shape {
                file: self.path.clone(),
                message: format!(
                    "the file returns a {}; it must end in `return {{ acquire = function(lock) ... end, \
                     release = function(lock) ... end }}`",
                    other.type_name()
                ),
            }),
        }
    }

    /// `file:line`, or the file alone for line 0.
    pub(crate) fn at(&self, line: u32) -> String {
        match line {
            0 => self.path.clone(),
            line => format!("{}:{line}", self.path),
        }
    }

    /// Why a run of this file stopped, with the line.
    pub(crate) fn explain(&self, stop: Stop) -> LockError {
        match stop {
            Stop::Raised { value, line } => {
                let at = self.at(line);
                let whole = match &value {
                    Value::Text(text) => text::printable(text.bytes()),
                    Value::Number(number) => lockproof_lua::number::to_text(*number),
                    other => format!("a {} was raised", other.type_name()),
                };
                let message = whole.strip_prefix(&format!("{at}: ")).unwrap_or(&whole);
                LockError::Run {
                    at: at.clone(),
                    message: clearer(message),
                }
            }
            Stop::Refused(refusal) => {
                let at = self.at(refusal.line);
                match refusal.kind {
                    RefusalKind::Limit => LockError::Run {
                        at,
                        message: clearer(&refusal.what),
                    },
                    _ => LockError::Refused { at, refusal },
                }
            }
        }
    }

    /// Two callers of a process, or two objects of a client, use one handle.
    pub fn shares_handle(&self) -> bool {
        self.callers.handle || self.objects.shared
    }

    /// They have one owner id.
    pub fn shares_owner(&self) -> bool {
        self.callers.owner || self.objects.two
    }

    /// The operations that it has.
    pub fn operations(&self) -> &[Op] {
        &self.operations
    }

    /// Its clients can call this.
    pub fn has(&self, op: Op) -> bool {
        self.operations.contains(&op)
    }

    /// The lines of its functions; those that run while it is loaded are none.
    pub fn function_lines(&self) -> Vec<u32> {
        self.code.function_lines()
    }

    /// The text of a line of the file (from 1), trimmed.
    pub fn line(&self, line: u32) -> Option<&str> {
        let index = (line as usize).checked_sub(1)?;
        self.text.lines().nth(index).map(str::trim)
    }
}

/// Where a file finds the scripts that it names.
#[derive(Clone, Copy)]
pub(super) enum Library<'l> {
    /// In this folder, and among the built-in ones.
    Folder(Option<&'l Path>),
    /// Here alone: another text of this file has found them.
    Known(&'l BTreeMap<String, String>),
}

/// A script of this file is Lua that a server takes.
pub(super) fn compiles(file: &str, name: &str, text: &str) -> Result<(), LockError> {
    let compiled = lockproof_redis::compile_script(text.as_bytes());
    compiled.map_err(|(line, why)| LockError::Shape {
        file: file.to_owned(),
        message: format!("the script `{name}` does not compile: its line {line}: {why}"),
    })
}

pub(super) fn hash(text: &str, scripts: &BTreeMap<String, String>) -> String {
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

/// Lua's wording, ours: what a user cannot know is explained.
const CLEARER: &[(&str, &str)] = &[
    (
        "attempt to yield across metamethod/C-call boundary",
        "a word that may wait was used where nothing can wait (inside a comparison of table.sort, or a \
         function that string.gsub calls); call it before, and keep its result in a local",
    ),
    (
        "Attempt to modify a readonly table",
        "a table that the file made while it was loaded can not be changed; keep what must last in `self`",
    ),
    (
        "stack overflow",
        "functions call each other without end (stack overflow); use a loop",
    ),
    (
        "runs for too long",
        "a million instructions without waiting for anything: is this a loop without end? Let it sleep, \
         send a command, or end",
    ),
    (
        "needs more memory",
        "more memory is needed than a lock can need; does a table or a text grow for ever?",
    ),
];

fn clearer(message: &str) -> String {
    let found = CLEARER.iter().find(|(lua, _)| message.contains(lua));
    found.map_or(message, |(_, ours)| ours).to_string()
}

/// The longest time in which a lock can promise to tell of its loss, in leases.
const TOLD_WITHIN_MAX: f64 = 2.0;

/// The longest lock file or script, in bytes.
const FILE_BYTES: u64 = 1 << 20;

/// The name of a lock that names none: its file's, with a dash for what a name may not have.
fn name_of(stem: &str) -> String {
    let plain = |c: char| if files::is_plain(c) { c } else { '-' };
    let name: String = stem
        .chars()
        .take(files::NAME_BYTES / 4)
        .map(plain)
        .collect();
    match name.trim_start_matches(['-', '.']) {
        "" => "lock".to_owned(),
        name => name.to_owned(),
    }
}

type Params = BTreeMap<String, f64>;

const PARAMS_SHAPE: &str = "`params` must give each parameter a name and a number as its default, \
     or { default = .., check = .. } if checks take another";

/// The table that a file returns, read field by field.
struct Fields<'a> {
    file: &'a str,
    text: &'a str,
    machine: &'a Machine,
    table: &'a Table,
}

fn plain(text: &Text) -> String {
    String::from_utf8_lossy(text.bytes()).into_owned()
}

impl Fields<'_> {
    fn wrong(&self, message: impl Into<String>) -> LockError {
        LockError::Shape {
            file: self.file.to_string(),
            message: message.into(),
        }
    }

    /// The same, with the line of the field.
    fn wrong_at(&self, field: &str, message: impl Into<String>) -> LockError {
        self.wrong_on(&[field], message.into())
    }

    fn wrong_on(&self, path: &[&str], message: String) -> LockError {
        let line = lockproof_lua::field_line(self.text.as_bytes(), path);
        let place = line.map_or(String::new(), |line| format!(":{line}"));
        LockError::Shape {
            file: format!("{}{place}", self.file),
            message,
        }
    }

    fn known(&self) -> Result<(), LockError> {
        for (key, _) in self.table.entries() {
            let name = match &key {
                Key::Text(text) => plain(text),
                other => self.machine.display(&other.value()),
            };
            if FIELDS.contains(&name.as_str()) || OPERATIONS.contains(&name.as_str()) {
                continue;
            }
            let hint = nearest::hint(&name, &[&FIELDS[..], &OPERATIONS].concat());
            return Err(self.wrong(format!("`{name}` is not a field of a lock; {hint}")));
        }
        Ok(())
    }

    fn get(&self, field: &str) -> Value {
        self.table.field(field)
    }

    fn text(&self, field: &str) -> Result<Option<String>, LockError> {
        match self.get(field) {
            Value::Nil => Ok(None),
            Value::Text(text) => Ok(Some(plain(&text))),
            other => Err(self.wrong(format!(
                "`{field}` must be a text, not a {}",
                other.type_name()
            ))),
        }
    }

    fn flag(&self, field: &str) -> Result<bool, LockError> {
        match self.get(field) {
            Value::Nil => Ok(false),
            Value::Bool(flag) => Ok(flag),
            other => Err(self.wrong(format!(
                "`{field}` must be true or false, not a {}",
                other.type_name()
            ))),
        }
    }

    fn positive(&self, field: &str) -> Result<Option<i64>, LockError> {
        match self.get(field) {
            Value::Nil => Ok(None),
            Value::Number(n) if n >= 1.0 && n.fract() == 0.0 && n < 1e12 => Ok(Some(n as i64)),
            _ => Err(self.wrong(format!("`{field}` must be a positive whole number"))),
        }
    }

    fn told_within(&self) -> Result<Option<f64>, LockError> {
        match self.get("told_within") {
            Value::Nil => Ok(None),
            Value::Number(leases) if (0.0..=TOLD_WITHIN_MAX).contains(&leases) => Ok(Some(leases)),
            _ => {
                let what =
                    format!("a number of leases from 0 to {TOLD_WITHIN_MAX}, such as 1 or 1 / 3");
                Err(self.wrong_at("told_within", format!("`told_within` must be {what}")))
            }
        }
    }

    fn server(&self) -> Result<ServerKind, LockError> {
        match self.text("server")?.as_deref() {
            None => Ok(ServerKind::Any),
            Some("valkey") => Ok(ServerKind::Valkey),
            Some(_) => Err(self.wrong(
                "`server` must be \"valkey\" (version 9 or later, for a lock that uses its own \
                 commands); leave it out for a lock that works on Redis"
                    .to_string(),
            )),
        }
    }

    fn about(&self) -> Result<About, LockError> {
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

    fn keys(&self) -> Result<Keys, LockError> {
        let id = match self.get("keys") {
            Value::Nil => return Ok(Keys::default()),
            Value::Table(id) => id,
            _ => return Err(self.wrong(super::keys::SHAPE)),
        };
        let mut declared = Vec::new();
        for (role, value) in self.machine.heap.get(id).entries() {
            let Key::Text(role) = role else {
                return Err(self.wrong(super::keys::SHAPE));
            };
            let texts: Vec<Value> = match value {
                Value::Table(list) => self.machine.heap.get(list).list.clone(),
                single => vec![single],
            };
            for text in texts {
                let Value::Text(text) = text else {
                    return Err(self.wrong(super::keys::SHAPE));
                };
                declared.push((plain(&role), plain(&text)));
            }
        }
        Keys::declared(&declared).map_err(|message| self.wrong(message))
    }

    /// It is a read-write lock.
    fn has_modes(&self) -> Result<bool, LockError> {
        let has = |op: Op| !matches!(self.get(op.name()), Value::Nil);
        let modes = has(Op::AcquireRead) || has(Op::AcquireWrite);
        if modes && has(Op::Acquire) {
            return Err(self.wrong(
                "the lock has `acquire` beside `acquire_read` or `acquire_write`; a read-write lock has these two \
                 in place of `acquire`",
            ));
        }
        Ok(modes)
    }

    /// The operations that it has: those that it must have, then the others.
    fn operations(&self, has_modes: bool) -> Result<Vec<Op>, LockError> {
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
            return Err(self.wrong(wrong));
        }
        if has_modes && operations.contains(&Op::TryAcquire) {
            return Err(self.wrong(
                "the lock has `try_acquire` beside `acquire_read` and `acquire_write`; it belongs beside `acquire`, \
                 and takes no mode",
            ));
        }
        Ok(operations)
    }

    /// It cleans up after an acquire that was cancelled.
    fn cleans_up(&self) -> Result<bool, LockError> {
        match self.get(CLEAN_UP) {
            Value::Nil => Ok(false),
            Value::Function(_) => Ok(true),
            other => Err(self.wrong(format!(
                "`{CLEAN_UP}` must be a function of `lock`, which cleans up after an acquire that was \
                 cancelled, not a {}",
                other.type_name()
            ))),
        }
    }

    fn nodes(&self) -> Result<NodeCount, LockError> {
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
            _ => Err(self.wrong(
                "`nodes` must be a number of servers from 1 to 255, or {default = 3, min = 1, max = 9}",
            )),
        }
    }

    /// Defaults, and values in checks.
    fn params(&self) -> Result<(Params, Params), LockError> {
        let (mut params, mut checked) = (Params::new(), Params::new());
        let id = match self.get("params") {
            Value::Nil => return Ok((params, checked)),
            Value::Table(id) => id,
            _ => return Err(self.wrong("`params` must be a table of numbers by name")),
        };
        for entry in self.machine.heap.get(id).entries() {
            let (name, default, check) = match entry {
                (Key::Text(name), Value::Number(number)) => (plain(&name), number, None),
                (Key::Text(name), Value::Table(id)) => {
                    let table = self.machine.heap.get(id);
                    match (table.field("default"), table.field("check")) {
                        (Value::Number(default), Value::Number(check)) => {
                            (plain(&name), default, Some(check))
                        }
                        _ => return Err(self.wrong(PARAMS_SHAPE)),
                    }
                }
                _ => return Err(self.wrong(PARAMS_SHAPE)),
            };
            checked.extend(check.map(|check| (name.clone(), check)));
            params.insert(name, default);
        }
        Ok((params, checked))
    }

    fn scripts(&self, library: Library<'_>) -> Result<BTreeMap<String, String>, LockError> {
        let mut scripts = BTreeMap::new();
        let id = match self.get("scripts") {
            Value::Nil => return Ok(scripts),
            Value::Table(id) => id,
            _ => return Err(self.wrong(SCRIPTS_SHAPE)),
        };
        for entry in self.machine.heap.get(id).entries() {
            let (name, text) = match entry {
                (Key::Number(_), Value::Text(name)) => {
                    let name = plain(&name);
                    let text = self.find_script(&name, library)?;
                    (name, text)
                }
                (Key::Text(name), Value::Text(text)) => (plain(&name), plain(&text)),
                _ => return Err(self.wrong(SCRIPTS_SHAPE)),
            };
            compiles(self.file, &name, &text)?;
            if scripts.insert(name.clone(), text).is_some() {
                return Err(self.wrong(format!("`scripts` declares `{name}` twice; keep one")));
            }
        }
        Ok(scripts)
    }

    /// A name that may stand in the name of a file, in a report and on a terminal.
    fn name(&self, name: String) -> Result<String, LockError> {
        if files::is_name(&name) {
            return Ok(name);
        }
        Err(self.wrong(format!(
            "{name:?} can not be a lock's name; use at most {} letters, digits, _, - and ., and begin with a letter or a digit",
            files::NAME_BYTES
        )))
    }

    fn find_script(&self, name: &str, library: Library<'_>) -> Result<String, LockError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if name.is_empty() || !name.chars().all(plain) {
            return Err(self.wrong(format!(
                "`{name}` can not be a script's name; use letters, digits, _ and -"
            )));
        }
        let (folder, known) = match library {
            Library::Folder(folder) => (folder, None),
            Library::Known(scripts) => (None, scripts.get(name)),
        };
        if let Some(text) = known {
            return Ok(text.clone());
        }
        let places = folder.map(|dir| [dir.join("lua"), dir.join("..").join("lua")]);
        for place in places.iter().flatten() {
            let path = place.join(format!("{name}.lua"));
            if path.is_file() {
                return files::text(&path, FILE_BYTES).map_err(|source| LockError::Read {
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
