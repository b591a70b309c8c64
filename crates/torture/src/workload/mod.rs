//! What is done under the lock.
//!
//! Each workload reads, works, and writes what follows from the read, in
//! separate commands. If the lock lets two in, something is lost or done twice,
//! and the workload's own oracle sees it in the history.

mod coupon;
mod guarded_set;
mod hold;
mod lottery;

use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use super::actor::ActorError;
use super::store::Store;
use lockproof_scenario::{Range, WorkloadKind};

pub use coupon::STOCK;
pub use guarded_set::ELEMENTS;
pub use hold::COUNTER;

/// What a workload works with.
pub trait Bench {
    /// The guarded resource.
    fn store(&mut self) -> &mut Store;
    /// Writes down that an operation begins.
    fn invoke(&mut self, f: &str, value: Value);
    /// Writes down that it succeeded.
    fn ok(&mut self, f: &str, value: Value);
    /// Writes down that it was refused.
    fn fail(&mut self, f: &str, error: &str);
    /// Rests for as long as the work takes, with an inner hold if there is to be one.
    fn work(&mut self) -> Pin<Box<dyn Future<Output = Result<(), ActorError>> + '_>>;
    /// Draws a number below `bound`.
    fn draw(&mut self, bound: u64) -> u64;
    /// A number that no other client and no other call gives.
    fn unique(&mut self) -> u64;
    /// Which round of the lottery it is, on the clock that all clients share.
    fn round(&self) -> u64;
}

/// Does the workload's work once, under the lock.
pub async fn once(kind: WorkloadKind, bench: &mut dyn Bench) -> Result<(), ActorError> {
    match kind {
        WorkloadKind::Hold => hold::once(bench).await,
        WorkloadKind::Coupon => coupon::once(bench).await,
        WorkloadKind::Lottery => lottery::once(bench).await,
        WorkloadKind::GuardedSet => guarded_set::once(bench).await,
    }
}

/// A length of time from `range` in ms, by a number below 2^32.
pub fn length_ms(range: Range, drawn: u64) -> u64 {
    let span = u64::from(range.1 - range.0) + 1;
    u64::from(range.0) + drawn % span
}
