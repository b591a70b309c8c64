//! Programs that are asked one thing and end: `redis-server --version`.
//!
//! Whatever lies on a search path under such a name may hang, print for ever, or leave
//! a process behind that keeps its pipes open. So each is given a time and a number of
//! bytes, and its whole process group ends with it.
//!
//! No thread reads its pipes: a machine that has none left can still be told so.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::{Reaped, spawn};

/// How long a program may take for its answer. A busy machine needs a second at times.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest answer, in bytes.
const ANSWER_MAX: usize = 64 << 10;
/// How often the pipes are looked at.
const LOOK: Duration = Duration::from_millis(2);

/// What a program said.
#[derive(Debug)]
pub struct Answer {
    /// How it ended.
    pub status: ExitStatus,
    /// What it wrote on standard output.
    pub out: String,
    /// What it wrote on standard error.
    pub err: String,
}

/// Why it gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum BriefError {
    /// It does not start, or the system refuses what is needed for it.
    #[error("{0}")]
    System(#[from] io::Error),
    /// It did not end.
    #[error("it did not end within {0:?} and was killed")]
    Late(Duration),
    /// It printed more than any answer has.
    #[error("it printed more than {0} bytes and was killed")]
    TooMuch(usize),
}

/// Runs a program that ends by itself, without standard input, and gives what it says.
///
/// # Errors
/// See [`BriefError`]. Neither it nor a process that it started in its group is left.
pub fn ask(command: Command) -> Result<Answer, BriefError> {
    ask_within(command, PATIENCE)
}

/// The same, with another patience.
///
/// # Errors
/// As [`ask`].
pub fn ask_within(mut command: Command, patience: Duration) -> Result<Answer, BriefError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Reaped::new(spawn(command)?);
    let heard = hear(&mut child, patience);
    // Before anybody waits for it: its number is still its own.
    child.kill_group()?;
    let (out, err) = heard?;
    Ok(Answer {
        status: child.child().wait()?,
        out: String::from_utf8_lossy(&out).into_owned(),
        err: String::from_utf8_lossy(&err).into_owned(),
    })
}

/// Both streams, up to the child's end. What a process that it left behind still
/// writes is not waited for.
fn hear(child: &mut Reaped, patience: Duration) -> Result<(Vec<u8>, Vec<u8>), BriefError> {
    let deadline = Instant::now() + patience;
    let mut out = Ear::of(child.child().stdout.take())?;
    let mut err = Ear::of(child.child().stderr.take())?;
    loop {
        // Looked at first: what it wrote before its end is in the pipes then.
        let ended = child.has_ended()?;
        out.listen()?;
        err.listen()?;
        if ended {
            return Ok((out.heard, err.heard));
        }
        if Instant::now() >= deadline {
            return Err(BriefError::Late(patience));
        }
        std::thread::sleep(LOOK);
    }
}

/// One stream of a child.
struct Ear<P> {
    pipe: Option<P>,
    heard: Vec<u8>,
}

impl<P: Read + AsFd> Ear<P> {
    fn of(pipe: Option<P>) -> io::Result<Ear<P>> {
        if let Some(pipe) = &pipe {
            fcntl_setfl(pipe, fcntl_getfl(pipe)? | OFlags::NONBLOCK)?;
        }
        Ok(Ear {
            pipe,
            heard: Vec::new(),
        })
    }

    /// Takes what is there.
    fn listen(&mut self) -> Result<(), BriefError> {
        let mut chunk = [0; 4096];
        while let Some(pipe) = &mut self.pipe {
            match pipe.read(&mut chunk) {
                Ok(0) => self.pipe = None,
                Ok(read) => self.heard.extend_from_slice(&chunk[..read]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
            if self.heard.len() > ANSWER_MAX {
                return Err(BriefError::TooMuch(ANSWER_MAX));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_and_the_status_are_told() {
        let answer = ask(shell("echo out; echo err >&2; exit 3")).unwrap();
        assert_eq!(
            (
                answer.out.as_str(),
                answer.err.as_str(),
                answer.status.code()
            ),
            ("out\n", "err\n", Some(3))
        );
    }

    #[test]
    fn a_program_that_hangs_is_killed_and_its_children_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let error = ask_within(shell(&script), Duration::from_secs(2)).unwrap_err();
        assert!(matches!(error, BriefError::Late(_)), "{error}");
        let pid = std::fs::read_to_string(file).unwrap();
        gone(pid.trim());
    }

    #[test]
    fn endless_output_is_cut_off() {
        for script in ["yes", "yes >&2"] {
            let error = ask(shell(script)).unwrap_err();
            assert!(matches!(error, BriefError::TooMuch(_)), "{error}");
        }
    }

    #[test]
    fn a_process_that_keeps_the_pipes_open_is_not_waited_for() {
        let answer = ask(shell("sleep 600 & echo $!")).unwrap();
        gone(answer.out.trim());
    }

    /// A zombie whose reaper is slow is gone as well.
    fn gone(pid: &str) {
        let stat = format!("/proc/{pid}/stat");
        for _ in 0..5_000 {
            match std::fs::read_to_string(&stat) {
                Ok(stat) if !stat.contains(") Z") => std::thread::sleep(LOOK),
                _ => return,
            }
        }
        panic!("{pid} still runs");
    }
}
