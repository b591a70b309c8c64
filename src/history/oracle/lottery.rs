//! Lottery: one set of winners a round, and it has ten.

use rustc_hash::FxHashSet;

use crate::history::operations::{End, Op, Seen};
use crate::history::record::F;
use crate::history::{Finding, Header, Kind};

use super::Oracle;
use super::tally::Tally;
use crate::history::runs::Runs;

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

    fn drew(&mut self, op: &Op, end: &End<'_>, round: i64) {
        self.tally.checked += 1;
        let lines = [op.line, end.line];
        if end.kind == Kind::Info {
            if self.drawn.contains(round) || !self.perhaps.insert(round) {
                let words = || format!("round {round} may have been drawn a second time");
                self.tally.possible(end.time, &lines, words);
            }
            return;
        }
        let mut winners = end
            .details
            .rare()
            .and_then(|rare| rare.winners.clone())
            .unwrap_or_default();
        let listed = winners.len();
        winners.sort();
        winners.dedup();
        let wanted = self.winners;
        if listed != wanted || winners.len() != wanted {
            let different = winners.len();
            self.tally.sure(end.time, &lines, || {
                format!(
                    "round {round} has {listed} winners, {different} different ones, not {wanted}"
                )
            });
        }
        if !self.drawn.insert(round) {
            let words = || format!("round {round} was drawn a second time");
            self.tally.sure(end.time, &lines, words);
        } else if self.perhaps.contains(&round) {
            let words = || format!("round {round} may have been drawn before");
            self.tally.possible(end.time, &lines, words);
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
