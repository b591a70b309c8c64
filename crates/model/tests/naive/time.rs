//! When a tick may pass, and what it does.

use lockproof_model::lock::{Input, LockError, Phase, Waiting};
use lockproof_model::world::catalogue::Fault;

use crate::world::{Message, Setup, State};

/// Urgency: everything that can happen at once happens before the next tick.
pub fn may_pass(setup: &Setup, state: &State) -> bool {
    let clients = 0..setup.clients;
    clients
        .into_iter()
        .all(|client| may_wait(setup, state, client))
        && (0..setup.nodes()).all(|node| may_stay_down(setup, state, node))
        && state
            .messages
            .iter()
            .all(|message| may_stay(setup, state, message))
}

/// For how many ticks a server that is gone stays away, at least and at most.
pub fn away(setup: &Setup) -> (i64, i64) {
    let size = |fault| i64::from(setup.switch(fault).1);
    let delayed = size(Fault::DelayedRestart);
    (delayed, delayed.max(size(Fault::NodeDown)))
}

fn may_stay_down(setup: &Setup, state: &State, node: usize) -> bool {
    let down = state.nodes[node].down;
    down.is_none_or(|ticks| ticks < away(setup).1)
}

fn may_wait(setup: &Setup, state: &State, client: usize) -> bool {
    let one = &state.clients[client];
    if one.ghost.crashed {
        return true;
    }
    if let Some(ticks) = one.ghost.paused {
        return ticks < i64::from(setup.switch(Fault::ClientPause).1);
    }
    let acts = can_act(state, client) && (!setup.spins || one.ghost.late);
    !acts && !must_end(setup, state, client)
}

/// Some thread could run on.
fn can_act(state: &State, client: usize) -> bool {
    let threads = state.clients[client].program.view().threads;
    threads.iter().any(|(_, waiting)| match waiting {
        Waiting::Ready | Waiting::TimedOut { .. } | Waiting::Choice { .. } => true,
        Waiting::Open { .. } => true,
        Waiting::Reply { .. } | Waiting::Sleep { .. } | Waiting::Message { .. } => false,
    })
}

fn may_stay(setup: &Setup, state: &State, message: &Message) -> bool {
    let client = &state.clients[message.client];
    let spins = setup.spins && message.awaited && client.runs() && !client.ghost.late;
    let behind = crate::subscriptions::is_behind(state, message);
    behind
        || message.allowance > 0
        || message.held
        || spins
        || !message.is_request() && !client.runs()
}

/// A tick passed over a client that spins; the reply is about to come.
pub fn reply_is_due(state: &State, client: usize, thread: u8) -> bool {
    state.clients[client].ghost.late
        && state.messages.iter().any(|message| {
            let own = message.client == client && message.thread == thread;
            own && message.awaited && message.allowance == 0
        })
}

/// The holder's work ends before the next tick.
pub fn must_end(setup: &Setup, state: &State, client: usize) -> bool {
    let one = &state.clients[client];
    let view = one.program.view();
    if view.phase != Phase::Held || one.ghost.overrun || !one.runs() {
        return false;
    }
    if crate::objects::is_elsewhere(setup, state, client) {
        return false;
    }
    if view.lost {
        return true;
    }
    if view.renewed || setup.file.renews {
        return false;
    }
    match view.validity_left_ms {
        Some(left) => left - setup.step_ms <= 0,
        None => {
            let since = one.ghost.leased.unwrap_or(one.ghost.ticks);
            one.ghost.ticks - since >= setup.ttl_ticks - 1
        }
    }
}

/// All clocks advance; one client's maybe by another number of ticks.
pub fn tick(
    setup: &Setup,
    state: &mut State,
    drift: Option<(usize, i64)>,
) -> Result<(), LockError> {
    state.tick += 1;
    for node in 0..setup.nodes() {
        crate::step::change_node(state, node, |store| {
            store.server.advance(setup.step_ms);
            store.owners.keep(&store.server);
        });
        let one = std::sync::Arc::make_mut(&mut state.nodes[node]);
        one.down = one.down.map(|ticks| ticks + 1);
        one.seal();
    }
    let late: Vec<bool> = (0..setup.clients)
        .map(|client| setup.spins && (can_act(state, client) || is_due(state, client)))
        .collect();
    for (client, late) in late.into_iter().enumerate() {
        let ticks = match drift {
            Some((drifting, ticks)) if drifting == client => ticks,
            _ => 1,
        };
        let one = state.client_mut(client);
        one.ghost.ticks += ticks;
        if let Some(paused) = &mut one.ghost.paused {
            *paused += 1;
        } else if !one.ghost.crashed {
            one.ghost.late = late;
            let ms = setup.step_ms * ticks;
            if ms > 0 {
                one.program.step(&Input::Advance { ms })?;
            }
        }
        one.seal();
    }
    for message in &mut state.messages {
        message.allowance = message.allowance.saturating_sub(1);
    }
    Ok(())
}

fn is_due(state: &State, client: usize) -> bool {
    let mut messages = state.messages.iter();
    messages.any(|message| message.client == client && message.awaited && message.allowance == 0)
}
