//! Messages with their real content.

use super::{Cargo, ConcreteError, Parcel, Run, mismatch};
use crate::lock::Input;
use crate::redis::Reply;
use crate::trace::{self, Event};
use crate::world::client::Symbolic;
use crate::world::execute::Executed;
use crate::world::layout::State;
use crate::world::message::Content;
use crate::world::moves::Move;
use crate::world::tables::NONE;
use crate::world::wait;

impl<'w> Run<'w> {
    /// The parcel that stands in a slot of the abstract state.
    pub(super) fn find(
        &self,
        at: usize,
        step: Move,
        before: &State,
        client: u8,
        slot: u8,
    ) -> Result<usize, ConcreteError> {
        let message = self
            .world
            .message_in(before, client, slot)
            .ok_or_else(|| mismatch(at, step, "the slot is empty"))?;
        self.parcels
            .iter()
            .position(|parcel| parcel.client == client && self.is(parcel, &message))
            .ok_or_else(|| mismatch(at, step, format!("no such message in flight: {message:?}")))
    }

    pub(super) fn execute(
        &mut self,
        index: usize,
        [before, after]: [&State; 2],
        place: (u8, u8),
    ) -> Result<(), ConcreteError> {
        let Parcel { client, node, .. } = self.parcels[index];
        let keyspace = |state| self.world.keyspace(state, usize::from(node));
        let changes = keyspace(before) != keyspace(after);
        let old = self.parcels[index].old;
        let left_behind = self.split.get(&node).filter(|_| old);
        let keyspace = match left_behind {
            Some((keyspace, _)) => keyspace.clone(),
            None => self.nodes[usize::from(node)].clone(),
        };
        let Cargo::Request(argv) = &self.parcels[index].content else {
            return Ok(());
        };
        let argv = argv.clone();
        if let Ok(Some(ticks)) = wait::ticks(&argv, self.tick_ms) {
            self.begin_wait(index, ticks);
            return Ok(());
        }
        let alone = self.refuses(node, old);
        let executed = self.executed(&keyspace, client, &argv, alone);
        self.compare_execution(&executed, before, place, alone)?;
        match self.split.get_mut(&node).filter(|_| old) {
            Some((keyspace, _)) => *keyspace = executed.after,
            None => self.write_to(node, executed.after, changes || executed.counted),
        }
        self.note_command(index);
        if let Some(reply) = executed.replies.into_iter().next() {
            self.answer(index, reply);
        }
        Ok(())
    }

    /// The formal server did what the tables say, as far as the world does not show
    /// it.
    fn compare_execution(
        &mut self,
        executed: &Executed,
        before: &State,
        (client, slot): (u8, u8),
        alone: bool,
    ) -> Result<(), ConcreteError> {
        let at = self.steps.len();
        let step = Move::Execute { client, slot };
        let message = self.world.message_in(before, client, slot);
        let claimed = message.and_then(|message| self.world.execution(before, &message, alone));
        let Some(claimed) = claimed else {
            return Err(mismatch(at, step, "the tables have no such command"));
        };
        self.rounded |= claimed.rounded;
        if let Some((refusal, _)) = &executed.refusal {
            let detail = format!("the formal server refuses the command: {refusal}");
            return Err(mismatch(at, step, detail));
        }
        if executed.effect != claimed.effect {
            let detail = format!(
                "the command has the effect {:?}, not {:?}",
                executed.effect, claimed.effect
            );
            return Err(mismatch(at, step, detail));
        }
        Ok(())
    }

    /// The node gives its reply, and somebody waits for it, or not.
    pub(super) fn answer(&mut self, index: usize, reply: Reply) {
        let Parcel {
            id: message,
            client,
            node,
            awaited,
            ..
        } = self.parcels[index];
        self.parcels[index].blocked = None;
        self.log(
            Event::Execute {
                client,
                node,
                message,
                reply: reply.clone(),
            },
            None,
        );
        if awaited {
            self.parcels[index].content = Cargo::Reply(reply);
        } else {
            // Nobody waits for it: the late reply falls on deaf ears.
            self.parcels.remove(index);
            self.log(
                Event::Deliver {
                    client,
                    node,
                    message,
                    reply,
                    ignored: true,
                },
                None,
            );
        }
    }

    pub(super) fn deliver(
        &mut self,
        index: usize,
        before: &State,
        (_, slot): (u8, u8),
    ) -> Result<(), ConcreteError> {
        let claimed = self
            .world
            .message_in(before, self.parcels[index].client, slot);
        let Parcel {
            id: message,
            client,
            thread,
            node,
            content,
            ..
        } = self.parcels.remove(index);
        match content {
            Cargo::Reply(reply) => {
                let told = reply.clone();
                self.log(
                    Event::Deliver {
                        client,
                        node,
                        message,
                        reply,
                        ignored: false,
                    },
                    None,
                );
                let reply = match claimed.map(|message| message.content) {
                    Some(Content::Reply(id)) => self.world.local_reply(before, client, id),
                    _ => NONE,
                };
                let symbolic = Symbolic::Reply { thread, reply };
                let input = Input::Reply {
                    thread,
                    reply: told,
                };
                self.feed(client, input, symbolic, before)
            }
            _ => {
                self.log(
                    Event::Fail {
                        client,
                        node,
                        message,
                        definite: false,
                    },
                    None,
                );
                let message = trace::CONNECTION_FAILED.into();
                let definite = false;
                let symbolic = Symbolic::Fail { thread, definite };
                let input = Input::Fail {
                    thread,
                    definite,
                    message,
                };
                self.feed(client, input, symbolic, before)
            }
        }
    }

    pub(super) fn lose(&mut self, index: usize) {
        let Parcel {
            id: message,
            client,
            node,
            content,
            ..
        } = self.parcels.remove(index);
        let reply = !matches!(content, Cargo::Request(_));
        self.fault(trace::Fault::Lose {
            client,
            node,
            message,
            reply,
        });
    }

    pub(super) fn break_connections(&mut self, node: u8, old: bool) {
        self.parcels.retain_mut(|parcel| {
            if parcel.node == node && parcel.old == old {
                parcel.old = false;
                parcel.content = Cargo::Broken;
                parcel.blocked = None;
                parcel.held = false;
                return parcel.awaited;
            }
            true
        });
    }
}
