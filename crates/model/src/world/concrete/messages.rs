//! Messages with their real content.

use lockproof_lua::text::{self, NameKind, Symbol};
use lockproof_redis::Reply;
use lockproof_trace::{Event, FaultEvent};

use super::{Cargo, ConcreteError, ConcreteRun, Parcel, mismatch};
use crate::world::client::Published;
use crate::world::closure::Execution;
use crate::world::execute::Executed;
use crate::world::layout::Field;
use crate::world::message::{Content, Message};
use crate::world::node::Keyspace;
use crate::world::owners::Author;

impl ConcreteRun<'_> {
    /// A client's message in flight that is this one to the path.
    pub(super) fn find(&self, client: usize, message: &Message) -> Result<usize, ConcreteError> {
        let this = |parcel: &Parcel| parcel.client == client && parcel.message == *message;
        let found = self.parcels.iter().position(this);
        found.ok_or_else(|| {
            let detail = format!("client {client} has no such message in flight: {message:?}");
            mismatch(self.at, "message", detail)
        })
    }

    /// The message that was taken.
    pub(super) fn taken(&mut self) -> Result<Parcel, ConcreteError> {
        let taken = self.hand.take();
        taken.ok_or_else(|| mismatch(self.at, "message", "no message was taken"))
    }

    /// What became of the message that was taken is in flight.
    pub(super) fn put_back(&mut self, message: Message) -> Result<(), ConcreteError> {
        let mut parcel = self.taken()?;
        self.turn_into(&mut parcel, message);
        let at = self.parcels.partition_point(|other| other.id < parcel.id);
        self.parcels.insert(at, parcel);
        Ok(())
    }

    /// The message that was taken is lost.
    pub(super) fn lose(&mut self, message: Message) -> Result<(), ConcreteError> {
        let parcel = self.taken()?;
        let reply = matches!(
            parcel.cargo,
            Cargo::Reply(_) | Cargo::Published(_) | Cargo::Broken { taken: true }
        );
        self.fault(FaultEvent::Lose {
            client: parcel.client as u8,
            node: message.node,
            message: parcel.id,
            reply,
        });
        Ok(())
    }

    /// Some messages of a client become others, or are no more.
    pub(super) fn rewrite(
        &mut self,
        client: usize,
        mut messages: Vec<(Message, Option<Message>)>,
    ) -> Result<(), ConcreteError> {
        let mut kept = Vec::with_capacity(self.parcels.len());
        for mut parcel in std::mem::take(&mut self.parcels) {
            let this = |(was, _): &(Message, _)| parcel.client == client && *was == parcel.message;
            if let Some(at) = messages.iter().position(this) {
                let (_, message) = messages.swap_remove(at);
                let Some(message) = message else {
                    continue;
                };
                self.turn_into(&mut parcel, message);
            }
            kept.push(parcel);
        }
        self.parcels = kept;
        match messages.first() {
            None => Ok(()),
            Some((missing, _)) => self.find(client, missing).map(|_| ()),
        }
    }

    /// A message is another one now. Its content stays, unless the connection broke, a
    /// WAIT is answered, or a BLPOP gives up.
    fn turn_into(&mut self, parcel: &mut Parcel, message: Message) {
        match (&parcel.cargo, message.content) {
            (Cargo::Request(_), Content::Reply(_)) if parcel.message.turn > 0 => {
                self.log(executed(parcel, &Reply::Nil), None);
                parcel.cargo = Cargo::Reply(Reply::Nil);
            }
            (Cargo::Request(_), Content::Reply(reply)) => {
                let acknowledged = reply == self.world.tables.acknowledged[1];
                if !acknowledged {
                    self.find_lacking(parcel);
                }
                let reply = Reply::Int(acknowledged.into());
                self.log(executed(parcel, &reply), None);
                parcel.cargo = Cargo::Reply(reply);
            }
            (Cargo::Request(_), Content::Broken) => {
                let taken = parcel.message.blocked.is_some();
                parcel.cargo = Cargo::Broken { taken };
            }
            (_, Content::Broken) => parcel.cargo = Cargo::Broken { taken: true },
            (_, Content::Refused) => parcel.cargo = Cargo::Refused,
            (_, Content::Request(_) | Content::Reply(_) | Content::Published(_)) => {}
        }
        parcel.message = message;
    }

    /// A formal server executes the request that was taken.
    pub(super) fn execute(
        &mut self,
        server: Field,
        message: Message,
        claimed: &Execution,
        alone: bool,
    ) -> Result<(), ConcreteError> {
        let mut parcel = self.taken()?;
        let Cargo::Request(argv) = &parcel.cargo else {
            return Err(mismatch(
                self.at,
                "execute",
                format!("{message:?} is no request"),
            ));
        };
        let keyspace = self.held(server).clone();
        let author = Author {
            client: parcel.client as u8,
            sender: self.world.sender(&message),
            connection: self.world.connection(&message),
        };
        let node = usize::from(message.node);
        let published = claimed.published;
        let listeners = self.world.listeners(&self.before, node, published) as u32;
        let done = self.executed(&keyspace, author, argv, (alone, listeners));
        self.rounded |= claimed.rounded;
        if done.tied && !self.is_execution(&done, claimed) {
            let what = format!("members of one score on N{} to lie as they do", node + 1);
            return Err(ConcreteError::BetweenTicks { what });
        }
        self.compare_execution(&done, claimed)?;
        if let Some(reply) = done.replies.into_iter().next() {
            self.log(executed(&parcel, &reply), None);
            parcel.cargo = Cargo::Reply(reply);
        }
        self.learn_fence(&keyspace, &done.after, claimed);
        self.result = Some(done.after);
        self.hand = Some(parcel);
        Ok(())
    }

    /// The formal server left what the tables say, and replied so.
    fn is_execution(&self, executed: &Executed, claimed: &Execution) -> bool {
        let closure = &self.world.tables.closure;
        let left = closure.keyspaces.get(claimed.after);
        let replied = |reply| self.is_reply(reply, claimed.reply);
        executed.effect == claimed.effect
            && self.reading().is_keyspace(&executed.after, left)
            && executed.replies.first().is_some_and(replied)
    }

    /// The formal server did what the tables say, as far as the world does not show
    /// it.
    fn compare_execution(
        &self,
        executed: &Executed,
        claimed: &Execution,
    ) -> Result<(), ConcreteError> {
        if let Some((refusal, _)) = &executed.refusal {
            let detail = format!("the formal server refuses the command: {refusal}");
            return Err(mismatch(self.at, "execute", detail));
        }
        if executed.effect != claimed.effect {
            let detail = format!(
                "the command has the effect {:?}, not {:?}",
                executed.effect, claimed.effect
            );
            return Err(mismatch(self.at, "execute", detail));
        }
        let closure = &self.world.tables.closure;
        let said = closure.publications.get(claimed.published).iter();
        let said = said.map(|message| self.as_published(closure.messages.get(*message)));
        let same = said.map(|message| (message.channel, message.payload));
        if !same.eq(executed.published.iter().cloned()) {
            let detail = format!("the command publishes {:?}", executed.published);
            return Err(mismatch(self.at, "execute", detail));
        }
        Ok(())
    }

    /// A message as a server sends it: owners have letters, and it names nothing else.
    pub(super) fn as_published(&self, message: &Published) -> Published {
        let channel = text::map_symbols(&message.channel, |symbol, out| match symbol {
            Symbol::Name(name) if name.kind == NameKind::Owner => {
                let client = usize::from(name.who.wrapping_sub(b'A'));
                let owner = self.clients.get(client).map(|client| &client.owner);
                out.extend_from_slice(owner.map_or(&[][..], |owner| owner.as_bytes()));
            }
            other => other.write(out),
        });
        Published {
            channel,
            payload: message.payload.clone(),
        }
    }

    /// A server sends a message to a client that listens.
    pub(super) fn publish(
        &mut self,
        client: usize,
        message: Message,
        onto: Option<Message>,
        lost: bool,
    ) -> Result<(), ConcreteError> {
        let Content::Published(number) = message.content else {
            return Err(mismatch(self.at, "publish", format!("{message:?}")));
        };
        let published = self.as_published(self.world.tables.closure.messages.get(number));
        let id = self.next_id;
        self.next_id += 1;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let event = Event::Publish {
            client: client as u8,
            node: message.node,
            message: id,
            channel: text(&published.channel),
            payload: text(&published.payload),
        };
        self.log(event, None);
        let parcel = Parcel {
            id,
            client,
            message,
            cargo: Cargo::Published(published),
            like: Vec::new(),
        };
        match onto {
            Some(onto) => {
                let at = self.find(client, &onto)?;
                self.parcels[at].message = message;
                self.parcels[at].like.push(id);
            }
            None => self.parcels.push(parcel),
        }
        if lost {
            self.hand = self.parcels.pop();
            self.lose(message)?;
        }
        Ok(())
    }

    /// Of the messages that were taken all but the first stay in flight.
    pub(super) fn part(&mut self, message: Message) -> Result<(), ConcreteError> {
        let mut first = self.taken()?;
        let mut like = std::mem::take(&mut first.like);
        if message.more != (like.len() > 1) {
            let what = "two equal messages of a server to reach their client as one";
            return Err(ConcreteError::BetweenTicks { what: what.into() });
        }
        let Cargo::Published(published) = &first.cargo else {
            return Err(mismatch(self.at, "part", format!("{message:?}")));
        };
        let rest = Parcel {
            id: like.remove(0),
            client: first.client,
            message,
            cargo: Cargo::Published(published.clone()),
            like,
        };
        self.parcels.push(rest);
        self.hand = Some(first);
        Ok(())
    }

    /// What the executed command left is there now. If nobody waits for its reply, that
    /// one falls on deaf ears.
    pub(super) fn store(&mut self, to: Field) {
        if let Some(after) = self.result.take() {
            self.servers.insert(to, after);
        }
        if self
            .hand
            .as_ref()
            .is_some_and(|parcel| parcel.message.awaited)
        {
            return;
        }
        if let Some(parcel) = self.hand.take()
            && let Cargo::Reply(reply) = parcel.cargo
        {
            let deliver = Event::Deliver {
                client: parcel.client as u8,
                node: parcel.message.node,
                message: parcel.id,
                reply,
                ignored: true,
            };
            self.log(deliver, None);
        }
    }

    /// The WAIT, or the BLPOP, that was taken is not answered yet.
    pub(super) fn hold_back(&mut self) -> Result<(), ConcreteError> {
        let parcel = self.taken()?;
        if !self.world.tables.pops() {
            self.find_lacking(&parcel);
        }
        let block = Event::Block {
            client: parcel.client as u8,
            node: parcel.message.node,
            message: parcel.id,
        };
        self.log(block, None);
        self.hand = Some(parcel);
        Ok(())
    }

    /// The server learns that the client of the BLPOP that was taken has gone.
    pub(super) fn hang_up(&mut self) -> Result<(), ConcreteError> {
        let parcel = self.taken()?;
        let event = Event::HangUp {
            client: parcel.client as u8,
            node: parcel.message.node,
            message: parcel.id,
        };
        self.log(event, None);
        Ok(())
    }

    /// What stands in a field of the state.
    pub(super) fn held(&self, field: Field) -> &Keyspace {
        self.servers.get(&field).unwrap_or(&self.empty)
    }
}

/// A published message as its connection brings it.
pub(super) fn as_reply(published: &Published) -> Reply {
    let Published { channel, payload } = published;
    let words = [&b"message"[..], channel, payload];
    Reply::Array(words.map(|word| Reply::Bulk(word.to_vec())).into())
}

fn executed(parcel: &Parcel, reply: &Reply) -> Event {
    Event::Execute {
        client: parcel.client as u8,
        node: parcel.message.node,
        message: parcel.id,
        reply: reply.clone(),
    }
}
