//! replay

pub mod binaries;
pub mod clock;
pub mod proxy;
pub mod server;
mod server_admin;
mod server_disk;
mod server_options;
mod server_port;
pub mod server_process;
