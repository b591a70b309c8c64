//! The world: clients x nodes x network x time x faults.
//!
//! A lock file becomes two small automata, a client's and a server's
//! ([`closure`], [`minimise`]), which become dense tables ([`tables`]). A
//! [`World`] puts several of each together with messages in flight, time and
//! faults; its states are a few machine words ([`layout`]) and its rules are in
//! [`rules`]. [`concrete`] turns a path through the world back into real
//! commands, tokens and times, and checks the tables against the live program
//! on the way.
//!
//! What a world allows with every switch off, and what each switch adds, is
//! told in docs/model.md.

pub mod catalogue;
pub mod client;
pub mod closure;
pub mod concrete;
mod config;
mod counts;
mod elsewhere;
pub mod execute;
pub mod fences;
mod interner;
pub mod layout;
mod log;
pub mod message;
pub mod minimise;
pub mod moves;
pub mod node;
pub mod owners;
pub mod packed;
mod pops;
pub mod program;
mod reached;
mod reading;
pub mod rules;
mod scripts;
mod spin;
mod stamps;
pub mod symbols;
mod system;
pub mod tables;
mod unmodelled;
mod wait;
pub mod walk;
mod watches;
#[allow(clippy::module_inception)]
mod world;

pub use config::*;
pub use reached::Reached;
pub use system::*;
pub use unmodelled::may_send;
pub use world::*;
