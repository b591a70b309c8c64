//! Exact sizes of worlds, pinned.
//!
//! A rule that stops offering a move, a key that merges two states, a fault
//! that no longer strikes: each makes a world smaller and may turn a violation
//! into a proof. Nothing else would say so; these numbers go red. When a rule
//! changes on purpose, the new numbers belong in the same commit.

mod world_support;

use lockproof::check::Checker;
use lockproof::lock::builtin_names;
use world_support::{Counts, NoClock, builtin, check, counts, options, set, sizes, violated};

/// A world and all that is pinned of it.
struct Pinned {
    lock: &'static str,
    clients: u8,
    ttl_ticks: u8,
    assumptions: &'static str,
    counts: Counts,
    violated: &'static str,
}

const fn pinned(
    lock: &'static str,
    (clients, ttl_ticks): (u8, u8),
    assumptions: &'static str,
    counts: Counts,
    violated: &'static str,
) -> Pinned {
    Pinned {
        lock,
        clients,
        ttl_ticks,
        assumptions,
        counts,
        violated,
    }
}

/// Two clients and a lease of three ticks.
const USUAL: (u8, u8) = (2, 3);

const TWICE: &str = "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect";

#[rustfmt::skip]
const PINNED: [Pinned; 46] = [
    pinned("token", USUAL, "", (110, 266, 12), ""),
    pinned("token", USUAL, "client-crash", (246, 726, 13), ""),
    pinned("token", USUAL, "client-pause", (1630, 4364, 20), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token", USUAL, "delay", (3509, 11_062, 24), "no-orphan"),
    pinned("token", USUAL, "loss", (490, 1186, 15), ""),
    pinned("token", USUAL, "partition", (870, 2470, 16), ""),
    pinned("token", USUAL, "node-restart-none", (598, 1678, 16), "TWICE"),
    pinned("token", USUAL, "node-restart-everysec", (4942, 16_241, 22), "TWICE"),
    pinned("token", USUAL, "node-restart-always", (516, 1302, 15), ""),
    pinned("token", USUAL, "clock-jump", (628, 1892, 16), "TWICE lease"),
    pinned("token", USUAL, "client-drift", (714, 1852, 17), "TWICE"),
    pinned("token", USUAL, "client-skew", (550, 1446, 13), ""),
    pinned("token", USUAL, "overrun", (404, 1084, 19), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token", (3, 3), "", (706, 2345, 18), ""),
    pinned("token", (3, 3), "client-crash", (1870, 7589, 19), ""),
    pinned("token", (2, 2), "node-pause@2", (9262, 37_162, 30), "no-orphan"),
    pinned("token", USUAL, "client-crash loss", (952, 3052, 15), ""),
    pinned("token", (2, 2), "delay@2", (1505, 4494, 21), "no-orphan"),
    pinned("token", (2, 2), "client-crash client-pause@2", (1422, 5026, 18), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("setnx-expire", USUAL, "", (130, 306, 16), ""),
    pinned("setnx-expire", USUAL, "client-crash", (318, 888, 17), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "client-pause", (2488, 6522, 29), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "loss", (642, 1522, 19), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "delay", (4621, 14_074, 35), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "clock-jump", (812, 2326, 24), "TWICE owner-only-release lease"),
    pinned("setnx-expire", (3, 3), "", (856, 2795, 24), ""),
    pinned("setnx-expire", USUAL, "node-restart-everysec", (10_661, 35_302, 35), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("getset-timestamp", USUAL, "", (244, 552, 20), ""),
    pinned("getset-timestamp", USUAL, "client-skew", (16_140, 35_736, 68), "TWICE owner-only-release lease no-orphan"),
    pinned("getset-timestamp", USUAL, "client-drift", (2270, 5610, 34), "TWICE owner-only-release lease"),
    pinned("getset-timestamp", (2, 2), "client-skew@1", (986, 2310, 21), ""),
    pinned("token-renewed", USUAL, "", (284, 852, 20), ""),
    pinned("token-renewed", USUAL, "client-pause", (3853, 13_596, 32), "TWICE lease"),
    pinned("token-renewed", USUAL, "loss", (2263, 8152, 36), "TWICE"),
    pinned("token-renewed", USUAL, "node-restart-none", (1839, 6968, 28), "TWICE"),
    pinned("token-renewed", USUAL, "clock-jump", (2149, 8362, 28), "TWICE lease"),
    pinned("token-renewed", USUAL, "node-restart-everysec", (19_802, 85_321, 39), "TWICE"),
    pinned("reentrant-hash", USUAL, "", (370, 880, 17), ""),
    pinned("reentrant-hash", USUAL, "client-crash", (728, 2262, 17), ""),
    pinned("reentrant-hash", USUAL, "client-pause", (13_960, 37_688, 34), "TWICE reentrancy lease"),
    pinned("redlock", USUAL, "", (4171, 8806, 40), ""),
    pinned("redlock", USUAL, "client-crash", (9183, 25_472, 40), ""),
    pinned("redlock", (2, 2), "loss", (24_940, 53_634, 50), ""),
    pinned("redlock", (2, 2), "clock-jump@1", (17_971, 57_566, 51), "TWICE lease"),
    pinned("redlock", (2, 2), "", (3155, 6630, 39), ""),
    pinned("redlock", (2, 2), "client-crash", (6519, 18_626, 39), ""),
];

fn verify(lock: &str) {
    let mut seen = 0;
    for pinned in PINNED.iter().filter(|pinned| pinned.lock == lock) {
        let file = builtin(lock);
        let mut sizes = sizes(&file, pinned.clients);
        sizes.ttl_ticks = pinned.ttl_ticks;
        let results = check(&file, &sizes, pinned.assumptions);
        let found = (counts(&results), violated(&results));
        let expected = (pinned.counts, pinned.violated.replace("TWICE", TWICE));
        assert_eq!(found, expected, "{lock} under {:?}", pinned.assumptions);
        seen += 1;
    }
    assert!(seen >= 3, "{lock} has only {seen} pinned worlds");
}

#[test]
fn worlds_of_the_token_lock_have_their_sizes() {
    verify("token");
}

#[test]
fn worlds_of_setnx_then_expire_have_their_sizes() {
    verify("setnx-expire");
}

#[test]
fn worlds_of_getset_with_timestamps_have_their_sizes() {
    verify("getset-timestamp");
}

#[test]
fn worlds_of_the_renewed_token_have_their_sizes() {
    verify("token-renewed");
}

#[test]
fn worlds_of_the_reentrant_hash_have_their_sizes() {
    verify("reentrant-hash");
}

#[test]
fn worlds_of_redlock_have_their_sizes() {
    verify("redlock");
}

#[test]
fn every_built_in_lock_has_pinned_worlds() {
    for name in builtin_names() {
        assert!(PINNED.iter().any(|pinned| pinned.lock == name), "{name}");
    }
}

/// The whole report of three sets, as the command line would write it.
fn report(lock: &str, workers: usize) -> String {
    let file = builtin(lock);
    let mut sizes = sizes(&file, 2);
    sizes.ttl_ticks = 2;
    let sets = ["", "client-crash", "node-restart-none"].map(|words| set(words, 2));
    let mut checker = Checker::new(&file, options(&sizes, workers)).unwrap();
    let report = checker.check(&sets, &NoClock).unwrap();
    serde_json::to_string_pretty(&report).unwrap()
}

#[test]
fn one_worker_and_several_write_the_same_report() {
    for lock in ["token", "setnx-expire", "token-renewed", "redlock"] {
        let one = report(lock, 1);
        assert!(
            one.contains("\"violated\"") && one.contains("\"holds\""),
            "{lock}"
        );
        for workers in [2, 3] {
            // Not assert_eq: a report is thousands of lines long.
            assert!(
                report(lock, workers) == one,
                "{lock} with {workers} workers"
            );
        }
    }
}
