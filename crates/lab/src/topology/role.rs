//! What servers say about themselves.

use std::collections::BTreeMap;

use lockproof_redis::Reply;

/// What a node says that it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It takes writes, as far as it knows.
    Primary {
        /// The announced addresses of the replicas that it feeds.
        replicas: Vec<String>,
        /// Bytes of its replication stream.
        offset: i64,
    },
    /// It follows another.
    Replica {
        /// The address that it follows.
        of: String,
        /// `connected`, or a state on the way there.
        link: String,
        /// Bytes of the stream that it has; -1 before the first synchronisation.
        offset: i64,
    },
}

impl Role {
    /// True for a primary.
    pub fn is_primary(&self) -> bool {
        matches!(self, Role::Primary { .. })
    }

    /// Reads the answer of ROLE.
    pub(super) fn read(reply: &Reply) -> Option<Role> {
        let Reply::Array(parts) = reply else {
            return None;
        };
        match (text(parts.first()?)?.as_str(), parts.as_slice()) {
            ("master", [_, offset, Reply::Array(replicas)]) => Some(Role::Primary {
                replicas: replicas.iter().filter_map(address).collect(),
                offset: int(offset)?,
            }),
            ("slave", [_, host, port, link, offset]) => Some(Role::Replica {
                of: format!("{}:{}", text(host)?, int(port)?),
                link: text(link)?,
                offset: int(offset)?,
            }),
            _ => None,
        }
    }
}

/// A reply as text, if it is one.
pub(super) fn text(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Bulk(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        Reply::Status(text) => Some(text.to_string()),
        _ => None,
    }
}

fn int(reply: &Reply) -> Option<i64> {
    match reply {
        Reply::Int(value) => Some(*value),
        other => text(other)?.parse().ok(),
    }
}

/// The `host:port` that an array starts with.
pub(super) fn address(reply: &Reply) -> Option<String> {
    match reply {
        Reply::Array(parts) => match parts.as_slice() {
            [host, port, ..] => Some(format!("{}:{}", text(host)?, int(port)?)),
            _ => None,
        },
        _ => None,
    }
}

/// A flat array of names and values, as SENTINEL answers.
pub(super) fn fields(reply: &Reply) -> BTreeMap<String, String> {
    let Reply::Array(parts) = reply else {
        return BTreeMap::new();
    };
    parts
        .chunks(2)
        .filter_map(|pair| match pair {
            [name, value] => Some((text(name)?, text(value)?)),
            _ => None,
        })
        .collect()
}

/// The `name:value` of an INFO-like text.
pub(super) fn info<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
        .map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bulk(text: &str) -> Reply {
        Reply::Bulk(text.into())
    }

    #[test]
    fn both_roles_are_read() {
        let replica = Reply::Array(vec![bulk("127.0.0.1"), bulk("7001"), bulk("14")]);
        let primary = Reply::Array(vec![
            bulk("master"),
            Reply::Int(14),
            Reply::Array(vec![replica]),
        ]);
        assert_eq!(
            Role::read(&primary),
            Some(Role::Primary {
                replicas: vec!["127.0.0.1:7001".into()],
                offset: 14
            })
        );
        let replica = Reply::Array(vec![
            bulk("slave"),
            bulk("127.0.0.1"),
            Reply::Int(7000),
            bulk("connected"),
            Reply::Int(14),
        ]);
        let role = Role::read(&replica).unwrap();
        assert!(!role.is_primary());
        assert_eq!(Role::read(&Reply::Nil), None);
    }

    #[test]
    fn an_info_field_is_found_by_its_whole_name() {
        assert_eq!(info("a_b:1\r\na:2\r\n", "a"), Some("2"));
        assert_eq!(info("a_b:1", "b"), None);
    }
}
