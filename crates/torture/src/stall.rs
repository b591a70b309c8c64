//! Does this process run at all? A client that the machine itself kept from
//! running has left the scenario's assumptions, and that must be known before
//! anybody is blamed.

use std::time::Duration;

use lockproof_history::Kind;
use lockproof_lab::monotonic::now_ns;
use lockproof_lab::process::thread;
use serde_json::json;

use super::actor::Voice;

/// Looks at the clock every few ms on a thread of its own, and says so when two
/// looks are further apart than `bound`. The thread ends with the process.
///
/// # Errors
/// If the machine has no thread left.
pub(super) fn watch(voice: Voice, bound: Duration) -> std::io::Result<()> {
    const LOOK: Duration = Duration::from_millis(5);
    let look = move || {
        let mut last = now_ns();
        loop {
            std::thread::sleep(LOOK);
            let now = now_ns();
            let gap = Duration::from_nanos(now - last).saturating_sub(LOOK);
            last = now;
            if gap > bound {
                let gap_ms = gap.as_millis() as u64;
                voice.say(Kind::Info, "stall", json!({ "gap_ms": gap_ms }), None);
            }
        }
    };
    thread("stalls", look).map(drop)
}
