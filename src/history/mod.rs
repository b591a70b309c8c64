//! Recorded operations (provisional).
mod event;
pub use event::{Event, Header, Kind, Process, SCHEMA, Writer};
