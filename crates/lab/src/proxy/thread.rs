//! The thread that all embedded proxies of this process share that only pass on.
//!
//! What a proxy adds to a round trip is not its work (a few microseconds) but that
//! it sleeps: on a virtual machine a sleeping core needs some 40 us to wake, and
//! both the request and its reply wake one. So the thread stays awake for a
//! moment after each message, since a reply mostly comes at once, and the next
//! request soon after it. `cargo bench --bench proxy` shows what that gains.
//!
//! One thread for all proxies, so that at most one core is kept awake, and it
//! steps back for whoever else wants that core: where somebody does, cores are awake
//! anyhow, and who never sleeps only loses his turn. When nothing comes it sleeps.
//! Rejected: the runtime of whoever starts a proxy, because nobody may keep that
//! one from sleeping. Proxies that tell somebody of messages, or hold them until he
//! says, do live there: crossing between two threads costs them more than waking.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio::task::yield_now;

/// For so long after a message the thread stays awake: longer than a server
/// on loopback takes for a plain command. More gained nothing.
const AWAKE: Duration = Duration::from_micros(30);

/// If somebody else has the core for so long, it is not ours to keep awake.
const TAKEN: Duration = Duration::from_micros(200);

/// For so long after that the thread sleeps whenever it can: finding it out cost a
/// time slice of somebody else, some ms, which must not happen often.
const CROWDED: Duration = Duration::from_secs(1);

/// A message came.
static TRAFFIC: Notify = Notify::const_new();

/// Starts the thread, if it does not run yet; gives the way to it. It ends with
/// the process.
///
/// # Errors
/// If there is no descriptor or no thread left.
pub(super) fn handle() -> io::Result<Handle> {
    static THREAD: Mutex<Option<Handle>> = Mutex::new(None);
    let mut thread = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*thread {
        return Ok(handle.clone());
    }
    // The thread makes the runtime: where there is no thread it would have to be
    // dropped here, which tokio forbids on threads of its own.
    let (sender, made) = std::sync::mpsc::channel();
    super::super::process::thread("proxies", move || {
        let runtime = match Builder::new_current_thread().enable_all().build() {
            Ok(runtime) => runtime,
            Err(error) => return drop(sender.send(Err(error))),
        };
        if sender.send(Ok(runtime.handle().clone())).is_ok() {
            runtime.block_on(stay_awake());
        }
    })?;
    let gone = |_| io::Error::other("the thread of the proxies is gone");
    let handle = made.recv().map_err(gone)??;
    *thread = Some(handle.clone());
    Ok(handle)
}

/// To be called for each message that passes.
pub(super) fn note_traffic() {
    TRAFFIC.notify_one();
}

/// Keeps the runtime from sleeping for a while after each message: as long as some
/// task is ready, it only looks whether sockets are.
async fn stay_awake() {
    let mut crowded_until = Instant::now();
    loop {
        TRAFFIC.notified().await;
        let mut since = Instant::now();
        while since > crowded_until && since.elapsed() < AWAKE {
            let offered = Instant::now();
            std::thread::yield_now();
            if offered.elapsed() > TAKEN {
                crowded_until = Instant::now() + CROWDED;
            }
            tokio::select! {
                biased;
                () = TRAFFIC.notified() => since = Instant::now(),
                () = yield_now() => {}
            }
        }
    }
}
