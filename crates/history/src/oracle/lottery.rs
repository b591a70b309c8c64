//! Lottery: one set of winners a round, and it has ten.
//!
//! A draw of unknown outcome counts as drawn in one possible world; whom it drew is not
//! known.

use std::collections::BTreeSet;

use rustc_hash::FxHashSet;

use crate::record::{Element, F};
use crate::seen::{Completion, Op, Seen, is_vague};
use crate::{Finding, Header, Kind};

use super::Oracle;
use super::tally::Tally;
use crate::runs::Runs;

pub(super) const NAME: &str = "lottery";

pub(super) struct Lottery {
    tally: Tally,
    /// How many winners a draw has; the parameter `winners`, 10 without it.
    winners: usize,
    drawn: Runs,
    /// Rounds with a draw of unknown outcome.
    perhaps: FxHashSet<i64>,
}

impl Lottery {
    pub(super) fn new(header: &Header) -> Lottery {
        Lottery {
            tally: Tally::default(),
            winners: header
                .params
                .get("winners")
                .map_or(10, |number| *number as usize),
            drawn: Runs::default(),
            perhaps: FxHashSet::default(),
        }
    }

    fn drew(&mut self, op: &Op, end: &Completion<'_>, round: i64) {
        self.tally.checked += 1;
        let lines = [op.line, end.line];
        if end.kind == Kind::Info {
            if self.drawn.contains(round) || !self.perhaps.insert(round) {
                let words = || format!("round {round} may have been drawn a second time");
                self.tally.possible(end.time, &lines, words);
            }
            return;
        }
        let rare = end.details.rare();
        let winners = rare.and_then(|rare| rare.winners.as_deref());
        self.winners(round, winners.unwrap_or_default(), (end.time, &lines));
        if !self.drawn.insert(round) {
            let words = || format!("round {round} was drawn a second time");
            self.tally.sure(end.time, &lines, words);
        } else if self.perhaps.contains(&round) {
            let words = || format!("round {round} may have been drawn before");
            self.tally.possible(end.time, &lines, words);
        }
    }
}

impl Lottery {
    fn winners(&mut self, round: i64, winners: &[Element], (time, lines): (u64, &[u64])) {
        let (listed, wanted) = (winners.len(), self.winners);
        // Names that a text cannot hold look alike and may be different.
        let vague = |winner: &&Element| matches!(winner, Element::Text(name) if is_vague(name));
        let different = winners.iter().collect::<BTreeSet<_>>().len();
        let alike = winners.iter().filter(vague).collect::<BTreeSet<_>>().len();
        let at_most = different - alike + winners.iter().filter(vague).count();
        let words = || {
            format!("round {round} has {listed} winners, {different} different ones, not {wanted}")
        };
        if listed != wanted || at_most != wanted {
            self.tally.sure(time, lines, words);
        } else if different != wanted {
            self.tally.possible(time, lines, words);
        }
    }
}

impl Oracle for Lottery {
    fn see(&mut self, seen: &Seen<'_>) {
        if let Seen::Ended(op, end) = seen
            && op.f == F::Draw
            && end.kind != Kind::Fail
            && let Some(round) = op.details.round
        {
            self.drew(op, end, round);
        }
    }

    fn finish(mut self: Box<Self>, examples: usize) -> Finding {
        if self.tally.checked > 0 {
            self.tally.figure("rounds", self.drawn.len() as f64);
        }
        self.tally.finish(NAME, examples, "no client drew winners")
    }
}
