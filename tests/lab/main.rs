//! Real servers, proxies, topologies and the nemesis.

#[path = "../support/lab/mod.rs"]
mod support;

mod nemesis;
mod nemesis_aim;
mod nemesis_schedule;
mod proxies;
mod proxy_conformance;
mod redis_wait;
mod servers;
mod topology;
