//! Starting processes that cannot outlive the harness.
//!
//! Every child asks the kernel for SIGKILL when its parent dies, so a harness
//! that is itself killed leaves nothing behind: no handler, pid file or sweep
//! does that. The catch is that the kernel means the parent *thread*: a child
//! spawned on a worker thread of a runtime dies when that thread is retired, in
//! the middle of a run. So one thread spawns all children and never ends.
//!
//! Rejected: process groups and atexit handlers (SIGKILL runs neither), and a
//! supervisor process (it can be killed as well).

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

struct Job {
    command: Command,
    done: Sender<io::Result<Child>>,
}

/// Starts `command` as a child that dies (SIGKILL) with this process. Blocks
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
    let (done, result) = channel();
    let gone = || io::Error::other("the thread that starts processes is gone");
    spawner()?.send(Job { command, done }).map_err(|_| gone())?;
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
                if let Err(unwanted) = job.done.send(job.command.spawn()) {
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
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        let Some(pid) = rustix::process::Pid::from_raw(self.0.id() as i32) else {
            return Err(io::Error::other("process id 0"));
        };
        match rustix::process::kill_process(pid, signal) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Sends SIGSTOP and waits (at most about a second) until the kernel
    /// reports the process as stopped: the signal alone only asks.
    pub fn stop(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        for _ in 0..1_000 {
            match self.state() {
                Some('T' | 't' | 'Z' | 'X') | None => return Ok(()),
                Some(_) => std::thread::sleep(std::time::Duration::from_millis(1)),
            }
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the process did not stop within a second of SIGSTOP",
        ))
    }

    /// Sends SIGCONT.
    pub fn resume(&self) -> io::Result<()> {
        self.signal(Signal::CONT)
    }

    /// Kills (SIGKILL) and waits.
    pub fn kill(&mut self) -> io::Result<()> {
        // kill() answers InvalidInput for a child that was waited for already.
        let _ = self.0.kill();
        self.0.wait().map(|_| ())
    }

    /// The state letter of /proc/PID/stat; `None` if there is no such process.
    fn state(&self) -> Option<char> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.pid())).ok()?;
        // The command name stands in parentheses and may hold anything.
        stat.rsplit_once(") ")?.1.chars().next()
    }
}

impl Drop for Reaped {
    fn drop(&mut self) {
        // Nothing is left to be done about an error here.
        let _ = self.kill();
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
        assert_eq!(child.state(), Some('T'));
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
        assert_eq!(child.state(), Some('T'));
        child.resume().unwrap();
        child.stop().unwrap();
        child.kill().unwrap();
        assert_eq!(child.state(), None);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        assert!(spawn(Command::new("lockproof-no-such-program")).is_err());
    }
}
