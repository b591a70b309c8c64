//! The wall clock of a server leaps.
//!
//! Healing sets it right, as a time service would: for a leap forward that is a
//! leap back.

use serde_json::json;

use super::super::clock::ServerClock;
use super::super::topology::{Party, Topology};
use super::target::{Target, names, resolve};
use super::{Fault, Field, NemesisError, Struck};

/// Clocks are off.
#[derive(Clone, Debug)]
pub struct ClockJump {
    servers: Vec<Target>,
    ms: i64,
    struck: Vec<Party>,
}

impl ClockJump {
    /// The clocks of these servers leap by so many ms, forward or back.
    pub fn new(servers: &[Target], ms: i64) -> ClockJump {
        ClockJump {
            servers: servers.to_vec(),
            ms,
            struck: Vec::new(),
        }
    }
}

impl Fault for ClockJump {
    fn name(&self) -> &'static str {
        "clock-jump"
    }

    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            self.struck = resolve(&self.servers, field).await?;
            let ms = self.ms;
            set_clocks("clock-jump", &self.struck, field.topology, |clock| {
                clock.jump(ms)
            })
            .await?;
            Ok(json!({ "servers": names(&self.struck), "ms": ms }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            set_clocks(
                "clock-jump",
                &self.struck,
                field.topology,
                ServerClock::correct,
            )
            .await?;
            self.struck.clear();
            Ok(json!({}))
        })
    }
}

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
