//! One move of a path, carried out.

// A new fault or move must not slip through.
#![deny(clippy::wildcard_enum_match_arm)]

use super::{Cargo, ConcreteError, Parcel, Run};
use crate::lock::Input;
use crate::trace::{self, Event};
use crate::world::catalogue::Fault;
use crate::world::client::Symbolic;
use crate::world::layout::State;
use crate::world::moves::Move;
use crate::world::node::Keyspace;

impl<'w> Run<'w> {
    pub(super) fn take(
        &mut self,
        at: usize,
        step: Move,
        before: &State,
        after: &State,
    ) -> Result<(), ConcreteError> {
        let keyspace = |state, node: u8| self.world.keyspace(state, usize::from(node));
        let changes = |node| keyspace(before, node) != keyspace(after, node);
        match step {
            Move::Call { client, op } => self.call(client, op, before)?,
            Move::Wake { client, thread } => {
                let class = self.world.class(before, usize::from(client));
                let facts = self.world.tables.facts[usize::from(class)];
                let timed_out = facts.timed_out & 1 << thread != 0;
                self.log(
                    Event::Wake {
                        client,
                        thread,
                        timed_out,
                    },
                    None,
                );
                self.feed(
                    client,
                    Input::Wake { thread },
                    Symbolic::Wake(thread),
                    before,
                )?;
            }
            Move::Choose {
                client,
                thread,
                value,
            } => {
                if self.compare_choice(before, client, thread, value)? {
                    return Ok(());
                }
                self.log(
                    Event::Choose {
                        client,
                        thread,
                        value,
                    },
                    None,
                );
                let symbolic = Symbolic::Choose { thread, value };
                self.feed(client, Input::Choose { thread, value }, symbolic, before)?;
            }
            Move::Execute { client, slot } => {
                let index = self.find(at, step, before, client, slot)?;
                self.execute(index, [before, after], (client, slot))?;
            }
            Move::Deliver { client, slot } => {
                let index = self.find(at, step, before, client, slot)?;
                self.deliver(index, before, (client, slot))?;
            }
            Move::Acknowledge { client, slot } => {
                let index = self.find(at, step, before, client, slot)?;
                self.acknowledge(index);
            }
            Move::PauseAfter { client, act, held } => {
                self.holding = true;
                let taken = self.take(at, act.of(client), before, after);
                self.holding = false;
                taken?;
                self.hold_back(client, held);
            }
            Move::Write { client } => self.log(Event::Write { client }, None),
            Move::Tick => {
                self.tick_silence();
                self.advance(None, before)?;
            }
            Move::Drift { client, ticks } => {
                self.tick_silence();
                self.fault(trace::Fault::ClientDrift { client, ticks });
                self.advance(Some((client, ticks)), before)?;
            }
            Move::Lose { client, slot } => {
                let index = self.find(at, step, before, client, slot)?;
                self.lose(index);
            }
            Move::Delay { client, slot } => {
                let index = self.find(at, step, before, client, slot)?;
                let (_, ticks) = self.world.config.switch(Fault::Delay);
                let Parcel {
                    node,
                    id: message,
                    ref content,
                    ..
                } = self.parcels[index];
                let reply = !matches!(content, Cargo::Request(_));
                self.fault(trace::Fault::Delay {
                    client,
                    node,
                    message,
                    reply,
                    ticks,
                });
            }
            Move::Crash { client } => {
                self.fault(trace::Fault::ClientCrash { client });
                self.crash(client);
            }
            Move::Pause { client } => {
                let held = Vec::new();
                self.fault(trace::Fault::ClientPause { client, held });
                self.clients[usize::from(client)].paused = Some(0);
            }
            Move::Resume { client } => {
                self.fault(trace::Fault::ClientResume { client });
                self.let_go(client);
                let ticks = self.clients[usize::from(client)].paused.take().unwrap_or(0);
                let ms = self.tick_ms * i64::from(ticks);
                if ms > 0 {
                    let symbolic = Symbolic::Advance(ticks);
                    self.feed(client, Input::Advance { ms }, symbolic, before)?;
                }
            }
            Move::Overrun { client } => self.fault(trace::Fault::Overrun { client }),
            Move::Skew { client, skew } => {
                let ticks = self.world.tables.needs.skews[usize::from(skew)];
                let offset_ms = i64::from(ticks) * self.tick_ms;
                let ms = offset_ms - self.clients[usize::from(client)].offset_ms;
                self.clients[usize::from(client)].offset_ms = offset_ms;
                self.fault(trace::Fault::ClientSkew { client, offset_ms });
                let symbolic = Symbolic::Skew((ms / self.tick_ms) as i8);
                self.feed(client, Input::Skew { ms }, symbolic, before)?;
            }
            Move::Cut { client, node } => {
                self.fault(trace::Fault::LinkCut { client, node });
                self.cut.insert((client, node), true);
                self.parcels
                    .retain(|parcel| parcel.held || parcel.client != client || parcel.node != node);
            }
            Move::Heal { client, node } => {
                self.fault(trace::Fault::LinkHeal { client, node });
                self.cut.remove(&(client, node));
            }
            Move::Fsync { node } => {
                self.fault(trace::Fault::NodeFsync { node });
                self.synced[usize::from(node)] = self.nodes[usize::from(node)].clone();
            }
            Move::RestartNone { node } => {
                let empty = self.nodes[usize::from(node)].emptied();
                self.restart(node, "none", empty, changes(node));
            }
            Move::RestartEverysec { node } => {
                let synced = self.synced[usize::from(node)].clone();
                self.restart(node, "everysec", synced, changes(node));
            }
            Move::RestartAlways { node } => {
                let same = self.nodes[usize::from(node)].clone();
                self.restart(node, "always", same, changes(node));
            }
            Move::PauseNode { node } => self.fault(trace::Fault::NodePause { node }),
            Move::ResumeNode { node } => self.fault(trace::Fault::NodeResume { node }),
            Move::Jump { node, back } => {
                let size = i64::from(self.world.tables.needs.jump) * self.tick_ms;
                let offset_ms = if back { -size } else { size };
                self.fault(trace::Fault::ClockJump { node, offset_ms });
                let jump = |keyspace: &Keyspace| keyspace.jump_concrete(offset_ms);
                self.change_node(usize::from(node), jump);
            }
            Move::Failover { node, lost } => {
                self.fault(trace::Fault::Failover { node, lost });
                self.promote(node, lost);
                self.break_connections(node, false);
            }
            Move::SplitBrain { node, lost } => {
                self.fault(trace::Fault::SplitBrain { node, lost });
                self.leave_in_service(node);
                self.leave_alone(node);
                self.promote(node, lost);
            }
            Move::Notice { client, node } => {
                self.fault(trace::Fault::ClientNotices { client, node });
                if let Some((_, moved)) = self.split.get_mut(&node) {
                    moved.push(client);
                }
            }
            Move::CutOff { node, lost } => {
                self.fault(trace::Fault::CutOff { node, lost });
                self.promote(node, lost);
                self.parcels.retain(|parcel| parcel.node != node);
            }
            Move::Rejoin { node } => {
                self.fault(trace::Fault::Rejoin { node });
                self.rejoin(node);
            }
            Move::Demote { node } => {
                self.fault(trace::Fault::Demotion { node });
                self.split.remove(&node);
                self.silence.remove(&(node, true));
                self.break_connections(node, true);
            }
            Move::FallSilent { node } => self.fall_silent(node),
            Move::Refuse { node, old } => self.refuse(node, old),
            Move::Regain { node } => self.regain(node),
        }
        Ok(())
    }
}
