//! Take one coupon from a stock (a flash sale).

use serde_json::json;

use super::super::actor::ActorError;
use super::Bench;

/// Where the number of coupons left is kept.
pub const STOCK: &str = "coupons";

pub(super) async fn once(bench: &mut dyn Bench) -> Result<(), ActorError> {
    bench.invoke("take", json!(null));
    let left = bench.store().number(STOCK).await?;
    if left <= 0 {
        bench.fail("take", "sold out");
        return Ok(());
    }
    bench.work().await?;
    bench.store().set(STOCK, &(left - 1).to_string()).await?;
    bench.ok("take", json!({ "read": left, "left": left - 1 }));
    Ok(())
}
