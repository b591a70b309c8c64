//! The comparison of what is concrete with what a path claims.
//!
//! Clients are compared by what can be seen of them: the class of an automaton is
//! what all further inputs show, and along the path everything that a live
//! program does is held against the tables.

use lockproof_redis::Reply;

use super::{Cargo, ConcreteError, ConcreteRun, Parcel, mismatch};
use crate::lock::Input;
use crate::world::client::Facade;
use crate::world::layout::{Field, State};
use crate::world::message::{Content, Message};
use crate::world::moves::Move;

impl<'w> ConcreteRun<'w> {
    /// Every live client, every message and every server is where the path says.
    pub(super) fn compare(&self, step: Move) -> Result<(), ConcreteError> {
        let clients = 0..self.clients.len();
        let open = |client| self.world.is_open(&self.after, client as u8);
        if clients.clone().any(open) {
            // The live program has gone on already, in the way that the next move
            // says.
            return Ok(());
        }
        for client in clients {
            self.compare_client(step, client)?;
            self.compare_messages(step, client)?;
        }
        for field in self.world.contents(&self.after) {
            self.compare_contents(step, field)?;
        }
        Ok(())
    }

    /// A server, a disk or a replica holds what the path says.
    fn compare_contents(&self, step: Move, field: Field) -> Result<(), ConcreteError> {
        let id = self.after.get(field) as u16;
        let claimed = self.world.tables.closure.keyspaces.get(id);
        let held = self.held(field);
        if self.reading().is_keyspace(held, claimed) {
            return Ok(());
        }
        let place = self.world.place_of(field);
        let detail = format!("{place} holds {held:?}, not {claimed:?}");
        Err(mismatch(self.at, step, detail))
    }

    fn compare_client(&self, step: Move, client: usize) -> Result<(), ConcreteError> {
        if self.world.crashed(&self.after, client) {
            return Ok(());
        }
        let claimed = self.world.facade(&self.after, client as u8);
        let renews = self.file.renews;
        let is = Facade::of(&self.clients[client].program.view(), renews);
        // Whether a validity is over is compared where it matters.
        let same = Facade {
            valid: claimed.valid,
            valid_at_ticks: claimed.valid_at_ticks,
            // What it remembers is a number here.
            fences: claimed.fences,
            ..is.clone()
        };
        if same == *claimed {
            return Ok(());
        }
        let detail = format!("client {client} is {is:?}, not {claimed:?}");
        Err(mismatch(self.at, step, detail))
    }

    /// What is in flight of a client is what the path says, and its content too.
    fn compare_messages(&self, step: Move, client: usize) -> Result<(), ConcreteError> {
        let claimed = self.world.messages_of(&self.after, client as u8);
        let own = self.parcels.iter().filter(|parcel| parcel.client == client);
        let mut messages: Vec<Message> = own.clone().map(|parcel| parcel.message).collect();
        let missing = |message: &&Message| {
            let place = messages.iter().position(|other| other == *message);
            place.map(|place| messages.swap_remove(place)).is_none()
        };
        let missing = claimed.iter().find(missing);
        if missing.is_none() && messages.is_empty() && own.clone().all(|one| self.is_itself(one)) {
            return Ok(());
        }
        let ids: Vec<u32> = own.map(|parcel| parcel.id).collect();
        let detail = format!("client {client} has {ids:?} in flight, and not {claimed:?}");
        Err(mismatch(self.at, step, detail))
    }

    /// The real content is what the path claims.
    fn is_itself(&self, parcel: &Parcel) -> bool {
        let closure = &self.world.tables.closure;
        match (&parcel.cargo, parcel.message.content) {
            (Cargo::Request(argv), Content::Request(id)) => self
                .reading()
                .is_command(argv, &closure.commands.get(id).argv),
            (Cargo::Reply(reply), Content::Reply(id)) => self.is_reply(reply, id),
            (Cargo::Broken { .. }, Content::Broken) => true,
            (Cargo::Refused, Content::Refused) => true,
            (Cargo::Published(published), Content::Published(id)) => {
                let one = parcel.like.is_empty() != parcel.message.more;
                one && self.as_published(closure.messages.get(id)) == *published
            }
            _ => false,
        }
    }

    /// The reply is this one, or lists the same in another order.
    pub(super) fn is_reply(&self, reply: &Reply, id: u16) -> bool {
        let closure = &self.world.tables.closure;
        let reading = self.reading();
        reading.is_reply(reply, closure.replies.get(id))
            || closure
                .orders_of(id)
                .into_iter()
                .any(|other| reading.is_reply(reply, closure.replies.get(other)))
    }

    /// At the end of a path every client's validity is what the path says; if it
    /// ends between two ticks, it may not be.
    pub(super) fn compare_validity(&self, after: &State) -> Result<(), ConcreteError> {
        for client in 0..self.clients.len() {
            if self.world.crashed(after, client) {
                continue;
            }
            let mut program = self.clients[client].program.clone();
            let ms = self.paused_ms(after, client);
            program.step(&Input::Advance { ms })?;
            if self.world.valid(after, client) != program.view().valid {
                let what = format!(
                    "client {} to act in the last ms of its validity",
                    crate::world::symbols::letter(client as u8)
                );
                return Err(ConcreteError::BetweenTicks { what });
            }
        }
        Ok(())
    }

    /// How long a client has been paused for, in ms.
    pub(super) fn paused_ms(&self, state: &State, client: usize) -> i64 {
        let ticks = self.world.paused(state, client).unwrap_or(0);
        i64::from(ticks) * self.tick_ms
    }
}
