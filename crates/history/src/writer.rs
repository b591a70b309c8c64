//! Writing a history: each event is one whole line, on its way to the file
//! before `append` returns.
//!
//! A buffer would be faster and would lose the last events of a killed run,
//! which are the ones that matter. A batch of lines in one write was rejected
//! for the same reason.

use std::io::{self, Write};

use serde::Serialize;

use super::{Event, Header};

/// Writes a history.
pub struct Writer<W: Write> {
    to: W,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a history with its header. The schema in the header is written as
    /// it stands; it should be [`super::SCHEMA`].
    ///
    /// # Errors
    /// What the destination says (a full disk, a closed pipe).
    pub fn create(to: W, header: &Header) -> io::Result<Self> {
        let line = Vec::new();
        let mut writer = Writer { to, line };
        writer.put(header)?;
        Ok(writer)
    }

    /// Adds one event: a whole line in one write, then a flush.
    ///
    /// # Errors
    /// What the destination says. A part of the line may then stand in the file;
    /// a reader takes it for a torn last line.
    pub fn append(&mut self, event: &Event) -> io::Result<()> {
        self.put(event)
    }

    fn put(&mut self, what: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, what)?;
        self.line.push(b'\n');
        self.to.write_all(&self.line)?;
        self.to.flush()
    }
}
