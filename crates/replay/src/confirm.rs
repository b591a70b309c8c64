//! Does the real side show the violation by itself?
//!
//! When all steps agreed, commands, replies and beliefs were as the trace says. That
//! they violate the property that the trace names is another claim. Each property is
//! judged here on what was seen at the violating step, on servers and on clients; a
//! trace whose violation was not seen there did not come true.

use std::collections::BTreeSet;

use lockproof_lab::client::protocol::Mode;
use lockproof_model::lock::Role;
use lockproof_trace::{Event, Outcome, words};

use super::Stop;
use super::content::{Content, Entry, shown};
use super::drive::Trial;
use super::held;
use super::report::Confirmation;
use super::rig::{EFFECT, FENCES, NO_LOST_WAKE_UP, READ_WRITE};
use super::run::Replay;
use super::telling;
use super::watch::Completed;

/// The property that asks what servers can do that are left.
const FAULT_TOLERANCE: &str = "fault-tolerance";

/// What was looked for, and whether it was there.
pub(super) struct Sight {
    pub expected: &'static str,
    pub seen: bool,
    pub evidence: Vec<String>,
}

impl Sight {
    pub(super) fn of(expected: &'static str, evidence: Vec<String>) -> Sight {
        Sight {
            expected,
            seen: !evidence.is_empty(),
            evidence,
        }
    }
}

impl Replay<'_> {
    /// Looks at clients and servers after the last step.
    pub(super) async fn confirm(&mut self) -> Result<Option<Confirmation>, Stop> {
        let Some(watch) = &self.watch else {
            return Ok(None);
        };
        let property = watch.property.clone();
        let mut evidence = watch.held_back.clone();
        let holders = self.holders(&mut evidence);
        // A server that stands still would not say what it has. Nothing waits there:
        // whatever the trace did not execute is held in the proxies.
        self.lasts = property == FAULT_TOLERANCE;
        for node in 0..self.trace.setup.nodes {
            if !self.lasts && self.rig.paused[self.rig.place(node)?] {
                self.rig.resume_server(node).await?;
            }
        }
        let two = "two clients that hold the lock";
        let sight = match property.as_str() {
            "mutual-exclusion-belief" => Sight {
                expected: two,
                seen: clash(holders.iter()),
                evidence: Vec::new(),
            },
            "mutual-exclusion-validity" => Sight {
                expected: two,
                seen: clash_of_valid(&holders),
                evidence: Vec::new(),
            },
            EFFECT => self.lost_update().await?,
            FENCES => Sight::of(
                "a client that gets the lock after another one, with a fence that is not above \
                 all before it",
                self.sightings(),
            ),
            READ_WRITE => self.broken_modes(&holders),
            "owner-only-release" => Sight::of(
                "a command that takes away, overwrites, shortens or prolongs what another \
                 client wrote and validly holds",
                self.sightings(),
            ),
            "reentrancy" => self.broken_nesting().await?,
            "lease" => self.no_lease().await?,
            "no-orphan" => self.orphans().await?,
            "honest-outcome" => self.false_success().await?,
            "deadlock-freedom" => self.nobody_can_acquire().await?,
            FAULT_TOLERANCE => self.majority_is_not_enough().await?,
            "starvation-freedom" => self.starves(),
            "no-orphan-at-once" => self.left_at_once().await?,
            NO_LOST_WAKE_UP => Sight::of(
                "a client that waits for a message, while the lock is free and none is on its way",
                self.sightings(),
            ),
            "release-frees" => self.release_frees_nothing().await?,
            held::ASSERTION => Sight::of(
                "a client that comes to an assertion of its lock file's that is not so",
                self.sightings(),
            ),
            telling::ALARM => Sight::of(
                "a client that is told that the lock is lost, while it stands as its own on a quorum and \
                 its lease is left on the client's clock",
                self.sightings(),
            ),
            telling::TOLD => Sight::of(
                "a client that validly holds what is not on a quorum for longer than the lock promises",
                self.sightings(),
            ),
            other => {
                return Err(Stop::NotReplayable(format!(
                    "it claims to violate `{other}`, and nothing is known that servers and \
                     clients would show of that"
                )));
            }
        };
        evidence.extend(sight.evidence);
        self.tell_keys(&mut evidence).await?;
        if !sight.seen {
            return Err(Stop::diverged(sight.expected, evidence.join("; ")));
        }
        Ok(Some(Confirmation {
            property,
            seen: Some(true),
            evidence,
        }))
    }

    fn holders(&self, evidence: &mut Vec<String>) -> Vec<Holder> {
        let mut holders = Vec::new();
        for (client, state) in self.clients.iter().enumerate() {
            let Some(view) = state.view.as_ref().filter(|_| state.believes()) else {
                continue;
            };
            // A paused client's clock goes on, and it will hear of it.
            let left_ms = view.validity_left_ms.map(|left| left - state.owed_ms);
            holders.push(Holder {
                key: self.trace.setup.key_of(client as u8),
                mode: state.mode,
                valid: state.is_valid(),
            });
            let reading = match state.mode {
                Mode::Read => " for reading",
                Mode::Write => "",
            };
            evidence.push(match left_ms {
                None => format!(
                    "{client} holds the lock{reading} and states no validity",
                    client = words::client(client as u8)
                ),
                Some(ms) if ms <= 0 => format!(
                    "{client} holds the lock{reading}, {} ms after its validity ended",
                    -ms,
                    client = words::client(client as u8)
                ),
                Some(ms) => format!(
                    "{client} holds the lock{reading}, validly for {ms} ms more",
                    client = words::client(client as u8)
                ),
            });
        }
        holders
    }

    fn broken_modes(&self, holders: &[Holder]) -> Sight {
        let expected = "a lock with modes, and a writer who holds it validly beside somebody else, or a \
                        command that ends or shortens a reader's valid hold";
        let modes = self.watch.as_ref().is_some_and(|watch| watch.has_modes);
        let evidence = self.sightings();
        Sight {
            expected,
            seen: modes && (clash_of_valid(holders) || !evidence.is_empty()),
            evidence,
        }
    }

    async fn tell_keys(&mut self, evidence: &mut Vec<String>) -> Result<(), Stop> {
        let mut found = false;
        for node in 0..self.trace.setup.nodes {
            let content = self.node_content(node).await?;
            let now_ms = self.node_ms(node)?;
            found |= !content.is_empty();
            for (key, entry) in &content {
                evidence.push(keeps(node, key, entry, now_ms));
            }
        }
        if !found {
            evidence.push("no node keeps a key".to_string());
        }
        Ok(())
    }

    /// What a node's clock shows, in ms.
    pub(super) fn node_ms(&self, node: u8) -> Result<i64, Stop> {
        let server = &self.rig.fleet.servers[self.rig.place(node)?];
        Ok(server.clock().map_or(0, |clock| clock.now_ms()))
    }

    pub(super) fn quorum(&self) -> usize {
        usize::from(self.trace.setup.nodes) / 2 + 1
    }

    fn sightings(&self) -> Vec<String> {
        let watch = self.watch.as_ref();
        watch.map_or_else(Vec::new, |watch| watch.sightings.clone())
    }

    /// Operations that ended at the violating step.
    fn ends(&mut self) -> Vec<Completed> {
        let watch = self.watch.as_mut();
        watch.map_or_else(Vec::new, |watch| std::mem::take(&mut watch.ends))
    }

    pub(super) async fn contents(&mut self) -> Result<Vec<Content>, Stop> {
        let mut contents = Vec::new();
        for node in 0..self.trace.setup.nodes {
            contents.push(self.node_content(node).await?);
        }
        Ok(contents)
    }

    /// What a key is to a client.
    pub(super) fn own_role(&self, client: u8, key: &[u8]) -> Role {
        let rules = self.watch.as_ref().map(|watch| &watch.rules);
        rules.map_or(Role::Other, |rules| rules.own_role(client, key))
    }

    pub(super) fn role(&self, key: &[u8]) -> Role {
        let rules = self.watch.as_ref().map(|watch| &watch.rules);
        rules.map_or(Role::Other, |rules| rules.role(key))
    }

    /// Nodes on which there is such an entry.
    fn nodes_with(
        &self,
        client: u8,
        contents: &[Content],
        test: impl Fn(Role, &Entry, usize) -> bool,
    ) -> Vec<u8> {
        let has = |node: &usize| {
            let mut entries = contents[*node].iter();
            entries.any(|(key, entry)| test(self.own_role(client, key), entry, *node))
        };
        let nodes = (0..contents.len()).filter(has);
        nodes.map(|node| node as u8).collect()
    }

    async fn lost_update(&mut self) -> Result<Sight, Stop> {
        let value = self.rig.read_counter().await?;
        let writes = self.watch.as_ref().map_or(0, |watch| watch.writes);
        let mut evidence = self.sightings();
        let seen = !evidence.is_empty() && value < writes;
        evidence.push(format!(
            "the guarded counter is {value} after {writes} writes, each of one more than was read"
        ));
        Ok(Sight {
            expected: "a write to the guarded counter that loses another client's",
            seen,
            evidence,
        })
    }

    async fn broken_nesting(&mut self) -> Result<Sight, Stop> {
        let contents = self.contents().await?;
        let quorum = self.quorum();
        let reentrant = self.watch.as_ref().is_some_and(|watch| watch.reentrant);
        let mut found = Vec::new();
        for end in self.ends() {
            let client = end.client;
            let held = end.before.holds > 0 && end.was_valid;
            match (end.ended.acquires(), &end.ended.outcome) {
                (true, Outcome::Busy) if held => found.push(format!(
                    "{client} validly held the lock, acquired it again and was told busy",
                    client = words::client(client)
                )),
                (true, Outcome::Failed { reason }) if held && !end.hampered => {
                    found.push(format!(
                        "{client} validly held the lock, acquired it again and failed \
                         ({reason}), though none of its commands did",
                        client = words::client(client)
                    ));
                }
                (false, Outcome::Done { effect: Some(true) })
                    if reentrant && end.ended.op == "release" =>
                {
                    let own = |role, entry: &Entry, _| role != Role::Fence && entry.is_of(client);
                    let on = self.nodes_with(client, &contents, own);
                    let kept = on.len() >= quorum;
                    let state = self.state(client)?;
                    let holds = state.view.as_ref().map_or(0, |view| view.holds);
                    if (holds == 0 && kept) || (holds > 0 && state.is_valid() && !kept) {
                        found.push(format!(
                            "{client}'s release reports success and leaves {holds} holds, \
                             and what it wrote is on {}",
                            nodes(&on, contents.len()),
                            client = words::client(client)
                        ));
                    }
                }
                _ => {}
            }
        }
        Ok(Sight::of(
            "a nested acquire that fails while the lock is held, or a release after which the \
             lock and its holds disagree",
            found,
        ))
    }

    async fn no_lease(&mut self) -> Result<Sight, Stop> {
        let contents = self.contents().await?;
        let ttl_ms = self.trace.setup.ttl_ms;
        let mut now = Vec::new();
        for node in 0..self.trace.setup.nodes {
            now.push(self.node_ms(node)?);
        }
        let mut found = self.sightings();
        for end in self.ends() {
            let client = end.client;
            let acquired = matches!(
                (end.ended.acquires(), &end.ended.outcome),
                (true, Outcome::Held { .. })
            );
            let got = acquired || held::renews(&end.ended);
            if !got || !self.state(client)?.is_valid() {
                continue;
            }
            let leased = |role, entry: &Entry, node: usize| {
                let left = entry.ends_ms.map(|ends| ends - now[node]);
                role == Role::Lock
                    && entry.is_of(client)
                    && left.is_some_and(|left| (0..=ttl_ms).contains(&left))
            };
            let on = self.nodes_with(client, &contents, leased);
            if on.len() < self.quorum() {
                found.push(format!(
                    "{client}'s {} succeeds validly, and its lock, with an expiry \
                     within {ttl_ms} ms, is on {}",
                    end.ended.op,
                    nodes(&on, contents.len()),
                    client = words::client(client)
                ));
            }
        }
        Ok(Sight::of(
            "a valid success without a key of the client's that expires in time on a quorum, or \
             a key that was created in the background or by a renewal",
            found,
        ))
    }

    async fn orphans(&mut self) -> Result<Sight, Stop> {
        let setup = &self.trace.setup;
        let lease = setup.ttl_ms / setup.tick_ms + 1;
        let first = self.watch.as_ref().map_or(0, |watch| watch.first);
        let mut moves = self.trace.steps[first..].iter();
        let ticked = moves.any(|step| step.event == Event::Tick);
        let contents = self.contents().await?;
        let mut found = Vec::new();
        for client in 0..self.trace.setup.clients {
            let watched = self.watch.as_ref();
            let idle = watched.map_or(0, |watch| watch.clients[usize::from(client)].idle_ticks);
            let crashed = self.state(client)?.crashed;
            let pending = self.is_pending(client);
            for (node, content) in contents.iter().enumerate() {
                for (key, entry) in content {
                    if self.role(key) == Role::Fence || !entry.is_of(client) {
                        continue;
                    }
                    let key = shown(key);
                    if ticked && idle >= lease {
                        let since = if crashed {
                            "is dead"
                        } else {
                            "asks for nothing"
                        };
                        found.push(format!(
                            "{client} {since} for {} ms now, and `{key}` on {node} is \
                             of its writing",
                            idle * self.trace.setup.tick_ms,
                            client = words::client(client),
                            node = words::node(node as u8)
                        ));
                    } else if crashed && !pending && entry.ends_ms.is_none() {
                        found.push(format!(
                            "{client} is dead, and `{key}` on {node}, which it wrote, \
                             never expires",
                            client = words::client(client),
                            node = words::node(node as u8)
                        ));
                    }
                }
            }
        }
        Ok(Sight::of(
            "a key whose writer has asked for nothing for as long as a lease, or is dead where \
             the key never expires",
            found,
        ))
    }

    async fn false_success(&mut self) -> Result<Sight, Stop> {
        let contents = self.contents().await?;
        let mut found = Vec::new();
        for end in self.ends() {
            let client = end.client;
            let holds = self
                .state(client)?
                .view
                .as_ref()
                .map_or(0, |view| view.holds);
            match (end.ended.acquires(), &end.ended.outcome) {
                (true, Outcome::Held { validity_ms, .. }) => {
                    if let Some(ms) = validity_ms.filter(|ms| *ms <= 0) {
                        found.push(format!(
                            "{client}'s acquire reports success with a validity of {ms} ms",
                            client = words::client(client)
                        ));
                    }
                    let mut on = end.effective.clone();
                    on.extend(
                        self.nodes_with(client, &contents, |role, entry: &Entry, _| {
                            role == Role::Lock && entry.is_of(client)
                        }),
                    );
                    if on.len() < self.quorum() {
                        let on: Vec<u8> = on.into_iter().collect();
                        found.push(format!(
                            "{client}'s acquire reports success, and it wrote the lock, or \
                             the lock is its own, on {}",
                            nodes(&on, contents.len()),
                            client = words::client(client)
                        ));
                    }
                }
                (false, Outcome::Done { effect: Some(true) })
                    if end.ended.op == "release"
                        && holds == 0
                        && end.effective.len() < self.quorum() =>
                {
                    let on: Vec<u8> = end.effective.into_iter().collect();
                    found.push(format!(
                        "{client}'s release reports success, and it changed something on {}",
                        nodes(&on, contents.len()),
                        client = words::client(client)
                    ));
                }
                _ => {
                    let on = |set: &BTreeSet<u8>| {
                        let on: Vec<u8> = set.iter().copied().collect();
                        nodes(&on, contents.len())
                    };
                    found.extend(held::false_claim(&end, self.quorum(), on));
                }
            }
        }
        Ok(Sight::of(
            "an operation that reports success and took effect on no quorum, or says falsely \
             whether the lock is held",
            found,
        ))
    }

    pub(super) async fn nobody_can_acquire(&mut self) -> Result<Sight, Stop> {
        let setup = &self.trace.setup;
        let lease = setup.ttl_ms / setup.tick_ms + 1;
        let alive = |client: &u8| !self.clients[usize::from(*client)].crashed;
        let callers: Vec<u8> = (0..setup.clients).filter(alive).collect();
        let expected = "all clients that live try, again and again, and none acquires the lock";
        if callers.is_empty() {
            let evidence = vec!["no client lives that could try".to_string()];
            return Ok(Sight {
                expected,
                seen: false,
                evidence,
            });
        }
        // At once, in a row, and after leases that nobody disturbs.
        let rest = (1..=4).map(|lap| 2 + lap * (lease + 1));
        let trial = Trial {
            tries: [0, 1, 2].into_iter().chain(rest).collect(),
            goals: self.have_all(&callers),
            callers,
            release_first: true,
        };
        let tried = self.try_to_acquire(&trial).await?;
        // Who never comes to the end of a release cannot even try.
        let mut ends = 0;
        for client in &trial.callers {
            let phase = self.state(*client)?.phase();
            let ended = phase == "idle" || phase == "held";
            ends += usize::from(ended && !self.is_busy_elsewhere(*client)?);
        }
        let tries = tried.calls + tried.failed.len();
        Ok(Sight {
            expected,
            seen: tried.acquired.is_none() && (tries > 0 || ends == 0),
            evidence: vec![tried.words(&trial.callers)],
        })
    }

    async fn release_frees_nothing(&mut self) -> Result<Sight, Stop> {
        let expected = "a release that reports success, after which no other client can acquire \
                        before a lease is over";
        let not = |why: String| Sight {
            expected,
            seen: false,
            evidence: vec![why],
        };
        let released = self.ends().into_iter().find(|end| {
            let success = matches!(
                end.ended.outcome,
                Outcome::Done {
                    effect: Some(true) | None
                }
            );
            end.ended.op == "release" && success
        });
        let Some(Completed { client, .. }) = released else {
            return Ok(not("no release reports success at the last step".into()));
        };
        if self.state(client)?.believes() {
            return Ok(not(format!(
                "{client} still holds the lock",
                client = words::client(client)
            )));
        }
        let contents = self.contents().await?;
        let mut others: Vec<u8> = (0..self.trace.setup.clients).collect();
        // The other object of the client is the client's own.
        let own = self
            .trace
            .setup
            .objects
            .map(|objects| objects.partner(client));
        others.retain(|other| *other != client && own != Some(*other));
        for other in &others {
            let own = |role, entry: &Entry, _| role != Role::Fence && entry.is_of(*other);
            let on = self.nodes_with(*other, &contents, own);
            if !on.is_empty() || self.state(*other)?.believes() {
                return Ok(not(format!(
                    "{other} has, or holds, something itself",
                    other = words::client(*other)
                )));
            }
        }
        let idle = |other: &u8| {
            let state = &self.clients[usize::from(*other)];
            !state.crashed && state.phase() == "idle"
        };
        others.retain(|other| self.trace.setup.contend(*other, client));
        let callers: Vec<u8> = others.into_iter().filter(idle).collect();
        if callers.is_empty() {
            return Ok(not("no other client is there to try".into()));
        }
        let setup = &self.trace.setup;
        // Every tick before the lease is over.
        let lease = (setup.ttl_ms + setup.tick_ms - 1) / setup.tick_ms;
        let trial = Trial {
            tries: (0..lease).collect(),
            goals: callers.clone(),
            callers,
            release_first: false,
        };
        let tried = self.try_to_acquire(&trial).await?;
        Ok(Sight {
            expected,
            seen: tried.acquired.is_none(),
            evidence: vec![format!(
                "{client}'s release reports success; then {}",
                tried.words(&trial.callers),
                client = words::client(client)
            )],
        })
    }
}

/// A client that believes that it holds the lock.
struct Holder {
    key: String,
    mode: Mode,
    valid: bool,
}

/// Several hold one lock, and not all of them as readers.
fn clash<'h>(holders: impl Iterator<Item = &'h Holder>) -> bool {
    let holders: Vec<&Holder> = holders.collect();
    let beside = |one: &Holder| holders.iter().filter(|other| other.key == one.key).count() > 1;
    let writes = |holder: &&&Holder| holder.mode == Mode::Write;
    holders.iter().filter(writes).any(|holder| beside(holder))
}

fn clash_of_valid(holders: &[Holder]) -> bool {
    clash(holders.iter().filter(|holder| holder.valid))
}

/// Node numbers in words.
fn nodes(on: &[u8], all: usize) -> String {
    match on {
        [] => format!("none of {all} nodes"),
        [one] => format!("{one} alone, of {all}", one = words::node(*one)),
        several => {
            let names: Vec<String> = several.iter().map(|node| words::node(*node)).collect();
            format!("{} of {all}", names.join(" and "))
        }
    }
}

fn keeps(node: u8, key: &[u8], entry: &Entry, now_ms: i64) -> String {
    let life = match entry.ends_ms {
        None => "without an expiry".to_string(),
        Some(ends_ms) => format!("for {} ms more", ends_ms - now_ms),
    };
    let mut owners: Vec<u8> = entry.owners().collect();
    owners.sort_unstable();
    owners.dedup();
    let owners: Vec<String> = owners.iter().map(|o| words::client(*o)).collect();
    let by = match owners.is_empty() {
        true => String::new(),
        false => format!(", written by {}", owners.join(" and ")),
    };
    format!(
        "{node} keeps `{}` {life}{by}",
        shown(key),
        node = words::node(node)
    )
}
