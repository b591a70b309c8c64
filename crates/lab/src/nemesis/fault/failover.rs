//! Another node becomes primary.
//!
//! What happens to the old primary decides what is lost. It may be dead, stand
//! still, be cut off from everybody, or go on taking writes from clients that have
//! not heard of the news. Who promotes depends on the topology: the harness
//! (`REPLICAOF NO ONE`), Sentinel or the cluster, each by itself or by command.
//!
//! With a lag, replication is stopped for a while before the old primary falls:
//! what it acknowledged in that time is what the failover loses. Where a fault is to
//! strike a holder, it falls when one has acquired in that time.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::felled::Felled;
use super::partition::{Bytes, Partition};
use crate::nemesis::aim::{self, When};
use crate::nemesis::target::{Target, resolve_clients};
use crate::nemesis::{Field, Injection, NemesisError, Struck};
use crate::topology::{Party, Topology, TopologyError, TopologyKind};

/// What becomes of the old primary, or who asks for the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// It is killed (SIGKILL).
    Dead,
    /// It stands still (SIGSTOP) until healed.
    Frozen,
    /// It is cut off from all nodes and Sentinels, and from the clients that move.
    CutOff,
    /// It goes on as a primary beside the new one. Under Sentinel it is frozen
    /// until another is primary; a cluster does not allow it.
    Writable,
    /// In good order: by Sentinel's or the cluster's own command.
    Command,
    /// The cluster's command that does not ask the old primary.
    Force,
}

/// How long anybody may take to promote a replica.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a failover by command may take before it is asked for again.
const COMMAND_PATIENCE: Duration = Duration::from_secs(7);

/// For so long a new holder is waited for when replication has stopped already: a
/// cluster takes a node that is cut off for down soon, and a primary that asks for
/// replicas counts them for a second.
const PATIENCE_AFTER_LAG: Duration = Duration::from_millis(300);

/// For so long a cluster node remembers an election that it won, and may take it for
/// a new one: twice the time-out of an election, which is at least two seconds (seen
/// on Redis 7.0 and 8.2: "Failover election won" without an election, with the old
/// epoch, which nobody accepts; the slots then stay without an owner).
const ELECTION_MEMORY: Duration = Duration::from_secs(4);

/// A change of the primary.
#[derive(Clone, Debug)]
pub struct Failover {
    how: How,
    lag_ms: u32,
    stay: Vec<Target>,
    old: Option<u16>,
    felled: Option<Felled>,
    stayed: Vec<u16>,
    partitions: Vec<Partition>,
}

impl Failover {
    /// A failover. Replication stops `lag_ms` before it; the clients in `stay` go
    /// on with the old primary until it is healed.
    pub fn new(how: How, lag_ms: u32, stay: &[Target]) -> Failover {
        Failover {
            how,
            lag_ms,
            stay: stay.to_vec(),
            old: None,
            felled: None,
            stayed: Vec::new(),
            partitions: Vec::new(),
        }
    }

    async fn strike(&mut self, field: &mut Field<'_>) -> Result<Value, NemesisError> {
        self.check(field.topology.kind())?;
        if let TopologyKind::Cluster { .. } = field.topology.kind() {
            await_elections(field.topology).await;
        }
        let (old, heir) = await_heir(field.topology).await?;
        self.old = Some(old);
        for client in resolve_clients(&self.stay, field).await? {
            field.topology.pin_client(client, true);
            self.stayed.push(client);
        }
        let begun = Instant::now();
        if self.lag_ms > 0 {
            let held = field.aim.when == When::Held;
            if held {
                field.leaving(aim::PATIENCE).await;
            }
            let before = field.clients.holds();
            let others = others(field.topology, old);
            self.cut(old, &others, field).await?;
            sleep(Duration::from_millis(self.lag_ms.into())).await;
            if held {
                // What made this holder is not on the replica.
                field.holder(before, PATIENCE_AFTER_LAG).await;
            }
        }
        self.fell(old, field).await?;
        self.promote(old, heir, field.topology).await?;
        let new = self.await_promoted(old, heir, field.topology).await?;
        if self.how == How::Writable && field.topology.kind().sentinels() > 0 {
            self.raise(old, field.topology).await?;
        }
        field.topology.note_failover();
        field.topology.follow_primary().await?;
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(json!({
            "how": self.how, "old": old, "new": new, "lag_ms": self.lag_ms,
            "stay": self.stayed, "took_ms": took_ms,
        }))
    }

    fn check(&self, kind: TopologyKind) -> Result<(), NemesisError> {
        let why = match (kind, self.how) {
            (TopologyKind::Single | TopologyKind::Masters { .. }, _) => "there is no replica",
            (TopologyKind::Replicated { .. }, How::Command | How::Force) => {
                "nobody but the harness promotes; choose what becomes of the old primary"
            }
            (TopologyKind::Sentinel { .. }, How::Force) => {
                "Sentinel's command never asks the old primary; it is `command`"
            }
            (TopologyKind::Cluster { .. }, How::Writable) => {
                "a cluster's primary steps down as soon as it hears of another; use cut-off"
            }
            _ => return Ok(()),
        };
        let why = why.into();
        Err(NemesisError::NotApplicable {
            fault: "failover",
            why,
        })
    }

    /// Cuts the old primary off from these; what is lost stays lost.
    async fn cut(
        &mut self,
        old: u16,
        from: &[Target],
        field: &mut Field<'_>,
    ) -> Result<(), NemesisError> {
        let mut partition = Partition::new(&[Target::node(old)], from, false, Bytes::Lost);
        let done = partition.start(field).await;
        // Listed also after an error: it may be in force in part.
        self.partitions.push(partition);
        done.map(drop)
    }

    /// Makes the old primary fall, in whichever way.
    async fn fell(&mut self, old: u16, field: &mut Field<'_>) -> Result<(), NemesisError> {
        let party = Party::Node(old);
        let under_sentinel = field.topology.kind().sentinels() > 0;
        match self.how {
            How::Dead => {
                self.felled = Some(Felled::Killed);
                field.topology.kill_server(party)?;
            }
            How::Frozen => {
                self.felled = Some(Felled::Paused);
                field.topology.pause_server(party)?;
            }
            How::Writable if under_sentinel => {
                self.felled = Some(Felled::Paused);
                field.topology.pause_server(party)?;
            }
            How::CutOff => {
                let mut from = others(field.topology, old);
                from.push(Target::Sentinels);
                from.push(Target::One(Party::Guest));
                let moving = field.topology.clients();
                let moving = moving
                    .filter(|client| !self.stayed.iter().any(|s| Party::Client(*s) == *client));
                from.extend(moving.map(Target::One));
                self.cut(old, &from, field).await?;
            }
            How::Writable | How::Command | How::Force => {}
        }
        Ok(())
    }

    /// Takes back what made the old primary fall, as far as it was this fault.
    async fn raise(&mut self, old: u16, topology: &mut Topology) -> Result<(), NemesisError> {
        if let Some(felled) = self.felled {
            felled.raise(Party::Node(old), topology).await?;
        }
        self.felled = None;
        Ok(())
    }

    /// Asks for a new primary, where nobody would otherwise make one.
    async fn promote(
        &self,
        old: u16,
        heir: u16,
        topology: &mut Topology,
    ) -> Result<(), NemesisError> {
        match (topology.kind(), self.how) {
            (TopologyKind::Replicated { .. }, _) => {
                topology.set_primary_of(heir, None).await?;
                let rest = 0..topology.kind().nodes();
                let rest = rest.filter(|node| ![old, heir].contains(node));
                for node in rest {
                    topology.follow_when_up(node, heir).await?;
                }
            }
            (TopologyKind::Sentinel { .. }, How::Command) => {
                let command = ["SENTINEL", "FAILOVER", topology.sentinel_group()];
                topology.order(Party::Sentinel(0), &command).await?;
            }
            (TopologyKind::Cluster { .. }, How::Command) => {
                let command = ["CLUSTER", "FAILOVER"];
                topology.order(Party::Node(heir), &command).await?;
            }
            (TopologyKind::Cluster { .. }, How::Force) => {
                let command = ["CLUSTER", "FAILOVER", "FORCE"];
                topology.order(Party::Node(heir), &command).await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Waits for the new primary. A failover by command that did not succeed within
    /// five seconds is given up by the servers (Redis manual, CLUSTER FAILOVER), so
    /// it is asked for again.
    async fn await_promoted(
        &self,
        old: u16,
        heir: u16,
        topology: &mut Topology,
    ) -> Result<u16, NemesisError> {
        if matches!(self.how, How::Command | How::Force) {
            for _ in 0..2 {
                match await_other(old, topology, COMMAND_PATIENCE).await {
                    Err(NemesisError::NoFailover { .. }) => {}
                    done => return done,
                }
                // Refused means that the first attempt is still going on.
                let _ = self.promote(old, heir, topology).await;
            }
        }
        await_other(old, topology, PATIENCE).await
    }

    async fn mend(&mut self, field: &mut Field<'_>) -> Result<Value, NemesisError> {
        for client in self.stayed.drain(..) {
            field.topology.pin_client(client, false);
        }
        for partition in &mut self.partitions {
            partition.heal(field).await?;
        }
        self.partitions.clear();
        let Some(old) = self.old else {
            return Ok(json!({}));
        };
        self.raise(old, field.topology).await?;
        let primary = field.topology.primary().await?;
        // A cluster settles that by itself. Sentinel would too, ten seconds later;
        // an operator would not wait for it.
        let by_order = !matches!(field.topology.kind(), TopologyKind::Cluster { .. });
        if by_order && primary != old {
            field.topology.follow_when_up(old, primary).await?;
        }
        field.topology.follow_primary().await?;
        self.old = None;
        Ok(json!({ "primary": primary }))
    }
}

/// Waits until the last failover is long enough ago for another.
async fn await_elections(topology: &Topology) {
    let since = topology.last_failover().map(|last| last.elapsed());
    if let Some(left) = since.and_then(|since| ELECTION_MEMORY.checked_sub(since)) {
        sleep(left).await;
    }
}

/// Waits until there is a primary with a replica that follows it: after the last
/// fault, Sentinel may still be telling the replicas whom to follow.
async fn await_heir(topology: &Topology) -> Result<(u16, u16), TopologyError> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let pair = async {
            let old = topology.primary().await?;
            Ok((old, topology.best_replica_of(old).await?))
        };
        match pair.await {
            Err(TopologyError::NoPrimary(_)) if Instant::now() < deadline => {
                sleep(Duration::from_millis(10)).await;
            }
            done => return done,
        }
    }
}

/// All nodes but this one.
fn others(topology: &Topology, node: u16) -> Vec<Target> {
    let others = topology.nodes().filter(|party| *party != Party::Node(node));
    others.map(Target::One).collect()
}

/// Waits until another is primary and knows it.
async fn await_other(
    old: u16,
    topology: &Topology,
    patience: Duration,
) -> Result<u16, NemesisError> {
    let deadline = Instant::now() + patience;
    loop {
        let last = match topology.primary().await {
            Ok(primary) if primary != old => {
                let role = topology.roles().await.remove(&primary);
                if role.as_ref().is_some_and(|role| role.is_primary()) {
                    return Ok(primary);
                }
                format!("node-{primary} is {role:?}")
            }
            Ok(primary) => format!("node-{primary} is primary"),
            Err(error @ TopologyError::NoPrimary(_)) => error.to_string(),
            Err(error) => return Err(error.into()),
        };
        if Instant::now() >= deadline {
            return Err(NemesisError::NoFailover {
                old,
                seconds: patience.as_secs(),
                last,
            });
        }
        sleep(Duration::from_millis(10)).await;
    }
}

impl Injection for Failover {
    fn start<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(self.strike(field))
    }

    fn heal<'a>(&'a mut self, field: &'a mut Field<'_>) -> Struck<'a> {
        Box::pin(self.mend(field))
    }
}
