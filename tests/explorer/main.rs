//! The explorer on machines that know nothing of locks, beside slower searches.

#[path = "../support/explorer/mod.rs"]
mod explorer_support;

mod fair;
mod search;
mod stateright;
mod trouble;
