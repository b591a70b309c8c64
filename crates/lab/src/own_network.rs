//! A network of this process's own, in which packets can be dropped.
//!
//! Proxies can withhold bytes, but a connection to a proxy is always made: the
//! kernel answers before the proxy looks. A pulled cable is more: nobody answers
//! at all, and TCP sends again when it comes back. The kernel's packet filter does
//! that. A network namespace (unshare(2), network_namespaces(7)) keeps its rules to
//! this process and its children, and they go when these do.

use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use super::process::brief;
use super::proxy::Direction;

static ENTERED: AtomicBool = AtomicBool::new(false);

/// Why there is no network of our own.
#[derive(Debug, thiserror::Error)]
pub enum OwnNetworkError {
    /// The kernel does not allow it.
    #[error("failed to make a network namespace: {0}; this needs root")]
    Namespace(io::Error),
    /// The loopback interface of the new network cannot be used.
    #[error("failed to bring up loopback in the network namespace: {0}")]
    Loopback(io::Error),
    /// The packet filter cannot be told.
    #[error("failed to run iptables: {0}; install it as root")]
    Iptables(String),
}

/// Gives this thread, and all threads and processes that it starts from now on, a
/// network with nothing but a loopback interface. To be called before there are
/// others.
///
/// # Errors
/// If this is not root, or iptables is missing.
pub fn enter() -> Result<(), OwnNetworkError> {
    // SAFETY: a plain system call without pointers; of this thread's state only the
    // network changes.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(OwnNetworkError::Namespace(io::Error::last_os_error()));
    }
    loopback_up().map_err(OwnNetworkError::Loopback)?;
    iptables(&["-S", "INPUT"])?;
    ENTERED.store(true, Ordering::SeqCst);
    Ok(())
}

/// True once [`enter`] has succeeded.
pub fn entered() -> bool {
    ENTERED.load(Ordering::SeqCst)
}

/// netdevice(7): read the flags of `lo`, add `UP`, write them.
fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket(
        rustix::net::AddressFamily::INET,
        rustix::net::SocketType::DGRAM,
        None,
    )?;
    let fd = std::os::fd::AsRawFd::as_raw_fd(&socket);
    // SAFETY: an ifreq is plain bytes; zero is a valid one.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    // SAFETY: both calls read and write `request`, which outlives them, and the
    // flags are the member of the union that the first call fills.
    let done = unsafe {
        if libc::ioctl(fd, libc::SIOCGIFFLAGS as _, &mut request) == 0 {
            request.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
            libc::ioctl(fd, libc::SIOCSIFFLAGS as _, &mut request)
        } else {
            -1
        }
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Drops every packet of one direction of what goes over a port, or (`false`) lets
/// them pass again.
///
/// # Errors
/// If this process has no network of its own, or iptables refuses.
pub(super) fn drop_packets(
    port: u16,
    direction: Direction,
    drop: bool,
) -> Result<(), OwnNetworkError> {
    if !entered() {
        let why = "this process has no network of its own; run with --own-network".into();
        return Err(OwnNetworkError::Iptables(why));
    }
    let side = match direction {
        Direction::ToServer => "--dport",
        Direction::ToClient => "--sport",
    };
    let change = if drop { "-A" } else { "-D" };
    let port = port.to_string();
    iptables(&[change, "INPUT", "-p", "tcp", side, &port, "-j", "DROP"])
}

fn iptables(arguments: &[&str]) -> Result<(), OwnNetworkError> {
    // It waits for its own lock: several rules may be changed at once.
    let mut command = Command::new("iptables");
    command.arg("-w").args(arguments);
    let answer =
        brief::ask(command).map_err(|error| OwnNetworkError::Iptables(error.to_string()))?;
    if answer.status.success() {
        return Ok(());
    }
    Err(OwnNetworkError::Iptables(answer.err.trim().to_owned()))
}
