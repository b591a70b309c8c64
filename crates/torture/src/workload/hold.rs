//! Hold the lock for a while, and count up a guarded counter.

use serde_json::json;

use super::super::actor::ActorError;
use super::Bench;

/// Where the counter is kept.
pub const COUNTER: &str = "counter";

pub(super) async fn once(bench: &mut dyn Bench) -> Result<(), ActorError> {
    bench.invoke("read", json!(null));
    let read = bench.store().number(COUNTER).await?;
    bench.ok("read", json!({ "value": read }));
    bench.work().await?;
    let value = json!({ "read": read, "wrote": read + 1 });
    bench.invoke("write", value.clone());
    bench.store().set(COUNTER, &(read + 1).to_string()).await?;
    bench.ok("write", value);
    Ok(())
}
