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
const PINNED: [Pinned; 71] = [
    pinned("token", USUAL, "", (83, 195, 10), ""),
    pinned("token", USUAL, "client-crash", (197, 557, 10), ""),
    pinned("token", USUAL, "client-pause", (1452, 3856, 20), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token", USUAL, "delay", (2519, 7900, 20), "no-orphan"),
    pinned("token", USUAL, "loss", (376, 892, 14), ""),
    pinned("token", USUAL, "partition", (654, 1784, 14), ""),
    pinned("token", USUAL, "node-restart-none", (520, 1447, 16), "TWICE"),
    pinned("token", USUAL, "node-restart-everysec", (4150, 13_656, 22), "TWICE"),
    pinned("token", USUAL, "node-restart-always", (386, 945, 12), ""),
    pinned("token", USUAL, "clock-jump", (534, 1588, 16), "TWICE lease"),
    pinned("token", USUAL, "client-drift", (555, 1387, 17), "TWICE"),
    pinned("token", USUAL, "client-skew", (415, 1031, 11), ""),
    pinned("token", USUAL, "overrun", (338, 902, 19), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token", (3, 3), "", (417, 1366, 15), ""),
    pinned("token", (3, 3), "client-crash", (1206, 4714, 15), ""),
    pinned("token", (2, 2), "node-pause@2", (7245, 29_318, 28), "no-orphan"),
    pinned("token", USUAL, "client-crash loss", (776, 2398, 14), ""),
    pinned("token", USUAL, "failover", (809, 2236, 16), "TWICE"),
    pinned("token", USUAL, "failover@2", (1663, 5264, 17), "TWICE"),
    pinned("token", USUAL, "failover-split-brain", (9743, 36_458, 25), "TWICE lease"),
    pinned("token", (2, 2), "delay@2", (1129, 3374, 18), "no-orphan"),
    pinned("token", (2, 2), "client-crash client-pause@2", (1282, 4452, 18), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token", USUAL, "failover-cut-off", (1027, 2548, 16), "TWICE"),
    pinned("token", USUAL, "min-replicas", (1495, 4769, 17), ""),
    pinned("token", USUAL, "failover min-replicas", (9386, 34_468, 21), "TWICE"),
    pinned("token", USUAL, "failover-split-brain min-replicas@1", (34_488, 141_688, 27), "TWICE lease"),
    pinned("token-wait", USUAL, "min-replicas", (5377, 16_527, 29), ""),
    pinned("token-wait", USUAL, "failover min-replicas", (16_726, 58_778, 31), ""),
    pinned("token-wait", USUAL, "", (99, 227, 14), ""),
    pinned("token-wait", USUAL, "failover", (2464, 6657, 21), ""),
    pinned("token-wait", USUAL, "failover@2", (6924, 19_599, 27), ""),
    pinned("token-wait", USUAL, "failover-split-brain", (21_717, 72_181, 35), "TWICE lease"),
    pinned("token-wait", USUAL, "failover-cut-off", (4680, 11_801, 23), ""),
    pinned("token-wait", USUAL, "client-pause", (1942, 4980, 26), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token-wait", USUAL, "loss", (468, 1092, 18), ""),
    pinned("token-wait", USUAL, "node-restart-none failover", (10_777, 33_846, 29), "TWICE"),
    pinned("setnx-expire", USUAL, "", (99, 227, 14), ""),
    pinned("setnx-expire", USUAL, "client-crash", (255, 683, 14), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "client-pause", (2166, 5640, 28), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "loss", (474, 1098, 18), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "delay", (3325, 10_046, 34), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "clock-jump", (696, 1960, 23), "TWICE owner-only-release lease"),
    pinned("setnx-expire", USUAL, "failover", (667, 1756, 17), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "failover@2", (1339, 3790, 23), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "failover-split-brain", (14_125, 52_228, 36), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "min-replicas", (1627, 5131, 20), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", (3, 3), "", (513, 1654, 21), ""),
    pinned("setnx-expire", USUAL, "node-restart-everysec", (9008, 29_810, 34), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("getset-timestamp", USUAL, "", (213, 473, 20), ""),
    pinned("getset-timestamp", USUAL, "client-skew", (13_373, 29_281, 67), "TWICE owner-only-release lease no-orphan"),
    pinned("getset-timestamp", USUAL, "client-drift", (2027, 4931, 34), "TWICE owner-only-release lease"),
    pinned("getset-timestamp", USUAL, "failover", (2845, 6584, 36), "owner-only-release lease no-orphan"),
    pinned("getset-timestamp", (2, 2), "client-skew@1", (861, 1949, 21), ""),
    pinned("token-renewed", USUAL, "", (221, 661, 18), ""),
    pinned("token-renewed", USUAL, "client-pause", (3476, 12_354, 30), "TWICE lease"),
    pinned("token-renewed", USUAL, "loss", (1952, 7142, 34), "TWICE"),
    pinned("token-renewed", USUAL, "node-restart-none", (1628, 6231, 26), "TWICE"),
    pinned("token-renewed", USUAL, "failover", (2147, 8040, 26), "TWICE"),
    pinned("token-renewed", USUAL, "clock-jump", (1874, 7356, 26), "TWICE lease"),
    pinned("token-renewed", USUAL, "node-restart-everysec", (17_090, 74_614, 37), "TWICE"),
    pinned("reentrant-hash", USUAL, "", (283, 663, 14), ""),
    pinned("reentrant-hash", USUAL, "client-crash", (595, 1779, 14), ""),
    pinned("reentrant-hash", USUAL, "client-pause", (12_352, 32_258, 33), "TWICE reentrancy lease"),
    pinned("reentrant-hash", USUAL, "failover", (6641, 17_468, 28), "TWICE reentrancy"),
    pinned("redlock", USUAL, "", (4298, 9053, 40), ""),
    pinned("redlock", USUAL, "client-crash", (9360, 26_017, 40), ""),
    pinned("redlock", (2, 2), "loss", (25_616, 54_918, 50), ""),
    pinned("redlock", (2, 2), "clock-jump@1", (18_537, 59_248, 50), "TWICE lease"),
    pinned("redlock", (2, 2), "failover", (106_068, 256_970, 59), "TWICE lease"),
    pinned("redlock", (2, 2), "", (3254, 6825, 39), ""),
    pinned("redlock", (2, 2), "client-crash", (6668, 19_075, 39), ""),
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
fn worlds_of_the_token_lock_that_waits_have_their_sizes() {
    verify("token-wait");
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
