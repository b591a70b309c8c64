//! The real side: servers, proxies, client processes, the gate.

pub mod binaries;
pub mod brief;
pub mod client;
pub mod clock;
pub mod gate;
pub mod monotonic;
pub mod nemesis;
pub mod notes;
pub mod own_network;
pub mod process;
pub mod protocol;
pub mod proxy;
mod replies;
pub mod scratch;
pub mod server;
pub mod server_admin;
mod server_disk;
mod server_options;
mod server_port;
pub mod stoppable;
pub mod topology;
pub mod worker;
