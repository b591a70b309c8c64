//! Work on the real side that somebody may end.

use std::pin::pin;
use std::time::Duration;

/// How often it is asked.
const LOOK: Duration = Duration::from_millis(20);

/// What `work` gives; `None` if `stop` said so before. Work that is stopped is dropped:
/// its servers, proxies and clients end, and their folders go.
pub async fn unless<T>(mut stop: impl FnMut() -> bool, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    let mut looks = tokio::time::interval(LOOK);
    loop {
        tokio::select! {
            biased;
            done = &mut work => return Some(done),
            _ = looks.tick() => if stop() {
                return None;
            }
        }
    }
}
