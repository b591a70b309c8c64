//! What connections watch, and when they end, is so on real servers.

use std::path::Path;

use crate::properties::judge;
use lockproof_model::lock::LockFile;

/// A lock file whose truth is known.
async fn judge_known(name: &str, words: &str, expected: &str, told: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/watches");
    let path = folder.join(format!("{name}.lua"));
    let file = LockFile::load(&path).unwrap();
    judge(&file, path.to_str().unwrap(), words, expected, told).await;
}

#[tokio::test]
async fn a_transaction_is_not_sent_when_its_server_has_restarted_or_was_replaced() {
    let told = ["it was not sent"];
    let always = "node-restart-always";
    judge_known("a-restart-ends-its-watch", always, "assertion", &told).await;
    judge_known("a-failover-ends-its-watch", "failover", "assertion", &told).await;
}

#[tokio::test]
async fn a_watch_sees_the_end_of_a_key_and_the_deletion_of_all() {
    let told = ["nobody touches the key"];
    judge_known("expires-is-never-the-case", "", "assertion", &told).await;
    let told = ["the key was touched"];
    judge_known("flushed-under-its-watch", "node-flush", "assertion", &told).await;
}

#[tokio::test]
async fn a_connection_goes_on_watching_until_it_is_told_not_to() {
    let told = ["nothing is watched here"];
    judge_known("goes-on-watching", "overrun", "assertion", &told).await;
}

#[tokio::test]
async fn what_no_watch_guards_deletes_the_lock_of_another() {
    let property = "owner-only-release";
    judge_known("watches-nothing", "client-pause", property, &[]).await;
    judge_known("compares-before-it-watches", "client-pause", property, &[]).await;
    judge_known("given-up-and-late", "delay", property, &[]).await;
    let both = "client-pause loss";
    judge_known("ignores-that-it-could-not-watch", both, property, &[]).await;
}
