//! What the threads of a process do with the handle.
//!
//! Timers fire on the scene's own thread. A caller that works against a timer has a thread.

use crate::claims::Claim;
use crate::event::Key::{A, B};
use crate::scene::{Scene, Stage};
use crate::world::LEASE;

pub(super) const SCENES: &[Scene] = &[
    Scene {
        id: "two-threads",
        about: "T1 and T2 lock a and unlock it",
        claims: &[Claim::Exclusion, Claim::OwnCount, Claim::OneRenewal],
        variants: None,
        play: two_threads,
    },
    Scene {
        id: "handover",
        about: "T1 unlocks a while T2 locks it and keeps it",
        claims: &[Claim::Exclusion, Claim::RenewalRuns, Claim::OneRenewal],
        variants: None,
        play: handover,
    },
    Scene {
        id: "lock-again",
        about: "T1 locks a, unlocks it, and locks it again until the timer has fired",
        claims: &[Claim::RenewalRuns, Claim::OneRenewal, Claim::NoLeak],
        variants: None,
        play: lock_again,
    },
    Scene {
        id: "unlock-against-renewal",
        about: "T1 unlocks a and locks it again while the timer fires",
        claims: &[
            Claim::RenewalRuns,
            Claim::OneRenewal,
            Claim::OwnExtension,
            Claim::NoLeak,
        ],
        variants: None,
        play: unlock_against_renewal,
    },
    Scene {
        id: "handover-and-renewal",
        about: "T1 unlocks a and T2 locks it while the timer fires",
        claims: &[Claim::RenewalRuns],
        variants: Some(&["documented", "repaired"]),
        play: handover_and_renewal,
    },
    Scene {
        id: "late-renewal",
        about: "T1 unlocks a, and then T2 locks it, while the timer fires",
        claims: &[Claim::RenewalRuns, Claim::OwnExtension],
        variants: None,
        play: late_renewal,
    },
    Scene {
        id: "nested",
        about: "T1, which holds a, locks and unlocks it once more while the timer fires, and then unlocks it",
        claims: &[Claim::RenewalRuns, Claim::OwnCount, Claim::NoLeak],
        variants: None,
        play: nested,
    },
    Scene {
        id: "two-locks",
        about: "T1 unlocks a while T2 locks b and keeps it",
        claims: &[Claim::RenewalRuns],
        variants: None,
        play: two_locks,
    },
    Scene {
        id: "long-hold",
        about: "T1 holds a for two leases, and T2 tries to lock it",
        claims: &[Claim::Lease, Claim::Exclusion, Claim::NoLeak],
        variants: None,
        play: long_hold,
    },
];

fn two_threads(stage: &Stage) {
    let other = stage.run(stage.caller(2), |t2| {
        if t2.lock(A) {
            t2.unlock(A);
        }
    });
    let t1 = stage.caller(1);
    if t1.lock(A) {
        t1.unlock(A);
    }
    other.join();
    stage.end();
}

fn handover(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    let other = stage.run(stage.caller(2), |t2| {
        t2.lock(A);
    });
    t1.unlock(A);
    other.join();
    stage.quiet();
    stage.end();
}

fn lock_again(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    t1.unlock(A);
    t1.lock(A);
    stage.ticks(1);
    stage.quiet();
    t1.unlock(A);
    stage.settle();
    stage.end();
}

fn unlock_against_renewal(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    stage.until_one_wakes();
    t1.unlock(A);
    t1.lock(A);
    stage.quiet();
    t1.unlock(A);
    stage.settle();
    stage.end();
}

fn handover_and_renewal(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    stage.until_one_wakes();
    let t2 = stage.run(stage.caller(2), |t2| {
        t2.lock(A);
    });
    t1.unlock(A);
    t2.join();
    stage.quiet();
    stage.end();
}

fn late_renewal(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    stage.until_one_wakes();
    t1.unlock(A);
    // On the same thread of loom's: the one comes after the other.
    stage.caller(2).lock(A);
    stage.quiet();
    stage.end();
}

fn nested(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    let t1 = stage.run(t1, |t1| {
        t1.lock(A);
        t1.unlock(A);
    });
    stage.ticks(1);
    let t1 = t1.join();
    stage.quiet();
    t1.unlock(A);
    stage.settle();
    stage.end();
}

fn two_locks(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    let other = stage.run(stage.caller(2), |t2| {
        t2.lock(B);
    });
    t1.unlock(A);
    other.join();
    stage.quiet();
    stage.end();
}

fn long_hold(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    let other = stage.run(stage.caller(2), |t2| {
        t2.lock(A);
    });
    stage.ticks(2 * LEASE);
    other.join();
    t1.unlock(A);
    stage.settle();
    stage.end();
}
