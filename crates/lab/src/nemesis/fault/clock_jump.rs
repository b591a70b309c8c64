//! The wall clock of a server leaps.
//!
//! Healing sets it right, as a time service would: for a leap forward that is a
//! leap back.

use serde_json::json;

use super::clocks::{set_clocks, set_right};
use crate::nemesis::target::{Target, names, resolve};
use crate::nemesis::{Field, Injection, Struck};
use crate::topology::Party;

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

impl Injection for ClockJump {
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
        Box::pin(set_right("clock-jump", &mut self.struck, field.topology))
    }
}
