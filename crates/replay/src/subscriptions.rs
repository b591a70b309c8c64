//! Messages to those who listen.
//!
//! A client listens on a connection of its own. The proxy holds each message that a server
//! sends there until the trace delivers it. TCP loses no bytes from the midst of a stream:
//! where a trace loses a message, its connection ends.

use lockproof_lab::client::protocol::{Cause, Mode};
use lockproof_redis::Reply;

use lockproof_trace::words;

use super::compare::{self, reply_text};
use super::messages::{Fate, InFlight, Key, Stage};
use super::run::Replay;
use super::wire::HeldPush;
use super::{GateError, Stop};

impl Replay<'_> {
    /// The node sends a message to a client that listens; it is held.
    pub(super) async fn published(
        &mut self,
        key: Key,
        channel: &str,
        payload: &str,
    ) -> Result<(), Stop> {
        let (client, node, _) = key;
        let held = match self.rig.wires.next_push(client, node).await {
            Ok(held) => held,
            Err(error @ super::wire::WireError::NoMessage { .. }) => {
                let expected = format!(
                    "{node} sends {client} a message on {channel}",
                    node = words::node(node),
                    client = words::client(client)
                );
                return Err(Stop::diverged(expected, error.to_string()));
            }
            Err(error) => return Err(GateError::from(error).into()),
        };
        let text = reply_text(&held.message);
        self.note(
            "wire",
            format!(
                "{node} sends {client} {text}",
                node = words::node(node),
                client = words::client(client)
            ),
        );
        let words = ["message", channel, payload].map(|word| Reply::Bulk(word.into()));
        compare::reply(&Reply::Array(words.into()), &held.message)?;
        let message = InFlight {
            thread: 0,
            mode: Mode::Write,
            leaves: false,
            holders: false,
            stage: Stage::Push(held),
            server: 0,
            awaited: false,
            held: false,
            subscribes: false,
            fate: Fate::Arrives,
        };
        self.messages.insert(key, message);
        Ok(())
    }

    /// A message reaches its client.
    pub(super) async fn hear(&mut self, key: Key, push: HeldPush) -> Result<(), Stop> {
        let what = format!(
            "deliver the message of {} to {}",
            words::node(key.1),
            words::client(key.0)
        );
        self.note("did", what);
        let cause = cause_of(&push.message);
        self.rig.wires.hear(push).await.map_err(GateError::from)?;
        match cause {
            Some(cause) => self.network(key.0, &cause).await,
            None => Err(Stop::NotReplayable("a message that is none".to_string())),
        }
    }

    /// A message is lost: on a link that swallows it the client is deaf from here on;
    /// otherwise the connection ends.
    pub(super) async fn lose_push(&mut self, key: Key) -> Result<(), Stop> {
        let link = (key.0, key.1);
        if self.mute.contains(&link) {
            self.deafen(link);
            return Ok(());
        }
        self.end_subscription(link).await
    }

    /// Nothing more of what is published reaches a client from a node.
    pub(super) fn deafen(&mut self, link: (u8, u8)) {
        self.deaf.insert(link);
        self.forget_messages(link);
    }

    /// What is swallowed on a subscription leaves a gap in its bytes.
    pub(super) fn swallow_messages(&mut self, link: (u8, u8)) {
        let on_its_way = |(key, message): (&Key, &InFlight)| {
            let placed = match message.stage {
                Stage::Push(_) => true,
                Stage::Reply(_) => message.subscribes,
                _ => false,
            };
            (key.0, key.1) == link && placed
        };
        if self.messages.iter().any(on_its_way) {
            self.deafen(link);
        }
    }

    /// The link is whole again. A connection with a gap is reset, if no command is under
    /// way on it.
    pub(super) async fn hears_again(&mut self, link: (u8, u8)) -> Result<(), Stop> {
        let asks = |(key, message): (&Key, &InFlight)| {
            (key.0, key.1) == link && message.subscribes && message.awaited
        };
        if self.deaf.contains(&link) && !self.messages.iter().any(asks) {
            self.end_subscription(link).await?;
        }
        Ok(())
    }

    /// The connections on which a client listens to a node end.
    pub(super) async fn end_subscription(&mut self, link: (u8, u8)) -> Result<(), Stop> {
        self.deaf.remove(&link);
        self.forget_messages(link);
        let ended = self.rig.wires.end_subscription(link.0, link.1).await;
        Ok(ended.map_err(GateError::from)?)
    }

    /// The client's process is gone, and its connections with it.
    pub(super) async fn stop_listening(&mut self, client: u8) -> Result<(), Stop> {
        for node in 0..self.trace.setup.nodes {
            self.end_subscription((client, node)).await?;
        }
        Ok(())
    }

    /// Clients that gave up a command about a subscription have closed its connection.
    pub(super) async fn close_subscriptions(&mut self) -> Result<(), Stop> {
        for link in std::mem::take(&mut self.closed) {
            self.end_subscription(link).await?;
        }
        Ok(())
    }

    /// No server has sent a message that the trace does not tell.
    pub(super) fn no_message_is_left(&mut self, client: u8) -> Result<(), Stop> {
        let unasked = self.rig.wires.unasked(client);
        let heard = |(node, _): &&(u8, Reply)| !self.deaf.contains(&(client, *node));
        match unasked.iter().find(heard) {
            None => Ok(()),
            Some((node, message)) => Err(Stop::diverged(
                format!(
                    "no node sends {client} a message",
                    client = words::client(client)
                ),
                format!(
                    "{node} sends {}",
                    reply_text(message),
                    node = words::node(*node)
                ),
            )),
        }
    }

    /// A message that some server has published reaches its client; false if there is none.
    pub(super) async fn pass_messages_on(&mut self) -> Result<bool, Stop> {
        for client in 0..self.trace.setup.clients {
            if self.state(client)?.crashed {
                continue;
            }
            for (node, _) in self.rig.wires.unasked(client) {
                if self.deaf.contains(&(client, node)) {
                    continue;
                }
                let push = self.rig.wires.next_push(client, node).await;
                let push = push.map_err(GateError::from)?;
                self.hear((client, node, 0), push).await?;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn forget_messages(&mut self, link: (u8, u8)) {
        for (key, message) in &mut self.messages {
            if (key.0, key.1) == link && matches!(message.stage, Stage::Push(_)) {
                message.stage = Stage::Gone;
            }
        }
    }
}

fn cause_of(message: &Reply) -> Option<Cause> {
    let Reply::Array(words) = message else {
        return None;
    };
    let [_, Reply::Bulk(channel), Reply::Bulk(payload)] = words.as_slice() else {
        return None;
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Some(Cause::Message {
        channel: text(channel),
        payload: text(payload),
    })
}
