//! Two lock objects of each client: who may call what when clients try by themselves.
//!
//! Each part of a client is a worker process here. One thread of the client calls both, takes
//! the second while it holds the first, and gives them back in the reverse order.

use super::Stop;
use super::drive::{Trial, Tried};
use super::run::Replay;

impl Replay<'_> {
    /// The client's only thread is within an operation of its other object.
    pub(super) fn is_busy_elsewhere(&self, client: u8) -> Result<bool, Stop> {
        let Some(objects) = self.trace.setup.objects else {
            return Ok(false);
        };
        let phase = self.clients[usize::from(objects.partner(client))].phase();
        Ok(!matches!(phase, "idle" | "held" | "crashed"))
    }

    /// Those of `callers` who have all that they are after once they acquire.
    pub(super) fn have_all(&self, callers: &[u8]) -> Vec<u8> {
        let objects = self.trace.setup.objects;
        let last = |client: &u8| objects.is_none_or(|objects| objects.is_second(*client));
        callers.iter().copied().filter(last).collect()
    }

    /// Clients whose success does not count in a trial: without objects there are none.
    pub(super) fn besides(&self, trial: &Trial) -> Vec<u8> {
        let all = 0..self.trace.setup.clients;
        let none = self.trace.setup.objects.is_none();
        all.filter(|client| !none && !trial.goals.contains(client))
            .collect()
    }

    /// A holder releases all that it holds. Who has tried for its second object is done.
    pub(super) async fn give_all_back(
        &mut self,
        client: u8,
        tried: &mut Tried,
    ) -> Result<(), Stop> {
        let Some(objects) = self.trace.setup.objects else {
            return self.give_back(client, tried).await;
        };
        for first in (0..self.trace.setup.clients).step_by(2) {
            if client != first + 1 {
                self.give_back(objects.partner(first), tried).await?;
                self.give_back(first, tried).await?;
            }
        }
        Ok(())
    }

    /// The client can call acquire.
    pub(super) fn is_its_turn(&mut self, client: u8, trial: &Trial) -> Result<bool, Stop> {
        let idle = self.state(client)?.phase() == "idle" && !self.is_busy_elsewhere(client)?;
        let Some(objects) = self.trace.setup.objects.filter(|_| trial.release_first) else {
            return Ok(idle);
        };
        let other = objects.partner(client);
        let holds = self.state(other)?.phase() == "held";
        Ok(idle && (!objects.is_second(client) || holds))
    }
}
