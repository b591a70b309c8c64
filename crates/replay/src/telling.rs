//! What a lock tells its caller of a loss, seen on real servers: a false alarm, and a loss
//! of which the caller is not told in time.
//!
//! After each step of a trace that is about this all keys are read. Clients' clocks are
//! counted here, as far as they tell a client what is left of its lease.

use std::collections::{BTreeMap, BTreeSet};

use lockproof_lab::client::protocol::Ended;
use lockproof_model::lock::{LockFile, Role};
use lockproof_trace::{Outcome, words};

use super::Stop;
use super::content::{Content, Effect, KeyRules};
use super::messages::Key;
use super::run::Replay;

/// The property that asks for false alarms.
pub(super) const ALARM: &str = "no-false-alarm";

/// The property that asks whether callers are told.
pub(super) const TOLD: &str = "told-when-lost";

/// What the file says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Promise {
    /// It tells its caller of a loss.
    says: bool,
    /// In so many leases the caller is told.
    within: Option<f64>,
    /// The client's clock is the monotonic one, which is never stepped.
    monotonic: bool,
}

impl Promise {
    pub(super) fn of(file: &LockFile) -> Promise {
        Promise {
            says: file.says_lost,
            within: file.told_within,
            monotonic: file.monotonic,
        }
    }
}

/// What was noted of a client. Times are on its own clock, in ms since the trace began.
#[derive(Clone, Debug, Default)]
pub(super) struct Telling {
    clock_ms: i64,
    /// The tokens of its attempts; the last one is the present one.
    tokens: Vec<String>,
    /// Nodes on which the lock has stood as its own since the acquire of this hold wrote it.
    unbroken: BTreeSet<u8>,
    /// By node: when the lease is over that a reply has confirmed.
    sure_ms: BTreeMap<u8, i64>,
    /// By thread that waits for a reply: when it was called, or woke up from a sleep.
    begun_ms: BTreeMap<u8, i64>,
    /// By thread that waits for a reply: the life that its command gave the lock.
    given_ms: BTreeMap<u8, i64>,
    /// For how long it has held validly what is not on a quorum, pauses aside.
    untold_ms: Option<i64>,
}

impl Telling {
    /// An operation begins.
    pub(super) fn begin(&mut self, token: Option<&str>) {
        self.begun_ms.remove(&0);
        self.tokens.extend(token.map(str::to_owned));
    }

    /// The lock that stands on the node may be another hold's.
    pub(super) fn doubt(&mut self, node: u8) {
        self.unbroken.remove(&node);
    }

    /// A command of the client's wrote the lock on a node.
    fn wrote(&mut self, node: u8, argv: &[String], (acquires, awaited): (bool, bool)) {
        let names = |token: &String| argv.iter().any(|word| word.contains(token.as_str()));
        let present = self.tokens.last().is_some_and(names);
        let older = self.tokens.iter().rev().skip(1).any(names);
        if older || !awaited && !present {
            self.unbroken.remove(&node);
        } else if acquires && awaited {
            self.unbroken.insert(node);
        }
    }
}

/// How long what the client wrote of the lock lives, in ms; `None` if there is nothing.
pub(super) fn life_ms(content: &Content, client: u8, rules: &KeyRules, now_ms: i64) -> Option<i64> {
    let own = |(key, entry): &(&Vec<u8>, &super::content::Entry)| {
        rules.role(key) == Role::Lock && entry.is_of(client)
    };
    let lives = content.iter().filter(own);
    let lives = lives.map(|(_, entry)| entry.ends_ms.map_or(i64::MAX, |ends_ms| ends_ms - now_ms));
    lives.min()
}

impl Replay<'_> {
    fn telling(&mut self, client: u8) -> Option<&mut Telling> {
        let watched = self.watch.as_mut()?.clients.get_mut(usize::from(client))?;
        Some(&mut watched.telling)
    }

    /// A client begins an operation.
    pub(super) fn begin_telling(&mut self, client: u8, token: Option<&str>) {
        if let Some(telling) = self.telling(client) {
            telling.begin(token);
        }
    }

    /// A command of the client's is executed; what it wrote of the lock lives for `life_ms`.
    pub(super) fn watch_lives(
        &mut self,
        key: Key,
        server: usize,
        (argv, effect, life_ms): (&[String], &Effect, Option<i64>),
    ) -> Result<(), Stop> {
        let (client, node, _) = key;
        if !effect.wrote || server != self.rig.place(node)? {
            return Ok(());
        }
        let (thread, awaited) = self.sender_of(key);
        let lease_ms = self.trace.setup.ttl_ms;
        let state = self.state(client)?;
        let acquires = thread == 0 && state.phase() == "acquiring" && !state.believes();
        let Some(telling) = self.telling(client) else {
            return Ok(());
        };
        telling.wrote(node, argv, (acquires, awaited));
        let gives = effect.leased && awaited && telling.unbroken.contains(&node);
        if let Some(life_ms) = life_ms.filter(|_| gives) {
            telling.given_ms.insert(thread, life_ms.min(lease_ms));
        }
        Ok(())
    }

    /// A thread is about to read its reply, or hears that there is none.
    pub(super) fn confirm_life(&mut self, key: Key, replied: bool) {
        let (client, node, _) = key;
        let (thread, _) = self.sender_of(key);
        let Some(telling) = self.telling(client) else {
            return;
        };
        let given = telling.given_ms.remove(&thread).filter(|_| replied);
        if let Some(life_ms) = given {
            let begun = telling.begun_ms.get(&thread).copied();
            let since = begun.unwrap_or(telling.clock_ms);
            telling.sure_ms.insert(node, since + life_ms);
        }
    }

    /// An operation ended, or a background thread said that the lock is lost.
    pub(super) fn judge_alarm(&mut self, client: u8, ended: &Ended) -> Result<(), Stop> {
        let denies = match ended.outcome {
            Outcome::Lost => true,
            Outcome::Done {
                effect: Some(false),
            } => ["renew", "is_held"].contains(&ended.op.as_str()),
            _ => false,
        };
        let state = self.state(client)?;
        let (before, was_valid) = state.before.clone();
        let holds = state.believes() && before.holds > 0 && was_valid;
        let (at, quorum) = (self.at, self.quorum());
        if !denies || !holds {
            return Ok(());
        }
        let Some(watch) = &mut self.watch else {
            return Ok(());
        };
        let telling = &mut watch.clients[usize::from(client)].telling;
        let left = |node: &u8| {
            let sure = telling.sure_ms.get(node)?;
            let left_ms = sure - telling.clock_ms;
            (left_ms > 0).then_some((*node, left_ms))
        };
        let nodes: Vec<(u8, i64)> = telling.unbroken.iter().filter_map(left).collect();
        telling.unbroken.clear();
        let asked = watch.property == ALARM && watch.promise.says;
        if nodes.len() >= quorum && at >= watch.first && asked {
            let on: Vec<String> = nodes
                .iter()
                .map(|(node, left_ms)| {
                    format!("{node} ({left_ms} ms left)", node = words::node(*node))
                })
                .collect();
            watch.sightings.push(format!(
                "{client} is told that the lock is lost, which has stood as its own, and whose \
                 lease is not over on its clock, on {}",
                on.join(" and "),
                client = words::client(client)
            ));
        }
        Ok(())
    }

    /// After a step: where the lock still stands, who waits for a reply, and who holds what is
    /// lost.
    pub(super) fn watch_telling(&mut self, standing: &[BTreeSet<u8>]) {
        let quorum = self.quorum();
        let Some(watch) = &mut self.watch else {
            return;
        };
        for (at, watched) in watch.clients.iter_mut().enumerate() {
            let (state, telling) = (&self.clients[at], &mut watched.telling);
            if state.crashed || state.phase() == "idle" {
                telling.unbroken.clear();
            }
            telling.unbroken.retain(|node| standing[at].contains(node));
            telling
                .sure_ms
                .retain(|node, _| telling.unbroken.contains(node));
            let threads = state.view.iter().flat_map(|view| &view.threads);
            let waits = |waits_for: &str| ["reply", "timed-out", "choice"].contains(&waits_for);
            let waiting: BTreeSet<u8> = threads
                .filter(|thread| waits(&thread.waits_for))
                .map(|thread| thread.thread)
                .collect();
            telling
                .begun_ms
                .retain(|thread, _| waiting.contains(thread));
            telling
                .given_ms
                .retain(|thread, _| waiting.contains(thread));
            for thread in waiting {
                telling.begun_ms.entry(thread).or_insert(telling.clock_ms);
            }
            let lost = state.is_valid() && standing[at].len() < quorum;
            telling.untold_ms = lost.then(|| telling.untold_ms.unwrap_or(0));
        }
    }

    /// So much time passes on the client's clock.
    pub(super) fn tick_telling(&mut self, client: u8, ms: i64) -> Result<(), Stop> {
        let state = self.state(client)?;
        let runs = !state.paused && !state.crashed;
        let (at, lease_ms) = (self.at, self.trace.setup.ttl_ms);
        let Some(watch) = &mut self.watch else {
            return Ok(());
        };
        let telling = &mut watch.clients[usize::from(client)].telling;
        telling.clock_ms += ms;
        let Some(untold_ms) = telling.untold_ms.as_mut().filter(|_| runs) else {
            return Ok(());
        };
        *untold_ms += ms;
        let promised_ms = watch.promise.within.map(|leases| leases * lease_ms as f64);
        if promised_ms.is_some_and(|promised_ms| *untold_ms as f64 > promised_ms)
            && at >= watch.first
            && watch.property == TOLD
        {
            watch.sightings.push(format!(
                "{client} has held validly for {untold_ms} ms of its clock what is not on a quorum, \
                 and it was not told", client = words::client(client)));
        }
        Ok(())
    }

    /// The client's wall clock steps.
    pub(super) fn skew_telling(&mut self, client: u8, ms: i64) {
        let monotonic = self
            .watch
            .as_ref()
            .is_some_and(|watch| watch.promise.monotonic);
        if let Some(telling) = self.telling(client).filter(|_| !monotonic) {
            telling.clock_ms += ms.max(0);
        }
    }

    /// A command that the client waited for was given up, or its reply will never come.
    pub(super) fn give_up_life(&mut self, client: u8, thread: u8) {
        if let Some(telling) = self.telling(client) {
            telling.given_ms.remove(&thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_attempt_wrote_ends_the_stand() {
        let mut telling = Telling::default();
        let words = |word: &str| vec!["SET".to_owned(), "lock".to_owned(), word.to_owned()];
        telling.begin(Some("one"));
        telling.wrote(0, &words("one"), (true, true));
        assert_eq!(telling.unbroken.len(), 1);
        telling.wrote(0, &words("stamp"), (false, true));
        telling.wrote(0, &words("x:one"), (false, false));
        assert_eq!(telling.unbroken.len(), 1);
        telling.wrote(0, &words("stamp"), (false, false));
        assert!(telling.unbroken.is_empty());
        telling.begin(Some("two"));
        telling.wrote(0, &words("two"), (true, true));
        telling.wrote(0, &words("one"), (true, true));
        assert!(telling.unbroken.is_empty());
    }
}
