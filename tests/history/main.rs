//! Histories: how they are written and read, and what the oracles say of them.

#[path = "../support/history/mod.rs"]
mod history_support;

mod commands;
mod file;
mod keys;
mod open;
mod oracles;
mod owner_only;
mod porcupine;
mod readings;
mod refused;
mod repeats;
mod work;
