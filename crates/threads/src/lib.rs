//! Races between the threads of one client.
//!
//! The model of `lockproof check` has clients that do one thing at a time. Real clients have
//! threads: callers that share a handle, a watchdog, counters, a flag. This crate has such
//! handles in Rust on loom's types, and explores every interleaving of their threads.
//!
//! | module | what it is |
//! |---|---|
//! | [`handles`] | start here: which handles there are, their variants and guards |
//! | `scene` | what the threads do with a handle |
//! | [`claims`] | what is claimed, and the judge of one execution |
//! | [`explore`](mod@explore) | loom, its limits, and what comes of it |
//! | [`story`](mod@story) | an execution in words |
//! | `world` | a server of two keys, time, timers, and the record |
//!
//! loom's types are used without `--cfg loom`: that flag is for programs that run with the
//! standard library's types and are tested with loom's, and these handles run nowhere else.
//! The server is two keys with an owner, a count and a lease in ticks, and each command is
//! one step of it. Faults, messages in flight and several servers are left to `check`.

pub mod claims;
mod event;
pub mod explore;
pub mod handles;
#[cfg(test)]
mod independent;
mod scene;
pub mod story;
mod threadlocal;
mod watchdog;
mod world;

pub use claims::{Claim, ClaimInfo};
pub use explore::{Answer, Found, Limits, Verdict, explore};
pub use handles::{Guard, HANDLES, HandleInfo, Variant, handle};
pub use scene::Scene;
pub use story::{Story, story};
