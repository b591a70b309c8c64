//! Lock files: the language, its bounds, and the locks that are built in.

#[path = "../support/lock.rs"]
mod lock_support;

mod about;
mod cancel;
mod guide;
mod holders;
mod key;
mod models;
mod redisson;
mod sandbox;
mod threads;
