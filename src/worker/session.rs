//! One client of one lock: a program, its connections and its clock.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;

use lockproof_lab::client::protocol::{
    self, Call, CallResult, Cause, ClockMode, Ended, ErrorCode, FromClient, Init, Mode, PROTOCOL,
    SentCommand, StepReport, ThreadView, ToClient, View,
};
use lockproof_model::lock::{
    Broken, Config, Input, LockError, LockFile, Op, Output, Program, Waiting,
};
use lockproof_trace::CONNECTION_FAILED;
use tokio::sync::mpsc;

use super::WorkerError;
use super::handle;
use super::journal::Journal;
use super::link::{Arrival, Links, News};
use super::real::{RealClock, wall_clock_ms};

pub(super) struct Session {
    pub arrivals: mpsc::UnboundedReceiver<Arrival>,
    program: Program,
    links: Links,
    journal: Journal,
    /// The node whose reply each thread waits for, and the request's number.
    waits: BTreeMap<u8, (u8, u64)>,
    /// Virtual time: threads whose connection was refused, and that have not heard of it.
    refused: BTreeSet<u8>,
    /// Virtual time: the last command of each thread.
    commands: BTreeMap<u8, Vec<Vec<u8>>>,
    /// `None`: virtual time.
    clock: Option<RealClock>,
    /// The call that runs.
    running: Option<u64>,
}

impl Session {
    /// `Err` says what is wrong with `init`.
    pub fn start(init: &Init) -> Result<Self, String> {
        if init.protocol != PROTOCOL {
            return Err(format!(
                "the harness speaks `{}` and this worker `{PROTOCOL}`",
                init.protocol
            ));
        }
        let name = init
            .lock
            .as_deref()
            .ok_or("`init` names no `lock` to run; give a lock file")?;
        let file = load(name).map_err(|e| e.to_string())?;
        let nodes = u8::try_from(init.nodes.len()).map_err(|_| "more than 255 nodes")?;
        let epoch_ms = match init.clock {
            ClockMode::Virtual => init.epoch_ms.ok_or("virtual time needs `epoch_ms`")?,
            ClockMode::Real => wall_clock_ms(),
        };
        let config = Config {
            nodes,
            ttl_ms: init.ttl_ms,
            timeout_ms: init.timeout_ms,
            key: init.key.clone(),
            params: init.params.clone(),
            scale: None,
        };
        let program = Program::start(&file, &config, &init.owner, epoch_ms);
        let mut program = program.map_err(|e| e.to_string())?;
        program.set_caller(init.client);
        let journal = Journal::new(init.notes.as_deref());
        let journal = journal.map_err(|e| format!("the file for notes does not open: {e}"))?;
        let (sender, arrivals) = mpsc::unbounded_channel();
        Ok(Self {
            arrivals,
            program,
            links: Links::new(init.nodes.clone(), sender),
            journal,
            waits: BTreeMap::new(),
            refused: BTreeSet::new(),
            commands: BTreeMap::new(),
            clock: match init.clock {
                ClockMode::Virtual => None,
                ClockMode::Real => Some(RealClock::start(init.seed)),
            },
            running: None,
        })
    }

    /// The lock file that runs.
    pub fn file(&self) -> &LockFile {
        self.program.file()
    }

    /// Real time: when a thread's time comes.
    pub fn due(&self) -> Option<Instant> {
        self.clock.as_ref()?.due(&self.program.view())
    }

    /// Takes a request other than `init` and `shutdown`.
    pub fn request(&mut self, request: ToClient) -> Result<Vec<FromClient>, WorkerError> {
        let id = request.id();
        if let ToClient::Retry { thread, .. } = request {
            return self.retry(id, thread);
        }
        if let ToClient::Cancel { target, .. } = request
            && self.clock.is_some()
            && self.running != Some(target)
        {
            // It has ended meanwhile.
            return Ok(vec![FromClient::Ok { id }]);
        }
        let input = match self.input_of(request) {
            Ok(input) => input,
            Err((code, message)) => {
                return Ok(vec![FromClient::Error {
                    id,
                    definite: true,
                    code,
                    message,
                }]);
            }
        };
        let called = matches!(input, Input::Call { .. });
        if called {
            self.running = Some(id);
        }
        let cancels = matches!(input, Input::Cancel);
        let taken = match self.clock {
            None => self.step(Some(id), None, input).map(|step| vec![step]),
            Some(_) => self.run(input),
        };
        match taken {
            Ok(mut answers) => {
                if self.clock.is_some() && cancels {
                    answers.insert(0, FromClient::Ok { id });
                } else if self.clock.is_some() && !called {
                    answers.push(FromClient::Ok { id });
                }
                Ok(answers)
            }
            // The program is where it was: the driver asked for what cannot be.
            Err(WorkerError::Lock(error @ LockError::Driver { .. })) => {
                self.running = self.running.filter(|running| *running != id);
                Ok(vec![FromClient::Error {
                    id,
                    definite: true,
                    code: ErrorCode::BadRequest,
                    message: error.to_string(),
                }])
            }
            Err(error) => Err(error),
        }
    }

    /// Takes what a connection brought.
    pub fn arrive(&mut self, arrival: Arrival) -> Result<Vec<FromClient>, WorkerError> {
        let mut answers = Vec::new();
        self.journal.arrived(arrival.request, &arrival.news);
        let waiting = self
            .waits
            .iter()
            .find(|(_, (_, request))| *request == arrival.request);
        let owner = waiting.map(|(thread, (node, _))| (*thread, *node));
        let (cause, input) = match (arrival.news, owner) {
            (News::Message { channel, payload }, _) => (
                Cause::Message {
                    channel: channel.clone(),
                    payload: payload.clone(),
                },
                Input::Message {
                    channel: channel.into_bytes(),
                    payload,
                },
            ),
            // The command was given up: nobody reads what comes of it.
            (_, None) => return Ok(answers),
            (News::Reply(reply), Some((thread, node))) => {
                self.waits.remove(&thread);
                (
                    Cause::Reply { thread, node },
                    Input::Reply { thread, reply },
                )
            }
            (
                News::Failed {
                    definite: true,
                    message,
                },
                Some((thread, node)),
            ) if self.clock.is_none() => {
                // A proxy can hold a message back, but not a refusal: the harness says
                // when it is heard.
                self.refused.insert(thread);
                return Ok(vec![FromClient::Refused {
                    thread,
                    node,
                    message,
                }]);
            }
            (News::Failed { definite, message }, Some((thread, node))) => {
                self.waits.remove(&thread);
                let cause = Cause::Fail {
                    thread,
                    node,
                    definite,
                    message: message.clone(),
                };
                if self.clock.is_some() {
                    answers.push(FromClient::Log { message });
                }
                let message = CONNECTION_FAILED.to_string();
                let input = Input::Fail {
                    thread,
                    definite,
                    message,
                };
                (cause, input)
            }
        };
        match self.clock {
            Some(_) => answers.extend(self.run(input)?),
            None => answers.push(self.step(None, Some(cause), input)?),
        }
        Ok(answers)
    }

    /// Real time: a thread's time has come.
    pub fn time_passed(&mut self) -> Result<Vec<FromClient>, WorkerError> {
        let mut answers = Vec::new();
        self.settle(&mut answers)?;
        Ok(answers)
    }

    fn input_of(&mut self, request: ToClient) -> Result<Input, (ErrorCode, String)> {
        let virtual_only = |input| match self.clock {
            None => Ok(input),
            Some(_) => Err((
                ErrorCode::NotApplicable,
                "this is for virtual time only".to_string(),
            )),
        };
        match request {
            ToClient::Call(call) => self.input_of_call(call),
            ToClient::Advance { ms, .. } => virtual_only(Input::Advance { ms }),
            ToClient::Wake { thread, .. } => virtual_only(Input::Wake { thread }),
            ToClient::Hear { thread, .. } => self.hear(thread),
            ToClient::Choose { thread, value, .. } => virtual_only(Input::Choose { thread, value }),
            ToClient::Exchange { exchange, .. } => match handle::taken(&exchange) {
                Some(exchange) => virtual_only(Input::Exchange(exchange)),
                None => Err((
                    ErrorCode::BadRequest,
                    "`exchange` names a thread or a number that is none".to_string(),
                )),
            },
            ToClient::Skew { ms, .. } => Ok(Input::Skew { ms }),
            ToClient::Cancel { target, .. } if self.running == Some(target) => Ok(Input::Cancel),
            ToClient::Cancel { target, .. } => Err((
                ErrorCode::BadRequest,
                format!("the call {target} does not run"),
            )),
            other => Err((
                ErrorCode::BadRequest,
                format!("`{}` is not taken here", other.name()),
            )),
        }
    }

    /// A thread whose connection was refused tries again, as if for the first time.
    fn retry(&mut self, id: u64, thread: u8) -> Result<Vec<FromClient>, WorkerError> {
        let waits = self.waits.get(&thread).map(|(node, _)| *node);
        let command = self.commands.get(&thread).cloned();
        let (true, Some(node), Some(argv)) = (self.refused.remove(&thread), waits, command) else {
            return Ok(vec![FromClient::Error {
                id,
                definite: true,
                code: ErrorCode::BadRequest,
                message: not_refused(thread),
            }]);
        };
        self.send(thread, node, argv)?;
        Ok(vec![FromClient::Ok { id }])
    }

    /// A thread hears that its connection was refused.
    fn hear(&mut self, thread: u8) -> Result<Input, (ErrorCode, String)> {
        if !self.refused.remove(&thread) {
            return Err((ErrorCode::BadRequest, not_refused(thread)));
        }
        self.waits.remove(&thread);
        Ok(Input::Fail {
            thread,
            definite: true,
            message: CONNECTION_FAILED.to_string(),
        })
    }

    fn input_of_call(&self, call: Call) -> Result<Input, (ErrorCode, String)> {
        let file = self.file();
        let op = match (call.op.as_str(), call.mode) {
            ("acquire", Mode::Write) if file.has_modes => Some(Op::AcquireWrite),
            ("acquire", Mode::Read) => Some(Op::AcquireRead),
            // The modes of these stand in `mode`.
            ("acquire_read" | "acquire_write", _) => None,
            ("try_acquire", Mode::Read) => None,
            (op, _) => Op::parse(op),
        };
        match op.filter(|op| file.has(*op)) {
            Some(op) => Ok(Input::Call {
                op,
                token: call.token,
            }),
            None => Err((
                ErrorCode::NotApplicable,
                format!("this lock has no operation `{}` in that mode", call.op),
            )),
        }
    }

    /// Virtual time: one input, one report.
    fn step(
        &mut self,
        id: Option<u64>,
        cause: Option<Cause>,
        input: Input,
    ) -> Result<FromClient, WorkerError> {
        let output = self.apply(input)?;
        if output.outcome.is_some() {
            self.running = None;
        }
        Ok(FromClient::Step(Box::new(StepReport {
            id,
            cause,
            sent: output.sent.iter().map(sent).collect(),
            abandoned: output.abandoned,
            ended: output.outcome.map(|(op, outcome)| Ended {
                op: op.name().to_string(),
                outcome,
            }),
            lost: output.lost,
            broken: output.broken.into_iter().map(broken).collect(),
            line: output.line,
            exchange: output.exchange.as_ref().map(handle::told),
            view: view(&self.program.view()),
        })))
    }

    /// Real time: the time up to now, the input, and all that follows at once.
    fn run(&mut self, input: Input) -> Result<Vec<FromClient>, WorkerError> {
        let mut answers = Vec::new();
        self.tell_time(&mut answers)?;
        let output = self.apply(input)?;
        self.report(output, &mut answers);
        self.settle(&mut answers)?;
        Ok(answers)
    }

    fn settle(&mut self, answers: &mut Vec<FromClient>) -> Result<(), WorkerError> {
        self.tell_time(answers)?;
        loop {
            let view = self.program.view();
            let Some(input) = self.clock.as_mut().and_then(|clock| clock.next_run(&view)) else {
                return Ok(());
            };
            let output = self.apply(input)?;
            self.report(output, answers);
        }
    }

    fn tell_time(&mut self, answers: &mut Vec<FromClient>) -> Result<(), WorkerError> {
        if let Some(input) = self.clock.as_mut().and_then(RealClock::passed) {
            let output = self.apply(input)?;
            self.report(output, answers);
        }
        Ok(())
    }

    fn report(&mut self, output: Output, answers: &mut Vec<FromClient>) {
        if output.lost {
            answers.push(FromClient::Lost { reason: None });
        }
        for Broken { line, text } in &output.broken {
            let path = &self.file().path;
            let message = format!("{path}:{line}: it asserts what is not so: {text}");
            answers.push(FromClient::Log { message });
        }
        if let (Some((_, outcome)), Some(id)) = (output.outcome, self.running) {
            self.running = None;
            answers.push(FromClient::Result(CallResult {
                id,
                outcome,
                holds: Some(self.program.view().holds),
                token: None,
            }));
        }
    }

    fn apply(&mut self, input: Input) -> Result<Output, WorkerError> {
        let output = self.program.step(&input)?;
        for thread in &output.abandoned {
            self.refused.remove(thread);
            if let Some((node, number)) = self.waits.remove(thread) {
                self.journal.given_up(number);
                self.links.abandon(*thread, node);
            }
        }
        for request in &output.sent {
            self.send(request.thread, request.node, request.argv.clone())?;
        }
        Ok(output)
    }

    fn send(&mut self, thread: u8, node: u8, argv: Vec<Vec<u8>>) -> Result<(), WorkerError> {
        let number = self.links.send(thread, node, &argv);
        let number = number.map_err(WorkerError::NoNode)?;
        // Its connection's task writes it when this one waits, not before.
        self.journal.sent(number, node, &argv);
        self.waits.insert(thread, (node, number));
        if self.clock.is_none() {
            self.commands.insert(thread, argv);
        }
        Ok(())
    }
}

fn not_refused(thread: u8) -> String {
    format!("no connection of thread {thread} was refused")
}

/// A built-in lock by its name, or a file by its path.
fn load(name: &str) -> Result<LockFile, LockError> {
    if lockproof_model::lock::builtin_names().contains(&name) {
        return LockFile::builtin(name);
    }
    LockFile::load(Path::new(name))
}

fn sent(request: &lockproof_model::lock::Request) -> SentCommand {
    SentCommand {
        thread: request.thread,
        node: request.node,
        argv: request
            .argv
            .iter()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect(),
        line: request.line,
    }
}

fn broken(Broken { line, text }: Broken) -> protocol::Broken {
    protocol::Broken { line, text }
}

fn view(view: &lockproof_model::lock::View) -> View {
    View {
        phase: view.phase.name().to_string(),
        holds: view.holds,
        validity_left_ms: view.validity_left_ms,
        threads: view
            .threads
            .iter()
            .map(|(thread, waiting)| thread_view(*thread, waiting))
            .collect(),
    }
}

fn thread_view(thread: u8, waiting: &Waiting) -> ThreadView {
    let (waits_for, left_ms) = match waiting {
        Waiting::Reply { timeout_ms, .. } => ("reply", Some(*timeout_ms)),
        Waiting::TimedOut { .. } => ("timed-out", None),
        Waiting::Sleep { left_ms } => ("sleep", Some(*left_ms)),
        Waiting::Ready => ("ready", None),
        Waiting::Choice { .. } | Waiting::Open { .. } => ("choice", None),
        Waiting::Message { left_ms } => ("message", Some(*left_ms)),
    };
    ThreadView {
        thread,
        waits_for: waits_for.to_string(),
        left_ms,
    }
}
