//! Faults as bands: from the nemesis' word that one begins to its word that it
//! is healed.

use std::collections::BTreeMap;

use serde_json::Value;

use super::FAULTS_MAX;
use crate::{Event, Process};

/// The longest text that says whom a fault struck, in characters.
const TARGET_MAX: usize = 120;

/// A fault while it was in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultBand {
    /// When it began to be put in force, in ns.
    pub from: u64,
    /// When it was healed, or the history's end, in ns.
    pub to: u64,
    /// False if the history ends before it was healed.
    pub healed: bool,
    /// Its catalogue name.
    pub name: String,
    /// Whom it struck, as the nemesis says; may be empty.
    pub target: String,
}

/// A fault in force: the nemesis' number for it, or its name.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Number(u64),
    Name(String),
}

/// Pairs beginnings with ends.
#[derive(Default)]
pub(super) struct Faults {
    bands: Vec<FaultBand>,
    open: BTreeMap<Key, usize>,
    hidden: u64,
}

impl Faults {
    pub(super) fn see(&mut self, event: &Event) {
        if event.process != Process::Nemesis || event.f == "crash" {
            return;
        }
        let name = event.value["fault"].as_str().unwrap_or(&event.f);
        let key = || match event.value["id"].as_u64() {
            Some(number) => Key::Number(number),
            None => Key::Name(name.to_owned()),
        };
        match event.value["phase"].as_str() {
            Some("start") => self.begin(key(), event.time, name, &event.value),
            // Only now it is known whom "some client" was.
            Some("started") => {
                let target = target(&event.value);
                if let Some(index) = self.open.get(&key())
                    && !target.is_empty()
                {
                    self.bands[*index].target = target;
                }
            }
            Some("end") => {
                if let Some(index) = self.open.remove(&key()) {
                    self.bands[index].to = event.time.max(self.bands[index].from);
                    self.bands[index].healed = true;
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, key: Key, time: u64, name: &str, value: &Value) {
        if self.bands.len() == FAULTS_MAX {
            self.hidden += 1;
            return;
        }
        self.open.insert(key, self.bands.len());
        self.bands.push(FaultBand {
            from: time,
            to: time,
            healed: false,
            name: name.chars().take(TARGET_MAX).collect(),
            target: target(value),
        });
    }

    pub(super) fn finish(mut self, end: u64) -> (Vec<FaultBand>, u64) {
        for band in self.bands.iter_mut().filter(|band| !band.healed) {
            band.to = end.max(band.from);
        }
        self.bands.sort_by_key(|band| band.from);
        (self.bands, self.hidden)
    }
}

/// `clients 1; ms 500`: what the nemesis says of the fault, without its name.
fn target(value: &Value) -> String {
    let Some(details) = value["details"].as_object() else {
        return String::new();
    };
    let parts = details
        .iter()
        .filter(|(key, value)| *key != "fault" && !value.is_null())
        .map(|(key, value)| format!("{key} {}", plain(value)));
    let words = parts.collect::<Vec<_>>().join("; ");
    if words.chars().count() <= TARGET_MAX {
        return words;
    }
    words.chars().take(TARGET_MAX - 1).collect::<String>() + "…"
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}
