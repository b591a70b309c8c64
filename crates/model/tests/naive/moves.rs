//! What can happen next.

use lockproof_model::lock::{Op, Phase, Waiting};
use lockproof_model::world::catalogue::Fault;

use crate::callers;
use crate::holder;
use crate::objects;
use crate::subscriptions;
use crate::time;
use crate::world::{Cargo, Cut, Setup, State};

/// Most holds of one client at once.
const NESTED_MAX: u8 = 2;

/// One move. Messages are named by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    Call {
        client: usize,
        op: Op,
    },
    Wake {
        client: usize,
        thread: u8,
    },
    Choose {
        client: usize,
        thread: u8,
        value: u8,
    },
    /// `order`: where nobody promises one.
    Execute {
        id: u32,
        order: u32,
    },
    Deliver {
        id: u32,
    },
    Write {
        client: usize,
    },
    Tick,
    /// A tick in which this client's clock counts so many.
    Drift {
        client: usize,
        ticks: i64,
    },
    Resume {
        client: usize,
    },
    Heal {
        client: usize,
        node: usize,
    },
    Crash {
        client: usize,
    },
    ClientRestart {
        client: usize,
    },
    Pause {
        client: usize,
    },
    Cancel {
        client: usize,
    },
    Overrun {
        client: usize,
    },
    Skew {
        client: usize,
        back: bool,
    },
    Delay {
        id: u32,
    },
    Lose {
        id: u32,
    },
    Cut {
        client: usize,
        node: usize,
        cut: Cut,
    },
    Restart {
        node: usize,
    },
    Flush {
        node: usize,
    },
    Down {
        node: usize,
        delayed: bool,
    },
    Up {
        node: usize,
    },
    Jump {
        node: usize,
        back: bool,
    },
    Failover {
        node: usize,
        lost: usize,
    },
}

/// A move, and how many of the requests just sent a pause holds back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Action {
    pub step: Move,
    pub held: usize,
}

impl From<Move> for Action {
    fn from(step: Move) -> Action {
        Action { step, held: 0 }
    }
}

/// All moves but for pauses that hold requests back, and orders beside the first.
pub fn enabled(setup: &Setup, state: &State) -> Vec<Move> {
    let mut moves = Vec::new();
    for client in 0..setup.clients {
        client_moves(setup, state, client, &mut moves);
    }
    message_moves(setup, state, &mut moves);
    for node in 0..setup.nodes() {
        node_moves(setup, state, node, &mut moves);
    }
    link_moves(setup, state, &mut moves);
    if time::may_pass(setup, state) {
        moves.push(Move::Tick);
        if state.left(setup, Fault::ClientDrift) > 0 {
            for client in (0..setup.clients).filter(|client| state.clients[*client].runs()) {
                moves.push(Move::Drift { client, ticks: 0 });
                moves.push(Move::Drift { client, ticks: 2 });
            }
        }
    }
    moves
}

fn client_moves(setup: &Setup, state: &State, client: usize, moves: &mut Vec<Move>) {
    let one = &state.clients[client];
    let first = callers::is_first(setup, client);
    if first && state.left(setup, Fault::ClientRestart) > 0 {
        moves.push(Move::ClientRestart { client });
    }
    if one.ghost.crashed {
        return;
    }
    if first && state.left(setup, Fault::ClientCrash) > 0 {
        moves.push(Move::Crash { client });
    }
    if one.ghost.paused.is_some() {
        if first {
            moves.push(Move::Resume { client });
        }
        return;
    }
    let view = one.program.view();
    let nested = setup.file.reentrant && view.holds < NESTED_MAX;
    let fresh = view.phase == Phase::Idle && one.ghost.attempt < setup.attempts_max;
    for op in setup.file.operations().iter().copied() {
        let again = op.mode() == Some(view.mode) && view.phase == Phase::Held && nested;
        if op.mode().is_some() && (fresh || again) {
            moves.push(Move::Call { client, op });
        }
        if holder::is_holders(op) && view.phase == Phase::Held {
            moves.push(Move::Call { client, op });
        }
    }
    if view.phase == Phase::Held {
        moves.push(Move::Call {
            client,
            op: Op::Release,
        });
    }
    moves.retain(|one| match one {
        Move::Call { client: who, op } if *who == client => {
            objects::may_call(setup, state, client, *op)
        }
        _ => true,
    });
    for (thread, waiting) in &view.threads {
        let (thread, waiting) = (*thread, *waiting);
        match waiting {
            Waiting::Ready => moves.push(Move::Wake { client, thread }),
            Waiting::TimedOut { .. } if !time::reply_is_due(state, client, thread) => {
                moves.push(Move::Wake { client, thread });
            }
            Waiting::Choice { options } => {
                let values = 1..=options;
                moves.extend(values.map(|value| Move::Choose {
                    client,
                    thread,
                    value,
                }));
            }
            Waiting::TimedOut { .. } | Waiting::Reply { .. } | Waiting::Sleep { .. } => {}
            Waiting::Open { .. } | Waiting::Message { .. } => {}
        }
    }
    let writes = !setup.file.objects.two;
    if writes && view.phase == Phase::Held && one.ghost.read.is_some() {
        moves.push(Move::Write { client });
    }
    // A client that does nothing can not be disturbed.
    let busy = callers::process(setup, client).any(|caller| {
        let view = state.clients[caller].program.view();
        view.phase != Phase::Idle || !view.threads.is_empty()
    });
    if first && state.left(setup, Fault::ClientPause) > 0 && busy {
        moves.push(Move::Pause { client });
    }
    // Wherever its own thread waits.
    let caller = view.threads.iter().find(|(thread, _)| *thread == 0);
    let waits = caller.is_some_and(|(_, waiting)| !matches!(waiting, Waiting::Choice { .. }));
    if state.left(setup, Fault::Cancel) > 0 && waits {
        moves.push(Move::Cancel { client });
    }
    if state.left(setup, Fault::Overrun) > 0 && time::must_end(setup, state, client) {
        moves.push(Move::Overrun { client });
    }
    if state.left(setup, Fault::ClientSkew) > 0 {
        moves.push(Move::Skew {
            client,
            back: false,
        });
        moves.push(Move::Skew { client, back: true });
    }
}

fn message_moves(setup: &Setup, state: &State, moves: &mut Vec<Move>) {
    for message in state.messages.iter().filter(|message| !message.held) {
        let id = message.id;
        match *message.cargo {
            Cargo::Request(_) => moves.push(Move::Execute { id, order: 0 }),
            Cargo::Reply(_) | Cargo::Broken | Cargo::Refused | Cargo::Published(_) => {
                let runs = state.clients[message.client].runs();
                if runs && !subscriptions::is_behind(state, message) {
                    moves.push(Move::Deliver { id });
                }
            }
        }
        if !matches!(*message.cargo, Cargo::Broken | Cargo::Refused) {
            if state.left(setup, Fault::Loss) > 0 && subscriptions::can_be_lost(state, message) {
                moves.push(Move::Lose { id });
            }
            if state.left(setup, Fault::Delay) > 0 && message.allowance == 0 {
                moves.push(Move::Delay { id });
            }
        }
    }
}

fn node_moves(setup: &Setup, state: &State, node: usize, moves: &mut Vec<Move>) {
    if let Some(ticks) = state.nodes[node].down {
        if ticks >= time::away(setup).0 {
            moves.push(Move::Up { node });
        }
        return;
    }
    for (fault, delayed) in [(Fault::NodeDown, false), (Fault::DelayedRestart, true)] {
        if state.left(setup, fault) > 0 {
            moves.push(Move::Down { node, delayed });
        }
    }
    if state.left(setup, Fault::RestartNone) > 0 {
        moves.push(Move::Restart { node });
    }
    if state.left(setup, Fault::NodeFlush) > 0 {
        moves.push(Move::Flush { node });
    }
    if state.left(setup, Fault::ClockJump) > 0 {
        moves.push(Move::Jump { node, back: false });
        moves.push(Move::Jump { node, back: true });
    }
    if state.left(setup, Fault::Failover) > 0 && !state.nodes[node].promoted {
        let most = state.nodes[node].behind.len();
        moves.extend((0..=most).map(|lost| Move::Failover { node, lost }));
    }
}

fn link_moves(setup: &Setup, state: &State, moves: &mut Vec<Move>) {
    for client in 0..setup.clients {
        for node in 0..setup.nodes() {
            if state.cut[client * setup.nodes() + node] != Cut::Open {
                moves.push(Move::Heal { client, node });
                continue;
            }
            if state.clients[client].ghost.crashed {
                continue;
            }
            let mut cuts = Vec::new();
            if state.left(setup, Fault::Partition) > 0 {
                cuts.push(Cut::Both);
            }
            if state.left(setup, Fault::PartitionOneWay) > 0 {
                cuts.extend([Cut::Requests, Cut::Replies]);
            }
            moves.extend(cuts.into_iter().map(|cut| Move::Cut { client, node, cut }));
        }
    }
}
