//! Draw the winners of a round, unless somebody has.
//!
//! Every client that gets the lock in a round looks whether it was drawn already.
//! Exactly one set of ten winners may be drawn. Who finds the round drawn gives the
//! lock back at once, so there is little to break in the rest of a round; and a
//! second drawing takes two holders within one round, so a round has to outlast
//! whatever is to bring them together.

use serde_json::json;

use super::super::actor::ActorError;
use super::Bench;

const WINNERS: usize = 10;
const TICKETS: u64 = 100_000;

pub(super) async fn once(bench: &mut dyn Bench) -> Result<(), ActorError> {
    let round = bench.round();
    let key = format!("round-{round}");
    bench.invoke("draw", json!({ "round": round }));
    if bench.store().text(&key).await?.is_some() {
        bench.fail("draw", "drawn already");
        return Ok(());
    }
    let mut winners: Vec<u64> = Vec::with_capacity(WINNERS);
    while winners.len() < WINNERS {
        let ticket = bench.draw(TICKETS);
        if !winners.contains(&ticket) {
            winners.push(ticket);
        }
    }
    bench.work().await?;
    bench.store().set(&key, &json!(winners).to_string()).await?;
    bench.ok("draw", json!({ "round": round, "winners": winners }));
    Ok(())
}
