//! Worlds of clients with two lock objects: their exact sizes, and what is refused.

use crate::counts::{PinnedFile, assert_sizes_of_files};
use lockproof_model::lock::LockFile;

#[rustfmt::skip]
const PINNED: [PinnedFile; 6] = [
    ("same-order-with-endless-waiting", "", (3962, 13_086, 35), "?mutual-exclusion-effect"),
    ("opposite-order-with-endless-waiting", "", (8944, 30_950, 38), "?mutual-exclusion-effect deadlock-freedom"),
    ("opposite-order-with-one-try", "", (888, 2022, 16), "?mutual-exclusion-effect"),
    ("opposite-order-with-one-try", "client-crash", (2392, 6322, 16), "?mutual-exclusion-effect"),
    ("opposite-order-with-one-try", "node-restart-none", (6866, 16_146, 19), "mutual-exclusion-belief mutual-exclusion-validity ?mutual-exclusion-effect"),
    ("releases-the-other-lock", "", (21_736, 53_072, 47), "mutual-exclusion-belief mutual-exclusion-validity ?mutual-exclusion-effect owner-only-release lease honest-outcome release-frees"),
];

#[test]
fn worlds_of_two_lock_objects_have_their_sizes() {
    assert_sizes_of_files("objects", &PINNED);
}

#[test]
fn what_is_not_followed_beside_two_objects_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock.lua");
    for (field, says) in [
        (
            "callers = 2,",
            "two callers of one process beside `objects`",
        ),
        (
            "nodes = { default = 1, min = 1, max = 3 },",
            "several servers beside `objects`",
        ),
        ("fair = true,", "starvation-freedom beside `objects`"),
        (
            "renew = function() return true end,",
            "an operation `renew` beside `objects`",
        ),
        (
            "is_held = function() return true end,",
            "an operation `is_held` beside `objects`",
        ),
    ] {
        let text = format!(
            "return {{\n  objects = 2,\n  {field}\n  acquire = function(lock)\n    return busy()\n  end,\n  \
             release = function(lock)\n    return true\n  end,\n}}\n"
        );
        std::fs::write(&path, text).unwrap();
        let error = LockFile::load(&path).unwrap_err().to_string();
        assert!(error.contains("lock.lua:3: "), "{field}: {error}");
        assert!(error.contains(says), "{field}: {error}");
    }
}
