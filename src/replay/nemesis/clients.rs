//! The client processes, as the nemesis sees them: something to stop and kill.

use std::collections::BTreeSet;
use std::io;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::super::clock::ServerClock;

/// Client processes, by number from 0.
pub trait Clients: Send {
    /// Stops one (SIGSTOP); returns once it stands.
    fn pause(&mut self, client: u16) -> io::Result<()>;

    /// Lets it go on (SIGCONT). One that is not stopped is no error.
    fn resume(&mut self, client: u16) -> io::Result<()>;

    /// Kills it (SIGKILL).
    fn kill(&mut self, client: u16) -> io::Result<()>;

    /// Starts one in place of a killed one.
    fn restart(&mut self, client: u16) -> io::Result<()>;

    /// Sets its wall clock off by so many ms from true time; 0 sets it right.
    fn skew(&mut self, client: u16, ms: i64) -> io::Result<()>;
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

    fn restart(&mut self, _: u16) -> io::Result<()> {
        nobody()
    }

    fn skew(&mut self, _: u16, _: i64) -> io::Result<()> {
        nobody()
    }
}

/// Starts client `n` anew and gives its process group.
pub type Respawn = Box<dyn FnMut(u16) -> io::Result<u32> + Send>;

/// Clients by their process groups. Whoever started them waits for them. Dropping
/// this lets every stopped one go on.
pub struct ProcessGroups {
    groups: Vec<Option<u32>>,
    /// Their clocks, if they have their own; missing ones cannot be skewed.
    clocks: Vec<ServerClock>,
    respawn: Option<Respawn>,
    stopped: BTreeSet<u16>,
}

impl ProcessGroups {
    /// Client `n` is the process group `groups[n]`, named by its leader, and reads
    /// its time from `clocks[n]`. Without `respawn` nobody can be restarted.
    pub fn new(
        groups: &[u32],
        clocks: Vec<ServerClock>,
        respawn: Option<Respawn>,
    ) -> ProcessGroups {
        ProcessGroups {
            groups: groups.iter().copied().map(Some).collect(),
            clocks,
            respawn,
            stopped: BTreeSet::new(),
        }
    }

    fn group(&self, client: u16) -> io::Result<u32> {
        let group = self.groups.get(usize::from(client)).copied().flatten();
        group.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such process"))
    }

    fn signal(&self, client: u16, signal: Signal) -> io::Result<()> {
        let group = i32::try_from(self.group(client)?)
            .ok()
            .and_then(Pid::from_raw);
        let group = group.ok_or_else(|| io::Error::other("no process has this id"))?;
        match kill_process_group(group, signal) {
            Err(rustix::io::Errno::SRCH) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Clients for ProcessGroups {
    fn pause(&mut self, client: u16) -> io::Result<()> {
        let group = self.group(client)?;
        self.stopped.insert(client);
        self.signal(client, Signal::STOP)?;
        let deadline = Instant::now() + Duration::from_secs(1);
        while !stands(group) {
            if Instant::now() > deadline {
                let why = "the process did not stop within a second of SIGSTOP";
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn resume(&mut self, client: u16) -> io::Result<()> {
        self.stopped.remove(&client);
        self.signal(client, Signal::CONT)
    }

    fn kill(&mut self, client: u16) -> io::Result<()> {
        self.stopped.remove(&client);
        self.signal(client, Signal::KILL)?;
        // Its number may be another's as soon as it is waited for.
        self.groups[usize::from(client)] = None;
        Ok(())
    }

    fn restart(&mut self, client: u16) -> io::Result<()> {
        let Some(respawn) = &mut self.respawn else {
            let why = "this run cannot start clients anew";
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        };
        let group = respawn(client)?;
        if let Some(slot) = self.groups.get_mut(usize::from(client)) {
            *slot = Some(group);
        }
        Ok(())
    }

    fn skew(&mut self, client: u16, ms: i64) -> io::Result<()> {
        let clock = self.clocks.get(usize::from(client)).ok_or_else(|| {
            let why = "the client has no clock of its own; start it with the shim";
            io::Error::new(io::ErrorKind::Unsupported, why)
        })?;
        clock.correct();
        clock.jump(ms);
        Ok(())
    }
}

impl Drop for ProcessGroups {
    fn drop(&mut self) {
        for client in self.stopped.clone() {
            // Nothing is left to be done about an error here.
            let _ = self.resume(client);
        }
    }
}

/// True if a process is stopped, or is none any more.
fn stands(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return true;
    };
    // The command name stands in parentheses and may hold anything.
    let state = stat
        .rsplit_once(") ")
        .and_then(|(_, rest)| rest.chars().next());
    matches!(state, None | Some('T' | 't' | 'Z' | 'X'))
}
