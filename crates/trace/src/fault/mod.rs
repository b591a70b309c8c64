//! What can strike in a trace, a file a fault: how it is said and drawn, and when it
//! can happen.

// A new fault must not slip through.
#![deny(clippy::wildcard_enum_match_arm)]

mod cancel;
mod client_clock;
mod client_crash;
mod client_pause;
mod client_restart;
mod clock_jump;
mod link;
mod message;
mod min_replicas;
mod node_down;
mod node_flush;
mod node_pause;
mod node_restart;
mod overrun;
mod promotion;
mod replica_lag;

pub use link::Way;

use serde::{Deserialize, Serialize};

use super::validate::Progress;
use super::words;

/// A fault, named as in the catalogue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fault", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FaultEvent {
    /// The client process dies (SIGKILL) and stays dead.
    ClientCrash { client: u8 },
    /// The client process dies (SIGKILL), if it has not before, and another one with
    /// its name takes its place.
    ClientRestart { client: u8 },
    /// The client process stops (SIGSTOP); clocks go on.
    ClientPause {
        client: u8,
        /// Requests that it was about to send: they are sent when it goes on.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<u32>,
    },
    /// The client process continues (SIGCONT).
    ClientResume { client: u8 },
    /// The caller interrupts the operation that runs (protocol message `cancel`): it ends
    /// as failed, at once or after the file's clean-up.
    Cancel { client: u8 },
    /// The holder's work will outlast its lease.
    Overrun { client: u8 },
    /// A request in flight is lost before the node sees it, or a reply before
    /// the client sees it.
    Lose {
        client: u8,
        node: u8,
        message: u32,
        reply: bool,
    },
    /// A message may now stay in flight for up to `ticks` ticks.
    Delay {
        client: u8,
        node: u8,
        message: u32,
        reply: bool,
        ticks: u8,
    },
    /// The link is cut: what is sent on it is lost, until `LinkHeal`.
    LinkCut {
        client: u8,
        node: u8,
        /// Only what goes this way is lost.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        only: Option<Way>,
    },
    /// The link works again.
    LinkHeal { client: u8, node: u8 },
    /// The server process dies and starts again; `Fail` steps follow for the
    /// commands that were in flight. `loses` tells whether writes since the
    /// last fsync are lost.
    NodeRestart {
        node: u8,
        persistence: String,
        loses: bool,
    },
    /// The server process dies and is gone, until `NodeUp`; `loses` is as in
    /// `NodeRestart`. Connections are refused: `Fail` steps that are definite.
    NodeDown {
        node: u8,
        persistence: String,
        loses: bool,
    },
    /// The server process starts again.
    NodeUp { node: u8 },
    /// The server's log reaches the disk (everysec only).
    NodeFsync { node: u8 },
    /// All keys of the server are deleted (FLUSHALL), and it goes on.
    NodeFlush { node: u8 },
    /// The server process stops (SIGSTOP); its clock goes on.
    NodePause { node: u8 },
    /// The server process continues.
    NodeResume { node: u8 },
    /// The client's clock is set off by this many ms from true time.
    ClientSkew { client: u8, offset_ms: i64 },
    /// In the tick that follows, the client's clock and timers advance by
    /// `ticks` ticks (0 or 2) instead of one.
    ClientDrift { client: u8, ticks: u8 },
    /// The server's clock jumps by this many ms.
    ClockJump { node: u8, offset_ms: i64 },
    /// The node's replica has all that the node wrote, and gets nothing of what
    /// follows.
    ReplicaLags { node: u8 },
    /// The node's replica gets what it lagged behind, but for so many last writes.
    /// The node is told of it (`known`), or the replica takes its place before.
    ReplicaCatchesUp { node: u8, lacks: u8, known: bool },
    /// The server process dies for good and the node's replica takes its place,
    /// without the server's last `lost` writes; `Fail` steps follow for the
    /// commands that were in flight.
    Failover { node: u8, lost: u8 },
    /// The node's replica takes its place, without its server's last `lost`
    /// writes; the old server goes on for clients that have not noticed.
    SplitBrain { node: u8, lost: u8 },
    /// The client notices: what it sends to the node from here on goes to the
    /// new server. What is in flight stays where it is.
    ClientNotices { client: u8, node: u8 },
    /// The node's old server is taken away, with what it wrote since the
    /// promotion; `Fail` steps follow for the commands that were in flight to it.
    Demotion { node: u8 },
    /// Nobody reaches the server any more, what is in flight to it or from it is
    /// lost, and the node's replica takes its place, without the server's last
    /// `lost` writes.
    CutOff { node: u8, lost: u8 },
    /// The server that the node had before comes back as its replica, and has all
    /// that the node has.
    Rejoin { node: u8 },
    /// The server hears no more of its replica, which may get its writes or not.
    ReplicaSilent { node: u8 },
    /// The server, or the old one, counts its replica as gone: it refuses writes.
    ReplicaGone { node: u8, old: bool },
    /// The replica that was silent is in touch again, and has everything.
    ReplicaBack { node: u8 },
}

/// How a fault is said and drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// Whom it strikes, before the sentence: `A`, `A ≠ N1`.
    pub who: String,
    /// In a few words, for a mark on a lane.
    pub short: String,
    /// As a sentence.
    pub sentence: String,
    /// On whose lane it is drawn.
    pub lane: Lane,
    /// As what.
    pub mark: Mark,
    /// From here on its lane stands still, or it does not any more.
    pub stands: Option<bool>,
}

/// A line of the diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Client(u8),
    Node(u8),
}

/// The shape of a fault in the diagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Diamond,
    /// Its lane ends.
    Cross,
    /// Nothing bad: a small square.
    Square,
    /// The arrow of a message ends.
    Lost,
    /// A gap in the lane: the process is another one afterwards; a wide one if it
    /// forgets.
    Restart {
        forgets: bool,
    },
    /// A line between a client and a node.
    Link {
        client: u8,
        node: u8,
        cut: bool,
    },
}

impl Told {
    /// Something that strikes a client.
    fn of_client(client: u8, short: impl Into<String>, sentence: String) -> Told {
        Told {
            who: words::client(client),
            short: short.into(),
            sentence,
            lane: Lane::Client(client),
            mark: Mark::Diamond,
            stands: None,
        }
    }

    /// Something that strikes a server.
    fn of_node(node: u8, short: impl Into<String>, sentence: String) -> Told {
        Told {
            who: format!("    {}", words::node(node)),
            lane: Lane::Node(node),
            ..Told::of_client(0, short, sentence)
        }
    }

    /// Something that strikes between a client and a node.
    fn between(
        (client, arrow, node): (u8, &str, u8),
        short: impl Into<String>,
        sentence: String,
    ) -> Told {
        Told {
            who: format!("{} {arrow} {}", words::client(client), words::node(node)),
            ..Told::of_client(client, short, sentence)
        }
    }

    fn marked(self, mark: Mark) -> Told {
        Told { mark, ..self }
    }

    fn standing(self, stands: bool) -> Told {
        Told {
            stands: Some(stands),
            ..self
        }
    }
}

impl FaultEvent {
    /// How it is said and drawn. `command` is the short name of the message's command,
    /// where it strikes one.
    pub fn told(&self, command: &str) -> Told {
        match *self {
            FaultEvent::ClientCrash { client } => client_crash::told(client),
            FaultEvent::ClientRestart { client } => client_restart::told(client),
            FaultEvent::ClientPause { client, ref held } => {
                client_pause::told(client, held, command)
            }
            FaultEvent::ClientResume { client } => client_pause::told_end(client),
            FaultEvent::Cancel { client } => cancel::told(client),
            FaultEvent::Overrun { client } => overrun::told(client),
            FaultEvent::Lose {
                client,
                node,
                reply,
                ..
            } => message::told_loss(client, node, reply, command),
            FaultEvent::Delay {
                client,
                node,
                reply,
                ticks,
                ..
            } => message::told_delay(client, node, reply, ticks, command),
            FaultEvent::LinkCut { client, node, only } => link::told(client, node, only),
            FaultEvent::LinkHeal { client, node } => link::told_end(client, node),
            FaultEvent::NodeRestart {
                node,
                ref persistence,
                loses,
            } => node_restart::told(node, persistence, loses),
            FaultEvent::NodeDown { node, loses, .. } => node_down::told(node, loses),
            FaultEvent::NodeUp { node } => node_down::told_end(node),
            FaultEvent::NodeFsync { node } => node_restart::told_fsync(node),
            FaultEvent::NodeFlush { node } => node_flush::told(node),
            FaultEvent::NodePause { node } => node_pause::told(node),
            FaultEvent::NodeResume { node } => node_pause::told_end(node),
            FaultEvent::ClientSkew { client, offset_ms } => {
                client_clock::told_skew(client, offset_ms)
            }
            FaultEvent::ClientDrift { client, ticks } => client_clock::told_drift(client, ticks),
            FaultEvent::ClockJump { node, offset_ms } => clock_jump::told(node, offset_ms),
            FaultEvent::ReplicaLags { node } => replica_lag::told(node),
            FaultEvent::ReplicaCatchesUp { node, lacks, known } => {
                replica_lag::told_end(node, lacks, known)
            }
            FaultEvent::Failover { node, lost } => promotion::told_failover(node, lost),
            FaultEvent::SplitBrain { node, lost } => promotion::told_split(node, lost),
            FaultEvent::CutOff { node, lost } => promotion::told_cut_off(node, lost),
            FaultEvent::ClientNotices { client, node } => promotion::told_notice(client, node),
            FaultEvent::Demotion { node } => promotion::told_demotion(node),
            FaultEvent::Rejoin { node } => promotion::told_rejoin(node),
            FaultEvent::ReplicaSilent { node } => min_replicas::told(node),
            FaultEvent::ReplicaGone { node, old } => min_replicas::told_gone(node, old),
            FaultEvent::ReplicaBack { node } => min_replicas::told_end(node),
        }
    }

    /// It can happen after the steps so far, which `run` adds up.
    pub(super) fn happen(&self, run: &mut Progress) -> Result<(), String> {
        match *self {
            FaultEvent::ClientCrash { client } => client_crash::happen(run, client),
            FaultEvent::ClientRestart { client } => client_restart::happen(run, client),
            FaultEvent::ClientPause { client, ref held } => client_pause::happen(run, client, held),
            FaultEvent::ClientResume { client } => client_pause::end(run, client),
            FaultEvent::Cancel { client } => cancel::happen(run, client),
            FaultEvent::Overrun { client }
            | FaultEvent::ClientSkew { client, .. }
            | FaultEvent::ClientDrift { client, .. } => run.client(client),
            FaultEvent::Lose {
                client,
                node,
                message,
                reply,
            } => message::lose(run, (client, node, message), reply),
            FaultEvent::Delay {
                client,
                node,
                message,
                ..
            } => run.message(client, node, message).map(|_| ()),
            FaultEvent::LinkCut { client, node, .. } => link::happen(run, client, node, true),
            FaultEvent::LinkHeal { client, node } => link::happen(run, client, node, false),
            FaultEvent::NodeRestart {
                node,
                ref persistence,
                ..
            } => node_restart::happen(run, node, persistence),
            FaultEvent::NodeDown {
                node,
                ref persistence,
                ..
            } => node_down::happen(run, node, persistence),
            FaultEvent::NodeUp { node } => node_down::end(run, node),
            FaultEvent::NodeFlush { node } => node_flush::happen(run, node),
            FaultEvent::NodePause { node } => node_pause::happen(run, node),
            FaultEvent::NodeResume { node } => node_pause::end(run, node),
            FaultEvent::NodeFsync { node } | FaultEvent::ClockJump { node, .. } => run.node(node),
            FaultEvent::ReplicaLags { node } => replica_lag::happen(run, node),
            FaultEvent::ReplicaCatchesUp { node, lacks, .. } => replica_lag::end(run, node, lacks),
            FaultEvent::Failover { node, lost } | FaultEvent::CutOff { node, lost } => {
                promotion::happen(run, node, lost)
            }
            FaultEvent::SplitBrain { node, lost } => promotion::split(run, node, lost),
            FaultEvent::ClientNotices { client, node } => promotion::notice(run, client, node),
            FaultEvent::Demotion { node } => promotion::demote(run, node),
            FaultEvent::Rejoin { node } => promotion::rejoin(run, node),
            FaultEvent::ReplicaSilent { node } => min_replicas::happen(run, node),
            FaultEvent::ReplicaGone { node, old } => min_replicas::refuse(run, node, old),
            FaultEvent::ReplicaBack { node } => min_replicas::end(run, node),
        }
    }
}
