//! Adapter lines, of both sides; requests among them drive a client as the worker does.

use lockproof_lab::client::protocol::{Call, FromClient, Init, Mode, ToClient};
use lockproof_model::lock::{Config, Input, LockError, LockFile, Op, Program};

use super::client::Work;
use super::{Form, Target, same};

pub const TARGET: Target = Target {
    name: "adapter",
    run,
    form: Form::JsonLines,
    seeds: &[],
    words: &[
        "init",
        "call",
        "cancel",
        "advance",
        "wake",
        "choose",
        "skew",
        "shutdown",
        "hello",
        "ready",
        "result",
        "error",
        "ok",
        "lost",
        "renewed",
        "log",
        "step",
        "refused",
        "hear",
        "retry",
        "acquire",
        "release",
        "token",
        "virtual",
        "real",
        "validity_ms",
        "epoch_ms",
        "ttl_ms",
        "timeout_ms",
        "wait_ms",
        "redlock",
        "token-wait",
        "token-renewed",
        "reentrant-hash",
        "drift_ms",
        "lockproof.adapter/1",
    ],
    inputs: 600,
};

fn run(input: &[u8]) {
    let mut client = None;
    for line in input.split(|byte| *byte == b'\n').take(40) {
        if let Ok(message) = serde_json::from_slice::<FromClient>(line) {
            let text = serde_json::to_vec(&message).expect("a message can be written");
            let again = serde_json::from_slice(&text).expect("and read again");
            same("an answer", &message, &again);
            let _ = message.id();
        }
        if let Ok(message) = serde_json::from_slice::<ToClient>(line) {
            let text = serde_json::to_vec(&message).expect("a message can be written");
            let again = serde_json::from_slice(&text).expect("and read again");
            same("a request", &message, &again);
            let _ = (message.id(), message.name());
            obey(&mut client, message);
        }
    }
}

/// What the worker does with a request, without its sockets.
fn obey(client: &mut Option<Work>, message: ToClient) {
    let input = match message {
        ToClient::Init(init) => {
            *client = start(&init);
            return;
        }
        ToClient::Call(call) => called(call),
        ToClient::Advance { ms, .. } => Some(Input::Advance { ms }),
        ToClient::Wake { thread, .. } => Some(Input::Wake { thread }),
        ToClient::Hear { thread, .. } => Some(Input::Fail {
            thread,
            definite: true,
            message: "refused".to_owned(),
        }),
        ToClient::Choose { thread, value, .. } => Some(Input::Choose { thread, value }),
        ToClient::Skew { ms, .. } => Some(Input::Skew { ms }),
        ToClient::Cancel { .. } => Some(Input::Cancel),
        ToClient::Retry { .. } | ToClient::Exchange { .. } | ToClient::Shutdown { .. } => None,
    };
    let (Some(work), Some(input)) = (client.as_mut(), input) else {
        return;
    };
    match work.step(&input).and_then(|_| work.answer()) {
        Ok(()) | Err(LockError::Driver { .. }) => {}
        Err(_) => *client = None,
    }
}

fn start(init: &Init) -> Option<Work> {
    // Only built-in locks: a path out of noise must not be opened.
    let file = LockFile::builtin(init.lock.as_deref()?).ok()?;
    let config = Config {
        nodes: u8::try_from(init.nodes.len()).ok()?,
        ttl_ms: init.ttl_ms,
        timeout_ms: init.timeout_ms,
        key: init.key.clone(),
        params: init.params.clone(),
        scale: None,
    };
    let program = Program::start(&file, &config, &init.owner, init.epoch_ms.unwrap_or(0)).ok()?;
    Some(Work::new(program))
}

fn called(call: Call) -> Option<Input> {
    let op = match (call.op.as_str(), call.mode) {
        ("acquire", Mode::Write) => Op::Acquire,
        ("release", Mode::Write) => Op::Release,
        _ => return None,
    };
    Some(Input::Call {
        op,
        token: call.token,
    })
}
