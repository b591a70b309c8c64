//! After a release that reports success another client can acquire before the lease
//! is over: searched for, without faults.

use std::collections::HashMap;

use lockproof_model::lock::{Op, Phase};
use lockproof_redis::ScriptEngine;

use crate::moves::{Action, Move, enabled};
use crate::objects;
use crate::step::{Step, take};
use crate::world::{Setup, State};

/// More states than these are not followed.
const STATES_MAX: usize = 3_000;
/// .. of clients with two locks each.
const OF_TWO_LOCKS_MAX: usize = 60_000;
/// Attempts of each other client; more of them do not help at one time.
const ATTEMPTS: u32 = 2;

/// Somebody else is there to acquire, and nobody else has anything.
pub fn is_asked(step: &Step<'_>) -> bool {
    let Some(client) = step.released else {
        return false;
    };
    let setup = step.setup;
    let own = objects::other(&setup.file, client);
    let others = || (0..setup.clients).filter(|other| *other != client && Some(*other) != own);
    let contends = |other: &usize| {
        objects::key(&setup.file, *other) == objects::key(&setup.file, client)
            && !objects::is_elsewhere(setup, &step.state, *other)
    };
    let idle = |other: usize| {
        let one = &step.state.clients[other];
        !one.ghost.crashed && one.program.view().phase == Phase::Idle
    };
    let has = |other: usize| {
        step.state.nodes.iter().any(|node| {
            let store = &node.store;
            let ttl_ms = setup.config.ttl_ms;
            store
                .owners
                .has(&store.server, other, &setup.file, ttl_ms)
                .any
        })
    };
    let gone = step.state.nodes.iter().any(|node| node.down.is_some());
    others().filter(contends).any(idle)
        && !gone
        && !others().any(|other| step.state.believes(other) || has(other))
}

/// Whether another client can acquire; `None` if the search was cut off.
pub fn freed(step: &Step<'_>, engine: &mut ScriptEngine) -> Option<bool> {
    let client = step.released?;
    let key = objects::key(&step.setup.file, client);
    let mut state = step.state.clone();
    state.budget.iter_mut().for_each(|budget| *budget = 0);
    let firsts: Vec<u32> = state.clients.iter().map(|one| one.ghost.attempt).collect();
    let goal = |step: &Step<'_>| {
        step.acquired
            .is_some_and(|who| who != client && objects::key(&step.setup.file, who) == key)
    };
    let may = |state: &State, one: &Move| match one {
        Move::Call {
            client: who,
            op: Op::Release,
        } => *who != client,
        Move::Call { client: who, .. } => {
            *who != client && state.clients[*who].ghost.attempt < firsts[*who] + ATTEMPTS
        }
        // The counter does not matter here.
        Move::Write { .. } => false,
        _ => true,
    };
    let ticks = step.setup.ttl_ticks - 1;
    let most = match step.setup.file.objects.two {
        true => OF_TWO_LOCKS_MAX,
        false => STATES_MAX,
    };
    reach(
        step.setup,
        engine,
        state,
        (ticks, most),
        &goal,
        Some(client),
        &may,
    )
}

/// Whether some way of at most so many ticks leads to the goal. With `asked`, who is after the
/// lock that this client gave back may ask for it out of turn.
pub fn reach(
    setup: &Setup,
    engine: &mut ScriptEngine,
    start: State,
    (ticks, states_max): (i64, usize),
    goal: &dyn Fn(&Step<'_>) -> bool,
    asked: Option<usize>,
    may: &dyn Fn(&State, &Move) -> bool,
) -> Option<bool> {
    let last = start.tick + ticks;
    let mut seen: HashMap<u128, ()> = HashMap::new();
    let mut open = vec![start];
    let mut cut_off = false;
    while let Some(state) = open.pop() {
        if seen.insert(state.print(), ()).is_some() {
            continue;
        }
        if seen.len() > states_max {
            return None;
        }
        let mut moves = enabled(setup, &state);
        moves.extend(out_of_turn(setup, &state, asked));
        moves.retain(|one| may(&state, one) && (*one != Move::Tick || state.tick < last));
        // Ticks are tried last.
        moves.sort_by_key(|one| *one != Move::Tick);
        for one in moves {
            match take(setup, engine, &state, Action::from(one)) {
                Ok(step) if goal(&step) => return Some(true),
                Ok(step) => open.push(step.state),
                Err(_) => cut_off = true,
            }
        }
    }
    (!cut_off).then_some(false)
}

/// Whoever is after the lock that a client gave back may ask for it at once.
fn out_of_turn(setup: &Setup, state: &State, released: Option<usize>) -> Vec<Move> {
    let Some(released) = released.filter(|_| setup.file.objects.two) else {
        return Vec::new();
    };
    let same = |who: &usize| {
        let key = |client| objects::key(&setup.file, client);
        *who != released && key(*who) == key(released)
    };
    let free = |who: &usize| {
        let one = &state.clients[*who];
        let idle = one.runs() && one.program.view().phase == Phase::Idle;
        idle && !objects::is_elsewhere(setup, state, *who)
    };
    let clients = (0..setup.clients).filter(same).filter(free);
    let calls = clients.map(|client| Move::Call {
        client,
        op: Op::Acquire,
    });
    calls.collect()
}
