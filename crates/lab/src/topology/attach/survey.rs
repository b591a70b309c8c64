//! A look at the given servers before anything is done to them.
//!
//! Only questions: nothing here changes a server. What the answers mean is judged
//! elsewhere (`refusal.rs`), so that it can be tried without servers.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use lockproof_redis::Reply;
use tokio::time::timeout;

use super::super::cluster::{Line, lines};
use super::super::error::TopologyError;
use super::super::names::Party;
use super::super::role::{fields, info, text};
use super::super::{ORDER_PATIENCE, Seat, Topology};
use crate::server::admin::Admin;

/// How long a host name may take to be looked up. One that is not known here is no
/// error: it may be known to the servers alone.
const LOOK_UP: Duration = Duration::from_secs(1);

/// Everything that was seen.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    pub nodes: Vec<Node>,
    pub sentinels: Vec<Watcher>,
}

/// An address as some server tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub host: String,
    pub port: u16,
    /// What the host is, as far as it is known here.
    pub ips: Vec<IpAddr>,
}

/// A server that holds data.
#[derive(Clone, Debug)]
pub struct Node {
    pub party: Party,
    /// The addresses under which it was given.
    pub given: [SocketAddr; 2],
    /// Who it is, however it is reached; another after each start.
    pub run_id: String,
    /// `standalone`, `cluster` or `sentinel`.
    pub mode: String,
    /// It is still reading its data.
    pub loading: bool,
    /// Whom it follows.
    pub follows: Option<Told>,
    /// It is in touch with whom it follows, and has its data.
    pub in_step: bool,
    /// The id of its data's history: that of whoever it follows.
    pub history: String,
    /// Who follows it, and how many.
    pub replicas: Vec<Told>,
    pub feeds: usize,
    /// Keys, by database.
    pub keys: BTreeMap<u32, u64>,
    /// One of them.
    pub example: Option<String>,
    /// The Sentinels that are connected, by the beginning of their ids.
    pub watchers: BTreeSet<String>,
    /// Its own id in a cluster, and all members that it knows.
    pub cluster: Option<(String, Vec<Line>)>,
    /// Settings that differ: the name, what it is, and what the scenario asks for.
    pub other_settings: Vec<[String; 3]>,
}

/// A Sentinel.
#[derive(Clone, Debug)]
pub struct Watcher {
    pub party: Party,
    pub given: SocketAddr,
    pub run_id: String,
    pub mode: String,
    pub id: String,
    /// The primaries that it watches, by the names of their groups.
    pub groups: BTreeMap<String, Told>,
    /// What it knows of the run's group.
    pub replicas: Vec<Told>,
    /// The other Sentinels of the group: ids, and addresses for people.
    pub others: Vec<(String, String)>,
}

impl Told {
    /// An address with what its host is.
    async fn of(host: &str, port: u16) -> Told {
        let known = match host.parse() {
            Ok(ip) => vec![ip],
            Err(_) => match timeout(LOOK_UP, tokio::net::lookup_host((host, port))).await {
                Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
                _ => Vec::new(),
            },
        };
        Told {
            host: host.into(),
            port,
            ips: known,
        }
    }

    /// Whether this may be one of these addresses. All names of the own machine are
    /// one: a server that was given as `127.0.0.1` is told as `::1` or `localhost`.
    pub fn may_be(&self, given: &[SocketAddr]) -> bool {
        let same = |ip: IpAddr, other: IpAddr| {
            let (ip, other) = (ip.to_canonical(), other.to_canonical());
            ip == other || (ip.is_loopback() && other.is_loopback())
        };
        given.iter().any(|address| {
            let mut ips = self.ips.iter();
            self.port == address.port() && ips.any(|ip| same(*ip, address.ip()))
        })
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// One connection to a given server.
pub struct Asker {
    pub party: Party,
    pub address: SocketAddr,
    admin: Admin,
}

impl Asker {
    pub async fn open(party: Party, address: SocketAddr) -> Result<Asker, TopologyError> {
        let connecting = timeout(ORDER_PATIENCE, Admin::connect(address)).await;
        let admin = connecting
            .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
            .map_err(|source| TopologyError::Silent {
                party,
                address,
                source,
            })?;
        Ok(Asker {
            party,
            address,
            admin,
        })
    }

    /// What it answers, errors too.
    pub async fn hear<A: AsRef<[u8]>>(&mut self, words: &[A]) -> Result<Reply, TopologyError> {
        let asking = timeout(ORDER_PATIENCE, self.admin.command(words)).await;
        asking
            .unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
            .map_err(|source| TopologyError::Silent {
                party: self.party,
                address: self.address,
                source,
            })
    }

    /// The same; a server that refuses to be asked cannot be used.
    pub async fn ask(&mut self, words: &[&str]) -> Result<Reply, TopologyError> {
        match self.hear(words).await? {
            Reply::Error(answer) => Err(self.refused(&words.join(" "), &answer)),
            answer => Ok(answer),
        }
    }

    /// Why a server that answers so cannot be used.
    pub fn refused(&self, command: &str, answer: &str) -> TopologyError {
        let why = match answer.split(' ').next().unwrap_or_default() {
            "NOAUTH" => "it asks for a password, which lockproof does not give; attach a server \
                         made for tests that asks for none"
                .into(),
            "NOPERM" => format!(
                "its default user may not do what a run needs: {command} is answered with \
                 `{answer}`; give that user all commands and keys, or attach another server"
            ),
            _ => format!("it answers {command} with `{answer}`"),
        };
        TopologyError::Refusal {
            server: format!("{} ({})", self.party, self.address),
            why,
        }
    }
}

impl Topology {
    /// Looks at every given server.
    pub(super) async fn survey(&self) -> Result<Survey, TopologyError> {
        let mut survey = Survey::default();
        for (party, member) in (0..).map(Party::Node).zip(&self.nodes) {
            if let Seat::Attached { address, upstream } = member.seat {
                survey
                    .nodes
                    .push(look_at_node(party, address, upstream, &self.options.node_args).await?);
            }
        }
        for (party, member) in (0..).map(Party::Sentinel).zip(&self.sentinels) {
            if let Seat::Attached { address, .. } = member.seat {
                let group = self.sentinel_group();
                survey
                    .sentinels
                    .push(look_at_sentinel(party, address, group).await?);
            }
        }
        Ok(survey)
    }
}

async fn look_at_node(
    party: Party,
    address: SocketAddr,
    upstream: SocketAddr,
    settings: &[String],
) -> Result<Node, TopologyError> {
    let mut asker = Asker::open(party, address).await?;
    let about = asker.ask(&["INFO"]).await?;
    let about = text(&about).unwrap_or_default();
    let field = |name: &str| info(&about, name).unwrap_or_default().to_owned();
    let number = |name: &str| info(&about, name).and_then(|text| text.parse().ok());
    let follows = match (field("role").as_str(), number("master_port")) {
        ("slave", Some(port)) => Some(Told::of(&field("master_host"), port).await),
        _ => None,
    };
    let mut node = Node {
        party,
        given: [address, upstream],
        run_id: field("run_id"),
        mode: mode(&about),
        loading: field("loading") == "1" || field("async_loading") == "1",
        follows,
        in_step: field("master_link_status") == "up",
        history: field("master_replid"),
        replicas: replicas(&about).await,
        feeds: number("connected_slaves").unwrap_or_default().into(),
        keys: keys(&about),
        example: None,
        watchers: BTreeSet::new(),
        cluster: None,
        other_settings: Vec::new(),
    };
    if node.loading || node.mode == "sentinel" {
        // What else it could say does not matter.
        return Ok(node);
    }
    node.watchers = watchers(&asker.ask(&["CLIENT", "LIST"]).await?);
    if node.mode == "cluster" {
        let id = text(&asker.ask(&["CLUSTER", "MYID"]).await?).unwrap_or_default();
        let members = lines(Some(&asker.ask(&["CLUSTER", "NODES"]).await?));
        node.cluster = Some((id, members));
    }
    for setting in settings.chunks_exact(2) {
        let name = setting[0].trim_start_matches('-');
        let is = asker.ask(&["CONFIG", "GET", name]).await?;
        let is = fields(&is).remove(name).unwrap_or_default();
        if is != setting[1] {
            let wanted = setting[1].clone();
            node.other_settings.push([name.to_owned(), is, wanted]);
        }
    }
    node.example = example(&mut asker, &node.keys).await?;
    Ok(node)
}

/// Valkey calls it by another name where it does not play Redis.
fn mode(about: &str) -> String {
    let mode = info(about, "redis_mode").or(info(about, "server_mode"));
    mode.unwrap_or_default().to_owned()
}

/// `slave0:ip=127.0.0.1,port=7001,state=online,...`
async fn replicas(about: &str) -> Vec<Told> {
    let mut told = Vec::new();
    for line in about.lines().filter(|line| line.starts_with("slave")) {
        let field = |name: &str| {
            let fields = line.split_once(':').map_or("", |(_, fields)| fields);
            let mut pairs = fields.split(',').filter_map(|pair| pair.split_once('='));
            pairs.find_map(|(key, value)| (key == name).then_some(value.trim()))
        };
        let port = field("port").and_then(|port| port.parse().ok());
        if let (Some(host), Some(port)) = (field("ip"), port) {
            told.push(Told::of(host, port).await);
        }
    }
    told
}

/// `db5:keys=2,expires=0,avg_ttl=0`
pub(super) fn keys(about: &str) -> BTreeMap<u32, u64> {
    let database = |line: &str| {
        let (number, fields) = line.strip_prefix("db")?.split_once(":keys=")?;
        let count = fields.split(',').next()?.trim().parse().ok()?;
        Some((number.parse().ok()?, count))
    };
    let all = about.lines().filter_map(database);
    all.filter(|(_, count)| *count > 0).collect()
}

/// `... name=sentinel-1a2b3c4d-cmd ...`
fn watchers(clients: &Reply) -> BTreeSet<String> {
    let clients = text(clients).unwrap_or_default();
    let names = clients
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("name=sentinel-"));
    let ids = names.filter_map(|name| name.split_once('-'));
    ids.filter(|(_, what)| ["cmd", "pubsub"].contains(what))
        .map(|(id, _)| id.to_owned())
        .collect()
}

/// The name of some key, so that whoever is refused knows what is meant.
async fn example(
    asker: &mut Asker,
    keys: &BTreeMap<u32, u64>,
) -> Result<Option<String>, TopologyError> {
    let Some(database) = keys.keys().next() else {
        return Ok(None);
    };
    if *database > 0 {
        asker.ask(&["SELECT", &database.to_string()]).await?;
    }
    Ok(text(&asker.ask(&["RANDOMKEY"]).await?))
}

async fn look_at_sentinel(
    party: Party,
    address: SocketAddr,
    group: &str,
) -> Result<Watcher, TopologyError> {
    let mut asker = Asker::open(party, address).await?;
    let about = text(&asker.ask(&["INFO"]).await?).unwrap_or_default();
    let mut watcher = Watcher {
        party,
        given: address,
        run_id: info(&about, "run_id").unwrap_or_default().into(),
        mode: mode(&about),
        id: String::new(),
        groups: BTreeMap::new(),
        replicas: Vec::new(),
        others: Vec::new(),
    };
    if watcher.mode != "sentinel" {
        return Ok(watcher);
    }
    watcher.id = text(&asker.ask(&["SENTINEL", "MYID"]).await?).unwrap_or_default();
    for primary in entries(&asker.ask(&["SENTINEL", "MASTERS"]).await?) {
        let name = primary.get("name").cloned().unwrap_or_default();
        watcher.groups.insert(name, told(&primary).await);
    }
    if watcher.groups.contains_key(group) {
        for replica in entries(&asker.ask(&["SENTINEL", "REPLICAS", group]).await?) {
            watcher.replicas.push(told(&replica).await);
        }
        for other in entries(&asker.ask(&["SENTINEL", "SENTINELS", group]).await?) {
            let id = other.get("runid").cloned().unwrap_or_default();
            watcher.others.push((id, told(&other).await.to_string()));
        }
    }
    Ok(watcher)
}

fn entries(answer: &Reply) -> Vec<BTreeMap<String, String>> {
    match answer {
        Reply::Array(entries) => entries.iter().map(fields).collect(),
        _ => Vec::new(),
    }
}

async fn told(entry: &BTreeMap<String, String>) -> Told {
    let field = |name: &str| entry.get(name).map_or("", String::as_str);
    Told::of(field("ip"), field("port").parse().unwrap_or_default()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(host: &str, port: u16, ips: &[&str]) -> Told {
        Told {
            host: host.into(),
            port,
            ips: ips.iter().map(|ip| ip.parse().unwrap()).collect(),
        }
    }

    #[test]
    fn all_names_of_the_own_machine_are_one() {
        let given = ["127.0.0.1:7000".parse().unwrap()];
        for ip in ["127.0.0.1", "::1", "127.0.1.2", "::ffff:127.0.0.1"] {
            assert!(told("any", 7000, &[ip]).may_be(&given), "{ip}");
            assert!(!told("any", 7001, &[ip]).may_be(&given), "{ip}");
        }
        assert!(!told("any", 7000, &["10.0.0.1"]).may_be(&given));
        assert!(!told("unknown", 7000, &[]).may_be(&given));
    }

    #[test]
    fn keys_are_counted_in_all_databases() {
        let about = "# Keyspace\r\ndb0:keys=3,expires=0\r\ndb5:keys=1,expires=1\r\ndb7:keys=0\r\n";
        assert_eq!(keys(about), [(0, 3), (5, 1)].into());
    }

    #[test]
    fn sentinels_are_known_by_their_connections() {
        let list = "id=1 name=sentinel-1a2b3c4d-cmd cmd=ping\nid=2 name=sentinel-1a2b3c4d-pubsub\n\
                    id=3 name=sentinel-ops cmd=x\nid=4 name=\n";
        let list = Reply::Bulk(list.into());
        assert_eq!(watchers(&list), ["1a2b3c4d".to_owned()].into());
    }
}
