//! Two-phase commit, after Lamport's `TwoPhase` (Gray and Lamport, "Consensus on
//! transaction commit", 2006). Its number of states has been published for
//! several checkers, so it pins ours from outside.

use lockproof_model::world::{Action, System, Transition};

/// The protocol with this many resource managers (at most 8).
#[derive(Clone, Copy, Debug)]
pub struct TwoPhase {
    pub managers: u32,
    /// Planted bug: the coordinator commits without waiting for the last manager.
    pub hasty: bool,
}

// Stages of a manager (two bits each) and of the coordinator.
const WORKING: u64 = 0;
const PREPARED: u64 = 1;
const COMMITTED: u64 = 2;
const ABORTED: u64 = 3;

/// Bits 0-15 the managers, 16-17 the coordinator, 24-31 whom it knows prepared,
/// 32-39 "prepared" messages, 40 the commit message, 41 the abort message.
type State = u64;

const COORDINATOR: u32 = 16;
const KNOWN: u32 = 24;
const SENT: u32 = 32;
const COMMIT_SENT: u64 = 1 << 40;
const ABORT_SENT: u64 = 1 << 41;

fn stage(state: State, at: u32) -> u64 {
    state >> at & 3
}

fn with(state: State, at: u32, stage: u64) -> State {
    state & !(3 << at) | stage << at
}

impl TwoPhase {
    fn step(&self, visit: &mut impl FnMut(Transition<State>), action: u32, next: State) {
        let has = |wanted| (0..self.managers).any(|manager| stage(next, manager * 2) == wanted);
        let violates = u32::from(has(COMMITTED) && has(ABORTED));
        visit(Transition {
            action: Action(action),
            state: next,
            violates,
            fault: false,
            goals: u8::from(has(COMMITTED) || has(ABORTED)),
            overflow: 0,
        });
    }

    fn manager(&self, state: State, manager: u32, visit: &mut impl FnMut(Transition<State>)) {
        let at = manager * 2;
        if stage(state, at) == WORKING {
            let prepared = with(state, at, PREPARED) | 1 << (SENT + manager);
            self.step(visit, 10 + manager, prepared);
            self.step(visit, 20 + manager, with(state, at, ABORTED));
        }
        if state & COMMIT_SENT != 0 {
            self.step(visit, 30 + manager, with(state, at, COMMITTED));
        }
        if state & ABORT_SENT != 0 {
            self.step(visit, 40 + manager, with(state, at, ABORTED));
        }
    }
}

impl System for TwoPhase {
    type State = State;

    fn initial(&self) -> Vec<State> {
        vec![0]
    }

    fn successors(&self, state: &State, visit: &mut impl FnMut(Transition<State>)) {
        let state = *state;
        if stage(state, COORDINATOR) == WORKING {
            for manager in 0..self.managers {
                if state >> (SENT + manager) & 1 == 1 {
                    self.step(visit, 50 + manager, state | 1 << (KNOWN + manager));
                }
            }
            let known = (state >> KNOWN & 0xff).count_ones();
            if known + u32::from(self.hasty) >= self.managers {
                self.step(visit, 0, with(state, COORDINATOR, COMMITTED) | COMMIT_SENT);
            }
            self.step(visit, 1, with(state, COORDINATOR, ABORTED) | ABORT_SENT);
        }
        for manager in 0..self.managers {
            self.manager(state, manager, visit);
        }
    }

    fn branching(&self) -> Vec<String> {
        vec!["some goal".to_owned()]
    }

    fn properties(&self) -> Vec<String> {
        vec!["no manager commits while another aborts".to_owned()]
    }

    fn describe(&self, _: &State, action: Action) -> String {
        let what = [
            "decides",
            "prepares",
            "aborts",
            "obeys commit",
            "obeys abort",
            "is heard",
        ];
        format!("{} {}", action.0 % 10, what[(action.0 / 10) as usize])
    }
}
