//! The rules of the world and the verdicts that come of them.

#[path = "../support/world/mod.rs"]
mod world_support;

mod about;
mod by_need;
mod cluster;
mod counts;
mod guard;
mod hand_coded;
mod merges;
mod objects;
mod order;
mod planted;
mod rules;
mod servers;
mod stateright;
mod telling;
mod trace_length;
