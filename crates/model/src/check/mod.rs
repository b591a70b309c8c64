//! Explorers, liveness sweeps, verdicts.

mod attempts;
mod cluster;
mod endless;
mod explore;
pub mod frontier;
mod guard;
mod memo;
mod needs;
mod result;
mod run;
mod search;
mod seen;
mod simulate;
mod sizes;
pub mod stateright;
mod ticks;
mod units;
pub use explore::*;
pub use guard::*;
pub use memo::*;
pub use result::*;
pub use run::*;
pub use simulate::*;
pub use sizes::*;
pub use ticks::Chosen;
