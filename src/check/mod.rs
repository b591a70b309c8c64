//! Explorers, liveness sweeps, verdicts.

mod explore;
mod result;
mod run;
mod simulate;
pub mod stateright;
pub use explore::*;
pub use result::*;
pub use run::*;
pub use simulate::*;
