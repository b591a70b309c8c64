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
    pinned("token", USUAL, "client-pause", (2397, 6618, 20), "mutual-exclusion-belief mutual-exclusion-effect honest-outcome release-frees"),
    pinned("token", USUAL, "delay", (4107, 12_230, 20), "mutual-exclusion-belief mutual-exclusion-effect no-orphan honest-outcome release-frees"),
    pinned("token", USUAL, "loss", (376, 892, 14), ""),
    pinned("token", USUAL, "partition", (654, 1784, 14), ""),
    pinned("token", USUAL, "node-restart-none", (520, 1447, 16), "TWICE"),
    pinned("token", USUAL, "node-restart-everysec", (4514, 14_852, 22), "TWICE"),
    pinned("token", USUAL, "node-restart-always", (386, 945, 12), ""),
    pinned("token", USUAL, "clock-jump", (534, 1588, 16), "TWICE lease"),
    pinned("token", USUAL, "client-drift", (555, 1387, 17), "TWICE"),
    pinned("token", USUAL, "client-skew", (787, 2269, 18), "TWICE"),
    pinned("token", USUAL, "overrun", (338, 902, 19), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token", (3, 3), "", (417, 1366, 15), ""),
    pinned("token", (3, 3), "client-crash", (1206, 4714, 15), ""),
    pinned("token", (2, 2), "node-pause@2", (8981, 34_570, 28), "no-orphan honest-outcome release-frees"),
    pinned("token", USUAL, "client-crash loss", (776, 2398, 14), ""),
    pinned("token", USUAL, "failover", (947, 2650, 16), "TWICE"),
    pinned("token", USUAL, "failover@2", (2097, 6756, 23), "TWICE"),
    pinned("token", USUAL, "failover-split-brain", (10_963, 41_176, 26), "TWICE lease release-frees"),
    pinned("token", (2, 2), "delay@2", (2089, 6044, 18), "mutual-exclusion-belief mutual-exclusion-effect no-orphan honest-outcome release-frees"),
    pinned("token", (2, 2), "client-crash client-pause@2", (2467, 8828, 18), "mutual-exclusion-belief mutual-exclusion-effect honest-outcome release-frees"),
    pinned("token", USUAL, "failover-cut-off", (1167, 2966, 18), "TWICE"),
    pinned("token", USUAL, "min-replicas", (1733, 5575, 20), ""),
    pinned("token", USUAL, "failover min-replicas", (10_088, 37_328, 21), "TWICE"),
    pinned("token", USUAL, "failover-split-brain min-replicas@1", (36_896, 151_904, 27), "TWICE lease release-frees"),
    pinned("token-wait", USUAL, "min-replicas", (5627, 17_329, 29), ""),
    pinned("token-wait", USUAL, "failover min-replicas", (17_490, 61_544, 31), ""),
    pinned("token-wait", USUAL, "", (99, 227, 14), ""),
    pinned("token-wait", USUAL, "failover", (2882, 7849, 23), ""),
    pinned("token-wait", USUAL, "failover@2", (8516, 24_367, 39), ""),
    pinned("token-wait", USUAL, "failover-split-brain", (23_377, 77_595, 35), "TWICE lease release-frees"),
    pinned("token-wait", USUAL, "failover-cut-off", (5228, 13_253, 25), ""),
    pinned("token-wait", USUAL, "client-pause", (3385, 9156, 26), "mutual-exclusion-belief mutual-exclusion-effect honest-outcome release-frees"),
    pinned("token-wait", USUAL, "loss", (468, 1092, 18), ""),
    pinned("token-wait", USUAL, "node-restart-none failover", (12_155, 38_320, 29), "TWICE"),
    pinned("setnx-expire", USUAL, "", (99, 227, 14), ""),
    pinned("setnx-expire", USUAL, "client-crash", (255, 683, 14), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "client-pause", (2873, 7878, 27), "TWICE owner-only-release lease no-orphan deadlock-freedom release-frees"),
    pinned("setnx-expire", USUAL, "loss", (474, 1098, 18), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "delay", (5713, 16_370, 34), "TWICE owner-only-release lease no-orphan deadlock-freedom release-frees"),
    pinned("setnx-expire", USUAL, "clock-jump", (696, 1960, 23), "TWICE owner-only-release lease"),
    pinned("setnx-expire", USUAL, "failover", (837, 2250, 20), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "failover@2", (1683, 4858, 23), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "failover-split-brain", (15_247, 56_478, 36), "TWICE owner-only-release lease no-orphan deadlock-freedom release-frees"),
    pinned("setnx-expire", USUAL, "min-replicas", (1949, 6151, 23), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", (3, 3), "", (513, 1654, 21), ""),
    pinned("setnx-expire", USUAL, "node-restart-everysec", (9642, 31_898, 36), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("getset-timestamp", USUAL, "", (213, 473, 20), ""),
    pinned("getset-timestamp", USUAL, "client-skew", (15_375, 34_277, 69), "TWICE owner-only-release lease no-orphan"),
    pinned("getset-timestamp", USUAL, "client-drift", (2027, 4931, 34), "TWICE owner-only-release lease"),
    pinned("getset-timestamp", USUAL, "failover", (3443, 8030, 39), "owner-only-release lease no-orphan"),
    pinned("getset-timestamp", (2, 2), "client-skew@1", (1397, 3713, 20), ""),
    pinned("token-renewed", USUAL, "", (221, 661, 18), ""),
    pinned("token-renewed", USUAL, "client-pause", (5759, 20_880, 29), "TWICE lease release-frees"),
    pinned("token-renewed", USUAL, "loss", (1952, 7142, 34), "TWICE"),
    pinned("token-renewed", USUAL, "node-restart-none", (1628, 6231, 26), "TWICE"),
    pinned("token-renewed", USUAL, "failover", (2281, 8436, 26), "TWICE"),
    pinned("token-renewed", USUAL, "clock-jump", (1874, 7356, 26), "TWICE lease"),
    pinned("token-renewed", USUAL, "node-restart-everysec", (17_922, 77_858, 37), "TWICE"),
    pinned("reentrant-hash", USUAL, "", (283, 663, 14), ""),
    pinned("reentrant-hash", USUAL, "client-crash", (595, 1779, 14), ""),
    pinned("reentrant-hash", USUAL, "client-pause", (21_362, 61_256, 36), "TWICE reentrancy lease release-frees"),
    pinned("reentrant-hash", USUAL, "failover", (7115, 18_818, 29), "TWICE reentrancy release-frees"),
    pinned("redlock", USUAL, "", (4034, 8513, 40), ""),
    pinned("redlock", USUAL, "client-crash", (8872, 24_613, 40), ""),
    pinned("redlock", (2, 2), "loss", (23_252, 49_994, 48), ""),
    pinned("redlock", (2, 2), "clock-jump@1", (17_321, 55_360, 50), "TWICE lease"),
    pinned("redlock", (2, 2), "failover", (101_770, 247_588, 59), "TWICE lease"),
    pinned("redlock", (2, 2), "", (3030, 6365, 39), ""),
    pinned("redlock", (2, 2), "client-crash", (6260, 17_891, 39), ""),
];

fn verify(lock: &str) {
    let mut seen = 0;
    let mut changed = Vec::new();
    for pinned in PINNED.iter().filter(|pinned| pinned.lock == lock) {
        let file = builtin(lock);
        let mut sizes = sizes(&file, pinned.clients);
        sizes.ttl_ticks = pinned.ttl_ticks;
        let results = check(&file, &sizes, pinned.assumptions);
        let found = (counts(&results), violated(&results));
        let expected = (pinned.counts, pinned.violated.replace("TWICE", TWICE));
        if found != expected {
            let what = (pinned.clients, pinned.ttl_ticks, pinned.assumptions);
            changed.push(format!("{what:?}: {found:?}, and not {expected:?}"));
        }
        seen += 1;
    }
    assert!(changed.is_empty(), "{lock}:\n{}", changed.join("\n"));
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
