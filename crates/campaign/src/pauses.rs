//! Lost updates against pause length: one scenario with pauses of several lengths.

use std::time::Duration;

use lockproof_lab::nemesis::FaultSpec;
use lockproof_scenario::{Range, Scenario, WorkloadKind};

use super::session::SessionError;

/// A fault is followed by at least so much quiet in runs of several lengths, in ms.
const QUIET_MS_MIN: u32 = 500;
/// How many lengths one command may ask for.
const LENGTHS_MAX: usize = 20;

/// One pause length.
#[derive(Clone, Copy, Debug)]
pub struct Pause {
    /// In leases, as it was asked for.
    pub leases: f64,
    /// In ms.
    pub ms: u32,
}

impl Pause {
    /// A pause of so many of the scenario's leases.
    pub fn of(leases: f64, scenario: &Scenario) -> Pause {
        Pause {
            leases,
            ms: (leases * scenario.clients.ttl_ms as f64).round() as u32,
        }
    }
}

/// The pause lengths in leases, shortest first, if the scenario can be run with several.
///
/// # Errors
/// [`SessionError::Refused`] if it cannot.
pub fn lengths(asked: &[f64], scenario: &Scenario) -> Result<Vec<f64>, SessionError> {
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let refuse = |why: String| Err(SessionError::Refused(why));
    let mut lengths = asked.to_vec();
    lengths.sort_by(f64::total_cmp);
    lengths.dedup();
    let possible = |leases: &f64| (0.01..=50.0).contains(leases);
    if lengths.len() > LENGTHS_MAX || !lengths.iter().all(possible) {
        return refuse(format!(
            "--pauses takes up to {LENGTHS_MAX} lengths of 0.01 to 50 leases, such as 0.5,1,1.5,2"
        ));
    }
    if scenario.workload.kind != WorkloadKind::GuardedSet {
        return refuse(format!(
            "--pauses counts lost updates, which only the guarded-set workload has; {} has {}",
            scenario.name,
            scenario.workload.kind.name()
        ));
    }
    let pause = |fault: &FaultSpec| ["client-pause", "server-pause"].contains(&fault.name());
    let own = scenario
        .expect
        .values()
        .filter_map(|one| one.nemesis.as_ref());
    let mut all = own.chain([&scenario.nemesis]);
    if !all.all(|nemesis| !nemesis.faults.is_empty() && nemesis.faults.iter().all(pause)) {
        return refuse(format!(
            "--pauses needs a scenario whose faults are client-pause or server-pause; {} has others",
            scenario.name
        ));
    }
    Ok(lengths)
}

/// The scenario with pauses of another length. A pause and the quiet before it
/// take as long together as the scenario's do on average, so that there are as
/// many pauses at each length, while there is room for some quiet.
pub(super) fn with_pause(
    scenario: &Scenario,
    pause: Pause,
    duration: Duration,
) -> Result<Scenario, SessionError> {
    let middle = |range: Range| (range.0 + range.1) / 2;
    let nemesis = &scenario.nemesis;
    let every_ms = middle(nemesis.quiet_ms) + middle(nemesis.fault_ms);
    let quiet_ms = every_ms.saturating_sub(pause.ms).max(QUIET_MS_MIN);
    if u128::from(quiet_ms + pause.ms) >= duration.as_millis() {
        return Err(SessionError::Refused(format!(
            "a pause of {} ms after {quiet_ms} ms of quiet does not fit into runs of {} s; raise --duration or shorten --pauses",
            pause.ms,
            duration.as_secs_f64()
        )));
    }
    let mut changed = scenario.clone();
    changed.nemesis.quiet_ms = Range(quiet_ms, quiet_ms);
    changed.nemesis.fault_ms = Range(pause.ms, pause.ms);
    Ok(changed)
}
