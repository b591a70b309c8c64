//! How large the world of a check is.

use std::collections::BTreeMap;

use super::CheckError;
use crate::lock::LockFile;

/// Sizes and times of a check.
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    /// Competing clients, 1 to 4.
    pub clients: u8,
    /// Independent servers, 1 to 7.
    pub nodes: u8,
    /// The lease in ticks, 1 to 60.
    pub ttl_ticks: u8,
    /// Milliseconds that the lock file sees for a tick, at least 10.
    pub tick_ms: i64,
    /// Default time-out of a command in ticks. Without one a tick; under faults that
    /// hold messages up a tick more than the lease, if they hold them up for so long.
    pub timeout_ticks: Option<u8>,
    /// Values for the file's declared parameters.
    pub params: BTreeMap<String, f64>,
}

impl Sizes {
    /// Clients, if nobody says how many.
    pub const CLIENTS: u8 = 2;
    /// The lease in ticks, if nobody says how long.
    pub const TTL_TICKS: u8 = 3;

    /// Two clients, a lease of three ticks of a second.
    pub fn for_file(file: &LockFile) -> Sizes {
        Sizes {
            clients: Self::CLIENTS,
            nodes: file.nodes.default,
            ttl_ticks: Self::TTL_TICKS,
            tick_ms: 1000,
            timeout_ticks: None,
            params: file.checked_params.clone(),
        }
    }

    /// What a tick adds to every clock: one ms more than the lock file's unit,
    /// so that a deadline n units ahead has passed n ticks later.
    pub fn step_ms(&self) -> i64 {
        self.tick_ms + 1
    }

    /// Refuses sizes that no world can have.
    pub(super) fn validate(&self, file: &LockFile) -> Result<(), CheckError> {
        let range = |what: &str, value: i64, least: i64, most: i64| {
            if (least..=most).contains(&value) {
                return Ok(());
            }
            let text = format!("{what} is {value}; it must be from {least} to {most}");
            Err(CheckError::Sizes(text))
        };
        let most = crate::world::CLIENTS_MAX as i64;
        match file.objects.two {
            true => {
                let what = "the number of clients with two lock objects";
                range(what, self.clients.into(), 1, most / 2)?;
            }
            false => range("the number of clients", self.clients.into(), 1, most)?,
        }
        let most = crate::world::NODES_MAX as i64;
        range("the number of nodes", self.nodes.into(), 1, most)?;
        let nodes = file.nodes;
        let what = format!("the number of nodes for {}", file.name);
        range(&what, self.nodes.into(), nodes.min.into(), nodes.max.into())?;
        range("the TTL in ticks", self.ttl_ticks.into(), 1, 60)?;
        range("the tick in ms", self.tick_ms, 10, 3_600_000)?;
        let timeout = self.timeout_ticks.unwrap_or(1);
        range("the time-out in ticks", timeout.into(), 1, 120)?;
        let ticks = file.told_within.unwrap_or(0.0) * f64::from(self.ttl_ticks);
        if (ticks - ticks.round()).abs() < 1e-6 {
            return Ok(());
        }
        Err(CheckError::Sizes(format!(
            "{}: `told_within` is {ticks:.3} ticks of a lease of {}; it must be a whole number of ticks: \
             choose another lease with --ttl-ticks",
            file.path, self.ttl_ticks
        )))
    }
}
