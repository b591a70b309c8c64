//! The world: clients x nodes x network x time x faults.

mod system;
pub use system::*;
