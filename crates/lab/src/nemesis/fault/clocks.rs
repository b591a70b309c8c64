//! What faults of servers' clocks have in common.

use serde_json::{Value, json};

use crate::clock::ServerClock;
use crate::nemesis::NemesisError;
use crate::topology::{Party, Topology};

/// Changes clocks, and waits until their servers show it.
pub(super) async fn set_clocks(
    fault: &'static str,
    parties: &[Party],
    topology: &Topology,
    change: impl Fn(&ServerClock),
) -> Result<(), NemesisError> {
    for party in parties {
        let server = topology.server(*party)?;
        let clock = server.clock().ok_or_else(|| NemesisError::NotApplicable {
            fault,
            why: format!("{party} has no clock of its own; start the topology with clocks"),
        })?;
        change(clock);
        // One that is dead or stopped shows it later.
        if topology.ask(*party, &["PING"]).await.is_some() {
            server.sync_clock().await?;
        }
    }
    Ok(())
}

/// Sets struck clocks right, as a time service would.
pub(super) async fn set_right(
    fault: &'static str,
    struck: &mut Vec<Party>,
    topology: &Topology,
) -> Result<Value, NemesisError> {
    set_clocks(fault, struck, topology, ServerClock::correct).await?;
    struck.clear();
    Ok(json!({}))
}
