//! What a lock tells its caller of a loss is seen on real servers: each violation under its
//! own label, and under no other.

use std::path::Path;

use crate::properties::judge;
use lockproof_model::lock::LockFile;

const ALARM: &str = "no-false-alarm";
const TOLD: &str = "told-when-lost";

/// A lock file whose truth is known.
async fn judge_known(name: &str, words: &str, expected: &str, told: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/telling");
    let path = folder.join(format!("{name}.lua"));
    let file = LockFile::load(&path).unwrap();
    judge(&file, path.to_str().unwrap(), words, expected, told).await;
}

#[tokio::test]
async fn a_false_alarm_is_seen_with_what_is_left_of_the_lease() {
    let told = ["is told that the lock is lost", "on N1 ("];
    judge_known("alarm-at-the-first-error", "loss", ALARM, &told).await;
    judge_known("renew-says-no-at-an-error", "loss", ALARM, &told).await;
}

#[tokio::test]
async fn a_loss_of_which_nobody_tells_is_seen_when_the_time_is_over() {
    let told = ["has held validly for", "what is not on a quorum"];
    judge_known("never-tells", "node-restart-none", TOLD, &told).await;
    judge_known("tells-too-late", "node-flush", TOLD, &told).await;
    judge_known("counts-only-errors", "partition", TOLD, &told).await;
}
