//! Starts processes that cannot outlive the harness.
//!
//! PR_SET_PDEATHSIG kills a child when the *thread* that started it ends, not
//! the process. A child started from a thread of a pool would die with that
//! idle thread, in the middle of a replay. So one thread, which lives as long
//! as the process does, starts all of them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use rustix::process::{Signal, getppid, set_parent_process_death_signal};

use super::ClientCommand;

type Order = (Command, Sender<io::Result<Child>>);

/// Starts `command` with pipes on all three streams, as the leader of its own
/// process group.
pub(super) fn spawn(command: &ClientCommand) -> io::Result<Child> {
    let mut child = Command::new(&command.program);
    child
        .args(&command.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    let harness = rustix::process::getpid();
    // SAFETY: between fork and exec only async-signal-safe calls are allowed;
    // prctl and getppid are plain system calls.
    unsafe {
        child.pre_exec(move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The harness may have died before the signal was armed.
            if getppid() != Some(harness) {
                return Err(io::Error::other("the harness has ended"));
            }
            Ok(())
        });
    }
    let (answer, answered) = channel();
    let gone = || io::Error::other("the thread that starts clients has ended");
    spawner().send((child, answer)).map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

fn spawner() -> &'static Sender<Order> {
    static SPAWNER: OnceLock<Sender<Order>> = OnceLock::new();
    SPAWNER.get_or_init(|| {
        let (orders, inbox) = channel::<Order>();
        std::thread::spawn(move || {
            while let Ok((mut command, answer)) = inbox.recv() {
                // Nobody waits any more if the asker panicked; then the child
                // is dropped unstarted or unowned, and dies with the harness.
                let _ = answer.send(command.spawn());
            }
        });
        orders
    })
}
