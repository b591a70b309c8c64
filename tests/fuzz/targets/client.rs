//! A client of a lock, its servers and its time, for some rounds.

use lockproof_lua::Scale;
use lockproof_model::lock::{
    Config, Input, LockError, LockFile, Op, Output, Program, Request, Waiting,
};
use lockproof_redis::{ScriptEngine, Server};

use super::lock_file::explained;

const ROUNDS: usize = 40;
const START_MS: i64 = 1_700_000_000_000;

/// Works with the lock as the worker would, and as the model would.
pub fn work(file: &LockFile) {
    let scale = Scale {
        tick_ms: 1001,
        step_ms: 1002,
        horizon_ms: 30_000,
    };
    for scale in [None, Some(scale)] {
        let config = Config {
            nodes: file.nodes.default,
            ttl_ms: 6000,
            timeout_ms: 1001,
            key: "lock".into(),
            params: Default::default(),
            scale,
        };
        match Program::start(file, &config, "client-A", START_MS) {
            Ok(program) => Work::new(program).run(),
            Err(error) => explained(&error, file.text.as_bytes()),
        }
    }
}

/// A client at work with its servers.
pub struct Work {
    program: Program,
    servers: Vec<Server>,
    engine: ScriptEngine,
    waiting: Vec<Request>,
}

impl Work {
    pub fn new(program: Program) -> Work {
        Work {
            program,
            servers: Vec::new(),
            engine: ScriptEngine::new().expect("it always starts"),
            waiting: Vec::new(),
        }
    }

    /// Acquires, releases and acquires, with every reply and time passing.
    fn run(&mut self) {
        for round in 0..ROUNDS {
            let next = self.next(round);
            match self.step(&next) {
                Ok(_) | Err(LockError::Driver { .. }) => {}
                Err(error) => {
                    let text = std::sync::Arc::clone(&self.program.file().text);
                    return explained(&error, text.as_bytes());
                }
            }
            let _ = self.program.key();
            let _ = self.program.locals();
        }
    }

    /// Gives the program an input; what it sends waits for an answer.
    pub fn step(&mut self, input: &Input) -> Result<Output, LockError> {
        let output = self.program.step(input)?;
        let given_up = |request: &Request| !output.abandoned.contains(&request.thread);
        self.waiting.retain(given_up);
        self.waiting.extend(output.sent.iter().cloned());
        let _ = self.program.view();
        Ok(output)
    }

    /// Lets the servers answer whatever waits; no command for ever.
    pub fn answer(&mut self) -> Result<(), LockError> {
        for _ in 0..8 {
            let Some(input) = self.reply() else { break };
            self.step(&input)?;
        }
        Ok(())
    }

    fn reply(&mut self) -> Option<Input> {
        if self.waiting.is_empty() {
            return None;
        }
        let request = self.waiting.remove(0);
        let node = usize::from(request.node);
        while self.servers.len() <= node {
            self.servers.push(Server::new(START_MS));
        }
        let reply = self.servers[node].execute(&mut self.engine, 1, &request.argv);
        Some(Input::Reply {
            thread: request.thread,
            reply,
        })
    }

    fn next(&mut self, round: usize) -> Input {
        // Every seventh command is lost: its time-out is a way of its own.
        if round % 7 == 6 {
            self.waiting.pop();
        } else if let Some(reply) = self.reply() {
            return reply;
        }
        let view = self.program.view();
        for (thread, waiting) in &view.threads {
            let thread = *thread;
            match waiting {
                Waiting::Ready | Waiting::TimedOut { .. } => return Input::Wake { thread },
                Waiting::Choice { options } => {
                    let value = (*options).max(1);
                    return Input::Choose { thread, value };
                }
                Waiting::Open { at_ticks } => {
                    let value = 2 - u8::from(*at_ticks);
                    return Input::Choose { thread, value };
                }
                _ => {}
            }
        }
        let idle = !view.threads.iter().any(|(thread, _)| *thread == 0);
        match (idle, view.holds) {
            (true, 0) => Input::Call {
                op: Op::Acquire,
                token: Some(format!("token-{round}")),
            },
            (true, _) if !round.is_multiple_of(3) => Input::Call {
                op: Op::Release,
                token: None,
            },
            _ => {
                self.servers
                    .iter_mut()
                    .for_each(|server| server.advance(1002));
                Input::Advance { ms: 1002 }
            }
        }
    }
}
