//! Exact sizes of worlds, pinned.
//!
//! A rule that stops offering a move, a key that merges two states, a fault
//! that no longer strikes: each makes a world smaller and may turn a violation
//! into a proof. Nothing else would say so; these numbers go red. When a rule
//! changes on purpose, the new numbers belong in the same commit.

use std::path::Path;

use crate::world_support::{Counts, NoClock, builtin, check, counts, options, set, sizes};
use lockproof_model::check::{CheckResult, Checker, Verdict};
use lockproof_model::lock::{LockFile, builtin_names};

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
const PINNED: [Pinned; 159] = [
    pinned("token", USUAL, "", (166, 390, 10), ""),
    pinned("token", USUAL, "client-crash", (412, 1138, 10), ""),
    pinned("token", USUAL, "client-pause", (4720, 13_016, 21), "mutual-exclusion-belief mutual-exclusion-effect honest-outcome release-frees"),
    pinned("token", USUAL, "delay", (8166, 24_146, 20), "mutual-exclusion-belief mutual-exclusion-effect no-orphan honest-outcome release-frees"),
    pinned("token", USUAL, "loss", (792, 1874, 14), ""),
    pinned("token", USUAL, "partition", (1394, 3784, 14), ""),
    pinned("token", USUAL, "node-restart-none", (1040, 2894, 16), "TWICE"),
    pinned("token", USUAL, "node-restart-everysec", (9720, 31_806, 23), "TWICE"),
    pinned("token", USUAL, "node-restart-always", (826, 2012, 12), ""),
    pinned("token", USUAL, "clock-jump", (980, 2890, 16), "TWICE lease"),
    pinned("token", USUAL, "client-drift", (1036, 2568, 17), "TWICE"),
    pinned("token", USUAL, "client-skew", (1516, 4354, 19), "TWICE"),
    pinned("token", USUAL, "overrun", (694, 1850, 20), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token", (3, 3), "", (834, 2732, 15), ""),
    pinned("token", (3, 3), "client-crash", (2493, 9599, 15), ""),
    pinned("token", (2, 2), "node-pause@2", (18_696, 72_039, 29), "no-orphan honest-outcome release-frees"),
    pinned("token", USUAL, "client-crash loss", (1698, 5136, 14), ""),
    pinned("token", USUAL, "failover", (2044, 5706, 17), "TWICE"),
    pinned("token", USUAL, "failover@2", (4888, 15_936, 23), "TWICE"),
    pinned("token", USUAL, "failover-split-brain", (26_620, 100_216, 27), "TWICE lease release-frees"),
    pinned("token", (2, 2), "delay@2", (4061, 11_622, 19), "mutual-exclusion-belief mutual-exclusion-effect no-orphan honest-outcome release-frees"),
    pinned("token", (2, 2), "client-crash client-pause@2", (4944, 17_438, 19), "mutual-exclusion-belief mutual-exclusion-effect honest-outcome release-frees"),
    pinned("token", USUAL, "failover-cut-off", (2530, 6422, 19), "TWICE"),
    pinned("token", USUAL, "min-replicas", (3736, 11_948, 20), ""),
    pinned("token", USUAL, "failover min-replicas", (21_268, 78_550, 21), "TWICE"),
    pinned("token", USUAL, "failover-split-brain min-replicas@1", (84_550, 347_594, 28), "TWICE lease release-frees"),
    pinned("token-wait", USUAL, "min-replicas", (11_808, 36_230, 30), ""),
    pinned("token-wait", USUAL, "failover min-replicas", (36_936, 129_514, 32), ""),
    pinned("token-signalled", USUAL, "", (1700, 3928, 21), ""),
    pinned("token-signalled", USUAL, "client-crash", (4484, 12_060, 22), ""),
    pinned("token-signalled", USUAL, "loss", (8720, 19_782, 26), ""),
    pinned("token-wait", USUAL, "", (198, 454, 14), ""),
    pinned("token-wait", USUAL, "failover", (6152, 16_804, 24), ""),
    pinned("token-wait", USUAL, "failover@2", (19_666, 56_506, 39), ""),
    pinned("token-wait", USUAL, "failover-split-brain", (53_472, 176_222, 36), "TWICE lease release-frees"),
    pinned("token-wait", USUAL, "failover-cut-off", (11_518, 29_422, 26), ""),
    pinned("token-wait", USUAL, "client-pause", (6586, 17_810, 27), "mutual-exclusion-belief mutual-exclusion-effect honest-outcome release-frees"),
    pinned("token-wait", USUAL, "loss", (972, 2266, 18), ""),
    pinned("token-wait", USUAL, "node-restart-none failover", (25_480, 80_396, 29), "TWICE"),
    pinned("setnx-expire", USUAL, "", (198, 454, 14), ""),
    pinned("setnx-expire", USUAL, "client-crash", (534, 1398, 14), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "client-pause", (5678, 15_594, 28), "TWICE owner-only-release lease no-orphan deadlock-freedom release-frees"),
    pinned("setnx-expire", USUAL, "loss", (972, 2250, 18), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "delay", (11_158, 31_902, 35), "TWICE owner-only-release lease no-orphan deadlock-freedom release-frees"),
    pinned("setnx-expire", USUAL, "clock-jump", (1418, 3982, 25), "TWICE owner-only-release lease"),
    pinned("setnx-expire", USUAL, "failover", (1828, 4918, 21), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "failover@2", (3618, 10_478, 23), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("setnx-expire", USUAL, "failover-split-brain", (34_654, 128_622, 44), "TWICE owner-only-release lease no-orphan deadlock-freedom release-frees"),
    pinned("setnx-expire", USUAL, "min-replicas", (4120, 12_952, 24), "no-orphan deadlock-freedom"),
    pinned("setnx-expire", (3, 3), "", (1026, 3308, 21), ""),
    pinned("setnx-expire", USUAL, "node-restart-everysec", (21_000, 69_368, 43), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("getset-timestamp", USUAL, "", (426, 946, 20), ""),
    pinned("getset-timestamp", USUAL, "client-skew", (21_922, 49_016, 81), "TWICE owner-only-release lease no-orphan"),
    pinned("getset-timestamp", USUAL, "client-drift", (3260, 7728, 34), "TWICE owner-only-release lease"),
    pinned("getset-timestamp", USUAL, "failover", (8400, 19_322, 41), "owner-only-release lease no-orphan"),
    pinned("getset-timestamp", (2, 2), "client-skew@1", (2794, 7426, 20), ""),
    pinned("token-renewed", USUAL, "", (442, 1322, 18), ""),
    pinned("token-renewed", USUAL, "client-pause", (11_000, 39_828, 30), "TWICE lease release-frees"),
    pinned("token-renewed", USUAL, "loss", (2958, 10_262, 34), "TWICE"),
    pinned("token-renewed", USUAL, "node-restart-none", (3256, 12_462, 26), "TWICE"),
    pinned("token-renewed", USUAL, "failover", (4748, 17_384, 26), "TWICE"),
    pinned("token-renewed", USUAL, "clock-jump", (3648, 14_292, 30), "TWICE lease"),
    pinned("token-renewed", USUAL, "node-restart-everysec", (37_838, 162_814, 37), "TWICE"),
    pinned("token-extended", USUAL, "", (486, 1190, 11), ""),
    pinned("token-extended", USUAL, "client-crash", (1004, 3122, 11), ""),
    pinned("token-extended", USUAL, "loss", (3976, 10_138, 27), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token-extended", USUAL, "overrun", (7050, 19_602, 27), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("token-extended", USUAL, "node-flush", (13_772, 37_584, 23), "TWICE lease"),
    pinned("reentrant-hash", USUAL, "", (566, 1326, 14), ""),
    pinned("reentrant-hash", USUAL, "client-crash", (1226, 3606, 14), ""),
    pinned("reentrant-hash", USUAL, "client-pause", (41_394, 118_948, 37), "TWICE reentrancy lease release-frees"),
    pinned("reentrant-hash", USUAL, "failover", (14_092, 37_406, 30), "TWICE reentrancy release-frees"),
    pinned("redlock", USUAL, "", (8068, 17_026, 40), ""),
    pinned("redlock", USUAL, "client-crash", (18_414, 50_028, 40), ""),
    pinned("redlock", (2, 2), "loss", (53_644, 114_748, 49), ""),
    pinned("redlock", (2, 2), "clock-jump@1", (33_277, 107_606, 50), "TWICE lease"),
    pinned("redlock", (2, 2), "failover", (220_254, 532_332, 59), "TWICE lease"),
    pinned("redlock", (2, 2), "", (6060, 12_730, 39), ""),
    pinned("redlock", (2, 2), "client-crash", (12_940, 36_268, 39), ""),
    pinned("exists-set", USUAL, "", (842, 2262, 22), "TWICE owner-only-release lease"),
    pinned("exists-set", USUAL, "client-crash", (1548, 5342, 22), "TWICE owner-only-release lease no-orphan deadlock-freedom"),
    pinned("exists-set", USUAL, "node-flush", (1966, 5836, 23), "TWICE owner-only-release lease"),
    pinned("exists-set", USUAL, "overrun", (2100, 6084, 32), "TWICE owner-only-release lease"),
    pinned("setnx-del", USUAL, "", (142, 342, 10), "lease"),
    pinned("setnx-del", USUAL, "client-crash", (312, 922, 10), "lease no-orphan deadlock-freedom"),
    pinned("setnx-del", USUAL, "node-flush", (844, 2392, 17), "TWICE owner-only-release lease"),
    pinned("setnx-del", USUAL, "overrun", (332, 844, 17), "lease"),
    pinned("setnx-expire-lua", USUAL, "", (166, 390, 10), ""),
    pinned("setnx-expire-lua", USUAL, "client-crash", (412, 1138, 10), ""),
    pinned("setnx-expire-lua", USUAL, "node-flush", (936, 2624, 17), "TWICE owner-only-release lease"),
    pinned("setnx-expire-lua", USUAL, "overrun", (1098, 3054, 22), "TWICE owner-only-release lease"),
    pinned("set-nx-px", USUAL, "", (166, 390, 10), ""),
    pinned("set-nx-px", USUAL, "client-crash", (412, 1138, 10), ""),
    pinned("set-nx-px", USUAL, "node-flush", (936, 2624, 17), "TWICE owner-only-release lease"),
    pinned("set-nx-px", USUAL, "overrun", (1098, 3054, 22), "TWICE owner-only-release lease"),
    pinned("del-setnx-takeover", USUAL, "", (426, 946, 20), ""),
    pinned("del-setnx-takeover", USUAL, "client-crash", (1222, 2992, 23), "no-orphan"),
    pinned("del-setnx-takeover", USUAL, "node-flush", (1932, 5000, 23), "TWICE owner-only-release lease"),
    pinned("del-setnx-takeover", (3, 3), "client-crash", (25_032, 87_239, 49), "TWICE owner-only-release lease no-orphan"),
    pinned("del-setnx-takeover", USUAL, "overrun", (1944, 4932, 30), "TWICE owner-only-release lease"),
    pinned("token-get-del", USUAL, "", (246, 550, 14), ""),
    pinned("token-get-del", USUAL, "client-crash", (580, 1610, 14), ""),
    pinned("token-get-del", USUAL, "node-flush", (1548, 4088, 22), "TWICE owner-only-release lease honest-outcome"),
    pinned("token-get-del", USUAL, "overrun", (1054, 2626, 26), "TWICE"),
    pinned("token-watch", USUAL, "", (326, 710, 18), ""),
    pinned("token-watch", USUAL, "client-pause", (12_356, 32_580, 32), "mutual-exclusion-belief mutual-exclusion-effect honest-outcome release-frees"),
    pinned("token-watch", USUAL, "loss", (1540, 3500, 22), ""),
    pinned("token-watch", USUAL, "delay", (23_966, 68_606, 32), "mutual-exclusion-belief mutual-exclusion-effect no-orphan honest-outcome release-frees"),
    pinned("token-watch", USUAL, "node-restart-always", (1314, 3148, 19), ""),
    pinned("token-watch", USUAL, "node-flush", (2536, 6344, 29), "TWICE lease"),
    pinned("token-setnx-expire-lua", USUAL, "", (498, 1058, 18), ""),
    pinned("token-setnx-expire-lua", USUAL, "client-crash", (1052, 2846, 19), ""),
    pinned("token-setnx-expire-lua", USUAL, "node-flush", (1932, 5004, 20), "TWICE lease"),
    pinned("token-setnx-expire-lua", USUAL, "overrun", (1554, 3714, 23), "TWICE"),
    pinned("rw-two-keys", USUAL, "", (1020, 2366, 22), "mutual-exclusion-belief mutual-exclusion-validity owner-only-release lease read-write-exclusion"),
    pinned("rw-two-keys", USUAL, "client-crash", (2524, 6918, 22), "mutual-exclusion-belief mutual-exclusion-validity owner-only-release lease no-orphan read-write-exclusion"),
    pinned("rw-two-keys", USUAL, "loss", (4958, 12_094, 23), "mutual-exclusion-belief mutual-exclusion-validity owner-only-release lease no-orphan read-write-exclusion"),
    pinned("rw-two-keys", USUAL, "node-restart-none", (3966, 10_540, 22), "TWICE owner-only-release lease read-write-exclusion"),
    pinned("rw-hash", USUAL, "", (1486, 3586, 22), "mutual-exclusion-belief mutual-exclusion-validity owner-only-release lease honest-outcome read-write-exclusion"),
    pinned("rw-hash", USUAL, "client-crash", (4980, 12_704, 28), "mutual-exclusion-belief mutual-exclusion-validity owner-only-release lease no-orphan honest-outcome read-write-exclusion"),
    pinned("rw-hash", USUAL, "node-restart-none", (5482, 14_990, 22), "TWICE owner-only-release lease honest-outcome read-write-exclusion"),
    pinned("redisson", USUAL, "", (36_072, 96_994, 55), ""),
    pinned("redisson", USUAL, "client-crash", (44_268, 179_186, 55), ""),
    pinned("redisson", USUAL, "loss", (320_424, 860_066, 71), "TWICE reentrancy release-frees no-lost-wake-up"),
    pinned("redisson-watchdog", USUAL, "", (59_928, 193_814, 55), ""),
    pinned("redisson-watchdog", USUAL, "client-crash", (71_492, 335_386, 55), ""),
    pinned("redisson-watchdog", USUAL, "loss", (671_188, 2_215_240, 66), "TWICE reentrancy no-orphan release-frees no-lost-wake-up"),
    pinned("redisson-multi", (2, 2), "", (76_520, 157_798, 63), ""),
    pinned("redisson-multi", (2, 2), "client-crash", (150_934, 433_918, 63), ""),
    pinned("redisson-multi", (2, 2), "overrun", (173_890, 363_244, 65), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect"),
    pinned("redisson-fair", (2, 1), "", (5648, 12_678, 47), ""),
    pinned("redisson-fair", (2, 1), "client-crash", (7814, 26_496, 47), "no-orphan"),
    pinned("redisson-fair", (2, 2), "", (21_886, 50_794, 60), ""),
    pinned("redisson-rw", (2, 2), "", (16_319, 40_275, 63), "mutual-exclusion-belief mutual-exclusion-validity owner-only-release reentrancy lease no-orphan honest-outcome read-write-exclusion"),
    pinned("redisson-rw", (2, 2), "client-crash", (32_153, 102_227, 63), "mutual-exclusion-belief mutual-exclusion-validity owner-only-release reentrancy lease no-orphan honest-outcome read-write-exclusion"),
    pinned("redisson-rw", (2, 2), "node-flush", (54_520, 148_835, 63), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect owner-only-release reentrancy lease no-orphan honest-outcome read-write-exclusion"),
    pinned("threadlocal-reentrant", USUAL, "", (19_848, 87_862, 29), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect reentrancy lease honest-outcome"),
    pinned("threadlocal-reentrant", USUAL, "client-crash", (24_176, 140_762, 29), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect reentrancy lease honest-outcome"),
    pinned("threadlocal-reentrant", USUAL, "failover", (125_242, 630_323, 30), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect reentrancy lease honest-outcome release-frees"),
    pinned("delifeq", USUAL, "", (166, 390, 10), ""),
    pinned("delifeq", USUAL, "client-crash", (412, 1138, 10), ""),
    pinned("delifeq", USUAL, "node-flush", (932, 2652, 17), "TWICE lease"),
    pinned("delifeq", USUAL, "overrun", (694, 1850, 20), "mutual-exclusion-belief mutual-exclusion-effect"),
    pinned("fenced", USUAL, "", (220, 502, 13), ""),
    pinned("fenced", USUAL, "client-pause", (6980, 18_516, 23), "mutual-exclusion-belief honest-outcome release-frees"),
    pinned("fenced", USUAL, "overrun", (758, 1916, 20), "mutual-exclusion-belief"),
    pinned("fenced", USUAL, "delay", (12_236, 34_450, 23), "mutual-exclusion-belief no-orphan honest-outcome release-frees"),
    pinned("fenced", USUAL, "node-restart-none", (9414, 24_690, 39), "TWICE fence-monotonicity"),
    pinned("fenced", USUAL, "node-flush", (13_028, 35_262, 40), "TWICE lease fence-monotonicity"),
    pinned("fenced", USUAL, "failover", (12_314, 32_568, 33), "TWICE fence-monotonicity"),
    pinned("fenced", USUAL, "node-restart-everysec", (109_562, 349_976, 45), "TWICE fence-monotonicity"),
    pinned("fenced", USUAL, "node-restart-always", (1786, 4138, 18), ""),
    pinned("fenced-redlock", USUAL, "", (678_456, 1_415_874, 138), "?mutual-exclusion-effect fence-monotonicity"),
    pinned("fenced-redlock", (2, 2), "", (538_192, 1_117_346, 138), "?mutual-exclusion-effect fence-monotonicity"),
    pinned("fenced-redlock", (2, 2), "client-crash", (1_275_812, 3_356_220, 139), "?mutual-exclusion-effect fence-monotonicity"),
    pinned("reentrant-hash-renewed", USUAL, "", (1902, 5906, 22), ""),
    pinned("reentrant-hash-renewed", USUAL, "client-crash", (3470, 13_530, 22), ""),
    pinned("reentrant-hash-renewed", USUAL, "node-flush", (68_598, 270_208, 34), "TWICE reentrancy lease"),
    pinned("reentrant-hash-renewed", USUAL, "overrun", (1902, 5906, 22), ""),
];

/// The ids of the violated properties, and of the unknown ones behind a question mark.
fn not_holding(results: &[CheckResult]) -> String {
    let word = |result: &CheckResult| match result.verdict {
        Verdict::Violated => Some(result.property.clone()),
        Verdict::Unknown => Some(format!("?{}", result.property)),
        _ => None,
    };
    let words: Vec<String> = results.iter().filter_map(word).collect();
    words.join(" ")
}

/// A file of a folder of known truth, faults, sizes, and what does not hold.
pub type PinnedFile = (&'static str, &'static str, Counts, &'static str);

/// Panics if the world of a file in this folder of `tests/soundness` has another size, or
/// other answers, than is pinned.
pub fn assert_sizes_of_files(folder: &str, pinned: &[PinnedFile]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/soundness")
        .join(folder);
    let mut changed = Vec::new();
    for (name, assumptions, expected, broken) in pinned {
        let file = LockFile::load(&folder.join(format!("{name}.lua"))).unwrap();
        let results = check(&file, &sizes(&file, 2), assumptions);
        let found = (counts(&results), not_holding(&results));
        if found != (*expected, (*broken).to_owned()) {
            changed.push(format!("{name} under {assumptions:?}: {found:?}"));
        }
    }
    assert!(changed.is_empty(), "{}", changed.join("\n"));
}

fn verify(lock: &str) {
    let mut seen = 0;
    let mut changed = Vec::new();
    for pinned in PINNED.iter().filter(|pinned| pinned.lock == lock) {
        let file = builtin(lock);
        let mut sizes = sizes(&file, pinned.clients);
        sizes.ttl_ticks = pinned.ttl_ticks;
        let results = check(&file, &sizes, pinned.assumptions);
        let found = (counts(&results), not_holding(&results));
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
fn worlds_of_the_token_lock_whose_waiters_sleep_at_the_server_have_their_sizes() {
    verify("token-signalled");
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
fn worlds_of_the_token_that_is_renewed_by_hand_have_their_sizes() {
    verify("token-extended");
}

#[test]
fn worlds_of_the_reentrant_hash_have_their_sizes() {
    verify("reentrant-hash");
}

#[test]
fn worlds_of_the_simpler_locks_have_their_sizes() {
    for lock in [
        "exists-set",
        "setnx-del",
        "setnx-expire-lua",
        "set-nx-px",
        "del-setnx-takeover",
        "token-get-del",
        "token-setnx-expire-lua",
        "delifeq",
        "fenced",
        "token-watch",
    ] {
        verify(lock);
    }
}

#[test]
fn worlds_of_locks_of_the_documents_classes_have_their_sizes() {
    verify("threadlocal-reentrant");
    verify("redisson-multi");
}

#[test]
fn worlds_of_locks_with_readers_and_writers_have_their_sizes() {
    verify("redisson-rw");
    verify("rw-two-keys");
    verify("rw-hash");
}

#[test]
fn worlds_of_locks_that_wait_for_messages_have_their_sizes() {
    verify("redisson");
    verify("redisson-watchdog");
    verify("redisson-fair");
}

#[test]
fn worlds_of_the_renewed_hash_have_their_sizes() {
    verify("reentrant-hash-renewed");
}

#[test]
fn worlds_of_redlock_have_their_sizes() {
    verify("redlock");
}

#[test]
fn worlds_of_redlock_with_fences_have_their_sizes() {
    verify("fenced-redlock");
}

#[test]
fn fences_that_all_servers_draw_for_a_holder_grow() {
    let file = builtin("fenced-redlock");
    for (all, expected) in [
        (0.0, "?mutual-exclusion-effect fence-monotonicity"),
        (1.0, ""),
    ] {
        let mut sizes = sizes(&file, 2);
        sizes.ttl_ticks = 2;
        sizes.params.insert("one_script".into(), 0.0);
        sizes.params.insert("all_servers".into(), all);
        assert_eq!(not_holding(&check(&file, &sizes, "")), expected, "{all}");
    }
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
