//! What servers forget of scripts, and what they keep, is so on real servers.

use std::path::Path;

use crate::properties::judge;
use lockproof_model::lock::LockFile;

/// A lock file whose truth is known.
async fn judge_known(name: &str, words: &str, expected: &str, told: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/script-cache");
    let path = folder.join(format!("{name}.lua"));
    let file = LockFile::load(&path).unwrap();
    judge(&file, path.to_str().unwrap(), words, expected, told).await;
}

#[tokio::test]
async fn a_script_that_nobody_loaded_is_not_run() {
    judge_known("never-loaded", "", "deadlock-freedom", &[]).await;
    judge_known("release-without-fallback", "", "release-frees", &[]).await;
}

#[tokio::test]
async fn a_restart_forgets_scripts_and_keeps_data() {
    let told = ["asserts in line 25 what is not so: the script was loaded"];
    let always = "node-restart-always";
    judge_known("rests-after-the-load", always, "assertion", &told).await;
    // The release finds the key that was there before the restart.
    judge_known("loads-at-its-start", always, "release-frees", &[]).await;
}

#[tokio::test]
async fn a_replica_that_takes_over_knows_no_script() {
    let told = ["the script was loaded"];
    judge_known("rests-after-the-load", "failover", "assertion", &told).await;
    judge_known("loads-at-its-start", "failover", "deadlock-freedom", &[]).await;
    // That a script becomes known is no write: the last one is that of the lock.
    let belief = "mutual-exclusion-belief";
    judge_known("load-after-the-write", "failover", belief, &[]).await;
}

#[tokio::test]
async fn a_flush_of_all_keys_leaves_scripts_alone_and_a_flush_of_scripts_does_not() {
    let belief = "mutual-exclusion-belief";
    judge_known("loads-at-its-start", "node-flush", belief, &[]).await;
    let told = ["the script was just loaded"];
    judge_known("flushed-between", "", "assertion", &told).await;
}
