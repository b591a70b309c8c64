//! Counting violations, and the finding that comes of it.

use std::collections::BTreeMap;

use crate::{Finding, FindingVerdict, Violation};

/// No oracle tells more than this many examples.
const MAX_EXAMPLES: usize = 1_000;

/// Sure and possible violations. Only the first of each are kept.
#[derive(Default)]
pub(super) struct Tally {
    pub checked: u64,
    pub sure: u64,
    pub possible: u64,
    sure_examples: Vec<Violation>,
    possible_examples: Vec<Violation>,
    pub figures: BTreeMap<String, f64>,
}

impl Tally {
    /// A violation in every possible world.
    pub(super) fn sure(&mut self, time: u64, lines: &[u64], words: impl FnOnce() -> String) {
        self.sure += 1;
        keep(&mut self.sure_examples, time, lines, words);
    }

    /// A violation in some possible worlds.
    pub(super) fn possible(&mut self, time: u64, lines: &[u64], words: impl FnOnce() -> String) {
        self.possible += 1;
        keep(&mut self.possible_examples, time, lines, words);
    }

    pub(super) fn figure(&mut self, name: &str, value: f64) {
        self.figures.insert(name.into(), value);
    }

    /// The finding; `nothing` says why there was nothing to check.
    pub(super) fn finish(mut self, oracle: &str, examples: usize, nothing: &str) -> Finding {
        if self.possible > 0 {
            self.figure("possible", self.possible as f64);
        }
        let (verdict, reason) = if self.sure > 0 {
            (FindingVerdict::Violated, None)
        } else if self.possible > 0 {
            let reason = format!(
                "{} only if operations of unknown outcome took effect, or if what the history does not say was so",
                match self.possible {
                    1 => "1 violation".into(),
                    many => format!("{many} violations"),
                }
            );
            (FindingVerdict::Unknown, Some(reason))
        } else if self.checked > 0 {
            (FindingVerdict::NotObserved, None)
        } else {
            (FindingVerdict::NotApplicable, Some(nothing.into()))
        };
        let mut told = if self.sure > 0 {
            self.sure_examples
        } else {
            self.possible_examples
        };
        told.truncate(examples);
        Finding {
            oracle: oracle.into(),
            verdict,
            checked: self.checked,
            violations: self.sure,
            examples: told,
            reason,
            figures: self.figures,
        }
    }
}

fn keep(examples: &mut Vec<Violation>, time: u64, lines: &[u64], words: impl FnOnce() -> String) {
    if examples.len() < MAX_EXAMPLES {
        examples.push(Violation {
            time,
            lines: lines.to_vec(),
            words: words(),
        });
    }
}
