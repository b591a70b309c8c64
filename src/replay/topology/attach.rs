//! Topologies that are there already: somebody else's servers and toxiproxy.
//!
//! The harness connects, puts its own proxies into the attached toxiproxy, and
//! takes them away at the end. It never owns a process there, so it can neither
//! stop nor kill nor restart one, nor set its clock; links, commands and its own
//! clients are what faults can strike ([`FaultSpec::impossible_when_attached`]).
//!
//! A primary and its replicas are told to follow each other through proxies as
//! well. Sentinels and cluster nodes are left as they are: they announce one
//! address to everybody, and only whoever starts them can make that a proxy's.
//!
//! [`FaultSpec::impossible_when_attached`]: super::super::nemesis::FaultSpec::impossible_when_attached

use std::collections::BTreeMap;
use std::net::SocketAddr;

use tokio::time::Instant;

use super::attachment::Attachment;
use super::error::TopologyError;
use super::names::{LinkName, Party};
use super::options::{TopologyKind, TopologyOptions};
use super::role::text;
use super::wire::WireMaker;
use super::{Member, Seat, Topology};
use crate::redis::Reply;

impl Topology {
    /// Joins servers that are there already.
    pub(super) async fn attach(
        options: &TopologyOptions,
        attachment: &Attachment,
    ) -> Result<Topology, TopologyError> {
        let deadline = Instant::now() + options.patience;
        check_counts(options, attachment)?;
        // Of servers that know nothing of each other some may be left over.
        let count = usize::from(options.kind.nodes());
        let seats = attachment
            .nodes
            .iter()
            .take(count)
            .map(|node| Seat::Attached {
                address: node.address,
                upstream: node.upstream,
            });
        let sentinels = attachment.sentinels.iter().map(|address| Seat::Attached {
            address: *address,
            upstream: *address,
        });
        let nodes = seats.map(Member::from).collect();
        let sentinels = sentinels.map(Member::from).collect();
        let maker = WireMaker::new(options).await?;
        let mut topology = Topology::of(options, maker, nodes, sentinels);
        let joined = topology.join(attachment.take_over, deadline).await;
        if joined.is_err() {
            // That it failed is what matters; what can be undone is undone.
            let _ = topology.detach().await;
        }
        joined.map(|()| topology)
    }

    async fn join(&mut self, take_over: bool, deadline: Instant) -> Result<(), TopologyError> {
        if matches!(
            self.kind(),
            TopologyKind::Sentinel { .. } | TopologyKind::Cluster { .. }
        ) {
            // They may be busy with each other still.
            self.healthy_until(deadline, self.options.patience).await?;
        }
        if take_over {
            self.forget_lock().await;
        }
        self.check_unused().await?;
        let plans = self.attached_links();
        self.make_links(plans).await?;
        self.make_virtual_addresses()?;
        if matches!(self.kind(), TopologyKind::Replicated { .. }) {
            self.order(Party::Node(0), &["REPLICAOF", "NO", "ONE"])
                .await?;
            self.join_replicas(deadline).await?;
        }
        self.healthy_until(deadline, self.options.patience).await?;
        self.keep_distance().await?;
        self.follow_primary().await.map(drop)
    }

    /// Nothing of somebody else's may be lost: the lock's key must be free, and a
    /// node that is going to follow another must be empty.
    async fn check_unused(&self) -> Result<(), TopologyError> {
        let key = self.options.lock_key.as_str();
        let follow = matches!(self.kind(), TopologyKind::Replicated { .. });
        for (number, party) in self.nodes().enumerate() {
            let in_use = |why: String| TopologyError::InUse { party, why };
            let answer = self.ask(party, &["EXISTS", key]).await;
            match answer {
                Some(Reply::Int(1..)) => {
                    return Err(in_use(format!(
                        "the key {key} exists already; delete it first"
                    )));
                }
                Some(Reply::Int(_)) => {}
                // Another node of a cluster owns the key's slot.
                Some(Reply::Error(error)) if error.to_string().starts_with("MOVED") => {}
                Some(other) => return Err(in_use(format!("it answers EXISTS with {other:?}"))),
                None => {
                    let why = "it does not answer; is it up, and is its URL right?";
                    return Err(in_use(why.into()));
                }
            }
            let keys = self.ask(party, &["DBSIZE"]).await;
            if let (true, 1.., Some(Reply::Int(keys @ 1..)), Some(Reply::Array(role))) =
                (follow, number, keys, self.ask(party, &["ROLE"]).await)
                && role.first().and_then(text).as_deref() == Some("master")
            {
                return Err(in_use(format!(
                    "it is no replica and has {keys} keys, which following node-0 would delete; \
                     empty it first"
                )));
            }
        }
        Ok(())
    }

    /// Deletes the lock's keys wherever they are.
    async fn forget_lock(&self) {
        for party in self.nodes() {
            for key in self.keys_of_lock(party).await {
                // Only who owns a key can delete it; the check that follows says
                // whether it is gone.
                let _ = self.ask(party, &["DEL", &key]).await;
            }
        }
    }

    /// The names of the lock's keys on a node: those that have the lock's name in
    /// them. On a server of our own every key is the lock's.
    pub async fn keys_of_lock(&self, party: Party) -> Vec<String> {
        let pattern = match self.options.attach {
            Some(_) => format!("*{}*", self.options.lock_key),
            None => "*".to_owned(),
        };
        match self.ask(party, &["KEYS", &pattern]).await {
            Some(Reply::Array(names)) => names.iter().filter_map(text).collect(),
            _ => Vec::new(),
        }
    }

    /// The links that can be had: from clients to nodes, and from replicas.
    fn attached_links(&self) -> Vec<(LinkName, SocketAddr)> {
        let replicated = matches!(self.kind(), TopologyKind::Replicated { .. });
        let mut plans = Vec::new();
        for (to, member) in (0..).map(Party::Node).zip(&self.nodes) {
            let others = self.nodes().filter(|party| replicated && *party != to);
            for from in self.clients().chain(others) {
                plans.push((LinkName::data(from, to), member.seat.known_as()));
            }
        }
        plans
    }

    /// Leaves attached servers as they were found: without our proxies and keys,
    /// replicas following node 0 directly. Does nothing to servers of our own.
    ///
    /// # Errors
    /// The first one; everything is tried.
    pub async fn detach(&mut self) -> Result<(), TopologyError> {
        let (Some(attachment), false) = (self.options.attach.clone(), self.links.is_empty()) else {
            // Ours, or nothing was done to them yet.
            return Ok(());
        };
        self.forget_lock().await;
        let mut first = Ok(());
        let mut note = |done: Result<(), TopologyError>| {
            if first.is_ok() {
                first = done;
            }
        };
        if let (TopologyKind::Replicated { .. }, Some(primary)) =
            (self.kind(), attachment.nodes.first())
        {
            note(
                self.order(Party::Node(0), &["REPLICAOF", "NO", "ONE"])
                    .await,
            );
            let (host, port) = (
                primary.upstream.ip().to_string(),
                primary.upstream.port().to_string(),
            );
            for node in self.nodes().skip(1) {
                note(self.order(node, &["REPLICAOF", &host, &port]).await);
            }
        }
        for (_, wire) in std::mem::take(&mut self.links) {
            note(wire.remove().await);
        }
        first
    }

    /// What each attached server says that it is: its name and version, each once.
    pub async fn attached_versions(&self) -> BTreeMap<String, String> {
        let mut versions = BTreeMap::new();
        for (_, answer) in self.ask_all(self.nodes(), &["INFO", "server"]).await {
            let answer = answer.as_ref().and_then(text).unwrap_or_default();
            let field = |name: &str| super::role::info(&answer, name).map(str::to_owned);
            // Valkey shows the Redis that it is compatible with as its version.
            match (field("valkey_version"), field("redis_version")) {
                (Some(version), _) => versions.insert("valkey-server".into(), version),
                (None, Some(version)) => versions.insert("redis-server".into(), version),
                (None, None) => None,
            };
        }
        versions
    }
}

fn check_counts(options: &TopologyOptions, attachment: &Attachment) -> Result<(), TopologyError> {
    let wrong = |what: &str, wanted: usize, given: usize| {
        TopologyError::Options(format!(
            "it needs {wanted} {what}, and {given} are attached"
        ))
    };
    let (nodes, sentinels) = (options.kind.nodes().into(), options.kind.sentinels().into());
    let given = attachment.nodes.len();
    if given < nodes || (options.kind.replicates() && given > nodes) {
        return Err(wrong("servers", nodes, given));
    }
    if attachment.sentinels.len() != sentinels {
        return Err(wrong("Sentinels", sentinels, attachment.sentinels.len()));
    }
    let between = match options.kind {
        TopologyKind::Replicated { .. } => nodes * (nodes - 1),
        _ => 0,
    };
    let links = nodes * usize::from(options.clients) + between;
    let ports = attachment.toxiproxy.ports.len();
    if links > ports {
        return Err(wrong("ports for proxies", links, ports));
    }
    Ok(())
}
