//! What a search has met before it is over: a large set of faults takes minutes, and its violation is
//! often found in the first second.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use lockproof_model::check::Progress;
use lockproof_model::world::catalogue::{Property, Safety};
use lockproof_report::overview;

/// A set that is answered within this time is told when it is answered.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was told of the set that is being explored.
#[derive(Clone)]
pub struct Early {
    /// The properties that were asked for, the worst first.
    asked: Vec<Safety>,
    set: String,
    begun: Instant,
    /// The place in `asked` of the worst that was told.
    told: Arc<AtomicUsize>,
}

impl Early {
    /// For a check of these properties.
    pub fn new(properties: &[Property]) -> Early {
        let safety = |property: &Property| match property {
            Property::Safety(safety) => Some(*safety),
            _ => None,
        };
        let mut asked: Vec<Safety> = properties.iter().filter_map(safety).collect();
        asked.sort_by_key(|one| overview::consequence(one.info().id).map(|(rank, _)| rank));
        Early {
            asked,
            set: String::new(),
            begun: Instant::now(),
            told: Arc::new(AtomicUsize::new(usize::MAX)),
        }
    }

    /// The same for the next set.
    pub fn of(&self, set: &str) -> Early {
        Early {
            asked: self.asked.clone(),
            set: set.to_owned(),
            begun: Instant::now(),
            told: Arc::new(AtomicUsize::new(usize::MAX)),
        }
    }

    /// A line, if the search takes long and has met what is worse than all that was told.
    pub fn line(&self, progress: &Progress) -> Option<String> {
        if progress.violated == 0 || self.begun.elapsed() < PATIENCE {
            return None;
        }
        self.news(progress)
    }

    fn news(&self, progress: &Progress) -> Option<String> {
        let met = |one: &Safety| progress.violated & one.bit() != 0;
        let worst = self.asked.iter().position(met)?;
        let told = self.told.fetch_min(worst, Ordering::Relaxed);
        let words = overview::consequence_words(self.asked[worst].info().id);
        (worst < told).then(|| format!("  {}: {words} found; the search goes on", self.set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(violated: u32) -> Progress {
        Progress {
            states: 9,
            transitions: 9,
            depth: 9,
            frontier: 9,
            violated,
        }
    }

    #[test]
    fn what_is_met_is_told_once_a_set_and_then_only_what_is_worse() {
        let early = Early::new(&Property::usual(false)).of("loss");
        let (lease, both) = (
            Safety::Lease.bit(),
            Safety::Belief.bit() | Safety::Validity.bit(),
        );
        assert_eq!(early.line(&at(lease)), None, "it may be over at once");
        let told = |early: &Early, violated| early.news(&at(violated));
        let words = |what: &str| Some(format!("  loss: {what} found; the search goes on"));
        assert_eq!(told(&early, lease), words("wrong lease"));
        assert_eq!(told(&early, lease), None);
        assert_eq!(told(&early, lease | both), words("two valid holders"));
        assert_eq!(told(&early, lease | both | Safety::NoOrphan.bit()), None);
        assert!(
            told(&early.of("delay"), lease).is_some(),
            "the next set is another one"
        );
    }

    #[test]
    fn what_was_not_asked_for_is_not_told() {
        let early = Early::new(&[Property::Safety(Safety::Lease)]).of("loss");
        assert_eq!(early.news(&at(Safety::Belief.bit())), None);
    }
}
