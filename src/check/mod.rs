//! Explorers, liveness sweeps, verdicts.

mod explore;
mod result;
pub use explore::*;
pub use result::*;
