//! Refused connections.
//!
//! A definite failure is a refused connection. That happens before a proxy sees any
//! bytes, so it is prepared before the step in which the client calls. No proxy can hold
//! back the news of it either: the client does, and hears of it when the trace says so.
//!
//! The same serves where a pause comes before a client has sent. A real client has
//! written its bytes before it can be stopped, which matters if its server is gone: it
//! could not take them back. So its connection is refused, and it tries again when it
//! goes on.

use std::time::Duration;

use lockproof_lab::client::protocol::{FromClient, SentCommand, ToClient};
use lockproof_redis::Multi;
use lockproof_trace::{Event, FaultEvent, words};
use tokio::time::{Instant, sleep};

use super::Stop;
use super::messages::{Fate, Key, Stage, on_the_wire};
use super::run::{Replay, is_consequence, is_loss};
use super::wire::HeldRequest;

/// Why a connection is refused.
pub(super) enum Refused {
    /// Its server is gone, and the client will hear of it.
    InTruth,
    /// Its client was paused before it could try. A real client has written its bytes
    /// before it can be stopped, and could not take them back when its server is gone.
    ToHoldItBack,
}

/// If this command fails before it is sent, then by its client's library: the connection on
/// which it watched keys is gone.
fn is_withheld(argv: &[String]) -> bool {
    Multi::of(argv).is_some_and(|multi| multi.guarded)
}

impl Replay<'_> {
    /// A client that was paused before it sent goes on, and sends, unless its connection
    /// is refused now.
    pub(super) async fn send_what_was_held_back(&mut self, client: u8) -> Result<(), Stop> {
        let own = self.messages.iter().filter(|(key, _)| key.0 == client);
        let unsent = own.filter(|(_, message)| {
            message.fate == Fate::Arrives && matches!(message.stage, Stage::Unsent(_))
        });
        for key in unsent.map(|(key, _)| *key).collect::<Vec<_>>() {
            if !self.fails_definitely(self.at, key) {
                self.send_at_last(key).await?;
            }
        }
        Ok(())
    }

    /// Its client sends what a pause had held back, if one had.
    pub(super) async fn send_at_last(&mut self, key: Key) -> Result<(), Stop> {
        let argv = match self.messages.get(&key).map(|message| &message.stage) {
            Some(Stage::Unsent(argv)) => argv.clone(),
            _ => return Ok(()),
        };
        let thread = self.thread_of(key);
        let process = self.rig.client(key.0)?;
        let id = process.fresh_id();
        match process.request(&ToClient::Retry { id, thread }).await? {
            FromClient::Ok { .. } => {}
            other => return Err(self.misbehaved(key.0, "an `ok`", &other)),
        }
        let held = self.arrives(key, &argv).await?;
        self.put_stage(key, Stage::Request(held));
        Ok(())
    }

    /// A client says that a node refuses one of its threads.
    async fn await_refusal(&mut self, client: u8, of_node: u8, by_thread: u8) -> Result<(), Stop> {
        let (who, whom) = (words::node(of_node), words::client(client));
        let refusal = |message: &FromClient| matches!(message, FromClient::Refused { thread, node, .. } if (*thread, *node) == (by_thread, of_node));
        let awaiting = format!("that {who} refuses thread {by_thread}");
        let process = self.rig.client(client)?;
        process.receive_where(&awaiting, refusal).await?;
        self.note("wire", format!("{who} refuses {whom}"));
        Ok(())
    }

    /// The client's connection is refused, and it is told so later ([`Self::fail`]).
    pub(super) async fn refused(&mut self, key: Key, by_thread: u8) -> Result<(), Stop> {
        let (client, of_node, _) = key;
        self.await_refusal(client, of_node, by_thread).await?;
        // Other threads may have called it in the same moment.
        if !self.is_refused_again(key) {
            self.rig.wires.accept(client, of_node).await?;
        }
        Ok(())
    }

    /// A command that a client says it sent, held before its node; `None` if its library did
    /// not send it, and the client has heard of that.
    pub(super) async fn sent_or_withheld(
        &mut self,
        client: u8,
        sent: &SentCommand,
    ) -> Result<Option<HeldRequest>, Stop> {
        let argv = on_the_wire(&sent.argv);
        let (thread, node) = (sent.thread, sent.node);
        if !is_withheld(&sent.argv) {
            return Ok(Some(
                self.rig.wires.next_request(client, node, &argv).await?,
            ));
        }
        let refusal = |message: &FromClient| matches!(message, FromClient::Refused { thread: by, node: of, .. } if (*by, *of) == (thread, node));
        let deadline = Instant::now() + self.rig.patience();
        while Instant::now() < deadline {
            if let Some(held) = self.rig.wires.request_here(client, node, &argv) {
                return Ok(Some(held));
            }
            let process = self.rig.client(client)?;
            if process.take_where(refusal)?.is_some() {
                self.note(
                    "wire",
                    format!("{client} does not send it", client = words::client(client)),
                );
                let id = self.rig.client(client)?.fresh_id();
                self.input(client, ToClient::Hear { id, thread }).await?;
                return Ok(None);
            }
            sleep(Duration::from_millis(1)).await;
        }
        Ok(Some(
            self.rig.wires.next_request(client, node, &argv).await?,
        ))
    }

    /// Its server is gone for good, and refuses whoever calls: the client hears of it at once.
    pub(super) async fn hears_of_refusal(
        &mut self,
        client: u8,
        of_node: u8,
        by_thread: u8,
    ) -> Result<(), Stop> {
        self.await_refusal(client, of_node, by_thread).await?;
        let id = self.rig.client(client)?.fresh_id();
        let thread = by_thread;
        self.input(client, ToClient::Hear { id, thread }).await
    }

    /// A definite failure is a refused connection, which happens before the
    /// bytes are seen; so it is prepared before the step that leads to it.
    pub(super) async fn refuse_what_will_be_refused(&mut self) -> Result<(), Stop> {
        for at in self.at + 1..self.trace.steps.len() {
            let event = &self.trace.steps[at].event;
            if !is_consequence(event) && !is_loss(event) {
                break;
            }
            if let Event::Send {
                client,
                node,
                message,
                argv,
                ..
            } = event
                && self.is_refused(at, (*client, *node, *message)).is_some()
                && !is_withheld(argv)
            {
                self.rig.wires.refuse(*client, *node).await?;
            }
        }
        Ok(())
    }

    /// Of what else the client does in this step, something is refused by the same node.
    fn is_refused_again(&self, (of_client, by_node, _): Key) -> bool {
        let rest = self.trace.steps.iter().enumerate().skip(self.at + 1);
        let mut now =
            rest.take_while(|(_, step)| is_consequence(&step.event) || is_loss(&step.event));
        now.any(|(at, step)| match &step.event {
            Event::Send {
                client,
                node,
                message,
                ..
            } => {
                (*client, *node) == (of_client, by_node)
                    && self.is_refused(at, (*client, *node, *message)).is_some()
            }
            _ => false,
        })
    }

    /// Why the connection for this command is to be refused when it is sent, if it is.
    pub(super) fn is_refused(&self, sent_at: usize, key: Key) -> Option<Refused> {
        let fails = self.fails_definitely(sent_at, key);
        match self.is_held_back(sent_at, key) {
            true if fails || self.rig.is_down(key.1) => Some(Refused::ToHoldItBack),
            false if fails => Some(Refused::InTruth),
            _ => None,
        }
    }

    fn fails_definitely(&self, since: usize, key: Key) -> bool {
        let mut rest = self.trace.steps[since..].iter();
        rest.any(|step| match step.event {
            Event::Fail {
                client,
                node,
                message,
                definite,
            } => definite && (client, node, message) == key,
            _ => false,
        })
    }

    /// A pause comes before its client has sent it.
    fn is_held_back(&self, sent_at: usize, key: Key) -> bool {
        let mut rest = self.trace.steps[sent_at..].iter();
        rest.any(|step| match &step.event {
            Event::Fault {
                fault: FaultEvent::ClientPause { client, held },
            } => *client == key.0 && held.contains(&key.2),
            _ => false,
        })
    }
}
