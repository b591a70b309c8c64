//! The real side: servers, proxies, client processes, the gate.

pub mod client;
pub mod protocol;
