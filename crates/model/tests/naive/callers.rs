//! Two callers of one process: what they share, and what strikes both. From docs/model.md.

use lockproof_model::lock::{Exchange, Input, Program};
use lockproof_model::world::catalogue::Fault;

use crate::step::{Step, Stuck};
use crate::world::{Ear, Ghost, Setup};

/// The client and the other caller of its process, if it has one.
pub fn process(setup: &Setup, client: usize) -> impl Iterator<Item = usize> + use<> {
    let two = setup.file.callers.two && setup.clients > 1 && client < 2;
    let other = two.then(|| 1 - client);
    let other = other.or(crate::objects::other(&setup.file, client));
    [Some(client), other].into_iter().flatten()
}

/// A fault of a process is a move of its first caller.
pub fn is_first(setup: &Setup, client: usize) -> bool {
    process(setup, client).all(|caller| client <= caller)
}

/// The other caller sees what has become of the handle, before anybody runs.
pub fn hand_over(
    step: &mut Step<'_>,
    client: usize,
    exchange: Option<Exchange>,
) -> Result<(), Stuck> {
    let other = process(step.setup, client).nth(1);
    let (Some(other), Some(exchange)) = (other, exchange) else {
        return Ok(());
    };
    let before = step.state.clients[other].program.view();
    let one = step.state.client_mut(other);
    let output = one.program.step(&Input::Exchange(exchange))?;
    if !output.abandoned.is_empty() && before.holds > 0 {
        one.ghost.hampered = true;
    }
    step.send(other, &output, (false, false));
    crate::telling::took(step, other, &before, &output.abandoned);
    step.state.client_mut(other).seal();
    Ok(())
}

pub fn pause(step: &mut Step<'_>, client: usize) {
    for caller in process(step.setup, client) {
        step.state.ghost(caller, |ghost| ghost.paused = Some(0));
    }
}

pub fn crash(step: &mut Step<'_>, client: usize) {
    for caller in process(step.setup, client) {
        crash_caller(step, caller);
    }
}

fn crash_caller(step: &mut Step<'_>, client: usize) {
    let now = step.state.tick;
    step.state.ghost(client, |ghost| {
        let attempt = ghost.attempt;
        *ghost = Ghost {
            crashed: true,
            attempt,
            idle_since: now,
            ..Default::default()
        };
    });
    let nodes = step.setup.nodes();
    step.state.ears[client * nodes..][..nodes].fill(Ear::Nothing);
    step.state.client_mut(client).asking.clear();
    step.state.messages.retain_mut(|message| {
        if message.client == client {
            message.awaited = false;
            return message.is_request() && !message.held && !message.listens;
        }
        true
    });
    crate::transactions::dies(step, client);
}

/// Another process takes its place, on the same clock.
pub fn restart(step: &mut Step<'_>, client: usize) -> Result<(), Stuck> {
    let setup = step.setup;
    step.state.spend(setup, Fault::ClientRestart);
    for client in process(setup, client) {
        let offset_ms = step.state.clients[client].ghost.offset_ms;
        crash_caller(step, client);
        let now_ms = setup.texts.epoch_ms() + step.state.tick * setup.step_ms + offset_ms;
        let owner = setup.owner(client);
        let one = step.state.client_mut(client);
        let config = crate::objects::config(setup, client);
        one.program = Program::start(&setup.file, &config, &owner, now_ms)?;
        one.program.set_caller(client as u8);
        one.ghost.crashed = false;
        one.ghost.offset_ms = offset_ms;
        one.seal();
    }
    Ok(())
}
