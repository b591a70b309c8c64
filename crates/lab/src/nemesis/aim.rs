//! Aiming: whom and when to strike, learnt from the run itself.
//!
//! Most moments of a run are harmless: nobody is hurt by a pause of a client that
//! was told "busy" a moment ago. A schedule is made before the run and cannot know
//! better, so a free run that draws its victims misses what it is for. Two things of
//! a schedule stay words until the fault strikes: the target `the-holder`, and the
//! moment [`When::Held`]. Whom that turns out to be, the history tells.
//!
//! Rejected: to draw the schedule while the run goes on. Then one seed would no
//! longer be one schedule. As it is, only who and when within a patience are the
//! run's; which fault, in which order, and for how long are the seed's.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use super::{Clients, Field, NemesisError};

/// For so long a holder is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How often is looked.
const LOOK: Duration = Duration::from_millis(1);
/// What a client said before it was stopped has arrived after this long.
const SETTLE: Duration = Duration::from_millis(8);

/// When a fault strikes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// At the time that the schedule says.
    #[default]
    AnyTime,
    /// Then, or as soon after it as a client has begun to work under the lock. What
    /// takes back the last writes begins when a holder is about to leave, and strikes
    /// when the next one has acquired.
    Held,
}

impl When {
    /// True for what a schedule need not say.
    pub(super) fn is_any_time(&self) -> bool {
        *self == When::AnyTime
    }
}

/// A client at work under the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holding {
    /// Which hold of the run it is, counted from 1 in the order of acquires.
    pub hold: u64,
    /// Whose.
    pub client: u16,
}

/// What a fault may wait for, and how long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aim {
    /// The moment that the schedule asks for.
    pub when: When,
    /// The latest moment to strike; `None` for one patience from now.
    pub latest: Option<Instant>,
    /// How long has been waited so far.
    pub waited: Duration,
}

impl Field<'_> {
    /// Waits until a client works under the lock whose hold came after so many others;
    /// `None` if nobody does within `patience`, or before it is too late to strike.
    pub(super) async fn holder(&mut self, after: u64, patience: Duration) -> Option<Holding> {
        self.look(patience, |clients| {
            let holders = clients.holders().into_iter();
            holders.filter(|found| found.hold > after).max()
        })
        .await
    }

    /// Waits until a client that works under the lock is done and about to leave;
    /// false if nobody is in time.
    pub(super) async fn leaving(&mut self, patience: Duration) -> bool {
        let mut before: Vec<Holding> = Vec::new();
        let left = self.look(patience, |clients| {
            let now = clients.holders();
            let left = before.iter().any(|holding| !now.contains(holding));
            before = now;
            left.then_some(())
        });
        left.await.is_some()
    }

    /// Looks until there is an answer, patience is over, or it is too late to strike.
    async fn look<T>(
        &mut self,
        patience: Duration,
        mut answer: impl FnMut(&dyn Clients) -> Option<T> + Send,
    ) -> Option<T> {
        let begun = Instant::now();
        let patient = begun + patience.min(PATIENCE);
        let latest = self.aim.latest.unwrap_or(patient);
        let found = loop {
            let found = answer(self.clients);
            if found.is_some() || Instant::now() >= latest.min(patient) {
                break found;
            }
            drop(found);
            sleep(LOOK).await;
        };
        self.aim.waited += begun.elapsed();
        found
    }

    /// Stops a client that works under the lock: it stands still there. Whoever had
    /// left before the signal came goes on after a few ms, and the next is tried.
    /// `struck` has the client also after an error.
    pub(super) async fn stop_holder(&mut self, struck: &mut Vec<u16>) -> Result<(), NemesisError> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            let left = give_up.saturating_duration_since(Instant::now());
            let Some(found) = self.holder(0, left).await else {
                return Err(NemesisError::NobodyHeld);
            };
            if struck.contains(&found.client) {
                return Ok(());
            }
            struck.push(found.client);
            let stopped = self.clients.pause(found.client);
            stopped.map_err(super::strike_clients::failed("pause", found.client))?;
            sleep(SETTLE).await;
            if self.clients.holders().contains(&found) {
                return Ok(());
            }
            let resumed = self.clients.resume(found.client);
            resumed.map_err(super::strike_clients::failed("resume", found.client))?;
            struck.pop();
        }
    }
}
