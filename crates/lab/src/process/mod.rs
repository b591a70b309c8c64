//! Processes that cannot outlive the harness: started, stopped, listened to.
//!
//! Every child asks the kernel for SIGKILL when its parent dies, so a harness
//! that is itself killed leaves nothing behind: no handler, pid file or sweep
//! does that. The catch is that the kernel means the parent *thread*: a child
//! spawned on a worker thread of a runtime dies when that thread is retired, in
//! the middle of a run. So one thread spawns all children and never ends.
//!
//! Rejected: process groups and atexit handlers (SIGKILL runs neither), and a
//! supervisor process (it can be killed as well).

pub mod brief;

use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, waitid,
};

use super::clock::{Library, layout};

/// The end of a child's standard error that is kept, in bytes.
const TAIL_BYTES: usize = 8192;

struct Job {
    command: Command,
    /// What the program is to load.
    library: Option<Library>,
    done: Sender<io::Result<Child>>,
}

impl Job {
    fn start(&mut self) -> io::Result<Child> {
        match &self.library {
            None => self.command.spawn(),
            Some(library) => library.lend(&mut self.command, Command::spawn),
        }
    }
}

/// Starts `command` as a child that dies (SIGKILL) with this process, and in a
/// process group of its own: Ctrl-C on a terminal is for the harness alone. Blocks
/// for the time of a fork and an exec. The caller must wait for the child, or
/// it stays as a zombie until this process ends; [`Reaped`] does that.
pub fn spawn(mut command: Command) -> io::Result<Child> {
    let harness = getpid();
    let die_with_parent = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died between the fork and the line above; then
        // nobody would send the signal any more.
        match getppid() {
            Some(parent) if parent == harness => Ok(()),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    };
    // SAFETY: between fork and exec only system calls are made, and neither
    // kind of error that is built there allocates.
    unsafe { command.pre_exec(die_with_parent) };
    start(command, None)
}

/// As [`spawn`], for a server that loads the clock library, which asks for the SIGKILL.
/// So nothing is to be done between fork and exec, and there is no fork: the program is
/// started by posix_spawn(3), which shares the harness's memory until exec. A fork copies
/// its page tables, of all that a search has found.
pub(crate) fn spawn_with_clock(mut command: Command, library: &Library) -> io::Result<Child> {
    let harness = getpid().as_raw_nonzero().to_string();
    command.env(OsStr::from_bytes(layout::HARNESS.to_bytes()), harness);
    start(command, Some(library.clone()))
}

fn start(mut command: Command, library: Option<Library>) -> io::Result<Child> {
    command.process_group(0);
    let (done, result) = channel();
    let gone = || io::Error::other("the thread that starts processes is gone");
    let job = Job {
        command,
        library,
        done,
    };
    spawner()?.send(job).map_err(|_| gone())?;
    result.recv().map_err(|_| gone())?
}

fn spawner() -> io::Result<&'static Sender<Job>> {
    static SPAWNER: OnceLock<Sender<Job>> = OnceLock::new();
    if let Some(spawner) = SPAWNER.get() {
        return Ok(spawner);
    }
    let (jobs, inbox) = channel::<Job>();
    std::thread::Builder::new()
        .name("lockproof-spawner".into())
        .spawn(move || {
            for mut job in inbox {
                // The caller waits for the answer; if it is gone, so is its
                // interest, and the child must not be left running.
                let started = job.start();
                if let Err(unwanted) = job.done.send(started) {
                    drop(unwanted.0.map(Reaped::new));
                }
            }
        })?;
    // If two threads race here the loser's sender is dropped and its thread
    // ends, having spawned nothing.
    Ok(SPAWNER.get_or_init(|| jobs))
}

/// A child that is killed and waited for when this value goes.
#[derive(Debug)]
pub struct Reaped(Child);

impl Reaped {
    /// Takes charge of a child.
    pub fn new(child: Child) -> Reaped {
        Reaped(child)
    }

    /// The child's process id; it stays the child's own until this value goes.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// The child itself, for its pipes and its exit status.
    pub fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// Sends a signal. A child that has ended already is not an error.
    pub fn signal(&self, which: Signal) -> io::Result<()> {
        signal(self.pid(), which)
    }

    /// Stops it; see [`stop`].
    pub fn stop(&self) -> io::Result<()> {
        stop(self.pid())
    }

    /// Sends SIGCONT.
    pub fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// True if it has ended. It is not waited for yet, so its number and that of its
    /// process group are still its own.
    pub fn has_ended(&self) -> io::Result<bool> {
        let pid = self.raw_pid()?;
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid), look)?.is_some())
    }

    /// Kills (SIGKILL) everybody in its process group, which it leads. To be called
    /// before it is waited for: afterwards the number may be somebody else's.
    pub fn kill_group(&self) -> io::Result<()> {
        match kill_process_group(self.raw_pid()?, Signal::KILL) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn raw_pid(&self) -> io::Result<Pid> {
        let pid = i32::try_from(self.pid()).ok().and_then(Pid::from_raw);
        pid.ok_or_else(|| io::Error::other("no process has this id"))
    }

    /// Kills (SIGKILL) and waits.
    pub fn kill(&mut self) -> io::Result<()> {
        // One that was waited for already has no group of its own any more. A wrapper
        // around a server may have started others, and they go with it.
        if self.has_ended().is_ok() {
            let _ = self.kill_group();
        }
        // kill() answers InvalidInput for a child that was waited for already.
        let _ = self.0.kill();
        self.0.wait().map(|_| ())
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        // Nothing is left to be done about an error here.
        let _ = self.kill();
    }
}

/// Sends a signal to the process `pid`. One that has ended already is not an
/// error; the caller must know that the number is still that process's own.
pub fn signal(pid: u32, which: Signal) -> io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let pid = pid.ok_or_else(|| io::Error::other("no process has this id"))?;
    match kill_process(pid, which) {
        Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Sends SIGSTOP and waits (at most about a second) until the kernel reports the
/// process as stopped: the signal alone only asks.
pub fn stop(pid: u32) -> io::Result<()> {
    signal(pid, Signal::STOP)?;
    for _ in 0..1_000 {
        match state(pid) {
            Some('T' | 't' | 'Z' | 'X') | None => return Ok(()),
            Some(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    Err(io::Error::new(
        io::ErrorKind::TimedOut,
        "the process did not stop within a second of SIGSTOP",
    ))
}

/// The state letter of /proc/PID/stat; `None` if there is no such process.
fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name stands in parentheses and may hold anything.
    stat.rsplit_once(") ")?.1.chars().next()
}

/// Starts a thread. `std::thread::spawn` panics where the machine has none left.
///
/// # Errors
/// What the system says.
pub fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(work)
}

/// The last words of a child on one of its pipes, kept by a thread that reads
/// whatever comes, so that the child never blocks on a full pipe.
#[derive(Debug)]
pub struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Tail {
    /// Reads `pipe` until it ends.
    ///
    /// # Errors
    /// If the machine has no thread left.
    pub fn of(pipe: impl Read + Send + 'static) -> io::Result<Tail> {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let reader = {
            let kept = Arc::clone(&kept);
            thread("tail", move || keep_tail(pipe, &kept))?
        };
        Ok(Tail { kept, reader })
    }

    /// What is kept. Call it after the process has ended: it gives the reader a
    /// moment to drain the pipe, which a stray grandchild may hold open.
    pub fn text(&self) -> String {
        for _ in 0..100 {
            if self.reader.is_finished() {
                break;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&kept).into_owned()
    }
}

fn keep_tail(mut pipe: impl Read, kept: &Mutex<Vec<u8>>) {
    let mut chunk = [0; TAIL_BYTES];
    loop {
        let read = match pipe.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
            Ok(read) => read,
        };
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&chunk[..read]);
        let surplus = kept.len().saturating_sub(TAIL_BYTES);
        kept.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper() -> Reaped {
        let mut command = Command::new("sleep");
        command.arg("600");
        Reaped::new(spawn(command).unwrap())
    }

    #[test]
    fn a_child_outlives_the_thread_that_asked_for_it() {
        let (child, task) = std::thread::spawn(|| {
            let thread = unsafe { libc::gettid() };
            (sleeper(), format!("/proc/self/task/{thread}"))
        })
        .join()
        .unwrap();
        // The kernel sends the death signal before it takes the thread away.
        while std::path::Path::new(&task).exists() {
            std::thread::yield_now();
        }
        // A child with that signal pending dies before it can stop.
        child.stop().unwrap();
        assert_eq!(state(child.pid()), Some('T'));
    }

    #[test]
    fn a_dropped_child_is_dead_and_reaped() {
        let child = sleeper();
        let pid = child.pid();
        drop(child);
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }

    #[test]
    fn a_stopped_child_is_stopped_on_return_and_can_still_be_killed() {
        let mut child = sleeper();
        child.stop().unwrap();
        assert_eq!(state(child.pid()), Some('T'));
        child.resume().unwrap();
        child.stop().unwrap();
        child.kill().unwrap();
        assert_eq!(state(child.pid()), None);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert!(spawn(Command::new("lockproof-no-such-program")).is_err());
    }
}
