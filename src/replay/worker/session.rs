//! One client of one lock: a program, its connections and its clock.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use tokio::sync::mpsc;

use super::WorkerError;
use super::link::{Arrival, Links, News};
use super::real::{RealClock, wall_clock_ms};
use crate::lock::{Config, Input, LockFile, Op, Output, Phase, Program, Waiting};
use crate::replay::protocol::{
    Call, CallResult, Cause, ClockMode, Ended, ErrorCode, FromClient, Init, Mode, PROTOCOL,
    SentCommand, StepReport, ThreadView, ToClient, View,
};

/// Differences of times saturate far beyond any run: a replay is concrete, and
/// nothing needs to be finite.
const HORIZON_MS: i64 = 1 << 50;

pub(super) struct Session {
    pub arrivals: mpsc::UnboundedReceiver<Arrival>,
    program: Program,
    links: Links,
    /// The node whose reply each thread waits for.
    waits: BTreeMap<u8, u8>,
    /// `None`: virtual time.
    clock: Option<RealClock>,
    /// Real time: the call that runs.
    running: Option<u64>,
    operations: Vec<String>,
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
            horizon_ms: HORIZON_MS,
        };
        let mut program = Program::start(&file, &config).map_err(|e| e.to_string())?;
        program
            .step(Input::Skew { ms: epoch_ms })
            .map_err(|e| e.to_string())?;
        let (sender, arrivals) = mpsc::unbounded_channel();
        Ok(Self {
            arrivals,
            program,
            links: Links::new(init.nodes.clone(), sender),
            waits: BTreeMap::new(),
            clock: match init.clock {
                ClockMode::Virtual => None,
                ClockMode::Real => Some(RealClock::start(init.seed)),
            },
            running: None,
            operations: file.operations.clone(),
        })
    }

    /// What can be called.
    pub fn operations(&self) -> Vec<String> {
        self.operations.clone()
    }

    /// Real time: when a thread's time comes.
    pub fn due(&self) -> Option<Instant> {
        self.clock.as_ref()?.due(&self.program.view())
    }

    /// Takes a request other than `init` and `shutdown`.
    pub fn request(&mut self, request: ToClient) -> Result<Vec<FromClient>, WorkerError> {
        let id = request.id();
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
        if self.clock.is_none() {
            return Ok(vec![self.step(Some(id), None, input)?]);
        }
        if called {
            self.running = Some(id);
        }
        let mut answers = self.run(input)?;
        if !called {
            answers.push(FromClient::Ok { id });
        }
        Ok(answers)
    }

    /// Takes what a connection brought.
    pub fn arrive(&mut self, arrival: Arrival) -> Result<Vec<FromClient>, WorkerError> {
        // A reply to a command that was given up: nobody reads it.
        let Some((thread, node)) = self.links.owner(arrival.link) else {
            return Ok(Vec::new());
        };
        let (cause, input) = match arrival.news {
            News::Message { channel, payload } => (
                Cause::Message {
                    channel: channel.clone(),
                    payload: payload.clone(),
                },
                Input::Message { channel, payload },
            ),
            News::Reply(reply) => (Cause::Reply { thread, node }, Input::Reply { thread, reply }),
            News::Failed { definite, message } => (
                Cause::Fail {
                    thread,
                    node,
                    definite,
                    message: message.clone(),
                },
                Input::Fail {
                    thread,
                    definite,
                    message,
                },
            ),
        };
        if !matches!(input, Input::Message { .. }) {
            self.waits.remove(&thread);
        }
        if self.clock.is_some() {
            return self.run(input);
        }
        Ok(vec![self.step(None, Some(cause), input)?])
    }

    /// Real time: a thread's time has come.
    pub fn time_passed(&mut self) -> Result<Vec<FromClient>, WorkerError> {
        let mut answers = Vec::new();
        self.settle(&mut answers)?;
        Ok(answers)
    }

    fn input_of(&self, request: ToClient) -> Result<Input, (ErrorCode, String)> {
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
            ToClient::Choose { thread, value, .. } => virtual_only(Input::Choose { thread, value }),
            ToClient::Skew { ms, .. } => Ok(Input::Skew { ms }),
            other => Err((
                ErrorCode::BadRequest,
                format!("`{}` is not taken here", other.name()),
            )),
        }
    }

    fn input_of_call(&self, call: Call) -> Result<Input, (ErrorCode, String)> {
        let op = match (call.op.as_str(), call.mode) {
            ("acquire", Mode::Write) => Op::Acquire,
            ("release", Mode::Write) => Op::Release,
            (op, _) => {
                return Err((
                    ErrorCode::NotApplicable,
                    format!("this lock has no operation `{op}` in that mode"),
                ));
            }
        };
        if matches!(
            self.program.view().phase,
            Phase::Acquiring | Phase::Releasing
        ) {
            return Err((
                ErrorCode::BadRequest,
                "another call of this client still runs".to_string(),
            ));
        }
        Ok(Input::Call {
            op,
            token: call.token,
        })
    }

    /// Virtual time: one input, one report.
    fn step(
        &mut self,
        id: Option<u64>,
        cause: Option<Cause>,
        input: Input,
    ) -> Result<FromClient, WorkerError> {
        let output = self.apply(input)?;
        Ok(FromClient::Step(Box::new(StepReport {
            id,
            cause,
            sent: output.sent.iter().map(sent).collect(),
            abandoned: output.abandoned,
            ended: output.outcome.map(|(op, outcome)| Ended {
                op: op_name(op).to_string(),
                outcome,
            }),
            lost: output.lost,
            line: output.line,
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
        let output = self
            .program
            .step(input)
            .map_err(|e| WorkerError::Lock(e.to_string()))?;
        for thread in &output.abandoned {
            if let Some(node) = self.waits.remove(thread) {
                self.links.abandon(*thread, node);
            }
        }
        for request in &output.sent {
            self.links
                .send(request.thread, request.node, &request.argv)
                .map_err(WorkerError::Lock)?;
            self.waits.insert(request.thread, request.node);
        }
        Ok(output)
    }
}

/// A built-in lock by its name, or a file by its path.
fn load(name: &str) -> Result<LockFile, crate::lock::LockError> {
    if crate::lock::builtin_names().contains(&name) {
        return LockFile::builtin(name);
    }
    LockFile::load(Path::new(name))
}

fn op_name(op: Op) -> &'static str {
    match op {
        Op::Acquire => "acquire",
        Op::Release => "release",
    }
}

fn sent(request: &crate::lock::Request) -> SentCommand {
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

fn view(view: &crate::lock::View) -> View {
    View {
        phase: match view.phase {
            Phase::Idle => "idle",
            Phase::Acquiring => "acquiring",
            Phase::Held => "held",
            Phase::Releasing => "releasing",
        }
        .to_string(),
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
        Waiting::Choice { .. } => ("choice", None),
        Waiting::Message { left_ms } => ("message", Some(*left_ms)),
    };
    ThreadView {
        thread,
        waits_for: waits_for.to_string(),
        left_ms,
    }
}
