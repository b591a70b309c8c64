//! report

pub mod diagram;
