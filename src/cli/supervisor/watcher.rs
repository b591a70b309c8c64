//! The process that watches.

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, kill_process, kill_process_group};

use super::GRACE;
use super::page::Page;
use crate::cli::{Exit, screen};

/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Searches are told to stop at this share of the memory, in quarters.
const SHORT_QUARTERS: u64 = 3;
/// A signal that comes again this soon is the same one: some senders signal a process and
/// its group.
const SAME_SIGNAL: Duration = Duration::from_millis(300);

/// Signals that are for the working process.
const FORWARDED: [libc::c_int; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The signals that the watching process takes one by one.
pub struct Signals {
    taken: libc::sigset_t,
    before: libc::sigset_t,
}

impl Signals {
    /// From here on they wait until they are taken.
    pub fn block() -> io::Result<Signals> {
        // SAFETY: both sets are plain data that the calls fill in.
        unsafe {
            let mut taken = std::mem::zeroed();
            let mut before = std::mem::zeroed();
            libc::sigemptyset(&mut taken);
            for signal in FORWARDED.iter().chain(&[libc::SIGTSTP, libc::SIGCHLD]) {
                libc::sigaddset(&mut taken, *signal);
            }
            match libc::sigprocmask(libc::SIG_BLOCK, &taken, &mut before) {
                0 => Ok(Signals { taken, before }),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// As it was before.
    pub fn unblock(&self) {
        // SAFETY: the set is the one that the kernel gave.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }

    /// Waits for one of them, not for long.
    fn next(&self) -> Option<libc::c_int> {
        let time = libc::timespec {
            tv_sec: 0,
            tv_nsec: LOOK.as_nanos() as libc::c_long,
        };
        // SAFETY: the set and the time are valid; nothing is written.
        let signal = unsafe { libc::sigtimedwait(&self.taken, std::ptr::null_mut(), &time) };
        (signal > 0).then_some(signal)
    }
}

/// Watches the working process until it has ended, and gives the exit code.
pub fn watch(child: Pid, page: &Page, signals: &Signals, memory: u64) -> ExitCode {
    let mut last = None;
    loop {
        match signals.next() {
            Some(libc::SIGCHLD) | None => {}
            Some(libc::SIGTSTP) => {
                page.stopped(|| stop_both(child));
                let _ = kill_process_group(child, Signal::CONT);
            }
            Some(signal) => {
                let same =
                    |(which, when): (i32, Instant)| which == signal && when.elapsed() < SAME_SIGNAL;
                if !last.is_some_and(same)
                    && let Some(named) = Signal::from_named_raw(signal)
                {
                    let _ = kill_process(child, named);
                }
                last = Some((signal, Instant::now()));
            }
        }
        match rustix::process::waitpid(Some(child), WaitOptions::NOHANG) {
            Ok(Some((_, status))) => return ended(status, page),
            Ok(None) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return internal(&format!("lost the process that works: {error}")),
        }
        let used = memory_of(child);
        page.set_short(used > memory / 4 * SHORT_QUARTERS);
        if let Some(reason) = beyond(page, used, memory) {
            end(child);
            screen::note(format_args!("error: {reason}"));
            return ExitCode::from(Exit::Unknown as u8);
        }
    }
}

/// Why the working process may not go on.
fn beyond(page: &Page, used: u64, memory: u64) -> Option<String> {
    let what = page.what();
    let what = match what.is_empty() {
        true => "the command",
        false => &what,
    };
    if used > memory {
        return Some(format!(
            "{what} took more than {} MB of memory and was ended, so nothing is known; \
             shrink the model, or give it more with --max-memory",
            memory >> 20
        ));
    }
    let late = page.late_ms()?;
    (late > GRACE.as_millis() as u64).then(|| {
        format!(
            "{what} did not end within {} s and was ended, so nothing is known; \
             shrink the model or allow more time",
            page.given()
        )
    })
}

/// Ctrl-Z: the working process is not in the terminal's group, so it is stopped with this
/// one. Gives when this one goes on.
fn stop_both(child: Pid) {
    let _ = kill_process_group(child, Signal::STOP);
    let _ = kill_process(rustix::process::getpid(), Signal::STOP);
}

fn end(child: Pid) {
    let _ = kill_process(child, Signal::KILL);
    let _ = rustix::process::waitpid(Some(child), WaitOptions::empty());
}

/// The exit code of a process that has ended.
fn ended(status: WaitStatus, page: &Page) -> ExitCode {
    /// What a panic leaves.
    const PANICKED: i32 = 101;
    match (status.exit_status(), status.terminating_signal()) {
        (Some(PANICKED), _) => internal(&format!("lockproof panicked{}", during(page))),
        (Some(code), _) => ExitCode::from(code as u8),
        // It was asked to end before it had begun to listen.
        (None, Some(signal)) if FORWARDED.contains(&signal) => ExitCode::from(128 + signal as u8),
        (None, signal) => {
            let signal = signal.map_or("a signal".to_owned(), name);
            internal(&format!("lockproof was ended by {signal}{}", during(page)))
        }
    }
}

fn during(page: &Page) -> String {
    match page.what() {
        what if what.is_empty() => String::new(),
        what => format!(" during {what}"),
    }
}

fn name(signal: i32) -> String {
    match signal {
        libc::SIGKILL => "SIGKILL (has the machine run out of memory?)".into(),
        libc::SIGSEGV => "SIGSEGV".into(),
        libc::SIGABRT => "SIGABRT".into(),
        libc::SIGBUS => "SIGBUS".into(),
        other => format!("signal {other}"),
    }
}

fn internal(what: &str) -> ExitCode {
    screen::note(format_args!(
        "error: {what}; please report this with the lock file"
    ));
    ExitCode::from(Exit::Internal as u8)
}

/// Bytes of a process that are its own and in memory.
fn memory_of(process: Pid) -> u64 {
    let path = format!("/proc/{}/statm", process.as_raw_nonzero());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut pages = text
        .split(' ')
        .skip(1)
        .map_while(|page| page.parse::<u64>().ok());
    let resident = pages.next().unwrap_or(0);
    let shared = pages.next().unwrap_or(0);
    resident.saturating_sub(shared) * rustix::param::page_size() as u64
}
