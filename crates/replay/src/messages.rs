//! The steps of a command's life: sent, executed, delivered, failed or lost.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use lockproof_lab::client::protocol::{Cause, FromClient, Mode, ToClient};
use lockproof_redis::{Multi, Reply};
use tokio::time::{Instant, sleep};

use lockproof_trace::words;

use super::Stop;
use super::compare::{self, command_text, reply_text};
use super::content::Author;
use super::refusals::Refused;
use super::report::RealSide;
use super::run::Replay;
use super::wire::{HeldPush, HeldReply, HeldRequest, MessagePlace};

/// A command's name in a trace: client, node and number.
pub(super) type Key = (u8, u8, u32);

/// All commands that were sent so far.
pub(super) type Messages = BTreeMap<Key, InFlight>;

/// A command on its way.
pub(super) struct InFlight {
    pub thread: u8,
    /// In which mode its client sent it.
    pub mode: Mode,
    /// It is part of the release of a last hold.
    pub leaves: bool,
    /// It is part of a renewal, or of a question whether the lock is held.
    pub holders: bool,
    pub stage: Stage,
    /// The server that it went to.
    pub server: usize,
    /// Its client waits for the reply.
    pub awaited: bool,
    /// Its client was paused before it had sent it.
    pub held: bool,
    /// It begins or ends a subscription.
    pub subscribes: bool,
    pub fate: Fate,
}

/// What comes of a command that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It arrives.
    Arrives,
    /// Its connection broke, and its client will hear of it.
    Breaks,
    /// Nobody hears of it any more.
    Vanishes,
}

pub(super) enum Stage {
    /// Its client was paused before it sent it. It believes that it did: its connection
    /// was refused, and it has not heard of that.
    Unsent(Vec<String>),
    /// Its bytes are held before the node.
    Request(HeldRequest),
    /// The node has it, and holds it back.
    Blocked(HeldRequest),
    /// Its reply is held before the client.
    Reply(HeldReply),
    /// A published message is held before the client.
    Push(HeldPush),
    /// Lost, delivered, or refused: nothing of it is held.
    Gone,
}

impl Replay<'_> {
    pub(super) async fn sent(
        &mut self,
        client: u8,
        thread: u8,
        node: u8,
        message: u32,
        argv: &[String],
    ) -> Result<(), Stop> {
        let expected = format!(
            "{client}, thread {thread} sends to {node}: {}",
            command_text(argv),
            client = words::client(client),
            node = words::node(node)
        );
        let Some(command) = self.state(client)?.sent.pop_front() else {
            return Err(Stop::diverged(expected, "it sends nothing"));
        };
        if (command.thread, command.node) != (thread, node) {
            return Err(Stop::diverged(
                expected,
                format!(
                    "its thread {} sends to {}: {}",
                    command.thread,
                    words::node(command.node),
                    command_text(&command.argv)
                ),
            ));
        }
        compare::request(argv, &command.argv)?;
        let key = (client, node, message);
        let stage = match self.is_refused(self.at, key) {
            None => Stage::Request(self.arrives(key, argv).await?),
            Some(refused) => {
                self.refused(key, thread).await?;
                match refused {
                    Refused::InTruth => Stage::Gone,
                    Refused::ToHoldItBack => Stage::Unsent(argv.to_vec()),
                }
            }
        };
        self.file(key, thread, stage)?;
        let name = argv.first().map_or("", String::as_str);
        let words = ["subscribe", "unsubscribe"];
        if let Some(message) = self.messages.get_mut(&key) {
            message.subscribes = words.iter().any(|word| name.eq_ignore_ascii_case(word));
        }
        Ok(())
    }

    /// The bytes of a command come to the proxy, which holds them.
    pub(super) async fn arrives(&mut self, key: Key, argv: &[String]) -> Result<HeldRequest, Stop> {
        let argv = on_the_wire(argv);
        let held = self.rig.wires.next_request(key.0, key.1, &argv).await?;
        let command = command_text(&held.argv);
        self.note(
            "wire",
            format!("holds {command} before {}", words::node(key.1)),
        );
        compare::request(&argv, &held.argv)?;
        Ok(held)
    }

    /// Keeps a command that was sent.
    pub(super) fn file(&mut self, key: Key, thread: u8, stage: Stage) -> Result<(), Stop> {
        let server = self.server_of(key.0, key.1)?;
        let holders = thread == 0 && self.asks_or_renews(key.0)?;
        let state = self.state(key.0)?;
        let holds = state.view.as_ref().map_or(0, |view| view.holds);
        let message = InFlight {
            thread,
            mode: state.mode,
            leaves: thread == 0 && holds == 0 && state.phase() == "releasing",
            holders,
            stage,
            server,
            awaited: true,
            held: false,
            subscribes: false,
            fate: Fate::Arrives,
        };
        self.messages.insert(key, message);
        Ok(())
    }

    /// Which server a client finds where it looks for a node.
    fn server_of(&self, client: u8, node: u8) -> Result<usize, Stop> {
        match self.unnoticed.contains(&(client, node)) {
            true => Ok(self.rig.old_place(node)?),
            false => Ok(self.rig.place(node)?),
        }
    }

    /// The thread that sent a command, and whether its client waits for the reply.
    pub(super) fn sender_of(&self, key: Key) -> (u8, bool) {
        let message = self.messages.get(&key);
        message.map_or((0, false), |message| (message.thread, message.awaited))
    }

    /// Who sent a command, and as what.
    pub(super) fn author_of(&self, key: Key) -> Author {
        let (mode, leaves) = match self.messages.get(&key) {
            Some(message) => (message.mode, message.leaves),
            None => (Mode::Write, false),
        };
        Author {
            client: key.0,
            mode,
            leaves,
        }
    }

    /// What comes of the commands that these are, as far as they are on their way.
    pub(super) fn doom(&mut self, fate: Fate, which: impl Fn(Key, &InFlight) -> bool) {
        for (key, message) in &mut self.messages {
            if which(*key, message) {
                message.fate = fate;
                message.held = false;
            }
        }
    }

    /// A request of the client's is still on its way to a node.
    pub(super) fn is_pending(&self, client: u8) -> bool {
        self.messages.iter().any(|(key, message)| {
            key.0 == client
                && message.fate == Fate::Arrives
                && matches!(message.stage, Stage::Request(_))
        })
    }

    pub(super) async fn execute(&mut self, key: Key, expected: &Reply) -> Result<(), Stop> {
        let reply = self.pass_on(key).await?;
        self.really(RealSide::Reply(reply.clone()));
        Ok(compare::reply(expected, &reply)?)
    }

    /// The node executes a command; the reply is held.
    pub(super) async fn pass_on(&mut self, key: Key) -> Result<Reply, Stop> {
        let message = self.messages.get(&key);
        let server = message.map_or(0, |message| message.server);
        let reply = match self.take_stage(key)? {
            Stage::Request(request) => {
                let before = self.look_before(key.1, server).await?;
                let argv = request.argv.clone();
                let reply = self.rig.execute(request).await?;
                if let Some(before) = before {
                    self.look_after(key, server, before, &argv, &reply.reply)
                        .await?;
                }
                reply
            }
            Stage::Blocked(request) => self.rig.reply(request).await?,
            _ => return Err(self.senseless("executes a command that is not held before the node")),
        };
        self.note(
            "wire",
            format!(
                "{} replies {}",
                words::node(key.1),
                reply_text(&reply.reply)
            ),
        );
        let text = reply.reply.clone();
        self.put_stage(key, Stage::Reply(reply));
        Ok(text)
    }

    /// The node takes a WAIT, or a BLPOP, and does not answer. That is seen on the server, so
    /// that nothing has to be waited for.
    pub(super) async fn block(&mut self, key: Key) -> Result<(), Stop> {
        let Stage::Request(request) = self.take_stage(key)? else {
            return Err(self.senseless("blocks a command that is not held before the node"));
        };
        let before = self.rig.blocked_clients(key.1).await?;
        self.rig.pass(&request).await?;
        let deadline = Instant::now() + self.rig.patience();
        while self.rig.blocked_clients(key.1).await? <= before {
            if self.rig.wires.is_answered(&request) || Instant::now() >= deadline {
                let reply = self.rig.reply(request).await?;
                return Err(Stop::diverged(
                    format!("{} holds the command back", words::node(key.1)),
                    format!("it replies {}", reply_text(&reply.reply)),
                ));
            }
            sleep(Duration::from_millis(1)).await;
        }
        self.note("wire", format!("{} holds it back", words::node(key.1)));
        self.put_stage(key, Stage::Blocked(request));
        Ok(())
    }

    /// The node learns that the client of a command that it holds back has gone. That is
    /// seen on the server.
    pub(super) async fn hang_up(&mut self, key: Key) -> Result<(), Stop> {
        let Stage::Blocked(request) = self.take_stage(key)? else {
            return Err(self.senseless("hangs up a command that the node does not hold back"));
        };
        let before = self.rig.blocked_clients(key.1).await?;
        self.rig.wires.hang_up(&request).await?;
        let deadline = Instant::now() + self.rig.patience();
        while self.rig.blocked_clients(key.1).await? >= before {
            if Instant::now() >= deadline {
                return Err(Stop::diverged(
                    format!("{} forgets the command", words::node(key.1)),
                    "it goes on to hold it back",
                ));
            }
            sleep(Duration::from_millis(1)).await;
        }
        self.note("wire", format!("{} forgets it", words::node(key.1)));
        Ok(())
    }

    pub(super) async fn deliver(&mut self, key: Key, ignored: bool) -> Result<(), Stop> {
        let reply = match self.take_stage(key)? {
            Stage::Reply(reply) => reply,
            Stage::Push(push) => return self.hear(key, push).await,
            _ => return Err(self.senseless("delivers a reply that is not held")),
        };
        let thread = self.thread_of(key);
        self.note(
            "did",
            format!(
                "deliver the reply of {} to {}",
                words::node(key.1),
                words::client(key.0)
            ),
        );
        self.rig.wires.deliver(reply).await?;
        self.nobody_waits(key);
        if ignored {
            return Ok(());
        }
        let cause = Cause::Reply {
            thread,
            node: key.1,
        };
        self.network(key.0, &cause).await
    }

    pub(super) async fn fail(&mut self, key: Key, definite: bool) -> Result<(), Stop> {
        if !definite {
            self.send_at_last(key).await?;
        }
        let stage = self.take_stage(key)?;
        let thread = self.thread_of(key);
        self.note(
            "did",
            format!(
                "fail the command of {} at {}",
                words::client(key.0),
                words::node(key.1)
            ),
        );
        if let Some(place) = stage.place() {
            self.rig.wires.cut(place).await?;
        }
        self.nobody_waits(key);
        if self.state(key.0)?.crashed {
            return Ok(());
        }
        if definite {
            let id = self.rig.client(key.0)?.fresh_id();
            return self.input(key.0, ToClient::Hear { id, thread }).await;
        }
        let cause = Cause::Fail {
            thread,
            node: key.1,
            definite,
            message: String::new(),
        };
        self.network(key.0, &cause).await
    }

    /// Awaits the report of what the network brought to a client.
    pub(super) async fn network(&mut self, client: u8, cause: &Cause) -> Result<(), Stop> {
        let awaiting = format!("the report of {}", cause_text(cause));
        let arrived = |message: &FromClient| matches!(message, FromClient::Step(step) if step.cause.is_some());
        let process = self.rig.client(client)?;
        let FromClient::Step(mut report) = process.receive_where(&awaiting, arrived).await? else {
            // receive_where gives only what `arrived` accepts.
            return Err(Stop::NotReplayable("a step that is none".to_string()));
        };
        let same = report
            .cause
            .as_ref()
            .is_some_and(|real| same_cause(real, cause));
        if !same {
            let actual = report.cause.as_ref().map_or_else(String::new, cause_text);
            return Err(Stop::diverged(
                format!(
                    "{client} takes {}",
                    cause_text(cause),
                    client = words::client(client)
                ),
                format!("it takes {actual}"),
            ));
        }
        let exchange = report.exchange.take();
        self.take(client, *report)?;
        self.hand_over(client, exchange).await
    }

    /// A request (or a reply) is lost on its way.
    pub(super) async fn lose(&mut self, key: Key, reply: bool) -> Result<(), Stop> {
        let what = if reply { "reply" } else { "request" };
        self.note(
            "did",
            format!(
                "lose the {what} of {} at {}",
                words::client(key.0),
                words::node(key.1)
            ),
        );
        match (self.take_stage(key)?, reply) {
            (Stage::Request(request), false) => Ok(self.rig.wires.lose_request(request).await?),
            (Stage::Reply(reply), true) => {
                // Nothing behind it arrives either.
                if self
                    .messages
                    .get(&key)
                    .is_some_and(|message| message.subscribes)
                {
                    self.deafen((key.0, key.1));
                }
                Ok(self.rig.wires.lose_reply(reply).await?)
            }
            (Stage::Push(_), true) => self.lose_push(key).await,
            // Its server died before it answered a WAIT, and nobody hears of it.
            (Stage::Blocked(_), true) | (Stage::Unsent(_), false) => Ok(()),
            _ => Err(self.senseless("loses what is not held")),
        }
    }

    pub(super) fn take_stage(&mut self, key: Key) -> Result<Stage, Stop> {
        match self.messages.get_mut(&key) {
            Some(message) => Ok(std::mem::replace(&mut message.stage, Stage::Gone)),
            None => Err(self.senseless("speaks of a command that was never sent")),
        }
    }

    fn nobody_waits(&mut self, key: Key) {
        if let Some(message) = self.messages.get_mut(&key) {
            message.awaited = false;
        }
    }

    /// A thread gave up what it waited for. If that was about a subscription, the client
    /// has closed its connection.
    pub(super) fn give_up(&mut self, client: u8, thread: u8) {
        let subscribed = |(key, message): (&Key, &InFlight)| {
            let waits = message.thread == thread && message.awaited && message.subscribes;
            (key.0 == client && waits).then_some((client, key.1))
        };
        let closed: Vec<(u8, u8)> = self.messages.iter().filter_map(subscribed).collect();
        self.closed.extend(closed);
        let own = self.messages.iter_mut().filter(|(key, _)| key.0 == client);
        for (_, message) in own.filter(|(_, message)| message.thread == thread) {
            message.awaited = false;
        }
    }

    pub(super) fn put_stage(&mut self, key: Key, stage: Stage) {
        if let Some(message) = self.messages.get_mut(&key) {
            message.stage = stage;
        }
    }

    pub(super) fn thread_of(&self, key: Key) -> u8 {
        self.messages.get(&key).map_or(0, |message| message.thread)
    }

    fn senseless(&self, what: &str) -> Stop {
        Stop::NotReplayable(format!(
            "step {} of the trace {what}; was the file edited?",
            self.at + 1
        ))
    }
}

impl Stage {
    fn place(&self) -> Option<MessagePlace> {
        match self {
            Self::Request(request) | Self::Blocked(request) => Some(request.place),
            Self::Reply(reply) => Some(reply.place),
            Self::Push(push) => Some(push.place),
            Self::Gone | Self::Unsent(_) => None,
        }
    }
}

/// The command as its bytes tell it: nobody sees there that a transaction is guarded.
pub(super) fn on_the_wire(argv: &[String]) -> Cow<'_, [String]> {
    let Some(multi) = Multi::of(argv).filter(|multi| multi.guarded) else {
        return Cow::Borrowed(argv);
    };
    let guarded = false;
    let words = Multi { guarded, ..multi }.words();
    let text = |word: Vec<u8>| String::from_utf8_lossy(&word).into_owned();
    Cow::Owned(words.into_iter().map(text).collect())
}

fn same_cause(real: &Cause, wanted: &Cause) -> bool {
    match (real, wanted) {
        (
            Cause::Fail {
                thread: a,
                node: b,
                definite: c,
                ..
            },
            Cause::Fail {
                thread: x,
                node: y,
                definite: z,
                ..
            },
        ) => (a, b, c) == (x, y, z),
        (real, wanted) => real == wanted,
    }
}

/// What the network brought, in words.
pub(super) fn cause_text(cause: &Cause) -> String {
    match cause {
        Cause::Reply { thread, node } => format!(
            "the reply of {node} in thread {thread}",
            node = words::node(*node)
        ),
        Cause::Fail {
            thread,
            node,
            definite,
            message,
        } => {
            let kind = if *definite { "definite" } else { "unknown" };
            format!(
                "a failure ({kind}) at {node} in thread {thread} {message}",
                node = words::node(*node)
            )
            .trim_end()
            .to_string()
        }
        Cause::Message { channel, .. } => format!("a message on {channel}"),
    }
}
