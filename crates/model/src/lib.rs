//! The formal side: a lock file as a client program, the world that it runs in, and the
//! search for what it does wrong there.
//!
//! | module | what it is |
//! |---|---|
//! | [`lock`] | a lock file: load, sandbox, run as a client program |
//! | [`world`] | clients x nodes x network x time x faults (**start here**) |
//! | [`check`] | explorers, liveness sweeps, verdicts |

pub mod check;
pub mod lock;
pub mod world;
