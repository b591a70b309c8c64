//! The client processes, as the nemesis sees them: something to stop and kill.

use std::io;

use super::aim::Holding;

/// Client processes, by number from 0.
pub trait Clients: Send {
    /// Stops one (SIGSTOP); returns once it stands.
    fn pause(&mut self, client: u16) -> io::Result<()>;

    /// Lets it go on (SIGCONT). One that is not stopped is no error.
    fn resume(&mut self, client: u16) -> io::Result<()>;

    /// Kills it (SIGKILL).
    fn kill(&mut self, client: u16) -> io::Result<()>;

    /// Starts one in place of a killed one, with its owner id or with a new one.
    fn restart(&mut self, client: u16, same_owner: bool) -> io::Result<()>;

    /// Sets its wall clock off by so many ms from true time; 0 sets it right.
    fn skew(&mut self, client: u16, ms: i64) -> io::Result<()>;

    /// Whether there is such a client: links are there for more of them.
    fn is_there(&self, _client: u16) -> bool {
        true
    }

    /// Who works under the lock just now, as far as they have told.
    fn holders(&self) -> Vec<Holding> {
        Vec::new()
    }

    /// How many holds have begun so far, as far as clients have told.
    fn holds(&self) -> u64 {
        0
    }

    /// The number that a client's events bear in the history: one that was restarted
    /// has another.
    fn process(&self, client: u16) -> u32 {
        u32::from(client)
    }
}

/// No client process that could be struck.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoClients;

fn nobody<T>() -> io::Result<T> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this run has no client process to strike",
    ))
}

impl Clients for NoClients {
    fn pause(&mut self, _: u16) -> io::Result<()> {
        nobody()
    }

    fn resume(&mut self, _: u16) -> io::Result<()> {
        nobody()
    }

    fn kill(&mut self, _: u16) -> io::Result<()> {
        nobody()
    }

    fn restart(&mut self, _: u16, _: bool) -> io::Result<()> {
        nobody()
    }

    fn skew(&mut self, _: u16, _: i64) -> io::Result<()> {
        nobody()
    }
}
