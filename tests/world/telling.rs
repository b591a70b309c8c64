//! Worlds of locks that tell their callers of a loss: their exact sizes, and what is refused.

use std::path::Path;

use crate::counts::{PinnedFile, assert_sizes_of_files};
use crate::world_support::{check, counts, options, sizes, text, try_check};
use lockproof_model::check::Checker;
use lockproof_model::lock::LockFile;

#[rustfmt::skip]
const PINNED: [PinnedFile; 9] = [
    ("reads-replies-and-counts", "", (454, 1346, 18), ""),
    ("reads-replies-and-counts", "loss", (2318, 7214, 22), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect"),
    ("reads-replies-and-counts", "client-pause", (14_004, 50_932, 30), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect lease release-frees"),
    ("reads-replies-and-counts", "node-flush", (3980, 15_080, 26), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect lease"),
    ("reads-replies-and-counts", "failover", (6716, 25_010, 26), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect"),
    ("alarm-at-the-first-error", "loss", (1934, 5898, 21), "no-false-alarm"),
    ("never-tells", "node-restart-none", (7048, 28_634, 34), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect told-when-lost"),
    ("tells-too-late", "node-flush", (6228, 24_844, 26), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect lease told-when-lost"),
    ("renew-says-no-at-an-error", "loss", (2158, 5304, 23), "mutual-exclusion-belief mutual-exclusion-validity mutual-exclusion-effect no-false-alarm"),
];

fn known(name: &str) -> LockFile {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/soundness/telling");
    LockFile::load(&folder.join(format!("{name}.lua"))).unwrap()
}

#[test]
fn worlds_of_locks_that_tell_have_their_sizes() {
    assert_sizes_of_files("telling", &PINNED);
}

/// Nobody asks, so nothing is remembered.
#[test]
fn a_lock_that_is_not_asked_has_the_world_of_one_that_says_nothing() {
    let silent = known("never-tells");
    let told = text(&silent.text.replace("told_within = 1,", ""));
    let [asked, free] = [&silent, &told].map(|file| {
        let results = check(file, &sizes(file, 2), "node-restart-none");
        (counts(&results).0, results.len())
    });
    assert!(asked.0 > free.0, "{asked:?} {free:?}");
    assert_eq!(asked.1, free.1 + 1);
    let mut options = options(&sizes(&silent, 2), 1);
    options
        .properties
        .retain(|property| property.info().id != "told-when-lost");
    let set = crate::world_support::set("node-restart-none", 3);
    let mut checker = Checker::new(&silent, options).unwrap();
    let results = checker
        .check_set(&set, &crate::world_support::NoClock)
        .unwrap();
    assert_eq!(counts(&results).0, free.0);
}

#[test]
fn a_promise_that_is_no_whole_number_of_ticks_is_refused() {
    let file = known("tells-with-the-next-renewal");
    let mut sizes = sizes(&file, 2);
    sizes.ttl_ticks = 4;
    let error = try_check(&file, &sizes, "").unwrap_err().to_string();
    assert!(
        error.contains("`told_within` is 1.333 ticks of a lease of 4"),
        "{error}"
    );
    assert!(error.contains("--ttl-ticks"), "{error}");
}
