//! The clients of a run: actor processes, their output, and what may befall them.
//!
//! An actor and its adapter are two processes and one client: they are stopped,
//! resumed and killed together. The actor is stopped first and goes on last, so
//! that what it does under the lock stands still whenever its client does.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lockproof_history::{Kind, Process};
use lockproof_lab::nemesis::{Clients, Holding};
use lockproof_lab::process::{Tail, signal, spawn, stop, thread};
use rustix::process::Signal;
use serde_json::json;

use super::actor::{Orders, Skew};
use super::commands;
use super::recorder::Recorder;

/// How long an adapter may take to come up.
const READY_PATIENCE: Duration = Duration::from_secs(10);

/// The clients of a run. Dropping it kills them.
pub struct Crew {
    program: PathBuf,
    recorder: Recorder,
    members: Vec<Member>,
    /// The number that the next process gets: one that was killed never comes
    /// back under its own.
    next_process: u32,
}

struct Member {
    orders: Orders,
    child: Child,
    stdin: Option<ChildStdin>,
    /// The adapter's process id, once the actor has told it.
    adapter: Arc<OnceLock<u32>>,
    events: Option<JoinHandle<()>>,
    stderr: Option<Tail>,
    stopped: bool,
    /// The harness has killed it.
    killed: Arc<AtomicBool>,
}

impl Crew {
    /// Starts an actor for each of `orders`; `program` is this program. Returns
    /// when all of them are ready to work.
    ///
    /// # Errors
    /// If one does not start, with what it said.
    pub fn start(program: PathBuf, orders: Vec<Orders>, recorder: Recorder) -> io::Result<Crew> {
        let mut crew = Crew {
            program,
            recorder,
            next_process: orders.len() as u32,
            members: Vec::new(),
        };
        for orders in orders {
            let member = crew.member(orders)?;
            crew.members.push(member);
        }
        for member in &mut crew.members {
            member.await_ready()?;
        }
        Ok(crew)
    }

    fn member(&self, orders: Orders) -> io::Result<Member> {
        let mut command = Command::new(&self.program);
        command
            .arg("actor")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = spawn(command)?;
        let mut line = serde_json::to_vec(&orders)?;
        line.push(b'\n');
        let adapter = Arc::new(OnceLock::new());
        let process = orders.process;
        let killed = Arc::new(AtomicBool::new(false));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let stdin = child.stdin.take();
        // From here on it is killed if anything fails.
        let mut member = Member {
            orders,
            child,
            stdin,
            adapter: Arc::clone(&adapter),
            events: None,
            stderr: None,
            stopped: false,
            killed: Arc::clone(&killed),
        };
        member.stderr = stderr.map(Tail::of).transpose()?;
        if let Some(stdout) = stdout {
            let recorder = self.recorder.clone();
            let listen = move || {
                let done = read_events(stdout, process, &adapter, &recorder);
                // Whoever is killed by the harness is told by whoever did it.
                if !done && !killed.load(Ordering::Acquire) {
                    let value = json!({ "client": process });
                    recorder.say(Process::Nemesis, Kind::Info, "crash", value);
                }
            };
            member.events = Some(thread("events", listen)?);
        }
        if let Some(stdin) = &mut member.stdin {
            stdin.write_all(&line)?;
        }
        Ok(member)
    }

    /// A process number that no actor of this crew has had.
    pub fn next_process(&self) -> u32 {
        self.next_process
    }

    /// True if no actor runs any more.
    pub fn has_ended(&mut self) -> bool {
        let mut members = self.members.iter_mut();
        members.all(|member| !matches!(member.child.try_wait(), Ok(None)))
    }

    /// Waits until every actor has ended by itself; those that have not by
    /// `deadline` are killed and counted.
    pub fn finish(&mut self, deadline: Instant) -> usize {
        let mut killed = 0;
        for member in &mut self.members {
            while matches!(member.child.try_wait(), Ok(None)) {
                if Instant::now() > deadline {
                    member.kill();
                    killed += 1;
                    break;
                }
                std::thread::sleep(Duration::from_millis(2));
            }
            member.hear_out();
        }
        killed
    }

    /// Ends every actor now, in the midst of what it does.
    pub fn dismiss(&mut self) {
        for client in 0..self.members.len() as u16 {
            // Each that is left is one of its members, so this cannot fail.
            let _ = Clients::kill(self, client);
        }
    }

    /// What actors that failed said last, by number; of those that somebody else
    /// killed, how they ended.
    pub fn complaints(&mut self) -> BTreeMap<u32, String> {
        let failed = |member: &mut Member| {
            let status = member.child.try_wait().ok().flatten()?;
            let killed = ExitStatusExt::signal(&status).is_some();
            if status.success() || (killed && member.killed.load(Ordering::Acquire)) {
                return None;
            }
            let said = match killed {
                true => format!("it was killed, and not by the nemesis ({status})"),
                false => member.last_words(),
            };
            Some((member.orders.process, said))
        };
        self.members.iter_mut().filter_map(failed).collect()
    }

    fn named(&mut self, client: u16) -> io::Result<&mut Member> {
        self.members
            .get_mut(usize::from(client))
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "there is no such client"))
    }
}

impl Member {
    fn await_ready(&mut self) -> io::Result<()> {
        let deadline = Instant::now() + READY_PATIENCE;
        while self.adapter.get().is_none() {
            if let Some(status) = self.child.try_wait()? {
                // A short one may have done its work already.
                self.hear_out();
                if self.adapter.get().is_some() {
                    return Ok(());
                }
                let said = self.last_words();
                let text = format!(
                    "client {} ended at once ({status}): {said}",
                    self.orders.process
                );
                return Err(io::Error::other(text));
            }
            if Instant::now() > deadline {
                let text = format!("client {} was not ready in time", self.orders.process);
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// The actor's process id and the adapter's.
    fn pids(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        [Some(self.child.id()), self.adapter.get().copied()]
            .into_iter()
            .flatten()
    }

    fn kill(&mut self) {
        self.killed.store(true, Ordering::Release);
        for pid in self.pids().collect::<Vec<_>>() {
            // One that has gone already is what was wanted. The actor has not
            // been waited for yet, so its number is still its own; the
            // adapter's parent is the actor.
            let _ = signal(pid, Signal::KILL);
        }
        let _ = self.child.wait();
    }

    /// Waits until everything that it said is in the history.
    fn hear_out(&mut self) {
        if let Some(events) = self.events.take() {
            // The reader ends with its pipe; its panic has nothing to add.
            let _ = events.join();
        }
    }

    fn last_words(&self) -> String {
        let said = self.stderr.as_ref().map_or(String::new(), Tail::text);
        said.trim().to_owned()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.kill();
        }
    }
}

impl Clients for Crew {
    fn pause(&mut self, client: u16) -> io::Result<()> {
        let member = self.named(client)?;
        member.stopped = true;
        member.pids().try_for_each(stop)
    }

    fn resume(&mut self, client: u16) -> io::Result<()> {
        let member = self.named(client)?;
        if !std::mem::take(&mut member.stopped) {
            return Ok(());
        }
        let mut pids = member.pids().rev();
        pids.try_for_each(|pid| signal(pid, Signal::CONT))
    }

    fn kill(&mut self, client: u16) -> io::Result<()> {
        let member = self.named(client)?;
        member.kill();
        // Whatever it still had to say is in the history before its death is.
        member.hear_out();
        let process = member.orders.process;
        let value = json!({ "client": process });
        self.recorder
            .say(Process::Nemesis, Kind::Info, "crash", value);
        Ok(())
    }

    fn restart(&mut self, client: u16, same_owner: bool) -> io::Result<()> {
        let mut orders = self.named(client)?.orders.clone();
        orders.process = self.next_process;
        orders.seed = orders.seed.wrapping_add(0x9e37_79b9);
        if !same_owner {
            orders.init.owner = format!("{}-{}", orders.init.owner, orders.process);
        }
        self.next_process += 1;
        let mut member = self.member(orders)?;
        member.await_ready()?;
        *self.named(client)? = member;
        Ok(())
    }

    /// In force from the client's next attempt on.
    fn skew(&mut self, client: u16, ms: i64) -> io::Result<()> {
        let mut line = serde_json::to_vec(&Skew { skew_ms: ms })?;
        line.push(b'\n');
        match &mut self.named(client)?.stdin {
            Some(stdin) => match stdin.write_all(&line) {
                // It has ended, and so has its clock.
                Err(gone) if gone.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                told => told,
            },
            None => Err(io::Error::other("the client cannot be told anything")),
        }
    }

    fn holders(&self) -> Vec<Holding> {
        let at_work = self.recorder.at_work().into_iter();
        let place = |process| {
            let mut members = self.members.iter();
            members.position(|member| member.orders.process == process)
        };
        at_work
            .filter_map(|(process, hold)| {
                let client = u16::try_from(place(process)?).ok()?;
                Some(Holding { hold, client })
            })
            .collect()
    }

    fn holds(&self) -> u64 {
        self.recorder.holds()
    }

    fn is_there(&self, client: u16) -> bool {
        usize::from(client) < self.members.len()
    }

    fn process(&self, client: u16) -> u32 {
        let member = self.members.get(usize::from(client));
        member.map_or(client.into(), |member| member.orders.process)
    }
}

/// Writes down what a client says. True if it ended in good order.
fn read_events(
    stdout: impl Read,
    process: u32,
    adapter: &OnceLock<u32>,
    recorder: &Recorder,
) -> bool {
    let mut done = false;
    for line in BufReader::new(stdout).split(b'\n') {
        let Ok(line) = line else { break };
        let Some(event) = commands::read(&line, process, recorder.began_ns()) else {
            continue;
        };
        match event.f.as_str() {
            "done" => done = true,
            "ready" => {
                let pid = event.value.get("pid").and_then(serde_json::Value::as_u64);
                if let Some(pid) = pid.and_then(|pid| u32::try_from(pid).ok()) {
                    // An actor tells it once; a second word of it changes nothing.
                    let _ = adapter.set(pid);
                }
            }
            _ => recorder.record(event),
        }
    }
    done
}
