//! A grid of counters: as many states as one likes, of known number and depth.

use lockproof_model::world::{Action, System, Transition};

/// `counters` counters that each count from 0 to `limit - 1`, one at a time.
/// The only violation is at the far corner, so the shortest path is the longest.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// At most 8.
    pub counters: u32,
    /// At most 256.
    pub limit: u64,
}

impl Grid {
    pub fn states(&self) -> u64 {
        self.limit.pow(self.counters)
    }

    pub fn depth(&self) -> u32 {
        self.counters * (self.limit as u32 - 1)
    }

    pub fn transitions(&self) -> u64 {
        u64::from(self.counters) * (self.limit - 1) * self.limit.pow(self.counters - 1)
    }

    fn full(&self) -> u64 {
        (0..self.counters)
            .map(|counter| (self.limit - 1) << (8 * counter))
            .sum()
    }
}

impl System for Grid {
    type State = [u64; 2];

    fn initial(&self) -> Vec<[u64; 2]> {
        vec![[0, 0]]
    }

    fn successors(&self, state: &[u64; 2], visit: &mut impl FnMut(Transition<[u64; 2]>)) {
        for counter in 0..self.counters {
            let next = state[0] + (1 << (8 * counter));
            if state[0] >> (8 * counter) & 255 < self.limit - 1 {
                visit(Transition {
                    action: Action(counter),
                    state: [next, 0],
                    violates: u32::from(next == self.full()),
                    fault: false,
                    goals: u8::from(next == self.full()),
                    overflow: 0,
                });
            }
        }
    }

    fn branching(&self) -> Vec<String> {
        vec!["some goal".to_owned()]
    }

    fn properties(&self) -> Vec<String> {
        vec!["the corner is never reached".to_owned()]
    }

    fn excused(&self, state: &[u64; 2]) -> bool {
        state[0] == self.full()
    }

    fn describe(&self, _: &[u64; 2], action: Action) -> String {
        format!("counter {} goes up", action.0)
    }
}
