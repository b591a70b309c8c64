//! What is broken and stays so: servers that are gone, links that are cut.

use lockproof_model::world::catalogue::Fault;

use crate::moves::Move;
use crate::world::{Cut, Setup, State};

/// So long as these, a server stays away: longer than anybody looks.
const FOR_EVER: u8 = u8::MAX;

/// Something is broken, and somebody who lives reaches a majority all the same.
pub fn lasts(setup: &Setup, state: &State) -> bool {
    let cut = |client: usize, node: usize| state.cut[client * setup.nodes() + node] != Cut::Open;
    let up = |node: usize| state.nodes[node].down.is_none();
    let all = || 0..setup.nodes();
    let reaches = |client: &usize| {
        let count = all()
            .filter(|node| up(*node) && !cut(*client, *node))
            .count();
        !state.clients[*client].ghost.crashed && count >= setup.quorum()
    };
    let broken = state.cut.iter().any(|cut| *cut != Cut::Open) || !all().all(up);
    broken && (0..setup.clients).any(|client| reaches(&client))
}

/// The same world in which nobody repairs anything, and time does not wait for it.
pub fn lasting(setup: &Setup) -> Setup {
    let mut worse = setup.clone();
    for switch in &mut worse.switches {
        if matches!(switch.fault, Fault::NodeDown | Fault::DelayedRestart) {
            switch.size = FOR_EVER;
        }
    }
    worse.repairs = false;
    worse
}

/// The move may happen in this world.
pub fn may(setup: &Setup, step: &Move) -> bool {
    setup.repairs || !matches!(step, Move::Up { .. } | Move::Heal { .. })
}
