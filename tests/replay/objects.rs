//! Clients with two lock objects on real servers: each violation under its own label, and
//! under no other.

use std::path::Path;

use crate::properties::judge;
use lockproof_model::lock::LockFile;

/// A lock file whose truth is known.
async fn judge_known(name: &str, words: &str, expected: &str, told: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/objects");
    let path = folder.join(format!("{name}.lua"));
    let file = LockFile::load(&path).unwrap();
    judge(&file, path.to_str().unwrap(), words, expected, told).await;
}

#[tokio::test]
async fn a_release_of_the_other_lock_is_seen() {
    let told = ["deleted `lock`"];
    judge_known("releases-the-other-lock", "", "owner-only-release", &told).await;
}

#[tokio::test]
async fn two_holders_of_one_of_two_locks_are_seen() {
    let name = "opposite-order-with-one-try";
    judge_known(name, "node-restart-none", "mutual-exclusion-belief", &[]).await;
}
