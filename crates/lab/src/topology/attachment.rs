//! What is attached, and the file that says so.
//!
//! A file rather than many options: a project keeps one beside its Compose file,
//! and a run names it. For servers of this machine that know each other by the
//! same addresses, their URLs are enough.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
use std::ops::RangeInclusive;

use serde::Deserialize;

use super::SENTINEL_GROUP;

/// The schema name that this version reads.
pub const ATTACH_SCHEMA: &str = "lockproof.attach/1";

/// Where proxies listen unless told otherwise.
const PORTS: RangeInclusive<u16> = 21000..=21199;

/// Servers and a toxiproxy that somebody else has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The servers that hold data; of a primary with replicas the primary first.
    pub nodes: Vec<AttachedNode>,
    /// Where the harness reaches the Sentinels.
    pub sentinels: Vec<SocketAddr>,
    /// The name under which they monitor the primary.
    pub sentinel_group: String,
    /// The toxiproxy that is to stand before the nodes.
    pub toxiproxy: AttachedToxiproxy,
    /// Remove what a killed run left (its proxies, its keys), and give the servers
    /// the roles back that it found.
    pub take_over: bool,
    /// Others use the servers too: they may hold keys, feed replicas, and their
    /// Sentinels watch other primaries.
    pub shared: bool,
}

/// A server that somebody else has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedNode {
    /// Where the harness asks it, past every proxy.
    pub address: SocketAddr,
    /// Where the toxiproxy reaches it; also what it announces to others.
    pub upstream: SocketAddr,
}

/// A toxiproxy that somebody else has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedToxiproxy {
    /// Its HTTP API. Clients reach the proxies on the same host.
    pub api: SocketAddr,
    /// The address on which proxies listen, as the toxiproxy knows it.
    pub listen: IpAddr,
    /// The host by which nodes reach the proxies.
    pub seen_by_nodes: IpAddr,
    /// The ports on which proxies may listen.
    pub ports: RangeInclusive<u16>,
}

impl Attachment {
    /// Servers and a toxiproxy of this machine that know each other by the same
    /// addresses.
    pub fn local(nodes: &[SocketAddr], api: SocketAddr) -> Attachment {
        let node = |address: &SocketAddr| AttachedNode {
            address: *address,
            upstream: *address,
        };
        Attachment {
            nodes: nodes.iter().map(node).collect(),
            sentinels: Vec::new(),
            sentinel_group: SENTINEL_GROUP.into(),
            toxiproxy: AttachedToxiproxy {
                api,
                listen: Ipv4Addr::LOCALHOST.into(),
                seen_by_nodes: Ipv4Addr::LOCALHOST.into(),
                ports: PORTS,
            },
            take_over: false,
            shared: false,
        }
    }
}

/// Why an attachment cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AttachmentError {
    /// Not TOML, or not of this shape.
    #[error("{0}")]
    Toml(#[from] toml::de::Error),
    /// Another version's file.
    #[error("its schema is `{0}`, this version reads `{ATTACH_SCHEMA}`")]
    Schema(String),
    /// Not a URL that can be used.
    #[error("`{text}` is no {scheme}://HOST:PORT{why}")]
    Url {
        /// What was given.
        text: String,
        /// What it should begin with.
        scheme: &'static str,
        /// What is wrong, if more is known.
        why: String,
    },
    /// The lists or numbers do not fit.
    #[error("{0}")]
    Range(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    schema: String,
    nodes: Vec<String>,
    #[serde(default)]
    upstreams: Vec<SocketAddr>,
    #[serde(default)]
    sentinels: Vec<String>,
    #[serde(default = "group")]
    sentinel_group: String,
    toxiproxy: FileToxiproxy,
}

fn group() -> String {
    SENTINEL_GROUP.into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileToxiproxy {
    url: String,
    listen: Option<IpAddr>,
    seen_by_nodes: Option<IpAddr>,
    ports: Option<Vec<u16>>,
}

impl Attachment {
    /// Reads an attachment file's text; docs/compose.md tells its fields.
    ///
    /// # Errors
    /// TOML errors carry line and column. Host names are looked up.
    pub fn parse(text: &str) -> Result<Attachment, AttachmentError> {
        let file: File = toml::from_str(text)?;
        if file.schema != ATTACH_SCHEMA {
            return Err(AttachmentError::Schema(file.schema));
        }
        let urls = |urls: &[String]| -> Result<Vec<SocketAddr>, AttachmentError> {
            urls.iter().map(|url| address(url, "redis")).collect()
        };
        let mut attachment =
            Attachment::local(&urls(&file.nodes)?, address(&file.toxiproxy.url, "http")?);
        attachment.sentinels = urls(&file.sentinels)?;
        attachment.sentinel_group = file.sentinel_group;
        attachment.set_upstreams(&file.upstreams)?;
        let proxy = &mut attachment.toxiproxy;
        proxy.listen = file.toxiproxy.listen.unwrap_or(proxy.listen);
        let seen = file.toxiproxy.seen_by_nodes;
        proxy.seen_by_nodes = seen.unwrap_or(proxy.seen_by_nodes);
        if let Some(ports) = file.toxiproxy.ports {
            proxy.ports = match ports[..] {
                [first, last] if 0 < first && first <= last => first..=last,
                _ => {
                    let text = format!("ports = {ports:?} is no range; write [first, last]");
                    return Err(AttachmentError::Range(text));
                }
            };
        }
        Ok(attachment)
    }

    /// Servers of this machine by their URLs, separated by commas.
    ///
    /// # Errors
    /// If one is no URL of a server.
    pub fn from_urls(nodes: &str, toxiproxy: &str) -> Result<Attachment, AttachmentError> {
        let nodes: Vec<SocketAddr> = nodes
            .split(',')
            .map(|url| address(url.trim(), "redis"))
            .collect::<Result<_, _>>()?;
        Ok(Attachment::local(&nodes, address(toxiproxy, "http")?))
    }

    fn set_upstreams(&mut self, upstreams: &[SocketAddr]) -> Result<(), AttachmentError> {
        if upstreams.is_empty() {
            return Ok(());
        }
        if upstreams.len() != self.nodes.len() {
            return Err(AttachmentError::Range(format!(
                "there are {} nodes and {} upstreams; give one for each, or none",
                self.nodes.len(),
                upstreams.len()
            )));
        }
        for (node, upstream) in self.nodes.iter_mut().zip(upstreams) {
            node.upstream = *upstream;
        }
        Ok(())
    }
}

/// The address in `scheme://host:port`.
fn address(text: &str, scheme: &'static str) -> Result<SocketAddr, AttachmentError> {
    let wrong = |why: String| AttachmentError::Url {
        text: text.to_owned(),
        scheme,
        why,
    };
    let rest = text
        .strip_prefix(scheme)
        .and_then(|rest| rest.strip_prefix("://"))
        .ok_or_else(|| wrong(String::new()))?;
    let host = rest.trim_end_matches('/');
    if host.contains(['@', '/']) {
        let why = "; passwords and databases are not supported: attach servers made for tests";
        return Err(wrong(why.into()));
    }
    let mut found = host
        .to_socket_addrs()
        .map_err(|error| wrong(format!(": {error}")))?;
    // Servers and toxiproxy rarely listen on IPv6 where a name has both.
    let all: Vec<SocketAddr> = found.by_ref().collect();
    let first = all.iter().find(|one| one.is_ipv4()).or(all.first());
    first.copied().ok_or_else(|| wrong(": no such host".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_file_leaves_out_is_as_on_one_machine() {
        let text = "schema = \"lockproof.attach/1\"\nnodes = [\"redis://127.0.0.1:7001\"]\n[toxiproxy]\nurl = \"http://localhost:8474\"";
        let urls = Attachment::from_urls("redis://127.0.0.1:7001", "http://127.0.0.1:8474");
        assert_eq!(Attachment::parse(text).unwrap(), urls.unwrap());
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        for (text, complaint) in [
            ("schema = 1", "line 1"),
            (
                "schema = \"x\"\nnodes = []\n[toxiproxy]\nurl = \"\"",
                "this version reads",
            ),
            (
                "schema = \"lockproof.attach/1\"\nnodes = [\"7001\"]\n[toxiproxy]\nurl = \"\"",
                "redis://HOST:PORT",
            ),
            (
                "schema = \"lockproof.attach/1\"\nnodes = [\"redis://u:p@h:1\"]\n[toxiproxy]\nurl = \"\"",
                "passwords",
            ),
            (
                "schema = \"lockproof.attach/1\"\nnodes = []\nupstreams = [\"10.0.0.1:1\"]\n[toxiproxy]\nurl = \"http://127.0.0.1:1\"",
                "0 nodes and 1 upstreams",
            ),
            (
                "schema = \"lockproof.attach/1\"\nnodes = []\n[toxiproxy]\nurl = \"http://127.0.0.1:1\"\nports = [9, 8]",
                "no range",
            ),
            (
                "schema = \"lockproof.attach/1\"\nnodes = []\n[toxiproxy]\nurl = \"http://127.0.0.1:1\"\nports = [1, 2, 3]",
                "no range",
            ),
            (
                "schema = \"lockproof.attach/1\"\nnodes = []\nnods = []\n[toxiproxy]\nurl = \"\"",
                "nods",
            ),
        ] {
            let error = Attachment::parse(text).unwrap_err().to_string();
            assert!(error.contains(complaint), "{error}");
        }
    }
}
