//! Explorers, liveness sweeps, verdicts.

mod result;
mod run;
pub use result::*;
pub use run::*;
