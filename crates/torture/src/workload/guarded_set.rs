//! Read a set, add an element, write it back.
//!
//! The set-up of the analyses of etcd's and other services' locks: an element
//! whose addition was acknowledged and that is missing in the end was lost.

use serde_json::json;

use super::super::actor::ActorError;
use super::Bench;

/// Where the set is kept, elements joined by commas.
pub const ELEMENTS: &str = "elements";

pub(super) async fn once(bench: &mut dyn Bench) -> Result<(), ActorError> {
    let element = bench.unique();
    bench.invoke("add", json!({ "element": element }));
    let mut set = bench.store().text(ELEMENTS).await?.unwrap_or_default();
    bench.work().await?;
    if !set.is_empty() {
        set.push(',');
    }
    set.push_str(&element.to_string());
    bench.store().set(ELEMENTS, &set).await?;
    bench.ok("add", json!({ "element": element }));
    Ok(())
}
