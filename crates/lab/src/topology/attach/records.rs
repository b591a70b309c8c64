//! What was found, written down where the next run looks first.
//!
//! A run that is killed cannot put anything back. Its proxies outlive it, so they tell
//! the next one what it was: their names carry its drawn name, and for each server of
//! a group one more proxy, which is switched off and carries no byte, says whom that
//! server followed. A file on this machine was rejected, because the next run may be
//! on another; a key on a server too, because it would be somebody else's data as soon
//! as a failover loses or keeps it at the wrong time.

use std::net::SocketAddr;

use super::super::super::proxy::toxiproxy::Api;
use super::super::super::proxy::toxiproxy::ToxiproxyError;
use super::drawn::Drawn;

/// What a server was when it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Was {
    /// It followed nobody.
    Primary,
    /// It followed this address, letter by letter.
    Follower {
        /// The host, as the server was told it.
        host: String,
        /// The port.
        port: u16,
    },
}

impl std::fmt::Display for Was {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Was::Primary => f.write_str("a primary"),
            Was::Follower { host, port } => write!(f, "a replica of {host}:{port}"),
        }
    }
}

/// Something that has to be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// Whom a server followed.
    Role(Was),
    /// A setting of a server before the run changed it.
    Setting {
        /// Its name.
        name: String,
        /// What it was.
        value: String,
    },
}

const NOBODY: &str = "nobody:0";

impl Record {
    fn what(&self) -> &str {
        match self {
            Record::Role(_) => "role",
            Record::Setting { name, .. } => name,
        }
    }

    fn text(&self) -> String {
        match self {
            Record::Role(Was::Primary) => NOBODY.into(),
            Record::Role(Was::Follower { host, port }) => format!("{host}:{port}"),
            Record::Setting { value, .. } => value.clone(),
        }
    }

    fn read(what: &str, text: &str) -> Option<Record> {
        Some(match (what, text) {
            ("role", NOBODY) => Record::Role(Was::Primary),
            ("role", address) => {
                let (host, port) = address.rsplit_once(':')?;
                let (host, port) = (host.to_owned(), port.parse().ok()?);
                Record::Role(Was::Follower { host, port })
            }
            (name, value) => Record::Setting {
                name: name.into(),
                value: value.into(),
            },
        })
    }
}

/// The name of the proxy that keeps a record: names stand in paths, where an IPv6
/// address could not.
fn name(drawn: &Drawn, server: SocketAddr, what: &str) -> String {
    let server = server.to_string().replace(['[', ']'], "");
    drawn.proxy(&format!("found.{what}@{server}"))
}

/// Writes something down, and gives the name of what keeps it.
pub async fn keep(
    api: &Api,
    drawn: &Drawn,
    server: SocketAddr,
    record: &Record,
) -> Result<String, ToxiproxyError> {
    let name = name(drawn, server, record.what());
    api.note(&name, &record.text()).await?;
    Ok(name)
}

/// What some run left at a toxiproxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    pub proxy: String,
    pub drawn: Drawn,
    /// The server that it is about, and what to put back; `None` for a link.
    pub record: Option<(String, Record)>,
}

impl Left {
    /// Reads a proxy; `None` if it is somebody else's.
    pub fn read(proxy: &str, upstream: &str) -> Option<Left> {
        let (drawn, rest) = Drawn::of_proxy(proxy)?;
        let record = rest.strip_prefix("found.").and_then(|rest| {
            let (what, server) = rest.split_once('@')?;
            Some((server.to_owned(), Record::read(what, upstream)?))
        });
        Some(Left {
            proxy: proxy.into(),
            drawn,
            record,
        })
    }

    /// Whether it is about this server.
    pub fn is_about(&self, server: SocketAddr) -> bool {
        let server = server.to_string().replace(['[', ']'], "");
        self.record
            .as_ref()
            .is_some_and(|(about, _)| *about == server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_down_is_read_again() {
        let drawn = Drawn::draw().unwrap();
        let follower = |host: &str| Was::Follower {
            host: host.into(),
            port: 7,
        };
        let setting = Record::Setting {
            name: "replica-priority".into(),
            value: "100".into(),
        };
        let roles = [Was::Primary, follower("redis-0"), follower("::1")].map(Record::Role);
        for record in roles.into_iter().chain([setting]) {
            for server in ["127.0.0.1:7001", "[::1]:7001"] {
                let server = server.parse().unwrap();
                let proxy = name(&drawn, server, record.what());
                let left = Left::read(&proxy, &record.text()).unwrap();
                assert_eq!(left.drawn, drawn);
                assert!(left.is_about(server));
                assert!(!left.is_about("127.0.0.1:7002".parse().unwrap()));
                assert_eq!(left.record.unwrap().1, record);
            }
        }
        let link = Left::read(&drawn.proxy("client-0.node-1"), "127.0.0.1:7001");
        assert_eq!(link.unwrap().record, None);
        assert_eq!(Left::read("lockproof.left", "127.0.0.1:7001"), None);
    }
}
