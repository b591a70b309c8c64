//! Topologies that are there already: somebody else's servers and toxiproxy.
//!
//! The harness connects, puts its own proxies into the attached toxiproxy, and
//! takes them away at the end. Before it touches anything it looks whether the servers
//! are the user's to strike (`survey.rs`, `refusal.rs`); what it does then carries a
//! drawn name (`drawn.rs`) and is put back (`put_back.rs`, `keys.rs`), by the next run
//! if this one is killed (`records.rs`, `take_over.rs`). It never owns a process there, so it can neither
//! stop nor kill nor restart one, nor set its clock; links, commands and its own
//! clients are what faults can strike ([`FaultSpec::impossible_when_attached`]).
//!
//! A primary and its replicas are told to follow each other through proxies as
//! well. Sentinels and cluster nodes are left as they are: they announce one
//! address to everybody, and only whoever starts them can make that a proxy's.
//!
//! [`FaultSpec::impossible_when_attached`]: super::super::nemesis::FaultSpec::impossible_when_attached

mod drawn;
mod keys;
mod put_back;
mod records;
mod refusal;
mod survey;
mod take_over;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use lockproof_redis::Reply;
use tokio::time::{Instant, sleep};

pub(super) use drawn::Drawn;
use records::{Record, Was};
use refusal::Wanted;
use survey::{Asker, Survey};

use super::super::proxy::toxiproxy::{Toxiproxy, ToxiproxyError};
use super::attachment::Attachment;
use super::error::TopologyError;
use super::names::{LinkName, Party};
use super::options::{TopologyKind, TopologyOptions};
use super::role::text;
use super::wire::WireMaker;
use super::{Member, Seat, Topology};

/// How often servers that are still busy with each other are looked at.
const LOOK: Duration = Duration::from_millis(200);
/// A key that only shows whether a run may write is gone after this many ms, also if
/// the run is.
const TRIAL_MS: &str = "10000";

/// What a run on attached servers has to put back.
#[derive(Debug)]
pub(super) struct Attached {
    /// By this it knows what is its own.
    pub drawn: Drawn,
    /// What each node was; `None` while nothing was done to any.
    found: Option<Vec<Was>>,
    /// No node had any key.
    was_empty: bool,
    /// The proxies that tell the next run what to put back.
    records: Vec<String>,
    /// Settings that were changed: of which node, which, and what they were.
    settings: Vec<(u16, String, String)>,
}

impl Topology {
    /// Joins servers that are there already.
    pub(super) async fn attach(
        options: &TopologyOptions,
        attachment: &Attachment,
    ) -> Result<Topology, TopologyError> {
        let deadline = Instant::now() + options.patience;
        check_counts(options, attachment)?;
        let drawn = Drawn::draw().map_err(TopologyError::Draw)?;
        let options = TopologyOptions {
            lock_key: drawn.lock_key(),
            ..options.clone()
        };
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
        let toxiproxy = Toxiproxy::attach(attachment.toxiproxy.api);
        let left = take_over::left(toxiproxy.api()).await?;
        if !attachment.take_over {
            take_over::check(&left)?;
        }
        let api = toxiproxy.api().clone();
        let maker = WireMaker::attached(&options, toxiproxy, drawn.proxy("")).await?;
        let mut topology = Topology::of(&options, maker, nodes, sentinels);
        topology.attached = Some(Attached {
            drawn,
            found: None,
            was_empty: false,
            records: Vec::new(),
            settings: Vec::new(),
        });
        if !left.is_empty() {
            topology.take_over(&api, &left).await?;
        }
        match topology.join(attachment, deadline).await {
            Ok(()) => Ok(topology),
            Err(error) => Err(match topology.detach().await {
                Ok(_) => error,
                Err(left) => TopologyError::AndNotPutBack {
                    error: Box::new(error),
                    left: Box::new(left),
                },
            }),
        }
    }

    async fn join(
        &mut self,
        attachment: &Attachment,
        deadline: Instant,
    ) -> Result<(), TopologyError> {
        let survey = self.admit(attachment, deadline).await?;
        if matches!(
            self.kind(),
            TopologyKind::Sentinel { .. } | TopologyKind::Cluster { .. }
        ) {
            // They may be busy with each other still.
            self.healthy_until(deadline, self.options.patience).await?;
        }
        self.try_to_write().await?;
        self.remember(&survey).await?;
        let plans = self.attached_links();
        self.make_links(plans).await?;
        self.make_virtual_addresses()?;
        if matches!(self.kind(), TopologyKind::Replicated { .. }) {
            self.join_replicas(deadline).await?;
        }
        self.healthy_until(deadline, self.options.patience).await?;
        self.keep_distance().await?;
        self.follow_primary().await.map(drop)
    }

    /// Looks at the servers until they may be used, or must not be.
    async fn admit(
        &self,
        attachment: &Attachment,
        deadline: Instant,
    ) -> Result<Survey, TopologyError> {
        let wanted = Wanted {
            kind: self.kind(),
            group: self.sentinel_group(),
            shared: attachment.shared,
        };
        loop {
            let survey = self.survey().await?;
            match refusal::judge(wanted, &survey) {
                Ok(()) => return Ok(survey),
                Err(no) if no.may_pass && Instant::now() < deadline => sleep(LOOK).await,
                Err(no) => {
                    return Err(TopologyError::Refusal {
                        server: no.server,
                        why: no.why,
                    });
                }
            }
        }
    }

    /// A run that may write and not delete would leave its keys: both are tried, with
    /// the key that the lock will have.
    async fn try_to_write(&self) -> Result<(), TopologyError> {
        let key = self.options.lock_key.as_str();
        for (party, member) in (0..).map(Party::Node).zip(&self.nodes) {
            let Seat::Attached { address, .. } = member.seat else {
                continue;
            };
            let mut asker = Asker::open(party, address).await?;
            for words in [&["SET", key, "", "NX", "PX", TRIAL_MS][..], &["DEL", key]] {
                match asker.hear(words).await? {
                    Reply::Error(answer) if is_elsewhere(&answer) => break,
                    Reply::Error(answer) => return Err(asker.refused(words[0], &answer)),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Keeps what the servers were, here and where the next run finds it.
    async fn remember(&mut self, survey: &Survey) -> Result<(), TopologyError> {
        let found: Vec<Was> = survey.nodes.iter().map(Was::from).collect();
        if let Some(attached) = &mut self.attached {
            attached.found = Some(found.clone());
            attached.was_empty = survey.nodes.iter().all(|node| node.keys.is_empty());
        }
        for (node, was) in (0..).zip(found) {
            self.write_down(node, Record::Role(was)).await?;
        }
        Ok(())
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

    /// What the keys of this run have in them, and what each node was found to be;
    /// `None` for servers of our own.
    pub fn found(&self) -> Option<(String, Vec<String>)> {
        let attached = self.attached.as_ref()?;
        let found = attached.found.iter().flatten();
        Some((attached.drawn.prefix(), found.map(Was::to_string).collect()))
    }

    /// Leaves attached servers as they were found: roles, settings, without our keys
    /// and proxies. Gives what there is to say about them. Does nothing to servers of
    /// our own.
    ///
    /// # Errors
    /// What could not be put back; everything is tried.
    pub async fn detach(&mut self) -> Result<Vec<String>, TopologyError> {
        let Some(attached) = &mut self.attached else {
            return Ok(Vec::new());
        };
        let Some(found) = attached.found.take() else {
            return Ok(Vec::new());
        };
        let (drawn, was_empty) = (attached.drawn.clone(), attached.was_empty);
        // First, so that nothing which clients have sent arrives when keys are gone.
        let mut complaints = self.remove_links(true).await;
        complaints.extend(self.put_back(&found).await);
        complaints.extend(self.restore_settings().await.err());
        complaints.extend(self.forget(&drawn).await);
        complaints.extend(self.remove_links(false).await);
        if complaints.is_empty() {
            complaints.extend(self.remove_records().await);
        }
        if !complaints.is_empty() {
            return Err(TopologyError::NotPutBack(complaints));
        }
        Ok(match was_empty {
            true => self.strangers().await,
            false => Vec::new(),
        })
    }

    /// Takes our proxies away: those of clients, or all.
    async fn remove_links(&mut self, of_clients: bool) -> Vec<String> {
        let links = std::mem::take(&mut self.links);
        let mut complaints = Vec::new();
        for (name, wire) in links {
            if of_clients && !matches!(name.from, Party::Client(_)) {
                self.links.insert(name, wire);
            } else if let Err(error) = wire.remove().await {
                complaints.push(error.to_string());
            }
        }
        complaints
    }

    async fn remove_records(&mut self) -> Vec<String> {
        let records = self
            .attached
            .as_mut()
            .map(|all| std::mem::take(&mut all.records));
        let mut complaints = Vec::new();
        for record in records.into_iter().flatten() {
            if let Some(toxiproxy) = self.maker.toxiproxy()
                && let Err(error) = toxiproxy.api().delete(&record).await
            {
                complaints.push(ToxiproxyError::from(error).to_string());
            }
        }
        complaints
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

impl From<&survey::Node> for Was {
    fn from(node: &survey::Node) -> Was {
        match &node.follows {
            None => Was::Primary,
            Some(told) => Was::Follower {
                host: told.host.clone(),
                port: told.port,
            },
        }
    }
}

/// The key belongs to another node, which is asked too.
fn is_elsewhere(answer: &str) -> bool {
    let word = answer.split(' ').next();
    word.is_some_and(|word| ["MOVED", "READONLY"].contains(&word))
}

/// Whether there are as many servers as the topology has.
fn check_counts(options: &TopologyOptions, attachment: &Attachment) -> Result<(), TopologyError> {
    let (nodes, sentinels) = (options.kind.nodes().into(), options.kind.sentinels().into());
    let given = attachment.nodes.len();
    if given < nodes || (options.kind.replicates() && given > nodes) {
        return Err(TopologyError::Misfit(format!(
            "the scenario plays on {}, and {} given under `nodes`; give as many, or choose another \
             scenario",
            count(nodes, "server"),
            are(given, "server"),
        )));
    }
    let given = attachment.sentinels.len();
    if given != sentinels {
        return Err(TopologyError::Misfit(match sentinels {
            0 => format!(
                "{} given, and the scenario has none; take `sentinels` out of the attachment, or \
                 choose a scenario whose topology is `sentinel`",
                are(given, "Sentinel")
            ),
            _ => format!(
                "the scenario plays under {}, and {} given; name them in the attachment file: \
                 sentinels = [\"redis://HOST:PORT\", ...]",
                count(sentinels, "Sentinel"),
                are(given, "Sentinel"),
            ),
        }));
    }
    let between = match options.kind {
        TopologyKind::Replicated { .. } => nodes * (nodes - 1),
        _ => 0,
    };
    let links = nodes * usize::from(options.clients) + between;
    let ports = attachment.toxiproxy.ports.len();
    if links > ports {
        return Err(TopologyError::Misfit(format!(
            "the run makes {} with a proxy each, and toxiproxy may listen on {}; widen `ports` in the attachment",
            count(links, "link"),
            count(ports, "port"),
        )));
    }
    Ok(())
}

fn count(number: usize, what: &str) -> String {
    match number {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

fn are(number: usize, what: &str) -> String {
    let verb = if number == 1 { "is" } else { "are" };
    format!("{} {verb}", count(number, what))
}
