//! Two lock objects of each client, from docs/model.md: A and B are the two parts of one client,
//! C and D those of another.

use lockproof_model::lock::{Config, LockFile, Op, Phase, Role};

use crate::world::{Setup, State};

const KEYS: [&str; 2] = ["lock", "lock:2"];

/// Clients of a world in which a lock file has so many.
pub fn parts(file: &LockFile, clients: usize) -> usize {
    match file.objects.two {
        true => 2 * clients,
        false => clients,
    }
}

/// The key of a client.
pub fn key(file: &LockFile, client: usize) -> &'static str {
    let second = match (file.objects.two, file.objects.opposite) {
        (false, _) => false,
        (true, true) => client == 1 || client == 2,
        (true, false) => client == 1 || client == 3,
    };
    KEYS[usize::from(second)]
}

pub fn config(setup: &Setup, client: usize) -> Config {
    Config {
        key: key(&setup.file, client).into(),
        ..setup.config.clone()
    }
}

/// The client's other part.
pub fn other(file: &LockFile, client: usize) -> Option<usize> {
    let other = match client {
        0 => 1,
        1 => 0,
        2 => 3,
        _ => 2,
    };
    file.objects.two.then_some(other)
}

fn is_second(client: usize) -> bool {
    client == 1 || client == 3
}

/// With this one's acquire its client has all that it wants.
pub fn completes(file: &LockFile, client: usize) -> bool {
    !file.objects.two || is_second(client)
}

/// What a key is to a client: the lock of its other object is not its lock.
pub fn role(file: &LockFile, client: usize, name: &[u8]) -> Role {
    let own = key(file, client);
    let role = file.keys.role(name, own);
    if !file.objects.two || role != Role::Other {
        return role;
    }
    let foreign = KEYS.into_iter().find(|one| *one != own).unwrap_or(own);
    match file.keys.role(name, foreign) {
        Role::Lock => Role::Other,
        role => role,
    }
}

/// It is what `keys` of the file says, for some object.
pub fn is_declared(file: &LockFile, name: &[u8]) -> bool {
    let known = |key: &&str| file.keys.role(name, key) != Role::Other;
    match file.objects.two {
        true => KEYS.iter().any(known),
        false => known(&KEYS[0]),
    }
}

/// The client's thread is in an operation of its other object.
pub fn is_elsewhere(setup: &Setup, state: &State, client: usize) -> bool {
    other(&setup.file, client).is_some_and(|other| {
        let phase = state.clients[other].program.view().phase;
        phase != Phase::Idle && phase != Phase::Held
    })
}

/// Calls nest: the first is held around the second.
pub fn may_call(setup: &Setup, state: &State, client: usize, op: Op) -> bool {
    let Some(other) = other(&setup.file, client) else {
        return true;
    };
    if is_elsewhere(setup, state, client) {
        return false;
    }
    let holds = |client: usize| state.clients[client].program.view().holds;
    let begins = op.mode().is_some() && holds(client) == 0;
    let ends = op == Op::Release && holds(client) == 1;
    if is_second(client) {
        !begins || holds(other) > 0
    } else {
        !ends || holds(other) == 0
    }
}
