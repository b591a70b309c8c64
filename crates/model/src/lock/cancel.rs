//! The caller interrupts an operation: `Thread.interrupt`, a cancelled task, the end of a
//! context's deadline.
//!
//! An operation can be interrupted wherever it waits: for a reply, in `sleep`, in `wait`. What
//! it had asked for stays on its way. It then ends as failed. A file with `cancelled(lock)`
//! cleans up first after an acquire: that function takes the place of the acquire in the
//! caller's thread, and may wait like any other. It is ready at once, and does not run at
//! once: an interrupt only unblocks a thread, which runs when its turn comes. So a process
//! may stop between the two.

use lockproof_lua::Thread as Stack;
use lockproof_trace::Outcome;

use super::error::LockError;
use super::program::{Program, Wait, Worker};
use super::run::not_now;
use super::transactions::Watching;
use super::types::{Input, Output, Phase};

/// The function of a lock file that cleans up after an acquire that was cancelled.
pub(super) const CLEAN_UP: &str = "cancelled";

/// Why an operation failed that was cancelled.
pub(super) fn failed() -> Outcome {
    Outcome::Failed {
        reason: "cancelled".to_owned(),
    }
}

impl Program {
    /// The caller interrupts what runs. A clean-up that is interrupted ends there.
    pub(super) fn cancel(&mut self, input: &Input, output: &mut Output) -> Result<(), LockError> {
        let Some(worker) = &self.client.workers[0] else {
            return Err(not_now(input, "no operation runs"));
        };
        output.line = worker.line;
        match worker.wait {
            Wait::Reply { .. } | Wait::TimedOut { .. } => output.abandoned.push(0),
            Wait::Sleep { .. } | Wait::Ready | Wait::Message { .. } => {}
            Wait::Choice { .. } | Wait::Open { .. } => {
                return Err(not_now(input, "the operation does not wait"));
            }
        }
        // What the operation had watched is not its clean-up's.
        self.client.watching = Watching::default();
        let again = std::mem::replace(&mut self.client.cancelled, true);
        let cleans = self.client.phase == Phase::Acquiring && !again;
        let Some(function) = self.shared.clean_up.clone().filter(|_| cleans) else {
            return self.end_operation(failed(), None, output);
        };
        let line = self.machine.line_of(&function);
        self.client.workers[0] = Some(Worker {
            line,
            ..Worker::of_caller(Stack::new(function, vec![self.shared.lock.clone()]))
        });
        Ok(())
    }
}
