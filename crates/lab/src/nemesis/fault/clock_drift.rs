//! The wall clock of a server runs too fast or too slow.

use serde_json::json;

use super::clocks::{set_clocks, set_right};
use crate::nemesis::target::{Target, names, resolve};
use crate::nemesis::{Field, Injection, Struck};
use crate::topology::Party;

/// Clocks run at a wrong rate.
#[derive(Clone, Debug)]
pub struct ClockDrift {
    servers: Vec<Target>,
    rate_millionths: u32,
    struck: Vec<Party>,
}

impl ClockDrift {
    /// The clocks of these servers run at so many millionths of true speed.
    pub fn new(servers: &[Target], rate_millionths: u32) -> ClockDrift {
        ClockDrift {
            servers: servers.to_vec(),
            rate_millionths,
            struck: Vec::new(),
        }
    }
}

impl Injection for ClockDrift {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(async move {
            self.struck = resolve(&self.servers, field).await?;
            let rate = f64::from(self.rate_millionths) / 1e6;
            set_clocks("clock-drift", &self.struck, field.topology, |clock| {
                clock.rate(rate)
            })
            .await?;
            Ok(json!({ "servers": names(&self.struck), "rate": rate }))
        })
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(set_right("clock-drift", &mut self.struck, field.topology))
    }
}
