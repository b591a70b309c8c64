//! The lab: real servers with their clocks, proxies, topologies, the nemesis and client
//! processes, for gated replays and free runs alike.

pub mod binaries;
pub mod client;
pub mod clock;
pub mod monotonic;
pub mod nemesis;
pub mod own_network;
pub mod process;
pub mod proxy;
pub mod replies;
pub mod scratch;
pub mod server;
pub mod stoppable;
pub mod topology;
