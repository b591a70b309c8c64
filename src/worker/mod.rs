//! lockproof's own client process: runs a Lua lock file on real servers.
//!
//! The worker is a driver of [`Program`](lockproof_model::lock::Program) and no more: the
//! program is reactive, so the same text that the formal side explores decides
//! here what is sent, and this module only moves bytes and time. There are two
//! ways to move time. In *virtual* time the harness does, one input at a time,
//! and each input is answered by what came of it: that is what makes a gated
//! replay exact. In *real* time the machine's clock does, for free runs.
//!
//! One thread serves everything. A program takes one input at a time anyway, and
//! with one thread the order in which inputs were taken is the order in which
//! they are reported. Only stdin is read by a thread of its own, because no
//! portable way exists to wait for it together with sockets.

mod handle;
mod journal;
mod link;
mod real;
mod session;

use std::io::{BufRead, Read, Write};
use std::process::ExitCode;

use lockproof_lab::client::protocol::{
    ErrorCode, Feature, FromClient, Hello, LINE_BYTES_MAX, PROTOCOL, ToClient,
};
use lockproof_model::lock::LockFile;
use tokio::sync::mpsc;

use session::Session;

/// What ends a worker before its time. It is written to stderr, where the
/// harness finds it.
#[derive(Debug, thiserror::Error)]
enum WorkerError {
    #[error("failed to start the worker's runtime: {0}")]
    Runtime(std::io::Error),
    #[error("failed to write to stdout: {0}; is the harness gone?")]
    Stdout(std::io::Error),
    #[error("failed to write a message as JSON: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the lock file failed: {0}")]
    Lock(#[from] lockproof_model::lock::LockError),
    #[error("{0}")]
    NoNode(String),
    #[error("a request is no {PROTOCOL} message ({reason}): {line}")]
    BadRequest { line: String, reason: String },
}

/// Runs this process as a worker until `shutdown` or the end of stdin.
pub fn main() -> ExitCode {
    let ran = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(WorkerError::Runtime)
        .and_then(|runtime| {
            let ran = runtime.block_on(serve());
            // The thread that reads stdin may never return.
            runtime.shutdown_background();
            ran
        });
    match ran {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lockproof worker: {error}");
            ExitCode::from(70)
        }
    }
}

/// What the loop met next.
enum Next {
    Request(Option<String>),
    Arrival(link::Arrival),
    Timer,
}

async fn serve() -> Result<(), WorkerError> {
    say(&FromClient::Hello(Hello {
        protocol: PROTOCOL.to_string(),
        name: "lockproof-worker".to_string(),
        version: env!("CARGO_PKG_VERSION").to_string(),
        features: vec![
            Feature::VirtualTime,
            Feature::Reset,
            Feature::Cancel,
            Feature::Reentrant,
            Feature::ReadWrite,
            Feature::Token,
            Feature::Renewal,
            Feature::Skew,
        ],
        operations: Vec::new(),
    }))?;
    let mut requests = stdin_lines().map_err(WorkerError::Runtime)?;
    let mut session: Option<Session> = None;
    loop {
        let next = match &mut session {
            None => Next::Request(requests.recv().await),
            Some(session) => {
                let due = session.due();
                tokio::select! {
                    line = requests.recv() => Next::Request(line),
                    // The session holds a sender too, so this channel never ends.
                    Some(arrival) = session.arrivals.recv() => Next::Arrival(arrival),
                    () = real::wait(due) => Next::Timer,
                }
            }
        };
        let answers = match (next, &mut session) {
            (Next::Request(None), _) => return Ok(()),
            (Next::Request(Some(line)), _) => {
                let request = parse(&line)?;
                for earlier in arrived_before(&mut session).await? {
                    say(&earlier)?;
                }
                if let ToClient::Shutdown { id } = request {
                    drop(session);
                    return say(&FromClient::Ok { id });
                }
                answer(&mut session, request)?
            }
            (Next::Arrival(arrival), Some(session)) => session.arrive(arrival)?,
            (Next::Timer, Some(session)) => session.time_passed()?,
            // Arrivals and timers come only from a session.
            (Next::Arrival(_) | Next::Timer, None) => Vec::new(),
        };
        for answer in &answers {
            say(answer)?;
        }
    }
}

/// Takes what the network had brought when a request came, so that a client
/// that reads what it should not is found by the next request at the latest.
async fn arrived_before(session: &mut Option<Session>) -> Result<Vec<FromClient>, WorkerError> {
    let mut answers = Vec::new();
    if let Some(session) = session {
        // The first yield returns after the runtime has looked at all sockets,
        // the second after the connections' tasks have read them.
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
        while let Ok(arrival) = session.arrivals.try_recv() {
            answers.extend(session.arrive(arrival)?);
        }
    }
    Ok(answers)
}

fn answer(
    session: &mut Option<Session>,
    request: ToClient,
) -> Result<Vec<FromClient>, WorkerError> {
    let id = request.id();
    let refuse = |code, message: String| {
        Ok(vec![FromClient::Error {
            id,
            definite: true,
            code,
            message,
        }])
    };
    match (request, session) {
        (ToClient::Init(init), session) => {
            // The old session's connections close before the new one exists.
            *session = None;
            match Session::start(&init) {
                Ok(started) => {
                    let file = started.file();
                    let ready = FromClient::Ready {
                        id,
                        operations: operations(file),
                        sha256: Some(file.sha256.clone()),
                    };
                    *session = Some(started);
                    Ok(vec![ready])
                }
                Err(message) => refuse(ErrorCode::BadRequest, message),
            }
        }
        (_, None) => refuse(
            ErrorCode::BadRequest,
            "send `init` before anything else".to_string(),
        ),
        (request, Some(session)) => session.request(request),
    }
}

/// What can be called; of a read-write lock, `acquire` in both modes.
fn operations(file: &LockFile) -> Vec<String> {
    let base = ["acquire", "release"].map(str::to_owned).into_iter();
    let others = file.operations().iter().map(|op| op.name());
    let others = others.filter(|name| ["renew", "is_held", "try_acquire"].contains(name));
    base.chain(others.map(str::to_owned)).collect()
}

fn parse(line: &str) -> Result<ToClient, WorkerError> {
    serde_json::from_str(line).map_err(|e| WorkerError::BadRequest {
        line: line.chars().take(200).collect(),
        reason: e.to_string(),
    })
}

fn say(message: &FromClient) -> Result<(), WorkerError> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line)
        .and_then(|()| out.flush())
        .map_err(WorkerError::Stdout)
}

/// The lines of stdin; the channel closes at its end. A line that is too long
/// or no UTF-8 comes as it is, and the parser refuses it.
fn stdin_lines() -> std::io::Result<mpsc::UnboundedReceiver<String>> {
    let (sender, lines) = mpsc::unbounded_channel();
    lockproof_lab::process::thread("requests", move || {
        let mut stdin = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            let read = (&mut stdin)
                .take(LINE_BYTES_MAX as u64 + 1)
                .read_until(b'\n', &mut line);
            match read {
                Ok(1..) => {
                    let text = String::from_utf8_lossy(&line);
                    if sender.send(text.trim_end().to_string()).is_err() {
                        return;
                    }
                }
                Ok(0) | Err(_) => return,
            }
        }
    })?;
    Ok(lines)
}
