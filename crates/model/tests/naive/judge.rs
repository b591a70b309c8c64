//! What the properties say, written from docs/model.md.

use lockproof_model::lock::{Input, LockError, Mode, Op, Phase, View};
use lockproof_model::world::catalogue::Safety;
use lockproof_trace::Outcome;

use crate::holder;
use crate::owners::{Effect, Has};
use crate::step::{Step, Stuck};
use crate::world::{Message, State};

/// Nodes on which the client has such an entry.
pub fn nodes_where(step: &Step<'_>, client: usize, test: impl Fn(&Has, usize) -> bool) -> usize {
    let setup = step.setup;
    let nodes = step.state.nodes.iter().enumerate();
    let has = |node: &crate::world::Node| {
        let store = &node.store;
        store
            .owners
            .has(&store.server, client, &setup.file, setup.config.ttl_ms)
    };
    nodes.filter(|(at, node)| test(&has(node), *at)).count()
}

/// How an operation ended.
pub fn ended(
    step: &mut Step<'_>,
    client: usize,
    op: Op,
    outcome: &Outcome,
    (before, counted): (&View, Option<i64>),
) {
    let quorum = step.setup.quorum();
    let after = step.state.clients[client].program.view();
    let ghost = step.state.clients[client].ghost.clone();
    let took_effect = ghost.effective.count_ones() as usize >= quorum;
    match (op.mode(), outcome) {
        (Some(mode), Outcome::Held { validity_ms, fence }) => {
            // A lock that only readers ever get again is stuck.
            step.acquired = (mode == Mode::Write).then_some(client);
            step.complete = crate::objects::completes(&step.setup.file, client);
            let nested = before.holds > 0;
            let since = [ghost.sent, counted].into_iter().flatten().min();
            let counter = step.state.counter;
            let one = step.state.client_mut(client);
            if !nested || took_effect {
                one.ghost.leased = Some(since.unwrap_or(one.ghost.ticks));
            }
            if !nested && mode == Mode::Write {
                one.ghost.read = Some(counter);
            }
            if !nested {
                shows_fence(step, client, *fence, after.valid);
            }
            let stands = |has: &Has, at: usize| has.locked || ghost.effective & 1 << at != 0;
            let taken = nodes_where(step, client, stands) >= quorum;
            if validity_ms.is_some_and(|ms| ms <= 0) || !taken {
                step.violate(Safety::HonestOutcome);
            }
            if after.valid && nodes_where(step, client, |has, _| has.leased) < quorum {
                step.violate(Safety::Lease);
            }
        }
        (Some(_), Outcome::Busy) if before.holds > 0 && before.valid => {
            step.violate(Safety::Reentrancy);
        }
        (Some(_), Outcome::Failed { .. })
            if before.holds > 0 && before.valid && !ghost.hampered =>
        {
            step.violate(Safety::Reentrancy);
        }
        (None, outcome) if holder::is_holders(op) => {
            holder::ended(step, client, op, outcome, (took_effect, counted));
        }
        (None, Outcome::Done { effect: Some(true) }) => {
            if after.holds == 0 && !took_effect {
                step.violate(Safety::HonestOutcome);
            }
            let kept = nodes_where(step, client, |has, _| has.any) >= quorum;
            let wrong = match after.holds {
                0 => kept,
                _ => after.valid && !kept,
            };
            if step.setup.file.reentrant && wrong {
                step.violate(Safety::Reentrancy);
            }
            step.released = (after.holds == 0).then_some(client);
        }
        (None, Outcome::Done { effect: None }) => {
            step.released = (after.holds == 0).then_some(client);
        }
        _ => {}
    }
}

/// A reply comes to a client that acquires. If nothing was got by now and nothing is on
/// its way, its next command is another attempt. Gives when this one was sent.
pub fn end_of_attempt(step: &mut Step<'_>, client: usize, input: &Input) -> Option<i64> {
    let prolongs = holder::prolongs(step.state.clients[client].program.view().phase);
    if !prolongs || !matches!(input, Input::Reply { .. }) {
        return None;
    }
    let awaits = step
        .state
        .messages
        .iter()
        .any(|m| m.client == client && m.awaited);
    let one = step.state.client_mut(client);
    let sent = one.ghost.sent;
    if one.ghost.effective == 0 && !awaits {
        one.ghost.sent = None;
    }
    sent
}

fn valid(step: &Step<'_>, client: usize) -> Result<bool, LockError> {
    let one = &step.state.clients[client];
    Ok(!one.ghost.crashed && one.view(step.setup)?.valid)
}

/// One key is held by one client, or by readers.
fn exclusion(step: &mut Step<'_>, key: &str) -> Result<(), Stuck> {
    let after = |client: &usize| crate::objects::key(&step.setup.file, *client) == key;
    let clients: Vec<usize> = (0..step.setup.clients).filter(after).collect();
    let mode = |step: &Step<'_>, client: usize| step.state.clients[client].program.view().mode;
    // Readers may hold it beside readers.
    let clash = |held: &[Mode]| held.len() > 1 && held.contains(&Mode::Write);
    let believers = clients
        .iter()
        .filter(|client| step.state.believes(**client));
    let believers: Vec<Mode> = believers.map(|client| mode(step, *client)).collect();
    if clash(&believers) {
        step.violate(Safety::Belief);
        let mut certain = Vec::new();
        for client in clients {
            if valid(step, client)? {
                certain.push(mode(step, client));
            }
        }
        if clash(&certain) {
            step.violate(Safety::Validity);
            if step.setup.file.has_modes {
                step.violate(Safety::ReadWrite);
            }
        }
    }
    Ok(())
}

/// What holds of every state.
pub fn state(step: &mut Step<'_>, before: &State, ticked: bool) -> Result<(), Stuck> {
    rest(step, before);
    let clients = 0..step.setup.clients;
    for key in ["lock", "lock:2"] {
        exclusion(step, key)?;
    }
    for client in clients {
        let ghost = &step.state.clients[client].ghost;
        let idle = ghost.crashed || step.state.clients[client].program.view().phase == Phase::Idle;
        let rest_ms = (step.state.tick - ghost.idle_since) * step.setup.step_ms;
        let over = rest_ms > step.setup.config.ttl_ms;
        let left_alone = ghost.crashed && !pending(&step.state, client);
        let orphan = ticked && idle && over && nodes_where(step, client, |has, _| has.any) > 0;
        if orphan || left_alone && nodes_where(step, client, |has, _| has.unbounded) > 0 {
            step.violate(Safety::NoOrphan);
        }
    }
    Ok(())
}

/// Who comes to rest leaves nothing behind.
fn rest(step: &mut Step<'_>, before: &State) {
    let rests = |state: &State, client: usize| {
        let one = &state.clients[client];
        let view = one.program.view();
        let idle = view.phase == Phase::Idle && view.threads.is_empty();
        !one.ghost.crashed && idle && !pending(state, client)
    };
    let leaves = (0..step.setup.clients).any(|client| {
        let comes = !rests(before, client) && rests(&step.state, client);
        comes && nodes_where(step, client, |has, _| has.any) > 0
    });
    if leaves {
        step.violate(Safety::NoOrphanAtOnce);
    }
}

fn pending(state: &State, client: usize) -> bool {
    state
        .messages
        .iter()
        .any(|message| message.client == client)
}

/// Who gets the lock reads the counter, and shows its fence there.
fn shows_fence(step: &mut Step<'_>, client: usize, fence: Option<i64>, valid: bool) {
    step.state.ghost(client, |ghost| ghost.fence = fence);
    let Some(fence) = fence else {
        return;
    };
    let (highest, last) = step.state.fences;
    let changes = last.is_some_and(|last| last != client);
    if valid && changes && highest.is_some_and(|highest| fence <= highest) {
        step.violate(Safety::FenceMonotonicity);
    }
    let last = if valid { Some(client) } else { last };
    step.state.fences = (highest.max(Some(fence)), last);
}

/// The holder writes what it computed from the value that it read, unless the counter has
/// seen a higher fence than its own.
pub fn write(step: &mut Step<'_>, client: usize) {
    let (highest, _) = step.state.fences;
    let own = step.state.clients[client].ghost.fence;
    if own.is_some() && own < highest {
        step.state.ghost(client, |ghost| ghost.read = None);
        return;
    }
    let counter = step.state.counter;
    let mut lost = false;
    step.state.ghost(client, |ghost| {
        lost = ghost.read.take().is_some_and(|read| read != counter);
    });
    step.state.counter += 1;
    if lost {
        step.violate(Safety::Effect);
    }
}

/// A server executed a command.
pub fn executed(step: &mut Step<'_>, message: &Message, effect: &Effect) -> Result<(), Stuck> {
    // Who acquires may take a lock over.
    let over: &[usize] = if message.gives {
        &effect.overwritten
    } else {
        &[]
    };
    for victim in effect.victims.iter().chain(over) {
        if valid(step, *victim)? {
            step.violate(Safety::OwnerOnly);
            if step.state.clients[*victim].program.view().mode == Mode::Read {
                step.violate(Safety::ReadWrite);
            }
        }
    }
    if effect.created && (message.thread != 0 || message.holders) {
        step.violate(Safety::Lease);
    }
    Ok(())
}
