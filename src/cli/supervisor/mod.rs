//! Two processes: one does the work, the other watches it.
//!
//! Lock files are anybody's, and what they make of a check's time and memory is bounded
//! in the interpreter, in the closure and in the search. This is the bound behind those
//! bounds: it depends on nothing that a file can reach. The process that was started
//! forks before it has read anything and then only watches: the time by which what is
//! under way must have ended ([`watch`]), the memory that the working process takes, and
//! how it ends. A crash of the working process is an error message with an exit code, and
//! no more.
//!
//! The working process has a process group of its own, so that Ctrl-C reaches it once, by
//! way of the watching process; it dies (SIGKILL) with the process that watches it.
//!
//! Rejected: a thread that watches (whatever corrupts memory or takes all of it takes the
//! thread as well), `RLIMIT_AS` (it counts what is reserved and never used, as allocators
//! and thread stacks do), and Lua's hooks (nothing calls them inside one instruction).

mod confine;
mod page;
mod watcher;

use std::process::ExitCode;
use std::time::Duration;

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

pub use confine::confine;
pub use page::{begin_part, must_give_up, must_stop, share, watch, within};
pub use watcher::Signals;

/// What a check may take unless told otherwise.
pub const TIME: Duration = Duration::from_secs(3600);

/// How long what is under way may take beyond its time before it is killed.
const GRACE: Duration = Duration::from_millis(1500);

/// Does `work` in a process of its own, which may take so many bytes of memory, and gives
/// its exit code.
///
/// Must be called before there is another thread.
pub fn supervise(memory: u64, work: impl FnOnce() -> ExitCode) -> ExitCode {
    let page = match page::create() {
        Ok(page) => page,
        Err(error) => return failed("share memory with the process that works", &error),
    };
    let signals = match watcher::Signals::block() {
        Ok(signals) => signals,
        Err(error) => return failed("listen to signals", &error),
    };
    let watcher = rustix::process::getpid();
    // SAFETY: there is one thread only, so nothing is left behind half done.
    match unsafe { libc::fork() } {
        -1 => failed(
            "start the process that works",
            &std::io::Error::last_os_error(),
        ),
        0 => {
            if let Err(error) = settle(watcher) {
                return failed("begin in the process that works", &error);
            }
            signals.unblock();
            work()
        }
        child => match Pid::from_raw(child) {
            Some(child) => watcher::watch(child, page, &signals, memory),
            None => ExitCode::from(super::Exit::Internal as u8),
        },
    }
}

/// The first steps of the working process.
fn settle(watcher: Pid) -> std::io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() != Some(watcher) {
        return Err(std::io::Error::other("the process that watches is gone"));
    }
    rustix::process::setpgid(None, None)?;
    // A terminal may stop writers of the background, and this is one of them.
    // SAFETY: no handler is installed, so none can run.
    unsafe { libc::signal(libc::SIGTTOU, libc::SIG_IGN) };
    let none = rustix::process::Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // Gigabytes of a crashed search help nobody.
    rustix::process::setrlimit(rustix::process::Resource::Core, none)?;
    Ok(())
}

fn failed(what: &str, error: &std::io::Error) -> ExitCode {
    super::screen::note(format_args!(
        "error: failed to {what}: {error}; is a limit of this machine reached (ulimit -u)?"
    ));
    ExitCode::from(super::Exit::Internal as u8)
}

/// Bytes of memory that the working process may take unless told otherwise: 8 GB, or three
/// quarters of what the machine (or the control group) has, if that is less.
pub fn default_memory() -> u64 {
    const MOST: u64 = 8 << 30;
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max");
    let group = group.ok().and_then(|text| text.trim().parse::<u64>().ok());
    let info = rustix::system::sysinfo();
    let machine = info.totalram as u64 * u64::from(info.mem_unit).max(1);
    let least = group.map_or(machine, |group| group.min(machine));
    MOST.min(least / 4 * 3)
}
