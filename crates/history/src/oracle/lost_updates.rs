//! The guarded set: what was acknowledged is in it at the end.
//!
//! This oracle keeps every added element until the final read: which of them
//! will be missing cannot be known before. An element whose add has an unknown
//! outcome is never lost: absent it was not added, present it is "recovered".
//!
//! An add that was acknowledged during the read, at its very beginning or after
//! it, may have come after the set was looked at: nobody has seen whether it
//! lasted.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::record::{Element, F};
use crate::seen::{Completion, Op, Seen};
use crate::{Finding, Kind};

use super::Oracle;
use super::tally::Tally;

pub(super) const NAME: &str = "lost-updates";

/// Of an acknowledged add: when, and the line.
type Acknowledged = (u64, u64);

#[derive(Default)]
pub(super) struct LostUpdates {
    tally: Tally,
    acknowledged: FxHashMap<Element, Acknowledged>,
    unknown: FxHashSet<Element>,
    /// The last final read: when it began, when it ended, its line.
    read: Option<(u64, u64, u64)>,
    elements: FxHashSet<Element>,
}

impl LostUpdates {
    fn added(&mut self, op: &Op, end: &Completion<'_>) {
        let Some(element) = op.details.element.clone() else {
            return;
        };
        match end.kind {
            Kind::Ok => {
                // Added twice, the first is what must last.
                let at = (end.time, op.line);
                self.acknowledged.entry(element).or_insert(at);
            }
            Kind::Info => {
                self.unknown.insert(element);
            }
            Kind::Fail | Kind::Invoke => {}
        }
    }

    fn compare(&mut self, (began, ended, line): (u64, u64, u64)) {
        let mut missing: Vec<(&Element, &Acknowledged)> = self
            .acknowledged
            .iter()
            .filter(|(element, _)| !self.elements.contains(element))
            .collect();
        missing.sort_by_key(|(_, (_, line))| *line);
        for (element, (time, added)) in missing {
            let lines = [*added, line];
            if *time < began {
                self.tally.sure(*time, &lines, || {
                    format!("{element} was acknowledged and is not in the final set")
                });
            } else {
                self.tally.possible(ended, &lines, || {
                    format!(
                        "{element} was acknowledged not before the final read, and is not in it"
                    )
                });
            }
        }
        let recovered = self.unknown.iter();
        let recovered = recovered.filter(|element| self.elements.contains(*element));
        self.tally
            .figures
            .insert("recovered".into(), recovered.count() as f64);
        let (lost, all) = (self.tally.sure as f64, self.acknowledged.len() as f64);
        self.tally.figure("lost", lost);
        self.tally
            .figure("lost_rate", if all > 0.0 { lost / all } else { 0.0 });
    }
}

impl Oracle for LostUpdates {
    fn see(&mut self, seen: &Seen<'_>) {
        let Seen::Ended(op, end) = seen else { return };
        if op.f == F::Add {
            self.added(op, end);
        } else if op.f == F::FinalSet && end.kind == Kind::Ok {
            let elements = end.details.rare().and_then(|rare| rare.elements.as_ref());
            self.elements = elements.into_iter().flatten().cloned().collect();
            self.read = Some((op.invoked, end.time, end.line));
        }
    }

    fn finish(mut self: Box<Self>, examples: usize) -> Finding {
        self.tally.checked = self.acknowledged.len() as u64;
        if self.tally.checked > 0 || !self.unknown.is_empty() {
            self.tally
                .figure("acknowledged", self.acknowledged.len() as f64);
            self.tally.figure("unknown", self.unknown.len() as f64);
        }
        match self.read {
            Some(read) => self.compare(read),
            None if self.tally.checked > 0 => {
                let words = || "the history ends without a read of the final set".into();
                self.tally.possible(0, &[], words);
            }
            None => {}
        }
        self.tally.finish(NAME, examples, "no add was acknowledged")
    }
}
