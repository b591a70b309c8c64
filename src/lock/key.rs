//! Writes a [`Snapshot`] as bytes that are equal exactly for equal local states.
//!
//! Times are written relative to the client's present and clamped at the
//! horizon; tables with sorted keys; tables and variables that are met again as
//! the number of their first meeting, so that sharing is part of the state.

use super::snapshot::{Snapshot, Val};

/// Writes one snapshot.
pub(crate) struct Encoder<'a> {
    snapshot: &'a Snapshot,
    clock_ms: i64,
    horizon_ms: i64,
    canon: &'a dyn Fn(&[u8]) -> Vec<u8>,
    /// Numbers by first meeting, 0 for not met.
    tables: Vec<u32>,
    cells: Vec<u32>,
    met: u32,
    pub out: Vec<u8>,
}

impl<'a> Encoder<'a> {
    pub fn new(
        snapshot: &'a Snapshot,
        clock_ms: i64,
        horizon_ms: i64,
        canon: &'a dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Self {
        Encoder {
            snapshot,
            clock_ms,
            horizon_ms,
            canon,
            tables: vec![0; snapshot.tables.len()],
            cells: vec![0; snapshot.cells.len()],
            met: 0,
            out: Vec::with_capacity(256),
        }
    }

    /// A number of the driver's own, such as a phase or a timer.
    pub fn int(&mut self, number: i64) {
        self.out.extend_from_slice(&number.to_le_bytes());
    }

    pub fn text(&mut self, text: &[u8]) {
        let renamed = (self.canon)(text);
        self.int(renamed.len() as i64);
        self.out.extend_from_slice(&renamed);
    }

    /// The frames of the `index`-th thread of the snapshot.
    pub fn thread(&mut self, index: usize) {
        let frames = &self.snapshot.threads[index];
        self.int(frames.len() as i64);
        for frame in frames {
            self.int(i64::from(frame.defined));
            self.int(i64::from(frame.line));
            self.int(frame.slots.len() as i64);
            for slot in &frame.slots {
                match slot.cell {
                    Some(cell) => self.cell(cell),
                    None => self.value(slot.value),
                }
            }
        }
    }

    pub fn value(&mut self, value: Val) {
        match value {
            Val::Nil => self.out.push(0),
            Val::Bool(false) => self.out.push(1),
            Val::Bool(true) => self.out.push(2),
            Val::Number(number) => {
                self.out.push(3);
                self.out.extend_from_slice(&number.to_le_bytes());
            }
            Val::Text(start, length) => {
                let snapshot = self.snapshot;
                self.out.push(4);
                self.text(&snapshot.bytes[start..start + length]);
            }
            Val::Time(ms) => {
                let relative = ms as i64 - self.clock_ms;
                self.out.push(5);
                self.int(relative.clamp(-self.horizon_ms, self.horizon_ms));
            }
            Val::Table(id) => self.table(id),
            Val::Function(id) => {
                let function = &self.snapshot.functions[id];
                self.out.push(7);
                self.int(i64::from(function.line));
                for cell in &function.cells {
                    self.cell(*cell);
                }
            }
            Val::Word(parts) => {
                self.out.push(8);
                for part in parts {
                    self.out.extend_from_slice(&part.to_le_bytes());
                }
            }
            Val::Known(id) => {
                self.out.push(9);
                self.int(i64::from(id));
            }
        }
    }

    fn cell(&mut self, id: usize) {
        if self.cells[id] != 0 {
            self.out.push(10);
            return self.int(i64::from(self.cells[id]));
        }
        self.met += 1;
        self.cells[id] = self.met;
        self.out.push(11);
        self.value(self.snapshot.cells[id].value);
    }

    fn table(&mut self, id: usize) {
        if self.tables[id] != 0 {
            self.out.push(12);
            return self.int(i64::from(self.tables[id]));
        }
        self.met += 1;
        self.tables[id] = self.met;
        self.out.push(13);
        let snapshot = self.snapshot;
        let entries = &snapshot.tables[id];
        self.int(entries.len() as i64);
        // Sorted after renaming: tokens as keys must not show in the order.
        let mut order: Vec<(Vec<u8>, usize)> = Vec::with_capacity(entries.len());
        for (index, (key, _)) in entries.iter().enumerate() {
            let rest = std::mem::take(&mut self.out);
            self.value(*key);
            order.push((std::mem::replace(&mut self.out, rest), index));
        }
        order.sort();
        for (key, index) in order {
            self.out.extend_from_slice(&key);
            self.value(entries[index].1);
        }
    }
}

/// A value as a person would write it; tables are cut after some entries.
pub(crate) fn display(snapshot: &Snapshot, value: Val, clock_ms: i64) -> String {
    match value {
        Val::Nil => "nil".to_string(),
        Val::Bool(flag) => flag.to_string(),
        Val::Number(number) => number.to_string(),
        Val::Text(start, length) => {
            let text = String::from_utf8_lossy(&snapshot.bytes[start..start + length]);
            format!("{text:?}")
        }
        Val::Time(ms) => match ms as i64 - clock_ms {
            0 => "now()".to_string(),
            later @ 1.. => format!("now() + {later}"),
            earlier => format!("now() - {}", -earlier),
        },
        Val::Table(id) => {
            let entries = &snapshot.tables[id];
            let mut parts: Vec<String> = entries
                .iter()
                .map(|(key, value)| {
                    let key = display(snapshot, *key, clock_ms);
                    format!("[{key}] = {}", display(snapshot, *value, clock_ms))
                })
                .collect();
            parts.sort();
            if parts.len() > 8 {
                let more = parts.len() - 8;
                parts.truncate(8);
                parts.push(format!("and {more} more"));
            }
            format!("{{{}}}", parts.join(", "))
        }
        Val::Function(_) | Val::Word(_) | Val::Known(_) => "a function".to_string(),
    }
}
