//! What a lock file says of its lock to readers changes no verdict.

use crate::world_support::{builtin, check, sizes};
use lockproof_model::lock::LockFile;

#[test]
fn a_lock_is_explored_alike_with_and_without_a_word_about_it() {
    for name in ["token", "setnx-expire", "reentrant-hash", "token-renewed"] {
        let whole = builtin(name);
        let (before, _) = whole.text.rsplit_once("\n  about = {").unwrap();
        let bare = LockFile::from_text(name, &format!("{before}\n}}\n"), None).unwrap();
        let results = [&whole, &bare].map(|file| {
            let mut results = check(file, &sizes(file, 2), "client-crash node-flush");
            for trace in results.iter_mut().filter_map(|one| one.trace.as_mut()) {
                // The hash of the whole text.
                trace.lock.sha256.clear();
            }
            results
        });
        assert_eq!(results[0], results[1], "{name}");
        assert!(results[0].iter().any(|one| one.trace.is_some()), "{name}");
    }
}
