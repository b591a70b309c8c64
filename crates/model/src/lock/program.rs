//! A live client program: one lock file, one client, no clock and no socket.
//!
//! The program only answers: each [`Input`] makes it run until every thread
//! waits again. All that it remembers between two inputs is plain data: the
//! machine's memory, the threads' stacks, and [`Client`]. So a program can be
//! copied ([`Clone`]) and compared ([`Program::key`]).
//!
//! The same program runs in a model and for real. In a model
//! ([`Config::scale`]) its clocks count ticks, and tokens are symbols; for real
//! they are ms and texts.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use lockproof_lua::text::{Span, Symbol, Text};
use lockproof_lua::{
    Clocks, Machine, Moment, RefusalKind, Stop, Table, Thread as Stack, Value, Vm,
};

use super::cancel;
use super::error::LockError;
use super::fences;
use super::file::LockFile;
use super::names::{self, Turn};
use super::readings;
use super::transactions::Watching;
use super::types::*;
use super::words::{self, ClientHost, LockFields};

/// The caller's thread and three more.
pub(crate) const THREADS_MAX: usize = 4;

/// What a thread waits for; durations in ms and ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Reply { node: u8, left: Span },
    TimedOut { node: u8 },
    Sleep { left: Span },
    Ready,
    Choice { options: u8 },
    Open { at_ticks: bool },
    Message { left: Span },
}

/// A thread of the client: its stack and what it waits for.
#[derive(Clone)]
pub(crate) struct Worker {
    /// `None` before the thread, or a round of `every`, has begun.
    pub stack: Option<Stack>,
    /// What a background thread runs; `Nil` for the caller's.
    pub body: Value,
    /// The pause between two rounds, for `every`.
    pub every: Option<Span>,
    pub wait: Wait,
    /// The wait ended at a tick, and not when it was over.
    pub late: bool,
    /// The user's line that waits.
    pub line: u32,
}

impl Worker {
    /// The caller's thread, about to run.
    pub fn of_caller(stack: Stack) -> Worker {
        Worker {
            stack: Some(stack),
            body: Value::Nil,
            every: None,
            wait: Wait::Ready,
            late: false,
            line: 0,
        }
    }
}

/// What the driver's side of a client remembers.
#[derive(Clone)]
pub(crate) struct Client {
    pub phase: Phase,
    pub holds: u8,
    pub op: Option<Op>,
    /// How it holds the lock, or tries to.
    pub mode: Mode,
    /// What is left of the stated validity.
    pub validity: Option<Span>,
    /// The lock said that it is lost.
    pub lost: bool,
    /// A background thread lives, or lived, during this hold.
    pub renewed: bool,
    /// The operation that runs was cancelled: what runs is the clean-up.
    pub cancelled: bool,
    pub token: Option<Text>,
    pub workers: [Option<Worker>; THREADS_MAX],
    pub channels: BTreeSet<Vec<u8>>,
    pub inbox: VecDeque<(Vec<u8>, String)>,
    /// What the caller's thread has watched.
    pub watching: Watching,
    /// The program failed; only a restart helps.
    pub broken: bool,
}

impl Client {
    fn new() -> Client {
        Client {
            phase: Phase::Idle,
            holds: 0,
            op: None,
            mode: Mode::default(),
            validity: None,
            lost: false,
            renewed: false,
            cancelled: false,
            token: None,
            workers: [const { None }; THREADS_MAX],
            channels: BTreeSet::new(),
            inbox: VecDeque::new(),
            watching: Watching::default(),
            broken: false,
        }
    }

    pub fn background(&self) -> bool {
        self.workers[1..].iter().any(Option::is_some)
    }

    /// The lock is lost: what was stated of its validity is over.
    pub fn lose(&mut self) {
        if self.holds > 0 {
            self.lost = true;
            self.validity = Some(Span::default());
        }
    }

    /// Nothing is held any more.
    pub fn drop_hold(&mut self) {
        self.holds = 0;
        self.validity = None;
        self.lost = false;
        self.renewed = false;
    }
}

/// What all copies of a program share.
pub(crate) struct Shared {
    pub file: LockFile,
    pub config: Config,
    /// The functions of its operations.
    pub operations: Vec<(Op, Value)>,
    /// What cleans up after an acquire that was cancelled.
    pub clean_up: Option<Value>,
    /// What operations get as `lock`.
    pub lock: Value,
    /// The machine as it was when the file had been loaded.
    loaded: Machine,
}

/// A lock file at work as one client.
#[derive(Clone)]
pub struct Program {
    pub(crate) shared: Arc<Shared>,
    pub(crate) machine: Machine,
    pub(crate) handle: Value,
    pub(crate) client: Client,
    /// Which of the callers that share a handle it is; only threads' real names tell.
    pub(super) caller: u8,
}

impl Program {
    /// Starts a client called `owner` (its stable identity, `lock.owner`) whose
    /// clocks stand at `clock_ms` since 1970. In a model it has no name but the
    /// symbol for its own.
    ///
    /// # Errors
    /// If the file does not load, or does not work with `config`.
    pub fn start(
        file: &LockFile,
        config: &Config,
        owner: &str,
        clock_ms: i64,
    ) -> Result<Program, LockError> {
        check_config(file, config)?;
        if !super::run::is_in_reach(clock_ms) {
            return Err(LockError::Config {
                file: file.path.clone(),
                message: format!("no clock can show {clock_ms} ms since 1970"),
            });
        }
        let (mut machine, table) = file.run()?;
        let owner = match config.scale {
            Some(_) => Text::symbolic(Symbol::Name(names::OWN_NAME).text()),
            None => Text::plain(owner),
        };
        let params = file.params.iter().map(|(name, default)| {
            let value = config.params.get(name).unwrap_or(default);
            (name.clone(), *value)
        });
        let lock = words::lock_table(
            &mut machine,
            LockFields {
                key: &config.key,
                owner,
                ttl_ms: config.ttl_ms,
                nodes: config.nodes,
                params: params.collect(),
            },
        );
        machine.heap.freeze();
        let function = |op: &Op| (*op, machine.heap.get(table).field(op.name()));
        let clean_up = machine.heap.get(table).field(cancel::CLEAN_UP);
        let shared = Shared {
            clean_up: Some(clean_up).filter(|_| file.cleans_up),
            operations: file.operations().iter().map(function).collect(),
            file: file.clone(),
            config: config.clone(),
            lock,
            loaded: machine.clone(),
        };
        let mut program = Program {
            machine,
            handle: Value::Nil,
            client: Client::new(),
            caller: 0,
            shared: Arc::new(shared),
        };
        program.restart(clock_ms)?;
        Ok(program)
    }

    /// Forgets everything and stands where [`Program::start`] left it, with the
    /// clocks at `clock_ms`.
    ///
    /// # Errors
    /// None today.
    pub fn restart(&mut self, clock_ms: i64) -> Result<(), LockError> {
        self.machine = self.shared.loaded.clone();
        self.client = Client::new();
        let start = match self.shared.config.scale {
            Some(_) => Moment::default(),
            None => Moment {
                ms: clock_ms,
                ..Moment::default()
            },
        };
        self.machine.clocks = Clocks {
            wall: start,
            monotonic: start,
            scale: self.shared.config.scale,
        };
        self.handle = Value::Table(self.machine.heap.table(Table::default()));
        Ok(())
    }

    /// From now on lines that run are noted in `lines`.
    pub fn watch_lines(&mut self, lines: lockproof_lua::Lines) {
        self.machine.lines = Some(lines);
    }

    /// Takes one input and runs until every thread waits again.
    ///
    /// # Errors
    /// After an error other than [`LockError::Driver`] the program is stuck
    /// until [`Program::restart`].
    pub fn step(&mut self, input: &Input) -> Result<Output, LockError> {
        if self.client.broken {
            return Err(LockError::Driver {
                input: format!("{input:?}"),
                why: "the program failed before; restart it".to_string(),
            });
        }
        self.machine.budget = lockproof_lua::BUDGET;
        self.machine.memory = lockproof_lua::MEMORY;
        let mut output = Output::default();
        let shared = match self.shares_handle() {
            true => Some(self.handle_fields()?),
            false => None,
        };
        let result = self
            .dispatch(input, &mut output)
            .and_then(|()| self.check_sent(&output))
            .and_then(|()| self.hand_over(input, shared.as_deref(), &mut output));
        if let Err(error) = result {
            self.client.broken = !matches!(error, LockError::Driver { .. });
            return Err(error);
        }
        let leaving = readings::send(&mut output.sent);
        self.settle(&leaving);
        Ok(output)
    }

    /// The other caller is to see what the step has done to the handle.
    fn hand_over(
        &self,
        input: &Input,
        before: Option<&[(super::handle::Plain, super::handle::Plain)]>,
        output: &mut Output,
    ) -> Result<(), LockError> {
        let taken = matches!(input, Input::Exchange(_));
        if let Some(before) = before.filter(|_| !taken) {
            output.exchange = self.exchange(input, before, output)?;
        }
        Ok(())
    }

    /// In a model only the client's own present token can be followed, and those that the
    /// program has kept of its own.
    fn check_sent(&self, output: &Output) -> Result<(), LockError> {
        for request in &output.sent {
            if let Some(name) = names::sends_another(&request.argv) {
                let what = format!(
                    "sends {}, and the model follows only its own present token",
                    Symbol::Name(name)
                );
                let refusal = lockproof_lua::Refusal {
                    kind: RefusalKind::Names,
                    what,
                    line: request.line,
                };
                return Err(self.explain(Stop::Refused(refusal)));
            }
        }
        Ok(())
    }

    /// Numbers the memory anew, and drops what nobody can reach any more.
    fn settle(&mut self, leaving: &[u16]) {
        // An idle client without threads cannot read its token any more: the next
        // attempt brings a new one.
        let client = &mut self.client;
        if client.op.is_none() && client.holds == 0 && !client.background() {
            client.token = None;
            client.mode = Mode::default();
        }
        client.renewed |= client.holds > 0 && client.background();
        let (machine, mut threads, mut values) = self.parts();
        machine.settle(&mut threads, &mut values);
        readings::settle(machine, &mut threads, &mut values, leaving);
    }

    /// The machine, all stacks, and all values that the client keeps.
    pub(super) fn parts(&mut self) -> (&mut Machine, Vec<&mut Stack>, Vec<&mut Value>) {
        let mut threads = Vec::with_capacity(THREADS_MAX);
        let mut values = vec![&mut self.handle];
        for worker in self.client.workers.iter_mut().flatten() {
            threads.extend(&mut worker.stack);
            values.push(&mut worker.body);
        }
        (&mut self.machine, threads, values)
    }

    /// Names are renamed before an input.
    pub(in crate::lock) fn turn(&mut self, turn: Turn) -> Result<names::Kept, LockError> {
        let (machine, mut threads, mut values) = self.parts();
        let turned = names::turn(machine, &mut threads, &mut values, turn);
        turned.map_err(|refusal| self.explain(Stop::Refused(refusal)))
    }

    /// Rewrites the rank of every fence that the program of a model remembers.
    pub fn map_fences(&mut self, f: &mut dyn FnMut(u8) -> u8) {
        let (machine, mut threads, mut values) = self.parts();
        fences::map(machine, &mut threads, &mut values, f);
    }

    /// The outside view between two inputs.
    pub fn view(&self) -> View {
        let client = &self.client;
        let held = client.holds > 0;
        let ms = |span: Span| self.ms(span).max(0);
        let validity = client.validity.filter(|_| held);
        let workers = client.workers.iter().enumerate();
        View {
            phase: client.phase,
            holds: client.holds,
            mode: client.mode,
            validity_left_ms: validity.map(ms),
            valid: held && validity.is_none_or(|left| self.is_left(left)),
            valid_at_ticks: held && validity.is_none_or(|left| self.ms(left) > 0),
            lost: client.lost,
            renewed: client.renewed,
            threads: workers
                .filter_map(|(id, worker)| {
                    let waiting = match worker.as_ref()?.wait {
                        Wait::Reply { node, left } => Waiting::Reply {
                            node,
                            timeout_ms: ms(left),
                        },
                        Wait::TimedOut { node } => Waiting::TimedOut { node },
                        Wait::Sleep { left } => Waiting::Sleep { left_ms: ms(left) },
                        Wait::Ready => Waiting::Ready,
                        Wait::Choice { options } => Waiting::Choice { options },
                        Wait::Open { at_ticks } => Waiting::Open { at_ticks },
                        Wait::Message { left } => Waiting::Message { left_ms: ms(left) },
                    };
                    Some((id as Thread, waiting))
                })
                .collect(),
        }
    }

    /// What a span is worth in ms.
    pub(crate) fn ms(&self, span: Span) -> i64 {
        let scale = self.shared.config.scale;
        span.value(scale.map_or(0, |scale| scale.step_ms))
    }

    /// Something of a stated validity is left. One that ends between two ticks is
    /// taken to be longer.
    fn is_left(&self, left: Span) -> bool {
        match self.shared.config.scale {
            Some(scale) if left.ms % scale.tick_ms != 0 => left.value(scale.tick_ms) > 0,
            _ => self.ms(left) > 0,
        }
    }

    /// The client's wall clock, in ms since 1970 (in a model: since it began).
    pub fn clock_ms(&self) -> i64 {
        let wall = self.machine.clocks.wall;
        self.ms(Span {
            ms: wall.ms,
            ticks: wall.tick,
        })
    }

    /// The lock file that runs.
    pub fn file(&self) -> &LockFile {
        &self.shared.file
    }

    /// The local state as bytes: equal keys mean that the program answers every
    /// further sequence of inputs alike.
    pub fn key(&self) -> Vec<u8> {
        self.key_and_ahead().0
    }

    /// The key, and how far ahead the furthest time in it lies, in ms.
    pub(in crate::lock) fn key_and_ahead(&self) -> (Vec<u8>, i64) {
        let mut out = Vec::with_capacity(256);
        let client = &self.client;
        let mut int = |number: i64| out.extend_from_slice(&number.to_le_bytes());
        int(client.phase as i64);
        int(i64::from(client.holds));
        int(client.op.map_or(-1, |op| op as i64));
        let flags = [
            client.lost,
            client.renewed,
            client.mode == Mode::Read,
            client.cancelled,
        ];
        let flags = flags.into_iter().rev();
        int(flags.fold(0, |bits, flag| bits << 1 | i64::from(flag)));
        let validity = client.validity.filter(|_| client.holds > 0);
        let span = validity.map(|left| self.clipped(left));
        int(span.map_or(i64::MIN, |span| span.ms));
        int(span.map_or(0, |span| i64::from(span.ticks)));
        for worker in &client.workers {
            let Some(worker) = worker else {
                int(-1);
                continue;
            };
            let (kind, number, left) = match worker.wait {
                Wait::Reply { node, left } => (0, i64::from(node), left),
                Wait::TimedOut { node } => (1, i64::from(node), Span::default()),
                Wait::Sleep { left } => (2, 0, left),
                Wait::Ready => (3, 0, Span::default()),
                Wait::Choice { options } => (4, i64::from(options), Span::default()),
                Wait::Open { at_ticks } => (5, i64::from(at_ticks), Span::default()),
                Wait::Message { left } => (6, 0, left),
            };
            int(kind);
            int(number);
            int(left.ms);
            int(i64::from(left.ticks));
            int(worker.every.map_or(-1, |every| every.ms));
            int(i64::from(worker.stack.is_some()) | i64::from(worker.late) << 1);
        }
        client.watching.numbers().for_each(&mut int);
        int(client.channels.len() as i64);
        int(client.inbox.len() as i64);
        for text in &client.channels {
            put_text(&mut out, text);
        }
        for (channel, payload) in &client.inbox {
            put_text(&mut out, channel);
            put_text(&mut out, payload.as_bytes());
        }
        let workers = client.workers.iter().flatten();
        let threads: Vec<&Stack> = workers.clone().filter_map(|w| w.stack.as_ref()).collect();
        let mut values = vec![&self.handle];
        values.extend(workers.map(|worker| &worker.body));
        let ahead_ms = self.machine.write_key(&threads, &values, &mut out);
        // Nobody's stack may have it yet, and the other object of a client has another one.
        if self.shared.file.objects.two {
            put_text(&mut out, self.shared.config.key.as_bytes());
        }
        // For real, the token is a text of its own.
        if let Some(token) = &client.token {
            out.extend_from_slice(token.bytes());
        }
        (out, ahead_ms)
    }

    /// A validity as the key has it. A clock that is set back makes one hold again
    /// that was over, so its distance counts as far as clocks are ever set back.
    fn clipped(&self, left: Span) -> Span {
        match self.shared.config.scale {
            Some(scale) if self.is_over_for_good(left) => Span {
                ms: -scale.horizon_ms,
                ticks: 0,
            },
            _ => left,
        }
    }

    /// Of a validity in a model: no step of the clock brings it back.
    pub(crate) fn is_over_for_good(&self, left: Span) -> bool {
        let scale = self.shared.config.scale;
        scale.is_some_and(|scale| self.ms(left) <= -scale.horizon_ms)
    }

    /// What the program remembers, by name, for messages about a local that
    /// grows without end: the handle's fields, then each thread's locals with
    /// the line that waits.
    pub fn locals(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        if let Value::Table(id) = self.handle {
            for (key, value) in self.machine.heap.get(id).entries() {
                let name = self.machine.display(&key.value());
                let name = name.trim_matches('"').to_owned();
                found.push((format!("self.{name}"), self.machine.display(&value)));
            }
        }
        for worker in self.client.workers.iter().flatten() {
            if let Some(stack) = &worker.stack {
                for (name, line, value) in self.machine.locals(stack) {
                    if name != "lock" {
                        let value = self.machine.display(&value);
                        found.push((format!("{name} (line {line})"), value));
                    }
                }
            }
        }
        found
    }

    /// Runs a thread; see `Vm::resume`.
    pub(crate) fn resume(
        &mut self,
        thread: Thread,
        values: Vec<Value>,
    ) -> Result<lockproof_lua::Pause, LockError> {
        let mut host = ClientHost {
            token: self.client.token.clone(),
            mode: self.client.mode,
            handle: match self.handle {
                Value::Table(id) => Some(id),
                _ => None,
            },
        };
        let Some(worker) = &mut self.client.workers[usize::from(thread)] else {
            return Ok(lockproof_lua::Pause::Ended {
                values: Vec::new(),
                line: 0,
            });
        };
        let body = worker.body.clone();
        let stack = worker
            .stack
            .get_or_insert_with(|| Stack::new(body, Vec::new()));
        let result = Vm::new(&mut self.machine, stack).resume(&mut host, values);
        result.map_err(|stop| self.explain(stop))
    }

    pub(crate) fn explain(&self, stop: Stop) -> LockError {
        self.shared.file.explain(stop)
    }

    pub(crate) fn set_token(&mut self, token: &str) {
        self.client.token = Some(match self.shared.config.scale {
            Some(_) => Text::symbolic(Symbol::Name(names::OWN_TOKEN).text()),
            None => Text::plain(token),
        });
    }
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend_from_slice(&(text.len() as u64).to_le_bytes());
    out.extend_from_slice(text);
}

/// The longest lease and time-out: thirty years, in ms.
const MS_MAX: i64 = 1_000_000_000_000;

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
    if config.timeout_ms <= 0 {
        return wrong(format!(
            "the command time-out ({} ms) must be positive",
            config.timeout_ms
        ));
    }
    for (what, ms) in [
        ("lease", config.ttl_ms),
        ("command time-out", config.timeout_ms),
    ] {
        if ms > MS_MAX {
            return wrong(format!("the {what} ({ms} ms) is longer than thirty years"));
        }
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
