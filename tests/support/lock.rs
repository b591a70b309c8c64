//! Drives a program by hand: short words for inputs, and a config to start from.

use std::collections::BTreeMap;

use lockproof_lua::Scale;
use lockproof_model::lock::{
    Config, Input, LockError, LockFile, Op, Output, Phase, Program, Waiting,
};
use lockproof_redis::Reply;
use lockproof_trace::Outcome;

pub const CLOCK: i64 = 1_700_000_000_000;

pub fn config(nodes: u8) -> Config {
    Config {
        nodes,
        ttl_ms: 3_000,
        timeout_ms: 1_000,
        key: "the-lock".to_string(),
        params: BTreeMap::new(),
        scale: None,
    }
}

pub fn start(name: &str) -> Program {
    let file = LockFile::builtin(name).unwrap();
    Program::start(&file, &config(file.nodes.default), "client-a", CLOCK).unwrap()
}

/// A tick of the model's clocks, as in [`start_model`].
pub const STEP: i64 = 1_001;

/// The lock as a program of a model, which tells times by ticks.
pub fn start_model(name: &str) -> Program {
    start_model_of(&LockFile::builtin(name).unwrap())
}

/// The same of any file.
pub fn start_model_of(file: &LockFile) -> Program {
    let config = Config {
        scale: Some(Scale {
            tick_ms: 1_000,
            step_ms: STEP,
            horizon_ms: 20 * STEP,
        }),
        ..config(file.nodes.default)
    };
    Program::start(file, &config, "client-a", CLOCK).unwrap()
}

/// A lock file from its text; `acquire` or `release` may be left out.
pub fn file(text: &str) -> Result<LockFile, LockError> {
    LockFile::from_text("my-lock.lua", text, None)
}

pub fn start_text(text: &str) -> Program {
    let file = file(text).unwrap_or_else(|e| panic!("{e}"));
    Program::start(&file, &config(file.nodes.default), "client-a", CLOCK)
        .unwrap_or_else(|e| panic!("{e}"))
}

/// A lock whose acquire has this body; line 2 is the body's first.
pub fn acquiring(body: &str) -> Program {
    start_text(&format!(
        "return {{ acquire = function(lock)\n{body}\nend, release = function(lock) end }}"
    ))
}

/// Runs acquire until it fails with a [`LockError`]; every command gets `OK`,
/// every sleep ends, every choice is 1.
pub fn error_of(body: &str) -> String {
    run_to_error(&mut acquiring(body))
}

pub fn run_to_error(program: &mut Program) -> String {
    let mut result = program.step(&acquire("t1"));
    for _ in 0..30_000 {
        match result {
            Err(error) => return error.to_string(),
            Ok(_) => {
                program.key();
            }
        }
        let view = program.view();
        let Some((thread, waiting)) = view.threads.first().copied() else {
            break;
        };
        result = match waiting {
            Waiting::Reply { .. } => program.step(&reply(thread, ok())),
            Waiting::Choice { .. } | Waiting::Open { .. } => {
                program.step(&Input::Choose { thread, value: 1 })
            }
            Waiting::Ready | Waiting::TimedOut { .. } => program.step(&Input::Wake { thread }),
            Waiting::Sleep { left_ms } | Waiting::Message { left_ms } => {
                program.step(&Input::Advance { ms: left_ms })
            }
        };
    }
    panic!("no error: {:?}", program.view());
}

pub fn acquire(token: &str) -> Input {
    Input::Call {
        op: Op::Acquire,
        token: Some(token.to_string()),
    }
}

/// Calls to acquire with this token, one in each mode that the lock has.
pub fn acquires(file: &LockFile, token: &str) -> Vec<Input> {
    let operations = file.operations().iter();
    let acquires = operations.filter(|op| op.mode().is_some());
    let call = |op: &Op| Input::Call {
        op: *op,
        token: Some(token.to_string()),
    };
    acquires.map(call).collect()
}

pub fn acquire_for(op: Op) -> Input {
    let token = Some("t1".to_string());
    Input::Call { op, token }
}

pub fn nested() -> Input {
    Input::Call {
        op: Op::Acquire,
        token: None,
    }
}

pub fn release() -> Input {
    Input::Call {
        op: Op::Release,
        token: None,
    }
}

pub fn reply(thread: u8, reply: Reply) -> Input {
    Input::Reply { thread, reply }
}

pub fn advance(ms: i64) -> Input {
    Input::Advance { ms }
}

pub fn wake(thread: u8) -> Input {
    Input::Wake { thread }
}

pub fn ok() -> Reply {
    Reply::Status("OK".to_string())
}

pub fn bulk(text: &str) -> Reply {
    Reply::Bulk(text.as_bytes().to_vec())
}

pub fn step(program: &mut Program, input: Input) -> Output {
    program.step(&input).unwrap_or_else(|e| panic!("{e}"))
}

/// The one command that the output sends, as words (scripts cut to EVAL).
pub fn sent(output: &Output) -> Vec<String> {
    assert_eq!(output.sent.len(), 1, "{output:?}");
    let argv = &output.sent[0].argv;
    let words = argv.iter().map(|word| String::from_utf8_lossy(word));
    words.map(|word| word.into_owned()).collect()
}

pub fn held(validity_ms: Option<i64>) -> Option<(Op, Outcome)> {
    Some((
        Op::Acquire,
        Outcome::Held {
            validity_ms,
            fence: None,
        },
    ))
}

pub fn done(effect: Option<bool>) -> Option<(Op, Outcome)> {
    Some((Op::Release, Outcome::Done { effect }))
}

pub fn key(program: &Program) -> Vec<u8> {
    program.key()
}

pub fn phase(program: &Program) -> Phase {
    program.view().phase
}
