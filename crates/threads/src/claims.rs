//! What is claimed of a handle, and the judge of one execution.
//!
//! The judge reads the record and nothing else. It compares only what loom orders: events of
//! one key, which the key's mutex puts in an order, the events of one thread, and events
//! before and after a join. Otherwise an order that loom leaves out as equivalent could be
//! the one in which a claim fails.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Call, Command, Effect, Event, Key, Life, Reply, What};

/// A claim about a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// Two threads never hold one lock.
    Exclusion,
    /// Counts are those of the thread.
    OwnCount,
    /// A nested lock is granted only while the key is the thread's.
    NestedHold,
    /// A lease does not end under its holder.
    Lease,
    /// Who holds has a renewal under way.
    RenewalRuns,
    /// A renewal extends what it was started for.
    OwnExtension,
    /// One renewal of a lock is scheduled at a time.
    OneRenewal,
    /// No renewal is left.
    NoLeak,
}

/// A claim's name and what it says.
#[derive(Clone, Copy, Debug)]
pub struct ClaimInfo {
    /// Its name on the command line.
    pub id: &'static str,
    /// What it says, as one sentence without a full stop.
    pub meaning: &'static str,
}

impl Claim {
    /// All claims, in the order of lists.
    pub const ALL: [Claim; 8] = [
        Claim::Exclusion,
        Claim::OwnCount,
        Claim::NestedHold,
        Claim::Lease,
        Claim::RenewalRuns,
        Claim::OwnExtension,
        Claim::OneRenewal,
        Claim::NoLeak,
    ];

    /// Its name and what it says.
    pub fn info(self) -> ClaimInfo {
        let (id, meaning) = match self {
            Claim::Exclusion => (
                "exclusion",
                "at no time do two threads of the process hold one lock",
            ),
            Claim::OwnCount => (
                "own-count",
                "a thread that does not hold a lock is neither granted it from memory nor told that it has unlocked it",
            ),
            Claim::NestedHold => (
                "nested-hold",
                "a nested lock is granted only while the key is still that thread's",
            ),
            Claim::Lease => (
                "lease",
                "no lease ends by time under a holder whose renewals wake in time",
            ),
            Claim::RenewalRuns => (
                "renewal-runs",
                "as long as a thread holds a lock, a renewal of it is under way",
            ),
            Claim::OwnExtension => (
                "own-extension",
                "a renewal extends only the hold that it was started for",
            ),
            Claim::OneRenewal => (
                "one-renewal",
                "at most one renewal of a lock is scheduled at a time",
            ),
            Claim::NoLeak => (
                "no-leak",
                "a lease after the last unlock, no renewal of that lock is left",
            ),
        };
        ClaimInfo { id, meaning }
    }
}

/// What the judge knows of a renewal.
struct Alive {
    key: Option<Key>,
    of: Option<u8>,
    fired: bool,
}

/// What the judge knows at an event.
#[derive(Default)]
struct Known {
    holds: BTreeSet<(Key, u8)>,
    alive: BTreeMap<u8, Alive>,
    /// A task renews all locks that are on its list.
    has_task: bool,
}

/// The first event at which each of these claims is violated.
pub(crate) fn judge(claims: &[Claim], events: &[Event]) -> BTreeMap<Claim, usize> {
    let mut known = Known::default();
    let mut found = BTreeMap::new();
    for (at, event) in events.iter().enumerate() {
        for claim in claims {
            if !found.contains_key(claim) && known.violates(*claim, event) {
                found.insert(*claim, at);
            }
        }
        known.learn(event);
    }
    found
}

impl Known {
    /// Whether this event, after what is known, violates the claim.
    fn violates(&self, claim: Claim, event: &Event) -> bool {
        match (claim, event.what, event.who.caller()) {
            (
                Claim::Exclusion,
                What::Command {
                    command,
                    key,
                    reply,
                    effect,
                    ..
                },
                Some(thread),
            ) => {
                // A nested lock that asks is granted by the reply.
                let granted = command == Command::ExpireIf && reply == Reply::One;
                let took = matches!(effect, Effect::Took { .. });
                (took || granted) && self.holders(key).any(|other| other != thread)
            }
            (Claim::Exclusion, What::Told { key, .. }, Some(thread)) => {
                self.holders(key).any(|other| other != thread)
            }
            (Claim::OwnCount, What::Told { key, .. }, Some(thread)) => !self.has(key, thread),
            (
                Claim::OwnCount,
                What::Answers {
                    call, answer, held, ..
                },
                _,
            ) => call == Call::Unlock && answer && !held,
            (Claim::NestedHold, What::Told { own, .. }, _) => !own,
            (Claim::Lease, What::LeaseEnds(key), _) => self.holders(key).next().is_some(),
            (Claim::RenewalRuns, What::Releases(key), Some(thread)) => {
                self.has(key, thread) && !self.renews(key, thread)
            }
            (Claim::RenewalRuns, What::Quiet, _) => {
                let mut holds = self.holds.iter();
                holds.any(|(key, thread)| !self.renews(*key, *thread))
            }
            (Claim::OwnExtension, What::Command { effect, .. }, _) => {
                matches!(effect, Effect::Extended { own: false, .. })
            }
            (Claim::OneRenewal, What::Renewal { key, life, .. }, _) => {
                let mut alive = self.alive.values();
                life == Life::Starts && alive.any(|one| one.key == key && !one.fired)
            }
            (Claim::NoLeak, What::Settled, _) => self.alive.values().any(|one| self.is_left(one)),
            _ => false,
        }
    }

    fn holders(&self, key: Key) -> impl Iterator<Item = u8> {
        let of_key = move |(one, thread): &(Key, u8)| (*one == key).then_some(*thread);
        self.holds.iter().filter_map(of_key)
    }

    fn has(&self, key: Key, thread: u8) -> bool {
        self.holds.contains(&(key, thread))
    }

    fn renews(&self, key: Key, thread: u8) -> bool {
        let of = |one: &Alive| one.key == Some(key) && one.of.is_none_or(|of| of == thread);
        let runs = !self.has_task || self.alive.values().any(|one| one.key.is_none());
        runs && self.alive.values().any(of)
    }

    /// Nobody holds what this renewal renews.
    fn is_left(&self, renewal: &Alive) -> bool {
        let (key, of) = (renewal.key, renewal.of);
        let mut holds = self.holds.iter();
        !holds.any(|(one, thread)| {
            key.is_none_or(|key| key == *one) && of.is_none_or(|of| of == *thread)
        })
    }

    fn learn(&mut self, event: &Event) {
        match (event.what, event.who.caller()) {
            (
                What::Command {
                    key,
                    effect: Effect::Took { .. },
                    ..
                },
                Some(thread),
            ) => {
                self.holds.insert((key, thread));
            }
            (What::Releases(key), Some(thread)) => {
                self.holds.remove(&(key, thread));
            }
            // A caller that asks for its key and has it no more: it holds nothing from here on.
            (
                What::Command {
                    command: Command::ExpireIf,
                    key,
                    reply: Reply::Zero,
                    ..
                },
                Some(thread),
            ) => {
                self.holds.remove(&(key, thread));
            }
            (What::Renewal { id, key, of, life }, _) => match life {
                Life::Starts | Life::Listed => {
                    self.has_task |= key.is_none();
                    let fired = false;
                    self.alive.insert(id, Alive { key, of, fired });
                }
                Life::Fires => {
                    if let Some(renewal) = self.alive.get_mut(&id) {
                        renewal.fired = true;
                    }
                }
                Life::Ends(_) => {
                    self.alive.remove(&id);
                }
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Thread, Value};

    fn took(thread: u8, key: Key) -> Event {
        let what = What::Command {
            command: Command::SetNx,
            key,
            value: Value::thread(thread),
            reply: Reply::Ok,
            effect: Effect::Took { acquisition: 1 },
        };
        by(thread, what)
    }

    fn by(thread: u8, what: What) -> Event {
        let who = Thread::Caller(thread);
        Event { who, what }
    }

    fn starts(id: u8, key: Key, of: Option<u8>) -> Event {
        by(1, What::renewal(id, key, of, Life::Starts))
    }

    fn ends(id: u8, key: Key) -> Event {
        by(1, What::renewal(id, key, None, Life::Ends("")))
    }

    #[test]
    fn each_claim_is_violated_by_its_event_and_only_by_it() {
        let a = Key::A;
        let extended = |own| What::Command {
            command: Command::Expire,
            key: a,
            value: Value::thread(1),
            reply: Reply::One,
            effect: Effect::Extended { own, of: 1 },
        };
        let cases: [(Claim, Vec<Event>, Vec<Event>); 8] = [
            (
                Claim::Exclusion,
                vec![took(1, a), took(2, a)],
                vec![
                    took(1, a),
                    by(1, What::Releases(a)),
                    took(2, a),
                    took(1, Key::B),
                ],
            ),
            (
                Claim::OwnCount,
                vec![took(1, a), by(2, What::Told { key: a, own: false })],
                vec![took(1, a), by(1, What::Told { key: a, own: false })],
            ),
            (
                Claim::NestedHold,
                vec![took(1, a), by(1, What::Told { key: a, own: false })],
                vec![took(1, a), by(1, What::Told { key: a, own: true })],
            ),
            (
                Claim::Lease,
                vec![took(1, a), by(1, What::LeaseEnds(a))],
                vec![took(1, Key::B), by(1, What::LeaseEnds(a))],
            ),
            (
                Claim::RenewalRuns,
                vec![took(1, a), starts(1, a, Some(2)), by(1, What::Releases(a))],
                vec![
                    took(1, a),
                    starts(1, a, Some(1)),
                    by(1, What::Releases(a)),
                    ends(1, a),
                    by(1, What::Quiet),
                ],
            ),
            (
                Claim::OwnExtension,
                vec![by(1, extended(false))],
                vec![by(1, extended(true))],
            ),
            (
                Claim::OneRenewal,
                vec![starts(1, a, None), starts(2, a, None)],
                vec![
                    starts(1, a, None),
                    ends(1, a),
                    starts(2, a, None),
                    starts(3, Key::B, None),
                ],
            ),
            (
                Claim::NoLeak,
                vec![
                    took(1, a),
                    starts(1, a, None),
                    by(1, What::Releases(a)),
                    by(1, What::Settled),
                ],
                vec![took(1, a), starts(1, a, None), by(1, What::Settled)],
            ),
        ];
        for (claim, bad, good) in cases {
            let last = bad.len() - 1;
            assert_eq!(judge(&[claim], &bad).get(&claim), Some(&last), "{claim:?}");
            assert!(judge(&[claim], &good).is_empty(), "{claim:?}");
        }
    }
}
