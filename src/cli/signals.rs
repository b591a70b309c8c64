//! SIGINT, SIGTERM and SIGHUP.
//!
//! A subcommand that has something to clear up or to tell calls [`in_order`]: from
//! there on the first signal only asks it to end, and what was done so far is told. The
//! second signal ends the process at once; its children go with it, for the kernel sees
//! to that, and its folders go with the next command. Before, and elsewhere, the first
//! signal ends it.
//!
//! The exit code is 128 and the signal's number, as a shell has it for a program that
//! does not catch it: whoever started the run can tell that it is not whole, whatever
//! it found until then.
//!
//! Handlers only set flags or leave, so no thread is needed. A signal that is ignored
//! from the start (`nohup`, `&` in a script) stays so.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use super::Exit;
use super::supervisor::Signals;

struct Flags {
    /// The next signal ends the process.
    at_once: Arc<AtomicBool>,
    /// The signal that came; 0 is none.
    came: Arc<AtomicUsize>,
}

static FLAGS: OnceLock<Flags> = OnceLock::new();

/// To be called once, before anything runs.
///
/// # Errors
/// What the system says.
pub fn catch() -> io::Result<()> {
    // One that came when half of its handler's work is registered would be lost.
    let waiting = Signals::block()?;
    let registered = register();
    waiting.unblock();
    registered
}

fn register() -> io::Result<()> {
    let flags = FLAGS.get_or_init(|| Flags {
        at_once: Arc::new(AtomicBool::new(true)),
        came: Arc::default(),
    });
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        if is_ignored(signal) {
            continue;
        }
        let at_once = Arc::clone(&flags.at_once);
        let tell = move || tell_who_waits(at_once.load(Ordering::SeqCst));
        // SAFETY: loads of atomics and one write to standard error, both of which a
        // handler may do.
        unsafe { signal_hook::low_level::register(signal, tell)? };
        // In this order: the first signal sets what the second finds.
        flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&flags.at_once))?;
        flag::register_usize(signal, Arc::clone(&flags.came), signal as usize)?;
        flag::register(signal, Arc::clone(&flags.at_once))?;
    }
    Ok(())
}

/// Servers of somebody else are attached, and must be put back.
static ATTACHED: AtomicBool = AtomicBool::new(false);

/// Says from here on, when a signal comes, that servers have to be put back.
pub fn have_attached() {
    ATTACHED.store(true, Ordering::SeqCst);
}

/// Called in a signal's handler: putting back takes its time, and who waits may not know.
fn tell_who_waits(at_once: bool) {
    if ATTACHED.load(Ordering::SeqCst) {
        let words: &[u8] = match at_once {
            true => b"ended at once: --take-over puts back what was done to attached servers\n",
            false => b"ending: attached servers are put back first; a second signal leaves them\n",
        };
        let _ = rustix::io::write(std::io::stderr(), words);
    }
}

fn is_ignored(signal: i32) -> bool {
    // SAFETY: all-zero bytes are a value of this plain C struct, and the call only
    // writes the action that is in force into it.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now) == 0
            && now.sa_sigaction == libc::SIG_IGN
    }
}

/// From here on the first signal asks, and [`came`] tells.
pub fn in_order() {
    if let Some(flags) = FLAGS.get() {
        flags.at_once.store(false, Ordering::SeqCst);
    }
}

/// True after the first signal.
pub fn came() -> bool {
    number() != 0
}

fn number() -> usize {
    FLAGS
        .get()
        .map_or(0, |flags| flags.came.load(Ordering::SeqCst))
}

/// The exit code of a run that was told to end, and the signal's name.
pub fn exit() -> Option<(Exit, &'static str)> {
    match number() as i32 {
        SIGINT => Some((Exit::Interrupted, "SIGINT")),
        SIGTERM => Some((Exit::Terminated, "SIGTERM")),
        SIGHUP => Some((Exit::HungUp, "SIGHUP")),
        _ => None,
    }
}
