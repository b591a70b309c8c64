//! What a violation means for whoever uses the lock, and what to do about it.

use super::properties::{Branching, Fair, Property, Safety};

/// What somebody meets who uses a lock that violates a property.
#[derive(Clone, Copy, Debug)]
pub struct Consequence {
    /// The property that is violated.
    pub property: Property,
    /// In two words, or three.
    pub words: &'static str,
    /// The same in two letters, for narrow tables. No two have the same.
    pub code: &'static str,
    /// Why locks come to it.
    pub cause: &'static str,
    /// What helps.
    pub remedy: &'static str,
    /// Where cause and remedy come from.
    pub source: &'static str,
}

pub(super) const KLEPPMANN: &str =
    "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html";
pub(super) const REDLOCK: &str =
    "https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/";
const PUBSUB: &str = "https://redis.io/docs/latest/develop/pubsub/";
const SETNX: &str = "https://redis.io/docs/latest/commands/setnx/";

/// Every property's consequence, the worst first: two who hold at once, with work that can not be
/// taken back; then a lock that nobody gets any more; then what goes over by itself, or disturbs.
pub const CONSEQUENCES: [Consequence; 19] = [
    Consequence {
        property: Property::Safety(Safety::Validity),
        words: "two valid holders",
        code: "VV",
        cause: "The key is gone, or was never on a majority, while its holder has every right to believe in it: a \
                server lost it, a clock jumped, or the time was counted from the wrong moment.",
        remedy: "Count the validity from before the request was sent. Keep a server that lost its keys away for \
                 longer than a lease, or write with `appendfsync always`. Let the resource check a fencing token.",
        source: REDLOCK,
    },
    Consequence {
        property: Property::Safety(Safety::ReadWrite),
        words: "reader meets writer",
        code: "RW",
        cause: "A reader and a writer hold at once, or somebody ends a reader's hold: the readers' key does not count \
                them, or has one expiry for all.",
        remedy: "Give each reader an entry and an expiry of its own, and let one script look at readers and writer.",
        source: "docs/locks/redisson-rw.md",
    },
    Consequence {
        property: Property::Safety(Safety::Belief),
        words: "two believers",
        code: "BB",
        cause: "A holder was paused, or worked for longer than its lease, and went on as if it still held.",
        remedy: "No lease can prevent it. Let the resource refuse a fencing token that is lower than one it has seen, \
                 and stop working when the validity is over.",
        source: KLEPPMANN,
    },
    Consequence {
        property: Property::Safety(Safety::Effect),
        words: "lost update",
        code: "LU",
        cause: "Two clients wrote what the lock guards, and one write went under.",
        remedy: "Write with a condition: a fencing token, a version, or compare-and-set in the guarded resource.",
        source: KLEPPMANN,
    },
    Consequence {
        property: Property::Safety(Safety::FenceMonotonicity),
        words: "fence goes back",
        code: "FB",
        cause: "The counter of the fences was lost with its server, or a majority that drew did not meet the last one.",
        remedy: "Draw fences from a store that does not lose them; an in-memory counter falls back with its server.",
        source: KLEPPMANN,
    },
    Consequence {
        property: Property::Branching(Branching::DeadlockFreedom),
        words: "stuck",
        code: "ST",
        cause: "A key without an expiry is left, or nobody owns it who could delete it.",
        remedy: "Set key and expiry in one command: `SET key token NX PX lease`.",
        source: SETNX,
    },
    Consequence {
        property: Property::Branching(Branching::FaultTolerance),
        words: "no majority",
        code: "NM",
        cause: "A majority of the servers is up, and still nobody can acquire.",
        remedy: "Ask a majority and not all, and delete what a failed attempt has left on any server.",
        source: REDLOCK,
    },
    Consequence {
        property: Property::Safety(Safety::NoOrphan),
        words: "orphan",
        code: "OR",
        cause: "A key is left whose client failed or has died, for longer than a lease.",
        remedy: "Give each key an expiry in the command that makes it, and delete by token after a failed acquire, \
                 also where no reply came.",
        source: REDLOCK,
    },
    Consequence {
        property: Property::Safety(Safety::OwnerOnly),
        words: "wrong release",
        code: "WR",
        cause: "Somebody deleted, shortened or prolonged a lock that is another client's: DEL without a look, or a \
                look and a DEL in two commands.",
        remedy: "Compare the token and delete in one script, or by DELIFEQ, or under WATCH.",
        source: REDLOCK,
    },
    Consequence {
        property: Property::Safety(Safety::Lease),
        words: "wrong lease",
        code: "WL",
        cause: "Who was told that it holds has no key on a majority, or one with another expiry; or a renewal revived \
                a lock that was lost.",
        remedy: "Write key and expiry in one command, renew by a script that compares the token, and never set what \
                 is gone anew.",
        source: REDLOCK,
    },
    Consequence {
        property: Property::Safety(Safety::Reentrancy),
        words: "wrong count",
        code: "WC",
        cause: "The holds that are counted are not those of the caller: a lost reply was counted twice, or a nested \
                acquire found its lock gone.",
        remedy: "Count on the server, in the script that compares the owner, and let a retry be told from a new hold.",
        source: "docs/locks/redisson.md",
    },
    Consequence {
        property: Property::Safety(Safety::HonestOutcome),
        words: "false report",
        code: "FR",
        cause: "An operation said that it worked, and it did not.",
        remedy: "Read what the server replied, and report failure where no reply came.",
        source: "docs/model.md",
    },
    Consequence {
        property: Property::Safety(Safety::ReleaseFrees),
        words: "not freed",
        code: "NF",
        cause: "A release said that it worked, and the key stands until it expires.",
        remedy: "Read the script's reply, and try again where none came.",
        source: "docs/model.md",
    },
    Consequence {
        property: Property::Safety(Safety::NoLostWakeUp),
        words: "lost wake-up",
        code: "LW",
        cause: "The message of a release was lost, or came before its waiter listened. Redis delivers it at most once.",
        remedy: "Wait no longer than for what is left of the lease, and then look again.",
        source: PUBSUB,
    },
    Consequence {
        property: Property::Safety(Safety::ToldWhenLost),
        words: "not told",
        code: "NT",
        cause: "The lock was lost, and its holder heard nothing of it in the time that was promised.",
        remedy: "Let the renewal tell its caller what it found, and end the hold when the validity is over.",
        source: KLEPPMANN,
    },
    Consequence {
        property: Property::Safety(Safety::NoFalseAlarm),
        words: "false alarm",
        code: "FA",
        cause: "A holder was told that the lock is lost, and it was not.",
        remedy: "Tell a reply that did not come from one that says no.",
        source: "docs/model.md",
    },
    Consequence {
        property: Property::Safety(Safety::Assertion),
        words: "own rule",
        code: "AS",
        cause: "What the lock file asserts was not so.",
        remedy: "The counterexample shows the line, and how it comes there.",
        source: "docs/lock-files.md",
    },
    Consequence {
        property: Property::Safety(Safety::NoOrphanAtOnce),
        words: "left over",
        code: "LO",
        cause: "A failed acquire left its key until it expired.",
        remedy: "Delete by token after a failed acquire, also where no reply came.",
        source: REDLOCK,
    },
    Consequence {
        property: Property::Fair(Fair::StarvationFreedom),
        words: "not fair",
        code: "UF",
        cause: "Others can acquire again and again, and one who keeps trying never does.",
        remedy: "Keep a queue on the server, and let only its first take the lock.",
        source: "docs/locks/redisson-fair.md",
    },
];

impl Property {
    /// What its violation means, with its rank: 0 is the worst.
    ///
    /// # Panics
    /// If the table has no row for it, which a test rules out.
    pub fn consequence(self) -> (usize, &'static Consequence) {
        let mut rows = CONSEQUENCES.iter().enumerate();
        let row = rows.find(|(_, row)| row.property == self);
        row.expect("every property has a consequence")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::catalogue::PROPERTIES;

    #[test]
    fn every_property_has_one_consequence_with_letters_of_its_own() {
        for info in &PROPERTIES {
            let rows = CONSEQUENCES
                .iter()
                .filter(|row| row.property == info.property);
            assert_eq!(rows.count(), 1, "{}", info.id);
        }
        let mut codes: Vec<&str> = CONSEQUENCES.iter().map(|row| row.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), CONSEQUENCES.len());
    }

    #[test]
    fn two_holders_are_worse_than_a_lock_that_is_stuck_and_that_is_worse_than_an_orphan() {
        let ranks = [
            "mutual-exclusion-validity",
            "mutual-exclusion-belief",
            "mutual-exclusion-effect",
            "deadlock-freedom",
            "no-orphan",
            "owner-only-release",
            "starvation-freedom",
        ]
        .map(|id| Property::parse(id).unwrap().consequence().0);
        assert!(ranks.is_sorted(), "{ranks:?}");
    }
}
