//! Who tries to acquire, and what a run must do again and again to be a fair one.
//!
//! A client *starves* if from some moment on it keeps trying, and never acquires, though no more
//! faults strike and everybody else gets their turn. What that takes:
//!
//! - **Time goes on**: there are endlessly many ticks. With urgency (`time.rs`) this is nearly all
//!   of it: before a tick every message arrives that is not held up, every thread runs whose
//!   time has come, a pause ends at its bound, a server that is gone comes back at its own.
//! - **Every hold ends**: again and again each client does not hold the lock. (A caller whose
//!   release is merely possible from time to time might never make it, or only inner ones.)
//! - **The client keeps trying**: again and again it is within an acquire.
//! - **Threads and messages** are weakly fair, by client and thread. Where clients do not spin
//!   urgency says so already; where they do, ticks pass over them.
//!
//! What is not demanded: that a link heals that is cut, that anybody notices a promotion, that an
//! old server is taken away or comes back, that a replica catches up. A client whose own
//! links to a majority are cut is not asked about; a dead one is not either.

use super::Transition;
use crate::lock::{Op, Phase};
use crate::world::client::{Symbolic, THREADS};
use crate::world::config::CLIENTS_MAX;
use crate::world::layout::State;
use crate::world::moves::Move;
use crate::world::system::{Action, Demands, System};
use crate::world::tables::Tables;
use crate::world::world::World;

/// A client that calls this operation whenever it is idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pursuit {
    pub client: u8,
    pub op: Op,
}

/// Numbers of the demands.
const TIME: u8 = 0;
const ENDS: u8 = 1;
const TRIES: u8 = ENDS + CLIENTS_MAX as u8;
const RUNS: u8 = TRIES + CLIENTS_MAX as u8;
const READS: u8 = RUNS + LANES;
const SERVED: u8 = READS + LANES;
/// Threads of all clients.
const LANES: u8 = (CLIENTS_MAX * THREADS) as u8;

fn lane(client: u8, thread: u8) -> u8 {
    client * THREADS as u8 + thread
}

fn bits(from: u8, count: u8) -> Demands {
    ((1 << count) - 1) << from
}

/// Each client tries each way to acquire that the lock has.
pub(in crate::world) fn pursuits(clients: u8, fresh: u16, tables: &Tables) -> Vec<Pursuit> {
    let acquires =
        |op: &Op| op.mode().is_some() && tables.step(fresh, Symbolic::Call(*op)).is_some();
    let ops: Vec<Op> = Op::ALL.into_iter().filter(acquires).collect();
    (0..clients)
        .flat_map(|client| ops.iter().map(move |op| Pursuit { client, op: *op }))
        .collect()
}

impl World {
    /// The client is idle or tries, and could reach enough servers if they were up.
    pub(super) fn is_pursued(&self, pursuit: Pursuit, state: &State) -> bool {
        let client = usize::from(pursuit.client);
        let facts = self.facts(state, client);
        let tries = match facts.phase {
            Phase::Idle => true,
            Phase::Acquiring => !self.tables.has_modes || Some(facts.mode) == pursuit.op.mode(),
            Phase::Held | Phase::Renewing | Phase::Asking | Phase::Releasing => false,
        };
        tries
            && facts.holds == 0
            && !self.crashed(state, client)
            && self.is_linked_to_a_quorum(state, client)
    }

    pub(super) fn demands_of(&self, pursuit: Pursuit) -> Demands {
        let threads = bits(RUNS, LANES) | bits(READS, LANES) | bits(SERVED, LANES);
        let ends = bits(ENDS, CLIENTS_MAX as u8);
        1 << TIME | ends | 1 << (TRIES + pursuit.client) | threads
    }

    /// See [`System::open`].
    pub(super) fn always_open(&self, state: &State) -> Demands {
        let mut open = 1 << TIME;
        for client in 0..self.clients.len() {
            let tries = self.facts(state, client).phase == Phase::Acquiring;
            open |= Demands::from(self.believes(state, client)) << (ENDS + client as u8);
            open |= Demands::from(!tries) << (TRIES + client as u8);
        }
        open
    }

    /// See [`System::meets`].
    pub(in crate::world) fn meets_by(&self, state: &State, action: Action) -> Option<u8> {
        let sender = |client, slot| self.message_in(state, client, slot);
        Some(match Move::decode(action)? {
            Move::Tick => TIME,
            Move::Wake { client, thread } | Move::Choose { client, thread, .. } => {
                RUNS + lane(client, thread)
            }
            Move::Deliver { client, slot, .. } => {
                READS + lane(client, sender(client, slot)?.thread)
            }
            Move::Execute { client, slot, .. } => {
                SERVED + lane(client, sender(client, slot)?.thread)
            }
            _ => return None,
        })
    }

    /// Where messages that say the same are counted as two or more, another may be left or not.
    pub(in crate::world) fn may_happen_by(&self, action: Action) -> bool {
        matches!(Move::decode(action), Some(Move::Deliver { more: true, .. }))
    }

    /// A transition without a fault that does this and leads to a state that is bare the same.
    pub(crate) fn lifted(&self, state: &State, action: Action, bare: &State) -> Option<State> {
        let mut found = None;
        self.edges(state, &mut |next: Transition<State>| {
            if !next.fault && next.action == action && self.bare(&next.state) == *bare {
                found.get_or_insert(next.state);
            }
        });
        found
    }
}
