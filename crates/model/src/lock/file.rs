//! A lock file: found, rewritten, looked through and named by a hash.
//!
//! Loading runs the file once in the sandbox to read the table that it returns.
//! All scripts are resolved here, so that the hash covers every byte that can
//! reach a server.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use lockproof_input::files;
use lockproof_lua::text;
use lockproof_lua::{Code, Machine, Pause, RefusalKind, Stop, TableId, Thread, Value, Vm};
use sha2::{Digest, Sha256};

use super::about::About;
use super::callers::{self, Callers};
use super::error::LockError;
use super::fields::Fields;
use super::keys::Keys;
use super::library::{FILE_BYTES, Library};
use super::objects::{self, Objects};
use super::registry::{self, MODELS};
use super::servers::{NodeCount, ServerKind};
use super::types::{Mode, Op};
use super::words::{self, ClientHost};

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
            message: hinted(error.message),
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
        file.callers = callers::declared(&fields.get("callers"), &machine)
            .map_err(|why| fields.wrong("callers", why))?;
        file.objects = objects::declared(&fields.get("objects"), &machine)
            .map_err(|why| fields.wrong("objects", why))?;
        file.keys = fields.keys()?;
        file.nodes = fields.nodes()?;
        (file.params, file.checked_params) = fields.params()?;
        file.ttl_step_ms = fields.positive("ttl_step")?.unwrap_or(1);
        file.server = fields.server()?;
        file.scripts = Arc::new(scripts);
        match objects::unfollowed(&file) {
            Some((field, why)) => Err(fields.wrong(field, why)),
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
            Pause::Ended { values, .. } => values.into_iter().next().unwrap_or(Value::Nil),
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
                    "the file returns {}; it must end in `return {{ acquire = function(lock) ... end, \
                     release = function(lock) ... end }}`",
                    match other {
                        Value::Nil => "nothing".to_owned(),
                        other => format!("a {}", other.type_name()),
                    }
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
        "'redis' (a function value)",
        "`redis` is a function in a lock file: write redis(\"SETNX\", lock.key, ..); redis.call and redis.pcall \
         belong to the scripts that servers run",
    ),
    (
        "'lock' (a nil value)",
        "`lock` is nil here; it is the first and only argument of an operation: acquire = function(lock) .. end",
    ),
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

/// What people write who come from other languages, and what Lua's compiler says to it.
const SYNTAX: &[(&str, &str)] = &[
    (
        "near '!'",
        "; Lua writes ~= for \"not equal\", and `not` for \"not\"",
    ),
    ("'then' expected near '='", "; a comparison is =="),
    ("'do' expected near '='", "; a comparison is =="),
    ("'}' expected", "; is a comma missing before it?"),
];

fn hinted(message: String) -> String {
    let found = SYNTAX.iter().find(|(lua, _)| message.contains(lua));
    match found {
        Some((_, hint)) => message + hint,
        None => message,
    }
}

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
