//! What a holder's operations claim, seen on real servers: that the lease was renewed,
//! that the lock is held.
//!
//! A question changes nothing, so its answer is compared with where the lock stood
//! meanwhile. After each step of a trace that is about such an answer all keys are read.
//! A server that stands still cannot be asked: nothing happens to its keys but that they
//! end, and when they do is known.

use std::collections::BTreeSet;

use lockproof_lab::client::protocol::{Broken, Ended};
use lockproof_model::lock::Role;
use lockproof_trace::{Outcome, words};

use super::Stop;
use super::compare::Mismatch;
use super::content::{Content, Effect};
use super::messages::Key;
use super::run::Replay;
use super::watch::{Completed, Watched};

/// The property of a lock file's own assertions.
pub(super) const ASSERTION: &str = "assertion";

/// A renewal that reports success.
pub(super) fn renews(ended: &Ended) -> bool {
    let success = matches!(
        ended.outcome,
        Outcome::Held { .. } | Outcome::Done { effect: Some(true) }
    );
    ended.op == "renew" && success
}

/// An operation of a holder's that neither acquires nor releases runs.
fn asks_or_renews(phase: &str) -> bool {
    ["renewing", "asking"].contains(&phase)
}

impl Watched {
    /// An operation begins; `outermost`: nothing was held.
    pub(super) fn begin(&mut self, op: &str, outermost: bool) {
        self.effective.clear();
        self.stood.clear();
        self.hampered = false;
        self.idle_ticks = 0;
        if outermost && op != "release" {
            self.mine.clear();
        }
    }

    /// A command of the client's wrote the lock on a node. What its own operation wrote is
    /// the lock of this hold.
    pub(super) fn write(&mut self, node: u8, phase: &str, own: bool) {
        match phase {
            "acquiring" | "renewing" | "releasing" if own => {
                self.mine.insert(node);
            }
            "asking" if own => {}
            _ => {
                self.mine.remove(&node);
            }
        }
    }
}

impl Replay<'_> {
    /// The command belongs to a renewal, or to a question whether the lock is held.
    pub(super) fn is_holders(&self, key: Key) -> bool {
        let message = self.messages.get(&key);
        message.is_some_and(|message| message.holders)
    }

    /// The client is in such an operation.
    pub(super) fn asks_or_renews(&mut self, client: u8) -> Result<bool, Stop> {
        Ok(asks_or_renews(self.state(client)?.phase()))
    }

    /// A client begins to ask whether it holds the lock: where it stands counts.
    pub(super) async fn watch_question(&mut self, client: u8, op: &str) -> Result<(), Stop> {
        if op != "is_held" {
            return Ok(());
        }
        let standing = self.standing().await?;
        if let (Some(watch), Some(standing)) = (&mut self.watch, standing) {
            let at = usize::from(client);
            watch.clients[at].stood.clone_from(&standing[at]);
        }
        Ok(())
    }

    /// After a step: where the lock still stands, and where it stood while a question runs.
    pub(super) async fn watch_holders(&mut self) -> Result<(), Stop> {
        let Some(standing) = self.standing().await? else {
            return Ok(());
        };
        let phases: Vec<String> = self.clients.iter().map(|c| c.phase().to_owned()).collect();
        let dead: Vec<bool> = self.clients.iter().map(|client| client.crashed).collect();
        let Some(watch) = &mut self.watch else {
            return Ok(());
        };
        for (at, watched) in watch.clients.iter_mut().enumerate() {
            if dead[at] || phases[at] == "idle" {
                watched.mine.clear();
            }
            watched.mine.retain(|node| standing[at].contains(node));
            if phases[at] == "asking" {
                watched.stood.extend(&standing[at]);
            }
        }
        self.watch_telling(&standing);
        Ok(())
    }

    /// By client: nodes on which the lock stands as its own. Nothing if nobody wants to
    /// know.
    async fn standing(&mut self) -> Result<Option<Vec<BTreeSet<u8>>>, Stop> {
        if !self.watch.as_ref().is_some_and(|watch| watch.asks) {
            return Ok(None);
        }
        let mut standing = vec![BTreeSet::new(); self.clients.len()];
        for node in 0..self.trace.setup.nodes {
            let content = self.content_now(node).await?;
            let locks = content
                .iter()
                .filter(|(key, _)| self.role(key) == Role::Lock);
            for (_, entry) in locks {
                for owner in entry.owners() {
                    if let Some(nodes) = standing.get_mut(usize::from(owner)) {
                        nodes.insert(node);
                    }
                }
            }
        }
        Ok(Some(standing))
    }

    /// What a node holds, as far as it can be known.
    async fn content_now(&mut self, node: u8) -> Result<Content, Stop> {
        let down = self.rig.is_down(node);
        if !down && !self.rig.paused[self.rig.place(node)?] {
            let content = self.node_content(node).await?;
            if let Some(watch) = &mut self.watch {
                watch.last[usize::from(node)].clone_from(&content);
            }
            return Ok(content);
        }
        if down && !self.rig.keeps_log() {
            return Ok(Content::new());
        }
        let now_ms = self.node_ms(node)?;
        let last = self.watch.as_ref().map(|watch| &watch.last);
        let mut content = last.map_or_else(Content::new, |last| last[usize::from(node)].clone());
        content.retain(|_, entry| entry.ends_ms.is_none_or(|ends_ms| now_ms <= ends_ms));
        Ok(content)
    }

    /// What a command of the client's did to the lock of its hold.
    pub(super) fn watch_write(
        &mut self,
        key: Key,
        server: usize,
        effect: &Effect,
    ) -> Result<(), Stop> {
        let (client, node, _) = key;
        let (thread, awaited) = self.sender_of(key);
        if !effect.wrote || server != self.rig.place(node)? {
            return Ok(());
        }
        let phase = self.state(client)?.phase().to_owned();
        if let Some(watch) = &mut self.watch
            && let Some(watched) = watch.clients.get_mut(usize::from(client))
        {
            watched.write(node, &phase, awaited && thread == 0);
        }
        Ok(())
    }

    /// The worker comes to the assertion that the trace tells of.
    pub(super) fn asserted(&mut self, client: u8, text: &str) -> Result<(), Stop> {
        let source = self.trace.steps[self.at].source.as_ref();
        let expected = Broken {
            line: source.map_or(0, |source| source.line),
            text: text.to_owned(),
        };
        let told = |broken: &Broken| {
            let Broken { line, text } = broken;
            format!(
                "{client} asserts in line {line} what is not so: {text}",
                client = words::client(client)
            )
        };
        let actual = self.state(client)?.broken.pop_front();
        if actual.as_ref() != Some(&expected) {
            return Err(Stop::from(Mismatch {
                expected: told(&expected),
                actual: actual
                    .as_ref()
                    .map_or_else(|| "all that it asserts is so".to_owned(), told),
            }));
        }
        let at = self.at;
        if let Some(watch) = &mut self.watch
            && watch.property == ASSERTION
            && at >= watch.first
        {
            watch.sightings.push(told(&expected));
        }
        Ok(())
    }
}

/// What is false in what a holder's operation says; `on`: node numbers in words.
pub(super) fn false_claim(
    end: &Completed,
    quorum: usize,
    on: impl Fn(&BTreeSet<u8>) -> String,
) -> Vec<String> {
    let client = end.client;
    let mut found = Vec::new();
    if renews(&end.ended) {
        if let Outcome::Held {
            validity_ms: Some(ms @ ..=0),
            ..
        } = end.ended.outcome
        {
            found.push(format!(
                "{client}'s renewal reports success with a validity of {ms} ms",
                client = words::client(client)
            ));
        }
        if end.effective.len() < quorum {
            found.push(format!(
                "{client}'s renewal reports success, and it wrote or prolonged the lock on {}",
                on(&end.effective),
                client = words::client(client)
            ));
        }
    }
    if end.ended.op != "is_held" {
        return found;
    }
    match end.ended.outcome {
        Outcome::Done { effect: Some(true) } if end.stood.len() < quorum => found.push(format!(
            "{client} says that it holds the lock, which stood meanwhile as its own on {}",
            on(&end.stood),
            client = words::client(client)
        )),
        Outcome::Done {
            effect: Some(false),
        }
        | Outcome::Lost
            if end.mine.len() >= quorum =>
        {
            found.push(format!(
                "{client} says that it does not hold the lock, which has stood as it wrote it on {}",
                on(&end.mine), client = words::client(client)));
        }
        _ => {}
    }
    found
}
