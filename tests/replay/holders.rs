//! What a holder's operations claim, and what a lock asserts, is seen on real servers: each
//! violation under its own label, and under no other.

use std::path::Path;

use crate::properties::judge;
use lockproof_model::lock::LockFile;

const HONEST: &str = "honest-outcome";
const LEASE: &str = "lease";
const ASSERTION: &str = "assertion";

/// A lock file whose truth is known.
async fn judge_known(name: &str, words: &str, expected: &str, told: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/operations");
    let path = folder.join(format!("{name}.lua"));
    let file = LockFile::load(&path).unwrap();
    judge(&file, path.to_str().unwrap(), words, expected, told).await;
}

#[tokio::test]
async fn a_renewal_that_did_nothing_is_seen() {
    let told = [
        "renewal reports success",
        "it wrote or prolonged the lock on none of 1 nodes",
    ];
    judge_known("renewal-only-looks", "", HONEST, &told).await;
    judge_known("renewal-says-yes-unseen", "", HONEST, &told).await;
    let told = ["with a validity of 0 ms"];
    judge_known("renewal-with-nothing-left", "", HONEST, &told).await;
}

#[tokio::test]
async fn a_renewal_that_makes_a_key_is_seen_whenever_it_arrives() {
    let told = ["sent by a holder's operation of A", "created `lock`"];
    judge_known("renewal-revives", "overrun", LEASE, &told).await;
    judge_known("renewal-arrives-after-the-release", "delay", LEASE, &told).await;
    let told = ["renew succeeds validly", "with an expiry within 3000 ms"];
    judge_known("renewal-for-two-leases", "", LEASE, &told).await;
}

#[tokio::test]
async fn an_answer_is_compared_with_what_stood_on_the_servers() {
    let told = ["says that it holds the lock, which stood meanwhile as its own on none of 1 nodes"];
    judge_known("held-from-memory", "node-flush", HONEST, &told).await;
    judge_known("held-from-memory", "overrun", HONEST, &told).await;
    let told = ["says that it does not hold the lock, which has stood as it wrote it on N1"];
    judge_known("held-is-denied", "", HONEST, &told).await;
    judge_known("no-reply-is-no", "loss", HONEST, &told).await;
}

#[tokio::test]
async fn a_broken_assertion_is_said_by_the_worker_with_its_line() {
    let told = ["asserts in line 19 what is not so: the holder's token is there"];
    judge_known("asserts-what-can-be-lost", "overrun", ASSERTION, &told).await;
    let told = ["asserts in line 12 what is not so: nobody else has the lock"];
    judge_known("asserts-that-it-is-alone", "", ASSERTION, &told).await;
    let told = ["there is something to renew"];
    judge_known("asserts-in-the-background", "node-flush", ASSERTION, &told).await;
    // The client goes on behind it, past a comparison that is open.
    let told = ["nobody else has the lock"];
    judge_known("asserts-before-an-open-comparison", "", ASSERTION, &told).await;
}

#[tokio::test]
async fn who_tries_and_takes_it_anyway_holds_it_beside_the_other() {
    let told = ["A holds the lock", "B holds the lock"];
    judge_known(
        "tries-and-takes-it-anyway",
        "",
        "mutual-exclusion-belief",
        &told,
    )
    .await;
}
