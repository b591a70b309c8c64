//! Systems on which the explorers are tested and measured.

pub mod graph;
pub mod grid;
pub mod redlock;
pub mod two_phase;
