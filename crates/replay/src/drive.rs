//! Clients that try by themselves, after the last step of a trace.
//!
//! Two properties speak of what could follow: that nobody can acquire any more, and
//! that nobody can acquire before a lease is over. So the gate goes on where the trace
//! ends. Whatever only a fault holds up comes free: paused clients and servers go on,
//! cut links work, replicas are in touch. (Where a property asks what is possible without
//! repairs, servers that are gone or stand still and links that are cut stay so.) Then commands are executed at once, replies
//! are delivered, threads run when their time comes, and clocks advance by a tick when
//! all that is left to do is to wait.

use std::time::Duration;

use lockproof_lab::client::protocol::Ended;
use lockproof_trace::{Outcome, words};

use super::Stop;
use super::messages::{Fate, Key, Stage};
use super::run::Replay;

/// More than this does not happen between two ticks; a client that goes on and on
/// spins, and time has to pass.
const ACTIONS_MAX: usize = 300;

/// Who may try, and for how long.
pub(super) struct Trial {
    /// Clients that call acquire, one after the other.
    pub callers: Vec<u8>,
    /// Those whose success counts, and who besides them is within an acquire.
    pub goals: Vec<u8>,
    /// A holder among them releases before it tries.
    pub release_first: bool,
    /// Ticks, from 0, at which they try.
    pub tries: Vec<i64>,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Tried {
    /// Clients whose success does not count.
    pub besides: Vec<u8>,
    /// Who acquired.
    pub acquired: Option<u8>,
    /// Attempts that ended otherwise: whose, and how.
    pub failed: Vec<(u8, String)>,
    pub calls: usize,
    /// Time that passed, in ms.
    pub ms: i64,
}

impl Tried {
    /// In words, for evidence.
    pub fn words(&self, callers: &[u8]) -> String {
        let mut parts = Vec::new();
        for client in callers {
            let own: Vec<&str> = self
                .failed
                .iter()
                .filter(|(who, _)| who == client)
                .map(|(_, how)| how.as_str())
                .collect();
            let mut kinds = own.clone();
            kinds.sort_unstable();
            kinds.dedup();
            parts.push(match own.len() {
                0 => format!("{client} came to no end", client = words::client(*client)),
                1 => format!(
                    "{client} tried once ({})",
                    kinds.join(", "),
                    client = words::client(*client)
                ),
                times => format!(
                    "{client} tried {times} times ({})",
                    kinds.join(", "),
                    client = words::client(*client)
                ),
            });
        }
        let end = match self.acquired {
            Some(client) => format!("{client} acquired the lock", client = words::client(client)),
            None => "none acquired the lock".to_string(),
        };
        format!("{} within {} ms; {end}", parts.join(", "), self.ms)
    }
}

impl Replay<'_> {
    /// Ends whatever holds clients, servers and links up.
    pub(super) async fn end_faults(&mut self) -> Result<(), Stop> {
        if !self.lasts {
            self.cut.clear();
            self.mute.clear();
            for link in self.deaf.clone() {
                self.hears_again(link).await?;
            }
        }
        for client in 0..self.trace.setup.clients {
            let state = self.state(client)?;
            if state.paused && !state.crashed {
                self.note(
                    "did",
                    format!("{client} goes on", client = words::client(client)),
                );
                self.resume(client).await?;
            }
        }
        for node in 0..self.trace.setup.nodes {
            if self.lasts && self.rig.is_down(node) {
                for client in 0..self.trace.setup.clients {
                    self.rig.wires.refuse(client, node).await?;
                }
                continue;
            }
            if self.lasts && self.rig.paused[self.rig.place(node)?] {
                continue;
            }
            if self.rig.paused[self.rig.place(node)?] {
                self.note("did", format!("{node} goes on", node = words::node(node)));
                self.rig.resume_server(node).await?;
            }
            if self.rig.is_down(node) {
                self.note(
                    "did",
                    format!("{node} starts again", node = words::node(node)),
                );
                self.come_back(node).await?;
            }
            if self.unnoticed.iter().any(|(_, split)| *split == node) {
                self.note(
                    "did",
                    format!(
                        "{node}'s old server is taken away",
                        node = words::node(node)
                    ),
                );
                self.demote(node).await?;
            }
            match self
                .rig
                .replicas
                .get(usize::from(node))
                .map(|link| link.follows())
            {
                None => {}
                Some(true) => self.rig.regain(node).await?,
                Some(false) => self.rig.rejoin(node).await?,
            }
        }
        Ok(())
    }

    /// Lets clients try.
    pub(super) async fn try_to_acquire(&mut self, trial: &Trial) -> Result<Tried, Stop> {
        let mut tried = Tried {
            besides: self.besides(trial),
            ..Tried::default()
        };
        self.end_faults().await?;
        self.flow(&mut tried).await?;
        let last = trial.tries.last().copied().unwrap_or(0);
        for tick in 0..=last {
            for client in &trial.callers {
                if trial.release_first {
                    self.give_all_back(*client, &mut tried).await?;
                }
                let idle = self.is_its_turn(*client, trial)?;
                if tried.acquired.is_none() && idle && trial.tries.contains(&tick) {
                    tried.calls += 1;
                    let token = format!("try-{}-{client}", tried.calls);
                    self.call(*client, "acquire", Some(token)).await?;
                    self.flow(&mut tried).await?;
                }
            }
            if tried.acquired.is_some() || tick == last {
                break;
            }
            self.tick().await?;
            tried.ms += self.trace.setup.tick_ms;
            self.flow(&mut tried).await?;
        }
        Ok(tried)
    }

    /// A holder releases all that it holds.
    pub(super) async fn give_back(&mut self, client: u8, tried: &mut Tried) -> Result<(), Stop> {
        for _ in 0..4 {
            let holds = self.state(client)?.phase() == "held";
            if tried.acquired.is_some() || !holds || self.is_busy_elsewhere(client)? {
                break;
            }
            self.call(client, "release", None).await?;
            self.flow(tried).await?;
        }
        Ok(())
    }

    /// Everything that happens without that time passes.
    async fn flow(&mut self, tried: &mut Tried) -> Result<(), Stop> {
        for _ in 0..ACTIONS_MAX {
            self.collect(tried).await?;
            if !(self.move_messages().await? || self.run_threads().await?) {
                break;
            }
        }
        self.collect(tried).await
    }

    /// Files what clients say that they did.
    async fn collect(&mut self, tried: &mut Tried) -> Result<(), Stop> {
        for client in 0..self.trace.setup.clients {
            while let Some(sent) = self.state(client)?.sent.pop_front() {
                if self.lasts && self.rig.is_down(sent.node) {
                    self.hears_of_refusal(client, sent.node, sent.thread)
                        .await?;
                    continue;
                }
                let Some(held) = self.sent_or_withheld(client, &sent).await? else {
                    continue;
                };
                let number = self.messages.keys().map(|key| key.2).max().unwrap_or(0) + 1;
                let key = (client, sent.node, number);
                self.file(key, sent.thread, Stage::Request(held))?;
            }
            while let Some(ended) = self.state(client)?.ended.pop_front() {
                note_end(client, &ended, tried);
                let text = serde_json::to_string(&ended).unwrap_or_else(|e| e.to_string());
                self.note(
                    "client",
                    format!("{client}: {text}", client = words::client(client)),
                );
            }
        }
        Ok(())
    }

    /// Moves one message on; false if none can move.
    async fn move_messages(&mut self) -> Result<bool, Stop> {
        let keys: Vec<Key> = self.messages.keys().copied().collect();
        for key in keys {
            let crashed = self.state(key.0)?.crashed;
            let Some(message) = self.messages.get(&key) else {
                continue;
            };
            if self.is_swallowed(key, &message.stage) {
                continue;
            }
            let awaited = message.awaited;
            match (message.fate, &message.stage) {
                // What a client that died had not sent is never sent.
                (Fate::Vanishes, _) | (_, Stage::Gone) | (Fate::Arrives, Stage::Unsent(_)) => {}
                (Fate::Breaks, _) if awaited && !crashed => {
                    self.fail(key, false).await?;
                    return Ok(true);
                }
                (Fate::Breaks, _) => {}
                (Fate::Arrives, Stage::Request(request)) => {
                    let name = request.argv.first();
                    let waits =
                        |word: &str| name.is_some_and(|name| name.eq_ignore_ascii_case(word));
                    if waits("WAIT") || waits("BLPOP") {
                        self.pass_wait(key).await?;
                    } else {
                        self.pass_on(key).await?;
                    }
                    return Ok(true);
                }
                (Fate::Arrives, Stage::Blocked(request)) => {
                    let pops = request.argv[0].eq_ignore_ascii_case("BLPOP");
                    if self.rig.wires.is_answered(request) {
                        self.pass_on(key).await?;
                        return Ok(true);
                    }
                    if pops && (crashed || !awaited) {
                        self.hang_up(key).await?;
                        return Ok(true);
                    }
                }
                (Fate::Arrives, Stage::Reply(_) | Stage::Push(_)) if crashed => {}
                (Fate::Arrives, Stage::Push(_)) => {
                    self.deliver(key, false).await?;
                    return Ok(true);
                }
                (Fate::Arrives, Stage::Reply(_)) => {
                    self.deliver(key, !awaited).await?;
                    return Ok(true);
                }
            }
        }
        self.pass_messages_on().await
    }

    /// While trouble lasts: what is sent on a cut link goes no further, and neither does what
    /// goes to a server that stands still.
    fn is_swallowed(&self, (client, node, _): Key, stage: &Stage) -> bool {
        let stands = |node| {
            let place = self.rig.place(node);
            place.is_ok_and(|place| self.rig.paused[place])
        };
        self.lasts
            && match stage {
                Stage::Request(_) => self.cut.contains(&(client, node)) || stands(node),
                Stage::Reply(_) | Stage::Push(_) => self.mute.contains(&(client, node)),
                // Nobody tells the node that its client has gone, and no answer arrives.
                Stage::Blocked(_) => self.cut.contains(&(client, node)) || stands(node),
                Stage::Unsent(_) | Stage::Gone => false,
            }
    }

    /// A WAIT, or a BLPOP, is passed on and answered, or its node holds it back.
    async fn pass_wait(&mut self, key: Key) -> Result<(), Stop> {
        let Stage::Request(request) = self.take_stage(key)? else {
            return Ok(());
        };
        self.rig.pass(&request).await?;
        for _ in 0..20 {
            if self.rig.wires.is_answered(&request) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        self.put_stage(key, Stage::Blocked(request));
        Ok(())
    }

    /// Lets one thread run whose time has come; false if there is none.
    async fn run_threads(&mut self) -> Result<bool, Stop> {
        for client in 0..self.trace.setup.clients {
            let state = self.state(client)?;
            let threads = match &state.view {
                Some(view) if !state.crashed => view.threads.clone(),
                _ => continue,
            };
            for thread in threads {
                match thread.waits_for.as_str() {
                    "ready" | "timed-out" => self.wake(client, thread.thread).await?,
                    "choice" => self.choose(client, thread.thread, 1).await?,
                    _ => continue,
                }
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn note_end(client: u8, ended: &Ended, tried: &mut Tried) {
    if !ended.acquires() {
        return;
    }
    let how = match &ended.outcome {
        Outcome::Held { .. } if tried.besides.contains(&client) => return,
        Outcome::Held { .. } => {
            tried.acquired.get_or_insert(client);
            return;
        }
        Outcome::Busy => "busy".to_string(),
        Outcome::Failed { reason } => format!("failed: {reason}"),
        Outcome::Lost => "lost".to_string(),
        Outcome::Done { .. } => "done".to_string(),
    };
    tried.failed.push((client, how));
}
