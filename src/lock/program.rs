//! A live client program: one lock file, one client, no clock and no socket.
//!
//! The program only answers: each [`Input`] makes it run until every thread
//! waits again. All that it remembers between two inputs is in [`Client`] and
//! on the stacks of its coroutines, and [`Program::key`] writes exactly that. Numbers
//! that could grow without end (ages, leases) are kept as counters relative to
//! the present that stop at the horizon, so that what a program does next is a
//! function of its key.
//!
//! Programs are restarted, not rebuilt: a fresh Lua state costs some hundred
//! microseconds, an input a few.

use std::collections::{BTreeSet, VecDeque};

use mlua::{Function, Table, Thread as Coroutine, Value};

use super::error::LockError;
use super::file::LockFile;
use super::guard::Guard;
use super::key::{self, Encoder};
use super::message::Places;
use super::snapshot::{Known, Roots, Snapshot, Val};
use super::types::*;
use super::vm::Vm;
use super::walk;

/// The caller's thread and three more.
pub(crate) const THREADS_MAX: usize = 4;

/// A thread of the client: its coroutine and what it waits for.
pub(crate) struct Worker {
    /// `None` before the thread, or a round of `every`, has begun.
    pub coroutine: Option<Coroutine>,
    /// What a background thread runs.
    pub body: Option<Function>,
    /// The pause between two rounds, for `every`.
    pub every_ms: Option<i64>,
    pub waiting: Waiting,
    /// The user's line that waits.
    pub line: u32,
}

/// What the driver's side of a client remembers.
pub(crate) struct Client {
    pub clock_ms: i64,
    pub phase: Phase,
    pub holds: u8,
    pub op: Option<Op>,
    /// ms since the running operation was called, at most the horizon.
    pub op_age_ms: i64,
    /// The running operation sent a command.
    pub op_sent: bool,
    /// Waits of the running operation so far.
    pub op_waits: u32,
    pub validity_ms: Option<i64>,
    pub lease_ms: i64,
    /// A background thread lives, or lived, during this hold.
    pub renewed: bool,
    pub token: Option<String>,
    pub workers: [Option<Worker>; THREADS_MAX],
    pub channels: BTreeSet<String>,
    pub inbox: VecDeque<(String, String)>,
    /// The program failed; only a restart helps.
    pub broken: bool,
}

impl Client {
    fn new(clock_ms: i64) -> Client {
        Client {
            clock_ms,
            phase: Phase::Idle,
            holds: 0,
            op: None,
            op_age_ms: 0,
            op_sent: false,
            op_waits: 0,
            validity_ms: None,
            lease_ms: 0,
            renewed: false,
            token: None,
            workers: [const { None }; THREADS_MAX],
            channels: BTreeSet::new(),
            inbox: VecDeque::new(),
            broken: false,
        }
    }

    pub fn background(&self) -> bool {
        self.workers[1..].iter().any(Option::is_some)
    }

    /// Nothing is held any more.
    pub fn drop_hold(&mut self) {
        self.holds = 0;
        self.validity_ms = None;
        self.renewed = false;
    }
}

/// A lock file at work as one client.
pub struct Program {
    pub(crate) file: LockFile,
    pub(crate) config: Config,
    pub(crate) vm: Vm,
    /// Each with the user's line where it begins.
    pub(crate) acquire: (Function, u32),
    pub(crate) release: (Function, u32),
    /// What operations get as `lock`, and the table behind it.
    pub(crate) lock: Value,
    lock_content: Table,
    handle: Table,
    known: Known,
    pins: Coroutine,
    guard: Guard,
    pub(crate) client: Client,
}

impl Program {
    /// Starts a client called `owner` (its stable identity, `lock.owner`) whose
    /// clock stands at `clock_ms` since 1970.
    pub fn start(
        file: &LockFile,
        config: &Config,
        owner: &str,
        clock_ms: i64,
    ) -> Result<Program, LockError> {
        check_config(file, config)?;
        let vm = Vm::new(config.horizon_ms)?;
        let places = Places {
            file: &file.path,
            rewritten: &file.rewritten,
        };
        let returned = vm.load(&places)?;
        let Value::Table(table) = returned else {
            // LockFile saw a table; only a file that is not deterministic gets here.
            return Err(LockError::Shape {
                file: file.path.clone(),
                message: "the file returned something else than when it was loaded".to_string(),
            });
        };
        let (lock, lock_content, views) = lock_table(&vm, file, config, owner)?;
        let mut known = Known::default();
        register_words(&vm, &mut known)?;
        for (name, view) in &views {
            known.add(view.to_pointer(), *name);
        }
        known.add(lock.to_pointer(), "lock");
        let nothing = vm.lua.load("return").into_function()?;
        let pins = vm.lua.create_thread(nothing)?;
        let guard = Guard::new(&vm, &mut known, &pins, &table)?
            .map_err(|found| found.into_error(&places))?;
        let operation = |name: &str| -> Result<(Function, u32), LockError> {
            let function: Function = table.raw_get(name)?;
            let line = function.info().line_defined.unwrap_or(0) as u32;
            Ok((function, file.rewritten.user_line(line)))
        };
        let mut program = Program {
            acquire: operation("acquire")?,
            release: operation("release")?,
            file: file.clone(),
            config: config.clone(),
            handle: vm.lua.create_table()?,
            vm,
            lock,
            lock_content,
            known,
            pins,
            guard,
            client: Client::new(clock_ms),
        };
        program.restart(clock_ms)?;
        Ok(program)
    }

    /// Forgets everything and stands where [`Program::start`] left it, with the
    /// clock at `clock_ms`. Much cheaper than a new program.
    pub fn restart(&mut self, clock_ms: i64) -> Result<(), LockError> {
        self.client = Client::new(clock_ms);
        self.handle = self.vm.lua.create_table()?;
        self.vm.words.raw_set("self", &self.handle)?;
        self.lock_content.raw_set("token", Value::Nil)?;
        self.vm.set_clock(clock_ms)?;
        Ok(())
    }

    /// Takes one input and runs until every thread waits again.
    ///
    /// After an error other than [`LockError::Driver`] the program is stuck
    /// until [`Program::restart`].
    pub fn step(&mut self, input: &Input) -> Result<Output, LockError> {
        if self.client.broken {
            return Err(LockError::Driver {
                input: format!("{input:?}"),
                why: "the program failed before; restart it".to_string(),
            });
        }
        let mut output = Output::default();
        let result = self.dispatch(input, &mut output).and_then(|ran| {
            if ran {
                self.check_file_locals()?;
            }
            Ok(())
        });
        if let Err(error) = result {
            self.client.broken = !matches!(error, LockError::Driver { .. });
            return Err(error);
        }
        let client = &mut self.client;
        if client.holds > 0 && client.background() {
            client.renewed = true;
        }
        Ok(output)
    }

    /// The outside view between two inputs.
    pub fn view(&self) -> View {
        let client = &self.client;
        let held = client.holds > 0;
        let lease = client.validity_ms.unwrap_or(client.lease_ms);
        let workers = client.workers.iter().enumerate();
        View {
            phase: client.phase,
            holds: client.holds,
            validity_left_ms: client.validity_ms.filter(|_| held),
            lease_left_ms: (held && !client.renewed).then_some(lease),
            threads: workers
                .filter_map(|(id, worker)| Some((id as Thread, worker.as_ref()?.waiting)))
                .collect(),
        }
    }

    /// The client's clock, in ms since 1970.
    pub fn clock_ms(&self) -> i64 {
        self.client.clock_ms
    }

    /// The lock file that runs.
    pub fn file(&self) -> &LockFile {
        &self.file
    }

    /// The local state as bytes: equal keys mean that the program answers every
    /// further sequence of inputs alike, but for the names that `canon` gives.
    ///
    /// Every text of the program goes through `canon`, which renames tokens and
    /// owners (and stored times, which are texts of 13 digits when they come
    /// back from Redis).
    pub fn key(&self, canon: &dyn Fn(&[u8]) -> Vec<u8>) -> Result<Vec<u8>, LockError> {
        let snapshot = self.snapshot(false)?;
        let client = &self.client;
        let horizon = self.config.horizon_ms;
        let mut to = Encoder::new(&snapshot, client.clock_ms, horizon, canon);
        to.int(client.phase as i64);
        to.int(i64::from(client.holds));
        if client.op == Some(Op::Acquire) {
            to.int(client.op_age_ms);
            to.int(i64::from(client.op_sent && client.holds > 0));
        }
        if client.holds > 0 {
            to.int(i64::from(client.renewed));
            to.int(client.validity_ms.unwrap_or(i64::MIN));
            if !client.renewed && client.validity_ms.is_none() {
                to.int(client.lease_ms);
            }
        }
        // An idle client without threads can not read its token any more: the
        // next acquire brings a new one.
        if client.op.is_some() || client.holds > 0 || client.background() {
            to.text(client.token.as_deref().unwrap_or("").as_bytes());
        }
        to.int(client.channels.len() as i64);
        for channel in &client.channels {
            to.text(channel.as_bytes());
        }
        to.int(client.inbox.len() as i64);
        for (channel, payload) in &client.inbox {
            to.text(channel.as_bytes());
            to.text(payload.as_bytes());
        }
        self.write_threads(&mut to, &snapshot);
        Ok(to.out)
    }

    fn write_threads(&self, to: &mut Encoder<'_>, snapshot: &Snapshot) {
        to.value(snapshot.values[0]);
        let mut bodies = snapshot.values[1..].iter();
        let mut stack = 0;
        for (id, worker) in self.client.workers.iter().enumerate() {
            let Some(worker) = worker else { continue };
            to.int(id as i64);
            let (kind, number, left) = match worker.waiting {
                Waiting::Reply { node, timeout_ms } => (0, i64::from(node), timeout_ms),
                Waiting::TimedOut { node } => (1, i64::from(node), 0),
                Waiting::Sleep { left_ms } => (2, 0, left_ms),
                Waiting::Ready => (3, 0, 0),
                Waiting::Choice { options } => (4, i64::from(options), 0),
                Waiting::Message { left_ms } => (5, 0, left_ms),
            };
            to.int(kind);
            to.int(number);
            to.int(left);
            to.int(worker.every_ms.unwrap_or(-1));
            if worker.body.is_some()
                && let Some(body) = bodies.next()
            {
                to.value(*body);
            }
            to.int(i64::from(worker.coroutine.is_some()));
            if worker.coroutine.is_some() {
                to.thread(stack);
                stack += 1;
            }
        }
    }

    /// What the program remembers, by name, for messages about a local that
    /// grows without end: the handle's fields, then each thread's locals with
    /// the line that waits.
    pub fn locals(&self) -> Result<Vec<(String, String)>, LockError> {
        let snapshot = self.snapshot(true)?;
        let clock = self.client.clock_ms;
        let mut found = Vec::new();
        if let Val::Table(id) = snapshot.values[0] {
            for (name, value) in &snapshot.tables[id] {
                let name = key::display(&snapshot, *name, clock);
                let name = name.trim_matches('"').to_string();
                found.push((
                    format!("self.{name}"),
                    key::display(&snapshot, *value, clock),
                ));
            }
            found.sort();
        }
        for frame in snapshot.threads.iter().flatten() {
            let line = self.file.rewritten.user_line(frame.line);
            for slot in frame.slots.iter().filter(|slot| slot.shown != "lock") {
                let value = match slot.cell {
                    Some(cell) => snapshot.cells[cell].value,
                    None => slot.value,
                };
                found.push((
                    format!("{} (line {line})", slot.shown),
                    key::display(&snapshot, value, clock),
                ));
            }
        }
        for cell in &snapshot.cells {
            found.push((
                cell.shown.clone(),
                key::display(&snapshot, cell.value, clock),
            ));
        }
        Ok(found)
    }

    fn snapshot(&self, names: bool) -> Result<Snapshot, LockError> {
        let workers = self.client.workers.iter().flatten();
        let mut values = vec![("self", Value::Table(self.handle.clone()))];
        let mut threads = Vec::with_capacity(THREADS_MAX);
        for worker in workers {
            if let Some(body) = &worker.body {
                values.push(("the thread's function", Value::Function(body.clone())));
            }
            threads.extend(&worker.coroutine);
        }
        let roots = Roots {
            values: &values,
            variables_of: &[],
            threads: &threads,
            first_is_data: true,
            names,
        };
        let (captured, _) = walk::capture(&self.vm, &self.known, &self.pins, &roots, false)?;
        captured.map_err(|found| found.into_error(&self.places()))
    }

    fn check_file_locals(&self) -> Result<(), LockError> {
        self.guard
            .check(&self.vm, &self.known, &self.pins)?
            .map_err(|found| found.into_error(&self.places()))
    }

    pub(crate) fn places(&self) -> Places<'_> {
        Places {
            file: &self.file.path,
            rewritten: &self.file.rewritten,
        }
    }

    pub(crate) fn set_token(&mut self, token: &str) -> Result<(), LockError> {
        self.lock_content.raw_set("token", token)?;
        self.client.token = Some(token.to_string());
        Ok(())
    }
}

fn check_config(file: &LockFile, config: &Config) -> Result<(), LockError> {
    let wrong = |message: String| {
        Err(LockError::Config {
            file: file.path.clone(),
            message,
        })
    };
    let nodes = file.nodes;
    if config.nodes < nodes.min || config.nodes > nodes.max {
        return wrong(format!(
            "{} works with {} to {} servers, not with {}; choose a number in between",
            file.name, nodes.min, nodes.max, config.nodes
        ));
    }
    if config.ttl_ms <= 0 || config.ttl_ms % file.ttl_step_ms != 0 {
        return wrong(format!(
            "the lease must be a positive multiple of {} ms, not {} ms",
            file.ttl_step_ms, config.ttl_ms
        ));
    }
    let longest = config.ttl_ms.max(config.timeout_ms);
    if config.timeout_ms <= 0 || config.horizon_ms < longest {
        return wrong(format!(
            "the command time-out ({} ms) must be positive, and the horizon ({} ms) at least {longest} ms",
            config.timeout_ms, config.horizon_ms
        ));
    }
    if let Some(name) = config.params.keys().find(|p| !file.params.contains_key(*p)) {
        let declared: Vec<&str> = file.params.keys().map(String::as_str).collect();
        return wrong(format!(
            "the file declares no parameter `{name}`; it declares: {}",
            declared.join(", ")
        ));
    }
    Ok(())
}

type Views = Vec<(&'static str, Value)>;

/// The `lock` argument: its locked view, the table behind, and the views in it.
fn lock_table(
    vm: &Vm,
    file: &LockFile,
    config: &Config,
    owner: &str,
) -> Result<(Value, Table, Views), LockError> {
    let params = vm.lua.create_table()?;
    for (name, default) in &file.params {
        let value = config.params.get(name).unwrap_or(default);
        params.raw_set(name.as_str(), *value)?;
    }
    let nodes = vm.lua.create_sequence_from(1..=config.nodes)?;
    let params = vm.locked("lock.params", &params)?;
    let nodes = vm.locked("lock.nodes", &nodes)?;
    let content = vm.lua.create_table()?;
    content.raw_set("key", config.key.as_str())?;
    content.raw_set("owner", owner)?;
    content.raw_set("ttl", config.ttl_ms as f64)?;
    content.raw_set("mode", "write")?;
    content.raw_set("nodes", &nodes)?;
    content.raw_set("params", &params)?;
    let view = vm.locked("lock", &content)?;
    let views = vec![("lock.params", params), ("lock.nodes", nodes)];
    Ok((view, content, views))
}

/// Everything that the sandbox offers, in name order: equal files give equal
/// numbers, so keys of two programs can be compared.
fn register_words(vm: &Vm, known: &mut Known) -> Result<(), LockError> {
    let mut tables = vec![(String::new(), vm.words.clone())];
    for pair in vm.libraries.pairs::<String, Table>() {
        let (name, library) = pair?;
        tables.push((format!("{name}."), library));
    }
    let mut found = Vec::new();
    for (prefix, table) in tables {
        for pair in table.pairs::<Value, Value>() {
            let (name, value) = pair?;
            if value.is_function() || value.is_userdata() {
                found.push((format!("{prefix}{}", name.to_string()?), value));
            }
        }
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, value) in found {
        known.add(value.to_pointer(), name);
    }
    Ok(())
}
