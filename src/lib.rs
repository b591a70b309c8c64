//! lockproof proves or breaks distributed locks built on Redis.
//!
//! A lock is written once, as a Lua file with its Redis scripts. The same text
//! is explored in a formal model and replayed on real redis-servers; a verdict
//! counts only when both sides agree.
//!
//! | module | what it is |
//! |---|---|
//! | [`lock`] | a lock file: load, sandbox, run as a client program |
//! | [`redis`] | the formal Redis server: no sockets, no clock |
//! | [`world`] | clients x nodes x network x time x faults (**start here**) |
//! | [`check`] | explorers, liveness sweeps, verdicts |
//! | [`trace`] | counterexamples: the file format that joins both sides |
//! | [`lab`] | real servers, clocks, proxies, topologies, the nemesis, client processes |
//! | [`worker`] | the client process that runs a lock file on real servers |
//! | [`replay`] | the gate: a trace, step by step on real servers |
//! | [`history`] | what a free run did, line by line, and the oracles that judge it |
//! | [`scenario`] | scenario files: one story for model, gate and free runs |
//! | [`torture`] | free runs: working clients under a seeded nemesis |
//! | [`campaign`] | a matrix of checks and replays, into one report |
//! | [`report`] | one result model and its renderings |
//! | [`cli`] | one file a subcommand; nothing below it knows clap |
//!
//! Dependencies point down this list's rows only where ARCHITECTURE.md says so.

pub use lockproof_history as history;
pub use lockproof_lab as lab;
pub use lockproof_lua as lua;
pub use lockproof_model::{check, lock, world};
pub use lockproof_redis as redis;
pub use lockproof_trace as trace;

pub mod campaign;
pub mod cli;
pub mod replay;
pub mod report;
pub mod scenario;
mod shell;
pub mod torture;
pub mod worker;
