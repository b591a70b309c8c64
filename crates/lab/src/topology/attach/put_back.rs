//! Giving attached servers their roles back.
//!
//! Whoever was a primary is one again, with all data that was written meanwhile, and
//! whoever followed somebody follows the same address as before, letter by letter.
//! That takes time (a replica must be in step before it may be promoted, Sentinels look
//! at replicas every ten seconds), but a run that is over has it. Nothing is promoted
//! that lacks data: what cannot be put back so is left, and said.

use std::time::Duration;

use lockproof_redis::Reply;
use tokio::time::{Instant, sleep};

use super::super::Topology;
use super::super::error::TopologyError;
use super::super::names::Party;
use super::super::options::TopologyKind;
use super::super::role::{Role, fields, info, text};
use super::records::{Record, Was, keep};

/// How long a replica may take to be in step.
const STEP: Duration = Duration::from_secs(20);
/// How long Sentinels or a cluster may take over a failover.
const FAILOVER: Duration = Duration::from_secs(60);
/// How often somebody who was asked for a failover is asked again.
const AGAIN: Duration = Duration::from_secs(7);
const POLL: Duration = Duration::from_millis(100);
/// By this Sentinel chooses among replicas: the lowest wins, and 0 never does.
const PRIORITY: &str = "replica-priority";

type Done = Result<(), String>;

impl Topology {
    /// Makes roles what they were; gives what could not be done, and what to do.
    pub(super) async fn put_back(&mut self, found: &[Was]) -> Vec<String> {
        if !self.kind().replicates() {
            return Vec::new();
        }
        let mut complaints = Vec::new();
        let primaries = match self.kind() {
            TopologyKind::Sentinel { .. } => self.put_back_by_sentinels(found).await,
            TopologyKind::Cluster { .. } => self.put_back_in_cluster(found).await,
            _ => self.put_back_by_order(found).await,
        };
        match primaries {
            Ok(()) => self.put_back_followers(found, &mut complaints).await,
            Err(complaint) => complaints.push(complaint),
        }
        complaints
    }

    async fn role_of(&self, node: u16) -> Option<Role> {
        Role::read(&self.ask(Party::Node(node), &["ROLE"]).await?)
    }

    async fn is_primary(&self, node: u16) -> bool {
        self.role_of(node)
            .await
            .is_some_and(|role| role.is_primary())
    }

    /// Where nobody promotes but the harness.
    async fn put_back_by_order(&mut self, found: &[Was]) -> Done {
        let first = index_of_primary(found);
        if !self.is_primary(first).await {
            self.catch_up(first).await?;
            let promoted = self.order(Party::Node(first), &["REPLICAOF", "NO", "ONE"]);
            promoted.await.map_err(|error| error.to_string())?;
        }
        self.promoted = first;
        Ok(())
    }

    /// Lets a node that was the primary have everything that the present one has.
    async fn catch_up(&self, node: u16) -> Done {
        let roles = self.roles().await;
        let unknown = || {
            format!(
                "node-{node} was the primary and is not now, and no other node is either; find \
                 out which has the data, and tell the others to follow it (REPLICAOF)"
            )
        };
        let present = roles.iter().find(|(_, role)| role.is_primary());
        let (present, _) = present.ok_or_else(unknown)?;
        let address = self
            .announced(Party::Node(*present))
            .map_err(|error| error.to_string())?;
        let (host, port) = (address.ip().to_string(), address.port().to_string());
        self.order(Party::Node(node), &["REPLICAOF", &host, &port])
            .await
            .map_err(|error| error.to_string())?;
        let Some(Role::Primary { offset: wanted, .. }) = self.role_of(*present).await else {
            return Err(unknown());
        };
        let deadline = Instant::now() + STEP;
        while Instant::now() < deadline {
            if let Some(Role::Replica { link, offset, .. }) = self.role_of(node).await
                && link == "connected"
                && offset >= wanted
            {
                return Ok(());
            }
            sleep(POLL).await;
        }
        Err(format!(
            "node-{node} was the primary, and does not get in step with node-{present}, which is \
             it now; it was left so that nothing is lost. Promote it when it is (REPLICAOF NO ONE)"
        ))
    }

    /// The Sentinels choose whom they promote, so for a moment they are made to prefer
    /// the one that it was.
    async fn put_back_by_sentinels(&mut self, found: &[Was]) -> Done {
        let was = index_of_primary(found);
        if self.settled().await? == was {
            return Ok(());
        }
        let preferred = self.prefer(was).await;
        let done = match &preferred {
            Ok(()) => self.fail_over_to(was).await,
            Err(error) => Err(format!("node-{was} was the primary: {error}")),
        };
        let restored = self.restore_settings().await;
        // Sentinel has written the servers' files with the settings of that moment.
        for party in self.nodes() {
            let about = self.ask(party, &["INFO", "server"]).await;
            let about = about.as_ref().and_then(text).unwrap_or_default();
            if info(&about, "config_file").is_some_and(|file| !file.is_empty()) {
                let _ = self.order(party, &["CONFIG", "REWRITE"]).await;
            }
        }
        done.and(restored)
    }

    /// The primary, when the Sentinels agree on one.
    async fn settled(&self) -> Result<u16, String> {
        let deadline = Instant::now() + FAILOVER;
        loop {
            match self.primary().await {
                Ok(primary) => return Ok(primary),
                Err(error) if Instant::now() >= deadline => {
                    return Err(format!("the Sentinels name no primary: {error}"));
                }
                Err(_) => sleep(POLL).await,
            }
        }
    }

    /// Gives one node the best priority of all.
    async fn prefer(&mut self, best: u16) -> Result<(), TopologyError> {
        for node in 0..self.kind().nodes() {
            let party = Party::Node(node);
            let answer = self.ask(party, &["CONFIG", "GET", PRIORITY]).await;
            let value = answer
                .as_ref()
                .and_then(|answer| fields(answer).remove(PRIORITY));
            let value = value.ok_or_else(|| TopologyError::Refused {
                party,
                command: format!("CONFIG GET {PRIORITY}"),
                answer: format!("{answer:?}"),
            })?;
            let wanted = match (node == best, value.as_str()) {
                (true, _) => "1",
                (false, "1") => "2",
                (false, _) => continue,
            };
            if value != wanted {
                let record = Record::Setting {
                    name: PRIORITY.into(),
                    value,
                };
                self.write_down(node, record).await?;
                self.order(party, &["CONFIG", "SET", PRIORITY, wanted])
                    .await?;
            }
        }
        Ok(())
    }

    /// Writes down what a node has to be given back.
    pub(super) async fn write_down(
        &mut self,
        node: u16,
        record: Record,
    ) -> Result<(), TopologyError> {
        let server = self.announced(Party::Node(node))?;
        let (Some(attached), Some(toxiproxy)) = (&mut self.attached, self.maker.toxiproxy()) else {
            return Ok(());
        };
        let kept = keep(toxiproxy.api(), &attached.drawn, server, &record).await?;
        attached.records.push(kept);
        if let Record::Setting { name, value } = record {
            attached.settings.push((node, name, value));
        }
        Ok(())
    }

    /// Sets every setting to what it was.
    pub(super) async fn restore_settings(&mut self) -> Done {
        let settings = self
            .attached
            .as_mut()
            .map(|all| std::mem::take(&mut all.settings));
        let mut done = Ok(());
        for (node, name, value) in settings.into_iter().flatten() {
            let set = self
                .order(Party::Node(node), &["CONFIG", "SET", &name, &value])
                .await;
            if let Err(error) = set {
                done = Err(format!("node-{node} had {name} {value}: {error}"));
            }
        }
        done
    }

    async fn fail_over_to(&mut self, was: u16) -> Done {
        let deadline = Instant::now() + FAILOVER;
        let mut asked: Option<Instant> = None;
        while Instant::now() < deadline {
            let named = self.primary().await.is_ok_and(|primary| primary == was);
            if named && self.is_primary(was).await {
                return Ok(());
            }
            let due = asked.is_none_or(|asked| asked.elapsed() >= AGAIN);
            if due && self.is_preferred(was).await {
                let command = ["SENTINEL", "FAILOVER", self.sentinel_group()];
                // Refused while a failover is going on: it is asked again.
                let _ = self.order(Party::Sentinel(0), &command).await;
                asked = Some(Instant::now());
            }
            sleep(POLL).await;
        }
        Err(format!(
            "node-{was} was the primary, and the Sentinels did not make it one again within {} s; \
             SENTINEL FAILOVER {} does it",
            FAILOVER.as_secs(),
            self.sentinel_group()
        ))
    }

    /// Whether the first Sentinel, which will choose, knows that this node is preferred.
    async fn is_preferred(&self, node: u16) -> bool {
        let Ok(address) = self.announced(Party::Node(node)) else {
            return false;
        };
        let command = ["SENTINEL", "REPLICAS", self.sentinel_group()];
        let Some(Reply::Array(replicas)) = self.ask(Party::Sentinel(0), &command).await else {
            return false;
        };
        replicas.iter().map(fields).any(|replica| {
            let field = |name: &str| replica.get(name).map_or("", String::as_str);
            let told = format!("{}:{}", field("ip"), field("port"));
            told == address.to_string()
                && field("slave-priority") == "1"
                && field("master-link-status") == "ok"
        })
    }

    async fn put_back_in_cluster(&mut self, found: &[Was]) -> Done {
        let primaries: Vec<u16> = (0..)
            .zip(found)
            .filter_map(|(node, was)| (*was == Was::Primary).then_some(node))
            .collect();
        for node in primaries {
            let deadline = Instant::now() + FAILOVER;
            let mut asked: Option<Instant> = None;
            while !self.is_primary(node).await {
                if Instant::now() >= deadline {
                    return Err(format!(
                        "node-{node} was a primary, and the cluster did not make it one again \
                         within {} s; CLUSTER FAILOVER on it does",
                        FAILOVER.as_secs()
                    ));
                }
                if asked.is_none_or(|asked| asked.elapsed() >= AGAIN) {
                    self.let_elections_pass().await;
                    let _ = self
                        .order(Party::Node(node), &["CLUSTER", "FAILOVER"])
                        .await;
                    self.note_failover();
                    asked = Some(Instant::now());
                }
                sleep(POLL).await;
            }
        }
        Ok(())
    }

    /// See `nemesis/failover.rs`: two failovers at once leave slots without an owner.
    async fn let_elections_pass(&self) {
        let memory = Duration::from_secs(4);
        let since = self.last_failover().map(|last| last.elapsed());
        if let Some(left) = since.and_then(|since| memory.checked_sub(since)) {
            sleep(left).await;
        }
    }

    async fn put_back_followers(&mut self, found: &[Was], complaints: &mut Vec<String>) {
        let deadline = Instant::now() + STEP;
        for (node, was) in (0..).zip(found) {
            let done = match was {
                Was::Primary if self.is_primary(node).await => Ok(()),
                Was::Primary => self
                    .order(Party::Node(node), &["REPLICAOF", "NO", "ONE"])
                    .await
                    .map_err(|error| error.to_string()),
                Was::Follower { host, port } => {
                    self.put_back_follower(node, host, *port, deadline).await
                }
            };
            if let Err(why) = done {
                complaints.push(format!("node-{node} was {was}: {why}"));
            }
        }
        let in_cluster = matches!(self.kind(), TopologyKind::Cluster { .. });
        while in_cluster && complaints.is_empty() && !self.cluster_agrees().await {
            if Instant::now() >= deadline {
                let why = "the members of the cluster do not agree yet who follows whom; CLUSTER \
                           NODES tells when they do";
                return complaints.push(why.into());
            }
            sleep(POLL).await;
        }
    }

    async fn put_back_follower(&self, node: u16, host: &str, port: u16, deadline: Instant) -> Done {
        let party = Party::Node(node);
        let wanted = format!("{host}:{port}");
        let in_cluster = matches!(self.kind(), TopologyKind::Cluster { .. });
        if !in_cluster && !self.follows(node, &wanted, false).await {
            self.order(party, &["REPLICAOF", host, &port.to_string()])
                .await
                .map_err(|error| error.to_string())?;
        }
        // A cluster settles that by itself, as a rule.
        let help_at = Instant::now() + AGAIN;
        while !self.follows(node, &wanted, true).await {
            if Instant::now() >= deadline {
                let role = self.role_of(node).await;
                return Err(format!(
                    "it is {role:?}; REPLICAOF {host} {port} puts it back"
                ));
            }
            if in_cluster && Instant::now() >= help_at {
                self.replicate_in_cluster(party, &wanted).await;
            }
            sleep(POLL).await;
        }
        Ok(())
    }

    /// Whether a node follows this address, and if asked for, has its data.
    async fn follows(&self, node: u16, address: &str, in_step: bool) -> bool {
        match self.role_of(node).await {
            Some(Role::Replica { of, link, .. }) => {
                of == address && (!in_step || link == "connected")
            }
            _ => false,
        }
    }

    async fn replicate_in_cluster(&self, party: Party, address: &str) {
        let Some(primary) = self.node_announced_at(address) else {
            return;
        };
        let id = self.ask(Party::Node(primary), &["CLUSTER", "MYID"]).await;
        if let Some(id) = id.as_ref().and_then(text) {
            // Whoever waits sees whether it did.
            let _ = self.order(party, &["CLUSTER", "REPLICATE", &id]).await;
        }
    }
}

fn index_of_primary(found: &[Was]) -> u16 {
    let index = found.iter().position(|was| *was == Was::Primary);
    index
        .and_then(|index| u16::try_from(index).ok())
        .unwrap_or_default()
}
