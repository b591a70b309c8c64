//! What can happen in the world, and its code in an [`Action`].

// A new fault or move must not slip through.
#![deny(clippy::wildcard_enum_match_arm)]

use crate::lock::Op;

use super::system::Action;

/// What a client does by itself, or with what reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Act {
    /// [`Move::Call`].
    Call(Op),
    /// [`Move::Wake`] of this thread.
    Wake(u8),
    /// [`Move::Choose`] of this thread and value.
    Choose(u8, u8),
    /// [`Move::Deliver`] from this slot.
    Deliver(u8),
}

impl Act {
    /// The move in which nothing is held back.
    pub fn of(self, client: u8) -> Move {
        match self {
            Act::Call(op) => Move::Call { client, op },
            Act::Wake(thread) => Move::Wake { client, thread },
            Act::Choose(thread, value) => Move::Choose {
                client,
                thread,
                value,
            },
            Act::Deliver(slot) => Move::Deliver { client, slot },
        }
    }
}

/// One transition of the world. Messages are named by client and slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Move {
    /// The driver calls an operation.
    Call {
        client: u8,
        op: Op,
    },
    /// A thread whose time has come runs on.
    Wake {
        client: u8,
        thread: u8,
    },
    /// `random(n)` gives `value`.
    Choose {
        client: u8,
        thread: u8,
        value: u8,
    },
    /// A request in flight reaches its node and is executed.
    Execute {
        client: u8,
        slot: u8,
    },
    /// A reply, or the news that the connection failed, reaches its client.
    Deliver {
        client: u8,
        slot: u8,
    },
    /// The holder writes to the guarded counter.
    Write {
        client: u8,
    },
    /// All clocks advance.
    Tick,
    /// The end of a pause.
    Resume {
        client: u8,
    },
    /// The end of a server's pause.
    ResumeNode {
        node: u8,
    },
    /// The end of a partition.
    Heal {
        client: u8,
        node: u8,
    },
    /// A server's log reaches its disk.
    Fsync {
        node: u8,
    },
    // Faults, each of which costs budget:
    /// The client does this, and is paused before it has sent the last `held`
    /// requests of it.
    PauseAfter {
        client: u8,
        act: Act,
        held: u8,
    },
    Crash {
        client: u8,
    },
    /// A client that runs, or has crashed, starts again and remembers nothing.
    ClientRestart {
        client: u8,
    },
    Pause {
        client: u8,
    },
    Overrun {
        client: u8,
    },
    Delay {
        client: u8,
        slot: u8,
    },
    Lose {
        client: u8,
        slot: u8,
    },
    Cut {
        client: u8,
        node: u8,
    },
    /// The link swallows what goes one way.
    CutOneWay {
        client: u8,
        node: u8,
        replies: bool,
    },
    RestartNone {
        node: u8,
    },
    RestartEverysec {
        node: u8,
    },
    RestartAlways {
        node: u8,
    },
    PauseNode {
        node: u8,
    },
    /// A server dies and is gone. What it will come back with is what a persistence of
    /// none, everysec or always (0, 1, 2) keeps.
    NodeDown {
        node: u8,
        kept: u8,
    },
    /// A server that was gone comes back; costs nothing.
    NodeUp {
        node: u8,
    },
    /// The client's clock offset becomes the one with this index.
    Skew {
        client: u8,
        skew: u8,
    },
    /// A tick in which this client's clock advances by 0 or 2 ticks.
    Drift {
        client: u8,
        ticks: u8,
    },
    /// A server's clock jumps forward or back.
    Jump {
        node: u8,
        back: bool,
    },
    /// A server dies for good, and its replica takes its place without the
    /// server's last `lost` writes.
    Failover {
        node: u8,
        lost: u8,
    },
    /// The same, but the server goes on for clients that have not noticed.
    SplitBrain {
        node: u8,
        lost: u8,
    },
    /// A client notices, and uses the new server from here on; costs nothing.
    Notice {
        client: u8,
        node: u8,
    },
    /// The old server is taken away, with its writes; costs nothing.
    Demote {
        node: u8,
    },
    /// A server is cut off from everybody, and its replica takes its place
    /// without the server's last `lost` writes.
    CutOff {
        node: u8,
        lost: u8,
    },
    /// The replica has all that a blocked WAIT asks for; costs nothing.
    Acknowledge {
        client: u8,
        slot: u8,
    },
    /// The server that a node had before comes back as its replica, with what
    /// the node holds now; costs nothing.
    Rejoin {
        node: u8,
    },
    /// A server hears no more of its replica; it asks for one to write.
    FallSilent {
        node: u8,
    },
    /// The server, or the node's old one, counts its replica as gone, and refuses
    /// writes; costs nothing.
    Refuse {
        node: u8,
        old: bool,
    },
    /// The replica is in touch again, and has everything; costs nothing.
    Regain {
        node: u8,
    },
}

impl Move {
    /// The client that runs in this move, if one does.
    pub fn client(self) -> Option<u8> {
        match self {
            Move::Call { client, .. }
            | Move::Wake { client, .. }
            | Move::Choose { client, .. }
            | Move::Deliver { client, .. }
            | Move::PauseAfter { client, .. } => Some(client),
            Move::Execute { .. }
            | Move::Write { .. }
            | Move::Tick
            | Move::Resume { .. }
            | Move::ResumeNode { .. }
            | Move::Heal { .. }
            | Move::Fsync { .. }
            | Move::Crash { .. }
            | Move::ClientRestart { .. }
            | Move::Pause { .. }
            | Move::Overrun { .. }
            | Move::Delay { .. }
            | Move::Lose { .. }
            | Move::Cut { .. }
            | Move::CutOneWay { .. }
            | Move::RestartNone { .. }
            | Move::RestartEverysec { .. }
            | Move::RestartAlways { .. }
            | Move::PauseNode { .. }
            | Move::NodeDown { .. }
            | Move::NodeUp { .. }
            | Move::Skew { .. }
            | Move::Drift { .. }
            | Move::Jump { .. }
            | Move::Failover { .. }
            | Move::SplitBrain { .. }
            | Move::Notice { .. }
            | Move::Demote { .. }
            | Move::CutOff { .. }
            | Move::Acknowledge { .. }
            | Move::Rejoin { .. }
            | Move::FallSilent { .. }
            | Move::Refuse { .. }
            | Move::Regain { .. } => None,
        }
    }

    /// Packs the move: kind, then up to three small numbers.
    pub fn encode(self) -> Action {
        let code = |kind: u32, a: u8, b: u8, c: u8| {
            Action(kind << 24 | u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c))
        };
        match self {
            Move::Call { client, op } => code(0, client, u8::from(op == Op::Release), 0),
            Move::Wake { client, thread } => code(1, client, thread, 0),
            Move::Choose {
                client,
                thread,
                value,
            } => code(2, client, thread, value),
            Move::Execute { client, slot } => code(3, client, slot, 0),
            Move::Deliver { client, slot } => code(4, client, slot, 0),
            Move::Write { client } => code(5, client, 0, 0),
            Move::Tick => code(6, 0, 0, 0),
            Move::Resume { client } => code(7, client, 0, 0),
            Move::ResumeNode { node } => code(8, node, 0, 0),
            Move::Heal { client, node } => code(9, client, node, 0),
            Move::Fsync { node } => code(10, node, 0, 0),
            Move::Crash { client } => code(11, client, 0, 0),
            Move::Pause { client } => code(12, client, 0, 0),
            Move::Overrun { client } => code(13, client, 0, 0),
            Move::Delay { client, slot } => code(14, client, slot, 0),
            Move::Lose { client, slot } => code(15, client, slot, 0),
            Move::Cut { client, node } => code(16, client, node, 0),
            Move::RestartNone { node } => code(17, node, 0, 0),
            Move::RestartEverysec { node } => code(18, node, 0, 0),
            Move::RestartAlways { node } => code(19, node, 0, 0),
            Move::PauseNode { node } => code(20, node, 0, 0),
            Move::Skew { client, skew } => code(21, client, skew, 0),
            Move::Drift { client, ticks } => code(22, client, ticks, 0),
            Move::Jump { node, back } => code(23, node, u8::from(back), 0),
            Move::Failover { node, lost } => code(24, node, lost, 0),
            Move::SplitBrain { node, lost } => code(25, node, lost, 0),
            Move::Notice { client, node } => code(26, client, node, 0),
            Move::Demote { node } => code(27, node, 0, 0),
            Move::CutOff { node, lost } => code(28, node, lost, 0),
            Move::Acknowledge { client, slot } => code(29, client, slot, 0),
            Move::Rejoin { node } => code(30, node, 0, 0),
            Move::FallSilent { node } => code(31, node, 0, 0),
            Move::Refuse { node, old } => code(32, node, u8::from(old), 0),
            Move::Regain { node } => code(33, node, 0, 0),
            Move::ClientRestart { client } => code(39, client, 0, 0),
            Move::NodeDown { node, kept } => code(40, node, kept, 0),
            Move::NodeUp { node } => code(41, node, 0, 0),
            Move::CutOneWay {
                client,
                node,
                replies,
            } => code(38, client, node, u8::from(replies)),
            Move::PauseAfter { client, act, held } => {
                let who = held << 4 | client;
                match act {
                    Act::Call(op) => code(34, who, u8::from(op == Op::Release), 0),
                    Act::Wake(thread) => code(35, who, thread, 0),
                    Act::Choose(thread, value) => code(36, who, thread, value),
                    Act::Deliver(slot) => code(37, who, slot, 0),
                }
            }
        }
    }

    /// Unpacks what [`Move::encode`] packed; `None` for any other code.
    pub fn decode(action: Action) -> Option<Move> {
        let [kind, a, b, c] = action.0.to_be_bytes();
        Some(match kind {
            0 => Move::Call {
                client: a,
                op: if b == 0 { Op::Acquire } else { Op::Release },
            },
            1 => Move::Wake {
                client: a,
                thread: b,
            },
            2 => Move::Choose {
                client: a,
                thread: b,
                value: c,
            },
            3 => Move::Execute { client: a, slot: b },
            4 => Move::Deliver { client: a, slot: b },
            5 => Move::Write { client: a },
            6 => Move::Tick,
            7 => Move::Resume { client: a },
            8 => Move::ResumeNode { node: a },
            9 => Move::Heal { client: a, node: b },
            10 => Move::Fsync { node: a },
            11 => Move::Crash { client: a },
            12 => Move::Pause { client: a },
            13 => Move::Overrun { client: a },
            14 => Move::Delay { client: a, slot: b },
            15 => Move::Lose { client: a, slot: b },
            16 => Move::Cut { client: a, node: b },
            17 => Move::RestartNone { node: a },
            18 => Move::RestartEverysec { node: a },
            19 => Move::RestartAlways { node: a },
            20 => Move::PauseNode { node: a },
            21 => Move::Skew { client: a, skew: b },
            22 => Move::Drift {
                client: a,
                ticks: b,
            },
            23 => Move::Jump {
                node: a,
                back: b != 0,
            },
            24 => Move::Failover { node: a, lost: b },
            25 => Move::SplitBrain { node: a, lost: b },
            26 => Move::Notice { client: a, node: b },
            27 => Move::Demote { node: a },
            28 => Move::CutOff { node: a, lost: b },
            29 => Move::Acknowledge { client: a, slot: b },
            30 => Move::Rejoin { node: a },
            31 => Move::FallSilent { node: a },
            32 => Move::Refuse {
                node: a,
                old: b != 0,
            },
            33 => Move::Regain { node: a },
            39 => Move::ClientRestart { client: a },
            40 => Move::NodeDown { node: a, kept: b },
            41 => Move::NodeUp { node: a },
            38 => Move::CutOneWay {
                client: a,
                node: b,
                replies: c != 0,
            },
            34..=37 => {
                let act = match kind {
                    34 if b == 0 => Act::Call(Op::Acquire),
                    34 => Act::Call(Op::Release),
                    35 => Act::Wake(b),
                    36 => Act::Choose(b, c),
                    _ => Act::Deliver(b),
                };
                Move::PauseAfter {
                    client: a & 15,
                    act,
                    held: a >> 4,
                }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_move_survives_its_code() {
        for kind in 0..42u32 {
            let action = Action(kind << 24 | 1 << 16 | 1 << 8 | 1);
            let decoded = Move::decode(action).expect("kinds below 42 are moves");
            assert_eq!(Move::decode(decoded.encode()), Some(decoded));
        }
        assert_eq!(Move::decode(Action(42 << 24)), None);
    }

    #[test]
    fn what_a_pause_comes_after_survives_for_every_number_of_requests_and_every_draw() {
        let calls = [Op::Acquire, Op::Release].map(Act::Call);
        let threads = 0..crate::world::client::THREADS as u8;
        let draws = threads
            .clone()
            .flat_map(|thread| (1..=255).map(move |n| (thread, n)));
        let slots = 0..crate::world::SLOTS as u8;
        let acts: Vec<Act> = (calls.into_iter())
            .chain(threads.map(Act::Wake))
            .chain(draws.map(|(thread, value)| Act::Choose(thread, value)))
            .chain(slots.map(Act::Deliver))
            .collect();
        for client in 0..crate::world::CLIENTS_MAX as u8 {
            for held in 1..=crate::world::SLOTS as u8 {
                for act in &acts {
                    let act = *act;
                    let step = Move::PauseAfter { client, act, held };
                    assert_eq!(Move::decode(step.encode()), Some(step));
                }
            }
        }
    }
}
