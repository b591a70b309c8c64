//! Systems on which the explorers are tested and measured.

#![allow(dead_code)] // Each test file uses some of them.

pub mod graph;
pub mod grid;
pub mod redlock;
pub mod two_phase;
