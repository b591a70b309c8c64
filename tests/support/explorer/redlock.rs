//! A hand-coded Redlock: clients that ask one node after another, with requests
//! and replies in flight, expiry in ticks, crashes and restarts without memory.
//!
//! Word 0 holds 16 bits a client, word 1 holds 8 bits a node and the budgets.

use lockproof_model::world::{Action, System, Transition};

/// Sizes and budgets.
#[derive(Clone, Copy, Debug)]
pub struct Redlock {
    pub clients: u32,
    pub nodes: u32,
    /// Ticks; at most 7.
    pub ttl: u64,
    /// Client crashes that may happen.
    pub crashes: u64,
    /// Node restarts that lose everything.
    pub amnesias: u64,
    /// Planted bug when false: locks are set without a TTL.
    pub expires: bool,
}

/// A model that a test can search in a moment.
pub const SMALL: Redlock = Redlock {
    clients: 2,
    nodes: 3,
    ttl: 2,
    crashes: 1,
    amnesias: 1,
    expires: true,
};

type State = [u64; 2];

// Phases of a client.
const IDLE: u64 = 0;
const ACQUIRING: u64 = 1;
const HOLDING: u64 = 2;
const RELEASING: u64 = 3;
const CRASHED: u64 = 4;

// What a client waits for.
const NOTHING: u64 = 0;
const REQUEST: u64 = 1;
const GRANTED: u64 = 2;
const DENIED: u64 = 3;

// Actions: kind in the upper bits, client or node in the lower four.
const TICK: u32 = 0;
const SEND: u32 = 1;
const SERVE: u32 = 2;
const RECEIVE: u32 = 3;
const LEAVE: u32 = 4;
const CRASH: u32 = 5;
const FORGET: u32 = 6;
const KINDS: [&str; 7] = [
    "tick", "send", "serve", "receive", "leave", "crash", "forget",
];

/// Property bits, as in `properties`.
pub const VALIDITY: u32 = 1;
pub const BELIEF: u32 = 2;

#[derive(Clone, Copy)]
struct Field(usize, u32, u64);

impl Field {
    fn get(self, state: &State) -> u64 {
        state[self.0] >> self.1 & self.2
    }
    fn set(self, state: &mut State, value: u64) {
        state[self.0] = state[self.0] & !(self.2 << self.1) | value << self.1;
    }
}

fn phase(client: u32) -> Field {
    Field(0, client * 16, 7)
}
fn target(client: u32) -> Field {
    Field(0, client * 16 + 3, 7)
}
fn votes(client: u32) -> Field {
    Field(0, client * 16 + 6, 7)
}
fn waits(client: u32) -> Field {
    Field(0, client * 16 + 9, 3)
}
fn validity(client: u32) -> Field {
    Field(0, client * 16 + 11, 7)
}
fn holder(node: u32) -> Field {
    Field(1, node * 8, 7)
}
fn remaining(node: u32) -> Field {
    Field(1, node * 8 + 3, 7)
}
const CRASHES: Field = Field(1, 48, 15);
const AMNESIAS: Field = Field(1, 52, 15);

impl Redlock {
    /// Gives `visit` the transition to `next`, judged.
    fn step(&self, visit: &mut impl FnMut(Transition<State>), action: u32, who: u32, next: State) {
        let mut holding = 0;
        let mut valid = 0;
        for client in 0..self.clients {
            let holds = phase(client).get(&next) == HOLDING;
            holding += u32::from(holds);
            valid += u32::from(holds && validity(client).get(&next) > 0);
        }
        let violates = if valid > 1 { VALIDITY } else { 0 } | if holding > 1 { BELIEF } else { 0 };
        visit(Transition {
            action: Action(action << 4 | who),
            state: next,
            violates,
            fault: action == CRASH || action == FORGET,
            goals: u8::from(action == RECEIVE && phase(who).get(&next) == HOLDING),
            overflow: 0,
        });
    }

    fn tick(&self, state: &State) -> State {
        let mut next = *state;
        for client in 0..self.clients {
            let left = validity(client).get(state);
            validity(client).set(&mut next, left.saturating_sub(1));
        }
        for node in 0..self.nodes {
            let left = remaining(node).get(state);
            remaining(node).set(&mut next, left.saturating_sub(1));
            if left == 1 {
                holder(node).set(&mut next, 0);
            }
        }
        next
    }

    /// The node handles the request that is in flight from `client`.
    fn serve(&self, state: &State, client: u32) -> State {
        let mut next = *state;
        let node = target(client).get(state) as u32;
        let me = u64::from(client) + 1;
        let owner = holder(node).get(state);
        let granted = if phase(client).get(state) == RELEASING {
            if owner == me {
                holder(node).set(&mut next, 0);
                remaining(node).set(&mut next, 0);
            }
            true
        } else if owner == 0 {
            holder(node).set(&mut next, me);
            remaining(node).set(&mut next, if self.expires { self.ttl } else { 0 });
            true
        } else {
            false
        };
        waits(client).set(&mut next, if granted { GRANTED } else { DENIED });
        next
    }

    /// The reply reaches the client, which turns to the next node.
    fn receive(&self, state: &State, client: u32) -> State {
        let mut next = *state;
        let acquiring = phase(client).get(state) == ACQUIRING;
        let votes_now =
            votes(client).get(state) + u64::from(acquiring && waits(client).get(state) == GRANTED);
        waits(client).set(&mut next, NOTHING);
        votes(client).set(&mut next, votes_now);
        let node = target(client).get(state) as u32 + 1;
        target(client).set(&mut next, u64::from(node % self.nodes));
        if node == self.nodes {
            let won = votes_now * 2 > u64::from(self.nodes) && validity(client).get(state) > 0;
            match (acquiring, won) {
                (true, true) => phase(client).set(&mut next, HOLDING),
                (true, false) => phase(client).set(&mut next, RELEASING),
                (false, _) => self.reset(&mut next, client, IDLE),
            }
            votes(client).set(&mut next, 0);
        }
        next
    }

    fn reset(&self, state: &mut State, client: u32, to: u64) {
        Field(0, client * 16, 0xffff).set(state, 0);
        phase(client).set(state, to);
    }

    fn client(&self, state: &State, client: u32, visit: &mut impl FnMut(Transition<State>)) {
        let now = phase(client).get(state);
        let mut next = *state;
        match (now, waits(client).get(state)) {
            (CRASHED, _) => return,
            (IDLE, _) => {
                phase(client).set(&mut next, ACQUIRING);
                validity(client).set(&mut next, self.ttl);
                waits(client).set(&mut next, REQUEST);
                self.step(visit, SEND, client, next);
            }
            (HOLDING, _) => {
                phase(client).set(&mut next, RELEASING);
                self.step(visit, LEAVE, client, next);
            }
            (_, NOTHING) => {
                waits(client).set(&mut next, REQUEST);
                self.step(visit, SEND, client, next);
            }
            (_, REQUEST) => self.step(visit, SERVE, client, self.serve(state, client)),
            _ => self.step(visit, RECEIVE, client, self.receive(state, client)),
        }
        let crashes = CRASHES.get(state);
        if crashes > 0 {
            let mut next = *state;
            self.reset(&mut next, client, CRASHED);
            CRASHES.set(&mut next, crashes - 1);
            self.step(visit, CRASH, client, next);
        }
    }
}

impl System for Redlock {
    type State = State;

    fn initial(&self) -> Vec<State> {
        let mut state = [0; 2];
        CRASHES.set(&mut state, self.crashes);
        AMNESIAS.set(&mut state, self.amnesias);
        vec![state]
    }

    fn successors(&self, state: &State, visit: &mut impl FnMut(Transition<State>)) {
        self.step(visit, TICK, 0, self.tick(state));
        for client in 0..self.clients {
            self.client(state, client, visit);
        }
        let amnesias = AMNESIAS.get(state);
        for node in (0..self.nodes).filter(|node| amnesias > 0 && holder(*node).get(state) != 0) {
            let mut next = *state;
            holder(node).set(&mut next, 0);
            remaining(node).set(&mut next, 0);
            AMNESIAS.set(&mut next, amnesias - 1);
            self.step(visit, FORGET, node, next);
        }
    }

    fn branching(&self) -> Vec<String> {
        vec!["some goal".to_owned()]
    }

    fn properties(&self) -> Vec<String> {
        vec!["validity".to_owned(), "belief".to_owned()]
    }

    fn excused(&self, state: &State) -> bool {
        (0..self.clients).all(|client| phase(client).get(state) == CRASHED)
    }

    fn describe(&self, _: &State, action: Action) -> String {
        format!("{} {}", KINDS[(action.0 >> 4) as usize], action.0 & 15)
    }
}
