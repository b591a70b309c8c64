//! The power fails: what no fsync had carried to the disk is gone.
//!
//! The length of the append-only file is noted, writes go on for a while, the
//! server is killed and the file cut to that length. With `appendfsync everysec` as
//! much as a second of writes is lost that way; with `always` none may be, so
//! nothing is cut; without persistence everything is lost by the kill alone.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use super::felled::Felled;
use crate::nemesis::aim::{PATIENCE, When};
use crate::nemesis::target::{Target, names, resolve};
use crate::nemesis::{Field, Injection, Struck};
use crate::server::Persistence;
use crate::topology::Party;

/// Servers lose power until healed.
#[derive(Clone, Debug)]
pub struct PowerLoss {
    servers: Vec<Target>,
    lost_ms: u32,
    struck: Vec<Party>,
}

impl PowerLoss {
    /// These servers lose what they wrote in the last `lost_ms` ms.
    pub fn new(servers: &[Target], lost_ms: u32) -> PowerLoss {
        PowerLoss {
            servers: servers.to_vec(),
            lost_ms,
            struck: Vec::new(),
        }
    }
}

impl Injection for PowerLoss {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let parties = resolve(&self.servers, field).await?;
            let held = field.aim.when == When::Held;
            if held {
                field.leaving(PATIENCE).await;
            }
            let before = field.clients.holds();
            let mut synced = Vec::new();
            for party in &parties {
                synced.push(field.topology.server(*party)?.aof_len()?);
            }
            let lost = Duration::from_millis(self.lost_ms.into());
            match held {
                false => sleep(lost).await,
                // Whoever acquires now loses it with the power; if nobody does, what
                // others wrote is lost.
                true => drop(field.holder(before, lost).await),
            }
            let everysec = field.topology.options().persistence == Persistence::Everysec;
            let mut lost = Vec::new();
            for (party, kept) in parties.into_iter().zip(synced) {
                self.struck.push(party);
                field.topology.kill_server(party)?;
                let server = field.topology.server(party)?;
                let written = server.aof_len()?;
                if everysec {
                    server.truncate_aof_to(kept)?;
                }
                lost.push(if everysec {
                    written.saturating_sub(kept)
                } else {
                    0
                });
            }
            Ok(json!({ "servers": names(&self.struck), "lost_bytes": lost }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            let felled = Felled::Killed;
            felled.raise_all(&mut self.struck, field.topology).await
        })
    }
}
