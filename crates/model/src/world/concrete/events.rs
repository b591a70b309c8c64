//! What a trace says of a move: its event, and the faults by their names.

// A new fault or move must not slip through.
#![deny(clippy::wildcard_enum_match_arm)]

use lockproof_trace::{Event, FaultEvent, Way};

use super::{Cargo, ConcreteError, ConcreteRun, mismatch};
use crate::world::catalogue;
use crate::world::moves::Move;

impl ConcreteRun<'_> {
    /// Says that a move happens, if it has an event of its own. The others are told by
    /// what they do.
    pub(super) fn announce(&mut self, at: usize, step: Move) -> Result<(), ConcreteError> {
        match step {
            Move::Write { client } => {
                let refused = self.world.is_outdated(&self.before, usize::from(client));
                self.log(Event::Write { client, refused }, None);
            }
            Move::Delay { client, slot } => {
                let (node, message, reply) = self.in_slot(at, client, slot)?;
                let (_, ticks) = self.world.config.switch(catalogue::Fault::Delay);
                self.fault(FaultEvent::Delay {
                    client,
                    node,
                    message,
                    reply,
                    ticks,
                });
            }
            Move::Crash { client } => {
                self.strike(client, |client| FaultEvent::ClientCrash { client });
            }
            Move::ClientRestart { client } => {
                self.strike(client, |client| FaultEvent::ClientRestart { client });
            }
            Move::Pause { client } => {
                self.strike(client, |client| {
                    let held = Vec::new();
                    FaultEvent::ClientPause { client, held }
                });
            }
            Move::Resume { client } => {
                self.strike(client, |client| FaultEvent::ClientResume { client });
            }
            Move::Cancel { client } => self.fault(FaultEvent::Cancel { client }),
            Move::Overrun { client } => self.fault(FaultEvent::Overrun { client }),
            Move::Skew { client, skew } => {
                let ticks = self.world.tables.needs.skews[usize::from(skew)];
                let offset_ms = i64::from(ticks) * self.tick_ms;
                self.fault(FaultEvent::ClientSkew { client, offset_ms });
            }
            Move::Cut { client, node } => self.fault(FaultEvent::LinkCut {
                client,
                node,
                only: None,
            }),
            Move::CutOneWay {
                client,
                node,
                replies,
            } => {
                let only = Some(if replies { Way::Replies } else { Way::Requests });
                self.fault(FaultEvent::LinkCut { client, node, only });
            }
            Move::Heal { client, node } => self.fault(FaultEvent::LinkHeal { client, node }),
            Move::Fsync { node } => self.fault(FaultEvent::NodeFsync { node }),
            Move::RestartNone { node } => self.restarts(node, "none"),
            Move::RestartEverysec { node } => self.restarts(node, "everysec"),
            Move::RestartAlways { node } => self.restarts(node, "always"),
            Move::NodeDown { node, kept } => {
                let persistence = ["none", "everysec", "always"][usize::from(kept)];
                let (persistence, loses) = (persistence.to_owned(), self.loses(node));
                self.fault(FaultEvent::NodeDown {
                    node,
                    persistence,
                    loses,
                });
            }
            Move::NodeUp { node } => self.fault(FaultEvent::NodeUp { node }),
            Move::NodeFlush { node } => self.fault(FaultEvent::NodeFlush { node }),
            Move::PauseNode { node } => self.fault(FaultEvent::NodePause { node }),
            Move::ResumeNode { node } => self.fault(FaultEvent::NodeResume { node }),
            Move::Jump { node, back } => {
                let size = i64::from(self.world.tables.needs.jump) * self.tick_ms;
                let offset_ms = if back { -size } else { size };
                self.fault(FaultEvent::ClockJump { node, offset_ms });
            }
            Move::Failover { node, lost } => self.fault(FaultEvent::Failover { node, lost }),
            Move::SplitBrain { node, lost } => self.fault(FaultEvent::SplitBrain { node, lost }),
            Move::CutOff { node, lost } => self.fault(FaultEvent::CutOff { node, lost }),
            Move::Notice { client, node } => self.fault(FaultEvent::ClientNotices { client, node }),
            Move::Rejoin { node } => self.fault(FaultEvent::Rejoin { node }),
            Move::Demote { node } => self.fault(FaultEvent::Demotion { node }),
            Move::FallSilent { node } => self.fault(FaultEvent::ReplicaSilent { node }),
            Move::Regain { node } => self.fault(FaultEvent::ReplicaBack { node }),
            Move::Call { .. }
            | Move::Wake { .. }
            | Move::Choose { .. }
            | Move::Execute { .. }
            | Move::Deliver { .. }
            | Move::Acknowledge { .. }
            | Move::HangUp { .. }
            | Move::Lose { .. }
            | Move::PauseAfter { .. }
            | Move::Refuse { .. }
            | Move::Tick
            | Move::Drift { .. } => {}
        }
        Ok(())
    }

    /// What strikes a process, or ends, is told of each of its callers.
    fn strike(&mut self, client: u8, fault: impl Fn(u8) -> FaultEvent) {
        self.fault(fault(client));
        if let Some(partner) = self.world.partner(usize::from(client)) {
            self.fault(fault(partner as u8));
        }
    }

    /// A pause that strikes before the client has sent all comes after what it did.
    pub(super) fn announce_pause(&mut self, step: Move) {
        if let Move::PauseAfter { client, .. } = step {
            let held = |parcel: &&super::Parcel| {
                parcel.client == usize::from(client) && parcel.message.held
            };
            let held = self.parcels.iter().filter(held);
            let held = held.map(|parcel| parcel.id).collect();
            self.fault(FaultEvent::ClientPause { client, held });
            if let Some(partner) = self.world.partner(usize::from(client)) {
                self.fault(FaultEvent::ClientPause {
                    client: partner as u8,
                    held: Vec::new(),
                });
            }
        }
    }

    fn restarts(&mut self, node: u8, persistence: &str) {
        let loses = self.loses(node);
        self.fault(FaultEvent::NodeRestart {
            node,
            persistence: persistence.to_owned(),
            loses,
        });
    }

    /// The node's disk had not all that the node held.
    fn loses(&self, node: u8) -> bool {
        let keyspace = |state| usize::from(self.world.keyspace(state, usize::from(node)));
        let stored = |state| self.world.tables.stored(keyspace(state));
        stored(&self.before) != stored(&self.after)
    }

    /// Node and number of the message in a slot, and whether it is a reply.
    fn in_slot(&self, at: usize, client: u8, slot: u8) -> Result<(u8, u32, bool), ConcreteError> {
        let message = self.world.message_in(&self.before, client, slot);
        let message = message.ok_or_else(|| mismatch(at, slot, "the slot is empty"))?;
        let index = self.find(usize::from(client), &message)?;
        let parcel = &self.parcels[index];
        let reply = !matches!(parcel.cargo, Cargo::Request(_));
        Ok((message.node, parcel.id, reply))
    }
}
