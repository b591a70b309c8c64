//! What can happen in the world, and its code in an [`Action`].

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
    /// [`Move::Deliver`] from this slot, and whether more are left.
    Deliver(u8, bool),
}

impl Act {
    /// The kind of a pause that comes after it, and its numbers.
    fn packed(self) -> (u8, u8, u8) {
        match self {
            Act::Call(op) => (34, op.pack(), 0),
            Act::Wake(thread) => (35, thread, 0),
            Act::Choose(thread, value) => (36, thread, value),
            Act::Deliver(slot, more) => (37, slot, more.into()),
        }
    }

    fn unpacked(kind: u8, a: u8, b: u8) -> Option<Act> {
        Some(match kind {
            34 => Act::Call(Op::unpack(a)),
            35 => Act::Wake(a),
            36 => Act::Choose(a, b),
            37 => Act::Deliver(a, b != 0),
            _ => return None,
        })
    }

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
            Act::Deliver(slot, more) => Move::Deliver { client, slot, more },
        }
    }
}

/// A small number of a move's code.
trait Small: Sized {
    fn pack(self) -> u8;
    fn unpack(packed: u8) -> Self;
}

impl Small for u8 {
    fn pack(self) -> u8 {
        self
    }

    fn unpack(packed: u8) -> u8 {
        packed
    }
}

impl Small for bool {
    fn pack(self) -> u8 {
        u8::from(self)
    }

    fn unpack(packed: u8) -> bool {
        packed != 0
    }
}

impl Small for Op {
    fn pack(self) -> u8 {
        self as u8
    }

    fn unpack(packed: u8) -> Op {
        Op::ALL[usize::from(packed) % Op::ALL.len()]
    }
}

/// Kind, then up to three small numbers.
fn code(kind: u8, [a, b, c]: [u8; 3]) -> Action {
    Action(u32::from_be_bytes([kind, a, b, c]))
}

/// The moves, their codes, and whether a client runs in them: one table. A code stands
/// for ever, since the order of codes decides which of two shortest traces is shown.
macro_rules! moves {
    ($($(#[$doc:meta])* $code:literal: $name:ident { $($field:ident: $small:ty),* } $(runs $who:ident)?;)*) => {
        /// One transition of the world. Messages are named by client and slot.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Move {
            $($(#[$doc])* $name { $($field: $small),* },)*
            /// All clocks advance.
            Tick,
            /// The client does this, and is paused before it has sent the last `held`
            /// requests of it.
            PauseAfter { client: u8, act: Act, held: u8 },
        }

        impl Move {
            /// The client that runs in this move, if one does.
            #[allow(unused_variables)] // most fields of most moves
            pub fn client(self) -> Option<u8> {
                match self {
                    $(Move::$name { $($field),* } => moves!(who $($who)?),)*
                    Move::Tick => None,
                    Move::PauseAfter { client, .. } => Some(client),
                }
            }

            /// Packs the move.
            #[inline]
            pub fn encode(self) -> Action {
                match self {
                    $(Move::$name { $($field),* } => {
                        let packed = [$(Small::pack($field)),*];
                        let mut numbers = [0; 3];
                        numbers[..packed.len()].copy_from_slice(&packed);
                        code($code, numbers)
                    })*
                    Move::Tick => code(TICK, [0; 3]),
                    Move::PauseAfter { client, act, held } => {
                        let (kind, a, b) = act.packed();
                        code(kind, [held << 4 | client, a, b])
                    }
                }
            }

            /// Unpacks what [`Move::encode`] packed; `None` for any other code.
            #[inline]
            pub fn decode(action: Action) -> Option<Move> {
                let [kind, a, b, c] = action.0.to_be_bytes();
                let mut numbers = [a, b, c].into_iter();
                Some(match kind {
                    $($code => Move::$name { $($field: Small::unpack(numbers.next()?)),* },)*
                    TICK => Move::Tick,
                    _ => Move::PauseAfter {
                        client: a & 15,
                        act: Act::unpacked(kind, b, c)?,
                        held: a >> 4,
                    },
                })
            }
        }
    };
    (who) => { None };
    (who $who:ident) => { Some($who) };
}

const TICK: u8 = 6;

moves! {
    /// The driver calls an operation.
    0: Call { client: u8, op: Op } runs client;
    /// A thread whose time has come runs on.
    1: Wake { client: u8, thread: u8 } runs client;
    /// `random(n)` gives `value`.
    2: Choose { client: u8, thread: u8, value: u8 } runs client;
    /// A request in flight reaches its node and is executed.
    3: Execute { client: u8, slot: u8, way: u8 };
    /// A reply, the news that the connection failed, or a published message reaches its
    /// client; `more`: two or more messages like this one are still on their way.
    4: Deliver { client: u8, slot: u8, more: bool } runs client;
    /// The holder writes to the guarded counter.
    5: Write { client: u8 };
    /// The end of a pause.
    7: Resume { client: u8 };
    /// The end of a server's pause.
    8: ResumeNode { node: u8 };
    /// The end of a partition.
    9: Heal { client: u8, node: u8 };
    /// A server's log reaches its disk.
    10: Fsync { node: u8 };
    // Faults, each of which costs budget unless it says otherwise.
    11: Crash { client: u8 };
    /// A client that runs, or has crashed, starts again and remembers nothing.
    39: ClientRestart { client: u8 };
    /// The caller interrupts the operation that runs.
    43: Cancel { client: u8 };
    12: Pause { client: u8 };
    13: Overrun { client: u8 };
    14: Delay { client: u8, slot: u8 };
    15: Lose { client: u8, slot: u8 };
    16: Cut { client: u8, node: u8 };
    /// The link swallows what goes one way.
    38: CutOneWay { client: u8, node: u8, replies: bool };
    17: RestartNone { node: u8 };
    18: RestartEverysec { node: u8 };
    19: RestartAlways { node: u8 };
    20: PauseNode { node: u8 };
    /// A server dies and is gone. What it will come back with is what a persistence of
    /// none, everysec or always (0, 1, 2) keeps.
    40: NodeDown { node: u8, kept: u8 };
    /// A server that was gone comes back; costs nothing.
    41: NodeUp { node: u8 };
    /// A server's keys are deleted, and it goes on.
    42: NodeFlush { node: u8 };
    /// The client's clock offset becomes the one with this index.
    21: Skew { client: u8, skew: u8 };
    /// A tick in which this client's clock advances by 0 or 2 ticks.
    22: Drift { client: u8, ticks: u8 };
    /// A server's clock jumps forward or back.
    23: Jump { node: u8, back: bool };
    /// A server dies for good, and its replica takes its place without the
    /// server's last `lost` writes.
    24: Failover { node: u8, lost: u8 };
    /// The same, but the server goes on for clients that have not noticed.
    25: SplitBrain { node: u8, lost: u8 };
    /// A client notices, and uses the new server from here on; costs nothing.
    26: Notice { client: u8, node: u8 };
    /// The old server is taken away, with its writes; costs nothing.
    27: Demote { node: u8 };
    /// A server is cut off from everybody, and its replica takes its place
    /// without the server's last `lost` writes.
    28: CutOff { node: u8, lost: u8 };
    /// The replica has all that a blocked WAIT asks for; costs nothing.
    29: Acknowledge { client: u8, slot: u8 };
    /// The server that a node had before comes back as its replica, with what
    /// the node holds now; costs nothing.
    30: Rejoin { node: u8 };
    /// A server hears no more of its replica; it asks for one to write.
    31: FallSilent { node: u8 };
    /// The server, or the node's old one, counts its replica as gone, and refuses
    /// writes; costs nothing.
    32: Refuse { node: u8, old: bool };
    /// The replica is in touch again, and has everything; costs nothing.
    33: Regain { node: u8 };
    /// A server that holds a BLPOP back learns that its client has ended the connection;
    /// costs nothing.
    44: HangUp { client: u8, slot: u8 };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_move_survives_its_code() {
        for kind in 0..45u32 {
            let action = Action(kind << 24 | 1 << 16 | 1 << 8 | 1);
            let decoded = Move::decode(action).expect("kinds below 45 are moves");
            assert_eq!(Move::decode(decoded.encode()), Some(decoded));
        }
        assert_eq!(Move::decode(Action(45 << 24)), None);
    }

    #[test]
    fn what_a_pause_comes_after_survives_for_every_number_of_requests_and_every_draw() {
        let calls = Op::ALL.map(Act::Call);
        let threads = 0..crate::world::client::THREADS as u8;
        let draws = threads
            .clone()
            .flat_map(|thread| (1..=255).map(move |n| (thread, n)));
        let slots = 0..crate::world::SLOTS as u8;
        let acts: Vec<Act> = (calls.into_iter())
            .chain(threads.map(Act::Wake))
            .chain(draws.map(|(thread, value)| Act::Choose(thread, value)))
            .chain(slots.flat_map(|slot| [Act::Deliver(slot, false), Act::Deliver(slot, true)]))
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
