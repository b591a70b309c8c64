//! Explorers, liveness sweeps, verdicts.

mod result;
pub use result::*;
