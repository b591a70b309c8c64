//! What a holder asks of its lock: to renew it, and whether it still has it. From
//! docs/model.md.

use lockproof_model::lock::{Op, Phase};
use lockproof_model::world::catalogue::Safety;
use lockproof_trace::Outcome;

use crate::judge::nodes_where;
use crate::owners::{Effect, Has};
use crate::step::Step;
use crate::world::Message;

/// A holder calls it, and holds as before when it is over.
pub fn is_holders(op: Op) -> bool {
    op == Op::Renew || op == Op::IsHeld
}

/// In a call from which a lease can count.
pub fn prolongs(phase: Phase) -> bool {
    phase == Phase::Acquiring || phase == Phase::Renewing
}

/// Nodes (bit set) on which the lock is the client's.
pub fn stands(step: &Step<'_>, client: usize) -> u8 {
    let setup = step.setup;
    let mut nodes = 0;
    for (at, node) in step.state.nodes.iter().enumerate() {
        let (owners, server) = (&node.store.owners, &node.store.server);
        if owners
            .has(server, client, &setup.file, setup.config.ttl_ms)
            .locked
        {
            nodes |= 1 << at;
        }
    }
    nodes
}

/// The same of all who are one owner with it.
fn stands_for(step: &Step<'_>, client: usize) -> u8 {
    let setup = step.setup;
    let same = (0..setup.clients).filter(|other| setup.owner(*other) == setup.owner(client));
    same.fold(0, |nodes, other| nodes | stands(step, other))
}

fn is_quorum(step: &Step<'_>, nodes: u8) -> bool {
    nodes.count_ones() as usize >= step.setup.quorum()
}

/// A client calls an operation.
pub fn begin(step: &mut Step<'_>, client: usize, op: Op) {
    let holds = step.state.clients[client].program.view().holds > 0;
    let now = stands_for(step, client);
    step.state.ghost(client, |ghost| {
        ghost.stood = if op == Op::IsHeld { now } else { 0 };
        if op.mode().is_some() && !holds {
            ghost.mine = 0;
        }
    });
}

/// A server executed a command.
pub fn wrote(step: &mut Step<'_>, message: &Message, effect: &Effect) {
    if !effect.wrote || !step.setup.file.has(Op::IsHeld) {
        return;
    }
    let phase = step.state.clients[message.client].program.view().phase;
    let own = message.awaited && message.thread == 0;
    let bit = 1u8 << message.node;
    step.state.ghost(message.client, |ghost| match phase {
        Phase::Asking if own => {}
        Phase::Acquiring | Phase::Renewing | Phase::Releasing if own => ghost.mine |= bit,
        _ => ghost.mine &= !bit,
    });
}

/// A step is over.
pub fn watch(step: &mut Step<'_>) {
    if !step.setup.file.has(Op::IsHeld) {
        return;
    }
    for client in 0..step.setup.clients {
        let (now, owners) = (stands(step, client), stands_for(step, client));
        let one = &step.state.clients[client];
        let phase = match one.ghost.crashed {
            true => Phase::Idle,
            false => one.program.view().phase,
        };
        step.state.ghost(client, |ghost| {
            ghost.mine = if phase == Phase::Idle {
                0
            } else {
                ghost.mine & now
            };
            ghost.stood = if phase == Phase::Asking {
                ghost.stood | owners
            } else {
                0
            };
        });
    }
}

/// Such an operation ended.
pub fn ended(
    step: &mut Step<'_>,
    client: usize,
    op: Op,
    outcome: &Outcome,
    (took_effect, counted): (bool, Option<i64>),
) {
    let ghost = step.state.clients[client].ghost.clone();
    let success = matches!(
        outcome,
        Outcome::Held { .. } | Outcome::Done { effect: Some(true) }
    );
    let denies = matches!(
        outcome,
        Outcome::Lost
            | Outcome::Done {
                effect: Some(false)
            }
    );
    if op == Op::IsHeld {
        let lies = success && !is_quorum(step, ghost.stood);
        if lies || denies && is_quorum(step, ghost.mine) {
            step.violate(Safety::HonestOutcome);
        }
        return;
    }
    if !success {
        return;
    }
    let over = matches!(outcome, Outcome::Held { validity_ms: Some(ms), .. } if *ms <= 0);
    if over || !took_effect {
        step.violate(Safety::HonestOutcome);
    }
    if took_effect {
        let since = [ghost.sent, counted].into_iter().flatten().min();
        let one = step.state.client_mut(client);
        one.ghost.leased = Some(since.unwrap_or(one.ghost.ticks));
    }
    let valid = step.state.clients[client].program.view().valid;
    let leased = |has: &Has, _| has.leased;
    if valid && nodes_where(step, client, leased) < step.setup.quorum() {
        step.violate(Safety::Lease);
    }
}
