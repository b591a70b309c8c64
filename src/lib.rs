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
//! ```no_run
//! use lockproof::check::{CheckOptions, Checker};
//! use lockproof::lab::binaries::{find_default, server_directories};
//! use lockproof::lab::clock::Library;
//! use lockproof::lock::LockFile;
//! use lockproof::replay::{GateOptions, replay};
//! use lockproof::world::catalogue::Fault;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let file = LockFile::load("my-lock.lua".as_ref())?;
//! let options = CheckOptions::for_file(&file);
//! let set = vec![Fault::ClientPause.switch(options.sizes.ttl_ticks)];
//! let report = Checker::new(&file, options)?.check(&[set], &())?;
//! // The gate's client processes are lockproof's own program.
//! let server = find_default(&server_directories())?;
//! let gate = GateOptions::new("/usr/bin/lockproof".into(), server, Library::built_in()?);
//! for trace in report.results.iter().filter_map(|cell| cell.trace.as_ref()) {
//!     println!("{}", replay(trace, &file.path, &gate).await.verdict);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! The first of them are crates of their own (`lockproof-redis`, `lockproof-history` ..),
//! shown here under short names. ARCHITECTURE.md says who may use whom.

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
