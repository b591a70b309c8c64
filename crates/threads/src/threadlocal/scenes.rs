//! What the threads of a process do with the handle.

use crate::claims::Claim;
use crate::event::Key::{A, B};
use crate::scene::{Scene, Stage};
use crate::world::LEASE;

pub(super) const SCENES: &[Scene] = &[
    Scene {
        id: "two-threads",
        about: "T1 locks a twice and unlocks it twice, while T2 locks a, unlocks it if it got it, and unlocks it once more",
        claims: &[Claim::Exclusion, Claim::OwnCount, Claim::NestedHold],
        variants: None,
        play: two_threads,
    },
    Scene {
        id: "two-locks",
        about: "T1 locks a while T2 locks b and unlocks it; then T1 holds a for a lease",
        claims: &[Claim::RenewalRuns],
        variants: None,
        play: two_locks,
    },
    Scene {
        id: "next-lock",
        about: "T1 locks and unlocks a, and then holds b for a lease",
        claims: &[Claim::RenewalRuns, Claim::NoLeak],
        variants: None,
        play: next_lock,
    },
    Scene {
        id: "same-lock-again",
        about: "T1 holds a until its renewal wakes, unlocks it, and locks it again without a renewal",
        claims: &[Claim::OwnExtension],
        variants: None,
        play: same_lock_again,
    },
    Scene {
        id: "handover",
        about: "T1 holds a until its renewal wakes, and unlocks it; T2 locks it without a renewal",
        claims: &[Claim::OwnExtension],
        variants: None,
        play: handover,
    },
    Scene {
        id: "long-hold",
        about: "T1 holds a for a lease and a third",
        claims: &[Claim::Lease, Claim::NoLeak],
        variants: None,
        play: |stage| hold(stage, LEASE + LEASE / 3),
    },
    Scene {
        id: "very-long-hold",
        about: "T1 holds a for more than four leases",
        claims: &[Claim::RenewalRuns, Claim::NoLeak],
        variants: None,
        play: |stage| hold(stage, 4 * LEASE + 1),
    },
    Scene {
        id: "overrun",
        about: "T1 holds a without a renewal for longer than its lease and locks it once more, while T2 tries to lock it",
        claims: &[Claim::NestedHold, Claim::OwnCount],
        variants: None,
        play: overrun,
    },
];

fn two_threads(stage: &Stage) {
    let t2 = stage.run(stage.caller(2), |t2| {
        let got = t2.lock_briefly(A);
        if got {
            t2.unlock(A);
        }
        t2.unlock(A);
    });
    let t1 = stage.caller(1);
    if t1.lock_briefly(A) && t1.lock_briefly(A) {
        t1.unlock(A);
        t1.unlock(A);
    }
    t2.join();
    stage.end();
}

fn two_locks(stage: &Stage) {
    let t2 = stage.run(stage.caller(2), |t2| {
        t2.lock(B);
        t2.unlock(B);
    });
    let t1 = stage.caller(1);
    t1.lock(A);
    t2.join();
    stage.ticks(LEASE);
    t1.unlock(A);
    stage.end();
}

fn next_lock(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    t1.unlock(A);
    t1.lock(B);
    stage.settle();
    t1.unlock(B);
    stage.end();
}

fn same_lock_again(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    stage.until_one_wakes();
    t1.unlock(A);
    t1.lock_briefly(A);
    stage.end();
}

fn handover(stage: &Stage) {
    let t1 = stage.caller(1);
    t1.lock(A);
    stage.until_one_wakes();
    let t2 = stage.run(stage.caller(2), |t2| {
        t2.lock_briefly(A);
    });
    t1.unlock(A);
    t2.join();
    stage.end();
}

fn hold(stage: &Stage, ticks: u32) {
    let t1 = stage.caller(1);
    t1.lock(A);
    stage.ticks(ticks);
    t1.unlock(A);
    stage.settle();
    stage.end();
}

fn overrun(stage: &Stage) {
    let t2 = stage.run(stage.caller(2), |t2| {
        t2.lock_briefly(A);
    });
    let t1 = stage.caller(1);
    if t1.lock_briefly(A) {
        stage.ticks(LEASE);
        t1.lock_briefly(A);
    }
    t2.join();
    stage.end();
}
