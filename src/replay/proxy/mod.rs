//! proxy

pub mod frame;
