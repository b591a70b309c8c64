//! Names of the parties of a topology and of the links between them.
//!
//! They are what a schedule, a history and a report say, so they are text first:
//! `client-0>node-1`, `node-2>node-0/bus`.

use std::fmt;
use std::str::FromStr;

/// Somebody who sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Party {
    /// A client, by number from 0.
    Client(u16),
    /// A server that holds data, by number from 0.
    Node(u16),
    /// A Sentinel, by number from 0.
    Sentinel(u16),
    /// Whoever comes to an announced address without saying which client it is.
    Guest,
}

/// What a link carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Channel {
    /// Commands, replies and replication.
    Data,
    /// The gossip and votes of Redis Cluster.
    Bus,
}

/// A link: who opens connections to whom. Bytes go both ways on it, so two nodes
/// that talk both ways have two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkName {
    /// Who connects.
    pub from: Party,
    /// To whom.
    pub to: Party,
    /// For what.
    pub channel: Channel,
}

impl LinkName {
    /// The link that carries data.
    pub fn data(from: Party, to: Party) -> LinkName {
        LinkName {
            from,
            to,
            channel: Channel::Data,
        }
    }

    /// The link that carries the cluster bus.
    pub fn bus(from: Party, to: Party) -> LinkName {
        LinkName {
            from,
            to,
            channel: Channel::Bus,
        }
    }
}

/// A text that names no party and no link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "failed to understand {text:?} as a name; parties are client-N, node-N, sentinel-N and guest, \
     links are FROM>TO and FROM>TO/bus"
)]
pub struct NameError {
    text: String,
}

impl NameError {
    pub(crate) fn new(text: &str) -> NameError {
        NameError { text: text.into() }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Party::Client(number) => write!(f, "client-{number}"),
            Party::Node(number) => write!(f, "node-{number}"),
            Party::Sentinel(number) => write!(f, "sentinel-{number}"),
            Party::Guest => f.write_str("guest"),
        }
    }
}

impl FromStr for Party {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Party, NameError> {
        let unknown = || NameError::new(text);
        if text == "guest" {
            return Ok(Party::Guest);
        }
        let (kind, number) = text.split_once('-').ok_or_else(unknown)?;
        let number = number.parse().map_err(|_| unknown())?;
        match kind {
            "client" => Ok(Party::Client(number)),
            "node" => Ok(Party::Node(number)),
            "sentinel" => Ok(Party::Sentinel(number)),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for LinkName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match self.channel {
            Channel::Data => "",
            Channel::Bus => "/bus",
        };
        write!(f, "{}>{}{end}", self.from, self.to)
    }
}

impl FromStr for LinkName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<LinkName, NameError> {
        let (from, to) = text.split_once('>').ok_or_else(|| NameError::new(text))?;
        Ok(match to.strip_suffix("/bus") {
            Some(to) => LinkName::bus(from.parse()?, to.parse()?),
            None => LinkName::data(from.parse()?, to.parse()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_its_text() {
        for text in [
            "client-0>node-1",
            "node-2>node-0/bus",
            "sentinel-1>sentinel-2",
            "guest>node-5",
        ] {
            assert_eq!(text.parse::<LinkName>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "",
            "client-0",
            "client->node-1",
            "proxy-0>node-1",
            "node-x>node-1",
        ] {
            let error = text.parse::<LinkName>().unwrap_err().to_string();
            assert!(error.contains("FROM>TO"), "{error}");
        }
    }
}
