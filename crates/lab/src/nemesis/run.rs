//! Carrying out a schedule.
//!
//! Steps are done one after the other. Some take their time (a failover is over
//! when another is primary), so a step comes at its time or as soon after it as the
//! one before is done; what is told bears the true times. Between steps clients are
//! led after the primary, as a load balancer's health check would.
//!
//! Where a fault waits for a holder, everything after it is put off by as much, so
//! that it lasts as long as the schedule says; one for which there is no time left in
//! the run is left out.
//!
//! Whatever happens (an error, the end of the run, a stop from outside) everything
//! that was started is healed, the last first. Should the run itself be dropped in
//! the middle, its servers go with their topology and stopped clients go on when
//! their [`Clients`](super::Clients) go.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::time::{sleep, sleep_until};

use super::aim::{PATIENCE, When};
use super::schedule::{Act, Schedule, ScheduleStep};
use super::{Field, Injection, NemesisError};

/// How often the primary is looked for between steps.
const FOLLOW: Duration = Duration::from_millis(50);

/// Where a fault is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It is about to begin; from now on its effects may show.
    Starting,
    /// It is in force.
    Started,
    /// It is about to end.
    Healing,
    /// It is over.
    Healed,
    /// It could not be started or healed; the details say why.
    Failed,
    /// Clients were led to another primary; no fault of the schedule.
    Followed,
}

/// What happened, for the history.
#[derive(Clone, Debug, PartialEq)]
pub struct NemesisEvent {
    /// When, on the monotonic clock.
    pub at: Instant,
    /// Which fault of the schedule; `None` if it belongs to none.
    pub id: Option<u32>,
    /// Its catalogue name.
    pub fault: &'static str,
    /// What happened to it.
    pub phase: Phase,
    /// What it struck, and how.
    pub details: Value,
}

/// A run under way.
struct Player<'r, 'f, R> {
    field: &'r mut Field<'f>,
    recorder: R,
    open: BTreeMap<u32, (&'static str, Box<dyn Injection>)>,
    primary: Option<u16>,
}

impl Schedule {
    /// Does every step at its time, waits for the end of the run, and heals what
    /// is left. Gives the first error; the rest of the schedule is then left out.
    pub async fn run(
        &self,
        field: &mut Field<'_>,
        recorder: impl FnMut(NemesisEvent),
    ) -> Result<(), NemesisError> {
        self.run_until(field, recorder, std::future::pending())
            .await
    }

    /// The same, until `stop` resolves; a step that is being done is finished.
    pub async fn run_until(
        &self,
        field: &mut Field<'_>,
        recorder: impl FnMut(NemesisEvent),
        stop: impl Future<Output = ()>,
    ) -> Result<(), NemesisError> {
        let mut run = Player {
            field,
            recorder,
            open: BTreeMap::new(),
            primary: None,
        };
        let done = run.steps(self, stop).await;
        let healed = run.heal_all().await;
        done.and(healed)
    }
}

impl<R: FnMut(NemesisEvent)> Player<'_, '_, R> {
    async fn steps(
        &mut self,
        schedule: &Schedule,
        stop: impl Future<Output = ()>,
    ) -> Result<(), NemesisError> {
        let begun = tokio::time::Instant::now();
        let end = begun + Duration::from_millis(schedule.duration_ms);
        tokio::pin!(stop);
        for step in &schedule.steps {
            let due = begun + Duration::from_millis(step.at_ms) + self.field.aim.waited;
            let length = Duration::from_millis(schedule.length_ms(step.id));
            let whole = step.act == Act::Heal || due + length <= end;
            if !whole || (step.act == Act::Heal && !self.open.contains_key(&step.id)) {
                continue;
            }
            tokio::select! {
                () = &mut stop => return Ok(()),
                () = self.follow_until(due) => {}
            }
            self.field.aim.when = step.when;
            self.field.aim.latest = Some(end.checked_sub(length).unwrap_or(end));
            tokio::select! {
                () = &mut stop => return Ok(()),
                () = self.await_holder(step) => {}
            }
            self.step(step).await?;
        }
        tokio::select! {
            () = &mut stop => {}
            () = self.follow_until(end) => {}
        }
        Ok(())
    }

    /// Leads clients after the primary until this time.
    async fn follow_until(&mut self, due: tokio::time::Instant) {
        if self.field.topology.pointed(0).is_none() {
            return sleep_until(due).await;
        }
        while tokio::time::Instant::now() < due {
            // Nobody is primary during a failover; that is no error.
            if let Ok(primary) = self.field.topology.follow_primary().await
                && self.primary.replace(primary) != Some(primary)
            {
                let details = json!({ "primary": primary });
                self.tell(None, "primary", Phase::Followed, details);
            }
            let left = due.saturating_duration_since(tokio::time::Instant::now());
            sleep(FOLLOW.min(left)).await;
        }
    }

    async fn step(&mut self, step: &ScheduleStep) -> Result<(), NemesisError> {
        match step.act {
            Act::Start => {
                let mut fault = step.what.build();
                let name = step.what.name();
                let spec = serde_json::to_value(&step.what).unwrap_or_default();
                self.tell(Some(step.id), name, Phase::Starting, spec);
                let started = self.start(fault.as_mut()).await;
                // Kept also after an error: it may be in force in part.
                self.open.insert(step.id, (name, fault));
                self.tell_done(step.id, name, Phase::Started, started)
            }
            Act::Heal => self.heal(step.id).await,
        }
    }

    /// Waits for whom the fault is to strike, where it does not begin before. If nobody
    /// comes it begins all the same.
    async fn await_holder(&mut self, step: &ScheduleStep) {
        if step.act == Act::Heal {
            return;
        }
        let strikes_one = step.what.names_the_holder();
        let held = step.when == When::Held && !step.what.begins_before_its_holder();
        if !strikes_one && !held {
            return;
        }
        let after = match strikes_one {
            true => 0,
            false => self.field.clients.holds(),
        };
        if self.field.holder(after, PATIENCE).await.is_none() {
            self.field.aim.latest = Some(tokio::time::Instant::now());
        }
    }

    /// After a failover the servers may not be ready for another yet (no replica is
    /// in step, a Sentinel is busy): once more, a little later.
    async fn start(&mut self, fault: &mut dyn Injection) -> Result<Value, NemesisError> {
        let mut started = match fault.start(self.field).await {
            Err(error @ NemesisError::NobodyHeld) => Ok(json!({ "missed": error.to_string() })),
            started => started,
        };
        for _ in 0..TRIES {
            let Err(NemesisError::Topology(_) | NemesisError::Server(_)) = started else {
                break;
            };
            sleep(PAUSE).await;
            // What cannot be undone yet is undone at the end.
            let _ = fault.heal(self.field).await;
            started = fault.start(self.field).await;
        }
        started
    }

    async fn heal(&mut self, id: u32) -> Result<(), NemesisError> {
        let Some((name, mut fault)) = self.open.remove(&id) else {
            return Ok(());
        };
        self.tell(Some(id), name, Phase::Healing, json!({}));
        let mut healed = fault.heal(self.field).await;
        // During a failover of the servers' own nobody may be primary, or a dead
        // server may still be missed: once more, a little later.
        for _ in 0..TRIES {
            let Err(NemesisError::Topology(_) | NemesisError::Server(_)) = healed else {
                break;
            };
            sleep(PAUSE).await;
            healed = fault.heal(self.field).await;
        }
        self.tell_done(id, name, Phase::Healed, healed)
    }

    /// Heals what is in force, the last first.
    async fn heal_all(&mut self) -> Result<(), NemesisError> {
        let mut first = Ok(());
        let begun: Vec<u32> = self.open.keys().rev().copied().collect();
        for id in begun {
            let healed = self.heal(id).await;
            if first.is_ok() {
                first = healed;
            }
        }
        first
    }

    fn tell_done(
        &mut self,
        id: u32,
        name: &'static str,
        phase: Phase,
        done: Result<Value, NemesisError>,
    ) -> Result<(), NemesisError> {
        let (phase, details) = match &done {
            Ok(details) => (phase, details.clone()),
            Err(error) => (Phase::Failed, json!({ "error": error.to_string() })),
        };
        self.tell(Some(id), name, phase, details);
        done.map(drop)
    }

    fn tell(&mut self, id: Option<u32>, fault: &'static str, phase: Phase, details: Value) {
        (self.recorder)(NemesisEvent {
            at: Instant::now(),
            id,
            fault,
            phase,
            details,
        });
    }
}

/// How often starting and healing are tried again, and how long after.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(250);
