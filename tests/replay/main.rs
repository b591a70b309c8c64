//! Traces on real servers, gated; the pool of workers, and the protocol of adapters.

#[path = "../support/gate.rs"]
mod gate_support;
#[allow(dead_code)] // The tests of that name use the rest.
#[path = "../support/world/mod.rs"]
mod world_support;

mod adapter_faults;
mod adapter_protocol;
mod cancel;
mod failover;
mod fences;
mod gate;
mod holders;
mod kinds;
mod listeners;
mod min_replicas;
mod objects;
mod outages;
mod pool;
mod properties;
mod scripts;
mod telling;
mod transactions;
mod wait;
mod worker;
