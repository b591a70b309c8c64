//! What the machine refuses: threads, processes, files.
//!
//! Our own code gets these refusals as errors. Some libraries panic where the system
//! gives them no thread; such a panic is told as the error that it is. Any other panic
//! is a mistake of ours, and ends with an exit code of its own as well.

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::{PoisonError, RwLock};
use std::thread::Builder;
use std::time::Duration;

use anyhow::anyhow;
use tokio::runtime::Runtime;

use super::{Ended, Failure};

const NO_THREAD: &str = "the machine lets this user start no more processes or threads; raise `ulimit -u`, `ulimit -v` or the limits of the container";

/// What EAGAIN, EMFILE, ENFILE, ENOMEM and ENOSPC mean, by what stands in messages.
const REFUSALS: [(&str, &str); 6] = [
    ("os error 11)", NO_THREAD),
    ("code: 11,", NO_THREAD),
    (
        "os error 24)",
        "this process may open no more files; raise `ulimit -n`",
    ),
    ("os error 23)", "the machine can open no more files"),
    (
        "os error 12)",
        "there is no memory left; raise `ulimit -v`, or the memory limit of the container",
    ),
    ("os error 28)", "the disk is full; make room there"),
];

/// What a message means, if it tells that the machine refused something.
pub fn refusal(message: &str) -> Option<&'static str> {
    let mut all = REFUSALS.iter();
    all.find_map(|(mark, meaning)| message.contains(mark).then_some(*meaning))
}

/// A message with what it means, if it tells that the machine refused something.
pub fn explained(mut message: String) -> String {
    if let Some(meaning) = refusal(&message).filter(|meaning| !message.contains(meaning)) {
        message = format!("{message}: {meaning}");
    }
    message
}

/// How long a runtime may take to start.
const RUNTIME_PATIENCE: Duration = Duration::from_secs(20);

/// A runtime for the real side.
///
/// tokio's waits for ever for the workers that it has, if it gets one of them and not
/// the next. So it is not asked where that would happen; and where another process of
/// this user takes the thread in between, it is not waited for.
///
/// # Errors
/// What the system says.
pub fn runtime(workers: usize) -> io::Result<Runtime> {
    threads_are_there(workers + 1)?;
    let (sender, made) = std::sync::mpsc::channel();
    let make = move || {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        builder.worker_threads(workers).enable_all();
        // Nobody listens any more if it took too long.
        let _ = sender.send(builder.build());
    };
    Builder::new().name("runtime".into()).spawn(make)?;
    let none = |_| io::Error::from_raw_os_error(rustix::io::Errno::AGAIN.raw_os_error());
    made.recv_timeout(RUNTIME_PATIENCE).map_err(none)?
}

/// Whether so many threads can be had at one time.
fn threads_are_there(count: usize) -> io::Result<()> {
    let before = own_threads();
    let gate = RwLock::new(());
    let closed = gate.write().unwrap_or_else(PoisonError::into_inner);
    let started = std::thread::scope(|scope| {
        let pass = || drop(gate.read().unwrap_or_else(PoisonError::into_inner));
        let start = |_| Builder::new().spawn_scoped(scope, pass).map(drop);
        let started = (0..count).try_for_each(start);
        drop(closed);
        started
    });
    // The system counts a thread for a moment longer than a join waits.
    for _ in 0..1_000 {
        if own_threads() <= before {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    started
}

fn own_threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

/// Runs a subcommand; its panic becomes a failure.
pub fn caught(work: impl FnOnce() -> Ended) -> Ended {
    let tell = take_hook();
    set_hook(Box::new(move |info| {
        let words = words(info.payload());
        // What the machine refused is no mistake of ours that needs its place told. And
        // the threads that timely did start miss the one that it could not start.
        if refusal(&words).is_none() && !words.contains("buzzer") {
            tell(info);
        }
    }));
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = words(&*panic);
        Err(Failure::internal(match refusal(&words) {
            Some(_) => anyhow!("{words}"),
            None => anyhow!("lockproof contradicts itself (please report this): {words}"),
        }))
    })
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "it gave no message".to_owned())
}
