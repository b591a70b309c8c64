//! How a link behaves while nobody gives orders.

use std::time::Duration;

use super::Direction;

/// How one direction of a link behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Way {
    pub hold: bool,
    pub delay: Duration,
    /// Plus or minus up to this.
    pub jitter: Duration,
    pub blackhole: bool,
    /// 0 is no limit.
    pub kb_per_s: u32,
    /// How late the sender's end of the connection arrives.
    pub slow_close: Duration,
    /// After so many bytes the connection ends.
    pub limit: Option<u64>,
}

impl Way {
    /// Nothing waits for a time.
    pub fn is_prompt(&self) -> bool {
        self.delay.is_zero() && self.jitter.is_zero() && self.kb_per_s == 0
    }
}

/// How a link behaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Settings {
    pub report: bool,
    pub to_server: Way,
    pub to_client: Way,
}

impl Settings {
    pub fn way(&mut self, direction: Direction) -> &mut Way {
        match direction {
            Direction::ToServer => &mut self.to_server,
            Direction::ToClient => &mut self.to_client,
        }
    }
}
