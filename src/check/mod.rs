//! Explorers, liveness sweeps, verdicts.

mod explore;
mod result;
mod run;
mod simulate;
mod sizes;
pub mod stateright;
pub use explore::*;
pub use result::*;
pub use run::*;
pub use simulate::*;
pub use sizes::*;
