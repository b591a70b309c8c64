//! The notes of a move, carried out.

use super::{ConcreteError, ConcreteRun};
use crate::world::log::Note;

impl ConcreteRun<'_> {
    pub(super) fn play(&mut self, note: Note) -> Result<(), ConcreteError> {
        match note {
            Note::Begun {
                client,
                op,
                retirement,
            } => self.begin(client, op, retirement),
            Note::Restarted { client } => self.restart(client)?,
            Note::Fed {
                client,
                class,
                input,
            } => self.feed(client, class, input)?,
            Note::Sent {
                client,
                message,
                fate,
            } => self.send(client, message, fate)?,
            Note::Settled {
                client,
                class,
                ending,
                fence,
                abandoned,
                broken,
            } => self.settle(client, class, (ending, fence), (abandoned, broken))?,
            Note::Taken { client, message } => {
                let index = self.find(client, &message)?;
                self.hand = Some(self.parcels.remove(index));
            }
            Note::Published {
                client,
                message,
                onto,
                lost,
            } => self.publish(client, message, onto, lost)?,
            Note::Parted { message } => self.part(message)?,
            Note::Lost { message } => self.lose(message)?,
            Note::Posted { message } => self.put_back(message)?,
            Note::Rewritten { client, messages } => self.rewrite(client, messages)?,
            Note::Executed {
                server,
                message,
                execution,
                alone,
                way: 0,
            } => self.execute(server, message, &execution, alone)?,
            Note::Executed { message, .. } => {
                let node = message.node + 1;
                let what =
                    format!("a comparison of times by a script on N{node} to come out as it does");
                return Err(ConcreteError::BetweenTicks { what });
            }
            Note::Drew { how } => self.draw(how),
            Note::Blocked => self.hold_back()?,
            Note::HungUp => self.hang_up()?,
            Note::Acknowledged {
                client,
                node,
                thread,
            } => self.find_acknowledged((client, node, thread)),
            Note::Connected {
                client,
                node,
                thread,
            } => {
                self.positions.insert((client, node, thread), 0);
            }
            Note::Positioned {
                client,
                node,
                thread,
            } => self.note_position((client, node, thread)),
            Note::Forgot { node } => self.forget_positions(node),
            Note::Left { to } => self.store(to),
            Note::Copied { to, from } => {
                let keyspace = self.held(from).clone();
                self.servers.insert(to, keyspace);
            }
            Note::Stored { to, from } => {
                let keyspace = self.held(from).stored();
                self.servers.insert(to, keyspace);
            }
            Note::Flushed { field } => {
                let keyspace = self.held(field).flushed();
                self.servers.insert(field, keyspace);
            }
            Note::Emptied { field } => {
                let keyspace = self.held(field).emptied();
                self.servers.insert(field, keyspace);
            }
            Note::Unwatched {
                field,
                client,
                what,
            } => {
                let keyspace = self.held(field).unwatched(client as u8, what);
                self.servers.insert(field, keyspace);
            }
            Note::Cleared { field } => {
                self.servers.remove(&field);
            }
            Note::Moved { field, ticks, time } => {
                let ms = ticks * self.tick_ms;
                let keyspace = match time {
                    true => self.held(field).advance_concrete(ms),
                    false => self.held(field).jump_concrete(ms),
                };
                self.servers.insert(field, keyspace);
            }
            Note::LeftBehind { node } => {
                let step = self.here();
                self.replicas[node].leave_behind(step);
            }
            Note::Promoted { node, lost } => self.promote(node, lost),
            Note::Rejoined { node } => self.replicas[node] = Default::default(),
            Note::Gone { node, old } => self.lose_replica(node, old),
            Note::CaughtUp { node, now } => {
                let step = if now { self.here() } else { self.steps.len() };
                self.replicas[node].catch_up(step);
            }
            Note::Ticked { drift } => self.pass_time(drift),
        }
        Ok(())
    }
}
