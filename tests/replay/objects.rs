//! Clients with two lock objects on real servers: each violation under its own label, and
//! under no other.

use std::path::Path;

use crate::properties::judge;
use lockproof_model::lock::LockFile;

#[tokio::test]
async fn two_holders_of_one_of_two_locks_are_seen() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/objects");
    let path = folder.join("opposite-order-with-one-try.lua");
    let file = LockFile::load(&path).unwrap();
    let belief = "mutual-exclusion-belief";
    judge(
        &file,
        path.to_str().unwrap(),
        "node-restart-none",
        belief,
        &[],
    )
    .await;
}
