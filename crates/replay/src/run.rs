//! One replay, step by step.
//!
//! A step is *primary* (a call, a wake, a reply, a tick, a fault: something that
//! the world does) or a *consequence* (a command that is sent, an operation that
//! ends: something that a client does because of it). The gate causes primary
//! steps, and takes the consequences from what the client reports; before the
//! next primary step nothing may be left over, so a client that does more than
//! the trace says is seen as surely as one that does less.

use std::collections::{BTreeSet, VecDeque};

use lockproof_lab::client::protocol::{
    Broken, Call, Cause, Ended, FromClient, Mode, SentCommand, StepReport, ToClient, View,
};
use lockproof_trace::{Event, FaultEvent, Outcome, Step, Trace, words};

use super::compare::{self, Mismatch, command_text};
use super::endless::Boundary;
use super::messages::{Messages, cause_text};
use super::report::{Happening, RealSide, RealStep};
use super::rig::{LogBytes, Rig};
use super::watch::Watch;
use super::{GateError, Stop};

/// A trace being enforced.
pub(super) struct Replay<'a> {
    pub trace: &'a Trace,
    pub rig: &'a mut Rig,
    /// The step that is being enforced.
    pub at: usize,
    /// What the real side did, where more can be said than that it agrees.
    pub real: Vec<RealStep>,
    pub history: Vec<Happening>,
    pub clients: Vec<ClientState>,
    pub messages: Messages,
    /// For each node how much of its logs has reached the disk.
    pub synced: Vec<LogBytes>,
    /// Clients that still use a node's old server.
    pub unnoticed: BTreeSet<(u8, u8)>,
    /// Links (client, node) that are cut.
    pub cut: BTreeSet<(u8, u8)>,
    /// Links of a client to a node that swallow what the node sends.
    pub mute: BTreeSet<(u8, u8)>,
    /// Links on which nothing of a subscription arrives any more.
    pub deaf: BTreeSet<(u8, u8)>,
    /// Subscriptions whose client has closed their connection.
    pub closed: Vec<(u8, u8)>,
    /// What is down, cut or stands still at the trace's end stays so.
    pub lasts: bool,
    /// What was there when rounds of an endless run began.
    pub boundaries: Vec<Boundary>,
    /// What is noted for the violated property, if the trace names one.
    pub watch: Option<Watch>,
}

/// What the gate knows of a client.
pub(super) struct ClientState {
    pub crashed: bool,
    pub paused: bool,
    /// Time that passed while it was paused, in ms.
    pub owed_ms: i64,
    /// The number of its last call.
    pub call: u64,
    /// In which mode it acquired last, or tries to.
    pub mode: Mode,
    /// Its clock minus true time, in ms.
    pub offset_ms: i64,
    /// Ticks that its clock advances in the next tick, if not one.
    pub drift: Option<u8>,
    /// What it last said that it believes.
    pub view: Option<View>,
    /// What it believed before its last input, and whether that was valid.
    pub before: (View, bool),
    /// Commands that it says it sent, and the trace has not come to yet.
    pub sent: VecDeque<SentCommand>,
    /// Operations that it says ended, and the trace has not come to yet.
    pub ended: VecDeque<Ended>,
    /// Assertions that it says do not hold, and the trace has not come to yet.
    pub broken: VecDeque<Broken>,
}

impl ClientState {
    pub(super) fn new() -> Self {
        let idle = View {
            phase: "idle".to_string(),
            holds: 0,
            validity_left_ms: None,
            threads: Vec::new(),
        };
        Self {
            crashed: false,
            paused: false,
            owed_ms: 0,
            call: 0,
            mode: Mode::Write,
            offset_ms: 0,
            drift: None,
            view: None,
            before: (idle, false),
            sent: VecDeque::new(),
            ended: VecDeque::new(),
            broken: VecDeque::new(),
        }
    }
}

impl<'a> Replay<'a> {
    pub fn new(trace: &'a Trace, lock: &str, rig: &'a mut Rig) -> Self {
        Self {
            trace,
            watch: Watch::of(trace, lock),
            rig,
            at: 0,
            real: Vec::new(),
            history: Vec::new(),
            clients: (0..trace.setup.clients)
                .map(|_| ClientState::new())
                .collect(),
            messages: Messages::new(),
            synced: Vec::new(),
            unnoticed: BTreeSet::new(),
            cut: BTreeSet::new(),
            mute: BTreeSet::new(),
            deaf: BTreeSet::new(),
            closed: Vec::new(),
            lasts: false,
            boundaries: Vec::new(),
        }
    }

    /// Enforces all steps. `Err` tells why it stopped at `self.at`.
    pub async fn all(&mut self) -> Result<(), Stop> {
        self.note_synced(None).await?;
        for (at, step) in self.trace.steps.iter().enumerate() {
            self.at = at;
            self.look_at_boundary(at).await?;
            if !is_consequence(&step.event) && !is_loss(&step.event) {
                self.nothing_left_over()?;
                self.refuse_what_will_be_refused().await?;
            }
            self.step(&step.event).await?;
            self.close_subscriptions().await?;
            self.watch_holders().await?;
            if self.group_ends(at) {
                self.compare_views(step)?;
            }
        }
        self.nothing_left_over()?;
        self.look_at_boundary(self.trace.steps.len()).await?;
        self.nothing_more_arrives().await
    }

    async fn step(&mut self, event: &Event) -> Result<(), Stop> {
        match event {
            Event::Call { client, op, token } => self.call(*client, op, token.clone()).await,
            Event::Wake { client, thread, .. } => self.wake(*client, *thread).await,
            Event::Choose {
                client,
                thread,
                value,
            } => self.choose(*client, *thread, *value).await,
            Event::Send {
                client,
                thread,
                node,
                message,
                argv,
            } => self.sent(*client, *thread, *node, *message, argv).await,
            Event::Execute {
                client,
                node,
                message,
                reply,
            } => self.execute((*client, *node, *message), reply).await,
            Event::Publish {
                client,
                node,
                message,
                channel,
                payload,
            } => {
                self.published((*client, *node, *message), channel, payload)
                    .await
            }
            Event::Block {
                client,
                node,
                message,
            } => self.block((*client, *node, *message)).await,
            Event::HangUp {
                client,
                node,
                message,
            } => self.hang_up((*client, *node, *message)).await,
            Event::Deliver {
                client,
                node,
                message,
                ignored,
                ..
            } => {
                let key = (*client, *node, *message);
                if !*ignored {
                    self.confirm_life(key, true);
                }
                self.deliver(key, *ignored).await
            }
            Event::Fail {
                client,
                node,
                message,
                definite,
            } => {
                let key = (*client, *node, *message);
                self.confirm_life(key, false);
                self.fail(key, *definite).await
            }
            Event::Outcome {
                client,
                op,
                outcome,
            } => {
                let ended = Ended {
                    op: op.clone(),
                    outcome: outcome.clone(),
                };
                let actual = self.ended(*client, ended)?;
                self.watch_end(*client, actual).await
            }
            Event::Assertion { client, text } => self.asserted(*client, text),
            Event::Write { client, refused } => self.write(*client, *refused).await,
            Event::Tick => self.tick().await,
            Event::Fault { fault } => self.fault(fault).await,
        }
    }

    pub async fn call(&mut self, client: u8, op: &str, token: Option<String>) -> Result<(), Stop> {
        self.watch_call(client, op)?;
        self.begin_telling(client, token.as_deref());
        self.watch_question(client, op).await?;
        let (name, mode) = match op {
            "acquire_read" => ("acquire", Mode::Read),
            "acquire_write" => ("acquire", Mode::Write),
            other => (other, Mode::Write),
        };
        if ["acquire", "try_acquire"].contains(&name) {
            self.state(client)?.mode = mode;
        }
        let id = self.rig.client(client)?.fresh_id();
        self.state(client)?.call = id;
        let call = ToClient::Call(Call {
            id,
            op: name.to_string(),
            caller: 0,
            mode,
            token,
            wait_ms: None,
        });
        self.note(
            "did",
            format!("call {op} on {client}", client = words::client(client)),
        );
        self.input(client, call).await
    }

    pub async fn wake(&mut self, client: u8, thread: u8) -> Result<(), Stop> {
        let id = self.rig.client(client)?.fresh_id();
        self.note(
            "did",
            format!(
                "wake thread {thread} of {client}",
                client = words::client(client)
            ),
        );
        self.input(client, ToClient::Wake { id, thread }).await
    }

    pub async fn choose(&mut self, client: u8, thread: u8, value: u8) -> Result<(), Stop> {
        let id = self.rig.client(client)?.fresh_id();
        self.note(
            "did",
            format!(
                "thread {thread} of {client} draws {value}",
                client = words::client(client)
            ),
        );
        self.input(client, ToClient::Choose { id, thread, value })
            .await
    }

    /// Gives a client an input and takes its report.
    pub async fn input(&mut self, client: u8, message: ToClient) -> Result<(), Stop> {
        let answer = self.rig.client(client)?.request(&message).await?;
        match answer {
            FromClient::Step(mut report) => {
                let exchange = report.exchange.take();
                self.take(client, *report)?;
                self.hand_over(client, exchange).await
            }
            FromClient::Error { code, message, .. } => Err(Stop::diverged(
                format!(
                    "{client} can take this step",
                    client = words::client(client)
                ),
                format!("it answers {code:?}: {message}"),
            )),
            other => Err(self.misbehaved(client, "a `step`", &other)),
        }
    }

    /// Files what a client reports under what is to be compared.
    pub fn take(&mut self, client: u8, report: StepReport) -> Result<(), Stop> {
        let text = serde_json::to_string(&report).unwrap_or_else(|e| e.to_string());
        self.note(
            "client",
            format!("{client}: {text}", client = words::client(client)),
        );
        for thread in &report.abandoned {
            self.give_up(client, *thread);
            self.give_up_life(client, *thread);
        }
        let failed = matches!(report.cause, Some(Cause::Fail { .. }));
        let state = self.state(client)?;
        let was_valid = state.is_valid();
        if (failed || !report.abandoned.is_empty()) && state.believes() {
            self.watch_failure(client);
        }
        let state = self.state(client)?;
        if let Some(before) = state.view.take() {
            state.before = (before, was_valid);
        }
        state.sent.extend(report.sent);
        state.broken.extend(report.broken);
        // A trace tells of a loss that a background thread found as the end of
        // an operation called renewal, unless a real one ended with it.
        let lost = (report.lost && report.ended.is_none()).then(|| Ended {
            op: "renewal".to_string(),
            outcome: Outcome::Lost,
        });
        state.ended.extend(report.ended.or(lost));
        state.view = Some(report.view);
        Ok(())
    }

    fn ended(&mut self, client: u8, expected: Ended) -> Result<Ended, Stop> {
        let text = |ended: &Ended| {
            let outcome = serde_json::to_string(&ended.outcome).unwrap_or_else(|e| e.to_string());
            format!(
                "{client}: {} ends with {outcome}",
                ended.op,
                client = words::client(client)
            )
        };
        let actual = self.state(client)?.ended.pop_front();
        if let Some(actual) = &actual {
            self.really(RealSide::Outcome(actual.outcome.clone()));
        }
        match actual {
            Some(actual)
                if actual.op == expected.op
                    && compare::same_outcome(&expected.outcome, &actual.outcome) =>
            {
                Ok(actual)
            }
            Some(actual) => Err(Stop::diverged(text(&expected), text(&actual))),
            None => Err(Stop::diverged(
                text(&expected),
                "the operation has not ended",
            )),
        }
    }

    pub async fn tick(&mut self) -> Result<(), Stop> {
        let tick_ms = self.trace.setup.tick_ms;
        self.watch_waiting().await?;
        self.note("did", format!("all clocks advance by {tick_ms} ms"));
        self.rig.advance_servers(tick_ms).await?;
        for client in 0..self.trace.setup.clients {
            let state = self.state(client)?;
            let ticks = state.drift.take().unwrap_or(1);
            let ms = i64::from(ticks) * tick_ms;
            state.offset_ms += ms - tick_ms;
            self.tick_telling(client, ms)?;
            let state = self.state(client)?;
            if state.paused {
                state.owed_ms += ms;
            } else if !state.crashed {
                self.advance(client, ms).await?;
            }
        }
        self.watch_tick();
        Ok(())
    }

    /// Advances a client's clock.
    pub async fn advance(&mut self, client: u8, ms: i64) -> Result<(), Stop> {
        if ms == 0 {
            return Ok(());
        }
        let id = self.rig.client(client)?.fresh_id();
        self.input(client, ToClient::Advance { id, ms }).await
    }

    fn compare_views(&mut self, step: &Step) -> Result<(), Stop> {
        for (client, expected) in step.clients.iter().enumerate() {
            let Some(state) = self.clients.get(client) else {
                continue;
            };
            // A process that stands or is gone cannot be asked.
            if state.crashed || state.paused {
                continue;
            }
            if let Some(actual) = &state.view {
                compare::view(client, expected, actual)?;
            }
        }
        Ok(())
    }

    fn nothing_left_over(&mut self) -> Result<(), Stop> {
        for (client, state) in self.clients.iter().enumerate() {
            if let Some(command) = state.sent.front() {
                return Err(Stop::diverged(
                    format!(
                        "{client} sends nothing more",
                        client = words::client(client as u8)
                    ),
                    format!(
                        "it sends to {}: {}",
                        words::node(command.node),
                        command_text(&command.argv)
                    ),
                ));
            }
            if let Some(ended) = state.ended.front() {
                return Err(Stop::diverged(
                    format!(
                        "no operation of {client} ends",
                        client = words::client(client as u8)
                    ),
                    format!("{} ends with {:?}", ended.op, ended.outcome),
                ));
            }
            if let Some(broken) = state.broken.front() {
                return Err(Stop::diverged(
                    format!(
                        "what {client} asserts is so",
                        client = words::client(client as u8)
                    ),
                    format!("it is not in line {}: {}", broken.line, broken.text),
                ));
            }
        }
        Ok(())
    }

    /// No client has read anything that the trace does not deliver. An input
    /// that changes nothing makes sure that each has looked.
    async fn nothing_more_arrives(&mut self) -> Result<(), Stop> {
        for client in 0..self.trace.setup.clients {
            let state = self.state(client)?;
            if state.crashed || state.paused {
                continue;
            }
            self.no_message_is_left(client)?;
            let id = self.rig.client(client)?.fresh_id();
            self.input(client, ToClient::Advance { id, ms: 0 }).await?;
            let arrived = self.rig.client(client)?.drain()?;
            let unasked = arrived.iter().find_map(|message| match message {
                FromClient::Step(step) => step.cause.as_ref().map(cause_text),
                FromClient::Refused { message, .. } => Some(message.clone()),
                _ => None,
            });
            if let Some(unasked) = unasked {
                return Err(Stop::diverged(
                    format!(
                        "{client} takes nothing more from the network",
                        client = words::client(client)
                    ),
                    format!("it takes {unasked}"),
                ));
            }
        }
        Ok(())
    }

    fn group_ends(&self, at: usize) -> bool {
        self.trace
            .steps
            .get(at + 1)
            .is_none_or(|next| !is_consequence(&next.event) && !holds_back(&next.event))
            && !self.strikes_the_process_next(at)
    }

    pub fn state(&mut self, client: u8) -> Result<&mut ClientState, Stop> {
        self.clients.get_mut(usize::from(client)).ok_or_else(|| {
            Stop::NotReplayable(format!(
                "the trace's setup has no {client}",
                client = words::client(client)
            ))
        })
    }

    pub fn misbehaved(&mut self, client: u8, awaiting: &str, message: &FromClient) -> Stop {
        match self.rig.client(client) {
            Ok(process) => Stop::Failed(GateError::Client(process.misbehaved(awaiting, message))),
            Err(error) => error.into(),
        }
    }

    /// Keeps what the real side did in this step.
    pub fn really(&mut self, side: RealSide) {
        let step = self.at;
        self.real.push(RealStep { step, side });
    }

    pub fn note(&mut self, source: &str, what: String) {
        self.history.push(Happening {
            step: self.at,
            source: source.to_string(),
            what,
        });
    }
}

impl From<Mismatch> for Stop {
    fn from(mismatch: Mismatch) -> Self {
        Stop::Diverged {
            expected: mismatch.expected,
            actual: mismatch.actual,
        }
    }
}

pub(super) fn is_consequence(event: &Event) -> bool {
    matches!(
        event,
        Event::Send { .. }
            | Event::Outcome { .. }
            | Event::Publish { .. }
            | Event::Assertion { .. }
    )
}

/// A pause that holds back what the client was about to send belongs to what the
/// client did.
pub(super) fn holds_back(event: &Event) -> bool {
    matches!(
        event,
        Event::Fault { fault: FaultEvent::ClientPause { held, .. } } if !held.is_empty()
    )
}

/// A command sent on a cut link is lost at once, between the consequences of
/// one input.
pub(super) fn is_loss(event: &Event) -> bool {
    matches!(
        event,
        Event::Fault {
            fault: FaultEvent::Lose { .. }
        }
    )
}
