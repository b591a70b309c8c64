//! The comparison of what is concrete with what a path claims.
//!
//! Clients are compared by what can be seen of them: the class of an automaton is
//! what all further inputs show, and along the path everything that a live
//! program does is held against the tables.

use super::{Cargo, ConcreteError, Parcel, Run, mismatch};
use crate::lock::Input;
use crate::redis::Reply;
use crate::world::client::{Facade, Wait};
use crate::world::layout::State;
use crate::world::message::{Content, Message};
use crate::world::moves::Move;
use crate::world::node::Keyspace;

impl<'w> Run<'w> {
    pub(super) fn paused_ms(&self, client: u8) -> i64 {
        let ticks = self.clients[usize::from(client)].paused.unwrap_or(0);
        i64::from(ticks) * self.tick_ms
    }

    /// Every live client, every message and every node is where the path says.
    pub(super) fn compare(
        &self,
        at: usize,
        step: Move,
        after: &State,
    ) -> Result<(), ConcreteError> {
        let clients = 0..self.world.config.clients;
        if clients
            .clone()
            .any(|client| self.world.is_open(after, client))
        {
            // The live program has gone on already, in the way that the next move
            // says.
            return Ok(());
        }
        for client in clients {
            self.compare_client(at, step, after, client)?;
            self.compare_messages(at, step, after, client)?;
        }
        for (node, keyspace) in self.nodes.iter().enumerate() {
            let claimed = self.claimed(self.world.keyspace(after, node));
            if !self.reading().is_keyspace(keyspace, claimed) {
                let detail = format!("node {node} holds {keyspace:?}, not {claimed:?}");
                return Err(mismatch(at, step, detail));
            }
            self.compare_replica(at, step, after, node)?;
            self.compare_old(at, step, after, node)?;
            self.compare_silence(at, step, after, node)?;
        }
        Ok(())
    }

    fn claimed(&self, id: u16) -> &Keyspace {
        self.world.tables.closure.keyspaces.get(id)
    }

    /// What a node's replica may hold is what the path says.
    fn compare_replica(
        &self,
        at: usize,
        step: Move,
        after: &State,
        node: usize,
    ) -> Result<(), ConcreteError> {
        let behind = self.world.behind(after, node);
        let held = &self.replicas[node].history;
        let same =
            |(held, id): (&Keyspace, &u16)| self.reading().is_keyspace(held, self.claimed(*id));
        if held.len() == behind.len() && held.iter().zip(&behind).all(same) {
            return Ok(());
        }
        let claimed: Vec<&Keyspace> = behind.iter().map(|id| self.claimed(*id)).collect();
        let detail = format!("the replica of node {node} may hold {held:?}, not {claimed:?}");
        Err(mismatch(at, step, detail))
    }

    /// A node's old server, if it has one, holds what the path says.
    fn compare_old(
        &self,
        at: usize,
        step: Move,
        after: &State,
        node: usize,
    ) -> Result<(), ConcreteError> {
        let claimed = self.world.old(after, node).map(|id| self.claimed(id));
        let held = self.split.get(&(node as u8)).map(|(keyspace, _)| keyspace);
        let same = match (held, claimed) {
            (Some(held), Some(claimed)) => self.reading().is_keyspace(held, claimed),
            (held, claimed) => held.is_none() && claimed.is_none(),
        };
        if same {
            return Ok(());
        }
        let detail = format!("the old server of node {node} holds {held:?}, not {claimed:?}");
        Err(mismatch(at, step, detail))
    }

    fn compare_client(
        &self,
        at: usize,
        step: Move,
        after: &State,
        client: u8,
    ) -> Result<(), ConcreteError> {
        let state = &self.clients[usize::from(client)];
        if state.crashed {
            return Ok(());
        }
        let claimed = self.world.facade(after, client);
        let renews = self.file.renews;
        let is = Facade::of(&state.program.view(), renews);
        // Whether a validity is over is compared where it matters.
        let same = Facade {
            valid: claimed.valid,
            valid_at_ticks: claimed.valid_at_ticks,
            ..is.clone()
        };
        if same == *claimed {
            return Ok(());
        }
        let detail = format!("client {client} is {is:?}, not {claimed:?}");
        Err(mismatch(at, step, detail))
    }

    /// What is in flight of a client is what the path says.
    fn compare_messages(
        &self,
        at: usize,
        step: Move,
        after: &State,
        client: u8,
    ) -> Result<(), ConcreteError> {
        let claimed = self.world.messages_of(after, client);
        let own = |parcel: &&Parcel| parcel.client == client;
        let parcels: Vec<&Parcel> = self.parcels.iter().filter(own).collect();
        let mut left = parcels.clone();
        let mut found = |message: &Message| {
            let place = left.iter().position(|parcel| self.is(parcel, message));
            place.map(|place| left.remove(place)).is_some()
        };
        if parcels.len() == claimed.len() && claimed.iter().all(&mut found) {
            return Ok(());
        }
        let ids: Vec<u32> = parcels.iter().map(|parcel| parcel.id).collect();
        let detail = format!("client {client} has {ids:?} in flight, and not {claimed:?}");
        Err(mismatch(at, step, detail))
    }

    /// The parcel is this message.
    pub(super) fn is(&self, parcel: &Parcel, message: &Message) -> bool {
        let same_place = parcel.node == message.node
            && parcel.thread == message.thread
            && parcel.awaited == message.awaited
            && parcel.old == message.old
            && parcel.blocked == message.blocked
            && parcel.held == message.held;
        let closure = &self.world.tables.closure;
        same_place
            && match (&parcel.content, message.content) {
                (Cargo::Request(argv), Content::Request(id)) => self
                    .reading()
                    .is_command(argv, &closure.commands.get(id).argv),
                (Cargo::Reply(reply), Content::Reply(id)) => self.is_reply(reply, id),
                (Cargo::Broken, Content::Broken) => true,
                _ => false,
            }
    }

    /// The reply is this one, or lists the same in another order.
    fn is_reply(&self, reply: &Reply, id: u16) -> bool {
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
        for client in 0..self.world.config.clients {
            let state = &self.clients[usize::from(client)];
            if state.crashed {
                continue;
            }
            let mut program = state.program.clone();
            let ms = self.paused_ms(client);
            program.step(&Input::Advance { ms })?;
            if self.world.valid(after, usize::from(client)) != program.view().valid {
                let what = format!(
                    "client {} to act in the last ms of its validity",
                    crate::world::symbols::letter(client)
                );
                return Err(ConcreteError::BetweenTicks { what });
            }
        }
        Ok(())
    }

    /// A comparison that was open goes the way that it goes at ticks.
    pub(super) fn compare_choice(
        &self,
        before: &State,
        client: u8,
        thread: u8,
        value: u8,
    ) -> Result<bool, ConcreteError> {
        let Wait::Open { at_ticks } =
            self.world.facade(before, client).threads[usize::from(thread)]
        else {
            return Ok(false);
        };
        if at_ticks == (value == 1) {
            return Ok(true);
        }
        let what = format!(
            "a comparison of times by client {} to come out as it does",
            crate::world::symbols::letter(client)
        );
        Err(ConcreteError::BetweenTicks { what })
    }
}
