//! Messages with their real content.

use super::{Cargo, ConcreteError, Parcel, Run, mismatch};
use crate::lock::Input;
use crate::redis::Reply;
use crate::trace::{self, Event};
use crate::world::layout::State;
use crate::world::message::{Content, Message};
use crate::world::moves::Move;
use crate::world::wait;

impl<'w, const W: usize> Run<'w, W> {
    /// The parcel that stands in a slot of the abstract state.
    pub(super) fn find(
        &self,
        at: usize,
        step: Move,
        before: &State<W>,
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

    fn is(&self, parcel: &Parcel, message: &Message) -> bool {
        let same_place = parcel.node == message.node
            && parcel.thread == message.thread
            && parcel.awaited == message.awaited
            && parcel.old == message.old
            && parcel.blocked == message.blocked;
        let closure = &self.world.tables.closure;
        same_place
            && match (&parcel.content, message.content) {
                (Cargo::Request(argv), Content::Request(id)) => {
                    let command = closure.commands.get(id);
                    argv.iter()
                        .map(|word| self.canonical(word))
                        .eq(command.argv.iter().cloned())
                }
                (Cargo::Reply(reply), Content::Reply(id)) => {
                    *closure.replies.get(id) == self.canonical_reply(reply)
                }
                (Cargo::Broken, Content::Broken) => true,
                _ => false,
            }
    }

    pub(super) fn execute(&mut self, index: usize) {
        let Parcel { client, node, .. } = self.parcels[index];
        let now = self.now();
        let old = self.parcels[index].old;
        let left_behind = self.split.get(&node).filter(|_| old);
        let keyspace = match left_behind {
            Some((keyspace, _)) => keyspace,
            None => &self.nodes[usize::from(node)],
        };
        let Cargo::Request(argv) = &self.parcels[index].content else {
            return;
        };
        if let Ok(Some(ticks)) = wait::ticks(argv, self.tick_ms) {
            self.begin_wait(index, ticks);
            return;
        }
        let executed = match self.refuses(node, old) {
            true => keyspace.execute_alone_at(now, &mut self.scripts, client, argv),
            false => keyspace.execute_at(now, &mut self.scripts, client, argv),
        };
        match self.split.get_mut(&node).filter(|_| old) {
            Some((keyspace, _)) => *keyspace = executed.after,
            None => self.write_to(node, executed.after),
        }
        self.note_command(index);
        self.answer(index, executed.reply);
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

    pub(super) fn deliver(&mut self, index: usize) -> Result<(), ConcreteError> {
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
                self.feed(
                    client,
                    Input::Reply {
                        thread,
                        reply: told,
                    },
                )
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
                self.feed(
                    client,
                    Input::Fail {
                        thread,
                        definite: false,
                        message,
                    },
                )
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
                return parcel.awaited;
            }
            true
        });
    }
}
