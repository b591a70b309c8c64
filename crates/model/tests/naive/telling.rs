//! What a lock tells its caller of a loss: not while it holds, and in time. From
//! docs/model.md.

use std::collections::BTreeMap;

use lockproof_model::lock::{Input, Phase, View, Waiting};
use lockproof_model::world::catalogue::Safety;

use crate::owners::Effect;
use crate::step::{Step, Stuck};
use crate::world::{Cargo, Ghost, Message, Setup, Store};

/// What is known of a client. Times are ticks of its own clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Telling {
    /// By how much its wall clock was set ahead, steps back left out.
    ahead: i64,
    /// Nodes on which the lock stands since the acquire of this hold wrote it.
    unbroken: u8,
    /// By node: when the lease is over that a reply has confirmed.
    sure: BTreeMap<usize, i64>,
    /// By thread that waits for a reply: when it was called or woke up.
    begun: BTreeMap<u8, i64>,
    /// By thread that waits for a reply: the life that its command gave the lock.
    given: BTreeMap<u8, i64>,
    /// For how many ticks it has validly held what is lost.
    untold: Option<i64>,
}

fn is_asked(setup: &Setup) -> bool {
    setup.file.says_lost || setup.file.told_within.is_some()
}

fn clock(ghost: &Ghost) -> i64 {
    ghost.ticks + ghost.telling.ahead
}

/// The client takes an input.
pub fn takes(step: &mut Step<'_>, client: usize, input: &Input) {
    if matches!(input, Input::Call { .. }) {
        step.state.ghost(client, |ghost| {
            ghost.telling.begun.remove(&0);
        });
    }
}

/// A message is about to reach its client.
pub fn arrives(step: &mut Step<'_>, message: &Message) {
    let replied = match *message.cargo {
        Cargo::Published(_) => return,
        Cargo::Reply(_) => true,
        _ => false,
    };
    step.state.ghost(message.client, |ghost| {
        let now = clock(ghost);
        let given = ghost.telling.given.remove(&message.thread);
        if let Some(life) = given.filter(|_| replied) {
            let begun = ghost.telling.begun.get(&message.thread);
            let since = begun.copied().unwrap_or(now);
            ghost.telling.sure.insert(message.node, since + life);
        }
    });
}

/// The client has taken an input.
pub fn took(step: &mut Step<'_>, client: usize, before: &View, abandoned: &[u8]) {
    if !is_asked(step.setup) {
        return;
    }
    let after = step.state.clients[client].program.view();
    let waits = |waiting: &Waiting| {
        !matches!(
            waiting,
            Waiting::Sleep { .. } | Waiting::Ready | Waiting::Message { .. }
        )
    };
    let threads = after.threads.iter().filter(|(_, waiting)| waits(waiting));
    let waiting: Vec<u8> = threads.map(|(thread, _)| *thread).collect();
    let mut certain = 0;
    let alarm = after.lost && !before.lost && before.valid && before.holds > 0 && after.holds > 0;
    step.state.ghost(client, |ghost| {
        let now = clock(ghost);
        let telling = &mut ghost.telling;
        telling.begun.retain(|thread, _| waiting.contains(thread));
        let keeps = |thread: &u8| waiting.contains(thread) && !abandoned.contains(thread);
        telling.given.retain(|thread, _| keeps(thread));
        for thread in &waiting {
            telling.begun.entry(*thread).or_insert(now);
        }
        if alarm {
            let sure = telling.sure.iter();
            let sure =
                sure.filter(|(node, over)| telling.unbroken >> **node & 1 == 1 && **over > now);
            certain = sure.count();
            telling.unbroken = 0;
        }
    });
    if certain >= step.setup.quorum() {
        step.violate(Safety::NoFalseAlarm);
    }
}

/// A server executed a command, and has this now.
pub fn wrote(step: &mut Step<'_>, message: &Message, effect: &Effect, store: &Store) {
    let setup = step.setup;
    let Cargo::Request(argv) = &*message.cargo else {
        return;
    };
    if !effect.wrote || !is_asked(setup) {
        return;
    }
    let attempt = step.state.clients[message.client].ghost.attempt;
    let names = |attempt: u32| {
        let token = setup.texts.token(message.client, attempt);
        let has = |word: &[u8]| {
            word.windows(token.len())
                .any(|part| part == token.as_bytes())
        };
        argv.iter().any(|word| has(word))
    };
    let older = (1..attempt).any(names);
    let view = step.state.clients[message.client].program.view();
    let acquires = message.thread == 0 && view.phase == Phase::Acquiring && view.holds == 0;
    let bit = 1u8 << message.node;
    let has = store.owners.has(
        &store.server,
        message.client,
        &setup.file,
        setup.config.ttl_ms,
    );
    let ticks = |ms: i64| (ms + setup.step_ms - 1).div_euclid(setup.step_ms);
    let life = has.life_ms.map(|ms| match ms {
        i64::MAX => setup.ttl_ticks,
        ms => ticks(ms).min(setup.ttl_ticks),
    });
    step.state.ghost(message.client, |ghost| {
        let telling = &mut ghost.telling;
        if older || !message.awaited && !names(attempt) {
            telling.unbroken &= !bit;
        } else if acquires && message.awaited {
            telling.unbroken |= bit;
        }
        let gives = effect.leased && message.awaited && telling.unbroken & bit != 0;
        if let Some(life) = life.filter(|_| gives) {
            telling.given.insert(message.thread, life);
        }
    });
}

/// A step is over.
pub fn watch(step: &mut Step<'_>) -> Result<(), Stuck> {
    if !is_asked(step.setup) {
        return Ok(());
    }
    for client in 0..step.setup.clients {
        let stands = crate::holder::stands(step, client);
        let one = &step.state.clients[client];
        let idle = one.ghost.crashed || one.program.view().phase == Phase::Idle;
        let valid = !one.ghost.crashed && one.view(step.setup)?.valid;
        let lost = valid && (stands.count_ones() as usize) < step.setup.quorum();
        let asked = step.setup.file.told_within.is_some();
        step.state.ghost(client, |ghost| {
            let telling = &mut ghost.telling;
            telling.unbroken &= if idle { 0 } else { stands };
            let unbroken = telling.unbroken;
            telling.sure.retain(|node, _| unbroken >> *node & 1 == 1);
            telling.untold = (lost && asked).then(|| telling.untold.unwrap_or(0));
        });
    }
    Ok(())
}

/// A tick is about to pass.
pub fn tick(step: &mut Step<'_>, drift: Option<(usize, i64)>) {
    let Some(leases) = step.setup.file.told_within else {
        return;
    };
    let within = (leases * step.setup.ttl_ticks as f64).round() as i64;
    for client in 0..step.setup.clients {
        let ticks = drift
            .filter(|(one, _)| *one == client)
            .map_or(1, |(_, ticks)| ticks);
        let runs = step.state.clients[client].runs();
        let mut late = false;
        step.state.ghost(client, |ghost| {
            if let Some(untold) = ghost.telling.untold.as_mut().filter(|_| runs) {
                *untold += ticks;
                late = ticks > 0 && *untold > within;
            }
        });
        if late {
            step.violate(Safety::ToldWhenLost);
        }
    }
}

/// The client's wall clock steps.
pub fn skew(ghost: &mut Ghost, ticks: i64, monotonic: bool) {
    if !monotonic {
        ghost.telling.ahead += ticks.max(0);
    }
}

/// Another server, or what one had saved, takes a node's place.
pub fn doubt(ghost: &mut Ghost, node: usize) {
    ghost.telling.unbroken &= !(1 << node);
}
